//! Lookups in branches of an `#if`.

use crate::testing;
use crate::transforms::ALL;

fn run(text: &str) -> String {
    testing::run(ALL, text.trim_start_matches('\n'))
}

#[test]
fn a_dual_path_is_left_alone() {
    insta::assert_snapshot!(run("
static PyObject *f(PyObject *d, PyObject *k)
{
    PyObject *v, *r;
#if PY_VERSION_HEX >= 0x030D0000
    if (PyDict_GetItemRef(d, k, &v) < 0)
        return NULL;
#else
    v = PyDict_GetItemWithError(d, k);
    if (v == NULL && PyErr_Occurred())
        return NULL;
#endif
    r = v ? PyObject_Str(v) : PyUnicode_FromString(\"\");
#if PY_VERSION_HEX >= 0x030D0000
    Py_XDECREF(v);
#endif
    return r;
}
"), @"8: safe: only builds with the GIL compile it, because of the `#if` around it");
}

#[test]
fn other_interpreters_and_builds_with_the_gil_are_left_alone() {
    insta::assert_snapshot!(run("
static int f(PyObject *l)
{
#ifndef Py_GIL_DISABLED
    PyObject *a = PyList_GetItem(l, 0);
    if (a == NULL || use(a) < 0)
        return -1;
#endif
#ifdef PYPY_VERSION
    PyObject *b = PyList_GetItem(l, 1);
    if (b == NULL || use(b) < 0)
        return -1;
#endif
    return 0;
}
"), @"
    4: safe: only builds with the GIL compile it, because of the `#if` around it
    9: safe: only builds with the GIL compile it, because of the `#if` around it
    ");
}

#[test]
fn a_branch_that_may_have_no_gil_is_not() {
    insta::assert_snapshot!(run("
static int f(PyObject *l)
{
#ifdef Py_LIMITED_API
    PyObject *a = PyList_GetItem(l, 0);
    if (a == NULL || use(a) < 0)
        return -1;
#endif
    return 0;
}
"), @"
    @@
     {
     #ifdef Py_LIMITED_API
    -    PyObject *a = PyList_GetItem(l, 0);
    -    if (a == NULL || use(a) < 0)
    +    PyObject *a = PyList_GetItemRef(l, 0);
    +    if (a == NULL || use(a) < 0) {
    +        Py_XDECREF(a);
             return -1;
    +    }
    +    Py_DECREF(a);
     #endif
         return 0;
    ");
}

#[test]
fn what_one_branch_gives_is_not_released_for_the_other() {
    insta::assert_snapshot!(run("
static PyObject *f(PyObject *l, PyObject *d)
{
    PyObject *v;
#ifdef Py_LIMITED_API
    v = PySequence_GetItem(l, 0);
#else
    v = PyList_GetItem(l, 0);
#endif
    if (v == NULL)
        return NULL;
    return PyObject_Str(v);
}
"), @"7: change each branch of the `#if` by hand (its configurations at line 4 need different changes)");
}

#[test]
fn what_lookups_of_one_branch_need_before_it() {
    insta::assert_snapshot!(run("
static int f(PyObject *l)
{
    PyObject *v = PyList_GetItem(l, 0);
    int r;
    if (v == NULL)
        return -1;
    r = use(v);
#ifdef MORE
    v = PyList_GetItem(l, 1);
    if (v == NULL)
        return -1;
#endif
    return r + use(v);
}
"), @"
    3: change each branch of the `#if` by hand (its configurations at line 8 need different changes)
    9: change each branch of the `#if` by hand (its configurations at line 8 need different changes)
    ");
}

#[test]
fn changes_that_agree_on_shared_text_become_one() {
    insta::assert_snapshot!(run("
static int f(PyObject *l)
{
    PyObject *v = PyList_GetItem(l, 0);
    int r = 0;
    if (v == NULL)
        return -1;
#ifdef MORE
    PyObject *w = PyList_GetItem(l, 1);
    if (w == NULL)
        return -1;
    r = use(w);
#endif
    return r + use(v);
}
"), @"
    @@
     static int f(PyObject *l)
     {
    -    PyObject *v = PyList_GetItem(l, 0);
    +    PyObject *v = PyList_GetItemRef(l, 0);
         int r = 0;
         if (v == NULL)
             return -1;
     #ifdef MORE
    -    PyObject *w = PyList_GetItem(l, 1);
    -    if (w == NULL)
    +    PyObject *w = PyList_GetItemRef(l, 1);
    +    if (w == NULL) {
    +        Py_DECREF(v);
             return -1;
    +    }
         r = use(w);
    +    Py_DECREF(w);
     #endif
    -    return r + use(v);
    +    int result = r + use(v);
    +    Py_DECREF(v);
    +    return result;
     }
    ");
}

#[test]
fn a_macro_that_stands_for_the_function_of_another_branch() {
    insta::assert_snapshot!(run("
#if PY_VERSION_HEX >= 0x030A0000
static PyObject *find(PyObject *d, PyObject *k)
{
    return PyDict_GetItem(d, k);
}
#else
#define find(d, k) PyDict_GetItem(d, k)
#endif
static PyObject *g(PyObject *d, PyObject *k)
{
    PyObject *v = find(d, k);
    return v ? PyObject_Str(v) : NULL;
}
"), @"
    4: change each branch of the `#if` by hand (its configurations at line 6 need different changes)
    11: write the call here without the macro `find` (the macro makes the call, but the function uses its result)
    ");
}

#[test]
fn branches_that_meet_only_where_both_are_asked_for() {
    insta::assert_snapshot!(run("
static int f(PyObject *l, PyObject *d)
{
    PyObject *v;
#ifdef A
    v = PyList_GetItem(l, 0);
    if (v == NULL)
        return -1;
#else
    v = d;
#endif
#ifdef B
    if (use(v) < 0)
        return -1;
#endif
    return 0;
}
"), @"5: change each branch of the `#if` by hand (its configurations at line 4 need different changes)");
}

#[test]
fn what_all_branches_release_is_released_behind_them() {
    insta::assert_snapshot!(run("
static long f(PyObject *l)
{
    PyObject *v = PyList_GetItem(l, 0);
    long n;
    if (v == NULL)
        return -1;
#ifdef A
    n = one(v);
#elif defined(B)
    n = two(v);
#else
    n = three(v);
#endif  /* A */
    return n;
}
"), @"
        @@
         static long f(PyObject *l)
         {
        -    PyObject *v = PyList_GetItem(l, 0);
        +    PyObject *v = PyList_GetItemRef(l, 0);
             long n;
             if (v == NULL)
        @@
             n = three(v);
         #endif  /* A */
        +    Py_DECREF(v);
             return n;
         }
        ");
}

#[test]
fn a_branch_for_older_pythons_leaks_nothing() {
    insta::assert_snapshot!(run("
static long f(PyObject *l)
{
    PyObject *v = PyList_GetItem(l, 0);
    long n;
    if (v == NULL)
        return -1;
#if PY_MAJOR_VERSION >= 3
    n = PyLong_AsLong(v);
#else
    n = PyInt_AsLong(v);
#endif
    return n;
}
"), @"
        @@
         static long f(PyObject *l)
         {
        -    PyObject *v = PyList_GetItem(l, 0);
        +    PyObject *v = PyList_GetItemRef(l, 0);
             long n;
             if (v == NULL)
        @@
             n = PyInt_AsLong(v);
         #endif
        +    Py_DECREF(v);
             return n;
         }
        ");
}

#[test]
fn a_branch_that_releases_itself_or_leaves_is_left_alone() {
    insta::assert_snapshot!(run("
static long f(PyObject *l)
{
    PyObject *v = PyList_GetItem(l, 0);
    PyObject *w;
    long n;
    if (v == NULL)
        return -1;
#if PY_MAJOR_VERSION >= 3
    n = PyLong_AsLong(v);
#else
    n = PyInt_AsLong(v);
    if (n < 0)
        return -2;
#endif
#if PY_MAJOR_VERSION >= 3
    w = PyList_GetItem(l, 1);
    if (w == NULL)
        return -1;
    n += PyLong_AsLong(w);
#else
    n += 1;
#endif
    return n;
}
"), @"
        @@
         static long f(PyObject *l)
         {
        -    PyObject *v = PyList_GetItem(l, 0);
        +    PyObject *v = PyList_GetItemRef(l, 0);
             PyObject *w;
             long n;
        @@
         #if PY_MAJOR_VERSION >= 3
             n = PyLong_AsLong(v);
        +    Py_DECREF(v);
         #else
             n = PyInt_AsLong(v);
        @@
         #endif
         #if PY_MAJOR_VERSION >= 3
        -    w = PyList_GetItem(l, 1);
        +    w = PyList_GetItemRef(l, 1);
             if (w == NULL)
                 return -1;
             n += PyLong_AsLong(w);
        +    Py_DECREF(w);
         #else
             n += 1;
        ");
}

#[test]
fn branches_that_need_different_releases_keep_them() {
    insta::assert_snapshot!(run("
static long f(PyObject *l, PyObject *t)
{
    PyObject *v = PyList_GetItem(l, 0);
    long n;
    if (v == NULL)
        return -1;
#ifdef A
    n = one(v);
#else
    return two(v);
#endif
    return n;
}
"), @"
        3: change each branch of the `#if` by hand (its configurations at line 7 need different changes)
        ");
}

/// One configuration leaves in front of the lookup, the others do not.
#[test]
fn a_return_of_another_platform_stands_in_front() {
    insta::assert_snapshot!(run("
static void f(PyObject *l)
{
    PyObject *v;
#ifdef __GNU_kFreeBSD__
    return;
#endif
    v = PyList_GetItem(l, 0);
    if (v)
        use(v);
}
"), @"
    7: review: if the item no longer exists, `f` need not do what it does when `v` is `NULL`
    @@
         return;
     #endif
    -    v = PyList_GetItem(l, 0);
    -    if (v)
    +    v = PyList_GetItemRef(l, 0);
    +    if (v == NULL) {
    +        PyErr_WriteUnraisable(NULL);
    +        return;
    +    }
    +    if (v) {
             use(v);
    +        Py_DECREF(v);
    +    }
     }
    ");
}

#[test]
fn what_no_configuration_runs_is_left_alone() {
    insta::assert_snapshot!(run("
static void f(PyObject *l)
{
    PyObject *v;
#ifdef A
    return;
#else
    abort();
#endif
    v = PyList_GetItem(l, 0);
    if (v)
        use(v);
}
"), @"
        9: safe: no path through the function reaches the call
        ");
}

/// What one lookup leaves behind and the next needs before it stands at one place, in all
/// configurations.
#[test]
fn lookups_one_after_the_other_share_a_variable_in_all_configurations() {
    insta::assert_snapshot!(run(r#"
#ifdef USE_DOUBLE
#define FORMAT "OOd"
#else
#define FORMAT "OOf"
#endif
static PyObject *f(PyObject *self, PyObject *args)
{
    PyObject *list, *other;
    Py_ssize_t n = 0;
    double scale;
    if (!PyArg_ParseTuple(args, FORMAT, &list, &other, &scale))
        return NULL;
    n += PyObject_Size(self);
    n += PyObject_Size(PyList_GET_ITEM(list, 0));
    n += PyObject_Size(PyList_GET_ITEM(other, 0));
    n += PyObject_Size(PyList_GET_ITEM(list, 1));
    return PyLong_FromSsize_t(n);
}
static int use_double(void)
{
#ifdef USE_DOUBLE
    return 1;
#else
    return 0;
#endif
}
"#), @"
        @@
             Py_ssize_t n = 0;
             double scale;
        +    PyObject *item;
             if (!PyArg_ParseTuple(args, FORMAT, &list, &other, &scale))
                 return NULL;
             n += PyObject_Size(self);
        -    n += PyObject_Size(PyList_GET_ITEM(list, 0));
        -    n += PyObject_Size(PyList_GET_ITEM(other, 0));
        -    n += PyObject_Size(PyList_GET_ITEM(list, 1));
        +    item = PyList_GetItemRef(list, 0);
        +    if (item == NULL) {
        +        return NULL;
        +    }
        +    n += PyObject_Size(item);
        +    Py_DECREF(item);
        +    item = PyList_GetItemRef(other, 0);
        +    if (item == NULL) {
        +        return NULL;
        +    }
        +    n += PyObject_Size(item);
        +    Py_DECREF(item);
        +    item = PyList_GetItemRef(list, 1);
        +    if (item == NULL) {
        +        return NULL;
        +    }
        +    n += PyObject_Size(item);
        +    Py_DECREF(item);
             return PyLong_FromSsize_t(n);
         }
        ");
}

#[test]
fn a_variable_for_all_is_declared_in_front_of_the_if() {
    insta::assert_snapshot!(run("
static PyObject *f(PyObject *d, PyObject *args)
{
    struct request r;
    struct options o;
    long options = 0;
#ifdef FEATURE_TLS
    Py_ssize_t length = 0;
    if (!PyArg_ParseTuple(args, \"ln\", &options, &length))
        return NULL;
#else
    if (!PyArg_ParseTuple(args, \"l\", &options))
        return NULL;
#endif
    if (PyDict_Size(d)) {
        PyObject *user = PyDict_GetItemString(d, \"user\");
        r.user = PyBytes_AsString(user);
        if (r.user == NULL)
            return NULL;
        o.request = &r;
    }
    connect(&o);
    return Py_BuildValue(\"l\", options);
}
"), @r#"
        @@
             struct options o;
             long options = 0;
        +    PyObject *user_ref = NULL;
        +    PyObject *result;
         #ifdef FEATURE_TLS
             Py_ssize_t length = 0;
        @@
         #endif
             if (PyDict_Size(d)) {
        -        PyObject *user = PyDict_GetItemString(d, "user");
        +        PyObject *user;
        +        if (PyDict_GetItemStringRef(d, "user", &user_ref) < 0) {
        +            return NULL;
        +        }
        +        user = user_ref;
                 r.user = PyBytes_AsString(user);
        -        if (r.user == NULL)
        +        if (r.user == NULL) {
        +            Py_DECREF(user_ref);
                     return NULL;
        +        }
                 o.request = &r;
             }
             connect(&o);
        -    return Py_BuildValue("l", options);
        +    result = Py_BuildValue("l", options);
        +    Py_XDECREF(user_ref);
        +    return result;
         }
        "#);
}

#[test]
fn what_is_made_where_a_lookup_found_nothing() {
    insta::assert_snapshot!(run("
static int f(PyObject *d, PyObject *k, PyObject *n)
{
    PyObject *v;
#ifdef TRACING
    show(k);
#endif
    v = PyDict_GetItemWithError(d, k);
    if (v == NULL) {
        v = PyDict_New();
        PyDict_SetItem(d, k, v);
    }
    return PyDict_SetItemString(v, \"n\", n);
}
"), @r#"
        @@
         {
             PyObject *v;
        +    int result;
         #ifdef TRACING
             show(k);
         #endif
        -    v = PyDict_GetItemWithError(d, k);
        +    (void)PyDict_GetItemRef(d, k, &v);
             if (v == NULL) {
                 v = PyDict_New();
                 PyDict_SetItem(d, k, v);
             }
        -    return PyDict_SetItemString(v, "n", n);
        +    result = PyDict_SetItemString(v, "n", n);
        +    Py_XDECREF(v);
        +    return result;
         }
        "#);
}

#[test]
fn an_exit_that_one_configuration_alone_returns_the_error_by() {
    insta::assert_snapshot!(run("
static int f(PyObject *list, PyObject *out)
{
#ifdef ZERO_IS_OK
    int status = 0;
#else
    int status = -1;
#endif
    PyObject *acc = PyList_New(0), *item;
    if (acc == NULL) {
#ifdef ZERO_IS_OK
        status = -1;
#endif
        goto done;
    }
    item = PyList_GET_ITEM(list, 0);
    use(item);
    status = PyDict_SetItemString(out, \"acc\", acc);
    Py_DECREF(acc);
done:
    return status;
}
"), @"15: change each branch of the `#if` by hand (its configurations at line 3 need different changes)");
}

/// The last use of one configuration, and not of the others, which keep the object up to there.
#[test]
fn what_one_configuration_reads_last() {
    insta::assert_snapshot!(run(r#"
static PyObject *f(PyObject *self, PyObject *d)
{
    PyObject *v = PyDict_GetItemString(d, "v");
    PyObject *w = PyDict_GetItemString(d, "w");
    long n;
    if (v == NULL || w == NULL) {
        PyErr_SetString(PyExc_KeyError, "v");
        return NULL;
    }
    n = PyLong_AsLong(v);
#ifdef WITH_W
    n += PyLong_AsLong(w);
#endif

    /* make it */
    return PyLong_FromLong(n);
}
"#), @r#"
@@
 static PyObject *f(PyObject *self, PyObject *d)
 {
-    PyObject *v = PyDict_GetItemString(d, "v");
-    PyObject *w = PyDict_GetItemString(d, "w");
+    PyObject *v;
+    PyObject *w;
     long n;
+    if (PyDict_GetItemStringRef(d, "v", &v) < 0) {
+        return NULL;
+    }
+    if (PyDict_GetItemStringRef(d, "w", &w) < 0) {
+        Py_XDECREF(v);
+        return NULL;
+    }
     if (v == NULL || w == NULL) {
+        Py_XDECREF(v);
+        Py_XDECREF(w);
         PyErr_SetString(PyExc_KeyError, "v");
         return NULL;
     }
     n = PyLong_AsLong(v);
+    Py_DECREF(v);
 #ifdef WITH_W
     n += PyLong_AsLong(w);
 #endif
+    Py_DECREF(w);
 
     /* make it */
"#);
}

#[test]
fn what_one_configuration_reads_last_in_a_loop() {
    insta::assert_snapshot!(run("
static long f(PyObject *l)
{
    Py_ssize_t i;
    long n = 0;
    for (i = 0; i < PyList_Size(l); i++) {
        PyObject *v = PyList_GetItem(l, i);
        if (v == NULL)
            return -1;
        n += use(v);
#ifdef TRACE
        if (trace(v) < 0)
            return -1;
#endif
    }
    return n;
}
"), @"
@@
     long n = 0;
     for (i = 0; i < PyList_Size(l); i++) {
-        PyObject *v = PyList_GetItem(l, i);
+        PyObject *v = PyList_GetItemRef(l, i);
         if (v == NULL)
             return -1;
         n += use(v);
 #ifdef TRACE
-        if (trace(v) < 0)
+        if (trace(v) < 0) {
+            Py_DECREF(v);
             return -1;
+        }
 #endif
+        Py_DECREF(v);
     }
     return n;
");
}

#[test]
fn text_of_the_object_that_one_configuration_reads_last() {
    insta::assert_snapshot!(run("
static int f(PyObject *l)
{
    const char *s;
    PyObject *v = PyList_GetItem(l, 0);
    if (v == NULL)
        return -1;
    s = PyUnicode_AsUTF8(v);
    if (s == NULL)
        return -1;
#ifdef _WIN32
    puts(s);
#elif defined(TRACE)
    n = 7;
#endif
    return run();
}
"), @"
@@
 {
     const char *s;
-    PyObject *v = PyList_GetItem(l, 0);
+    PyObject *v = PyList_GetItemRef(l, 0);
     if (v == NULL)
         return -1;
     s = PyUnicode_AsUTF8(v);
-    if (s == NULL)
+    if (s == NULL) {
+        Py_DECREF(v);
         return -1;
+    }
 #ifdef _WIN32
     puts(s);
@@
     n = 7;
 #endif
+    Py_DECREF(v);
     return run();
 }
");
}

/// What a branch sets is another object from there on.
#[test]
fn what_one_configuration_sets_is_not_read_by_others() {
    insta::assert_snapshot!(run("
static int f(PyObject *l)
{
    int n;
    PyObject *v = PyList_GetItem(l, 0);
    if (v == NULL)
        return -1;
    n = use(v);
#ifdef MORE
    v = PyList_GetItem(l, 1);
    if (v == NULL)
        return -1;
    n += use(v);
#endif
    return n;
}
"), @"
@@
 {
     int n;
-    PyObject *v = PyList_GetItem(l, 0);
+    PyObject *v = PyList_GetItemRef(l, 0);
     if (v == NULL)
         return -1;
     n = use(v);
+    Py_DECREF(v);
 #ifdef MORE
-    v = PyList_GetItem(l, 1);
+    v = PyList_GetItemRef(l, 1);
     if (v == NULL)
         return -1;
     n += use(v);
+    Py_DECREF(v);
 #endif
     return n;
");
}

/// A configuration that does not come to the `#if` has nothing to do with what is read there.
#[test]
fn what_another_platform_reads_last() {
    insta::assert_snapshot!(run("
static int f(PyObject *l)
{
    int n = 0;
    PyObject *v;
#ifdef _WIN32
    v = PyList_GetItem(l, 0);
    if (v == NULL)
        return -1;
    n = use(v);
#else
    v = PyList_GetItem(l, 1);
    if (v == NULL)
        return -1;
    n = use(v);
#ifdef TRACE
    trace(v);
#endif
    n++;
#endif
    done();
    return n;
}
"), @"
@@
     PyObject *v;
 #ifdef _WIN32
-    v = PyList_GetItem(l, 0);
+    v = PyList_GetItemRef(l, 0);
     if (v == NULL)
         return -1;
     n = use(v);
+    Py_DECREF(v);
 #else
-    v = PyList_GetItem(l, 1);
+    v = PyList_GetItemRef(l, 1);
     if (v == NULL)
         return -1;
@@
     trace(v);
 #endif
+    Py_DECREF(v);
     n++;
 #endif
");
}
