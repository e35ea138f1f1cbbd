//! Statements: branches, loops, `switch`, jumps.

use super::{of, of_body};

#[test]
fn if_without_else_joins_behind_it() {
    insta::assert_snapshot!(of_body("if (n) f(); g();"), @r"
    b0:
      t0 = load n
      if t0 != 0 goto b1 else b2
    b1: <- b0
      t1 = call f()
      goto b2
    b2: <- b0 b1
      t2 = call g()
      return
    ");
}

#[test]
fn each_if_of_a_chain_has_its_own_join() {
    insta::assert_snapshot!(of_body(
        "if (n == 1) f(); else if (n == 2) g(); else if (n == 3) return 1; else h(); last();"
    ), @"
    b0:
      t0 = load n
      if t0 == 1 goto b1 else b2
    b1: <- b0
      t1 = call f()
      goto b8
    b2: <- b0
      t2 = load n
      if t2 == 2 goto b3 else b4
    b3: <- b2
      t3 = call g()
      goto b7
    b4: <- b2
      t4 = load n
      if t4 == 3 goto b5 else b6
    b5: <- b4
      return 1
    b6: <- b4
      t5 = call h()
      goto b7
    b7: <- b3 b6
      goto b8
    b8: <- b1 b7
      t6 = call last()
      return
    ");
}

#[test]
fn code_behind_a_return_is_kept_and_dead() {
    insta::assert_snapshot!(of_body("if (n) return 1; else return 2; f(); return 3;"), @r"
    b0:
      t0 = load n
      if t0 != 0 goto b1 else b2
    b1: <- b0
      return 1
    b2: <- b0
      return 2
    b3: (dead)
      t1 = call f()
      return 3
    ");
}

#[test]
fn while_with_break_and_continue() {
    insta::assert_snapshot!(of_body(
        "while (n) { if (f()) continue; if (g()) break; h(); } last();"
    ), @r"
    b0:
      goto b1
    b1: <- b0 b3 b6
      t0 = load n
      if t0 != 0 goto b2 else b7
    b2: <- b1
      t1 = call f()
      if t1 != 0 goto b3 else b4
    b3: <- b2
      goto b1
    b4: <- b2
      t2 = call g()
      if t2 != 0 goto b5 else b6
    b5: <- b4
      goto b7
    b6: <- b4
      t3 = call h()
      goto b1
    b7: <- b1 b5
      t4 = call last()
      return
    ");
}

#[test]
fn for_with_all_parts() {
    insta::assert_snapshot!(of_body(
        "for (int i = 0; i < n; i++) { if (f(i)) continue; g(i); }"
    ), @r"
    b0:
      declare i
      store i = 0
      goto b1
    b1: <- b0 b5
      t0 = load i
      t1 = load n
      if t0 < t1 goto b2 else b6
    b2: <- b1
      t2 = load i
      t3 = call f(t2)
      if t3 != 0 goto b3 else b4
    b3: <- b2
      goto b5
    b4: <- b2
      t4 = load i
      t5 = call g(t4)
      goto b5
    b5: <- b3 b4
      t6 = load i
      t7 = t6 + 1
      store i = t7
      goto b1
    b6: <- b1
      end i
      return
    ");
}

#[test]
fn an_endless_loop_ends_only_by_break() {
    insta::assert_snapshot!(of_body(
        "for (;;) { if (f()) break; if (g()) return 1; } last();"
    ), @r"
    b0:
      goto b1
    b1: <- b0 b5
      t0 = call f()
      if t0 != 0 goto b2 else b3
    b2: <- b1
      goto b6
    b3: <- b1
      t1 = call g()
      if t1 != 0 goto b4 else b5
    b4: <- b3
      return 1
    b5: <- b3
      goto b1
    b6: <- b2
      t2 = call last()
      return
    ");
}

#[test]
fn an_endless_loop_without_break_never_completes() {
    insta::assert_snapshot!(of_body("while (1) f(); last();"), @r"
    b0:
      goto b1
    b1: <- b0 b2
      goto b2
    b2: <- b1
      t0 = call f()
      goto b1
    b3: (dead)
      t1 = call last()
      return
    ");
}

#[test]
fn do_while_zero_is_no_loop() {
    insta::assert_snapshot!(of_body("do { f(); if (n) break; g(); } while (0); last();"), @r"
    b0:
      t0 = call f()
      t1 = load n
      if t1 != 0 goto b1 else b2
    b1: <- b0
      goto b3
    b2: <- b0
      t2 = call g()
      goto b3
    b3: <- b1 b2
      t3 = call last()
      return
    ");
}

#[test]
fn do_while_goes_back_from_its_condition() {
    insta::assert_snapshot!(of_body(
        "do { if (f()) continue; g(); } while (--n > 0); last();"
    ), @r"
    b0:
      goto b1
    b1: <- b0 b4
      t0 = call f()
      if t0 != 0 goto b2 else b3
    b2: <- b1
      goto b4
    b3: <- b1
      t1 = call g()
      goto b4
    b4: <- b2 b3
      t2 = load n
      t3 = t2 - 1
      store n = t3
      if t3 > 0 goto b1 else b5
    b5: <- b4
      t4 = call last()
      return
    ");
}

#[test]
fn constant_conditions_make_one_edge() {
    insta::assert_snapshot!(of_body(
        "if (0) f(); if (1) g(); else h(); if (n && 0) f(); while (0) g();"
    ), @r"
    b0:
      goto b2
    b1: (dead)
      t0 = call f()
      goto b2
    b2: <- b0 b1
      goto b3
    b3: <- b2
      t1 = call g()
      goto b5
    b4: (dead)
      t2 = call h()
      goto b5
    b5: <- b3 b4
      t3 = load n
      if t3 != 0 goto b6 else b8
    b6: <- b5
      goto b8
    b7: (dead)
      t4 = call f()
      goto b8
    b8: <- b5 b6 b7
      goto b9
    b9: <- b8 b10
      goto b11
    b10: (dead)
      t5 = call g()
      goto b9
    b11: <- b9
      return
    ");
}

#[test]
fn what_a_macro_leaves_out_is_looked_at() {
    let text = "
#define TRACE(...)
#define CHECKED(x) ((void)0)
#define BOTH(x, y) show(x)
int f(PyObject *p, char *text, int n) {
    TRACE(\"%d %s\", n, text->name);
    if (n) CHECKED(p); else ;
    BOTH(p, text);
}";
    insta::assert_snapshot!(of(text), @"
        b0:
          t0 = load text
          t1 = look t0
          t2 = load n
          if t2 != 0 goto b1 else b2
        b1: <- b0
          t3 = load p
          t4 = look t3
          goto b3
        b2: <- b0
          goto b3
        b3: <- b1 b2
          t5 = load p
          t6 = call show(t5)
          t7 = load text
          t8 = look t7
          return
        ");
}

#[test]
fn what_a_macro_says_of_the_build_is_no_constant() {
    let text = "
#define VERBOSE 0
#define COUNT 0
int f(int n) {
    if (!VERBOSE) f(1);
    if (n == COUNT) f(2);
    do f(3); while (COUNT);
}";
    insta::assert_snapshot!(of(text), @"
        b0:
          if _ != 0 goto b2 else b1
        b1: <- b0
          t0 = call f(1)
          goto b2
        b2: <- b0 b1
          t1 = load n
          if t1 == 0 goto b3 else b4
        b3: <- b2
          t2 = call f(2)
          goto b4
        b4: <- b2 b3
          t3 = call f(3)
          return
        ");
}
