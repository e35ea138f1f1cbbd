//! Exits that go by what the function has counted: they are right here only if it has not changed.
//!
//! ```c
//! for (i = 0; i < n; i++) {
//!     item = PyList_GetItemRef(list, i);
//!     text = PyObject_Str(item);
//!     if (text == NULL) {
//!         while (end != texts)              /* as many as there are at the lookup */
//!             Py_DECREF(*--end);
//!         return NULL;
//!     }
//!     *end++ = text;
//! }
//! ```

use super::Exits;
use super::beside::only_asks;
use super::branch::{Branch, counted, is_same, releases_all};
use super::exit::null_tested;
use super::state::UNSET;
use crate::ast::{
    Below, ExprId, ExprKind, LocalId, StmtId, StmtKind, TokenRange, TypeKind, element,
};
use crate::capi::{self, words_of};
use crate::cfg::reaches;
use crate::cfg::{Callee, Instr, InstrKind, Operand, Point, Source, Terminator};
use crate::strong::scene::Scene;
use crate::strong::types::is_number;

/// Whether what the loops of `branch` release, and what it counts on or back, is at the call as it
/// is at its start.
pub(super) fn is_steady(exits: &Exits<'_, '_>, branch: &Branch) -> bool {
    let scene = exits.scene;
    let loops = || {
        branch
            .releases
            .iter()
            .filter(|&&stmt| releases_all(scene, stmt))
    };
    let released = loops().flat_map(|&stmt| needed(scene, stmt));
    let released: Vec<LocalId> = released.collect();
    let counts = branch
        .releases
        .iter()
        .filter_map(|&stmt| counted(scene, stmt));
    let counts: Vec<LocalId> = counts.collect();
    let Some(way) = Way::new(exits, branch) else {
        return false;
    };
    let is_bare = loops().next().is_none() && counts.is_empty();
    // An array is named where it is filled.
    let is_taken = |local: &LocalId| {
        scene.cfg.address_taken().contains(local)
            && !matches!(scene.tree.local(*local).ty.kind, TypeKind::Array(..))
    };
    is_bare
        || reaches(scene.cfg, way.from, way.to, &[])
            && !counts.iter().chain(&released).any(is_taken)
            && !way.passes(|instr| {
                let mut touched = touched(scene, instr, &released);
                sets(instr, &counts) || touched.any(|local| !spares(scene, branch, instr, local))
            })
}

/// Whether nothing that the function sets between the call and `branch` is read from there on, but
/// for the result of the call: `r = f(item); if (r < 0) break; … if (r < 0) return NULL;`.
pub(super) fn says_the_same(exits: &Exits<'_, '_>, branch: &Branch) -> bool {
    let (scene, state) = (exits.scene, &exits.state);
    let Some((way, start)) = Way::new(exits, branch).zip(start(scene, branch)) else {
        return false;
    };
    let is_read =
        |local: LocalId| Some(local) != exits.local && scene.liveness.is_live(local, start);
    let is_set = |instr: &Instr| set_by(instr).any(is_read);
    let is_first = |instr: &Instr| {
        let mut locals = set_by(instr).filter(|&local| is_read(local));
        locals.any(|local| state.of(local) & UNSET != 0)
    };
    !way.passes(is_set) || !way.passes(is_first) && is_idle(&way, start, is_set)
}

/// Whether one of the ways does nothing but to look: what happens on the others does not matter then,
/// unless the exit asks again what they were taken for.
///
/// ```c
/// if (self->shared)
///     busy = grab(self);
/// if (!PyUnicode_Check(item))
///     goto end;
/// …
/// end:
///     if (self->shared)
///         let_go(self, busy);
/// ```
pub(super) fn is_idle(way: &Way<'_, '_>, start: Point, sets: impl Fn(&Instr) -> bool) -> bool {
    let scene = way.scene;
    let asked: Vec<LocalId> = way.asked().collect();
    let is_asked = |local: LocalId| asked.contains(&local) && scene.liveness.is_live(local, start);
    let mut blocks = scene.cfg.iter().filter(|(block, _)| {
        let end = Point {
            block: *block,
            index: 0,
        };
        start.block == *block || reaches(scene.cfg, start, end, &[])
    });
    let asks = |expr: ExprId| named(scene, scene.tree.expr(expr).range).any(is_asked);
    way.is_free_of(|it| sets(it) || acts(it))
        && !blocks.any(|(_, content)| {
            let mut calls = content.instrs.iter().filter(|it| acts(it));
            decided(&content.terminator).is_some_and(asks)
                || calls.any(|it| {
                    matches!((&it.kind, it.source),
                    (InstrKind::Call { .. }, Source::Expr(call)) if asks(call))
                })
        })
}

/// The condition that decides where a block leads.
fn decided(terminator: &Terminator) -> Option<ExprId> {
    match terminator {
        Terminator::Branch { condition, .. } => Some(condition.expr),
        _ => None,
    }
}

/// Whether the function does not set `local` between the call and `branch`, to which a way leads.
pub(super) fn is_kept(exits: &Exits<'_, '_>, branch: &Branch, local: LocalId) -> bool {
    Way::new(exits, branch).is_some_and(|way| {
        way.is_free_of(|_| false) && !way.passes(|instr| set_by(instr).any(|set| set == local))
    })
}

/// The point in front of the first statement that is taken over from `branch`.
pub(super) fn start(scene: &Scene<'_>, branch: &Branch) -> Option<Point> {
    let first = branch.releases.first().unwrap_or(&branch.jump);
    scene.cfg.before(*first)
}

/// The variables that a step sets, or may set through their addresses.
pub(super) fn set_by(instr: &Instr) -> impl Iterator<Item = LocalId> {
    let (stored, args) = match &instr.kind {
        InstrKind::Store { place, .. } => (place.as_local(), &[][..]),
        InstrKind::Call { args, .. } => (None, &args[..]),
        _ => (None, &[][..]),
    };
    let outs = args.iter().filter_map(|arg| match arg {
        Operand::AddressOf(place) => place.as_local(),
        _ => None,
    });
    stored.into_iter().chain(outs)
}

/// Whether a step may do more than to set a variable or to look at an object: `PyBytes_AS_STRING`.
pub(super) fn acts(instr: &Instr) -> bool {
    match &instr.kind {
        InstrKind::Store { place, .. } => place.as_local().is_none(),
        InstrKind::Call { callee, .. } => match callee {
            Callee::Named(name) => {
                !only_asks(name) && !reads(name) && &**name != "__builtin_expect"
            }
            Callee::Indirect(_) => true,
        },
        InstrKind::Asm => true,
        _ => false,
    }
}

/// Whether a macro of the C API, or of one like it, gives a field of its argument, as its name says:
/// `PyArray_DATA`, but not `PyPool_LOCK`.
fn reads(name: &str) -> bool {
    const WORDS: [&str; 27] = [
        "as", "base", "buffer", "bytes", "check", "data", "descr", "dim", "dims", "flags", "get",
        "hash", "item", "itemsize", "kind", "len", "length", "name", "nbytes", "nd", "ndim",
        "read", "shape", "size", "stride", "strides", "type",
    ];
    let field = name
        .starts_with("Py")
        .then(|| name.split_once('_'))
        .flatten();
    field.is_some_and(|(_, field)| {
        let says = |word: String| WORDS.contains(&&*word) || word.starts_with("is");
        !field.starts_with("SET")
            && !field.contains(|c: char| c.is_ascii_lowercase())
            && (capi::effects(name).is_some() || words_of(field).any(says))
    })
}

/// The variables whose values a loop goes by.
fn needed(scene: &Scene<'_>, stmt: StmtId) -> Vec<LocalId> {
    let Some(start) = scene.cfg.before(stmt) else {
        return Vec::new();
    };
    let mut locals: Vec<LocalId> = named(scene, scene.tree.stmt(stmt).range).collect();
    locals.retain(|&local| scene.liveness.is_live(local, start));
    locals
}

/// The variables that are named in `within`.
pub(super) fn named<'s>(
    scene: &'s Scene<'_>,
    within: TokenRange,
) -> impl Iterator<Item = LocalId> + 's {
    let exprs = (0u32..).map(ExprId).zip(&scene.tree.exprs);
    let inner = exprs
        .filter(move |(_, expr)| within.start <= expr.range.start && expr.range.end <= within.end);
    inner.filter_map(|(id, _)| scene.as_local(id))
}

/// Whether a step gives one of `locals` another value.
fn sets(instr: &Instr, locals: &[LocalId]) -> bool {
    match &instr.kind {
        InstrKind::Store { place, .. } => place.as_local().is_some_and(|it| locals.contains(&it)),
        _ => false,
    }
}

/// Those of `locals` that a step sets, or where it may put something.
fn touched(scene: &Scene<'_>, instr: &Instr, locals: &[LocalId]) -> impl Iterator<Item = LocalId> {
    let writes = matches!(instr.kind, InstrKind::Store { .. } | InstrKind::Call { .. });
    let within = match instr.source {
        Source::Expr(expr) => scene.tree.expr(expr).range,
        Source::Stmt(stmt) => scene.tree.stmt(stmt).range,
    };
    let names = named(scene, within).filter(move |local| writes && locals.contains(local));
    // Nothing but an assignment changes a number.
    names.filter(move |&local| !is_number(&scene.tree.local(local).ty) || sets(instr, &[local]))
}

/// Whether a step sets an element that `branch` asks for and finds to be `NULL`, and what it gives
/// back of the array are the elements below.
///
/// ```c
/// items[i] = PyObject_Str(item);
/// if (items[i] == NULL) {
///     for (j = 0; j < i; j++)
///         Py_DECREF(items[j]);
/// ```
fn spares(scene: &Scene<'_>, branch: &Branch, instr: &Instr, array: LocalId) -> bool {
    let (InstrKind::Store { .. }, Source::Expr(store)) = (&instr.kind, instr.source) else {
        return false;
    };
    let StmtKind::If { cond, .. } = scene.tree.stmt(branch.test).kind else {
        return false;
    };
    let is_asked = |place: ExprId| {
        null_tested(scene, cond).is_some_and(|asked| match scene.tree.expr(asked).kind {
            ExprKind::Assign { op: None, lhs, .. } => lhs == place,
            _ => is_same(scene, asked, place),
        })
    };
    let set = scene.tree.changed(store).filter(|&place| is_asked(place));
    let is_left_out = |place: ExprId| {
        let mut releases = branch.releases.iter();
        releases.all(|&stmt| gives_below(scene, stmt, place, array))
    };
    set.is_some_and(is_left_out)
}

/// Whether all that `stmt` names of an array are elements below `end`.
fn gives_below(scene: &Scene<'_>, stmt: StmtId, end: ExprId, array: LocalId) -> bool {
    let below = Below::of(scene.tree, stmt)
        .filter(|below| below.is_end(scene.tree, end, |one, other| is_same(scene, one, other)));
    let parts = scene.tree.exprs_in(scene.tree.stmt(stmt).range);
    let mut elements = parts.filter(|(part, _)| {
        let element = element(scene.tree, *part);
        element.is_some_and(|(of, _)| of == array)
    });
    let is_loop = releases_all(scene, stmt);
    let mut named = named(scene, scene.tree.stmt(stmt).range);
    match below {
        Some(below) => elements.all(|(part, _)| below.array(scene.tree, part).is_some()),
        // `free(items)`
        None => elements.next().is_none() && !(is_loop && named.any(|local| local == array)),
    }
}

/// The paths from the call to the branch.
pub(super) struct Way<'s, 'a> {
    pub(super) scene: &'s Scene<'a>,
    from: Point,
    to: Point,
}

impl<'s, 'a> Way<'s, 'a> {
    fn new(exits: &Exits<'s, 'a>, branch: &Branch) -> Option<Self> {
        Self::from(exits, exits.scene.cfg.before(branch.then)?)
    }

    /// Those from the call to a point.
    pub(super) fn from(exits: &Exits<'s, 'a>, to: Point) -> Option<Self> {
        let scene = exits.scene;
        Some(Self {
            scene,
            from: scene.cfg.call(exits.call)?,
            to,
        })
    }

    /// The variables that are asked for on the paths.
    fn asked(&self) -> impl Iterator<Item = LocalId> {
        let scene = self.scene;
        let blocks = scene.cfg.iter().filter(|(block, content)| {
            let end = Point {
                block: *block,
                index: content.instrs.len(),
            };
            reaches(scene.cfg, self.from, end, &[])
                && reaches(scene.cfg, end, self.to, &[self.from])
        });
        let conditions = blocks.filter_map(|(_, content)| decided(&content.terminator));
        conditions.flat_map(|cond| named(scene, scene.tree.expr(cond).range))
    }

    /// Whether one of the paths has no step that is like that.
    pub(super) fn is_free_of(&self, is_like: impl Fn(&Instr) -> bool) -> bool {
        let barriers = self.scene.cfg.steps().filter(|(_, instr)| is_like(instr));
        let barriers: Vec<Point> = barriers.map(|(at, _)| at).collect();
        reaches(self.scene.cfg, self.from.next(), self.to, &barriers)
    }

    /// Whether one of the steps on the way is like that.
    pub(super) fn passes(&self, is_like: impl Fn(&Instr) -> bool) -> bool {
        let cfg = self.scene.cfg;
        cfg.iter().any(|(block, content)| {
            let mut steps = (0..).zip(&content.instrs);
            steps.any(|(index, instr)| {
                let at = Point { block, index };
                let behind = Point {
                    index: index + 1,
                    ..at
                };
                is_like(instr)
                    && reaches(cfg, self.from, at, &[])
                    && reaches(cfg, behind, self.to, &[self.from])
            })
        })
    }
}
