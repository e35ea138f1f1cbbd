//! From nodes of the tree to points of the graph and back.

use crate::ast::{ExprId, ExprKind, Function, StmtId, StmtKind};
use crate::cfg::{Callee, Cfg, InstrKind, Point, Source};

use super::graph;

fn call(function: &Function, name: &str) -> ExprId {
    let tree = &function.tree;
    let is_call = |id: &ExprId| match &tree.expr(*id).kind {
        ExprKind::Call { callee, .. } => tree.callee_name(*callee) == Some(name),
        _ => false,
    };
    (0..tree.exprs.len() as u32)
        .map(ExprId)
        .find(is_call)
        .unwrap()
}

fn statement(function: &Function, is_it: impl Fn(&StmtKind) -> bool) -> StmtId {
    let stmts = &function.tree.stmts;
    StmtId(stmts.iter().position(|stmt| is_it(&stmt.kind)).unwrap() as u32)
}

fn called_at(cfg: &Cfg, point: Point) -> String {
    match &cfg.instr(point).unwrap().kind {
        InstrKind::Call {
            callee: Callee::Named(name),
            ..
        } => name.to_string(),
        other => panic!("no call: {other:?}"),
    }
}

#[test]
fn each_evaluated_call_has_its_point() {
    let (function, cfg) =
        graph("void f(int n) { n = g() && h(sizeof(unseen())); return; late(); }");
    for name in ["g", "h", "late"] {
        let expr = call(&function, name);
        let point = cfg.call(expr).unwrap();
        assert_eq!(called_at(&cfg, point), name);
        assert_eq!(cfg.source(point), Some(Source::Expr(expr)));
        assert_eq!(cfg.is_reachable(point.block), name != "late");
    }
    assert_eq!(cfg.call(call(&function, "unseen")), None);
}

#[test]
fn a_statement_completes_where_the_next_one_begins() {
    let (function, cfg) = graph("void f(int n) { if (n) { g(); } else return; h(); }");
    let branch = statement(&function, |kind| matches!(kind, StmtKind::If { .. }));
    assert_eq!(
        cfg.before(branch),
        Some(Point {
            block: Cfg::ENTRY,
            index: 0
        })
    );
    assert_eq!(called_at(&cfg, cfg.after(branch).unwrap()), "h");
}

#[test]
fn scopes_are_open_after_the_last_statement_and_closed_after_the_block() {
    let (function, cfg) = graph("void f(void) { { int a; g(); } h(); }");
    let last = statement(&function, |kind| matches!(kind, StmtKind::Expr(_)));
    let point = cfg.after(last).unwrap();
    assert!(matches!(
        cfg.instr(point).unwrap().kind,
        InstrKind::ScopeEnd { .. }
    ));
    let block = statement(&function, |kind| matches!(kind, StmtKind::Block(_)));
    assert_eq!(
        cfg.after(block),
        Some(Point {
            index: point.index + 1,
            ..point
        })
    );
}

#[test]
fn what_never_completes_has_no_point_after_it() {
    let (function, cfg) = graph("int f(int n) { if (n) return 1; for (;;) g(); }");
    for stmt in [
        statement(&function, |kind| matches!(kind, StmtKind::Return(_))),
        statement(&function, |kind| matches!(kind, StmtKind::For { .. })),
        function.body,
    ] {
        assert!(cfg.before(stmt).is_some());
        assert_eq!(cfg.after(stmt), None);
    }
    assert_eq!(cfg.returns().count(), 1);
}

#[test]
fn labels_begin_in_the_block_they_name() {
    let (function, cfg) = graph("void f(int n) { goto out; out: h(); }");
    let label = statement(&function, |kind| matches!(kind, StmtKind::Label { .. }));
    let point = cfg.before(label).unwrap();
    assert_eq!(called_at(&cfg, point), "h");
    assert_eq!(cfg.block(point.block).predecessors, [Cfg::ENTRY]);
}
