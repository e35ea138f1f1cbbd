//! `ungil check --abi3t`: what keeps modules from the stable ABI of Python 3.15.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use serde_json::Value;
use support::snapshots;
use support::tree::Tree;

/// A module with each kind of obstacle, and with code that builds for `abi3t` leave out.
const STOCK: &[u8] = br#"#define Py_LIMITED_API 0x03090000
#include <Python.h>

typedef struct {
    PyObject_HEAD
    PyObject *items;
} Stock;

#define FIRST(list) PyList_GET_ITEM(list, 0)

static PyTypeObject Stock_Type;

static PyObject *
first(PyObject *self, PyObject *list)
{
#ifdef Py_TARGET_ABI3T
    return PyList_GetItemRef(list, 0);
#else
    return Py_XNewRef(PyTuple_GET_ITEM(list, 0));
#endif
}

static void
dealloc(PyObject *self)
{
    Py_CLEAR(((Stock *)self)->items);
    self->ob_type->tp_free(self);
    Py_TYPE(self)->tp_free(FIRST(self));
}

static PyTypeObject Stock_Type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "stock.Stock",
    .tp_dealloc = dealloc,
};

static PyMethodDef methods[] = {{"first", first, METH_O, NULL}, {NULL}};

#ifndef Py_TARGET_ABI3T
static struct PyModuleDef stock = {
    PyModuleDef_HEAD_INIT, .m_name = "stock", .m_methods = methods,
};
PyMODINIT_FUNC PyInit_stock(void) { return PyModuleDef_Init(&stock); }
#endif
"#;

const SETUP: &[u8] = b"from setuptools import Extension, setup\n
setup(ext_modules=[Extension('stock', ['stock.c'], py_limited_api=True)],
      options={'bdist_wheel': {'py_limited_api': 'cp39'}})\n";

#[test]
fn each_obstacle_is_named_with_its_lines() {
    let tree = Tree::new(&[("stock.c", STOCK), ("setup.py", SETUP)]);
    let ran = tree.ungil(&["check", "--abi3t"]);
    assert_eq!(ran.status, 1);
    snapshots::settings("cli").bind(|| insta::assert_snapshot!("abi3t_report", ran.text()));
    insta::assert_snapshot!(ran.stderr, @"1 of 1 module cannot be built for `abi3t`");
}

#[test]
fn programs_get_the_same_places() {
    let tree = Tree::new(&[("stock.c", STOCK)]);
    let ran = tree.ungil(&["check", "--abi3t", "--output-format", "json"]);
    let modules: Value = serde_json::from_slice(&ran.stdout).unwrap();
    assert_eq!(modules[0]["module"], "stock");
    let obstacles = modules[0]["obstacles"].as_array().unwrap().iter();
    let place = |obstacle: &Value| {
        let kind = obstacle["kind"].as_str().unwrap().to_owned();
        let name = obstacle["name"].as_str().unwrap().to_owned();
        (kind, name, obstacle["places"][0]["line"].as_u64().unwrap())
    };
    let found: Vec<_> = obstacles.map(place).collect();
    insta::assert_debug_snapshot!(found, @r#"
    [
        (
            "older-version",
            "3.9",
            1,
        ),
        (
            "static-type",
            "Stock_Type",
            31,
        ),
        (
            "instance-layout",
            "Stock",
            4,
        ),
        (
            "field",
            "PyObject.ob_type",
            27,
        ),
        (
            "field",
            "PyTypeObject.tp_free",
            27,
        ),
        (
            "name",
            "PyList_GET_ITEM",
            9,
        ),
    ]
    "#);
}

#[test]
fn a_module_without_obstacles_is_clean() {
    let text = b"#include <Python.h>\n
static int exec(PyObject *module) { return 0; }
#ifdef Py_TARGET_ABI3T
PyMODEXPORT_FUNC PyModExport_free(void) { return NULL; }
#else
static PyModuleDef_Slot slots[] = {{Py_mod_exec, exec}, {0, NULL}};
static struct PyModuleDef def = {PyModuleDef_HEAD_INIT, .m_name = \"free\", .m_slots = slots};
PyMODINIT_FUNC PyInit_free(void) { return PyModuleDef_Init(&def); }
#endif\n";
    let ran = Tree::new(&[("free.c", text)]).ungil(&["check", "--abi3t"]);
    assert_eq!(ran.status, 0);
    assert_eq!(
        ran.text(),
        "Module `free` (free.c): nothing prevents a build for `abi3t`\n\n"
    );
}

#[test]
fn other_formats_are_refused() {
    let tree = Tree::new(&[("stock.c", STOCK)]);
    let ran = tree.ungil(&["check", "--abi3t", "--output-format", "sarif"]);
    assert_eq!(ran.status, 2);
    assert!(
        ran.stderr.contains("`--abi3t` supports only"),
        "{}",
        ran.stderr
    );
}
