//! What the function owns at a new exit, and the state of its variables does not show: its owner is
//! only reached by calculating with a pointer, or lies in memory of the function, or it is lost
//! everywhere.
//!
//! ```c
//! w = PyObject_New(Derived, &Derived_Type);
//! value = PyDict_GetItem(cache, key);           /* an exit here loses `w` */
//! …
//! return &w->base.ob_base;
//! ```

mod flow;

use std::collections::BTreeSet;

use super::exit::{jumps_to, speaks_of};
use super::filled::{Filled, allocates, is_followed};
use super::held::{frees, makes};
use super::made_exit::{Fate, fate_in_call, makers, uses};
use super::state::{Contents, GIVEN, GONE, NULL, OWNED, UNSET};
use super::{Exits, label_of, line};
use crate::ast::{ExprId, ExprKind, LocalId, StmtId, TypeKind};
use crate::capi::{self, Counts};
use crate::cfg::{Point, reaches};
use crate::program::{Handed, Hands};
use crate::strong::scene::Scene;
use crate::strong::types::is_number;
use flow::{End, Flow};

/// An object or memory that a call gave to the function.
#[derive(Debug)]
pub(in crate::strong) struct Owner {
    call: ExprId,
    /// It is the function's for sure.
    known: bool,
    /// The variables with its address, or what is calculated from that.
    holders: Vec<LocalId>,
    /// The variables with memory in which its address is.
    inside: Vec<LocalId>,
    /// Where it is given up.
    ends: Vec<Given>,
}

/// Where the function gives something up.
#[derive(Debug)]
struct Given {
    at: Point,
    expr: ExprId,
    /// By what is calculated from its address.
    bent: bool,
    /// By what is read from memory of the function, which may hold more.
    part: bool,
    /// It goes with the memory that it is in: nobody releases it.
    lost: bool,
}

impl Given {
    /// Whether it shows that the function owns what it gives up here.
    fn shows(&self, scene: &Scene<'_>) -> bool {
        let is_release = || match scene.tree.expr(self.expr).kind {
            ExprKind::Call { .. } => scene.call(self.expr).is_some_and(|(name, _)| {
                let is_known = frees(name) || capi::counts(name).is_some_and(Counts::releases);
                is_known || releases(scene, name)
            }),
            ExprKind::Assign { .. } => false,
            _ => true,
        };
        self.bent && !self.lost && is_release()
    }
}

/// Whether a function of the package releases something.
fn releases(scene: &Scene<'_>, name: &str) -> bool {
    scene.cx.definitions(name).any(|(_, function)| {
        let mut called = function.tree.calls();
        called.any(|(_, name)| frees(name) || capi::counts(name).is_some_and(Counts::releases))
    })
}

impl Exits<'_, '_> {
    /// Whether an exit that consists of `lines` loses something that the function owns there.
    pub(in crate::strong) fn loses(&self, lines: &[String]) -> bool {
        let scene = self.scene;
        let owners = scene.owners.get_or_init(|| owners(scene));
        let mut alive = owners.iter().filter(|owner| self.is_alive(owner));
        alive.any(|owner| !self.is_followed(owner, lines) && !self.gives_up(owner, lines))
    }

    /// Whether the function may own it at the exit.
    fn is_alive(&self, owner: &Owner) -> bool {
        let (scene, point) = (self.scene, self.undo.point);
        let Some(made) = scene.cfg.call(owner.call) else {
            return false;
        };
        let mut ends: Vec<Point> = owner.ends.iter().map(|end| end.at).collect();
        let mut parts = owner.ends.iter().filter(|end| end.part);
        if parts.any(|end| reaches(scene.cfg, point, end.at, &[])) {
            // What follows releases more of the same.
            ends.clear();
        }
        ends.extend(replaced(scene, owner));
        // What is never given up is as lost everywhere; what the result replaces, is so by the call.
        let is_lost = owner.ends.is_empty() || self.local.is_some_and(|it| owner.holders == [it]);
        !is_lost && reaches(scene.cfg, made.next(), point, &ends) && !self.is_gone(owner)
    }

    /// Whether none of its variables holds anything at the exit.
    fn is_gone(&self, owner: &Owner) -> bool {
        const GONE_OR_NULL: Contents = NULL | UNSET | GONE;
        let is_gone = || {
            let state = self.held.at(self.undo.point)?;
            let mut holders = owner.holders.iter();
            Some(holders.all(|&local| state.of(local) & !GONE_OR_NULL == 0))
        };
        owner.inside.is_empty() && is_gone().unwrap_or(false)
    }

    /// Whether other parts see to it that an exit which consists of `lines` releases it.
    fn is_followed(&self, owner: &Owner, lines: &[String]) -> bool {
        let scene = self.scene;
        let is_filled = |local: &LocalId| self.undo.filled.contains(&Filled(*local));
        let undone = || self.undo.due.iter().chain(&self.undo.unsure);
        let is_undone = |end: &Given| undone().any(|&stmt| self.has(stmt, end.expr));
        // An old exit may leave it out.
        let is_owned =
            |local: LocalId| self.state.of(local) & OWNED != 0 && speaks_of(scene, lines, local);
        let is_memory = |local: LocalId| scene.tree.local(local).ty.pointee().is_none();
        let mut memory = owner.inside.iter().filter(|&&local| is_memory(local));
        let mut holders = owner.holders.iter();
        holders.any(|&local| is_owned(local))
            || memory.any(|&local| is_owned(local))
            || owner.inside.iter().any(is_filled)
            || owner.ends.iter().any(is_undone)
    }

    fn has(&self, stmt: StmtId, expr: ExprId) -> bool {
        let tree = self.scene.tree;
        tree.stmt(stmt).range.contains(tree.expr(expr).range)
    }

    /// Whether `lines`, or the code at the label they jump to, give it up.
    fn gives_up(&self, owner: &Owner, lines: &[String]) -> bool {
        let scene = self.scene;
        let is_line = |end: &Given| {
            let stmt = scene.stmt_of(end.expr);
            let text = stmt.and_then(|stmt| line(scene, stmt));
            text.is_some_and(|text| lines.contains(&text))
        };
        let label = jumps_to(lines).and_then(|label| label_of(scene, label));
        let start = label.and_then(|label| scene.cfg.before(label));
        let is_behind =
            |end: &Given| start.is_some_and(|start| reaches(scene.cfg, start, end.at, &[]));
        let mut ends = owner.ends.iter().filter(|end| !end.lost);
        ends.any(|end| is_line(end) || is_behind(end))
    }
}

/// Where the only variable that has it gets something else.
fn replaced(scene: &Scene<'_>, owner: &Owner) -> Vec<Point> {
    let &[holder] = &*owner.holders else {
        return Vec::new();
    };
    let made = scene.tree.expr(owner.call).range;
    let replaces = |expr: ExprId| match scene.tree.expr(expr).kind {
        ExprKind::Assign { op: None, lhs, rhs } => {
            let within = scene.tree.expr(rhs).range;
            let mut names = uses(scene, holder);
            scene.as_local(lhs) == Some(holder)
                && !within.contains(made)
                && !names.any(|name| within.contains(scene.tree.expr(name).range))
        }
        _ => false,
    };
    let exprs = scene.tree.expr_ids().filter(|&expr| replaces(expr));
    exprs.filter_map(|expr| scene.cfg.store(expr)).collect()
}

/// All that calls give to the function, as far as it keeps it in its variables.
fn owners(scene: &Scene<'_>) -> Vec<Owner> {
    let owner = |call: ExprId| {
        let contents = makes(scene, call);
        if contents & OWNED == 0 {
            return None;
        }
        let mut owner = Owner {
            call,
            known: contents & GIVEN == 0,
            holders: Vec::new(),
            inside: Vec::new(),
            ends: Vec::new(),
        };
        owner.begin(scene);
        owner.follow(scene);
        // What a function gives of which nothing is known shows by its release whose it is.
        let is_shown = || owner.ends.iter().any(|end| end.shows(scene));
        let is_kept = !owner.holders.is_empty() || !owner.inside.is_empty();
        (is_kept && (owner.known || is_shown())).then_some(owner)
    };
    scene.tree.expr_ids().filter_map(owner).collect()
}

impl Owner {
    /// Takes note of the variable that gets it first.
    fn begin(&mut self, scene: &Scene<'_>) {
        let flow = Flow::of(scene, self.call);
        if flow.read {
            return;
        }
        match flow.end {
            End::Into(local) if flow.part || gives_struct(scene, self.call) => {
                self.inside.push(local);
            }
            // `threads = cpu_count();`
            End::Into(local) if !self.known && is_number(&scene.tree.local(local).ty) => {}
            End::Into(local) => self.holders.push(local),
            End::Inside(root, store) if !is_followed(scene, store) => self.inside.push(root),
            End::Listed(local) if scene.tree.local(local).is_automatic() => self.inside.push(local),
            _ => {}
        }
    }

    /// Follows it through all variables.
    fn follow(&mut self, scene: &Scene<'_>) {
        let mut seen = BTreeSet::new();
        loop {
            let holders = self.holders.iter().map(|&local| (local, false));
            let inside = self.inside.iter().map(|&local| (local, true));
            let next = holders.chain(inside).find(|it| !seen.contains(it));
            let Some((local, is_inside)) = next else {
                return;
            };
            seen.insert((local, is_inside));
            for name in uses(scene, local) {
                let flow = Flow::of(scene, name);
                match (is_inside, flow.read) {
                    (true, read) => self.note(scene, flow, name, !read),
                    (false, true) => {}
                    (false, false) => self.note(scene, flow, name, false),
                }
            }
        }
    }

    /// Takes note of where the value of `name` goes; `whole` if that is the memory in which it is.
    fn note(&mut self, scene: &Scene<'_>, flow: Flow, name: ExprId, whole: bool) {
        let given = |at: Option<Point>, expr: ExprId, lost: bool| {
            let part = flow.read && !whole;
            let bent = flow.bent;
            at.map(|at| Given {
                at,
                expr,
                bent,
                part,
                lost,
            })
        };
        let end = match flow.end {
            End::Into(local) => {
                let is_length = flow.counted && is_number(&scene.tree.local(local).ty);
                let to = match whole || flow.part {
                    true => &mut self.inside,
                    false => &mut self.holders,
                };
                if !is_length && !to.contains(&local) {
                    to.push(local);
                }
                None
            }
            End::Inside(root, _) | End::Listed(root) => {
                if !self.inside.contains(&root) {
                    self.inside.push(root);
                }
                None
            }
            End::Call(call, at) => match taken(scene, call, at, flow, whole) {
                Some(lost) => given(scene.cfg.call(call), call, lost),
                None => None,
            },
            End::Returned(stmt) => given(scene.cfg.before(stmt), name, false),
            End::Elsewhere(store) => given(scene.cfg.store(store), store, false),
            End::Looked => None,
        };
        self.ends.extend(end);
    }
}

/// Whether `call` takes what is its argument `at`, or may; and then whether nobody has it any more:
/// `whole` is only the memory in which it is.
fn taken(scene: &Scene<'_>, call: ExprId, at: usize, flow: Flow, whole: bool) -> Option<bool> {
    let Some((name, args)) = scene.call(call) else {
        return Some(false);
    };
    if capi::keeps_pointer(name, at) {
        return Some(false);
    }
    let is_own = scene.cx.definitions(name).next().is_some();
    match fate_in_call(scene, call, at) {
        // It may well release what is in the memory that it looks at.
        Fate::Kept if !(whole && is_own) => None,
        _ if whole && releases(scene, name) => Some(false),
        // `free(record)` frees nothing that is in it; who knows of `record_free(record)`?
        Fate::GivenUp => Some(whole && capi::acts(name).is_some_and(|acts| acts.frees)),
        Fate::Kept | Fate::PassedOn => {
            let hands = Hands::new(scene.cx.program, scene.cx.types(), scene.tree);
            let Some((root, _)) = hands.root(args[at]) else {
                return Some(false);
            };
            let handed = hands.at(call, &[root].into_iter().collect());
            let least = match whole || flow.read {
                true => Handed::Written,
                false => Handed::Taken,
            };
            (handed >= least).then_some(false)
        }
    }
}

fn is_array(scene: &Scene<'_>, local: LocalId) -> bool {
    matches!(scene.tree.local(local).ty.kind, TypeKind::Array(..))
}

/// Whether `call` gives a struct, which holds more than one value.
fn gives_struct(scene: &Scene<'_>, call: ExprId) -> bool {
    let name = scene.call(call).map_or("", |(name, _)| name);
    let mut definitions = scene.cx.definitions(name);
    definitions.any(|(_, function)| function.ret.pointee().is_none() && !is_number(&function.ret))
}
