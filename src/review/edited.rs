//! Results of fixes that a person has changed.

use serde::{Deserialize, Serialize};

use super::group::Group;
use crate::edit::{Edit, Fix, apply, difference};
use crate::source::{ByteSpan, FileSet};

/// A function as a person wants it in place of what a fix makes of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Edited {
    /// The function in the file. Once it is another one, the edit is stale.
    pub base: String,
    /// The function that is to come.
    pub text: String,
}

impl Edited {
    /// The function around the finding of `group`, and what its fix makes of it; `None` if the
    /// bytes are no UTF-8, as editors would change them.
    #[must_use]
    pub fn of(files: &FileSet, group: &Group<'_>) -> Option<Self> {
        let base = files.get(group.finding.file).slice(group.item);
        let start = group.item.start().0;
        let within = |edit: &&Edit| is_within(edit, group);
        let mut edits: Vec<Edit> = group.fix.edits.iter().filter(within).cloned().collect();
        for edit in &mut edits {
            let (from, to) = (edit.span.start().0 - start, edit.span.end().0 - start);
            edit.span = ByteSpan::new(from, to);
        }
        edits.sort_by_key(Edit::place);
        Some(Self {
            base: String::from_utf8(base.to_vec()).ok()?,
            text: String::from_utf8(apply(base, &edits).bytes).ok()?,
        })
    }

    /// The fix of `group` with this text in place of its own; its changes elsewhere stay. `None`
    /// if the function has changed since.
    #[must_use]
    pub fn fix(&self, files: &FileSet, group: &Group<'_>) -> Option<Fix> {
        let file = group.finding.file;
        if files.get(file).slice(group.item) != self.base.as_bytes() {
            return None;
        }
        let mut fix = group.fix.clone();
        fix.edits.retain(|edit| !is_within(edit, group));
        let start = group.item.start().0;
        for edit in difference(file, self.base.as_bytes(), self.text.as_bytes()) {
            let (from, to) = (edit.span.start().0 + start, edit.span.end().0 + start);
            fix.replace(file, ByteSpan::new(from, to), edit.text);
        }
        // Stable: insertions at one place keep their order.
        fix.edits.sort_by_key(Edit::place);
        Some(fix)
    }
}

fn is_within(edit: &Edit, group: &Group<'_>) -> bool {
    edit.file == group.finding.file && group.item.contains(edit.span)
}

#[cfg(test)]
mod tests {
    use super::Edited;
    use crate::edit::apply;
    use crate::review::groups;
    use crate::review::testing::Sample;
    use crate::source::{ByteSpan, FileId};

    #[test]
    fn an_edit_takes_the_place_of_the_fix_in_its_function_alone() {
        let mut sample = Sample::renames("int a;\nint f(void) { x(1); }\n", "x", "y");
        let crate::rule::Outcome::Fix(fix) = &mut sample.findings[0].outcome else {
            panic!()
        };
        fix.edits.insert(
            0,
            crate::edit::Edit::new(FileId(0), ByteSpan::new(0, 0), b"int b;\n".to_vec()),
        );
        let groups = groups(&sample.files, &sample.findings);
        let mut edited = Edited::of(&sample.files, &groups[0]).unwrap();
        assert_eq!(edited.base, "int f(void) { x(1); }");
        assert_eq!(edited.text, "int f(void) { y(1); }");
        edited.text = edited.text.replace("(1)", "(1, 2)");
        let fix = edited.fix(&sample.files, &groups[0]).unwrap();
        let bytes = sample.files.get(FileId(0)).bytes();
        assert_eq!(
            apply(bytes, &fix.edits).bytes,
            b"int b;\nint a;\nint f(void) { y(1, 2); }\n"
        );
        edited.base.push(' ');
        assert_eq!(edited.fix(&sample.files, &groups[0]), None);
    }
}
