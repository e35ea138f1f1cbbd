//! Sizes that are asked for in front of the loop.

use super::diff;

/// The rule on a loop that writes, with `before` it and `written` for each item.
fn filled(before: &str, written: &str) -> String {
    diff(&format!(
        "
static int
fill(PyObject *d, long *hashes, PyObject *other)
{{
    Py_ssize_t pos = 0, n, i = 0;
    PyObject *key;
    {before}
    while (PyDict_Next(d, &pos, &key, NULL))
        {written}
    return 0;
}}
"
    ))
}

#[test]
fn the_section_begins_where_the_size_is_asked() {
    let malloc = "hashes = malloc(PyDict_Size(d) * sizeof(*hashes));";
    insta::assert_snapshot!(filled(malloc, "*hashes++ = 1;"), @"
        8: `d` is iterated over without its lock; another thread may change the dict meanwhile
          8: the dict is `d`, which the caller passes; another thread can change it between two calls
          safe: iterate over `d` in a critical section
        @@
             Py_ssize_t pos = 0, n, i = 0;
             PyObject *key;
        +    Py_BEGIN_CRITICAL_SECTION(d);
             hashes = malloc(PyDict_Size(d) * sizeof(*hashes));
             while (PyDict_Next(d, &pos, &key, NULL))
                 *hashes++ = 1;
        +    Py_END_CRITICAL_SECTION();
             return 0;
         }
        ");
}

#[test]
fn exits_in_front_of_the_loop_release_no_key() {
    let text = "static int take(PyObject *k, char **to) { *to = text_of(k->n); return 0; }
static int
fill(PyObject *d, PyObject *seen)
{
    Py_ssize_t pos = 0, n;
    PyObject *key;
    char **names;

    n = PyDict_Size(d);
    if (n > 0) {
        names = malloc(n * sizeof(*names));
        if (!names)
            return -1;
        while (PyDict_Next(d, &pos, &key, NULL)) {
            if (take(key, names++) < 0)
                return -1;
        }
        show(names);
    }
    return 0;
}
";
    insta::assert_snapshot!(diff(text), @"
        14: `d` is iterated over without its lock; another thread may change the dict meanwhile
          14: the dict is `d`, which the caller passes; another thread can change it between two calls
          15: `take` can run Python code, which may also change the dict
          safe: iterate over `d` in a critical section
        @@
             PyObject *key;
             char **names;
        +    int failed = 0;
         
        +    Py_BEGIN_CRITICAL_SECTION(d);
             n = PyDict_Size(d);
             if (n > 0) {
                 names = malloc(n * sizeof(*names));
        -        if (!names)
        -            return -1;
        +        if (!names) {
        +            failed = 1;
        +            goto end_section;
        +        }
                 while (PyDict_Next(d, &pos, &key, NULL)) {
        -            if (take(key, names++) < 0)
        -                return -1;
        +            Py_INCREF(key);
        +            if (take(key, names++) < 0) {
        +                Py_DECREF(key);
        +                failed = 1;
        +                goto end_section;
        +            }
        +            Py_DECREF(key);
                 }
                 show(names);
             }
        +end_section: ;
        +    Py_END_CRITICAL_SECTION();
        +    if (failed)
        +        return -1;
             return 0;
         }
        ");
}

#[test]
fn a_size_that_is_only_compared_asks_for_nothing() {
    let empty = filled("if (PyDict_Size(d) == 0) return 0;", "*hashes++ = 1;");
    assert!(empty.contains("safe: iterate over `d`"), "{empty}");
    assert!(!empty.contains("end_section"), "{empty}");
    let known = filled(
        "if (PyDict_Size(d) > pos) hashes = grow();",
        "*hashes++ = 1;",
    );
    assert!(known.contains("safe: iterate over `d`"), "{known}");
    assert!(
        known.contains("SECTION(d);\n     if (PyDict_Size"),
        "{known}"
    );
    // What fits into memory of a fixed size.
    let small = filled("if (PyDict_Size(d) > 8) return -1;", "hashes[i++] = 1;");
    assert!(small.contains("goto end_section;"), "{small}");
    let counted = "n = PyDict_Size(d); if (n != pos) PyErr_Clear(); work(other); ";
    let told = filled(counted, "PyDict_SetItem(other, key, key);");
    assert!(!told.contains("+    n = "), "{told}");
    assert!(told.contains("safe: iterate over `d`"), "{told}");
}

#[test]
fn a_lock_of_something_else_lets_other_threads_in() {
    let reply = filled(
        "n = PyDict_Size(d); hashes = malloc(n * sizeof(*hashes));",
        "hashes[i++] = PyList_Append(other, key);",
    );
    insta::assert_snapshot!(reply, @"
        8: `d` is iterated over without its lock; another thread may change the dict meanwhile
          8: the dict is `d`, which the caller passes; another thread can change it between two calls
          9: `PyList_Append` can wait for a lock, and another thread may change the dict meanwhile
          review: iterate over `d` in a critical section
          assumes that no other thread adds to `d` while `PyList_Append` waits for a lock, because the section is suspended meanwhile
        @@
             Py_ssize_t pos = 0, n, i = 0;
             PyObject *key;
        +    Py_BEGIN_CRITICAL_SECTION(d);
             n = PyDict_Size(d); hashes = malloc(n * sizeof(*hashes));
        -    while (PyDict_Next(d, &pos, &key, NULL))
        +    while (PyDict_Next(d, &pos, &key, NULL)) {
        +        Py_INCREF(key);
                 hashes[i++] = PyList_Append(other, key);
        +        Py_DECREF(key);
        +    }
        +    Py_END_CRITICAL_SECTION();
             return 0;
         }
        ");
}

#[test]
fn what_works_for_each_type_waits_for_the_lock_of_a_list() {
    let waits = |call: &str| {
        let reply = filled(
            "n = PyDict_Size(d); hashes = malloc(n * sizeof(*hashes));",
            &format!("hashes[i++] = {call};"),
        );
        reply.contains("waits for a lock")
    };
    assert!(waits("use(PySequence_Tuple(other))"));
    assert!(waits("PyObject_SetItem(other, key, key)"));
    assert!(waits("use(PyObject_Str(other))"));
    // `str()` of a list in the dict takes the lock of that.
    assert!(waits("use(PyObject_Str(key))"));
    assert!(waits("use(PyUnicode_FromFormat(\"%S\", key))"));
    assert!(!waits("PyUnicode_Check(key)"));
}

#[test]
fn what_is_not_seen_may_wait_for_the_lock_of_an_object() {
    let is_safe = |declared: &str, call: &str| {
        let reply = diff(&format!(
            "
static int
fill(PyObject *d, long *hashes, PyObject *other, {declared})
{{
    Py_ssize_t pos = 0, i = 0;
    PyObject *key;
    hashes = malloc(PyDict_Size(d) * sizeof(*hashes));
    while (PyDict_Next(d, &pos, &key, NULL))
        hashes[i++] = {call};
    return 0;
}}
"
        ));
        reply.contains("safe: iterate over `d`")
    };
    assert!(!is_safe("long (*note)(PyObject *)", "note(key)"));
    assert!(!is_safe("Log *log", "log->note(log)"));
    assert!(!is_safe("Log *log", "note(log->n, other)"));
    assert!(is_safe("long (*next)(int)", "next(1)"));
    assert!(is_safe("Log *log", "note(log, 2)"));
}

#[test]
fn a_lock_of_an_inner_dict_lets_others_in() {
    // The size, the loop over the values, and a helper that `walk` gets each value by.
    let walk = |helper: &str| {
        diff(&format!(
            "
static int walk(PyObject *d, char *out);
static int leaf(PyObject *v, char *out) {{ {helper} }}
static int
walk(PyObject *d, char *out)
{{
    Py_ssize_t pos = 0, i = 0;
    PyObject *v;
    if (!PyDict_Check(d))
        return leaf(d, out);
    out = malloc(PyDict_Size(d));
    while (PyDict_Next(d, &pos, NULL, &v))
        out[i++] = walk(v, out);
    return 0;
}}
"
        ))
    };
    for body in [
        "return 0;",
        // Python code may run here under the GIL as well, but for other values.
        "PyObject *text = PyObject_Str(v); Py_XDECREF(text); return 0;",
        "Py_BEGIN_ALLOW_THREADS *out = 1; Py_END_ALLOW_THREADS return 0;",
    ] {
        let reply = walk(body);
        assert!(reply.contains("waits for a lock"), "{reply}");
    }
}

#[test]
fn a_size_that_is_asked_elsewhere_stays_a_question() {
    for before in [
        "if (other) n = PyDict_Size(d); else n = 8; hashes = malloc(n * sizeof(*hashes));",
        "for (n = 0; i < 2; i++) { n += PyDict_Size(d); } hashes = grow(hashes, n);",
    ] {
        let reply = filled(before, "*hashes++ = 1;");
        assert!(reply.contains("review"), "{reply}");
    }
}

#[test]
fn a_size_of_the_other_branch_has_nothing_to_do_with_the_loop() {
    let text = "
static int
drop(PyObject *d)
{
    Py_ssize_t pos = 0, n;
    PyObject *key;

    if (PyDict_Check(d)) {
        while (PyDict_Next(d, &pos, &key, NULL))
            forget(key);
        return 0;
    }
    n = PyObject_Length(d);
    return resize(n);
}
";
    let reply = diff(text);
    assert!(reply.contains("safe: iterate over `d`"), "{reply}");
}

#[test]
fn a_dict_that_an_exit_may_free_is_released_behind_the_section() {
    let text = r#"
static int
options(PyObject *callback)
{
    PyObject *result = PyObject_CallNoArgs(callback), *d, *key;
    Py_ssize_t pos = 0;
    if (!PyArg_ParseTuple(result, "O", &d)) {
        Py_DECREF(result);
        return -1;
    }
    while (PyDict_Next(d, &pos, &key, NULL)) {
        if (!PyUnicode_CheckExact(key)) {
            Py_DECREF(result);
            return -1;
        }
    }
    Py_DECREF(result);
    return 0;
}
"#;
    insta::assert_snapshot!(diff(text), @r#"
        11: `d` is iterated over without its lock; another thread may change the dict meanwhile
          11: the dict is an argument that Python code passes; another thread can change it between two calls
          13: `Py_DECREF` can run Python code, which may also change the dict
          safe: iterate over `d` in a critical section
        @@
             PyObject *result = PyObject_CallNoArgs(callback), *d, *key;
             Py_ssize_t pos = 0;
        +    int failed = 0;
             if (!PyArg_ParseTuple(result, "O", &d)) {
                 Py_DECREF(result);
                 return -1;
             }
        +    Py_BEGIN_CRITICAL_SECTION(d);
             while (PyDict_Next(d, &pos, &key, NULL)) {
                 if (!PyUnicode_CheckExact(key)) {
        -            Py_DECREF(result);
        -            return -1;
        +            failed = 1;
        +            break;
                 }
             }
        +    Py_END_CRITICAL_SECTION();
        +    if (failed) {
        +        Py_DECREF(result);
        +        return -1;
        +    }
             Py_DECREF(result);
             return 0;
        "#);
}

/// Whether the section can be that of the loop alone, in a function with a few helpers.
fn is_free(before: &str, written: &str, behind: &str) -> bool {
    let said = diff(&format!(
        "
static PyObject *presized(Py_ssize_t n) {{ return _PyDict_NewPresized(n); }}
static int fits(Py_ssize_t n) {{ return n < 8; }}
static int
fill(PyObject *d, PyObject *other, Table *table)
{{
    Py_ssize_t pos = 0, n, m, i = 0;
    PyObject *key, *copy, *names[8];
    char *text;
    {before}
    while (PyDict_Next(d, &pos, &key, NULL))
        {written}
    {behind}
    return 0;
}}
"
    ));
    assert!(!said.contains("by hand"), "{said}");
    let (_, section) = said
        .split_once("BEGIN_CRITICAL_SECTION(d);")
        .expect("there is a section");
    let next = section.lines().nth(1);
    let alone = next.is_some_and(|line| line.contains("while (PyDict_Next"));
    alone && said.contains("safe: iterate over `d`")
}

#[test]
fn a_hint_says_nothing_of_the_loop() {
    let hinted = "copy = presized((PyDict_Size(d) / 10) * 11); if (copy == NULL) return -1;";
    let set = "PyDict_SetItem(copy, key, key);";
    assert!(is_free(hinted, set, ""));
    assert!(is_free(hinted, set, "use(other);"));
    assert!(is_free(hinted, "take(other, key);", ""));
    assert!(is_free(
        "n = PyDict_Size(d); if (n < 0) return -1;",
        "names[i++] = key;",
        ""
    ));
    assert!(is_free(
        "n = PyDict_Size(d); if (n) take(other);",
        "take(other, key);",
        ""
    ));
    assert!(is_free(
        "if (PyDict_Size(d) != PyDict_Size(other)) return 0;",
        "take(other, key);",
        ""
    ));
    assert!(is_free(
        "n = PyDict_Size(d); if (n == 1) { take(other); return 0; }",
        "names[i++] = key;",
        "if (PyDict_Size(d) != n) return -1;"
    ));
}

#[test]
fn what_has_room_for_so_many_is_made_in_the_section() {
    let list = "copy = PyList_New(PyDict_Size(d));";
    assert!(!is_free(list, "PyList_SET_ITEM(copy, i++, key);", ""));
    assert!(is_free(list, "PyList_Append(other, key);", ""));
    assert!(!is_free(list, "take(copy, key);", ""));
    let text = "text = malloc(PyDict_Size(d));";
    assert!(!is_free(text, "*text++ = 1;", ""));
    assert!(!is_free(text, "memcpy(text, key, 1);", ""));
    assert!(!is_free(
        "table->n = PyDict_Size(d);",
        "take(table, key);",
        ""
    ));
    assert!(!is_free(
        "reserve(table, PyDict_Size(d));",
        "take(table, key);",
        ""
    ));
    assert!(!is_free(
        "reserve(PyDict_Size(d));",
        "take(table, key);",
        ""
    ));
    assert!(!is_free(
        "n = PyDict_Size(d); PyObject *all[n];",
        "all[i++] = key;",
        ""
    ));
    assert!(!is_free(
        "n = PyDict_Size(d); Table all = {n};",
        "take(&all, key);",
        ""
    ));
    let nested = "PyTuple_SET_ITEM(other, 0, PyList_New(PyDict_Size(d)));";
    assert!(!is_free(nested, "take(other, key);", ""));
}

#[test]
fn who_decides_by_the_size_fills_nothing() {
    let small = "n = PyDict_Size(d); if (n > 8) return -1;";
    assert!(!is_free(small, "names[i++] = key;", ""));
    assert!(!is_free(small, "take(table, key);", ""));
    assert!(is_free(small, "PyList_Append(other, key);", ""));
    for small in [
        "if (!fits(PyDict_Size(d))) return -1;",
        "n = PyDict_Size(d); if (n != 8) return -1;",
        "n = PyDict_Size(d); if (n >> 3) return -1;",
        "n = PyDict_Size(d); m = n >> 3; if (m) return -1;",
        "n = PyDict_Size(d); switch (n) { case 1: break; default: return -1; }",
        "n = PyDict_Size(d); n -= 8; if (n > 0) return -1;",
        "n = PyDict_Size(d); m = PyDict_Size(other); if (n != m || m > 8) return -1;",
    ] {
        assert!(!is_free(small, "names[i++] = key;", ""), "{small}");
    }
    // Behind the loop somebody counts on it.
    let asked = "n = PyDict_Size(d);";
    let append = "PyList_Append(other, key);";
    assert!(is_free(asked, append, ""));
    assert!(!is_free(
        asked,
        append,
        "for (i = 0; i < n; i++) take(other, i);"
    ));
    assert!(!is_free(asked, append, "return n + 1;"));
    assert!(!is_free(asked, append, "take(other, n);"));
    assert!(!is_free(asked, append, "PyList_GET_ITEM(other, n - 1);"));
}

#[test]
fn what_another_loop_has_counted_may_be_too_small() {
    let text = |made: &str, filled: &str| {
        let said = diff(&format!(
            "
static int
join(PyObject *d, char *text, PyObject *other)
{{
    Py_ssize_t pos = 0, length = 0, i = 0;
    PyObject *key;

    while (PyDict_Next(d, &pos, &key, NULL))
        length += PyBytes_GET_SIZE(key);
    {made}
    pos = 0;
    while (PyDict_Next(d, &pos, &key, NULL))
        {filled}
    return 0;
}}
"
        ));
        said.contains("the same items in this loop as in the loop that counted them")
    };
    assert!(text("text = malloc(length);", "*text++ = 1;"));
    assert!(text(
        "other = PyList_New(length);",
        "PyList_SET_ITEM(other, i++, key);"
    ));
    // It counts both.
    assert!(text(
        "other = PyList_New(length); length = 0;",
        "PyList_SET_ITEM(other, length++, key);"
    ));
    assert!(!text("other = PyList_New(length);", "i++;"));
    assert!(!text("text = malloc(8);", "length += 1;"));
    let looked = "other = PyLong_FromSsize_t(length); PyObject_RichCompareBool(key, other, Py_EQ);";
    assert!(!text(looked, "PyUnicode_Compare(key, text);"));
}

#[test]
fn a_size_of_a_declaration_is_asked_in_the_section() {
    let text = "
static int
write_all(Buffer *out, PyObject *d)
{
    Py_ssize_t n = PyMapping_Length(d);
    Py_ssize_t pos = 0;
    PyObject *key;

    if (!write_number(out, n))
        return 0;
    while (PyDict_Next(d, &pos, &key, NULL)) {
        if (!write_text(out, key))
            return 0;
    }
    return 1;
}
static int write_text(Buffer *out, PyObject *key) { return write(out, PyUnicode_AsUTF8(key)); }
";
    insta::assert_snapshot!(diff(text), @"
        11: `d` is iterated over without its lock; another thread may change the dict meanwhile
          11: the dict is `d`, which the caller passes; another thread can change it between two calls
          12: `write_text` can run Python code, which may also change the dict
          review: iterate over `d` in a critical section
          assumes that no other thread adds to `d` while `write_text` waits for a lock, because the section is suspended meanwhile
        @@
         write_all(Buffer *out, PyObject *d)
         {
        -    Py_ssize_t n = PyMapping_Length(d);
        +    Py_ssize_t n;
             Py_ssize_t pos = 0;
             PyObject *key;
        +    int stopped = 0;
         
        -    if (!write_number(out, n))
        -        return 0;
        +    Py_BEGIN_CRITICAL_SECTION(d);
        +    n = PyMapping_Length(d);
        +    if (!write_number(out, n)) {
        +        stopped = 1;
        +        goto end_section;
        +    }
             while (PyDict_Next(d, &pos, &key, NULL)) {
        -        if (!write_text(out, key))
        -            return 0;
        +        Py_INCREF(key);
        +        if (!write_text(out, key)) {
        +            Py_DECREF(key);
        +            stopped = 1;
        +            break;
        +        }
        +        Py_DECREF(key);
             }
        +end_section: ;
        +    Py_END_CRITICAL_SECTION();
        +    if (stopped)
        +        return 0;
             return 1;
         }
        ");
}

#[test]
fn a_size_that_is_used_behind_the_section_is_declared_in_front_of_it() {
    let said = |declared: &str, used: &str| {
        diff(&format!(
            "
typedef const Py_ssize_t fixed;
static Py_ssize_t
fill(PyObject *d, long *hashes, Table *table)
{{
    {declared}
    PyObject *key;

    hashes = malloc(n * sizeof(*hashes));
    while (PyDict_Next(d, &pos, &key, NULL))
        *hashes++ = 1;
    {used}
}}
"
        ))
    };
    let plain = said(
        "Py_ssize_t n = PyDict_Size(d);\n    Py_ssize_t pos = 0;",
        "return n;",
    );
    assert!(plain.contains("safe: iterate over `d`"), "{plain}");
    assert!(
        plain.contains("SECTION(d);\n+    n = PyDict_Size(d);"),
        "{plain}"
    );
    let enclosed = said(
        "Py_ssize_t n = (PyDict_Size(d));\n    Py_ssize_t pos = 0;",
        "return n;",
    );
    assert!(
        enclosed.contains("SECTION(d);\n+    n = (PyDict_Size(d));"),
        "{enclosed}"
    );
    let claim = "`d` has no more items";
    for declared in [
        // The others need it, or may be others once it is asked.
        "Py_ssize_t n = PyDict_Size(d);\n    Py_ssize_t pos = 0, m = n;",
        "Py_ssize_t n = PyDict_Size(d);\n    Py_ssize_t pos = start();",
        "Py_ssize_t n = PyMapping_Length(d);\n    Py_ssize_t pos = 0, m = table->n;",
        "const Py_ssize_t n = PyDict_Size(d);\n    Py_ssize_t pos = 0;",
        "fixed n = PyDict_Size(d);\n    Py_ssize_t pos = 0;",
        "Py_ssize_t n = PyDict_Size(d), pos = 0;",
        // Without the value there is no type, and the name has more to it.
        "__auto_type n = PyDict_Size(d);\n    Py_ssize_t pos = 0;",
        "Py_ssize_t n __attribute__((aligned(16))) = PyDict_Size(d);\n    Py_ssize_t pos = 0;",
        "Py_ssize_t n /* all */ = PyDict_Size(d);\n    Py_ssize_t pos = 0;",
    ] {
        let said = said(declared, "return n;");
        assert!(
            !said.contains("safe: iterate over `d`"),
            "{declared}: {said}"
        );
        assert!(
            said.contains(claim) || said.contains("_copy"),
            "{declared}: {said}"
        );
    }
}

#[test]
fn a_size_that_a_macro_hands_on_is_asked_in_the_section() {
    let said = |declared: &str, asked: &str| {
        diff(&format!(
            "
#define WITH(x) (x)
#define SIZE(d) PyDict_Size(d)
static int
fill(PyObject *d, long *hashes)
{{
    {declared}
    Py_ssize_t pos = 0;
    PyObject *key;

    {asked}hashes = malloc(n * sizeof(*hashes));
    while (PyDict_Next(d, &pos, &key, NULL))
        *hashes++ = 1;
    return 0;
}}
"
        ))
    };
    for size in [
        "Py_SAFE_DOWNCAST(PyDict_Size(d), Py_ssize_t, int)",
        "WITH(PyDict_Size(d))",
        "(int) SIZE(d)",
    ] {
        let late = said(&format!("int n = {size};"), "");
        let text = format!("SECTION(d);\n+    n = {size};");
        assert!(late.contains(&text), "{late}");
        let plain = said("int n;", &format!("n = {size};\n    "));
        let text = format!("SECTION(d);\n     n = {size};");
        assert!(plain.contains(&text), "{plain}");
    }
}

#[test]
fn a_size_that_another_branch_needs_is_not_asked_later() {
    let said = |before: &str, between: &str| {
        diff(&format!(
            "
static Py_ssize_t
fill(PyObject *d, long *hashes)
{{
{before}    Py_ssize_t n = PyDict_Size(d);
    Py_ssize_t total = 0, pos = 0;
    PyObject *key;
{between}
    hashes = malloc(n * sizeof(*hashes));
    while (PyDict_Next(d, &pos, &key, NULL))
        *hashes++ = 1;
#else
    total = n;
#endif
    return total;
}}
"
        ))
    };
    for test in [
        "#ifdef FAST",
        "#if defined(FAST)",
        "#if PY_VERSION_HEX >= 0x030C0000",
    ] {
        let said = said("", test);
        assert!(!said.contains("+    Py_ssize_t n;"), "{test}: {said}");
        assert!(!said.contains("safe: iterate over `d`"), "{test}: {said}");
        assert!(said.contains("`d` has no more items"), "{test}: {said}");
    }
    // Both stand in one branch.
    let joined = said("#ifdef FAST\n", "");
    assert!(
        joined.contains("SECTION(d);\n+    n = PyDict_Size(d);"),
        "{joined}"
    );
}

#[test]
fn a_dict_that_may_be_null_where_its_size_is_asked_is_locked_if_there_is_one() {
    // No copy helps, as the position does not begin with 0.
    let may_be_null = |declared: &str, got: &str, size: &str| {
        let said = diff(&format!(
            "
static PyObject *registry;
static PyObject *make(void);
static int
fill(PyObject *self, PyObject *args, long *hashes)
{{
    PyObject *d{declared}, *key;
    Py_ssize_t n, pos = 1;

    {got}
    n = {size}(d);
    if (n < 0)
        return -1;
    hashes = malloc(n * sizeof(*hashes));
    while (PyDict_Next(d, &pos, &key, NULL))
        *hashes++ = 1;
    return 0;
}}
"
        ));
        assert!(!said.contains("not NULL here"), "{said}");
        let locks =
            |object: &str| said.contains(&format!("BEGIN_CRITICAL_SECTION({object});\n     n ="));
        let either = locks("d != NULL ? d : Py_None");
        assert!(either != locks("d"), "{said}");
        assert!(!either || !said.contains("Py_INCREF(d);"), "{said}");
        either
    };
    let size = "PyDict_Size";
    let optional = "if (!PyArg_ParseTuple(args, \"|O\", &d)) return -1;";
    for (declared, got) in [
        (" = registry", ""),
        (" = NULL", optional),
        ("", "d = make();"),
        ("", "if (self) d = args; else d = NULL;"),
        ("", "d = self ? registry : args;"),
    ] {
        assert!(may_be_null(declared, got, size), "{declared} {got}");
    }
    let needed = "if (!PyArg_ParseTuple(args, \"O\", &d)) return -1;";
    for (declared, got) in [
        (" = args", ""),
        (" = registry", "if (d == NULL) return 0;"),
        (" = registry", "if (!d || !PyDict_Check(d)) return 0;"),
        (" = NULL", needed),
        ("", "if ((d = make()) == NULL) return -1;"),
        ("", "d = make(); if (d == NULL) d = args;"),
        ("", "d = PyTuple_GET_ITEM(args, 0);"),
    ] {
        assert!(!may_be_null(declared, got, size), "{declared} {got}");
    }
    // That crashes as well.
    assert!(!may_be_null(" = registry", "", "PyDict_GET_SIZE"));
}

#[test]
fn a_loop_that_was_counted_in_a_section_of_its_own_is_for_review() {
    let reply = diff(
        "
static PyObject *
texts(PyObject *d)
{
    Py_ssize_t pos = 0, n = 0, i = 0;
    PyObject *key, *value, *all;

    Py_BEGIN_CRITICAL_SECTION(d);
    while (PyDict_Next(d, &pos, &key, &value))
        if (PyUnicode_Check(key))
            n++;
    Py_END_CRITICAL_SECTION();
    all = PyTuple_New(n);
    pos = 0;
    while (PyDict_Next(d, &pos, &key, &value))
        if (PyUnicode_Check(key)) {
            PyTuple_SET_ITEM(all, i, Py_NewRef(value));
            i++;
        }
    return all;
}
",
    );
    assert!(reply.contains("the loop that counted them"), "{reply}");
    assert!(!reply.contains("safe: "), "{reply}");
}

#[test]
fn a_size_that_is_read_from_the_struct_is_read_in_the_section() {
    let read = "hashes = malloc(((PyDictObject *)d)->ma_used * sizeof(*hashes));";
    insta::assert_snapshot!(filled(read, "*hashes++ = 1;"), @"
    8: `d` is iterated over without its lock; another thread may change the dict meanwhile
      8: the dict is `d`, which the caller passes; another thread can change it between two calls
      safe: iterate over `d` in a critical section
    @@
         Py_ssize_t pos = 0, n, i = 0;
         PyObject *key;
    +    Py_BEGIN_CRITICAL_SECTION(d);
         hashes = malloc(((PyDictObject *)d)->ma_used * sizeof(*hashes));
         while (PyDict_Next(d, &pos, &key, NULL))
             *hashes++ = 1;
    +    Py_END_CRITICAL_SECTION();
         return 0;
     }
    ");
    let first = "n = ((PyDictObject *)d)->ma_used; if (other) PyErr_Clear();";
    let said = filled(first, "hashes[i++] = n;");
    assert!(said.contains("safe: "), "{said}");
    // Another dict's, and another struct's.
    let others = "n = ((PyDictObject *)other)->ma_used;";
    let said = filled(others, "hashes[n++] = 1;");
    assert!(said.contains("safe: "), "{said}");
    assert!(
        !said.contains("+    Py_BEGIN_CRITICAL_SECTION(d);\n     n ="),
        "{said}"
    );
    // Nothing comes in front of a declaration in C89.
    let declared = "Py_ssize_t m = ((PyDictObject *)d)->ma_used; hashes = malloc(m);";
    let said = filled(declared, "hashes[i++] = 1;");
    assert!(
        said.contains("than `ma_used` returned outside it"),
        "{said}"
    );
}

#[test]
fn a_list_of_the_keys_may_be_shorter_than_the_loop() {
    let said = |before: &str, each: &str| filled(&format!("other = {before}"), each);
    for list in ["PyDict_Keys(d)", "PyDict_Values(d)", "PyMapping_Items(d)"] {
        let made = format!("{list}; n = PyList_GET_SIZE(other); hashes = malloc(n);");
        let said = said(&made, "*hashes++ = 1;");
        let assumed = "no more items in the loop than `PyList_GET_SIZE` returned outside it";
        assert!(said.contains(assumed), "{said}");
        assert!(!said.contains("PyDict_Copy"), "{said}");
    }
    for (list, size) in [
        ("PySequence_List(d)", "PyList_GET_SIZE"),
        ("PySequence_Tuple(d)", "PyTuple_GET_SIZE"),
        ("PySet_New(d)", "PySet_GET_SIZE"),
    ] {
        let made = format!("{list}; n = {size}(other); hashes = malloc(n);");
        let said = said(&made, "*hashes++ = 1;");
        let assumed = format!("no more items in the loop than `{size}` returned outside it");
        assert!(said.contains(&assumed), "{said}");
    }
    let other = "PyDict_Keys(self); hashes = malloc(PyList_GET_SIZE(other));";
    assert!(said(other, "*hashes++ = 1;").contains("safe: "));
    let unasked = "PyDict_Keys(d); PyList_Sort(other);";
    assert!(said(unasked, "*hashes++ = 1;").contains("safe: "));
}
