//! Expressions: order of evaluation, conditions, constants.

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
    ), @r"
    b0:
      t1 = load n
      if t1 != 0 goto b1 else b2
    b1: <- b0
      t2 = call f()
      t0 = copy t2
      goto b5
    b2: <- b0
      t3 = load self
      if t3 != 0 goto b3 else b4
    b3: <- b2
      t4 = call g()
      t0 = copy t4
      goto b5
    b4: <- b2
      t0 = copy NULL
      goto b5
    b5: <- b1 b3 b4
      store p = t0
      t6 = call h()
      if t6 != 0 goto b6 else b7
    b6: <- b5
      t5 = copy t6
      goto b8
    b7: <- b5
      t7 = load self
      t5 = copy t7
      goto b8
    b8: <- b6 b7
      store p = t5
      t8 = load n
      if t8 != 0 goto b9 else b10
    b9: <- b8
      t9 = call f()
      goto b11
    b10: <- b8
      goto b11
    b11: <- b9 b10
      return
    ");
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
