//! Comments about references that a change makes false, or leaves behind.
//!
//! ```c
//! v = PyList_GetItem(list, i); /* borrowed */      v = PyList_GetItemRef(list, i);
//! /* Hang on to it: a reference */                 use(v);
//! Py_INCREF(v);
//!
//! use(v);
//! ```

pub(super) mod claims;
pub(super) mod told;

use std::collections::BTreeSet;

use crate::ast::{ExprKind, LocalId, StmtId, StmtKind};
use crate::source::{ByteOffset, ByteSpan};
use crate::strong::emit::Draft;
use crate::strong::follow::slots::Slot;
use crate::strong::follow::web::{Given, definitions};
use crate::strong::plan::Planned;
use claims::{
    claims_borrowed, is_about_references, names, names_borrowed, says_more, without_borrowed,
};

impl Draft<'_, '_> {
    /// Takes out what comments beside the lookups of `planned`, and beside what is done with their
    /// variable, say of a borrowed reference.
    pub(in crate::strong) fn drop_comments(&mut self, planned: &Planned) {
        for lookup in &planned.home.lookups {
            let stmt = self.scene.stmt_of(lookup.call);
            let ends = [
                self.scene.span(lookup.call),
                stmt.and_then(|stmt| self.scene.stmt_span(stmt)),
            ];
            for span in ends.into_iter().flatten() {
                self.drop_behind(span.end(), planned);
            }
            if let Some(stmt) = stmt {
                self.drop_above(stmt, planned);
            }
        }
        for stmt in self
            .declaration(planned)
            .into_iter()
            .chain(self.nulls(planned))
        {
            if let Some(span) = self.scene.stmt_span(stmt) {
                self.drop_behind(span.end(), planned);
            }
            self.drop_above(stmt, planned);
        }
        if let Some(local) = planned.home.local.filter(|_| self.is_all(planned)) {
            self.drop_at_uses(planned, local);
            self.drop_elsewhere(planned, local);
        }
    }

    /// The same beside statements that use the variable, where the comment names it, or is about
    /// nothing else: `return v; /* borrowed */`.
    fn drop_at_uses(&mut self, planned: &Planned, local: LocalId) {
        let scene = self.scene;
        let uses = scene.tree.expr_ids();
        let uses = uses.filter(|&expr| scene.as_local(expr) == Some(local));
        let stmts: BTreeSet<StmtId> = uses.filter_map(|expr| scene.stmt_of(expr)).collect();
        for stmt in stmts {
            let Some(span) = scene.stmt_span(stmt) else {
                continue;
            };
            let is_returned = matches!(scene.tree.stmt(stmt).kind,
                StmtKind::Return(Some(value)) if scene.as_local(value) == Some(local));
            let (behind, above) = (
                scene.layout.comment_closing(span.end()),
                scene.layout.comment_above(span),
            );
            for comment in behind.into_iter().chain(above) {
                if is_returned || names(&scene.text(comment), &planned.home.name) {
                    self.drop_claims(comment, planned);
                }
            }
        }
    }

    /// The same in comments that have their lines for themselves, and name the variable.
    ///
    /// ```c
    /// // tag_class was just a borrowed reference
    /// ```
    fn drop_elsewhere(&mut self, planned: &Planned, local: LocalId) {
        let scene = self.scene;
        let name = scene.name(local);
        let body = scene.stmt_span(scene.function.body);
        let body = body.filter(|&span| scene.text(span).contains("orrow"));
        let Some(body) = body.filter(|_| !scene.tree.has_namesake(local)) else {
            return;
        };
        for comment in scene.layout.comments_in(body) {
            let mut edits = self.fix.edits.iter();
            let is_seen = edits.any(|edit| edit.span.contains(comment));
            if is_seen || !names_borrowed(&scene.text(comment), name) {
                continue;
            }
            match scene.layout.lines_of(comment) {
                Some(lines) => self.drop_claims(lines, planned),
                None => self.says_borrowed = true,
            }
        }
    }

    fn drop_behind(&mut self, end: ByteOffset, planned: &Planned) {
        if let Some(comment) = self.scene.layout.comment_closing(end) {
            self.drop_claims(comment, planned);
        }
    }

    fn drop_above(&mut self, stmt: StmtId, planned: &Planned) {
        let span = self.scene.stmt_span(stmt);
        if let Some(comment) = span.and_then(|span| self.scene.layout.comment_above(span)) {
            self.drop_claims(comment, planned);
        }
    }

    /// Takes out what `comment` says of a borrowed reference; notes that it stays.
    fn drop_claims(&mut self, comment: ByteSpan, planned: &Planned) {
        let text = self.scene.text(comment);
        let apis = planned.home.lookups.iter();
        let apis = apis.map(|lookup| lookup.replacement.borrowed);
        let names: Vec<&str> = apis.chain([&*planned.home.name]).collect();
        let left = without_borrowed(&text, &names);
        let is_on_reference = claims_borrowed(&text) && text.contains("ref");
        let is_new = !self.fix.edits.iter().any(|edit| edit.span == comment);
        match left {
            Some(left) if is_new => self.replace(comment, left),
            None if is_on_reference => self.says_borrowed = true,
            _ => {}
        }
    }

    /// The declaration of the variable, if it is alone there and `planned` is all that it ever
    /// holds.
    fn declaration(&self, planned: &Planned) -> Option<StmtId> {
        let (scene, local) = (self.scene, planned.home.local?);
        let stmt = scene.tree.local(local).decl?;
        let is_alone =
            matches!(&scene.tree.stmt(stmt).kind, StmtKind::Decl(decls) if decls.len() == 1);
        (is_alone && self.is_all(planned)).then_some(stmt)
    }

    /// Whether `planned` is all that its variable ever holds.
    fn is_all(&self, planned: &Planned) -> bool {
        let lookups = planned.home.lookups.iter().map(|lookup| lookup.call);
        let lookups = lookups.collect();
        planned.home.local.is_some_and(|local| {
            definitions(self.scene, local, &lookups)
                .iter()
                .all(|(at, given)| *given == Given::Null || planned.home.web.contains_key(at))
        })
    }

    /// Statements `v = NULL;` right behind a release of the variable.
    fn nulls(&self, planned: &Planned) -> Vec<StmtId> {
        let scene = self.scene;
        let slots = planned.decisions.releases.keys();
        let next = slots.filter_map(|&slot| match slot {
            Slot::Before(stmt) => Some(stmt),
            Slot::After(stmt) => scene.next_sibling(stmt),
            Slot::Else(_) | Slot::Inside(_) | Slot::InReturn(_) => None,
        });
        let is_null = |stmt: &StmtId| match scene.tree.stmt(*stmt).kind {
            StmtKind::Expr(expr) => match scene.tree.expr(expr).kind {
                ExprKind::Assign { op: None, lhs, rhs } => {
                    scene.as_local(lhs) == planned.home.local && scene.is_null(rhs)
                }
                _ => false,
            },
            _ => false,
        };
        let nulls = next.filter(|_| planned.home.local.is_some());
        nulls.filter(is_null).collect()
    }

    /// A statement that counts, and goes, with the comments that are about nothing else.
    ///
    /// ```c
    /// /* PyDict_GetItem gives a borrowed reference */
    /// Py_INCREF(v);   /* for the caller */
    /// ```
    pub(in crate::strong) fn with_comments(&self, stmt: ByteSpan) -> ByteSpan {
        let layout = &self.scene.layout;
        let behind = layout.comment_behind(stmt.end());
        let behind = behind.filter(|&span| is_about_references(&self.scene.text(span)));
        let whole = behind.map_or(stmt, |behind| stmt.join(behind));
        let above = layout.comment_above(stmt).filter(|&above| {
            let text = self.scene.text(above);
            !says_more(&text) || layout.ends_paragraph(whole) && is_about_references(&text)
        });
        match above {
            Some(above) => {
                let blanks = layout.indentation(above.start()).len();
                let blanks = u32::try_from(blanks).expect("files are shorter than 4 GiB");
                ByteSpan::new(above.start().0 + blanks, whole.end().0)
            }
            None => whole,
        }
    }
}
