//! C functions in, troubles out.

use super::{Gives, KnownCallees, Origin, Report, Seed, run};
use crate::ast::{ExprId, ExprKind, Function};
use crate::capi;
use crate::cfg::{self, Source};
use crate::program::Program;
use crate::program::testing::with_program;

/// Follows the strong calls of `body` (the inside of a function that returns `PyObject *`) and
/// lists what is wrong, with the text of the step where it shows.
pub(super) fn troubles(body: &str) -> String {
    let text = format!("static PyObject *f(PyObject *self, PyObject *args) {{\n{body}\n}}\n");
    with_program(&[("a.c", &text)], of_program)
}

fn of_program(program: &Program<'_>) -> String {
    assert!(program.gaps.is_empty(), "{:?}", program.gaps);
    let (item, function) = program.functions().next().expect("one function");
    let seeds = seeds(function);
    assert!(!seeds.is_empty());
    let graph = cfg::build(function, &capi::never_returns);
    let report = run(&graph, &function.tree, &seeds, &KnownCallees, &|_| true);
    let Report::Complete(troubles) = report else {
        return "too complex".to_owned();
    };
    let lines = troubles.iter().map(|trouble| {
        let range = match trouble.at {
            Some(Source::Expr(id)) => function.tree.expr(id).range,
            Some(Source::Stmt(id)) => function.tree.stmt(id).range,
            None => return format!("{:?} at a join", trouble.problem),
        };
        let (file, span) = item
            .tokens
            .file_span(range)
            .expect("no macros in the tests");
        format!(
            "{:?} at {}",
            trouble.problem,
            program.files.get(file).text(span)
        )
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// The lookups that the tests are about.
fn seeds(function: &Function) -> Vec<Seed> {
    let calls = (0u32..).zip(&function.tree.exprs).filter_map(|(at, expr)| {
        let ExprKind::Call { callee, .. } = &expr.kind else {
            return None;
        };
        let (gives, owned) = match function.tree.callee_name(*callee)? {
            "PyDict_Copy" | "PyList_GetItemRef" => (Gives::Result, true),
            "PyDict_GetItemRef" => (Gives::Out(2), true),
            "PyWeakref_GetRef" => (Gives::Out(1), true),
            "Py_NewRef" => (Gives::Always, true),
            "PyList_GetItem" => (Gives::Result, false),
            _ => return None,
        };
        Some(Seed {
            origin: Origin::Call(ExprId(at)),
            gives,
            owned,
        })
    });
    calls.collect()
}

#[test]
fn a_release_on_every_path_balances() {
    let body = "PyObject *v = PyList_GetItemRef(self, 0);
        if (v == NULL) return NULL;
        if (!PyLong_Check(v)) { Py_DECREF(v); return NULL; }
        long n = PyLong_AsLong(v);
        Py_DECREF(v);
        return PyLong_FromLong(n);";
    assert_eq!(troubles(body), "");
}

#[test]
fn a_path_without_release_leaks() {
    let body = "PyObject *v = PyList_GetItemRef(self, 0);
        if (v == NULL) return NULL;
        if (!PyLong_Check(v)) return NULL;
        Py_DECREF(v);
        return PyLong_FromLong(1);";
    assert_eq!(troubles(body), "Leak at return NULL;");
}

#[test]
fn nothing_is_lost_where_the_program_ends() {
    let body = "PyObject *v = PyList_GetItemRef(self, 0);
        if (v == NULL) return NULL;
        if (is_odd(v)) {
            if (other() < 0) Py_FatalError(\"no\");
            work();
        }
        Py_DECREF(v);
        return make();";
    assert_eq!(troubles(body), "");
    let jump = body.replace("Py_FatalError(\"no\")", "longjmp(back, 1)");
    assert_eq!(troubles(&jump), "Leak at back");
    // With something done first.
    let told = "{ log_it(\"no\"); note(work() ? 1 : 2); Py_FatalError(\"no\"); }";
    let body = body.replace("Py_FatalError(\"no\");", told);
    assert_eq!(troubles(&body), "");
    let jump = body.replace("Py_FatalError(\"no\")", "longjmp(back, 1)");
    assert_eq!(troubles(&jump), "Leak at log_it(\"no\")");
}

#[test]
fn a_dict_that_is_gone_through_is_there() {
    let body = "PyObject *v, *k;
        Py_ssize_t pos = 0;
        (void)PyDict_GetItemRef(self, args, &v);
        while (PyDict_Next(v, &pos, &k, NULL))
            use(k);
        Py_DECREF(v);
        Py_RETURN_NONE;";
    assert_eq!(troubles(body), "");
    let other = troubles(&body.replace("Next(v,", "Next(self,"));
    assert!(other.contains("ReleaseOfNull at Py_DECREF(v)"), "{other}");
}

#[test]
fn the_value_of_a_failed_lookup_must_not_be_released() {
    let body = "PyObject *v;
        int rc = PyDict_GetItemRef(self, args, &v);
        if (rc < 0) return NULL;
        Py_DECREF(v);
        Py_RETURN_NONE;";
    assert_eq!(troubles(body), "ReleaseOfNull at Py_DECREF(v)");
    let fine = body.replace("Py_DECREF", "Py_XDECREF");
    assert_eq!(troubles(&fine), "");
}

#[test]
fn status_and_value_go_together() {
    let body = "PyObject *v; int rc;
        if ((rc = PyDict_GetItemRef(self, args, &v)) == 1) { use(v); Py_DECREF(v); }
        else if (rc == 0) { make(); }
        return other();";
    assert_eq!(troubles(body), "");
}

#[test]
fn derived_values_keep_their_owner_in_use() {
    let body = "PyObject *v = PyList_GetItemRef(self, 0);
        if (!v) return NULL;
        const char *s = PyUnicode_AsUTF8(v);
        Py_DECREF(v);
        return PyUnicode_FromString(s);";
    assert_eq!(troubles(body), "UseAfterRelease at PyUnicode_FromString(s)");
    let body = "PyObject *v = PyList_GetItemRef(self, 0);
        if (!v) return NULL;
        PyObject *first = PyTuple_GET_ITEM(v, 0);
        Py_INCREF(first);
        Py_DECREF(v);
        return first;";
    assert_eq!(troubles(body), "");
    let body = body.replace("Py_INCREF(first);", "first = Py_NewRef(first);");
    assert_eq!(troubles(&body), "");
    let body = body.replace("first = Py_NewRef(first);", "");
    assert_eq!(troubles(&body), "BorrowedEscapes at return first;");
}

#[test]
fn numbers_are_not_derived() {
    let body = "PyObject *v = PyList_GetItemRef(self, 0);
        if (!v) return NULL;
        Py_ssize_t n = ((Foo *)v)->count;
        Py_DECREF(v);
        return PyLong_FromSsize_t(n);";
    assert_eq!(troubles(body), "");
}

#[test]
fn cleanup_labels_balance() {
    let body = "PyObject *v = NULL, *res = NULL; int i;
        for (i = 0; i < 3; i++) {
            v = PyList_GetItemRef(self, i);
            if (v == NULL) goto done;
            if (check(v)) goto done;
            Py_CLEAR(v);
        }
        res = make();
        done:
        Py_XDECREF(v);
        return res;";
    assert_eq!(troubles(body), "");
}

#[test]
fn a_second_lookup_loses_the_first_value() {
    let body = "PyObject *v = PyList_GetItemRef(self, 0);
        if (!v) return NULL;
        v = PyList_GetItemRef(self, 1);
        if (!v) return NULL;
        return v;";
    assert_eq!(troubles(body), "Leak at self");
}

#[test]
fn stealing_and_returning_give_away() {
    let body = "PyObject *v = PyList_GetItemRef(self, 0);
        if (!v) return NULL;
        PyTuple_SET_ITEM(args, 0, v);
        return args;";
    assert_eq!(troubles(body), "");
    let body = "PyObject *v = PyList_GetItemRef(self, 0);
        return v;";
    assert_eq!(troubles(body), "");
    let body = "PyObject *v = PyList_GetItemRef(self, 0);
        if (!v) return NULL;
        Py_INCREF(v);
        return v;";
    assert_eq!(troubles(body), "Leak at return v;");
}

#[test]
fn a_steal_on_success_needs_a_release_on_failure() {
    let body = "PyObject *v = PyList_GetItemRef(self, 0);
        if (!v) return NULL;
        if (PyModule_AddObject(args, \"x\", v) < 0) { Py_DECREF(v); return NULL; }
        Py_RETURN_NONE;";
    assert_eq!(troubles(body), "");
    let body = body.replace("Py_DECREF(v); ", "");
    assert_eq!(troubles(&body), "Leak at return NULL;");
}

#[test]
fn conditional_expressions_and_flags_are_followed() {
    let body = "int owned = 0; PyObject *v = Py_None;
        if (args) { v = PyList_GetItemRef(self, 0); if (!v) return NULL; owned = 1; }
        use(v);
        if (owned) Py_DECREF(v);
        Py_RETURN_NONE;";
    assert_eq!(troubles(body), "");
    let body = "PyObject *v; int found;
        PyDict_GetItemRef(self, args, &v);
        found = v != NULL;
        if (found) Py_DECREF(v);
        return other();";
    assert_eq!(troubles(body), "");
    let turned = body.replace("if (found)", "if (!found)");
    let wrong = "Leak at other()\nReleaseOfNull at Py_DECREF(v)";
    assert_eq!(troubles(&turned), wrong);
}

#[test]
fn borrowed_values_show_what_the_code_does_with_them() {
    let body = "PyObject *v = PyList_GetItem(self, 0);
        if (!v) return NULL;
        Py_INCREF(v);
        return v;";
    assert_eq!(troubles(body), "");
    let body = "return PyList_GetItem(self, 0);";
    assert_eq!(
        troubles(body),
        "OverRelease at return PyList_GetItem(self, 0);"
    );
}

#[test]
fn a_variable_can_change_owners() {
    let body = "PyObject *v;
        if (PyDict_GetItemRef(self, args, &v) < 0) { PyErr_Clear(); }
        if (v) {
            int n = PyObject_Not(v);
            if (n < 0) { Py_DECREF(v); return NULL; }
            if (n) { Py_DECREF(v); v = Py_NewRef(Py_None); }
            return v;
        }
        v = make(self);
        if (v && !(v == Py_None || PyList_Check(v))) { Py_DECREF(v); return NULL; }
        return v;";
    assert_eq!(troubles(body), "");
}

#[test]
fn a_value_that_is_none_is_still_owned() {
    let body = "PyObject *v = PyList_GetItemRef(self, 0);
        if (v == Py_None) return make();
        Py_XDECREF(v);
        return make();";
    assert_eq!(troubles(body), "Leak at return make();");
    let body = body.replace(
        "return make();\n        Py_X",
        "{ Py_DECREF(v); return make(); }\n        Py_X",
    );
    assert_eq!(troubles(&body), "");
}

#[test]
fn none_is_released_under_either_name() {
    let body = "PyObject *v = PyList_GetItemRef(self, 0);
        if (v == Py_None && args != NULL) { Py_DECREF(Py_None); return make(); }
        return v;";
    assert_eq!(troubles(body), "");
    let twice = body.replace("{ Py", "{ Py_DECREF(v); Py");
    assert_eq!(
        troubles(&twice),
        "OverRelease at Py_DECREF(Py_None)\nOverRelease at return make();"
    );
}

/// Each lookup has three outcomes, and all of them are in use at once.
#[test]
fn many_lookups_at_once_are_followed_one_by_one() {
    let names: Vec<String> = (0..12).map(|number| format!("v{number}")).collect();
    let mut body = String::new();
    for name in &names {
        body += &format!("PyObject *{name};\n");
        body += &format!("if (PyDict_GetItemRef(self, args, &{name}) < 0) PyErr_Clear();\n");
    }
    body += "int n = 0;\n";
    for name in &names {
        body += &format!("if ({name} != NULL) n += use({name});\n");
    }
    let releases = names.iter().map(|name| format!("Py_XDECREF({name});\n"));
    let balanced = body.clone() + &releases.collect::<String>() + "return PyLong_FromLong(n);";
    assert_eq!(troubles(&balanced), "");
    let releases = names[1..]
        .iter()
        .map(|name| format!("Py_XDECREF({name});\n"));
    let leaks = body + &releases.collect::<String>() + "return PyLong_FromLong(n);";
    assert_eq!(troubles(&leaks), "too complex");
}

/// Nothing stands between them that a block ends with: a million ways through one block.
#[test]
fn many_lookups_in_a_row_of_statements() {
    let names: Vec<String> = (0..20).map(|number| format!("v{number}")).collect();
    let made = names
        .iter()
        .map(|name| format!("PyObject *{name} = PyList_GetItemRef(self, 0);\n"));
    let uses: String = names.iter().map(|name| format!("use({name});\n")).collect();
    let releases = names.iter().map(|name| format!("Py_XDECREF({name});\n"));
    let body = made.collect::<String>() + &uses + &releases.collect::<String>();
    assert_eq!(troubles(&(body + "return NULL;")), "");
}

/// The second reference is only there if the first is, which a proof for one of them alone does not
/// know.
#[test]
fn flags_that_do_not_matter_are_forgotten_for_all_lookups_at_once() {
    let flags: String = (0..10)
        .map(|number| format!("int f{number} = 0; if (test({number})) f{number} = 1;\n"))
        .collect();
    let uses: String = (0..10).map(|number| format!("use(f{number});\n")).collect();
    let body = |release: &str| {
        format!(
            "PyObject *w = NULL, *v = PyList_GetItemRef(self, 0);
            {flags}
            if (v != NULL) w = PyList_GetItemRef(v, 0);
            {uses}
            if (v != NULL) {{ Py_DECREF(v); {release}; }}
            return NULL;"
        )
    };
    assert_eq!(troubles(&body("Py_XDECREF(w)")), "");
    assert_eq!(troubles(&body("")), "too complex");
}

/// Ten flags that have nothing to do with the reference make a thousand states.
#[test]
fn flags_that_do_not_matter_are_forgotten() {
    let flags: String = (0..10)
        .map(|number| format!("int f{number} = 0; if (test({number})) f{number} = 1;\n"))
        .collect();
    let uses: String = (0..10)
        .map(|number| format!("if (f{number}) act({number});\n"))
        .collect();
    let body = format!(
        "PyObject *v = PyList_GetItemRef(self, 0);
        {flags}
        if (v != NULL) use(v);
        {uses}
        Py_XDECREF(v);
        return NULL;"
    );
    assert_eq!(troubles(&body), "");
}

#[test]
fn five_thousand_lines_are_followed() {
    let lookup = "v = PyList_GetItemRef(self, n);
        if (v == NULL) goto fail;
        if (use(v) < 0) {
            Py_DECREF(v);
            goto fail;
        }
        Py_DECREF(v);
        if (n > 3) n += 2;
        else n = 1;\n";
    let body = format!(
        "PyObject *v; long n = 0;\n{}return PyLong_FromLong(n);\nfail: return NULL;",
        lookup.repeat(560)
    );
    assert_eq!(troubles(&body), "");
}

#[test]
fn what_an_address_gets_may_live_in_the_object() {
    let body = "char *text; Py_ssize_t length;
        PyObject *v = PyList_GetItemRef(self, 0);
        if (v == NULL) return NULL;
        PyBytes_AsStringAndSize(v, &text, &length);
        Py_DECREF(v);
        return PyUnicode_FromStringAndSize(text, length);";
    assert_eq!(
        troubles(body),
        "UseAfterRelease at PyUnicode_FromStringAndSize(text, length)"
    );
    let body = "int *made;
        PyObject *v = PyList_GetItemRef(self, 0);
        if (v == NULL) return NULL;
        if (convert(v, &made) < 0) { Py_DECREF(v); return NULL; }
        Py_DECREF(v);
        return count(made);";
    assert_eq!(
        troubles(body),
        "UseAfterRelease at count(made)\nMayOutlive at return count(made);"
    );
}

#[test]
fn what_the_code_gives_away_is_its_own() {
    let body = |before: &str, behind: &str| {
        format!(
            "PyObject *made, *v = PyList_GetItemRef(self, 0);
            if (v == NULL) return NULL;
            made = convert(v);
            {before};
            Py_DECREF(v);
            {behind};
            look(made);
            return NULL;"
        )
    };
    let late = "MayOutlive at look(made)";
    assert_eq!(troubles(&body("", "")), late);
    assert_eq!(troubles(&body("PyTuple_SET_ITEM(args, 0, made)", "")), "");
    let cast = "PyTuple_SET_ITEM(args, 0, (PyObject *)made)";
    assert_eq!(troubles(&body(cast, "")), "");
    assert_eq!(
        troubles(&body("", "PyTuple_SET_ITEM(args, 0, made)")),
        "MayOutlive at PyTuple_SET_ITEM(args, 0, made)"
    );
    // What lives in the object does not.
    let item = body(
        "made = PyTuple_GET_ITEM(v, 0); PyTuple_SET_ITEM(args, 0, made)",
        "",
    );
    assert_eq!(troubles(&item), "UseAfterRelease at look(made)");
}

#[test]
fn a_variable_without_a_value_is_not_released() {
    let body = "PyObject *v;
        if (test(self)) goto done;
        v = PyList_GetItemRef(self, 0);
        use(v);
        done: Py_XDECREF(v);
        return NULL;";
    assert_eq!(troubles(body), "ReleaseOfUnset at Py_XDECREF(v)");
    assert_eq!(troubles(&body.replace("*v;", "*v = NULL;")), "");
}

#[test]
fn what_parts_of_variables_get_may_live_in_the_object() {
    let body = |call: &str, used: &str| {
        format!(
            "struct text s; char *texts[2];
            PyObject *v = PyList_GetItemRef(self, 0);
            if (v == NULL) return NULL;
            {call};
            Py_DECREF(v);
            return PyUnicode_FromString({used});"
        )
    };
    assert_eq!(
        troubles(&body(
            "PyBytes_AsStringAndSize(v, (char **)&s.data, &s.size)",
            "s.data"
        )),
        "MayOutlive at PyUnicode_FromString(s.data)"
    );
    assert_eq!(
        troubles(&body("texts[0] = PyBytes_AsString(v)", "texts[0]")),
        "MayOutlive at PyUnicode_FromString(texts[0])"
    );
    assert_eq!(
        troubles(&body("PyArg_Parse(v, \"s\", &texts[0])", "texts[0]")),
        "MayOutlive at PyUnicode_FromString(texts[0])"
    );
    assert_eq!(
        troubles(&body(
            "PyBytes_AsStringAndSize(v, &s.data, &s.size)",
            "name"
        )),
        ""
    );
}

#[test]
fn what_memory_of_others_gets_outlives_the_function() {
    let body = |call: &str| {
        format!(
            "PyObject *v = PyList_GetItemRef(self, 0);
            if (v == NULL) return NULL;
            {call};
            Py_DECREF(v);
            return NULL;"
        )
    };
    for call in [
        "PyBytes_AsStringAndSize(v, &info->data, NULL)",
        "PyArg_Parse(v, \"s\", (char **)&info->data)",
        "PyArg_ParseTuple(v, format, &info->data)",
    ] {
        assert_eq!(troubles(&body(call)), format!("DerivedEscapes at {call}"));
    }
    assert_eq!(
        troubles(&body("PyArg_ParseTuple(v, \"i\", &info->size)")),
        ""
    );
}

#[test]
fn what_is_counted_behind_its_store_lives_by_itself() {
    let body = |rest: &str| {
        format!(
            "PyObject *first, *v = PyList_GetItemRef(self, 0);
            if (v == NULL) return NULL;
            first = PyTuple_GET_ITEM(v, 0);
            {rest}
            Py_DECREF(v);
            Py_RETURN_NONE;"
        )
    };
    assert_eq!(troubles(&body("box->first = first; Py_INCREF(first);")), "");
    assert_eq!(
        troubles(&body("box->first = first; show(first); Py_INCREF(first);")),
        "DerivedEscapes at box->first = first"
    );
}

#[test]
fn items_of_a_copy_go_with_it() {
    let body = |rest: &str| {
        format!(
            "PyObject *key, *copy = PyDict_Copy(self); Py_ssize_t pos = 0;
            if (copy == NULL) return NULL;
            while (PyDict_Next(copy, &pos, &key, NULL)) {{ show(key); }}
            {rest}"
        )
    };
    assert_eq!(
        troubles(&body("show(key); Py_DECREF(copy); Py_RETURN_NONE;")),
        ""
    );
    assert_eq!(
        troubles(&body("Py_INCREF(key); Py_DECREF(copy); return key;")),
        ""
    );
    assert_eq!(
        troubles(&body("Py_DECREF(copy); show(key); Py_RETURN_NONE;")),
        "UseAfterRelease at show(key)"
    );
    assert_eq!(
        troubles(&body("Py_DECREF(copy); return key;")),
        "BorrowedEscapes at return key;"
    );
}
