//! Chains that programs write by the thousand: the graph grows with them, the stack does not.

use crate::ast::{
    BinaryOp, ExprId, ExprKind, Function, Name, Stmt, StmtId, StmtKind, TokenRange, Tree, Type,
    TypeKind,
};
use crate::cfg::{Cfg, Dominators, Liveness, Loops, Point, build};

/// More links than the stack of a test would hold frames.
const LINKS: u32 = 50_000;

#[derive(Default)]
struct Nodes(Tree);

impl Nodes {
    fn expr(&mut self, kind: ExprKind) -> ExprId {
        self.0.push_expr(kind, TokenRange::default())
    }

    fn name(&mut self) -> ExprId {
        self.expr(ExprKind::Name(Name::Global("x".into())))
    }

    fn stmt(&mut self, kind: StmtKind) -> StmtId {
        self.0.stmts.push(Stmt {
            kind,
            range: TokenRange::default(),
        });
        StmtId(self.0.stmts.len() as u32 - 1)
    }

    /// `x op x op x …`
    fn chain(&mut self, op: BinaryOp) -> ExprId {
        let mut lhs = self.name();
        for _ in 0..LINKS {
            let rhs = self.name();
            lhs = self.expr(ExprKind::Binary { op, lhs, rhs });
        }
        lhs
    }

    fn graph_of(mut self, stmt: StmtKind) -> Cfg {
        let stmt = self.stmt(stmt);
        let body = self.stmt(StmtKind::Block(vec![stmt]));
        let function = Function {
            name: "f".to_owned(),
            name_range: TokenRange::default(),
            ret: Type::plain(TypeKind::Unknown),
            params: Vec::new(),
            variadic: false,
            is_static: false,
            tree: self.0,
            body,
            range: TokenRange::default(),
        };
        let cfg = build(&function, &|_| false);
        assert_eq!(
            Liveness::new(&cfg, 0).live_at(Point {
                block: Cfg::ENTRY,
                index: 0
            }),
            []
        );
        assert!(Loops::new(&cfg, &Dominators::new(&cfg)).natural.is_empty());
        cfg
    }
}

#[test]
fn sums_and_commas() {
    let mut nodes = Nodes::default();
    let sum = nodes.chain(BinaryOp::Plus);
    assert_eq!(nodes.graph_of(StmtKind::Return(Some(sum))).blocks.len(), 1);
    let mut nodes = Nodes::default();
    let list = nodes.chain(BinaryOp::Comma);
    assert_eq!(nodes.graph_of(StmtKind::Return(Some(list))).temps, 1);
}

#[test]
fn conjunctions_and_disjunctions() {
    for op in [BinaryOp::LogicalAnd, BinaryOp::LogicalOr] {
        let mut nodes = Nodes::default();
        let all = nodes.chain(op);
        let cfg = nodes.graph_of(StmtKind::Return(Some(all)));
        assert_eq!(cfg.blocks.len(), LINKS as usize + 4);
    }
}

#[test]
fn conditional_expressions() {
    let mut nodes = Nodes::default();
    let mut table = nodes.name();
    for _ in 0..LINKS {
        let (cond, then) = (nodes.name(), nodes.name());
        table = nodes.expr(ExprKind::Conditional {
            cond,
            then: Some(then),
            otherwise: table,
        });
    }
    let cfg = nodes.graph_of(StmtKind::Return(Some(table)));
    assert_eq!(cfg.blocks.len(), 2 * LINKS as usize + 2);
}

#[test]
fn else_if() {
    let mut nodes = Nodes::default();
    let mut chain = nodes.stmt(StmtKind::Null);
    for _ in 0..LINKS {
        let (cond, then) = (nodes.name(), nodes.stmt(StmtKind::Null));
        chain = nodes.stmt(StmtKind::If {
            cond,
            then,
            otherwise: Some(chain),
        });
    }
    let cfg = nodes.graph_of(StmtKind::Block(vec![chain]));
    assert_eq!(cfg.blocks.len(), 3 * LINKS as usize + 1);
}

#[test]
fn case_labels() {
    let mut nodes = Nodes::default();
    let mut body = nodes.stmt(StmtKind::Break);
    for number in 0..LINKS {
        let low = nodes.expr(ExprKind::Int(Some(number.into())));
        body = nodes.stmt(StmtKind::Case {
            low,
            high: None,
            body,
        });
    }
    let value = nodes.name();
    let cfg = nodes.graph_of(StmtKind::Switch { value, body });
    assert_eq!(cfg.block(Cfg::ENTRY).successors.len(), LINKS as usize + 1);
    assert_eq!(cfg.blocks.len(), 3, "all labels share a block");
}
