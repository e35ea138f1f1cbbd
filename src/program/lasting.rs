//! What an expression leaves behind, references and memory apart: what an exit behind it would leave
//! half done if something later belongs to it.
//!
//! ```c
//! queue_lock(self->queue);                      /* `self->queue`, and all that is behind it */
//! self->depth++;                                /* `self->depth` */
//! old = umask(077);                             /* the process */
//! fd = open_it();                               /* `fd`, which is to be closed */
//! ```

use std::sync::Arc;

use super::{ItemId, Program};
use crate::ast::{ExprId, ExprKind, Function, LocalId, Name, Tree, UnaryOp};
use crate::capi::{self, Acts, Gives, Returns};

/// How deep functions of the package are looked into, and variables that stand for others.
const MAX_DEPTH: usize = 4;

/// A place: a variable, or a field of it or of what it points at. Elements are their array.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Place {
    root: Name,
    fields: Vec<Box<str>>,
    /// Whether it is what a copy of the pointer in it points at, which may hold another by then.
    is_copied: bool,
}

/// Something that is changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lasting {
    /// `None` for the thread, the interpreter or the process.
    place: Option<Place>,
    /// Whether what lies behind the place may be changed, too.
    is_deep: bool,
    /// Whether nothing is taken away there, or overwritten.
    pub only_adds: bool,
    /// Whether it is what an assignment does: nothing has to be closed that was not there before.
    is_plain: bool,
    /// Whether it is the code of others that may do so.
    is_code: bool,
    /// Whether it is an object that is given, and not changed; without a place: whether the value of
    /// the expression is to be closed.
    opens: bool,
}

impl Lasting {
    const ELSEWHERE: Self = Self {
        place: None,
        is_deep: false,
        only_adds: false,
        is_plain: false,
        is_code: false,
        opens: false,
    };

    /// Whether both may be about one thing.
    #[must_use]
    pub fn meets(&self, other: &Self) -> bool {
        let (Some(one), Some(two)) = (&self.place, &other.place) else {
            return self.place == other.place;
        };
        let is_set = self.is_plain && two.is_copied || other.is_plain && one.is_copied;
        let is_equal = one.fields == two.fields;
        let is_part = |of: &Place, part: &Place| part.fields.starts_with(&of.fields);
        let is_within = || self.is_deep && is_part(one, two) || other.is_deep && is_part(two, one);
        // An object that was made is released: only what the code of others began needs an end.
        let is_made = self.opens && !other.is_code || other.opens && !self.is_code;
        one.root == two.root && !is_made && !(is_set && is_equal) && (is_equal || is_within())
    }
}

/// What `expr`, an assignment or a call, changes that is there after it.
#[must_use]
pub fn lasting(program: &Program<'_>, tree: &Tree, expr: ExprId) -> Vec<Lasting> {
    let found = Look { program, tree }.at(expr, MAX_DEPTH);
    let opens = found.iter().any(|it| it.opens);
    let opened = opens.then(|| {
        tree.stores()
            .find(|(_, value)| tree.without_casts(*value) == expr)
    });
    let opened = opened.flatten().map(|(local, _)| Lasting {
        place: Some(Place::of(Name::Local(local))),
        opens: tree.local(local).ty.is_py_object_pointer(),
        ..Lasting::ELSEWHERE
    });
    let changed = found.into_iter().filter(|it| !it.opens);
    changed.chain(opened).collect()
}

struct Look<'a> {
    program: &'a Program<'a>,
    tree: &'a Tree,
}

impl Look<'_> {
    fn at(&self, expr: ExprId, depth: usize) -> Vec<Lasting> {
        let tree = self.tree;
        if let Some(place) = tree.changed(expr) {
            let is_own = tree
                .as_local(place)
                .is_some_and(|it| tree.local(it).is_automatic());
            let places = match is_own {
                true => Vec::new(),
                false => self.places(place, depth),
            };
            let written = places.into_iter().map(|place| Lasting {
                place: Some(place),
                is_plain: true,
                ..Lasting::ELSEWHERE
            });
            return written.filter(|it| self.outlives(it)).collect();
        }
        let ExprKind::Call { callee, args } = &tree.expr(expr).kind else {
            return Vec::new();
        };
        let mut found = match tree.callee_name(*callee) {
            Some(name) => self.call(name, args, depth),
            None => self.acts(Acts::UNKNOWN, &[&[*callee][..], args].concat(), depth),
        };
        found.retain(|it| self.outlives(it));
        found.dedup();
        found
    }

    fn call(&self, name: &str, args: &[ExprId], depth: usize) -> Vec<Lasting> {
        let mut own = self.program.functions_named(name).peekable();
        if own.peek().is_none() {
            let acts = capi::acts(name);
            return acts.map_or_else(Vec::new, |acts| self.acts(acts, args, depth));
        }
        let Some(depth) = depth.checked_sub(1) else {
            return self.acts(Acts::UNKNOWN, args, 0);
        };
        let inner = own.flat_map(|(id, function)| {
            let inside = self.inside(id, function, depth);
            let seen = inside
                .iter()
                .flat_map(|it| self.seen(it, function, args, depth));
            seen.collect::<Vec<Lasting>>()
        });
        distinct(inner)
    }

    /// What a function of the package changes, as it sees it; looked for once.
    fn inside(&self, id: ItemId, function: &Function, depth: usize) -> Arc<[Lasting]> {
        let known = &self.program.left_behind;
        if let Some(inside) = known.lock().expect("no panic holds it").get(&(id, depth)) {
            return Arc::clone(inside);
        }
        let look = Look {
            program: self.program,
            tree: &function.tree,
        };
        let exprs = function.tree.expr_ids();
        let all = exprs.flat_map(|inner| look.at(inner, depth));
        let is_seen = |it: &Lasting| match &it.place {
            Some(Place {
                root: Name::Local(local),
                ..
            }) => function.params.contains(local),
            _ => true,
        };
        let inside: Arc<[Lasting]> = distinct(all.filter(is_seen)).into();
        let mut known = known.lock().expect("no panic holds it");
        known.insert((id, depth), Arc::clone(&inside));
        inside
    }

    /// What the caller of `function`, who gives it `args`, sees of a change in there.
    fn seen(
        &self,
        it: &Lasting,
        function: &Function,
        args: &[ExprId],
        depth: usize,
    ) -> Vec<Lasting> {
        let Some(Place {
            root: Name::Local(local),
            fields,
            is_copied: _,
        }) = &it.place
        else {
            return vec![it.clone()];
        };
        let at = function.params.iter().position(|param| param == local);
        let Some(arg) = at.and_then(|at| args.get(at)) else {
            return Vec::new();
        };
        let places = self.places(*arg, depth).into_iter().map(|mut place| {
            place.fields.extend(fields.iter().cloned());
            Lasting {
                place: Some(place),
                ..it.clone()
            }
        });
        places.collect()
    }

    fn acts(&self, acts: Acts, args: &[ExprId], depth: usize) -> Vec<Lasting> {
        let of = |(at, arg): (usize, &ExprId)| {
            // Handles come first: the numbers after them say what is to be done.
            let is_number = at > 0
                && self
                    .tree
                    .as_local(*arg)
                    .is_some_and(|local| self.tree.local(local).ty.is_number());
            let moves = acts.is_plain && self.moves(*arg);
            match acts.changes(at) && !is_number && !moves {
                true => self.places(*arg, depth),
                false => Vec::new(),
            }
        };
        let places: Vec<Place> = args.iter().enumerate().flat_map(of).collect();
        let is_unknown = acts == Acts::UNKNOWN;
        // A number may stand for something that the process has.
        let is_number = |place: &Place| match place.root {
            Name::Local(local) => self.tree.local(local).ty.is_number(),
            Name::Global(_) => false,
        };
        // `dup2(2, 1)`
        let is_constant = |(at, arg): (usize, &ExprId)| {
            acts.changes(at) && matches!(self.tree.expr(*arg).kind, ExprKind::Int(_))
        };
        let is_elsewhere = acts.elsewhere && (!is_unknown || places.iter().all(is_number))
            || !is_unknown && !acts.runs_code() && args.iter().enumerate().any(is_constant);
        let changed = places.into_iter().map(|place| Lasting {
            place: Some(place),
            is_deep: is_unknown,
            only_adds: acts.only_adds,
            is_plain: acts.is_plain,
            is_code: acts.runs_code(),
            opens: false,
        });
        let elsewhere = is_elsewhere.then_some(Lasting::ELSEWHERE);
        let opens = acts.opens.then_some(Lasting {
            opens: true,
            ..Lasting::ELSEWHERE
        });
        changed.chain(elsewhere).chain(opens).collect()
    }

    /// Whether an argument is a pointer that walks: `end += sprintf(end, "%d", n);` writes another
    /// place each time.
    fn moves(&self, arg: ExprId) -> bool {
        let tree = self.tree;
        let local = tree.as_local(tree.without_casts(arg));
        let steps = |expr: ExprId| match tree.expr(expr).kind {
            ExprKind::Assign { op, lhs, .. } => op.is_some() && tree.as_local(lhs) == local,
            ExprKind::Unary { op, operand } => op.is_step() && tree.as_local(operand) == local,
            _ => false,
        };
        local.is_some() && tree.expr_ids().any(steps)
    }

    /// The places that an expression is, or points at.
    fn places(&self, expr: ExprId, depth: usize) -> Vec<Place> {
        let tree = self.tree;
        match &tree.expr(expr).kind {
            ExprKind::Name(Name::Local(local)) => self.local_places(*local, depth),
            // An enumerator or a macro is no place.
            ExprKind::Name(Name::Global(name))
                if name.bytes().any(|it| it.is_ascii_lowercase()) =>
            {
                vec![Place::of(Name::Global(name.clone()))]
            }
            ExprKind::Member { base, field, .. } => {
                let mut places = self.places(*base, depth);
                for place in &mut places {
                    place.fields.push(field.clone());
                    place.is_copied = false;
                }
                places
            }
            ExprKind::Unary {
                op: UnaryOp::Deref | UnaryOp::AddressOf,
                operand: inner,
            }
            | ExprKind::Cast { operand: inner, .. }
            | ExprKind::Index { base: inner, .. } => self.places(*inner, depth),
            // `PyModule_GetState(module)`
            ExprKind::Call { callee, args } => {
                let name = tree.callee_name(*callee).unwrap_or_default();
                let mut places = match (capi::writes(name).map(|it| it.gives), &args[..]) {
                    (Some(Gives::Shared), [first, ..]) => self.places(*first, depth),
                    (Some(Gives::Argument(at) | Gives::Part(at)), _) => args
                        .get(at)
                        .map_or_else(Vec::new, |&arg| self.places(arg, depth)),
                    _ => Vec::new(),
                };
                for place in &mut places {
                    place.fields.push(name.into());
                    place.is_copied = false;
                }
                places
            }
            _ => Vec::new(),
        }
    }

    /// A variable, and what it stands for.
    fn local_places(&self, local: LocalId, depth: usize) -> Vec<Place> {
        let own = Place::of(Name::Local(local));
        let variable = self.tree.local(local);
        let Some(depth) = depth.checked_sub(1).filter(|_| !variable.is_param) else {
            return vec![own];
        };
        let stores = self.tree.stores().filter(|(given, _)| *given == local);
        let values = stores.map(|(_, value)| self.tree.without_casts(value));
        let is_other = |value: &ExprId| self.tree.as_local(*value) != Some(local);
        let others = values
            .filter(is_other)
            .flat_map(|value| self.places(value, depth));
        let others = others.map(|place| Place {
            is_copied: true,
            ..place
        });
        std::iter::once(own).chain(others).collect()
    }

    /// Whether a change is there once the function has returned.
    fn outlives(&self, it: &Lasting) -> bool {
        let Some(Place {
            root: Name::Local(local),
            ..
        }) = &it.place
        else {
            return true;
        };
        let variable = self.tree.local(*local);
        let is_pointer = variable.is_param || variable.ty.pointee().is_some();
        let is_by_value = variable.is_automatic() && !is_pointer;
        let is_own = is_by_value || self.gets_only(*local, is_memory);
        !(it.is_plain && is_own || self.gets_only(*local, is_object))
    }

    /// Whether a variable gets nothing but what calls of such functions give, which nobody else
    /// knows.
    fn gets_only(&self, local: LocalId, is_one: impl Fn(&str) -> bool) -> bool {
        let tree = self.tree;
        let stores = tree.stores().filter(|(given, _)| *given == local);
        let values = stores.map(|(_, value)| tree.without_casts(value));
        let mut values = values.filter(|&value| !tree.is_null(value)).peekable();
        let is_new = |value: ExprId| match &tree.expr(value).kind {
            ExprKind::Call { callee, .. } => match &tree.expr(*callee).kind {
                ExprKind::Member { field, .. } => is_one(field),
                _ => tree.callee_name(*callee).is_some_and(&is_one),
            },
            _ => false,
        };
        !tree.local(local).is_param && values.peek().is_some() && values.all(is_new)
    }
}

/// `PyObject_New`, `type->tp_alloc(type, 0)`: what is done to the object ends with it.
fn is_object(name: &str) -> bool {
    let is_new = capi::effects(name).is_some_and(|it| it.returns == Returns::New);
    name == "tp_alloc" || is_new && is_memory(name)
}

fn is_memory(name: &str) -> bool {
    let is_fresh = capi::writes(name).is_some_and(|it| it.gives == Gives::Fresh);
    is_fresh && !capi::acts(name).is_some_and(|acts| acts.opens)
}

fn distinct(all: impl Iterator<Item = Lasting>) -> Vec<Lasting> {
    let mut found: Vec<Lasting> = Vec::new();
    for it in all {
        if !found.contains(&it) {
            found.push(it);
        }
    }
    found
}

impl Place {
    fn of(root: Name) -> Self {
        Self {
            root,
            fields: Vec::new(),
            is_copied: false,
        }
    }
}
