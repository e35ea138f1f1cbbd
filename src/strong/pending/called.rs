//! What a call does to what is known of exceptions.

use std::rc::Rc;

use super::Flow;
use super::raising::{self, Signs, checks_result};
use super::worlds::{Known, Value, World, Worlds};
use crate::capi::{self, raises_exception, restores_exception, takes_exception};
use crate::cfg::{Callee, Operand, TempId};
use crate::strong::follow::hold::Carrier;

impl Flow<'_> {
    pub(super) fn call(&self, dst: TempId, callee: &Callee, state: &mut Worlds) {
        if let Callee::Named(name) = callee {
            if takes_exception(name) || checks_result(name) {
                state.clear();
            }
            if raises_exception(name) {
                state.raise(!restores_exception(name));
            }
            if self.helpers.get(name).is_some_and(|helper| helper.always) {
                state.raise(true);
            }
        }
        let signs = self.signs(dst, callee);
        let is_open = self.may_fail(callee, &signs);
        let is_lost = self.fails_silently(dst, callee, &signs);
        let is_unseen = self.is_unseen(dst, callee);
        let is_asked = signs.asks();
        let calls = [dst].into();
        let value = Rc::new(Value { signs, calls });
        for world in state.iter_mut() {
            world.call_again(dst);
            if is_open {
                world.open.insert(dst);
            }
            if is_unseen {
                world.unseen.insert(dst);
            }
            if is_lost {
                world.lost.insert(dst);
            }
            world.set(Carrier::Temp(dst), value.clone(), None);
        }
        if is_asked && let Some(world) = &mut state.shown {
            world.set(Carrier::Temp(dst), value, Some(Known::NonZero));
        }
    }

    /// What a function of the package tells by what it stores: `conv(o, &err);`.
    pub(super) fn tell_outs(
        &self,
        dst: TempId,
        callee: &Callee,
        args: &[Operand],
        world: &mut World,
    ) {
        let helper = callee.name().and_then(|name| self.helpers.get(name));
        let outs = helper.into_iter().flat_map(|helper| &helper.outs);
        for (&at, numbers) in outs {
            let local = match args.get(at) {
                Some(Operand::AddressOf(place)) => place.as_local(),
                _ => None,
            };
            match local {
                Some(local) => world.tell_by(local, dst, Signs::of_numbers(numbers)),
                None => world.kept.insert(dst),
            }
        }
    }

    /// What the result of a call says.
    fn signs(&self, dst: TempId, callee: &Callee) -> Signs {
        match callee {
            Callee::Named(name) => match self.helpers.get(name) {
                Some(helper) => helper.signs.clone(),
                None => raising::signs(name),
            },
            Callee::Indirect(_) => {
                let known = self.helpers.pointed.get(&dst);
                known.cloned().unwrap_or_else(Signs::of_unknown)
            }
        }
    }

    /// Whether a call may leave an exception, of which its result says `signs`.
    fn may_fail(&self, callee: &Callee, signs: &Signs) -> bool {
        match callee {
            Callee::Named(name) => {
                let tells = !signs.is_empty() && !signs.asks();
                !takes_exception(name) && (tells || self.helpers.contains_key(name))
            }
            Callee::Indirect(_) => true,
        }
    }

    /// Whether a call may leave an exception in a way that nobody knows.
    pub(super) fn is_unseen(&self, dst: TempId, callee: &Callee) -> bool {
        match callee {
            Callee::Named(name) => match self.helpers.get(name) {
                Some(helper) => helper.unsure,
                None => self.helpers.unseen.contains(name),
            },
            Callee::Indirect(_) => !self.helpers.quiet.contains(&dst),
        }
    }

    /// Whether a call may leave an exception of which nothing tells; not for missing memory alone.
    fn fails_silently(&self, dst: TempId, callee: &Callee, signs: &Signs) -> bool {
        let Callee::Named(name) = callee else {
            return false;
        };
        let is_dropped = self.dropped.contains(&dst) && !takes_exception(name);
        match self.helpers.get(name) {
            Some(helper) => helper.silent || is_dropped && signs.is_sure(),
            None => {
                let runs_python = capi::effects(name).is_some_and(|effects| effects.runs_python);
                is_dropped && runs_python && !signs.is_empty() && !signs.asks()
            }
        }
    }
}

/// Takes into account that a call comes back: one that looks into `NULL` does not.
///
/// ```c
/// dict = make_dict();
/// v = PyDict_GetItemString(dict, "path");       /* so there is a dict */
/// ```
pub(super) fn survive(callee: &Callee, args: &[Operand], world: &mut World) {
    let Callee::Named(name) = callee else {
        return;
    };
    let looked_into = match &**name {
        "PyDict_SetItem" | "PyDict_SetItemString" => args,
        "PyModule_GetDict" => &args[..1.min(args.len())],
        name if name.starts_with("PyDict_")
            || name.starts_with("PyList_")
            || capi::dies_of_null(name) =>
        {
            &args[..1.min(args.len())]
        }
        _ => return,
    };
    for arg in looked_into {
        let value = world.of(arg);
        if value.signs.is_null_only() {
            world.fine(&value);
        }
    }
}
