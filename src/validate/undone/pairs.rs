//! Functions of Python and C that take back what another one did to the same place.
//!
//! ```c
//! if (PySet_Add(self->seen, key) < 0)
//!     return NULL;
//! item = PyList_GetItemRef(list, i);            /* `key` is still among them if this fails */
//! …
//! PySet_Discard(self->seen, key);
//! return result;
//! ```

use super::View;
use super::acts::{Act, is_constant, roots, words};
use super::telling::{ends, is_made_here, is_release, own};
use super::ways::Exit;
use crate::ast::{ExprId, ExprKind};
use crate::capi::{self, is_un, words_of};
use crate::cfg::reaches;
use crate::program::touched;

impl View<'_> {
    /// Whether a call of a function of Python takes back what had been done where `exit` leaves.
    pub(super) fn takes_back(&self, act: &Act, exit: &Exit) -> bool {
        let is_inside = self.is_in_loop(act, exit);
        let mut others = self.acts.iter().filter(|other| other.key != act.key);
        others.any(|other| {
            (self.is_opposite(other, act) || self.is_set_back(other, act, exit))
                && (!is_inside || self.is_in_loop(other, exit))
                && self.has_begun(other, exit, act)
        })
    }

    /// Whether `act` takes back what `begin` does: `PyList_Append(log, v)` and
    /// `PySequence_DelItem(log, -1)`, `self->current = v` and `Py_CLEAR(self->current)`.
    fn is_opposite(&self, begin: &Act, act: &Act) -> bool {
        if self.are_paired(begin, act) {
            return true;
        }
        let (Some(name), [first, others @ ..]) = self.call(act) else {
            return false;
        };
        if begin.writes {
            return is_release(name) && self.sets_one_of(begin, &[self.words(*first)]);
        }
        let (Some(before), [subject, rest @ ..]) = self.call(begin) else {
            return false;
        };
        let local = self.tree.as_local(self.tree.without_casts(*first));
        if local.is_some_and(|local| is_made_here(self.tree, local)) {
            return false;
        }
        let are_same = |one: &[ExprId], other: &[ExprId]| {
            let words = |all: &[ExprId]| all.iter().map(|&arg| self.words(arg)).collect();
            let (one, other): (Vec<String>, Vec<String>) = (words(one), words(other));
            one == other
        };
        let is_set_anew = || match (others, rest) {
            ([], []) => act.may_undo && sets(name),
            ([keys @ .., value], [before @ .., _]) => {
                let is_one = are_same(&[*first], &[*subject]) && are_same(keys, before);
                // `PyObject_SetAttrString(self, "busy", Py_False)`
                let is_set = || act.may_undo || is_constant(self.tree, *value);
                is_one && (sets(name) && is_set() || self.is_old_value(*value, act))
            }
            _ => false,
        };
        // Where something looks at the result, it is more likely to be of use for itself.
        let is_exact = || {
            let is_key = rest.len() >= others.len() && are_same(others, &rest[..others.len()]);
            is_key || words_of(before).any(|word| word == "append")
        };
        // `PyList_SetSlice(stack, n, n + 1, NULL)`
        let empties = || sets(name) && others.last().is_some_and(|&it| self.tree.is_null(it));
        let takes = takes(name) || is_release(name) || empties();
        takes && adds(before) && are_same(&[*first], &[*subject]) && (act.may_undo || is_exact())
            || name == before && is_set_anew()
            || (is_un(name, before) || is_un(before, name))
                && self.arguments(begin) == self.arguments(act)
    }

    /// Whether `act` sets a place back that `begin` sets, both of them by what functions of the package
    /// do, or in other words of the same function: `fseek(file, 0, SEEK_END)` and `fseek(file, old,
    /// SEEK_SET)`.
    fn is_set_back(&self, begin: &Act, act: &Act, exit: &Exit) -> bool {
        let (Some(name), args) = self.call(act) else {
            return false;
        };
        let touched = |it: &Act| touched(self.changed.original.program, self.tree, it.expr);
        let begun = || touched(begin);
        let mut back = touched(act).into_iter().filter(|it| it.sets_back);
        if back.any(|it| begun().iter().any(|other| other.place == it.place)) {
            return true;
        }
        let (before, begun) = self.call(begin);
        if act.is_looked_at && self.is_unseen(before) && self.is_unseen(Some(name)) {
            let mut pairs = args.iter().zip(begun);
            let is_one = args.len() == begun.len() && !args.is_empty();
            if is_one && pairs.all(|(&one, &other)| self.words(one) == self.words(other)) {
                return before != Some(name) && self.is_of_others(act);
            }
        }
        let pairs = args.iter().zip(begun);
        let others = pairs.filter(|(one, other)| self.words(**one) != self.words(**other));
        let others: Vec<ExprId> = others.map(|(&one, _)| one).collect();
        let is_saved = |&arg: &ExprId| self.is_saved_before(arg, begin);
        let is_back = |arg: &ExprId| is_saved(arg) || is_constant(self.tree, *arg);
        let is_told = || {
            let is_one_handle = others.len() < args.len() && act.may_undo && !writes_on(name);
            others.iter().any(is_saved) || is_one_handle
        };
        let is_emptied = || args.iter().all(|&arg| self.tree.is_null(arg));
        // What another pass has done is no beginning.
        let start = self.tree.stmt(exit.test).range.start;
        let is_before = self.tree.expr(begin.expr).range.start < start;
        before == Some(name)
            && is_before
            && args.len() == begun.len()
            && !others.is_empty()
            && (is_emptied() || capi::is_unknown(name) && others.iter().all(is_back) && is_told())
    }

    /// Whether nothing is known of what a function does.
    fn is_unseen(&self, name: Option<&str>) -> bool {
        let is_own = |name| own(self.changed.original, name).next().is_some();
        name.is_some_and(|name| capi::is_unknown(name) && !is_own(name))
    }

    /// Whether a call gets nothing that the function has made.
    fn is_of_others(&self, act: &Act) -> bool {
        let mut roots = roots(self.tree, act.expr).into_iter();
        roots.all(|root| self.is_given(root))
    }

    /// Whether a value is a variable that got what a call told before `begin`, or what that gave.
    fn is_saved_before(&self, value: ExprId, begin: &Act) -> bool {
        let tree = self.tree;
        let local = tree.as_local(tree.without_casts(value));
        let is_before = |value: ExprId| {
            let point = self.cfg.call(tree.without_casts(value));
            point.is_some_and(|point| reaches(self.cfg, point, begin.point.next(), &[]))
        };
        let mut stores = tree.stores();
        let (_, begun) = self.call(begin);
        // `pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old)`
        let is_filled = |&arg: &ExprId| local.is_some() && tree.as_address(arg) == local;
        begun.iter().any(is_filled)
            || stores.any(|(given, value)| Some(given) == local && is_before(value))
    }

    /// Whether the names of two functions, or of the methods that they call, say that one ends what
    /// the other begins: `PyGC_Disable()` and `PyGC_Enable()`, `PyObject_CallMethod(lock, "acquire",
    /// NULL)` and the same with `"release"`.
    fn are_paired(&self, begin: &Act, act: &Act) -> bool {
        let ((Some(before), begun), (Some(name), ended)) = (self.call(begin), self.call(act))
        else {
            return false;
        };
        let is_one = match (begun, ended) {
            ([], []) => true,
            ([one, ..], [other, ..]) => self.words(*one) == self.words(*other),
            _ => false,
        };
        let method = |args: &[ExprId]| {
            let text = args.get(1).and_then(|&arg| self.tree.as_string(arg));
            text.map(|text| String::from_utf8_lossy(text).into_owned())
        };
        let calls_pair = || {
            let methods = method(begun).zip(method(ended));
            before == name
                && name.contains("Method")
                && methods.is_some_and(|(one, other)| is_pair(&one, &other))
        };
        is_one && (is_pair(before, name) || calls_pair())
    }

    /// Whether a value is what `act` has set anew, as a call of the same function or with the same
    /// names told: `old = PyOS_setsig(SIGINT, SIG_IGN); … PyOS_setsig(SIGINT, old);`.
    fn is_old_value(&self, value: ExprId, act: &Act) -> bool {
        let tree = self.tree;
        let local = tree.as_local(tree.without_casts(value));
        let words =
            |args: &[ExprId]| -> Vec<String> { args.iter().map(|&arg| self.words(arg)).collect() };
        let (name, args) = self.call(act);
        let names = words(&args[..args.len().saturating_sub(1)]);
        let tells = |expr: ExprId| match &tree.expr(expr).kind {
            ExprKind::Call { args, .. } => tree.called(expr) == name || words(args) == names,
            _ => false,
        };
        let is_told = |value: ExprId| {
            let mut inner = tree.exprs_in(tree.expr(value).range);
            inner.any(|(expr, _)| tells(expr))
        };
        // `PySys_GetOptionalAttrString("stdout", &old)`
        let gives = |expr: ExprId| match &tree.expr(expr).kind {
            ExprKind::Call { args, .. } => args.split_last().is_some_and(|(last, args)| {
                tree.as_address(*last).is_some_and(|it| Some(it) == local) && words(args) == names
            }),
            _ => false,
        };
        let mut stores = tree.stores();
        stores.any(|(given, value)| Some(given) == local && is_told(value))
            || tree.expr_ids().any(gives)
    }

    /// Whether a function of C writes the memory that the place of a write is a part of:
    /// `strcpy(self->name, "busy")` and `self->name[0] = 0`.
    pub(super) fn fills(&self, call: &Act, write: &Act) -> bool {
        let (Some(name), args) = self.call(call) else {
            return false;
        };
        let memory = capi::written(name).and_then(|at| args.get(at));
        let Some(place) = self.tree.changed(write.expr) else {
            return false;
        };
        let place = self.words(place);
        memory.is_some_and(|&memory| {
            let memory = self.words(memory);
            let rest = place.strip_prefix(memory.trim_start_matches("& "));
            call.may_undo && rest.is_some_and(|rest| rest.starts_with(' '))
        })
    }

    /// Whether a call gives what it works on something, or changes it, by a function of C.
    pub(super) fn is_written_by_c(&self, act: &Act) -> bool {
        let (name, _) = self.call(act);
        name.is_some_and(|name| capi::written(name).is_some())
    }

    fn call(&self, act: &Act) -> (Option<&str>, &[ExprId]) {
        match &self.tree.expr(act.expr).kind {
            ExprKind::Call { callee, args } => (self.tree.callee_name(*callee), args),
            _ => (None, &[]),
        }
    }

    fn words(&self, expr: ExprId) -> String {
        words(self.changed, self.files, expr)
    }
}

/// Whether two names differ in one word, of which one ends what the other begins.
fn is_pair(begin: &str, end: &str) -> bool {
    const PAIRS: [(&str, &str); 12] = [
        ("acquire", "release"),
        ("attach", "detach"),
        ("begin", "end"),
        ("disable", "enable"),
        ("enable", "disable"),
        ("enter", "exit"),
        ("enter", "leave"),
        ("open", "close"),
        ("push", "pop"),
        ("set", "reset"),
        ("start", "stop"),
        ("suspend", "resume"),
    ];
    let (begin, end): (Vec<_>, Vec<_>) = (words_of(begin).collect(), words_of(end).collect());
    let mut others = begin.iter().zip(&end).filter(|(one, other)| one != other);
    match (begin.len() == end.len(), others.next(), others.next()) {
        (true, Some((one, other)), None) => PAIRS.contains(&(&**one, &**other)),
        _ => false,
    }
}

/// Whether the name of a function says that it puts something somewhere.
fn adds(name: &str) -> bool {
    const WORDS: [&str; 9] = [
        "add",
        "append",
        "extend",
        "insert",
        "set",
        "setdefault",
        "setref",
        "update",
        "xsetref",
    ];
    words_of(name).any(|word| WORDS.contains(&&*word))
}

/// Whether the name of a function says that it puts one thing behind another: `write_text(out, "(")`.
fn writes_on(name: &str) -> bool {
    const WORDS: [&str; 6] = ["emit", "log", "print", "push", "send", "write"];
    adds(name) && !sets(name) || words_of(name).any(|word| WORDS.contains(&&*word))
}

fn takes(name: &str) -> bool {
    const WORDS: [&str; 6] = ["clear", "del", "delete", "discard", "pop", "remove"];
    ends(name) || words_of(name).any(|word| WORDS.contains(&&*word))
}

/// Whether a function gives a place another value: `PyObject_SetAttrString(list, "busy", v)`.
fn sets(name: &str) -> bool {
    words_of(name).any(|word| word == "set")
}
