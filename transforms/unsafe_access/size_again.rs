//! UG704: memory is made for as many items as a container has, and filled for as many as it has
//! later.

use crate::ast::{ExprId, ExprKind, Function, Init, LocalId, StmtId, StmtKind, TokenRange, Tree};
use crate::declare_rule;
use crate::provenance::Verdict;
use crate::rule::{CallSite, Finding, ItemId, Outcome, PackageCx};

use super::{Words, callers, note_at, settle, told_at, words};

/// Functions that measure a container, their first argument.
pub const SIZES: &[&str] = &[
    "PyList_GET_SIZE",
    "PyList_Size",
    "PySequence_Fast_GET_SIZE",
    "PyDict_Size",
    "PyDict_GET_SIZE",
    "PyObject_Length",
    "PyObject_Size",
    "PySequence_Length",
    "PySequence_Size",
];

/// What a loop goes by: the size, or the dict itself.
const BOUNDS: &[&str] = &[
    "PyList_GET_SIZE",
    "PyList_Size",
    "PySequence_Fast_GET_SIZE",
    "PyDict_Next",
    "PyObject_Length",
    "PyObject_Size",
    "PySequence_Length",
    "PySequence_Size",
];

/// Stores that do not look at the index; the first argument is what they fill.
const STORES: &[&str] = &["PyList_SET_ITEM", "PyTuple_SET_ITEM"];

declare_rule! {
    /// ## What it does
    /// Finds memory that is allocated for the items of a list, a dict or any sequence (`malloc`,
    /// `PyMem_New`, `PyTuple_New`, …) and filled in a loop that asks the container again when to stop:
    /// `i < PyList_GET_SIZE(list)`, or `PyDict_Next`.
    ///
    /// ## Why
    /// Another thread can add items after the memory is allocated and before the loop ends. The loop then
    /// writes past the end of the memory. A strong reference for each item does not prevent that.
    ///
    /// ## Example
    /// ```c
    /// values = PyMem_New(double, PyList_GET_SIZE(list));
    /// for (i = 0; i < PyList_GET_SIZE(list); i++)
    ///     values[i] = number_of(list, i);
    /// ```
    /// Use instead, if `number_of` handles an item that no longer exists:
    /// ```c
    /// n = PyList_GET_SIZE(list);
    /// values = PyMem_New(double, n);
    /// for (i = 0; i < n; i++)
    ///     values[i] = number_of(list, i);
    /// ```
    ///
    /// ## Confidence
    /// There is no fix: only the author knows what a shorter container means for the rest of the
    /// function.
    ///
    /// ## Limits
    /// | limit | what happens then | sample | what to do |
    /// |---|---|---|---|
    /// | Two passes over a list, one to count, one to fill; a number that a helper computes from a size | not seen | `n = count(list); out = malloc(n); fill(out, list);` | Compare with `n` in the second pass as well. |
    /// | The loop also compares the index with the first size | no finding | `for (i = 0; i < n && i < PyList_GET_SIZE(list); i++)` | |
    ///
    /// ## References
    /// - <https://docs.python.org/3/howto/free-threading-extensions.html#container-thread-safety>
    pub static SIZE_ASKED_AGAIN {
        code: "UG704",
        name: "size-asked-again",
        summary: "memory is allocated for one size of a container and filled up to another",
        severity: Memory,
        since: "0.1.0",
        best: None,
        triggers: SIZES,
        check: check,
    }
}

fn check(cx: &PackageCx<'_>, findings: &mut Vec<Finding>) {
    let mut found = Vec::new();
    for (item, function) in callers(cx, SIZES) {
        let look = Look {
            cx,
            item,
            function,
            tree: &function.tree,
        };
        look.findings(&mut found);
    }
    settle(cx, found, findings);
}

/// Memory that was made for the items of a container.
struct Memory {
    /// What holds it, as written.
    target: Words,
    container: Words,
    /// The variable that the size was kept in.
    size: Option<LocalId>,
    made_at: ExprId,
}

struct Look<'a> {
    cx: &'a PackageCx<'a>,
    item: ItemId,
    function: &'a Function,
    tree: &'a Tree,
}

impl Look<'_> {
    fn findings(&self, found: &mut Vec<Finding>) {
        let assigned = self.assigned();
        let memory: Vec<Memory> = assigned
            .iter()
            .filter_map(|(target, value)| self.memory(*target, *value, &assigned))
            .collect();
        if memory.is_empty() {
            return;
        }
        for stmt in &self.tree.stmts {
            let (cond, body) = match stmt.kind {
                StmtKind::While { cond, body } => (cond, body),
                StmtKind::For {
                    cond: Some(cond),
                    body,
                    ..
                } => (cond, body),
                _ => continue,
            };
            let fills = |memory: &&Memory| self.fills(memory, stmt.range, body);
            for memory in memory.iter().filter(fills) {
                let bound = self.calls(self.tree.expr(cond).range, BOUNDS);
                let again = bound
                    .into_iter()
                    .find(|call| self.container(*call).as_ref() == Some(&memory.container));
                found.extend(again.and_then(|call| self.finding(call, memory)));
            }
        }
    }

    /// All assignments and initialisers: the tokens of the target, and the value.
    fn assigned(&self) -> Vec<(TokenRange, ExprId)> {
        let mut all: Vec<(TokenRange, ExprId)> = Vec::new();
        for stmt in &self.tree.stmts {
            let StmtKind::Decl(locals) = &stmt.kind else {
                continue;
            };
            for each in locals {
                if let Some(Init::Expr(value)) = each.init {
                    all.push((self.tree.local(each.local).name_range, value));
                }
            }
        }
        all.extend(self.tree.exprs.iter().filter_map(|expr| match expr.kind {
            ExprKind::Assign { op: None, lhs, rhs } => Some((self.tree.expr(lhs).range, rhs)),
            _ => None,
        }));
        all
    }

    /// `value` as memory for a container, whose size it asks for or finds in a variable.
    fn memory(
        &self,
        target: TokenRange,
        value: ExprId,
        assigned: &[(TokenRange, ExprId)],
    ) -> Option<Memory> {
        let range = self.tree.expr(value).range;
        let made_at = self.call_in(range, makes_memory)?;
        let inside = self.tree.expr(made_at).range;
        let direct = self.calls(inside, SIZES).first().copied();
        let (size, call) = match direct {
            Some(call) => (None, call),
            None => self.locals(inside).find_map(|local| {
                let name = self.tree.local(local).name.as_bytes();
                let mut own = assigned.iter().filter(|(target, _)| {
                    target.end <= inside.start && self.words(*target) == [name]
                });
                let (_, value) = own.next_back()?;
                let calls = self.calls(self.tree.expr(*value).range, SIZES);
                Some((Some(local), *calls.first()?))
            })?,
        };
        Some(Memory {
            target: self.words(target),
            container: self.container(call)?,
            size,
            made_at,
        })
    }

    /// Whether the loop stores into the memory without a look at the size that was kept.
    fn fills(&self, memory: &Memory, whole: TokenRange, body: StmtId) -> bool {
        let body = self.tree.stmt(body).range;
        let is_later = self.tree.expr(memory.made_at).range.end <= whole.start;
        let asks = memory
            .size
            .is_some_and(|size| self.locals(whole).any(|local| local == size));
        let mut inner = self.tree.exprs_in(body);
        let stores = inner.any(|(_, expr)| match &expr.kind {
            ExprKind::Assign { lhs, .. } => self.is_slot(*lhs, &memory.target),
            ExprKind::Call { callee, args } => {
                let name = self.tree.callee_name(*callee);
                name.is_some_and(|name| STORES.contains(&name))
                    && args.first().is_some_and(|first| {
                        self.words(self.tree.expr(*first).range) == memory.target
                    })
            }
            _ => false,
        });
        is_later && !asks && stores
    }

    /// `target[i]`, `target[i].field`.
    fn is_slot(&self, expr: ExprId, target: &Words) -> bool {
        match &self.tree.expr(expr).kind {
            ExprKind::Index { base, .. } => self.words(self.tree.expr(*base).range) == *target,
            ExprKind::Member {
                base, arrow: false, ..
            } => self.is_slot(*base, target),
            _ => false,
        }
    }

    fn finding(&self, call: ExprId, memory: &Memory) -> Option<Finding> {
        let (file, span) = told_at(self.cx, self.item, call)?;
        let site = CallSite {
            item: self.item,
            expr: call,
        };
        let outcome = match self.cx.provenance(site, 0) {
            Verdict::Safe(proof) => Outcome::Safe(proof.sentence),
            Verdict::Shared(_) if self.cx.runs_at_init_only(&self.function.name) => return None,
            Verdict::Shared(_) => Outcome::Manual(
                "use the size that the memory was allocated for, and stop if no item is left; or \
                 hold a critical section from the allocation to the end of the loop"
                    .to_owned(),
            ),
        };
        let told = "the memory is allocated here, for an earlier size";
        let note = note_at(self.cx, self.item, memory.made_at, told);
        Some(Finding {
            rule: &SIZE_ASKED_AGAIN,
            file,
            span,
            function: Some(self.function.name.clone()),
            api: None,
            message:
                "this may return more items than the memory that the loop fills can hold; the \
                 loop then writes past its end"
                    .to_owned(),
            notes: note.into_iter().collect(),
            outcome,
        })
    }

    fn words(&self, range: TokenRange) -> Words {
        words(self.cx, self.item, range)
    }

    /// The first argument of a call.
    fn container(&self, call: ExprId) -> Option<Words> {
        let ExprKind::Call { args, .. } = &self.tree.expr(call).kind else {
            return None;
        };
        let words = self.words(self.tree.expr(*args.first()?).range);
        (!words.is_empty()).then_some(words)
    }

    /// The calls of one of `names` in `range`.
    fn calls(&self, range: TokenRange, names: &[&str]) -> Vec<ExprId> {
        let all = self.tree.exprs_in(range);
        let calls = all.filter(|(_, expr)| match &expr.kind {
            ExprKind::Call { callee, .. } => {
                let name = self.tree.callee_name(*callee);
                name.is_some_and(|name| names.contains(&name))
            }
            _ => false,
        });
        calls.map(|(id, _)| id).collect()
    }

    fn call_in(&self, range: TokenRange, is_it: fn(&str) -> bool) -> Option<ExprId> {
        let mut all = self.tree.exprs_in(range);
        let found = all.find(|(_, expr)| match &expr.kind {
            ExprKind::Call { callee, .. } => self.tree.callee_name(*callee).is_some_and(is_it),
            _ => false,
        });
        found.map(|(id, _)| id)
    }

    /// The variables that stand in `range`.
    fn locals(&self, range: TokenRange) -> impl Iterator<Item = LocalId> {
        let all = self.tree.exprs_in(range);
        all.filter_map(|(id, _)| self.tree.as_local(id))
    }
}

/// `malloc`, `PyMem_New`, `g_malloc0`, `PyTuple_New`.
fn makes_memory(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["malloc", "calloc", "realloc"]
        .iter()
        .any(|word| name.contains(word))
        || matches!(
            &*name,
            "pymem_new" | "pymem_resize" | "pytuple_new" | "pylist_new"
        )
}
