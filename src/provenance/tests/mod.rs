//! C in, a verdict for each borrowing call out.

mod dicts;
mod fields;
mod growing;
mod guards;
mod init;
mod interprocedural;
mod private;
mod shared;
mod stack;
mod thread;
mod unread;

use super::{Cx, Verdict};
use crate::program::testing::with_program;
use crate::program::{Body, CallIndex};
use crate::roles::Roles;

/// Borrowing calls; the container is the first argument of each.
const BORROWING: [&str; 8] = [
    "PyDict_GetItem",
    "PyDict_GetItemString",
    "PyDict_Next",
    "PyImport_AddModule",
    "PyList_GET_ITEM",
    "PyList_GetItem",
    "PySequence_Fast_GET_ITEM",
    "PyWeakref_GetObject",
];

/// One line a borrowing call: its function, its verdict.
fn verdicts(texts: &[(&str, &str)]) -> String {
    with_program(texts, |program| {
        let calls = CallIndex::new(program);
        let roles = Roles::new(program);
        let cx = Cx::new(program, &calls, &roles);
        let mut sites: Vec<_> = BORROWING
            .iter()
            .flat_map(|name| calls.calls_to(name))
            .collect();
        sites.sort_by_key(|site| (site.item, site.expr));
        let mut out = String::new();
        for &&site in &sites {
            let Some(Body::Function(function)) = &program.items[site.item.0 as usize].body else {
                panic!("a call outside of a function");
            };
            let verdict = match cx.provenance(site, 0) {
                Verdict::Safe(proof) => format!("{:?}, {}", proof.reason, proof.sentence),
                Verdict::Shared(kind) => format!("shared, {kind}"),
            };
            out += &format!("{}: {verdict}\n", function.name);
        }
        out
    })
}

/// The verdicts of one file.
fn of(text: &str) -> String {
    verdicts(&[("a.c", text)])
}
