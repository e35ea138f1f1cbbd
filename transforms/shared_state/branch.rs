//! What the branch that fills a static pointer does besides: whether its value can be made with the
//! mutex free.

use super::fill::{is_empty_test, is_variable, tested};
use crate::ast::{
    ExprId, ExprKind, Init, LocalId, Name, StmtId, StmtKind, Storage, Tree, UnaryOp, Visitor,
    walk_expr, walk_stmt,
};
use crate::capi::{Returns, effects};
use crate::state::{Variable, root};

/// A branch that makes one new reference, keeps it in the variable, and leaves without it only if
/// that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Branch {
    /// Whether it leaves where the value is `NULL`: at its end there is one.
    pub(super) is_tested: bool,
}

impl Branch {
    /// Reads the branch `then` of `if (x == NULL)`, or says why a local cannot stand for `x` in it.
    pub(super) fn read(
        tree: &Tree,
        then: StmtId,
        variable: &Variable,
    ) -> Result<Self, &'static str> {
        let mut reader = Reader {
            variable,
            then,
            is_made: false,
            tested: Vec::new(),
            is_tested: false,
            empty: 0,
            nested: 0,
            refused: None,
        };
        match &tree.stmt(then).kind {
            StmtKind::Block(stmts) => {
                for &stmt in stmts {
                    reader.visit_stmt(tree, stmt);
                }
            }
            _ => reader.visit_stmt(tree, then),
        }
        match reader.refused {
            Some(why) => Err(why),
            None if !reader.is_made => Err("the branch does not store a new reference"),
            None => Ok(Self {
                is_tested: reader.is_tested,
            }),
        }
    }
}

struct Reader<'v> {
    variable: &'v Variable,
    then: StmtId,
    /// Whether the value was assigned further up.
    is_made: bool,
    /// Locals that are not `NULL` from here on.
    tested: Vec<LocalId>,
    is_tested: bool,
    /// How many tests around that find the value to be `NULL`.
    empty: u32,
    /// How many other tests around.
    nested: u32,
    refused: Option<&'static str>,
}

impl Reader<'_> {
    fn refuse(&mut self, why: &'static str) {
        self.refused = self.refused.or(Some(why));
    }

    fn is_it(&self, tree: &Tree, expr: ExprId) -> bool {
        matches!(tree.expr(expr).kind, ExprKind::Name(_)) && is_variable(tree, expr, self.variable)
    }

    /// `if (x == NULL)`, `if ((x = value) == NULL)`
    fn finds_empty(&self, tree: &Tree, cond: ExprId) -> bool {
        let assigns = |expr| match tree.expr(expr).kind {
            ExprKind::Assign { op: None, lhs, .. } => self.is_it(tree, lhs),
            _ => false,
        };
        is_empty_test(tree, cond, self.variable) || tested(tree, cond).is_some_and(assigns)
    }

    fn branches(&mut self, tree: &Tree, cond: ExprId, then: StmtId, otherwise: Option<StmtId>) {
        self.visit_expr(tree, cond);
        let empty = self.finds_empty(tree, cond);
        let depth = if empty {
            &mut self.empty
        } else {
            &mut self.nested
        };
        *depth += 1;
        self.visit_stmt(tree, then);
        let depth = if empty {
            &mut self.empty
        } else {
            &mut self.nested
        };
        *depth -= 1;
        if let Some(otherwise) = otherwise {
            self.nested += 1;
            self.visit_stmt(tree, otherwise);
            self.nested -= 1;
        }
        if self.nested > 0 || !leaves(tree, then) {
            return;
        }
        self.is_tested |= empty && self.is_made;
        self.tested
            .extend(tested(tree, cond).and_then(|expr| assigned(tree, expr)));
    }

    fn assignment(&mut self, tree: &Tree, lhs: ExprId, rhs: ExprId) {
        if self.is_it(tree, lhs) {
            if tree.is_null(rhs) {
                return;
            }
            let held = own_local(tree, self.then, rhs);
            if self.is_made || held.is_none() && !gives_new(tree, rhs) {
                self.refuse("the stored value is not a new reference, or is made twice");
            }
            self.is_made = true;
            self.is_tested |= held.is_some_and(|held| self.tested.contains(&held));
        } else if is_shared(tree, lhs) {
            self.refuse("the branch writes other data that threads share");
        }
    }

    fn call(&mut self, tree: &Tree, callee: ExprId, args: &[ExprId]) {
        let name = tree.callee_name(callee).unwrap_or_default();
        let counts = matches!(
            name,
            "Py_INCREF" | "Py_XINCREF" | "Py_DECREF" | "Py_XDECREF" | "Py_CLEAR" | "Py_SETREF"
        );
        let steals = effects(name).is_some_and(|effects| !effects.steals.is_empty());
        if (counts || steals)
            && args
                .iter()
                .any(|&arg| self.is_it(tree, tree.without_casts(arg)))
        {
            self.refuse("the branch changes its reference count");
        }
    }
}

impl Visitor for Reader<'_> {
    fn visit_stmt(&mut self, tree: &Tree, id: StmtId) {
        match &tree.stmt(id).kind {
            StmtKind::If {
                cond,
                then,
                otherwise,
            } => return self.branches(tree, *cond, *then, *otherwise),
            StmtKind::Return(_) | StmtKind::Goto(_) | StmtKind::Break | StmtKind::Continue
                if self.is_made && self.empty == 0 =>
            {
                self.refuse("the branch leaves the function after the value is made");
            }
            StmtKind::While { .. }
            | StmtKind::DoWhile { .. }
            | StmtKind::For { .. }
            | StmtKind::Switch { .. }
            | StmtKind::Label { .. } => self.refuse("the branch contains a loop or labels"),
            _ => {}
        }
        walk_stmt(self, tree, id);
    }

    fn visit_expr(&mut self, tree: &Tree, id: ExprId) {
        match &tree.expr(id).kind {
            ExprKind::Assign { lhs, rhs, .. } => self.assignment(tree, *lhs, *rhs),
            ExprKind::Call { callee, args } => self.call(tree, *callee, args),
            ExprKind::Unary {
                op: UnaryOp::AddressOf,
                operand,
            } if self.is_it(tree, *operand) => self.refuse("the branch takes its address"),
            ExprKind::Stmt(_) => self.refuse("the branch has a block inside an expression"),
            _ => {}
        }
        walk_expr(self, tree, id);
    }
}

/// Whether a call of the C API makes a reference.
fn gives_new(tree: &Tree, value: ExprId) -> bool {
    match tree.expr(tree.without_casts(value)).kind {
        ExprKind::Call { callee, .. } => tree
            .callee_name(callee)
            .and_then(effects)
            .is_some_and(|effects| effects.returns == Returns::New),
        _ => false,
    }
}

/// The local variable that `expr` names or assigns to.
fn assigned(tree: &Tree, expr: ExprId) -> Option<LocalId> {
    match tree.expr(expr).kind {
        ExprKind::Name(Name::Local(local)) => Some(local),
        ExprKind::Assign { op: None, lhs, .. } => assigned(tree, lhs),
        _ => None,
    }
}

/// The local variable that `value` names, if all it is for is to hold the new reference until then:
///
/// ```c
/// module = PyImport_ImportModule("m");
/// if (module == NULL) return NULL;
/// x = module;
/// ```
fn own_local(tree: &Tree, then: StmtId, value: ExprId) -> Option<LocalId> {
    let local = match tree.expr(value).kind {
        ExprKind::Name(Name::Local(local)) => local,
        _ => return None,
    };
    let is_it = |expr: ExprId| matches!(tree.expr(expr).kind, ExprKind::Name(Name::Local(other)) if other == local);
    let ids = || tree.expr_ids();
    let made = ids().filter(|&id| match tree.expr(id).kind {
        ExprKind::Assign { op: None, lhs, rhs } => is_it(lhs) && gives_new(tree, rhs),
        _ => false,
    });
    let tests = ids().filter(|&id| tested(tree, id).is_some_and(is_it));
    let declared = tree.stmts.iter().filter(|stmt| match &stmt.kind {
        StmtKind::Decl(decls) => decls.iter().any(|decl| match decl.init {
            Some(Init::Expr(init)) => decl.local == local && gives_new(tree, init),
            _ => false,
        }),
        _ => false,
    });
    let (made, declared) = (made.count(), declared.count());
    let range = tree.stmt(then).range;
    let is_inside = |id: ExprId| range.contains(tree.expr(id).range);
    let uses: Vec<ExprId> = ids().filter(|&id| is_it(id)).collect();
    let is_own = uses.iter().all(|&id| is_inside(id)) && !tree.local(local).is_param;
    let is_held = made + declared == 1 && uses.len() == made + tests.count() + 1;
    (is_own && is_held && tree.local(local).storage == Storage::None).then_some(local)
}

/// Whether `place` belongs to a variable that is not the function's own.
fn is_shared(tree: &Tree, place: ExprId) -> bool {
    match root(tree, place) {
        Some((Name::Local(local), _)) => tree.local(*local).storage == Storage::Static,
        _ => true,
    }
}

fn leaves(tree: &Tree, stmt: StmtId) -> bool {
    match &tree.stmt(stmt).kind {
        StmtKind::Return(_) | StmtKind::Goto(_) => true,
        StmtKind::Block(stmts) => stmts.last().is_some_and(|&last| leaves(tree, last)),
        _ => false,
    }
}
