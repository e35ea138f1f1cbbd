//! Whose list it is, and what is not known of that.

use std::collections::BTreeSet;

use super::{Look, Tested};
use crate::ast::{Function, TokenRange};
use crate::edit::Assumption;
use crate::package::is_generated;
use crate::preprocess::is_other_interpreter;
use crate::roles::{COUNT_IS_ZERO, Role, WeakList, has_list};
use crate::rule::{ItemId, Note};

impl Look<'_> {
    /// A function that Python calls for objects that live, if that is the function of the test, or
    /// gets there by calls.
    pub(super) fn called_for_living(&self) -> Option<&str> {
        let cx = self.cx;
        let lives = |item: ItemId, function: &Function| {
            let roles = cx.roles().into_iter();
            let mut roles = roles.flat_map(|roles| roles.of(cx.item(item), function));
            roles.any(|role| !matches!(role, Role::Slot(slot) if &**slot == "tp_dealloc"))
        };
        let mut seen = BTreeSet::from([self.item]);
        let mut open = vec![self.item];
        while let Some(item) = open.pop() {
            let Some(function) = cx.function(item) else {
                continue;
            };
            if lives(item, function) {
                return Some(&function.name);
            }
            let unit = cx.item(item).unit;
            let callers = cx.calls_to(&function.name).iter().map(|site| site.item);
            // Another function of this name is called elsewhere.
            let own = callers.filter(|it| !function.is_static || cx.item(*it).unit == unit);
            open.extend(own.filter(|it| seen.insert(*it)));
        }
        None
    }

    /// What a person must confirm.
    pub(super) fn doubts(&self, tested: &Tested, counts: bool) -> Vec<Assumption> {
        let mut doubts: Vec<Assumption> = Vec::new();
        match self.lists_of_destroyed(tested) {
            None => {
                let path = self.cx.file(self.cx.item(self.item).place.0).path();
                doubts.push(has_list(path, &self.function.name, &tested.field).into());
            }
            Some(lists) => {
                let since = lists.iter().filter_map(|it| it.since).max();
                // The lowest version is that of its first alpha.
                let later = since.filter(|it| self.cx.range.min < it.hex() & !0xff);
                doubts.extend(later.map(|since| {
                    format!(
                        "no Python before {since} is supported (older versions do not use \
                         `__weaklistoffset__`, and the call raises `SystemError`)"
                    )
                    .into()
                }));
            }
        }
        if counts {
            doubts.push(COUNT_IS_ZERO.into());
        }
        if self.knows_other_interpreters() {
            let doubt = "the call works on PyPy, for which the package has code (before, it was \
                         never made there, because the field is always `NULL`)";
            doubts.push(doubt.into());
        }
        doubts
    }

    /// The lists of the objects that the function gets, all of which have it in the field that is
    /// tested; `None` if that is not known.
    fn lists_of_destroyed(&self, tested: &Tested) -> Option<Vec<&WeakList>> {
        let cx = self.cx;
        let names = self.names_of(tested.object);
        let first = self.function.params.first()?;
        let is_seen = !cx.call_index().may_be_called_unseen(&self.function.name);
        let item = cx.item(self.item);
        let lists = self.lists.destroyed_by(cx.program, item, self.function)?;
        let is_it = |list: &&WeakList| {
            Some(&list.owner) == tested.owner.as_ref() && list.field == tested.field
        };
        (names.contains(first) && is_seen && lists.iter().all(is_it)).then_some(lists)
    }

    /// Whether the package has code for interpreters other than CPython, written by its people.
    fn knows_other_interpreters(&self) -> bool {
        let program = self.cx.program;
        let mut files = program.files.iter().zip(program.index);
        files.any(|((_, file), index)| {
            index.identifiers(file).any(is_other_interpreter)
                && !is_generated(file.path(), file.bytes())
        })
    }

    /// A note at the text, or at the use of the macro that makes it.
    pub(super) fn note(&self, range: TokenRange, text: &str) -> Option<Note> {
        let tokens = &self.cx.item(self.item).tokens;
        let (file, span) = (range.start < range.end).then(|| tokens.place(range).written_at())?;
        let text = text.to_owned();
        Some(Note { file, span, text })
    }
}
