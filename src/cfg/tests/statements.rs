//! Statements: branches, loops, `switch`, jumps.

use super::of_body;

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
fn else_if_chains_share_one_join() {
    insta::assert_snapshot!(of_body(
        "if (n == 1) f(); else if (n == 2) g(); else if (n == 3) return 1; else h(); last();"
    ), @r"
    b0:
      t0 = load n
      if t0 == 1 goto b1 else b2
    b1: <- b0
      t1 = call f()
      goto b7
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
    b7: <- b1 b3 b6
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
fn switch_falls_through_and_shares_labels() {
    insta::assert_snapshot!(of_body(
        "switch (n) { case 1: case 2: f(); case 3: g(); break; case 4 ... 6: return 1; case RED: case 'x': h(); break; default: last(); } end();"
    ), @r"
    b0:
      t0 = load n
      switch t0 [1: b1] [2: b1] [3: b2] [4...6: b3] [RED: b4] [?: b4] [default: b5]
    b1: <- b0
      t1 = call f()
      goto b2
    b2: <- b0 b1
      t2 = call g()
      goto b6
    b3: <- b0
      return 1
    b4: <- b0
      t3 = call h()
      goto b6
    b5: <- b0
      t4 = call last()
      goto b6
    b6: <- b2 b4 b5
      t5 = call end()
      return
    ");
}

#[test]
fn switch_without_default_may_skip_all() {
    insta::assert_snapshot!(of_body("switch (n) { case -1: return 1; } end();"), @r"
    b0:
      t0 = load n
      switch t0 [-1: b1] [default: b2]
    b1: <- b0
      return 1
    b2: <- b0
      t1 = call end()
      return
    ");
}

#[test]
fn cases_stand_inside_loops() {
    insta::assert_snapshot!(of_body(
        "switch (n % 2) { case 0: do { f(); case 1: g(); } while (--n > 0); }"
    ), @r"
    b0:
      t0 = load n
      t1 = t0 % 2
      switch t1 [0: b1] [1: b3] [default: b5]
    b1: <- b0
      goto b2
    b2: <- b1 b3
      t2 = call f()
      goto b3
    b3: <- b0 b2
      t3 = call g()
      t4 = load n
      t5 = t4 - 1
      store n = t5
      if t5 > 0 goto b2 else b4
    b4: <- b3
      goto b5
    b5: <- b0 b4
      return
    ");
}

#[test]
fn break_in_a_switch_in_a_loop_leaves_the_switch() {
    insta::assert_snapshot!(of_body(
        "while (n) { switch (f()) { case 1: continue; case 2: break; } g(); }"
    ), @r"
    b0:
      goto b1
    b1: <- b0 b3 b5
      t0 = load n
      if t0 != 0 goto b2 else b6
    b2: <- b1
      t1 = call f()
      switch t1 [1: b3] [2: b4] [default: b5]
    b3: <- b2
      goto b1
    b4: <- b2
      goto b5
    b5: <- b2 b4
      t2 = call g()
      goto b1
    b6: <- b1
      return
    ");
}

#[test]
fn goto_goes_forward_and_back() {
    insta::assert_snapshot!(of_body(
        "again: if (f()) goto done; n--; if (n) goto again; g(); done: return n;"
    ), @r"
    b0:
      goto b1
    b1: <- b0 b4
      t0 = call f()
      if t0 != 0 goto b2 else b3
    b2: <- b1
      goto b6
    b3: <- b1
      t1 = load n
      t2 = t1 - 1
      store n = t2
      t3 = load n
      if t3 != 0 goto b4 else b5
    b4: <- b3
      goto b1
    b5: <- b3
      t4 = call g()
      goto b6
    b6: <- b2 b5
      t5 = load n
      return t5
    ");
}

#[test]
fn goto_enters_a_loop() {
    insta::assert_snapshot!(of_body(
        "goto middle; while (n) { f(); middle: g(); } return 0;"
    ), @r"
    b0:
      goto b4
    b1: (dead)
      goto b2
    b2: <- b1 b4
      t0 = load n
      if t0 != 0 goto b3 else b5
    b3: <- b2
      t1 = call f()
      goto b4
    b4: <- b0 b3
      t2 = call g()
      goto b2
    b5: <- b2
      return 0
    ");
}

#[test]
fn computed_goto_may_reach_every_label_in_a_table() {
    insta::assert_snapshot!(of_body(
        "static void *table[] = {__ungil_label_address(a), __ungil_label_address(b)}; __ungil_computed_goto(table[n]); a: f(); b: g(); c: h();"
    ), @r"
    b0:
      t0 = load n
      t1 = load table[t0]
      goto one of b1 b2
    b1: <- b0
      t2 = call f()
      goto b2
    b2: <- b0 b1
      t3 = call g()
      goto b3
    b3: <- b2
      t4 = call h()
      return
    ");
}

#[test]
fn jumps_that_lead_nowhere_give_a_graph() {
    insta::assert_snapshot!(of_body(
        "if (n) goto nowhere; break; case 1: f(); continue;"
    ), @r"
    b0:
      t0 = load n
      if t0 != 0 goto b1 else b2
    b1: <- b0
      unreachable
    b2: <- b0
      t1 = call f()
      return
    ");
}

#[test]
fn assembly_is_a_step() {
    insta::assert_snapshot!(of_body("asm(\"\"); f();"), @r#"
    b0:
      t0 = call asm("")
      t1 = call f()
      return
    "#);
}
