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
        4: `frozen` is filled on first use: two threads may both fill it
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
        1: `loads` is filled on first use: two threads may both fill it
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
