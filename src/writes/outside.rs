//! What functions outside of the package do to what they are given.

use super::body::Body;
use super::guards::Guards;
use super::targets::DESTROYING;
use super::value::{Kinds, Value};
use super::walk::Context;
use super::{What, Why};
use crate::ast::{ExprId, ExprKind, Name};
use crate::capi::{
    CallsBack, Copied, Effects, Gives, LockAct, OutKind, Returns, Stored, acts, calls_back,
    copies_memory, effects, lends_to_read, lock_call, stored, writes,
};
use crate::state::calls_once;

impl Body<'_, '_, '_> {
    /// Functions of the package that a function which was not read gets, and may call with what
    /// else it gets.
    pub(super) fn call_back(&mut self, name: &str, args: &[ExprId], values: &[Value]) {
        let tree = self.tree();
        let others = values.iter().fold(Value::NONE, |all, &value| all | value);
        let is_without = others.all().is_nothing();
        for (at, &arg) in args.iter().enumerate() {
            let arg = tree.without_address(arg);
            let ExprKind::Name(Name::Global(function)) = &tree.expr(arg).kind else {
                continue;
            };
            let is_alone =
                DESTROYING.contains(&name) || self.walk.targets.alone.contains(&**function);
            for item in self
                .walk
                .callees(self.item, function)
                .into_iter()
                .filter(|_| !is_alone)
            {
                let function = self.walk.cx.function(item);
                let count = function.map_or(0, |it| it.params.len());
                // `int (*visit)(struct device *, void *)`: what is not `void *` a library has itself.
                let of_library = |at: usize| {
                    let types = self.walk.types;
                    let param = function.and_then(|it| Some(it.tree.local(*it.params.get(at)?)));
                    let to = param.and_then(|param| types.pointee(&param.ty));
                    writes(name).is_none() && to.is_some_and(|to| !to.is_void())
                };
                let given = match others {
                    // `O&`: an object, and where what it stands for goes.
                    _ if name.starts_with("PyArg_") || name.starts_with("_PyArg_") => {
                        vec![
                            Value::SHARED,
                            values.get(at + 1).copied().unwrap_or(Value::SHARED),
                        ]
                    }
                    // In another thread.
                    _ if calls_back(name) == Some(CallsBack::Apart) => vec![Value::SHARED; count],
                    // Later, by whoever comes by.
                    _ if writes(name).is_some_and(|row| row.keeps.is_some()) => {
                        vec![Value::SHARED; count]
                    }
                    _ if is_without => vec![Value::SHARED; count],
                    others => {
                        let given = |at| {
                            if of_library(at) {
                                Value::SHARED
                            } else {
                                others
                            }
                        };
                        (0..count).map(given).collect()
                    }
                };
                self.walk.visit(Context {
                    item,
                    params: given,
                    held: Guards::default(),
                    handles: u32::MAX,
                });
            }
        }
    }

    /// What a function that was not read stores in pointers whose addresses it gets.
    pub(super) fn hand_out(&mut self, at: ExprId, name: &str, args: &[ExprId]) {
        // The C library stores pointers to new memory, or into what it was given.
        if effects(name).is_none() && writes(name).is_some() {
            return;
        }
        let tree = self.tree();
        for (number, &arg) in args.iter().enumerate() {
            let Some(operand) = self.addressed(tree.without_casts(arg)) else {
                if effects(name).is_none() {
                    self.fill(arg);
                }
                continue;
            };
            if let Some(value) = self.handed(name, args, number, operand) {
                self.store(operand, value, None, at);
            }
        }
    }

    /// A function that was not read may store pointers in what it gets: `lib_list(devices, 16)`.
    fn fill(&mut self, arg: ExprId) {
        let tree = self.tree();
        let types = self.walk.types;
        let inner = tree.without_casts(arg);
        let to = self.pointed_at(arg);
        if self.is_read_only(arg) || to.is_none_or(|to| types.is_plain(to) || to.is_void()) {
            return;
        }
        if let Some(local) = self.part_of(inner).filter(|_| self.is_array(inner)) {
            self.store_local(local, Value::SHARED);
        } else if self.value(arg).points.has(Kinds::PRIVATE) && !self.is_object(arg) {
            self.took(Kinds::SHARED);
        }
    }

    /// What a function that was not read stores in `operand`, whose address is an argument.
    fn handed(&self, name: &str, args: &[ExprId], number: usize, operand: ExprId) -> Option<Value> {
        let tree = self.tree();
        let format = |at: usize| {
            let text = tree.without_casts(*args.get(at)?);
            tree.as_string(text)
        };
        let types = self.walk.types;
        let pointee = types.of(tree, operand).and_then(|ty| types.pointee(ty));
        match stored(name, number, format) {
            Stored::Known(OutKind::Buffer) => {
                let is_to_read = lends_to_read(name, number, format) || self.is_any_kept(args);
                is_to_read.then_some(Value::BYTES)
            }
            Stored::Known(OutKind::Memory) => Some(Value::FRESH),
            // `_PyBytes_Resize(&bytes, n)`
            Stored::Known(OutKind::Inout) if effects(name)?.looks_at_count => None,
            _ => match (effects(name), pointee) {
                (Some(effects), Some(to)) if types.is_number(to) => {
                    Some(self.lent_by(effects, args))
                }
                (_, Some(_)) => Some(Value::SHARED),
                // A struct of a library, with pointers in it: `lib_open(&handle)`.
                (None, None) if self.part_of(operand).is_some() => Some(Value::BYTES),
                (_, None) => None,
            },
        }
    }

    fn is_any_kept(&self, args: &[ExprId]) -> bool {
        args.iter()
            .any(|&arg| self.value(arg).points.has(Kinds::KEPT))
    }

    /// A pointer into an argument: its only owner may write there.
    fn lent_by(&self, effects: &Effects, args: &[ExprId]) -> Value {
        let owner = effects.derived_from.map(usize::from);
        owner.map_or(Value::BYTES, |owner| self.part(args.get(owner)))
    }

    fn part(&self, owner: Option<&ExprId>) -> Value {
        let owner = owner.map_or(Value::SHARED, |&owner| self.value(owner));
        match owner.points {
            points if points.is_private() => Value::FRESH,
            points if points.is_nothing() => Value::NONE,
            _ => Value::BYTES,
        }
    }

    /// `memcpy(&to, &from, sizeof to)`: what `from` holds, `to` holds.
    fn copy(&mut self, at: ExprId, name: &str, args: &[ExprId], values: &[Value]) {
        let Some(Copied { to, from }) = copies_memory(name) else {
            return;
        };
        let (Some(&to), Some(&from), Some(value)) =
            (args.get(to), args.get(from), values.get(from))
        else {
            return;
        };
        let (tree, types) = (self.tree(), self.walk.types);
        let is_text = |expr| {
            let ty = types.of(tree, tree.without_casts(expr));
            ty.and_then(|ty| types.pointee(ty))
                .is_some_and(|to| types.is_plain(to))
        };
        if is_text(to) || is_text(from) {
            return;
        }
        let held = Value::of(value.inner, value.inner);
        match self.addressed(tree.without_casts(to)) {
            Some(operand) => self.store(operand, held, Some(from), at),
            None if self.value(to).points.has(Kinds::PRIVATE) => {
                self.holds(to, Some(from), at);
                self.took(value.inner);
            }
            None => {}
        }
    }

    pub(super) fn outside(
        &mut self,
        at: ExprId,
        name: &str,
        args: &[ExprId],
        values: &[Value],
    ) -> Value {
        self.copy(at, name, args, values);
        // Whoever wrote the code that runs may keep each object it gets.
        if effects(name).is_some() && acts(name).is_some_and(|acts| acts.runs_code()) {
            self.keep(at, 0, args);
        }
        if let Some(row) = writes(name) {
            if let Some(first) = row.keeps {
                self.keep(at, first, args);
            }
            return match row.gives {
                Gives::Number => Value::NONE,
                Gives::Fresh => Value::FRESH,
                Gives::Argument(arg) => values.get(arg).copied().unwrap_or(Value::SHARED),
                Gives::Shared => Value::SHARED,
                Gives::Lent if self.is_any_kept(args) => Value::BYTES,
                Gives::Lent => Value::LENT,
                Gives::Part(arg) => self.part(args.get(arg)),
                Gives::Held(arg) => match values.get(arg) {
                    Some(&value) if value.points.is_private() => value,
                    _ => Value::SHARED,
                },
                Gives::Attributes => Value::ATTRIBUTES,
            };
        }
        match effects(name) {
            Some(effects) => match effects.returns {
                Returns::New | Returns::Borrowed => Value::SHARED,
                Returns::Plain if effects.derived_from.is_some() => self.lent_by(effects, args),
                Returns::Plain | Returns::Null | Returns::Void => Value::NONE,
            },
            None => Value::SHARED,
        }
    }

    /// A lock that is made, or ends, while others may wait for it.
    fn check_lock(&mut self, at: ExprId, name: &str, args: &[ExprId]) {
        let made = lock_call(name).filter(|call| call.act == LockAct::Makes);
        if let Some(&lock) = made.and_then(|call| args.get(call.lock)) {
            let lock = self.tree().without_casts(lock);
            self.check_place(self.addressed(lock).unwrap_or(lock), at);
        }
    }

    /// Names what is let go while others may be using it: `free(self->text)`, `fclose(file)`.
    fn check_ended(&mut self, at: ExprId, name: &str, arg: ExprId) {
        let place = self.tree().without_casts(arg);
        let is_of_others = match self.tree().expr(place).kind {
            ExprKind::Member { base, .. } => self.value(base).points.has(Kinds::SHARED),
            _ => self.value(arg).points.is_of_others(),
        };
        let is_reported = self.value(arg).points.is_reported() || self.is_reported_field(place);
        if is_of_others && !is_reported {
            let text = What::by(self.text(place), name);
            self.leave_write(place, at, text);
        }
    }

    /// Names a change of an object that the package keeps: the call locks it, but what the change
    /// rests on may no longer be so.
    ///
    /// ```c
    /// n = PyList_Size(pool);
    /// item = PyList_GetItemRef(pool, n - 1);    /* another thread may get the same one */
    /// PyList_SetSlice(pool, n - 1, n, NULL);
    /// ```
    fn check_changed(&mut self, at: ExprId, name: &str, args: &[ExprId]) {
        let Some(acts) = acts(name).filter(|_| effects(name).is_some()) else {
            return;
        };
        // `Py_XSETREF(self->name, name)`
        let is_place = |number| writes(name).is_some_and(|row| row.place(number));
        for (number, &arg) in args.iter().enumerate() {
            if acts.changes_only(number)
                && !is_place(number)
                && self.value(arg).points.has(Kinds::KEPT)
            {
                let text = What::by(self.text(arg), name);
                self.walk.leave(self.item, at, text, Why::Guarded);
            }
        }
    }

    /// Whether a file of the package that was not read may have the function, be it by a name that
    /// it puts together: `int FN(tick)(void)`.
    fn is_own_unread(&self, name: &str) -> bool {
        self.walk.cx.program.unread.names(name) || self.walk.pastes
    }

    pub(super) fn check_outside(&mut self, at: ExprId, name: &str, args: &[ExprId]) {
        self.check_lock(at, name, args);
        self.check_changed(at, name, args);
        if calls_once(name)
            && let Some(&function) = args.get(1)
        {
            let text = self.text(function);
            self.walk.leave(self.item, at, text, Why::Once);
        }
        if let Some(row) = writes(name) {
            let is_null = |at: usize| args.get(at).is_some_and(|&arg| self.tree().is_null(arg));
            if row.is_hidden(is_null) && !self.walk.cx.program.facts.is_thread_safe(name) {
                self.leave(at, name.to_owned(), Why::Calls);
            }
            let deep = row.deep.and_then(|at| args.get(at));
            if let Some(&arg) = deep.filter(|&&it| self.value(it).inner.has(Kinds::SHARED)) {
                self.leave(at, What::by(self.text(arg), name), Why::Writes);
            }
            if let Some(&arg) = row.ends.and_then(|at| args.get(at)) {
                self.check_ended(at, name, arg);
            }
            let holder = row.lends.and_then(|at| args.get(at));
            if holder.is_some_and(|&it| self.value(it).points.has(Kinds::SHARED)) {
                self.leave(at, name.to_owned(), Why::Member);
            }
            for (number, &arg) in args.iter().enumerate() {
                if row.place(number) {
                    self.check_place(arg, at);
                } else if row.behind(number) && (row.names(number) || !self.is_object(arg)) {
                    self.check_given(at, arg, name);
                } else if row.locked(number) && self.value(arg).points.has(Kinds::ATTRIBUTES) {
                    let text = What::by(self.text(arg), name);
                    self.leave(at, text, Why::Writes);
                }
            }
        } else if effects(name).is_some() {
            for &arg in args {
                if (self.is_address(arg) || self.is_for_result(arg)) && !self.is_object(arg) {
                    self.check_given(at, arg, name);
                }
            }
        } else if !self.walk.cx.program.facts.is_thread_safe(name)
            && (args.iter().any(|&arg| self.is_given(arg)) || self.is_own_unread(name))
        {
            self.leave_call(at, args, name.to_owned());
        }
    }
}
