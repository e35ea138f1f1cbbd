//! Our own C tree: what the parser found, on the tokens it was made from.
//!
//! Nodes of one top-level item live in the arenas of its [`Tree`] and are named by small ids, so
//! that an analysis can keep facts in vectors beside the tree. Every node carries the range of
//! *expanded tokens* it was made from; whether that range is text of the file, an argument of a
//! macro or the body of one is known to the preprocessor (`preprocess::ItemTokens`).

mod below;
mod dump;
mod nesting;
mod parents;
mod tree;
mod types;
mod visit;

pub use below::{Below, element};
pub use dump::dump;
pub use nesting::Nesting;
pub use parents::{Parent, Parents};
pub use tree::Tree;
pub use types::{FieldType, Type, TypeKind};
pub use visit::{Visitor, walk_expr, walk_stmt};

/// A half-open range of token indices into the token list of one top-level item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct TokenRange {
    /// First token.
    pub start: u32,
    /// First token after the range.
    pub end: u32,
}

impl TokenRange {
    /// Whether `other` lies inside this range.
    #[must_use]
    pub fn contains(self, other: Self) -> bool {
        self.start <= other.start && other.end <= self.end
    }
}

/// Names an [`Expr`] of one [`Tree`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ExprId(pub u32);

/// Names a [`Stmt`] of one [`Tree`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StmtId(pub u32);

/// Names a [`Local`] (parameter or block-scope variable) of one [`Tree`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LocalId(pub u32);

/// One top-level item of a translation unit.
#[derive(Debug, Clone)]
pub enum Item {
    /// A function with its body.
    Function(Function),
    /// Variables, prototypes, typedefs, `struct` and `enum` definitions.
    Declaration(Declaration),
    /// `_Static_assert`, a lone `;`, top-level `asm`.
    Other,
}

/// A function definition.
#[derive(Debug, Clone)]
pub struct Function {
    /// The function's name.
    pub name: String,
    /// The name token.
    pub name_range: TokenRange,
    /// Declared result type.
    pub ret: Type,
    /// Parameters, the first entries of `tree.locals`.
    pub params: Vec<LocalId>,
    /// Whether the parameter list ends in `...`.
    pub variadic: bool,
    /// `static`.
    pub is_static: bool,
    /// Nodes of the body.
    pub tree: Tree,
    /// The body, always a [`StmtKind::Block`].
    pub body: StmtId,
    /// Head and body.
    pub range: TokenRange,
}

/// Where a variable lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Storage {
    /// No storage class: external linkage at file scope, automatic in a block.
    None,
    /// `static`.
    Static,
    /// `extern`.
    Extern,
    /// `typedef`.
    Typedef,
}

/// A top-level declaration.
#[derive(Debug, Clone)]
pub struct Declaration {
    /// Storage class.
    pub storage: Storage,
    /// `_Thread_local` or `__thread`.
    pub thread_local: bool,
    /// The declared names; empty for a lone `struct x {…};`.
    pub declarators: Vec<Declarator>,
    /// Structs and unions defined (with a body) anywhere in the specifiers.
    pub structs: Vec<StructDef>,
    /// Nodes of the initialisers.
    pub tree: Tree,
    /// The whole declaration with its `;`.
    pub range: TokenRange,
}

/// One declared name with its initialiser.
#[derive(Debug, Clone)]
pub struct Declarator {
    /// The declared name.
    pub name: String,
    /// The name token.
    pub name_range: TokenRange,
    /// Its type; for a function prototype [`TypeKind::Function`].
    pub ty: Type,
    /// `= …`.
    pub init: Option<Init>,
    /// The declarator without its initialiser.
    pub range: TokenRange,
}

/// A struct or union definition.
#[derive(Debug, Clone)]
pub struct StructDef {
    /// Tag; `None` for anonymous ones (then the typedef names it).
    pub tag: Option<String>,
    /// Whether it is a union.
    pub is_union: bool,
    /// Whether members share their memory: it is a union, or has one without a name.
    pub overlaps: bool,
    /// Fields in order; members of anonymous inner structs are listed in place.
    pub fields: Vec<FieldType>,
}

/// An initialiser.
#[derive(Debug, Clone)]
pub enum Init {
    /// `= expr`.
    Expr(ExprId),
    /// `= { … }`.
    List(InitList),
}

impl Init {
    /// The values, those of inner lists included.
    #[must_use]
    pub fn values(&self) -> Vec<ExprId> {
        match self {
            Self::Expr(value) => vec![*value],
            Self::List(list) => list.values(),
        }
    }
}

/// A braced initialiser list.
#[derive(Debug, Clone)]
pub struct InitList {
    /// Entries in order.
    pub entries: Vec<InitEntry>,
    /// The list with its braces.
    pub range: TokenRange,
}

impl InitList {
    /// The values, those of inner lists included.
    #[must_use]
    pub fn values(&self) -> Vec<ExprId> {
        let entries = self.entries.iter();
        entries.flat_map(|entry| entry.value.values()).collect()
    }
}

/// One entry of a braced list.
#[derive(Debug, Clone)]
pub struct InitEntry {
    /// `.field`, `[i]`, in order; empty for a positional entry.
    pub designators: Vec<Designator>,
    /// The value.
    pub value: Init,
    /// Designators and value, without a comma.
    pub range: TokenRange,
}

/// `.field` or `[index]` in front of an initialiser.
#[derive(Debug, Clone)]
pub enum Designator {
    /// `.field`
    Field(String),
    /// `[index]`
    Index(ExprId),
    /// `[from ... to]`
    Range(ExprId, ExprId),
}

/// A parameter or block-scope variable.
#[derive(Debug, Clone)]
pub struct Local {
    /// Its name; empty for an unnamed parameter.
    pub name: String,
    /// The name token; empty for an unnamed parameter.
    pub name_range: TokenRange,
    /// Its type.
    pub ty: Type,
    /// Storage class.
    pub storage: Storage,
    /// `_Thread_local` or `__thread`.
    pub thread_local: bool,
    /// `register`: it has no address.
    pub is_register: bool,
    /// Whether it is a parameter.
    pub is_param: bool,
    /// The declaration statement; `None` for parameters.
    pub decl: Option<StmtId>,
}

impl Local {
    /// Whether it ends with its block or function, and no other call or thread has it.
    #[must_use]
    pub fn is_automatic(&self) -> bool {
        self.storage == Storage::None && !self.thread_local
    }
}

/// An expression.
#[derive(Debug, Clone)]
pub struct Expr {
    /// What it is.
    pub kind: ExprKind,
    /// Its tokens. Parentheses around an expression belong to no node.
    pub range: TokenRange,
}

/// What a name refers to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Name {
    /// A parameter or block-scope variable of this function.
    Local(LocalId),
    /// Anything else: a function, a file-scope variable, an enumerator, an unexpanded macro.
    Global(Box<str>),
}

impl StmtKind {
    /// Whether it may run its body again: `for`, `while`, `do`.
    #[must_use]
    pub fn is_loop(&self) -> bool {
        matches!(
            self,
            Self::For { .. } | Self::While { .. } | Self::DoWhile { .. }
        )
    }
}

/// Kinds of expressions.
#[derive(Debug, Clone)]
pub enum ExprKind {
    /// A name.
    Name(Name),
    /// An integer constant; `None` if its value does not fit.
    Int(Option<i64>),
    /// A floating constant.
    Float,
    /// A character constant.
    Char,
    /// A string literal: bytes between the quotes of all adjacent pieces, escapes kept.
    Str(Box<[u8]>),
    /// `callee(args)`.
    Call {
        /// The called expression.
        callee: ExprId,
        /// Arguments in order.
        args: Vec<ExprId>,
    },
    /// `base.field` or `base->field`.
    Member {
        /// The object or pointer.
        base: ExprId,
        /// The field's name.
        field: Box<str>,
        /// Whether it is `->`.
        arrow: bool,
    },
    /// `base[index]`.
    Index {
        /// The array or pointer.
        base: ExprId,
        /// The index.
        index: ExprId,
    },
    /// A unary operator.
    Unary {
        /// The operator.
        op: UnaryOp,
        /// Its operand.
        operand: ExprId,
    },
    /// A binary operator that is not an assignment; `&&`, `||` and `,` included.
    Binary {
        /// The operator.
        op: BinaryOp,
        /// Left operand.
        lhs: ExprId,
        /// Right operand.
        rhs: ExprId,
    },
    /// `lhs = rhs` or `lhs op= rhs`.
    Assign {
        /// The operator of a compound assignment.
        op: Option<BinaryOp>,
        /// What is assigned to.
        lhs: ExprId,
        /// The value.
        rhs: ExprId,
    },
    /// `cond ? then : otherwise`; `then` is `None` for `cond ?: otherwise`.
    Conditional {
        /// The condition.
        cond: ExprId,
        /// The value if true; `None` means the condition's own value.
        then: Option<ExprId>,
        /// The value if false.
        otherwise: ExprId,
    },
    /// `(ty)operand`.
    Cast {
        /// Target type.
        ty: Type,
        /// The value.
        operand: ExprId,
    },
    /// `sizeof`, `_Alignof`, `offsetof` of a type: a constant without effects.
    TypeQuery(Type),
    /// `sizeof expr`: the operand is not evaluated.
    SizeOfExpr(ExprId),
    /// `va_arg(list, ty)`.
    VaArg {
        /// The list.
        list: ExprId,
        /// The type.
        ty: Type,
    },
    /// `(ty){ … }`.
    Compound {
        /// Its type.
        ty: Type,
        /// Its initialiser.
        init: InitList,
    },
    /// `({ … })`; the value is that of the last expression statement.
    Stmt(StmtId),
}

/// Unary operators.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnaryOp {
    /// `x++`
    PostIncrement,
    /// `x--`
    PostDecrement,
    /// `++x`
    PreIncrement,
    /// `--x`
    PreDecrement,
    /// `&x`
    AddressOf,
    /// `*x`
    Deref,
    /// `+x`
    Plus,
    /// `-x`
    Minus,
    /// `~x`
    Complement,
    /// `!x`
    Not,
    /// `&&label`, the address of a label (GNU); the operand is a global name.
    LabelAddress,
}

impl UnaryOp {
    /// Whether it counts its operand up or down.
    #[must_use]
    pub fn is_step(self) -> bool {
        matches!(
            self,
            Self::PostIncrement | Self::PostDecrement | Self::PreIncrement | Self::PreDecrement
        )
    }
}

/// Binary operators.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BinaryOp {
    /// `*`
    Multiply,
    /// `/`
    Divide,
    /// `%`
    Modulo,
    /// `+`
    Plus,
    /// `-`
    Minus,
    /// `<<`
    ShiftLeft,
    /// `>>`
    ShiftRight,
    /// `<`
    Less,
    /// `>`
    Greater,
    /// `<=`
    LessOrEqual,
    /// `>=`
    GreaterOrEqual,
    /// `==`
    Equals,
    /// `!=`
    NotEquals,
    /// `&`
    BitAnd,
    /// `^`
    BitXor,
    /// `|`
    BitOr,
    /// `&&`
    LogicalAnd,
    /// `||`
    LogicalOr,
    /// `,`
    Comma,
}

impl BinaryOp {
    /// Whether it compares: `==`, `!=`, `<`, `<=`, `>`, `>=`.
    #[must_use]
    pub fn is_comparison(self) -> bool {
        matches!(
            self,
            Self::Equals
                | Self::NotEquals
                | Self::Less
                | Self::LessOrEqual
                | Self::Greater
                | Self::GreaterOrEqual
        )
    }

    /// Whether the left operand is evaluated before the right one.
    #[must_use]
    pub fn is_sequenced(self) -> bool {
        matches!(self, Self::LogicalAnd | Self::LogicalOr | Self::Comma)
    }

    /// How it is written in C.
    #[must_use]
    pub fn symbol(self) -> &'static str {
        match self {
            Self::Multiply => "*",
            Self::Divide => "/",
            Self::Modulo => "%",
            Self::Plus => "+",
            Self::Minus => "-",
            Self::ShiftLeft => "<<",
            Self::ShiftRight => ">>",
            Self::Less => "<",
            Self::Greater => ">",
            Self::LessOrEqual => "<=",
            Self::GreaterOrEqual => ">=",
            Self::Equals => "==",
            Self::NotEquals => "!=",
            Self::BitAnd => "&",
            Self::BitXor => "^",
            Self::BitOr => "|",
            Self::LogicalAnd => "&&",
            Self::LogicalOr => "||",
            Self::Comma => ",",
        }
    }
}

/// A statement.
#[derive(Debug, Clone)]
pub struct Stmt {
    /// What it is.
    pub kind: StmtKind,
    /// Its tokens, with the final `;` where it has one.
    pub range: TokenRange,
}

/// Kinds of statements.
#[derive(Debug, Clone)]
pub enum StmtKind {
    /// `;` or a statement without effect on any analysis.
    Null,
    /// `expr;`
    Expr(ExprId),
    /// A declaration of block-scope variables.
    Decl(Vec<LocalDecl>),
    /// `{ … }`
    Block(Vec<StmtId>),
    /// `if (cond) then else otherwise`
    If {
        /// The condition.
        cond: ExprId,
        /// The first branch.
        then: StmtId,
        /// The `else` branch.
        otherwise: Option<StmtId>,
    },
    /// `while (cond) body`
    While {
        /// The condition.
        cond: ExprId,
        /// The body.
        body: StmtId,
    },
    /// `do body while (cond);`
    DoWhile {
        /// The body.
        body: StmtId,
        /// The condition.
        cond: ExprId,
    },
    /// `for (init; cond; step) body`
    For {
        /// An expression or declaration statement.
        init: Option<StmtId>,
        /// The condition.
        cond: Option<ExprId>,
        /// The step.
        step: Option<ExprId>,
        /// The body.
        body: StmtId,
    },
    /// `switch (value) body`
    Switch {
        /// The selector.
        value: ExprId,
        /// The body.
        body: StmtId,
    },
    /// `case low:` or `case low ... high:` with its statement.
    Case {
        /// The value, or the lower end of a range.
        low: ExprId,
        /// The upper end of a range.
        high: Option<ExprId>,
        /// The labelled statement.
        body: StmtId,
    },
    /// `default:` with its statement.
    Default {
        /// The labelled statement.
        body: StmtId,
    },
    /// `name:` with its statement.
    Label {
        /// The label.
        name: Box<str>,
        /// The labelled statement.
        body: StmtId,
    },
    /// `goto name;`
    Goto(Box<str>),
    /// `goto *expr;` (GNU).
    ComputedGoto(ExprId),
    /// `break;`
    Break,
    /// `continue;`
    Continue,
    /// `return value;`
    Return(Option<ExprId>),
    /// Inline assembly.
    Asm,
}

/// One declared variable of a declaration statement, in order of evaluation.
#[derive(Debug, Clone)]
pub struct LocalDecl {
    /// The variable.
    pub local: LocalId,
    /// Its initialiser.
    pub init: Option<Init>,
    /// The declarator with its initialiser.
    pub range: TokenRange,
}
