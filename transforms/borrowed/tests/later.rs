//! Exits that end what the function begins behind the lookup only.

use super::object;

/// The lines that come in where the first lookup fails.
fn exit_of(body: &str) -> String {
    let result = object(body);
    let new = result
        .lines()
        .skip_while(|line| !line.starts_with("+    if (item == NULL)"));
    let lines: Vec<&str> = new.take_while(|line| line.starts_with('+')).collect();
    lines.join("\n") + "\n"
}

#[test]
fn buffer_that_is_not_filled_yet() {
    let second = |declared: &str| {
        exit_of(&format!(
            "    PyObject *item, *result = NULL;
    Py_buffer first, second{declared};
    if (PyObject_GetBuffer(self, &first, PyBUF_SIMPLE) < 0)
        return NULL;
    item = PyList_GET_ITEM(list, 0);
    if (PyObject_GetBuffer(item, &second, PyBUF_SIMPLE) < 0) {{
        PyBuffer_Release(&first);
        return NULL;
    }}
    if (first.len != second.len) {{
        PyErr_SetString(PyExc_ValueError, \"length\");
        goto done;
    }}
    result = compared(&first, &second);
done:
    PyBuffer_Release(&second);
    PyBuffer_Release(&first);
    return result;"
        ))
    };
    insta::assert_snapshot!([second(""), second(" = {0}")].join("---\n"), @"
        +    if (item == NULL) {
        +        PyBuffer_Release(&first);
        +        return NULL;
        +    }
        ---
        +    if (item == NULL) {
        +        goto done;
        +    }
        ");
}

#[test]
fn elements_that_are_not_stored_yet() {
    let label = |end: &str| {
        exit_of(&format!(
            "    PyObject *items[2], *item, *out = PyList_New(0);
    int k;
    if (out == NULL)
        return NULL;
    item = PyList_GET_ITEM(list, 2);
    if (PyList_Append(out, item) < 0) {{
        Py_DECREF(out);
        return NULL;
    }}
    for (k = 0; k < 2; k++)
        items[k] = PyLong_FromLong(k);
    if (PyErr_Occurred())
        goto fail;
    {end}
    return out;
fail:
    {end}
    Py_DECREF(out);
    return NULL;"
        ))
    };
    let loops = "for (k = 0; k < 2; k++)\n        Py_XDECREF(items[k]);";
    insta::assert_snapshot!(label(loops), @"
        +    if (item == NULL) {
        +        Py_DECREF(out);
        +        return NULL;
        +    }
        ");
}

#[test]
fn file_that_is_not_open_yet() {
    let end = |end: &str, null: &str| {
        exit_of(&format!(
            "    PyObject *item, *out = PyDict_New();
    FILE *file{null};
    if (out == NULL)
        return NULL;
    item = PyList_GET_ITEM(list, 0);
    if (!PyLong_Check(item)) {{
        PyErr_SetString(PyExc_TypeError, \"int\");
        Py_DECREF(out);
        return NULL;
    }}
    file = fopen(path, \"r\");
    if (file == NULL) {{
        PyErr_SetFromErrno(PyExc_OSError);
        Py_DECREF(out);
        return NULL;
    }}
    if (read_all(file, out) < 0)
        goto fail;
    fclose(file);
    return out;
fail:
    {end}
    Py_DECREF(out);
    return NULL;"
        ))
    };
    let ends = [
        end("fclose(file);", " = NULL"),
        end("if (file) fclose(file);", " = NULL"),
        end("file_free(file);", " = NULL"),
        end("fclose(file);", ""),
    ];
    insta::assert_snapshot!(ends.join("---\n"), @"
        +    if (item == NULL) {
        +        Py_DECREF(out);
        +        return NULL;
        +    }
        ---
        +    if (item == NULL) {
        +        Py_DECREF(out);
        +        return NULL;
        +    }
        ---
        +    if (item == NULL) {
        +        goto fail;
        +    }
        ---
        +    if (item == NULL) {
        +        Py_DECREF(out);
        +        return NULL;
        +    }
        ");
}
