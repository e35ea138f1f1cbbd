//! Functions in, findings and patches out.

use super::count_test::REFERENCE_COUNT_TEST;
use super::list_store::UNLOCKED_LIST_STORE;
use super::object_field::DIRECT_OBJECT_FIELD;
use super::size_again::SIZE_ASKED_AGAIN;
use crate::testing::{report, run_triaged};

#[test]
fn stores_into_shared_lists_are_told_and_new_lists_are_filled_in_peace() {
    insta::assert_snapshot!(run_triaged(&UNLOCKED_LIST_STORE, r#"
typedef struct { PyObject_HEAD PyObject *rows; PyObject *names; } Table;
static PyObject *Table_put(Table *self, PyObject *row)
{
    PyObject *fresh = PyList_New(1);
    PyList_SET_ITEM(fresh, 0, Py_NewRef(row));
    self->names = PyList_New(1);
    PyList_SET_ITEM(self->names, 0, fresh);
    PyList_SET_ITEM(self->rows, 0, Py_NewRef(row));
    Py_RETURN_NONE;
}
static PyMethodDef methods[] = {{"put", (PyCFunction)Table_put, METH_O, NULL}, {NULL}};
"#), @r"
    6: `PyList_SET_ITEM` stores into a list that other threads may use; it takes no lock and does not release the old item
      safe as it is: the container is made by `PyList_New()` on line 5, and no other code has it while the value is in use
    8: `PyList_SET_ITEM` stores into a list that other threads may use; it takes no lock and does not release the old item
      safe as it is: the list is made in this function and filled here
    9: `PyList_SET_ITEM` stores into a list that other threads may use; it takes no lock and does not release the old item
      review: lock the list and release the old item (`PyList_SET_ITEM` → `PyList_SetItem`)
      assumes that nothing else releases or keeps the old item
      assumes that the index is in range (otherwise `PyList_SetItem` sets an exception)
    @@
         self->names = PyList_New(1);
         PyList_SET_ITEM(self->names, 0, fresh);
    -    PyList_SET_ITEM(self->rows, 0, Py_NewRef(row));
    +    PyList_SetItem(self->rows, 0, Py_NewRef(row));
         Py_RETURN_NONE;
     }
    ");
}

#[test]
fn fields_of_objects_get_their_functions() {
    insta::assert_snapshot!(run_triaged(&DIRECT_OBJECT_FIELD, r#"
typedef struct { PyObject_HEAD int n; } Thing;
typedef struct { int ob_type; char *ob_item; } Mine;
#undef Py_TYPE
#define Py_TYPE(x) (((PyObject *)(x))->ob_type)
#define IS_THING(x) (((PyObject *)(x))->ob_type == &Thing_Type)
static inline void _Py_SET_TYPE(PyObject *ob, PyTypeObject *type)
{
    ob->ob_type = type;
}
static int f(Thing *self, PyObject *arg, Mine *mine, PyObject **all)
{
    const char *name = arg->ob_type->tp_name;
    self->ob_base.ob_refcnt = 1;
    if (((PyObject *)self)->ob_type == all[0]->ob_type)
        return mine->ob_type;
    arg->ob_refcnt++;
    if (Py_TYPE(arg) == NULL || IS_THING(arg))
        return 0;
    ((PyVarObject *)arg)->ob_size = self->n + 1;
    return use(name, mine->ob_item);
}
"#), @"
    6: `ob_type` is used directly; other threads may change it during the access
      by hand: use `Py_TYPE`, or `Py_SET_TYPE` to change it
    13: `ob_type` is used directly; other threads may change it during the access
      safe: use the C API (`ob_type` → `Py_TYPE`)
    14: `ob_refcnt` is used directly; the free-threaded build has no such field
      review: use the C API (`ob_refcnt` → `Py_SET_REFCNT`)
      assumes that the count was set before (this does not initialise new memory)
    15: `ob_type` is used directly; other threads may change it during the access
      safe: use the C API (`ob_type` → `Py_TYPE`)
    15: `ob_type` is used directly; other threads may change it during the access
      safe: use the C API (`ob_type` → `Py_TYPE`)
    17: `ob_refcnt` is used directly; the free-threaded build has no such field
      by hand: use `Py_REFCNT`, or `Py_SET_REFCNT` to change it
    20: `ob_size` is used directly; other threads may change it during the access
      review: use the C API (`ob_size` → `Py_SET_SIZE`)
      assumes that the object is not an int, which has no size since Python 3.12
    @@
     static int f(Thing *self, PyObject *arg, Mine *mine, PyObject **all)
     {
    -    const char *name = arg->ob_type->tp_name;
    -    self->ob_base.ob_refcnt = 1;
    -    if (((PyObject *)self)->ob_type == all[0]->ob_type)
    +    const char *name = Py_TYPE(arg)->tp_name;
    +    Py_SET_REFCNT(self, 1);
    +    if (Py_TYPE((PyObject *)self) == Py_TYPE(all[0]))
             return mine->ob_type;
         arg->ob_refcnt++;
         if (Py_TYPE(arg) == NULL || IS_THING(arg))
             return 0;
    -    ((PyVarObject *)arg)->ob_size = self->n + 1;
    +    Py_SET_SIZE((PyVarObject *)arg, self->n + 1);
         return use(name, mine->ob_item);
     }
    ");
}

#[test]
fn what_is_read_inside_of_another_access_is_one_fix_with_it() {
    insta::assert_snapshot!(run_triaged(&DIRECT_OBJECT_FIELD, r#"
static void f(PyObject *a, PyObject *b)
{
    PyTypeObject *meta = ((PyObject *)a->ob_type)->ob_type;
    a->ob_type = b->ob_type;
    use(meta, ((PyVarObject *)((PyObject *)a->ob_type)->ob_type)->ob_size);
}
"#), @r"
    4: `ob_type` is used directly; other threads may change it during the access
      safe: use the C API (`ob_type` → `Py_TYPE`)
    5: `ob_type` is used directly; other threads may change it during the access
      safe: use the C API (`ob_type` → `Py_SET_TYPE`)
    6: `ob_size` is used directly; other threads may change it during the access
      safe: use the C API (`ob_size` → `Py_SIZE`)
    @@
     static void f(PyObject *a, PyObject *b)
     {
    -    PyTypeObject *meta = ((PyObject *)a->ob_type)->ob_type;
    -    a->ob_type = b->ob_type;
    -    use(meta, ((PyVarObject *)((PyObject *)a->ob_type)->ob_type)->ob_size);
    +    PyTypeObject *meta = Py_TYPE((PyObject *)Py_TYPE(a));
    +    Py_SET_TYPE(a, Py_TYPE(b));
    +    use(meta, Py_SIZE((PyVarObject *)Py_TYPE((PyObject *)Py_TYPE(a))));
     }
    ");
}

#[test]
fn the_array_of_a_list_is_told_and_that_of_a_tuple_is_not() {
    insta::assert_snapshot!(run_triaged(&DIRECT_OBJECT_FIELD, r#"
static PyObject *f(PyObject *list, PyObject *tuple)
{
    PyObject *copy = PySequence_List(list);
    PyObject **a = ((PyListObject *)list)->ob_item;
    PyObject **b = ((PyTupleObject *)tuple)->ob_item;
    PyObject **c = ((PyListObject *)copy)->ob_item;
    return use(a, b, c);
}
"#), @r"
    5: `ob_item` of a list is used directly; another thread can free it
      by hand: use `PyList_GetItemRef` and `PyList_SetItem`, a critical section on the list, or a tuple made from it
    ");
}

#[test]
fn the_size_of_an_int_is_told_and_left() {
    insta::assert_snapshot!(run_triaged(&DIRECT_OBJECT_FIELD, r#"
static long f(PyObject *o, PyLongObject *number, PyTupleObject *row)
{
    long size = ((PyLongObject *)o)->ob_size + number->ob_base.ob_size;
    ((PyVarObject *)row)->ob_size = number->ob_base.ob_size;
    number->ob_base.ob_size = 2;
    return size + ((PyVarObject *)row)->ob_size;
}
"#), @"
        4: `ob_size` of an int is used directly; ints have no such field since Python 3.12
          by hand: use `_PyLong_Sign`, read the value with `PyLong_AsNativeBytes`, and create an int with `PyLong_FromNativeBytes` (`Py_SIZE` is not for an int)
        4: `ob_size` of an int is used directly; ints have no such field since Python 3.12
          by hand: use `_PyLong_Sign`, read the value with `PyLong_AsNativeBytes`, and create an int with `PyLong_FromNativeBytes` (`Py_SIZE` is not for an int)
        5: `ob_size` is used directly; other threads may change it during the access
          safe: use the C API (`ob_size` → `Py_SET_SIZE`)
        5: `ob_size` of an int is used directly; ints have no such field since Python 3.12
          by hand: use `_PyLong_Sign`, read the value with `PyLong_AsNativeBytes`, and create an int with `PyLong_FromNativeBytes` (`Py_SIZE` is not for an int)
        6: `ob_size` of an int is used directly; ints have no such field since Python 3.12
          by hand: use `_PyLong_Sign`, read the value with `PyLong_AsNativeBytes`, and create an int with `PyLong_FromNativeBytes` (`Py_SIZE` is not for an int)
        7: `ob_size` is used directly; other threads may change it during the access
          safe: use the C API (`ob_size` → `Py_SIZE`)
        @@
         {
             long size = ((PyLongObject *)o)->ob_size + number->ob_base.ob_size;
        -    ((PyVarObject *)row)->ob_size = number->ob_base.ob_size;
        +    Py_SET_SIZE((PyVarObject *)row, number->ob_base.ob_size);
             number->ob_base.ob_size = 2;
        -    return size + ((PyVarObject *)row)->ob_size;
        +    return size + Py_SIZE((PyVarObject *)row);
         }
        ");
}

#[test]
fn counts_that_decide_are_told() {
    insta::assert_snapshot!(run_triaged(&REFERENCE_COUNT_TEST, r#"
#define UNIQUE(x) (Py_REFCNT(x) == 1)
static void f(PyObject *a, PyObject *b)
{
    assert(Py_REFCNT(a) == 1);
    if (Py_REFCNT(a) == 1 || 1 < b->ob_refcnt)
        reuse(a);
    if (UNIQUE(b) && UNIQUE(a))
        reuse(b);
    if (Py_REFCNT(a) == 2 || Py_REFCNT(((Thing *)b)) <= 1 || 2 <= Py_REFCNT(table[0]))
        reuse(a);
    if (Py_REFCNT(a) > 0 || Py_REFCNT(a) >= 1 || 1 > Py_REFCNT(b))
        printf("%zd", Py_REFCNT(a));
}
"#), @"
    2: a reference count of 1 does not prove that only this code has the object; other threads may have it, too
      by hand: use `PyUnstable_Object_IsUniquelyReferenced` (3.14, or `pythoncapi_compat.h`) if only this thread can reach the object; otherwise use a lock
    6: a reference count of 1 does not prove that only this code has the object; other threads may have it, too
      review: test for the only reference (`Py_REFCNT` → `PyUnstable_Object_IsUniquelyReferenced`)
      assumes that no other thread can reach the object (through a container, a field or a weak reference) while this code treats it as its own
    6: a reference count of 1 does not prove that only this code has the object; other threads may have it, too
      review: test for the only reference (`Py_REFCNT` → `PyUnstable_Object_IsUniquelyReferenced`)
      assumes that no other thread can reach the object (through a container, a field or a weak reference) while this code treats it as its own
      assumes that the object is not being destroyed (its reference count is not 0)
    10: a reference count of 1 does not prove that only this code has the object; other threads may have it, too
      by hand: use `PyUnstable_Object_IsUniquelyReferenced` (3.14, or `pythoncapi_compat.h`) if only this thread can reach the object; otherwise use a lock
    10: a reference count of 1 does not prove that only this code has the object; other threads may have it, too
      review: test for the only reference (`Py_REFCNT` → `PyUnstable_Object_IsUniquelyReferenced`)
      assumes that no other thread can reach the object (through a container, a field or a weak reference) while this code treats it as its own
      assumes that the object is not being destroyed (its reference count is not 0)
    10: a reference count of 1 does not prove that only this code has the object; other threads may have it, too
      review: test for the only reference (`Py_REFCNT` → `PyUnstable_Object_IsUniquelyReferenced`)
      assumes that no other thread can reach the object (through a container, a field or a weak reference) while this code treats it as its own
      assumes that the object is not being destroyed (its reference count is not 0)
    @@
     {
         assert(Py_REFCNT(a) == 1);
    -    if (Py_REFCNT(a) == 1 || 1 < b->ob_refcnt)
    +    if (PyUnstable_Object_IsUniquelyReferenced(a) || !PyUnstable_Object_IsUniquelyReferenced(b))
             reuse(a);
         if (UNIQUE(b) && UNIQUE(a))
             reuse(b);
    -    if (Py_REFCNT(a) == 2 || Py_REFCNT(((Thing *)b)) <= 1 || 2 <= Py_REFCNT(table[0]))
    +    if (Py_REFCNT(a) == 2 || PyUnstable_Object_IsUniquelyReferenced((PyObject *)((Thing *)b)) || !PyUnstable_Object_IsUniquelyReferenced((PyObject *)(table[0])))
             reuse(a);
         if (Py_REFCNT(a) > 0 || Py_REFCNT(a) >= 1 || 1 > Py_REFCNT(b))
    ");
}

#[test]
fn memory_filled_by_a_later_size_is_told() {
    insta::assert_snapshot!(report(&SIZE_ASKED_AGAIN, r#"
typedef struct { PyObject_HEAD PyObject *rows; double *values; } Table;
static PyObject *direct(Table *self, PyObject *unused)
{
    Py_ssize_t i;
    self->values = PyMem_New(double, PyList_GET_SIZE(self->rows));
    for (i = 0; i < PyList_GET_SIZE(self->rows); i++)
        self->values[i] = read(self->rows, i);
    Py_RETURN_NONE;
}
static PyObject *kept(PyObject *module, PyObject *dict)
{
    Py_ssize_t pos = 0, i = 0, n = PyDict_Size(dict);
    PyObject *key, *value;
    PyObject *keys = PyTuple_New(n);
    while (PyDict_Next(dict, &pos, &key, &value))
        PyTuple_SET_ITEM(keys, i++, Py_NewRef(key));
    return keys;
}
static PyMethodDef methods[] = {
    {"direct", (PyCFunction)direct, METH_NOARGS, NULL}, {"kept", kept, METH_O, NULL}, {NULL}
};
"#), @"
    7: this may return more items than the memory that the loop fills can hold; the loop then writes past its end
      6: the memory is allocated here, for an earlier size
      by hand: use the size that the memory was allocated for, and stop if no item is left; or hold a critical section from the allocation to the end of the loop
    16: this may return more items than the memory that the loop fills can hold; the loop then writes past its end
      15: the memory is allocated here, for an earlier size
      by hand: use the size that the memory was allocated for, and stop if no item is left; or hold a critical section from the allocation to the end of the loop
    ");
}

#[test]
fn memory_filled_by_its_own_size_or_with_a_look_at_it_is_not_told() {
    assert_eq!(
        report(
            &SIZE_ASKED_AGAIN,
            r#"
static PyObject *same(PyObject *module, PyObject *list)
{
    Py_ssize_t i, n = PyList_GET_SIZE(list);
    int *values = malloc(n * sizeof(int));
    for (i = 0; i < n; i++)
        values[i] = read(list, i);
    for (i = 0; i < PyList_GET_SIZE(list); i++)
        show(list, i);
    return finish(values);
}
static PyObject *looks(PyObject *module, PyObject *dict)
{
    Py_ssize_t pos = 0, i = 0, n = PyDict_Size(dict);
    PyObject *key, *value;
    PyObject **keys = malloc(n * sizeof(PyObject *));
    while (PyDict_Next(dict, &pos, &key, &value)) {
        if (i == n)
            break;
        keys[i++] = Py_NewRef(key);
    }
    return finish(keys);
}
static PyObject *other(PyObject *module, PyObject *list)
{
    Py_ssize_t i;
    PyObject *copy = PyList_New(PyList_GET_SIZE(list));
    for (i = 0; i < PyList_GET_SIZE(copy); i++)
        PyList_SET_ITEM(copy, i, Py_None);
    return copy;
}
static PyMethodDef methods[] = {
    {"same", same, METH_O, NULL}, {"looks", looks, METH_O, NULL}, {"other", other, METH_O, NULL},
    {NULL}
};
"#
        ),
        ""
    );
}

#[test]
fn the_size_of_an_int_is_left_under_casts() {
    insta::assert_snapshot!(run_triaged(&DIRECT_OBJECT_FIELD, r#"
static long f(PyObject *o, PyLongObject *number)
{
    if (PyLong_Check(o))
        return ((PyVarObject *)o)->ob_size;
    return ((PyVarObject *)number)->ob_size;
}
"#), @"
    5: `ob_size` of an int is used directly; ints have no such field since Python 3.12
      by hand: use `_PyLong_Sign`, read the value with `PyLong_AsNativeBytes`, and create an int with `PyLong_FromNativeBytes` (`Py_SIZE` is not for an int)
    6: `ob_size` of an int is used directly; ints have no such field since Python 3.12
      by hand: use `_PyLong_Sign`, read the value with `PyLong_AsNativeBytes`, and create an int with `PyLong_FromNativeBytes` (`Py_SIZE` is not for an int)
    ");
}

#[test]
fn text_that_only_builds_with_the_gil_compile_is_silent() {
    let told = |guard: &str| {
        run_triaged(
            &DIRECT_OBJECT_FIELD,
            &format!(
                "static PyTypeObject *f(PyObject *o)\n{{\n{guard}\n    return o->ob_type;\n#else\n    \
                 return Py_TYPE(o);\n#endif\n}}\nPyObject *g(PyObject *o) {{ return (PyObject *)f(o); }}\n"
            ),
        )
    };
    assert_eq!(told("#ifndef Py_GIL_DISABLED"), "");
    assert!(told("#ifdef FAST").contains("ob_type"));
}

/// Stores into a list of an object.
const STORES: &str = r#"
typedef struct { PyObject_HEAD PyObject *rows; } Foo;
static PyObject *push(Foo *self, PyObject *v)
{
    PyListObject *l = (PyListObject *)self->rows;
    if (l->allocated > Py_SIZE(l)) {
        Py_INCREF(v);
        PyList_SET_ITEM(self->rows, Py_SIZE(self->rows), v);
        Py_SET_SIZE(l, Py_SIZE(l) + 1);
    }
    Py_RETURN_NONE;
}
static PyObject *pop(Foo *self, PyObject *v)
{
    PyObject *x = PyList_GET_ITEM(self->rows, 0);
    PyList_SET_ITEM(self->rows, 0, NULL);
    return x;
}
static PyObject *swap(Foo *self, PyObject *v)
{
    PyObject *x = PyList_GET_ITEM(self->rows, 0);
    PyList_SET_ITEM(self->rows, 0, PyList_GET_ITEM(self->rows, 1));
    PyList_SET_ITEM(self->rows, 1, x);
    Py_RETURN_NONE;
}
static PyObject *put(Foo *self, PyObject *v)
{
    Py_INCREF(v);
    Py_DECREF(PyList_GET_ITEM(self->rows, 0));
    PyList_SET_ITEM(self->rows, 0, v);
    Py_RETURN_NONE;
}
static PyObject *put2(Foo *self, PyObject *v)
{
    PyObject *old = PyList_GET_ITEM(self->rows, 0);
    Py_INCREF(v);
    PyList_SET_ITEM(self->rows, 0, v);
    Py_DECREF(old);
    Py_RETURN_NONE;
}
static PyObject *plain(Foo *self, PyObject *v)
{
    Py_INCREF(v);
    PyList_SET_ITEM(self->rows, 0, v);
    Py_RETURN_NONE;
}
static PyObject *made(int n, ...)
{
    va_list ap; int i;
    PyObject *l = PyList_New(n);
    if (!l) return NULL;
    va_start(ap, n);
    for (i = 0; i < n; i++) {
        PyObject *o = va_arg(ap, PyObject *);
        Py_INCREF(o);
        PyList_SET_ITEM(l, i, o);
    }
    va_end(ap);
    return l;
}
static PyObject *made2(int n, ...)
{
    va_list ap; int i;
    PyObject *l;
    if (!(l = PyList_New(n))) return NULL;
    va_start(ap, n);
    for (i = 0; i < n; i++)
        PyList_SET_ITEM(l, i, va_arg(ap, PyObject *));
    va_end(ap);
    return l;
}
"#;

#[test]
fn stores_that_move_items_are_left() {
    insta::assert_snapshot!(run_triaged(&UNLOCKED_LIST_STORE, STORES), @"
    8: `PyList_SET_ITEM` stores into a list that other threads may use; it takes no lock and does not release the old item
      by hand: use `PyList_Append` (the item is stored after the last one, which `PyList_SetItem` rejects)
    16: `PyList_SET_ITEM` stores into a list that other threads may use; it takes no lock and does not release the old item
      by hand: use `PyList_SetSlice`, or store `None` if no slot may be empty (the `NULL` removes an item that other code then owns, and `PyList_SetItem` would release that item)
    22: `PyList_SET_ITEM` stores into a list that other threads may use; it takes no lock and does not release the old item
      by hand: hold the list in a critical section and keep these statements (`PyList_SetItem` would release the old item again, which the function moves or releases itself)
    23: `PyList_SET_ITEM` stores into a list that other threads may use; it takes no lock and does not release the old item
      by hand: hold the list in a critical section and keep these statements (`PyList_SetItem` would release the old item again, which the function moves or releases itself)
    30: `PyList_SET_ITEM` stores into a list that other threads may use; it takes no lock and does not release the old item
      review: lock the list and release the old item (`PyList_SET_ITEM` → `PyList_SetItem`)
      assumes that the index is in range (otherwise `PyList_SetItem` sets an exception)
    37: `PyList_SET_ITEM` stores into a list that other threads may use; it takes no lock and does not release the old item
      by hand: hold the list in a critical section and keep these statements (`PyList_SetItem` would release the old item again, which the function moves or releases itself)
    44: `PyList_SET_ITEM` stores into a list that other threads may use; it takes no lock and does not release the old item
      review: lock the list and release the old item (`PyList_SET_ITEM` → `PyList_SetItem`)
      assumes that nothing else releases or keeps the old item
      assumes that the index is in range (otherwise `PyList_SetItem` sets an exception)
    56: `PyList_SET_ITEM` stores into a list that other threads may use; it takes no lock and does not release the old item
      safe as it is: the list is made in this function and filled here
    68: `PyList_SET_ITEM` stores into a list that other threads may use; it takes no lock and does not release the old item
      safe as it is: the list is made in this function and filled here
    @@
     {
         Py_INCREF(v);
    -    Py_DECREF(PyList_GET_ITEM(self->rows, 0));
    -    PyList_SET_ITEM(self->rows, 0, v);
    +    PyList_SetItem(self->rows, 0, v);
         Py_RETURN_NONE;
     }
    @@
     {
         Py_INCREF(v);
    -    PyList_SET_ITEM(self->rows, 0, v);
    +    PyList_SetItem(self->rows, 0, v);
         Py_RETURN_NONE;
     }
    ");
}
