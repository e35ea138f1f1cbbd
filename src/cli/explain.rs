//! `ungil explain`: the page of a rule, or why there is, or is not, a finding on a line.

use std::fs;
use std::path::Path;

use anyhow::bail;

use super::Status;
use super::args::{AnalysisArgs, ExplainArgs};
use super::rules;
use super::session::Session;
use super::silence::{By, Silenced};
use super::talk::{Talk, write_results};
use crate::engine::{LineKind, Whereabouts, lines_of};
use crate::package::{SkipReason, Skipped};
use crate::render::excerpt;
use crate::rule::{Finding, Outcome, Rule};
use crate::source::{FileId, LineNumber, SourceFile};
use crate::transforms;

pub(super) fn run(args: &ExplainArgs, talk: &Talk) -> anyhow::Result<Status> {
    let Some((path, line)) = place(&args.subject) else {
        if Path::new(&args.subject).is_file() {
            bail!("add the number of a line: `{}:LINE`", args.subject);
        }
        return rules::explain(&args.subject, talk);
    };
    if Path::new(path).is_dir() {
        bail!("`{path}` is a folder; give a line of a file: `FILE:LINE`");
    }
    let analysis = AnalysisArgs {
        paths: vec![path.into()],
        options: args.options.clone(),
    };
    let session = Session::run(&analysis, talk)?;
    session.write_stats(&analysis.options)?;
    let text = explain(&session, path, line, talk)?;
    write_results(text.as_bytes())?;
    Ok(Status::Clean)
}

/// `m.c:12`, or `m.c:12:5` as compilers write it; `None` if `subject` names no place.
fn place(subject: &str) -> Option<(&str, LineNumber)> {
    let split = |text| -> Option<(&str, u32)> {
        let (rest, number) = str::rsplit_once(text, ':')?;
        Some((rest, number.parse().ok()?))
    };
    let (rest, last) = split(subject)?;
    let (path, line) = split(rest).unwrap_or((rest, last));
    Some((path, LineNumber(line)))
}

fn explain(session: &Session, path: &str, line: LineNumber, talk: &Talk) -> anyhow::Result<String> {
    let package = &session.package;
    let mut files = package.files.iter();
    let Some((id, file)) = files.find(|(id, _)| package.info(*id).selected) else {
        return Ok(not_read(session, path));
    };
    let count = file.lines().count();
    if line.0 == 0 || line.0 as usize > count {
        bail!("`{path}` has {count} lines, so there is no line {}", line.0);
    }
    if let Some((what, advice)) = package.info(id).kind.why_not_analysed() {
        return Ok(format!(
            "`{path}` is not analysed: it is a file {what}{advice}\n"
        ));
    }
    let asked = Asked {
        session,
        file: id,
        source: file,
        line,
        found: session.whereabouts(id, line),
    };
    let text = file.text(file.lines().span(line));
    let head = format!("{path}:{}: {}\n", line.0, text.trim());
    Ok(head + &asked.description() + "\n" + &asked.findings(talk))
}

fn not_read(session: &Session, path: &str) -> String {
    let package = &session.package;
    let asked = fs::canonicalize(path).ok();
    let is_asked = |it: &&Skipped| Some(package.root.join(&it.path)) == asked;
    let skipped = package.skipped.iter().find(is_asked);
    let reason = match skipped.map(|skipped| &skipped.reason) {
        Some(SkipReason::Unreadable(error)) => error.clone(),
        Some(SkipReason::TooLarge(length)) => format!("it is too large ({length} bytes)"),
        Some(SkipReason::Binary) => "it is not text".to_owned(),
        Some(SkipReason::Name) => "its name is not UTF-8".to_owned(),
        Some(SkipReason::Products | SkipReason::Link) | None => "it is not C".to_owned(),
    };
    format!("`{path}` is not analysed: {reason}\n")
}

/// A line of an analysed file.
struct Asked<'a> {
    session: &'a Session,
    file: FileId,
    source: &'a SourceFile,
    line: LineNumber,
    found: Whereabouts,
}

impl Asked<'_> {
    /// What the front end made of the line.
    fn description(&self) -> String {
        let functions = self.found.functions.iter().map(|function| {
            let (name, first, last) = (&function.name, function.first.0, function.last.0);
            let verdict = match &function.failure {
                None => "fully analysed".to_owned(),
                Some(why) => format!("not analysed: {why}"),
            };
            format!("in `{name}` (lines {first}–{last}), {verdict}\n")
        });
        let mut out: String = functions.collect();
        if out.is_empty() {
            out += "outside all functions\n";
        }
        out += match self.found.line {
            LineKind::Code => "",
            LineKind::Dead => {
                "not analysed: no configuration of the supported Pythons compiles this line, or \
                 no file includes it\n"
            }
            LineKind::Directive => "a directive: macros are analysed where they are used\n",
            LineKind::Blank => "no code on this line\n",
        };
        out
    }

    /// What rules have to say of the line, and which looked at it in vain.
    fn findings(&self, talk: &Talk) -> String {
        let session = self.session;
        let about = |list: &'_ [Finding]| -> Vec<Finding> {
            let list = list.iter().filter(|finding| self.is_about(finding));
            list.cloned().collect()
        };
        let open = about(&session.analysis.findings);
        let silenced = session.silenced.iter();
        let silenced: Vec<_> = silenced.filter(|s| self.is_about(&s.finding)).collect();
        let has_spoken = |rule: &Rule| {
            let mut all = open.iter().chain(silenced.iter().map(|s| &s.finding));
            all.any(|finding| finding.rule.code == rule.code)
        };
        let silent = transforms::ALL.iter().filter(|rule| !has_spoken(rule));
        let mut out: String = silent.filter_map(|rule| self.silence_of(rule)).collect();
        for Silenced { finding, by } in silenced {
            let Finding { rule, message, .. } = finding;
            let (code, name) = (rule.code, rule.name);
            let by = match by {
                By::Comment(_) => "a comment",
                By::Configuration => "the configuration",
            };
            out += &format!("suppressed by {by}: {code} {name}: {message}\n");
        }
        if open.is_empty() {
            return out + "No finding on this line\n";
        }
        let view = session.view(talk.styles_results());
        let excerpts = open.iter().map(|finding| excerpt(view, finding));
        out + &excerpts.collect::<String>()
    }

    /// Whether `finding` points at the statement on the line, explains itself with the line, or
    /// would replace some of it.
    fn is_about(&self, finding: &Finding) -> bool {
        let meets = |file: FileId, span, (first, last): (LineNumber, LineNumber)| {
            file == self.file && {
                let lines = lines_of(self.source, span);
                lines.0 <= last && first <= lines.1
            }
        };
        let line = (self.line, self.line);
        let edits = match &finding.outcome {
            Outcome::Fix(fix) => &fix.edits[..],
            Outcome::Safe(_) | Outcome::Manual(_) => &[],
        };
        let mut notes = finding.notes.iter();
        let mut replaced = edits.iter().filter(|edit| !edit.span.is_empty());
        meets(finding.file, finding.span, self.found.statement)
            || notes.any(|note| meets(note.file, note.span, line))
            || replaced.any(|edit| meets(edit.file, edit.span, line))
    }

    /// Why `rule` says nothing, if there is a word for it on the line.
    fn silence_of(&self, rule: &Rule) -> Option<String> {
        let (code, name) = (rule.code, rule.name);
        let word = self.trigger(rule)?;
        let why = if self.session.settings.engine.selection.includes(rule) {
            "and reports nothing here"
        } else {
            "but is not selected"
        };
        Some(format!("{code} {name} looks at `{word}` {why}\n"))
    }

    /// The first word on the line, if it is code, that `rule` looks at.
    fn trigger(&self, rule: &Rule) -> Option<&'static str> {
        if self.found.line != LineKind::Code {
            return None;
        }
        let text = self.source.text(self.source.lines().span(self.line));
        let mut words = text.split(|c: char| !c.is_alphanumeric() && c != '_');
        let triggers = rule.triggers;
        words.find_map(|word| triggers.iter().copied().find(|trigger| *trigger == word))
    }
}

#[cfg(test)]
mod tests {
    use super::place;
    use crate::source::LineNumber;

    #[test]
    fn a_place_is_a_file_and_a_line() {
        assert_eq!(place("src/m.c:12"), Some(("src/m.c", LineNumber(12))));
        assert_eq!(place("m.c:12:5"), Some(("m.c", LineNumber(12))));
        assert_eq!(place(r"C:\m.c:12"), Some((r"C:\m.c", LineNumber(12))));
        assert_eq!(place("UG101"), None);
        assert_eq!(place("m.c:x"), None);
    }
}
