//! Values that are made with the mutex free, and stored if nobody was faster.

use super::cache;

#[test]
fn an_import_and_an_attribute() {
    insta::assert_snapshot!(cache("\
static PyObject *
f(PyObject *self, PyObject *unused)
{
    static PyObject *frozen = NULL;  /* type object */
    int is_frozen;

    if (frozen == NULL) {
        PyObject *module;

        if ((module = PyImport_ImportModule(\"m\")) == NULL)
            return NULL;
        frozen = PyObject_GetAttrString(module,
                                        \"frozen\");
        Py_DECREF(module);
        if (frozen == NULL)
            return NULL;
    }
    is_frozen = PyObject_IsInstance(self, frozen);
    return PyLong_FromLong(is_frozen);
}
"), @r#"
        4: `frozen` is filled on first use; two threads may both fill it
          12: `f` writes it here
          safe: make the value of `frozen` first, and store it under a mutex
        @@
         {
             static PyObject *frozen = NULL;  /* type object */
        +    static PyMutex frozen_mutex;
             int is_frozen;
        +    PyObject *new_frozen = NULL;
         
        +    PyMutex_Lock(&frozen_mutex);
             if (frozen == NULL) {
                 PyObject *module;
         
        +        PyMutex_Unlock(&frozen_mutex);
                 if ((module = PyImport_ImportModule("m")) == NULL)
                     return NULL;
        -        frozen = PyObject_GetAttrString(module,
        -                                        "frozen");
        +        new_frozen = PyObject_GetAttrString(module,
        +                                            "frozen");
                 Py_DECREF(module);
        -        if (frozen == NULL)
        +        if (new_frozen == NULL)
                     return NULL;
        +        PyMutex_Lock(&frozen_mutex);
        +        if (frozen == NULL) {
        +            frozen = Py_NewRef(new_frozen);
        +        }
             }
        +    PyMutex_Unlock(&frozen_mutex);
        +    Py_XDECREF(new_frozen);
             is_frozen = PyObject_IsInstance(self, frozen);
             return PyLong_FromLong(is_frozen);
        "#);
}

#[test]
fn an_assignment_in_a_test() {
    insta::assert_snapshot!(cache("\
static PyObject *loads;
static PyObject *
f(PyObject *self, PyObject *unused)
{
\tif (!loads)
\t{
\t\tPyObject *json = PyImport_ImportModule(\"json\");
\t\tif (!json)
\t\t\treturn NULL;
\t\tif (!(loads = PyObject_GetAttrString(json, \"loads\")))
\t\t{
\t\t\tPy_DECREF(json);
\t\t\treturn NULL;
\t\t}
\t\tPy_DECREF(json);
\t}
\treturn PyObject_CallNoArgs(loads);
}
"), @r#"
        1: `loads` is filled on first use; two threads may both fill it
          10: `f` writes it here
          safe: make the value of `loads` first, and store it under a mutex
        @@
         static PyObject *loads;
        +static PyMutex loads_mutex;
         static PyObject *
         f(PyObject *self, PyObject *unused)
         {
        +	PyObject *new_loads = NULL;
        +	PyMutex_Lock(&loads_mutex);
         	if (!loads)
         	{
        -		PyObject *json = PyImport_ImportModule("json");
        +		PyObject *json;
        +		PyMutex_Unlock(&loads_mutex);
        +		json = PyImport_ImportModule("json");
         		if (!json)
         			return NULL;
        -		if (!(loads = PyObject_GetAttrString(json, "loads")))
        +		if (!(new_loads = PyObject_GetAttrString(json, "loads")))
         		{
         			Py_DECREF(json);
        @@
         		}
         		Py_DECREF(json);
        +		PyMutex_Lock(&loads_mutex);
        +		if (!loads)
        +		{
        +			loads = Py_NewRef(new_loads);
        +		}
         	}
        +	PyMutex_Unlock(&loads_mutex);
        +	Py_XDECREF(new_loads);
         	return PyObject_CallNoArgs(loads);
         }
        "#);
}

const ROW: &str = "\
static PyObject *row;
static PyObject *
g(PyObject *self, PyObject *unused)
{
    PyObject *module;

    if (row == NULL) {
        module = PyImport_ImportModule(\"row\");
        if (module == NULL)
            return NULL;
        row = module;
    }
    return PyObject_GetAttrString(row, \"g\");
}
static PyObject *
f(PyObject *self, PyObject *unused)
{
    if (row == NULL) {
        PyObject *module = PyImport_ImportModule(\"row\");
        row = module;
        if (row == NULL)
            return NULL;
    }
    Py_XDECREF(g(self, unused));
    return PyObject_GetAttrString(row, \"f\");
}
";

#[test]
fn a_local_that_holds_it_first_in_two_functions() {
    insta::assert_snapshot!(cache(ROW), @r#"
        1: `row` is filled on first use; two threads may both fill it
          11: `g` writes it here
          20: `f` writes it here
          safe: make the value of `row` first, and store it under a mutex
        @@
         static PyObject *row;
        +static PyMutex row_mutex;
         static PyObject *
         g(PyObject *self, PyObject *unused)
         {
             PyObject *module;
        +    PyObject *new_row = NULL;
         
        +    PyMutex_Lock(&row_mutex);
             if (row == NULL) {
        +        PyMutex_Unlock(&row_mutex);
                 module = PyImport_ImportModule("row");
                 if (module == NULL)
                     return NULL;
        -        row = module;
        +        new_row = module;
        +        PyMutex_Lock(&row_mutex);
        +        if (row == NULL) {
        +            row = Py_NewRef(new_row);
        +        }
             }
        +    PyMutex_Unlock(&row_mutex);
        +    Py_XDECREF(new_row);
             return PyObject_GetAttrString(row, "g");
         }
        @@
         f(PyObject *self, PyObject *unused)
         {
        +    PyObject *new_row = NULL;
        +    PyMutex_Lock(&row_mutex);
             if (row == NULL) {
        -        PyObject *module = PyImport_ImportModule("row");
        -        row = module;
        -        if (row == NULL)
        +        PyObject *module;
        +        PyMutex_Unlock(&row_mutex);
        +        module = PyImport_ImportModule("row");
        +        new_row = module;
        +        if (new_row == NULL)
                     return NULL;
        +        PyMutex_Lock(&row_mutex);
        +        if (row == NULL) {
        +            row = Py_NewRef(new_row);
        +        }
             }
        +    PyMutex_Unlock(&row_mutex);
        +    Py_XDECREF(new_row);
             Py_XDECREF(g(self, unused));
             return PyObject_GetAttrString(row, "f");
        "#);
}

#[test]
fn a_local_that_is_used_otherwise_does_not_give_its_reference_away() {
    let text = |more: &str| {
        format!(
            "static PyObject *row;\nstatic PyObject *f(PyObject *self, PyObject *unused)\n{{\n    \
             PyObject *m;\n    if (row == NULL) {{\n        m = PyImport_ImportModule(\"m\");\n        \
             row = m;\n        {more}\n    }}\n    return Py_XNewRef(row);\n}}\n"
        )
    };
    let refused = |more: &str| !cache(&text(more)).contains("make the value of `row` first");
    assert!(!refused("if (m == NULL) PyErr_Clear();"));
    assert!(refused("PyObject_SetAttrString(self, \"m\", m);"));
    assert!(refused("m = PyImport_ImportModule(\"n\");"));
    assert!(refused("Py_XINCREF(m);"));
}
