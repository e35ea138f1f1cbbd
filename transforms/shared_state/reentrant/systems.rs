//! Whether the functions of POSIX are there where a file is compiled.

use super::calls::Calls;
use crate::capi::{Sibling, is_absent_on_windows};
use crate::edit::Assumption;
use crate::facts::{Claim, Fact, Subject};

impl Calls<'_> {
    /// What a person has to confirm of the systems that the file is compiled on.
    pub(super) fn system_doubts(&self, sibling: Sibling) -> Vec<Assumption> {
        let mut doubts: Vec<Assumption> = Vec::new();
        if !self.is_never_on_windows() {
            doubts.push(self.windows(sibling).into());
        }
        if !self.includes_python_first() {
            doubts.push(
                format!(
                    "the headers declare `{}` here (with `-std=c99` or similar options they do so \
                     only after `Python.h` or `#define _POSIX_C_SOURCE 200809L`)",
                    sibling.name
                )
                .into(),
            );
        }
        doubts
    }

    fn windows(&self, sibling: Sibling) -> Fact {
        let (file, _) = self.cx.item(self.item).place;
        let path = self.cx.file(file).path();
        let file = Subject::file(path).with([sibling.name]);
        Fact::new(Claim::NotOnWindows, file)
    }

    /// Whether the file includes, in any configuration, a header that Windows lacks and the package
    /// does not bring along.
    fn is_never_on_windows(&self) -> bool {
        let cx = self.cx;
        let (id, _) = cx.item(self.item).place;
        let (file, index) = (cx.file(id), &cx.program.index[id.index()]);
        let is_own = |name: &str| {
            cx.program
                .files
                .iter()
                .any(|(_, file)| file.path().ends_with(name))
        };
        let mut all = index.included(file).into_iter();
        all.any(|(name, at)| {
            is_absent_on_windows(&name)
                && index.conditions_at(file, at).is_empty()
                && !is_own(&name)
        })
    }

    /// Whether `Python.h` is the first header of the translation unit, in any configuration.
    fn includes_python_first(&self) -> bool {
        let cx = self.cx;
        let item = cx.item(self.item);
        let (file, index) = (cx.file(item.unit), &cx.program.index[item.unit.index()]);
        let first = index.included(file).into_iter().next();
        first.is_some_and(|(name, at)| {
            name == "Python.h" && index.conditions_at(file, at).is_empty()
        })
    }
}
