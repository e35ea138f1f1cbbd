//! What one expression changes, and the functions of the package that it calls.

use std::sync::Arc;

use super::{Count, Lasting, Place, own};
use crate::ast::{BinaryOp, ExprId, ExprKind, Function, LocalId, Name, Tree, UnaryOp};
use crate::capi::{self, Acts, Gives, OutKind, Returns, Stored};
use crate::program::{ItemId, Program};

pub(super) struct Look<'a> {
    pub(super) program: &'a Program<'a>,
    pub(super) tree: &'a Tree,
}

impl Look<'_> {
    pub(super) fn at(&self, expr: ExprId, depth: usize) -> Vec<Lasting> {
        let tree = self.tree;
        if let Some(place) = tree.changed(expr) {
            return self.written(expr, place, depth);
        }
        let ExprKind::Call { callee, args } = &tree.expr(expr).kind else {
            return Vec::new();
        };
        let found = match tree.callee_name(*callee) {
            Some(name) if is_plain_count(name) => self.counted(args, depth),
            Some(name) => self.call(name, args, depth),
            // `type->tp_alloc(type, 0)`
            None if self.makes_object(*callee) => Vec::new(),
            // `table[2].begin()` may be about all that there is.
            None => self.acts(Acts::UNKNOWN, args, depth),
        };
        distinct(found.into_iter().filter_map(|it| self.outliving(it)))
    }

    /// Whether what is called is a slot that makes an object, and does nothing else.
    fn makes_object(&self, callee: ExprId) -> bool {
        match &self.tree.expr(callee).kind {
            ExprKind::Member { field, .. } => own::is_object(field),
            _ => false,
        }
    }

    /// What an assignment or a step sets.
    pub(super) fn written(&self, expr: ExprId, place: ExprId, depth: usize) -> Vec<Lasting> {
        let tree = self.tree;
        let is_own = |local: LocalId| tree.local(local).is_automatic();
        if tree.as_local(place).is_some_and(is_own) {
            return Vec::new();
        }
        let (op, value) = match tree.expr(expr).kind {
            ExprKind::Assign { op, rhs, .. } => (op, Some(tree.without_casts(rhs))),
            _ => (None, None),
        };
        let is_element = matches!(tree.expr(place).kind, ExprKind::Index { .. });
        let places = self.places(place, depth).into_iter();
        let written = places.map(|place| Lasting {
            place: Some(place),
            is_plain: true,
            // `flags |= DONE`
            only_adds: op == Some(BinaryOp::BitOr),
            is_deep: value
                .is_some_and(|value| self.is_whole(value) || depth > 0 && self.gives_filled(value)),
            holds: value.is_some_and(|value| self.is_held(value, depth)),
            is_memory: value.is_some_and(|value| self.is_memory(value, depth)),
            is_behind: is_element,
            ..Lasting::ELSEWHERE
        });
        written.filter_map(|it| self.outliving(it)).collect()
    }

    /// Whether a value is a struct that a variable of the function holds: `options = saved;`.
    fn is_whole(&self, value: ExprId) -> bool {
        self.tree.as_local(value).is_some_and(|local| {
            let ty = &self.tree.local(local).ty;
            !ty.is_number() && ty.pointee().is_none()
        })
    }

    fn counted(&self, args: &[ExprId], depth: usize) -> Vec<Lasting> {
        let places = args.first().map(|&arg| self.places(arg, depth));
        // Nobody waits for `Py_None` to be released.
        let is_own = |place: &Place| match &place.root {
            Name::Global(name) => !name.starts_with("Py") || !place.fields.is_empty(),
            Name::Local(_) => true,
        };
        let places = places.into_iter().flatten().filter(is_own);
        let counted = places.map(|place| Lasting {
            place: Some(place),
            counts: Count::Here,
            ..Lasting::ELSEWHERE
        });
        counted.collect()
    }

    fn call(&self, name: &str, args: &[ExprId], depth: usize) -> Vec<Lasting> {
        let mut own = self.program.functions_named(name).peekable();
        if own.peek().is_none() {
            let acts = capi::acts(name);
            let mut found = acts.map_or_else(Vec::new, |acts| self.acts(acts, args, depth));
            found.extend(self.given(name, args, depth));
            return found;
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

    /// What a function of Python gives by a pointer, for its caller to release:
    /// `PyArg_ParseTuple(args, "y*", &request.body)`. Variables of the function are followed
    /// elsewhere, path by path.
    fn given(&self, name: &str, args: &[ExprId], depth: usize) -> Vec<Lasting> {
        let format = |at: usize| self.tree.as_string(*args.get(at)?);
        let given = args.iter().enumerate().flat_map(|(at, &arg)| {
            let is_object = match capi::stored(name, at, format) {
                Stored::Known(OutKind::New) => true,
                Stored::Known(OutKind::Buffer | OutKind::Memory) => false,
                _ => return Vec::new(),
            };
            let is_followed = self.tree.as_address(arg).is_some();
            let places = self.places(arg, depth).into_iter();
            let given = places.filter(|_| !is_followed).map(|place| Lasting {
                place: Some(place),
                is_plain: is_object,
                holds: is_object,
                ..Lasting::ELSEWHERE
            });
            given.collect()
        });
        given.collect()
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
        // `PyErr_Fetch` and `PyErr_Restore`: the exception that is pending stays as it was.
        let mut calls = function.tree.calls().map(|(_, name)| name);
        let mut others = function.tree.calls().map(|(_, name)| name);
        let is_put_back = calls.any(capi::takes_exception) && others.any(capi::restores_exception);
        let moves = |inner: ExprId| {
            let name = function.tree.called(inner);
            name.is_some_and(|it| capi::takes_exception(it) || capi::restores_exception(it))
        };
        let exprs = function.tree.expr_ids();
        let exprs = exprs.filter(|&inner| !(is_put_back && moves(inner)));
        let all = exprs.flat_map(|inner| look.at(inner, depth));
        let is_seen = |it: &Lasting| match &it.place {
            Some(Place {
                root: Name::Local(local),
                ..
            }) => function.params.contains(local),
            _ => true,
        };
        let inner = |it: Lasting| Lasting {
            counts: match it.counts {
                Count::No => Count::No,
                Count::Here | Count::Inside => Count::Inside,
            },
            ..it
        };
        let inside: Arc<[Lasting]> = distinct(all.filter(is_seen).map(inner)).into();
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
        // A number may stand for something that the process has, and a name for a function.
        let is_number = |place: &Place| match place.root {
            Name::Local(local) => self.tree.local(local).ty.is_number(),
            Name::Global(_) => place.fields.is_empty(),
        };
        // `dup2(2, 1)`
        let is_constant = |(at, arg): (usize, &ExprId)| {
            acts.changes(at) && matches!(self.tree.expr(*arg).kind, ExprKind::Int(_))
        };
        let is_elsewhere = acts.elsewhere && (!is_unknown || places.iter().all(is_number))
            || !is_unknown && !acts.runs_code() && args.iter().enumerate().any(is_constant);
        let changed = places.into_iter().map(|place| Lasting {
            place: Some(place),
            // `memcpy(&options, &saved, sizeof options);`
            is_deep: is_unknown || acts.is_plain,
            only_adds: acts.only_adds,
            is_plain: acts.is_plain,
            is_code: !is_unknown && acts.runs_code(),
            ..Lasting::ELSEWHERE
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
            // An enumerator, a macro or a function is no place.
            ExprKind::Name(Name::Global(name))
                if name.bytes().any(|it| it.is_ascii_lowercase())
                    && !self.program.has_function(name) =>
            {
                vec![Place::of(Name::Global(name.clone()))]
            }
            ExprKind::Member { base, field, .. } => {
                let mut places = self.whole(*base, depth);
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
            | ExprKind::Index { base: inner, .. } => self.whole(*inner, depth),
            ExprKind::Cast { operand: inner, .. } => self.places(*inner, depth),
            // `PyModule_GetState(module)`
            ExprKind::Call { callee, args } => {
                let name = tree.callee_name(*callee).unwrap_or_default();
                let effects = capi::effects(name);
                if args.is_empty() && effects.is_some_and(|it| it.returns == Returns::Borrowed) {
                    return vec![Place::of(Name::Global(name.into()))];
                }
                if let (Some(capi::Counts::Copy), [object]) = (capi::counts(name), &args[..]) {
                    return self.places(*object, depth);
                }
                let mut places = match (capi::writes(name).map(|it| it.gives), &args[..]) {
                    (Some(Gives::Shared | Gives::Held(0)), [first, ..]) => {
                        self.places(*first, depth)
                    }
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

    /// The places of what has a part or an address: no enumerator.
    fn whole(&self, expr: ExprId, depth: usize) -> Vec<Place> {
        match &self.tree.expr(expr).kind {
            ExprKind::Name(Name::Global(name)) => vec![Place::of(Name::Global(name.clone()))],
            _ => self.places(expr, depth),
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
}

/// Whether a function only counts its argument, and sets no variable.
fn is_plain_count(name: &str) -> bool {
    use capi::Counts::{Copy, Release, Take};
    matches!(capi::counts(name), Some(Take | Copy | Release { .. }))
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
