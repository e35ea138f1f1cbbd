//! Memory that got an object without a reference, and what pays for it right behind.
//!
//! ```c
//! self->callback = callback;
//! Py_XINCREF(self->callback);      /* the reference of the field */
//! ```
//!
//! A part of an object lives by itself with a reference of its own:
//!
//! ```c
//! self->dict = PyModule_GetDict(module);
//! Py_XINCREF(self->dict);          /* behind this, nobody needs the module for it */
//! ```

use super::state::{InstanceId, State, Value};
use super::step::Stepper;
use crate::ast::LocalId;
use crate::calls::CallEffects;
use crate::cfg::{Base, Operand, Place, Projection, Source};

/// A place in memory by the names that lead to it: `self->callback`, `state.callback`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Cell {
    root: Root,
    fields: Vec<Box<str>>,
}

/// Where the names begin.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Root {
    /// A variable of the function, a pointer or the object itself.
    Local(LocalId),
    Global(Box<str>),
}

impl Stepper<'_> {
    /// Remembers that the instance is at `place` if no reference went there with it.
    pub(super) fn owe(&self, state: &mut State, place: &Place, id: InstanceId) {
        if state.instances[id].count < 0
            && let Some(cell) = cell(state, place)
        {
            state.owed.insert(cell, Value::Owed(id));
        }
    }

    /// A pointer into the instance is stored at `place`, and needs the instance until it has a
    /// reference of its own.
    pub(super) fn owe_part(
        &mut self,
        state: &mut State,
        place: &Place,
        id: InstanceId,
        source: Source,
    ) {
        let is_first = state.instances[id].kept.is_none();
        if self.is_lent(&state.instances[id]) {
            return match cell(state, place).filter(|_| is_first && !state.detached) {
                Some(cell) => {
                    state.instances[id].kept = Some(source);
                    state.owed.insert(cell, Value::OwedPart(id));
                }
                None => self.escape(state, id, Some(source)),
            };
        }
        self.keep(state, id, source);
        if is_first
            && state.instances[id].kept.is_some()
            && let Some(cell) = cell(state, place)
        {
            state.owed.insert(cell, Value::OwedPart(id));
        }
    }

    /// What a load of `place` gives if an instance is owed its reference there.
    pub(super) fn owed(&self, state: &State, place: &Place) -> Option<Value> {
        if state.owed.is_empty() {
            return None;
        }
        state.owed.get(&cell(state, place)?).copied()
    }

    /// `place` gets something else, and so may all that has its name.
    pub(super) fn overwrite(&mut self, state: &mut State, place: &Place) {
        if state.owed.is_empty() {
            return;
        }
        match (place.as_local(), place.path.last()) {
            (Some(local), _) => self.write_off(state, |cell| cell.root == Root::Local(local)),
            (None, Some(Projection::Field(name))) => {
                let is_same = |last: &str| last == &**name || self.callees.share_memory(last, name);
                self.write_off(state, |cell| {
                    cell.fields.last().is_some_and(|it| is_same(it))
                });
            }
            (None, Some(Projection::Index(_)) | None) => self.write_off(state, |_| true),
        }
    }

    /// What is stored in these places is not paid for. A part of what the caller lends stays there.
    fn write_off(&mut self, state: &mut State, is_lost: impl Fn(&Cell) -> bool) {
        let (lost, owed) = std::mem::take(&mut state.owed)
            .into_iter()
            .partition(|(cell, _)| is_lost(cell));
        state.owed = owed;
        for (_, value) in lost {
            if let Value::OwedPart(id) = value
                && self.is_lent(&state.instances[id])
                && let Some(at) = state.instances[id].kept.take()
            {
                self.escape(state, id, Some(at));
            }
        }
    }

    /// `Py_INCREF` of what memory holds is its reference, if it has none. Any other call may change
    /// what memory holds.
    pub(super) fn pay(
        &mut self,
        state: &mut State,
        effects: &CallEffects<'_>,
        argument: Option<&Value>,
        source: Source,
    ) {
        if state.owed.is_empty() {
            return;
        }
        if !effects.count(0).takes() {
            return self.write_off(state, |_| true);
        }
        let Some(&paid) = argument else { return };
        match paid {
            Value::Owed(id) => {
                let count = &mut state.instances[id].count;
                *count += i8::from(*count < 0);
            }
            Value::OwedPart(_) if self.stays_counted(source) => return settle(state, paid),
            _ => return,
        }
        state.owed.retain(|_, owed| *owed != paid);
    }
}

/// Nobody needs the instance any more for `part`, which has a reference of its own or is `NULL`.
pub(super) fn settle(state: &mut State, part: Value) {
    if let Value::OwedPart(id) = part
        && state.owed.values().any(|&owed| owed == part)
    {
        state.instances[id].kept = None;
        state.owed.retain(|_, &mut owed| owed != part);
    }
}

fn cell(state: &State, place: &Place) -> Option<Cell> {
    let root = match &place.base {
        Base::Local(local) => Root::Local(*local),
        Base::Global(name) => Root::Global(name.clone()),
        Base::Deref(Operand::Temp(temp)) => Root::Local(state.temps.get(temp)?.from?),
        Base::Deref(_) | Base::Unnamed(_) => return None,
    };
    let fields = place.path.iter().map(|step| match step {
        Projection::Field(name) => Some(name.clone()),
        Projection::Index(_) => None,
    });
    Some(Cell {
        root,
        fields: fields.collect::<Option<_>>()?,
    })
}

#[cfg(test)]
mod tests {
    use crate::ownership::track::tests::troubles;

    /// An item is stored without a reference, and the rest runs.
    fn stored(store: &str, behind: &str) -> String {
        troubles(&format!(
            "PyObject *v = PyList_GetItem(self, 0);
            if (v == NULL) return NULL;
            {store}
            {behind}
            Py_RETURN_NONE;"
        ))
    }

    #[test]
    fn a_field_gets_its_reference_behind_the_store() {
        let unpaid = "OverRelease at Py_RETURN_NONE;";
        let foo = |behind: &str| stored("Foo *s = (Foo *)args; s->x = v;", behind);
        assert_eq!(foo(""), unpaid);
        assert_eq!(foo("Py_INCREF(s->x);"), "");
        assert_eq!(foo("if (s->x) Py_INCREF(s->x);"), "");
        assert_eq!(foo("s->y = args; Py_INCREF(s->y); Py_XINCREF(s->x);"), "");
        assert_eq!(foo("Py_INCREF(s->y);"), unpaid);
        assert_eq!(foo("run(); Py_INCREF(s->x);"), unpaid);
        assert_eq!(foo("args->x = self; Py_INCREF(s->x);"), unpaid);
        assert_eq!(foo("s = other(); Py_INCREF(s->x);"), unpaid);
        assert_eq!(foo("Py_INCREF(s->x); s->z = v; Py_INCREF(s->x);"), unpaid);
    }

    #[test]
    fn variables_of_the_file_are_memory() {
        assert_eq!(stored("cache = v;", "Py_INCREF(cache);"), "");
        assert_eq!(stored("state.v = v;", "Py_INCREF(state.v);"), "");
        assert_ne!(stored("state.v = v;", "Py_INCREF(state.w);"), "");
    }

    /// A part of an item is stored, and the rest runs before the item goes.
    fn part(behind: &str) -> String {
        troubles(&format!(
            "PyObject *v = PyList_GetItemRef(self, 0);
            Foo *s = (Foo *)args;
            if (v == NULL) return NULL;
            s->x = PyTuple_GET_ITEM(v, 0);
            {behind}
            Py_DECREF(v);
            run(s);
            return NULL;"
        ))
    }

    #[test]
    fn a_part_lives_by_itself_with_a_reference() {
        let escapes = "DerivedEscapes at s->x = PyTuple_GET_ITEM(v, 0)";
        assert_eq!(part(""), escapes);
        assert_eq!(part("Py_INCREF(s->x);"), "");
        assert_eq!(
            part("if (s->x == NULL) { Py_DECREF(v); return NULL; } Py_INCREF(s->x);"),
            ""
        );
        assert_eq!(part("if (n) Py_INCREF(s->x);"), escapes);
        assert_eq!(
            part("if (s->x) { Py_DECREF(v); return NULL; } Py_INCREF(s->x);"),
            escapes
        );
        assert_eq!(part("run(s); Py_INCREF(s->x);"), escapes);
        assert_eq!(part("s->x = NULL; Py_INCREF(s->x);"), escapes);
        assert_eq!(part("Py_INCREF(s->y);"), escapes);
        let held = |behind: &str| part(&format!("Py_INCREF(s->x); run(s->x); {behind}"));
        assert_eq!(held("Py_CLEAR(s->x);"), "");
        assert_eq!(held("Py_DECREF(s->x); s->x = NULL;"), "");
        assert_eq!(held("Py_DECREF(s->x);"), escapes);
        assert_eq!(held("s->y = s->x;"), escapes);
        assert_eq!(held("PyList_SetItem(args, 0, s->x);"), escapes);
        assert_eq!(part("Py_DECREF(v); Py_INCREF(s->x); return NULL;"), escapes);
        assert_eq!(
            part("s->y = PyTuple_GET_ITEM(v, 1); Py_INCREF(s->y);"),
            escapes
        );
        let both = "s->y = PyTuple_GET_ITEM(v, 1); Py_INCREF(s->x); Py_INCREF(s->y);";
        assert_eq!(part(both), escapes);
    }

    #[test]
    fn further_references_are_for_somebody_else() {
        let behind = "Py_INCREF(s->x); Py_INCREF(s->x); return s->x;";
        assert_eq!(stored("Foo *s = (Foo *)args; s->x = v;", behind), "");
        assert_eq!(
            stored(
                "Foo *s = (Foo *)args; Py_INCREF(v); s->x = v;",
                "Py_INCREF(s->x);"
            ),
            ""
        );
    }
}
