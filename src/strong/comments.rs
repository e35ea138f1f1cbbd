//! Comments that say no more than that a reference is borrowed, behind lookups that give new ones.
//!
//! ```c
//! v = PyList_GetItem(list, i); /* borrowed */      v = PyList_GetItemRef(list, i);
//! ```

use super::emit::Draft;
use super::plan::Lookup;

impl Draft<'_, '_> {
    /// Takes out such a comment behind the statement of `lookup`.
    pub(super) fn drop_comment(&mut self, lookup: &Lookup) {
        let stmt = self.scene.stmt_of(lookup.call);
        let Some(span) = stmt.and_then(|stmt| self.scene.stmt_span(stmt)) else {
            return;
        };
        let layout = &self.scene.layout;
        if let Some(comment) = layout.comment_behind(span.end())
            && says_borrowed(&self.scene.text(comment))
        {
            self.replace(comment, "");
        }
    }
}

fn says_borrowed(comment: &str) -> bool {
    let words = comment.trim_matches(|it: char| !it.is_ascii_alphanumeric());
    let words = words.to_ascii_lowercase();
    matches!(
        words.strip_prefix("a ").unwrap_or(&words),
        "borrowed" | "borrowed ref" | "borrowed reference"
    )
}
