//! The forms of a fix: the fix itself and its alternatives.

use std::borrow::Cow;

use super::desk::{Desk, Next, Question};
use crate::cli::word::rests;
use crate::edit::{Assumption, Fix};
use crate::review::{Decided, Decision, Group};

/// The fix and its alternatives with their numbers, from 1.
pub(super) fn forms<'a>(group: &Group<'a>) -> impl Iterator<Item = (usize, &'a Fix)> {
    (1..).zip(std::iter::once(group.fix).chain(&group.fix.alternatives))
}

impl<'a> Desk<'a> {
    /// What is shown of `group`: the fix as it was decided for, or the form that the person looks
    /// at.
    pub(super) fn shown(&self, group: &Group<'a>) -> Cow<'a, Fix> {
        let Some(at) = self.session.find(&group.id) else {
            return Cow::Borrowed(group.fix);
        };
        match self.form_of(at) {
            0 if self.session.decision(at).is_edited() => self.session.fix(at),
            0 => Cow::Borrowed(group.fix),
            other => Cow::Borrowed(&group.fix.alternatives[other - 1]),
        }
    }

    /// What must be confirmed of what is shown of `group`.
    pub(super) fn assumptions(&self, group: &Group<'a>) -> Vec<Assumption> {
        let mut all = self.shown(group).assumptions.clone();
        all.extend(group.more_assumptions().into_iter().cloned());
        all
    }

    /// Asks for the first thing that the current fix rests on and that can be confirmed for all.
    pub(super) fn ask_to_confirm(&mut self) -> Next {
        let asked = match self.session.current() {
            Some(group) => self.assumptions(group),
            None => Vec::new(),
        };
        let Some(fact) = asked.iter().find_map(Assumption::fact) else {
            self.message = match asked.is_empty() {
                true => "this fix has nothing to confirm".to_owned(),
                false => {
                    "what this fix rests on is about this place alone: y accepts it".to_owned()
                }
            };
            return Next::Stay;
        };
        let on = self.questions.get(fact).map_or(1, Vec::len);
        let (fact, name) = (fact.clone(), self.run.settings.name());
        let text = format!(
            "{}. Is it true for all of them? Yes goes to {name}",
            rests(&fact, on)
        );
        Next::Ask(Question::Confirm { fact, text })
    }

    /// Which form of the current fix is shown.
    pub(super) fn form(&self) -> usize {
        self.form_of(self.session.position())
    }

    /// Which form of the fix at a position is shown: the one the person looks at, else the one that
    /// was decided for.
    pub(super) fn form_of(&self, at: usize) -> usize {
        match (self.forms.get(&at), self.session.decision(at)) {
            (Some(&form), _) => form,
            (None, Decision::Alternative(title)) => {
                let mut titles = self.session.groups()[at].fix.alternatives.iter();
                titles
                    .position(|other| other.title == *title)
                    .map_or(0, |at| at + 1)
            }
            _ => 0,
        }
    }

    /// Turns to the next form of the current fix.
    pub(super) fn next_form(&mut self) {
        let Some(group) = self.session.current() else {
            return;
        };
        let forms = group.fix.alternatives.len() + 1;
        if forms == 1 {
            "this fix has no alternative".clone_into(&mut self.message);
            return;
        }
        self.look_at(self.session.position(), (self.form() + 1) % forms);
    }

    /// Turns to another form of the fix at a position.
    pub(super) fn look_at(&mut self, at: usize, form: usize) {
        self.forms.insert(at, form);
    }

    /// Accepts the form that is shown of the fix at a position.
    pub(super) fn accept_shown(&mut self, at: usize) -> Decided {
        let decision = match self.form_of(at) {
            0 if self.session.decision(at).is_edited() => self.session.decision(at).clone(),
            0 => Decision::Accepted,
            other => {
                let alternative = &self.session.groups()[at].fix.alternatives[other - 1];
                Decision::Alternative(alternative.title.clone())
            }
        };
        self.session.accept_as(at, decision)
    }
}
