//! Conditional expressions that choose between lookups, as `if` and `else`.
//!
//! ```c
//! x = d ? PyDict_GetItemString(d, "a") : NULL;      if (d) {
//!                                                       x = PyDict_GetItemString(d, "a");
//!                                                   } else {
//!                                                       x = NULL;
//!                                                   }
//! ```
//!
//! Where the value goes elsewhere than to a variable, a new variable gets it first:
//! `f(d ? lookup(d) : NULL)`.

use std::collections::BTreeSet;

use super::emit::Draft;
use super::emit::calls::take_value;
use super::emit::declarations::assign_later;
use super::emit::declarations::declares_next;
use super::emit::names::stem;
use super::order::is_within;
use super::reason::{A_CONDITION, Reason};
use super::scene::{Scene, graph};
use crate::ast::{
    BinaryOp, ExprId, ExprKind, LocalId, Name, Parent, StmtId, StmtKind, Storage, Type,
};
use crate::capi;
use crate::cfg::{InstrKind, Source, Terminator};
use crate::edit::{BraceStyle, Edit};
use crate::rule::{ItemId, PackageCx};
use crate::source::ByteSpan;

/// The edits that write the conditional expressions around `calls` of one function as `if` and
/// `else`, for each expression where that can be done.
#[must_use]
pub fn as_branches(cx: &PackageCx<'_>, item: ItemId, calls: &[ExprId]) -> Vec<Vec<Edit>> {
    let Some(function) = cx.function(item) else {
        return Vec::new();
    };
    let cfg = graph(function);
    let Some(scene) = Scene::new(cx, item, function, &cfg) else {
        return Vec::new();
    };
    let choices = calls
        .iter()
        .filter_map(|&call| Choice::around(&scene, call));
    let mut seen = BTreeSet::new();
    let mut taken = BTreeSet::new();
    choices
        .filter(|choice| seen.insert(choice.whole))
        .filter_map(|choice| {
            let mut draft = Draft::new(&scene, String::new());
            draft.taken.clone_from(&taken);
            choice.write(&mut draft).ok()?;
            taken.clone_from(&draft.taken);
            Some(draft.finish().ok()?.edits)
        })
        .collect()
}

/// `cond ? then : otherwise`.
struct Choice<'s, 'a> {
    scene: &'s Scene<'a>,
    /// One of the lookups among the values.
    call: ExprId,
    whole: ExprId,
    cond: ExprId,
    then: ExprId,
    otherwise: ExprId,
}

impl<'s, 'a> Choice<'s, 'a> {
    /// The outermost conditional expression with `call` in one of its values.
    fn around(scene: &'s Scene<'a>, call: ExprId) -> Option<Self> {
        let mut found = None;
        let mut at = call;
        while let Some(Parent::Expr(outer)) = scene.parent_of_expr(at) {
            if let ExprKind::Conditional {
                cond,
                then: Some(then),
                otherwise,
            } = scene.tree.expr(outer).kind
                && at != cond
            {
                found = Some(Self {
                    scene,
                    call,
                    whole: outer,
                    cond,
                    then,
                    otherwise,
                });
            }
            at = outer;
        }
        found
    }

    /// Writes it as `if` and `else`.
    fn write(&self, draft: &mut Draft<'_, '_>) -> Result<(), Reason> {
        let stmt = self.scene.stmt_of(self.whole).ok_or(Reason::Unreachable)?;
        if self.is_value(stmt) || self.is_beside_another(stmt) {
            return Err(other());
        }
        match self.scene.parent_of_expr(self.whole) {
            Some(Parent::Stmt(_)) => match &self.scene.tree.stmt(stmt).kind {
                StmtKind::Decl(decls) => {
                    let mut decls = decls.iter();
                    let declared = decls.find(|decl| {
                        matches!(decl.init, Some(crate::ast::Init::Expr(value)) if value == self.whole)
                    });
                    self.declared(draft, stmt, declared.ok_or_else(other)?.local)
                }
                StmtKind::Return(_) => self.returned(draft, stmt),
                _ => Err(other()),
            },
            Some(Parent::Expr(outer)) => match self.scene.tree.expr(outer).kind {
                ExprKind::Assign { op: None, lhs, rhs } if rhs == self.whole => {
                    let local = self.scene.as_local(lhs).ok_or_else(other)?;
                    self.assigned(draft, stmt, outer, local)
                }
                _ => self.nested(draft, stmt),
            },
            None => Err(other()),
        }
    }

    /// Whether `stmt` stands in `({ … })`, whose value its last statement gives.
    fn is_value(&self, stmt: StmtId) -> bool {
        let mut at = stmt;
        loop {
            match self.scene.parent_of_stmt(at) {
                Some(Parent::Stmt(outer)) => at = outer,
                Some(Parent::Expr(_)) => return true,
                None => return false,
            }
        }
    }

    /// Whether `stmt` chooses between lookups elsewhere, too: one of them comes first.
    fn is_beside_another(&self, stmt: StmtId) -> bool {
        let scene = self.scene;
        let mut calls = scene.tree.calls();
        calls.any(|(call, name)| {
            let is_there = capi::replacement(name).is_some() && scene.stmt_of(call) == Some(stmt);
            let choice = || Choice::around(scene, call);
            is_there && choice().is_some_and(|it| it.whole != self.whole)
        })
    }

    /// `x = c ? a : b;`, or the same in front of what else its statement does.
    fn assigned(
        &self,
        draft: &mut Draft<'_, '_>,
        stmt: StmtId,
        assignment: ExprId,
        local: LocalId,
    ) -> Result<(), Reason> {
        let scene = self.scene;
        self.check_type(&scene.tree.local(local).ty)?;
        // `v = v ? v : lookup();`: compilers warn of `v = v;`.
        let is_same = |arm: &ExprId| scene.as_local(*arm) == Some(local);
        if [self.then, self.otherwise].iter().any(is_same) {
            return Err(other());
        }
        let head = format!("{} = ", scene.name(local));
        let lines = self.lines(draft, stmt, &head)?;
        if matches!(scene.tree.stmt(stmt).kind, StmtKind::Expr(it) if it == assignment) {
            return self.replace(draft, stmt, &lines);
        }
        self.check_first(stmt, assignment)?;
        self.check_place(stmt)?;
        draft.before(stmt, lines);
        let span = in_parentheses(scene, assignment).ok_or_else(other)?;
        draft.replace(span, scene.name(local));
        Ok(())
    }

    /// `T x = c ? a : b;`
    fn declared(
        &self,
        draft: &mut Draft<'_, '_>,
        stmt: StmtId,
        local: LocalId,
    ) -> Result<(), Reason> {
        let variable = self.scene.tree.local(local);
        let is_plain = variable.storage == Storage::None && !variable.ty.is_const;
        if !is_plain || self.scene.siblings(stmt).is_none() {
            return Err(other());
        }
        self.check_type(&variable.ty)?;
        let lines = self.lines(draft, stmt, &format!("{} = ", variable.name))?;
        let scene = self.scene;
        let (last, later) = match declares_next(draft, stmt) && !scene.file_mixes_declarations() {
            true => assign_later(draft, stmt)?,
            false => (stmt, Vec::new()),
        };
        let (stmts, at) = scene.siblings(stmt).ok_or_else(other)?;
        let is_same_run = last != stmt || !scene.file_mixes_declarations();
        if is_same_run
            && stmts[..at]
                .iter()
                .any(|&before| self.is_beside_another(before))
        {
            return Err(other());
        }
        take_value(draft, stmt, local)?;
        draft.after_first(last, [lines, later].concat());
        Ok(())
    }

    /// `return c ? a : b;`
    fn returned(&self, draft: &mut Draft<'_, '_>, stmt: StmtId) -> Result<(), Reason> {
        self.check_type(&self.scene.function.ret)?;
        let lines = self.lines(draft, stmt, "return ")?;
        self.replace(draft, stmt, &lines)
    }

    /// `f(c ? a : b)`
    fn nested(&self, draft: &mut Draft<'_, '_>, stmt: StmtId) -> Result<(), Reason> {
        let scene = self.scene;
        self.check_first(stmt, self.whole)?;
        self.check_place(stmt)?;
        if ![self.then, self.otherwise]
            .iter()
            .all(|&arm| is_object(scene, arm))
        {
            return Err(other());
        }
        let lookup = scene
            .call(self.call)
            .and_then(|(name, _)| capi::replacement(name));
        let name = draft.unused_name(&[lookup.map_or("value", stem)]);
        let lines = self.lines(draft, stmt, &format!("{name} = "))?;
        if draft
            .declare(stmt, "PyObject *", &name)
            .starts_with("PyObject")
        {
            let prefix = scene.layout.pointer("PyObject *");
            draft.before(stmt, [format!("{prefix}{name};")]);
        }
        draft.before(stmt, lines);
        let span = in_parentheses(scene, self.whole).ok_or_else(other)?;
        draft.replace(span, name);
        Ok(())
    }

    /// Puts `lines` in the place of the whole statement.
    fn replace(
        &self,
        draft: &mut Draft<'_, '_>,
        stmt: StmtId,
        lines: &[String],
    ) -> Result<(), Reason> {
        let span = self.scene.stmt_span(stmt).ok_or_else(other)?;
        draft.needs_braces(stmt);
        draft.replace(span, draft.joined(lines, span));
        Ok(())
    }

    /// The lines of the `if` and `else`, whose values `head` makes statements.
    fn lines(
        &self,
        draft: &Draft<'_, '_>,
        stmt: StmtId,
        head: &str,
    ) -> Result<Vec<String>, Reason> {
        let scene = self.scene;
        let text = |part: ExprId| scene.span(part).map(|span| scene.text(span));
        let parts = [self.cond, self.then, self.otherwise].map(text);
        let (Some(span), [Some(cond), Some(then), Some(otherwise)]) =
            (scene.stmt_span(stmt), parts)
        else {
            return Err(other());
        };
        let whole = scene.span(self.whole).map(|span| scene.text(span));
        // Only the parts move: a comment or a directive between them would get lost.
        let has_note = |text: String| ["/*", "//", "#"].iter().any(|mark| text.contains(mark));
        let is_list = |arm: ExprId| {
            let op = BinaryOp::Comma;
            matches!(scene.tree.expr(arm).kind, ExprKind::Binary { op: it, .. } if it == op)
        };
        if whole.is_none_or(has_note) || is_list(self.then) || is_list(self.otherwise) {
            return Err(other());
        }
        let then = draft.block_of(&format!("if ({cond})"), &[format!("{head}{then};")], span);
        let mut lines = then;
        let mut otherwise = draft.block_of("else", &[format!("{head}{otherwise};")], span);
        if scene.layout.braces() == BraceStyle::SameLine {
            lines.pop();
            otherwise[0].insert_str(0, "} ");
        }
        lines.append(&mut otherwise);
        Ok(lines)
    }

    /// Whether a place of the type gets from each arm what it gets from the whole expression, whose
    /// type is that of both.
    fn check_type(&self, ty: &Type) -> Result<(), Reason> {
        let scene = self.scene;
        // `4UL` would make the other value unsigned.
        let is_plain = |arm: ExprId| {
            let range = scene.tree.expr(arm).range;
            let tokens = &scene.cx.item(scene.item).tokens;
            let mut texts =
                (range.start..range.end).map(|at| tokens.text(scene.cx.program.files, at));
            texts.all(|text| text.iter().all(u8::is_ascii_digit))
        };
        let is_small = |arm: ExprId| {
            matches!(scene.tree.expr(arm).kind, ExprKind::Int(Some(0..=127))) && is_plain(arm)
        };
        let is_pointer = ty.pointee().is_some();
        match is_pointer || is_small(self.then) || is_small(self.otherwise) {
            true => Ok(()),
            false => Err(other()),
        }
    }

    /// Whether statements may stand in front of `stmt`.
    fn check_place(&self, stmt: StmtId) -> Result<(), Reason> {
        let is_decl = matches!(self.scene.tree.stmt(stmt).kind, StmtKind::Decl(_));
        match !is_decl || self.scene.file_mixes_declarations() {
            true => Ok(()),
            false => Err(other()),
        }
    }

    /// Whether `part`, with the expression in it, is what `stmt` does first, whatever happens.
    fn check_first(&self, stmt: StmtId, part: ExprId) -> Result<(), Reason> {
        let scene = self.scene;
        let is_loop = scene.tree.stmt(stmt).kind.is_loop();
        let start = scene
            .cfg
            .before(stmt)
            .filter(|_| !is_loop)
            .ok_or_else(other)?;
        let block = scene.cfg.block(start.block);
        for instr in &block.instrs[start.index..] {
            let is_part = matches!(instr.source, Source::Expr(it) if is_within(scene, it, part));
            let acts = matches!(
                instr.kind,
                InstrKind::Call { .. } | InstrKind::Store { .. } | InstrKind::Asm
            );
            match (is_part, acts) {
                (true, _) => return Ok(()),
                (false, true) => return Err(other()),
                (false, false) => {}
            }
        }
        match &block.terminator {
            Terminator::Branch { condition, .. } if is_within(scene, condition.expr, part) => {
                Ok(())
            }
            _ => Err(other()),
        }
    }
}

fn other() -> Reason {
    Reason::NotEvaluatedFirst(A_CONDITION.to_owned())
}

/// Whether a value is a `PyObject *`, or `NULL`.
fn is_object(scene: &Scene<'_>, value: ExprId) -> bool {
    if let Some((name, _)) = scene.call(value)
        && capi::replacement(name).is_some()
    {
        return true;
    }
    let is_singleton = matches!(&scene.tree.expr(value).kind, ExprKind::Name(Name::Global(name))
        if capi::is_singleton(name));
    let ty = || scene.cx.types().of(scene.tree, value);
    let is_typed = || ty().is_some_and(|ty| ty.is_py_object_pointer() && !ty.is_const);
    scene.is_null(value) || is_singleton || is_typed()
}

/// The text of an expression, with a pair of parentheses around it that nothing else needs.
fn in_parentheses(scene: &Scene<'_>, expr: ExprId) -> Option<ByteSpan> {
    const HEADS: [&str; 3] = ["if", "while", "switch"];
    let span = scene.span(expr)?;
    let bytes = scene.cx.file(scene.file).bytes();
    let (before, behind) = (&bytes[..span.start().index()], &bytes[span.end().index()..]);
    let (before, blanks) = (
        before.trim_ascii_end(),
        behind.len() - behind.trim_ascii_start().len(),
    );
    let Some(head) = before
        .strip_suffix(b"(")
        .filter(|_| behind[blanks..].starts_with(b")"))
    else {
        return Some(span);
    };
    let head = String::from_utf8_lossy(head.trim_ascii_end()).into_owned();
    let is_needed = head
        .ends_with(|last: char| last.is_alphanumeric() || matches!(last, '_' | ')'))
        || HEADS.iter().any(|word| head.ends_with(word));
    match is_needed {
        true => Some(span),
        false => {
            let end = span.end().index() + blanks + 1;
            Some(ByteSpan::new(
                u32::try_from(before.len() - 1).ok()?,
                u32::try_from(end).ok()?,
            ))
        }
    }
}
