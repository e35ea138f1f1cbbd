//! UG502: one buffer for all threads.

use super::{finding, is_used_elsewhere};
use crate::ast::{ExprKind, StmtId, StmtKind, Storage, walk_stmt};
use crate::ast::{Name, Tree, TypeKind, Visitor};
use crate::declare_rule;
use crate::edit::{Confidence, Fix};
use crate::facts::{Claim, Fact, Subject};
use crate::rule::{Finding, Outcome, PackageCx};
use crate::source::{ByteSpan, FileId};
use crate::state::{Kind, Variable, inventory};

declare_rule! {
    /// ## What it does
    /// Finds static arrays of characters and numbers that functions write after import and read
    /// again: scratch buffers, and tables that are filled on first use.
    ///
    /// ## Why
    /// All threads share the buffer. While one thread reads what it wrote, another may overwrite it.
    ///
    /// ## Example
    /// ```c
    /// static char name[64];
    /// snprintf(name, sizeof(name), "item %d", n);
    /// ```
    /// becomes
    /// ```c
    /// static _Thread_local char name[64];
    /// snprintf(name, sizeof(name), "item %d", n);
    /// ```
    ///
    /// ## Confidence
    /// `review`: the compiler must support `_Thread_local` of C11, and no code may pass the buffer to
    /// another thread. If the buffer does not leave the function, a variable without `static` may be
    /// the better repair.
    ///
    /// ## Limits
    /// | limit | what happens then | sample | what to do |
    /// |---|---|---|---|
    /// | The array does not hold characters: all threads may be meant to see its values | manual | `static int table[256];` | Make it local, if the values serve one call only. |
    /// | It is filled under a test of another static variable | manual | `if (!ready) { fill(table); ready = 1; }` | Fill it when the module is initialised. |
    /// | It is written while the module is made, or other functions use it | manual | `static char name[64];` used by two functions | Pass a buffer of the caller. |
    pub static STATIC_BUFFER {
        code: "UG502",
        name: "static-buffer",
        summary: "a static buffer is written and read by all threads",
        severity: Race,
        since: "0.1.0",
        best: Some(Confidence::Review),
        triggers: &[],
        check: check,
    }
}

fn check(cx: &PackageCx<'_>, findings: &mut Vec<Finding>) {
    for variable in inventory(cx).iter().filter(|v| !v.late.is_empty()) {
        if Kind::of(cx, variable) != Kind::Buffer {
            continue;
        }
        let name = &variable.name;
        let message = format!(
            "all threads write and read the array `{name}`; one may read what another has written"
        );
        let outcome = match fix(cx, variable) {
            Ok(fix) => Outcome::Fix(fix),
            Err(why) => Outcome::Manual(format!(
                "use a local array or one that the caller passes; if all threads need its values, \
                 hold a `PyMutex` from the first write to the last read; if its values never \
                 change, fill it during module initialisation (no automatic fix, because {why})"
            )),
        };
        findings.push(finding(cx, &STATIC_BUFFER, variable, message, outcome));
    }
}

fn fix(cx: &PackageCx<'_>, variable: &Variable) -> Result<Fix, &'static str> {
    if !holds_characters(variable) {
        return Err("all threads may be meant to see its values");
    }
    if !variable.early.is_empty() {
        return Err("it is also filled during module initialisation");
    }
    if is_used_elsewhere(cx, variable) || variable.local.is_none() {
        return Err("other functions use it");
    }
    if is_filled_once(cx, variable) {
        return Err("it is filled only if another variable says so");
    }
    let (file, at) = storage_class(cx, variable).ok_or("its declaration comes from a macro")?;
    let mut fix = Fix::safe(format!("give each thread its own `{}`", variable.name));
    fix.insert(file, at.end(), " _Thread_local");
    fix.assume(Fact::new(Claim::HasThreadLocal, Subject::project()));
    fix.assume(Fact::new(Claim::StaysInThread, variable.subject(cx)));
    Ok(fix)
}

fn holds_characters(variable: &Variable) -> bool {
    let element = match &variable.ty.kind {
        TypeKind::Array(element, _) => element.name(),
        _ => None,
    };
    element.is_some_and(|name| {
        name.ends_with("char") || matches!(name, "wchar_t" | "Py_UCS1" | "Py_UCS2" | "Py_UCS4")
    })
}

/// Whether some write stands in the branch of an `if` that looks at another static variable:
///
/// ```c
/// if (!ready) { fill(table); ready = 1; }
/// ```
fn is_filled_once(cx: &PackageCx<'_>, variable: &Variable) -> bool {
    variable.late.iter().any(|write| {
        let Some(function) = cx.function(write.item) else {
            return true;
        };
        let mut finder = StaticTests {
            at: function.tree.expr(write.expr).range.start,
            found: false,
        };
        finder.visit_stmt(&function.tree, function.body);
        finder.found
    })
}

struct StaticTests {
    at: u32,
    found: bool,
}

impl Visitor for StaticTests {
    fn visit_stmt(&mut self, tree: &Tree, id: StmtId) {
        if let StmtKind::If { cond, then, .. } = &tree.stmt(id).kind {
            let then = tree.stmt(*then).range;
            let inside = then.start <= self.at && self.at < then.end;
            self.found |= inside && names_static(tree, *cond);
        }
        walk_stmt(self, tree, id);
    }
}

fn names_static(tree: &Tree, cond: crate::ast::ExprId) -> bool {
    let range = tree.expr(cond).range;
    tree.exprs_in(range).any(|(_, expr)| match &expr.kind {
        ExprKind::Name(Name::Local(local)) => tree.local(*local).storage == Storage::Static,
        ExprKind::Name(Name::Global(name)) => name.chars().any(|c| c.is_ascii_lowercase()),
        _ => false,
    })
}

/// The word `static` of the declaration, if it declares nothing else.
fn storage_class(cx: &PackageCx<'_>, variable: &Variable) -> Option<(FileId, ByteSpan)> {
    let function = cx.function(variable.item)?;
    let decl = function.tree.local(variable.local?).decl?;
    let StmtKind::Decl(decls) = &function.tree.stmt(decl).kind else {
        return None;
    };
    let (file, span) = cx.stmt_span(variable.item, decl)?;
    let starts = cx.file(file).slice(span).starts_with(b"static");
    let at = span.start().0;
    (decls.len() == 1 && starts).then(|| (file, ByteSpan::new(at, at + 6)))
}
