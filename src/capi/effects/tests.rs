//! The table parses, and says what the C-API documentation says.

use super::*;

fn get(name: &str) -> &'static Effects {
    effects(name).unwrap_or_else(|| panic!("{name} is not in the table"))
}

#[test]
fn every_row_parses_and_names_are_unique_and_sorted() {
    for (table, least) in [(PYTHON, 1500), (NUMPY, 120)] {
        let names: Vec<&str> = rows(table)
            .map(|row| parse(row).unwrap_or_else(|| panic!("bad row: {row}")).name)
            .collect();
        assert!(names.len() > least);
        for pair in names.windows(2) {
            assert!(pair[0] < pair[1], "{} stands before {}", pair[0], pair[1]);
        }
    }
}

#[test]
fn what_is_not_the_c_api_is_not_known() {
    assert_eq!(effects("malloc"), None);
    assert_eq!(effects(""), None);
}

#[test]
fn stealing_functions_steal_also_when_they_fail() {
    let stealing: &[(&str, &[u8])] = &[
        ("PyList_SetItem", &[2]),
        ("PyList_SET_ITEM", &[2]),
        ("PyTuple_SetItem", &[2]),
        ("PyTuple_SET_ITEM", &[2]),
        ("PyStructSequence_SetItem", &[2]),
        ("PyStructSequence_SET_ITEM", &[2]),
        ("PyModule_Add", &[2]),
        ("PyErr_Restore", &[0, 1, 2]),
        ("PyErr_SetExcInfo", &[0, 1, 2]),
        ("PyErr_SetRaisedException", &[0]),
        ("PyException_SetCause", &[1]),
        ("PyException_SetContext", &[1]),
        ("PyUnicode_AppendAndDel", &[1]),
        ("PyBytes_ConcatAndDel", &[1]),
        ("PyCell_SET", &[1]),
        ("PyGen_New", &[0]),
        ("PyGen_NewWithQualName", &[0]),
        ("PyCoro_New", &[0]),
        ("PyAsyncGen_New", &[0]),
        ("Py_BuildValue:N", &[0]),
        ("Py_SETREF", &[1]),
        ("Py_XSETREF", &[1]),
        ("Py_DECREF", &[0]),
        ("Py_XDECREF", &[0]),
        ("Py_DecRef", &[0]),
        ("Py_CLEAR", &[0]),
    ];
    for (name, args) in stealing {
        let always: Vec<Steal> = args
            .iter()
            .map(|&arg| Steal {
                arg,
                on: StealWhen::Always,
            })
            .collect();
        assert_eq!(get(name).steals, always, "{name}");
    }
}

#[test]
fn two_functions_steal_only_when_they_succeed() {
    let on_success = |arg| {
        vec![Steal {
            arg,
            on: StealWhen::Success,
        }]
    };
    assert_eq!(get("PyModule_AddObject").steals, on_success(2));
    // Without its first argument, a type, which model.h takes away.
    assert_eq!(get("PyObject_GC_Resize").steals, on_success(0));
}

#[test]
fn look_alikes_do_not_steal() {
    for name in [
        "PyDict_SetItem",
        "PyDict_SetItemString",
        "PyDict_SetDefault",
        "PyList_Append",
        "PyList_Insert",
        "PySequence_SetItem",
        "PyObject_SetItem",
        "PyObject_SetAttr",
        "PyObject_SetAttrString",
        "PySet_Add",
        "PyModule_AddObjectRef",
        "PyModule_AddType",
        "PyException_SetTraceback",
        "PyException_SetArgs",
        "PyErr_SetObject",
        "PyErr_SetHandledException",
        "PyCell_Set",
        "PyUnicode_Append",
        "PyBytes_Concat",
        "PyTuple_Pack",
        "PyFunction_SetDefaults",
        "PyCapsule_New",
        "Py_BuildValue:O",
        "Py_NewRef",
    ] {
        assert_eq!(get(name).steals, [], "{name}");
    }
}

#[test]
fn borrowed_results_know_their_owner() {
    let owners = [
        ("PyList_GetItem", Some(0)),
        ("PyList_GET_ITEM", Some(0)),
        ("PyDict_GetItem", Some(0)),
        ("PyDict_GetItemWithError", Some(0)),
        ("PyDict_SetDefault", Some(0)),
        ("PyTuple_GET_ITEM", Some(0)),
        ("PyModule_GetDict", Some(0)),
        ("PySequence_Fast_GET_ITEM", Some(0)),
        // A weak reference does not keep its referent alive.
        ("PyWeakref_GetObject", None),
        ("PySys_GetObject", None),
        ("PyImport_AddModule", None),
        ("PyErr_Occurred", None),
    ];
    for (name, from) in owners {
        assert_eq!(get(name).returns, Returns::Borrowed, "{name}");
        assert_eq!(get(name).derived_from, from, "{name}");
    }
}

#[test]
fn raw_pointers_live_in_their_object() {
    for name in [
        "PyUnicode_AsUTF8",
        "PyUnicode_AsUTF8AndSize",
        "PyUnicode_DATA",
        "PyBytes_AS_STRING",
        "PyBytes_AsString",
        "PyByteArray_AsString",
        "PyCapsule_GetPointer",
        "PyModule_GetState",
        "PySequence_Fast_ITEMS",
    ] {
        assert_eq!(get(name).returns, Returns::Plain, "{name}");
        assert_eq!(get(name).derived_from, Some(0), "{name}");
    }
    assert_eq!(get("PyLong_AsLong").derived_from, None);
    assert_eq!(get("PyUnicode_AsWideCharString").derived_from, None);
}

#[test]
fn outs_say_what_is_stored() {
    let one = |arg, kind| {
        vec![Out {
            arg,
            variadic: false,
            kind,
        }]
    };
    assert_eq!(get("PyDict_GetItemRef").outs, one(2, OutKind::New));
    assert_eq!(get("PyDict_SetDefaultRef").outs, one(3, OutKind::New));
    assert_eq!(get("PyWeakref_GetRef").outs, one(1, OutKind::New));
    assert_eq!(get("PyUnicode_InternInPlace").outs, one(0, OutKind::Inout));
    assert_eq!(get("PyObject_GetBuffer").outs, one(1, OutKind::Buffer));
    assert_eq!(
        get("PyBytes_AsStringAndSize").outs,
        one(1, OutKind::Pointer)
    );
    assert_eq!(get("PyArg:O").outs, one(0, OutKind::Borrowed));
    assert_eq!(get("PyArg:O!").outs, one(1, OutKind::Borrowed));
    assert_eq!(
        get("PyArg_UnpackTuple").outs,
        [Out {
            arg: 4,
            variadic: true,
            kind: OutKind::Borrowed
        }]
    );
    assert_eq!(get("PyDict_Next").outs.len(), 2);
    assert_eq!(get("PyDict_Next").derived_from, Some(0));
}

#[test]
fn pointers_that_a_call_keeps_are_known() {
    assert!(keeps_pointer("PyMemoryView_FromMemory", 0));
    assert!(!keeps_pointer("PyMemoryView_FromMemory", 1));
    assert!(keeps_pointer("PyBuffer_FillInfo", 2));
    assert!(keeps_pointer("setvbuf", 1));
    assert!(keeps_pointer("PyCapsule_New", 0) && keeps_pointer("PyCapsule_New", 1));
    assert!(!keeps_pointer("PyCapsule_New", 2));
    assert!(!keeps_pointer("PyMemoryView_FromObject", 0));
}

#[test]
fn calls_that_run_python_or_lock_say_so() {
    for name in [
        "Py_DECREF",
        "PyObject_CallNoArgs",
        "PyDict_SetItem",
        "PyEval_SaveThread",
    ] {
        assert!(get(name).runs_python, "{name}");
    }
    for name in [
        "Py_INCREF",
        "PyList_GET_SIZE",
        "PyErr_Occurred",
        "PyTuple_New",
    ] {
        assert!(!get(name).runs_python, "{name}");
    }
    assert_eq!(get("PyList_Append").locks, Some(0));
    assert_eq!(get("PyCriticalSection_Begin").locks, Some(1));
    // The lock of all types, and that of the dict which it looks into.
    assert_eq!(get("PyType_Modified").locks, Some(0));
    assert_eq!(get("PyModule_GetName").locks, Some(0));
    assert_eq!(get("PyTuple_GetItem").locks, None);
}

#[test]
fn the_rest_of_a_row() {
    assert_eq!(get("PyErr_NoMemory").returns, Returns::Null);
    assert_eq!(get("PyErr_Clear").returns, Returns::Void);
    assert_eq!(get("PyList_GetItemRef").returns, Returns::New);
    assert_eq!(get("PyList_GetItemRef").since, Some(PyVersion::new(3, 13)));
    assert_eq!(get("PyList_New").since, None);
    assert!(get("Py_FatalError").noreturn && get("Py_UNREACHABLE").noreturn);
    assert!(!get("PyErr_BadInternalCall").noreturn);
}

#[test]
fn functions_of_python_2_do_what_packages_define_them_by() {
    let names: Vec<&str> = rows(PYTHON)
        .chain(rows(NUMPY))
        .filter_map(|row| Some(parse(row)?.name))
        .collect();
    let mut found = 0;
    for &name in &names {
        let like = match name.split_once('_') {
            Some(("PyInt", what)) => vec![format!("PyLong_{what}")],
            Some(("PyString", what)) => {
                vec![format!("PyBytes_{what}"), format!("PyUnicode_{what}")]
            }
            _ => continue,
        };
        let like = like.iter().find_map(|like| effects(like));
        let like = like.unwrap_or_else(|| panic!("nothing is like {name}"));
        let own = get(name);
        assert_eq!(own.returns, like.returns, "{name}");
        assert_eq!(own.steals, like.steals, "{name}");
        assert_eq!(own.outs, like.outs, "{name}");
        assert_eq!(own.derived_from, like.derived_from, "{name}");
        assert!(own.runs_python || !like.runs_python, "{name}");
        found += 1;
    }
    assert_eq!(found, 20);
}

#[test]
fn numpy_takes_data_types_over_and_makes_arrays_of_their_own() {
    let steals = |name: &str| get(name).steals.iter().map(|it| it.arg).collect::<Vec<_>>();
    assert_eq!(steals("PyArray_FromAny"), [1]);
    assert_eq!(steals("PyArray_NewFromDescr"), [1]);
    assert_eq!(steals("PyArray_Zeros"), [2]);
    assert_eq!(steals("PyArray_Return"), [0]);
    assert_eq!(steals("PyArray_SetBaseObject"), [1]);
    assert!(steals("PyArray_FROM_OTF").is_empty());
    assert_eq!(get("PyArray_FROM_OTF").returns, Returns::New);
    assert_eq!(get("PyArray_DATA").derived_from, Some(0));
    assert_eq!(get("PyArray_DESCR").returns, Returns::Borrowed);
}
