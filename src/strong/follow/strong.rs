//! The lookups of a plan as the homes of others meet them.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use crate::ast::ExprId;
use crate::strong::exits::exit::Failure;
use crate::strong::plan::Home;

/// Calls whose results are owned after a change, with a note of those that made a difference to
/// somebody.
pub(in crate::strong) struct Strong<'s> {
    calls: &'s BTreeSet<ExprId>,
    /// Those behind which the function leaves, by an exit that comes in, where they give nothing.
    leaving: BTreeSet<ExprId>,
    /// The labels to which these exits go.
    labels: BTreeMap<ExprId, Box<str>>,
    /// Those whose `NULL` goes to a function that raises for it.
    passed_on: BTreeSet<ExprId>,
    met: RefCell<BTreeSet<ExprId>>,
}

impl<'s> Strong<'s> {
    /// `homes` are those of the calls.
    pub(in crate::strong) fn new<'h>(
        calls: &'s BTreeSet<ExprId>,
        homes: impl IntoIterator<Item = &'h Home>,
    ) -> Self {
        let mut strong = Self {
            calls,
            leaving: BTreeSet::new(),
            labels: BTreeMap::new(),
            passed_on: BTreeSet::new(),
            met: RefCell::default(),
        };
        for lookup in homes.into_iter().flat_map(|home| &home.lookups) {
            if lookup.failure.leaves_for_null() {
                strong.leaving.insert(lookup.call);
                let label = lookup.failure.label().map(Box::from);
                strong
                    .labels
                    .extend(label.map(|label| (lookup.call, label)));
            }
            if lookup.failure == Failure::PassedOn {
                strong.passed_on.insert(lookup.call);
            }
        }
        strong
    }

    /// Whether a call gets an exit of its own.
    pub(in crate::strong) fn leaves(&self, call: ExprId) -> bool {
        self.leaving.contains(&call) && self.contains(call)
    }

    /// Whether an exit goes to a label.
    pub(in crate::strong) fn any_lands(&self) -> bool {
        !self.labels.is_empty()
    }

    /// The label to which the exit of a call goes.
    pub(super) fn label(&self, call: ExprId) -> Option<&str> {
        let label = self.labels.get(&call)?;
        self.contains(call).then_some(&**label)
    }

    /// Whether the `NULL` of a call is passed on.
    pub(in crate::strong) fn passes_on(&self, call: ExprId) -> bool {
        self.passed_on.contains(&call) && self.contains(call)
    }

    pub(in crate::strong) fn contains(&self, call: ExprId) -> bool {
        let is_strong = self.calls.contains(&call);
        if is_strong {
            self.met.borrow_mut().insert(call);
        }
        is_strong
    }

    /// Those that somebody asked about.
    pub(in crate::strong) fn into_met(self) -> BTreeSet<ExprId> {
        self.met.into_inner()
    }
}
