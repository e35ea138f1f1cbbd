//! Sections around unchecked reads of lists, in functions that cannot tell a failure.

use crate::testing::run_triaged;
use crate::transforms::borrowed::list_macro::UNCHECKED_LIST_ITEM;
use crate::transforms::borrowed::sequence_fast_item::BORROWED_SEQUENCE_FAST_ITEM;

/// The rule on a function of a list that gives 0 or 1 and never fails.
fn diff(body: &str) -> String {
    run_triaged(
        &UNCHECKED_LIST_ITEM,
        &format!(
            "\nstatic int\nkind_of(PyObject *list, PyObject *other, int *kind)\n{{\n{body}\n}}\n"
        ),
    )
}

/// Whether no section comes in.
#[track_caller]
fn is_left(body: &str) {
    let diff = diff(body);
    assert!(!diff.contains("Py_BEGIN_CRITICAL_SECTION"), "{diff}");
    assert!(diff.contains("the checked call can fail"), "{diff}");
}

/// A loop that is not just ended where an item is gone, and is held if nothing else stands in the
/// way: what comes `before` it, its condition, what it does, what comes `behind` it.
fn looped(before: &str, condition: &str, inner: &str, behind: &str) -> String {
    let body = format!(
        "    Py_ssize_t i, n, m;
    PyObject *item, *last = NULL;
    int found = 0;

    {before}
    for (i = 0; {condition}; i++) {{
        do {{
            item = PyList_GET_ITEM(list, i);
            {inner}
        }} while (0);
    }}
    {behind}
    return found;"
    );
    let lines = body.lines().filter(|line| !line.trim().is_empty());
    lines.collect::<Vec<_>>().join("\n")
}

const SIZE: &str = "n = PyList_GET_SIZE(list);";
const TEST: &str = "if (item != other && PyUnicode_Check(item)) found = 1;";

#[test]
fn a_loop_with_its_size_is_held() {
    insta::assert_snapshot!(diff(&looped(SIZE, "i < n", TEST, "")), @"
        11: `PyList_GET_ITEM` returns a borrowed reference from `list`, which the caller passes; another thread can free the object
          11: borrowed here
          12: used here, after another thread may have freed it
          safe: hold `list` in a critical section while its items are read
        @@
             PyObject *item, *last = NULL;
             int found = 0;
        +    Py_BEGIN_CRITICAL_SECTION(list);
             n = PyList_GET_SIZE(list);
             for (i = 0; i < n; i++) {
        @@
                 } while (0);
             }
        +    Py_END_CRITICAL_SECTION();
             return found;
         }
        ");
}

#[test]
fn loops_that_go_by_one_size_are_held_together() {
    let body = "    Py_ssize_t i, n;
    int is_number = 1, is_text = 1;

    n = PyList_Size(list);
    if (n == 0) {
        *kind = 0;
        return 1;
    }
    for (i = 0; i < n && is_number; i++) {
        PyObject *item = PyList_GET_ITEM(list, i);
        if (!PyNumber_Check(item))
            is_number = 0;
    }
    for (i = 0; i < n && is_text; i++) {
        PyObject *item = PyList_GET_ITEM(list, i);
        if (!PyUnicode_Check(item))
            is_text = 0;
    }
    *kind = is_number + 2 * is_text;
    return 0;";
    insta::assert_snapshot!(diff(body), @"
        14: `PyList_GET_ITEM` returns a borrowed reference from `list`, which the caller passes; another thread can free the object
          14: borrowed here
          15: used here, after another thread may have freed it
          safe: hold `list` in a critical section while its items are read
        19: `PyList_GET_ITEM` returns a borrowed reference from `list`, which the caller passes; another thread can free the object
          19: borrowed here
          20: used here, after another thread may have freed it
          safe: hold `list` in a critical section while its items are read
        @@
             Py_ssize_t i, n;
             int is_number = 1, is_text = 1;
        +    int stopped = 0;
         
        +    Py_BEGIN_CRITICAL_SECTION(list);
             n = PyList_Size(list);
             if (n == 0) {
                 *kind = 0;
        -        return 1;
        +        stopped = 1;
        +        goto end_section;
             }
             for (i = 0; i < n && is_number; i++) {
        @@
                     is_text = 0;
             }
        +end_section: ;
        +    Py_END_CRITICAL_SECTION();
        +    if (stopped)
        +        return 1;
             *kind = is_number + 2 * is_text;
             return 0;
        ");
}

#[test]
fn a_size_in_a_declaration_is_asked_for_in_the_section() {
    let body = "    Py_ssize_t n = PyList_GET_SIZE(list);
    Py_ssize_t i;
    for (i = 0; i < n; i++)
        do {
            *kind += PyList_GET_ITEM(list, i) == other;
        } while (0);
    return 0;";
    insta::assert_snapshot!(diff(body), @"
        9: `PyList_GET_ITEM` returns a borrowed reference from `list`, which the caller passes; another thread can free the object
          safe: hold `list` in a critical section while its items are read
        @@
         kind_of(PyObject *list, PyObject *other, int *kind)
         {
        -    Py_ssize_t n = PyList_GET_SIZE(list);
        +    Py_ssize_t n;
             Py_ssize_t i;
        +    Py_BEGIN_CRITICAL_SECTION(list);
        +    n = PyList_GET_SIZE(list);
             for (i = 0; i < n; i++)
                 do {
                     *kind += PyList_GET_ITEM(list, i) == other;
                 } while (0);
        +    Py_END_CRITICAL_SECTION();
             return 0;
         }
        ");
}

#[test]
fn a_size_that_each_turn_asks_for_lets_python_run() {
    let inner = "Py_INCREF(item);
        if (PyObject_IsTrue(item))
            found++;
        Py_DECREF(item);";
    insta::assert_snapshot!(diff(&looped("", "i < PyList_GET_SIZE(list)", inner, "")), @"
        10: `PyList_GET_ITEM` returns a borrowed reference from `list`, which the caller passes; another thread can free the object
          10: borrowed here
          11: used here, after another thread may have freed it
          safe: hold `list` in a critical section while its items are read
        @@
             PyObject *item, *last = NULL;
             int found = 0;
        +    Py_BEGIN_CRITICAL_SECTION(list);
             for (i = 0; i < PyList_GET_SIZE(list); i++) {
                 do {
        @@
                 } while (0);
             }
        +    Py_END_CRITICAL_SECTION();
             return found;
         }
        ");
    is_left(&looped(SIZE, "i < n", inner, ""));
}

#[test]
fn the_size_is_the_same_in_front_of_the_loop_and_behind_it() {
    let text = "
typedef struct { PyObject_HEAD Py_ssize_t n; Py_ssize_t count; PyObject *children[128]; } Node;
extern PyTypeObject Node_Type;
static PyObject *
setstate(Node *self, PyObject *state)
{
    Py_ssize_t i;

    if (!PyList_CheckExact(state) || PyList_GET_SIZE(state) > 128) {
        PyErr_SetString(PyExc_TypeError, \"invalid state\");
        return NULL;
    }
    for (self->n = i = 0; i < PyList_GET_SIZE(state); i++) {
        PyObject *child = PyList_GET_ITEM(state, i);
        if (Py_TYPE(child) == &Node_Type)
            self->n += ((Node *)child)->n;
        self->children[i] = child;
        Py_INCREF(child);
    }
    self->count = PyList_GET_SIZE(state);
    Py_RETURN_NONE;
}
";
    insta::assert_snapshot!(run_triaged(&UNCHECKED_LIST_ITEM, text), @r#"
        14: `PyList_GET_ITEM` returns a borrowed reference from `state`, which the caller passes; another thread can free the object
          14: borrowed here
          18: used here, after another thread may have freed it
          safe: hold `state` in a critical section while its items are read
        @@
         {
             Py_ssize_t i;
        +    int failed = 0;
         
        +    Py_BEGIN_CRITICAL_SECTION(state);
             if (!PyList_CheckExact(state) || PyList_GET_SIZE(state) > 128) {
                 PyErr_SetString(PyExc_TypeError, "invalid state");
        -        return NULL;
        +        failed = 1;
        +        goto end_section;
             }
             for (self->n = i = 0; i < PyList_GET_SIZE(state); i++) {
        @@
             }
             self->count = PyList_GET_SIZE(state);
        +end_section: ;
        +    Py_END_CRITICAL_SECTION();
        +    if (failed)
        +        return NULL;
             Py_RETURN_NONE;
         }
        "#);
}

#[test]
fn sizes_that_are_not_held_decline() {
    // Asked for by the caller, or of another list.
    is_left(&looped("n = *kind;", "i < n", TEST, ""));
    is_left(&looped("n = PyList_GET_SIZE(other);", "i < n", TEST, ""));
    // The index, or the size, is another by then.
    is_left(&looped(
        SIZE,
        "i < n",
        "i++; item = PyList_GET_ITEM(list, i);",
        "",
    ));
    is_left(&looped(
        "n = PyList_GET_SIZE(list); n++;",
        "i < n",
        TEST,
        "",
    ));
    is_left(&looped("n = PyList_GET_SIZE(list);", "i <= n", TEST, ""));
    is_left(&looped(
        "n = PyList_GET_SIZE(list); shift(&n);",
        "i < n",
        TEST,
        "",
    ));
    // The section would begin in a loop that has begun.
    is_left(&looped(
        "for (m = 0; m < 2; m++) { if (m == 0) n = PyList_GET_SIZE(list); }",
        "i < n",
        TEST,
        "",
    ));
}

#[test]
fn what_lets_other_threads_in_declines() {
    // Python code, a lock, a function that nobody knows.
    is_left(&looped(SIZE, "i < n", "PyObject_IsTrue(other);", ""));
    is_left(&looped(SIZE, "i < n", "PyList_Append(other, Py_None);", ""));
    is_left(&looped(SIZE, "i < n", "look(i);", ""));
    is_left(&looped(SIZE, "i < n", "kind[i] = (*callback)(i);", ""));
    // The same between the size and the loop.
    is_left(&looped(
        "n = PyList_GET_SIZE(list); look(n);",
        "i < n",
        TEST,
        "",
    ));
    // A lock alone kept the GIL: what was made of the size is too small.
    is_left(&looped(
        "m = PyList_GET_SIZE(list); PyList_Append(other, Py_None);",
        "i < PyList_GET_SIZE(list)",
        "kind[i] = (int)m;",
        "",
    ));
}

#[test]
fn items_that_outlive_the_section_decline() {
    is_left(&looped(
        SIZE,
        "i < n",
        "last = item;",
        "if (last == other) found = Py_REFCNT(last) > 1;",
    ));
    is_left(&looped(
        SIZE,
        "i < n",
        "last = item;",
        "if (last) found = PyUnicode_Check(last);",
    ));
    is_left(&looped(SIZE, "i < n", "keeper.last = item;", ""));
    is_left(&looped(
        "",
        "i < PyList_GET_SIZE(list)",
        "found += PyObject_IsTrue(item);",
        "",
    ));
    is_left(&looped(
        "",
        "i < PyList_GET_SIZE(list)",
        "Py_INCREF(other); Py_DECREF(other); found += PyUnicode_Check(item);",
        "",
    ));
}

#[test]
fn a_list_that_changes_or_may_be_none_declines() {
    is_left(&looped(SIZE, "i < n", "list = other;", ""));
    is_left(&looped(
        "if (list == NULL) found = 2; n = PyList_GET_SIZE(list);",
        "i < n",
        TEST,
        "",
    ));
    is_left(&looped(SIZE, "i < n", "list = other;", ""));
    is_left(&looped(
        SIZE,
        "i < n",
        "if (found) { Py_DECREF(list); found = 3; }",
        "",
    ));
}

#[test]
fn sections_do_not_meet() {
    is_left(&looped(
        "PyMutex_Lock(&lock);",
        "i < PyList_GET_SIZE(list)",
        TEST,
        "PyMutex_Unlock(&lock);",
    ));
    let own = "Py_BEGIN_CRITICAL_SECTION(other);";
    let body = looped(
        own,
        "i < PyList_GET_SIZE(list)",
        TEST,
        "Py_END_CRITICAL_SECTION();",
    );
    assert!(!diff(&body).contains("+"), "{}", diff(&body));
}

#[test]
fn jumps_into_the_section_decline() {
    is_left(&looped(
        SIZE,
        "i < n",
        "again: if (item == other) { found++; goto again; }",
        "",
    ));
    is_left(
        "    Py_ssize_t i = 0;
    if (*kind)
        goto inner;
    for (i = 0; i < PyList_GET_SIZE(list); i++) {
inner:
        do {
            if (PyUnicode_Check(PyList_GET_ITEM(list, i)))
                return 1;
        } while (0);
    }
    return 0;",
    );
}

#[test]
fn macros_that_nobody_sees_decline() {
    let body = |call| {
        let behind = format!("if (PyList_GET_SIZE(list) == 0) {{ {call} }}");
        looped("", "i < PyList_GET_SIZE(list)", TEST, &behind)
    };
    assert!(diff(&body("fail(n);")).contains("Py_BEGIN_CRITICAL_SECTION(list)"));
    is_left(&body("FAIL(n);"));
}

#[test]
fn sequences_are_held_too() {
    let text = "
static int
has_text(PyObject *fast)
{
    Py_ssize_t i;
    int found = 0;
    for (i = 0; i < PySequence_Fast_GET_SIZE(fast); i++)
        do {
            found += PyUnicode_Check(PySequence_Fast_GET_ITEM(fast, i));
        } while (0);
    return found;
}
";
    insta::assert_snapshot!(run_triaged(&BORROWED_SEQUENCE_FAST_ITEM, text), @"
        9: `PySequence_Fast_GET_ITEM` returns a borrowed reference from `fast`, which the caller passes; another thread can free the object
          safe: hold `fast` in a critical section while its items are read
        @@
             Py_ssize_t i;
             int found = 0;
        +    Py_BEGIN_CRITICAL_SECTION(fast);
             for (i = 0; i < PySequence_Fast_GET_SIZE(fast); i++)
                 do {
                     found += PyUnicode_Check(PySequence_Fast_GET_ITEM(fast, i));
                 } while (0);
        +    Py_END_CRITICAL_SECTION();
             return found;
         }
        ");
}
