//! What a function has asked of an object before it looks something up there.
//!
//! ```c
//! n = PySequence_Size(o);
//! for (i = 0; i < n; i++) {
//!     item = PySequence_GetItem(o, i);          /* NULL, if another thread has made it shorter */
//!     Py_DECREF(item);
//! }
//! ```

use std::borrow::Cow;

use crate::ast::{ExprId, LocalId, Tree};
use crate::capi;
use crate::cfg::{Cfg, Instr, InstrKind, Point, reaches};
use crate::rule::{CallSite, PackageCx};

/// The questions that go with one lookup.
pub(super) struct Asked {
    questions: Vec<ExprId>,
    /// The call whose first argument is what was asked.
    pub container: CallSite,
    /// The variable that this is.
    local: Option<LocalId>,
}

impl Asked {
    /// Where it does not matter what was asked.
    pub(super) const fn nothing(container: CallSite) -> Self {
        Self {
            questions: Vec::new(),
            container,
            local: None,
        }
    }

    /// What the text of the function asks of the object that the call at `site` looks into.
    pub(super) fn before(cx: &PackageCx<'_>, site: CallSite) -> Option<Self> {
        let tree = cx.tree(site.item)?;
        let text = |expr: &ExprId| -> Option<Cow<'_, str>> {
            let (file, span) = cx.span(site.item, tree.without_casts(*expr))?;
            Some(cx.file(file).text(span))
        };
        let (name, args) = tree.call(site.expr)?;
        let is_of_attributes = capi::finds_attributes(name);
        // x = PyIter_Next(it);          /* `it` goes over what was asked */
        let looks = iterated(tree, *args.first()?).unwrap_or(site.expr);
        let container = tree.call(looks)?.1.first()?;
        let (wanted, key) = (text(container)?, args.get(1).and_then(text));
        let is_question = |&(other, name): &(ExprId, &str)| {
            let Some((_, asked)) = tree.call(other) else {
                return false;
            };
            let is_same_key = || asked.get(1).and_then(text) == key;
            let is_asked = match capi::settles_key(name) {
                true => is_same_key(),
                false => !is_of_attributes && capi::tells_of_items(name),
            };
            is_asked && other != looks && asked.first().and_then(text).as_ref() == Some(&wanted)
        };
        let questions = tree.calls().filter(is_question).map(|(call, _)| call);
        let questions: Vec<ExprId> = questions.collect();
        (!questions.is_empty()).then(|| Self {
            questions,
            container: CallSite {
                item: site.item,
                expr: looks,
            },
            local: tree.as_local(tree.without_casts(*container)),
        })
    }

    /// A question that is asked before `lookup` and about the same object.
    pub(super) fn question(&self, cfg: &Cfg, lookup: ExprId) -> Option<ExprId> {
        let at = cfg.call(lookup)?;
        let sets = |(_, instr): &(Point, &Instr)| match &instr.kind {
            InstrKind::Store { place, .. } => {
                self.local.is_some() && place.as_local() == self.local
            }
            InstrKind::Declare { local } => Some(*local) == self.local,
            _ => false,
        };
        let sets: Vec<Point> = cfg.steps().filter(sets).map(|(point, _)| point).collect();
        let is_before = |&&asked: &&ExprId| {
            let asked = cfg.call(asked);
            asked.is_some_and(|asked| reaches(cfg, asked.next(), at, &sets))
        };
        let before = self.questions.iter().filter(is_before);
        before.copied().max_by_key(|&it| (it < lookup, it))
    }
}

/// The call that made the iterator in a variable, if there is one only.
fn iterated(tree: &Tree, iterator: ExprId) -> Option<ExprId> {
    let local = tree.as_local(tree.without_casts(iterator))?;
    let stores = tree.stores().filter(|(to, _)| *to == local);
    let mut made = stores.map(|(_, value)| tree.without_casts(value));
    let only = made.next().filter(|_| made.next().is_none())?;
    tree.called(only).filter(|name| capi::copies(name))?;
    Some(only)
}
