//! What a shared variable is for, by how it is written.

use super::roots::{Path, root};
use super::variables::{Variable, Write};
use super::writes::How;
use crate::ast::{
    BinaryOp, ExprId, ExprKind, Function, Name, StmtId, StmtKind, Tree, Type, TypeKind, UnaryOp,
    Visitor, walk_stmt,
};
use crate::program::ItemId;
use crate::rule::PackageCx;

/// What a variable that is written after import is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// A pointer that is filled where it is found empty.
    Cache(Vec<Lazy>),
    /// A number that says whether something was set up, and is set with it.
    Once,
    /// A number that only goes up and down.
    Counter,
    /// Bytes that are written and read again.
    Buffer,
    /// A static type that `PyType_Ready` completes.
    Type,
    /// A reference or another pointer that is replaced.
    Pointer,
    /// A function that is replaced.
    Hook,
    /// A number that is set.
    Option,
    /// An array of other things.
    Table,
    /// A struct.
    Struct,
}

/// An assignment that fills an empty variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lazy {
    /// The function.
    pub item: ItemId,
    /// The assignment.
    pub write: ExprId,
    /// The value.
    pub value: ExprId,
    /// `if (x == NULL)` around it; `None` if a filled variable has left the function before.
    pub test: Option<StmtId>,
}

impl Kind {
    /// The kind of a variable that is written late.
    #[must_use]
    pub fn of(cx: &PackageCx<'_>, variable: &Variable) -> Self {
        let mut late = variable.late.iter();
        let of_type =
            |write: &Write| matches!(&write.how, How::Handed(by) if &**by == "PyType_Ready");
        if late.clone().any(of_type) || variable.ty.name().is_some_and(|n| n == "PyTypeObject") {
            return Self::Type;
        }
        let is_number = |ty: &Type| is_number(ty) || cx.types().is_number(ty);
        let is_scalar = is_number(&variable.ty);
        if is_scalar && late.all(|write| write.how == How::Step) {
            return Self::Counter;
        }
        let is_pointer = matches!(variable.ty.kind, TypeKind::Pointer(_));
        match lazies(cx, variable) {
            Some(lazies) if is_pointer => return Self::Cache(lazies),
            Some(_) if is_scalar => return Self::Once,
            _ => {}
        }
        match &variable.ty.kind {
            TypeKind::Array(element, _) if is_number(element) => Self::Buffer,
            TypeKind::Array(..) => Self::Table,
            TypeKind::Pointer(inner) if matches!(inner.kind, TypeKind::Function(..)) => Self::Hook,
            TypeKind::Pointer(_) => Self::Pointer,
            _ if is_scalar => Self::Option,
            _ => Self::Struct,
        }
    }
}

/// Numbers and characters by the names of their types, for names that the package does not define;
/// other unknown names are structs more often.
fn is_number(ty: &Type) -> bool {
    const NAMES: &[&str] = &[
        "_Bool",
        "bool",
        "size_t",
        "ssize_t",
        "Py_ssize_t",
        "Py_hash_t",
        "Py_uhash_t",
        "wchar_t",
        "time_t",
        "off_t",
        "clock_t",
        "pid_t",
        "npy_intp",
        "uint",
        "uchar",
        "ulong",
        "BOOL",
        "DWORD",
        "UINT",
    ];
    const WORDS: &[&str] = &[
        "char", "int", "long", "short", "float", "double", "unsigned",
    ];
    match &ty.kind {
        TypeKind::Enum(_) => true,
        TypeKind::Named(name) => {
            NAMES.contains(&&**name)
                || name.split(' ').any(|word| WORDS.contains(&word))
                || name.ends_with("_t") && name.contains("int")
                || name.starts_with("Py_UCS")
        }
        _ => false,
    }
}

/// How each late write fills the variable where it is empty; `None` if one does not.
fn lazies(cx: &PackageCx<'_>, variable: &Variable) -> Option<Vec<Lazy>> {
    let mut found: Vec<Lazy> = Vec::new();
    for write in &variable.late {
        let How::Set(value) = write.how else {
            return None;
        };
        let function = cx.function(write.item)?;
        let tree = &function.tree;
        let tests = tests(function, variable);
        let range = tree.expr(write.expr).range;
        // The tests stand in the order of their text: the innermost one is the last.
        let around = |test: &&Test| tree.stmt(test.then).range.contains(range);
        let innermost = tests.iter().rfind(around);
        let before = || {
            tests
                .iter()
                .any(|test| test.leaves && tree.stmt(test.then).range.end <= range.start)
        };
        let test = match innermost {
            Some(test) => Some(test.stmt),
            None if before() => None,
            None => return None,
        };
        if write.path != Path::Whole {
            return None;
        }
        if tree.is_null(value) {
            // In the branch that failed to fill it this leaves it as it was.
            let is_filled_there =
                |test: &Test| found.iter().any(|lazy| lazy.test == Some(test.stmt));
            if tests.iter().filter(around).any(is_filled_there) {
                continue;
            }
            return None;
        }
        found.push(Lazy {
            item: write.item,
            write: write.expr,
            value,
            test,
        });
    }
    (!found.is_empty()).then_some(found)
}

/// An `if` that looks at the variable.
struct Test {
    stmt: StmtId,
    then: StmtId,
    /// Whether its branch leaves the function.
    leaves: bool,
}

fn tests(function: &Function, variable: &Variable) -> Vec<Test> {
    struct Finder<'v> {
        variable: &'v Variable,
        found: Vec<Test>,
    }
    impl Visitor for Finder<'_> {
        fn visit_stmt(&mut self, tree: &Tree, id: StmtId) {
            if let StmtKind::If { cond, then, .. } = &tree.stmt(id).kind
                && is_test(tree, *cond, self.variable)
            {
                self.found.push(Test {
                    stmt: id,
                    then: *then,
                    leaves: leaves(tree, *then),
                });
            }
            walk_stmt(self, tree, id);
        }
    }
    let mut finder = Finder {
        variable,
        found: Vec::new(),
    };
    finder.visit_stmt(&function.tree, function.body);
    finder.found
}

/// Whether a condition compares the variable with a constant.
fn is_test(tree: &Tree, cond: ExprId, variable: &Variable) -> bool {
    let is_it = |expr| names(tree, expr, variable);
    match &tree.expr(cond).kind {
        ExprKind::Name(_) => is_it(cond),
        ExprKind::Unary {
            op: UnaryOp::Not,
            operand,
        } => is_test(tree, *operand, variable),
        ExprKind::Binary {
            op: BinaryOp::LogicalAnd | BinaryOp::LogicalOr,
            lhs,
            rhs,
        } => is_test(tree, *lhs, variable) || is_test(tree, *rhs, variable),
        ExprKind::Binary { op, lhs, rhs } if is_comparison(*op) => {
            is_it(*lhs) && is_constant(tree, *rhs) || is_it(*rhs) && is_constant(tree, *lhs)
        }
        _ => false,
    }
}

fn is_comparison(op: BinaryOp) -> bool {
    matches!(
        op,
        BinaryOp::Equals | BinaryOp::NotEquals | BinaryOp::Less | BinaryOp::LessOrEqual
    )
}

/// Whether `expr` is (a part of) the variable, by name: inner variables that hide it are rare.
pub(super) fn names(tree: &Tree, expr: ExprId, variable: &Variable) -> bool {
    match (root(tree, expr), variable.local) {
        (Some((Name::Local(local), _)), Some(own)) => {
            *local == own || tree.local(*local).name == variable.name
        }
        (Some((Name::Global(name), _)), None) => **name == *variable.name,
        _ => false,
    }
}

fn is_constant(tree: &Tree, expr: ExprId) -> bool {
    match &tree.expr(expr).kind {
        ExprKind::Int(_) | ExprKind::Char => true,
        ExprKind::Name(Name::Global(name)) => name
            .chars()
            .all(|c| c.is_ascii_uppercase() || c == '_' || c.is_ascii_digit()),
        ExprKind::Unary {
            op: UnaryOp::Minus,
            operand,
        }
        | ExprKind::Cast { operand, .. } => is_constant(tree, *operand),
        _ => false,
    }
}

fn leaves(tree: &Tree, stmt: StmtId) -> bool {
    match &tree.stmt(stmt).kind {
        StmtKind::Return(_) | StmtKind::Goto(_) => true,
        StmtKind::Block(stmts) => stmts.last().is_some_and(|&last| leaves(tree, last)),
        _ => false,
    }
}
