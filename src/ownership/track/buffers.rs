//! Memory of the function itself that pointers are stored in.
//!
//! ```c
//! items = PyMem_Malloc(n * sizeof(PyObject *));
//! items[i] = PyTuple_GET_ITEM(tuple, i);      /* as good as a variable */
//! …
//! Py_DECREF(tuple);
//! PyMem_Free(items);                          /* nobody looks at them any more */
//! ```

use rustc_hash::{FxHashMap, FxHashSet};

use super::state::{InstanceId, State, Value};
use super::step::Stepper;
use crate::ast::{LocalId, Tree};
use crate::cfg::{Base, Callee, Cfg, Instr, InstrKind, Operand, Place, Source, TempId};

/// Variables that get nothing but what an allocation gives, and `NULL`, and that are copied nowhere.
pub(super) fn buffers(
    cfg: &Cfg,
    tree: &Tree,
    address_taken: &FxHashSet<LocalId>,
) -> FxHashSet<LocalId> {
    let mut values = Values::default();
    // What the arms of a conditional make may be used in a block with a lower number.
    for _ in 0..2 {
        instrs(cfg).for_each(|instr| values.note(instr));
    }
    let mut shared = address_taken.clone();
    for instr in instrs(cfg) {
        let pointers = instr.operands().filter_map(|operand| match operand {
            Operand::AddressOf(place) => match &place.base {
                Base::Deref(pointer) => Some(pointer),
                _ => None,
            },
            _ => None,
        });
        let stored = match &instr.kind {
            InstrKind::Store { place, value } => {
                shared.extend(place.as_local().filter(|_| !values.is_allocated(value)));
                Some(value)
            }
            _ => None,
        };
        for pointer in pointers.chain(stored) {
            shared.extend(values.loaded_from(pointer));
        }
    }
    let locals = (0u32..).zip(&tree.locals);
    let plain = locals.filter(|(_, local)| local.is_automatic() && !local.is_param);
    let own = plain.map(|(at, _)| LocalId(at));
    own.filter(|local| !shared.contains(local)).collect()
}

/// What temporaries hold.
#[derive(Default)]
struct Values {
    allocated: FxHashSet<TempId>,
    /// Those that may hold something else: `p = q ? q : malloc(n)`.
    other: FxHashSet<TempId>,
    /// The variables that they were read from.
    loaded: FxHashMap<TempId, Vec<LocalId>>,
}

impl Values {
    fn note(&mut self, instr: &Instr) {
        let Some(dst) = instr.dst() else {
            return;
        };
        let from = match &instr.kind {
            InstrKind::Call {
                callee: Callee::Named(name),
                ..
            } => {
                self.allocated.extend(allocates(name).then_some(dst));
                return;
            }
            InstrKind::Load { place, .. } => place.as_local().into_iter().collect(),
            InstrKind::Cast { src, .. } | InstrKind::Copy { src, .. } => {
                match self.is_allocated(src) {
                    true => self.allocated.insert(dst),
                    false => self.other.insert(dst),
                };
                self.loaded_from(src)
            }
            InstrKind::Op { operands, .. } => {
                let operands = operands.iter();
                operands
                    .flat_map(|operand| self.loaded_from(operand))
                    .collect()
            }
            _ => return,
        };
        let known = self.loaded.entry(dst).or_default();
        for local in from {
            if !known.contains(&local) {
                known.push(local);
            }
        }
    }

    fn is_allocated(&self, operand: &Operand) -> bool {
        match operand {
            Operand::Temp(temp) => self.allocated.contains(temp) && !self.other.contains(temp),
            Operand::Null | Operand::Int(0) => true,
            _ => false,
        }
    }

    fn loaded_from(&self, operand: &Operand) -> Vec<LocalId> {
        match operand {
            Operand::Temp(temp) => self.loaded.get(temp).cloned().unwrap_or_default(),
            _ => Vec::new(),
        }
    }
}

fn instrs(cfg: &Cfg) -> impl Iterator<Item = &Instr> {
    cfg.iter().flat_map(|(_, block)| &block.instrs)
}

fn allocates(name: &str) -> bool {
    matches!(
        name,
        "malloc"
            | "calloc"
            | "PyMem_Malloc"
            | "PyMem_Calloc"
            | "PyMem_RawMalloc"
            | "PyMem_RawCalloc"
            | "PyMem_New"
            | "PyMem_NEW"
    )
}

/// Whether a call only gives back the memory that is its argument.
pub(super) fn frees(name: &str) -> bool {
    matches!(
        name,
        "free" | "PyMem_Free" | "PyMem_RawFree" | "PyMem_FREE" | "PyMem_Del" | "PyMem_DEL"
    )
}

impl Stepper<'_> {
    /// The variable whose memory, which only the function knows, a place is a part of.
    pub(super) fn buffer(&self, state: &State, place: &Place) -> Option<LocalId> {
        let Base::Deref(Operand::Temp(temp)) = &place.base else {
            return None;
        };
        let local = state.temps.get(temp)?.from?;
        self.facts.is_buffer(local).then_some(local)
    }

    /// Stores a pointer into an instance in memory of the function; that of one instance only is
    /// followed there.
    pub(super) fn fill(
        &mut self,
        state: &mut State,
        buffer: LocalId,
        id: InstanceId,
        source: Source,
    ) {
        match state.local(buffer).instance() {
            Some(other) if other != id => {
                self.keep(state, other, source);
            }
            _ => state.set_local(buffer, Value::Derived(id)),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::ownership::track::tests::troubles;

    /// An item's text is stored in `items` and the item released, with other statements in between.
    fn stored(made: &str, between: &str, behind: &str) -> String {
        troubles(&format!(
            "PyObject *v = PyList_GetItemRef(self, 0);
            if (v == NULL) return NULL;
            const char **items, **more = NULL;
            items = {made};
            if (!items) {{ Py_DECREF(v); return NULL; }}
            items[0] = PyUnicode_AsUTF8(v);
            {between}
            Py_DECREF(v);
            {behind}
            return NULL;"
        ))
    }

    #[test]
    fn pointers_in_memory_of_the_function_are_followed() {
        assert_eq!(
            stored("PyMem_Malloc(8)", "show(items);", "PyMem_Free(items);"),
            ""
        );
        assert_eq!(
            stored("PyMem_Malloc(8)", "", "show(items);"),
            "UseAfterRelease at show(items)"
        );
        assert_eq!(
            stored(
                "(const char **)malloc(8)",
                "",
                "if (items[0] == NULL) return self; free(items);"
            ),
            "UseAfterRelease at items[0]"
        );
        assert_eq!(
            stored("calloc(1, 8)", "", "return (PyObject *)items;"),
            "BorrowedEscapes at return (PyObject *)items;"
        );
    }

    #[test]
    fn memory_that_others_may_know_is_theirs() {
        let escapes = "DerivedEscapes at items[0] = PyUnicode_AsUTF8(v)";
        assert_eq!(stored("texts_of(self)", "", ""), escapes);
        assert_eq!(stored("more ? more : malloc(8)", "", ""), escapes);
        assert_eq!(stored("malloc(8)", "self->items = items;", ""), escapes);
        assert_eq!(stored("malloc(8)", "more = items + 1;", ""), escapes);
        assert_eq!(stored("malloc(8)", "fill(&items[1]);", ""), escapes);
        assert_eq!(stored("malloc(8)", "fill(&items);", ""), escapes);
    }

    #[test]
    fn pointers_into_several_objects_are_not_told_apart() {
        let two = "PyObject *w = PyList_GetItemRef(self, 1);
            if (w == NULL) { Py_DECREF(v); free(items); return NULL; }
            items[1] = PyUnicode_AsUTF8(w);
            Py_DECREF(w);";
        assert_eq!(
            stored("malloc(8)", two, "free(items);"),
            "DerivedEscapes at items[1] = PyUnicode_AsUTF8(w)"
        );
    }
}
