//! What the function has opened before a lookup, and closes on each way out after it.
//!
//! ```c
//! fd = open_it();
//! value = PyDict_GetItem(dict, key);            /* an exit here leaves the file open */
//! …
//! if (close(fd) < 0)
//!     return NULL;
//! return value;
//! ```

use super::begun::{counts, is_unknown};
use super::held::frees;
use super::undone::{ends, pointed};
use super::way_out::WayOut;
use crate::ast::{ExprId, LocalId};
use crate::capi::words_of;
use crate::cfg::{Point, reaches};
use crate::strong::scene::Scene;
use crate::strong::types::is_number;

/// Whether an exit leaves something open that a variable of the function stands for.
pub(super) fn leaves_open(way_out: &WayOut<'_, '_>) -> bool {
    let scene = way_out.scene;
    let locals = (0u32..).zip(&scene.tree.locals);
    let own = locals.filter(|(_, local)| !local.is_param && local.is_automatic());
    own.map(|(at, _)| LocalId(at)).any(|local| {
        let opens = openers(scene, local);
        opens
            .iter()
            .any(|open| reaches(scene.cfg, open.next(), way_out.at, &[]))
            && way_out.leaves_out(closers(way_out, local).into_iter())
    })
}

/// The calls that give a variable something of which nothing is known, or, as their names say,
/// something new: `PyUnicodeWriter_Create(0)`.
fn openers(scene: &Scene<'_>, local: LocalId) -> Vec<Point> {
    let stores = scene.tree.stores().filter(|(given, _)| *given == local);
    let values = stores.map(|(_, value)| scene.tree.without_casts(value));
    // `mpz_t number; mpz_init(number);`: an array by its own name.
    let is_unset = scene.tree.stores().all(|(given, _)| given != local);
    let is_filled = |call: ExprId| {
        let args = scene.call(call).map_or(&[][..], |(_, args)| args);
        args.iter().any(|&arg| {
            let by_name = is_unset && scene.as_local(arg) == Some(local);
            by_name || scene.tree.as_address(arg) == Some(local)
        })
    };
    let filled = scene.tree.calls().map(|(call, _)| call);
    let calls = values.chain(filled.filter(|&call| is_filled(call)));
    let unknown = calls.filter(|&call| {
        let name = scene.call(call).map(|(name, _)| name);
        name.is_some_and(|name| is_unknown(name) || calls_method(name) || makes(name))
    });
    unknown.filter_map(|call| scene.cfg.call(call)).collect()
}

/// The last calls that are made with a variable, if they may close what it stands for. References
/// and memory are followed elsewhere.
fn closers(way_out: &WayOut<'_, '_>, local: LocalId) -> Vec<ExprId> {
    let scene = way_out.scene;
    let lookup = scene.tree.expr(way_out.lookup).range;
    let given = |call: &ExprId| {
        scene.call(*call).is_some_and(|(name, args)| {
            !counts(name)
                && args
                    .iter()
                    .any(|&arg| scene.as_local(pointed(scene, arg)) == Some(local))
        })
    };
    let calls = scene.tree.calls().map(|(call, _)| call);
    let calls: Vec<ExprId> = calls.filter(given).collect();
    let at = |call: ExprId| scene.cfg.call(call);
    let is_last = |call: ExprId| {
        let mut later = calls.iter().filter(|&&other| other != call);
        !later.any(|&other| {
            at(call)
                .zip(at(other))
                .is_some_and(|(call, other)| reaches(scene.cfg, call.next(), other, &[way_out.at]))
        })
    };
    let closes = |&call: &ExprId| {
        !scene.tree.expr(call).range.contains(lookup)
            && may_close(scene, call, local)
            && is_last(call)
    };
    calls.iter().copied().filter(closes).collect()
}

/// Whether a call may close what a variable stands for.
fn may_close(scene: &Scene<'_>, call: ExprId, local: LocalId) -> bool {
    let Some((name, args)) = scene.call(call) else {
        return false;
    };
    let says_so = |name: &str| frees(name) || ends(name);
    let ty = &scene.tree.local(local).ty;
    if ty.is_py_object_pointer() {
        let method = args.get(1).and_then(|&arg| scene.tree.as_string(arg));
        let says_so = || method.is_some_and(|it| says_so(&String::from_utf8_lossy(it)));
        return calls_method(name) && says_so();
    }
    let is_followed = ty.pointee().is_some() && frees(name);
    let is_plain = is_number(ty) && args.len() > 1;
    !is_followed && (says_so(name) || is_unknown(name) && !is_plain)
}

fn makes(name: &str) -> bool {
    words_of(name).any(|word| matches!(&*word, "create" | "new"))
}

/// Whether a function calls a method of its first argument by its name.
fn calls_method(name: &str) -> bool {
    name.starts_with("PyObject_CallMethod")
}
