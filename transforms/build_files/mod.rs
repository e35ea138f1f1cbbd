//! Rules about build files, and what they have in common.

pub mod binding;
pub mod cibuildwheel;
pub mod classifier;
pub mod gil_define;
pub mod limited_api;

use std::ops::Range;

use crate::build::BuildFile;
use crate::rule::{Finding, Outcome, Rule};

/// A finding about the bytes `range` of `file`.
fn finding(
    rule: &'static Rule,
    file: &BuildFile<'_>,
    range: Range<usize>,
    message: impl Into<String>,
    outcome: Outcome,
) -> Finding {
    Finding {
        rule,
        file: file.id,
        span: file.span(range),
        function: None,
        api: None,
        message: message.into(),
        notes: Vec::new(),
        outcome,
    }
}

#[cfg(test)]
mod tests;
