/* Stands for <Python.h> and the system headers, which are never read: the macros that change syntax
 * or control flow, so that the rest of a file parses and its hidden exits are seen. A definition in
 * the project overrides the one here.
 *
 * API macros that behave like calls (Py_INCREF, Py_CLEAR, PyList_GET_ITEM, Py_BuildValue, ...) are
 * not here: they stay calls, whose effects are in effects.tsv. A macro that names itself in its own
 * body (PyObject_New) only loses the type among its arguments and stays a call as well.
 *
 * What a conditional may ask about and what depends on the version or the build is answered by the
 * preprocessor, not here: PY_VERSION_HEX, PY_MINOR_VERSION, PY_MICRO_VERSION, Py_GIL_DISABLED,
 * Py_LIMITED_API, Py_TARGET_ABI3T, Py_DEBUG, and whether a name below exists in the version asked
 * about (Py_mod_gil, Py_MOD_GIL_NOT_USED, Py_BEGIN_CRITICAL_SECTION: 3.13). */

/* --- always true of a build for Python 3 --- */

#define Py_PYTHON_H
#define Py_OBJECT_H
#define Py_CAPSULE_H
#define PY_MAJOR_VERSION 3
#define WITH_THREAD 1
#define Py_USING_UNICODE

/* --- object and module declarations --- */

#define PyObject_HEAD PyObject ob_base;
#define PyObject_VAR_HEAD PyVarObject ob_base;
#define PyObject_HEAD_INIT(type) { 1, (type) },
#define PyVarObject_HEAD_INIT(type, size) { PyObject_HEAD_INIT(type) (size) },
#define PyModuleDef_HEAD_INIT {0}
#define _PyObject_HEAD_EXTRA
#define _PyObject_EXTRA_INIT
#define PyABIInfo_VAR(name) static PyABIInfo name = {0}

#define PyMODINIT_FUNC PyObject *
#define PyMODEXPORT_FUNC PySlot *
#define PyAPI_FUNC(type) type
#define PyAPI_DATA(type) extern type
#define PyDoc_VAR(name) static const char name[]
#define PyDoc_STRVAR(name, str) static const char name[] = str
#define PyDoc_STR(str) str
#define _Py_IDENTIFIER(name) static _Py_Identifier PyId_##name = {0}
#define _Py_static_string(name, value) static _Py_Identifier name = {0}
#define staticforward static
#define statichere static

/* --- storage, attributes, diagnostics --- */

#define Py_LOCAL(type) static type
#define Py_LOCAL_INLINE(type) static inline type
#define Py_UNUSED(name) name
#define Py_DEPRECATED(version)
#define Py_GCC_ATTRIBUTE(x)
#define Py_ALIGNED(x)
#define Py_ALWAYS_INLINE
#define Py_NO_INLINE
#define Py_EXPORTED_SYMBOL
#define Py_IMPORTED_SYMBOL
#define Py_LOCAL_SYMBOL
#define Py_FORMAT_PARSETUPLE(func, p1, p2)
#define _Py_NO_RETURN _Noreturn
#define _Py_HOT_FUNCTION
#define _Py_NO_SANITIZE_ADDRESS
#define _Py_NO_SANITIZE_MEMORY
#define _Py_NO_SANITIZE_THREAD
#define _Py_COMP_DIAG_PUSH
#define _Py_COMP_DIAG_IGNORE_DEPR_DECLS
#define _Py_COMP_DIAG_POP
#define PyFPE_START_PROTECT(err_string, leave_stmt)
#define PyFPE_END_PROTECT(v)

/* --- macros with a type or a bare token among their arguments --- */

#define _Py_CAST(type, expr) ((type)(expr))
#define _Py_STATIC_CAST(type, expr) ((type)(expr))
#define _PyObject_CAST(op) ((PyObject *)(op))
#define _PyVarObject_CAST(op) ((PyVarObject *)(op))
#define _PyCFunction_CAST(func) ((PyCFunction)(void (*)(void))(func))
#define Py_SAFE_DOWNCAST(value, wide, narrow) ((narrow)(value))
#define Py_MEMBER_SIZE(type, member) sizeof(((type *)0)->member)
#define Py_ARRAY_LENGTH(array) (sizeof(array) / sizeof((array)[0]))
#define Py_STRINGIFY(x) #x
#define Py_FORCE_EXPANSION(x) x
#define PyObject_New(type, typeobj) ((type *)PyObject_New(typeobj))
#define PyObject_NEW(type, typeobj) ((type *)PyObject_NEW(typeobj))
#define PyObject_NewVar(type, typeobj, n) ((type *)PyObject_NewVar(typeobj, n))
#define PyObject_NEW_VAR(type, typeobj, n) ((type *)PyObject_NEW_VAR(typeobj, n))
#define PyObject_GC_New(type, typeobj) ((type *)PyObject_GC_New(typeobj))
#define PyObject_GC_NewVar(type, typeobj, n) ((type *)PyObject_GC_NewVar(typeobj, n))
#define PyObject_GC_Resize(type, op, n) ((type *)PyObject_GC_Resize(op, n))
#define PyMem_New(type, n) ((type *)PyMem_New((n) * sizeof(type)))
#define PyMem_NEW(type, n) ((type *)PyMem_NEW((n) * sizeof(type)))
#define PyMem_Resize(p, type, n) ((p) = (type *)PyMem_Resize(p, (n) * sizeof(type)))
#define PyMem_RESIZE(p, type, n) ((p) = (type *)PyMem_RESIZE(p, (n) * sizeof(type)))

/* --- hidden exits --- */

#define Py_RETURN_NONE return Py_NewRef(Py_None)
#define Py_RETURN_TRUE return Py_NewRef(Py_True)
#define Py_RETURN_FALSE return Py_NewRef(Py_False)
#define Py_RETURN_NOTIMPLEMENTED return Py_NewRef(Py_NotImplemented)
#define Py_RETURN_NAN return PyFloat_FromDouble(Py_NAN)
#define Py_RETURN_INF(sign) return PyFloat_FromDouble(copysign(Py_HUGE_VAL, sign))
#define Py_RETURN_RICHCOMPARE(val1, val2, op) \
    do { \
        switch (op) { \
        case Py_EQ: if ((val1) == (val2)) Py_RETURN_TRUE; Py_RETURN_FALSE; \
        case Py_NE: if ((val1) != (val2)) Py_RETURN_TRUE; Py_RETURN_FALSE; \
        case Py_LT: if ((val1) < (val2)) Py_RETURN_TRUE; Py_RETURN_FALSE; \
        case Py_GT: if ((val1) > (val2)) Py_RETURN_TRUE; Py_RETURN_FALSE; \
        case Py_LE: if ((val1) <= (val2)) Py_RETURN_TRUE; Py_RETURN_FALSE; \
        case Py_GE: if ((val1) >= (val2)) Py_RETURN_TRUE; Py_RETURN_FALSE; \
        default: Py_UNREACHABLE(); \
        } \
    } while (0)
#define Py_VISIT(op) \
    do { \
        if (op) { \
            int vret = visit((PyObject *)(op), arg); \
            if (vret) return vret; \
        } \
    } while (0)
#define Py_CLEANUP_SUPPORTED 0x20000

/* --- blocks opened and closed by macros --- */

#define Py_BEGIN_ALLOW_THREADS { PyThreadState *_save; _save = PyEval_SaveThread();
#define Py_END_ALLOW_THREADS PyEval_RestoreThread(_save); }
#define Py_BLOCK_THREADS PyEval_RestoreThread(_save);
#define Py_UNBLOCK_THREADS _save = PyEval_SaveThread();

/* As the free-threaded build has them; otherwise they are bare braces. */
#define Py_BEGIN_CRITICAL_SECTION(op) \
    { PyCriticalSection _py_cs; PyCriticalSection_Begin(&_py_cs, op)
#define Py_BEGIN_CRITICAL_SECTION_MUTEX(mutex) \
    { PyCriticalSection _py_cs; PyCriticalSection_BeginMutex(&_py_cs, mutex)
#define Py_END_CRITICAL_SECTION() PyCriticalSection_End(&_py_cs); }
#define Py_BEGIN_CRITICAL_SECTION2(a, b) \
    { PyCriticalSection2 _py_cs2; PyCriticalSection2_Begin(&_py_cs2, a, b)
#define Py_BEGIN_CRITICAL_SECTION2_MUTEX(m1, m2) \
    { PyCriticalSection2 _py_cs2; PyCriticalSection2_BeginMutex(&_py_cs2, m1, m2)
#define Py_END_CRITICAL_SECTION2() PyCriticalSection2_End(&_py_cs2); }
#define Py_BEGIN_CRITICAL_SECTION_SEQUENCE_FAST(original) \
    { \
        PyObject *_orig_seq = (PyObject *)(original); \
        const int _should_lock_cs = PyList_CheckExact(_orig_seq); \
        PyCriticalSection _cs_fast; \
        if (_should_lock_cs) { PyCriticalSection_Begin(&_cs_fast, _orig_seq); }
#define Py_END_CRITICAL_SECTION_SEQUENCE_FAST() \
        if (_should_lock_cs) { PyCriticalSection_End(&_cs_fast); } \
    }

#define Py_TRASHCAN_BEGIN(op, dealloc) \
    do { if (_PyTrash_begin(PyThreadState_Get(), (PyObject *)(op))) break;
#define Py_TRASHCAN_END _PyTrash_end(PyThreadState_Get()); } while (0);
#define Py_TRASHCAN_SAFE_BEGIN(op) Py_TRASHCAN_BEGIN(op, 0)
#define Py_TRASHCAN_SAFE_END(op) Py_TRASHCAN_END

/* --- spelled beside string literals --- */

#define PY_VERSION "3"
#define PY_FORMAT_SIZE_T "z"
#define PY_LONG_LONG long long
#define PRId8 "d"
#define PRId16 "d"
#define PRId32 "d"
#define PRId64 "ld"
#define PRIi32 "i"
#define PRIi64 "li"
#define PRIo64 "lo"
#define PRIu8 "u"
#define PRIu16 "u"
#define PRIu32 "u"
#define PRIu64 "lu"
#define PRIx8 "x"
#define PRIx16 "x"
#define PRIx32 "x"
#define PRIx64 "lx"
#define PRIX32 "X"
#define PRIX64 "lX"
#define PRIdMAX "jd"
#define PRIuMAX "ju"
#define PRIdPTR "ld"
#define PRIuPTR "lu"
#define PRIxPTR "lx"

/* --- standard C (bool, size_t and their like are type names, not macros, to us) --- */

#define static_assert _Static_assert
#define thread_local _Thread_local
#define __thread _Thread_local
#define __builtin_available(...) 1
#define va_arg(ap, type) __builtin_va_arg(ap, type)
#define offsetof(type, member) __builtin_offsetof(type, member)

/* --- Windows --- */

#define __declspec(x)
#define __forceinline inline

/* --- numpy, whose headers are installed elsewhere --- */

#define NPY_NO_EXPORT
#define NPY_INLINE inline
#define NPY_FINLINE static inline
#define NPY_BEGIN_ALLOW_THREADS Py_BEGIN_ALLOW_THREADS
#define NPY_END_ALLOW_THREADS Py_END_ALLOW_THREADS
#define NPY_BEGIN_THREADS_DEF PyThreadState *_save = NULL;
#define NPY_BEGIN_THREADS do { _save = PyEval_SaveThread(); } while (0);
#define NPY_END_THREADS \
    do { if (_save) { PyEval_RestoreThread(_save); _save = NULL; } } while (0);
#define NPY_ALLOW_C_API_DEF PyGILState_STATE __save__;
#define NPY_ALLOW_C_API do { __save__ = PyGILState_Ensure(); } while (0);
#define NPY_DISABLE_C_API do { PyGILState_Release(__save__); } while (0);
#define import_array() \
    { if (_import_array() < 0) { PyErr_Print(); return NULL; } }
#define import_array1(ret) \
    { if (_import_array() < 0) { PyErr_Print(); return ret; } }
#define import_umath() \
    { if (_import_umath() < 0) { PyErr_Print(); return NULL; } }

/* --- what no Python has: the generated header defines it, which is not read either --- */

#define PYAPI_ATOMIC(type) _Atomic(type)
#define PYAPI_ATOMIC_ADD(variable, number) ((void)((variable) += (number)))
