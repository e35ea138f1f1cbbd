//! The pages that `ungil explain` prints besides those of the rules: topics, and the limits.

use crate::rule::Rule;
use crate::transforms;

/// A page of `docs/topics`.
pub(super) struct Topic {
    /// Names its file.
    pub name: &'static str,
    pub text: &'static str,
}

macro_rules! topics {
    ($($name:literal),* $(,)?) => {
        &[$(Topic {
            name: $name,
            text: include_str!(concat!("../../docs/topics/", $name, ".md")),
        }),*]
    };
}

const TOPICS: &[Topic] = topics![
    "build-files",
    "calls-and-pointers",
    "dict-loops",
    "how-fixes-are-written",
    "lifetimes",
    "lists",
    "memory-and-threads",
    "module-declarations",
    "new-exits",
    "pending-exceptions",
    "references-that-leave",
    "shared-state",
    "strong-references",
];

impl Topic {
    /// The heading of the page.
    fn title(&self) -> &'static str {
        let head = self.text.lines().next().unwrap_or_default();
        head.trim_start_matches("# ")
    }

    /// A link from a page in `docs`.
    fn link(&self) -> String {
        format!("[{}](topics/{}.md)", self.title(), self.name)
    }

    /// Whether the line `Rules:` of the page names `rule`.
    fn is_about(&self, rule: &Rule) -> bool {
        let line = self.text.lines().find(|line| line.starts_with("Rules: "));
        line.is_some_and(|line| line.contains(rule.code))
    }
}

/// The pages that say more about `rule`.
pub(super) fn topics_of(rule: &Rule) -> impl Iterator<Item = &'static Topic> {
    TOPICS.iter().filter(|topic| topic.is_about(rule))
}

/// The page with this name; `None` if there is none.
pub(super) fn page(name: &str) -> Option<String> {
    if name == "limits" {
        return Some(limits());
    }
    let topic = TOPICS.iter().find(|topic| topic.name == name);
    topic.map(|topic| topic.text.to_owned())
}

/// `docs/limits.md`, from the tables of the rules.
fn limits() -> String {
    let mut out = include_str!("limits_head.md").to_owned();
    for topic in TOPICS {
        out += &format!("* {}\n", topic.link());
    }
    for rule in transforms::ALL {
        out += &limits_of(rule);
    }
    out
}

fn limits_of(rule: &Rule) -> String {
    let Rule {
        code,
        name,
        summary,
        ..
    } = rule;
    let mut out = format!("\n## {code} {name}\n\n[{summary}](rules/{name}.md).");
    let topics: Vec<String> = topics_of(rule).map(Topic::link).collect();
    if !topics.is_empty() {
        out += &format!(" More: {}.", topics.join(", "));
    }
    out.push('\n');
    if rule.best.is_none() {
        let why = rule.section("Confidence").unwrap_or_default();
        out += &format!("\n{}\n", why.replace('\n', " "));
    }
    let limits = rule.limits();
    if !limits.is_empty() {
        out += "\n| limit | what happens then | sample | what to do |\n|---|---|---|---|\n";
    }
    for limit in limits {
        let case = limit.case.replace('|', "\\|");
        out += &format!("| {case}. | **{}** | {}\n", limit.then, limit.rest);
    }
    out
}
