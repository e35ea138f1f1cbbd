//! Families of allocations in, findings and patches out.

use super::buffer::BUFFER_IN_OBJECT_DOMAIN;
use super::mismatch::MISMATCHED_ALLOCATOR;
use super::object::OBJECT_OUTSIDE_OBJECT_DOMAIN;
use crate::testing::{report, run_triaged};

fn buffers(text: &str) -> String {
    run_triaged(&BUFFER_IN_OBJECT_DOMAIN, text)
}

#[test]
fn a_family_is_followed_through_fields_helpers_and_results() {
    insta::assert_snapshot!(buffers(r#"
typedef struct { PyObject_HEAD char *data; Py_ssize_t size; } Box;
static char *make(Py_ssize_t n)
{
    char *p = (char *)PyObject_Malloc(n);
    return p;
}
static void drop(void *p)
{
    PyObject_FREE(p);
}
static int grow(Box *self, Py_ssize_t n)
{
    char *data = PyObject_Realloc(self->data, n);
    if (data == NULL)
        return -1;
    self->data = data;
    return 0;
}
static int Box_init(Box *self, PyObject *args)
{
    self->data = make(8);
    return self->data == NULL ? -1 : grow(self, 16);
}
static void Box_dealloc(Box *self)
{
    drop(self->data);
    Py_TYPE(self)->tp_free((PyObject *)self);
}
"#), @r"
    5: `PyObject_Malloc` allocates memory that does not hold a Python object; the free-threaded build needs the object allocator for objects only
      10: `PyObject_FREE` releases it here
      14: `PyObject_Realloc` resizes it here
      safe: allocate outside the object domain (`PyObject_FREE` → `PyMem_Free`, `PyObject_Malloc` → `PyMem_Malloc`, `PyObject_Realloc` → `PyMem_Realloc`)
    @@
     static char *make(Py_ssize_t n)
     {
    -    char *p = (char *)PyObject_Malloc(n);
    +    char *p = (char *)PyMem_Malloc(n);
         return p;
     }
     static void drop(void *p)
     {
    -    PyObject_FREE(p);
    +    PyMem_Free(p);
     }
     static int grow(Box *self, Py_ssize_t n)
     {
    -    char *data = PyObject_Realloc(self->data, n);
    +    char *data = PyMem_Realloc(self->data, n);
         if (data == NULL)
             return -1;
    ");
}

#[test]
fn objects_stay_where_they_are() {
    insta::assert_snapshot!(buffers(r#"
typedef struct { PyObject_HEAD int n; } Thing;
static PyObject *a(PyTypeObject *type)
{
    PyObject *op = PyObject_Malloc(type->tp_basicsize);
    return PyObject_Init(op, type);
}
static Thing *b(void)
{
    Thing *t = (Thing *)PyObject_Malloc(sizeof(Thing));
    return t;
}
static PyObject *c(PyTypeObject *type)
{
    void *memory = PyObject_Malloc(type->tp_basicsize);
    PyObject_INIT(memory, type);
    return memory;
}
static void Thing_dealloc(Thing *self)
{
    PyObject_Del(self);
}
"#), @"");
}

#[test]
fn arrays_of_objects_are_buffers() {
    insta::assert_snapshot!(buffers(r#"
static int f(Py_ssize_t n)
{
    PyObject **stack = PyObject_MALLOC(n * sizeof(PyObject *));
    if (stack == NULL)
        return -1;
    stack[0] = PyLong_FromLong(n);
    Py_XDECREF(stack[0]);
    PyObject_FREE(stack);
    return 0;
}
"#), @r"
    4: `PyObject_MALLOC` allocates memory that does not hold a Python object; the free-threaded build needs the object allocator for objects only
      9: `PyObject_FREE` releases it here
      safe: allocate outside the object domain (`PyObject_FREE` → `PyMem_Free`, `PyObject_MALLOC` → `PyMem_Malloc`)
    @@
     static int f(Py_ssize_t n)
     {
    -    PyObject **stack = PyObject_MALLOC(n * sizeof(PyObject *));
    +    PyObject **stack = PyMem_Malloc(n * sizeof(PyObject *));
         if (stack == NULL)
             return -1;
         stack[0] = PyLong_FromLong(n);
         Py_XDECREF(stack[0]);
    -    PyObject_FREE(stack);
    +    PyMem_Free(stack);
         return 0;
     }
    ");
}

#[test]
fn what_leaves_the_package_is_to_be_confirmed() {
    insta::assert_snapshot!(buffers(r#"
struct work { char *text; };
static void f(struct work *w)
{
    char *p = PyObject_Malloc(10);
    char *q = PyObject_Malloc(10);
    w->text = PyObject_Malloc(10);
    library_keep(p);
    PyObject_Free(p);
    strcpy(q, "text");
}
"#), @r#"
    5: `PyObject_Malloc` allocates memory that does not hold a Python object; the free-threaded build needs the object allocator for objects only
      9: `PyObject_Free` releases it here
      review: allocate outside the object domain (`PyObject_Free` → `PyMem_Free`, `PyObject_Malloc` → `PyMem_Malloc`)
      assumes that nothing else releases or resizes it (`library_keep()` gets it)
    6: `PyObject_Malloc` allocates memory that does not hold a Python object; the free-threaded build needs the object allocator for objects only
      by hand: change this call and the one that releases the memory to the `PyMem_` functions together (no call was found that releases it)
    7: `PyObject_Malloc` allocates memory that does not hold a Python object; the free-threaded build needs the object allocator for objects only
      by hand: change this call and the one that releases the memory to the `PyMem_` functions together (no call was found that releases it)
    @@
     static void f(struct work *w)
     {
    -    char *p = PyObject_Malloc(10);
    +    char *p = PyMem_Malloc(10);
         char *q = PyObject_Malloc(10);
         w->text = PyObject_Malloc(10);
         library_keep(p);
    -    PyObject_Free(p);
    +    PyMem_Free(p);
         strcpy(q, "text");
     }
    "#);
}

#[test]
fn mixed_families_and_macros_are_for_people() {
    insta::assert_snapshot!(buffers(r#"
#define RELEASE(p) PyObject_Free(p)
#define ALLOC PyObject_Malloc
static void f(int big)
{
    char *p = big ? PyMem_Malloc(1000) : PyObject_Malloc(10);
    char *q = PyObject_Malloc(10);
    int *r = ALLOC(10);
    PyObject_Free(p);
    RELEASE(q);
    PyObject_Free(r);
}
"#), @r"
    6: `PyObject_Malloc` allocates memory that does not hold a Python object; the free-threaded build needs the object allocator for objects only
      6: `PyMem_Malloc` allocates it here
      9: `PyObject_Free` releases it here
      by hand: allocate and release all of this memory with one family, `PyMem_Malloc` and `PyMem_Free` (the same pointer may hold memory that `PyMem_Free` releases)
    7: `PyObject_Malloc` allocates memory that does not hold a Python object; the free-threaded build needs the object allocator for objects only
      10: `PyObject_Free` releases it here
      by hand: use the `PyMem_` functions in the macro `RELEASE` and at the other places together (a call is in the macro)
    8: `PyObject_Malloc` allocates memory that does not hold a Python object; the free-threaded build needs the object allocator for objects only
      11: `PyObject_Free` releases it here
      by hand: use the `PyMem_` functions in the macro `ALLOC` and at the other places together (a call is in the macro)
    ");
}

#[test]
fn two_names_for_a_struct_are_one_and_equal_fields_of_two_are_two() {
    insta::assert_snapshot!(buffers(r#"
typedef struct _node { char *text; struct _node *next; } node;
typedef struct { char *text; } other;
static void f(node *a, struct _node *b, other *c)
{
    a->next->text = PyObject_Malloc(10);
    PyObject_Free(b->text);
    c->text = malloc(10);
    free(c->text);
}
"#), @r"
    6: `PyObject_Malloc` allocates memory that does not hold a Python object; the free-threaded build needs the object allocator for objects only
      7: `PyObject_Free` releases it here
      safe: allocate outside the object domain (`PyObject_Free` → `PyMem_Free`, `PyObject_Malloc` → `PyMem_Malloc`)
    @@
     static void f(node *a, struct _node *b, other *c)
     {
    -    a->next->text = PyObject_Malloc(10);
    -    PyObject_Free(b->text);
    +    a->next->text = PyMem_Malloc(10);
    +    PyMem_Free(b->text);
         c->text = malloc(10);
         free(c->text);
    ");
}

fn mismatches(text: &str) -> String {
    report(&MISMATCHED_ALLOCATOR, text)
}

#[test]
fn a_release_of_another_family_is_named_with_the_allocation() {
    insta::assert_snapshot!(mismatches(r#"
typedef struct { PyObject_HEAD char *name; wchar_t *wide; int *rows; } Box;
static int Box_init(Box *self, PyObject *arg)
{
    self->name = PyMem_Malloc(10);
    self->wide = PyUnicode_AsWideCharString(arg, NULL);
    self->rows = PyMem_New(int, 10);
    return 0;
}
static void Box_dealloc(Box *self)
{
    free(self->name);
    PyObject_Free(self->wide);
    PyMem_Del(self->rows);
}
"#), @r"
    12: `free` gets memory that `PyMem_Malloc` allocated; the two belong to different allocators
      5: `PyMem_Malloc` allocates it here
      by hand: release it with `PyMem_Free`, or allocate it with the family of `free`
    13: `PyObject_Free` gets memory that `PyUnicode_AsWideCharString` allocated; the two belong to different allocators
      6: `PyUnicode_AsWideCharString` allocates it here
      by hand: release it with `PyMem_Free`, or allocate it with the family of `PyObject_Free`
    ");
}

#[test]
fn a_release_that_may_be_right_is_left_alone() {
    insta::assert_snapshot!(mismatches(r#"
static void both(int big, char *given)
{
    char *p = big ? PyMem_Malloc(10) : malloc(10);
    char *q = library_text();
    if (big)
        PyMem_Free(p);
    else
        free(p);
    if (big)
        q = PyMem_Malloc(10);
    free(q);
}
"#), @"");
}

#[test]
fn a_printer_of_two_kinds_of_text_mixes_nothing() {
    insta::assert_snapshot!(mismatches(r#"
static void show(const char *text)
{
    printf("%s", text);
}
static void f(void)
{
    char *p = PyMem_Malloc(10);
    char *q = malloc(10);
    show(p);
    show(q);
    PyMem_Free(p);
    free(q);
}
"#), @"");
}

#[test]
fn objects_from_other_heaps_are_named() {
    insta::assert_snapshot!(report(&OBJECT_OUTSIDE_OBJECT_DOMAIN, r#"
typedef struct { PyObject_HEAD int n; } Thing;
static PyObject *a(PyTypeObject *type)
{
    Thing *t = (Thing *)PyMem_Malloc(sizeof(Thing));
    return PyObject_Init((PyObject *)t, type);
}
static PyObject *b(PyTypeObject *type)
{
    PyObject *op = PyObject_Malloc(sizeof(Thing));
    return PyObject_Init(op, type);
}
static PyObject **c(Py_ssize_t n)
{
    PyObject **all = PyMem_Malloc(n * sizeof(PyObject *));
    all[0] = PyObject_Init(PyObject_Malloc(8), &Thing_Type);
    return all;
}
"#), @r"
    5: `PyMem_Malloc` allocates memory that `PyObject_Init` turns into a Python object; the free-threaded build needs the object allocator for it
      by hand: allocate it with `PyObject_New`, `PyObject_GC_New` or `tp_alloc`, and release it with `PyObject_Free`, `PyObject_GC_Del` or `tp_free`
    ");
}

#[test]
fn pointers_to_pointers_are_followed_and_function_pointers_are_not() {
    insta::assert_snapshot!(buffers(r#"
typedef struct { char *data; } box;
static void (*release)(void *);
static void make(char **out)
{
    *out = PyObject_Malloc(10);
}
static void clear(box *b)
{
    void **slot = (void **)&b->data;
    PyObject_Free(*slot);
    *slot = NULL;
}
static void f(box *b)
{
    char *p, *q = PyObject_Malloc(10);
    make(&p);
    memcpy(&b->data, &p, sizeof(p));
    PyObject_Free(q);
    q = PyObject_Malloc(20);
    release = PyObject_Free;
    release(q);
}
"#), @r"
    6: `PyObject_Malloc` allocates memory that does not hold a Python object; the free-threaded build needs the object allocator for objects only
      11: `PyObject_Free` releases it here
      safe: allocate outside the object domain (`PyObject_Free` → `PyMem_Free`, `PyObject_Malloc` → `PyMem_Malloc`)
    16: `PyObject_Malloc` allocates memory that does not hold a Python object; the free-threaded build needs the object allocator for objects only
      19: `PyObject_Free` releases it here
      20: `PyObject_Malloc` allocates it here
      review: allocate outside the object domain (`PyObject_Free` → `PyMem_Free`, `PyObject_Malloc` → `PyMem_Malloc`)
      assumes that nothing else releases or resizes it (`release()` gets it)
    @@
     static void make(char **out)
     {
    -    *out = PyObject_Malloc(10);
    +    *out = PyMem_Malloc(10);
     }
     static void clear(box *b)
     {
         void **slot = (void **)&b->data;
    -    PyObject_Free(*slot);
    +    PyMem_Free(*slot);
         *slot = NULL;
     }
     static void f(box *b)
     {
    -    char *p, *q = PyObject_Malloc(10);
    +    char *p, *q = PyMem_Malloc(10);
         make(&p);
         memcpy(&b->data, &p, sizeof(p));
    -    PyObject_Free(q);
    -    q = PyObject_Malloc(20);
    +    PyMem_Free(q);
    +    q = PyMem_Malloc(20);
         release = PyObject_Free;
         release(q);
    ");
}

#[test]
fn what_is_handed_to_functions_by_others_may_be_released_by_them() {
    let said = |text: &str| {
        let text = buffers(text);
        let safe = text.lines().filter(|line| line.contains("safe: ")).count();
        let review = text.lines().filter(|line| line.contains("review: "));
        (safe, review.count())
    };
    let converter = "
static int convert(PyObject *o, void *out)
{
    char *text = PyObject_Malloc(30);
    if (text == NULL) { return 0; }
    if (o == Py_None) { PyObject_Free(text); return 0; }
    *(char **)out = text;
    return 1;
}
static PyObject *get(PyObject *self, PyObject *args)
{
    char *text = NULL;
    if (!PyArg_ParseTuple(args, \"O&\", convert, &text)) { return NULL; }
    PyObject_Free(text);
    Py_RETURN_NONE;
}";
    assert_eq!(said(converter), (0, 1));
    let thread = "
struct job { int n; };
static void run(void *arg) { struct job *job = arg; PyObject_Free(job); }
static PyObject *start(PyObject *self, PyObject *args)
{
    struct job *job = PyObject_Malloc(sizeof *job);
    if (PyThread_start_new_thread(run, job) == PYTHREAD_INVALID_THREAD_ID) { PyObject_Free(job); }
    Py_RETURN_NONE;
}";
    assert_eq!(said(thread), (0, 1));
    let part = "
struct job { int n; };
static PyObject *start(PyObject *self, PyObject *args)
{
    struct job *job = PyObject_Malloc(sizeof *job);
    int *n = &job->n;
    if (args == NULL) { PyObject_Free(job); return NULL; }
    PyObject_Free(n);
    Py_RETURN_NONE;
}";
    assert!(buffers(part).contains("safe: allocate outside the object domain"));
    let own = "
static PyObject *start(PyObject *self, PyObject *args)
{
    char *text = PyObject_Malloc(30);
    PyObject_Free(text);
    Py_RETURN_NONE;
}";
    assert_eq!(said(own), (1, 0));
}

/// What is said of the text of a struct with the fields `host` and `user`, which `release` releases.
fn reached_by(release: &str) -> &'static str {
    let text = format!(
        "
typedef struct {{ PyObject_HEAD int port; char *host, *user; }} Config;
typedef struct {{ int count; char *name; }} Other;
static const size_t offsets[] = {{offsetof(Config, host), offsetof(Config, user)}};
static void drop(char **p, int n) {{ while (n--) {{ PyObject_Free(p[n]); }} }}
static void drop_one(char **p) {{ PyObject_Free(*p); }}
static void Config_dealloc(Config *self)
{{
    int i;
    char **p;
    {release}
    Py_TYPE(self)->tp_free((PyObject *)self);
}}
static int Config_init(Config *self, PyObject *args)
{{
    PyObject_Free(self->user);
    self->user = PyObject_Malloc(8);
    return self->user == NULL ? -1 : 0;
}}"
    );
    let found = buffers(&text);
    let is_safe = found.contains("safe: ") && !found.contains("review: ");
    if is_safe { "safe" } else { "review" }
}

#[test]
fn fields_that_are_reached_by_addresses_are_not_followed() {
    for release in [
        "for (i = 0; i < 2; i++) PyObject_Free(*(char **)((char *)self + offsets[i]));",
        "p = (char **)((char *)self + offsets[0]); PyObject_Free(p[1]);",
        "drop(&self->host, 2);",
        "for (p = &self->host; p <= &self->user; p++) PyObject_Free(*p);",
        "p = &self->host; p += 1; PyObject_Free(*p);",
    ] {
        assert_eq!(reached_by(release), "review", "{release}");
    }
    for release in [
        "PyObject_Free(self->host); PyObject_Free(self->user);",
        "drop_one(&self->host); drop_one(&self->user);",
        "p = i ? &self->host : &self->user; PyObject_Free(*p);",
        "char **parts[] = {&self->host, &self->user}; for (i = 0; i < 2; i++) PyObject_Free(*parts[i]);",
        "char *parts[] = {self->host, self->user}; for (i = 0; i < 2; i++) PyObject_Free(parts[i]);",
    ] {
        assert_eq!(reached_by(release), "safe", "{release}");
    }
}

#[test]
fn a_struct_behind_a_pointer_to_anything_may_be_read_as_a_pointer() {
    let said = |store: &str| {
        let text = format!(
            "
struct parts {{ char *name; }};
typedef struct {{ PyObject_HEAD void *parts; }} Box;
static void Box_dealloc(Box *self)
{{
    struct parts *parts = self->parts;
    PyObject_Free(parts->name);
    Py_TYPE(self)->tp_free((PyObject *)self);
}}
static int Box_init(Box *self, PyObject *args)
{{
    {store} = PyObject_Malloc(5);
    return 0;
}}"
        );
        buffers(&text).contains("safe: ")
    };
    assert!(said("((struct parts *)self->parts)->name"));
    assert!(!said("*(char **)self->parts"));
}

/// Whether the text of a handle moves, which a function gives as `given` and another takes as `taken`.
fn moves_as_handle(given: &str, taken: &str) -> bool {
    let text = format!(
        "
static void *kept;
static PyObject *open_text(PyObject *self, PyObject *arg)
{{
    char *p = PyObject_Malloc(60);
    if (p == NULL)
        return PyErr_NoMemory();
    if (arg == Py_None) {{
        PyObject_Free(p);
        return NULL;
    }}
    {given}
}}
static PyObject *close_text(PyObject *self, PyObject *arg)
{{
    {taken}
    Py_RETURN_NONE;
}}"
    );
    buffers(&text).contains("safe: ")
}

#[test]
fn what_becomes_a_number_or_is_kept_by_an_object_is_not_followed() {
    let none = "Py_RETURN_NONE;";
    assert!(moves_as_handle(
        &format!("kept = p; {none}"),
        "PyObject_Free(kept);"
    ));
    for (given, taken) in [
        (
            "return PyLong_FromVoidPtr(p);",
            "PyObject_Free(PyLong_AsVoidPtr(arg));",
        ),
        (
            "kept = (void *)((Py_uintptr_t)p | 1); Py_RETURN_NONE;",
            "PyObject_Free((void *)((Py_uintptr_t)kept & ~(Py_uintptr_t)1));",
        ),
        (
            "kept = (void *)((tagged)p ^ 1); Py_RETURN_NONE;",
            "PyObject_Free((void *)((tagged)kept ^ 1));",
        ),
        (
            "return PyCFunction_NewEx((PyMethodDef *)p, NULL, NULL);",
            "PyObject_Free(((PyCFunctionObject *)arg)->m_ml);",
        ),
        (
            "PyCapsule_SetName(arg, p); Py_RETURN_NONE;",
            "PyObject_Free((void *)PyCapsule_GetName(arg));",
        ),
    ] {
        assert!(!moves_as_handle(given, taken), "{given}");
    }
}
