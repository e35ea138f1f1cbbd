//! Critical sections and mutexes that came in are closed on every path.

use super::proof::{calls, graph, is_inserted};
use crate::ast::Function;
use crate::edit::Applied;
use crate::program::ProgramItem;
use crate::sections::{Section, check_balance};

/// What is wrong with the critical sections and the mutexes of a function, if the edits brought in
/// one.
pub(super) fn wrong(item: &ProgramItem, function: &Function, applied: &Applied) -> Option<String> {
    let section = item.tokens.expansions.iter().any(|expansion| {
        expansion.name.starts_with("Py_BEGIN_CRITICAL_SECTION")
            && expansion.call.0 == item.place.0
            && applied.map.to_original(expansion.call.1.start()).is_none()
    });
    let mutex = calls(function).any(|(call, name)| {
        matches!(name, "PyMutex_Lock" | "PyMutex_Unlock")
            && is_inserted(item, applied, function.tree.expr(call).range.start)
    });
    let graph = (section || mutex).then(|| graph(function))?;
    let found = check_balance(&graph, &function.tree);
    let what = match found.first()?.section {
        Some(Section::Mutex(_)) => "keeps a mutex locked, or unlocks it twice",
        Some(Section::Record(_)) | None => "leaves a critical section open, or ends it twice",
    };
    Some(format!("in `{}`, a path {what}", function.name))
}
