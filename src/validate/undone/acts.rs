//! What the steps of a function do to other things than its variables and references.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use super::super::changed::Changed;

use crate::ast::{
    BinaryOp, ExprId, ExprKind, LocalId, Name, Nesting, StmtId, StmtKind, Tree, TypeKind, UnaryOp,
};
use crate::capi;
use crate::cfg::{Cfg, InstrKind, Point, Source};
use crate::source::FileSet;

/// A call, or a write of a place outside of the function's variables.
pub(super) struct Act {
    pub(super) expr: ExprId,
    pub(super) stmt: StmtId,
    pub(super) point: Point,
    /// The call, or the place, as it is spelt: equal for those that are spelt the same.
    pub(super) key: Key,
    /// The arguments of a call that are places, and were there before.
    pub(super) places: Vec<ExprId>,
    /// Whether it is a write.
    pub(super) writes: bool,
    /// Whether something looks at the result of the call: `if (PyDict_DelItem(memo, id) < 0)`.
    pub(super) is_looked_at: bool,
}

/// Names what an act does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Key(usize);

/// The words of what acts do.
#[derive(Default)]
struct Keys(FxHashMap<String, Key>);

impl Keys {
    fn of(&mut self, words: String) -> Key {
        let next = Key(self.0.len());
        *self.0.entry(words).or_insert(next)
    }
}

/// All that the function does, in the order of the expressions.
pub(super) fn acts(
    changed: Changed<'_>,
    files: &FileSet,
    cfg: &Cfg,
    nesting: &Nesting,
) -> Vec<Act> {
    let tree = &changed.function.tree;
    let ignored = ignored(tree);
    let stores = stores(cfg);
    let words = |expr: ExprId| words(changed, files, expr);
    let mut keys = Keys::default();
    let act = |expr: ExprId| {
        let stmt = nesting.stmt_of(expr)?;
        let place = tree
            .changed(expr)
            .filter(|&place| is_kept(tree, place) || is_errno(tree, place));
        if let Some(place) = place {
            return Some(Act {
                expr,
                stmt,
                point: *stores.get(&expr)?,
                key: keys.of(format!("= {}", words(place))),
                places: Vec::new(),
                writes: true,
                is_looked_at: false,
            });
        }
        let ExprKind::Call { .. } = tree.expr(expr).kind else {
            return None;
        };
        // What a lookup puts away comes back right after it: `saved` proves that.
        let is_new = changed.is_inserted(tree.expr(expr).range.start);
        if is_new && tree.called(expr).is_some_and(moves_exception) {
            return None;
        }
        Some(Act {
            expr,
            stmt,
            point: cfg.call(expr)?,
            key: keys.of(match is_returned(tree, stmt, expr) {
                true => without_numbers(&one_name(&words(expr))),
                false => one_name(&words(expr)),
            }),
            places: places(changed, expr),
            writes: false,
            is_looked_at: !ignored.contains(&expr),
        })
    };
    tree.expr_ids().filter_map(act).collect()
}

/// The arguments of a call that are places, without casts and `&`; none of a variable that came in.
fn places(changed: Changed<'_>, call: ExprId) -> Vec<ExprId> {
    let tree = &changed.function.tree;
    let place = |mut arg: ExprId| loop {
        match tree.expr(arg).kind {
            ExprKind::Cast { operand, .. }
            | ExprKind::Unary {
                op: UnaryOp::AddressOf,
                operand,
            } => arg = operand,
            ExprKind::Name(_)
            | ExprKind::Member { .. }
            | ExprKind::Index { .. }
            | ExprKind::Unary {
                op: UnaryOp::Deref, ..
            } => {
                let mut roots = roots(tree, arg).into_iter();
                let is_added = roots.any(|root| is_added(changed, root));
                return (!is_added && !tree.is_null(arg)).then_some(arg);
            }
            _ => return None,
        }
    };
    match &tree.expr(call).kind {
        ExprKind::Call { args, .. } => args.iter().filter_map(|&arg| place(arg)).collect(),
        _ => Vec::new(),
    }
}

/// Whether a variable came in with the change, for what stood in its place: `give(value)` was
/// `give(PySys_GetObject("stdout"))`.
pub(super) fn is_added(changed: Changed<'_>, local: LocalId) -> bool {
    let name = changed.function.tree.local(local).name_range;
    changed.is_inserted(name.start)
}

/// Whether a function takes the exception that is pending, or puts one back.
fn moves_exception(name: &str) -> bool {
    capi::takes_exception(name) || capi::restores_exception(name)
}

/// The words of an expression, with blanks between them.
pub(super) fn words(changed: Changed<'_>, files: &FileSet, expr: ExprId) -> String {
    let range = changed.function.tree.expr(expr).range;
    let words = (range.start..range.end)
        .map(|at| String::from_utf8_lossy(changed.item.tokens.text(files, at)).into_owned());
    words.collect::<Vec<String>>().join(" ")
}

/// A call with the one name that its function has where it has several.
fn one_name(call: &str) -> String {
    let call = call.replace("PyMem_Del ", "PyMem_Free ");
    let call = call.replace("PyMem_DEL ", "PyMem_Free ");
    call.replace("PyMem_FREE ", "PyMem_Free ")
}

/// Whether `stmt` returns what the call `expr` gives.
fn is_returned(tree: &Tree, stmt: StmtId, expr: ExprId) -> bool {
    match tree.stmt(stmt).kind {
        StmtKind::Return(Some(value)) => tree.without_casts(value) == expr,
        _ => false,
    }
}

/// The words of a call without the numbers that it gets: `return leave(&here, 0);` ends the same as
/// `return leave(&here, -1);`.
fn without_numbers(call: &str) -> String {
    let is_number = |word: &&str| word.starts_with(|c: char| c.is_ascii_digit()) || *word == "-";
    let words = call.split(' ').filter(|word| !is_number(word));
    words.collect::<Vec<&str>>().join(" ")
}

/// The calls whose results nothing looks at: `end(x);`, `(void)end(x);`, `Py_XDECREF(end(x));`,
/// `return end(x), NULL;`; and those that may give the error: `return end(x);`.
fn ignored(tree: &Tree) -> Vec<ExprId> {
    let whole = tree.stmts.iter().filter_map(|stmt| match stmt.kind {
        StmtKind::Expr(expr) => Some(expr),
        StmtKind::Return(value) => value.filter(|&value| may_end(tree, value)),
        _ => None,
    });
    let mut found: Vec<ExprId> = Vec::new();
    let mut open: Vec<ExprId> = whole.collect();
    while let Some(expr) = open.pop() {
        let expr = tree.without_casts(expr);
        found.push(expr);
        match &tree.expr(expr).kind {
            ExprKind::Call { callee, args } => {
                let name = tree.callee_name(*callee);
                if let (Some("Py_DECREF" | "Py_XDECREF"), &[arg]) = (name, &args[..]) {
                    open.push(arg);
                }
            }
            ExprKind::Binary {
                op: BinaryOp::Comma,
                lhs,
                rhs,
            } => open.extend([*lhs, *rhs]),
            _ => {}
        }
    }
    found
}

/// Whether a value that is returned may be what is left of something that its call ends: it gets a
/// pointer of the function's, and is no function of Python.
fn may_end(tree: &Tree, value: ExprId) -> bool {
    let value = tree.without_casts(value);
    let name = tree.called(value);
    let of_python = name.is_some_and(|name| capi::effects(name).is_some());
    let mut roots = roots(tree, value).into_iter();
    !of_python && roots.any(|root| !tree.local(root).ty.is_number())
}

fn stores(cfg: &Cfg) -> BTreeMap<ExprId, Point> {
    let stores = cfg
        .steps()
        .filter_map(|(point, instr)| match (&instr.kind, instr.source) {
            (InstrKind::Store { .. }, Source::Expr(expr)) => Some((expr, point)),
            _ => None,
        });
    stores.collect()
}

/// Whether a place may hold what is to be closed or released: `session.fd`, `names[i]`, but no variable.
fn is_kept(tree: &Tree, place: ExprId) -> bool {
    let kind = &tree.expr(place).kind;
    matches!(kind, ExprKind::Member { .. } | ExprKind::Index { .. }) || is_outside(tree, place)
}

/// Whether a place outlives the function, or is reached through a pointer.
pub(super) fn is_outside(tree: &Tree, place: ExprId) -> bool {
    match &tree.expr(place).kind {
        ExprKind::Name(Name::Local(local)) => !tree.local(*local).is_automatic(),
        ExprKind::Name(Name::Global(_)) => !is_errno(tree, place),
        ExprKind::Index { base, .. } => {
            let local = tree.as_local(*base);
            !local.is_some_and(|it| is_array(tree, it)) || is_outside(tree, *base)
        }
        ExprKind::Member { base, arrow, .. } => *arrow || is_outside(tree, *base),
        ExprKind::Unary { op, .. } => *op == UnaryOp::Deref,
        ExprKind::Cast { operand, .. } => is_outside(tree, *operand),
        _ => false,
    }
}

/// Most functions may change it.
fn is_errno(tree: &Tree, place: ExprId) -> bool {
    matches!(&tree.expr(place).kind, ExprKind::Name(Name::Global(name)) if &**name == "errno")
}

/// `errno = saved`
pub(super) fn sets_errno(tree: &Tree, expr: ExprId) -> bool {
    tree.changed(expr)
        .is_some_and(|place| is_errno(tree, place))
}

/// `errno = 0`
pub(super) fn clears_errno(tree: &Tree, expr: ExprId) -> bool {
    matches!(tree.expr(expr).kind, ExprKind::Assign { lhs, rhs, .. }
        if is_errno(tree, lhs) && is_constant(tree, rhs))
}

/// Whether a variable is an array; a parameter that looks like one is a pointer.
pub(super) fn is_array(tree: &Tree, local: LocalId) -> bool {
    let variable = tree.local(local);
    !variable.is_param && matches!(variable.ty.kind, TypeKind::Array(..))
}

/// The variables that a call or place is about: not those that just count, as in `names[i]`.
pub(super) fn roots(tree: &Tree, expr: ExprId) -> Vec<LocalId> {
    match &tree.expr(expr).kind {
        ExprKind::Name(Name::Local(local)) => vec![*local],
        ExprKind::Call { args, .. } => args.iter().flat_map(|&arg| roots(tree, arg)).collect(),
        ExprKind::Index { base: inner, .. }
        | ExprKind::Member { base: inner, .. }
        | ExprKind::Cast { operand: inner, .. }
        | ExprKind::Unary { operand: inner, .. }
        | ExprKind::Assign { lhs: inner, .. } => roots(tree, *inner),
        ExprKind::Binary { lhs, rhs, .. } => [roots(tree, *lhs), roots(tree, *rhs)].concat(),
        _ => Vec::new(),
    }
}

/// Whether a call counts an object, but for one that it releases in a field: such are followed
/// elsewhere.
pub(super) fn is_count(tree: &Tree, call: ExprId) -> bool {
    let ExprKind::Call { callee, args } = &tree.expr(call).kind else {
        return false;
    };
    match tree.callee_name(*callee) {
        Some("Py_INCREF" | "Py_XINCREF" | "Py_IncRef" | "Py_NewRef" | "Py_XNewRef") => true,
        Some("Py_DECREF" | "Py_XDECREF" | "Py_CLEAR" | "Py_DecRef") => {
            args.iter().all(|&arg| !is_field(tree, arg))
        }
        _ => false,
    }
}

/// Whether an expression is a field of what a pointer points at, what a pointer of the caller's
/// points at (`*out`), or a global variable.
fn is_field(tree: &Tree, expr: ExprId) -> bool {
    match tree.expr(tree.without_casts(expr)).kind {
        ExprKind::Name(Name::Global(ref name)) => !name.starts_with("Py"),
        ExprKind::Member { base, arrow, .. } => arrow || is_field(tree, base),
        _ => is_output(tree, expr),
    }
}

/// Whether a value is known before the program runs, as its form or its name says: `NULL`, `-1`,
/// `MODE_NONE`, `Py_None`, `(State){0}`.
pub(super) fn is_constant(tree: &Tree, value: ExprId) -> bool {
    match &tree.expr(tree.without_casts(value)).kind {
        ExprKind::Name(Name::Global(name)) => {
            let is_capital = |letter: char| !letter.is_ascii_lowercase();
            let is_plain = matches!(&**name, "false" | "true" | "nullptr");
            is_plain || name.starts_with("Py_") || name.chars().all(is_capital)
        }
        ExprKind::Unary { op, operand } => {
            matches!(op, UnaryOp::Minus | UnaryOp::Complement) && is_constant(tree, *operand)
        }
        ExprKind::Int(_) | ExprKind::Float | ExprKind::Char | ExprKind::Str(_) => true,
        ExprKind::Compound { .. } => true,
        _ => false,
    }
}

/// Whether a place is what a pointer of the caller's points at: `*out`, `pair[0]`.
pub(super) fn is_output(tree: &Tree, place: ExprId) -> bool {
    let pointer = match tree.expr(tree.without_casts(place)).kind {
        ExprKind::Index { base, .. } => base,
        ExprKind::Unary {
            op: UnaryOp::Deref,
            operand,
        } => operand,
        _ => return false,
    };
    let local = tree.as_local(pointer);
    local.is_some_and(|local| tree.local(local).is_param)
}
