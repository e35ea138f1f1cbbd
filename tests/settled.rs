//! What one fix makes possible for another lookup of the function is made in the same run.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::Path;
use std::process::Command;

/// Lookups that get their exits from other lookups of the function.
const TEXT: &str = "#include <Python.h>
typedef struct { PyObject_HEAD int n; } Row;
void show(PyObject *);
int is_busy(void);

static int first_two(PyObject *list, Py_ssize_t i)
{
    int n = 0;
    PyObject *second;
    PyObject *first = PyList_GetItem(list, i);
    if (first == NULL)
        return -1;
    show(first);
    second = PyList_GetItem(list, i + 1);
    if (!second)
        goto done;
    show(second);
done:
    return n;
}

static double width(Row *row, PyObject *list, Py_ssize_t i)
{
    PyObject *edge, *item;
    item = PyList_GetItem(list, i);
    row->n = item == Py_None;
    if (is_busy())
        return -1.0;
    edge = PyList_GET_ITEM(list, i);
    if (edge == NULL)
        return -1.0;
    row->n += edge == Py_None;
    return row->n;
}

static double sum(PyObject *list, Py_ssize_t i)
{
    int n = 0;
    PyObject *item = PyList_GetItem(list, i);
    if (item == NULL)
        return -1.0;
    n += PyLong_AsLong(item);
    if (is_busy()) {
        PyObject *text = PyList_GET_ITEM(list, i);
        if (!PyUnicode_Check(text))
            return -1.0;
        show(text);
    }
    return n;
}
";

fn migrate(folder: &Path) -> String {
    let mut ungil = Command::new(env!("CARGO_BIN_EXE_ungil"));
    let output = ungil
        .args([
            "migrate",
            "--isolated",
            "--allow-no-vcs",
            "--min-python",
            "3.13",
        ])
        .arg(".")
        .current_dir(folder)
        .output()
        .unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    said.lines().next().unwrap().to_owned()
}

#[test]
fn a_second_run_finds_nothing() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("m.c"), TEXT).unwrap();
    let said = [migrate(folder.path()), migrate(folder.path())];
    insta::assert_snapshot!(said.join("\n"), @"
    5 fixes written to 1 file
    0 fixes written to 0 files
    ");
    let text = fs::read_to_string(folder.path().join("m.c")).unwrap();
    let added = text.lines().filter(|line| !TEXT.contains(line));
    let added: Vec<&str> = added.map(str::trim).collect();
    insta::assert_snapshot!(added.join("\n"), @"
    PyObject *first = PyList_GetItemRef(list, i);
    Py_DECREF(first);
    item = PyList_GetItemRef(list, i);
    if (item == NULL) {
    Py_DECREF(item);
    edge = PyList_GetItemRef(list, i);
    Py_DECREF(edge);
    PyObject *item = PyList_GetItemRef(list, i);
    Py_DECREF(item);
    PyObject *text = PyList_GetItemRef(list, i);
    if (text == NULL) {
    }
    if (!PyUnicode_Check(text)) {
    Py_DECREF(text);
    }
    Py_DECREF(text);
    ");
}
