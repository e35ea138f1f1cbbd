//! The steps that make an iteration unsafe, for the report.

use super::scope::{Scope, inside};
use super::site::Site;
use super::values::suspends;
use crate::ast::ExprId;
use crate::capi;
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
        Verdict::Shared(SharedKind::Unknown) => "of unknown origin".to_owned(),
        Verdict::Shared(kind) => kind.to_string(),
    };
    let mut notes = vec![Note {
        file: place.0,
        span: place.1,
        text: format!("the dict is {origin}; another thread can change it between two calls"),
    }];
    notes.extend(site.and_then(|site| runs_python(scope, site)));
    notes
}

/// Whether a function runs no Python code, but may wait for a lock.
fn only_waits(name: &str) -> bool {
    capi::effects(name).is_some_and(|effects| !effects.runs_python && effects.locks.is_some())
}

/// The first call in the body that may run Python code, or else wait, in the order of the text.
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
    let first = |(call, callee): &(ExprId, &Callee)| {
        let only_waits = callee.name().is_some_and(only_waits);
        (only_waits, scope.expr(*call).range.start)
    };
    let (call, callee) = in_body.min_by_key(first)?;
    let (file, span) = scope.cx.span(scope.item, call)?;
    let text = match callee {
        Callee::Named(name) if only_waits(name) => {
            format!(
                "`{name}` can wait for a lock, and another thread may change the dict meanwhile"
            )
        }
        Callee::Named(name) => {
            format!("`{name}` can run Python code, which may also change the dict")
        }
        Callee::Indirect(_) => {
            "this call can run Python code, which may also change the dict".to_owned()
        }
    };
    Some(Note { file, span, text })
}
