//! The result of a fix in the editor of the person, and what the checks say of it.

use std::env;
use std::fmt::Write;
use std::fs;
use std::process::Command;

use anyhow::{Context, bail};

use super::desk::{Desk, Next, Question};
use super::keys::Action;
use crate::edit::{EditSet, FixId, apply};
use crate::engine::Bytes;
use crate::review::{Decision, Edited, Group};
use crate::rule::{Finding, Outcome};

/// What is above it in the file is for the person.
const MARK: &str = "// -------- this line and all lines above it are ignored --------";

impl Desk<'_> {
    /// Lets the person edit what the current fix makes of its function, and checks the result.
    ///
    /// # Errors
    /// If the journal or the file for the editor cannot be written.
    pub(super) fn edit(&mut self) -> anyhow::Result<Next> {
        let position = self.session.position();
        let Some(group) = self.session.current() else {
            return Ok(Next::Stay);
        };
        let Some(own) = Edited::of(&self.run.package.files, group) else {
            "the function is not UTF-8, and an editor might damage it"
                .clone_into(&mut self.message);
            return Ok(Next::Stay);
        };
        let start = match (self.pending.take(), self.session.decision(position)) {
            (Some(pending), _) => pending,
            (None, Decision::Edited(edited)) => edited.clone(),
            (None, _) => own.clone(),
        };
        let text = match typed(&page(group, &start)) {
            Ok(text) => text,
            Err(error) => {
                self.message = format!("nothing was edited: {error:#}");
                return Ok(Next::Stay);
            }
        };
        if text.is_empty() {
            return self.act(Action::Reject);
        }
        if text == own.text || text == own.base {
            "nothing was edited; y accepts the fix, n leaves the function as it is"
                .clone_into(&mut self.message);
            return Ok(Next::Stay);
        }
        let edited = Edited { text, ..own };
        let doubts = doubts(self, group, &edited);
        if doubts.is_empty() {
            return self.accept_edited(edited);
        }
        self.pending = Some(edited);
        Ok(Next::Ask(Question::KeepEdit { doubts }))
    }
}

/// What the person sees: what it is about, the old text as a comment, the mark, the new text.
fn page(group: &Group<'_>, edited: &Edited) -> String {
    let mut out = String::new();
    let (id, rule, finding) = (&group.id, group.finding.rule, group.finding);
    let _ = writeln!(
        out,
        "// {id} {} {}: {}",
        rule.code, rule.name, finding.message
    );
    let _ = writeln!(
        out,
        "// Edit the function below. If you delete all of it, the fix is rejected."
    );
    let _ = writeln!(out, "// It is now:");
    for line in edited.base.lines() {
        let _ = writeln!(out, "//   {line}");
    }
    out + MARK + "\n" + &edited.text + "\n"
}

/// What the editor makes of the text of `page` below the mark.
fn typed(page: &str) -> anyhow::Result<String> {
    let file = tempfile::Builder::new()
        .prefix("ungil-")
        .suffix(".c")
        .tempfile()
        .context("cannot create a file for the editor")?;
    // Many editors put another file in its place, so that only the name stays.
    let path = file.into_temp_path();
    fs::write(&path, page).context("cannot create a file for the editor")?;
    let editor = ["VISUAL", "EDITOR"]
        .into_iter()
        .find_map(|name| env::var(name).ok().filter(|value| !value.trim().is_empty()))
        .unwrap_or_else(|| "vi".to_owned());
    let status = open(&editor, &path).with_context(|| format!("cannot start `{editor}`"))?;
    if !status.success() {
        bail!("`{editor}` ended with {status}");
    }
    let text = fs::read_to_string(&path).context("cannot read what the editor wrote")?;
    let below = text.split_once(MARK).map_or(&text[..], |(_, below)| below);
    Ok(below.trim().to_owned())
}

/// Editors come with options: the value is a command line, as git has it.
fn open(editor: &str, path: &std::path::Path) -> std::io::Result<std::process::ExitStatus> {
    let mut command = match cfg!(windows) {
        true => {
            let mut words = editor.split_whitespace();
            let mut command = Command::new(words.next().unwrap_or(editor));
            command.args(words);
            command
        }
        false => {
            let mut command = Command::new("sh");
            command.args(["-c", &format!("{editor} \"$@\""), editor]);
            command
        }
    };
    command.arg(path).status()
}

/// What is wrong with the edited result, or cannot be told of it.
fn doubts(desk: &Desk<'_>, group: &Group<'_>, edited: &Edited) -> Vec<String> {
    let files = &desk.run.package.files;
    let Some(fix) = edited.fix(files, group) else {
        return Vec::new();
    };
    let (edits, _) = EditSet::merge([(FixId(0), &fix)]);
    let changed = edits.files().map(|id| {
        let bytes = apply(files.get(id).bytes(), edits.edits(id)).bytes;
        (id, bytes)
    });
    let changed: Bytes = changed.collect();
    let doubts = desk.run.prove(&Bytes::new(), &changed);
    let mut reasons: Vec<String> = doubts.into_iter().map(|doubt| doubt.reason).collect();
    reasons.dedup();
    reasons.extend(not_cured(desk, group, &changed));
    reasons
}

/// What the rule still finds in the function, if that is more than what the fix leaves there.
fn not_cured(desk: &Desk<'_>, group: &Group<'_>, changed: &Bytes) -> Option<String> {
    let own = group.finding;
    let is_here = |finding: &&Finding| {
        (finding.file, &finding.function) == (own.file, &own.function)
            && finding.rule.code == own.rule.code
    };
    let before = desk.run.analysis.findings.iter().filter(is_here);
    let others = before.filter(|finding| {
        !matches!(finding.outcome, Outcome::Safe(_)) && finding.outcome != own.outcome
    });
    let after = desk.run.open_findings(own.rule, changed);
    let after: Vec<&Finding> = after.iter().filter(is_here).collect();
    let still = after.get(others.count())?;
    Some(format!("{} still says: {}", own.rule.code, still.message))
}
