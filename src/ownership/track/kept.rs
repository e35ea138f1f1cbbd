//! Pointers into an instance that go where others may use them.
//!
//! ```c
//! v = PyDict_GetItemRef(…);
//! import->text = PyBytes_AsString(v);
//! Py_DECREF(v);                        /* not before: with the GIL, `v` was there until … */
//! PyGILState_Release(state);           /* … here, and what comes then is up to who keeps it */
//! ```

use super::buffers::frees;
use super::state::{Instance, InstanceId, State, Value};
use super::step::Stepper;
use super::{Origin, Problem};
use crate::capi;
use crate::cfg::{Base, Place, Source};

impl Stepper<'_> {
    /// A pointer into the instance is stored. That is right if the function has a reference to it
    /// until the thread is detached.
    pub(super) fn keep(&mut self, state: &mut State, id: InstanceId, at: Source) {
        // One reference pays for one place.
        state.owed.retain(|_, owed| *owed != Value::OwedPart(id));
        let instance = &mut state.instances[id];
        match instance.count {
            _ if state.detached => {}
            1.. => instance.kept = instance.kept.or(Some(at)),
            _ => self.escape(state, id, Some(at)),
        }
    }

    /// A pointer into the instance outlives the function.
    pub(super) fn escape(&mut self, state: &State, id: InstanceId, at: Option<Source>) {
        let problem = match state.instances[id].count {
            1.. => Problem::DerivedEscapes,
            _ => Problem::BorrowedEscapes,
        };
        self.trouble(state, id, problem, at);
    }

    /// A call of `name` may use what was stored, or detaches the thread.
    pub(super) fn use_kept(&mut self, state: &mut State, name: &str) {
        let only_releases = matches!(name, "Py_DECREF" | "Py_XDECREF" | "Py_CLEAR") || frees(name);
        if capi::detaches(name) {
            state.detached = true;
            for instance in &mut state.instances {
                if !self.is_lent(instance) {
                    instance.kept = None;
                }
            }
        } else if !only_releases {
            state.detached &= !capi::attaches(name);
            self.end_kept(state, Self::is_gone);
        }
    }

    /// What is read of memory may be what was stored.
    pub(super) fn read_kept(&mut self, state: &mut State, place: &Place) {
        if !matches!(place.base, Base::Local(_)) {
            self.end_kept(state, Self::is_gone);
        }
    }

    /// Whether the function has no reference to the instance, and its caller none for it.
    fn is_gone(&self, instance: &Instance) -> bool {
        instance.count <= 0 && !self.is_lent(instance)
    }

    /// Whether the caller keeps the instance while the function runs.
    pub(super) fn is_lent(&self, instance: &Instance) -> bool {
        instance.count == 0 && matches!(self.seeds[instance.seed].origin, Origin::Param(_))
    }

    /// Pointers into some instances are no longer good, and may be used yet.
    pub(super) fn end_kept(&mut self, state: &mut State, of: fn(&Self, &Instance) -> bool) {
        for id in 0..state.instances.len() {
            if of(self, &state.instances[id])
                && let Some(at) = state.instances[id].kept.take()
            {
                self.trouble(state, id, Problem::DerivedEscapes, Some(at));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::ownership::track::tests::troubles;

    /// A pointer into an item is stored, with other statements behind.
    fn stored(before: &str, behind: &str) -> String {
        troubles(&format!(
            "PyObject *v = PyList_GetItemRef(self, 0);
            PyGILState_STATE state = attach(self);
            Box *box = box_of(self); PyObject *w = other(self);
            if (v == NULL) return NULL;
            {before}
            box->text = PyUnicode_AsUTF8(v);
            {behind}
            return NULL;"
        ))
    }

    const ESCAPES: &str = "DerivedEscapes at box->text = PyUnicode_AsUTF8(v)";

    #[test]
    fn a_reference_is_held_until_the_thread_is_detached() {
        let found = |behind| stored("", behind);
        assert_eq!(found("Py_DECREF(v); PyGILState_Release(state);"), "");
        assert_eq!(
            found("Py_DECREF(v); free(box); Py_XDECREF(w); PyGILState_Release(state);"),
            ""
        );
        let section = "_save = PyEval_SaveThread(); run(box); PyEval_RestoreThread(_save);";
        assert_eq!(found(&format!("{section} Py_DECREF(v); run(box);")), "");
        assert_eq!(
            stored(
                "_save = PyEval_SaveThread();",
                "PyEval_RestoreThread(_save); Py_DECREF(v);"
            ),
            ""
        );
    }

    #[test]
    fn nobody_else_keeps_it_before_that() {
        let found = |behind| stored("", behind);
        assert_eq!(found("Py_DECREF(v);"), ESCAPES);
        assert_eq!(
            found("Py_DECREF(v); run(box); PyGILState_Release(state);"),
            ESCAPES
        );
        assert_eq!(
            found("Py_DECREF(v); n = box->text[0]; PyGILState_Release(state);"),
            ESCAPES
        );
        assert_eq!(
            found("Py_DECREF(v); if (n) PyGILState_Release(state);"),
            ESCAPES
        );
        let section = "_save = PyEval_SaveThread(); PyEval_RestoreThread(_save);";
        assert_eq!(stored(section, "Py_DECREF(v);"), ESCAPES);
    }

    /// `PyMemoryView_FromMemory` and its like have no reference to what the memory is a part of.
    #[test]
    fn a_pointer_that_a_call_keeps_needs_the_item() {
        let found = |call: &str, rest: &str| {
            troubles(&format!(
                "PyObject *v = PyList_GetItemRef(self, 0);
                if (v == NULL) return NULL;
                {call};
                Py_DECREF(v);
                {rest}"
            ))
        };
        for keeps in [
            "PyObject *m = PyMemoryView_FromMemory(PyBytes_AS_STRING(v), 4, PyBUF_READ)",
            "PyObject *c = PyCapsule_New(PyBytes_AS_STRING(v), NULL, NULL)",
            "PyObject *c = PyCapsule_New(self, PyUnicode_AsUTF8(v), NULL)",
            "PyObject *n = PyLong_FromVoidPtr(PyBytes_AS_STRING(v))",
            "int rc = PyBuffer_FillInfo(view, self, PyBytes_AS_STRING(v), 4, 1, 0)",
            "int rc = putenv(PyBytes_AS_STRING(v))",
            "int rc = setvbuf(file, PyByteArray_AS_STRING(v), _IOFBF, 4)",
        ] {
            let trouble = found(keeps, "return make();");
            assert!(
                trouble.starts_with("DerivedEscapes at "),
                "{keeps}: {trouble}"
            );
        }
        assert_eq!(
            found("int n = puts(PyBytes_AS_STRING(v))", "return make();"),
            ""
        );
    }

    #[test]
    fn what_is_given_back_is_used_at_once() {
        assert_eq!(
            troubles(
                "PyObject *v = PyList_GetItemRef(self, 0);
                if (v == NULL) return NULL;
                const char *text = PyUnicode_AsUTF8(v);
                PyGILState_Release(self);
                Py_DECREF(v);
                return (PyObject *)text;"
            ),
            "BorrowedEscapes at return (PyObject *)text;"
        );
    }
}
