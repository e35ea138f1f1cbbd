//! Accepting and rejecting fixes one by one, as a state machine without files and terminal.
//!
//! [`groups`] gives each fix an id that survives edits elsewhere; [`Session`] holds the decisions,
//! the place in the list, and what undo takes back; every change of a decision is a [`Record`] for
//! the caller to keep, and [`Ledger::replay`] makes the decisions from the records again.

mod carry;
mod clash;
mod decision;
mod edited;
mod excerpt;
mod group;
mod items;
mod ledger;
mod navigate;
mod questions;
mod session;
#[cfg(test)]
mod testing;

pub use carry::renamed;
pub use decision::{Decision, GroupId, Mark, Record};
pub use edited::Edited;
pub use excerpt::{Extent, Line, LineKind, Part, beginning, excerpt};
pub use group::{Group, groups, slashed};
pub use items::Items;
pub use ledger::Ledger;
pub use navigate::{Direction, NotFound};
pub use questions::{questions, settled};
pub use session::{Counts, Decided, Scope, Session};
