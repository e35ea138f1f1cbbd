//! Expressions: order of evaluation, places, conditions.

use super::{of, of_body};

#[test]
fn the_example_of_the_module() {
    insta::assert_snapshot!(of("static PyObject *first(PyObject *list) {
             PyObject *item = PyList_GetItem(list, 0);
             if (item == NULL || !check(item))
                 return NULL;
             Py_INCREF(item);
             return item;
         }"), @r"
    b0:
      declare item
      t0 = load list
      t1 = call PyList_GetItem(t0, 0)
      store item = t1
      t2 = load item
      if t2 == NULL goto b2 else b1
    b1: <- b0
      t3 = load item
      t4 = call check(t3)
      if t4 != 0 goto b3 else b2
    b2: <- b0 b1
      end item
      return NULL
    b3: <- b1
      t5 = load item
      t6 = call Py_INCREF(t5)
      t7 = load item
      end item
      return t7
    ");
}

#[test]
fn arguments_run_left_to_right_after_the_callee() {
    insta::assert_snapshot!(of_body(
        "return outer(f(p), self->slots->get(g(n)), (*self->cb)(1));"
    ), @r"
    b0:
      t0 = load p
      t1 = call f(t0)
      t2 = load self
      t3 = load (*t2).slots
      t4 = load (*t3).get
      t5 = load n
      t6 = call g(t5)
      t7 = call *t4(t6)
      t8 = load self
      t9 = load (*t8).cb
      t10 = call *t9(1)
      t11 = call outer(t1, t7, t10)
      return t11
    ");
}

#[test]
fn an_assignment_in_a_condition_is_stored_before_it_is_compared() {
    insta::assert_snapshot!(of_body(
        "if (!(p = f())) return -1; while ((p = next(p)) != NULL) use(p);"
    ), @r"
    b0:
      t0 = call f()
      store p = t0
      if t0 != 0 goto b2 else b1
    b1: <- b0
      return -1
    b2: <- b0
      goto b3
    b3: <- b2 b4
      t1 = load p
      t2 = call next(t1)
      store p = t2
      if t2 != NULL goto b4 else b5
    b4: <- b3
      t3 = load p
      t4 = call use(t3)
      goto b3
    b5: <- b3
      return
    ");
}

#[test]
fn conditions_lose_their_logic_and_keep_constants_on_the_right() {
    insta::assert_snapshot!(of_body(
        "if (!(NULL == p || 0 < n) && __builtin_expect(!!(self), 1)) go();"
    ), @r"
    b0:
      t0 = load p
      if t0 == NULL goto b4 else b1
    b1: <- b0
      t1 = load n
      if t1 > 0 goto b4 else b2
    b2: <- b1
      t2 = load self
      if t2 != 0 goto b3 else b4
    b3: <- b2
      t3 = call go()
      goto b4
    b4: <- b0 b1 b2 b3
      return
    ");
}

#[test]
fn logic_outside_of_conditions_makes_one_or_zero() {
    insta::assert_snapshot!(of_body("n = p && f(); p || abort(); return !n;"), @r"
    b0:
      t1 = load p
      if t1 != 0 goto b1 else b3
    b1: <- b0
      t2 = call f()
      if t2 != 0 goto b2 else b3
    b2: <- b1
      t0 = copy 1
      goto b4
    b3: <- b0 b1
      t0 = copy 0
      goto b4
    b4: <- b2 b3
      store n = t0
      t3 = load p
      if t3 != 0 goto b6 else b5
    b5: <- b4
      t4 = call abort()
      unreachable
    b6: <- b4
      t5 = load n
      t6 = !t5
      return t6
    ");
}

#[test]
fn conditional_expressions_copy_each_arm() {
    insta::assert_snapshot!(of_body(
        "p = n ? f() : self ? g() : NULL; p = h() ?: self; n ? (void)f() : (void)0;"
    ));
}

#[test]
fn commas_and_statement_expressions_give_their_last_value() {
    insta::assert_snapshot!(of_body(
        "p = (f(), g()); n = ({ PyObject *t = f(); use(t); h(t); }); return ({ if (n) return 1; n; });"
    ), @r"
    b0:
      t0 = call f()
      t1 = call g()
      store p = t1
      declare t
      t2 = call f()
      store t = t2
      t3 = load t
      t4 = call use(t3)
      t5 = load t
      t6 = call h(t5)
      end t
      store n = t6
      t7 = load n
      if t7 != 0 goto b1 else b2
    b1: <- b0
      return 1
    b2: <- b0
      t8 = load n
      return t8
    ");
}

#[test]
fn compound_assignments_and_steps_read_once() {
    insta::assert_snapshot!(of_body(
        "self->count += f(); n++; return --self->items[n++];"
    ), @r"
    b0:
      t0 = load self
      t1 = call f()
      t2 = load (*t0).count
      t3 = t2 + t1
      store (*t0).count = t3
      t4 = load n
      t5 = t4 + 1
      store n = t5
      t6 = load self
      t7 = load (*t6).items
      t8 = load n
      t9 = t8 + 1
      store n = t9
      t10 = load (*t7)[t8]
      t11 = t10 - 1
      store (*t7)[t8] = t11
      return t11
    ");
}

#[test]
fn places_of_members_items_and_pointers() {
    insta::assert_snapshot!(of_body(
        "PyObject *a[2]; p = a[1]; p = self->a.b->items[n]; p = *self->out; (*self).x = (&a[n])->y; return make().x;"
    ), @r"
    b0:
      declare a
      t0 = load a[1]
      store p = t0
      t1 = load self
      t2 = load (*t1).a.b
      t3 = load (*t2).items
      t4 = load n
      t5 = load (*t3)[t4]
      store p = t5
      t6 = load self
      t7 = load (*t6).out
      t8 = load (*t7)
      store p = t8
      t9 = load self
      t10 = load n
      t11 = load a[t10].y
      store (*t9).x = t11
      t12 = call make()
      store (unnamed) = t12
      t13 = load (unnamed).x
      end a
      return t13
    ");
}

#[test]
fn addresses_are_operands() {
    insta::assert_snapshot!(of_body(
        "PyObject *v; int a[3][2]; get(&v, &self->field, &PyList_Type, &*p, a, a[1], &a[1][n]); return f(self->cb);"
    ), @r"
    b0:
      declare v
      declare a
      t0 = load self
      t1 = load p
      t2 = load n
      t3 = call get(&v, &(*t0).field, &::PyList_Type, t1, &a, &a[1], &a[1][t2])
      t4 = load self
      t5 = load (*t4).cb
      t6 = call f(t5)
      end a, v
      return t6
    ");
}

#[test]
fn casts_keep_their_operand_and_fold_null() {
    insta::assert_snapshot!(of_body(
        "p = (PyObject *)make(); p = (PyObject *)0; if ((PyObject *)p == (void *)0) return (int)-1; (void)p; (void)f();"
    ), @r"
    b0:
      t0 = call make()
      t1 = cast t0
      store p = t1
      store p = NULL
      t2 = load p
      t3 = cast t2
      if t3 == NULL goto b1 else b2
    b1: <- b0
      t4 = cast -1
      return t4
    b2: <- b0
      t5 = call f()
      return
    ");
}

#[test]
fn constants_fold() {
    insta::assert_snapshot!(of_body(
        "n = -1; n = 2 + 3 * -4; n = ~0; n = !5; return 1 << 4;"
    ), @r"
    b0:
      store n = -1
      store n = -10
      store n = -1
      store n = 0
      return 16
    ");
}

#[test]
fn what_is_not_evaluated_is_not_there() {
    insta::assert_snapshot!(of_body(
        "n = sizeof(f()) + sizeof(int); p; (void)n; n = 1.5; return 'x';"
    ), @r"
    b0:
      t0 = _ + _
      store n = t0
      store n = _
      return _
    ");
}

#[test]
fn initialisers_clear_then_store_in_order() {
    insta::assert_snapshot!(of_body(
        "PyObject *a[] = {f(), g(), NULL}; struct s x = {.b = {h(), 1}, 2, [4] = 3}; use((struct s){n}, &(struct s){.f = p});"
    ), @r"
    b0:
      declare a
      store a = 0
      t0 = call f()
      store a[0] = t0
      t1 = call g()
      store a[1] = t1
      store a[2] = NULL
      declare x
      store x = 0
      t2 = call h()
      store x.b[0] = t2
      store x.b[1] = 1
      store x[1] = 2
      store x[4] = 3
      store (unnamed) = 0
      t3 = load n
      store (unnamed)[0] = t3
      t4 = load (unnamed)
      store (unnamed) = 0
      t5 = load p
      store (unnamed).f = t5
      t6 = call use(t4, &(unnamed))
      end x, a
      return
    ");
}

#[test]
fn variable_arguments_are_taken_from_the_list() {
    insta::assert_snapshot!(of_body(
        "va_list list; p = __builtin_va_arg(list, PyObject *); return 0;"
    ), @r"
    b0:
      declare list
      t0 = va_arg &list
      store p = t0
      end list
      return 0
    ");
}

#[test]
fn a_call_that_never_returns_ends_its_path() {
    insta::assert_snapshot!(of_body(
        "if (p == NULL) abort(); return n ? f() : (Py_FatalError(\"no\"), 0);"
    ), @r#"
    b0:
      t0 = load p
      if t0 == NULL goto b1 else b2
    b1: <- b0
      t1 = call abort()
      unreachable
    b2: <- b0
      t3 = load n
      if t3 != 0 goto b3 else b4
    b3: <- b2
      t4 = call f()
      t2 = copy t4
      goto b6
    b4: <- b2
      t5 = call Py_FatalError("no")
      unreachable
    b5: (dead)
      t2 = copy 0
      goto b6
    b6: <- b3 b5
      return t2
    "#);
}
