//! Places between statements at which a release can be written.

use std::collections::{BTreeMap, BTreeSet};

use crate::ast::{ExprId, ExprKind, Parent, StmtId, StmtKind, Tree, Visitor, walk_stmt};
use crate::cfg::{BlockId, Point, Terminator};
use crate::strong::scene::Scene;

/// A place for a new statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::strong) enum Slot {
    /// In front of a statement.
    Before(StmtId),
    /// Behind a statement.
    After(StmtId),
    /// In an `else` that an `if` gets.
    Else(StmtId),
    /// In a branch that is an empty block: `else { /* nothing to do */ }`.
    Inside(StmtId),
    /// Between the computation of a `return`'s value and the return.
    InReturn(StmtId),
}

impl Slot {
    /// The statement around which the new one stands; `None` for one within a `return`.
    pub(in crate::strong) fn stmt(self) -> Option<StmtId> {
        match self {
            Self::Before(stmt) | Self::After(stmt) | Self::Else(stmt) | Self::Inside(stmt) => {
                Some(stmt)
            }
            Self::InReturn(_) => None,
        }
    }

    /// All slots around `stmt` or right in it.
    pub(in crate::strong) fn around(stmt: StmtId) -> [Self; 4] {
        [Self::Before, Self::After, Self::Else, Self::Inside].map(|slot| slot(stmt))
    }
}

/// All slots of a function.
#[derive(Debug, Clone, Default)]
pub(in crate::strong) struct Slots {
    /// Around the `if` of an `else if`: what stands there takes braces around the rest of the
    /// chain.
    in_chains: BTreeSet<Slot>,
    /// Of several at one point the innermost first.
    points: BTreeMap<Point, Vec<Slot>>,
    edges: BTreeMap<(BlockId, usize), Slot>,
}

impl Slots {
    pub(in crate::strong) fn new(scene: &Scene<'_>) -> Self {
        let mut finder = Finder {
            scene,
            slots: Self::default(),
        };
        finder.visit_stmt(scene.tree, scene.function.body);
        finder.slots
    }

    /// The same where these `if` statements of `else if` have braces around them anyway.
    pub(in crate::strong) fn with_braces(&self, stmts: BTreeSet<StmtId>) -> Self {
        let mut slots = self.clone();
        for stmt in stmts {
            slots.in_chains.remove(&Slot::Before(stmt));
            slots.in_chains.remove(&Slot::After(stmt));
        }
        slots
    }

    /// The slots to use where no other will do.
    pub(in crate::strong) fn last_choices(&self) -> &BTreeSet<Slot> {
        &self.in_chains
    }

    /// The slot at a point between two steps, of those that are not `suppressed` if there are.
    pub(in crate::strong) fn at(&self, point: Point, suppressed: &BTreeSet<Slot>) -> Option<Slot> {
        let slots = self.points.get(&point)?;
        let in_chain = |slot: &&Slot| self.in_chains.contains(slot);
        // `if (n < 0) Py_FatalError("n"); else n = 1;`: behind the `else` is behind the whole.
        let open = || slots.iter().filter(|slot| !suppressed.contains(slot));
        let free = open().find(|slot| !in_chain(slot));
        free.or_else(|| open().next()).or(slots.first()).copied()
    }

    /// Whether `slot` is one of those at `point`.
    pub(in crate::strong) fn has(&self, point: Point, slot: Slot) -> bool {
        self.points.get(&point).is_some_and(|it| it.contains(&slot))
    }

    /// The slot on an edge out of a block.
    pub(in crate::strong) fn on_edge(&self, block: BlockId, edge: usize) -> Option<Slot> {
        self.edges.get(&(block, edge)).copied()
    }
}

struct Finder<'s, 'a> {
    scene: &'s Scene<'a>,
    slots: Slots,
}

impl Finder<'_, '_> {
    fn add(&mut self, point: Option<Point>, slot: Slot) {
        if let Some(point) = point {
            self.slots.points.entry(point).or_default().push(slot);
        }
    }

    /// Whether new statements may stand around `stmt`: it is the file's own text, and a whole
    /// statement of a block or the whole body of an `if` or loop.
    fn is_free(&self, stmt: StmtId) -> bool {
        let tree = self.scene.tree;
        let in_list = match self.scene.parent_of_stmt(stmt) {
            Some(Parent::Stmt(parent)) => match &tree.stmt(parent).kind {
                StmtKind::For { init, .. } => *init != Some(stmt),
                _ => true,
            },
            // The body of a statement expression gives its value by its last statement.
            Some(Parent::Expr(_)) | None => false,
        };
        in_list && self.scene.stmt_span(stmt).is_some()
    }

    /// Whether a macro makes `stmt`: `FAIL("no item")` with the braces in its body.
    fn is_made(&self, stmt: StmtId) -> bool {
        let tokens = &self.scene.cx.item(self.scene.item).tokens.tokens;
        let first = tokens.get(self.scene.tree.stmt(stmt).range.start as usize);
        first.is_some_and(|token| token.expansion.is_some())
    }

    /// Whether the declarations at the top of a block go on behind `stmt`.
    fn more_declarations(&self, stmt: StmtId) -> bool {
        let is_decl = |id: &StmtId| matches!(self.scene.tree.stmt(*id).kind, StmtKind::Decl(_));
        self.scene.siblings(stmt).is_some_and(|(stmts, at)| {
            stmts[..=at].iter().all(is_decl) && stmts.get(at + 1).is_some_and(is_decl)
        })
    }

    fn is_top_declaration(&self, stmt: StmtId) -> bool {
        matches!(self.scene.tree.stmt(stmt).kind, StmtKind::Decl(_))
            && self.scene.siblings(stmt).is_some_and(|(stmts, at)| {
                stmts[..at]
                    .iter()
                    .all(|id| matches!(self.scene.tree.stmt(*id).kind, StmtKind::Decl(_)))
            })
    }

    /// Whether `block` is a branch of an `if` in which nothing is done.
    fn is_empty_branch(&self, block: StmtId) -> bool {
        let tree = self.scene.tree;
        let is_branch = match self.scene.parent_of_stmt(block) {
            Some(Parent::Stmt(outer)) => matches!(tree.stmt(outer).kind, StmtKind::If { .. }),
            _ => false,
        };
        is_branch && matches!(&tree.stmt(block).kind, StmtKind::Block(stmts) if stmts.is_empty())
    }

    /// The edges from the condition of an `if` without `else` past its body.
    fn add_else(&mut self, stmt: StmtId, then: StmtId) {
        let cfg = self.scene.cfg;
        let (Some(_), Some(join), Some(start)) =
            (cfg.after(then), cfg.after(stmt), cfg.before(stmt))
        else {
            return;
        };
        let body = cfg.before(then).map(|point| point.block);
        let last = body.map_or(join.block, |block| block);
        for (id, block) in cfg.iter() {
            let inside = id >= start.block && id < last;
            if !inside || !matches!(block.terminator, Terminator::Branch { .. }) {
                continue;
            }
            for (edge, target) in block.successors.iter().enumerate() {
                if *target == join.block && join.index == 0 {
                    self.slots.edges.insert((id, edge), Slot::Else(stmt));
                }
            }
        }
    }
}

impl Visitor for Finder<'_, '_> {
    fn visit_expr(&mut self, _: &Tree, _: ExprId) {}

    fn visit_stmt(&mut self, tree: &Tree, id: StmtId) {
        let cfg = self.scene.cfg;
        let stmt = tree.stmt(id);
        let labelled = matches!(
            stmt.kind,
            StmtKind::Case { .. } | StmtKind::Default { .. } | StmtKind::Label { .. }
        );
        let is_block = matches!(stmt.kind, StmtKind::Block(_)) && !self.is_made(id);
        let free = self.is_free(id) && !labelled;
        if free && !is_block && !self.is_top_declaration(id) {
            self.add(cfg.before(id), Slot::Before(id));
        }
        if free && is_block && self.is_empty_branch(id) {
            self.add(cfg.before(id), Slot::Inside(id));
        }
        if self.scene.is_else_if(id) {
            let around = [Slot::Before(id), Slot::After(id)];
            self.slots.in_chains.extend(around);
        }
        walk_stmt(self, tree, id);
        if let StmtKind::Expr(expr) = stmt.kind
            && let Some(body) = statement_expression(tree, expr)
        {
            self.visit_stmt(tree, body);
        }
        if let StmtKind::If {
            then,
            otherwise: None,
            ..
        } = stmt.kind
            && free
        {
            self.add_else(id, then);
        }
        let ends = matches!(
            stmt.kind,
            StmtKind::Return(_) | StmtKind::Goto(_) | StmtKind::Break | StmtKind::Continue
        );
        if free && !ends && !self.more_declarations(id) && !matches!(stmt.kind, StmtKind::Null) {
            self.add(cfg.after(id), Slot::After(id));
        }
    }
}

/// The block of `(void)({ … });`, which pairs of macros like `BEGIN` and `END` stand for. In a
/// larger expression a value may be waiting that no variable holds, so nothing is released there.
fn statement_expression(tree: &Tree, expr: ExprId) -> Option<StmtId> {
    match &tree.expr(expr).kind {
        ExprKind::Cast { ty, operand } if ty.is_void() => statement_expression(tree, *operand),
        ExprKind::Stmt(body) => Some(*body),
        _ => None,
    }
}
