//! What stands in the branch that fills a static pointer.

use crate::ast::{
    BinaryOp, ExprId, ExprKind, Name, StmtId, StmtKind, Storage, Tree, UnaryOp, Visitor, walk_stmt,
};
use crate::state::{Variable, root};

/// The branch behind `if (x == NULL)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fill {
    /// `x = value;` and nothing else.
    Plain(StmtId),
    /// `x = value;` and a test of what came of it.
    Checked(StmtId),
    /// `if ((x = value) == NULL) return NULL;`
    Tested {
        /// That statement.
        stmt: StmtId,
        /// `x = value`
        assignment: ExprId,
        /// The condition.
        cond: ExprId,
    },
    /// `x = value;` with other assignments: `y = other;`.
    Several(StmtId),
    /// The same with a test of what came of them; the last of the assignments.
    SeveralChecked(StmtId),
    /// Other statements, none of which leaves the branch.
    Closed(StmtId),
}

impl Fill {
    /// Reads the branch `then`, in which `write` fills `variable`; `None` if it does more.
    pub(super) fn read(
        tree: &Tree,
        then: StmtId,
        write: ExprId,
        variable: &Variable,
    ) -> Option<Self> {
        let is_fill =
            |stmt: StmtId| matches!(tree.stmt(stmt).kind, StmtKind::Expr(expr) if expr == write);
        let stmts = match &tree.stmt(then).kind {
            StmtKind::Block(stmts) => stmts.as_slice(),
            _ => &[then],
        };
        match stmts {
            [fill] if is_fill(*fill) => Some(Self::Plain(*fill)),
            [stmt] => Self::tested(tree, *stmt, write).or_else(|| Self::closed(tree, then)),
            [fill, check] if is_fill(*fill) && is_check(tree, *check, variable) => {
                Some(Self::Checked(*fill))
            }
            all => {
                let assigns = |stmt: &StmtId| is_assignment(tree, *stmt);
                let fill = all.iter().copied().find(|stmt| is_fill(*stmt));
                match (fill, all) {
                    (Some(fill), all) if all.iter().all(assigns) => Some(Self::Several(fill)),
                    (Some(_), [made @ .., last, check])
                        if made.iter().all(assigns)
                            && assigns(last)
                            && asks_again(tree, *check, variable) =>
                    {
                        Some(Self::SeveralChecked(*last))
                    }
                    _ => Self::closed(tree, then),
                }
            }
        }
    }

    fn closed(tree: &Tree, then: StmtId) -> Option<Self> {
        let mut exits = Exits::default();
        exits.visit_stmt(tree, then);
        (!exits.found).then_some(Self::Closed(then))
    }

    fn tested(tree: &Tree, stmt: StmtId, write: ExprId) -> Option<Self> {
        let StmtKind::If {
            cond,
            otherwise: None,
            ..
        } = tree.stmt(stmt).kind
        else {
            return None;
        };
        (tested(tree, cond) == Some(write)).then_some(Self::Tested {
            stmt,
            assignment: write,
            cond,
        })
    }

    /// Whether nothing else is done but to ask what came of it.
    pub(super) fn is_alone(self) -> bool {
        matches!(
            self,
            Self::Plain(_) | Self::Checked(_) | Self::Tested { .. }
        )
    }

    /// The statement that holds the assignment, or all.
    pub(super) fn stmt(self) -> StmtId {
        match self {
            Self::Plain(stmt)
            | Self::Checked(stmt)
            | Self::Several(stmt)
            | Self::SeveralChecked(stmt)
            | Self::Closed(stmt)
            | Self::Tested { stmt, .. } => stmt,
        }
    }
}

/// Looks for ways out of a statement, and in.
#[derive(Default)]
struct Exits {
    loops: u32,
    switches: u32,
    found: bool,
}

impl Visitor for Exits {
    fn visit_stmt(&mut self, tree: &Tree, id: StmtId) {
        let kind = &tree.stmt(id).kind;
        let is_loop = kind.is_loop();
        let is_switch = matches!(kind, StmtKind::Switch { .. });
        self.found |= match kind {
            StmtKind::Return(_) | StmtKind::Goto(_) | StmtKind::Label { .. } => true,
            StmtKind::Break => self.loops + self.switches == 0,
            StmtKind::Continue => self.loops == 0,
            StmtKind::Case { .. } | StmtKind::Default { .. } => self.switches == 0,
            _ => false,
        };
        self.loops += u32::from(is_loop);
        self.switches += u32::from(is_switch);
        walk_stmt(self, tree, id);
        self.loops -= u32::from(is_loop);
        self.switches -= u32::from(is_switch);
    }
}

/// `if (x == NULL) …`
fn is_check(tree: &Tree, stmt: StmtId, variable: &Variable) -> bool {
    match tree.stmt(stmt).kind {
        StmtKind::If {
            cond,
            otherwise: None,
            ..
        } => is_empty_test(tree, cond, variable),
        _ => false,
    }
}

/// `if (x == NULL || y == NULL) …`
fn asks_again(tree: &Tree, stmt: StmtId, variable: &Variable) -> bool {
    match tree.stmt(stmt).kind {
        StmtKind::If {
            cond,
            otherwise: None,
            ..
        } => empty_tests(tree, cond)
            .is_some_and(|all| all.iter().any(|&one| is_variable(tree, one, variable))),
        _ => false,
    }
}

/// What `x == NULL || !y` finds empty, in this order; `None` if it asks for anything else.
pub(super) fn empty_tests(tree: &Tree, cond: ExprId) -> Option<Vec<ExprId>> {
    match tree.expr(cond).kind {
        ExprKind::Binary {
            op: BinaryOp::LogicalOr,
            lhs,
            rhs,
        } => {
            let mut all = empty_tests(tree, lhs)?;
            all.extend(empty_tests(tree, rhs)?);
            Some(all)
        }
        _ => tested(tree, cond).map(|one| vec![one]),
    }
}

/// `y = value;` with a variable of file or program scope.
fn is_assignment(tree: &Tree, stmt: StmtId) -> bool {
    let StmtKind::Expr(expr) = tree.stmt(stmt).kind else {
        return false;
    };
    match tree.expr(expr).kind {
        ExprKind::Assign { op: None, lhs, .. } => match &tree.expr(lhs).kind {
            ExprKind::Name(Name::Global(_)) => true,
            ExprKind::Name(Name::Local(local)) => tree.local(*local).storage == Storage::Static,
            _ => false,
        },
        _ => false,
    }
}

/// `x == NULL`, `NULL == x`, `!x`.
pub(super) fn is_empty_test(tree: &Tree, cond: ExprId, variable: &Variable) -> bool {
    tested(tree, cond).is_some_and(|expr| is_variable(tree, expr, variable))
}

/// What a condition finds empty.
pub(super) fn tested(tree: &Tree, cond: ExprId) -> Option<ExprId> {
    match &tree.expr(cond).kind {
        ExprKind::Unary {
            op: UnaryOp::Not,
            operand,
        } => Some(*operand),
        ExprKind::Binary {
            op: BinaryOp::Equals,
            lhs,
            rhs,
        } => match (tree.is_null(*lhs), tree.is_null(*rhs)) {
            (false, true) => Some(*lhs),
            (true, false) => Some(*rhs),
            _ => None,
        },
        _ => None,
    }
}

/// Whether `x = NULL;` stands in `stmt`.
pub(super) fn is_emptied(tree: &Tree, stmt: StmtId, variable: &Variable) -> bool {
    let range = tree.stmt(stmt).range;
    tree.exprs_in(range).any(|(_, expr)| match expr.kind {
        ExprKind::Assign { op: None, lhs, rhs } => {
            tree.is_null(rhs) && is_variable(tree, lhs, variable)
        }
        _ => false,
    })
}

pub(super) fn is_variable(tree: &Tree, expr: ExprId, variable: &Variable) -> bool {
    match (root(tree, expr), variable.local) {
        (Some((Name::Local(local), _)), Some(own)) => *local == own,
        (Some((Name::Global(name), _)), None) => **name == *variable.name,
        _ => false,
    }
}
