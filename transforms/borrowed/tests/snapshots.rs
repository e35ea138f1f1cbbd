//! `PySequence_Fast` as a snapshot.

use super::super::sequence_fast_item::BORROWED_SEQUENCE_FAST_ITEM;
use super::{int, object, of};
use crate::testing;

#[test]
fn all_reads_of_one_sequence() {
    insta::assert_snapshot!(object(
        r#"
    PyObject *fast = PySequence_Fast(key, "expected a sequence");
    Py_ssize_t at;
    if (fast == NULL)
        return NULL;
    use(PySequence_Fast_GET_ITEM(fast, 0));
    for (at = 1; at < PySequence_Fast_GET_SIZE(fast); at++)
        check(PySequence_Fast_GET_ITEM(fast, at));
    Py_DECREF(fast);
    Py_RETURN_NONE;
"#
    ), @r#"
        7: review: in `f`, `use(item)` (line 7) need not be undone at the new error exit (the function could not leave here before)
        9: review: in `f`, `use(item)` (line 7) need not be undone at the new error exit (the function could not leave here before)
        @@
             PyObject *fast = PySequence_Fast(key, "expected a sequence");
             Py_ssize_t at;
        +    PyObject *item;
             if (fast == NULL)
                 return NULL;
        -    use(PySequence_Fast_GET_ITEM(fast, 0));
        -    for (at = 1; at < PySequence_Fast_GET_SIZE(fast); at++)
        -        check(PySequence_Fast_GET_ITEM(fast, at));
        +    item = PySequence_GetItem(fast, 0);
        +    if (item == NULL) {
        +        Py_DECREF(fast);
        +        return NULL;
        +    }
        +    use(item);
        +    Py_DECREF(item);
        +    for (at = 1; at < PySequence_Fast_GET_SIZE(fast); at++) {
        +        PyObject *item2 = PySequence_GetItem(fast, at);
        +        if (item2 == NULL) {
        +            Py_DECREF(fast);
        +            return NULL;
        +        }
        +        check(item2);
        +        Py_DECREF(item2);
        +    }
             Py_DECREF(fast);
             Py_RETURN_NONE;
        "#);
}

#[test]
fn an_assignment_with_a_cleanup_label() {
    insta::assert_snapshot!(int(
        r#"
    PyObject *fast = NULL;
    int result = -1;
    if (!(fast = PySequence_Fast(
              key, "expected " "a sequence")))
        goto done;
    result = check(PySequence_Fast_GET_ITEM(fast, 0));
done:
    Py_XDECREF(fast);
    return result;
"#
    ), @r#"
        @@
             PyObject *fast = NULL;
             int result = -1;
        +    PyObject *item;
             if (!(fast = PySequence_Fast(
                       key, "expected " "a sequence")))
                 goto done;
        -    result = check(PySequence_Fast_GET_ITEM(fast, 0));
        +    item = PySequence_GetItem(fast, 0);
        +    if (item == NULL) {
        +        goto done;
        +    }
        +    result = check(item);
        +    Py_DECREF(item);
         done:
             Py_XDECREF(fast);
        "#);
}

#[test]
fn it_is_passed_on() {
    insta::assert_snapshot!(int(
        r#"
    PyObject *fast = PySequence_Fast(key, "expected a sequence");
    use(PySequence_Fast_GET_ITEM(fast, 0));
    change(fast);
    Py_DECREF(fast);
    return 0;
"#
    ), @"4: use `PySequence_GetItem`, and handle `NULL` like the other errors of the function (the checked call can fail where the macro could not)");
}

#[test]
fn it_may_be_something_else() {
    insta::assert_snapshot!(int(
        r#"
    PyObject *fast = list;
    if (!PyList_Check(list))
        fast = PySequence_Fast(key, "expected a sequence");
    use(PySequence_Fast_GET_ITEM(fast, 0));
    return 0;
"#
    ), @"6: use `PySequence_GetItem`, and handle `NULL` like the other errors of the function (the checked call can fail where the macro could not)");
}

#[test]
fn it_comes_from_the_caller() {
    insta::assert_snapshot!(int(
        r#"
    use(PySequence_Fast_GET_ITEM(list, 0));
    return 0;
"#
    ), @"3: use `PySequence_GetItem`, and handle `NULL` like the other errors of the function (the checked call can fail where the macro could not)");
}

#[test]
fn an_argument_in_parentheses() {
    insta::assert_snapshot!(int(
        r#"
    PyObject *fast = PySequence_Fast((key), "expected a sequence");
    use(PySequence_Fast_GET_ITEM(fast, 0));
    Py_DECREF(fast);
    return 0;
"#
    ), @r#"
        4: review: `fast` has all items that are read from it (the code does not ask for its size first)
        @@
         static int f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
         {
        -    PyObject *fast = PySequence_Fast((key), "expected a sequence");
        +    PyObject *fast = PyList_CheckExact(key)
        +        ? PyList_AsTuple(key)
        +        : PySequence_Fast((key), "expected a sequence");
             use(PySequence_Fast_GET_ITEM(fast, 0));
             Py_DECREF(fast);
        "#);
}

#[test]
fn two_items_and_a_label() {
    insta::assert_snapshot!(object(
        r#"
    PyObject *fast = NULL, *first, *second, *result = NULL;
    if (!(fast = PySequence_Fast(key, "not a pair")))
        goto done;
    first = PySequence_Fast_GET_ITEM(fast, 0);
    second = PySequence_Fast_GET_ITEM(fast, 1);
    result = PyTuple_Pack(2, first, second);
done:
    Py_XDECREF(fast);
    return result;
"#
    ), @r#"
        @@
             if (!(fast = PySequence_Fast(key, "not a pair")))
                 goto done;
        -    first = PySequence_Fast_GET_ITEM(fast, 0);
        -    second = PySequence_Fast_GET_ITEM(fast, 1);
        +    first = PySequence_GetItem(fast, 0);
        +    if (first == NULL) {
        +        goto done;
        +    }
        +    second = PySequence_GetItem(fast, 1);
        +    if (second == NULL) {
        +        Py_DECREF(first);
        +        goto done;
        +    }
             result = PyTuple_Pack(2, first, second);
        +    Py_DECREF(first);
        +    Py_DECREF(second);
         done:
             Py_XDECREF(fast);
        "#);
}

#[test]
fn a_loop_of_a_function_that_cannot_fail_ends_early() {
    insta::assert_snapshot!(of(
        "void",
        r#"
    PyObject *fast = PySequence_Fast(key, "expected a sequence");
    Py_ssize_t at, n;
    if (fast == NULL) {
        PyErr_Clear();
        return;
    }
    n = PySequence_Fast_GET_SIZE(fast);
    for (at = 0; at < n; at++)
        use(PySequence_Fast_GET_ITEM(fast, at));
    Py_DECREF(fast);
"#
    ), @"
        @@
             }
             n = PySequence_Fast_GET_SIZE(fast);
        -    for (at = 0; at < n; at++)
        -        use(PySequence_Fast_GET_ITEM(fast, at));
        +    for (at = 0; at < n; at++) {
        +        PyObject *item = PySequence_GetItem(fast, at);
        +        if (item == NULL) {
        +            PyErr_Clear();
        +            break;
        +        }
        +        use(item);
        +        Py_DECREF(item);
        +    }
             Py_DECREF(fast);
         }
        ");
}

#[test]
fn a_function_that_cannot_fail_reads_from_a_copy() {
    insta::assert_snapshot!(testing::run_triaged(
        &BORROWED_SEQUENCE_FAST_ITEM,
        r#"static void f(PyObject *key)
{
    long i = 0;
    PyObject *fast = PySequence_Fast(key, "expected a sequence");
    Py_ssize_t at, n;
    if (fast == NULL) {
        PyErr_Clear();
        return;
    }
    n = PySequence_Fast_GET_SIZE(fast);
    for (at = 0; at < n; at++)
        i += PyBytes_GET_SIZE(PySequence_Fast_GET_ITEM(fast, at));
    Py_DECREF(fast);
    report(i);
}
"#
    ), @r#"
        12: `PySequence_Fast_GET_ITEM` returns a borrowed reference from `key`, which the caller passes; another thread can free the object
          safe: copy the list to a tuple (`PySequence_Fast` → `PyList_AsTuple`)
        @@
         {
             long i = 0;
        -    PyObject *fast = PySequence_Fast(key, "expected a sequence");
        +    PyObject *fast = PyList_CheckExact(key)
        +        ? PyList_AsTuple(key)
        +        : PySequence_Fast(key, "expected a sequence");
             Py_ssize_t at, n;
             if (fast == NULL) {
        "#);
}

#[test]
fn a_sequence_of_the_caller() {
    insta::assert_snapshot!(int(
        r#"
    if (!PyList_Check(list) || PyDict_SetItem(dict, key, list) < 0)
        return 0;
    if (PyDict_SetItem(dict, key, key) < 0)
        return -1;
    use(PySequence_Fast_GET_ITEM(list, 0));
    return 0;
"#
    ), @"
        7: review: in `f`, `PyDict_SetItem(dict, key, key)` (line 5) need not be undone at the new error exit (the function could not leave here before)
        @@
         static int f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
         {
        +    PyObject *item;
             if (!PyList_Check(list) || PyDict_SetItem(dict, key, list) < 0)
                 return 0;
             if (PyDict_SetItem(dict, key, key) < 0)
                 return -1;
        -    use(PySequence_Fast_GET_ITEM(list, 0));
        +    item = PyList_Check(list)
        +        ? PyList_GetItemRef(list, 0)
        +        : Py_NewRef(PyTuple_GET_ITEM(list, 0));
        +    if (item == NULL) {
        +        return -1;
        +    }
        +    use(item);
        +    Py_DECREF(item);
             return 0;
         }
        ");
}

#[test]
fn items_that_are_kept_as_long_as_the_sequence() {
    insta::assert_snapshot!(object(
        r#"
    PyObject **items, *item, *fast, *result;
    Py_ssize_t at, n;
    fast = PySequence_Fast(key, "expected a sequence");
    if (!fast)
        return NULL;
    n = PySequence_Length(fast);
    items = PyMem_Malloc(n * sizeof(PyObject *));
    if (!items) {
        PyErr_NoMemory();
        Py_DECREF(fast);
        return NULL;
    }
    for (at = 0; at < n; at++) {
        item = PySequence_Fast_GET_ITEM(fast, at);
        if (Py_TYPE(item) != &Item_Type) {
            Py_DECREF(fast);
            PyMem_Free(items);
            PyErr_SetString(PyExc_TypeError, "expected items");
            return NULL;
        }
        items[at] = item;
    }
    result = check(items, n);
    Py_DECREF(fast);
    PyMem_Free(items);
    return result;
"#
    ), @r#"
    16: review: in `f`, what a function made from the object that `PyList_AsTuple` returned stays valid after the object is released
    @@
         PyObject **items, *item, *fast, *result;
         Py_ssize_t at, n;
    -    fast = PySequence_Fast(key, "expected a sequence");
    +    fast = PyList_CheckExact(key)
    +        ? PyList_AsTuple(key)
    +        : PySequence_Fast(key, "expected a sequence");
         if (!fast)
             return NULL;
    "#);
}

#[test]
fn a_pair_of_each_item_of_an_iterator() {
    insta::assert_snapshot!(int(
        r#"
    PyObject *pair = NULL, *first = NULL, *second = NULL, *fast = NULL;
    while ((pair = PyIter_Next(key)) != NULL) {
        fast = PySequence_Fast(pair, "not a pair");
        if (fast == NULL)
            goto fail;
        first = PySequence_Fast_GET_ITEM(fast, 0);
        second = PySequence_Fast_GET_ITEM(fast, 1);
        Py_INCREF(first);
        Py_INCREF(second);
        if (PyDict_SetItem(dict, first, second) < 0)
            goto fail;
        Py_DECREF(first);
        Py_DECREF(second);
        Py_DECREF(fast);
        Py_DECREF(pair);
    }
    return 0;
fail:
    Py_XDECREF(first);
    Py_XDECREF(second);
    Py_XDECREF(fast);
    Py_XDECREF(pair);
    return -1;
"#
    ), @r#"
        8: review: `fast` has all items that are read from it (the code does not ask for its size first)
        9: review: `fast` has all items that are read from it (the code does not ask for its size first)
        @@
             PyObject *pair = NULL, *first = NULL, *second = NULL, *fast = NULL;
             while ((pair = PyIter_Next(key)) != NULL) {
        -        fast = PySequence_Fast(pair, "not a pair");
        +        fast = PyList_CheckExact(pair)
        +            ? PyList_AsTuple(pair)
        +            : PySequence_Fast(pair, "not a pair");
                 if (fast == NULL)
                     goto fail;
        "#);
}

#[test]
fn reference_counts_that_are_looked_at() {
    insta::assert_snapshot!(of(
        "void",
        r#"
    PyObject *fast = PySequence_Fast(key, "expected a sequence"), *item;
    if (fast == NULL) {
        PyErr_Clear();
        return;
    }
    item = PySequence_Fast_GET_ITEM(fast, 0);
    if (Py_REFCNT(item) > 2)
        use(item);
    Py_DECREF(fast);
"#
    ), @"
    8: review: in `f`, no code relies on the reference count of the object from `PySequence_GetItem`, which is now one higher
    9: use `PyUnstable_Object_IsUniquelyReferenced` (3.14, or `pythoncapi_compat.h`) if only this thread can reach the object; otherwise use a lock
    @@
             return;
         }
    -    item = PySequence_Fast_GET_ITEM(fast, 0);
    +    item = PySequence_GetItem(fast, 0);
    +    if (item == NULL) {
    +        Py_DECREF(fast);
    +        PyErr_WriteUnraisable(NULL);
    +        return;
    +    }
         if (Py_REFCNT(item) > 2)
             use(item);
    +    Py_DECREF(item);
         Py_DECREF(fast);
     }
    ");
}

/// `body` with the items of `fast` in `items`.
fn through_pointer(body: &str) -> String {
    int(&format!(
        "
    PyObject *kept = NULL;
    PyObject *fast = PySequence_Fast(list, \"no sequence\");
    PyObject **items;
    long n = 0;
    if (fast == NULL)
        return -1;
    items = PySequence_Fast_ITEMS(fast);
{body}
    Py_DECREF(fast);
    return n;"
    ))
}

#[test]
fn a_pointer_to_the_items() {
    insta::assert_snapshot!(through_pointer("    n = PyBytes_GET_SIZE(items[i]);"), @r#"
        9: review: `fast` has all items that are read from it (the code does not ask for its size first)
        @@
         {
             PyObject *kept = NULL;
        -    PyObject *fast = PySequence_Fast(list, "no sequence");
        +    PyObject *fast = PyList_CheckExact(list)
        +        ? PyList_AsTuple(list)
        +        : PySequence_Fast(list, "no sequence");
             PyObject **items;
             long n = 0;
        "#);
    insta::assert_snapshot!(through_pointer("    while (i--) { Py_INCREF(*items); self->all[i] = *items++; }"), @r#"
        9: review: `fast` has all items that are read from it (the code does not ask for its size first)
        @@
         {
             PyObject *kept = NULL;
        -    PyObject *fast = PySequence_Fast(list, "no sequence");
        +    PyObject *fast = PyList_CheckExact(list)
        +        ? PyList_AsTuple(list)
        +        : PySequence_Fast(list, "no sequence");
             PyObject **items;
             long n = 0;
        "#);
}

/// What is said of `items`, with `before` in front of the call that gives it and `read` behind.
fn triaged(before: &str, read: &str) -> String {
    triaged_below("", before, read)
}

/// The same with `own` in front of the function.
fn triaged_below(own: &str, before: &str, read: &str) -> String {
    let text = format!(
        "{own}
static int f(PyObject *list, Py_ssize_t i)
{{
    PyObject *fast = PySequence_Fast(list, \"no sequence\");
    PyObject **items;
    long n;
    if (fast == NULL)
        return -1;
    {before}
    items = PySequence_Fast_ITEMS(fast);
    {read}
    Py_DECREF(fast);
    return n;
}}
"
    );
    testing::run_triaged(&BORROWED_SEQUENCE_FAST_ITEM, &text)
}

#[test]
fn a_pointer_that_is_used_while_code_runs() {
    let read = "for (n = 0; i > 0; i--) n += PyObject_Size(items[i]);";
    insta::assert_snapshot!(triaged("", read), @r#"
        10: `PySequence_Fast_ITEMS` returns a pointer to the items from `list`, which the caller passes; another thread can free the object
          10: borrowed here
          11: used here, after another thread may have freed it
          review: copy the list to a tuple (`PySequence_Fast` → `PyList_AsTuple`)
          assumes that `fast` has all items that are read from it (the code does not ask for its size first)
          assumes that `PyObject_Size` does not change the list while its items are read (the copy would not show that)
        @@
         static int f(PyObject *list, Py_ssize_t i)
         {
        -    PyObject *fast = PySequence_Fast(list, "no sequence");
        +    PyObject *fast = PyList_CheckExact(list)
        +        ? PyList_AsTuple(list)
        +        : PySequence_Fast(list, "no sequence");
             PyObject **items;
             long n;
        "#);
}

const SIZED: &str = "i = PySequence_Fast_GET_SIZE(fast);";

/// Whether a copy of the list is safe, with `own` in the file, where `step` comes between two reads.
fn is_kept_by(own: &str, step: &str) -> bool {
    let read = format!("for (n = 0; n < i; n++) {{ PyBytes_GET_SIZE(items[n]); {step} }}");
    let text = triaged_below(own, SIZED, &read);
    assert!(text.contains("copy the list to a tuple"), "{text}");
    !text.contains("review")
}

#[test]
fn what_comes_between_two_reads() {
    let grow = |body: &str| format!("static void grow(Row *row, PyObject *v) {{ {body} }}");
    let call = "grow(NULL, list);";
    assert!(is_kept_by(
        "",
        "PyObject *t = PyTuple_New(2); Py_XDECREF(t);"
    ));
    assert!(is_kept_by(&grow("Py_CLEAR(row->old); row->n++;"), call));
    assert!(!is_kept_by("void grow(Row *row, PyObject *v);", call));
    assert!(!is_kept_by(&grow("row->grow(v);"), call));
    assert!(!is_kept_by(&grow("PyObject_IsTrue(v);"), call));
    assert!(!is_kept_by(&grow("PyList_Reverse(v);"), call));
    let array = "((PyListObject *)v)->ob_item[0] = NULL;";
    assert!(!is_kept_by(&grow(array), call));
}

#[test]
fn the_array_of_a_type_of_the_package() {
    let store = "((Row *)row)->ob_item[n] = items[n]; Py_INCREF(items[n]);";
    let named = "typedef PyListObject Row;
static PyObject *row;";
    let read = format!("for (n = 0; n < i; n++) {{ {store} }}");
    let text = triaged_below(named, "", &read);
    assert!(text.contains("first make a tuple of the list"), "{text}");
    let own = "
static PyTypeObject Row_Type = { PyVarObject_HEAD_INIT(NULL, 0) \"row\", sizeof(Row) };";
    assert!(is_kept_by(&[named, own].concat(), store));
}

#[test]
fn a_list_that_the_function_changes() {
    let result = triaged("PyList_Reverse(list);", "n = PyBytes_GET_SIZE(items[i]);");
    assert!(
        result.contains("assumes that `PyList_Reverse` does not change"),
        "{result}"
    );
}

#[test]
fn a_pointer_that_goes_on() {
    let is_by_hand = |body: &str| through_pointer(body).contains("first make a tuple of the list");
    assert!(is_by_hand(
        "    kept = items[0]; Py_DECREF(fast); return use(kept);"
    ));
    assert!(is_by_hand("    self->all = items;"));
    assert!(is_by_hand("    self->first = items[0];"));
    assert!(is_by_hand("    items[i] = self;"));
    assert!(is_by_hand("    ((PyListObject *)list)->ob_item[0] = key;"));
    assert!(!is_by_hand("    ((Deque *)self)->ob_item[0] = key;"));
    assert!(is_by_hand("    fast = items[0];"));
    assert!(is_by_hand("    n = count(items);"));
    assert!(is_by_hand("    PyTuple_SET_ITEM(self, 0, items[0]);"));
    assert!(!is_by_hand(
        "    kept = items[0]; n = PyBytes_GET_SIZE(kept);"
    ));
}

#[test]
fn reference_counts_that_a_helper_looks_at() {
    let said = |uses: &str| {
        let text = format!(
            "static int alone(PyObject *v) {{ return Py_REFCNT(v) == 1; }}\n\
             static PyObject *pair(PyObject *v) {{ PyObject *t = PyTuple_New(1); \
             PyTuple_SetItem(t, 0, Py_NewRef(v)); return t; }}\n\
             int f(PyObject *key)\n{{\n    PyObject *fast = PySequence_Fast(key, \"\"), *item;\n    \
             if (fast == NULL)\n        return -1;\n    \
             item = PySequence_Fast_GET_ITEM(fast, 0);\n    {uses}(item);\n    Py_DECREF(fast);\n    return 0;\n}}\n"
        );
        crate::testing::report(&BORROWED_SEQUENCE_FAST_ITEM, &text)
    };
    insta::assert_snapshot!(said("alone"), @"
    8: `PySequence_Fast_GET_ITEM` returns a borrowed reference from `key`, which the caller passes; another thread can free the object
      8: borrowed here
      9: used here, after another thread may have freed it
      review: take a strong reference (`PySequence_Fast_GET_ITEM` → `PySequence_GetItem`)
      assumes that in `f`, no code relies on the reference count of the object from `PySequence_GetItem`, which is now one higher
    ");
    insta::assert_snapshot!(said("pair"), @"
    8: `PySequence_Fast_GET_ITEM` returns a borrowed reference from `key`, which the caller passes; another thread can free the object
      8: borrowed here
      9: used here, after another thread may have freed it
      safe: take a strong reference (`PySequence_Fast_GET_ITEM` → `PySequence_GetItem`)
    ");
}

#[test]
fn a_call_that_fails_for_what_others_have() {
    insta::assert_snapshot!(through_pointer("    PyTuple_SetItem(items[i], 0, Py_NewRef(Py_None));"), @"9: first make a tuple of the list (`PySequence_Tuple`), use the size of the tuple, and release the tuple after the last use (another thread may change the list while its items are read through a pointer)");
}

/// What becomes of a loop over the items of a copy, in a function with the statements `before` the copy
/// and `size` behind it.
fn bounded(before: &str, size: &str, read: &str) -> String {
    testing::run_triaged(
        &BORROWED_SEQUENCE_FAST_ITEM,
        &format!(
            "
static long f(PyObject *list, Py_ssize_t n)
{{
    long sum = 0, *found = NULL;
    PyObject *fast, **items;
    Py_ssize_t i;
    {before}
    fast = PySequence_Fast(list, \"no sequence\");
    if (fast == NULL)
        return 0;
    {size}
    {read}
    Py_DECREF(fast);
    return sum;
}}
"
        ),
    )
}

/// Another thread may shrink the list between the call that asks for its size and the copy.
#[test]
fn a_copy_has_a_size_of_its_own() {
    const POINTER: &str = "items = PySequence_Fast_ITEMS(fast);\n    while (n-- > 0) sum += PyBytes_GET_SIZE(*items++);";
    const MACRO: &str =
        "for (i = 0; i < n; i++) sum += PyBytes_GET_SIZE(PySequence_Fast_GET_ITEM(fast, i));";
    const OWN: &str = "n = PySequence_Fast_GET_SIZE(fast);";
    const WORDS: [(&str, &str); 5] = [
        ("safe: copy the list to a tuple", "safe"),
        ("safe: take a strong reference", "owned"),
        ("`fast` has all items that are read from it", "unseen"),
        ("review: copy the list to a tuple", "review"),
        ("by hand: ", "by hand"),
    ];
    const TESTED: &str = "n = PySequence_Size(list); if (n < 0) return 0;";
    const SOMETIMES: &str = "if (sum) n = PySequence_Fast_GET_SIZE(fast);";
    let is = |before: &str, size: &str, read: &str| {
        let result = bounded(before, size, read);
        let found = WORDS.iter().find(|(words, _)| result.contains(words));
        found.map_or_else(|| panic!("{result}"), |(_, word)| *word)
    };
    let room =
        "n = PySequence_Size(list); if (n < 0) return 0; found = malloc(n * sizeof(*found));";
    let compared = "if (PyObject_Length(list) != 3) return 0;";
    let empty = "if (PySequence_Size(list) == 0) return 0;";
    for read in [POINTER, MACRO] {
        // The caller may have asked.
        assert_eq!(is("", "", read), "unseen");
        assert_eq!(is("n = PySequence_Size(list);", "", read), "by hand");
        assert_eq!(is(TESTED, SOMETIMES, read), "by hand");
        for before in ["", TESTED, empty] {
            assert_eq!(is(before, OWN, read), "safe", "{before}");
        }
    }
    assert_eq!(is("", SOMETIMES, MACRO), "unseen");
    // Other code goes by the size that the list had.
    for before in [room, compared] {
        assert_eq!(is(before, OWN, POINTER), "by hand", "{before}");
        // The loop ends where the list does.
        assert_eq!(is(before, OWN, MACRO), "owned", "{before}");
    }
}

/// For `NULL`, `PySequence_Fast` gives `NULL`, and the exception stays.
#[test]
fn an_argument_that_may_be_null() {
    let of_argument = |tested: &str| {
        let code = format!(
            r#"static void f(PyObject *key)
{{
    long i = 0;
    PyObject *it = PyObject_GetIter(key);
    {tested}
    PyObject *fast = PySequence_Fast(it, "no sequence");
    Py_ssize_t at, n;
    if (fast == NULL) {{
        PyErr_Clear();
        return;
    }}
    n = PySequence_Fast_GET_SIZE(fast);
    for (at = 0; at < n; at++)
        i += PyBytes_GET_SIZE(PySequence_Fast_GET_ITEM(fast, at));
    Py_DECREF(fast);
    report(i);
}}
"#
        );
        testing::run_triaged(&BORROWED_SEQUENCE_FAST_ITEM, &code)
    };
    let guarded = "= it != NULL && PyList_CheckExact(it)";
    assert!(of_argument("").contains(guarded));
    let plain = "= PyList_CheckExact(it)";
    assert!(of_argument("if (it == NULL) return;").contains(plain));
}
