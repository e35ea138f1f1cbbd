//! `switch`, `goto` and what else jumps.

use super::of_body;

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
        "static void *table[] = {&&a, &&b}; goto *table[n]; a: f(); b: g(); c: h();"
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
      asm
      t0 = call f()
      return
    "#);
}

#[test]
fn macros_of_unseen_headers_may_leave() {
    let ends = |text: &str| of_body(text).matches("return").count();
    let leaves = |name: &str| ends(&format!("{name}(n); after();")) > 1;
    for name in [
        "IGRAPH_ERROR",
        "FOO_RETURN_NONE",
        "CHECK_ERR",
        "CHECK",
        "RETURNIF",
        "ERROR",
        "g_return_if_fail",
    ] {
        assert!(leaves(name), "{name}");
    }
    for name in [
        "IGRAPH_FINALLY",
        "raise_error",
        "PyErr_SetString",
        "RELEASE_LOCK",
        "UNCHECKED",
    ] {
        assert!(!leaves(name), "{name}");
    }
    for text in ["RETURN_IF_ERROR; after();", "BAIL\n after();"] {
        assert_eq!(ends(text), 2, "{text}");
    }
    assert_eq!(ends("value; DEBUG_ENTER; after();"), 1);
    for (text, leaves) in [
        ("x = TRY(f()); after();", true),
        ("int x = (int)TRY(f()); after();", true),
        ("if (FOO_TRY(f()) > 3) g(); after();", true),
        ("x = VALUE_OR_RETURN(f()); after();", true),
        ("return TRY(f());", true),
        ("if (MUTEX_TRYLOCK(m)) after();", false),
        ("x = CHECK(f()); after();", false),
        ("x = RETURN_CODE(f()); after();", false),
    ] {
        assert_eq!(ends(text) > 1, leaves, "{text}");
    }
}
