//! The one place that fills a static pointer, and what all repairs of it need.

use super::fill::{empty_tests, is_empty_test, is_variable};
use crate::ast::{
    ExprId, ExprKind, Function, LocalId, Name, StmtId, StmtKind, Storage, TokenRange, Tree,
};
use crate::capi::effects;
use crate::edit::{Edit, Layout};
use crate::program::Body;
use crate::rule::{ItemId, PackageCx};
use crate::source::{ByteSpan, FileId};
use crate::state::{Lazy, Variable};

/// `if (x == NULL)` with the branch that fills `x`.
pub(super) struct Site<'a> {
    pub(super) item: ItemId,
    pub(super) function: &'a Function,
    pub(super) file: FileId,
    /// The `if`.
    pub(super) stmt: StmtId,
    /// Its text.
    pub(super) span: ByteSpan,
    /// Its branch.
    pub(super) then: StmtId,
    /// The assignment in it.
    pub(super) lazy: Lazy,
    /// Of several static variables of the function that the test asks for, the first.
    first: Option<LocalId>,
}

impl<'a> Site<'a> {
    /// The places that fill `variable`, each once; at least one.
    pub(super) fn all(
        cx: &PackageCx<'a>,
        variable: &Variable,
        lazies: &[Lazy],
    ) -> Result<Vec<Self>, &'static str> {
        let mut sites: Vec<Self> = Vec::new();
        for &lazy in lazies {
            let site = Self::new(cx, variable, lazy)?;
            let place = |site: &Self| cx.span(site.item, site.lazy.write);
            let is_same = |old: &&Self| (old.file, old.span) == (site.file, site.span);
            match sites.iter().find(is_same) {
                None => sites.push(site),
                // The same in another configuration.
                Some(old) if place(old) == place(&site) => {}
                Some(_) => return Err("one branch fills it in several ways"),
            }
        }
        Ok(sites)
    }

    fn new(cx: &PackageCx<'a>, variable: &Variable, lazy: Lazy) -> Result<Self, &'static str> {
        let item = lazy.item;
        let function = cx
            .function(item)
            .ok_or("its function could not be analysed")?;
        let tree = &function.tree;
        let stmt = lazy
            .test
            .ok_or("the function returns early if it is already filled")?;
        let StmtKind::If {
            cond,
            then,
            otherwise: None,
        } = tree.stmt(stmt).kind
        else {
            return Err("the branch has an `else`");
        };
        let first = first_tested(tree, cond, variable)
            .ok_or("the test checks more than whether it is empty")?;
        let (file, span) = cx.stmt_span(item, stmt).ok_or("a macro fills it")?;
        Ok(Self {
            item,
            function,
            file,
            stmt,
            span,
            then,
            lazy,
            first,
        })
    }

    /// Whether the test asks for several variables, which the branch fills together.
    pub(super) fn is_of_several(&self) -> bool {
        self.first.is_some()
    }

    pub(super) fn layout(&self, cx: &PackageCx<'a>) -> Layout<'a> {
        cx.layout(self.file, cx.item(self.item).place.1)
    }

    /// The test as it is written, if that is on one line: `x == NULL`, `!x`.
    pub(super) fn condition(&self, cx: &PackageCx<'_>) -> Option<String> {
        let StmtKind::If { cond, .. } = self.function.tree.stmt(self.stmt).kind else {
            return None;
        };
        self.text(cx, cond)
    }

    /// The text of an expression, if it stands on one line of the file.
    pub(super) fn text(&self, cx: &PackageCx<'_>, expr: ExprId) -> Option<String> {
        let (file, span) = cx.span(self.item, expr)?;
        let text = cx.file(file).text(span).into_owned();
        Some(text).filter(|text| !text.contains('\n'))
    }

    /// All expressions within `range`, outer ones and inner ones.
    pub(super) fn exprs_in(&self, range: TokenRange) -> impl Iterator<Item = ExprId> + use<'a> {
        self.function.tree.exprs_in(range).map(|(id, _)| id)
    }

    /// The first function that `range` calls and for which `is_met` holds; what is not called by
    /// name counts as well.
    pub(super) fn call_in(
        &self,
        range: TokenRange,
        is_met: impl Fn(&str) -> bool,
    ) -> Option<String> {
        let tree = &self.function.tree;
        self.exprs_in(range)
            .find_map(|id| match &tree.expr(id).kind {
                ExprKind::Call { callee, .. } => match tree.callee_name(*callee) {
                    Some(name) => is_met(name).then(|| name.to_owned()),
                    None => Some("the function".to_owned()),
                },
                // Statement expressions can do anything.
                ExprKind::Stmt(_) => Some("the block".to_owned()),
                _ => None,
            })
    }

    /// Whether the function looks at the variable in front of the test.
    pub(super) fn is_read_before(&self, variable: &Variable) -> bool {
        let tree = &self.function.tree;
        let first = tree.stmt(self.stmt).range.start;
        let mut all = tree.expr_ids();
        all.any(|id| {
            tree.expr(id).range.start < first
                && matches!(tree.expr(id).kind, ExprKind::Name(_))
                && is_variable(tree, id, variable)
        })
    }

    /// The text of the declaration of the variable, in front of the test.
    pub(super) fn declaration(
        &self,
        cx: &PackageCx<'_>,
        variable: &Variable,
    ) -> Result<ByteSpan, &'static str> {
        let from_macro = "a macro makes its declaration";
        let local = self.first.or(variable.local);
        let (file, span) = match (&cx.item(variable.item).body, local) {
            (Some(Body::Function(function)), Some(local)) => {
                let decl = function.tree.local(local).decl.ok_or(from_macro)?;
                cx.stmt_span(variable.item, decl).ok_or(from_macro)?
            }
            (Some(Body::Declaration(declaration)), None) => {
                let tokens = &cx.item(variable.item).tokens;
                tokens.file_span(declaration.range).ok_or(from_macro)?
            }
            _ => return Err(from_macro),
        };
        if file != self.file || span.start() > self.span.start() {
            return Err("it is declared in another file");
        }
        Ok(span)
    }

    /// `static PyMutex x_mutex;` behind the declaration of the variable, in front of statements that
    /// another fix puts there.
    pub(super) fn declare_mutex(
        &self,
        cx: &PackageCx<'_>,
        variable: &Variable,
        layout: &Layout<'_>,
        mutex: &str,
    ) -> Result<Edit, &'static str> {
        let line = format!("static PyMutex {mutex};");
        Ok(layout.declare_after(self.declaration(cx, variable)?, &[&line]))
    }

    /// A name that no text of the file holds.
    pub(super) fn mutex_name(
        &self,
        cx: &PackageCx<'_>,
        variable: &Variable,
    ) -> Result<String, &'static str> {
        let name = match self.first {
            Some(first) => &self.function.tree.local(first).name,
            None => &variable.name,
        };
        let names = ["_mutex", "_lock", "_guard"].map(|end| format!("{name}{end}"));
        let mut free = names.into_iter().filter(|name| self.is_free(cx, name));
        free.next().ok_or("there is no unused name for a mutex")
    }

    /// Whether no text of the file holds `name`.
    pub(super) fn is_free(&self, cx: &PackageCx<'_>, name: &str) -> bool {
        memchr::memmem::find(cx.file(self.file).bytes(), name.as_bytes()).is_none()
    }
}

/// Whether `cond` asks whether `variable` is empty: `None` if it asks for anything else, else the
/// first of several static variables of the function that it asks for.
fn first_tested(tree: &Tree, cond: ExprId, variable: &Variable) -> Option<Option<LocalId>> {
    if is_empty_test(tree, cond, variable) {
        return Some(None);
    }
    let all = empty_tests(tree, cond)?;
    let locals = all.iter().map(|&one| match tree.expr(one).kind {
        ExprKind::Name(Name::Local(local)) => {
            (tree.local(local).storage == Storage::Static).then_some(local)
        }
        _ => None,
    });
    let locals: Vec<LocalId> = locals.collect::<Option<_>>()?;
    let is_asked = variable.local.is_some_and(|own| locals.contains(&own));
    is_asked.then(|| locals.first().copied())
}

/// Whether a call may run Python code, or is not known not to.
pub(super) fn runs_python(cx: &PackageCx<'_>, name: &str) -> bool {
    const PLAIN: &[&str] = &["malloc", "calloc", "strdup", "getenv"];
    let is_own = cx.definitions(name).next().is_some();
    is_own || !PLAIN.contains(&name) && effects(name).is_none_or(|effects| effects.runs_python)
}
