//! Whether a variable may be `NULL` where the size of its dict is asked for: that raises, where a
//! section crashes.
//!
//! ```c
//! PyObject *d = registry;             /* NULL until someone sets it */
//! Py_ssize_t n = PyDict_Size(d);      /* -1, with a SystemError     */
//! if (n < 0)
//!     return NULL;
//! ```

use std::collections::BTreeSet;

use crate::ast::{ExprId, ExprKind, LocalId, Storage};
use crate::capi;
use crate::cfg::{
    Base, Callee, Cfg, Comparison, Instr, InstrKind, Operand, Place, Point, Projection, Source,
    TempId, Terminator,
};

use super::scope::{Scope, is_address_of};

/// How many variables deep a value is followed.
const MAX_DEPTH: u32 = 4;

/// Whether the object that `dict` names may be `NULL` at a point, for all that is known. A parameter
/// is not, unless the function asks.
pub(super) fn may_be_null(scope: &Scope<'_>, dict: ExprId, at: Point) -> bool {
    let local = scope.local(dict);
    local.is_none_or(|local| is_null_at(scope, local, at, MAX_DEPTH))
}

fn is_null_at(scope: &Scope<'_>, local: LocalId, at: Point, depth: u32) -> bool {
    let entry = Point {
        block: Cfg::ENTRY,
        index: 0,
    };
    let is_param = scope.function.params.contains(&local);
    let is_static = scope.tree().local(local).storage == Storage::Static;
    let is_asked = || {
        let mut blocks = scope.cfg.blocks.iter();
        blocks.any(|block| null_edge(scope, &block.terminator, local).is_some())
    };
    let comes = |from| comes_to(scope, local, from, at);
    let mut sources = points(scope).filter(|(_, instr)| match &instr.kind {
        InstrKind::Store { place, value } => {
            place.as_local() == Some(local) && gives_null(scope, value, depth)
        }
        _ => filled(scope, instr, local) == Some(Filled::Unknown),
    });
    depth == 0
        || (is_static || is_param && is_asked()) && comes(entry)
        || sources.any(|(point, _)| comes(point.next()))
}

/// Whether a path leads from one point to another on which nothing says that `local` is not `NULL`.
fn comes_to(scope: &Scope<'_>, local: LocalId, from: Point, to: Point) -> bool {
    let mut seen = BTreeSet::new();
    let mut open = vec![from];
    while let Some(at) = open.pop() {
        let block = scope.cfg.block(at.block);
        let mut ahead = block.instrs.iter().enumerate().skip(at.index);
        let known = ahead.find(|(_, instr)| settles(scope, instr, local));
        let known = known.map(|(index, _)| index);
        let is_ahead = at.block == to.block && at.index <= to.index;
        if is_ahead && known.is_none_or(|known| to.index <= known) {
            return true;
        }
        if known.is_none() {
            let targets = block.terminator.targets();
            let targets = match null_edge(scope, &block.terminator, local) {
                Some(edge) => &targets[edge..=edge],
                None => &targets[..],
            };
            let next = targets.iter().filter(|&&block| seen.insert(block));
            open.extend(next.map(|&block| Point { block, index: 0 }));
        }
    }
    false
}

/// Whether a step gives `local` another value, or crashes if it is `NULL`.
fn settles(scope: &Scope<'_>, instr: &Instr, local: LocalId) -> bool {
    match &instr.kind {
        InstrKind::Store { place, .. } if place.as_local() == Some(local) => true,
        InstrKind::Call {
            callee: Callee::Named(name),
            args,
            ..
        } if capi::reads_first(name) || matches!(&**name, "Py_INCREF" | "Py_DECREF") => {
            args.first().is_some_and(|arg| is_read(scope, arg, local))
        }
        _ => matches!(
            filled(scope, instr, local),
            Some(Filled::Always | Filled::Unknown)
        ),
    }
}

/// What a call that gets the address of a variable leaves there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Filled {
    /// An object, if the call succeeds.
    Always,
    /// That, or what was there: `"|O"`.
    Sometimes,
    /// Anything.
    Unknown,
}

fn filled(scope: &Scope<'_>, instr: &Instr, local: LocalId) -> Option<Filled> {
    let InstrKind::Call { callee, args, .. } = &instr.kind else {
        return None;
    };
    let at = args.iter().position(|arg| is_address_of(arg, local))?;
    let Callee::Named(name) = callee else {
        return Some(Filled::Unknown);
    };
    let exprs = match instr.source {
        Source::Expr(call) => match &scope.expr(call).kind {
            ExprKind::Call { args, .. } => &args[..],
            _ => &[],
        },
        Source::Stmt(_) => &[],
    };
    let format = |at: usize| scope.tree().as_string(*exprs.get(at)?);
    Some(match capi::overwrites(name, at, format) {
        Some(true) => Filled::Always,
        Some(false) => Filled::Sometimes,
        None if name.ends_with("PyDict_Next") => Filled::Always,
        None => Filled::Unknown,
    })
}

/// Whether a value that is assigned may be `NULL`.
fn gives_null(scope: &Scope<'_>, value: &Operand, depth: u32) -> bool {
    match value {
        Operand::Temp(temp) => made(scope, *temp).any(|(at, instr)| match &instr.kind {
            InstrKind::Load { place, .. } => match place.as_local() {
                Some(local) => is_null_at(scope, local, at, depth - 1),
                None => !is_argument(scope, place),
            },
            InstrKind::Copy { src, .. } | InstrKind::Cast { src, .. } => {
                gives_null(scope, src, depth)
            }
            InstrKind::Call {
                callee: Callee::Named(name),
                ..
            } => !gives_object(name),
            _ => true,
        }),
        Operand::AddressOf(_) => false,
        Operand::Null | Operand::Int(_) | Operand::Str(_) | Operand::Unknown => true,
    }
}

/// `args[0]` of a function that Python calls.
fn is_argument(scope: &Scope<'_>, place: &Place) -> bool {
    let params = &scope.function.params;
    matches!((&place.base, &place.path[..]), (Base::Deref(base), [Projection::Index(_)])
        if params.iter().any(|&param| is_read(scope, base, param)))
}

/// Whether a call gives an object, whatever happens.
fn gives_object(name: &str) -> bool {
    const ALWAYS: [&str; 7] = [
        "PyEval_GetBuiltins",
        "PyImport_GetModuleDict",
        "PyList_GET_ITEM",
        "PyModule_GetDict",
        "PySequence_Fast_GET_ITEM",
        "PyTuple_GET_ITEM",
        "Py_NewRef",
    ];
    ALWAYS.contains(&name)
}

/// The edge on which `local` is `NULL`, of a branch that asks for that.
fn null_edge(scope: &Scope<'_>, terminator: &Terminator, local: LocalId) -> Option<usize> {
    let Terminator::Branch { condition, .. } = terminator else {
        return None;
    };
    // `if ((d = make()) == NULL)`
    let is_stored = || {
        points(scope).any(|(_, instr)| {
            matches!(&instr.kind, InstrKind::Store { place, value }
                if place.as_local() == Some(local) && *value == condition.lhs)
        })
    };
    let is_zero = condition.rhs.is_zero();
    let is_it = || is_read(scope, &condition.lhs, local) || is_stored();
    match condition.comparison {
        Comparison::Equal if is_zero && is_it() => Some(0),
        Comparison::NotEqual if is_zero && is_it() => Some(1),
        _ => None,
    }
}

/// Whether a value is what `local` holds.
fn is_read(scope: &Scope<'_>, value: &Operand, local: LocalId) -> bool {
    let Operand::Temp(temp) = value else {
        return false;
    };
    made(scope, *temp).any(|(_, instr)| match &instr.kind {
        InstrKind::Load { place, .. } => place.as_local() == Some(local),
        InstrKind::Cast { src, .. } => is_read(scope, src, local),
        _ => false,
    })
}

/// The steps that make a value.
fn made<'s>(scope: &'s Scope<'_>, temp: TempId) -> impl Iterator<Item = (Point, &'s Instr)> {
    points(scope).filter(move |(_, instr)| instr.dst() == Some(temp))
}

pub(super) fn points<'s>(scope: &'s Scope<'_>) -> impl Iterator<Item = (Point, &'s Instr)> {
    scope.cfg.iter().flat_map(|(block, content)| {
        let instrs = content.instrs.iter().enumerate();
        instrs.map(move |(index, instr)| (Point { block, index }, instr))
    })
}
