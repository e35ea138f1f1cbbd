//! Where the references of a loop are written.

use super::diff;

#[test]
fn a_do_loop_is_wrapped_without_references() {
    let text = r#"
static int
f(PyObject *d, PyObject *key)
{
    Py_ssize_t pos = 0;

    do {
        visit(key);
    } while (PyDict_Next(d, &pos, &key, NULL));
    return 0;
}
"#;
    insta::assert_snapshot!(diff(text), @r##"
    9: `d` is iterated over without its lock; another thread may change the dict meanwhile
      9: the dict is `d`, which the caller passes; another thread can change it between two calls
      8: `visit` can run Python code, which may also change the dict
      review: iterate over `d` in a critical section
      assumes that another reference keeps `key` alive in the loop while calls run Python code
      assumes that `d` is not NULL here
    @@
         Py_ssize_t pos = 0;
     
    +    Py_BEGIN_CRITICAL_SECTION(d);
         do {
             visit(key);
         } while (PyDict_Next(d, &pos, &key, NULL));
    +    Py_END_CRITICAL_SECTION();
         return 0;
     }
    "##);
}

#[test]
fn a_body_that_ends_in_a_directive_releases_behind_it() {
    let text = r#"
static int
f(PyObject *d)
{
    PyObject *key;
    Py_ssize_t pos = 0;

    while (PyDict_Next(d, &pos, &key, NULL)) {
        visit(key);
#ifdef OTHER
        visit(d);
#endif
    }
    return 0;
}
"#;
    insta::assert_snapshot!(diff(text), @r##"
    8: `d` is iterated over without its lock; another thread may change the dict meanwhile
      8: the dict is `d`, which the caller passes; another thread can change it between two calls
      9: `visit` can run Python code, which may also change the dict
      safe: iterate over `d` in a critical section
    @@
         Py_ssize_t pos = 0;
     
    +    Py_BEGIN_CRITICAL_SECTION(d);
         while (PyDict_Next(d, &pos, &key, NULL)) {
    +        Py_INCREF(key);
             visit(key);
     #ifdef OTHER
             visit(d);
     #endif
    +        Py_DECREF(key);
         }
    +    Py_END_CRITICAL_SECTION();
         return 0;
     }
    "##);
}

#[test]
fn declarations_that_call_come_after_the_references() {
    let text = r#"
static int
f(PyObject *d)
{
    PyObject *key;
    Py_ssize_t pos = 0;
    prepare();
    int n = 0;

    while (PyDict_Next(d, &pos, &key, NULL)) {
        int rc = visit(key);
        n += rc;
    }
    return n;
}
"#;
    insta::assert_snapshot!(diff(text), @r##"
    10: `d` is iterated over without its lock; another thread may change the dict meanwhile
      10: the dict is `d`, which the caller passes; another thread can change it between two calls
      11: `visit` can run Python code, which may also change the dict
      safe: iterate over `d` in a critical section
    @@
         int n = 0;
     
    +    Py_BEGIN_CRITICAL_SECTION(d);
         while (PyDict_Next(d, &pos, &key, NULL)) {
    +        Py_INCREF(key);
             int rc = visit(key);
             n += rc;
    +        Py_DECREF(key);
         }
    +    Py_END_CRITICAL_SECTION();
         return n;
     }
    "##);
}

#[test]
fn a_declaration_that_calls_gets_its_value_after_the_references() {
    let text = r#"
static int
f(PyObject *d)
{
    PyObject *key;
    Py_ssize_t pos = 0;

    while (PyDict_Next(d, &pos, &key, NULL)) {
        int rc = visit(key);
        free(rc);
    }
    return 0;
}
"#;
    insta::assert_snapshot!(diff(text), @"
    8: `d` is iterated over without its lock; another thread may change the dict meanwhile
      8: the dict is `d`, which the caller passes; another thread can change it between two calls
      9: `visit` can run Python code, which may also change the dict
      safe: iterate over `d` in a critical section
    @@
         Py_ssize_t pos = 0;
     
    +    Py_BEGIN_CRITICAL_SECTION(d);
         while (PyDict_Next(d, &pos, &key, NULL)) {
    -        int rc = visit(key);
    +        int rc;
    +        Py_INCREF(key);
    +        rc = visit(key);
             free(rc);
    +        Py_DECREF(key);
         }
    +    Py_END_CRITICAL_SECTION();
         return 0;
     }
    ");
}

#[test]
fn a_variable_of_its_own_joins_the_declarations() {
    let text = r#"
static int
show(PyObject *d)
{
    PyObject *key, *v;
    Py_ssize_t pos = 0;

    while (PyDict_Next(d, &pos, &key, &v)) {
        int n = 0;

        if (v == Py_None)
            continue;
        key = PyObject_Str(key);
        v = PyObject_Repr(v);
        n = send(key, v);
        Py_XDECREF(key);
        Py_XDECREF(v);
        if (n)
            break;
    }
    return 0;
}
"#;
    insta::assert_snapshot!(diff(text), @"
    8: `d` is iterated over without its lock; another thread may change the dict meanwhile
      8: the dict is `d`, which the caller passes; another thread can change it between two calls
      13: `PyObject_Str` can run Python code, which may also change the dict
      safe: iterate over `d` in a critical section
    @@
         Py_ssize_t pos = 0;
     
    +    Py_BEGIN_CRITICAL_SECTION(d);
         while (PyDict_Next(d, &pos, &key, &v)) {
             int n = 0;
    +        PyObject *dict_key = Py_NewRef(key);
    +        PyObject *dict_value = Py_NewRef(v);
     
    -        if (v == Py_None)
    +        if (v == Py_None) {
    +            Py_DECREF(dict_value);
    +            Py_DECREF(dict_key);
                 continue;
    +        }
             key = PyObject_Str(key);
             v = PyObject_Repr(v);
    @@
             Py_XDECREF(key);
             Py_XDECREF(v);
    -        if (n)
    +        if (n) {
    +            Py_DECREF(dict_value);
    +            Py_DECREF(dict_key);
                 break;
    +        }
    +        Py_DECREF(dict_value);
    +        Py_DECREF(dict_key);
         }
    +    Py_END_CRITICAL_SECTION();
         return 0;
     }
    ");
}

#[test]
fn a_body_without_braces_gets_them_for_the_declaration() {
    let text = r#"
static void
show(PyObject *d)
{
    PyObject *v;
    Py_ssize_t pos = 0;

    while (PyDict_Next(d, &pos, NULL, &v))
        Py_XDECREF(v = PyObject_Repr(v));
}
"#;
    insta::assert_snapshot!(diff(text), @"
    8: `d` is iterated over without its lock; another thread may change the dict meanwhile
      8: the dict is `d`, which the caller passes; another thread can change it between two calls
      9: `Py_XDECREF` can run Python code, which may also change the dict
      safe: iterate over `d` in a critical section
    @@
         Py_ssize_t pos = 0;
     
    -    while (PyDict_Next(d, &pos, NULL, &v))
    +    Py_BEGIN_CRITICAL_SECTION(d);
    +    while (PyDict_Next(d, &pos, NULL, &v)) {
    +        PyObject *dict_value = Py_NewRef(v);
    +
             Py_XDECREF(v = PyObject_Repr(v));
    +        Py_DECREF(dict_value);
    +    }
    +    Py_END_CRITICAL_SECTION();
     }
    ");
}

#[test]
fn values_of_declarations_keep_their_shape() {
    let text = r#"
static int
show(PyObject *d)
{
    PyObject *key, *v;
    Py_ssize_t pos = 0;

    while (PyDict_Next(d, &pos, &key, &v)) {
        const char *text = get_text(key,
                                    v,
                                    1);

        if (text == NULL)
            return -1;
    }
    return 0;
}
"#;
    insta::assert_snapshot!(diff(text), @"
    8: `d` is iterated over without its lock; another thread may change the dict meanwhile
      8: the dict is `d`, which the caller passes; another thread can change it between two calls
      9: `get_text` can run Python code, which may also change the dict
      safe: iterate over `d` in a critical section
    @@
         PyObject *key, *v;
         Py_ssize_t pos = 0;
    +    int failed = 0;
     
    +    Py_BEGIN_CRITICAL_SECTION(d);
         while (PyDict_Next(d, &pos, &key, &v)) {
    -        const char *text = get_text(key,
    -                                    v,
    -                                    1);
    +        const char *text;
     
    -        if (text == NULL)
    -            return -1;
    +        Py_INCREF(key);
    +        Py_INCREF(v);
    +        text = get_text(key,
    +                        v,
    +                        1);
    +
    +        if (text == NULL) {
    +            Py_DECREF(v);
    +            Py_DECREF(key);
    +            failed = 1;
    +            break;
    +        }
    +        Py_DECREF(v);
    +        Py_DECREF(key);
         }
    +    Py_END_CRITICAL_SECTION();
    +    if (failed)
    +        return -1;
         return 0;
     }
    ");
}

#[test]
fn constants_that_call_in_c89_follow_a_variable_of_its_own() {
    let text = r#"
static int
show(PyObject *d)
{
    PyObject *key;
    Py_ssize_t pos = 0;

    while (PyDict_Next(d, &pos, &key, NULL)) {
        const int n = look(key);
        if (n < 0)
            return -1;
    }
    return 0;
}
"#;
    insta::assert_snapshot!(diff(text), @"
    8: `d` is iterated over without its lock; another thread may change the dict meanwhile
      8: the dict is `d`, which the caller passes; another thread can change it between two calls
      9: `look` can run Python code, which may also change the dict
      safe: iterate over `d` in a critical section
    @@
         PyObject *key;
         Py_ssize_t pos = 0;
    +    int failed = 0;
     
    +    Py_BEGIN_CRITICAL_SECTION(d);
         while (PyDict_Next(d, &pos, &key, NULL)) {
    +        PyObject *dict_key = Py_NewRef(key);
             const int n = look(key);
    -        if (n < 0)
    -            return -1;
    +        if (n < 0) {
    +            Py_DECREF(dict_key);
    +            failed = 1;
    +            break;
    +        }
    +        Py_DECREF(dict_key);
         }
    +    Py_END_CRITICAL_SECTION();
    +    if (failed)
    +        return -1;
         return 0;
     }
    ");
}

#[test]
fn a_body_that_begins_with_a_directive_takes_references_before_it() {
    let text = r#"
static int
show(PyObject *d)
{
    PyObject *key;
    Py_ssize_t pos = 0;

    while (PyDict_Next(d, &pos, &key, NULL)) {
#ifdef STRICT
        if (!PyUnicode_Check(key))
            return -1;
#endif
        if (look(key) < 0)
            return -1;
    }
    return 0;
}
"#;
    insta::assert_snapshot!(diff(text), @"
    8: `d` is iterated over without its lock; another thread may change the dict meanwhile
      8: the dict is `d`, which the caller passes; another thread can change it between two calls
      13: `look` can run Python code, which may also change the dict
      safe: iterate over `d` in a critical section
    @@
         PyObject *key;
         Py_ssize_t pos = 0;
    +    int failed = 0;
     
    +    Py_BEGIN_CRITICAL_SECTION(d);
         while (PyDict_Next(d, &pos, &key, NULL)) {
    +        Py_INCREF(key);
     #ifdef STRICT
    -        if (!PyUnicode_Check(key))
    -            return -1;
    +        if (!PyUnicode_Check(key)) {
    +            Py_DECREF(key);
    +            failed = 1;
    +            break;
    +        }
     #endif
    -        if (look(key) < 0)
    -            return -1;
    +        if (look(key) < 0) {
    +            Py_DECREF(key);
    +            failed = 1;
    +            break;
    +        }
    +        Py_DECREF(key);
         }
    +    Py_END_CRITICAL_SECTION();
    +    if (failed)
    +        return -1;
         return 0;
     }
    ");
}
