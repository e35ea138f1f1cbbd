//! What is done with what a lookup gives: is it tested, measured, or taken for what it should be?

use crate::ast::{
    BinaryOp, ExprId, ExprKind, Function, LocalId, Nesting, Parent, Parents, StmtId, StmtKind,
    TokenRange, Tree, UnaryOp,
};

use super::lookup::Lookup;

/// Functions of C that write as much as they are told, or as there is.
const COPIES: &[&str] = &[
    "memcpy", "memmove", "strcpy", "strcat", "stpcpy", "wcscpy", "wmemcpy",
];

/// What a lookup says of its item, and a later one takes for granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lesson {
    /// Of which type it is.
    Type,
    /// How long it is.
    Size,
    /// That it is there.
    Presence,
}

impl Lesson {
    /// All of them, what says most first.
    pub(super) const ALL: [Self; 3] = [Self::Type, Self::Size, Self::Presence];

    pub(super) fn message(self) -> &'static str {
        match self {
            Self::Type => "this may be another object than the one whose type was tested",
            Self::Size => "this may be another object than the one that was measured",
            Self::Presence => "this may no longer exist, although an earlier lookup found it",
        }
    }

    pub(super) fn note(self) -> &'static str {
        match self {
            Self::Type => "tested here, with the result of an earlier lookup",
            Self::Size => "measured here, with the result of an earlier lookup",
            Self::Presence => "found here by an earlier lookup",
        }
    }
}

/// What stands around the expressions of a function.
pub(super) struct Uses<'a> {
    tree: &'a Tree,
    nesting: &'a Nesting,
    parents: Parents,
}

impl<'a> Uses<'a> {
    pub(super) fn new(function: &'a Function, nesting: &'a Nesting) -> Self {
        let tree = &function.tree;
        Self {
            tree,
            nesting,
            parents: Parents::new(function),
        }
    }

    /// Whether `lookup` takes for granted what it does not ask itself.
    pub(super) fn relies_on(&self, lookup: &Lookup, lesson: Lesson) -> bool {
        let has = |is: fn(&Self, ExprId) -> bool| self.objects(lookup).any(|it| is(self, it));
        match lesson {
            Lesson::Type => has(Self::is_taken_for_its_type) && !has(Self::is_type_test),
            Lesson::Size => self.is_copied(lookup),
            Lesson::Presence => {
                lookup.is_in_dict && has(Self::is_used) && !self.is_presence_test(lookup)
            }
        }
    }

    /// Where `lookup` tells `lesson` of its item, for code that looks it up again at `later`.
    pub(super) fn lesson(&self, lookup: &Lookup, lesson: Lesson, later: ExprId) -> Option<ExprId> {
        let is_it = match lesson {
            Lesson::Type => Self::is_type_test,
            Lesson::Size => Self::is_measured,
            Lesson::Presence => {
                let found = |object: ExprId| self.is_found(object, later);
                let tells = lookup.is_in_dict && self.objects(lookup).any(found);
                return tells.then_some(lookup.call);
            }
        };
        self.objects(lookup).find(|it| is_it(self, *it))
    }

    /// Whether `later` only runs where the test of `value` has found something.
    fn is_found(&self, value: ExprId, later: ExprId) -> bool {
        let tree = self.tree;
        let (mut at, mut says_there) = (value, true);
        let stmt = loop {
            let outer = match self.around(at) {
                (Some(Parent::Expr(outer)), _) => outer,
                (Some(Parent::Stmt(stmt)), _) => break stmt,
                (None, _) => return false,
            };
            says_there = match tree.expr(outer).kind {
                ExprKind::Unary {
                    op: UnaryOp::Not, ..
                } => !says_there,
                ExprKind::Binary { op, rhs, .. } => match op {
                    BinaryOp::Equals if tree.is_null(rhs) => !says_there,
                    BinaryOp::LogicalAnd if says_there => true,
                    BinaryOp::LogicalOr if !says_there => false,
                    _ if op.is_comparison() => says_there,
                    _ => return false,
                },
                ExprKind::Assign { .. } => says_there,
                _ => return false,
            };
            at = outer;
        };
        let StmtKind::If {
            then, otherwise, ..
        } = tree.stmt(stmt).kind
        else {
            return false;
        };
        let (there, gone) = match says_there {
            true => (Some(then), otherwise),
            false => (otherwise, Some(then)),
        };
        let later = tree.expr(later).range;
        let is_in = |branch: StmtId| tree.stmt(branch).range.contains(later);
        let is_behind = later.start >= tree.stmt(stmt).range.end;
        there.is_some_and(is_in) || is_behind && gone.is_some_and(|gone| tree.leaves(gone))
    }

    /// Where the item of `lookup` stands: its call, or the variable that has it.
    fn objects(&self, lookup: &Lookup) -> impl Iterator<Item = ExprId> {
        let from = self.tree.expr(lookup.call).range.end;
        let held = lookup.held;
        let named = self.tree.expr_ids().filter(move |&it| {
            let at = self.tree.expr(it).range.start;
            held.is_some_and(|(local, until)| {
                (from..until).contains(&at) && self.tree.as_local(it) == Some(local)
            })
        });
        named.chain([lookup.call])
    }

    /// What is around an expression and its casts, with what of it is directly inside.
    fn around(&self, mut expr: ExprId) -> (Option<Parent>, ExprId) {
        loop {
            match self.parents.of_expr(expr) {
                Some(Parent::Expr(cast))
                    if matches!(self.tree.expr(cast).kind, ExprKind::Cast { .. }) =>
                {
                    expr = cast;
                }
                parent => return (parent, expr),
            }
        }
    }

    /// The expression around another, behind casts.
    fn outer(&self, expr: ExprId) -> Option<&'a ExprKind> {
        match self.around(expr) {
            (Some(Parent::Expr(outer)), _) => Some(&self.tree.expr(outer).kind),
            _ => None,
        }
    }

    /// The function that gets an object as its first argument.
    fn taker(&self, object: ExprId) -> Option<&'a str> {
        let (_, inside) = self.around(object);
        match self.outer(object)? {
            ExprKind::Call { callee, args } if args.first() == Some(&inside) => {
                self.tree.callee_name(*callee)
            }
            _ => None,
        }
    }

    /// `PyBytes_AS_STRING(item)`, `((Point *)item)->x`: wrong for an object of another type.
    fn is_taken_for_its_type(&self, object: ExprId) -> bool {
        let (_, inside) = self.around(object);
        let is_own = |local: LocalId| {
            let ty = &self.tree.local(local).ty;
            ty.pointee().is_some() && !ty.is_py_object_pointer()
        };
        match self.outer(object) {
            Some(ExprKind::Member { arrow: true, .. }) => {
                inside != object || self.tree.as_local(object).is_some_and(is_own)
            }
            _ => self.taker(object).is_some_and(trusts_its_argument),
        }
    }

    /// `PyBytes_Check(item)`, `Py_TYPE(item) == &Point_Type`.
    fn is_type_test(&self, object: ExprId) -> bool {
        self.taker(object).is_some_and(|name| {
            let lower = name.to_ascii_lowercase();
            lower.ends_with("check")
                || lower.ends_with("checkexact")
                || lower.ends_with("isinstance")
                || matches!(name, "Py_TYPE" | "Py_IS_TYPE")
        })
    }

    /// `PyBytes_Size(item)`.
    fn is_measured(&self, object: ExprId) -> bool {
        self.taker(object).is_some_and(|name| {
            let name = name.to_ascii_lowercase();
            name.starts_with("py") && (name.ends_with("size") || name.ends_with("length"))
        })
    }

    /// `PyBytes_AsString(item)`.
    fn is_text(&self, object: ExprId) -> bool {
        self.taker(object).is_some_and(|name| {
            let name = name.to_ascii_lowercase();
            name.contains("asstring") || name.contains("as_string") || name.contains("asutf8")
        })
    }

    /// Whether the text of an item goes to other memory, as much of it as there is now.
    fn is_copied(&self, lookup: &Lookup) -> bool {
        let texts = self.objects(lookup).any(|it| self.is_text(it));
        texts && {
            let range = self.life(lookup);
            let mut calls = self.tree.exprs_in(range);
            calls.any(|(it, _)| {
                self.tree
                    .called(it)
                    .is_some_and(|name| COPIES.contains(&name))
            })
        }
    }

    /// The rest of the innermost block around a lookup.
    fn life(&self, lookup: &Lookup) -> TokenRange {
        let mut range = self.tree.expr(lookup.call).range;
        let mut around = self.nesting.stmt_of(lookup.call);
        while let Some(stmt) = around {
            let stmt_range = self.tree.stmt(stmt).range;
            range.end = stmt_range.end;
            if matches!(self.tree.stmt(stmt).kind, StmtKind::Block(_)) {
                break;
            }
            // `if (…) memcpy(…, PyBytes_AsString(PyList_GetItem(l, i)), n);`
            range.start = stmt_range.start;
            around = self.nesting.around(stmt);
        }
        range
    }

    /// Whether an object is more than asked whether it is there, or released.
    fn is_used(&self, object: ExprId) -> bool {
        let releases = |name: &str| matches!(name, "Py_XDECREF" | "Py_CLEAR" | "Py_XINCREF");
        let is_handed_on = matches!(
            self.outer(object),
            Some(ExprKind::Call { .. } | ExprKind::Member { arrow: true, .. })
        );
        is_handed_on && !self.taker(object).is_some_and(releases)
    }

    fn is_presence_test(&self, lookup: &Lookup) -> bool {
        lookup.is_in_dict && self.objects(lookup).any(|it| self.is_asked(it))
    }

    /// Whether a value decides something by being there: `if (v)`, `!v`, `v == NULL`, `v && …`.
    fn is_asked(&self, value: ExprId) -> bool {
        let (parent, inside) = self.around(value);
        let outer = match parent {
            Some(Parent::Expr(outer)) => outer,
            Some(Parent::Stmt(stmt)) => {
                return condition(&self.tree.stmt(stmt).kind) == Some(inside);
            }
            None => return false,
        };
        match &self.tree.expr(outer).kind {
            ExprKind::Unary { op, .. } => *op == UnaryOp::Not,
            ExprKind::Binary { op, .. } => {
                op.is_comparison() || matches!(op, BinaryOp::LogicalAnd | BinaryOp::LogicalOr)
            }
            ExprKind::Conditional { cond, .. } => *cond == inside,
            ExprKind::Assign { rhs, .. } => *rhs == inside && self.is_asked(outer),
            _ => false,
        }
    }
}

/// What an `if` or a loop goes by.
fn condition(kind: &StmtKind) -> Option<ExprId> {
    match kind {
        StmtKind::If { cond, .. }
        | StmtKind::While { cond, .. }
        | StmtKind::DoWhile { cond, .. }
        | StmtKind::Switch { value: cond, .. } => Some(*cond),
        StmtKind::For { cond, .. } => *cond,
        _ => None,
    }
}

/// Macros that read an object without a look at its type have the second half of their name in
/// capitals: `PyFloat_AS_DOUBLE`, `PyTuple_GET_ITEM`, `PyArray_DATA`.
fn trusts_its_argument(name: &str) -> bool {
    let mut words = name.split('_');
    let is_type = words
        .next()
        .is_some_and(|first| first.starts_with("Py") && first.len() > 2);
    let last = words.next_back().unwrap_or_default();
    let is_capital = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit();
    is_type && last.len() > 1 && last.bytes().all(is_capital)
}
