//! The stand-ins of the generated header.

use super::atomic;

/// What stands for one name below the version that has it.
pub(super) struct Shim {
    pub name: &'static str,
    /// `PY_VERSION_HEX` of the first Python that has it.
    pub since: u32,
    pub limited: Limited,
    /// Other shims its text calls.
    pub uses: &'static [&'static str],
    pub text: &'static str,
}

/// For which values of `Py_LIMITED_API` the headers of Pythons that have a name declare it.
pub(super) enum Limited {
    All,
    /// From this one on.
    Since(u32),
    /// From this one on. For older ones the text makes up for what newer headers lost or declare
    /// although the libraries do not have it.
    Adjusted(u32, &'static str),
    /// For none.
    None,
    /// For none, and what stands for it needs the GIL.
    NoneWithGil,
}

/// For what no Python has: it stands in for nothing, and is defined for all.
pub(super) const NEVER: u32 = u32::MAX;

const LIMITED_3_13: Limited = Limited::Since(0x030D_0000);

/// The declaration is gone from the headers of 3.15, the function is in all libraries.
const WEAKREF_GET_OBJECT: &str = "\
#if PY_VERSION_HEX >= 0x030F0000
#  ifdef __cplusplus
extern \"C\"
#  endif
PyAPI_FUNC(PyObject *) PyWeakref_GetObject(PyObject *ref);
#endif
";

/// The headers of 3.15 call functions for any limited API, which only libraries of 3.15 have.
const UNDEF_SECTION: &str = "\
#  undef Py_BEGIN_CRITICAL_SECTION
#  undef Py_END_CRITICAL_SECTION
";
const UNDEF_SECTION2: &str = "\
#  undef Py_BEGIN_CRITICAL_SECTION2
#  undef Py_END_CRITICAL_SECTION2
";

/// In the order in which they stand in the header: a shim after those it uses.
///
/// Each keeps the conventions of the native function on the Pythons it is compiled for: 1, 0 or -1,
/// and `*result` always written. Those Pythons have a GIL, but for what is newer than 3.13. Facts:
/// the C-API pages of Python 3.15 on list, dict, weakref, import, object, synchronization.
pub(super) const SHIMS: &[Shim] = &[
    Shim {
        name: "Py_NewRef",
        since: 0x030A_00A3,
        limited: Limited::All,
        uses: &[],
        text: "\
static inline PyObject *
Py_NewRef(PyObject *object)
{
    Py_INCREF(object);
    return object;
}
",
    },
    Shim {
        name: "Py_XNewRef",
        since: 0x030A_00A3,
        limited: Limited::All,
        uses: &[],
        text: "\
static inline PyObject *
Py_XNewRef(PyObject *object)
{
    Py_XINCREF(object);
    return object;
}
",
    },
    Shim {
        name: "Py_SET_REFCNT",
        since: 0x0309_00A4,
        limited: Limited::All,
        uses: &[],
        text: "\
#  define Py_SET_REFCNT(object, count) ((void)(Py_REFCNT(object) = (count)))
",
    },
    Shim {
        name: "Py_SET_TYPE",
        since: 0x0309_00A4,
        limited: Limited::All,
        uses: &[],
        text: "\
#  define Py_SET_TYPE(object, type) ((void)(Py_TYPE(object) = (type)))
",
    },
    Shim {
        name: "Py_SET_SIZE",
        since: 0x0309_00A4,
        limited: Limited::All,
        uses: &[],
        text: "\
#  define Py_SET_SIZE(object, size) ((void)(Py_SIZE(object) = (size)))
",
    },
    Shim {
        name: "PyErr_GetRaisedException",
        since: 0x030C_00A6,
        limited: Limited::Since(0x030C_0000),
        uses: &[],
        text: "\
static inline PyObject *
PyErr_GetRaisedException(void)
{
    PyObject *type, *exception, *traceback;
    PyErr_Fetch(&type, &exception, &traceback);
    PyErr_NormalizeException(&type, &exception, &traceback);
    if (traceback != NULL) {
        PyException_SetTraceback(exception, traceback);
        Py_DECREF(traceback);
    }
    Py_XDECREF(type);
    return exception;
}
",
    },
    Shim {
        name: "PyErr_SetRaisedException",
        since: 0x030C_00A6,
        limited: Limited::Since(0x030C_0000),
        uses: &[],
        text: "\
static inline void
PyErr_SetRaisedException(PyObject *exception)
{
    PyObject *type = NULL, *traceback = NULL;
    if (exception != NULL) {
        type = (PyObject *)Py_TYPE(exception);
        Py_INCREF(type);
        traceback = PyException_GetTraceback(exception);
    }
    PyErr_Restore(type, exception, traceback);
}
",
    },
    Shim {
        name: "PyList_GetItemRef",
        since: 0x030D_00A4,
        limited: LIMITED_3_13,
        uses: &[],
        text: "\
static inline PyObject *
PyList_GetItemRef(PyObject *list, Py_ssize_t index)
{
    PyObject *item = PyList_GetItem(list, index);
    Py_XINCREF(item);
    return item;
}
",
    },
    Shim {
        name: "PyDict_GetItemRef",
        since: 0x030D_00A1,
        limited: LIMITED_3_13,
        uses: &[],
        text: "\
static inline int
PyDict_GetItemRef(PyObject *dict, PyObject *key, PyObject **result)
{
    int pending = PyErr_Occurred() != NULL;
    *result = PyDict_GetItemWithError(dict, key);
    if (*result != NULL) {
        Py_INCREF(*result);
        return 1;
    }
    return !pending && PyErr_Occurred() ? -1 : 0;
}
",
    },
    Shim {
        name: "PyDict_GetItemStringRef",
        since: 0x030D_00A1,
        limited: LIMITED_3_13,
        uses: &["PyDict_GetItemRef"],
        text: "\
static inline int
PyDict_GetItemStringRef(PyObject *dict, const char *key, PyObject **result)
{
    int found;
    PyObject *name = PyUnicode_FromString(key);
    if (name == NULL) {
        *result = NULL;
        return -1;
    }
    found = PyDict_GetItemRef(dict, name, result);
    Py_DECREF(name);
    return found;
}
",
    },
    Shim {
        name: "PyDict_SetDefaultRef",
        since: 0x030D_00A4,
        limited: Limited::Since(0x030F_0000),
        uses: &[],
        text: "\
static inline int
PyDict_SetDefaultRef(PyObject *dict, PyObject *key, PyObject *value,
                     PyObject **result)
{
    /* One lookup, as other threads may add the key between two. It cannot
     * tell a key that was there with this very value from a new one. */
#ifdef Py_LIMITED_API
    PyObject *item = PyObject_CallMethod((PyObject *)&PyDict_Type, \"setdefault\",
                                         \"OOO\", dict, key, value);
#else
    PyObject *item = PyDict_SetDefault(dict, key, value);
    Py_XINCREF(item);
#endif
    if (result != NULL) {
        *result = item;
    }
    else {
        Py_XDECREF(item);
    }
    return item == NULL ? -1 : item != value;
}
",
    },
    Shim {
        name: "PyDict_ContainsString",
        since: 0x030D_00A1,
        limited: Limited::None,
        uses: &[],
        text: "\
static inline int
PyDict_ContainsString(PyObject *dict, const char *key)
{
    int found;
    PyObject *name = PyUnicode_FromString(key);
    if (name == NULL) {
        return -1;
    }
    found = PyDict_Contains(dict, name);
    Py_DECREF(name);
    return found;
}
",
    },
    Shim {
        name: "PyWeakref_GetRef",
        since: 0x030D_0000,
        limited: Limited::Adjusted(0x030D_0000, WEAKREF_GET_OBJECT),
        uses: &[],
        text: "\
static inline int
PyWeakref_GetRef(PyObject *ref, PyObject **object)
{
    if (ref == NULL || !PyWeakref_Check(ref)) {
        *object = NULL;
        PyErr_SetString(PyExc_TypeError, \"expected a weakref\");
        return -1;
    }
    *object = PyWeakref_GetObject(ref);
    if (*object == NULL || *object == Py_None) {
        int failed = *object == NULL;
        *object = NULL;
        return failed ? -1 : 0;
    }
    Py_INCREF(*object);
    return 1;
}
",
    },
    Shim {
        name: "PyImport_AddModuleRef",
        since: 0x030D_00A1,
        limited: LIMITED_3_13,
        uses: &[],
        text: "\
static inline PyObject *
PyImport_AddModuleRef(const char *name)
{
    PyObject *module = PyImport_AddModule(name);
    Py_XINCREF(module);
    return module;
}
",
    },
    Shim {
        name: "PyEval_GetFrameGlobals",
        since: 0x030D_00B1,
        limited: LIMITED_3_13,
        uses: &[],
        text: "\
static inline PyObject *
PyEval_GetFrameGlobals(void)
{
    PyObject *globals = PyEval_GetGlobals();
    Py_XINCREF(globals);
    return globals;
}
",
    },
    Shim {
        name: "PyEval_GetFrameBuiltins",
        since: 0x030D_00B1,
        limited: LIMITED_3_13,
        uses: &[],
        text: "\
static inline PyObject *
PyEval_GetFrameBuiltins(void)
{
    PyObject *builtins = PyEval_GetBuiltins();
    Py_XINCREF(builtins);
    return builtins;
}
",
    },
    Shim {
        name: "PySys_GetOptionalAttrString",
        since: 0x030F_00A1,
        limited: Limited::Since(0x030F_0000),
        uses: &[],
        text: "\
static inline int
PySys_GetOptionalAttrString(const char *name, PyObject **result)
{
    *result = PySys_GetObject(name);
    Py_XINCREF(*result);
    return *result != NULL;
}
",
    },
    // The free-threaded 3.13 keeps the count of the thread that made the object apart from that of
    // all others, with flags in the latter.
    Shim {
        name: "PyUnstable_Object_IsUniquelyReferenced",
        since: 0x030E_00B1,
        limited: Limited::NoneWithGil,
        uses: &[],
        text: "\
static inline int
PyUnstable_Object_IsUniquelyReferenced(PyObject *object)
{
#ifdef Py_GIL_DISABLED
    if (!_Py_IsOwnedByCurrentThread(object)) {
        return 0;
    }
    return _Py_atomic_load_ssize_relaxed(&object->ob_ref_shared) == 0
        && _Py_atomic_load_uint32_relaxed(&object->ob_ref_local) == 1;
#else
    return Py_REFCNT(object) == 1;
#endif
}
",
    },
    // Where there is a GIL, a mutex that is held while no Python code runs does nothing.
    Shim {
        name: "PyMutex",
        since: 0x030D_0000,
        limited: Limited::NoneWithGil,
        uses: &[],
        text: "\
typedef struct { unsigned char bits; } PyMutex;
#  define PyMutex_Lock(mutex) ((void)(mutex))
#  define PyMutex_Unlock(mutex) ((void)(mutex))
",
    },
    Shim {
        name: "Py_BEGIN_CRITICAL_SECTION",
        since: 0x030D_00B3,
        limited: Limited::Adjusted(0x030F_0000, UNDEF_SECTION),
        uses: &[],
        text: "\
#  define Py_BEGIN_CRITICAL_SECTION(object) {
#  define Py_END_CRITICAL_SECTION() }
",
    },
    Shim {
        name: "Py_BEGIN_CRITICAL_SECTION2",
        since: 0x030D_00B3,
        limited: Limited::Adjusted(0x030F_0000, UNDEF_SECTION2),
        uses: &[],
        text: "\
#  define Py_BEGIN_CRITICAL_SECTION2(first, second) {
#  define Py_END_CRITICAL_SECTION2() }
",
    },
    Shim {
        name: "PYAPI_ATOMIC",
        since: NEVER,
        limited: Limited::All,
        uses: &[],
        text: atomic::TYPE,
    },
    Shim {
        name: "PYAPI_ATOMIC_ADD",
        since: NEVER,
        limited: Limited::All,
        uses: &["PYAPI_ATOMIC"],
        text: atomic::ADD,
    },
];
