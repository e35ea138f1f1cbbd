//! Declarations of pointers that go, and of the indices that stand for them.
//!
//! ```c
//! PyObject **items, **to;          Py_ssize_t items_index;
//!                                  PyObject **to;
//! ```

use super::{Gone, Pointer};
use crate::ast::{Init, LocalDecl, StmtKind};
use crate::edit::Edit;
use crate::source::ByteSpan;

impl Pointer<'_, '_> {
    /// The edits of the declaration of the pointer, which may be that of other pointers in `gone`.
    pub(super) fn declaration(&self, gone: &Gone) -> Option<Vec<Edit>> {
        let scene = self.scene;
        let stmt = scene.tree.local(self.local).decl?;
        scene.siblings(stmt)?;
        let StmtKind::Decl(decls) = &scene.tree.stmt(stmt).kind else {
            return None;
        };
        let own = decls.iter().find(|decl| decl.local == self.local)?;
        let is_idle = match own.init {
            Some(Init::Expr(value)) => self.is_pointer(value),
            Some(Init::List(_)) => false,
            None => true,
        };
        let whole = scene.stmt_span(stmt).filter(|_| is_idle)?;
        let indices = decls.iter().filter_map(|decl| {
            let index = gone.get(&decl.local)?.as_ref()?;
            let value = decl.init.as_ref().map_or("", |_| " = 0");
            Some(format!("{index}{value}"))
        });
        let indices: Vec<String> = indices.collect();
        let indices = (!indices.is_empty()).then(|| format!("Py_ssize_t {};", indices.join(", ")));
        if decls.iter().all(|decl| gone.contains_key(&decl.local)) {
            return Some(vec![match indices {
                Some(indices) => self.edit(whole, indices),
                None => scene.layout.remove(whole),
            }]);
        }
        let runs = self.runs(decls, gone)?;
        if runs.iter().any(|run| scene.has_note(*run)) {
            return None;
        }
        let runs = runs.into_iter();
        let mut edits: Vec<Edit> = runs.map(|run| self.edit(run, String::new())).collect();
        if let Some(indices) = indices {
            let at = whole.start();
            let ending = scene.layout.line_ending(at);
            let indentation = String::from_utf8_lossy(scene.layout.indentation(at));
            let text = format!("{indices}{ending}{indentation}");
            edits.push(self.edit(ByteSpan::new(at.0, at.0), text));
        }
        Some(edits)
    }

    /// The text of the variables in `gone`, each run of them with a comma, where others stay.
    fn runs(&self, decls: &[LocalDecl], gone: &Gone) -> Option<Vec<ByteSpan>> {
        let scene = self.scene;
        let span = |decl: &LocalDecl| {
            let tokens = &scene.cx.item(scene.item).tokens;
            let (file, span) = tokens.file_span(decl.range)?;
            (file == scene.file).then_some(span)
        };
        let spans: Vec<ByteSpan> = decls.iter().map(span).collect::<Option<_>>()?;
        let goes = |at: &usize| gone.contains_key(&decls[*at].local);
        let mut runs = Vec::new();
        let mut at = 0;
        while at < decls.len() {
            let end = (at..decls.len())
                .find(|at| !goes(at))
                .unwrap_or(decls.len());
            if end > at {
                runs.push(match at.checked_sub(1) {
                    Some(before) => ByteSpan::new(spans[before].end().0, spans[end - 1].end().0),
                    None => ByteSpan::new(spans[0].start().0, spans[end].start().0),
                });
            }
            at = end + 1;
        }
        Some(runs)
    }
}
