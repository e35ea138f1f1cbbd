//! How the code that is written leaves where a lookup fails that could not fail before.

use std::collections::BTreeMap;

use super::exit::Failure;
use crate::ast::{ExprId, StmtId};
use crate::source::ByteSpan;
use crate::strong::emit::Draft;
use crate::strong::plan::{Home, Lookup, Planned};

/// What becomes of an exception that nobody can be told of: since Python 3.13 the old functions do
/// the same with what they swallow.
pub(in crate::strong) const REPORT: &str = "PyErr_WriteUnraisable(NULL);";

/// The loops that just end where a lookup of `group` fails.
pub(in crate::strong) fn breaks(group: &[Planned]) -> BTreeMap<ExprId, StmtId> {
    let lookups = group.iter().flat_map(|planned| &planned.home.lookups);
    let breaks = lookups.filter_map(|lookup| match lookup.failure {
        Failure::Break(left, _) => Some((lookup.call, left)),
        _ => None,
    });
    breaks.collect()
}

impl Draft<'_, '_> {
    /// The statement that leaves the function if the result of `lookup`, in `name`, is `NULL` and
    /// could not be before. No lines if there is no need.
    pub(in crate::strong) fn null_exit(
        &mut self,
        lookup: &Lookup,
        name: &str,
        stmt: ByteSpan,
    ) -> Vec<String> {
        let jump = match &lookup.failure {
            Failure::AsBefore
            | Failure::Untested
            | Failure::Tested
            | Failure::Joined(_)
            | Failure::PassedOn => {
                return Vec::new();
            }
            Failure::Exit(jump) | Failure::Break(_, jump) | Failure::Stop(jump) => jump,
        };
        let releases = self.at_exit.get(&lookup.call).cloned().unwrap_or_default();
        let body = [releases, jump.clone()].concat();
        let open = self.scene.layout.if_open();
        self.block_of(&format!("{open}{name} == NULL)"), &body, stmt)
    }

    /// What is done about an error of `lookup` that the borrowed form swallowed.
    pub(in crate::strong) fn on_error(&self, lookup: &Lookup) -> Vec<String> {
        match &lookup.failure {
            Failure::Exit(jump) => {
                let releases = self.at_exit.get(&lookup.call).cloned().unwrap_or_default();
                [releases, jump.clone()].concat()
            }
            _ => vec![REPORT.to_owned()],
        }
    }

    /// Whether the failure of `call` only leaves a loop behind which the reference of `home` is
    /// still held.
    pub(in crate::strong) fn is_kept_by_break(&self, call: ExprId, home: &Home) -> bool {
        let Some(&left) = self.breaks.get(&call) else {
            return false;
        };
        let inner = self.scene.inner_stmts(left);
        let mut lookups = home.lookups.iter();
        lookups.all(|lookup| {
            self.scene
                .stmt_of(lookup.call)
                .is_none_or(|stmt| !inner.contains(&stmt))
        })
    }
}
