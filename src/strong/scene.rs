//! One function with everything the rewriting asks of it.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashSet;

use super::addressed::liveness_with_outs;
use super::elsewhere::{Anywhere, anywhere};
use super::emit::exact::differs;
use super::exits::{begun::Ender, held::Inputs, owed::Change, owners::Owner};
use super::loans::Fields;
use super::pending::Pending;
use super::pending::entered::exceptions;
use super::pending::errno::Errno;
use super::pending::raising::helpers;
use super::pending::unheard::Unheard;
use crate::ast::{
    BinaryOp, ExprId, ExprKind, Function, Init, LocalId, Name, Parent, Parents, StmtId, StmtKind,
    TokenRange, Tree, Type, UnaryOp, Visitor, walk_stmt,
};
use crate::capi;
use crate::cfg::{self, Cfg, Liveness, Part, Point};
use crate::edit::Layout;
use crate::program::{CallSite, Types};
use crate::rule::{ErrorReturn, ItemId, PackageCx};
use crate::source::{ByteOffset, ByteSpan, FileId};

/// A function, its flow graph, and the way from each node to the one around it.
pub(super) struct Scene<'a> {
    pub cx: &'a PackageCx<'a>,
    pub item: ItemId,
    pub function: &'a Function,
    pub tree: &'a Tree,
    pub cfg: &'a Cfg,
    pub liveness: Liveness<'a>,
    /// What other configurations read as well.
    pub(super) anywhere: Option<Anywhere<'a>>,
    pub file: FileId,
    pub layout: Layout<'a>,
    /// Whether the function returned a borrowed reference and is changed to return a new one.
    pub hands_out: bool,
    /// The fields of a struct of its caller that own what the function stores there.
    pub fills: Option<&'a Fields>,
    parents: Parents,
    pub(super) repeats: OnceCell<BTreeMap<ExprId, ExprId>>,
    pending: OnceCell<Pending<'a>>,
    pub(super) errno: OnceCell<Errno<'a>>,
    /// What the variables hold where each block begins.
    pub(super) held: OnceCell<Inputs>,
    pub(super) enders: OnceCell<Vec<Ender<'a>>>,
    /// What the function leaves behind.
    pub(super) changes: OnceCell<Vec<Change>>,
    /// What calls give to the function.
    pub(super) owners: OnceCell<Vec<Owner>>,
    pointed_at: OnceCell<BTreeSet<LocalId>>,
    unit_types: OnceCell<Types<'a>>,
    /// The texts of all tokens.
    words: OnceCell<FxHashSet<&'a [u8]>>,
    mixes_declarations: OnceCell<bool>,
    reads_exactly: OnceCell<bool>,
    /// A call that takes the error of the function for a success.
    pub(super) mistaken: OnceCell<Option<CallSite>>,
    /// A call whose function does not notice an error of this one.
    pub(super) unheard: OnceCell<Option<Unheard>>,
}

/// The flow graph the rewriting works on.
pub(super) fn graph(function: &Function) -> Cfg {
    cfg::build(function, &capi::never_returns)
}

impl<'a> Scene<'a> {
    /// `None` if the function as a whole is made by a macro.
    pub(super) fn new(
        cx: &'a PackageCx<'a>,
        item: ItemId,
        function: &'a Function,
        cfg: &'a Cfg,
    ) -> Option<Self> {
        let tree = &function.tree;
        let (file, span) = cx.item(item).tokens.file_span(function.range)?;
        let parents = Parents::new(function);
        let mut scene = Self {
            cx,
            item,
            function,
            tree,
            cfg,
            liveness: Liveness::new(cfg, tree.locals.len()),
            anywhere: None,
            file,
            layout: cx.layout(file, span),
            hands_out: false,
            fills: None,
            parents,
            repeats: OnceCell::new(),
            pending: OnceCell::new(),
            errno: OnceCell::new(),
            held: OnceCell::new(),
            enders: OnceCell::new(),
            changes: OnceCell::new(),
            owners: OnceCell::new(),
            pointed_at: OnceCell::new(),
            unit_types: OnceCell::new(),
            words: OnceCell::new(),
            mixes_declarations: OnceCell::new(),
            reads_exactly: OnceCell::new(),
            mistaken: OnceCell::new(),
            unheard: OnceCell::new(),
        };
        if let Some(liveness) = liveness_with_outs(&scene) {
            scene.liveness = liveness;
        }
        scene.anywhere = anywhere(&scene);
        Some(scene)
    }

    /// Whether `local` may be read at `point` or behind it, by its name or through a pointer that is
    /// kept, in this configuration or another.
    pub(super) fn is_live(&self, local: LocalId, point: Point) -> bool {
        let pointed_at = self.pointed_at.get_or_init(|| self.cfg.pointed_at());
        let anywhere = self.anywhere.as_ref().map(|it| &it.liveness);
        let liveness = anywhere.unwrap_or(&self.liveness);
        liveness.is_live(local, point) || pointed_at.contains(&local)
    }

    /// The same for a field of a variable.
    pub(super) fn is_part_live(&self, part: Part, point: Point) -> bool {
        let pointed_at = self.pointed_at.get_or_init(|| self.cfg.pointed_at());
        self.liveness.is_part_live(part, point) || pointed_at.contains(&part.local)
    }

    /// Whether nothing in a value of this type can be a pointer. Other files may have a struct of
    /// numbers, or one with pointers, by the same name: what the translation unit sees counts.
    pub(super) fn is_plain(&self, ty: &Type) -> bool {
        let types = self.cx.types();
        let unit = self.cx.item(self.item).unit;
        let in_unit = || Types::in_unit(self.cx.program, unit);
        let is_seen = || self.unit_types.get_or_init(in_unit).is_plain(ty);
        ty.is_number() || (types.is_plain(ty) || types.is_ambiguous(ty)) && is_seen()
    }

    /// Whether an exception may be pending where `call` is made.
    pub(super) fn is_pending(&self, call: ExprId) -> bool {
        let point = self.cfg.call(call);
        point.is_none_or(|point| self.pending().at(point))
    }

    /// A call that may have left an exception of which nothing tells where `call` is made.
    pub(super) fn lost_before(&self, call: ExprId) -> Option<&str> {
        self.pending().lost_at(self.cfg.call(call)?)
    }

    /// Whether the items of `PySequence_Fast` are read as its macro did, all of the function's alike.
    pub(super) fn reads_exactly(&self) -> bool {
        *self.reads_exactly.get_or_init(|| {
            let mut exprs = self.tree.expr_ids();
            exprs.any(|call| differs(self, call))
        })
    }

    /// Exceptions that may be pending at the points of the function.
    pub(super) fn pending(&self) -> &Pending<'a> {
        self.pending.get_or_init(|| {
            let exceptions = self.cx.exceptions(exceptions);
            let entered = exceptions.entered.contains(&*self.function.name);
            let helpers = helpers(self.cx, self.tree, &exceptions.returns);
            Pending::new(self.cfg, self.function, helpers, entered)
        })
    }

    /// How the function `name` of the package comes back where something in it fails.
    pub(super) fn error_return(&self, name: &str) -> Option<&ErrorReturn> {
        self.cx.exceptions(exceptions).returns.get(name)
    }

    pub(super) fn parent_of_expr(&self, expr: ExprId) -> Option<Parent> {
        self.parents.of_expr(expr)
    }

    pub(super) fn parent_of_stmt(&self, stmt: StmtId) -> Option<Parent> {
        self.parents.of_stmt(stmt)
    }

    /// Whether a label stands in front of `stmt`: before C23 no declaration may follow it.
    pub(super) fn is_labelled(&self, stmt: StmtId) -> bool {
        let Some(Parent::Stmt(parent)) = self.parent_of_stmt(stmt) else {
            return false;
        };
        matches!(
            self.tree.stmt(parent).kind,
            StmtKind::Label { .. } | StmtKind::Case { .. } | StmtKind::Default { .. }
        )
    }

    /// Whether `stmt` is the `if` of an `else if`: statements around it would need braces around
    /// the rest of the chain, and its lines another indentation.
    pub(super) fn is_else_if(&self, stmt: StmtId) -> bool {
        let is_if = |id: StmtId| matches!(self.tree.stmt(id).kind, StmtKind::If { .. });
        let Some(Parent::Stmt(parent)) = self.parent_of_stmt(stmt) else {
            return false;
        };
        let StmtKind::If { otherwise, .. } = self.tree.stmt(parent).kind else {
            return false;
        };
        is_if(stmt) && otherwise == Some(stmt)
    }

    /// The innermost statement around an expression.
    pub(super) fn stmt_of(&self, expr: ExprId) -> Option<StmtId> {
        let mut at = self.parent_of_expr(expr);
        loop {
            match at? {
                Parent::Stmt(stmt) => return Some(stmt),
                Parent::Expr(expr) => at = self.parent_of_expr(expr),
            }
        }
    }

    /// The statement behind `stmt` in its block.
    pub(super) fn next_sibling(&self, stmt: StmtId) -> Option<StmtId> {
        let (stmts, at) = self.siblings(stmt)?;
        stmts.get(at + 1).copied()
    }

    /// The statement that comes next in the block and does something.
    ///
    /// ```c
    /// PyObject *item = PyList_GET_ITEM(list, i);
    /// Py_ssize_t n;
    /// if (!item)
    /// ```
    pub(super) fn next_step(&self, stmt: StmtId) -> Option<StmtId> {
        let (stmts, at) = self.siblings(stmt)?;
        let mut behind = stmts[at + 1..].iter().copied();
        behind.find(|&stmt| !self.only_declares(stmt))
    }

    /// Whether `stmt` declares variables that get no values, or ones that are written down:
    /// `const char *text = NULL;`
    fn only_declares(&self, stmt: StmtId) -> bool {
        let StmtKind::Decl(decls) = &self.tree.stmt(stmt).kind else {
            return false;
        };
        decls.iter().all(|decl| match decl.init {
            None => true,
            Some(Init::Expr(value)) => {
                let kind = &self.tree.expr(value).kind;
                self.is_null(value) || matches!(kind, ExprKind::Int(_) | ExprKind::Str(_))
            }
            Some(_) => false,
        })
    }

    /// The statements of the block that `stmt` stands in, with its place among them.
    pub(super) fn siblings(&self, stmt: StmtId) -> Option<(&'a [StmtId], usize)> {
        let Some(Parent::Stmt(block)) = self.parent_of_stmt(stmt) else {
            return None;
        };
        let StmtKind::Block(stmts) = &self.tree.stmt(block).kind else {
            return None;
        };
        let at = stmts.iter().position(|&other| other == stmt)?;
        Some((stmts, at))
    }

    /// Whether a comment or a directive stands in the text.
    pub(super) fn has_note(&self, span: ByteSpan) -> bool {
        let text = self.text(span);
        ["/*", "//", "#"].iter().any(|mark| text.contains(mark))
    }

    /// The file's own text of an expression; `None` if a macro makes any of it.
    pub(super) fn span(&self, expr: ExprId) -> Option<ByteSpan> {
        let (file, span) = self.cx.span(self.item, expr)?;
        (file == self.file).then_some(span)
    }

    /// The file's own text of a statement; `None` if a macro makes any of it.
    pub(super) fn stmt_span(&self, stmt: StmtId) -> Option<ByteSpan> {
        let (file, span) = self.cx.stmt_span(self.item, stmt)?;
        (file == self.file).then_some(span)
    }

    /// The text of a span of the function's file.
    pub(super) fn text(&self, span: ByteSpan) -> String {
        self.cx.file(self.file).text(span).into_owned()
    }

    pub(super) fn name(&self, local: LocalId) -> &'a str {
        &self.tree.local(local).name
    }

    /// The variable an expression names, if it is nothing but a name.
    pub(super) fn as_local(&self, expr: ExprId) -> Option<LocalId> {
        self.tree.as_local(expr)
    }

    /// Whether an expression is `NULL`, `0` or one of them under a cast.
    pub(super) fn is_null(&self, expr: ExprId) -> bool {
        self.tree.is_null(expr)
    }

    /// Whether a value is not `NULL`, as far as the code around it says.
    pub(super) fn is_never_null(&self, value: ExprId) -> bool {
        match &self.tree.expr(value).kind {
            ExprKind::Cast { operand, .. } => self.is_never_null(*operand),
            ExprKind::Unary { op, .. } => *op == UnaryOp::AddressOf,
            ExprKind::Name(Name::Global(name)) => {
                capi::is_singleton(name) || name.starts_with("PyExc_")
            }
            ExprKind::Name(Name::Local(local)) => self.is_tested_around(value, *local),
            ExprKind::Call { .. } => matches!(self.call(value), Some(("PyTuple_GET_ITEM", _))),
            _ => false,
        }
    }

    /// Whether `value` stands in the branch of an `if (local)` that does not set the variable.
    fn is_tested_around(&self, value: ExprId, local: LocalId) -> bool {
        let mut at = self.stmt_of(value);
        while let Some(stmt) = at {
            let Some(Parent::Stmt(outer)) = self.parent_of_stmt(stmt) else {
                return false;
            };
            if let StmtKind::If { cond, then, .. } = self.tree.stmt(outer).kind
                && then == stmt
                && self.asks_for(cond, local)
            {
                return !self.sets(local, self.tree.stmt(then).range);
            }
            at = Some(outer);
        }
        false
    }

    /// Whether a condition holds only if `local` is not `NULL`.
    fn asks_for(&self, cond: ExprId, local: LocalId) -> bool {
        match self.tree.expr(cond).kind {
            ExprKind::Binary {
                op: BinaryOp::LogicalAnd,
                lhs,
                rhs,
            } => self.asks_for(lhs, local) || self.asks_for(rhs, local),
            ExprKind::Binary {
                op: BinaryOp::NotEquals,
                lhs,
                rhs,
            } => self.as_local(lhs) == Some(local) && self.is_null(rhs),
            _ => self.as_local(cond) == Some(local),
        }
    }

    /// Whether the code in `within` may set `local`.
    pub(super) fn sets(&self, local: LocalId, within: TokenRange) -> bool {
        self.tree.exprs_in(within).any(|(_, expr)| match expr.kind {
            ExprKind::Assign { lhs, .. } | ExprKind::Unary { operand: lhs, .. } => {
                let is_read = matches!(expr.kind, ExprKind::Unary { op, .. }
                    if matches!(op, UnaryOp::Not | UnaryOp::Deref));
                !is_read && self.as_local(lhs) == Some(local)
            }
            _ => false,
        })
    }

    /// The end of the name in the declaration of a pointer that gets no value there: `PyObject *v;`.
    pub(super) fn undefined_at_declaration(&self, local: LocalId) -> Option<ByteOffset> {
        let variable = self.tree.local(local);
        let StmtKind::Decl(decls) = &self.tree.stmt(variable.decl?).kind else {
            return None;
        };
        let declared = decls.iter().find(|decl| decl.local == local)?;
        if declared.init.is_some() || !variable.is_automatic() || variable.ty.pointee().is_none() {
            return None;
        }
        let tokens = &self.cx.item(self.item).tokens;
        let (file, span) = tokens.file_span(variable.name_range)?;
        (file == self.file).then(|| span.end())
    }

    /// Callee name and arguments of a call by name.
    pub(super) fn call(&self, expr: ExprId) -> Option<(&'a str, &'a [ExprId])> {
        self.tree.call(expr)
    }
}

/// Facts about names and statements that layout decisions ask for.
impl<'a> Scene<'a> {
    /// `stem`, or `stem2`, `stem3` …: a name that occurs nowhere in the function and is no macro.
    /// It is taken from then on.
    pub(super) fn unused_name(&self, stem: &str, taken: &mut BTreeSet<String>) -> String {
        let words = self.words.get_or_init(|| self.words());
        let occurs = |name: &str| words.contains(name.as_bytes());
        let numbered = (2..).map(|number: u32| format!("{stem}{number}"));
        let mut names = std::iter::once(stem.to_owned()).chain(numbered);
        let name = names
            .find(|name| !taken.contains(name) && !occurs(name) && !self.cx.is_macro(name))
            .expect("there is always one more number");
        taken.insert(name.clone());
        name
    }

    fn words(&self) -> FxHashSet<&'a [u8]> {
        let tokens = &self.cx.item(self.item).tokens;
        let count = u32::try_from(tokens.tokens.len()).expect("items are indexed by u32");
        let texts = (0..count).map(|at| tokens.text(self.cx.program.files, at));
        texts.collect()
    }

    /// Whether the block of one statement is that of the other or around it. Statements that stand
    /// nowhere are everywhere.
    pub(super) fn share_scope(&self, left: Option<StmtId>, right: Option<StmtId>) -> bool {
        let blocks = |stmt: StmtId| {
            let mut around = Vec::new();
            let mut at = self.parent_of_stmt(stmt);
            while let Some(parent) = at {
                at = match parent {
                    Parent::Stmt(outer) => {
                        if matches!(self.tree.stmt(outer).kind, StmtKind::Block(_)) {
                            around.push(outer);
                        }
                        self.parent_of_stmt(outer)
                    }
                    Parent::Expr(outer) => self.parent_of_expr(outer),
                };
            }
            around
        };
        let (Some(left), Some(right)) = (left, right) else {
            return true;
        };
        let (left, right) = (blocks(left), blocks(right));
        match (left.first(), right.first()) {
            (Some(inner), Some(other)) => left.contains(other) || right.contains(inner),
            _ => true,
        }
    }

    /// The statements inside of `stmt`, without itself.
    pub(super) fn inner_stmts(&self, stmt: StmtId) -> Vec<StmtId> {
        struct Collect(Vec<StmtId>);
        impl Visitor for Collect {
            fn visit_stmt(&mut self, tree: &Tree, id: StmtId) {
                self.0.push(id);
                walk_stmt(self, tree, id);
            }
        }
        let mut collect = Collect(Vec::new());
        walk_stmt(&mut collect, self.tree, stmt);
        collect.0
    }

    /// Whether something inside of `stmt` jumps, or is jumped to.
    pub(super) fn is_left_early(&self, stmt: StmtId) -> bool {
        self.inner_stmts(stmt).into_iter().any(|inner| {
            matches!(
                self.tree.stmt(inner).kind,
                StmtKind::Return(_)
                    | StmtKind::Goto(_)
                    | StmtKind::ComputedGoto(_)
                    | StmtKind::Break
                    | StmtKind::Continue
                    | StmtKind::Label { .. }
                    | StmtKind::Case { .. }
                    | StmtKind::Default { .. }
            )
        })
    }

    /// Whether the function declares variables behind other statements, in any configuration.
    pub(super) fn mixes_declarations(&self) -> bool {
        *self.mixes_declarations.get_or_init(|| {
            let span = self.cx.item(self.item).place.1;
            self.functions_of_file()
                .filter(|(place, _)| place.start() < span.end() && span.start() < place.end())
                .any(|(_, function)| mixes_declarations(&function.tree))
        })
    }

    fn functions_of_file(&self) -> impl Iterator<Item = (ByteSpan, &'a Function)> {
        let functions = self.cx.program.functions();
        let of_file = functions.filter(|(item, _)| item.place.0 == self.file);
        of_file.map(|(item, function)| (item.place.1, function))
    }

    /// Whether any function of the file does: it is no C89.
    pub(super) fn file_mixes_declarations(&self) -> bool {
        let mut functions = self.functions_of_file();
        functions.any(|(_, function)| mixes_declarations(&function.tree))
    }
}

fn mixes_declarations(tree: &Tree) -> bool {
    let is_decl = |id: &StmtId| matches!(tree.stmt(*id).kind, StmtKind::Decl(_));
    tree.stmts.iter().any(|stmt| match &stmt.kind {
        StmtKind::Block(stmts) => stmts.iter().skip_while(|id| is_decl(id)).any(is_decl),
        _ => false,
    })
}
