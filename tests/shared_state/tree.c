#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* A tree of numbers behind a pointer, which helpers change and read. */

typedef struct node {
    long key;
    struct node *left, *right;
} node;

typedef struct {
    node *root;
} tree;

typedef struct {
    PyObject_HEAD
    tree *tree;
    long size;
} TreeObject;

static node **
tree_place(tree *t, long key)
{
    node **at = &t->root;
    while (*at != NULL && (*at)->key != key)
        at = key < (*at)->key ? &(*at)->left : &(*at)->right;
    return at;
}

static int
tree_add(tree *t, long key)
{
    node **at = tree_place(t, key);
    if (*at == NULL) {
        node *fresh = PyMem_Calloc(1, sizeof(node));
        if (fresh == NULL)
            return -1;
        fresh->key = key;
        *at = fresh;
    }
    return 0;
}

static void
tree_remove(tree *t, long key)
{
    node **at = tree_place(t, key), **last, *old = *at;
    if (old == NULL)
        return;
    if (old->left == NULL) {
        *at = old->right;
    }
    else {
        for (last = &old->left; *last != NULL; last = &(*last)->right)
            ;
        *last = old->right;
        *at = old->left;
    }
    PyMem_Free(old);
}

static void
nodes_free(node *at)
{
    if (at != NULL) {
        nodes_free(at->left);
        nodes_free(at->right);
        PyMem_Free(at);
    }
}

static int
nodes_list(const node *at, PyObject *list)
{
    PyObject *key;
    int failed;
    if (at == NULL)
        return 0;
    if (nodes_list(at->left, list) < 0)
        return -1;
    key = PyLong_FromLong(at->key);
    if (key == NULL)
        return -1;
    failed = PyList_Append(list, key);
    Py_DECREF(key);
    return failed < 0 ? -1 : nodes_list(at->right, list);
}

static PyObject *
Tree_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    TreeObject *self = (TreeObject *)type->tp_alloc(type, 0);
    if (self == NULL)
        return NULL;
    self->tree = PyMem_Calloc(1, sizeof(tree));
    if (self->tree == NULL) {
        Py_DECREF(self);
        return PyErr_NoMemory();
    }
    return (PyObject *)self;
}

static int
Tree_init(TreeObject *self, PyObject *args, PyObject *kwargs)
{
    long key, size;
    if (!PyArg_ParseTuple(args, "l", &size))
        return -1;
    nodes_free(self->tree->root);
    self->tree->root = NULL;
    self->size = size;
    for (key = 0; key < size; key++) {
        if (tree_add(self->tree, key * 37 % size) < 0) {
            PyErr_NoMemory();
            return -1;
        }
    }
    return 0;
}

static void
Tree_dealloc(TreeObject *self)
{
    if (self->tree != NULL)
        nodes_free(self->tree->root);
    PyMem_Free(self->tree);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

static PyObject *
Tree_add(TreeObject *self, PyObject *arg)
{
    long key = PyLong_AsLong(arg);
    if (key == -1 && PyErr_Occurred())
        return NULL;
    if (tree_add(self->tree, key) < 0)
        return PyErr_NoMemory();
    Py_RETURN_NONE;
}

static PyObject *
Tree_remove(TreeObject *self, PyObject *arg)
{
    long key = PyLong_AsLong(arg);
    if (key == -1 && PyErr_Occurred())
        return NULL;
    tree_remove(self->tree, key);
    Py_RETURN_NONE;
}

static PyObject *
Tree_has(TreeObject *self, PyObject *arg)
{
    long key = PyLong_AsLong(arg);
    if (key == -1 && PyErr_Occurred())
        return NULL;
    return PyBool_FromLong(*tree_place(self->tree, key) != NULL);
}

static PyObject *
Tree_keys(TreeObject *self, PyObject *ignored)
{
    PyObject *list = PyList_New(0);
    if (list != NULL && nodes_list(self->tree->root, list) < 0)
        Py_CLEAR(list);
    return list;
}

static PyObject *
Tree_size(TreeObject *self, PyObject *ignored)
{
    return PyLong_FromLong(self->size);
}

static PyMethodDef Tree_methods[] = {
    {"add", (PyCFunction)Tree_add, METH_O, NULL},
    {"remove", (PyCFunction)Tree_remove, METH_O, NULL},
    {"has", (PyCFunction)Tree_has, METH_O, NULL},
    {"keys", (PyCFunction)Tree_keys, METH_NOARGS, NULL},
    {"size", (PyCFunction)Tree_size, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL}
};

static PyTypeObject Tree_Type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "tree.Tree",
    .tp_basicsize = sizeof(TreeObject),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_new = Tree_new,
    .tp_init = (initproc)Tree_init,
    .tp_dealloc = (destructor)Tree_dealloc,
    .tp_methods = Tree_methods,
};

static struct PyModuleDef tree_module = {
    PyModuleDef_HEAD_INIT, .m_name = "tree", .m_size = -1,
};

PyMODINIT_FUNC
PyInit_tree(void)
{
    PyObject *module;
    if (PyType_Ready(&Tree_Type) < 0)
        return NULL;
    module = PyModule_Create(&tree_module);
    if (module == NULL)
        return NULL;
    if (PyModule_AddObjectRef(module, "Tree", (PyObject *)&Tree_Type) < 0) {
        Py_DECREF(module);
        return NULL;
    }
    return module;
}
