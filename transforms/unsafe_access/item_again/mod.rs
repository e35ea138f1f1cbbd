//! UG705: what was learnt of an item is taken to hold for the item of a later lookup.

mod lookup;
mod uses;

use crate::ast::{ExprId, Function, LocalId, Nesting, StmtId, StmtKind, TokenRange, Tree};
use crate::declare_rule;
use crate::provenance::Verdict;
use crate::rule::{CallSite, Finding, ItemId, Outcome, PackageCx};

use super::{callers, note_at, settle, told_at};
use lookup::{LOOKUPS, Lookup};
use uses::{Lesson, Uses};

/// Calls that put something else where the lookups look: what was learnt before is not meant.
const STORES: &[&str] = &[
    "PyList_SetItem",
    "PyList_SET_ITEM",
    "PyList_Sort",
    "PyList_Reverse",
    "PyList_Insert",
    "PyList_SetSlice",
    "PyDict_SetItem",
    "PyDict_SetItemString",
    "PyDict_SetDefault",
    "PyDict_SetDefaultRef",
    "PyDict_DelItem",
    "PyDict_DelItemString",
];

declare_rule! {
    /// ## What it does
    /// Finds items of a list or dict that one lookup tests or measures, and a second lookup uses
    /// without a test. Examples are one loop that tests all items before a second one that uses them,
    /// and `if (PyDict_GetItem(d, k))` before `PyDict_GetItem(d, k)`.
    ///
    /// ## Why
    /// Another thread can put another object there between the two lookups. A macro that does not
    /// check the type then reads the wrong memory, a buffer that was allocated for the first object
    /// is too small for the second, or there is no object any more. A strong reference for each lookup
    /// does not prevent that.
    ///
    /// ## Example
    /// ```c
    /// for (i = 0; i < n; i++) {
    ///     item = PyList_GetItemRef(list, i);
    ///     size += PyBytes_Size(item);
    ///     Py_DECREF(item);
    /// }
    /// memory = PyMem_Malloc(size);
    /// for (i = 0; i < n; i++) {
    ///     item = PyList_GetItemRef(list, i);
    ///     memcpy(memory, PyBytes_AsString(item), PyBytes_Size(item));
    ///     memory += PyBytes_Size(item);
    ///     Py_DECREF(item);
    /// }
    /// ```
    /// Use instead:
    /// ```c
    /// items = PySequence_Tuple(list);
    /// ```
    /// and read from that tuple, which no other thread has, in both loops. If the two lookups are close
    /// to each other, look up once and keep the result.
    ///
    /// ## Confidence
    /// There is no fix: only the author knows which lookups mean the same item, and what the function
    /// should do if the copy cannot be made.
    ///
    /// ## Limits
    /// | limit | what happens then | sample | what to do |
    /// |---|---|---|---|
    /// | A helper uses the item | not seen | `if (PyLong_Check(PyList_GET_ITEM(l, 0))) use_first(l);` | Look the item up once, and pass it on. |
    /// | The two lookups write the container or the key in different ways | not seen | `if (PyDict_GetItem(d, key)) use(PyDict_GetItem(self->d, key));` | Look the item up once. |
    ///
    /// ## References
    /// - <https://docs.python.org/3/howto/free-threading-extensions.html#container-thread-safety>
    pub static ITEM_LOOKED_UP_AGAIN {
        code: "UG705",
        name: "item-looked-up-again",
        summary: "an item is used as if it were the object that an earlier lookup tested",
        severity: Memory,
        since: "0.1.0",
        best: None,
        triggers: LOOKUPS,
        check: check,
    }
}

fn check(cx: &PackageCx<'_>, findings: &mut Vec<Finding>) {
    let asked = callers(cx, LOOKUPS).into_iter();
    let found = asked.flat_map(|(item, function)| Look::new(cx, item, function).findings());
    settle(cx, found.collect(), findings);
}

struct Look<'a> {
    cx: &'a PackageCx<'a>,
    item: ItemId,
    function: &'a Function,
    tree: &'a Tree,
    nesting: Nesting,
}

impl<'a> Look<'a> {
    fn new(cx: &'a PackageCx<'a>, item: ItemId, function: &'a Function) -> Self {
        let (tree, nesting) = (&function.tree, Nesting::new(function));
        Self {
            cx,
            item,
            function,
            tree,
            nesting,
        }
    }

    fn findings(&self) -> Vec<Finding> {
        let lookups = lookup::all(self.cx, self.item, self.tree);
        let alike = |at: usize| {
            let later = &lookups[at];
            lookups[..at].iter().any(|it| it.words == later.words)
        };
        let again: Vec<usize> = (0..lookups.len()).filter(|&at| alike(at)).collect();
        if again.is_empty() {
            return Vec::new();
        }
        let uses = Uses::new(self.function, &self.nesting);
        let found = again.into_iter().filter_map(|at| {
            let later = &lookups[at];
            let before = lookups[..at].iter().rev();
            let before: Vec<&Lookup> = before.filter(|it| self.is_same_item(it, later)).collect();
            let relied = Lesson::ALL.into_iter();
            let mut relied = relied.filter(|it| uses.relies_on(later, *it));
            let (lesson, learnt_at) = relied.find_map(|lesson| {
                let learnt_at = before
                    .iter()
                    .find_map(|it| uses.lesson(it, lesson, later.call))?;
                Some((lesson, learnt_at))
            })?;
            self.finding(later, lesson, learnt_at)
        });
        found.collect()
    }

    /// Whether `later` gives what `first` gave, if nobody else interferes.
    fn is_same_item(&self, first: &Lookup, later: &Lookup) -> bool {
        let stmts = [first, later].map(|it| self.nesting.stmt_of(it.call));
        first.words == later.words
            && stmts[0] != stmts[1]
            && !self.is_exclusive(first.call, later.call)
            && !self.is_stored_between(first, later)
            && first
                .named
                .iter()
                .all(|&local| self.is_as_before(local, first, later))
    }

    /// One in the branch for true, one in that for false; or in cases that end before the next.
    fn is_exclusive(&self, first: ExprId, later: ExprId) -> bool {
        let [first, later] = [first, later].map(|it| self.tree.expr(it).range);
        self.tree.stmts.iter().any(|stmt| match stmt.kind {
            StmtKind::If {
                then,
                otherwise: Some(otherwise),
                ..
            } => {
                let range = |stmt: StmtId| self.tree.stmt(stmt).range;
                range(then).contains(first) && range(otherwise).contains(later)
            }
            StmtKind::Block(ref stmts) => {
                let between = |stmt: StmtId| {
                    let start = self.tree.stmt(stmt).range.start;
                    first.end <= start && start <= later.start
                };
                stmt.range.contains(first)
                    && stmt.range.contains(later)
                    && stmts.windows(2).any(|pair| {
                        let case = &self.tree.stmt(pair[1]).kind;
                        matches!(case, StmtKind::Case { .. } | StmtKind::Default { .. })
                            && between(pair[1])
                            && self.tree.leaves(self.tree.unlabelled(pair[0]))
                    })
            }
            _ => false,
        })
    }

    fn is_stored_between(&self, first: &Lookup, later: &Lookup) -> bool {
        let mut between = self.tree.exprs_in(self.between(first, later));
        between.any(|(call, _)| {
            let name = self.tree.called(call);
            name.is_some_and(|name| STORES.contains(&name))
                && lookup::container(self.cx, self.item, self.tree, call).as_ref()
                    == Some(&first.container)
        })
    }

    fn between(&self, first: &Lookup, later: &Lookup) -> TokenRange {
        TokenRange {
            start: self.tree.expr(first.call).range.end,
            end: self.tree.expr(later.call).range.start,
        }
    }

    /// Whether a variable of both lookups has the same values at both: nothing sets it in between,
    /// or each of them has a loop of its own that goes over its values.
    fn is_as_before(&self, local: LocalId, first: &Lookup, later: &Lookup) -> bool {
        let is_set = |range: TokenRange| {
            let mut inside = self.tree.exprs_in(range);
            inside.any(|(expr, _)| {
                let is_it = |place| self.tree.as_local(place) == Some(local);
                self.tree.changed(expr).is_some_and(is_it)
                    || self.tree.as_address(expr) == Some(local)
            })
        };
        let counts = |of: &Lookup, other: &Lookup| {
            let [of, other] = [of, other].map(|it| self.tree.expr(it.call).range);
            let mut loops = self.tree.stmts.iter().filter(|stmt| stmt.kind.is_loop());
            loops.any(|each| {
                each.range.contains(of) && !each.range.contains(other) && is_set(each.range)
            })
        };
        !is_set(self.between(first, later)) || counts(first, later) && counts(later, first)
    }

    fn finding(&self, later: &Lookup, lesson: Lesson, learnt_at: ExprId) -> Option<Finding> {
        let (file, span) = told_at(self.cx, self.item, later.call)?;
        let site = CallSite {
            item: self.item,
            expr: later.call,
        };
        let outcome = match self.cx.provenance(site, 0) {
            Verdict::Safe(proof) => Outcome::Safe(proof.sentence),
            Verdict::Shared(_) if self.cx.runs_at_init_only(&self.function.name) => return None,
            Verdict::Shared(_) => Outcome::Manual(
                "keep a strong reference to the first result until here; or use a copy that no \
                 other thread has for both lookups (`PySequence_Tuple`, `PyDict_Copy`)"
                    .to_owned(),
            ),
        };
        let note = note_at(self.cx, self.item, learnt_at, lesson.note());
        Some(Finding {
            rule: &ITEM_LOOKED_UP_AGAIN,
            file,
            span,
            function: Some(self.function.name.clone()),
            api: None,
            message: lesson.message().to_owned(),
            notes: note.into_iter().collect(),
            outcome,
        })
    }
}

#[cfg(test)]
mod tests;
