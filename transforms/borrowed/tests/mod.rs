//! What C becomes which C.

mod again;
mod aligned;
mod apart;
mod arguments;
mod asked;
mod awaited;
mod bent;
mod between;
mod bounds;
mod capsules;
mod chains;
mod cleanup;
mod coalesce;
mod comments;
mod contracts;
mod coping;
mod counting;
mod detached;
mod dicts;
mod empty;
mod entered;
mod errors;
mod exits;
mod facts;
mod fast_items;
mod fields;
mod filled;
mod flags;
mod forgotten;
mod formats;
mod further_on;
mod given_up;
mod guarded;
mod helpers;
mod in_declarations;
mod joined;
mod jumps;
mod kept_apart;
mod later;
mod layout;
mod leaving;
mod left_out;
mod lent;
mod lifetimes;
mod list_gaps;
mod list_macro_loops;
mod list_macro_made;
mod list_macro_owners;
mod list_macros;
mod lists;
mod loans;
mod lost;
mod made;
mod meanwhile;
mod meeting;
mod mend;
mod merged;
mod mistaken;
mod negative;
mod noted;
mod numbers;
mod one_name;
mod operands;
mod other_types;
mod outs;
mod owners;
mod passed_on;
mod path;
mod pending;
mod plain;
mod presence;
mod read_behind;
mod saved;
mod settled;
mod shadowed;
mod snapshots;
mod stored;
mod swallowed;
mod told;
mod uncertain;
mod undo;
mod unfinished;
mod variants;
mod weakrefs;

use crate::testing;
use crate::transforms::ALL;

/// The function `static int f(…)` with this body after all rules.
fn int(body: &str) -> String {
    of("int", body)
}

/// The function `static PyObject *f(…)` with this body after all rules.
fn object(body: &str) -> String {
    of("PyObject *", body)
}

fn of(result: &str, body: &str) -> String {
    all(&format!(
        "static {result} f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)\n{{\n{}\n}}\n",
        body.trim_matches('\n')
    ))
}

/// This file after all rules but those about shared state: a static variable in a sample is there
/// for what it holds.
fn all(text: &str) -> String {
    let rules = ALL.iter().copied();
    let rules = rules.filter(|rule| !rule.code.starts_with("UG5"));
    testing::run(&rules.collect::<Vec<_>>(), text.trim_start_matches('\n'))
}

/// Whether the lookup of a dict in `result`, which is a new one, keeps the exception of before.
#[track_caller]
fn keeps_exception(result: &str) -> bool {
    let added = |part: &str| {
        let mut lines = result.lines().filter_map(|line| line.strip_prefix('+'));
        lines.any(|new| new.contains(part))
    };
    let is_new = ["PyDict_GetItemRef(", "PyDict_GetItemStringRef("];
    assert!(is_new.into_iter().any(added), "{result}");
    added("= PyErr_GetRaisedException();")
}
