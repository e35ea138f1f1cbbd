//! The rule on C text. Each diff was read.

mod copies;
mod declines;
mod detached;
mod dicts;
mod exit_macros;
mod exits;
mod given_up;
mod global_state;
mod held_layout;
mod helper;
mod labels;
mod layout;
mod lent;
mod let_go;
mod lists;
mod once;
mod references;
mod result_types;
mod sizes;

use super::UNLOCKED_DICT_ITERATION;
use crate::testing::run_triaged;

fn diff(text: &str) -> String {
    run_triaged(&UNLOCKED_DICT_ITERATION, text)
}
