//! A review with its journal: actions in, messages and questions out.

use std::collections::{BTreeMap, BTreeSet};

use super::keys::Action;
use super::look::{Look, Side};
use crate::cli::session::Session as Run;
use crate::cli::store::Journal;
use crate::facts::Fact;
use crate::review::{
    Decided, Decision, Direction, Edited, Extent, Group, Ledger, Line, LineKind, Mark, NotFound,
    Record, Scope, Session, excerpt, groups, questions, slashed,
};
use crate::transforms;

/// The review of one analysis. Decisions are on the disk before a method returns.
pub(super) struct Desk<'a> {
    pub(super) run: &'a Run,
    pub(super) session: Session<'a>,
    /// `None` where nothing is decided, only shown.
    journal: Option<Journal>,
    pub(super) look: Look,
    /// Forms that the person turned to, by position of their fix: 0 is the fix itself, then come
    /// its alternatives.
    pub(super) forms: BTreeMap<usize, usize>,
    /// What can be confirmed for all fixes that rest on it, with their positions.
    pub(super) questions: BTreeMap<Fact, Vec<usize>>,
    /// Decisions about fixes that are gone, of the files and rules of this run.
    pub(super) stale: Vec<(Mark, Decision)>,
    /// What was searched for last.
    pattern: String,
    /// An edited result with doubts, while the person is asked about them.
    pub(super) pending: Option<Edited>,
    /// What was confirmed last in this review, after how many steps.
    pub(super) confirmed: Option<(Fact, usize)>,
    /// What is to be said of the last action.
    pub(super) message: String,
}

/// What comes after an action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Next {
    /// Go on.
    Stay,
    /// Ask the person; the answer goes to [`Desk::answer`].
    Ask(Question),
    /// Write what is accepted, then go on or leave.
    Write { leave: bool },
    /// End the review.
    Leave,
    /// Show all keys.
    Help,
    /// Let the person edit the current fix: [`Desk::edit`] needs the terminal.
    Edit,
    /// Keep this in the configuration, and look at all fixes again.
    Confirm(Fact),
    /// Take this out of the configuration again, and look at all fixes again.
    Retract(Fact),
}

/// Something to ask.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Question {
    /// Why the fix is rejected; one line, may be empty.
    Reason,
    /// Where to go; one line.
    GoTo,
    /// What to search; one line.
    Search,
    /// Whether all of `scope` are to be accepted; one key.
    AcceptAll { scope: Scope, text: String },
    /// Whether to write before leaving; one key.
    WriteNow { accepted: usize },
    /// Whether this holds, for all fixes that rest on it; one key.
    Confirm { fact: Fact, text: String },
    /// Whether an edited result is kept although the checks have doubts; one key.
    KeepEdit { doubts: Vec<String> },
}

impl Question {
    /// Whether one key answers it.
    pub(super) fn is_choice(&self) -> bool {
        !matches!(self, Self::Reason | Self::GoTo | Self::Search)
    }

    pub(super) fn text(&self) -> String {
        match self {
            Self::Reason => "Reject because: ".to_owned(),
            Self::GoTo => "Go to (number, id, file, file:line): ".to_owned(),
            Self::Search => "Search: ".to_owned(),
            Self::AcceptAll { text, .. } | Self::Confirm { text, .. } => {
                format!("{text} [y]es / [n]o ")
            }
            Self::WriteNow { accepted } => {
                let fixes = counted(*accepted);
                format!("Write {fixes} now? [y]es / [n]o, keep decisions / [c]ancel ")
            }
            Self::KeepEdit { doubts } => {
                let doubts = doubts.join("\n");
                format!("{doubts}\n[k]eep all the same / [e]dit again / [d]iscard ")
            }
        }
    }
}

impl<'a> Desk<'a> {
    pub(super) fn new(run: &'a Run, ledger: Ledger, journal: Option<Journal>) -> Self {
        let groups = groups(&run.package.files, &run.analysis.findings);
        let questions = questions(&groups);
        let session = Session::new(&run.package.files, groups, ledger);
        let stale = stale(run, &session);
        Self {
            session,
            questions,
            stale,
            run,
            journal,
            look: Look::default(),
            forms: BTreeMap::new(),
            pattern: String::new(),
            pending: None,
            confirmed: None,
            message: String::new(),
        }
    }

    /// Does what `action` asks for.
    ///
    /// # Errors
    /// If the journal cannot be written.
    pub(super) fn act(&mut self, action: Action) -> anyhow::Result<Next> {
        self.message.clear();
        if action.is_about_first_form() && self.form() > 0 {
            "y accepts the alternative that is shown; o returns to the fix itself, for all other \
             ways to accept it"
                .clone_into(&mut self.message);
            return Ok(Next::Stay);
        }
        match action {
            Action::Accept => {
                let decided = self.accept_shown(self.session.position());
                self.decided(Scope::This, "accepted", decided)?;
            }
            Action::Alternative => self.next_form(),
            Action::Confirm => return Ok(self.ask_to_confirm()),
            Action::Reject => self.decline(Scope::This, Decision::Rejected(String::new()))?,
            Action::Skip => self.decline(Scope::This, Decision::Skipped)?,
            Action::AcceptFile => self.accept_safe(Scope::RestOfFile)?,
            Action::RejectFile => self.reject_all(Scope::RestOfFile)?,
            Action::AcceptFunction => return self.accept_all(Scope::Function),
            Action::RejectFunction => self.reject_all(Scope::Function)?,
            Action::AcceptRule => return self.accept_all(Scope::Rule),
            Action::RejectRule => self.reject_all(Scope::Rule)?,
            Action::AcceptSafe => return Ok(self.ask_safe()),
            Action::NextOpen => self.tell(|s| s.go_open(Direction::Forward)),
            Action::PreviousOpen => self.tell(|s| s.go_open(Direction::Backward)),
            Action::Next => self.tell(|s| s.go_any(Direction::Forward)),
            Action::Previous => self.tell(|s| s.go_any(Direction::Backward)),
            Action::SearchAgain => self.search_again(),
            Action::Edit => return Ok(Next::Edit),
            Action::Split => self.explain_atomicity(),
            Action::WholeFunction
            | Action::MoreContext
            | Action::LessContext
            | Action::Side
            | Action::Why => self.look.change(action),
            Action::Undo => return self.undo(),
            Action::Redo => self.redo()?,
            Action::RejectWithReason => return Ok(Next::Ask(Question::Reason)),
            Action::GoTo => return Ok(Next::Ask(Question::GoTo)),
            Action::Search => return Ok(Next::Ask(Question::Search)),
            Action::Write => return Ok(self.ask_to_write()),
            Action::Leave => return Ok(self.leave()),
            Action::LeaveAtOnce => return Ok(Next::Leave),
            Action::Help => return Ok(Next::Help),
        }
        Ok(Next::Stay)
    }

    /// Takes the answer to a question: a line, or the key as a text.
    ///
    /// # Errors
    /// If the journal cannot be written.
    pub(super) fn answer(&mut self, question: Question, answer: &str) -> anyhow::Result<Next> {
        self.message.clear();
        let yes = answer.starts_with(['y', 'Y']);
        match question {
            Question::Reason => {
                let reason = Decision::Rejected(answer.trim().to_owned());
                self.decline(Scope::This, reason)?;
            }
            Question::GoTo => self.tell(|session| session.go_to(answer)),
            Question::Search => {
                answer.clone_into(&mut self.pattern);
                self.search_again();
            }
            Question::AcceptAll { scope, .. } if yes => match scope {
                Scope::Everything => self.accept_safe(scope)?,
                _ => self.accept(scope)?,
            },
            Question::Confirm { fact, .. } if yes => return Ok(Next::Confirm(fact)),
            Question::AcceptAll { .. } | Question::Confirm { .. } => {}
            Question::WriteNow { .. } if yes => return Ok(Next::Write { leave: true }),
            Question::WriteNow { .. } if answer.starts_with(['n', 'N']) => return Ok(Next::Leave),
            Question::WriteNow { .. } => {}
            Question::KeepEdit { .. } => return self.keep_edit(answer),
        }
        Ok(Next::Stay)
    }

    /// Accepts an edited result.
    ///
    /// # Errors
    /// If the journal cannot be written.
    pub(super) fn accept_edited(&mut self, edited: Edited) -> anyhow::Result<Next> {
        let at = self.session.position();
        let decided = self.session.accept_as(at, Decision::Edited(edited));
        self.decided(Scope::This, "accepted as edited", decided)?;
        Ok(Next::Stay)
    }

    fn keep_edit(&mut self, answer: &str) -> anyhow::Result<Next> {
        match (answer.chars().next(), self.pending.take()) {
            (Some('k' | 'K'), Some(edited)) => self.accept_edited(edited),
            (Some('e' | 'E'), pending) => {
                self.pending = pending;
                Ok(Next::Edit)
            }
            _ => {
                "the edit was discarded".clone_into(&mut self.message);
                Ok(Next::Stay)
            }
        }
    }

    /// Keeps records.
    ///
    /// # Errors
    /// If the journal cannot be written.
    pub(super) fn keep(&mut self, records: &[Record]) -> anyhow::Result<()> {
        match &mut self.journal {
            Some(journal) => journal.append(records),
            None => Ok(()),
        }
    }

    /// The lines of the current fix that are to be shown.
    pub(super) fn excerpt(&self, group: &Group<'_>) -> Vec<Line> {
        let extent = match self.look.whole_function {
            true => Extent::Function,
            false => Extent::Lines(self.look.context),
        };
        let fix = self.shown(group);
        let mut lines = excerpt(&self.run.package.files, group, &fix, extent);
        let hidden = match self.look.side {
            Side::Both => None,
            Side::New => Some(LineKind::Old),
            Side::Old => Some(LineKind::New),
        };
        lines.retain(|line| Some(line.kind) != hidden);
        lines
    }

    /// `12 accepted, 3 rejected, 26 open`.
    pub(super) fn progress(&self) -> String {
        let counts = self.session.counts();
        let (accepted, rejected, open) = (counts.accepted, counts.rejected, counts.open);
        format!("{accepted} accepted, {rejected} rejected, {open} open")
    }

    fn accept(&mut self, scope: Scope) -> anyhow::Result<()> {
        let positions = self.session.scope(scope);
        let decided = self.session.accept(&positions);
        self.decided(scope, "accepted", decided)
    }

    fn accept_safe(&mut self, scope: Scope) -> anyhow::Result<()> {
        let mut positions = self.session.scope(scope);
        let all = positions.len();
        positions.retain(|&at| self.session.groups()[at].is_safe());
        let left = all - positions.len();
        let decided = self.session.accept(&positions);
        self.decided(scope, "accepted", decided)?;
        if left > 0 {
            let said = std::mem::take(&mut self.message);
            self.message = format!("{said}; {} to confirm one by one", counted(left));
        }
        Ok(())
    }

    fn decline(&mut self, scope: Scope, decision: Decision) -> anyhow::Result<()> {
        let word = decision.word();
        let positions = self.session.scope(scope);
        let decided = self.session.decline(&positions, decision);
        self.decided(scope, word, decided)
    }

    fn reject_all(&mut self, scope: Scope) -> anyhow::Result<()> {
        self.decline(scope, Decision::Rejected(String::new()))
    }

    /// Accepts all of `scope`, after a question if they are many or rest on assumptions.
    fn accept_all(&mut self, scope: Scope) -> anyhow::Result<Next> {
        let positions = self.session.scope(scope);
        let risky = |at: &&usize| !self.session.groups()[**at].is_safe();
        let risky = positions.iter().filter(risky).count();
        if positions.is_empty() || (risky == 0 && scope == Scope::Function) {
            self.accept(scope)?;
            return Ok(Next::Stay);
        }
        let fixes = counted(positions.len());
        let text = match risky {
            0 => format!("Accept {fixes}, all safe?"),
            _ => format!("Accept {fixes}, {risky} of them with assumptions to confirm?"),
        };
        Ok(Next::Ask(Question::AcceptAll { scope, text }))
    }

    fn ask_safe(&mut self) -> Next {
        let positions = self.session.scope(Scope::Everything);
        let safe = |at: &&usize| self.session.groups()[**at].is_safe();
        let safe = positions.iter().filter(safe).count();
        if safe == 0 {
            "no safe fix is undecided".clone_into(&mut self.message);
            return Next::Stay;
        }
        let scope = Scope::Everything;
        let text = format!("Accept {} in all files, all safe?", counted(safe));
        Next::Ask(Question::AcceptAll { scope, text })
    }

    fn decided(&mut self, scope: Scope, word: &str, decided: Decided) -> anyhow::Result<()> {
        self.keep(decided.record.as_slice())?;
        self.message = match decided.changed {
            0 if decided.clashes.is_empty() => format!("nothing more to be {word}"),
            changed => format!("{} {word}", counted(changed)),
        };
        if let Some((left, accepted)) = decided.clashes.first() {
            let others = match decided.clashes.len() - 1 {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            self.message += &format!(
                "; {left}{others} changes the same text as {accepted}, which is accepted: reject \
                 that, or write it and review this again"
            );
        }
        let stays = scope == Scope::This && decided.clashes.len() == 1;
        if !stays && self.session.advance().is_err() && self.session.counts().open == 0 {
            self.message += "; all fixes are decided: w writes, q leaves";
        }
        Ok(())
    }

    fn tell(&mut self, go: impl FnOnce(&mut Session<'a>) -> Result<(), NotFound>) {
        if let Err(error) = go(&mut self.session) {
            self.message = error.to_string();
        }
    }

    fn search_again(&mut self) {
        if self.pattern.is_empty() {
            "no search text yet; / asks for it".clone_into(&mut self.message);
            return;
        }
        let pattern = self.pattern.clone();
        self.tell(|session| session.search(&pattern));
    }

    fn explain_atomicity(&mut self) {
        let Some(group) = self.session.current() else {
            return;
        };
        let changes = group.fix.edits.len();
        self.message = format!(
            "a fix is applied completely or not at all, because its changes ({changes}) depend on \
             each other"
        );
    }

    /// Undoes the last decision, or the confirmation that came after it.
    fn undo(&mut self) -> anyhow::Result<Next> {
        if let Some((fact, steps)) = &self.confirmed
            && *steps >= self.session.steps()
        {
            return Ok(Next::Retract(fact.clone()));
        }
        let records = self.session.undo();
        self.message = match records.is_empty() {
            true => "no decision to undo; `ungil undo` undoes a write".to_owned(),
            false => "decision undone".to_owned(),
        };
        self.keep(&records)?;
        Ok(Next::Stay)
    }

    fn redo(&mut self) -> anyhow::Result<()> {
        let records = self.session.redo();
        self.message = match records.is_empty() {
            true => "no decision to redo".to_owned(),
            false => "decision made again".to_owned(),
        };
        self.keep(&records)
    }

    fn ask_to_write(&mut self) -> Next {
        if self.session.counts().accepted == 0 {
            "nothing is accepted".clone_into(&mut self.message);
            return Next::Stay;
        }
        Next::Write { leave: false }
    }

    fn leave(&self) -> Next {
        match self.session.counts().accepted {
            0 => Next::Leave,
            accepted => Next::Ask(Question::WriteNow { accepted }),
        }
    }
}

/// Decisions about fixes that are gone although this run looked for them: its rules, its files and
/// its functions are asked for.
fn stale(run: &Run, session: &Session<'_>) -> Vec<(Mark, Decision)> {
    let engine = &run.settings.engine;
    let selected = transforms::ALL
        .iter()
        .filter(|rule| engine.selection.includes(rule));
    let rules: BTreeSet<_> = selected.map(|rule| rule.code).collect();
    let files = run
        .package
        .files
        .iter()
        .filter(|(id, _)| run.package.info(*id).selected);
    let files: BTreeSet<_> = files.map(|(_, file)| slashed(file.path())).collect();
    let is_asked_for = |mark: &Mark| {
        rules.contains(mark.rule.as_str())
            && files.contains(&mark.file)
            && (engine.functions.is_empty() || engine.functions.contains(&mark.function))
    };
    let stale = session.stale().filter(|(mark, _)| is_asked_for(mark));
    stale
        .map(|(mark, decision)| (mark.clone(), decision.clone()))
        .collect()
}

/// `1 fix`, `2 fixes`.
pub(super) fn counted(fixes: usize) -> String {
    match fixes {
        1 => "1 fix".to_owned(),
        _ => format!("{fixes} fixes"),
    }
}
