/* Fails with the number of the line that does not hold. */
#define HOLDS(x) do { if (!(x)) { PyErr_Format(PyExc_AssertionError, "line %d", __LINE__); return NULL; } } while (0)

static PyMutex mutex;

static PyObject *
check(PyObject *self, PyObject *args)
{
    PyObject *dict, *list, *unhashable, *key, *v, *ref, *target;
    (void)self;
    if (!PyArg_ParseTuple(args, "OOOOOO", &dict, &list, &unhashable, &key, &ref, &target))
        return NULL;
    v = PyList_GetItemRef(list, 0);
    HOLDS(v != NULL); Py_DECREF(v);
    v = PyList_GetItemRef(list, 9);
    HOLDS(v == NULL && PyErr_ExceptionMatches(PyExc_IndexError)); PyErr_Clear();
    HOLDS(PyDict_GetItemRef(dict, key, &v) == 1 && v != NULL); Py_DECREF(v);
    HOLDS(PyDict_GetItemRef(dict, list, &v) == -1 && v == NULL && PyErr_Occurred()); PyErr_Clear();
    HOLDS(PyDict_GetItemRef(dict, Py_None, &v) == 0 && v == NULL && !PyErr_Occurred());
    HOLDS(PyDict_GetItemStringRef(dict, "key", &v) == 1); Py_DECREF(v);
    HOLDS(PyDict_GetItemStringRef(dict, "none", &v) == 0 && v == NULL);
    HOLDS(PyDict_GetItemStringRef(dict, "\xff", &v) == -1 && v == NULL); PyErr_Clear();
    HOLDS(PyDict_ContainsString(dict, "key") == 1 && PyDict_ContainsString(dict, "none") == 0);
    HOLDS(PyDict_SetDefaultRef(dict, key, Py_None, &v) == 1 && v != Py_None); Py_DECREF(v);
    HOLDS(PyDict_SetDefaultRef(dict, Py_True, target, &v) == 0 && v == target); Py_DECREF(v);
    HOLDS(PyDict_SetDefaultRef(dict, Py_True, key, NULL) == 1);
    HOLDS(PyDict_SetDefaultRef(dict, unhashable, key, &v) == -1 && v == NULL); PyErr_Clear();
    HOLDS(PyWeakref_GetRef(ref, &v) == 1 && v == target); Py_DECREF(v);
    HOLDS(PyWeakref_GetRef(target, &v) == -1 && v == NULL); PyErr_Clear();
    v = PyImport_AddModuleRef("sys");
    HOLDS(v != NULL); Py_DECREF(v);
    v = PyList_New(0);
    HOLDS(PyUnstable_Object_IsUniquelyReferenced(v));
    Py_INCREF(v); HOLDS(!PyUnstable_Object_IsUniquelyReferenced(v));
    Py_DECREF(v); HOLDS(PyUnstable_Object_IsUniquelyReferenced(v));
    Py_DECREF(v); HOLDS(!PyUnstable_Object_IsUniquelyReferenced(Py_None));
    v = PyEval_GetFrameGlobals();
    HOLDS(v != NULL && PyDict_Check(v)); Py_DECREF(v);
    v = PyEval_GetFrameBuiltins();
    HOLDS(v != NULL); Py_DECREF(v);
    HOLDS(PySys_GetOptionalAttrString("path", &v) == 1 && PyList_Check(v)); Py_DECREF(v);
    HOLDS(PySys_GetOptionalAttrString("no such name", &v) == 0 && v == NULL && !PyErr_Occurred());
    HOLDS(PyErr_GetRaisedException() == NULL);
    PyErr_SetString(PyExc_ValueError, "older");
    v = PyErr_GetRaisedException();
    HOLDS(v != NULL && PyExceptionInstance_Check(v) && !PyErr_Occurred());
    PyErr_SetString(PyExc_KeyError, "newer"); PyErr_SetRaisedException(v);
    HOLDS(PyErr_ExceptionMatches(PyExc_ValueError)); PyErr_SetRaisedException(NULL);
    HOLDS(!PyErr_Occurred());
    HOLDS(PyObject_CallMethod(target, "fail", NULL) == NULL);
    v = PyErr_GetRaisedException();
    PyErr_SetRaisedException(v);
    HOLDS(PyErr_ExceptionMatches(PyExc_LookupError)); v = PyErr_GetRaisedException();
    HOLDS(PyObject_SetAttrString(target, "raised", v) == 0); Py_DECREF(v);
    v = Py_NewRef(target); HOLDS(v == target); Py_DECREF(v);
    HOLDS(Py_XNewRef(NULL) == NULL);
    PyMutex_Lock(&mutex);
    PyMutex_Unlock(&mutex);
    Py_BEGIN_CRITICAL_SECTION(dict);
    Py_BEGIN_CRITICAL_SECTION2(dict, list);
    HOLDS(dict != list);
    Py_END_CRITICAL_SECTION2();
    Py_END_CRITICAL_SECTION();
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {{"check", check, METH_VARARGS, NULL}, {NULL, NULL, 0, NULL}};
static struct PyModuleDef def = {PyModuleDef_HEAD_INIT, "m", NULL, -1, methods, NULL, NULL, NULL, NULL};
PyMODINIT_FUNC PyInit_m(void) { return PyModule_Create(&def); }
