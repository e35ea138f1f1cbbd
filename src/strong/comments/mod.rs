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

use crate::ast::{ExprKind, LocalId, StmtId, StmtKind};
use crate::source::{ByteOffset, ByteSpan};
use crate::strong::emit::Draft;
use crate::strong::follow::slots::Slot;
use crate::strong::follow::web::{Given, definitions};
use crate::strong::plan::Planned;
use crate::strong::scene::Scene;
use claims::{claims_borrowed, is_about_references, names_borrowed, says_more, without_borrowed};

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
        self.drop_elsewhere(planned);
    }

    /// Takes out what comments anywhere in the function say of the variable by its name.
    ///
    /// ```c
    /// // tag_class was just a borrowed reference
    /// ```
    fn drop_elsewhere(&mut self, planned: &Planned) {
        let scene = self.scene;
        let body = scene.stmt_span(scene.function.body);
        let body = body.filter(|&span| scene.text(span).contains("orrow"));
        let local = planned
            .home
            .local
            .filter(|&it| is_all_it_holds(scene, planned, it));
        let (Some(body), Some(local)) = (body, local) else {
            return;
        };
        let name = scene.name(local);
        let others = scene.tree.locals.iter().filter(|it| *it.name == *name);
        if others.count() > 1 {
            return;
        }
        for comment in scene.layout.comments_in(body) {
            let text = scene.text(comment);
            let is_seen = self
                .fix
                .edits
                .iter()
                .any(|edit| edit.span.contains(comment));
            if is_seen || !names_borrowed(&text, name) {
                continue;
            }
            let is_all = without_borrowed(&text, &[name]).is_some_and(|left| left.is_empty());
            match scene.layout.lines_of(comment).filter(|_| is_all) {
                Some(lines) => self.replace(lines, ""),
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
        (is_alone && is_all_it_holds(scene, planned, local)).then_some(stmt)
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

/// Whether the lookups of `planned` are all that the variable ever holds.
fn is_all_it_holds(scene: &Scene<'_>, planned: &Planned, local: LocalId) -> bool {
    let lookups = planned.home.lookups.iter().map(|lookup| lookup.call);
    definitions(scene, local, &lookups.collect())
        .iter()
        .all(|(at, given)| *given == Given::Null || planned.home.web.contains_key(at))
}
