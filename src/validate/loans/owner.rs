//! The function with the struct: it begins empty, and each field is released once behind the call
//! that fills it.

use std::collections::{BTreeMap, BTreeSet};

use super::super::original::Original;
use super::super::proof::{graph, is_inserted};
use super::{Owner, path};
use crate::ast::{
    ExprId, ExprKind, Function, Init, LocalId, Name, StmtId, StmtKind, Tree, UnaryOp,
};
use crate::cfg::{Base, Cfg, Instr, Operand, Point, Source, reaches};
use crate::edit::Applied;
use crate::program::{Program, Types};
use crate::source::FileId;

/// Whether a path leads from behind one point to another and passes none of `barriers`.
pub(super) fn leads(graph: &Cfg, from: Point, to: Point, barriers: &[Point]) -> bool {
    reaches(graph, from.next(), to, barriers)
}

impl Owner<'_> {
    /// Whether each field is released once on each path behind the call, and nothing else reads the
    /// struct behind that.
    pub(super) fn is_released_once(&self, call: ExprId) -> bool {
        let graph = graph(self.function);
        let (Some(call), Some(empty)) = (graph.call(call), self.emptied(&graph)) else {
            return false;
        };
        let ends: Vec<Point> = graph
            .returns()
            .filter(|&end| leads(&graph, call, end, &[]))
            .collect();
        let entry = Point {
            block: Cfg::ENTRY,
            index: 0,
        };
        let begins_empty = |at: Point| !reaches(&graph, entry, at, &[empty]);
        let are_right = |releases: &Vec<ExprId>| {
            let points: Option<Vec<Point>> = releases.iter().map(|&it| graph.call(it)).collect();
            points.is_some_and(|points| {
                let is_once = |at: &Point| {
                    begins_empty(*at)
                        && leads(&graph, call, *at, &[])
                        && !points.iter().any(|other| leads(&graph, *at, *other, &[]))
                        && !self.is_read_behind(&graph, *at)
                };
                points.iter().all(is_once)
                    && !ends.iter().any(|&end| leads(&graph, call, end, &points))
            })
        };
        begins_empty(call) && !leads(&graph, call, call, &[]) && self.fields.values().all(are_right)
    }

    /// Whether code that was there before reads or passes the struct behind `at`.
    fn is_read_behind(&self, graph: &Cfg, at: Point) -> bool {
        let is_old = |instr: &Instr| match instr.source {
            Source::Expr(expr) => {
                let first = self.function.tree.expr(expr).range.start;
                !is_inserted(self.item, self.applied, first)
            }
            Source::Stmt(_) => false,
        };
        let names = |instr: &Instr| {
            let is_it = |operand: &Operand| match operand {
                Operand::AddressOf(place) => place.base == Base::Local(self.at.0),
                _ => false,
            };
            let place = instr.place().map(|place| &place.base);
            place == Some(&Base::Local(self.at.0)) || instr.operands().any(is_it)
        };
        let mut blocks = graph.iter();
        blocks.any(|(block, content)| {
            let mut steps = content.instrs.iter().enumerate();
            steps.any(|(index, instr)| {
                let here = Point { block, index };
                names(instr) && is_old(instr) && leads(graph, at, here, &[])
            })
        })
    }

    /// Where all of the variable gets zero.
    fn emptied(&self, graph: &Cfg) -> Option<Point> {
        let tree = &self.function.tree;
        let is_address = |arg| tree.as_address(tree.without_casts(arg)) == Some(self.at.0);
        let mut cleared = tree.expr_ids().filter(|&expr| match &tree.expr(expr).kind {
            ExprKind::Call { callee, args } => {
                tree.callee_name(*callee) == Some("memset")
                    && matches!(args[..], [to, value, _] if is_address(to) && tree.is_null(value))
            }
            _ => false,
        });
        let declared = || {
            let stmts = (0u32..).zip(&tree.stmts);
            let mut empty = stmts.filter(|(_, stmt)| is_empty(tree, &stmt.kind, self.at.0));
            graph.after(StmtId(empty.next()?.0))
        };
        match cleared.next() {
            Some(call) => graph.call(call).filter(|_| cleared.next().is_none()),
            None => declared(),
        }
    }
}

/// `Args args = {0};`
fn is_empty(tree: &Tree, stmt: &StmtKind, local: LocalId) -> bool {
    let StmtKind::Decl(decls) = stmt else {
        return false;
    };
    decls.iter().any(|decl| match &decl.init {
        Some(init @ Init::List(_)) if decl.local == local => is_zero(tree, init),
        _ => false,
    })
}

fn is_zero(tree: &Tree, init: &Init) -> bool {
    match init {
        Init::Expr(value) => tree.is_null(*value),
        Init::List(list) => {
            let mut values = list.entries.iter().map(|entry| &entry.value);
            values.all(|value| is_zero(tree, value))
        }
    }
}

/// Whether other functions than `filler` set the fields, or count what they hold.
pub(super) fn is_touched(
    original: &Original<'_>,
    result: &Program<'_>,
    applied: &BTreeMap<FileId, Applied>,
    types: &Types<'_>,
    owner: &Owner<'_>,
    filler: &str,
) -> bool {
    let tree = &owner.function.tree;
    let key = |ty| types.key(ty);
    let mut releases = owner.fields.values().flatten();
    let Some(kind) = releases
        .next()
        .and_then(|&call| match &tree.expr(call).kind {
            ExprKind::Call { args, .. } => match tree.expr(*args.first()?).kind {
                ExprKind::Member { base, .. } => key(types.of(tree, base)?),
                _ => None,
            },
            _ => None,
        })
    else {
        return true;
    };
    let is_field = |tree: &Tree, expr: ExprId| match &tree.expr(tree.without_casts(expr)).kind {
        ExprKind::Member { base, field, arrow } => {
            let of = types.owner(tree, *base, *arrow);
            owner.fields.contains_key(field) && of.is_none_or(|of| of == kind)
        }
        _ => false,
    };
    let touches = |function: &Function, is_own: &dyn Fn(ExprId) -> bool| {
        let tree = &function.tree;
        tree.expr_ids().any(|expr| match &tree.expr(expr).kind {
            ExprKind::Assign { lhs, .. } => {
                let is_whole = !matches!(tree.expr(*lhs).kind, ExprKind::Name(Name::Local(_)))
                    && types.of(tree, *lhs).and_then(|ty| types.key(ty)).as_ref() == Some(&kind);
                is_whole || function.name != filler && is_field(tree, *lhs)
            }
            ExprKind::Unary { op, operand } => *op != UnaryOp::Not && is_field(tree, *operand),
            ExprKind::Call { callee, args } => {
                let name = tree.callee_name(*callee).unwrap_or_default();
                let counts = name.starts_with("Py_") && !is_own(expr);
                counts && args.iter().any(|&arg| is_field(tree, arg))
            }
            _ => false,
        })
    };
    let changed: BTreeSet<&str> = result.functions().map(|(_, it)| it.name.as_str()).collect();
    let mut new = result.functions();
    let mut old = original.program.functions();
    new.any(|(item, function)| {
        let applied = applied.get(&item.place.0);
        let is_own = |call: ExprId| {
            let first = function.tree.expr(call).range.start;
            applied.is_some_and(|applied| is_inserted(item, applied, first))
                && path_of_call(&function.tree, call)
        };
        touches(function, &is_own)
    }) || old.any(|(_, function)| {
        !changed.contains(function.name.as_str()) && touches(function, &|_| false)
    })
}

/// Whether the call gets a field of a variable.
fn path_of_call(tree: &Tree, call: ExprId) -> bool {
    match &tree.expr(call).kind {
        ExprKind::Call { args, .. } => args.iter().any(|&arg| path(tree, arg).is_some()),
        _ => false,
    }
}
