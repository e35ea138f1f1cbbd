//! The calls in one function, and the edits that put others in their place.

use crate::ast::{ExprId, Function, StmtId, StmtKind};
use crate::capi::Sibling;
use crate::edit::{Fix, replacing};
use crate::lex::open_branches;
use crate::rule::{ItemId, PackageCx};
use crate::source::{ByteSpan, FileId};

/// The calls of `name` in a function, in one configuration.
pub(super) struct Calls<'a> {
    pub(super) cx: &'a PackageCx<'a>,
    pub(super) name: &'static str,
    pub(super) item: ItemId,
    pub(super) function: &'a Function,
    pub(super) exprs: Vec<ExprId>,
}

impl<'a> Calls<'a> {
    pub(super) fn new(
        cx: &'a PackageCx<'_>,
        name: &'static str,
        item: ItemId,
        exprs: &[ExprId],
    ) -> Option<Self> {
        Some(Self {
            cx,
            name,
            item,
            function: cx.function(item)?,
            exprs: exprs.to_vec(),
        })
    }

    /// A fix that calls `sibling`, with a variable at the top of the function.
    pub(super) fn renamed(&self, sibling: Sibling) -> Result<Fix, String> {
        let (cx, tree) = (self.cx, &self.function.tree);
        let by_macro = "a macro makes a part of the call";
        // `struct tm *my_gmtime_r(…) { struct tm *tm = gmtime(…); … }`
        if self.function.name.contains(sibling.name) || cx.is_macro(sibling.name) {
            return Err(format!("the package has its own `{}`", sibling.name));
        }
        let variable = self
            .free_name(sibling)
            .ok_or("there is no unused name for a variable")?;
        let mut fix = Fix::safe(replacing(
            "call the reentrant function",
            [(self.name, sibling.name)],
        ));
        let (file, declaration) = self.declaration(sibling, &variable)?;
        fix.edits.push(declaration);
        for &call in &self.exprs {
            let (callee, _) = cx.call(crate::rule::CallSite {
                item: self.item,
                expr: call,
            });
            let (of_call, span) = cx.span(self.item, call).ok_or(by_macro)?;
            let (_, name) = cx
                .span(self.item, tree.without_casts(callee))
                .ok_or(by_macro)?;
            let source = cx.file(file);
            if of_call != file
                || !source.slice(span).ends_with(b")")
                || source.slice(name) != self.name.as_bytes()
            {
                return Err(by_macro.into());
            }
            fix.replace(file, name, sibling.name);
            let close = crate::source::ByteOffset(span.end().0 - 1);
            fix.insert(file, close, format!(", &{variable}"));
        }
        Ok(fix)
    }

    /// The variable, behind the declarations at the top of the function that end in front of all
    /// calls.
    fn declaration(
        &self,
        sibling: Sibling,
        variable: &str,
    ) -> Result<(FileId, crate::edit::Edit), String> {
        let (cx, tree) = (self.cx, &self.function.tree);
        let StmtKind::Block(stmts) = &tree.stmt(self.function.body).kind else {
            return Err("the function has no body".into());
        };
        let first_call = self.exprs.iter().map(|&it| tree.expr(it).range.start).min();
        let is_above = |stmt: &&StmtId| {
            let stmt = tree.stmt(**stmt);
            let ends = first_call.is_none_or(|call| stmt.range.end <= call);
            matches!(stmt.kind, StmtKind::Decl(_)) && ends
        };
        let last = stmts.iter().take_while(is_above).last();
        let first = stmts.first().ok_or("the function has no body")?;
        let from_macro = "a macro makes the top of the function";
        let (file, span) = cx
            .stmt_span(self.item, *last.unwrap_or(first))
            .ok_or(from_macro)?;
        let (_, body) = cx
            .stmt_span(self.item, self.function.body)
            .ok_or(from_macro)?;
        let above = ByteSpan::new(body.start().0, span.end().0);
        let tokens = cx.program.index[file.index()].tokens();
        if open_branches(cx.file(file).bytes(), tokens, above) != Some(0) {
            return Err("the declarations at the top are in an `#if`".into());
        }
        let line = format!(
            "{};",
            sibling.variable.replace(sibling.variable_name(), variable)
        );
        let layout = cx.layout(file, cx.item(self.item).place.1);
        let edit = match last {
            Some(_) => layout.declare_after(span, &[&line]),
            None => layout.declare_before(span, &[&line]),
        };
        Ok((file, edit))
    }

    /// A name for the variable that no text of the file holds.
    fn free_name(&self, sibling: Sibling) -> Option<String> {
        let (file, _) = self.cx.item(self.item).place;
        let bytes = self.cx.file(file).bytes();
        let name = sibling.variable_name();
        let mut names = [name.to_owned(), format!("{}_{name}", self.name)].into_iter();
        names.find(|name| {
            memchr::memmem::find(bytes, name.as_bytes()).is_none() && !self.cx.is_macro(name)
        })
    }
}
