//! What a function returns where it fails.

use super::branch::{Branch, is_failure, is_success, stmts};
use super::handled::{has_handler, raises};
use super::{label_of, line};
use crate::ast::{ExprId, ExprKind, LocalId, Name, StmtId, StmtKind, UnaryOp};
use crate::capi::{self, Returns};
use crate::cfg::Point;
use crate::strong::pending::raising::signs;
use crate::strong::scene::Scene;
use crate::strong::types::{is_number, is_signed};

/// The value that tells the caller of a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::strong) enum ErrorValue {
    Null,
    Number(i64),
    /// A constant whose value is not seen, as it is written here: `ERROR_INVALID_ARGUMENT`,
    /// `-DBL_MAX`.
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

    /// The number that the function returns, 0 for `NULL`.
    pub(in crate::strong) fn as_number(self) -> Option<i64> {
        match self {
            Self::Null => Some(0),
            Self::Number(error) => Some(error),
            Self::Named(_) => None,
        }
    }

    /// Whether the error is this number, or `NULL` if that is 0.
    pub(in crate::strong) fn is_number(self, value: i64) -> bool {
        match self {
            Self::Null => value == 0,
            Self::Number(error) => value == error,
            Self::Named(_) => false,
        }
    }

    /// Whether the function returns what a call gives that tells of an exception in the same way.
    ///
    /// ```c
    /// return PyObject_RichCompareBool(key, PyTuple_GET_ITEM(pair, 0), Py_EQ);
    /// return (double *)PyErr_NoMemory();
    /// out = PyList_New(n); … return out;
    /// int equal = PyObject_RichCompareBool(a, b, Py_EQ); … return equal;
    /// ```
    ///
    /// What has been tested away by then is not handed on: `if (equal < 0) { PyErr_Print(); return 0; }`.
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
        stmts(scene).any(|stmt| {
            let value = returned(scene, stmt).map(|value| scene.tree.without_casts(value));
            let called = value.and_then(|value| scene.call(value));
            let local = value.and_then(|value| scene.as_local(value));
            called.is_some_and(|(name, _)| tells(name))
                || local.is_some_and(|local| {
                    let is_only_told = match self {
                        Self::Null => is_only_made(scene, local),
                        _ => is_only_status(scene, local, error),
                    };
                    is_only_told
                        && (still_tells(scene, stmt, local, error) || self.is_told(scene))
                        && !has_handler(scene)
                })
        })
    }

    /// Whether the function returns the error itself where an exception is known of:
    /// `if (equal < 0) { log_it(); return -1; }`
    fn is_told(self, scene: &Scene<'_>) -> bool {
        let pending = scene.pending();
        let start = scene.cfg.before(scene.function.body);
        let is_shown = |point: Option<Point>| point.is_some_and(|it| pending.is_shown_at(it));
        !is_shown(start)
            && stmts(scene).any(|stmt| {
                let is_it = returned(scene, stmt).is_some_and(|value| self.is(scene, value));
                is_it && is_shown(scene.cfg.before(stmt))
            })
    }

    /// `NULL`, `-1`, or as the function writes it: `-1.0`, `CHECKED(-1)`.
    pub(in crate::strong) fn text(self, scene: &Scene<'_>) -> String {
        let written = stmts(scene).find_map(|stmt| {
            returned(scene, stmt).filter(|&value| self.is(scene, value))?;
            let text = line(scene, stmt)?;
            let value = text.strip_prefix("return")?.strip_suffix(';')?;
            Some(value.trim().to_owned())
        });
        match (written, self) {
            (Some(text), _) => text,
            (None, Self::Null) => "NULL".to_owned(),
            (None, Self::Number(error)) => error.to_string(),
            (None, Self::Named(error)) => constant(scene, error).unwrap_or_default(),
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

/// Whether `local` may still be the `error` of a call at `stmt`, with the exception: no test has found
/// it to be something else, and nothing has dealt with the exception.
fn still_tells(scene: &Scene<'_>, stmt: StmtId, local: LocalId, error: i64) -> bool {
    let point = scene.cfg.before(stmt);
    // `v == -1.0` tells nothing there.
    let is_asked = || {
        let is_float = matches!(scene.tree.local(local).ty.name(), Some("double" | "float"));
        is_float && scene.tree.calls().any(|(_, name)| name == "PyErr_Occurred")
    };
    point.is_none_or(|point| scene.pending().is_open_at(point, local, error)) && !is_asked()
}

/// Whether all that the number `local` gets, but for what is written down, is given by functions of
/// the C API that say `error` where they fail.
fn is_only_status(scene: &Scene<'_>, local: LocalId, error: i64) -> bool {
    let is_reckoned = |expr: ExprId| {
        let place = scene.tree.changed(expr);
        place.is_some_and(|place| scene.as_local(place) == Some(local))
            && !matches!(
                scene.tree.expr(expr).kind,
                ExprKind::Assign { op: None, .. }
            )
    };
    let stores = scene.tree.stores().filter(|&(given, _)| given == local);
    let values = stores.map(|(_, value)| value);
    let mut called = values
        .filter(|&value| number(scene, value).is_none())
        .peekable();
    let ty = &scene.tree.local(local).ty;
    is_number(ty)
        && is_signed(ty)
        && !scene.cfg.address_taken().contains(&local)
        && called.peek().is_some()
        && called.all(|value| tells(scene, value, error))
        && !scene.tree.expr_ids().any(is_reckoned)
}

/// Whether `value` is what a function of the C API gives, which says `error` where it fails.
fn tells(scene: &Scene<'_>, value: ExprId, error: i64) -> bool {
    let called = scene.call(scene.tree.without_casts(value));
    called.is_some_and(|(name, _)| signs(name).is_sign(error))
}

/// Whether a function of the C API raises an exception and gives `NULL`: `PyErr_NoMemory`.
fn gives_null(name: &str) -> bool {
    let effects = capi::effects(name);
    name.starts_with("PyErr_") && effects.is_some_and(|it| it.returns == Returns::Null)
}

/// Whether the function also returns something else than the error.
fn succeeds_otherwise(scene: &Scene<'_>, error: ErrorValue) -> bool {
    let mut values = stmts(scene).filter_map(|stmt| returned(scene, stmt));
    values.any(|value| !error.is(scene, value))
}

/// The values that the function returns where it raised itself, or a call did that it asks.
///
/// ```c
/// failed: PyErr_SetString(PyExc_ValueError, "…"); return -1;
/// return PyErr_Occurred() ? -1 : 0;
/// return text != NULL ? read(text) : NULL;
/// ```
pub(in crate::strong) fn raised_returns(scene: &Scene<'_>) -> Vec<ExprId> {
    let blocks = scene.tree.stmts.iter().filter_map(|stmt| match &stmt.kind {
        StmtKind::Block(stmts) => Some(stmts),
        _ => None,
    });
    let pairs = blocks.flat_map(|stmts| stmts.iter().zip(stmts.iter().skip(1)));
    let behind = pairs.filter_map(|(&first, &second)| {
        let (name, _) = scene.call(done_at(scene, first)?)?;
        returned(scene, second).filter(|_| raises(name))
    });
    let chosen = stmts(scene).filter_map(|stmt| {
        let value = returned(scene, stmt)?;
        match scene.tree.expr(scene.tree.without_casts(value)).kind {
            ExprKind::Conditional {
                cond,
                then: Some(then),
                ..
            } if is_failure(scene, stmt, cond) => Some(then),
            ExprKind::Conditional {
                cond, otherwise, ..
            } if is_success(scene, stmt, cond) => Some(otherwise),
            _ => None,
        }
    });
    behind.chain(chosen).collect()
}

/// What a statement does, be it behind a label.
fn done_at(scene: &Scene<'_>, stmt: StmtId) -> Option<ExprId> {
    match scene.tree.stmt(stmt).kind {
        StmtKind::Expr(expr) => Some(expr),
        StmtKind::Label { body, .. } => done_at(scene, body),
        _ => None,
    }
}

/// The text of a constant.
fn constant(scene: &Scene<'_>, value: ExprId) -> Option<String> {
    match &scene.tree.expr(value).kind {
        ExprKind::Name(Name::Global(name)) => is_capital(name).then(|| name.to_string()),
        _ if is_constant(scene, value) => Some(scene.text(scene.span(value)?)),
        _ => None,
    }
}

/// Whether a value is made of numbers and constants: `LONG_MIN + 1`, `-DBL_MAX`, `(Py_hash_t)-3`.
fn is_constant(scene: &Scene<'_>, value: ExprId) -> bool {
    match &scene.tree.expr(value).kind {
        ExprKind::Name(Name::Global(name)) => is_capital(name),
        ExprKind::Int(_) | ExprKind::Float => true,
        ExprKind::Unary {
            op: UnaryOp::Minus,
            operand,
        }
        | ExprKind::Cast { operand, .. } => is_constant(scene, *operand),
        ExprKind::Binary { lhs, rhs, .. } => is_constant(scene, *lhs) && is_constant(scene, *rhs),
        _ => false,
    }
}

/// Whether a name is that of a constant: in capital letters.
fn is_capital(name: &str) -> bool {
    let name = name.strip_prefix("Py_").unwrap_or(name);
    let is_capital = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    name.chars().all(is_capital)
}

/// The number that the label returns to which a branch jumps: `goto failed; … failed: …; return 0;`
pub(in crate::strong) fn returned_behind(scene: &Scene<'_>, jump: StmtId) -> Option<i64> {
    let StmtKind::Goto(label) = &scene.tree.stmt(jump).kind else {
        return None;
    };
    let (siblings, _) = scene.siblings(label_of(scene, label)?)?;
    let last = scene.tree.unlabelled(*siblings.last()?);
    number(scene, returned(scene, last)?)
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
        ExprKind::Float => {
            let text = scene.text(scene.span(value)?);
            text.strip_suffix(".0")?.parse().ok()
        }
        ExprKind::Unary {
            op: UnaryOp::Minus,
            operand,
        } => number(scene, operand)?.checked_neg(),
        ExprKind::Cast { operand, .. } => number(scene, operand),
        _ => scene.tree.as_number(value),
    }
}
