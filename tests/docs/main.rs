//! The documentation says what the program says. `UNGIL_UPDATE_DOCS=1 cargo nextest run docs`
//! rewrites what is out of date.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[cfg(unix)]
mod tutorial;

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use ungil::edit::Confidence;
use ungil::rule::Severity;
use ungil::transforms::ALL;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// What `ungil` with `arguments` prints in the folder of the project.
fn ungil(arguments: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ungil"));
    command.args(arguments).current_dir(root());
    let output = command
        .env("COLUMNS", "100")
        .env_remove("UNGIL_OUTPUT_FORMAT")
        .output();
    String::from_utf8(output.unwrap().stdout).unwrap()
}

/// Asserts that the file at `path` is `wanted`, or makes it so.
fn hold(path: &Path, wanted: &str) {
    let current = fs::read_to_string(path).unwrap_or_default();
    if current == wanted {
        return;
    }
    assert!(
        std::env::var_os("UNGIL_UPDATE_DOCS").is_some(),
        "{} is out of date: UNGIL_UPDATE_DOCS=1 cargo nextest run docs",
        path.display()
    );
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, wanted).unwrap();
}

/// The text with what stands in each fenced block after `mark` and the rest of its line replaced
/// by what `content` makes of that rest.
fn fill(text: &str, mark: &str, content: impl Fn(&str) -> String) -> String {
    let mut out = String::new();
    let mut lines = text.split_inclusive('\n');
    while let Some(line) = lines.next() {
        out += line;
        let Some(rest) = line.strip_prefix(mark) else {
            continue;
        };
        if !mark.starts_with('$') {
            out += lines.next().expect("a fence after the mark");
        }
        out += &content(rest.trim_end());
        out += lines
            .find(|line| line.starts_with("```"))
            .expect("a closing fence");
    }
    out
}

#[test]
fn every_rule_has_its_page() {
    let folder = root().join("docs/rules");
    for rule in ALL {
        let page = ungil(&["explain", rule.code]);
        hold(&folder.join(format!("{}.md", rule.name)), &page);
    }
    hold(&folder.join("README.md"), &index());

    let wanted = ALL.iter().map(|rule| format!("{}.md", rule.name));
    let wanted: BTreeSet<PathBuf> = wanted
        .chain(["README.md".into()])
        .map(|name| folder.join(name))
        .collect();
    let entries = fs::read_dir(&folder).unwrap();
    let found: BTreeSet<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    assert_eq!(found, wanted);
}

#[test]
fn the_program_has_the_topics_and_the_limits() {
    let docs = root().join("docs");
    hold(&docs.join("limits.md"), &ungil(&["explain", "limits"]));
    let limits = fs::read_to_string(docs.join("limits.md")).unwrap();
    for entry in fs::read_dir(docs.join("topics")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap();
        let text = fs::read_to_string(&path).unwrap();
        assert_eq!(ungil(&["explain", name]), text, "{name}");

        // Each rule that the page is about leads to it.
        let rules = text.lines().find_map(|line| line.strip_prefix("Rules: "));
        for code in rules.unwrap().trim_end_matches('.').split(", ") {
            let mut sections = limits.split("\n## ");
            let section = sections.find(|section| section.starts_with(code));
            let link = format!("(topics/{name}.md)");
            assert!(
                section.is_some_and(|it| it.contains(&link)),
                "{code}: {name}"
            );
        }
    }
}

/// Each row of a table of limits has as many cells as its head, and a sample.
#[test]
fn limits_have_samples() {
    let topics = fs::read_dir(root().join("docs/topics")).unwrap();
    let topics = topics.map(|entry| entry.unwrap().path());
    for path in topics.chain([root().join("docs/limits.md")]) {
        let text = fs::read_to_string(&path).unwrap().replace("\\|", "");
        let lines = text
            .lines()
            .skip_while(|line| !line.starts_with("| limit |"));
        let rows = lines.filter(|line| line.starts_with("| ") && !line.starts_with("| limit |"));
        for row in rows {
            let cells: Vec<&str> = row.split(" | ").collect();
            assert_eq!(cells.len(), 4, "{}: {row}", path.display());
            assert!(cells[2].contains('`'), "{}: {row}", path.display());
        }
    }
}

/// A page of a rule has at most so many words; what is more stands in `docs/topics`.
const WORDS: usize = 300;

/// The headings of a rule's page in their order, and whether each page has it.
const HEADINGS: &[(&str, bool)] = &[
    ("## What it does", true),
    ("## Why", true),
    ("## Example", true),
    ("## Confidence", true),
    ("## What it does not report", false),
    ("## When there is no fix", false),
    ("## Alternative", false),
    ("## Python 3.15", false),
    ("## References", false),
];

#[test]
fn all_pages_have_the_same_headings_and_are_short() {
    for rule in ALL {
        let page = rule.page();
        let words = ungil(&["explain", rule.code]).split_whitespace().count();
        assert!(words <= WORDS, "{}: {words} words", rule.code);
        let found: Vec<&str> = page
            .lines()
            .filter(|line| line.starts_with("## "))
            .collect();
        let wanted = HEADINGS
            .iter()
            .filter(|(heading, is_always)| *is_always || found.contains(heading));
        let wanted: Vec<&str> = wanted.map(|(heading, _)| *heading).collect();
        assert_eq!(found, wanted, "{}", rule.code);
    }
}

fn index() -> String {
    let mut out = String::from(
        "# Rules\n\nThe pages are those of `ungil explain RULE`, written by `UNGIL_UPDATE_DOCS=1 \
         cargo nextest run docs`.\n\n| severity | level | what may happen if nothing is done |\n\
         |---|---|---|\n",
    );
    for severity in Severity::ALL {
        let (name, level) = (severity.name(), severity.level().name());
        writeln!(out, "| {name} | {level} | {} |", severity.meaning()).unwrap();
    }
    out += "\nA rule has the worst severity that its findings may lead to.\n\n\
            | code | rule | severity | fixes | |\n|---|---|---|---|---|\n";
    for rule in ALL {
        let fixes = match rule.best {
            Some(Confidence::Safe) => "safe",
            Some(Confidence::Review) => "review",
            None => "none",
        };
        let (code, name, summary) = (rule.code, rule.name, rule.summary);
        writeln!(
            out,
            "| {code} | [{name}]({name}.md) | {} | {fixes} | {summary} |",
            rule.severity.name()
        )
        .unwrap();
    }
    out
}

#[test]
fn the_howto_names_every_rule_and_no_other() {
    let text = fs::read_to_string(root().join("docs/howto.md")).unwrap();
    let rules = ALL.iter();
    let links = rules.map(|rule| format!("[{}](rules/{}.md)", rule.code, rule.name));
    let links: BTreeSet<String> = links.collect();
    let link = regex::Regex::new(r"\[UG\w*\]\([^)]*\)").unwrap();
    let found = link.find_iter(&text).map(|found| found.as_str().to_owned());
    assert_eq!(found.collect::<BTreeSet<_>>(), links);

    // What is a non-goal needs no test; all other rows link to one.
    let rows = text
        .lines()
        .filter(|line| line.starts_with("| ") && !line.starts_with("| **"));
    for row in rows.skip(1) {
        let cells: Vec<&str> = row.split(" | ").collect();
        assert_eq!(cells.len(), 3, "{row}");
        let has_test = cells[2].contains(".rs)");
        assert!(has_test || cells[1].starts_with("non-goal"), "{row}");
    }

    // Each test is there under its name.
    let test = regex::Regex::new(r"\[`(\w+)`\]\(([^)]*\.rs)\)").unwrap();
    for found in test.captures_iter(&text) {
        let code = fs::read_to_string(root().join("docs").join(&found[2])).unwrap();
        let function = format!("fn {}(", &found[1]);
        assert!(code.contains(&function), "{} of {}", &found[1], &found[2]);
    }
}

#[test]
fn options_are_those_of_the_program() {
    let path = root().join("docs/cli.md");
    let text = fs::read_to_string(&path).unwrap();
    let filled = fill(&text, "$ ungil ", |arguments| {
        let arguments: Vec<&str> = arguments.split_whitespace().collect();
        ungil(&arguments)
    });
    hold(&path, &filled);

    let help = ungil(&["-h"]);
    let commands = help.split("Commands:\n").nth(1).unwrap();
    let commands = commands.lines().take_while(|line| !line.is_empty());
    for line in commands {
        let name = line.split_whitespace().next().unwrap();
        let block = format!("$ ungil {name} -h\n");
        assert!(
            name == "help" || text.contains(&block),
            "docs/cli.md has no block for `{name}`"
        );
    }
}

#[test]
fn the_patch_in_the_readme_is_the_one_of_the_example() {
    let path = root().join("README.md");
    let text = fs::read_to_string(&path).unwrap();
    let patch = ungil(&["diff", "docs/example"]);
    let filled = fill(&text, "<!-- hunk ", |rest| {
        let function = rest.trim_end_matches(" -->");
        let hunks = patch.split("\n@@").skip(1);
        let is_of = |hunk: &&str| {
            let head = hunk.lines().next().unwrap();
            head.contains(&format!("@@ {function}("))
        };
        let hunk = hunks
            .into_iter()
            .find(is_of)
            .expect("a hunk of the function");
        let hunk = hunk.split("\ndiff --git").next().unwrap();
        format!("@@{}\n", hunk.trim_end_matches('\n'))
    });
    hold(&path, &filled);
}

#[test]
fn links_lead_somewhere() {
    let mut pages = ["README.md", "CONTRIBUTING.md"]
        .map(|name| root().join(name))
        .to_vec();
    for folder in ["docs", "docs/rules", "docs/topics"] {
        let entries = fs::read_dir(root().join(folder)).unwrap();
        pages.extend(entries.map(|entry| entry.unwrap().path()));
    }
    pages.retain(|path| path.extension().is_some_and(|extension| extension == "md"));
    let link = regex::Regex::new(r"\]\(([^):#]+)\)").unwrap();
    for page in pages {
        let text = fs::read_to_string(&page).unwrap();
        for found in link.captures_iter(&text) {
            let target = page.parent().unwrap().join(&found[1]);
            assert!(target.exists(), "{}: {}", page.display(), &found[1]);
        }
    }
}
