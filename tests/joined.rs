//! Fixes of several rules in one function: they go in together, and a second run finds nothing.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

fn ungil(folder: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_ungil"))
        .args(args)
        .arg(folder)
        .output()
        .unwrap()
}

/// What `migrate` makes of the function; a second run must have nothing to add.
fn migrated(body: &str) -> String {
    migrated_with(&[], body)
}

/// The same with more options.
fn migrated_with(options: &[&str], body: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("m.c");
    let head = "#include <Python.h>\n";
    fs::write(&file, format!("{head}{}", body.trim_start())).unwrap();
    let output = ungil(
        folder.path(),
        &[&["migrate", "--allow-no-vcs"], options].concat(),
    );
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!said.contains("left out"), "{said}");
    let again = ungil(folder.path(), &[&["diff"], options].concat());
    assert_eq!(String::from_utf8_lossy(&again.stdout), "");
    fs::read_to_string(&file).unwrap()
}

#[test]
fn a_release_and_a_section_before_one_return() {
    insta::assert_snapshot!(migrated(
        r#"
static int f(PyObject *dict, PyObject *other)
{
    PyObject *key, *value, *w = PyDict_GetItemString(other, "x");
    Py_ssize_t pos = 0;

    while (PyDict_Next(dict, &pos, &key, &value)) {
        if (look(w))
            return 1;
    }
    pos = 0;
    while (PyDict_Next(other, &pos, &key, &value)) {
        return 2;
    }
    return 0;
}
"#
    ), @r#"
        #include <Python.h>
        #include "pyapi_compat.h"
        static int f(PyObject *dict, PyObject *other)
        {
            PyObject *key, *value, *w;
            Py_ssize_t pos = 0;
            int stopped = 0;
            int stopped2 = 0;
            if (PyDict_GetItemStringRef(other, "x", &w) < 0) {
                PyErr_WriteUnraisable(NULL);
            }

            Py_BEGIN_CRITICAL_SECTION(dict);
            while (PyDict_Next(dict, &pos, &key, &value)) {
                if (look(w)) {
                    Py_XDECREF(w);
                    stopped = 1;
                    break;
                }
            }
            Py_END_CRITICAL_SECTION();
            if (stopped) {
                return 1;
            }
            Py_XDECREF(w);
            pos = 0;
            Py_BEGIN_CRITICAL_SECTION(other);
            while (PyDict_Next(other, &pos, &key, &value)) {
                stopped2 = 1;
                break;
            }
            Py_END_CRITICAL_SECTION();
            if (stopped2) {
                return 2;
            }
            return 0;
        }
        "#);
}

#[test]
fn a_lookup_in_a_loop_without_braces() {
    insta::assert_snapshot!(migrated(
        r#"
static int f(PyObject *dict, PyObject *other)
{
    PyObject *key, *value;
    Py_ssize_t pos = 0;
    int n = 0;
    while (PyDict_Next(dict, &pos, &key, &value))
        n += weigh(PyLong_AsLong(PyList_GetItem(other, n)));
    if (PyErr_Occurred())
        return -1;
    return n;
}
"#
    ), @r#"
        #include <Python.h>
        #include "pyapi_compat.h"
        static int f(PyObject *dict, PyObject *other)
        {
            PyObject *key, *value;
            Py_ssize_t pos = 0;
            int n = 0;
            Py_BEGIN_CRITICAL_SECTION(dict);
            while (PyDict_Next(dict, &pos, &key, &value)) {
                PyObject *item = PyList_GetItemRef(other, n);
                n += weigh(PyLong_AsLong(item));
                Py_XDECREF(item);
            }
            Py_END_CRITICAL_SECTION();
            if (PyErr_Occurred())
                return -1;
            return n;
        }
        "#);
}

#[test]
fn a_field_in_the_text_that_another_fix_moves() {
    insta::assert_snapshot!(migrated_with(&["--unsafe-fixes"],
        r#"
static int f(PyObject *self)
{
    int n = 0;
    if (PyDict_GetItemString(self->ob_type->tp_dict, "x"))
        n = 1;
    return n;
}
"#
    ), @r#"
        #include <Python.h>
        #include "pyapi_compat.h"
        static int f(PyObject *self)
        {
            int n = 0;
            int found;
            found = PyDict_ContainsString(Py_TYPE(self)->tp_dict, "x");
            if (found < 0) {
                PyErr_WriteUnraisable(NULL);
            }
            if (found == 1)
                n = 1;
            return n;
        }
        "#);
}

#[test]
fn a_lookup_in_what_is_filled_under_a_mutex() {
    insta::assert_snapshot!(migrated_with(&["--unsafe-fixes"],
        r#"
static void f(PyObject *dict, PyObject *key)
{
    static PyObject *name = NULL;
    PyObject *value = PyDict_GetItem(dict, key);
    if (value == NULL)
        return;
    if (!name) {
        name = PyUnicode_InternFromString("x");
        if (!name) {
            PyErr_Clear();
            return;
        }
    }
    Py_XDECREF(PyObject_CallMethodObjArgs(value, name, NULL));
}
"#
    ), @r#"
        #include <Python.h>
        #include "pyapi_compat.h"
        static void f(PyObject *dict, PyObject *key)
        {
            static PyObject *name = NULL;
            static PyMutex name_mutex;
            PyObject *value;
            if (PyDict_GetItemRef(dict, key, &value) < 0) {
                PyErr_WriteUnraisable(NULL);
            }
            if (value == NULL)
                return;
            PyMutex_Lock(&name_mutex);
            if (!name) {
                name = PyUnicode_InternFromString("x");
            }
            PyMutex_Unlock(&name_mutex);
            if (!name) {
                Py_DECREF(value);
                PyErr_Clear();
                return;
            }
            Py_XDECREF(PyObject_CallMethodObjArgs(value, name, NULL));
            Py_DECREF(value);
        }
        "#);
}

#[test]
fn two_lookups_behind_a_section() {
    insta::assert_snapshot!(migrated(
        r#"
static PyObject *f(PyObject *d, PyObject *l, PyObject *out)
{
    PyObject *k, *v;
    Py_ssize_t pos = 0;
    long a, b;

    while (PyDict_Next(d, &pos, &k, &v)) {
        if (PyList_Append(out, k) < 0)
            return NULL;
    }
    a = PyLong_AsLong(PyList_GET_ITEM(l, 0));
    b = PyLong_AsLong(PyList_GET_ITEM(l, 1));
    if (PyErr_Occurred() || a > b)
        return NULL;
    return PyLong_FromLong(a + b);
}
"#
    ), @r#"
        #include <Python.h>
        #include "pyapi_compat.h"
        static PyObject *f(PyObject *d, PyObject *l, PyObject *out)
        {
            PyObject *k, *v;
            Py_ssize_t pos = 0;
            long a, b;
            PyObject *item;
            int failed = 0;
            PyObject *item2;

            Py_BEGIN_CRITICAL_SECTION(d);
            while (PyDict_Next(d, &pos, &k, &v)) {
                Py_INCREF(k);
                if (PyList_Append(out, k) < 0) {
                    Py_DECREF(k);
                    failed = 1;
                    break;
                }
                Py_DECREF(k);
            }
            Py_END_CRITICAL_SECTION();
            if (failed)
                return NULL;
            item = PyList_GetItemRef(l, 0);
            if (item == NULL) {
                return NULL;
            }
            a = PyLong_AsLong(item);
            Py_DECREF(item);
            item2 = PyList_GetItemRef(l, 1);
            if (item2 == NULL) {
                return NULL;
            }
            b = PyLong_AsLong(item2);
            Py_DECREF(item2);
            if (PyErr_Occurred() || a > b)
                return NULL;
            return PyLong_FromLong(a + b);
        }
        "#);
}

#[test]
fn a_list_is_owned_and_held_still() {
    insta::assert_snapshot!(migrated(
        r#"
int kind_of(PyObject *all, int *kind)
{
    PyObject *list;
    Py_ssize_t i, n;
    int is_text = 1;
    list = PyDict_GetItemString(all, "x");
    if (list == NULL)
        return -1;
    n = PyList_Size(list);
    if (n == 0) {
        *kind = 1;
        return 2;
    }
    for (i = 0; i < n && is_text; i++)
        is_text = PyUnicode_Check(PyList_GET_ITEM(list, i));
    *kind = is_text;
    return 0;
}
"#
    ), @r#"
        #include <Python.h>
        #include "pyapi_compat.h"
        int kind_of(PyObject *all, int *kind)
        {
            PyObject *list;
            Py_ssize_t i, n;
            int is_text = 1;
            int stopped = 0;
            if (PyDict_GetItemStringRef(all, "x", &list) < 0) {
                PyErr_WriteUnraisable(NULL);
            }
            if (list == NULL)
                return -1;
            Py_BEGIN_CRITICAL_SECTION(list);
            n = PyList_Size(list);
            if (n == 0) {
                stopped = 1;
                goto end_section;
            }
            for (i = 0; i < n && is_text; i++)
                is_text = PyUnicode_Check(PyList_GET_ITEM(list, i));
        end_section: ;
            Py_END_CRITICAL_SECTION();
            if (stopped) {
                Py_DECREF(list);
                *kind = 1;
                return 2;
            }
            Py_DECREF(list);
            *kind = is_text;
            return 0;
        }
        "#);
}

const FETCH: &str = r#"#include <Python.h>
static int f(PyObject *ret, char ***names, int *count)
{
    PyObject *tmp;
    int i, status = -1;
    tmp = PyDict_GetItemString(ret, "step");
    if (tmp == NULL) {
        set_error("no step");
        goto err;
    } else if (!PyLong_Check(tmp)) {
        set_error("no int");
        goto err;
    } else {
        i = PyLong_AsLong(tmp);
    }
    tmp = PyDict_GetItemString(ret, "data");
    if (tmp == NULL) {
        set_error("no data");
        goto err;
    } else {
        *count = (int)PyDict_Size(tmp);
        *names = calloc(*count, sizeof(char *));
        if (*names == NULL) {
            set_error("no memory");
            goto err;
        }
        PyObject *key, *value;
        Py_ssize_t pos = 0;
        int x = 0;
        while (PyDict_Next(tmp, &pos, &key, &value)) {
            if (!PyBytes_Check(key)) {
                set_error("no bytes");
                goto free_err;
            }
            (*names)[x++] = strdup(PyBytes_AS_STRING(key));
        }
        i += PyDict_Contains(tmp, Py_None);
    }
    status = 0;
    goto err;
free_err:
    for (i = 0; i < *count; i++) free((*names)[i]);
    free(*names);
err:
    return status;
}
"#;

/// The lookup releases the dict in front of the exit, where the section still has its lock: it has a
/// reference of its own.
#[test]
fn a_section_holds_a_dict_that_its_lookup_releases() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("m.c");
    fs::write(&file, FETCH).unwrap();
    let migrate = || {
        ungil(folder.path(), &["migrate", "--allow-no-vcs"]);
        fs::read_to_string(&file).unwrap()
    };
    let first = migrate();
    assert_eq!(
        first.matches("PyDict_GetItemStringRef(").count(),
        2,
        "{first}"
    );
    let held = "        Py_INCREF(tmp);
        Py_BEGIN_CRITICAL_SECTION(tmp);
";
    let released = "        Py_END_CRITICAL_SECTION();
        Py_DECREF(tmp);
";
    assert!(first.contains(held) && first.contains(released), "{first}");
    assert_eq!(migrate(), first);
}
