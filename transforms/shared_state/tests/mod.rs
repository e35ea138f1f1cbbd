//! Static variables in, findings out.

mod at_init;
mod atomic;
mod behind;
mod objects;
mod phases;
mod publish;

use super::lazy_cache::LAZY_STATIC_CACHE;
use super::object_state::UNLOCKED_OBJECT_STATE;
use super::static_buffer::STATIC_BUFFER;
use super::static_variable::SHARED_STATIC_VARIABLE;
use crate::testing::{report, run_triaged};

const METHODS: &str = "
static PyMethodDef methods[] = {{\"f\", f, METH_NOARGS, NULL}, {NULL}};
static int exec(PyObject *m) { return setup(m); }
static PyModuleDef_Slot slots[] = {{Py_mod_exec, exec}, {0, NULL}};
PyMODINIT_FUNC PyInit_m(void) { return PyModuleDef_Init(&def); }
";

fn cache(text: &str) -> String {
    run_triaged(&LAZY_STATIC_CACHE, &format!("{text}{METHODS}"))
}

fn buffer(text: &str) -> String {
    run_triaged(&STATIC_BUFFER, &format!("{text}{METHODS}"))
}

fn variable(text: &str) -> String {
    report(&SHARED_STATIC_VARIABLE, &format!("{text}{METHODS}"))
}

#[test]
fn an_interned_string_is_filled_under_a_mutex() {
    insta::assert_snapshot!(cache("\
static PyObject *
f(PyObject *self, PyObject *unused)
{
    static PyObject *name = NULL;
    if (name == NULL) {
        name = PyUnicode_InternFromString(\"name\"); /* once */
        if (name == NULL) {
            /* no memory */
            return NULL;
        }
    }
    return PyObject_GetAttr(self, name);
}
"), @r#"
    4: `name` is filled on first use; two threads may both fill it
      6: `f` writes it here
      safe: fill `name` under a mutex
    @@
     {
         static PyObject *name = NULL;
    +    static PyMutex name_mutex;
    +    PyMutex_Lock(&name_mutex);
         if (name == NULL) {
             name = PyUnicode_InternFromString("name"); /* once */
    -        if (name == NULL) {
    -            /* no memory */
    -            return NULL;
    -        }
         }
    +    PyMutex_Unlock(&name_mutex);
    +    if (name == NULL) {
    +        /* no memory */
    +        return NULL;
    +    }
         return PyObject_GetAttr(self, name);
     }
    "#);
}

#[test]
fn a_branch_that_only_fills_keeps_its_shape() {
    insta::assert_snapshot!(cache("\
static PyObject *empty, *other;
static PyObject *
f(PyObject *self, PyObject *unused)
{
\tif (self)
\t\tif (!empty)
\t\t\tempty = PyTuple_New(0);
\treturn Py_XNewRef(empty);
}
"), @"
    1: `empty` is filled on first use; two threads may both fill it
      7: `f` writes it here
      safe: fill `empty` under a mutex
    @@
     static PyObject *empty, *other;
    +static PyMutex empty_mutex;
     static PyObject *
     f(PyObject *self, PyObject *unused)
     {
    -	if (self)
    +	if (self) {
    +		PyMutex_Lock(&empty_mutex);
     		if (!empty)
     			empty = PyTuple_New(0);
    +		PyMutex_Unlock(&empty_mutex);
    +	}
     	return Py_XNewRef(empty);
     }
    ");
}

#[test]
fn an_import_runs_with_the_mutex_free() {
    insta::assert_snapshot!(cache("\
static PyObject *decimal;
static PyObject *
f(PyObject *self, PyObject *unused)
{
    if (decimal == NULL)
        decimal = PyImport_ImportModule(\"decimal\");
    if (decimal == NULL)
        return NULL;
    return Py_NewRef(decimal);
}
static PyObject *g(PyObject *self) { return decimal; }
"), @r#"
        1: `decimal` is filled on first use; two threads may both fill it
          6: `f` writes it here
          review: make the value of `decimal` first, and store it under a mutex
          assumes that two threads do not make `decimal` at the same time with one of them failing (that one would return the value of the other with its own exception set)
          assumes that `decimal` is already filled where it is read without the mutex
        @@
         static PyObject *decimal;
        +static PyMutex decimal_mutex;
         static PyObject *
         f(PyObject *self, PyObject *unused)
         {
        -    if (decimal == NULL)
        -        decimal = PyImport_ImportModule("decimal");
        +    PyObject *new_decimal = NULL;
        +    PyMutex_Lock(&decimal_mutex);
        +    if (decimal == NULL) {
        +        PyMutex_Unlock(&decimal_mutex);
        +        new_decimal = PyImport_ImportModule("decimal");
        +        PyMutex_Lock(&decimal_mutex);
        +        if (decimal == NULL)
        +            decimal = Py_XNewRef(new_decimal);
        +    }
        +    PyMutex_Unlock(&decimal_mutex);
        +    Py_XDECREF(new_decimal);
             if (decimal == NULL)
                 return NULL;
        "#);
}

#[test]
fn branches_that_do_more_are_left() {
    insta::assert_snapshot!(cache("\
static PyObject *type, *more;
static PyObject *
f(PyObject *self, PyObject *unused)
{
    if (type == NULL) {
        PyObject *module = PyImport_ImportModule(\"decimal\");
        if (module == NULL)
            return NULL;
        type = PyObject_GetAttrString(module, \"Decimal\");
        Py_DECREF(module);
    }
    if (more != NULL)
        return more;
    more = PyDict_New();
    return more;
}
"), @r#"
        1: `type` is filled on first use; two threads may both fill it
          9: `f` writes it here
          review: make the value of `type` first, and store it under a mutex
          assumes that two threads do not make `type` at the same time with one of them failing (that one would return the value of the other with its own exception set)
        1: `more` is filled on first use; two threads may both fill it
          14: `f` writes it here
          by hand: fill it during module initialisation, or make the value first and store it under a `PyMutex` if the variable is still empty (no automatic fix, because the function returns early if it is already filled)
        @@
         static PyObject *type, *more;
        +static PyMutex type_mutex;
         static PyObject *
         f(PyObject *self, PyObject *unused)
         {
        +    PyObject *new_type = NULL;
        +    PyMutex_Lock(&type_mutex);
             if (type == NULL) {
        -        PyObject *module = PyImport_ImportModule("decimal");
        +        PyObject *module;
        +        PyMutex_Unlock(&type_mutex);
        +        module = PyImport_ImportModule("decimal");
                 if (module == NULL)
                     return NULL;
        -        type = PyObject_GetAttrString(module, "Decimal");
        +        new_type = PyObject_GetAttrString(module, "Decimal");
                 Py_DECREF(module);
        +        PyMutex_Lock(&type_mutex);
        +        if (type == NULL) {
        +            type = Py_XNewRef(new_type);
        +        }
             }
        +    PyMutex_Unlock(&type_mutex);
        +    Py_XDECREF(new_type);
             if (more != NULL)
                 return more;
        "#);
}

#[test]
fn a_mutex_that_is_there_is_enough() {
    assert_eq!(
        cache(
            "\
static PyObject *name;
static PyObject *
f(PyObject *self, PyObject *unused)
{
    PyMutex_Lock(&lock);
    if (name == NULL) name = PyUnicode_InternFromString(\"name\");
    PyMutex_Unlock(&lock);
    return Py_XNewRef(name);
}
"
        ),
        ""
    );
}

#[test]
fn initialisation_is_alone() {
    let text = "\
static PyObject *name, *error;
static char table[256];
static int ready;
static const char *const words[] = {\"a\"};
static void fill(void) { table[0] = 1; ready = 1; }
static int setup(PyObject *m) { fill(); name = PyUnicode_InternFromString(\"n\"); return 0; }
static void m_free(void *m) { Py_CLEAR(name); }
static PyModuleDef def = {.m_free = m_free};
static PyObject *f(PyObject *self, PyObject *u) { static _Atomic int n; n++; return Py_NewRef(name); }
";
    assert_eq!(variable(text) + &cache(text) + &buffer(text), "");
}

#[test]
fn each_thread_gets_its_scratch_buffer() {
    insta::assert_snapshot!(buffer("\
static PyObject *
f(PyObject *self, PyObject *unused)
{
    static char text[32];
    snprintf(text, sizeof(text), \"%p\", self);
    return PyUnicode_FromString(text);
}
"), @r#"
    4: all threads write and read the array `text`; one may read what another has written
      5: `f` writes it here
      review: give each thread its own `text`
      assumes that the compiler supports `_Thread_local` of C11
      assumes that no pointer into `text` is passed to another thread
    @@
     f(PyObject *self, PyObject *unused)
     {
    -    static char text[32];
    +    static _Thread_local char text[32];
         snprintf(text, sizeof(text), "%p", self);
         return PyUnicode_FromString(text);
    "#);
}

#[test]
fn tables_that_are_filled_once_stay_for_all() {
    insta::assert_snapshot!(buffer("\
static PyObject *
f(PyObject *self, PyObject *unused)
{
    static unsigned char table[256];
    static int ready;
    if (!ready) {
        for (int i = 0; i < 256; i++) table[i] = i;
        ready = 1;
    }
    return PyLong_FromLong(table[3]);
}
"), @"
    4: all threads write and read the array `table`; one may read what another has written
      7: `f` writes it here
      by hand: use a local array or one that the caller passes; if all threads need its values, hold a `PyMutex` from the first write to the last read; if its values never change, fill it during module initialisation (no automatic fix, because it is filled only if another variable says so)
    ");
}

#[test]
fn one_finding_a_variable_names_its_kind() {
    insta::assert_snapshot!(variable("\
static long count;
static int debug, ready;
static PyObject *handler;
static struct node *pool[8];
static int pooled;
static PyObject *
f(PyObject *self, PyObject *args)
{
    count++;
    count += 2;
    if (!PyArg_ParseTuple(args, \"i\", &debug))
        return NULL;
    if (!ready) {
        prepare();
        ready = 1;
    }
    Py_XSETREF(handler, Py_NewRef(args));
    pool[pooled++] = NULL;
    PyType_Ready(&Type);
    Py_RETURN_NONE;
}
static PyTypeObject Type;
"), @"
    1: all threads change the counter `count` without a lock; counts get lost
      9: `f` writes it here
      10: `f` writes it here
      by hand: make it atomic, keep one counter for each thread, or hold a `PyMutex` around each use (no automatic fix, because its file does not include `Python.h`)
    2: `debug` is set without a lock; other threads may read it at the same time
      11: `f` writes it here
      by hand: make it atomic, keep one variable for each thread, or hold a `PyMutex` around each use (no automatic fix, because its file does not include `Python.h`)
    2: `ready` says whether something is set up; two threads may set it up at the same time, or one may use it half done
      15: `f` writes it here
      by hand: set it up during module initialisation, or hold a `PyMutex` from the test to the end of the setup
    3: the pointer `handler` is replaced without a lock; another thread may still use what it points to
      17: `f` writes it here
      by hand: hold a `PyMutex` where the pointer is replaced, and where it is read until the reader has a strong reference or a copy; if it is not meant for all interpreters, move it to the module state
    4: all threads change entries of `pool` without a lock; changes get lost or mixed
      18: `f` writes it here
      by hand: hold a `PyMutex` around each use; for a free list, keep one for each thread, or compile it only if `Py_GIL_DISABLED` is not defined
    5: all threads change the counter `pooled` without a lock; counts get lost
      18: `f` writes it here
      by hand: make it atomic, keep one counter for each thread, or hold a `PyMutex` around each use (no automatic fix, because its file does not include `Python.h`)
    22: the static type `Type` is changed after import; other threads may already use it
      19: `f` writes it here
      by hand: call `PyType_Ready` and fill the slots during module initialisation
    ");
}

const OBJECT: &str = "\
typedef struct { PyObject_HEAD long count; PyObject *item; char *name; } Counter;
";

fn object(text: &str, tables: &str) -> String {
    run_triaged(
        &UNLOCKED_OBJECT_STATE,
        &format!("{OBJECT}{text}{tables}{METHODS}"),
    )
}

const BUMP_AND_TWICE: &str = "
static PyMethodDef counter_methods[] = {
    {\"bump\", (PyCFunction)bump, METH_NOARGS, NULL},
    {\"twice\", twice, METH_O, NULL},
    {NULL}
};
";

#[test]
fn methods_that_use_what_others_change_are_split() {
    insta::assert_snapshot!(object("\
static PyObject *
bump(Counter *self, PyObject *Py_UNUSED(ignored))
{
    return PyLong_FromLong(self->count++);
}

static PyObject *
twice(PyObject *op,
      PyObject *args) {
    Counter *self = (Counter *)op;
    Py_XDECREF(bump(self, NULL));
    return PyLong_FromLong(self->count);
}
", BUMP_AND_TWICE), @"
    3: methods of `Counter` use its field `count` without a lock; another thread may change it meanwhile
      3: `bump` changes `count`
      9: `twice` changes `count`
      review: lock the object in the methods of `Counter`
      assumes that two threads that call methods of the same `Counter` may wait for each other
    @@
     typedef struct { PyObject_HEAD long count; PyObject *item; char *name; } Counter;
     static PyObject *
    -bump(Counter *self, PyObject *Py_UNUSED(ignored))
    +bump_lock_held(Counter *self, PyObject *Py_UNUSED(ignored))
     {
         return PyLong_FromLong(self->count++);
    @@
     
     static PyObject *
    +bump(Counter *self, PyObject *ignored)
    +{
    +    PyObject *result;
    +    Py_BEGIN_CRITICAL_SECTION(self);
    +    result = bump_lock_held(self, ignored);
    +    Py_END_CRITICAL_SECTION();
    +    return result;
    +}
    +
    +static PyObject *
    +twice_lock_held(PyObject *op,
    +                PyObject *args) {
    +    Counter *self = (Counter *)op;
    +    Py_XDECREF(bump_lock_held(self, NULL));
    +    return PyLong_FromLong(self->count);
    +}
    +
    +static PyObject *
     twice(PyObject *op,
           PyObject *args) {
    -    Counter *self = (Counter *)op;
    -    Py_XDECREF(bump(self, NULL));
    -    return PyLong_FromLong(self->count);
    +    PyObject *result;
    +    Py_BEGIN_CRITICAL_SECTION(op);
    +    result = twice_lock_held(op, args);
    +    Py_END_CRITICAL_SECTION();
    +    return result;
     }
    ");
}

#[test]
fn the_result_of_a_wrapper_is_declared_as_the_head_has_it() {
    let method = "\
static PyObject* bump(Counter* self, PyObject* unused)
{
    return PyLong_FromLong(self->count++);
}
static PyObject *twice(PyObject *op, PyObject *args) { return bump((Counter *)op, args); }
";
    let split = object(method, BUMP_AND_TWICE);
    assert!(split.contains("    PyObject* result;"), "{split}");
}

#[test]
fn attributes_are_followed_through_helpers_and_frozen_ones_stay() {
    insta::assert_snapshot!(object("\
static PyObject *
make(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    Counter *self = PyObject_New(Counter, type); self->name = NULL;
    return (PyObject *)self;
}

static void
store(Counter *self, PyObject *value)
{
    Py_XSETREF(self->item, value);
}

int set_item(Counter *self, PyObject *value, void *closure)
{
    store(self, Py_NewRef(value));
    return 0;
}

static PyObject *
get_name(Counter *self, void *closure)
{
    return PyUnicode_FromString(self->name);
}
", "
static PyGetSetDef getset[] = {
    {\"item\", NULL, (setter)set_item},
    {\"name\", (getter)get_name},
    {NULL}
};
static PyType_Slot counter_slots[] = {{Py_tp_new, make}, {0, NULL}};
"), @"
    15: methods of `Counter` use its field `item` without a lock; another thread may change it meanwhile
      15: `set_item` changes `item`
      review: lock the object in the methods of `Counter`
      assumes that two threads that call methods of the same `Counter` may wait for each other
    @@
     }
     
    -int set_item(Counter *self, PyObject *value, void *closure)
    +static int set_item_lock_held(Counter *self, PyObject *value, void *closure)
     {
         store(self, Py_NewRef(value));
    @@
     }
     
    +int set_item(Counter *self, PyObject *value, void *closure)
    +{
    +    int result;
    +    Py_BEGIN_CRITICAL_SECTION(self);
    +    result = set_item_lock_held(self, value, closure);
    +    Py_END_CRITICAL_SECTION();
    +    return result;
    +}
    +
     static PyObject *
     get_name(Counter *self, void *closure)
    ");
}

#[test]
fn locked_and_frozen_objects_are_silent() {
    assert_eq!(object("\
static long
hash(Counter *self)
{
    if (self->count == -1) self->count = compute(self);
    return self->count;
}
static PyObject *
bump(Counter *self, PyObject *args)
{
    PyObject *result;
    Py_BEGIN_CRITICAL_SECTION(self);
    result = PyLong_FromLong(self->name[0]++);
    Py_END_CRITICAL_SECTION();
    return result;
}
static void dealloc(Counter *self) { Py_CLEAR(self->item); }
static PyObject *fresh(PyObject *op, PyObject *args)
{
    Counter *made = PyObject_New(Counter, &Type);
    made->item = NULL;
    return (PyObject *)made;
}
", "
static PyMethodDef counter_methods[] = {{\"bump\", bump, METH_NOARGS}, {\"fresh\", fresh, METH_NOARGS}, {NULL}};
static PyTypeObject Type = {.tp_hash = hash, .tp_dealloc = dealloc, .tp_methods = counter_methods};
"), "");
}

#[test]
fn heads_made_by_macros_are_left() {
    insta::assert_snapshot!(object("\
#define METHOD(name) static PyObject *name(Counter *self, PyObject *args)
METHOD(bump)
{
    self->count++;
    Py_RETURN_NONE;
}
", "
static PyMethodDef counter_methods[] = {{\"bump\", (PyCFunction)bump, METH_VARARGS}, {NULL}};
"), @"
    3: methods of `Counter` use its field `count` without a lock; another thread may change it meanwhile
      3: `bump` changes `count`
      by hand: use these fields between `Py_BEGIN_CRITICAL_SECTION(self)` and `Py_END_CRITICAL_SECTION()`; in `bump`, lock the object by hand (a macro defines it)
    ");
}

#[test]
fn a_pointer_that_is_emptied_again_is_no_cache() {
    let text = "\
static PyObject *hook;
static PyObject *
f(PyObject *self, PyObject *unused)
{
    if (hook != NULL) {
        Py_DECREF(hook);
        hook = NULL;
    }
    Py_RETURN_NONE;
}
";
    assert_eq!(cache(text), "");
    assert!(variable(text).contains("`hook` is replaced"));
}

#[test]
fn a_variable_with_a_named_lock_is_left_alone() {
    let text = "\
static long hits; /* ungil: guarded-by(lock) */
static long misses;
static PyObject *f(PyObject *self, PyObject *unused) { hits++; misses++; return NULL; }
";
    insta::assert_snapshot!(variable(text), @"
    2: all threads change the counter `misses` without a lock; counts get lost
      3: `f` writes it here
      by hand: make it atomic, keep one counter for each thread, or hold a `PyMutex` around each use (no automatic fix, because its file does not include `Python.h`)
    ");
}

#[test]
fn a_field_with_a_named_lock_is_left_alone() {
    let methods = "\
static PyObject *bump(Counter *self, PyObject *unused) { return PyLong_FromLong(self->count++); }
static PyObject *twice(PyObject *self, PyObject *arg) { return bump((Counter *)self, arg); }
";
    let of = |comment: &str| {
        let state = format!(
            "typedef struct {{\n    PyObject_HEAD\n    long count; {comment}\n}} Counter;\n"
        );
        report(
            &UNLOCKED_OBJECT_STATE,
            &format!("{state}{methods}{BUMP_AND_TWICE}{METHODS}"),
        )
    };
    assert!(of("").contains("its field `count` without a lock"));
    assert_eq!(of("/* ungil: guarded-by(counter_lock) */"), "");
}

#[test]
fn a_value_that_is_tested_where_it_is_assigned_is_tested_behind_the_mutex() {
    insta::assert_snapshot!(cache(r#"
static PyObject *f(PyObject *self, PyObject *unused)
{
    static PyObject *plain = NULL;

    if (plain == NULL)
    {
        /* Once is enough. */
        if ((plain = PyTuple_Pack(1, &PyLong_Type)) == NULL)
            return NULL;
    }
    return Py_NewRef(plain);
}
"#), @"
    4: `plain` is filled on first use; two threads may both fill it
      9: `f` writes it here
      safe: fill `plain` under a mutex
    @@
     {
         static PyObject *plain = NULL;
    +    static PyMutex plain_mutex;
     
    +    PyMutex_Lock(&plain_mutex);
         if (plain == NULL)
         {
             /* Once is enough. */
    -        if ((plain = PyTuple_Pack(1, &PyLong_Type)) == NULL)
    -            return NULL;
    +        plain = PyTuple_Pack(1, &PyLong_Type);
         }
    +    PyMutex_Unlock(&plain_mutex);
    +    if (plain == NULL)
    +        return NULL;
         return Py_NewRef(plain);
     }
    ");
}

#[test]
fn a_test_of_an_assignment_is_taken_out_of_a_branch_without_braces() {
    insta::assert_snapshot!(cache(r#"
static PyObject *f(PyObject *self, PyObject *unused)
{
    static PyObject *nested, *not;

    if (NULL == nested)
        if (NULL == (nested = PyTuple_Pack(1, &PyLong_Type))) {
            PyErr_Clear();
            return NULL;
        }
    if (!not)
        if (!(not = PyTuple_Pack(1, &PyLong_Type))) return NULL;
    return PyTuple_Pack(2, nested, not);
}
"#), @"
    4: `nested` is filled on first use; two threads may both fill it
      7: `f` writes it here
      safe: fill `nested` under a mutex
    4: `not` is filled on first use; two threads may both fill it
      12: `f` writes it here
      safe: fill `not` under a mutex
    @@
     {
         static PyObject *nested, *not;
    +    static PyMutex nested_mutex;
    +    static PyMutex not_mutex;
     
    +    PyMutex_Lock(&nested_mutex);
         if (NULL == nested)
    -        if (NULL == (nested = PyTuple_Pack(1, &PyLong_Type))) {
    -            PyErr_Clear();
    -            return NULL;
    -        }
    +        nested = PyTuple_Pack(1, &PyLong_Type);
    +    PyMutex_Unlock(&nested_mutex);
    +    if (NULL == nested) {
    +        PyErr_Clear();
    +        return NULL;
    +    }
    +    PyMutex_Lock(&not_mutex);
         if (!not)
    -        if (!(not = PyTuple_Pack(1, &PyLong_Type))) return NULL;
    +        not = PyTuple_Pack(1, &PyLong_Type);
    +    PyMutex_Unlock(&not_mutex);
    +    if (!not) return NULL;
         return PyTuple_Pack(2, nested, not);
     }
    ");
}

#[test]
fn a_branch_that_nothing_leaves_runs_under_the_mutex() {
    let text = |more: &str| {
        format!(
            "static PyInterpreterState *first;\nstatic PyObject *f(PyObject *self, PyObject *unused)\n{{\n    \
             if (first == NULL) {{\n        PyInterpreterState *one = PyInterpreterState_Head();\n        \
             while (PyInterpreterState_Next(one)) {{\n            {more}\n            \
             one = PyInterpreterState_Next(one);\n        }}\n        first = one;\n    }}\n    \
             return PyBool_FromLong(first == PyInterpreterState_Get());\n}}\n"
        )
    };
    insta::assert_snapshot!(cache(&text("if (one == first) break;")), @"
        1: `first` is filled on first use; two threads may both fill it
          10: `f` writes it here
          safe: fill `first` under a mutex
        @@
         static PyInterpreterState *first;
        +static PyMutex first_mutex;
         static PyObject *f(PyObject *self, PyObject *unused)
         {
        +    PyMutex_Lock(&first_mutex);
             if (first == NULL) {
                 PyInterpreterState *one = PyInterpreterState_Head();
        @@
                 first = one;
             }
        +    PyMutex_Unlock(&first_mutex);
             return PyBool_FromLong(first == PyInterpreterState_Get());
         }
        ");
    let last_line = |more: &str| {
        let said = cache(&text(more));
        let mut lines = said.lines();
        lines.nth(2).unwrap_or_default().trim().to_owned()
    };
    assert_eq!(last_line("g();"), "review: fill `first` under a mutex");
    assert!(last_line("if (one == NULL) return NULL;").starts_with("by hand"));
    assert!(last_line("goto end; end:").starts_with("by hand"));
}

#[test]
fn a_value_that_the_branch_may_drop_again() {
    let text = |more: &str| {
        format!(
            "static PyObject *loop;\nstatic PyObject *f(PyObject *self, PyObject *unused)\n{{\n    \
             if (loop == NULL) {{\n        loop = PyList_New(0);\n        {more}\n    }}\n    \
             return Py_XNewRef(loop);\n}}\n"
        )
    };
    let said = cache(&text("if (loop == NULL) { loop = NULL; return NULL; }"));
    assert!(said.contains("make the value of `loop` first"), "{said}");
    let said = cache(&text("").replace("PyObject *loop", "void *loop"));
    assert!(said.contains("safe: fill `loop` under a mutex"), "{said}");
    let emptied = text("if (loop == NULL) { loop = NULL; return NULL; }");
    let said = cache(&emptied.replace("PyObject *loop", "void *loop"));
    assert!(said.contains("by hand: "), "{said}");
}

#[test]
fn several_values_that_one_test_asks_for_share_a_mutex() {
    insta::assert_snapshot!(cache("\
static PyObject *f(PyObject *self, PyObject *unused)
{
    static PyObject *open = NULL;
    static PyObject *close = NULL;

    if (open == NULL || close == NULL) {
        open = PyUnicode_InternFromString(\"{\");
        close = PyUnicode_InternFromString(\"}\");
        if (open == NULL || close == NULL)
            return NULL;
    }
    return PyTuple_Pack(2, open, close);
}
"), @r#"
        3: `open` is filled on first use; two threads may both fill it
          7: `f` writes it here
          safe: fill the variables under a mutex
        4: `close` is filled on first use; two threads may both fill it
          8: `f` writes it here
          safe: fill the variables under a mutex
        @@
         {
             static PyObject *open = NULL;
        +    static PyMutex open_mutex;
             static PyObject *close = NULL;
         
        +    PyMutex_Lock(&open_mutex);
             if (open == NULL || close == NULL) {
                 open = PyUnicode_InternFromString("{");
                 close = PyUnicode_InternFromString("}");
        -        if (open == NULL || close == NULL)
        -            return NULL;
             }
        +    PyMutex_Unlock(&open_mutex);
        +    if (open == NULL || close == NULL)
        +        return NULL;
             return PyTuple_Pack(2, open, close);
         }
        "#);
}

#[test]
fn a_test_of_variables_of_the_file_is_left() {
    let said = cache(
        "\
static PyObject *open;
static PyObject *f(PyObject *self, PyObject *unused)
{
    static PyObject *close;
    if (open == NULL || close == NULL) {
        open = PyTuple_New(0);
        close = PyTuple_New(0);
    }
    return PyTuple_Pack(2, open, close);
}
",
    );
    assert_eq!(
        said.matches("because the test checks more").count(),
        2,
        "{said}"
    );
}

#[test]
fn several_values_that_are_made_at_once_share_a_mutex() {
    insta::assert_snapshot!(run_triaged(&LAZY_STATIC_CACHE, r#"
static PyObject *names(PyObject *self, PyObject *arg)
{
    static PyObject *first = NULL;
    static PyObject *second = NULL;
    static PyObject *made = NULL;
    if (!first) {
        first = PyUnicode_InternFromString("first");
        second = PyUnicode_InternFromString("second");
    }
    if (!made) {
        made = PyImport_ImportModule("made");
        if (made == NULL) return NULL;
    }
    return PyTuple_Pack(3, first, second, made);
}
static PyMethodDef methods[] = {{"names", names, METH_O, NULL}, {NULL}};
"#), @r#"
        4: `first` is filled on first use; two threads may both fill it
          8: `names` writes it here
          safe: fill `first` under a mutex
        6: `made` is filled on first use; two threads may both fill it
          12: `names` writes it here
          safe: make the value of `made` first, and store it under a mutex
        @@
         {
             static PyObject *first = NULL;
        +    static PyMutex first_mutex;
             static PyObject *second = NULL;
             static PyObject *made = NULL;
        +    static PyMutex made_mutex;
        +    PyObject *new_made = NULL;
        +    PyMutex_Lock(&first_mutex);
             if (!first) {
                 first = PyUnicode_InternFromString("first");
                 second = PyUnicode_InternFromString("second");
             }
        +    PyMutex_Unlock(&first_mutex);
        +    PyMutex_Lock(&made_mutex);
             if (!made) {
        -        made = PyImport_ImportModule("made");
        -        if (made == NULL) return NULL;
        +        PyMutex_Unlock(&made_mutex);
        +        new_made = PyImport_ImportModule("made");
        +        if (new_made == NULL) return NULL;
        +        PyMutex_Lock(&made_mutex);
        +        if (!made) {
        +            made = Py_NewRef(new_made);
        +        }
             }
        +    PyMutex_Unlock(&made_mutex);
        +    Py_XDECREF(new_made);
             return PyTuple_Pack(3, first, second, made);
         }
        "#);
}

#[test]
fn a_caller_that_nothing_calls_hides_no_caller_that_makes_the_module() {
    let text = |other: &str| {
        format!(
            "\
static char table[4];
static void fill(void) {{ int i; for (i = 0; i < 4; i++) table[i] = i; }}
static int setup(PyObject *m) {{ fill(); return 0; }}
#ifdef Py_BUILD_CORE
int PyTables_Init(void) {{ fill(); return 0; }}
#endif
{other}
static PyObject *f(PyObject *s, PyObject *unused) {{ return PyLong_FromLong(table[1]); }}
"
        )
    };
    assert_eq!(buffer(&text("")), "");
    let method = "static PyObject *g(PyObject *s, PyObject *u) { fill(); return NULL; }
static PyMethodDef more[] = {{\"g\", g, METH_NOARGS, NULL}, {NULL}};";
    assert!(buffer(&text(method)).contains("`fill` writes it here"));
}

#[test]
fn a_function_with_many_static_variables_is_told_once() {
    let with = |names: &[&str]| {
        let lines =
            |line: fn(&str) -> String| -> String { names.iter().map(|n| line(n)).collect() };
        let declared = lines(|name| format!("    static real {name};\n"));
        let written = lines(|name| format!("    {name} = 1;\n"));
        variable(&format!(
            "typedef double real;
static PyObject *f(PyObject *self, PyObject *unused)
{{
{declared}{written}    return NULL;
}}
"
        ))
    };
    insta::assert_snapshot!(with(&["a", "b", "c"]), @"
        4: `a` is set without a lock; other threads may read it at the same time
          7: `f` writes it here
          by hand: make it atomic, keep one variable for each thread, or hold a `PyMutex` around each use (no automatic fix, because its file does not include `Python.h`)
        5: `b` is set without a lock; other threads may read it at the same time
          8: `f` writes it here
          by hand: make it atomic, keep one variable for each thread, or hold a `PyMutex` around each use (no automatic fix, because its file does not include `Python.h`)
        6: `c` is set without a lock; other threads may read it at the same time
          9: `f` writes it here
          by hand: make it atomic, keep one variable for each thread, or hold a `PyMutex` around each use (no automatic fix, because its file does not include `Python.h`)
        ");
    insta::assert_snapshot!(with(&["a", "b", "c", "d", "e"]), @"
        4: all threads write 5 static variables of `f` without a lock (`a`, `b`, `c` and 2 more); values get lost or mixed
          9: `f` writes it here
          by hand: remove `static` if no value has to last from one call to the next, or hold a `PyMutex` around each call of the function
        ");
}
