//! `else if` chains that need statements in front of a condition.
//!
//! ```c
//! } else if (f(call(l, i))) {       } else {
//!     g();                              PyObject *item = callRef(l, i);
//! }                                     if (f(item)) {
//!                                           g();
//!                                       }
//!                                   }
//! ```
//!
//! The braces come with the statements around the `if`; here its lines move to the right.

use crate::edit::Edit;
use crate::source::{ByteOffset, ByteSpan};
use crate::strong::scene::Scene;

/// The `if` statements of `else if` that get braces around them.
#[derive(Default)]
pub(in crate::strong) struct Chains {
    /// Outer ones hold inner ones.
    spans: Vec<ByteSpan>,
}

impl Chains {
    pub(in crate::strong) fn new(spans: Vec<ByteSpan>) -> Self {
        Self { spans }
    }

    /// Moves the text of edits around the statement at `span` as far as the chains around it move.
    pub(in crate::strong) fn shift_around(
        &self,
        scene: &Scene<'_>,
        span: ByteSpan,
        edits: &mut [Edit],
    ) {
        let around = |chain: &&ByteSpan| **chain != span && chain.contains(span);
        let depth = self.spans.iter().filter(around).count();
        for edit in edits {
            shift(scene, edit, depth);
        }
    }

    /// Moves the text of an edit inside of chains.
    pub(in crate::strong) fn shift_inside(&self, scene: &Scene<'_>, edit: &mut Edit) {
        let depth = self.depth(edit.span.start());
        shift(scene, edit, depth);
    }

    /// How many chains hold the offset, their first bytes not included.
    fn depth(&self, at: ByteOffset) -> usize {
        let holds = |chain: &&ByteSpan| chain.start() < at && at <= chain.end();
        self.spans.iter().filter(holds).count()
    }

    /// Edits that move the lines of the chains themselves, but for what `edits` replace.
    pub(in crate::strong) fn lines(&self, scene: &Scene<'_>, edits: &[Edit]) -> Vec<Edit> {
        let replaced = |at: ByteOffset| {
            let holds = |edit: &&Edit| edit.span.start() < at && at < edit.span.end();
            edits.iter().any(|edit| holds(&edit))
        };
        let Some(start) = self.spans.iter().map(|span| span.start()).min() else {
            return Vec::new();
        };
        let end = self
            .spans
            .iter()
            .map(|span| span.end())
            .max()
            .unwrap_or(start);
        let lines = scene.layout.text_lines(ByteSpan::new(start.0, end.0));
        let moved = lines.into_iter().filter(|&line| !replaced(line));
        moved
            .filter_map(|line| {
                let depth = self.depth(line);
                let indentation = scene.layout.indentation(line);
                let more = deeper(scene, indentation, depth);
                (depth > 0).then(|| {
                    Edit::new(
                        scene.file,
                        ByteSpan::empty(line),
                        more.get(indentation.len()..).unwrap_or_default().to_vec(),
                    )
                })
            })
            .collect()
    }
}

fn deeper(scene: &Scene<'_>, indentation: &[u8], depth: usize) -> Vec<u8> {
    (0..depth).fold(indentation.to_vec(), |blanks, _| {
        scene.layout.step().deeper(&blanks)
    })
}

/// Moves each line that begins in the text of `edit`.
fn shift(scene: &Scene<'_>, edit: &mut Edit, depth: usize) {
    if depth == 0 {
        return;
    }
    let begins_line = scene.layout.line_start(edit.span.start()) == edit.span.start();
    let mut text = Vec::new();
    for (at, line) in edit.text.split_inclusive(|&byte| byte == b'\n').enumerate() {
        let blanks = line
            .iter()
            .take_while(|byte| matches!(byte, b' ' | b'\t'))
            .count();
        let is_blank = line[blanks..].starts_with(b"\n") || line[blanks..].starts_with(b"\r");
        if (at > 0 || begins_line) && !is_blank {
            text.extend(deeper(scene, &line[..blanks], depth));
            text.extend(&line[blanks..]);
        } else {
            text.extend(line);
        }
    }
    edit.text = text;
}
