//! What calls do with key and value, and with what points into them.

use super::flow::Flow;
use super::state::{State, part};
use super::{KEY, MAYBE, OWNED, PART, Set, Uses, VALUE, Way, suspends};
use crate::ast::{ExprId, ExprKind, LocalId, UnaryOp};
use crate::calls::{self, Count};
use crate::capi::{self, Counts, Stored};
use crate::cfg::{BlockId, Callee, Operand, Point, Source, TempId};
use crate::ownership::track::Callees;

impl Flow<'_> {
    pub(super) fn step_call(
        &self,
        state: &mut State,
        (at, dst, source): (Point, TempId, Source),
        callee: &Callee,
        args: &[Operand],
        uses: &mut Uses,
    ) {
        let borrowed = args.iter().map(|arg| state.borrowed(state.of(arg)));
        let set = borrowed.fold(0, |all, set| all | set) & (KEY | VALUE);
        let name = match callee {
            Callee::Named(name) => &**name,
            Callee::Indirect(_) => "",
        };
        let own = self.scope.cx.summaries();
        let effects = calls::effects(self.scope.tree(), callee, args, own);
        let first = effects.count(0);
        if first.takes() {
            let is_given = first == Count::Counts(Counts::Copy);
            return self.take(state, at.block, (args, is_given.then_some(dst)));
        }
        if first.releases() && !self.scope.is_inside(source, self.life) {
            uses.released |= set;
        }
        for (at, arg) in args.iter().enumerate() {
            let given = state.borrowed(state.of(arg));
            let count = effects.count(at);
            // `Py_DECREF(PyList_GET_ITEM(value, 0));` is right or wrong whoever holds the list.
            let is_part = count.releases() && given & PART != 0;
            // `static void append(List *list, PyObject *v) { list->items[list->size++] = v; }`
            // What the code has no reference to, it does not give away where it may or may not.
            let is_lost = count.may_lose() && count != Count::Unknown && !is_part;
            if own.keeps(name, at).is_some() {
                self.outlive(uses, given, (Way::Stored, source));
            } else if is_lost {
                self.outlive(uses, given, (Way::Given, source));
            }
        }
        if suspends(self.scope, callee, args) {
            if self.scope.is_inside(source, self.life) {
                uses.suspended |= set;
            }
            state.was_suspended = true;
        }
        for (at, arg) in args.iter().enumerate() {
            if effects.count(at).may_lose() {
                state.release(state.of(arg));
            }
        }
        for (out, arg) in args.iter().enumerate() {
            let held = self.handed_on(state, name, (out, arg));
            self.outlive(uses, held, (Way::Stored, source));
        }
        // What the callee writes through `&local` is not ours, but for pointers into its arguments.
        for (out, arg) in args.iter().enumerate() {
            let stored = self.stored(state, name, args, out);
            match arg {
                Operand::AddressOf(place) => match place.as_local() {
                    Some(local) => state.set_local(local, stored),
                    None => self.outlive(uses, state.borrowed(stored), (Way::Stored, source)),
                },
                Operand::Null => {}
                _ => self.outlive(uses, state.borrowed(stored), (Way::Stored, source)),
            }
        }
        state.set_temp(dst, self.given(state, name, args));
    }

    /// Whether a function of the package does nothing with its parameter `at` but store there: `*out = item;`.
    fn only_stores(&self, name: &str, at: usize) -> bool {
        let mut own = self.scope.cx.definitions(name).peekable();
        own.peek().is_some()
            && own.all(|(_, function)| {
                let (tree, param) = (&function.tree, function.params.get(at));
                let is_param =
                    |expr: ExprId| param.is_some_and(|it| tree.as_local(expr) == Some(*it));
                let is_target = |expr: ExprId| match tree.expr(expr).kind {
                    ExprKind::Unary {
                        op: UnaryOp::Deref,
                        operand,
                    } => is_param(operand),
                    _ => false,
                };
                let stores = tree.exprs.iter().filter(|expr| match expr.kind {
                    ExprKind::Assign { op: None, lhs, .. } => is_target(lhs),
                    _ => false,
                });
                stores.count() == tree.expr_ids().filter(|&expr| is_param(expr)).count()
            })
    }

    /// What the callee may read through the address of a variable: `swap(&last, &value)`.
    fn handed_on(&self, state: &State, name: &str, (out, arg): (usize, &Operand)) -> Set {
        // What Python gets an address for, it stores there.
        let reads = || capi::effects(name).is_none() && !self.only_stores(name, out);
        let place = match arg {
            Operand::AddressOf(place) if reads() => place,
            _ => return 0,
        };
        let local = place.as_local();
        let is_pointer = local.is_some_and(|local| {
            let ty = &self.scope.tree().local(local).ty;
            self.scope.cx.types().pointee(ty).is_some() && !self.scope.cx.types().is_array(ty)
        });
        let held = state.borrowed(state.of_place(place));
        match is_pointer && held & PART == 0 {
            true => held & (KEY | VALUE),
            false => 0,
        }
    }

    /// What the callee stores through argument `out` of what its arguments point into.
    fn stored(&self, state: &State, name: &str, args: &[Operand], out: usize) -> Set {
        let own = self.scope.cx.summaries();
        let by_api = self.stores_pointer(name, args, out);
        let from = (0..).zip(args).filter(|&(at, arg)| {
            let is_other = at != out && !matches!(arg, Operand::AddressOf(_));
            by_api && is_other || own.stores(name, at, out)
        });
        part(from.fold(0, |set, (_, arg)| set | state.of(arg)))
    }

    /// Whether a function of the C API stores a pointer through argument `out`, or one of which
    /// nothing is known may do so in a variable: `PyBytes_AsStringAndSize(key, &text, &length)`.
    fn stores_pointer(&self, name: &str, args: &[Operand], out: usize) -> bool {
        let tree = self.scope.tree();
        let format = |at: usize| match args.get(at)? {
            Operand::Str(text) => match &tree.expr(*text).kind {
                ExprKind::Str(text) => Some(&**text),
                _ => None,
            },
            _ => None,
        };
        let is_pointer = |local: LocalId| tree.local(local).ty.pointee().is_some();
        match capi::stored(name, out, format) {
            Stored::Known(kind) => kind.is_pointer(),
            Stored::Nothing => false,
            Stored::Unknown if name.starts_with("PyArg_") => true,
            Stored::Unknown => match &args[out] {
                Operand::AddressOf(place) => {
                    !capi::is_libc(name)
                        && !self.scope.cx.summaries().knows(name)
                        && place.as_local().is_some_and(is_pointer)
                }
                _ => false,
            },
        }
    }

    /// What the result of a call is, or points into.
    fn given(&self, state: &State, name: &str, args: &[Operand]) -> Set {
        let own = self.scope.cx.summaries();
        let is_known = capi::effects(name).is_some() || own.knows(name);
        let from = (0..).zip(args).filter(|&(at, _)| {
            let is_parent = own.derived_from(name) == Some(at);
            is_parent || own.may_derive(name, at)
        });
        let set = from.fold(0, |set, (_, arg)| set | state.of(arg));
        match is_known {
            true => part(set),
            false => (set & (KEY | VALUE)) << MAYBE,
        }
    }

    /// The count of the only one of `args` is raised, and `dst` may be the same object.
    fn take(&self, state: &mut State, block: BlockId, (args, dst): (&[Operand], Option<TempId>)) {
        let Some(arg) = args.first() else {
            return;
        };
        let set = state.of(arg);
        let is_item = state.take(set);
        let owned = set | PART | OWNED;
        match (dst, arg) {
            _ if set & (KEY | VALUE) == 0 => {}
            (Some(dst), _) => state.set_temp(dst, if is_item { set } else { owned }),
            // `PyObject *first = PyTuple_GET_ITEM(value, 0); Py_INCREF(first);`
            (None, Operand::Temp(temp)) if !is_item => {
                if let Some(local) = self.loaded(block, *temp) {
                    state.set_local(local, owned);
                }
            }
            _ => {}
        }
    }
}
