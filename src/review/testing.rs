//! Findings made by hand for the tests of this module.

use std::path::PathBuf;

use super::group::groups;
use super::ledger::Ledger;
use super::session::Session;
use crate::edit::Fix;
use crate::rule::{Check, Finding, Outcome, Rule, Severity};
use crate::source::{ByteSpan, FileId, FileSet, SourceFile};

const fn rule(code: &'static str) -> Rule {
    Rule {
        code,
        name: "test-rule",
        summary: "",
        severity: Severity::Memory,
        docs: "",
        since: "0.1.0",
        best: None,
        triggers: &[],
        check: Check::Code(|_, _| {}),
    }
}

pub(super) static SAFE: Rule = rule("UG901");
pub(super) static RISKY: Rule = rule("UG902");

pub(super) struct Sample {
    pub(super) files: FileSet,
    pub(super) findings: Vec<Finding>,
}

impl Sample {
    pub(super) fn new(text: &str) -> Self {
        let mut files = FileSet::default();
        files.add(SourceFile::new(PathBuf::from("src/m.c"), text.into()));
        Self {
            files,
            findings: Vec::new(),
        }
    }

    /// A safe fix for each occurrence of `from`.
    pub(super) fn renames(text: &str, from: &str, to: &str) -> Self {
        let mut sample = Self::new(text);
        for (at, _) in text.match_indices(from) {
            let at = u32::try_from(at).unwrap();
            let span = ByteSpan::new(at, at + u32::try_from(from.len()).unwrap());
            let mut fix = Fix::safe("rename");
            fix.replace(FileId(0), span, to);
            sample.add(&SAFE, span, fix);
        }
        sample
    }

    pub(super) fn add(&mut self, rule: &'static Rule, span: ByteSpan, fix: Fix) {
        let text = self
            .files
            .get(FileId(0))
            .text(ByteSpan::new(0, span.start().0));
        // The last `name(void)` before the place.
        let function = text.rmatch_indices("(void)").next().map(|(at, _)| {
            let head = &text[..at];
            head[head.rfind(' ').map_or(0, |blank| blank + 1)..].to_owned()
        });
        self.findings.push(Finding {
            rule,
            file: FileId(0),
            span,
            function,
            api: None,
            message: "a message".into(),
            notes: vec![],
            outcome: Outcome::Fix(fix),
        });
    }

    pub(super) fn session(&self, ledger: Ledger) -> Session<'_> {
        Session::new(&self.files, groups(&self.files, &self.findings), ledger)
    }
}
