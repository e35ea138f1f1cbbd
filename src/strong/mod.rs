//! Rewrites borrowed references into strong ones.
//!
//! A *lookup* is a call that gives a borrowed reference. For each function: the `shape` of each
//! lookup, what `follow` finds along all paths (the web of the variable that is assigned, which
//! `Py_INCREF` goes), where the `releases` come, which of the function's `exits` serves where a
//! call fails that could not fail before, whether an exception may be `pending` there, whether the
//! object can be `lent` to a part of the function where a macro leaves it; then the
//! text that is `emit`ted. The `variants` of all configurations become one change.
//!
//! ```c
//! PyObject *v = PyList_GetItem(list, i);      PyObject *v = PyList_GetItemRef(list, i);
//! if (v == NULL)                              if (v == NULL)
//!     return -1;                                  return -1;
//! n += check(v);                              n += check(v);
//!                                             Py_DECREF(v);
//! ```

mod added;
mod addressed;
mod again;
mod by_index;
mod chosen;
mod comments;
mod contract;
mod elsewhere;
mod emit;
mod exits;
mod follow;
mod given_up;
mod guard;
mod item;
mod items;
mod jumps;
mod kept;
mod lent;
mod lifetimes;
mod loans;
mod order;
mod pending;
mod plan;
mod reason;
mod releases;
mod rule;
mod scene;
mod scope;
mod shape;
mod snapshot;
mod statics;
mod together;
mod trace;
mod twice;
mod types;
mod unchanged;
mod variants;
mod weak;
mod written;

pub use added::failure_exit;
pub use by_index::by_index;
pub use chosen::as_branches;
pub(crate) use given_up::Body;
pub(crate) use jumps::jumped_back;
pub use lent::is_lent;
pub(crate) use pending::errno::{Around, Errno, errno_functions};
pub use reason::{has_no_exit, is_behind_condition, is_left_by_macro, is_name_in_macro};
pub use rule::{check, check_items, lookup_span};
pub use snapshot::looks_at_counts;
pub use trace::trace;
pub use unchanged::may_change;
