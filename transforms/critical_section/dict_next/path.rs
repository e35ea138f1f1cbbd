//! The steps that make an iteration unsafe, for the report.

use super::scope::{Scope, inside};
use super::site::Site;
use super::values::suspends;
use crate::ast::ExprId;
use crate::cfg::{Callee, InstrKind, Source};
use crate::program::CallSite;
use crate::provenance::{SharedKind, Verdict};
use crate::rule::Note;
use crate::source::{ByteSpan, FileId};

/// Where the dict comes from, told at `place`, and the first call of the loop that may run Python
/// code.
pub(super) fn path(
    scope: &Scope<'_>,
    call: ExprId,
    site: Option<&Site>,
    place: (FileId, ByteSpan),
) -> Vec<Note> {
    let at = CallSite {
        item: scope.item,
        expr: call,
    };
    let origin = match scope.cx.provenance(at, 0) {
        Verdict::Safe(_) => return Vec::new(),
        Verdict::Shared(SharedKind::Unknown) => "the dict".to_owned(),
        Verdict::Shared(kind) => kind.to_string(),
    };
    let mut notes = vec![Note {
        file: place.0,
        span: place.1,
        text: format!("{origin}: another thread can change it between two calls"),
    }];
    notes.extend(site.and_then(|site| runs_python(scope, site)));
    notes
}

/// The first call in the body that may run Python code, in the order of the text.
fn runs_python(scope: &Scope<'_>, site: &Site) -> Option<Note> {
    let body = site.body_range(scope);
    let calls = scope.steps_in(body).filter_map(|instr| match instr {
        step if step.source == Source::Expr(site.call) => None,
        step => match (&step.kind, step.source) {
            (InstrKind::Call { callee, args, .. }, Source::Expr(call))
                if suspends(scope, callee, args) =>
            {
                Some((call, callee))
            }
            _ => None,
        },
    });
    let in_body = calls.filter(|(call, _)| inside(scope.expr(*call).range, body));
    let (call, callee) = in_body.min_by_key(|(call, _)| scope.expr(*call).range.start)?;
    let (file, span) = scope.cx.span(scope.item, call)?;
    let text = match callee {
        Callee::Named(name) => {
            format!("`{name}` can run Python code, which may also change it")
        }
        Callee::Indirect(_) => "this call can run Python code, which may also change it".to_owned(),
    };
    Some(Note { file, span, text })
}
