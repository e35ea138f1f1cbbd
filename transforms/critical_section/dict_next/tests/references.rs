//! Key and value that calls get, that are used after calls, or after the loop.

use super::diff;

#[test]
fn what_calls_get_is_held_by_references() {
    let text = r#"
static int
visit_all(PyObject *d)
{
    PyObject *key, *value;
    Py_ssize_t pos = 0;

    while (PyDict_Next(d, &pos, &key, &value)) {
        if (key == Py_None)
            continue;
        if (visit(key, value) < 0) {
            return -1;
        }
        if (value == Py_None)
            break;
    }
    return 0;
}
"#;
    insta::assert_snapshot!(diff(text), @r##"
    8: `d` is iterated over without its lock; another thread may change the dict meanwhile
      8: the dict is `d`, which the caller passes; another thread can change it between two calls
      11: `visit` can run Python code, which may also change the dict
      safe: iterate over `d` in a critical section
    @@
         PyObject *key, *value;
         Py_ssize_t pos = 0;
    +    int failed = 0;
     
    +    Py_BEGIN_CRITICAL_SECTION(d);
         while (PyDict_Next(d, &pos, &key, &value)) {
    -        if (key == Py_None)
    +        Py_INCREF(key);
    +        Py_INCREF(value);
    +        if (key == Py_None) {
    +            Py_DECREF(value);
    +            Py_DECREF(key);
                 continue;
    +        }
             if (visit(key, value) < 0) {
    -            return -1;
    +            Py_DECREF(value);
    +            Py_DECREF(key);
    +            failed = 1;
    +            break;
             }
    -        if (value == Py_None)
    +        if (value == Py_None) {
    +            Py_DECREF(value);
    +            Py_DECREF(key);
                 break;
    +        }
    +        Py_DECREF(value);
    +        Py_DECREF(key);
         }
    +    Py_END_CRITICAL_SECTION();
    +    if (failed)
    +        return -1;
         return 0;
     }
    "##);
}

#[test]
fn what_is_used_after_a_call_is_held() {
    let text = r#"
static int
visit_all(PyObject *d)
{
    PyObject *key, *value;
    Py_ssize_t pos = 0;
    int n = 0;

    while (PyDict_Next(d, &pos, &key, &value)) {
        PyErr_Clear();
        n += PyUnicode_GET_LENGTH(key);
    }
    return n;
}
"#;
    insta::assert_snapshot!(diff(text), @r##"
    9: `d` is iterated over without its lock; another thread may change the dict meanwhile
      9: the dict is `d`, which the caller passes; another thread can change it between two calls
      10: `PyErr_Clear` can run Python code, which may also change the dict
      safe: iterate over `d` in a critical section
    @@
         int n = 0;
     
    +    Py_BEGIN_CRITICAL_SECTION(d);
         while (PyDict_Next(d, &pos, &key, &value)) {
    +        Py_INCREF(key);
             PyErr_Clear();
             n += PyUnicode_GET_LENGTH(key);
    +        Py_DECREF(key);
         }
    +    Py_END_CRITICAL_SECTION();
         return n;
     }
    "##);
}

#[test]
fn references_are_released_before_every_way_out() {
    let text = r#"
static PyObject *
copy(PyObject *d)
{
    PyObject *key, *value, *result;
    Py_ssize_t pos = 0;

    result = PyDict_New();
    if (!result)
        return NULL;
    while (PyDict_Next(d, &pos, &key, &value))
        if (PyDict_SetItem(result, key, value) < 0)
        {
            Py_DECREF(result);
            return NULL;
        }
    return result;
}
"#;
    insta::assert_snapshot!(diff(text), @r##"
    11: `d` is iterated over without its lock; another thread may change the dict meanwhile
      11: the dict is `d`, which the caller passes; another thread can change it between two calls
      12: `PyDict_SetItem` can run Python code, which may also change the dict
      safe: iterate over `d` in a critical section
    @@
         PyObject *key, *value, *result;
         Py_ssize_t pos = 0;
    +    int failed = 0;
     
         result = PyDict_New();
         if (!result)
             return NULL;
    +    Py_BEGIN_CRITICAL_SECTION(d);
         while (PyDict_Next(d, &pos, &key, &value))
    +    {
    +        Py_INCREF(key);
    +        Py_INCREF(value);
             if (PyDict_SetItem(result, key, value) < 0)
             {
                 Py_DECREF(result);
    -            return NULL;
    +            Py_DECREF(value);
    +            Py_DECREF(key);
    +            failed = 1;
    +            break;
             }
    +        Py_DECREF(value);
    +        Py_DECREF(key);
    +    }
    +    Py_END_CRITICAL_SECTION();
    +    if (failed)
    +        return NULL;
         return result;
     }
    "##);
}

#[test]
fn a_last_statement_that_jumps_needs_no_release() {
    let text = r#"
static PyObject *
first(PyObject *d)
{
    PyObject *key;
    Py_ssize_t pos = 0;

    while (PyDict_Next(d, &pos, &key, NULL)) {
        return PyObject_Repr(key);
    }
    return NULL;
}
"#;
    insta::assert_snapshot!(diff(text), @r##"
    8: `d` is iterated over without its lock; another thread may change the dict meanwhile
      8: the dict is `d`, which the caller passes; another thread can change it between two calls
      9: `PyObject_Repr` can run Python code, which may also change the dict
      safe: iterate over `d` in a critical section
    @@
         PyObject *key;
         Py_ssize_t pos = 0;
    +    int stopped = 0;
    +    PyObject *result = NULL;
     
    +    Py_BEGIN_CRITICAL_SECTION(d);
         while (PyDict_Next(d, &pos, &key, NULL)) {
    -        return PyObject_Repr(key);
    +        Py_INCREF(key);
    +        result = PyObject_Repr(key);
    +        Py_DECREF(key);
    +        stopped = 1;
    +        break;
    +    }
    +    Py_END_CRITICAL_SECTION();
    +    if (stopped) {
    +        return result;
         }
         return NULL;
    "##);
}

#[test]
fn references_follow_the_declarations() {
    let text = r#"
static int
visit_all(PyObject *d)
{
    PyObject *key;
    Py_ssize_t pos = 0;
    while (PyDict_Next(d, &pos, &key, NULL)) {
        int rc;

        rc = visit(key);
        if (rc)
            return rc;
    }
    return 0;
}
"#;
    insta::assert_snapshot!(diff(text), @r##"
    7: `d` is iterated over without its lock; another thread may change the dict meanwhile
      7: the dict is `d`, which the caller passes; another thread can change it between two calls
      10: `visit` can run Python code, which may also change the dict
      safe: iterate over `d` in a critical section
    @@
         PyObject *key;
         Py_ssize_t pos = 0;
    +    int stopped = 0;
    +    int result = 0;
    +    Py_BEGIN_CRITICAL_SECTION(d);
         while (PyDict_Next(d, &pos, &key, NULL)) {
             int rc;
     
    +        Py_INCREF(key);
             rc = visit(key);
    -        if (rc)
    -            return rc;
    +        if (rc) {
    +            result = rc;
    +            Py_DECREF(key);
    +            stopped = 1;
    +            break;
    +        }
    +        Py_DECREF(key);
         }
    +    Py_END_CRITICAL_SECTION();
    +    if (stopped)
    +        return result;
         return 0;
     }
    "##);
}

#[test]
fn adopted_values_need_no_other_reference() {
    let text = r#"
static int
last(PyObject *d, PyObject **out)
{
    PyObject *value;
    Py_ssize_t pos = 0;
    while (PyDict_Next(d, &pos, NULL, &value)) {
        Py_INCREF(value);
        visit(value);
        Py_DECREF(value);
    }
    return 0;
}
"#;
    insta::assert_snapshot!(diff(text), @r##"
    7: `d` is iterated over without its lock; another thread may change the dict meanwhile
      7: the dict is `d`, which the caller passes; another thread can change it between two calls
      9: `visit` can run Python code, which may also change the dict
      safe: iterate over `d` in a critical section
    @@
         PyObject *value;
         Py_ssize_t pos = 0;
    +    Py_BEGIN_CRITICAL_SECTION(d);
         while (PyDict_Next(d, &pos, NULL, &value)) {
             Py_INCREF(value);
    @@
             Py_DECREF(value);
         }
    +    Py_END_CRITICAL_SECTION();
         return 0;
     }
    "##);
}

#[test]
fn values_that_outlive_the_section_need_review() {
    let text = r#"
static PyObject *
last(PyObject *d)
{
    PyObject *value = NULL;
    Py_ssize_t pos = 0;
    while (PyDict_Next(d, &pos, NULL, &value))
        ;
    return Py_XNewRef(value);
}
"#;
    insta::assert_snapshot!(diff(text), @"
    7: `d` is iterated over without its lock; another thread may change the dict meanwhile
      7: the dict is `d`, which the caller passes; another thread can change it between two calls
      review: iterate over `d` in a critical section
      assumes that another reference keeps `value` alive where it is used after the section (line 9)
    @@
         PyObject *value = NULL;
         Py_ssize_t pos = 0;
    +    Py_BEGIN_CRITICAL_SECTION(d);
         while (PyDict_Next(d, &pos, NULL, &value))
             ;
    +    Py_END_CRITICAL_SECTION();
         return Py_XNewRef(value);
     }
    ");
}

#[test]
fn what_a_helper_stores_of_a_value_is_followed() {
    let head =
        "static void first(PyObject *pair, PyObject **item) { *item = PyTuple_GET_ITEM(pair, 0); }
static int
f(Box *self, PyObject *d)
{
    PyObject *value, *item = NULL;
    Py_ssize_t pos = 0;
    while (PyDict_Next(d, &pos, NULL, &value))
";
    let fixed = |text: &str| {
        let report = diff(&format!("{head}{text}}}\n"));
        let lines = report.lines().skip(2).take(2);
        lines
            .map(|line| line.trim().to_owned() + "\n")
            .collect::<String>()
    };
    insta::assert_snapshot!(fixed("        first(value, &item);\n    return 0;\n"), @"
    8: `first` can run Python code, which may also change the dict
    safe: iterate over `d` in a critical section
    ");
    insta::assert_snapshot!(fixed("        first(value, &item);\n    return show(item);\n"), @"
    8: `first` can run Python code, which may also change the dict
    review: iterate over `d` in a critical section
    ");
    insta::assert_snapshot!(fixed("        first(value, &self->item);\n    return 0;\n"), @"
    8: `first` can run Python code, which may also change the dict
    review: iterate over `d` in a critical section
    ");
}

#[test]
fn what_leaves_by_the_address_of_the_variable_needs_review() {
    let head = "static void swap(PyObject **a, PyObject **b) { PyObject *t = *a; *a = *b; *b = t; }
static PyObject *
f(PyObject *self, PyObject *d)
{
    PyObject *value, *last = NULL;
    Py_ssize_t pos = 0;
    while (PyDict_Next(d, &pos, NULL, &value))
";
    for body in [
        "swap(&last, &value);",
        "memcpy(&last, &value, sizeof last);",
    ] {
        let report = diff(&format!(
            "{head}        {body}\n    return Py_XNewRef(last);\n}}\n"
        ));
        assert!(
            report.contains("review: iterate over `d` in a critical section"),
            "{report}"
        );
    }
}

#[test]
fn stored_values_need_review() {
    let text = r#"
static void
fill(PyObject *d, PyObject **out)
{
    PyObject *value;
    Py_ssize_t pos = 0;
    while (PyDict_Next(d, &pos, NULL, &value))
        *out++ = value;
}
"#;
    insta::assert_snapshot!(diff(text), @"
    7: `d` is iterated over without its lock; another thread may change the dict meanwhile
      7: the dict is `d`, which the caller passes; another thread can change it between two calls
      review: iterate over `d` in a critical section
      assumes that another reference keeps `value` alive as long as other code uses what the loop stores (line 8)
    @@
         PyObject *value;
         Py_ssize_t pos = 0;
    +    Py_BEGIN_CRITICAL_SECTION(d);
         while (PyDict_Next(d, &pos, NULL, &value))
             *out++ = value;
    +    Py_END_CRITICAL_SECTION();
     }
    ");
}

#[test]
fn strings_of_keys_that_outlive_a_call_hold_the_key() {
    let text = r#"
static int
names(PyObject *d)
{
    PyObject *key;
    Py_ssize_t pos = 0;
    while (PyDict_Next(d, &pos, &key, NULL)) {
        const char *name;
        name = PyUnicode_AsUTF8(key);
        PyErr_Clear();
        if (strcmp(name, "x") == 0)
            return 1;
    }
    return 0;
}
"#;
    insta::assert_snapshot!(diff(text), @r##"
    7: `d` is iterated over without its lock; another thread may change the dict meanwhile
      7: the dict is `d`, which the caller passes; another thread can change it between two calls
      10: `PyErr_Clear` can run Python code, which may also change the dict
      safe: iterate over `d` in a critical section
    @@
         PyObject *key;
         Py_ssize_t pos = 0;
    +    int stopped = 0;
    +    Py_BEGIN_CRITICAL_SECTION(d);
         while (PyDict_Next(d, &pos, &key, NULL)) {
             const char *name;
    +        Py_INCREF(key);
             name = PyUnicode_AsUTF8(key);
             PyErr_Clear();
    -        if (strcmp(name, "x") == 0)
    -            return 1;
    +        if (strcmp(name, "x") == 0) {
    +            Py_DECREF(key);
    +            stopped = 1;
    +            break;
    +        }
    +        Py_DECREF(key);
         }
    +    Py_END_CRITICAL_SECTION();
    +    if (stopped)
    +        return 1;
         return 0;
     }
    "##);
}

#[test]
fn values_that_the_body_replaces_are_held_by_a_variable_of_their_own() {
    let text = r#"
static int
show(PyObject *d)
{
    PyObject *key, *v;
    Py_ssize_t pos = 0;
    while (PyDict_Next(d, &pos, &key, &v)) {
        v = Py_BuildValue("O&", convert, v);
        if (!v)
            return -1;
        Py_DECREF(v);
    }
    return 0;
}
"#;
    insta::assert_snapshot!(diff(text), @r##"
    7: `d` is iterated over without its lock; another thread may change the dict meanwhile
      7: the dict is `d`, which the caller passes; another thread can change it between two calls
      8: `Py_BuildValue` can run Python code, which may also change the dict
      safe: iterate over `d` in a critical section
    @@
         PyObject *key, *v;
         Py_ssize_t pos = 0;
    +    int failed = 0;
    +    Py_BEGIN_CRITICAL_SECTION(d);
         while (PyDict_Next(d, &pos, &key, &v)) {
    +        PyObject *dict_value = Py_NewRef(v);
    +
             v = Py_BuildValue("O&", convert, v);
    -        if (!v)
    -            return -1;
    +        if (!v) {
    +            Py_DECREF(dict_value);
    +            failed = 1;
    +            break;
    +        }
             Py_DECREF(v);
    +        Py_DECREF(dict_value);
         }
    +    Py_END_CRITICAL_SECTION();
    +    if (failed)
    +        return -1;
         return 0;
     }
    "##);
}

/// The list keeps what it does not own: a reference for the time of one pass is not enough.
#[test]
fn a_helper_that_keeps_the_value_makes_it_outlive_the_section() {
    let text = r#"
typedef struct { PyObject *items[8]; int size; } List;
static void
append(List *list, PyObject *value)
{
    list->items[list->size++] = value;
}
static void
fill(List *list, PyObject *d)
{
    PyObject *value;
    Py_ssize_t pos = 0;
    while (PyDict_Next(d, &pos, NULL, &value))
        append(list, value);
}
"#;
    insta::assert_snapshot!(diff(text), @"
        13: `d` is iterated over without its lock; another thread may change the dict meanwhile
          13: the dict is `d`, which the caller passes; another thread can change it between two calls
          14: `append` can run Python code, which may also change the dict
          review: iterate over `d` in a critical section
          assumes that another reference keeps `value` alive as long as other code uses what the loop stores (line 14)
          assumes that another reference keeps `value` alive in the loop while calls run Python code
        @@
             PyObject *value;
             Py_ssize_t pos = 0;
        +    Py_BEGIN_CRITICAL_SECTION(d);
             while (PyDict_Next(d, &pos, NULL, &value))
                 append(list, value);
        +    Py_END_CRITICAL_SECTION();
         }
        ");
}

#[test]
fn a_helper_that_keeps_the_value_on_some_paths_or_a_copy_of_its_text() {
    let with = |store: &str| {
        diff(&format!(
            "
typedef struct {{ PyObject *items[8]; char *names[8]; int size; }} List;
static void
append(List *list, PyObject *value)
{{
    {store}
}}
static void
fill(List *list, PyObject *d)
{{
    PyObject *value;
    Py_ssize_t pos = 0;
    while (PyDict_Next(d, &pos, NULL, &value))
        append(list, value);
}}
"
        ))
    };
    let sometimes = with("if (list->size < 8) list->items[list->size++] = value;");
    assert!(sometimes.contains("keeps `value` alive"), "{sometimes}");
    let copied = with("list->names[list->size++] = strdup(PyUnicode_AsUTF8(value));");
    assert!(copied.contains("safe: iterate over `d`"), "{copied}");
    let same = with("list->names[list->size++] = (char *)PyUnicode_AsUTF8(value);");
    assert!(same.contains("keeps `value` alive"), "{same}");
}

#[test]
fn a_lent_value_that_is_released_behind_the_loop_is_told() {
    let text = "
static int
pack(PyObject *d)
{
    PyObject *value = NULL;
    Py_ssize_t pos = 0;

    while (PyDict_Next(d, &pos, NULL, &value)) {
        if (!PyBytes_Check(value))
            goto bail;
    }
    return 0;
bail:
    Py_XDECREF(value);
    return -1;
}
";
    let said = diff(text);
    assert!(
        said.contains(
            "assumes that `value`, which only holds what it borrows from `PyDict_Next`, is not released after the section (line 14)"
        ),
        "{said}"
    );
    let said = diff(&text.replace("*value = NULL;", "*value = PyLong_FromLong(1);"));
    assert!(
        said.contains(
            "assumes that `value` holds a reference that the function owns, not one borrowed from `PyDict_Next`, where it is released after the section (line 14)"
        ),
        "{said}"
    );
}

/// The rule on a loop that takes references of its own, which `end` gives back behind the loop.
fn owned(turn: &str, end: &str) -> String {
    diff(&format!(
        "
static int
show(PyObject *d)
{{
    PyObject *key = NULL, *value = NULL;
    Py_ssize_t pos = 0;

    while (PyDict_Next(d, &pos, &key, &value)) {{
        {turn}
    }}
    return 0;
error:
    {end}
    return -1;
}}
"
    ))
}

#[test]
fn without_an_item_the_variables_are_what_they_were() {
    let turn = "Py_INCREF(key);
        if (visit(key) < 0)
            goto error;
        Py_CLEAR(key);";
    insta::assert_snapshot!(owned(turn, "Py_XDECREF(key);"), @"
    8: `d` is iterated over without its lock; another thread may change the dict meanwhile
      8: the dict is `d`, which the caller passes; another thread can change it between two calls
      10: `visit` can run Python code, which may also change the dict
      safe: iterate over `d` in a critical section
    @@
         PyObject *key = NULL, *value = NULL;
         Py_ssize_t pos = 0;
    +    int failed = 0;
     
    +    Py_BEGIN_CRITICAL_SECTION(d);
         while (PyDict_Next(d, &pos, &key, &value)) {
             Py_INCREF(key);
    -        if (visit(key) < 0)
    -            goto error;
    +        if (visit(key) < 0) {
    +            failed = 1;
    +            break;
    +        }
             Py_CLEAR(key);
         }
    +    Py_END_CRITICAL_SECTION();
    +    if (failed)
    +        goto error;
         return 0;
     error:
    ");
}

#[test]
fn what_is_left_of_the_last_item_is_used_behind_the_loop() {
    let turn = "if (value == Py_None)
            goto error;
        Py_INCREF(key);
        if (visit(key) < 0)
            goto error;
        Py_CLEAR(key);";
    let released = owned(turn, "Py_XDECREF(key);");
    assert!(
        released.contains("assumes that `key`, which only holds what it borrows"),
        "{released}"
    );
    let text = "
static PyObject *
last(PyObject *d)
{
    PyObject *key = NULL;
    Py_ssize_t pos = 0, n = 0;

    while (PyDict_Next(d, &pos, &key, NULL))
        n++;
    return PyLong_FromLong(PyObject_IsTrue(key) + n);
}
";
    let used = diff(text);
    assert!(!used.contains("safe: iterate over `"), "{used}");
}

/// The rule on a loop that keeps a text of its items, which is used behind it.
fn text_of_last(taken: &str) -> String {
    diff(&format!(
        "
static const char *name_of(PyObject *v) {{ return PyUnicode_AsUTF8(v); }}

static PyObject *
last(PyObject *d)
{{
    PyObject *key;
    char *text = NULL;
    Py_ssize_t pos = 0, length;

    while (PyDict_Next(d, &pos, &key, NULL))
        {taken};
    return PyUnicode_FromString(text);
}}
"
    ))
}

#[test]
fn a_text_that_a_call_stores_is_used_behind_the_loop() {
    for taken in [
        "PyBytes_AsStringAndSize(key, &text, &length)",
        "PyArg_Parse(key, \"s\", &text)",
        "find_name(key, &text)",
        "text = name_of(key)",
        "text = find_name(key)",
    ] {
        let diff = text_of_last(taken);
        assert!(
            diff.contains("review: iterate over a copy of `d`"),
            "{diff}"
        );
    }
    let copied = text_of_last("length = strlen(find_name(key))");
    assert!(copied.contains("safe: iterate over `"), "{copied}");
}

#[test]
fn what_only_builds_values_lets_nobody_in() {
    let text = |format: &str| {
        format!(
            r#"
static int
show_all(PyObject *d, PyObject *list)
{{
    PyObject *key, *value;
    Py_ssize_t pos = 0;

    while (PyDict_Next(d, &pos, &key, &value)) {{
        value = Py_BuildValue({format}, key, Py_TYPE(value)->tp_name);
        PyList_Append(list, value);
        Py_DECREF(value);
    }}
    return 0;
}}
"#
        )
    };
    let takes = |format: &str| diff(&text(format)).contains("Py_INCREF(key);");
    assert!(!takes("\"Os\""));
    assert!(!takes("\"[O(s)]\""));
    // The key is hashed and compared, a converter is called.
    assert!(takes("\"{Os}\""));
    assert!(takes("\"O&s\""));
    assert!(takes("format"));
    // What is only lent cannot be given away.
    assert!(!takes("\"Ns\""));
}

/// The reference that the code takes goes into a container, by whatever function.
fn given_to(container: &str) -> String {
    diff(&format!(
        r#"
static int
show_all(PyObject *d, PyObject *hook)
{{
    PyObject *key, *value, *made;
    Py_ssize_t pos = 0;

    while (PyDict_Next(d, &pos, &key, &value)) {{
        Py_INCREF(value);
        made = {container};
        Py_XDECREF(PyObject_CallNoArgs(hook));
        Py_DECREF(made);
        if (value == Py_None || PyObject_Size(value) < 0)
            break;
    }}
    return 0;
}}
"#
    ))
}

#[test]
fn what_is_given_to_a_container_is_held_where_the_container_dies() {
    insta::assert_snapshot!(given_to("Py_BuildValue(\"(N)\", value)"), @r#"
    8: `d` is iterated over without its lock; another thread may change the dict meanwhile
      8: the dict is `d`, which the caller passes; another thread can change it between two calls
      10: `Py_BuildValue` can run Python code, which may also change the dict
      safe: iterate over `d` in a critical section
    @@
         Py_ssize_t pos = 0;
     
    +    Py_BEGIN_CRITICAL_SECTION(d);
         while (PyDict_Next(d, &pos, &key, &value)) {
             Py_INCREF(value);
    +        Py_INCREF(value);
             made = Py_BuildValue("(N)", value);
             Py_XDECREF(PyObject_CallNoArgs(hook));
             Py_DECREF(made);
    -        if (value == Py_None || PyObject_Size(value) < 0)
    +        if (value == Py_None || PyObject_Size(value) < 0) {
    +            Py_DECREF(value);
                 break;
    +        }
    +        Py_DECREF(value);
         }
    +    Py_END_CRITICAL_SECTION();
         return 0;
     }
    "#);
    let by_format = given_to("Py_BuildValue(\"(N)\", value)");
    for other in [
        "_Py_BuildValue_SizeT(\"(N)\", value)",
        "Py_BuildValue(\"{s:N}\", \"value\", value)",
        "PyObject_CallFunction(hook, \"N\", value)",
        "PyObject_CallMethod(hook, \"run\", \"(iN)\", 1, value)",
        "Py_BuildValue(format, value)",
    ] {
        let found = given_to(other).replace(other, "Py_BuildValue(\"(N)\", value)");
        let patch = |text: &str| text.split_once("@@").map(|(_, patch)| patch.to_owned());
        assert!(found.contains("safe: iterate over `"), "{other}: {found}");
        assert_eq!(patch(&found), patch(&by_format), "{other}");
    }
}

/// `"N"` takes a reference over. Where the loop has none, it can hold none: what it gives away is used
/// inside the loop, by Python code that may remove it from the dict.
#[test]
fn what_is_given_away_without_a_reference_is_told_of_inside_the_loop() {
    let calls = |taken: &str| {
        diff(&format!(
            r#"
static PyObject *
call_each(PyObject *d, PyObject *callback)
{{
    PyObject *key, *value, *pair, *answer;
    Py_ssize_t pos = 0;

    while (PyDict_Next(d, &pos, &key, &value)) {{
        {taken}pair = Py_BuildValue("NO", value, key);
        if (pair == NULL)
            return NULL;
        answer = PyObject_CallObject(callback, pair);
        Py_DECREF(pair);
        if (answer == NULL)
            return NULL;
        Py_DECREF(answer);
        if (PyObject_IsTrue(value) < 0)
            return NULL;
    }}
    Py_RETURN_NONE;
}}
"#
        ))
    };
    let told = |diff: &str| {
        let lines = diff.lines().take_while(|line| *line != "@@").skip(3);
        lines.map(str::trim).collect::<Vec<_>>().join("\n")
    };
    let lent = calls("");
    insta::assert_snapshot!(told(&lent), @"
    review: iterate over `d` in a critical section
    assumes that `value` holds a reference that the function owns, not one borrowed from `PyDict_Next`, where the loop gives it away (line 9)
    assumes that another reference keeps `value` alive in the loop while calls run Python code
    ");
    assert!(!lent.contains("Py_INCREF(value);"), "{lent}");

    let owned = calls("Py_INCREF(value);\n        ");
    insta::assert_snapshot!(told(&owned), @"safe: iterate over `d` in a critical section");
    assert_eq!(
        owned.matches("+        Py_INCREF(value);").count(),
        1,
        "{owned}"
    );
}
