//! Rewrites borrowed references into strong ones.
//!
//! A *lookup* is a call that gives a borrowed reference. For each function: the `shape` of each
//! lookup, the `web` of the variable it assigns to, what `follow` finds along all paths (which
//! `Py_INCREF` goes, where releases come), and the `emit`ted text.
//!
//! ```c
//! PyObject *v = PyList_GetItem(list, i);      PyObject *v = PyList_GetItemRef(list, i);
//! if (v == NULL)                              if (v == NULL)
//!     return -1;                                  return -1;
//! n += check(v);                              n += check(v);
//!                                             Py_DECREF(v);
//! ```

mod afterwards;
mod arms;
mod around;
mod behind;
mod beside;
mod bound;
mod branch;
mod calls;
mod chain;
mod claims;
mod comments;
mod contract;
mod counting;
mod counts;
mod declarations;
mod declare;
mod dropped;
mod emit;
mod entered;
mod errno;
mod error_value;
mod exit;
mod exits;
mod failing;
mod flags;
mod follow;
mod guarded;
mod hand_out;
mod held;
mod hold;
mod inside;
mod item;
mod itself;
mod labels;
mod later;
mod locks;
mod made_exit;
mod mend;
mod merge;
mod named;
mod names;
mod other_type;
mod outcomes;
mod outs;
mod own;
mod passed_on;
mod pending;
mod placing;
mod plan;
mod presence;
mod raising;
mod reach;
mod reason;
mod releases;
mod removal;
mod replace;
mod rule;
mod same_value;
mod scene;
mod shape;
mod slots;
mod snapshot;
mod step;
mod step_call;
mod stored;
mod title;
mod told;
mod types;
mod unasked;
mod undo;
mod undone;
mod variants;
mod weak;
mod web;
mod why;
mod worlds;

pub use reason::is_left_by_macro;
pub use rule::check;
