//! What a call goes to, and which writes are left.

use super::body::{Body, Called, Given, Summary};
use super::settled::replaces;
use super::value::{Kinds, Value};
use super::walk::Context;
use super::{What, Why};
use crate::ast::{ExprId, ExprKind, LocalId, Name, Parent, Type, UnaryOp};
use crate::capi;
use crate::roles::is_slot;
use crate::rule::{ItemId, PackageCx};
use crate::state::is_lock;

/// What a call goes to.
enum Callee<'t> {
    /// Functions of the package.
    Own(Vec<ItemId>),
    /// A function that was not read.
    Named(&'t str),
    /// What a type of Python has in a slot.
    Slot(&'t str),
    /// A pointer of which the targets are not all seen.
    Pointer,
}

impl<'a> Body<'_, '_, 'a> {
    /// Follows a call; gives what it returns.
    pub(super) fn call(&mut self, at: ExprId, callee: ExprId, args: &[ExprId]) -> Value {
        let given = |&arg: &ExprId| match self.tree().is_null(arg) {
            true => Value::NULL,
            false => self.value(arg),
        };
        let values: Vec<Value> = args.iter().map(given).collect();
        match self.callee(callee, args.len()) {
            Callee::Own(items) => {
                let summary = self.call_own(at, items, args, values);
                self.took(summary.stored);
                self.set_given(summary.stored, args);
                self.publish_given(&summary, args, at);
                *self.published.ways.entry(at).or_default() |= summary.ways;
                summary.result
            }
            Callee::Slot("tp_alloc") if !self.walk.allocates => Value::FRESH,
            Callee::Slot(_) | Callee::Pointer => {
                self.hand_out(at, "", args);
                Value::SHARED
            }
            Callee::Named(name) => {
                self.call_back(name, args, &values);
                self.hand_out(at, name, args);
                if let ([to, from, ..], true) = (args, replaces(self.tree(), callee)) {
                    self.store(*to, values[1], Some(*from), at);
                }
                self.outside(at, name, args, &values)
            }
        }
    }

    /// What the functions of the package do that a call may mean: the same as in the last round where
    /// they get the same.
    fn call_own(
        &mut self,
        at: ExprId,
        items: Vec<ItemId>,
        args: &[ExprId],
        values: Vec<Value>,
    ) -> Summary {
        let given = Given {
            handles: self.handles_given(args),
            values,
            full: self.walk.full,
        };
        if let Some(last) = self.called.get(&at).filter(|it| it.given == given) {
            self.walk.reached.link(&last.nodes);
            return last.summary;
        }
        let guards = self.guards(at);
        let mut all = Summary::default();
        let mut nodes = Vec::new();
        for item in items {
            let function = self.walk.cx.function(item);
            let params = function.map_or(&[][..], |it| &it.params);
            let (node, summary) = self.walk.look_at(Context {
                item,
                params: given.values.clone(),
                held: self.handed_on(&guards, params, args),
                handles: given.handles,
            });
            all |= summary;
            nodes.extend(node);
        }
        let called = Called {
            given,
            nodes,
            summary: all,
        };
        self.called.insert(at, called);
        all
    }

    fn callee(&self, callee: ExprId, arity: usize) -> Callee<'a> {
        let tree = self.tree();
        let targets = &self.walk.targets;
        let candidates = || targets.by_arity.get(&arity).cloned().unwrap_or_default();
        let of = |items: Vec<ItemId>| match items.is_empty() {
            true => Callee::Pointer,
            false => Callee::Own(items),
        };
        match &tree.expr(tree.without_casts(callee)).kind {
            ExprKind::Name(Name::Global(name)) => {
                let own = self.walk.callees(self.item, name);
                match () {
                    () if !own.is_empty() => Callee::Own(own),
                    () if self.walk.variable_type(name).is_some() => of(candidates()),
                    () => Callee::Named(name),
                }
            }
            ExprKind::Name(Name::Local(local)) if self.is_seen(*local) => of(candidates()),
            ExprKind::Unary {
                op: UnaryOp::Deref,
                operand,
            } => self.callee(*operand, arity),
            ExprKind::Index { base, .. } => self.callee(*base, arity),
            ExprKind::Member { field, .. } if is_slot(field) => Callee::Slot(field),
            ExprKind::Member { field, .. } if targets.fields.contains(&**field) => of(candidates()),
            _ => Callee::Pointer,
        }
    }

    /// Whether all that a local pointer to a function may hold is seen: it is a parameter, or given
    /// functions, and fields that hold such.
    fn is_seen(&self, local: LocalId) -> bool {
        let tree = self.tree();
        let fields = &self.walk.targets.fields;
        let is_known = |value: ExprId| match &tree.expr(tree.without_casts(value)).kind {
            ExprKind::Name(Name::Global(name)) => self.walk.is_function(name),
            ExprKind::Member { field, .. } => fields.contains(&**field),
            _ => false,
        };
        let values = || {
            tree.stores()
                .filter(|(to, _)| *to == local)
                .map(|(_, value)| value)
        };
        let mut given = values().filter(|&value| !tree.is_null(value)).peekable();
        let is_param = tree.local(local).is_param;
        (is_param || given.peek().is_some()) && given.all(is_known)
    }

    /// Names what `at` writes, if nothing accounts for it.
    pub(super) fn check(&mut self, at: ExprId) {
        let tree = self.tree();
        self.check_atomic_read(at);
        match &tree.expr(at).kind {
            ExprKind::Assign { lhs, rhs, op } => {
                // count = count + 1;                /* not so `count += 1;` */
                if op.is_none() && self.is_atomic(*lhs) {
                    self.check_update(at, *lhs, *rhs);
                }
                self.check_stored(at, *lhs);
            }
            ExprKind::Unary { op, operand } if op.is_step() => self.check_stored(at, *operand),
            // `convert = utc ? gmtime : localtime;`
            ExprKind::Name(Name::Global(name)) => self.check_name(at, name),
            ExprKind::Call { callee, args } => self.check_call(at, *callee, args),
            ExprKind::Member { base, field, arrow } => {
                self.check_member(at, *base, field, *arrow);
            }
            _ => {}
        }
    }

    fn check_stored(&mut self, at: ExprId, place: ExprId) {
        if self.is_atomic(place) && self.place(place).memory.points.is_open() {
            self.check_decided(at, place);
        }
        self.check_place(place, at);
    }

    /// Names a function with state of its own that something else than a call has.
    fn check_name(&mut self, at: ExprId, name: &str) {
        let parent = self.known.parents().of_expr(at);
        let is_called = match parent {
            Some(Parent::Expr(call)) => self.tree().called(call) == Some(name),
            _ => false,
        };
        if !is_called && !self.walk.is_function(name) && is_hidden(self.walk.cx, name) {
            self.leave(at, name.to_owned(), Why::Calls);
        }
    }

    pub(super) fn check_place(&mut self, place: ExprId, at: ExprId) {
        let tree = self.tree();
        let found = self.place(place);
        let points = found.memory.points;
        // What points nowhere is `NULL` on every path that was seen.
        let is_left = points.is_open() || self.is_published(place, at);
        let is_local_part = matches!(tree.expr(place).kind, ExprKind::Name(Name::Local(local)) if tree.local(local).is_automatic());
        if !is_left || is_local_part || self.is_atomic(place) {
            return;
        }
        let is_accounted = match found.variable {
            // lock = PyThread_allocate_lock();     /* on first use: each thread its own */
            _ if self.is_lock(place) => false,
            Some(Name::Global(name)) => self.walk.is_accounted(name, (self.item, at)),
            Some(Name::Local(local)) => {
                let name = &tree.local(*local).name;
                self.walk.is_accounted(name, (self.item, at))
            }
            None => points.is_reported() || self.is_reported_field(place),
        };
        if !is_accounted {
            self.leave_write(place, at, self.text(place));
        }
    }

    /// Names a write without a lock, or notes with which.
    pub(super) fn leave_write(&mut self, place: ExprId, at: ExprId, text: impl Into<What>) {
        if self.is_shown(place, at) {
            self.walk.leave(self.item, at, text, Why::Member);
        } else if self.is_locked(at) && self.is_known(place) {
            self.note_use(place, at, true);
        } else {
            self.walk.leave(self.item, at, text, Why::Writes);
        }
    }

    /// Names what nothing accounts for but a lock that is held.
    pub(super) fn leave(&mut self, at: ExprId, what: impl Into<What>, why: Why) {
        let why = if self.is_locked(at) {
            Why::Guarded
        } else {
            why
        };
        self.walk.leave(self.item, at, what, why);
    }

    pub(super) fn is_atomic(&self, place: ExprId) -> bool {
        let ty = self.walk.types.of(self.tree(), place);
        ty.is_some_and(|ty| self.is_atomic_number(ty))
    }

    fn is_atomic_number(&self, ty: &Type) -> bool {
        let name = ty.name().unwrap_or_default();
        let is_atomic = self.walk.types.is_atomic(ty) && !is_address(name);
        is_atomic && self.walk.types.pointee(ty).is_none()
    }

    /// Whether the place is a lock.
    pub(super) fn is_lock(&self, place: ExprId) -> bool {
        let ty = self.walk.types.of(self.tree(), place);
        ty.is_some_and(is_lock)
    }

    /// Whether the place is a field that a rule reports.
    pub(super) fn is_reported_field(&self, place: ExprId) -> bool {
        self.is_field(place, &|owner, field| {
            self.walk.is_reported_field(owner, field)
        })
    }

    /// Whether the place is a field of which a rule reports what it leads to.
    pub(super) fn leads_to_reported(&self, place: ExprId) -> bool {
        self.is_field(place, &|owner, field| {
            self.walk.leads_to_reported(owner, field)
        })
    }

    /// Whether the place is, or is a part of, a field of which `is` holds.
    fn is_field(&self, place: ExprId, is: &impl Fn(&str, &str) -> bool) -> bool {
        let tree = self.tree();
        match &tree.expr(place).kind {
            ExprKind::Member { base, field, arrow } => {
                let owner = self.walk.types.owner(tree, *base, *arrow);
                owner.is_some_and(|owner| is(&owner, field)) || !arrow && self.is_field(*base, is)
            }
            ExprKind::Index { base, .. } => self.is_field(*base, is),
            _ => false,
        }
    }

    fn check_call(&mut self, at: ExprId, callee: ExprId, args: &[ExprId]) {
        match self.callee(callee, args.len()) {
            Callee::Own(items) => {
                self.check_atomics_given(at, args);
                self.check_variable(at, &items, args);
            }
            // An object that others have is not to be filled, or emptied, once more.
            Callee::Slot("tp_init" | "tp_clear") if args.iter().any(|&arg| self.is_given(arg)) => {
                let text = self.text(callee);
                self.leave_call(at, args, text);
            }
            Callee::Slot(_) => {}
            Callee::Pointer => {
                if args.iter().any(|&arg| self.is_given(arg)) {
                    let text = self.text(callee);
                    self.leave_call(at, args, text);
                }
            }
            Callee::Named(name) => {
                self.check_atomic(at, name, args);
                self.check_outside(at, name, args);
            }
        }
    }

    /// Names what a function of the package gets after its parameters, of which nobody sees what it
    /// does with it: `parse(args, "ii", &self->w, &self->h)`.
    fn check_variable(&mut self, at: ExprId, items: &[ItemId], args: &[ExprId]) {
        for &item in items {
            let Some(function) = self.walk.cx.function(item) else {
                continue;
            };
            for &arg in args.iter().skip(function.params.len()) {
                if self.is_address(arg) && !self.is_object(arg) {
                    self.check_given(at, arg, &function.name);
                }
            }
        }
    }

    /// Names atomic places that functions of the package get by their address: what they do with them
    /// is not compared with what is done here.
    fn check_atomics_given(&mut self, at: ExprId, args: &[ExprId]) {
        for &arg in args {
            let place = self.addressed(self.tree().without_casts(arg));
            let is_open = |place| self.place(place).memory.points.is_open();
            if let Some(place) = place.filter(|&it| self.is_atomic(it) && is_open(it)) {
                self.leave_write(place, at, self.text(place));
            }
        }
    }

    /// Names an atomic operation that replaces a pointer, as who has loaded the old one may still use
    /// it when it is released, or that loses what another thread wrote.
    fn check_atomic(&mut self, at: ExprId, name: &str, args: &[ExprId]) {
        let cell = args.first().and_then(|&arg| self.addressed(arg));
        let Some(cell) = cell.filter(|_| capi::sets_atomically(name)) else {
            return;
        };
        let types = &self.walk.types;
        let ty = types.of(self.tree(), cell);
        let is_pointer =
            |ty: &Type| types.pointee(ty).is_some() || ty.name().is_some_and(is_address);
        if ty.is_some_and(is_pointer) {
            return self.leave_write(cell, at, self.text(cell));
        }
        if self.place(cell).memory.points.is_open() {
            self.check_decided(at, cell);
        }
        if capi::stores_atomically(name) {
            for &value in &args[1..] {
                self.check_update(at, cell, value);
            }
        }
    }

    /// Names a call that was not read, or notes with which lock it gets what threads share.
    pub(super) fn leave_call(&mut self, at: ExprId, args: &[ExprId], text: String) {
        let given = args.iter().copied().filter(|&arg| self.is_given(arg));
        // `h = self->handle; lib_step(h);`
        let given: Vec<ExprId> = given.map(|arg| self.known.paths.origin(arg)).collect();
        if !self.is_locked(at) || !given.iter().all(|&it| self.is_known(it)) {
            return self.walk.leave(self.item, at, text, Why::Calls);
        }
        for place in given {
            self.note_use(place, at, true);
        }
    }

    /// `function` writes through `arg`.
    pub(super) fn check_given(&mut self, at: ExprId, arg: ExprId, function: &str) {
        let tree = self.tree();
        let inner = tree.without_casts(arg);
        let is_no_place = match &tree.expr(inner).kind {
            // A constant, or a function, if it is no variable.
            ExprKind::Name(Name::Global(name)) => self.walk.variable_type(name).is_none(),
            ExprKind::Int(_) => true,
            _ => false,
        };
        if is_no_place {
            return;
        }
        let text = || What::by(self.text(arg), function);
        // `memset(hits, 0, sizeof hits)`
        let to = self.pointed_at(arg);
        let is_open = self.value(arg).points.is_open();
        if is_open && to.is_some_and(|to| self.is_atomic_number(to)) {
            return self.walk.leave(self.item, at, text(), Why::Writes);
        }
        if let Some(operand) = self.addressed(inner) {
            return self.check_place(operand, at);
        }
        let is_static = |body: &Self| {
            let place = body.place(inner);
            matches!(place.variable, Some(Name::Global(name)) if body.walk.is_accounted(name, (body.item, at)))
        };
        let is_reported = self.value(arg).points.is_reported();
        let is_open = is_open && !is_reported || self.is_published(arg, at);
        if is_open && !self.is_read_only(arg) && !is_static(self) && !self.is_reported_field(inner)
        {
            self.leave_write(inner, at, text());
        }
    }

    /// Whether an argument lets a function that was not read reach what threads share.
    pub(super) fn is_given(&self, arg: ExprId) -> bool {
        let all = self.value(arg).all();
        let is_pointer = || {
            let ty = self.walk.types.of(self.tree(), arg);
            ty.is_some_and(|ty| self.walk.types.pointee(ty).is_some()) && !self.tree().is_null(arg)
        };
        (all.has(Kinds::SHARED) || all.is_unknown() && is_pointer()) && !self.is_read_only(arg)
    }

    pub(super) fn is_address(&self, arg: ExprId) -> bool {
        self.addressed(self.tree().without_casts(arg)).is_some()
    }

    /// An expression as the file has it.
    pub(super) fn text(&self, expr: ExprId) -> String {
        self.walk.text(self.item, expr)
    }
}

/// Whether a function has state of its own that nobody says does no harm.
pub(super) fn is_hidden(cx: &PackageCx<'_>, name: &str) -> bool {
    let is_hidden = capi::writes(name).is_some_and(|row| row.is_hidden(|_| false));
    is_hidden && !cx.program.facts.is_thread_safe(name)
}

/// Whether numbers of a type are addresses: what they lead to is not atomic.
fn is_address(name: &str) -> bool {
    name.ends_with("intptr_t")
}
