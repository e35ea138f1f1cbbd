//! Where new variables are declared, as C89 or the style of the function has it.

use super::Draft;
use super::around::Around;
use crate::ast::{Parent, StmtId, StmtKind};
use crate::source::{ByteOffset, ByteSpan};
use crate::strong::plan::Planned;
use crate::strong::reason::Reason;
use crate::strong::scene::Scene;

impl Draft<'_, '_> {
    /// Declares a variable in front of `stmt`, with a value if C89 allows it there. Gives the
    /// statement that assigns to it, or would, up to the value: `int n =`, `n =`.
    pub(in crate::strong) fn declare(&mut self, stmt: StmtId, prefix: &str, name: &str) -> String {
        if self.apart.contains(name) {
            return format!("{name} =");
        }
        let prefix = self.scene.layout.pointer(prefix);
        let labelled = self.scene.is_labelled(stmt);
        let alone = self.scene.siblings(stmt).is_none() && !labelled;
        let is_decl = matches!(self.scene.tree.stmt(stmt).kind, StmtKind::Decl(_));
        let only_declares = |around: &Around| around.before.iter().all(|line| declares(line));
        let starts_block =
            self.around.get(&stmt).is_none_or(only_declares) && (alone || self.begins_block(stmt));
        // Before C23 no declaration may follow a label.
        let mixes = self.scene.mixes_declarations() && !labelled;
        if is_decl || (starts_block || mixes) && !self.shared.contains(name) {
            return format!("{prefix}{name} =");
        }
        if alone {
            // It gets a block of its own, which begins with what stands in front of it.
            let before = &mut self.around.entry(stmt).or_default().before;
            let end = before.iter().take_while(|line| declares(line)).count();
            before.insert(end, format!("{prefix}{name};"));
        } else {
            self.declare_on_top(stmt, format!("{prefix}{name};"));
        }
        format!("{name} =")
    }

    /// Whether nothing stands in front of `stmt` in its block but what goes.
    fn begins_block(&self, stmt: StmtId) -> bool {
        let siblings = self.scene.siblings(stmt);
        siblings.is_some_and(|(stmts, at)| stmts[..at].iter().all(|it| self.gone.contains(it)))
            && is_always_around(self.scene, self.scene.parent_of_stmt(stmt), stmt)
    }

    /// Declares a variable of the whole function that holds what the lookups of `planned` give.
    ///
    /// # Errors
    /// A macro makes the first statement of the function.
    pub(in crate::strong) fn declare_apart(&mut self, planned: &Planned) -> Result<(), Reason> {
        let name = &planned.home.name;
        let body = &self.scene.tree.stmt(self.scene.function.body).kind;
        let first = match body {
            StmtKind::Block(stmts) => stmts.first().copied(),
            _ => None,
        };
        let first = first.filter(|&stmt| self.scene.stmt_span(stmt).is_some());
        let first = first.ok_or_else(|| Reason::InMacro("around it".to_owned()))?;
        let prefix = self.scene.layout.pointer("PyObject *");
        self.declare_on_top(first, format!("{prefix}{name} = NULL;"));
        self.apart.insert(name.clone());
        Ok(())
    }

    /// Declares a variable behind the declaration `stmt`.
    pub(in crate::strong) fn declare_behind(&mut self, stmt: StmtId, declaration: String) {
        self.around
            .entry(stmt)
            .or_default()
            .declared
            .push(declaration);
    }

    /// Adds a declaration to those at the top of the block of `stmt`, once.
    pub(in crate::strong) fn declare_on_top(&mut self, stmt: StmtId, declaration: String) {
        let stmts = block_around(self.scene, stmt);
        let brace = brace_before(self.scene, stmts);
        let last = last_declaration(self.scene, stmts);
        if let Some(stmt) = last.or(stmts.first().copied()) {
            let around = self.around.entry(stmt).or_default();
            around.brace = brace;
            let lines = match last {
                Some(_) => &mut around.declared,
                None => &mut around.on_top,
            };
            if !lines.contains(&declaration) {
                lines.push(declaration);
            }
        }
    }

    /// `PyObject *v;` turns into `PyObject *v = NULL;`.
    pub(in crate::strong) fn null_at_declaration(&mut self, planned: &Planned) {
        let local = planned.home.local.filter(|_| planned.decisions.starts_null);
        self.starts_null.extend(local);
        let end = local.and_then(|local| self.scene.undefined_at_declaration(local));
        let is_new = |end: &ByteOffset| {
            let mut edits = self.fix.edits.iter();
            !edits.any(|edit| edit.span == ByteSpan::new(end.0, end.0))
        };
        if let Some(end) = end.filter(is_new) {
            self.insert(end, " = NULL");
        }
    }
}

/// The statements of the innermost block around `stmt` that is no body of a `switch`: what stands
/// there in front of the first `case` is never reached. Nor is it one that others do not have, or that
/// a macro begins:
///
/// ```c
/// #define ENSURE_THREAD_STATE do { PyGILState_STATE state = PyGILState_Ensure();
/// ```
fn block_around<'a>(scene: &Scene<'a>, stmt: StmtId) -> &'a [StmtId] {
    let mut at = stmt;
    while let Some(parent) = scene.parent_of_stmt(at) {
        let parent = match parent {
            Parent::Stmt(parent) => parent,
            // `({ … })`
            Parent::Expr(expr) => match scene.stmt_of(expr) {
                Some(outer) => {
                    at = outer;
                    continue;
                }
                None => break,
            },
        };
        let is_switch = matches!(scene.parent_of_stmt(parent), Some(Parent::Stmt(outer))
            if matches!(scene.tree.stmt(outer).kind, StmtKind::Switch { .. }));
        match scene.siblings(at) {
            Some((stmts, _))
                if !is_switch
                    && begins_in_file(scene, stmts)
                    && is_always_around(scene, Some(Parent::Stmt(parent)), stmt) =>
            {
                return stmts;
            }
            _ => at = parent,
        }
    }
    &[]
}

/// Whether the text of the file has the place where a block of these statements declares variables.
fn begins_in_file(scene: &Scene<'_>, stmts: &[StmtId]) -> bool {
    let first = stmts.first().copied();
    let first = last_declaration(scene, stmts).or(first);
    first.is_some_and(|first| scene.stmt_span(first).is_some())
}

/// Where the brace ends that opens the block of the statements.
fn brace_before(scene: &Scene<'_>, stmts: &[StmtId]) -> Option<ByteOffset> {
    let Some(Parent::Stmt(block)) = scene.parent_of_stmt(*stmts.first()?) else {
        return None;
    };
    let start = scene.stmt_span(block)?.start();
    Some(ByteOffset(start.0 + 1)).filter(|end| scene.text(ByteSpan::new(start.0, end.0)) == "{")
}

/// Whether the block is there in all configurations that have the statement in it.
///
/// ```c
/// #ifdef HAVE_NUMPY
/// if (PyArray_Check(list)) { n = size(list); } else {
/// #endif
///     n = f(PyList_GetItem(list, i));
/// #ifdef HAVE_NUMPY
/// }
/// #endif
/// ```
fn is_always_around(scene: &Scene<'_>, block: Option<Parent>, stmt: StmtId) -> bool {
    let Some(Parent::Stmt(block)) = block else {
        return true;
    };
    let index = &scene.cx.program.index[scene.file.index()];
    let branches = |of| Some(index.branches_at(scene.stmt_span(of)?.start()));
    match (branches(block), branches(stmt)) {
        (Some(outer), Some(inner)) => inner.starts_with(&outer),
        _ => true,
    }
}

/// The last declaration at the top of a block that is there wherever the block is.
///
/// ```c
/// long options = 0;
/// #ifdef FEATURE_SSL
/// Py_ssize_t length = 0;            /* behind this one, others would not see what is declared */
/// #endif
/// ```
fn last_declaration(scene: &Scene<'_>, stmts: &[StmtId]) -> Option<StmtId> {
    let index = &scene.cx.program.index[scene.file.index()];
    let branch = |stmt| Some(index.branch_at(scene.stmt_span(stmt)?.start()));
    let block = match scene.parent_of_stmt(*stmts.first()?) {
        Some(Parent::Stmt(block)) => branch(block),
        _ => None,
    };
    let is_decl = |id: &&StmtId| matches!(scene.tree.stmt(**id).kind, StmtKind::Decl(_));
    let in_all = |id: &&StmtId| branch(**id).is_some_and(|own| block.is_none_or(|it| own == it));
    let decls = stmts.iter().take_while(is_decl);
    decls.filter(in_all).last().copied()
}

/// Whether a line that this module wrote declares a variable: `PyObject *item;`, `int n = f(v);`.
pub(in crate::strong) fn declares(line: &str) -> bool {
    let target = line.split('=').next().unwrap_or_default();
    !target.contains('(') && target.split_whitespace().count() > 1
}
