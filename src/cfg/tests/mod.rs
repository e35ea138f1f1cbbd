//! What C becomes which graph.

mod analyses;
mod c;
mod expressions;
mod long;
mod points;
mod scopes;
mod statements;

use crate::ast::Function;

use super::{Cfg, build, dump};

fn never_returns(name: &str) -> bool {
    matches!(name, "abort" | "Py_FatalError")
}

fn graph(text: &str) -> (Function, Cfg) {
    let function = c::function(text);
    let cfg = build(&function, &never_returns);
    (function, cfg)
}

/// The graph of a function with this body and some variables to use.
fn of_body(body: &str) -> String {
    of(&format!(
        "int f(PyObject *self, PyObject *p, int n) {{ {body} }}"
    ))
}

fn of(text: &str) -> String {
    let (function, cfg) = graph(text);
    dump(&cfg, &function)
}
