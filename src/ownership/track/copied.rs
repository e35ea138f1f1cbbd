//! Memory that is copied as it is, with the pointers in it.
//!
//! ```c
//! part.text = PyBytes_AS_STRING(v);
//! memcpy(out, &part, sizeof part);        /* `*out` points into `v`, too */
//! push(list, &part);                      /* list->parts[n] = *part; */
//! ```

use super::state::{InstanceId, State, Value};
use super::step::Stepper;
use crate::ast::LocalId;
use crate::capi::{Copied, copies_memory};
use crate::cfg::{Base, Operand, Place, Source};

impl Stepper<'_> {
    /// What a call copies out of memory that points into an instance: the variables of the function
    /// that do so from then on. All other memory is that of others.
    pub(super) fn moved(
        &mut self,
        state: &mut State,
        name: &str,
        args: &[Operand],
        values: &[Value],
        source: Source,
    ) -> Vec<(LocalId, InstanceId)> {
        if let Some(Copied { to, from }) = copies_memory(name) {
            let Some(from) = args.get(from).zip(values.get(from)) else {
                return Vec::new();
            };
            let place = args.get(to).and_then(|to| self.facts.addressed(to));
            let target = place.and_then(|place| self.facts.own_memory(place));
            self.keep_lent(state, from.0, source);
            let moved = self.pointed_into(state, from);
            match (moved, target) {
                (Some(id), Some(local)) => return vec![(local, id)],
                (Some(id), None) => self.keep(state, id, source),
                // memcpy(out, part, sizeof *part);
                (None, None) => self.keep_contents_of(state, *from.1, source),
                (None, Some(_)) => {}
            }
            return Vec::new();
        }
        for (at, from) in args.iter().zip(values).enumerate() {
            if self.callees.keeps_contents(name, at) {
                if let Some(id) = self.pointed_into(state, from) {
                    self.keep(state, id, source);
                }
                self.keep_lent(state, from.0, source);
                self.keep_contents_of(state, *from.1, source);
            }
            // keep(external->object);
            if let Value::MaybeDerived(id) = *from.1
                && self.callees.keeps(name, at).is_some()
            {
                self.keep_contents(state, id, source);
            }
        }
        Vec::new()
    }

    /// The instance that memory of the function points into, whose address an argument is.
    fn pointed_into(&self, state: &State, (arg, _): (&Operand, &Value)) -> Option<InstanceId> {
        let addressed = self.facts.addressed(arg);
        let exact = addressed.and_then(|place| self.facts.own_memory(place));
        let mut locals = exact.into_iter().chain(self.facts.points_into(arg));
        locals.find_map(|local| match state.local(local) {
            Value::Derived(id) | Value::MaybeDerived(id) | Value::Instance(id) => Some(id),
            _ => None,
        })
    }

    /// What was read through a pointer to the instance is stored at `place`: elsewhere, if that is
    /// no part of the same memory.
    pub(super) fn stored_contents(
        &mut self,
        state: &State,
        place: &Place,
        id: InstanceId,
        source: Source,
    ) {
        let is_same = matches!(&place.base, Base::Deref(pointer)
            if self.value(state, pointer) == Value::Instance(id));
        if !is_same {
            self.keep_contents(state, id, source);
        }
    }

    fn keep_contents_of(&mut self, state: &State, value: Value, source: Source) {
        if let Value::Instance(id) = value {
            self.keep_contents(state, id, source);
        }
    }

    /// Notes that what was read through a pointer to the instance stays behind the function.
    fn keep_contents(&mut self, state: &State, id: InstanceId, source: Source) {
        self.contents.insert((state.instances[id].seed, source));
    }
}

#[cfg(test)]
mod tests {
    use crate::ownership::track::tests::troubles;

    /// An item's text is stored in a part of the function's, and the item released in the end.
    fn stored(rest: &str) -> String {
        troubles(&format!(
            "Pair pair, other;
            PyObject *v = PyList_GetItemRef(self, 0);
            if (v == NULL) return NULL;
            pair.text = PyUnicode_AsUTF8(v);
            {rest}"
        ))
    }

    #[test]
    fn what_is_copied_points_where_the_original_does() {
        let copy = "memcpy(&other, &pair, sizeof pair);";
        assert_eq!(
            stored(&format!(
                "{copy} show(other.text); Py_DECREF(v); return NULL;"
            )),
            ""
        );
        assert_eq!(
            stored(&format!(
                "{copy} Py_DECREF(v); show(other.text); return NULL;"
            )),
            "MayOutlive at show(other.text)"
        );
    }

    #[test]
    fn what_is_copied_into_memory_of_others_escapes() {
        assert_eq!(
            stored("memmove(&self->pair, &pair, sizeof pair); Py_DECREF(v); return NULL;"),
            "DerivedEscapes at memmove(&self->pair, &pair, sizeof pair)"
        );
        assert_eq!(
            stored("memcpy(self->text, PyUnicode_AsUTF8(v), 3); Py_DECREF(v); return NULL;"),
            ""
        );
    }
}
