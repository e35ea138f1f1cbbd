#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stddef.h>
#include <structmember.h>

/* A static type, and one made of slots; both clear their lists in the destructor. */

typedef struct {
    PyObject_HEAD
    PyObject *weakrefs;
} Node;

static void
Node_dealloc(Node *self)
{
    if (self->weakrefs != NULL)
        PyObject_ClearWeakRefs((PyObject *)self);
    Py_TYPE(self)->tp_free(self);
}

static PyTypeObject Node_Type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "weak.Node",
    .tp_basicsize = sizeof(Node),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
    .tp_dealloc = (destructor)Node_dealloc,
    .tp_weaklistoffset = offsetof(Node, weakrefs),
    .tp_new = PyType_GenericNew,
};

static void
Made_dealloc(PyObject *op)
{
    Node *self = (Node *)op;
    PyTypeObject *type = Py_TYPE(op);
    if (self->weakrefs) {
        PyObject_ClearWeakRefs(op);
    }
    type->tp_free(self);
    Py_DECREF(type);
}

static PyMemberDef Made_members[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(Node, weakrefs), READONLY},
    {NULL},
};

static PyType_Slot Made_slots[] = {
    {Py_tp_dealloc, Made_dealloc},
    {Py_tp_members, Made_members},
    {0, NULL},
};

static PyType_Spec Made_spec = {
    .name = "weak.Made",
    .basicsize = sizeof(Node),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
    .slots = Made_slots,
};

static int
weak_exec(PyObject *module)
{
    if (PyModule_AddType(module, &Node_Type) < 0)
        return -1;
    PyObject *made = PyType_FromSpec(&Made_spec);
    int status = PyModule_AddObjectRef(module, "Made", made);
    Py_XDECREF(made);
    return status;
}

static PyModuleDef_Slot weak_slots[] = {
    {Py_mod_exec, weak_exec},
#ifdef Py_GIL_DISABLED
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
    {0, NULL},
};

static struct PyModuleDef weak_module = {
    PyModuleDef_HEAD_INIT,
    .m_name = "weak",
    .m_slots = weak_slots,
};

PyMODINIT_FUNC
PyInit_weak(void)
{
    return PyModuleDef_Init(&weak_module);
}
