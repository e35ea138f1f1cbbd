//! Puts a mutex around the test and the assignment that fill a static pointer.

use super::fill::{Fill, is_emptied};
use super::is_used_elsewhere;
use super::site::{Site, runs_python};
use crate::ast::{ExprId, ExprKind};
use crate::edit::{Edit, Fix, Layout, Need};
use crate::facts::{Claim, Fact};
use crate::rule::PackageCx;
use crate::source::ByteSpan;
use crate::state::Variable;

/// The fix, or why there is none.
pub(super) fn fix(
    cx: &PackageCx<'_>,
    variable: &Variable,
    site: &Site<'_>,
) -> Result<Fix, &'static str> {
    let guard = Guard::new(cx, variable, site)?;
    let mutex = site.mutex_name(cx, variable)?;
    let layout = site.layout(cx);
    let mut fix = Fix::safe(match site.is_of_several() {
        true => "fill the variables under a mutex".to_owned(),
        false => format!("fill `{}` under a mutex", variable.name),
    });
    fix.edits = vec![site.declare_mutex(cx, variable, &layout, &mutex)?];
    fix.edits.extend(guard.edits(cx, &layout, &mutex)?);
    fix.edits.sort_by_key(Edit::place);
    fix.needs.push(Need::Compat {
        file: site.file,
        function: "PyMutex",
    });
    if let Some(callee) = guard.runs_python(cx) {
        fix.assume(format!(
            "nothing that `{callee}` runs calls `{}` again (it would wait for its own mutex)",
            site.function.name
        ));
    }
    assume_filled(cx, variable, site, &mut fix);
    Ok(fix)
}

/// Whether code that may run Python code would run under the mutex.
pub(super) fn waits(cx: &PackageCx<'_>, variable: &Variable, site: &Site<'_>) -> bool {
    Guard::new(cx, variable, site).is_ok_and(|guard| guard.runs_python(cx).is_some())
}

/// What is assumed of code that reads the variable without the mutex.
pub(super) fn assume_filled(
    cx: &PackageCx<'_>,
    variable: &Variable,
    site: &Site<'_>,
    fix: &mut Fix,
) {
    if is_used_elsewhere(cx, variable) || site.is_read_before(variable) {
        fix.assume(Fact::new(Claim::FilledBefore, variable.subject(cx)));
    }
}

struct Guard<'s, 'a> {
    site: &'s Site<'a>,
    /// The statement that holds `x = value`.
    filled: ByteSpan,
    fill: Fill,
}

impl<'s, 'a> Guard<'s, 'a> {
    fn new(
        cx: &PackageCx<'_>,
        variable: &Variable,
        site: &'s Site<'a>,
    ) -> Result<Self, &'static str> {
        let tree = &site.function.tree;
        let fill = Fill::read(tree, site.then, site.lazy.write, variable)
            .ok_or("the branch does more than fill it and leave on failure")?;
        let is_emptied = is_emptied(tree, site.then, variable);
        if is_emptied && !matches!(fill, Fill::Closed(_)) {
            return Err("the branch sets it back to `NULL`");
        }
        let filled = cx.stmt_span(site.item, fill.stmt());
        let (_, filled) = filled.ok_or("a macro fills it")?;
        Ok(Self { site, filled, fill })
    }

    /// The first function that is called under the mutex and may run Python code.
    fn runs_python(&self, cx: &PackageCx<'_>) -> Option<String> {
        let tree = &self.site.function.tree;
        let made = match self.fill {
            Fill::Several(_) | Fill::SeveralChecked(_) | Fill::Closed(_) => {
                tree.stmt(self.site.then).range
            }
            _ => tree.expr(self.site.lazy.value).range,
        };
        self.site.call_in(made, |name| runs_python(cx, name))
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
        if matches!(
            self.fill,
            Fill::Plain(_) | Fill::Several(_) | Fill::Closed(_)
        ) {
            return Ok(layout.surround(self.site.span, &[&lock], &[&unlock]));
        }
        if layout.braceless_head(self.site.span).is_some() {
            return Err("the branch is part of another one without braces");
        }
        let mut edits = layout.insert_before(self.site.span, &[&lock]);
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
        let ExprKind::Assign { lhs, .. } = self.site.function.tree.expr(assignment).kind else {
            return Err(macros);
        };
        let span = |expr| {
            let found = cx.span(self.site.item, expr).ok_or(macros);
            found.map(|(_, span)| span)
        };
        let (whole, name, cond) = (span(assignment)?, span(lhs)?, span(cond)?);
        let file = cx.file(self.site.file);
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
        let outer = layout.indentation(self.site.span.start());
        let inner = layout.indentation(self.filled.start());
        let ending = layout.line_ending(self.site.span.start());
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
            Edit::new(
                self.site.file,
                self.filled,
                [file.slice(whole), b";"].concat(),
            ),
            Edit::new(self.site.file, ByteSpan::empty(self.site.span.end()), check),
        ])
    }

    /// Closes the branch behind the assignment, and takes what followed there out of it.
    fn move_check(&self, layout: &Layout<'_>, unlock: &str) -> Result<Edit, &'static str> {
        let outer = layout.indentation(self.site.span.start());
        let inner = layout.indentation(self.filled.start());
        let ending = layout.line_ending(self.site.span.start());
        // Without the brace that ends the branch.
        let rest = ByteSpan::new(self.filled.end().0, self.site.span.end().0 - 1);
        let text = layout.text_of(rest);
        let line_end = memchr::memchr(b'\n', text).ok_or("the branch is on one line")?;
        let (comment, moved) = text.split_at(line_end);
        if memchr::memchr(b';', comment).is_some() {
            return Err("the branch is on one line");
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
        Ok(Edit::new(
            self.site.file,
            ByteSpan::new(rest.start().0, self.site.span.end().0),
            new,
        ))
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
