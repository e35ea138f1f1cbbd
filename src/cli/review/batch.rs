//! A review without a person at a terminal: decisions by id, answers as text or JSON.

use serde::Serialize;

use super::desk::{Desk, counted};
use super::forms::forms;
use super::plain::{body, diff};
use super::why::described;
use crate::cli::Status;
use crate::cli::args::{AnswerFormat, BatchArgs};
use crate::cli::talk::{self, write_results};
use crate::cli::word::{how, rests};
use crate::edit::{Confidence, Fix};
use crate::facts::Fact;
use crate::review::{Decided, Decision, Group, GroupId, Mark, slashed};
use crate::rule::{Finding, Rule};

impl BatchArgs {
    /// Whether anything is to be done without asking.
    pub(super) fn is_asked_for(&self) -> bool {
        let lists = [&self.show, &self.accept, &self.reject, &self.confirm];
        self.list || self.write || lists.iter().any(|list| !list.is_empty())
    }

    /// Whether nothing is decided or written.
    pub(super) fn only_shows(&self) -> bool {
        let lists = [&self.accept, &self.reject, &self.confirm];
        self.is_asked_for() && !self.write && lists.iter().all(|list| list.is_empty())
    }
}

/// What was asked for and cannot be done; no decision is changed by the option that failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum Problem {
    #[error("no fix and no rule has the name `{0}`; `ungil review --list` shows all fixes")]
    Unknown(String),
    #[error("no fix asks for `{0}`; `ungil review --list` shows what can be confirmed")]
    NotAsked(String),
    #[error("{0} has no alternative {1}; `--show {0}` lists its alternatives")]
    NoAlternative(GroupId, usize),
    #[error("{0} changes the same text as {1}, which is accepted; reject {1} first")]
    Clash(GroupId, GroupId),
    #[error("{0:#}")]
    Journal(#[from] anyhow::Error),
}

#[derive(Serialize)]
struct Answer<'a> {
    schema: &'static str,
    written: usize,
    accepted: usize,
    rejected: usize,
    open: usize,
    fixes: Vec<Shown<'a>>,
    /// What can be confirmed for all fixes that rest on it.
    questions: Vec<Asked<'a>>,
    /// Decisions about fixes that are gone because the code has changed.
    stale: Vec<Stale<'a>>,
}

#[derive(Serialize)]
struct Asked<'a> {
    /// For `--confirm`.
    confirm: String,
    text: String,
    fixes: Vec<&'a GroupId>,
}

#[derive(Serialize)]
struct Stale<'a> {
    #[serde(flatten)]
    mark: &'a Mark,
    decision: &'static str,
}

#[derive(Serialize)]
struct Shown<'a> {
    id: &'a GroupId,
    rule: &'static str,
    name: &'static str,
    level: &'static str,
    path: &'a str,
    line: u32,
    function: Option<&'a str>,
    message: &'a str,
    /// The other findings that the same changes take away.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    also: Vec<Also<'a>>,
    title: String,
    assumptions: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    confirmed: Vec<String>,
    clashes: Vec<&'a GroupId>,
    /// All forms of the fix, if there is more than one; the first is the default.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    alternatives: Vec<Alternative<'a>>,
    /// Number of the form that is shown here: the one that is accepted, or that was asked for.
    alternative: usize,
    decision: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    diff: Option<String>,
}

#[derive(Serialize)]
struct Also<'a> {
    rule: &'static str,
    path: String,
    line: u32,
    message: &'a str,
}

#[derive(Serialize)]
struct Alternative<'a> {
    number: usize,
    level: &'static str,
    title: &'a str,
    assumptions: Vec<String>,
}

/// What is to be confirmed.
///
/// # Errors
/// If no fix asks for it.
pub(super) fn facts(desk: &Desk<'_>, args: &BatchArgs) -> Result<Vec<Fact>, Problem> {
    let fact = |key: &String| {
        let mut asked = desk.questions.keys();
        let found = asked.find(|fact| fact.key() == *key).cloned();
        found.ok_or_else(|| Problem::NotAsked(key.clone()))
    };
    args.confirm.iter().map(fact).collect()
}

/// Takes the decisions of the command line.
///
/// # Errors
/// See [`Problem`].
pub(super) fn decide(desk: &mut Desk<'_>, args: &BatchArgs) -> Result<(), Problem> {
    let shown = find(desk, &args.show)?;
    let accepted = find(desk, &args.accept)?;
    let rejected = find(desk, &args.reject)?;
    if let Some(number) = args.alternative {
        for &at in shown.iter().chain(&accepted) {
            look_at(desk, at, number.into())?;
        }
    }
    let reason = args.reason.clone().unwrap_or_default();
    let decided = desk.session.decline(&rejected, Decision::Rejected(reason));
    desk.keep(decided.record.as_slice())?;
    let decided = match args.alternative {
        None => vec![desk.session.accept(&accepted)],
        Some(_) => accepted.iter().map(|&at| desk.accept_shown(at)).collect(),
    };
    for Decided {
        record, clashes, ..
    } in decided
    {
        desk.keep(record.as_slice())?;
        if let Some((left, kept)) = clashes.into_iter().next() {
            return Err(Problem::Clash(left, kept));
        }
    }
    Ok(())
}

/// Turns to the form `number`, from 1, of the fix at a position.
fn look_at(desk: &mut Desk<'_>, at: usize, number: usize) -> Result<(), Problem> {
    let group = &desk.session.groups()[at];
    if forms(group).all(|(known, _)| known != number) {
        return Err(Problem::NoAlternative(group.id.clone(), number));
    }
    desk.look_at(at, number - 1);
    Ok(())
}

/// Positions of what `names` mean: an id, or the undecided fixes of a rule or of `safe`.
fn find(desk: &Desk<'_>, names: &[String]) -> Result<Vec<usize>, Problem> {
    let mut found = Vec::new();
    let groups = desk.session.groups();
    for name in names {
        if let Some(at) = desk.session.find(&GroupId(name.clone())) {
            found.push(at);
            continue;
        }
        let rule = crate::transforms::ALL
            .iter()
            .find(|rule| rule.code == name || rule.name == name);
        if rule.is_none() && name != "safe" {
            return Err(Problem::Unknown(name.clone()));
        }
        let is_meant = |&at: &usize| {
            let group = &groups[at];
            let is_of = |rule: &Rule| group.findings().any(|it| it.rule.code == rule.code);
            let meant = rule.map_or(group.is_safe(), |rule| is_of(rule));
            meant && desk.session.decision(at).is_open()
        };
        found.extend((0..groups.len()).filter(is_meant));
    }
    Ok(found)
}

/// Prints the answer.
///
/// # Errors
/// If stdout does not take it.
pub(super) fn answer(desk: &Desk<'_>, args: &BatchArgs, written: usize) -> anyhow::Result<Status> {
    let all = 0..desk.session.groups().len();
    let named = [&args.show, &args.accept, &args.reject];
    let named: Vec<_> = named.into_iter().flatten().cloned().collect();
    // A fix that was just written has no id any more.
    let shown: Vec<usize> = match args.list {
        true => all.collect(),
        false => {
            let is_named = |at: &usize| {
                let group = &desk.session.groups()[*at];
                let is_name = |name: &String| {
                    let mut rules = group.findings().map(|it| it.rule);
                    group.id.0 == *name || rules.any(|it| it.code == name || it.name == name)
                };
                named.iter().any(is_name)
            };
            all.filter(is_named).collect()
        }
    };
    let text = match args.output_format {
        AnswerFormat::Json => json(desk, args, &shown, written),
        AnswerFormat::Text => text(desk, args, &shown, written),
    };
    write_results(text.as_bytes())?;
    let counts = desk.session.counts();
    Ok(match args.list && counts.open + counts.accepted > 0 {
        true => Status::Findings,
        false => Status::Clean,
    })
}

fn text(desk: &Desk<'_>, args: &BatchArgs, shown: &[usize], written: usize) -> String {
    let mut out = String::new();
    for &at in shown {
        let group = &desk.session.groups()[at];
        let decision = described(desk.session.decision(at));
        let also = match group.also.len() {
            0 => String::new(),
            more => format!(" (and {} more)", talk::counted(more, "finding", "findings")),
        };
        out += &format!(
            "{} {} {:6} {}:{} {}{also} [{decision}]\n",
            group.id,
            group.finding.rule.code,
            level(desk.shown(group).confidence),
            group.path,
            group.line,
            desk.shown(group).title,
        );
        if args.show.contains(&group.id.0) {
            out += &body(desk, group);
        }
    }
    for (fact, on) in desk.questions.iter().filter(|_| args.list) {
        out += &format!("{}\n  {}\n", rests(fact, on.len()), how(fact));
    }
    for (mark, decision) in desk.stale.iter().filter(|_| args.list) {
        let decision = described(decision);
        out += &format!(
            "stale: {} {} {} [{decision}]\n",
            mark.id, mark.rule, mark.file
        );
    }
    if args.write {
        out += &format!("{} written\n", counted(written));
    }
    out
}

fn json(desk: &Desk<'_>, args: &BatchArgs, shown: &[usize], written: usize) -> String {
    let counts = desk.session.counts();
    let fix = |&at: &usize| {
        let group = &desk.session.groups()[at];
        let wants_diff = args.show.contains(&group.id.0);
        shown_fix(desk, at, wants_diff.then(|| diff(desk, group)))
    };
    let answer = Answer {
        schema: "ungil-review/1",
        written,
        accepted: counts.accepted,
        rejected: counts.rejected,
        open: counts.open,
        fixes: shown.iter().map(fix).collect(),
        questions: desk.questions.iter().map(|it| asked(desk, it)).collect(),
        stale: desk
            .stale
            .iter()
            .map(|(mark, decision)| Stale {
                mark,
                decision: decision.word(),
            })
            .collect(),
    };
    let text = serde_json::to_string_pretty(&answer).expect("strings and numbers always serialise");
    text + "\n"
}

fn asked<'a>(desk: &'a Desk<'_>, (fact, on): (&Fact, &Vec<usize>)) -> Asked<'a> {
    let ids = on.iter().map(|&at| &desk.session.groups()[at].id);
    Asked {
        confirm: fact.key(),
        text: fact.to_string(),
        fixes: ids.collect(),
    }
}

fn shown_fix<'a>(desk: &'a Desk<'_>, at: usize, diff: Option<String>) -> Shown<'a> {
    let group = &desk.session.groups()[at];
    let fix = desk.shown(group);
    let decision = desk.session.decision(at);
    let clash = |&other: &usize| &desk.session.groups()[other].id;
    Shown {
        id: &group.id,
        rule: group.finding.rule.code,
        name: group.finding.rule.name,
        level: level(fix.confidence),
        path: &group.path,
        line: group.line,
        function: group.finding.function.as_deref(),
        message: &group.finding.message,
        also: group.also.iter().map(|it| also(desk, it)).collect(),
        title: fix.title.clone(),
        assumptions: texts(&desk.assumptions(group)),
        confirmed: texts(&fix.confirmed),
        clashes: group.clashes.iter().map(clash).collect(),
        alternatives: alternatives(group),
        alternative: desk.form_of(at) + 1,
        decision: decision.word(),
        reason: match decision {
            Decision::Rejected(reason) if !reason.is_empty() => Some(reason),
            _ => None,
        },
        diff,
    }
}

fn also<'a>(desk: &Desk<'_>, finding: &'a Finding) -> Also<'a> {
    let file = desk.run.package.files.get(finding.file);
    Also {
        rule: finding.rule.code,
        path: slashed(file.path()),
        line: file.position(finding.span.start()).line.0,
        message: &finding.message,
    }
}

fn alternatives<'a>(group: &Group<'a>) -> Vec<Alternative<'a>> {
    if group.fix.alternatives.is_empty() {
        return Vec::new();
    }
    let form = |(number, fix): (usize, &'a Fix)| Alternative {
        number,
        level: level(fix.confidence),
        title: &fix.title,
        assumptions: texts(&fix.assumptions),
    };
    forms(group).map(form).collect()
}

fn texts<T: ToString>(items: &[T]) -> Vec<String> {
    items.iter().map(ToString::to_string).collect()
}

pub(super) fn level(confidence: Confidence) -> &'static str {
    match confidence {
        Confidence::Safe => "safe",
        Confidence::Review => "review",
    }
}
