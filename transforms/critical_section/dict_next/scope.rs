//! One function with the answers that the rule asks for again and again.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::ast::{
    Expr, ExprId, ExprKind, Function, LocalId, Name, Nesting, StmtId, StmtKind, TokenRange, Tree,
};
use crate::capi;
use crate::cfg::{self, Base, Callee, Cfg, Instr, InstrKind, Operand, Projection, Source};
use crate::program::ItemId;
use crate::rule::PackageCx;
use crate::source::{ByteSpan, FileId};

/// A function under the eyes of the rule.
pub(super) struct Scope<'a> {
    pub(super) cx: &'a PackageCx<'a>,
    pub(super) item: ItemId,
    pub(super) function: &'a Function,
    pub(super) cfg: Cfg,
    nesting: Nesting,
    /// Where each variable is named.
    named: FxHashMap<LocalId, Vec<TokenRange>>,
}

impl<'a> Scope<'a> {
    pub(super) fn new(cx: &'a PackageCx<'a>, item: ItemId, function: &'a Function) -> Self {
        Self {
            cx,
            item,
            function,
            cfg: cfg::build(function, &capi::never_returns),
            nesting: Nesting::new(function),
            named: named(&function.tree),
        }
    }

    pub(super) fn tree(&self) -> &'a Tree {
        &self.function.tree
    }

    pub(super) fn stmt(&self, id: StmtId) -> &'a StmtKind {
        &self.tree().stmt(id).kind
    }

    pub(super) fn expr(&self, id: ExprId) -> &'a Expr {
        self.tree().expr(id)
    }

    pub(super) fn name(&self, local: LocalId) -> &'a str {
        &self.tree().local(local).name
    }

    /// The statement that `stmt` is a part of.
    pub(super) fn parent(&self, stmt: StmtId) -> Option<StmtId> {
        self.nesting.around(stmt)
    }

    /// The innermost statement that `expr` is a part of.
    pub(super) fn stmt_of(&self, expr: ExprId) -> Option<StmtId> {
        self.nesting.stmt_of(expr)
    }

    /// The statements around `stmt`, innermost first.
    pub(super) fn ancestors(&self, stmt: StmtId) -> impl Iterator<Item = StmtId> {
        std::iter::successors(self.parent(stmt), |&at| self.parent(at))
    }

    /// The statements of one block from `first` to `last`.
    pub(super) fn statements(&self, first: StmtId, last: StmtId) -> Vec<StmtId> {
        let block = self.parent(last).map(|block| self.stmt(block));
        let Some(StmtKind::Block(stmts)) = block.filter(|_| first != last) else {
            return vec![last];
        };
        let at = |stmt| stmts.iter().position(|&other| other == stmt);
        match (at(first), at(last)) {
            (Some(from), Some(to)) if from <= to => stmts[from..=to].to_vec(),
            _ => vec![last],
        }
    }

    pub(super) fn is_loop(&self, stmt: StmtId) -> bool {
        self.stmt(stmt).is_loop()
    }

    pub(super) fn range(&self, stmt: StmtId) -> TokenRange {
        self.tree().stmt(stmt).range
    }

    pub(super) fn span(&self, stmt: StmtId) -> Option<(FileId, ByteSpan)> {
        self.cx.stmt_span(self.item, stmt)
    }

    /// The text of an expression as written; `None` if a macro body made it.
    pub(super) fn text(&self, expr: ExprId) -> Option<String> {
        let (file, span) = self.cx.span(self.item, expr)?;
        Some(self.cx.file(file).text(span).into_owned())
    }

    pub(super) fn stmt_text(&self, stmt: StmtId) -> Option<String> {
        let (file, span) = self.span(stmt)?;
        Some(self.cx.file(file).text(span).into_owned())
    }

    /// The expression below casts.
    pub(super) fn uncast(&self, expr: ExprId) -> ExprId {
        self.tree().without_casts(expr)
    }

    pub(super) fn local(&self, expr: ExprId) -> Option<LocalId> {
        self.tree().as_local(expr)
    }

    /// The variable whose address an expression is, through casts.
    pub(super) fn address(&self, expr: ExprId) -> Option<LocalId> {
        self.tree().as_address(self.uncast(expr))
    }

    /// Whether `expr` mentions `local`.
    pub(super) fn mentions(&self, expr: ExprId, local: LocalId) -> bool {
        self.is_named_in(self.expr(expr).range, local, TokenRange::default())
    }

    /// Whether `stmt` mentions `local`, other than by declaring it.
    pub(super) fn stmt_mentions(&self, stmt: StmtId, local: LocalId) -> bool {
        self.is_named_in(self.range(stmt), local, TokenRange::default())
    }

    /// Whether `expr` mentions `local` outside of the range `except`.
    pub(super) fn mentions_outside(
        &self,
        expr: ExprId,
        local: LocalId,
        except: TokenRange,
    ) -> bool {
        self.is_named_in(self.expr(expr).range, local, except)
    }

    /// Whether `local` is named in one range and outside of another.
    pub(super) fn is_named_in(
        &self,
        range: TokenRange,
        local: LocalId,
        except: TokenRange,
    ) -> bool {
        let mut places = self.named.get(&local).into_iter().flatten();
        places.any(|&place| range.contains(place) && !except.contains(place))
    }

    /// Whether a call stands in `stmt`.
    pub(super) fn stmt_calls(&self, stmt: StmtId) -> bool {
        let mut exprs = self.tree().exprs_in(self.range(stmt));
        exprs.any(|(_, expr)| matches!(expr.kind, ExprKind::Call { .. }))
    }

    /// Whether the step was made from a node inside `range`.
    pub(super) fn is_inside(&self, source: Source, range: TokenRange) -> bool {
        inside(self.source_range(source), range)
    }

    pub(super) fn source_range(&self, source: Source) -> TokenRange {
        match source {
            Source::Expr(expr) => self.expr(expr).range,
            Source::Stmt(stmt) => self.range(stmt),
        }
    }

    /// Whether a label of this name stands inside `range`.
    pub(super) fn has_label(&self, name: &str, range: TokenRange) -> bool {
        self.tree().stmts.iter().any(|stmt| {
            matches!(&stmt.kind, StmtKind::Label { name: own, .. } if &**own == name)
                && inside(stmt.range, range)
        })
    }

    /// The steps made from nodes inside `range`.
    pub(super) fn steps_in(&self, range: TokenRange) -> impl Iterator<Item = &Instr> {
        let instrs = self.cfg.blocks.iter().flat_map(|block| &block.instrs);
        instrs.filter(move |instr| self.is_inside(instr.source, range))
    }

    /// Whether `local` may get another value inside `range`, other than by the call `except`.
    pub(super) fn is_written(
        &self,
        local: LocalId,
        range: TokenRange,
        except: Option<ExprId>,
    ) -> bool {
        self.steps_in(range).any(|instr| {
            let stored = matches!(&instr.kind, InstrKind::Store { place, .. }
                if matches!(place.base, Base::Local(l) if l == local));
            let shared = except.is_none_or(|call| instr.source != Source::Expr(call))
                && instr
                    .operands()
                    .any(|operand| is_address_of(operand, local));
            stored || shared || self.is_reset(instr, local)
        })
    }

    /// Whether `instr` is `Py_SETREF(local, …)`, or another macro that assigns to its argument.
    fn is_reset(&self, instr: &Instr, local: LocalId) -> bool {
        let InstrKind::Call {
            callee: Callee::Named(name),
            ..
        } = &instr.kind
        else {
            return false;
        };
        let Source::Expr(call) = instr.source else {
            return false;
        };
        let resets = matches!(&**name, "Py_CLEAR" | "Py_SETREF" | "Py_XSETREF");
        resets
            && match &self.expr(call).kind {
                ExprKind::Call { args, .. } => args.first().is_some_and(|&arg| {
                    matches!(self.expr(self.uncast(arg)).kind, ExprKind::Name(Name::Local(it)) if it == local)
                }),
                _ => false,
            }
    }

    /// Whether a field of this name is assigned inside `range`.
    pub(super) fn is_field_written(&self, field: &str, range: TokenRange) -> bool {
        self.steps_in(range).any(|instr| {
            matches!(&instr.kind, InstrKind::Store { place, .. }
                if matches!(place.path.last(), Some(Projection::Field(name)) if &**name == field))
        })
    }

    /// Whether an element of `array` is assigned inside `range`, under the same name.
    pub(super) fn is_element_written(&self, array: ExprId, range: TokenRange) -> bool {
        self.tree().exprs.iter().any(|expr| match expr.kind {
            ExprKind::Assign { lhs, .. } if inside(expr.range, range) => {
                matches!(self.expr(self.uncast(lhs)).kind, ExprKind::Index { base, .. }
                    if self.is_same_text(base, array))
            }
            _ => false,
        })
    }

    /// Whether the function declares variables behind statements, as C99 allows.
    pub(super) fn declares_anywhere(&self) -> bool {
        declares_anywhere(self.tree())
    }

    /// Whether any function of its file does.
    pub(super) fn is_c99(&self) -> bool {
        let (file, _) = self.cx.item(self.item).place;
        let mut functions = self.cx.program.functions();
        functions.any(|(item, function)| item.place.0 == file && declares_anywhere(&function.tree))
    }

    /// Every identifier of the function after expansion.
    pub(super) fn words(&self) -> FxHashSet<Vec<u8>> {
        let tokens = &self.cx.item(self.item).tokens;
        let count = u32::try_from(tokens.tokens.len()).expect("items fit");
        let text = |at| tokens.text(self.cx.program.files, at).to_vec();
        (0..count).map(text).collect()
    }

    /// Whether both expressions are written with the same tokens.
    pub(super) fn is_same_text(&self, a: ExprId, b: ExprId) -> bool {
        let tokens = &self.cx.item(self.item).tokens;
        let words = |expr: ExprId| {
            let range = self.expr(self.uncast(expr)).range;
            (range.start..range.end).map(|at| tokens.text(self.cx.program.files, at))
        };
        words(a).eq(words(b))
    }
}

fn named(tree: &Tree) -> FxHashMap<LocalId, Vec<TokenRange>> {
    let mut named: FxHashMap<LocalId, Vec<TokenRange>> = FxHashMap::default();
    for expr in &tree.exprs {
        if let ExprKind::Name(Name::Local(local)) = expr.kind {
            named.entry(local).or_default().push(expr.range);
        }
    }
    named
}

fn declares_anywhere(tree: &Tree) -> bool {
    let is_decl = |stmt: &StmtId| matches!(tree.stmt(*stmt).kind, StmtKind::Decl(_));
    tree.stmts.iter().any(|stmt| match &stmt.kind {
        StmtKind::Block(stmts) => {
            let behind = stmts.iter().skip_while(|stmt| is_decl(stmt));
            behind.skip(1).any(is_decl)
        }
        StmtKind::For {
            init: Some(init), ..
        } => is_decl(init),
        _ => false,
    })
}

pub(super) fn is_address_of(operand: &Operand, local: LocalId) -> bool {
    matches!(operand, Operand::AddressOf(place)
        if matches!(place.base, Base::Local(l) if l == local))
}

pub(super) fn inside(inner: TokenRange, outer: TokenRange) -> bool {
    outer.contains(inner)
}
