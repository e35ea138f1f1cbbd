//! Places outside of a function that an expression changes, itself or in functions of the package.
//!
//! ```c
//! static void table_clear(void) { while (used > 0) Py_DECREF(table[--used]); }
//! static int table_put(PyObject *v) { …; table[used++] = Py_NewRef(v); return 0; }
//! ```

use super::Program;
use crate::ast::{BinaryOp, ExprId, ExprKind, Function, LocalId, Name, Tree, UnaryOp};

/// How deep functions of the package are looked into.
const MAX_DEPTH: usize = 2;

/// A place: a variable, or a field of it or of what it points at. Elements are their array.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    root: Root,
    fields: Vec<Box<str>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Root {
    Local(LocalId),
    Global(Box<str>),
}

/// A change of a place.
#[derive(Debug, Clone)]
pub struct Touch {
    /// The place.
    pub place: Place,
    /// Whether it takes something back: sets it to 0, counts it down, or takes bits out of it.
    pub sets_back: bool,
}

/// What an expression changes outside of the function with `tree`, if it is an assignment, or a call
/// of a function of the package.
#[must_use]
pub fn touched(program: &Program<'_>, tree: &Tree, expr: ExprId) -> Vec<Touch> {
    touched_within(program, tree, expr, MAX_DEPTH)
}

fn touched_within(program: &Program<'_>, tree: &Tree, expr: ExprId, depth: usize) -> Vec<Touch> {
    let own = tree.changed(expr).and_then(|place| {
        let is_variable = tree.as_local(place).is_some();
        Some(Touch {
            place: place_of(tree, place).filter(|it| it.is_outside(tree, is_variable))?,
            sets_back: sets_back(tree, expr),
        })
    });
    let (Some(name), ExprKind::Call { args, .. }) = (tree.called(expr), &tree.expr(expr).kind)
    else {
        return own.into_iter().collect();
    };
    let functions = program.functions_named(name).filter(|_| depth > 0);
    let inner = functions.flat_map(|(_, function)| {
        let exprs = function.tree.expr_ids();
        exprs.flat_map(move |inner| {
            let touches = touched_within(program, &function.tree, inner, depth - 1);
            let seen = touches
                .into_iter()
                .filter_map(|it| it.seen(tree, args, function));
            seen.collect::<Vec<Touch>>()
        })
    });
    own.into_iter().chain(inner).collect()
}

impl Touch {
    /// The same as the caller of `function` sees it, who gives it `args`.
    fn seen(self, tree: &Tree, args: &[ExprId], function: &Function) -> Option<Self> {
        let Root::Local(local) = self.place.root else {
            return Some(self);
        };
        let at = function.params.iter().position(|&param| param == local)?;
        let mut place = place_of(tree, *args.get(at)?)?;
        place.fields.extend(self.place.fields);
        place
            .is_outside(tree, false)
            .then_some(Self { place, ..self })
    }
}

impl Place {
    /// Whether the place outlives the function, or is behind a pointer that only names what others
    /// have. `is_variable` tells if it is a variable of the function itself.
    fn is_outside(&self, tree: &Tree, is_variable: bool) -> bool {
        let Root::Local(local) = self.root else {
            return true;
        };
        let is_made = |value: ExprId| {
            let value = tree.without_casts(value);
            matches!(tree.expr(value).kind, ExprKind::Call { .. })
        };
        let mut stores = tree.stores().filter(|(given, _)| *given == local);
        let variable = tree.local(local);
        let is_pointer = variable.is_param || variable.ty.pointee().is_some();
        !variable.is_automatic()
            || !is_variable && is_pointer && !stores.any(|(_, value)| is_made(value))
    }
}

/// The place that an expression is, or points at.
fn place_of(tree: &Tree, expr: ExprId) -> Option<Place> {
    match &tree.expr(expr).kind {
        ExprKind::Name(name) => Some(Place {
            root: match name {
                Name::Local(local) => Root::Local(*local),
                Name::Global(name) => Root::Global(name.clone()),
            },
            fields: Vec::new(),
        }),
        ExprKind::Member { base, field, .. } => {
            let mut place = place_of(tree, *base)?;
            place.fields.push(field.clone());
            Some(place)
        }
        ExprKind::Unary {
            op: UnaryOp::Deref | UnaryOp::AddressOf,
            operand: inner,
        }
        | ExprKind::Cast { operand: inner, .. }
        | ExprKind::Index { base: inner, .. } => place_of(tree, *inner),
        _ => None,
    }
}

fn sets_back(tree: &Tree, expr: ExprId) -> bool {
    match tree.expr(expr).kind {
        ExprKind::Assign { op: None, rhs, .. } => {
            let is_false = matches!(&tree.expr(rhs).kind,
                ExprKind::Name(Name::Global(name)) if &**name == "false");
            tree.is_null(rhs) || is_false
        }
        ExprKind::Assign { op, .. } => matches!(
            op,
            Some(BinaryOp::Minus | BinaryOp::BitAnd | BinaryOp::BitXor)
        ),
        ExprKind::Unary { op, .. } => {
            matches!(op, UnaryOp::PreDecrement | UnaryOp::PostDecrement)
        }
        _ => false,
    }
}
