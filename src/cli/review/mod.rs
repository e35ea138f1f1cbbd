//! `ungil review`: on a full screen, with line prompts, or without a person.

mod batch;
mod desk;
mod edit;
mod forms;
mod keys;
mod look;
mod plain;
mod screen;
mod why;
mod write;

use std::collections::BTreeSet;
use std::env;
use std::io::{self, IsTerminal};

use anyhow::Context;

use super::Status;
use super::args::ReviewArgs;
use super::interrupt::Interrupt;
use super::rest::Rest;
use super::session::{Session, roots};
use super::store::{Journal, Store};
use super::talk::{self, Talk};
use crate::facts::Fact;
use crate::review::{Ledger, Record, groups, renamed, settled};
use desk::{Desk, Next};
use look::Look;
use write::Outcome;

/// How the person is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Screen,
    Plain,
    Batch,
}

pub(super) fn run(args: &ReviewArgs, talk: &Talk, interrupt: &Interrupt) -> anyhow::Result<Status> {
    let Some(mode) = mode(args) else {
        talk.error(
            "this is not a terminal, so `ungil` cannot ask; use\n  --list, --show ID             \
             to see the fixes\n  --accept ID, --reject ID      to decide, and --write to write \
             what is accepted\n  --plain                       to answer prompts on stdin",
        );
        return Ok(Status::Refused);
    };
    let roots = roots(&args.analysis.paths)?;
    let store = match args.batch.only_shows() {
        true => Store::open_free(&roots)?,
        false => Some(Store::open(&roots)?),
    };
    if let Some(store) = &store {
        super::undo::repair(&store.writes(), talk, interrupt)?;
    }
    let store = store.filter(|_| !args.batch.only_shows());
    let review = Review {
        args,
        talk,
        interrupt,
        store,
        run: Session::with_alternatives(&args.analysis, talk)?,
    };
    match mode {
        Mode::Batch => review.batch(),
        Mode::Plain => review.ask(plain::ask),
        Mode::Screen => review.ask(screen::ask),
    }
}

fn mode(args: &ReviewArgs) -> Option<Mode> {
    let is_dumb = env::var_os("TERM").is_some_and(|term| term == "dumb");
    if args.batch.is_asked_for() {
        Some(Mode::Batch)
    } else if args.plain {
        Some(Mode::Plain)
    } else if !io::stdin().is_terminal() {
        None
    } else if is_dumb || !io::stdout().is_terminal() {
        Some(Mode::Plain)
    } else {
        Some(Mode::Screen)
    }
}

/// Everything a review needs besides its state.
struct Review<'a> {
    args: &'a ReviewArgs,
    talk: &'a Talk,
    interrupt: &'a Interrupt,
    /// `None` where fixes are only shown, which needs no lock.
    store: Option<Store>,
    run: Session,
}

/// What a review wrote so far.
#[derive(Debug, Default)]
struct Written {
    fixes: usize,
    /// Where older Pythons get what the fixes use of newer ones.
    notes: Vec<String>,
}

impl Written {
    fn add(&mut self, fixes: usize, notes: &[String]) {
        self.fixes += fixes;
        for note in notes {
            if !self.notes.contains(note) {
                self.notes.push(note.clone());
            }
        }
    }
}

impl Review<'_> {
    /// The decisions so far over the fixes of the last analysis.
    fn desk(&self) -> anyhow::Result<Desk<'_>> {
        let path = Store::journal_of(&self.run.roots);
        let (journal, kept) = match self.store {
            Some(_) => Journal::open(&path).map(|(journal, kept)| (Some(journal), kept))?,
            None => (None, Journal::read(&path)?),
        };
        for line in kept.unreadable {
            let path = path.display();
            self.talk.warning(&format!(
                "{path}:{line}: not a decision; this line is ignored"
            ));
        }
        Ok(Desk::new(&self.run, Ledger::replay(kept.records), journal))
    }

    /// Lets `ask` lead through the review, and writes and analyses again as often as asked for.
    fn ask(
        mut self,
        ask: fn(&mut Desk<'_>, &Talk) -> anyhow::Result<Next>,
    ) -> anyhow::Result<Status> {
        let (mut message, mut look) = (String::new(), Look::default());
        let mut written = Written::default();
        let mut confirmed: Vec<(Fact, usize)> = Vec::new();
        loop {
            let mut desk = self.desk()?;
            desk.confirmed = confirmed.last().cloned();
            if message.is_empty() && !desk.stale.is_empty() {
                let stale = desk.stale.len();
                message =
                    format!("{stale} earlier decisions are stale, because the code has changed");
            }
            if desk.session.groups().is_empty() {
                break;
            }
            (desk.message, desk.look) = (std::mem::take(&mut message), look);
            let next = ask(&mut desk, self.talk)?;
            look = desk.look;
            let leave = match next {
                Next::Write { leave } => leave,
                Next::Confirm(fact) => {
                    confirmed.push((fact.clone(), desk.session.steps()));
                    drop(desk);
                    message = self.confirm(&[fact])?;
                    continue;
                }
                Next::Retract(fact) => {
                    confirmed.pop();
                    drop(desk);
                    message = self.retract(&fact)?;
                    continue;
                }
                _ => break,
            };
            let outcome = self.write(&mut desk)?;
            message = outcome.to_string();
            let Outcome::Written { fixes, notes, .. } = &outcome else {
                if leave {
                    self.talk.error(&message);
                    return Ok(outcome.status());
                }
                if outcome == Outcome::Changed {
                    self.run = self.analyse()?;
                }
                continue;
            };
            written.add(*fixes, notes);
            self.run = self.after(&mut desk, &outcome)?;
            if leave {
                break;
            }
        }
        let desk = self.desk()?;
        Ok(self.end(&desk, &written))
    }

    fn batch(mut self) -> anyhow::Result<Status> {
        let facts = match batch::facts(&self.desk()?, &self.args.batch) {
            Ok(facts) => facts,
            Err(error) => {
                self.talk.error(&error.to_string());
                return Ok(Status::Refused);
            }
        };
        if !facts.is_empty() {
            let said = self.confirm(&facts)?;
            self.talk.info(&said);
        }
        let mut desk = self.desk()?;
        if let Err(error) = batch::decide(&mut desk, &self.args.batch) {
            self.talk.error(&error.to_string());
            return Ok(Status::Refused);
        }
        if !self.args.batch.write || desk.session.counts().accepted == 0 {
            return batch::answer(&desk, &self.args.batch, 0);
        }
        let outcome = self.write(&mut desk)?;
        let Outcome::Written { fixes, notes, .. } = &outcome else {
            self.talk.error(&outcome.to_string());
            return Ok(outcome.status());
        };
        let mut written = Written::default();
        written.add(*fixes, notes);
        self.run = self.after(&mut desk, &outcome)?;
        let desk = self.desk()?;
        let status = batch::answer(&desk, &self.args.batch, written.fixes)?;
        self.tell_of_writes(&written);
        Ok(status)
    }

    fn write(&self, desk: &mut Desk<'_>) -> anyhow::Result<Outcome> {
        let store = self.store.as_ref().context("nothing is written here")?;
        write::accepted(desk, self.args, &store.writes(), self.talk, self.interrupt)
    }

    /// Keeps facts in the configuration, and looks at all fixes again.
    fn confirm(&mut self, facts: &[Fact]) -> anyhow::Result<String> {
        let roots = &self.run.roots;
        self.run.settings.confirm(facts, &roots.project)?;
        self.run = self.analyse()?;
        let groups = groups(&self.run.package.files, &self.run.analysis.findings);
        let settled = settled(&groups);
        let fixes: BTreeSet<usize> = facts
            .iter()
            .filter_map(|it| settled.get(it))
            .flatten()
            .copied()
            .collect();
        let safe = fixes.iter().filter(|at| groups[**at].is_safe()).count();
        Ok(format!(
            "kept in {}; {safe} of {} on it need no other answer",
            self.run.settings.name(),
            talk::counted(fixes.len(), "fix that rests", "fixes that rest")
        ))
    }

    /// Takes a fact out of the configuration again, and looks at all fixes again.
    fn retract(&mut self, fact: &Fact) -> anyhow::Result<String> {
        let settings = &self.run.settings;
        let name = settings.name();
        settings.retract(fact)?;
        self.run = self.analyse()?;
        Ok(format!("confirmation undone: it is no longer in {name}"))
    }

    fn analyse(&self) -> anyhow::Result<Session> {
        Session::with_alternatives(&self.args.analysis, self.talk)
    }

    /// Analyses the written files, and takes decisions along to fixes that got other ids.
    fn after(&self, desk: &mut Desk<'_>, outcome: &Outcome) -> anyhow::Result<Session> {
        let next = self.analyse()?;
        if let Outcome::Written { maps, .. } = outcome {
            let groups = renamed(
                &desk.session,
                maps,
                &groups(&next.package.files, &next.analysis.findings),
            );
            if !groups.is_empty() {
                desk.keep(&[Record::Renamed { groups }])?;
            }
        }
        Ok(next)
    }

    /// Says what the writes of this review ask for, and what they leave.
    fn tell_of_writes(&self, written: &Written) {
        if written.fixes == 0 {
            return;
        }
        for note in &written.notes {
            self.talk.info(note);
        }
        let findings: Vec<_> = self.run.analysis.findings.iter().collect();
        Rest::of(&self.run, &findings).tell(self.talk);
    }

    fn end(&self, desk: &Desk<'_>, written: &Written) -> Status {
        if desk.session.groups().is_empty() && written.fixes == 0 {
            self.talk.info("There is nothing to review");
        } else {
            let (fixes, progress) = (desk::counted(written.fixes), desk.progress());
            self.talk.info(&format!("{fixes} written; {progress}"));
        }
        self.tell_of_writes(written);
        let counts = desk.session.counts();
        if counts.accepted > 0 {
            self.talk
                .info("Decisions are kept; `ungil review --write` writes the accepted fixes");
        }
        for (mark, decision) in &desk.stale {
            let decision = why::described(decision);
            let (id, rule, file) = (&mark.id, &mark.rule, &mark.file);
            self.talk.detail(&format!(
                "stale: {id} {rule} {file} {}: {decision}, but the code has changed",
                mark.function
            ));
        }
        match counts.open + counts.accepted {
            0 => Status::Clean,
            _ => Status::Findings,
        }
    }
}
