//! All uses of a static number, or that not all are seen.

use std::collections::BTreeSet;

use rustc_hash::{FxHashMap, FxHashSet};

use super::sums::COMPUTED;
use crate::ast::{
    BinaryOp, ExprId, ExprKind, Function, Name, Parent, Parents, StmtKind, Storage, Tree, UnaryOp,
};
use crate::preprocess::Spelling;
use crate::program::{Body, ItemId, ProgramItem};
use crate::rule::PackageCx;
use crate::source::{ByteSpan, FileId};
use crate::state::Variable;

/// What a use does.
#[derive(Debug, Clone, Copy)]
pub(super) enum How {
    Read,
    /// `x = value;`
    Store(ExprId),
    /// `x++;`, `x += n;`
    Step(Number),
}

impl How {
    pub(super) fn step(self) -> Option<Number> {
        match self {
            Self::Step(number) => Some(number),
            Self::Read | Self::Store(_) => None,
        }
    }
}

/// What is added.
#[derive(Debug, Clone, Copy)]
pub(super) enum Number {
    One,
    MinusOne,
    Of(ExprId),
    /// An integer that is taken away.
    Minus(ExprId),
}

/// A place that names the variable.
#[derive(Debug)]
pub(super) struct Use {
    pub(super) item: ItemId,
    /// The name.
    pub(super) name: ExprId,
    /// The assignment or step, or the name.
    pub(super) whole: ExprId,
    pub(super) how: How,
}

pub(super) struct Uses {
    pub(super) all: Vec<Use>,
}

/// The items with each name of some variables in their text.
pub(super) struct Mentions<'v>(FxHashMap<&'v [u8], Vec<ItemId>>);

impl<'v> Mentions<'v> {
    /// Looks through all items once.
    pub(super) fn new(cx: &PackageCx<'_>, variables: &'v [Variable]) -> Self {
        let names = variables.iter().map(|it| it.name.as_bytes());
        let mut found: FxHashMap<&[u8], Vec<ItemId>> = names.map(|it| (it, Vec::new())).collect();
        for (item, at) in cx.program.items.iter().zip(0u32..) {
            for (token, _) in (0u32..).zip(&item.tokens.tokens) {
                let text = item.tokens.text(cx.program.files, token);
                if let Some(items) = found.get_mut(text)
                    && items.last() != Some(&ItemId(at))
                {
                    items.push(ItemId(at));
                }
            }
        }
        Self(found)
    }
}

impl Uses {
    pub(super) fn new(
        cx: &PackageCx<'_>,
        mentions: &Mentions<'_>,
        variable: &Variable,
    ) -> Result<Self, &'static str> {
        if cx.program.unread.names_static(&variable.name) {
            return Err("code that was not read may use it");
        }
        let scope = Scope::new(cx, variable);
        let mut seen = BTreeSet::from([variable.place]);
        let mut all = Vec::new();
        let named = mentions.0.get(variable.name.as_bytes());
        for &id in named.into_iter().flatten() {
            let item = cx.item(id);
            if !scope.contains(item) {
                continue;
            }
            scope.check_tokens(cx, item)?;
            match &item.body {
                Some(Body::Function(function)) => {
                    scope.add(cx, (id, item, function), &mut seen, &mut all)?;
                }
                Some(Body::Declaration(declaration)) => {
                    let tree = &declaration.tree;
                    if tree.expr_ids().any(|expr| scope.is_it(item, tree, expr)) {
                        return Err("the value of another variable is computed from it");
                    }
                }
                None => {}
            }
        }
        scope.check_text(cx, &seen)?;
        Ok(Self { all })
    }
}

/// Where the variable is known.
struct Scope<'v> {
    variable: &'v Variable,
    /// Its file, the files that include it, and all that these include.
    files: BTreeSet<FileId>,
    /// Its function.
    function: Option<ByteSpan>,
}

impl<'v> Scope<'v> {
    fn new(cx: &PackageCx<'_>, variable: &'v Variable) -> Self {
        let file = variable.place.0;
        let includes = &cx.program.includes;
        let mut roots = vec![file];
        let mut files = BTreeSet::new();
        while let Some(root) = roots.pop() {
            if files.insert(root) {
                roots.extend(includes.includers(root).iter().map(|it| it.file));
            }
        }
        // `#include NAME` may lead to any file.
        if includes.computed().next().is_some() {
            files.extend(cx.program.files.iter().map(|(id, _)| id));
        }
        let mut reached = FxHashSet::default();
        files
            .iter()
            .for_each(|&root| includes.reach(root, &mut reached));
        files.extend(reached);
        Self {
            variable,
            files,
            function: variable.local.map(|_| cx.item(variable.item).place.1),
        }
    }

    fn contains(&self, item: &ProgramItem) -> bool {
        match self.function {
            Some(function) => item.place == (self.variable.place.0, function),
            None => self.files.contains(&item.place.0),
        }
    }

    /// Whether an expression names the variable.
    fn is_it(&self, item: &ProgramItem, tree: &Tree, expr: ExprId) -> bool {
        match &tree.expr(expr).kind {
            ExprKind::Name(Name::Global(name)) => {
                self.function.is_none() && **name == *self.variable.name
            }
            ExprKind::Name(Name::Local(local)) => {
                let local = tree.local(*local);
                self.function.is_some()
                    && local.storage == Storage::Static
                    && item.tokens.file_span(local.name_range) == Some(self.variable.place)
            }
            _ => false,
        }
    }

    /// Adds the uses in a function; notes all text there that has the name.
    fn add(
        &self,
        cx: &PackageCx<'_>,
        (id, item, function): (ItemId, &ProgramItem, &Function),
        seen: &mut BTreeSet<(FileId, ByteSpan)>,
        all: &mut Vec<Use>,
    ) -> Result<(), &'static str> {
        let tree = &function.tree;
        let parents = Parents::new(function);
        for local in &tree.locals {
            if local.storage == Storage::Extern && local.name == self.variable.name {
                return Err("a function declares it again");
            }
            seen.extend(item.tokens.file_span(local.name_range));
        }
        for expr in tree.expr_ids() {
            if !matches!(tree.expr(expr).kind, ExprKind::Name(_)) {
                continue;
            }
            let token = tree.expr(expr).range.start as usize;
            if let Some(Spelling::File(file, span)) =
                item.tokens.tokens.get(token).map(|it| it.spelling)
            {
                seen.insert((file, span));
            }
            if self.is_it(item, tree, expr) {
                let (whole, how) = self.how(cx, tree, &parents, expr)?;
                all.push(Use {
                    item: id,
                    name: expr,
                    whole,
                    how,
                });
            }
        }
        Ok(())
    }

    /// What is done with the variable at `name`.
    fn how(
        &self,
        cx: &PackageCx<'_>,
        tree: &Tree,
        parents: &Parents,
        name: ExprId,
    ) -> Result<(ExprId, How), &'static str> {
        let Some(Parent::Expr(around)) = parents.of_expr(name) else {
            return Ok((name, How::Read));
        };
        let how = match &tree.expr(around).kind {
            ExprKind::Unary { op, .. } if op.is_step() => How::Step(match op {
                UnaryOp::PostIncrement | UnaryOp::PreIncrement => Number::One,
                _ => Number::MinusOne,
            }),
            ExprKind::Assign { op, lhs, rhs } if *lhs == name => {
                self.assigned(cx, tree, *op, *rhs)?
            }
            ExprKind::Unary {
                op: UnaryOp::AddressOf,
                ..
            } => return Err("its address is taken"),
            ExprKind::SizeOfExpr(_) => return Err("`sizeof` is applied to it"),
            _ if is_index(tree, parents, name) => {
                return Err("it is used as an index");
            }
            _ => return Ok((name, How::Read)),
        };
        match is_dropped(tree, parents, around) {
            true => Ok((around, how)),
            false => Err("the result of the assignment is used"),
        }
    }

    fn assigned(
        &self,
        cx: &PackageCx<'_>,
        tree: &Tree,
        op: Option<BinaryOp>,
        rhs: ExprId,
    ) -> Result<How, &'static str> {
        let mut parts = tree.exprs_in(tree.expr(rhs).range);
        if parts.any(|(part, _)| self.has_name(tree, part)) {
            return Err(COMPUTED);
        }
        let is_integer = matches!(tree.expr(rhs).kind, ExprKind::Int(_));
        let types = cx.types();
        let is_whole = || types.of(tree, rhs).is_some_and(|ty| types.fits_word(ty));
        match op {
            None => Ok(How::Store(rhs)),
            Some(BinaryOp::Minus) if is_integer => Ok(How::Step(Number::Minus(rhs))),
            Some(BinaryOp::Plus) if (is_integer || is_whole()) && !tree.is_comma(rhs) => {
                Ok(How::Step(Number::Of(rhs)))
            }
            Some(_) => Err("it is changed in another way than by adding a whole number"),
        }
    }

    fn has_name(&self, tree: &Tree, expr: ExprId) -> bool {
        match &tree.expr(expr).kind {
            ExprKind::Name(Name::Global(name)) => **name == *self.variable.name,
            ExprKind::Name(Name::Local(local)) => tree.local(*local).name == self.variable.name,
            _ => false,
        }
    }

    /// Whether the tokens that have the name are written somewhere, and all of it is understood that
    /// uses a macro which has it.
    fn check_tokens(&self, cx: &PackageCx<'_>, item: &ProgramItem) -> Result<(), &'static str> {
        let mut gaps = cx.program.gaps.iter();
        let has_gap = gaps.any(|gap| self.files.contains(&gap.file));
        for (token, at) in item.tokens.tokens.iter().zip(0u32..) {
            if item.tokens.text(cx.program.files, at) != self.variable.name.as_bytes() {
                continue;
            }
            if matches!(token.spelling, Spelling::Synthetic(_)) {
                return Err("a macro makes its name");
            }
            if has_gap && token.expansion.is_some() && !token.from_argument {
                return Err("some code that contains its name could not be analysed");
            }
        }
        Ok(())
    }

    /// Whether all text that has the name is understood: code of each `#if`, bodies of macros.
    fn check_text(
        &self,
        cx: &PackageCx<'_>,
        seen: &BTreeSet<(FileId, ByteSpan)>,
    ) -> Result<(), &'static str> {
        match self.function {
            Some(_) => self.check_file(cx, self.variable.place.0, seen),
            None => {
                let mut files = self.files.iter();
                files.try_for_each(|&file| self.check_file(cx, file, seen))
            }
        }
    }

    fn check_file(
        &self,
        cx: &PackageCx<'_>,
        file: FileId,
        seen: &BTreeSet<(FileId, ByteSpan)>,
    ) -> Result<(), &'static str> {
        let source = cx.file(file);
        let tokens = cx.program.index[file.index()].tokens();
        for (at, token) in tokens.iter().enumerate() {
            let is_near = self.function.is_none_or(|it| it.contains(token.span));
            let is_field = || {
                let before = at
                    .checked_sub(1)
                    .map(|before| source.slice(tokens[before].span));
                matches!(before, Some(b"." | b"->"))
            };
            if is_near
                && source.slice(token.span) == self.variable.name.as_bytes()
                && !seen.contains(&(file, token.span))
                && !is_field()
            {
                return Err("some code that contains its name could not be analysed");
            }
        }
        Ok(())
    }
}

/// Whether nobody asks for the value of an assignment or a step.
fn is_dropped(tree: &Tree, parents: &Parents, whole: ExprId) -> bool {
    match parents.of_expr(whole) {
        Some(Parent::Stmt(stmt)) => match &tree.stmt(stmt).kind {
            StmtKind::Expr(_) => true,
            StmtKind::For { step, .. } => *step == Some(whole),
            _ => false,
        },
        _ => false,
    }
}

/// `table[n]`, `table[n - 1]`
fn is_index(tree: &Tree, parents: &Parents, name: ExprId) -> bool {
    let mut inner = name;
    while let Some(Parent::Expr(around)) = parents.of_expr(inner) {
        match &tree.expr(around).kind {
            ExprKind::Index { .. } => return true,
            ExprKind::Unary { .. } | ExprKind::Binary { .. } | ExprKind::Cast { .. } => {}
            _ => return false,
        }
        inner = around;
    }
    false
}

/// What is added, as an argument of a macro.
pub(super) fn number_text(
    cx: &PackageCx<'_>,
    item: ItemId,
    number: Number,
) -> Result<String, &'static str> {
    let text = |expr| {
        let (file, span) = cx.span(item, expr).ok_or("a macro changes it")?;
        Ok(cx.file(file).text(span).into_owned())
    };
    match number {
        Number::One => Ok("1".to_owned()),
        Number::MinusOne => Ok("-1".to_owned()),
        Number::Of(expr) => text(expr),
        Number::Minus(expr) => {
            let text: String = text(expr)?;
            // `-1u` is a large number.
            match text.bytes().all(|it| it.is_ascii_digit()) {
                true => Ok(format!("-{text}")),
                false => Err("what is subtracted may be unsigned"),
            }
        }
    }
}
