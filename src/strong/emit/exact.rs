//! Items of `PySequence_Fast` as its macro read them, where `PySequence_GetItem` may do otherwise:
//! it must not meet an exception, and it asks a subclass of list for the item.
//!
//! ```c
//! item = PySequence_Fast_GET_ITEM(seq, i);      item = PyList_Check(seq)
//!                                                   ? PyList_GetItemRef(seq, i)
//!                                                   : Py_NewRef(PyTuple_GET_ITEM(seq, i));
//! ```

use super::Draft;
use crate::ast::{ExprId, ExprKind, Parent};
use crate::source::ByteSpan;
use crate::strong::pending::unasked::meets_exception;
use crate::strong::scene::Scene;
use crate::strong::snapshot::is_made_here;

/// The macro that is taken apart.
const MACRO: &str = "PySequence_Fast_GET_ITEM";

/// The functions that take the place of the macro.
pub(in crate::strong) const FUNCTIONS: [&str; 2] = ["PyList_GetItemRef", "Py_NewRef"];

/// Whether the item of a lookup has to be read as the macro did, for its own sake or for that of
/// another one in the function.
pub(in crate::strong) fn is_exact(scene: &Scene<'_>, call: ExprId) -> bool {
    can_be_exact(scene, call) && scene.reads_exactly()
}

/// Whether `call` is the macro, and `PySequence_GetItem` may do otherwise there, or is a macro of
/// the package: `#define PySequence_GetItem(...) inject_fault(…)`.
pub(in crate::strong) fn differs(scene: &Scene<'_>, call: ExprId) -> bool {
    let is_other = || scene.cx.is_macro("PySequence_GetItem");
    let differs = || is_other() || !is_made_here(scene, call) || meets_exception(scene, call);
    can_be_exact(scene, call) && differs()
}

fn can_be_exact(scene: &Scene<'_>, call: ExprId) -> bool {
    matches!(scene.call(call), Some((MACRO, [sequence, _])) if is_plain(scene, *sequence))
}

/// Whether an expression only names what it gives: the macro evaluates it more than once as well.
fn is_plain(scene: &Scene<'_>, expr: ExprId) -> bool {
    match scene.tree.expr(expr).kind {
        ExprKind::Name(_) => true,
        ExprKind::Member { base, .. } => is_plain(scene, base),
        ExprKind::Cast { operand, .. } => is_plain(scene, operand),
        _ => false,
    }
}

/// The lines that read the item of `call`, for a statement at `stmt`; `None` if a plain call does.
pub(in crate::strong) fn lines(
    draft: &Draft<'_, '_>,
    call: ExprId,
    stmt: ByteSpan,
) -> Option<Vec<String>> {
    let scene = draft.scene;
    let (_, [sequence, index]) = scene.call(call).filter(|_| is_exact(scene, call))? else {
        return None;
    };
    let text = |arg: ExprId| Some(draft.text(scene.span(arg)?));
    let (sequence, index) = (text(*sequence)?, text(*index)?);
    let step = draft.step(stmt);
    Some(vec![
        format!("PyList_Check({sequence})"),
        format!("{step}? PyList_GetItemRef({sequence}, {index})"),
        format!("{step}: Py_NewRef(PyTuple_GET_ITEM({sequence}, {index}))"),
    ])
}

/// The text that takes the place of `call` in its statement; `None` if a plain call does.
pub(in crate::strong) fn in_place(draft: &Draft<'_, '_>, call: ExprId) -> Option<String> {
    let scene = draft.scene;
    let stmt = scene.stmt_span(scene.stmt_of(call)?)?;
    let text = draft.joined(&lines(draft, call, stmt)?, stmt);
    let Some(Parent::Expr(outer)) = scene.parent_of_expr(call) else {
        return Some(text);
    };
    match scene.tree.expr(outer).kind {
        ExprKind::Assign { .. } => Some(text),
        _ => Some(format!("({text})")),
    }
}
