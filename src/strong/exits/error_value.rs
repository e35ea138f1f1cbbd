//! What a function returns where it fails.

use super::branch::{Branch, raised_returns};
use super::line;
use crate::ast::{ExprId, ExprKind, LocalId, Name, StmtId, StmtKind, Type, UnaryOp};
use crate::capi::{self, Returns};
use crate::strong::pending::raising::signs;
use crate::strong::scene::Scene;
use crate::strong::types::is_number;

/// The value that tells the caller of a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::strong) enum ErrorValue {
    Null,
    Number(i64),
    /// A constant of a header that is not seen, as it is written here: `ERROR_INVALID_ARGUMENT`.
    Named(ExprId),
}

impl ErrorValue {
    /// `NULL` for pointers. For numbers -1, or what all branches that raise return if something
    /// else is returned elsewhere: some functions give 0 for failure and 1 for success.
    pub(in crate::strong) fn of(scene: &Scene<'_>, branches: &[Branch]) -> Self {
        if !is_number(&scene.function.ret) {
            return Self::Null;
        }
        let evident = branches.iter().filter(|branch| branch.evident);
        let raised = evident
            .filter_map(|branch| returned(scene, branch.jump))
            .chain(raised_returns(scene));
        let mut raised = raised.map(|value| Self::written(scene, value));
        let first = raised.next().flatten();
        let is_first = |first: Self, other: Option<Self>| {
            other.is_some_and(|other| other.is_same(scene, first))
        };
        match first.filter(|&first| raised.all(|other| is_first(first, other))) {
            Some(error) if succeeds_otherwise(scene, error) => error,
            _ => Self::Number(-1),
        }
    }

    /// The number or the constant that is written down.
    fn written(scene: &Scene<'_>, value: ExprId) -> Option<Self> {
        let named = || constant(scene, value).map(|_| Self::Named(value));
        number(scene, value).map(Self::Number).or_else(named)
    }

    fn is_same(self, scene: &Scene<'_>, other: Self) -> bool {
        match (self, other) {
            (Self::Named(one), Self::Named(other)) => {
                constant(scene, one) == constant(scene, other)
            }
            _ => self == other,
        }
    }

    /// Whether `value` is the error.
    pub(in crate::strong) fn is(self, scene: &Scene<'_>, value: ExprId) -> bool {
        match self {
            Self::Null => scene.is_null(value),
            Self::Number(error) => number(scene, value) == Some(error),
            Self::Named(error) => {
                let name = constant(scene, value);
                name.is_some() && name == constant(scene, error)
            }
        }
    }

    /// Whether the function returns what a call gives that tells of an exception in the same way.
    ///
    /// ```c
    /// return PyObject_RichCompareBool(key, PyTuple_GET_ITEM(pair, 0), Py_EQ);
    /// return (double *)PyErr_NoMemory();
    /// out = PyList_New(n); … return out;
    /// ```
    pub(in crate::strong) fn is_handed_on(self, scene: &Scene<'_>) -> bool {
        let error = match self {
            Self::Null => 0,
            // -1 is true for a `bool`, and a large size for a `size_t`.
            Self::Number(_) if !is_signed(&scene.function.ret) => return false,
            Self::Number(error) => error,
            Self::Named(_) => return false,
        };
        let tells = |name: &str| match scene.error_return(name) {
            Some(known) => known.raised.contains(&error),
            None => signs(name).is_sign(error) || self == Self::Null && gives_null(name),
        };
        let mut stmts = (0..).zip(&scene.tree.stmts).map(|(at, _)| StmtId(at));
        stmts.any(|stmt| {
            let value = returned(scene, stmt).map(|value| scene.tree.without_casts(value));
            let called = value.and_then(|value| scene.call(value));
            let local = value.and_then(|value| scene.as_local(value));
            called.is_some_and(|(name, _)| tells(name))
                || self == Self::Null && local.is_some_and(|local| is_only_made(scene, local))
        })
    }

    /// `NULL`, `-1`, or as the function writes it: `-1.0`, `CHECKED(-1)`.
    pub(in crate::strong) fn text(self, scene: &Scene<'_>) -> String {
        let mut stmts = (0..).zip(&scene.tree.stmts).map(|(at, _)| StmtId(at));
        let written = stmts.find_map(|stmt| {
            returned(scene, stmt).filter(|&value| self.is(scene, value))?;
            let text = line(scene, stmt)?;
            let value = text.strip_prefix("return")?.strip_suffix(';')?;
            Some(value.trim().to_owned())
        });
        match (written, self) {
            (Some(text), _) => text,
            (None, Self::Null) => "NULL".to_owned(),
            (None, Self::Number(error)) => error.to_string(),
            (None, Self::Named(error)) => constant(scene, error).unwrap_or_default().to_owned(),
        }
    }
}

/// Whether all that `local` gets is made by functions of the C API, which give `NULL` where they fail.
fn is_only_made(scene: &Scene<'_>, local: LocalId) -> bool {
    let mut values = scene
        .tree
        .stores()
        .filter(|&(given, _)| given == local)
        .peekable();
    let is_object = scene.tree.local(local).ty.is_py_object_pointer();
    let is_taken = scene.cfg.address_taken().contains(&local);
    is_object
        && !is_taken
        && values.peek().is_some()
        && values.all(|(_, value)| {
            let called = scene.call(scene.tree.without_casts(value));
            called.is_some_and(|(name, _)| signs(name).is_sign(0))
        })
}

/// Whether a function of the C API raises an exception and gives `NULL`: `PyErr_NoMemory`.
fn gives_null(name: &str) -> bool {
    let effects = capi::effects(name);
    name.starts_with("PyErr_") && effects.is_some_and(|it| it.returns == Returns::Null)
}

/// Whether a type of numbers has negative ones, as its name says.
fn is_signed(ty: &Type) -> bool {
    let name = ty.name().unwrap_or_default().to_ascii_lowercase();
    let words = ["bool", "unsigned", "uint"];
    !words.iter().any(|word| name.contains(word)) && !name.starts_with('u') && name != "size_t"
}

/// Whether the function also returns something else than the error.
fn succeeds_otherwise(scene: &Scene<'_>, error: ErrorValue) -> bool {
    let count = u32::try_from(scene.tree.stmts.len()).expect("arenas are indexed by u32");
    (0..count)
        .filter_map(|at| returned(scene, StmtId(at)))
        .any(|value| !error.is(scene, value))
}

/// The name of a constant: a global one in capital letters.
fn constant<'a>(scene: &Scene<'a>, value: ExprId) -> Option<&'a str> {
    let is_capital = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    match &scene.tree.expr(value).kind {
        ExprKind::Name(Name::Global(name)) => name.chars().all(is_capital).then_some(name),
        _ => None,
    }
}

/// The value of a `return`.
fn returned(scene: &Scene<'_>, stmt: StmtId) -> Option<ExprId> {
    match scene.tree.stmt(stmt).kind {
        StmtKind::Return(value) => value,
        _ => None,
    }
}

pub(in crate::strong) fn is_minus_one(scene: &Scene<'_>, value: ExprId) -> bool {
    number(scene, value) == Some(-1)
}

/// The whole number that is written down: `-1`, `(int)0`, `-1.0`, `false`.
pub(super) fn number(scene: &Scene<'_>, value: ExprId) -> Option<i64> {
    match scene.tree.expr(value).kind {
        ExprKind::Name(Name::Global(ref name)) => match &**name {
            "false" | "FALSE" => Some(0),
            "true" | "TRUE" => Some(1),
            _ => None,
        },
        ExprKind::Int(number) => number,
        ExprKind::Float => {
            let text = scene.text(scene.span(value)?);
            text.strip_suffix(".0")?.parse().ok()
        }
        ExprKind::Unary {
            op: UnaryOp::Minus,
            operand,
        } => number(scene, operand)?.checked_neg(),
        ExprKind::Cast { operand, .. } => number(scene, operand),
        _ => None,
    }
}
