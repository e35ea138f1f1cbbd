//! New lines around one statement.

use std::collections::BTreeMap;

use crate::edit::{Edit, Layout};
use crate::source::{ByteOffset, ByteSpan};
use crate::strong::scene::Scene;

/// Statements without indentation, each a line.
#[derive(Default)]
pub(in crate::strong) struct Around {
    /// Declarations in front of the first statement of a block.
    pub on_top: Vec<String>,
    /// Where the brace of that block ends.
    pub brace: Option<ByteOffset>,
    pub before: Vec<String>,
    /// Declarations behind a declaration.
    pub declared: Vec<String>,
    /// Assignments of what declarations up to this one had for values, by where those stand.
    pub assigned: BTreeMap<ByteOffset, Vec<String>>,
    pub after: Vec<String>,
}

impl Around {
    /// The edits around the statement at `span`.
    pub(in crate::strong) fn edits(&self, layout: &Layout<'_>, span: ByteSpan) -> Vec<Edit> {
        let [on_top, before, declared, late] =
            [&self.on_top, &self.before, &self.declared, &self.after]
                .map(|lines| lines.iter().map(String::as_str).collect::<Vec<&str>>());
        let assigned = self.assigned.values().flatten().map(String::as_str);
        let after: Vec<&str> = assigned.chain(late).collect();
        // One edit each: another change may ask for some of them.
        let on_top = on_top.iter().map(|line| match self.brace {
            Some(brace) => layout.declare_behind(brace, span, &[line]),
            None => layout.declare_before(span, &[line]),
        });
        let declared = declared
            .iter()
            .map(|line| layout.declare_after(span, &[line]));
        let mut edits: Vec<Edit> = on_top.chain(declared).collect();
        let only_declares = before.is_empty() && after.is_empty() && !edits.is_empty();
        if !only_declares {
            edits.extend(layout.surround(span, &before, &after));
        }
        edits
    }
}

/// Puts what comes after a statement in the place of that statement, where it is taken out with the
/// blank after it: `{ Py_INCREF(v); return v; }`, in a block on one line.
pub(super) fn folded(scene: &Scene<'_>, edits: Vec<Edit>) -> Vec<Edit> {
    let mut folded: Vec<Edit> = Vec::new();
    for edit in edits {
        let taken_out = folded.last_mut().filter(|before| {
            let (at, gone) = (edit.span.start(), before.span);
            before.text.is_empty()
                && edit.span.is_empty()
                && edit.file == before.file
                && gone.start() < at
                && at < gone.end()
                && !edit.text.contains(&b'\n')
        });
        match taken_out {
            Some(before) => {
                let blank = ByteSpan::new(edit.span.start().0, before.span.end().0);
                before.text = edit.text.trim_ascii_start().to_vec();
                before.text.extend(scene.text(blank).bytes());
            }
            None => folded.push(edit),
        }
    }
    folded
}
