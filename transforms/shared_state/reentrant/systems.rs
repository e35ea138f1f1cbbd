//! Whether the functions of POSIX are there where a file is compiled.

use super::calls::Calls;
use crate::capi::{Sibling, is_absent_on_windows, tells_windows};

impl Calls<'_> {
    /// What a person has to confirm of the systems that the file is compiled on.
    pub(super) fn system_doubts(&self, sibling: Sibling) -> Vec<String> {
        let mut doubts = Vec::new();
        if !self.is_never_on_windows() {
            doubts.push(self.windows(sibling));
        }
        if !self.includes_python_first() {
            doubts.push(format!(
                "the headers declare `{}` here: with `-std=c99` or similar options they do so \
                 only after `Python.h` or `#define _POSIX_C_SOURCE 200809L`",
                sibling.name
            ));
        }
        doubts
    }

    fn windows(&self, sibling: Sibling) -> String {
        let cx = self.cx;
        let is_meant = cx.program.files.iter().any(|(id, file)| {
            let mut words = cx.program.index[id.index()].identifiers(file);
            words.any(|word| std::str::from_utf8(word).is_ok_and(tells_windows))
        });
        let other = match sibling.is_swapped_on_windows {
            true => ", with its arguments in reverse order and a number as its result",
            false => "",
        };
        let there = sibling.on_windows;
        match is_meant {
            true => format!(
                "the file is not compiled on Windows, for which the package has code, or a macro \
                 handles this: Windows has `{there}` instead{other}"
            ),
            false => {
                format!("the file is not compiled on Windows, which has `{there}` instead{other}")
            }
        }
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
