//! UG504: methods that work on more than one object, or let the lock go.

use super::object;

/// What becomes of the type with these functions in place of a method `move`, in a table `row`, beside a
/// method that changes the count: how the function is locked, or why not.
fn locked(function: &str, row: &str) -> String {
    let told = object(
        &format!(
            "{function}\nstatic PyObject *set(Counter *self, PyObject *arg)\n{{\n    \
             self->count = 0;\n    Py_RETURN_NONE;\n}}\n"
        ),
        &format!(
            "static PyMethodDef counter_methods[] = {{{{\"set\", (PyCFunction)set, METH_O}}, \
             {{NULL}}}};\n{row}\n"
        ),
    );
    assert!(
        told.contains("+set_lock_held(") || told.contains("*set_lock_held("),
        "{told}"
    );
    let mut lines = told.lines().map(str::trim);
    let is_section = |line: &&str| line.starts_with("+    Py_BEGIN") && !line.contains("(self);");
    let is_told = |line: &&str| line.contains("`move`");
    let found = lines.find(|line| is_told(line) && line.starts_with("assumes"));
    let found = found.or_else(|| told.lines().find(is_section));
    found
        .unwrap_or("silent")
        .trim_start_matches(['+', ' '])
        .to_owned()
}

const METHOD: &str = "static PyMethodDef more[] = {{\"move\", (PyCFunction)move, METH_O}, {NULL}};";
const SETTER: &str = "static PyGetSetDef gets[] = {{\"move\", NULL, (setter)move}, {NULL}};";
const NUMBER: &str = "static PyNumberMethods number = {.nb_add = move};";

#[test]
fn two_objects_are_held_by_one_section() {
    let method = |body: &str| {
        let head = "static PyObject *move(Counter *self, PyObject *other)";
        locked(
            &format!("{head}\n{{\n    {body}\n    return NULL;\n}}"),
            METHOD,
        )
    };
    let two = "Py_BEGIN_CRITICAL_SECTION2(self, other);";
    assert_eq!(method("self->count += ((Counter *)other)->count;"), two);
    let by_name = "Counter *o = (Counter *)other; o->count = self->count;";
    assert_eq!(method(by_name), two);
    // What only the function has is no second object.
    let made = "Counter *made = PyObject_New(Counter, &Counter_Type); made->count = self->count;";
    assert_eq!(method(made), "silent");
    assert_eq!(method("self->count++; use(other->ob_type);"), "silent");
    insta::assert_snapshot!(method("Counter *o; PyArg_Parse(other, \"O!\", &T, &o); self->count += o->count;"), @"assumes that in `move`, you lock both objects with `Py_BEGIN_CRITICAL_SECTION2` (it also uses `count` of `o`, which is not known at its beginning)");
    insta::assert_snapshot!(method("self->count += ((Counter *)self->item)->count;"), @"assumes that in `move`, you lock both objects with `Py_BEGIN_CRITICAL_SECTION2` (it also uses `count` of `item`, which is not known at its beginning)");
    insta::assert_snapshot!(method("Counter *o = (Counter *)self->item; self->count += o->count;"), @"assumes that in `move`, you lock both objects with `Py_BEGIN_CRITICAL_SECTION2` (it also uses `count` of `o`, which is not known at its beginning)");
}

#[test]
fn an_object_may_be_missing() {
    let body = "\n{\n    self->count = ((Counter *)other)->count;\n    return 0;\n}\n";
    let setter = format!("static int move(Counter *self, PyObject *other, void *closure){body}");
    insta::assert_snapshot!(locked(&setter, SETTER), @"assumes that in `move`, you lock both objects with `Py_BEGIN_CRITICAL_SECTION2` if `other` is not `NULL` (it also uses fields of `other`, which may be `NULL`)");
    let method = format!("static PyObject *move(Counter *self, PyObject *other){body}");
    let called = format!("{method}static void g(Counter *self) {{ move(self, NULL); }}\n");
    insta::assert_snapshot!(locked(&called, METHOD), @"assumes that in `move`, you lock both objects with `Py_BEGIN_CRITICAL_SECTION2` if `other` is not `NULL` (it also uses fields of `other`, which may be `NULL`)");
    assert!(locked(&method, METHOD).contains("SECTION2(self, other)"));
}

/// Python calls `nb_add` for either operand.
#[test]
fn operators_belong_to_the_methods() {
    let sum = |body: &str| {
        let head = "static PyObject *move(PyObject *a, PyObject *b)";
        locked(&format!("{head}\n{{\n    {body}\n}}"), NUMBER)
    };
    let both = "return PyLong_FromLong(((Counter *)a)->count + ((Counter *)b)->count);";
    assert_eq!(sum(both), "Py_BEGIN_CRITICAL_SECTION2(a, b);");
    let right = "return PyLong_FromLong(((Counter *)b)->count);";
    assert_eq!(sum(right), "Py_BEGIN_CRITICAL_SECTION(b);");
    // It is not known which one is the object: the function is named.
    let either = "if (!is_counter(a)) a = b;\n    return PyLong_FromLong(((Counter *)a)->count);";
    insta::assert_snapshot!(sum(either), @"assumes that `move` may use the fields of `Counter` without the lock of the object");
}

/// Exports are counted where a view begins and ends.
#[test]
fn the_functions_of_a_buffer_are_methods() {
    let told = object(
        "\
static int get(PyObject *op, Py_buffer *view, int flags)
{
    ((Counter *)op)->count++;
    return PyBuffer_FillInfo(view, op, \"\", 0, 1, flags);
}
static void release(PyObject *op, Py_buffer *view)
{
    ((Counter *)op)->count--;
}
",
        "static PyBufferProcs buffer = {get, release};\n",
    );
    let added: Vec<&str> = told.lines().filter(|line| line.starts_with('+')).collect();
    insta::assert_snapshot!(added.join("\n"), @r#"
    +static int get_lock_held(PyObject *op, Py_buffer *view, int flags)
    +
    +static int get(PyObject *op, Py_buffer *view, int flags)
    +{
    +    int result;
    +    Py_BEGIN_CRITICAL_SECTION(op);
    +    result = get_lock_held(op, view, flags);
    +    Py_END_CRITICAL_SECTION();
    +    return result;
    +}
    +static void release_lock_held(PyObject *op, Py_buffer *view)
    +{
    +    ((Counter *)op)->count--;
    +}
    +
    +    Py_BEGIN_CRITICAL_SECTION(op);
    +    release_lock_held(op, view);
    +    Py_END_CRITICAL_SECTION();
    "#);
}

/// Where both locks are held, the body of another method with both is called.
#[test]
fn a_method_that_calls_one_of_two_objects() {
    let told = |call: &str| {
        let text = format!(
            "static PyObject *take(Counter *self, PyObject *other)\n{{\n    \
             self->count += ((Counter *)other)->count;\n    return other;\n}}\n\
             static PyObject *swap(Counter *self, PyObject *other)\n{{\n    \
             ((Counter *)other)->count = self->count;\n    return {call};\n}}\n"
        );
        let table = "static PyMethodDef counter_methods[] = {{\"take\", (PyCFunction)take, METH_O}, \
                     {\"swap\", (PyCFunction)swap, METH_O}, {NULL}};\n";
        let told = object(&text, table);
        assert!(
            told.contains("review: lock the object in the methods of `Counter`"),
            "{told}"
        );
        told.contains("return take_lock_held(")
    };
    assert!(told("take(self, other)"));
    assert!(told("take((Counter *)other, (PyObject *)self)"));
    assert!(!told("take(self, fresh())"));
}

#[test]
fn bodies_that_let_the_lock_go_where_they_use_a_field_are_left() {
    let told = |body: &str| {
        let text = format!(
            "static PyObject *\nbump(Counter *self, PyObject *arg)\n{{\n    {body}\n}}\n\
             static PyObject *\nset(Counter *self, PyObject *arg)\n{{\n    self->count = 0;\n    \
             Py_XSETREF(self->item, Py_NewRef(arg));\n    Py_RETURN_NONE;\n}}\n"
        );
        let tables = "static PyMethodDef counter_methods[] = {{\"bump\", (PyCFunction)bump, METH_O}, \
                      {\"set\", (PyCFunction)set, METH_O}, {NULL}};\n";
        let told = object(&text, tables);
        let by_hand = told.lines().find(|line| line.contains("`, you "));
        let is_split = told.contains("+bump_lock_held(");
        assert_eq!(is_split, by_hand.is_none(), "{told}");
        assert!(told.contains("+set_lock_held("), "{told}");
        by_hand.unwrap_or("split").trim().to_owned()
    };
    let bodies = [
        "Py_BEGIN_ALLOW_THREADS\n    wait_for(self->count++);\n    Py_END_ALLOW_THREADS\n    Py_RETURN_NONE;",
        "self->count++;\n    return PyObject_CallOneArg(self->item, arg);",
        "self->count++;\n    Py_CLEAR(self->item);\n    return PyObject_Str(arg);",
    ];
    insta::assert_snapshot!(bodies.map(told).join("\n"), @r"
    assumes that in `bump`, you read the fields in a critical section, take strong references, and leave the section before the thread is detached (detaching releases the lock)
    assumes that in `bump`, you take a strong reference to `item` in a critical section, leave the section, and then use the object; to replace the field, swap the pointer in a section and release the old object afterwards (`PyObject_CallOneArg` runs Python code on `item`, which may release the lock)
    split
    ");
}

#[test]
fn who_else_uses_the_fields_is_named() {
    let told = object(
        "\
static PyObject *bump(Counter *self, PyObject *arg)
{
    self->count++;
    Py_RETURN_NONE;
}
static PyObject *total(PyObject *module, PyObject *arg)
{
    return PyLong_FromLong(((Counter *)arg)->count);
}
static PyMethodDef functions[] = {{\"total\", total, METH_O}, {NULL}};
",
        "static PyMethodDef counter_methods[] = {{\"bump\", (PyCFunction)bump, METH_O}, {NULL}};\n",
    );
    let assumed = told.lines().find(|line| line.contains("assumes"));
    insta::assert_snapshot!(assumed.unwrap_or(&told).trim(), @"assumes that `total` may use the fields of `Counter` without the lock of the object");
}

/// What becomes of a method with this body beside one that sets the fields.
fn acquired(body: &str) -> String {
    let text = format!(
        "static PyObject *\ncall(PyObject *op, PyObject *arg)\n{{\n    Counter *self = (Counter *)op;\n\
             {body}\n}}\nstatic PyObject *set(Counter *self, PyObject *arg)\n{{\n    \
             self->count = 1;\n    Py_XSETREF(self->item, Py_NewRef(arg));\n    Py_RETURN_NONE;\n}}\n"
    );
    object(
        &text,
        "static PyMethodDef counter_methods[] = {{\"call\", call, METH_O}, \
         {\"set\", (PyCFunction)set, METH_O}, {NULL}};\n",
    )
}

/// The lock would be free exactly where the hook runs, and another thread may replace the hook there.
#[test]
fn a_field_is_read_under_the_lock_and_used_without_it() {
    let told = acquired(
        "    if (self->item == NULL)\n        Py_RETURN_NONE;\n    \
         return PyObject_CallOneArg(self->item, arg);",
    );
    insta::assert_snapshot!(told, @r#"
    10: methods of `Counter` use its fields `count`, `item` without a lock; another thread may change them meanwhile
      3: `call` reads `item`
      10: `set` changes `count`, `item`
      review: lock the object in the methods of `Counter`
      assumes that two threads that call methods of the same `Counter` may wait for each other
      assumes that `call` may continue with the value of `item` at its beginning, even if it changes while the method runs
    @@
     typedef struct { PyObject_HEAD long count; PyObject *item; char *name; } Counter;
     static PyObject *
    -call(PyObject *op, PyObject *arg)
    +call_with_item(PyObject *op, PyObject *arg, PyObject *item)
     {
    -    Counter *self = (Counter *)op;
    -    if (self->item == NULL)
    +    if (item == NULL)
             Py_RETURN_NONE;
    -    return PyObject_CallOneArg(self->item, arg);
    +    return PyObject_CallOneArg(item, arg);
     }
    -static PyObject *set(Counter *self, PyObject *arg)
    +
    +static PyObject *
    +call(PyObject *op, PyObject *arg)
     {
    +    PyObject *item;
    +    PyObject *result;
    +    Py_BEGIN_CRITICAL_SECTION(op);
    +    item = Py_XNewRef(((Counter *)op)->item);
    +    Py_END_CRITICAL_SECTION();
    +    result = call_with_item(op, arg, item);
    +    Py_XDECREF(item);
    +    return result;
    +}
    +static PyObject *set_lock_held(Counter *self, PyObject *arg)
    +{
         self->count = 1;
         Py_XSETREF(self->item, Py_NewRef(arg));
         Py_RETURN_NONE;
     }
    +
    +static PyObject *set(Counter *self, PyObject *arg)
    +{
    +    PyObject *result;
    +    Py_BEGIN_CRITICAL_SECTION(self);
    +    result = set_lock_held(self, arg);
    +    Py_END_CRITICAL_SECTION();
    +    return result;
    +}
     static PyMethodDef counter_methods[] = {{"call", call, METH_O}, {"set", (PyCFunction)set, METH_O}, {NULL}};
    "#);
}

#[test]
fn numbers_are_read_before_the_thread_detaches() {
    let told = acquired(
        "    Py_BEGIN_ALLOW_THREADS\n    wait_for(self->count);\n    Py_END_ALLOW_THREADS\n    \
         Py_RETURN_NONE;",
    );
    let added: Vec<&str> = told.lines().filter(|line| line.starts_with('+')).collect();
    insta::assert_snapshot!(added.join("\n"), @r#"
    +call_with_count(PyObject *op, PyObject *arg, long count)
    +    wait_for(count);
    +
    +static PyObject *
    +call(PyObject *op, PyObject *arg)
    +{
    +    long count;
    +    PyObject *result;
    +    Py_BEGIN_CRITICAL_SECTION(op);
    +    count = ((Counter *)op)->count;
    +    Py_END_CRITICAL_SECTION();
    +    result = call_with_count(op, arg, count);
    +    return result;
    +}
    +static PyObject *set_lock_held(Counter *self, PyObject *arg)
    +
    +static PyObject *set(Counter *self, PyObject *arg)
    +{
    +    PyObject *result;
    +    Py_BEGIN_CRITICAL_SECTION(self);
    +    result = set_lock_held(self, arg);
    +    Py_END_CRITICAL_SECTION();
    +    return result;
    +}
    "#);
}

#[test]
fn what_is_no_plain_read_is_left() {
    for body in [
        "    PyObject_CallOneArg(self->item, arg);\n    self->count++;\n    Py_RETURN_NONE;",
        "    PyObject_CallOneArg(self->item, arg);\n    return self->item;",
        "    PyObject *kept = self->item;\n    return PyObject_CallOneArg(self->item, kept);",
        "    PyObject **kept = &self->item;\n    return PyObject_CallOneArg(self->item, *kept);",
        "    PyObject_CallOneArg(self->item, arg);\n    return set(self, arg);",
        "    return PyTuple_Pack(1, PyObject_CallOneArg(self->item, arg), Py_NewRef(self->item));",
        "    Py_BEGIN_ALLOW_THREADS\n    wait_for(&self->count);\n    Py_END_ALLOW_THREADS\n    return arg;",
        "    PyObject *item = arg;\n    return PyObject_CallOneArg(self->item, item);",
    ] {
        let told = acquired(body);
        assert!(told.contains("in `call`, you"), "{told}");
        assert!(told.contains("set_lock_held("), "{told}");
        assert!(!told.contains("call_with_"), "{told}");
    }
}
