//! Jumps behind the loop, and labels that nothing jumps to any more.

use super::diff;

#[test]
fn exits_to_what_comes_next_need_no_flag() {
    let text = r#"
static int
f(PyObject *d, PyObject *wanted)
{
    PyObject *key;
    Py_ssize_t pos = 0;

    while (PyDict_Next(d, &pos, &key, NULL)) {
        if (key == wanted)
            return 0;
    }
    return 0;
}
"#;
    insta::assert_snapshot!(diff(text), @r##"
    8: `d` is iterated over without its lock; another thread may change the dict meanwhile
      8: the dict is `d`, which the caller passes; another thread can change it between two calls
      safe: iterate over `d` in a critical section
    @@
         Py_ssize_t pos = 0;
     
    +    Py_BEGIN_CRITICAL_SECTION(d);
         while (PyDict_Next(d, &pos, &key, NULL)) {
             if (key == wanted)
    -            return 0;
    +            break;
         }
    +    Py_END_CRITICAL_SECTION();
         return 0;
     }
    "##);
}

#[test]
fn jumps_to_the_next_label_need_no_flag() {
    let text = r#"
static int
f(PyObject *d, PyObject *wanted, int n)
{
    PyObject *key;
    Py_ssize_t pos = 0;

    while (PyDict_Next(d, &pos, &key, NULL)) {
        while (n--)
            if (key == wanted)
                goto done;
    }
done:
    return n;
}
"#;
    insta::assert_snapshot!(diff(text), @"
    8: `d` is iterated over without its lock; another thread may change the dict meanwhile
      8: the dict is `d`, which the caller passes; another thread can change it between two calls
      safe: iterate over `d` in a critical section
    @@
         Py_ssize_t pos = 0;
     
    +    Py_BEGIN_CRITICAL_SECTION(d);
         while (PyDict_Next(d, &pos, &key, NULL)) {
             while (n--)
                 if (key == wanted)
    -                goto done;
    +                goto end_section;
         }
    -done:
    +end_section: ;
    +    Py_END_CRITICAL_SECTION();
         return n;
     }
    ");
}

#[test]
fn a_label_that_nothing_jumps_to_any_more_goes() {
    let text = r#"
static int
count(PyObject *d)
{
    PyObject *key;
    Py_ssize_t pos = 0;
    int n = 0;

    while (PyDict_Next(d, &pos, &key, NULL)) {
        if (key == Py_None)
            goto done;
        n++;
    }

done:
    return n;
}
"#;
    insta::assert_snapshot!(diff(text), @"
    9: `d` is iterated over without its lock; another thread may change the dict meanwhile
      9: the dict is `d`, which the caller passes; another thread can change it between two calls
      safe: iterate over `d` in a critical section
    @@
         int n = 0;
     
    +    Py_BEGIN_CRITICAL_SECTION(d);
         while (PyDict_Next(d, &pos, &key, NULL)) {
             if (key == Py_None)
    -            goto done;
    +            break;
             n++;
         }
    +    Py_END_CRITICAL_SECTION();
     
    -done:
         return n;
     }
    ");
}

#[test]
fn a_label_that_others_jump_to_stays() {
    let text = r#"
static int
count(PyObject *d)
{
    PyObject *key;
    Py_ssize_t pos = 0;
    int n = 0;

    if (d == Py_None)
        goto done;
    while (PyDict_Next(d, &pos, &key, NULL)) {
        if (key == Py_None)
            goto done;
        n++;
    }
done:
    return n;
}
"#;
    insta::assert_snapshot!(diff(text), @"
    11: `d` is iterated over without its lock; another thread may change the dict meanwhile
      11: the dict is `d`, which the caller passes; another thread can change it between two calls
      safe: iterate over `d` in a critical section
    @@
         if (d == Py_None)
             goto done;
    +    Py_BEGIN_CRITICAL_SECTION(d);
         while (PyDict_Next(d, &pos, &key, NULL)) {
             if (key == Py_None)
    -            goto done;
    +            break;
             n++;
         }
    +    Py_END_CRITICAL_SECTION();
     done:
         return n;
    ");
}
