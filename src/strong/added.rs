//! Calls that other rules bring in: how the function leaves where one fails.
//!
//! ```c
//! d_copy = PyDict_Copy(d);
//! if (d_copy == NULL)
//!     goto fail;                      /* this */
//! ```

use super::exits::Exits;
use super::exits::exit::with_error;
use super::scene::{Scene, graph};
use crate::ast::{ExprId, StmtId};
use crate::rule::{ItemId, PackageCx};

/// The statements that leave the function `item` with an exception where a new call in front of
/// `stmt` fails; `call` is one that `stmt` makes. `None` if the function has no way to hand the
/// exception on.
#[must_use]
pub fn failure_exit(
    cx: &PackageCx<'_>,
    item: ItemId,
    stmt: StmtId,
    call: ExprId,
) -> Option<Vec<String>> {
    let function = cx.function(item)?;
    let mut roles = cx.roles()?.of(cx.item(item), function);
    if roles.any(|role| role.is_destructor() || role.is_traverse()) {
        return None;
    }
    let cfg = graph(function);
    let scene = Scene::new(cx, item, function, &cfg)?;
    let exits = Exits::at(&scene, cfg.before(stmt)?, call, None)?;
    match function.ret.is_void() {
        true => exits.unlocked()?.empty(),
        false => with_error(&scene, &exits),
    }
}
