//! Where variables begin and end.

use super::of_body;

#[test]
fn blocks_end_their_variables_last_first() {
    insta::assert_snapshot!(of_body("{ int a; int b = f(); { int c; use(&c); } } g();"), @r"
    b0:
      declare a
      declare b
      t0 = call f()
      store b = t0
      declare c
      t1 = call use(&c)
      end c
      end b, a
      t2 = call g()
      return
    ");
}

#[test]
fn return_ends_all_open_scopes_after_its_value() {
    insta::assert_snapshot!(of_body(
        "PyObject *a = f(); { PyObject *b = g(); if (n) return use(a, b); } return 0;"
    ), @r"
    b0:
      declare a
      t0 = call f()
      store a = t0
      declare b
      t1 = call g()
      store b = t1
      t2 = load n
      if t2 != 0 goto b1 else b2
    b1: <- b0
      t3 = load a
      t4 = load b
      t5 = call use(t3, t4)
      end b, a
      return t5
    b2: <- b0
      end b
      end a
      return 0
    ");
}

#[test]
fn break_and_continue_end_the_scopes_they_leave() {
    insta::assert_snapshot!(of_body(
        "while (n) { int a = f(); for (int i = 0;; i++) { int b; if (a) break; if (i) continue; } if (g()) continue; h(); }"
    ), @r"
    b0:
      goto b1
    b1: <- b0 b10 b11
      t0 = load n
      if t0 != 0 goto b2 else b12
    b2: <- b1
      declare a
      t1 = call f()
      store a = t1
      declare i
      store i = 0
      goto b3
    b3: <- b2 b8
      declare b
      t2 = load a
      if t2 != 0 goto b4 else b5
    b4: <- b3
      end b
      goto b9
    b5: <- b3
      t3 = load i
      if t3 != 0 goto b6 else b7
    b6: <- b5
      end b
      goto b8
    b7: <- b5
      end b
      goto b8
    b8: <- b6 b7
      t4 = load i
      t5 = t4 + 1
      store i = t5
      goto b3
    b9: <- b4
      end i
      t6 = call g()
      if t6 != 0 goto b10 else b11
    b10: <- b9
      end a
      goto b1
    b11: <- b9
      t7 = call h()
      end a
      goto b1
    b12: <- b1
      return
    ");
}

#[test]
fn goto_ends_what_its_label_is_outside_of() {
    insta::assert_snapshot!(of_body(
        "{ int a = f(); { int b; if (a) goto out; if (n) goto near; } near: g(); } out: h();"
    ), @r"
    b0:
      declare a
      t0 = call f()
      store a = t0
      declare b
      t1 = load a
      if t1 != 0 goto b1 else b2
    b1: <- b0
      end b, a
      goto b6
    b2: <- b0
      t2 = load n
      if t2 != 0 goto b3 else b4
    b3: <- b2
      end b
      goto b5
    b4: <- b2
      end b
      goto b5
    b5: <- b3 b4
      t3 = call g()
      end a
      goto b6
    b6: <- b1 b5
      t4 = call h()
      return
    ");
}

#[test]
fn goto_back_in_the_same_block_ends_nothing_and_declares_anew() {
    insta::assert_snapshot!(of_body("again: ; int a = f(); if (a) goto again;"), @r"
    b0:
      goto b1
    b1: <- b0 b2
      declare a
      t0 = call f()
      store a = t0
      t1 = load a
      if t1 != 0 goto b2 else b3
    b2: <- b1
      goto b1
    b3: <- b1
      end a
      return
    ");
}

#[test]
fn goto_into_a_block_skips_the_declaration() {
    insta::assert_snapshot!(of_body(
        "if (n) goto inside; { int a = 1; inside: use(a); }"
    ), @r"
    b0:
      t0 = load n
      if t0 != 0 goto b1 else b2
    b1: <- b0
      goto b3
    b2: <- b0
      declare a
      store a = 1
      goto b3
    b3: <- b1 b2
      t1 = load a
      t2 = call use(t1)
      end a
      return
    ");
}

#[test]
fn variables_declared_behind_a_jump_are_not_ended_by_it() {
    insta::assert_snapshot!(of_body(
        "int a = f(); if (a) return 1; int b = g(); return b;"
    ), @r"
    b0:
      declare a
      t0 = call f()
      store a = t0
      t1 = load a
      if t1 != 0 goto b1 else b2
    b1: <- b0
      end a
      return 1
    b2: <- b0
      declare b
      t2 = call g()
      store b = t2
      t3 = load b
      end b, a
      return t3
    ");
}

#[test]
fn static_and_extern_variables_neither_begin_nor_end() {
    insta::assert_snapshot!(of_body(
        "static PyObject *cache = NULL; extern int flag; if (cache == NULL) cache = f(); return flag;"
    ), @r"
    b0:
      t0 = load cache
      if t0 == NULL goto b1 else b2
    b1: <- b0
      t1 = call f()
      store cache = t1
      goto b2
    b2: <- b0 b1
      t2 = load ::flag
      return t2
    ");
}

#[test]
fn variables_of_one_name_are_told_apart() {
    insta::assert_snapshot!(of_body("int a = 1; { int a = 2; use(a); } use(a);"), @r"
    b0:
      declare a
      store a = 1
      declare a.2
      store a.2 = 2
      t0 = load a.2
      t1 = call use(t0)
      end a.2
      t2 = load a
      t3 = call use(t2)
      end a
      return
    ");
}
