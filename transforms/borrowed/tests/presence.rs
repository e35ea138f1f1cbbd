//! Lookups that only ask whether a key is there.

use super::int;
use crate::testing::run_triaged;
use crate::transforms::borrowed::dict_item::BORROWED_DICT_ITEM;

/// The function with a dict for sure, after the rule and triage.
fn sure(body: &str) -> String {
    let text = format!(
        "static int f(PyObject *self, PyObject *args, PyObject *key, int i)\n{{\n    PyObject \
         *dict;\n    if (!PyArg_ParseTuple(args, \"O!\", &PyDict_Type, &dict))\n        return \
         -1;\n{}\n}}\n",
        body.trim_matches('\n')
    );
    run_triaged(&BORROWED_DICT_ITEM, &text)
}

#[test]
fn errors_that_stay_set_need_no_statement() {
    insta::assert_snapshot!(sure(
        r#"
    if (PyDict_GetItemWithError(dict, key))
        return 1;
    if (PyDict_GetItemWithError(dict, key) == NULL)
        return 2;
    return 0;
"#
    ), @r#"
        6: `PyDict_GetItemWithError` returns a borrowed reference from an argument that Python code passes; another thread can free the object
          safe: only test whether the key is present (`PyDict_GetItemWithError` → `PyDict_Contains`)
        8: `PyDict_GetItemWithError` returns a borrowed reference from an argument that Python code passes; another thread can free the object
          safe: only test whether the key is present (`PyDict_GetItemWithError` → `PyDict_Contains`)
        @@
             if (!PyArg_ParseTuple(args, "O!", &PyDict_Type, &dict))
                 return -1;
        -    if (PyDict_GetItemWithError(dict, key))
        +    if (PyDict_Contains(dict, key) == 1)
                 return 1;
        -    if (PyDict_GetItemWithError(dict, key) == NULL)
        +    if (PyDict_Contains(dict, key) != 1)
                 return 2;
             return 0;
        "#);
}

#[test]
fn what_may_be_no_dict_is_left_alone() {
    insta::assert_snapshot!(int(
        r#"
    if (PyDict_GetItemWithError(dict, key))
        return 1;
    if (PyDict_GetItemWithError(dict, key) == NULL)
        return 2;
    return 0;
"#
    ), @"
        3: safe: the code only asks whether the key is present
        5: safe: the code only asks whether the key is present
        ");
}

#[test]
fn errors_are_cleared_in_front_of_the_statement() {
    insta::assert_snapshot!(sure(
        r#"
    if (PyDict_GetItem(dict, key))
        return 1;
    if (!PyDict_GetItemString(dict, "x")) {
        return 2;
    }
    return 0;
"#
    ), @r#"
        6: `PyDict_GetItem` returns a borrowed reference from an argument that Python code passes; another thread can free the object
          safe: only test whether the key is present (`PyDict_GetItem` → `PyDict_Contains`)
        8: `PyDict_GetItemString` returns a borrowed reference from an argument that Python code passes; another thread can free the object
          safe: only test whether the key is present (`PyDict_GetItemString` → `PyDict_ContainsString`)
        @@
         {
             PyObject *dict;
        +    int found;
        +    int found2;
             if (!PyArg_ParseTuple(args, "O!", &PyDict_Type, &dict))
                 return -1;
        -    if (PyDict_GetItem(dict, key))
        +    found = PyDict_Contains(dict, key);
        +    if (found < 0) {
        +        return -1;
        +    }
        +    if (found == 1)
                 return 1;
        -    if (!PyDict_GetItemString(dict, "x")) {
        +    found2 = PyDict_ContainsString(dict, "x");
        +    if (found2 < 0) {
        +        return -1;
        +    }
        +    if (found2 != 1) {
                 return 2;
             }
        "#);
}

#[test]
fn values_and_returns() {
    insta::assert_snapshot!(sure(
        r#"
    i = PyDict_GetItem(dict, key) != NULL;
    use(i);
    return PyDict_GetItem(dict, key) == NULL;
"#
    ), @r#"
        6: `PyDict_GetItem` returns a borrowed reference from an argument that Python code passes; another thread can free the object
          review: only test whether the key is present (`PyDict_GetItem` → `PyDict_Contains`)
          assumes that in `f`, `use(i)` (line 7) need not be undone at the new error exit (the function could not leave here before)
        8: `PyDict_GetItem` returns a borrowed reference from an argument that Python code passes; another thread can free the object
          review: only test whether the key is present (`PyDict_GetItem` → `PyDict_Contains`)
          assumes that in `f`, `use(i)` (line 7) need not be undone at the new error exit (the function could not leave here before)
        @@
         {
             PyObject *dict;
        +    int found;
        +    int found2;
             if (!PyArg_ParseTuple(args, "O!", &PyDict_Type, &dict))
                 return -1;
        -    i = PyDict_GetItem(dict, key) != NULL;
        +    found = PyDict_Contains(dict, key);
        +    if (found < 0) {
        +        return -1;
        +    }
        +    i = found == 1;
             use(i);
        -    return PyDict_GetItem(dict, key) == NULL;
        +    found2 = PyDict_Contains(dict, key);
        +    if (found2 < 0) {
        +        return -1;
        +    }
        +    return found2 != 1;
         }
        "#);
}

#[test]
fn behind_a_condition_the_lookup_stays() {
    insta::assert_snapshot!(sure(
        r#"
    if (i && !PyDict_GetItemString(dict, "x"))
        return 3;
    while (PyDict_GetItem(dict, key) == NULL)
        use(dict);
    assert(PyDict_GetItem(dict, key) != NULL);
    return 0;
"#
    ), @"
        6: `PyDict_GetItemString` returns a borrowed reference, but the code does not use the object
          safe as it is: the code only asks whether the key is present
        8: `PyDict_GetItem` returns a borrowed reference, but the code does not use the object
          safe as it is: the code only asks whether the key is present
        10: `PyDict_GetItem` returns a borrowed reference, but the code does not use the object
          safe as it is: the pointer is only compared
        ");
}

#[test]
fn each_answer_has_a_variable_of_its_own() {
    insta::assert_snapshot!(sure(
        r#"
    if (i) {
        if (PyDict_GetItem(dict, key))
            i = 0;
        if (PyDict_GetItem(dict, args))
            i = 1;
    }
    return i;
"#
    ), @"
        7: `PyDict_GetItem` returns a borrowed reference from an argument that Python code passes; another thread can free the object
          safe: only test whether the key is present (`PyDict_GetItem` → `PyDict_Contains`)
        9: `PyDict_GetItem` returns a borrowed reference from an argument that Python code passes; another thread can free the object
          safe: only test whether the key is present (`PyDict_GetItem` → `PyDict_Contains`)
        @@
                 return -1;
             if (i) {
        -        if (PyDict_GetItem(dict, key))
        +        int found2;
        +        int found = PyDict_Contains(dict, key);
        +        if (found < 0) {
        +            return -1;
        +        }
        +        if (found == 1)
                     i = 0;
        -        if (PyDict_GetItem(dict, args))
        +        found2 = PyDict_Contains(dict, args);
        +        if (found2 < 0) {
        +            return -1;
        +        }
        +        if (found2 == 1)
                     i = 1;
             }
        ");
}

#[test]
fn an_operand_gets_parentheses() {
    insta::assert_snapshot!(sure(
        r#"
    int n = !!PyDict_GetItem(dict, key);
    n += -!PyDict_GetItemWithError(dict, key);
    n += 10 + !PyDict_GetItemWithError(dict, key) * 2;
    n += i | (PyDict_GetItemWithError(dict, key) != NULL);
    n += i == !PyDict_GetItemWithError(dict, key);
    if (!(PyDict_GetItemWithError(dict, key) == NULL) && i)
        n++;
    return !PyDict_GetItemWithError(dict, key) ? n : 0;
"#
    ), @r#"
        6: `PyDict_GetItem` returns a borrowed reference from an argument that Python code passes; another thread can free the object
          safe: only test whether the key is present (`PyDict_GetItem` → `PyDict_Contains`)
        7: `PyDict_GetItemWithError` returns a borrowed reference from an argument that Python code passes; another thread can free the object
          safe: only test whether the key is present (`PyDict_GetItemWithError` → `PyDict_Contains`)
        8: `PyDict_GetItemWithError` returns a borrowed reference from an argument that Python code passes; another thread can free the object
          safe: only test whether the key is present (`PyDict_GetItemWithError` → `PyDict_Contains`)
        9: `PyDict_GetItemWithError` returns a borrowed reference from an argument that Python code passes; another thread can free the object
          safe: only test whether the key is present (`PyDict_GetItemWithError` → `PyDict_Contains`)
        10: `PyDict_GetItemWithError` returns a borrowed reference from an argument that Python code passes; another thread can free the object
          safe: only test whether the key is present (`PyDict_GetItemWithError` → `PyDict_Contains`)
        11: `PyDict_GetItemWithError` returns a borrowed reference from an argument that Python code passes; another thread can free the object
          safe: only test whether the key is present (`PyDict_GetItemWithError` → `PyDict_Contains`)
        13: `PyDict_GetItemWithError` returns a borrowed reference from an argument that Python code passes; another thread can free the object
          safe: only test whether the key is present (`PyDict_GetItemWithError` → `PyDict_Contains`)
        @@
             if (!PyArg_ParseTuple(args, "O!", &PyDict_Type, &dict))
                 return -1;
        -    int n = !!PyDict_GetItem(dict, key);
        -    n += -!PyDict_GetItemWithError(dict, key);
        -    n += 10 + !PyDict_GetItemWithError(dict, key) * 2;
        -    n += i | (PyDict_GetItemWithError(dict, key) != NULL);
        -    n += i == !PyDict_GetItemWithError(dict, key);
        -    if (!(PyDict_GetItemWithError(dict, key) == NULL) && i)
        +    int found = PyDict_Contains(dict, key);
        +    if (found < 0) {
        +        return -1;
        +    }
        +    int n = found == 1;
        +    n += -(PyDict_Contains(dict, key) != 1);
        +    n += 10 + (PyDict_Contains(dict, key) != 1) * 2;
        +    n += i | (PyDict_Contains(dict, key) == 1);
        +    n += i == (PyDict_Contains(dict, key) != 1);
        +    if (PyDict_Contains(dict, key) == 1 && i)
                 n++;
        -    return !PyDict_GetItemWithError(dict, key) ? n : 0;
        +    return PyDict_Contains(dict, key) != 1 ? n : 0;
         }
        "#);
}

#[test]
fn no_statement_comes_between_declarations() {
    insta::assert_snapshot!(sure(
        r#"
    {
        int has = PyDict_GetItem(dict, key) != NULL;
        int other = i + 1;
        return has + other;
    }
"#
    ), @"
        7: `PyDict_GetItem` returns a borrowed reference from an argument that Python code passes; another thread can free the object
          safe: only test whether the key is present (`PyDict_GetItem` → `PyDict_Contains`)
        @@
                 return -1;
             {
        -        int has = PyDict_GetItem(dict, key) != NULL;
        +        int found = PyDict_Contains(dict, key);
        +        int has;
                 int other = i + 1;
        +        if (found < 0) {
        +            return -1;
        +        }
        +        has = found == 1;
                 return has + other;
             }
        ");
}
