//! Makes the value of a static pointer without a lock, and stores it under a mutex if nobody was
//! faster: code that runs Python code, or waits, must not hold a mutex meanwhile.

use super::branch::Branch;
use super::fill::is_variable;
use super::guard::assume_filled;
use super::site::{Site, runs_python};
use crate::ast::{ExprKind, Init, LocalDecl, StmtId, StmtKind, TokenRange, Tree, TypeKind};
use crate::edit::{BraceStyle, Edit, Fix, Layout, Need};
use crate::rule::PackageCx;
use crate::source::ByteSpan;
use crate::state::Variable;

/// Calls that give the same object each time, so that of two results one may be dropped, and those
/// that clean up or report behind them.
const REPEATABLE: &[&str] = &[
    "PyImport_ImportModule",
    "PyImport_Import",
    "PyObject_GetAttrString",
    "PyObject_GetAttr",
    "PyErr_Clear",
    "PyErr_Format",
    "PyErr_SetString",
    "Py_CLEAR",
    "Py_DECREF",
    "Py_XDECREF",
];

/// The fix, or why there is none.
pub(super) fn fix(
    cx: &PackageCx<'_>,
    variable: &Variable,
    site: &Site<'_>,
) -> Result<Fix, &'static str> {
    let publish = Publish::new(cx, variable, site)?;
    let name = &variable.name;
    let mut fix = Fix::safe(format!(
        "make the value of `{name}` first, and store it under a mutex"
    ));
    fix.edits = publish.edits(cx)?;
    let sort = |edits: &mut Vec<Edit>| edits.sort_by_key(Edit::place);
    sort(&mut fix.edits);
    fix.edits.extend(publish.layout.realign(&fix.edits));
    sort(&mut fix.edits);
    for function in ["PyMutex", publish.new_ref()] {
        fix.needs.push(Need::Compat {
            file: site.file,
            function,
        });
    }
    let branch = site.function.tree.stmt(site.then).range;
    let is_met = |callee: &str| runs_python(cx, callee) && !REPEATABLE.contains(&callee);
    if let Some(callee) = site.call_in(branch, is_met) {
        fix.assume(format!(
            "two threads may call `{callee}` at the same time, and one result may be dropped"
        ));
    }
    if !publish.branch.is_tested {
        // new_cls = PyObject_GetAttrString(…);     /* NULL here, and `cls` is another thread's */
        // return cls;                             /* with an exception */
        fix.assume(format!(
            "two threads do not make `{name}` at the same time with one of them failing (that one \
             would return the value of the other with its own exception set)"
        ));
    }
    assume_filled(cx, variable, site, &mut fix);
    Ok(fix)
}

struct Publish<'s, 'a> {
    variable: &'s Variable,
    site: &'s Site<'a>,
    layout: Layout<'a>,
    mutex: String,
    /// The local that holds the value until it is stored.
    local: String,
    /// The statements of the branch.
    stmts: &'s [StmtId],
    branch: Branch,
}

impl<'s, 'a> Publish<'s, 'a> {
    fn new(
        cx: &PackageCx<'a>,
        variable: &'s Variable,
        site: &'s Site<'a>,
    ) -> Result<Self, &'static str> {
        if !matches!(&variable.ty.kind, TypeKind::Pointer(to) if to.name() == Some("PyObject")) {
            return Err("it is not a pointer to an object");
        }
        if site.is_of_several() {
            return Err("the test checks more than whether it is empty");
        }
        let text = cx.file(site.file).slice(site.span);
        if memchr::memmem::find(text, b"\n#").is_some() {
            return Err("the branch contains an `#if`");
        }
        let tree = &site.function.tree;
        let stmts = match &tree.stmt(site.then).kind {
            StmtKind::Block(stmts) => stmts.as_slice(),
            _ => std::slice::from_ref(&site.then),
        };
        let local = format!("new_{}", variable.name.trim_start_matches('_'));
        if !site.is_free(cx, &local) {
            return Err("there is no unused name for a local variable");
        }
        Ok(Self {
            variable,
            site,
            layout: site.layout(cx),
            mutex: site.mutex_name(cx, variable)?,
            local,
            stmts,
            branch: Branch::read(tree, site.then, variable)?,
        })
    }

    /// The function that keeps the reference of the local: the value may be `NULL` where nobody
    /// asks.
    fn new_ref(&self) -> &'static str {
        if self.branch.is_tested {
            "Py_NewRef"
        } else {
            "Py_XNewRef"
        }
    }

    fn edits(&self, cx: &PackageCx<'_>) -> Result<Vec<Edit>, &'static str> {
        let lock = format!("PyMutex_Lock(&{});", self.mutex);
        let unlock = format!("PyMutex_Unlock(&{});", self.mutex);
        let mutex = self
            .site
            .declare_mutex(cx, self.variable, &self.layout, &self.mutex)?;
        let mut edits = vec![mutex, self.declare(cx)?];
        edits.extend(self.renamed(cx)?);
        edits.extend(self.inside(cx, &lock, &unlock)?);
        let release = format!("Py_XDECREF({});", self.local);
        edits.extend(
            self.layout
                .surround(self.site.span, &[&lock], &[&unlock, &release]),
        );
        Ok(edits)
    }

    /// The local, at the top of the block around the test.
    fn declare(&self, cx: &PackageCx<'_>) -> Result<Edit, &'static str> {
        let tree = &self.site.function.tree;
        let jumps_in = "a label stands before it";
        let before = tree.stmt(self.site.stmt).range.start;
        if tree
            .stmts
            .iter()
            .any(|stmt| is_label(&stmt.kind) && stmt.range.start < before)
        {
            return Err(jumps_in);
        }
        let stmts = block_around(tree, self.site.stmt).ok_or("it is not in a block")?;
        let is_decl = |stmt: &&StmtId| matches!(tree.stmt(**stmt).kind, StmtKind::Decl(_));
        let last = stmts.iter().take_while(is_decl).last();
        let first = stmts.first().ok_or("it is not in a block")?;
        let (_, span) = cx
            .stmt_span(self.site.item, *last.unwrap_or(first))
            .ok_or("a macro makes the top of its block")?;
        let line = format!(
            "{}{} = NULL;",
            self.layout.pointer("PyObject *"),
            self.local
        );
        Ok(match last {
            Some(_) => self.layout.declare_after(span, &[&line]),
            None => self.layout.declare_before(span, &[&line]),
        })
    }

    /// The local in place of the variable, wherever the branch names it.
    fn renamed(&self, cx: &PackageCx<'_>) -> Result<Vec<Edit>, &'static str> {
        let tree = &self.site.function.tree;
        let names = self.site.exprs_in(tree.stmt(self.site.then).range);
        let names = names.filter(|&id| {
            matches!(tree.expr(id).kind, ExprKind::Name(_)) && is_variable(tree, id, self.variable)
        });
        names
            .map(|id| {
                let (file, span) = cx.span(self.site.item, id).ok_or("a macro uses it")?;
                let text = self.local.clone().into_bytes();
                Ok(Edit::new(file, span, text))
            })
            .collect()
    }

    /// What stands at both ends of the branch: the mutex is free in between.
    fn inside(
        &self,
        cx: &PackageCx<'_>,
        lock: &str,
        unlock: &str,
    ) -> Result<Vec<Edit>, &'static str> {
        let tree = &self.site.function.tree;
        let span = |stmt: StmtId| {
            let found = cx.stmt_span(self.site.item, stmt).ok_or("a macro fills it");
            found.map(|(_, span)| span)
        };
        let stored = self.stored(cx);
        let mut behind = vec![lock];
        behind.extend(stored.iter().map(String::as_str));
        let is_decl = |stmt: &&StmtId| matches!(tree.stmt(**stmt).kind, StmtKind::Decl(_));
        let leading = self.stmts.iter().take_while(is_decl).count();
        let (declared, work) = self.stmts.split_at(leading);
        let (Some(&first), Some(&last)) = (work.first(), work.last()) else {
            return Err("the branch contains only declarations");
        };
        let (first, last) = (span(first)?, span(last)?);
        let split = self.split(cx, declared, unlock)?;
        let mut edits = Vec::new();
        match split {
            Some(edit) => edits.push(edit),
            None if first == last => return Ok(self.layout.surround(first, &[unlock], &behind)),
            None => edits.extend(self.layout.insert_before(first, &[unlock])),
        }
        edits.extend(self.layout.insert_after(last, &behind));
        Ok(edits)
    }

    /// `PyObject *m = PyImport_ImportModule("m");` as a declaration and, with the mutex free, an
    /// assignment; `None` if the declarations do nothing that takes long.
    fn split(
        &self,
        cx: &PackageCx<'_>,
        declared: &[StmtId],
        unlock: &str,
    ) -> Result<Option<Edit>, &'static str> {
        let tree = &self.site.function.tree;
        let calls = |stmt: &StmtId| {
            let range = tree.stmt(*stmt).range;
            self.site
                .call_in(range, |name| runs_python(cx, name))
                .is_some()
        };
        let Some(at) = declared.iter().position(calls) else {
            return Ok(None);
        };
        let too_many = "the branch has declarations after a call";
        let StmtKind::Decl(decls) = &tree.stmt(declared[at]).kind else {
            return Err(too_many);
        };
        let [
            LocalDecl {
                local,
                init: Some(Init::Expr(value)),
                ..
            },
        ] = decls.as_slice()
        else {
            return Err(too_many);
        };
        if at + 1 < declared.len() {
            return Err(too_many);
        }
        let tokens = &cx.item(self.site.item).tokens;
        let name = tokens.file_span(tree.local(*local).name_range);
        let (Some((file, name)), Some((_, value))) = (name, cx.span(self.site.item, *value)) else {
            return Err("a macro declares what the branch uses");
        };
        let blanks = String::from_utf8_lossy(self.layout.indentation(name.start()));
        let ending = self.layout.line_ending(name.start());
        let word = &tree.local(*local).name;
        let text = format!(";{ending}{blanks}{unlock}{ending}{blanks}{word} = ");
        Ok(Some(Edit::new(
            file,
            ByteSpan::new(name.end().0, value.start().0),
            text.into_bytes(),
        )))
    }

    /// How much deeper the branch stands than its test.
    fn step(&self, cx: &PackageCx<'_>) -> String {
        let outer = self.layout.indentation(self.site.span.start());
        let first = self.stmts.first();
        let inner = first.and_then(|&stmt| cx.stmt_span(self.site.item, stmt));
        let inner = inner.map(|(_, span)| self.layout.indentation(span.start()));
        let step = inner.and_then(|inner| inner.strip_prefix(outer));
        let step = step.filter(|step| !step.is_empty());
        let usual = || self.layout.step().deeper(b"");
        String::from_utf8_lossy(&step.map_or_else(usual, <[u8]>::to_vec)).into_owned()
    }

    /// `if (x == NULL) x = Py_NewRef(new_x);` with braces where the branch has some.
    fn stored(&self, cx: &PackageCx<'_>) -> Vec<String> {
        let tree = &self.site.function.tree;
        let name = &self.variable.name;
        let cond = self.site.condition(cx);
        let head = format!("if ({})", cond.unwrap_or_else(|| format!("{name} == NULL")));
        let step = self.step(cx);
        let assignment = format!("{name} = {}({});", self.new_ref(), self.local);
        if !matches!(tree.stmt(self.site.then).kind, StmtKind::Block(_)) {
            return vec![head, format!("{step}{assignment}")];
        }
        match self.layout.braces() {
            BraceStyle::SameLine => {
                vec![
                    format!("{head} {{"),
                    format!("{step}{assignment}"),
                    "}".to_owned(),
                ]
            }
            BraceStyle::NextLine => {
                vec![
                    head,
                    "{".to_owned(),
                    format!("{step}{assignment}"),
                    "}".to_owned(),
                ]
            }
            // A brace of its own would stand deeper than its statement.
            BraceStyle::Indented => vec![head, format!("{step}{assignment}")],
        }
    }
}

fn is_label(kind: &StmtKind) -> bool {
    matches!(
        kind,
        StmtKind::Label { .. } | StmtKind::Case { .. } | StmtKind::Default { .. }
    )
}

/// The statements of the innermost block around `stmt`.
fn block_around(tree: &Tree, stmt: StmtId) -> Option<&[StmtId]> {
    let inner = tree.stmt(stmt).range;
    let holds = |range: TokenRange| range.start < inner.start && inner.end < range.end;
    let blocks = tree.stmts.iter().filter_map(|outer| match &outer.kind {
        StmtKind::Block(stmts) if holds(outer.range) => Some((outer.range, stmts.as_slice())),
        _ => None,
    });
    blocks
        .min_by_key(|(range, _)| range.end - range.start)
        .map(|(_, stmts)| stmts)
}
