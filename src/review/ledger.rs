//! All decisions so far, and the steps that led to them.

use std::collections::BTreeMap;

use super::decision::{Decision, GroupId, Mark, Record};

/// The decisions of a review, also about fixes that are not there any more.
#[derive(Debug, Default)]
pub struct Ledger {
    entries: BTreeMap<GroupId, Entry>,
    done: Vec<Step>,
    undone: Vec<Step>,
}

#[derive(Debug)]
struct Entry {
    mark: Mark,
    decision: Decision,
    /// The fix was written, so that it is gone is no surprise.
    written: bool,
}

#[derive(Debug)]
struct Step {
    to: Decision,
    /// The fixes with what was decided of them before.
    before: Vec<(GroupId, Decision)>,
}

impl Ledger {
    /// The decisions that `records` lead to, in their order.
    #[must_use]
    pub fn replay(records: impl IntoIterator<Item = Record>) -> Self {
        let mut ledger = Self::default();
        for record in records {
            ledger.apply(&record);
        }
        ledger
    }

    /// Takes one more record in; returns the ids whose decision it set.
    pub(super) fn apply(&mut self, record: &Record) -> Vec<GroupId> {
        match record {
            Record::Decide { to, groups } => self.decide(to, groups),
            Record::Undo => self.undo(),
            Record::Redo => self.redo(),
            Record::Written { groups } => {
                for id in groups {
                    if let Some(entry) = self.entries.get_mut(id) {
                        entry.written = true;
                    }
                }
                Vec::new()
            }
            Record::Renamed { groups } => {
                self.rename(groups);
                Vec::new()
            }
        }
    }

    /// What was decided of a fix.
    #[must_use]
    pub fn decision(&self, id: &GroupId) -> Decision {
        let entry = self.entries.get(id);
        entry.map_or(Decision::Undecided, |entry| entry.decision.clone())
    }

    /// Decisions about fixes that were not written, in order of their ids.
    pub fn unwritten(&self) -> impl Iterator<Item = (&Mark, &Decision)> {
        let entries = self.entries.values();
        let kept = entries.filter(|entry| !entry.written && entry.decision != Decision::Undecided);
        kept.map(|entry| (&entry.mark, &entry.decision))
    }

    /// How many steps undo could take back.
    pub(super) fn steps(&self) -> usize {
        self.done.len()
    }

    /// The fixes of the step that undo would take back.
    pub(super) fn last_done(&self) -> Option<impl Iterator<Item = &GroupId>> {
        self.done
            .last()
            .map(|step| step.before.iter().map(|(id, _)| id))
    }

    /// The fixes of the step that redo would make again.
    pub(super) fn last_undone(&self) -> Option<impl Iterator<Item = &GroupId>> {
        self.undone
            .last()
            .map(|step| step.before.iter().map(|(id, _)| id))
    }

    fn decide(&mut self, to: &Decision, groups: &[Mark]) -> Vec<GroupId> {
        let mut before = Vec::with_capacity(groups.len());
        for mark in groups {
            before.push((mark.id.clone(), self.decision(&mark.id)));
            let entry = Entry {
                mark: mark.clone(),
                decision: to.clone(),
                written: false,
            };
            self.entries.insert(mark.id.clone(), entry);
        }
        self.done.push(Step {
            to: to.clone(),
            before,
        });
        self.undone.clear();
        groups.iter().map(|mark| mark.id.clone()).collect()
    }

    fn undo(&mut self) -> Vec<GroupId> {
        let Some(step) = self.done.pop() else {
            return Vec::new();
        };
        for (id, decision) in &step.before {
            self.set(id, decision.clone());
        }
        let ids = step.before.iter().map(|(id, _)| id.clone()).collect();
        self.undone.push(step);
        ids
    }

    fn redo(&mut self) -> Vec<GroupId> {
        let Some(step) = self.undone.pop() else {
            return Vec::new();
        };
        for (id, _) in &step.before {
            self.set(id, step.to.clone());
        }
        let ids = step.before.iter().map(|(id, _)| id.clone()).collect();
        self.done.push(step);
        ids
    }

    fn set(&mut self, id: &GroupId, decision: Decision) {
        if let Some(entry) = self.entries.get_mut(id) {
            entry.decision = decision;
        }
    }

    fn rename(&mut self, groups: &[(GroupId, GroupId)]) {
        let names: BTreeMap<_, _> = groups.iter().map(|(old, new)| (old, new)).collect();
        let moved: Vec<_> = names
            .iter()
            .filter_map(|(old, new)| Some((*new, self.entries.remove(*old)?)))
            .collect();
        for (new, mut entry) in moved {
            entry.mark.id = new.clone();
            self.entries.insert(new.clone(), entry);
        }
        let steps = self.done.iter_mut().chain(&mut self.undone);
        for (id, _) in steps.flat_map(|step| &mut step.before) {
            if let Some(new) = names.get(id) {
                *id = (*new).clone();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Ledger;
    use crate::review::{Decision, GroupId, Mark, Record};

    fn id(name: &str) -> GroupId {
        GroupId(name.into())
    }

    fn decide(to: Decision, names: &[&str]) -> Record {
        let mark = |name: &&str| Mark {
            id: id(name),
            rule: "UG901".into(),
            file: "m.c".into(),
            function: "f".into(),
        };
        Record::Decide {
            to,
            groups: names.iter().map(mark).collect(),
        }
    }

    fn accept(names: &[&str]) -> Record {
        decide(Decision::Accepted, names)
    }

    #[test]
    fn undo_and_redo_go_step_by_step_also_after_a_replay() {
        let reject = decide(Decision::Rejected("no".into()), &["b"]);
        let mut records = vec![accept(&["a", "b"]), reject, Record::Undo];
        let state = |records: &[Record]| {
            let ledger = Ledger::replay(records.to_vec());
            [ledger.decision(&id("a")), ledger.decision(&id("b"))]
        };
        assert_eq!(state(&records), [Decision::Accepted, Decision::Accepted]);
        records.push(Record::Redo);
        assert_eq!(state(&records)[1], Decision::Rejected("no".into()));
        records.extend([Record::Undo, Record::Undo]);
        assert_eq!(state(&records), [Decision::Undecided, Decision::Undecided]);
        records.extend([accept(&["b"]), Record::Redo, Record::Undo, Record::Undo]);
        assert_eq!(state(&records), [Decision::Undecided, Decision::Undecided]);
    }

    #[test]
    fn written_fixes_are_not_missed() {
        let written = Record::Written {
            groups: vec![id("a")],
        };
        let ledger = Ledger::replay([accept(&["a"]), accept(&["b"]), written]);
        let left: Vec<_> = ledger
            .unwritten()
            .map(|(mark, _)| mark.id.clone())
            .collect();
        assert_eq!(left, [id("b")]);
    }

    #[test]
    fn a_new_name_keeps_the_decision_and_its_undo() {
        // Two fixes may even swap their names.
        let renamed = Record::Renamed {
            groups: vec![(id("a"), id("b")), (id("b"), id("a"))],
        };
        let records = [accept(&["a"]), decide(Decision::Skipped, &["b"]), renamed];
        let ledger = Ledger::replay(records.clone());
        assert_eq!(ledger.decision(&id("b")), Decision::Accepted);
        assert_eq!(ledger.decision(&id("a")), Decision::Skipped);
        let ledger = Ledger::replay(records.into_iter().chain([Record::Undo]));
        assert_eq!(ledger.decision(&id("a")), Decision::Undecided);
        assert_eq!(ledger.decision(&id("b")), Decision::Accepted);
    }

    #[test]
    fn records_are_json_lines() {
        let line = serde_json::to_string(&decide(Decision::Rejected("a \"b\"".into()), &["x"]));
        insta::assert_snapshot!(line.unwrap(), @r#"{"do":"decide","to":{"rejected":"a \"b\""},"groups":[{"id":"x","rule":"UG901","file":"m.c","function":"f"}]}"#);
        let line = serde_json::to_string(&Record::Undo).unwrap();
        assert_eq!(line, r#"{"do":"undo"}"#);
        assert_eq!(serde_json::from_str::<Record>(&line).unwrap(), Record::Undo);
    }
}
