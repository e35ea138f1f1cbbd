//! Functions that do the same, and others.

use crate::program::testing::with_program;
use crate::validate::same_steps;

/// Whether two bodies of a function do the same.
fn same(old: &str, new: &str) -> bool {
    let text = |body| format!("long f(PyObject *d, PyObject *l, int c) {{ PyObject *x; {body} }}");
    with_program(&[("a.c", &text(old))], |old| {
        with_program(&[("a.c", &text(new))], |new| {
            let (old, new) = (old.functions().next(), new.functions().next());
            same_steps(old.expect("it parses").1, new.expect("it parses").1)
        })
    })
}

#[test]
fn a_conditional_expression_is_an_if() {
    let old = "x = c ? find(d) : l; return use(x);";
    assert!(same(
        old,
        "if (c) { x = find(d); } else x = l; return use(x);"
    ));
    assert!(!same(
        old,
        "if (!c) { x = find(d); } else x = l; return use(x);"
    ));
    assert!(!same(
        old,
        "if (c) { x = l; } else x = find(d); return use(x);"
    ));
    assert!(!same(old, "if (c) { x = find(d); } return use(x);"));
    assert!(!same(
        old,
        "if (c) { x = find(l); } else x = l; return use(x);"
    ));
    assert!(!same(old, "x = find(d); if (!c) x = l; return use(x);"));
}

#[test]
fn a_value_goes_through_a_variable() {
    let old = "if ((x = c ? find(d) : NULL) && use(x)) return 1; return use(c ? x : NULL);";
    let front = "PyObject *y; if (c) x = find(d); else x = NULL; if (x && use(x)) return 1;";
    let with = |rest| format!("{front} {rest}");
    assert!(same(
        old,
        &with("if (c) y = x; else y = NULL; return use(y);")
    ));
    assert!(!same(
        old,
        &with("if (c) y = x; else y = d; return use(y);")
    ));
    assert!(!same(
        old,
        &with("if (c) y = x; else y = NULL; return use(x);")
    ));
}

#[test]
fn loops_come_back_to_what_they_were() {
    let old = "while (c--) { x = c > 2 ? find(d) : l; use(x); } return 0;";
    let new = "while (c--) { if (c > 2) x = find(d); else x = l; use(x); } return 0;";
    assert!(same(old, new));
    assert!(!same(old, &new.replace("c > 2", "c > 3")));
    assert!(!same(old, &new.replace("return 0", "return 1")));
    assert!(!same(old, &new.replace("use(x); }", "} use(x);")));
}

#[test]
fn many_variables_that_branches_set_in_a_loop() {
    let names = [
        "a", "b", "e", "g", "h", "i", "k", "m", "n", "o", "p", "q", "r", "s", "t", "u", "v", "w",
    ];
    let declared = format!("long {};", names.join(" = 0, ") + " = 0");
    let set = |pair: &[&str]| match pair {
        [name, other] => format!("if (at({name})) {name} = {other}; else if (c) {name} = 0;"),
        _ => String::new(),
    };
    let set: String = names.windows(2).map(set).collect();
    let set = set + "w = next(w);";
    let with = |choice: &str, last: &str| {
        format!("{declared} while (c--) {{ {choice} {set} use(x, w); }} return {last};")
    };
    let old = with("x = c > 2 ? find(d) : l;", "p + w");
    let choice = "if (c > 2) x = find(d); else x = l;";
    assert!(same(&old, &with(choice, "p + w")));
    assert!(!same(&old, &with(choice, "q + w")));
    assert!(!same(
        &old,
        &with(choice, "p + w").replace("use(x, w)", "use(x, v)")
    ));
    assert!(!same(
        &old,
        &with(choice, "p + w").replace("next(w)", "next(u)")
    ));
}

#[test]
fn what_runs_before_stays_before() {
    let old = "return both(make(d), c ? find(d) : NULL);";
    let new = "if (c) x = find(d); else x = NULL; return both(make(d), x);";
    assert!(!same(old, new));
    let old = "return both(c++, c ? find(d) : NULL);";
    assert!(!same(
        old,
        "if (c) x = find(d); else x = NULL; return both(c++, x);"
    ));
    let old = "return both(d->next, c ? find(d) : NULL);";
    assert!(!same(
        old,
        "if (c) x = find(d); else x = NULL; return both(d->next, x);"
    ));
}
