//! Rules about thread states: who may call the C API, who may wait, who may hold a lock.

pub mod blocking;
mod calls;
pub mod detached_call;
mod flow;
pub mod held_lock;
pub mod left_out;
mod package;
pub mod unattached_thread;

use crate::rule::{Finding, Outcome, Rule};
use crate::source::{ByteSpan, FileId};

/// A finding about the text at `place`; `None` if it stands in no file.
fn finding(
    rule: &'static Rule,
    place: Option<(FileId, ByteSpan)>,
    function: &str,
    message: String,
    outcome: Outcome,
) -> Option<Finding> {
    let (file, span) = place?;
    Some(Finding {
        rule,
        file,
        span,
        function: Some(function.to_owned()),
        api: None,
        message,
        notes: Vec::new(),
        outcome,
    })
}

/// Sorts the findings from `start` on by place; variants of a function for other configurations
/// say the same again.
fn settle(findings: &mut Vec<Finding>, start: usize) {
    let mut own = findings.split_off(start);
    own.sort_by(|a, b| (a.file, a.span, &a.message).cmp(&(b.file, b.span, &b.message)));
    own.dedup_by(|b, a| (a.file, a.span, &a.message) == (b.file, b.span, &b.message));
    findings.append(&mut own);
}

#[cfg(test)]
mod tests;
