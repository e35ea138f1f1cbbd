//! Puts a mutex around the test and the assignment that fill a static pointer.

use super::fill::{Fill, is_empty_test, is_variable};
use super::{is_used_elsewhere, text_at};
use crate::ast::{ExprId, ExprKind, Function, StmtKind, TokenRange};
use crate::capi::effects;
use crate::edit::{Edit, Fix, Layout, Need};
use crate::modules::uses_limited_api;
use crate::program::Body;
use crate::rule::{ItemId, PackageCx};
use crate::source::{ByteSpan, FileId};
use crate::state::{Lazy, Variable};

/// The fix, or why there is none.
pub(super) fn fix(
    cx: &PackageCx<'_>,
    variable: &Variable,
    lazies: &[Lazy],
) -> Result<Fix, &'static str> {
    let site = Site::new(cx, variable, lazies)?;
    if uses_limited_api(cx) {
        return Err("the limited API has no `PyMutex`");
    }
    let mutex = mutex_name(cx, site.file, &variable.name).ok_or("no name is free for a mutex")?;
    let layout = cx.layout(site.file, cx.item(site.item).place.1);
    let mut fix = Fix::safe(format!("fill `{}` under a mutex", variable.name));
    fix.edits = declaration(cx, variable, &site, &layout, &mutex)?;
    fix.edits.extend(site.edits(cx, &layout, &mutex)?);
    fix.edits.sort_by_key(|edit| (edit.file, edit.span));
    fix.needs.push(Need::Compat {
        file: site.file,
        function: "PyMutex",
    });
    let name = &variable.name;
    if let Some(callee) = site.runs_python(cx) {
        fix.assume(format!(
            "nothing that `{callee}` runs comes back to `{}`: it would wait for its own mutex",
            site.function.name
        ));
    }
    if is_used_elsewhere(cx, variable) || site.is_read_before(variable) {
        fix.assume(format!(
            "where `{name}` is read without the mutex, it was filled before"
        ));
    }
    Ok(fix)
}

/// The one place that fills the variable.
struct Site<'a> {
    item: ItemId,
    function: &'a Function,
    file: FileId,
    /// `if (x == NULL)` with its branch.
    test: ByteSpan,
    first_token: u32,
    /// The statement that holds `x = value`.
    filled: ByteSpan,
    /// What is evaluated under the mutex.
    made: TokenRange,
    fill: Fill,
}

impl<'a> Site<'a> {
    fn new(cx: &PackageCx<'a>, variable: &Variable, lazies: &[Lazy]) -> Result<Self, &'static str> {
        let mut places: Vec<_> = variable
            .late
            .iter()
            .map(|write| text_at(cx, write))
            .collect();
        places.dedup();
        let (Some(lazy), 1) = (lazies.first(), places.len()) else {
            return Err("several places write it");
        };
        let item = variable.late[0].item;
        let function = cx.function(item).ok_or("its function was not understood")?;
        let tree = &function.tree;
        let test = lazy.test.ok_or("it is filled behind a return")?;
        let StmtKind::If {
            cond,
            then,
            otherwise: None,
        } = tree.stmt(test).kind
        else {
            return Err("the branch has an `else`");
        };
        if !is_empty_test(tree, cond, variable) {
            return Err("the test asks for more than whether it is empty");
        }
        let fill = Fill::read(tree, then, lazy.write, variable)
            .ok_or("the branch does more than fill it and leave if that failed")?;
        let made = match fill {
            Fill::Several(_) => tree.stmt(then).range,
            _ => tree.expr(lazy.value).range,
        };
        let span = |stmt| cx.stmt_span(item, stmt).ok_or("a macro fills it");
        let (file, test_span) = span(test)?;
        Ok(Self {
            item,
            function,
            file,
            test: test_span,
            first_token: tree.stmt(test).range.start,
            filled: span(fill.stmt())?.1,
            made,
            fill,
        })
    }

    /// The lock around the test; what leaves the function goes behind it.
    fn edits(
        &self,
        cx: &PackageCx<'_>,
        layout: &Layout<'_>,
        mutex: &str,
    ) -> Result<Vec<Edit>, &'static str> {
        let lock = format!("PyMutex_Lock(&{mutex});");
        let unlock = format!("PyMutex_Unlock(&{mutex});");
        if matches!(self.fill, Fill::Plain(_) | Fill::Several(_)) {
            return Ok(layout.surround(self.test, &[&lock], &[&unlock]));
        }
        if layout.braceless_head(self.test).is_some() {
            return Err("the branch is part of another one without braces");
        }
        let mut edits = layout.insert_before(self.test, &[&lock]);
        match self.fill {
            Fill::Tested {
                assignment, cond, ..
            } => edits.extend(self.take_out(cx, layout, assignment, cond, &unlock)?),
            _ => edits.push(self.move_check(layout, &unlock)?),
        }
        Ok(edits)
    }

    /// Leaves the assignment of `if ((x = value) == NULL) …` in the branch, and puts the test of
    /// its result behind the mutex.
    fn take_out(
        &self,
        cx: &PackageCx<'_>,
        layout: &Layout<'_>,
        assignment: ExprId,
        cond: ExprId,
        unlock: &str,
    ) -> Result<[Edit; 2], &'static str> {
        let macros = "a macro fills it";
        let ExprKind::Assign { lhs, .. } = self.function.tree.expr(assignment).kind else {
            return Err(macros);
        };
        let span = |expr| {
            let found = cx.span(self.item, expr).ok_or(macros);
            found.map(|(_, span)| span)
        };
        let (whole, name, cond) = (span(assignment)?, span(lhs)?, span(cond)?);
        let file = cx.file(self.file);
        // `(x = value) == NULL` without the assignment and its parentheses.
        let (before, after) = (
            ByteSpan::new(cond.start().0, whole.start().0),
            ByteSpan::new(whole.end().0, cond.end().0),
        );
        let before = file.text(before).into_owned();
        let after = file.text(after).into_owned();
        let before = before.trim_end().strip_suffix('(').unwrap_or(&before);
        let after = after.trim_start().strip_prefix(')').unwrap_or(&after);
        let name = file.text(name);
        let rest = ByteSpan::new(cond.end().0, self.filled.end().0);
        let outer = layout.indentation(self.test.start());
        let inner = layout.indentation(self.filled.start());
        let ending = layout.line_ending(self.test.start());
        let mut check = [
            ending.as_bytes(),
            outer,
            unlock.as_bytes(),
            ending.as_bytes(),
            outer,
        ]
        .concat();
        check.extend(format!("{}{before}{name}{after}", layout.if_open()).bytes());
        check.extend(moved(layout.text_of(rest), inner, outer));
        Ok([
            Edit {
                file: self.file,
                span: self.filled,
                text: [file.slice(whole), b";"].concat(),
            },
            Edit {
                file: self.file,
                span: ByteSpan::empty(self.test.end()),
                text: check,
            },
        ])
    }

    /// Closes the branch behind the assignment, and takes what followed there out of it.
    fn move_check(&self, layout: &Layout<'_>, unlock: &str) -> Result<Edit, &'static str> {
        let outer = layout.indentation(self.test.start());
        let inner = layout.indentation(self.filled.start());
        let ending = layout.line_ending(self.test.start());
        // Without the brace that ends the branch.
        let rest = ByteSpan::new(self.filled.end().0, self.test.end().0 - 1);
        let text = layout.text_of(rest);
        let line_end = memchr::memchr(b'\n', text).ok_or("the branch stands on one line")?;
        let (comment, moved) = text.split_at(line_end);
        if memchr::memchr(b';', comment).is_some() {
            return Err("the branch stands on one line");
        }
        let mut new = comment.trim_ascii_end().to_vec();
        for line in [&b"}"[..], unlock.as_bytes()] {
            new.extend([ending.as_bytes(), outer, line].concat());
        }
        for line in moved.trim_ascii_end().split(|&byte| byte == b'\n').skip(1) {
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            new.extend(ending.as_bytes());
            match line.strip_prefix(inner) {
                Some(deeper) => new.extend([outer, deeper].concat()),
                None => new.extend(line),
            }
        }
        Ok(Edit {
            file: self.file,
            span: ByteSpan::new(rest.start().0, self.test.end().0),
            text: new,
        })
    }

    /// The first function that makes the value and may run Python code.
    fn runs_python(&self, cx: &PackageCx<'_>) -> Option<String> {
        let tree = &self.function.tree;
        let inside = |id: &ExprId| {
            let inner = tree.expr(*id).range;
            self.made.start <= inner.start && inner.end <= self.made.end
        };
        let mut all = (0u32..).map(ExprId).take(tree.exprs.len()).filter(inside);
        all.find_map(|id| match &tree.expr(id).kind {
            ExprKind::Call { callee, .. } => match tree.callee_name(*callee) {
                Some(name) => runs_python(cx, name).then(|| name.to_owned()),
                None => Some("the function".to_owned()),
            },
            // Statement expressions can do anything.
            ExprKind::Stmt(_) => Some("the block".to_owned()),
            _ => None,
        })
    }

    fn is_read_before(&self, variable: &Variable) -> bool {
        let tree = &self.function.tree;
        let mut before = (0u32..).map(ExprId).take(tree.exprs.len());
        before.any(|id| {
            tree.expr(id).range.start < self.first_token
                && matches!(tree.expr(id).kind, ExprKind::Name(_))
                && is_variable(tree, id, variable)
        })
    }
}

/// Lines with the indentation `outer` in place of `inner`; the first line is the rest of one.
fn moved(text: &[u8], inner: &[u8], outer: &[u8]) -> Vec<u8> {
    let mut lines = text.split(|&byte| byte == b'\n');
    let mut new = lines.next().unwrap_or_default().to_vec();
    for line in lines {
        new.push(b'\n');
        match line.strip_prefix(inner) {
            Some(deeper) => new.extend([outer, deeper].concat()),
            None => new.extend(line),
        }
    }
    new
}

/// Whether a call may run Python code, or is not known not to.
fn runs_python(cx: &PackageCx<'_>, name: &str) -> bool {
    const PLAIN: &[&str] = &["malloc", "calloc", "strdup", "getenv"];
    let is_own = cx.definitions(name).next().is_some();
    is_own || !PLAIN.contains(&name) && effects(name).is_none_or(|effects| effects.runs_python)
}

/// `static PyMutex x_mutex;` behind the declaration of the variable.
fn declaration(
    cx: &PackageCx<'_>,
    variable: &Variable,
    site: &Site<'_>,
    layout: &Layout<'_>,
    mutex: &str,
) -> Result<Vec<Edit>, &'static str> {
    let line = format!("static PyMutex {mutex};");
    let from_macro = "its declaration comes from a macro";
    let (file, span) = match (&cx.item(variable.item).body, variable.local) {
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
    if file != site.file || span.start() > site.test.start() {
        return Err("it is declared in another file");
    }
    Ok(layout.insert_after(span, &[&line]))
}

/// A name that no text of the file holds.
fn mutex_name(cx: &PackageCx<'_>, file: FileId, variable: &str) -> Option<String> {
    let bytes = cx.file(file).bytes();
    let names = ["_mutex", "_lock", "_guard"].map(|end| format!("{variable}{end}"));
    names
        .into_iter()
        .find(|name| memchr::memmem::find(bytes, name.as_bytes()).is_none())
}
