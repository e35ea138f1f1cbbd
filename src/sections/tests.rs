use std::fmt::Write;

use super::check_balance;
use crate::capi;
use crate::cfg::{self, Point, Source};
use crate::testing::with_package;

/// The imbalances of a function with this body, each with the text where it goes wrong.
fn faults(body: &str) -> String {
    let text = format!("static int f(PyObject *d, PyObject *e, int n)\n{{\n{body}\n}}\n");
    with_package(&text, |cx| {
        let (item, function) = cx.program.functions().next().expect("it is there");
        let graph = cfg::build(function, &|name| {
            capi::effects(name).is_some_and(|effects| effects.noreturn)
        });
        let tree = &function.tree;
        let text_at = |point: Point| {
            let range = match graph.source(point) {
                Some(Source::Expr(expr)) => tree.expr(expr).range,
                Some(Source::Stmt(stmt)) => tree.stmt(stmt).range,
                None => return String::new(),
            };
            let words = (range.start..range.end).map(|at| item.tokens.text(cx.program.files, at));
            let words: Vec<_> = words.map(String::from_utf8_lossy).collect();
            words.join(" ")
        };
        let mut out = String::new();
        for found in check_balance(&graph, tree) {
            let _ = write!(out, "{:?} at `{}`", found.fault, text_at(found.at));
            for (at, held) in &found.path {
                let _ = write!(out, ", {} is {held}", text_at(*at));
            }
            out.push('\n');
        }
        out
    })
}

fn section(inside: &str) -> String {
    faults(&format!(
        "Py_BEGIN_CRITICAL_SECTION(d);\n{inside}\nPy_END_CRITICAL_SECTION();\nreturn 0;"
    ))
}

#[test]
fn balanced_sections_are_silent() {
    assert_eq!(
        section("while (n) { if (g()) break; if (h()) continue; }"),
        ""
    );
    assert_eq!(section("if (n) goto done; g(); done: ;"), "");
    assert_eq!(
        section("Py_BEGIN_CRITICAL_SECTION2(d, e); g(); Py_END_CRITICAL_SECTION2();"),
        ""
    );
    assert_eq!(section("Py_FatalError(\"no\");"), "");
    assert_eq!(
        faults(
            "while (n) { Py_BEGIN_CRITICAL_SECTION(d); g(); Py_END_CRITICAL_SECTION(); if (h()) break; } return 0;"
        ),
        ""
    );
    assert_eq!(faults("return n;"), "");
}

#[test]
fn a_section_on_a_sequence_begins_and_ends_under_one_flag() {
    let body = "Py_BEGIN_CRITICAL_SECTION_SEQUENCE_FAST(d); g(); Py_END_CRITICAL_SECTION_SEQUENCE_FAST(); return 0;";
    assert_eq!(faults(body), "");
    let body = "Py_BEGIN_CRITICAL_SECTION_SEQUENCE_FAST(d); if (n) return 1; Py_END_CRITICAL_SECTION_SEQUENCE_FAST(); return 0;";
    insta::assert_snapshot!(faults(body), @"LeftOpen at `return 1 ;`, n is true");
}

#[test]
fn every_way_out_leaves_a_section_open() {
    insta::assert_snapshot!(section("if (n) return 1;"), @"LeftOpen at `return 1 ;`, n is true");
    insta::assert_snapshot!(
        faults("Py_BEGIN_CRITICAL_SECTION(d); if (n < 0) goto fail; Py_END_CRITICAL_SECTION(); fail: return 0;"),
        @"LeftOpen at `goto fail ;`, n < 0 is true"
    );
    insta::assert_snapshot!(
        faults("while (n) { Py_BEGIN_CRITICAL_SECTION(d); if (g()) break; if (h()) continue; Py_END_CRITICAL_SECTION(); } return 0;"),
        @r"
    LeftOpen at `break ;`, g ( ) is true
    LeftOpen at `continue ;`, g ( ) is false, h ( ) is true
    "
    );
    insta::assert_snapshot!(
        faults("switch (n) { case 1: Py_BEGIN_CRITICAL_SECTION(d); if (g()) break; Py_END_CRITICAL_SECTION(); } return 0;"),
        @"LeftOpen at `break ;`, g ( ) is true"
    );
    insta::assert_snapshot!(section("if (n) Py_RETURN_NONE;"), @"LeftOpen at `return Py_NewRef ( Py_None ) ;`, n is true");
}

#[test]
fn ends_of_sections_that_are_not_open_are_found() {
    // The jump in msgspec: from before the section to a label inside of it.
    insta::assert_snapshot!(
        faults("if (n) goto cleanup; Py_BEGIN_CRITICAL_SECTION(d); g(); cleanup: ; Py_END_CRITICAL_SECTION(); return 0;"),
        @"NotOpen at `PyCriticalSection_End ( & _py_cs )`"
    );
    insta::assert_snapshot!(
        faults("Py_BEGIN_CRITICAL_SECTION(d); g(); Py_END_CRITICAL_SECTION2(); return 0;"),
        @r"
    WrongEnd at `PyCriticalSection2_End ( & _py_cs2 )`
    LeftOpen at `{ PyCriticalSection _py_cs ; PyCriticalSection_Begin ( & _py_cs , d ) ; g ( ) ; PyCriticalSection2_End ( & _py_cs2 ) ; }`
    "
    );
    insta::assert_snapshot!(
        section("again: g(); if (n) PyCriticalSection_End(&_py_cs); "),
        @"NotOpen at `PyCriticalSection_End ( & _py_cs )`"
    );
}

#[test]
fn a_mutex_is_a_section_too() {
    let body =
        "PyMutex_Lock(&m); if (n) { PyMutex_Unlock(&m); return 1; } PyMutex_Unlock(&m); return 0;";
    assert_eq!(faults(body), "");
    assert_eq!(
        faults("if (n) PyMutex_Lock(&m); g(); if (n) PyMutex_Unlock(&m); return 0;"),
        ""
    );
    // Each turn may have another object.
    assert_eq!(faults("PyMutex_Lock(&s->m); return 0;"), "");
    insta::assert_snapshot!(
        faults("PyMutex_Lock(&m); PyMutex_Lock(&s.m); if (n) return 1; PyMutex_Unlock(&m); PyMutex_Unlock(&s.m); PyMutex_Unlock(&m); return 0;"),
        @r"
    LeftOpen at `return 1 ;`, n is true
    LeftOpen at `return 1 ;`, n is true
    NotOpen at `PyMutex_Unlock ( & m )`
    "
    );
    assert_eq!(
        faults("while (n--) PyMutex_Lock(&m); PyMutex_Unlock(&m); return 0;"),
        "OpenTwice at `PyMutex_Lock ( & m )`\nNotOpen at `PyMutex_Unlock ( & m )`\n"
    );
}

#[test]
fn blocks_without_the_gil_are_sections_too() {
    assert_eq!(
        faults(
            "Py_BEGIN_ALLOW_THREADS if (n) { Py_BLOCK_THREADS return 1; } g(); Py_END_ALLOW_THREADS return 0;"
        ),
        ""
    );
    insta::assert_snapshot!(
        faults("Py_BEGIN_ALLOW_THREADS if (n) return 1; Py_END_ALLOW_THREADS return 0;"),
        @"LeftOpen at `return 1 ;`, n is true"
    );
    // The value itself tells whether the thread is detached.
    assert_eq!(
        faults(
            "PyThreadState *_save = NULL; if (n) _save = PyEval_SaveThread(); g(); if (_save) PyEval_RestoreThread(_save); return 0;"
        ),
        ""
    );
}
