//! Where the new lines stand.

use super::diff;

#[test]
fn a_loop_that_ends_by_its_condition_is_wrapped() {
    let text = r#"
static int
count(PyObject *d)
{
    PyObject *key;
    Py_ssize_t pos = 0;
    int n = 0;

    while (PyDict_Next(d, &pos, &key, NULL)) {
        if (!PyUnicode_Check(key))
            continue;
        n++;
    }
    return n;
}
"#;
    insta::assert_snapshot!(diff(text), @r##"
    9: `d` is iterated over without its lock; another thread may change the dict meanwhile
      9: the dict is `d`, which the caller passes; another thread can change it between two calls
      safe: iterate over `d` in a critical section
    @@
         int n = 0;
     
    +    Py_BEGIN_CRITICAL_SECTION(d);
         while (PyDict_Next(d, &pos, &key, NULL)) {
             if (!PyUnicode_Check(key))
    @@
             n++;
         }
    +    Py_END_CRITICAL_SECTION();
         return n;
     }
    "##);
}

#[test]
fn a_loop_without_braces_stays_without() {
    let text = r#"
static int
count(PyObject *d)
{
    Py_ssize_t pos = 0;
    int n = 0;

    while (PyDict_Next(d, &pos, NULL, NULL))
        n++;
    return n;
}
"#;
    insta::assert_snapshot!(diff(text), @r##"
    8: `d` is iterated over without its lock; another thread may change the dict meanwhile
      8: the dict is `d`, which the caller passes; another thread can change it between two calls
      safe: iterate over `d` in a critical section
    @@
         int n = 0;
     
    +    Py_BEGIN_CRITICAL_SECTION(d);
         while (PyDict_Next(d, &pos, NULL, NULL))
             n++;
    +    Py_END_CRITICAL_SECTION();
         return n;
     }
    "##);
}

#[test]
fn a_for_loop_is_wrapped() {
    let text = r#"
static void
sum(PyObject *d)
{
    PyObject *k, *v;
    Py_ssize_t pos;
    Py_ssize_t n;

    for (n = 40, pos = 0; PyDict_Next(d, &pos, &k, &v);) {
        n += PyBytes_GET_SIZE(k) + 17;
    }
}
"#;
    insta::assert_snapshot!(diff(text), @r##"
    9: `d` is iterated over without its lock; another thread may change the dict meanwhile
      9: the dict is `d`, which the caller passes; another thread can change it between two calls
      safe: iterate over `d` in a critical section
    @@
         Py_ssize_t n;
     
    +    Py_BEGIN_CRITICAL_SECTION(d);
         for (n = 40, pos = 0; PyDict_Next(d, &pos, &k, &v);) {
             n += PyBytes_GET_SIZE(k) + 17;
         }
    +    Py_END_CRITICAL_SECTION();
     }
    "##);
}

#[test]
fn declarations_go_to_the_top_of_the_block() {
    let text = r#"
static int
f(PyObject *d)
{
    PyObject *key;
    Py_ssize_t pos;

    pos = 0;
    if (d) {
        prepare();
        while (PyDict_Next(d, &pos, &key, NULL)) {
            if (!PyUnicode_Check(key))
                return -1;
        }
    }
    return 0;
}
"#;
    insta::assert_snapshot!(diff(text), @r##"
    11: `d` is iterated over without its lock; another thread may change the dict meanwhile
      11: the dict is `d`, which the caller passes; another thread can change it between two calls
      safe: iterate over `d` in a critical section
    @@
         pos = 0;
         if (d) {
    +        int failed = 0;
             prepare();
    +        Py_BEGIN_CRITICAL_SECTION(d);
             while (PyDict_Next(d, &pos, &key, NULL)) {
    -            if (!PyUnicode_Check(key))
    -                return -1;
    +            if (!PyUnicode_Check(key)) {
    +                failed = 1;
    +                break;
    +            }
             }
    +        Py_END_CRITICAL_SECTION();
    +        if (failed)
    +            return -1;
         }
         return 0;
    "##);
}

#[test]
fn the_body_of_an_if_gets_braces() {
    let text = r#"
static int
f(PyObject *d)
{
	PyObject *key;
	Py_ssize_t pos = 0;

	if (PyDict_Check(d))
		while (PyDict_Next(d, &pos, &key, NULL))
			if (!PyUnicode_Check(key))
				return -1;
	return 0;
}
"#;
    insta::assert_snapshot!(diff(text), @r##"
    9: `d` is iterated over without its lock; another thread may change the dict meanwhile
      9: the dict is `d`, which the caller passes; another thread can change it between two calls
      safe: iterate over `d` in a critical section
    @@
     	Py_ssize_t pos = 0;
     
    -	if (PyDict_Check(d))
    +	if (PyDict_Check(d)) {
    +		int failed = 0;
    +		Py_BEGIN_CRITICAL_SECTION(d);
     		while (PyDict_Next(d, &pos, &key, NULL))
    -			if (!PyUnicode_Check(key))
    -				return -1;
    +			if (!PyUnicode_Check(key)) {
    +				failed = 1;
    +				break;
    +			}
    +		Py_END_CRITICAL_SECTION();
    +		if (failed)
    +			return -1;
    +	}
     	return 0;
     }
    "##);
}

#[test]
fn braces_on_their_own_line_stay_in_style() {
    let text = r#"
static int
f(PyObject *d)
{
  PyObject *key;
  Py_ssize_t pos = 0;

  while (PyDict_Next(d, &pos, &key, NULL))
  {
    if (!PyUnicode_Check(key))
    {
      free(NULL);
      return -1;
    }
  }
  return 0;
}
"#;
    insta::assert_snapshot!(diff(text), @r##"
    8: `d` is iterated over without its lock; another thread may change the dict meanwhile
      8: the dict is `d`, which the caller passes; another thread can change it between two calls
      safe: iterate over `d` in a critical section
    @@
       PyObject *key;
       Py_ssize_t pos = 0;
    +  int failed = 0;
     
    +  Py_BEGIN_CRITICAL_SECTION(d);
       while (PyDict_Next(d, &pos, &key, NULL))
       {
    @@
         {
           free(NULL);
    -      return -1;
    +      failed = 1;
    +      break;
         }
       }
    +  Py_END_CRITICAL_SECTION();
    +  if (failed)
    +  {
    +    return -1;
    +  }
       return 0;
     }
    "##);
}

#[test]
fn a_case_label_gets_no_declaration() {
    let text = r#"
static int
f(PyObject *d, int n)
{
    PyObject *key;
    Py_ssize_t pos = 0;

    switch (n) {
    case 1:
        while (PyDict_Next(d, &pos, &key, NULL)) {
            if (!PyUnicode_Check(key))
                return -1;
        }
        break;
    }
    return 0;
}
"#;
    insta::assert_snapshot!(diff(text), @r##"
    10: `d` is iterated over without its lock; another thread may change the dict meanwhile
      10: the dict is `d`, which the caller passes; another thread can change it between two calls
      safe: iterate over `d` in a critical section
    @@
     
         switch (n) {
    +    int failed;
         case 1:
    +        failed = 0;
    +        Py_BEGIN_CRITICAL_SECTION(d);
             while (PyDict_Next(d, &pos, &key, NULL)) {
    -            if (!PyUnicode_Check(key))
    -                return -1;
    +            if (!PyUnicode_Check(key)) {
    +                failed = 1;
    +                break;
    +            }
             }
    +        Py_END_CRITICAL_SECTION();
    +        if (failed)
    +            return -1;
             break;
         }
    "##);
}

#[test]
fn a_loop_on_one_line_stays_there() {
    let text = r#"
static int
count(PyObject *d)
{
    Py_ssize_t pos = 0;
    int n = 0;

    if (d) { while (PyDict_Next(d, &pos, NULL, NULL)) n++; }
    return n;
}
"#;
    insta::assert_snapshot!(diff(text), @r##"
    8: `d` is iterated over without its lock; another thread may change the dict meanwhile
      8: the dict is `d`, which the caller passes; another thread can change it between two calls
      safe: iterate over `d` in a critical section
    @@
         int n = 0;
     
    -    if (d) { while (PyDict_Next(d, &pos, NULL, NULL)) n++; }
    +    if (d) { Py_BEGIN_CRITICAL_SECTION(d); while (PyDict_Next(d, &pos, NULL, NULL)) n++; Py_END_CRITICAL_SECTION(); }
         return n;
     }
    "##);
}

#[test]
fn a_comment_stays_with_its_statement() {
    let text = r#"
static int
f(PyObject *d)
{
    PyObject *key;
    Py_ssize_t pos = 0;

    while (PyDict_Next(d, &pos, &key, NULL)) {
        /* show it */
        visit(key);
    }
    return 0;
}
"#;
    insta::assert_snapshot!(diff(text), @r##"
    8: `d` is iterated over without its lock; another thread may change the dict meanwhile
      8: the dict is `d`, which the caller passes; another thread can change it between two calls
      10: `visit` can run Python code, which may also change the dict
      safe: iterate over `d` in a critical section
    @@
         Py_ssize_t pos = 0;
     
    +    Py_BEGIN_CRITICAL_SECTION(d);
         while (PyDict_Next(d, &pos, &key, NULL)) {
    +        Py_INCREF(key);
             /* show it */
             visit(key);
    +        Py_DECREF(key);
         }
    +    Py_END_CRITICAL_SECTION();
         return 0;
     }
    "##);
}

#[test]
fn names_that_are_taken_give_way() {
    let text = r#"
static int
f(PyObject *d, int failed)
{
    PyObject *key;
    Py_ssize_t pos = 0;

    while (PyDict_Next(d, &pos, &key, NULL)) {
        if (!PyUnicode_Check(key))
            return -1;
    }
    return failed;
}
"#;
    insta::assert_snapshot!(diff(text), @r##"
    8: `d` is iterated over without its lock; another thread may change the dict meanwhile
      8: the dict is `d`, which the caller passes; another thread can change it between two calls
      safe: iterate over `d` in a critical section
    @@
         PyObject *key;
         Py_ssize_t pos = 0;
    +    int has_failed = 0;
     
    +    Py_BEGIN_CRITICAL_SECTION(d);
         while (PyDict_Next(d, &pos, &key, NULL)) {
    -        if (!PyUnicode_Check(key))
    -            return -1;
    +        if (!PyUnicode_Check(key)) {
    +            has_failed = 1;
    +            break;
    +        }
         }
    +    Py_END_CRITICAL_SECTION();
    +    if (has_failed)
    +        return -1;
         return failed;
     }
    "##);
}

#[test]
fn references_are_taken_in_front_of_branches_that_share_the_body() {
    let text = "
static int
visit_all(PyObject *d)
{
    PyObject *key, *value;
    Py_ssize_t pos = 0;

    while (PyDict_Next(d, &pos, &key, &value))
#if PY_MAJOR_VERSION >= 3
        if (PyUnicode_Check(key)) {
#else
        if (PyString_Check(key)) {
#endif
            if (visit(key, value) < 0)
                return -1;
        }
    return 0;
}
";
    insta::assert_snapshot!(diff(text), @"
    8: `d` is iterated over without its lock; another thread may change the dict meanwhile
      8: the dict is `d`, which the caller passes; another thread can change it between two calls
      14: `visit` can run Python code, which may also change the dict
      safe: iterate over `d` in a critical section
    @@
         PyObject *key, *value;
         Py_ssize_t pos = 0;
    +    int failed = 0;
     
    -    while (PyDict_Next(d, &pos, &key, &value))
    +    Py_BEGIN_CRITICAL_SECTION(d);
    +    while (PyDict_Next(d, &pos, &key, &value)) {
    +        Py_INCREF(key);
    +        Py_INCREF(value);
     #if PY_MAJOR_VERSION >= 3
             if (PyUnicode_Check(key)) {
    @@
             if (PyString_Check(key)) {
     #endif
    -            if (visit(key, value) < 0)
    -                return -1;
    +            if (visit(key, value) < 0) {
    +                Py_DECREF(value);
    +                Py_DECREF(key);
    +                failed = 1;
    +                break;
    +            }
             }
    +        Py_DECREF(value);
    +        Py_DECREF(key);
    +    }
    +    Py_END_CRITICAL_SECTION();
    +    if (failed)
    +        return -1;
         return 0;
     }
    ");
}

#[test]
fn declarations_of_a_branch_get_others_beside_them() {
    let text = |between: &str| {
        format!(
            r#"
static int
visit_all(PyObject *d, PyObject *callback)
{{
    int called = 0;
#ifdef HAVE_ITEMS
    PyObject *value;
    Py_ssize_t pos = 0;
    {between}
    while (PyDict_Next(d, &pos, NULL, &value)) {{
        if (PyObject_CallOneArg(callback, value) == NULL)
            return -1;
        called = 1;
    }}
#endif
    return called;
}}
"#
        )
    };
    insta::assert_snapshot!(diff(&text("")), @"
        10: `d` is iterated over without its lock; another thread may change the dict meanwhile
          10: the dict is `d`, which the caller passes; another thread can change it between two calls
          11: `PyObject_CallOneArg` can run Python code, which may also change the dict
          safe: iterate over `d` in a critical section
        @@
             PyObject *value;
             Py_ssize_t pos = 0;
        +    int failed = 0;
             
        +    Py_BEGIN_CRITICAL_SECTION(d);
             while (PyDict_Next(d, &pos, NULL, &value)) {
        -        if (PyObject_CallOneArg(callback, value) == NULL)
        -            return -1;
        +        Py_INCREF(value);
        +        if (PyObject_CallOneArg(callback, value) == NULL) {
        +            Py_DECREF(value);
        +            failed = 1;
        +            break;
        +        }
                 called = 1;
        +        Py_DECREF(value);
             }
        +    Py_END_CRITICAL_SECTION();
        +    if (failed)
        +        return -1;
         #endif
             return called;
        ");
    // The branch ends in front of the loop.
    let apart = diff(&text("\n#endif\n#ifdef HAVE_ITEMS\n"));
    assert!(apart.contains("are in an `#if`"), "{apart}");
}
