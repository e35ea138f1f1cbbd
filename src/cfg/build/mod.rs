//! Builds the flow graph: one walk over the body, blocks made when something jumps to them.
//!
//! Recursion follows the nesting of the tree, which the parser bounds; what programs write by the
//! thousand is walked in loops: `a + b + c …`, `a && b && c …`, `else if`, `? : ? :`, `case: case:`.

mod condition;
mod constant;
mod draft;
mod expr;
mod init;
mod jump;
mod logical;
mod place;
mod scope;
mod stmt;
mod switch;
mod unseen;

use std::collections::{BTreeMap, BTreeSet};

use crate::ast::{ExprId, Function, LocalId, StmtId, StmtKind, Tree};

use super::{Cfg, Instr, InstrKind, Operand, Point, Source, StmtPoints, TempId, Terminator};
use draft::Drafts;
use jump::{JumpTarget, Label, PendingGoto};
use scope::Scopes;
use switch::OpenSwitch;

/// Builds the flow graph of `function`.
///
/// `never_returns` tells the names of functions and macros that do not come back to their caller:
/// `abort`, `longjmp`, `Py_FatalError`.
///
/// Broken input gives a graph all the same: a `goto` to a label that does not exist ends in
/// [`Terminator::Unreachable`], and `break`, `continue`, `case` and `default` outside of what they
/// belong to do nothing.
#[must_use]
pub fn build(function: &Function, never_returns: &dyn Fn(&str) -> bool) -> Cfg {
    let mut builder = Builder::new(&function.tree, never_returns);
    builder.drafts.start_new();
    builder.stmt(function.body);
    if builder.drafts.is_open() {
        builder.drafts.end(Terminator::Return(None, function.body));
    }
    builder.finish()
}

/// The graph so far.
struct Builder<'a> {
    tree: &'a Tree,
    never_returns: &'a dyn Fn(&str) -> bool,
    arrays: BTreeSet<LocalId>,
    drafts: Drafts,
    temps: u32,
    scopes: Scopes,
    /// The statement whose expressions may leave the function.
    inner: Option<StmtId>,
    break_targets: Vec<JumpTarget>,
    continue_targets: Vec<JumpTarget>,
    switches: Vec<OpenSwitch>,
    labels: BTreeMap<&'a str, Label>,
    gotos: Vec<PendingGoto<'a>>,
    calls: Vec<Option<Point>>,
    stmts: Vec<StmtPoints>,
}

impl<'a> Builder<'a> {
    fn new(tree: &'a Tree, never_returns: &'a dyn Fn(&str) -> bool) -> Self {
        let mut drafts = Drafts::default();
        let label_names = tree.stmts.iter().filter_map(|stmt| match &stmt.kind {
            StmtKind::Label { name, .. } => Some(&**name),
            _ => None,
        });
        let labels = label_names
            .map(|name| (name, Label::new(drafts.reserve())))
            .collect();
        Self {
            tree,
            never_returns,
            arrays: place::named_arrays(tree),
            drafts,
            temps: 0,
            scopes: Scopes::default(),
            inner: None,
            break_targets: Vec::new(),
            continue_targets: Vec::new(),
            switches: Vec::new(),
            labels,
            gotos: Vec::new(),
            calls: vec![None; tree.exprs.len()],
            stmts: vec![StmtPoints::default(); tree.stmts.len()],
        }
    }

    fn finish(mut self) -> Cfg {
        self.end_scopes_of_gotos();
        let (blocks, numbers) = self.drafts.finish();
        for point in self.calls.iter_mut().flatten() {
            point.block = numbers.of(point.block);
        }
        for points in &mut self.stmts {
            for point in [&mut points.entry, &mut points.exit].into_iter().flatten() {
                point.block = numbers.of(point.block);
            }
        }
        Cfg::new(blocks, self.temps, self.calls, self.stmts)
    }

    fn temp(&mut self) -> TempId {
        let temp = TempId(self.temps);
        self.temps += 1;
        temp
    }

    fn emit(&mut self, source: Source, kind: InstrKind) {
        self.drafts.push(Instr { kind, source });
    }

    /// Emits the instruction that `kind` makes for a fresh temporary, and gives its value.
    fn emit_value(&mut self, expr: ExprId, kind: impl FnOnce(TempId) -> InstrKind) -> Operand {
        let dst = self.temp();
        self.emit(Source::Expr(expr), kind(dst));
        Operand::Temp(dst)
    }

    /// Notes that `stmt` begins here.
    fn enter(&mut self, stmt: StmtId) {
        self.stmts[stmt.0 as usize].entry = Some(self.drafts.here());
    }

    /// Notes that `stmt` has completed, if it can.
    fn leave(&mut self, stmt: StmtId) {
        self.stmts[stmt.0 as usize].exit = self.drafts.is_open().then(|| self.drafts.here());
    }
}
