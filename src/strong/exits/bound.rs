//! Loops over a list that end at its size: asked for each time round, or once before.
//!
//! ```c
//! self->count = PyList_Size(list);
//! self->values = realloc(self->values, self->count * sizeof(double));
//! for (i = 0; i < self->count; i++)
//!     self->values[i] = PyFloat_AsDouble(PyList_GET_ITEM(list, i));
//! ```
//!
//! Where the list turns out to be shorter, `self->count = i; break;` is what a list that was as
//! short from the start would have led to: nothing but buffers was made for the items that are
//! gone, and the code has done nothing yet about the item that is missing.

use super::branch::{is_same, value_set};
use super::told_before::{fills, is_told_after};
use crate::ast::{
    BinaryOp, Expr, ExprId, ExprKind, Local, LocalId, Parent, StmtId, StmtKind, Storage, TokenRange,
};
use crate::capi;
use crate::edit::Confidence;
use crate::strong::scene::Scene;
use crate::strong::snapshot;

/// A loop while `i < size`, around `GET_ITEM(list, i)`.
pub(in crate::strong) struct Bound {
    /// The loop.
    pub outer: StmtId,
    pub body: StmtId,
    /// The index.
    pub index: ExprId,
    /// What remembers the size; `None` if the loop asks for it each time.
    pub size: Option<ExprId>,
}

/// The innermost loop around `call`, if that is `GET_ITEM(list, i)` and the loop goes through all
/// of that list.
pub(in crate::strong) fn bounded_loop(scene: &Scene<'_>, call: ExprId) -> Option<Bound> {
    let (name, [list, index]) = scene.call(call)? else {
        return None;
    };
    let (outer, cond, body) = loop_around(scene, call)?;
    let bound = |size| Bound {
        outer,
        body,
        index: *index,
        size,
    };
    terms(scene, cond).into_iter().find_map(|term| {
        if scene.is_null(*index) {
            let asks = not_empty(scene, term).is_some_and(|size| is_size(scene, size, *list));
            return Some(bound(None)).filter(|it| asks && it.is_untouched(scene, call));
        }
        let ExprKind::Binary {
            op: BinaryOp::Less,
            lhs,
            rhs,
        } = scene.tree.expr(term).kind
        else {
            return None;
        };
        let asks = is_size(scene, rhs, *list);
        let bound = bound((!asks).then_some(rhs));
        let ends_there = match bound.size {
            None => bound.is_untouched(scene, call),
            // Other sequences are better read from a copy, if one does.
            Some(size) => {
                bound.is_remembered(scene, call, *list, size)
                    && (!fills(scene, body) || bound.is_told(scene, size))
                    && (capi::reads_list(name) || !is_copied(scene, call))
            }
        };
        (is_same(scene, lhs, *index) && ends_there).then_some(bound)
    })
}

/// Whether a copy of the list surely is as good for `read`.
pub(super) fn is_copied(scene: &Scene<'_>, read: ExprId) -> bool {
    let fix = snapshot::fix(scene, read);
    fix.is_some_and(|fix| fix.confidence == Confidence::Safe)
}

/// The conditions that `cond` joins by `&&`: none of them holds any more where one does not.
fn terms(scene: &Scene<'_>, cond: ExprId) -> Vec<ExprId> {
    match scene.tree.expr(cond).kind {
        ExprKind::Binary {
            op: BinaryOp::LogicalAnd,
            lhs,
            rhs,
        } => [terms(scene, lhs), terms(scene, rhs)].concat(),
        _ => vec![cond],
    }
}

/// The number of which `term` says that it is not 0.
fn not_empty(scene: &Scene<'_>, term: ExprId) -> Option<ExprId> {
    match scene.tree.expr(term).kind {
        ExprKind::Call { .. } => Some(term),
        ExprKind::Binary {
            op: BinaryOp::Greater | BinaryOp::NotEquals,
            lhs,
            rhs,
        } if scene.is_null(rhs) => Some(lhs),
        _ => None,
    }
}

/// The innermost loop around `call`, its condition and its body, if the call stands in that.
pub(super) fn loop_around(scene: &Scene<'_>, call: ExprId) -> Option<(StmtId, ExprId, StmtId)> {
    let mut at = scene.stmt_of(call)?;
    loop {
        let Some(Parent::Stmt(outer)) = scene.parent_of_stmt(at) else {
            return None;
        };
        match scene.tree.stmt(outer).kind {
            StmtKind::For {
                cond: Some(cond),
                body,
                ..
            }
            | StmtKind::While { cond, body } => return (body == at).then_some((outer, cond, body)),
            StmtKind::For { .. } | StmtKind::DoWhile { .. } | StmtKind::Switch { .. } => {
                return None;
            }
            _ => at = outer,
        }
    }
}

/// Whether `value` is the size of `list`, maybe as another kind of number.
fn is_size(scene: &Scene<'_>, value: ExprId, list: ExprId) -> bool {
    scene
        .call(scene.tree.without_casts(value))
        .is_some_and(|(name, args)| {
            let asks = matches!(
                name,
                "PyList_GET_SIZE"
                    | "PyList_Size"
                    | "PySequence_Fast_GET_SIZE"
                    | "PySequence_Length"
                    | "PySequence_Size"
                    | "Py_SIZE"
            );
            asks && args.first().is_some_and(|&arg| is_same(scene, arg, list))
        })
}

impl Bound {
    /// Whether `size` got the size of `list` before the loop, and nothing else depends on how
    /// many items there were then.
    fn is_remembered(&self, scene: &Scene<'_>, call: ExprId, list: ExprId, size: ExprId) -> bool {
        let Some(value) = self.asked_before(scene, list, size) else {
            return false;
        };
        let range = |id| scene.tree.stmt(id).range;
        let until_loop = TokenRange {
            start: scene.tree.expr(value).range.end,
            end: range(self.outer).start,
        };
        let asked = scene.tree.without_casts(value);
        let asked_once = exprs(scene)
            .all(|(id, _)| scene.tree.without_casts(id) == asked || !is_size(scene, id, list));
        asked_once
            && is_one_place(scene, list)
            && is_settable(scene, size)
            && mentions(scene, size, until_loop).all(|id| is_buffer_size(scene, id))
            && !is_handed_out(scene, size, until_loop)
            && !is_handed_out(scene, size, range(self.outer))
            && mentions(scene, size, range(self.outer)).all(|id| id == size)
            && !changes_list(scene, list, until_loop)
            && !changes_list(scene, list, range(self.body))
            && self.is_untouched(scene, call)
    }

    /// Whether a pass changes nothing that was there before until it comes to `call`: it just
    /// makes objects, in variables that are not read behind the loop.
    pub(in crate::strong) fn is_untouched(&self, scene: &Scene<'_>, call: ExprId) -> bool {
        let so_far = TokenRange {
            start: scene.tree.stmt(self.body).range.start,
            end: scene.tree.expr(call).range.start,
        };
        let Some(end) = scene.cfg.after(self.outer) else {
            return false;
        };
        let index = scene.as_local(self.index);
        let is_own = |place: ExprId| {
            let local = scene.as_local(place);
            local.is_some_and(|local| Some(local) != index && !scene.liveness.is_live(local, end))
        };
        let passed = passed(scene, self.body, call);
        let makes = |local: LocalId| {
            let mut made = inside(scene, so_far).filter_map(|(_, expr)| match expr.kind {
                ExprKind::Assign { lhs, rhs, .. } if scene.as_local(lhs) == Some(local) => {
                    Some(rhs)
                }
                _ => None,
            });
            made.any(|value| scene.call(value).is_some_and(|(name, _)| only_makes(name)))
        };
        let harmless = |id: ExprId, expr: &Expr| match expr.kind {
            ExprKind::Call { .. } => scene.call(id).is_some_and(|(name, args)| match name {
                "PyList_SET_ITEM" | "PyTuple_SET_ITEM" => args
                    .first()
                    .and_then(|&filled| scene.as_local(filled))
                    .is_some_and(makes),
                _ => name.ends_with("_Check") || is_item(name) || only_makes(name),
            }),
            _ => scene.tree.changed(id).is_none_or(is_own),
        };
        let mut parts = inside(scene, so_far);
        parts.all(|(id, expr)| {
            let is_passed = passed.iter().any(|range| range.contains(expr.range));
            is_passed || harmless(id, expr)
        })
    }

    /// The call that asks for the size, in a statement before the loop and in the same block.
    fn asked_before(&self, scene: &Scene<'_>, list: ExprId, size: ExprId) -> Option<ExprId> {
        let (siblings, at) = scene.siblings(self.outer)?;
        let before = siblings[..at].iter().rev();
        let mut before = before.take_while(|&&stmt| !is_label(scene, stmt));
        let value = before.find_map(|&stmt| value_set(scene, stmt, size))?;
        is_size(scene, value, list).then_some(value)
    }

    /// Whether others learn where the loop ended. Who counts the items alone takes all of an array
    /// for filled: `n = PyList_Size(list); for (i = 0; i < n; i++) out[i] = …; return 1;`
    fn is_told(&self, scene: &Scene<'_>, size: ExprId) -> bool {
        let end = scene.tree.stmt(self.outer).range.end;
        [size, self.index]
            .into_iter()
            .any(|place| is_told_after(scene, place, end))
    }

    /// Whether a place is read after the loop.
    fn is_read(&self, scene: &Scene<'_>, place: ExprId) -> bool {
        match (scene.as_local(place), scene.cfg.after(self.outer)) {
            (Some(local), Some(end)) => scene.liveness.is_live(local, end),
            _ => true,
        }
    }

    /// The statement by which `size` tells that the list ended at the index; `None` if nobody
    /// asks any more.
    pub(in crate::strong) fn correction(&self, scene: &Scene<'_>) -> Option<String> {
        let size = self.size?;
        let text = |expr| scene.span(expr).map(|span| scene.text(span));
        self.is_read(scene, size)
            .then(|| Some(format!("{} = {};", text(size)?, text(self.index)?)))?
    }
}

/// Whether control may come from elsewhere to `stmt`.
fn is_label(scene: &Scene<'_>, stmt: StmtId) -> bool {
    matches!(
        scene.tree.stmt(stmt).kind,
        StmtKind::Label { .. } | StmtKind::Case { .. } | StmtKind::Default { .. }
    )
}

/// Whether `size` is a variable, or a field of what one points at, that the loop may correct.
fn is_settable(scene: &Scene<'_>, size: ExprId) -> bool {
    if scene.span(size).is_none() {
        return false;
    }
    match scene.tree.expr(size).kind {
        ExprKind::Member { base, .. } => scene.as_local(base).is_some(),
        _ => scene.as_local(size).is_some_and(|local| {
            let Local { ty, storage, .. } = scene.tree.local(local);
            let is_taken = scene.cfg.address_taken().contains(&local);
            *storage == Storage::None && !ty.is_const && !is_taken
        }),
    }
}

fn exprs<'s>(scene: &'s Scene<'_>) -> impl Iterator<Item = (ExprId, &'s Expr)> {
    let ids = (0u32..).map(ExprId);
    ids.zip(&scene.tree.exprs)
}

/// The expressions in `within`.
pub(super) fn inside<'s>(
    scene: &'s Scene<'_>,
    within: TokenRange,
) -> impl Iterator<Item = (ExprId, &'s Expr)> {
    scene.tree.exprs_in(within)
}

/// The places in `within` that name the variable or field `size`.
pub(super) fn mentions<'s>(
    scene: &'s Scene<'_>,
    size: ExprId,
    within: TokenRange,
) -> impl Iterator<Item = ExprId> + 's {
    let local = scene.as_local(size);
    let name = match &scene.tree.expr(size).kind {
        ExprKind::Member { field, .. } => Some(field),
        _ => None,
    };
    let found = inside(scene, within).filter(move |(id, expr)| match &expr.kind {
        ExprKind::Member { field, .. } => Some(field) == name,
        _ => local.is_some() && scene.as_local(*id) == local,
    });
    found.map(|(id, _)| id)
}

/// Whether `part` just tells how large a buffer is made: larger than needed does no harm.
fn is_buffer_size(scene: &Scene<'_>, mut part: ExprId) -> bool {
    while let Some(Parent::Expr(outer)) = scene.parent_of_expr(part) {
        match scene.tree.expr(outer).kind {
            ExprKind::Binary { .. } | ExprKind::Cast { .. } => part = outer,
            ExprKind::Call { .. } => {
                return scene.call(outer).is_some_and(|(name, _)| allocates(name));
            }
            _ => return false,
        }
    }
    false
}

fn allocates(name: &str) -> bool {
    let of_python = name.starts_with("PyMem_") || name.starts_with("PyObject_");
    matches!(name, "malloc" | "calloc" | "realloc" | "PyMem_New")
        || of_python
            && ["Malloc", "Calloc", "Realloc"]
                .iter()
                .any(|end| name.ends_with(end))
}

/// Whether a call gets the object that `size` is a field of, and may make something of that size:
/// `self->count = PyList_Size(list); self->rows = make_rows(self);`.
fn is_handed_out(scene: &Scene<'_>, size: ExprId, within: TokenRange) -> bool {
    let ExprKind::Member { base, .. } = scene.tree.expr(size).kind else {
        return false;
    };
    let is_owner = |arg: ExprId| is_same(scene, scene.tree.without_casts(arg), base);
    inside(scene, within).any(|(id, expr)| match &expr.kind {
        ExprKind::Call { args, .. } => {
            let counts = scene
                .call(id)
                .is_some_and(|(name, _)| name.starts_with("Py_"));
            !counts && args.iter().any(|&arg| is_owner(arg))
        }
        _ => false,
    })
}

/// Whether `list` is read from a place, and not what a call happens to give.
fn is_one_place(scene: &Scene<'_>, list: ExprId) -> bool {
    let mut parts = inside(scene, scene.tree.expr(list).range);
    !parts.any(|(_, expr)| matches!(expr.kind, ExprKind::Call { .. }))
}

/// Whether another list is stored where `list` is.
fn changes_list(scene: &Scene<'_>, list: ExprId, within: TokenRange) -> bool {
    inside(scene, within).any(|(_, expr)| match expr.kind {
        ExprKind::Assign { lhs, .. } => is_same(scene, lhs, list),
        _ => false,
    })
}

/// What stands in front of `call` in `body` and does not run before it: the first branch of an `if`
/// around it, where it is in the second.
fn passed(scene: &Scene<'_>, body: StmtId, call: ExprId) -> Vec<TokenRange> {
    let mut passed = Vec::new();
    let mut at = scene.stmt_of(call);
    while let Some(stmt) = at.filter(|&stmt| stmt != body) {
        let Some(Parent::Stmt(outer)) = scene.parent_of_stmt(stmt) else {
            break;
        };
        match scene.tree.stmt(outer).kind {
            StmtKind::If {
                then, otherwise, ..
            } if otherwise == Some(stmt) => passed.push(scene.tree.stmt(then).range),
            _ => {}
        }
        at = Some(outer);
    }
    passed
}

/// Whether a function of the C API makes an object and runs no other code.
fn only_makes(name: &str) -> bool {
    const TYPES: [&str; 6] = ["List", "Tuple", "Dict", "Float", "Long", "Bytes"];
    let of_type = TYPES
        .iter()
        .find_map(|ty| name.strip_prefix("Py")?.strip_prefix(ty));
    matches!(
        of_type,
        Some("_New" | "_FromDouble" | "_FromLong" | "_FromSsize_t" | "_FromString")
    ) || name == "PyUnicode_FromString"
}

/// Another lookup of the same pass.
fn is_item(name: &str) -> bool {
    name == "PyTuple_GET_ITEM" || capi::reads_list(name)
}
