//! What calls store in variables: through the addresses they get, and as macros that assign.

use super::carriers::addressed;
use super::state::{InstanceId, State, Value};
use super::step::Stepper;
use super::{Origin, Problem};
use crate::ast::{ExprKind, LocalId, Name, StmtKind};
use crate::capi::{self, stored};
use crate::cfg::{Operand, Source, TempId};

impl Stepper<'_> {
    /// `Py_CLEAR(v)` and `Py_SETREF(v, w)` assign to their argument.
    pub(super) fn assigned_in_place(&mut self, state: &mut State, name: &str, source: Source) {
        if !matches!(name, "Py_CLEAR" | "Py_SETREF" | "Py_XSETREF") {
            return;
        }
        let value = if name == "Py_CLEAR" {
            Value::Null
        } else {
            Value::Unknown
        };
        self.set_argument(state, source, 0, value);
    }

    /// Sets the variable that is argument `at` of the call.
    pub(super) fn set_argument(&self, state: &mut State, source: Source, at: usize, value: Value) {
        let Source::Expr(call) = source else { return };
        let ExprKind::Call { args, .. } = &self.facts.tree.expr(call).kind else {
            return;
        };
        let tree = self.facts.tree;
        let arg = args.get(at).map(|&arg| tree.without_casts(arg));
        if let Some(ExprKind::Name(Name::Local(local))) = arg.map(|arg| &tree.expr(arg).kind) {
            state.set_local(*local, value);
        }
    }

    /// Variables whose address is passed may hold anything after the call, what lives in another
    /// argument included: `PyBytes_AsStringAndSize(v, &text, &length)`.
    pub(super) fn addresses(
        &mut self,
        state: &mut State,
        name: &str,
        args: &[Operand],
        values: &[Value],
        source: Source,
    ) {
        let moved = self.moved(state, name, args, values, source);
        let mut owners = values.iter().enumerate();
        let owner = owners.find_map(|(at, value)| Some((at, value.instance()?)));
        for (at, arg) in args.iter().enumerate() {
            let place = self.facts.addressed(arg);
            let own = place.and_then(|place| self.facts.own_memory(place));
            let whole = place.and_then(|place| place.as_local());
            let is_number = whole.is_some_and(|local| !self.holds_pointer(local));
            let format = |at: usize| self.facts.text(args.get(at)?);
            let stored = owner.filter(|_| stored(name, at, format).is_pointer(name));
            let pointed = stored.or_else(|| self.stored_through(name, values, at));
            let pointed = pointed.filter(|_| !is_number);
            match (own, pointed) {
                // PyBytes_AsStringAndSize(v, &self->text, &self->length)
                (None, Some((_, id))) if *arg != Operand::Null => {
                    self.keep(state, id, source);
                }
                // PyBytes_AsStringAndSize(v, &s.text, &s.length)
                (Some(local), Some(_)) if whole.is_none() => {
                    state.set_local(local, derived(pointed));
                }
                _ => {}
            }
            let Some(local) = whole else { continue };
            self.address(state, name, at, local, source);
            let may_point = owner.filter(|(from, _)| {
                self.facts.holds_plain_pointer(local) && self.callees.may_derive(name, *from)
            });
            state.set_local(local, derived(pointed.or(may_point)));
        }
        for (local, id) in moved {
            state.set_local(local, Value::Derived(id));
        }
        if !capi::ends_program(name) {
            self.find_lost(state, Some(source));
        }
    }

    /// The address of `local` is argument `at`: the variable of an out-parameter is overwritten,
    /// all others may be read.
    fn address(&mut self, state: &State, name: &str, at: usize, local: LocalId, source: Source) {
        if let Value::Instance(id) = state.local(local)
            && !self.callees.fills(name, at)
            && name != "PyDict_Next"
        {
            self.trouble(state, id, Problem::AddressTaken, Some(source));
        }
    }

    /// The dict that is the first of `args` if nobody else has it: its items go with the function's
    /// own reference.
    pub(super) fn copied(&self, state: &State, args: &[Value]) -> Option<InstanceId> {
        let id = args.first()?.instance()?;
        let Origin::Call(call) = self.seeds[state.instances[id].seed].origin else {
            return None;
        };
        match self.facts.tree.expr(call).kind {
            ExprKind::Call { callee, .. } => {
                let name = self.facts.tree.callee_name(callee);
                (name == Some("PyDict_Copy")).then_some(id)
            }
            _ => None,
        }
    }

    /// Whether a call of `PyDict_Next` is one for an item that is known to be there: nobody asks for
    /// its result, and the variables it fills have no value without it.
    pub(super) fn must_give_item(&self, ended: &State, args: &[Operand], source: Source) -> bool {
        let tree = self.facts.tree;
        let is_unread = tree.stmts.iter().any(|stmt| match stmt.kind {
            StmtKind::Expr(expr) => source == Source::Expr(tree.without_casts(expr)),
            _ => false,
        });
        let mut filled = args.iter().skip(2).filter_map(addressed);
        is_unread && filled.any(|local| ended.local(local) == Value::Unset)
    }

    /// The argument of a function of the package that a pointer into is stored through argument `at`.
    fn stored_through(
        &self,
        name: &str,
        values: &[Value],
        at: usize,
    ) -> Option<(usize, InstanceId)> {
        let mut owners = values.iter().enumerate();
        owners.find_map(|(from, value)| {
            let id = value.instance()?;
            (from != at && self.callees.stores(name, from, at)).then_some((from, id))
        })
    }
}

/// `PyDict_Next(dict, &pos, &key, &value)` stores a key and a value, which `owner` keeps alive if
/// it is followed, or, where it may have `ended`, nothing.
pub(super) fn next_item(
    ended: Option<State>,
    mut found: State,
    dst: TempId,
    (args, owner): (&[Operand], Option<InstanceId>),
    out: &mut Vec<State>,
) {
    let key_and_value = args.iter().skip(2).filter_map(addressed);
    let value = owner.map_or(Value::NonNull, Value::Derived);
    key_and_value.for_each(|local| found.set_local(local, value));
    found.set_temp(dst, Value::Int(1), None);
    out.push(found);
    if let Some(mut ended) = ended {
        ended.set_temp(dst, Value::Int(0), None);
        out.push(ended);
    }
}

fn derived(owner: Option<(usize, InstanceId)>) -> Value {
    owner.map_or(Value::Unknown, |(_, id)| Value::Derived(id))
}
