//! What calls, by their names, say of a pending exception.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::{FxHashMap, FxHashSet};

use crate::ast::{Expr, ExprKind, Function, Tree, Type, TypeKind};
use crate::capi::{self, Acts, CallsBack, OldErrors, Returns};
use crate::cfg::{Comparison, Condition, Operand, TempId};
use crate::rule::{ErrorNumbers, ErrorReturn, ItemId, PackageCx};
use crate::strong::types::is_number;

/// What a value says of a pending exception, over all paths.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::strong) struct Signs {
    /// The union of [`ZERO`] and those below it.
    ways: u8,
    /// Numbers with which a function of the package returns an exception.
    numbers: BTreeSet<i64>,
}

/// 0 says that one was raised.
const ZERO: u8 = 1;
/// A negative number says so.
const NEGATIVE: u8 = 2;
/// Anything but 0 says so.
const NONZERO: u8 = 4;
/// Anything but 0 says so, and 0 that there is none: `PyErr_Occurred`.
const ASKED: u8 = 8;
/// 0 says that one was raised, if the value is an object: a function of the package.
const ZERO_OBJECT: u8 = 16;
/// 0 says that one was raised, or that there is nothing more: `PyIter_Next`.
const ZERO_OR_END: u8 = 32;

impl From<u8> for Signs {
    fn from(ways: u8) -> Self {
        let numbers = BTreeSet::new();
        Self { ways, numbers }
    }
}

impl Signs {
    /// Those of a value that is 1 or 0: whether this one compares so with `number`.
    pub(in crate::strong) fn compared(&self, comparison: Comparison, number: i64) -> Self {
        // `more = (item = PyIter_Next(it)) != NULL`: that there are no more is no exception.
        if self.ways & ZERO_OR_END != 0 {
            return Self::default();
        }
        let outcomes = self.errors().map(|error| comparison.holds(error, number));
        Self {
            ways: 0,
            numbers: outcomes.map(i64::from).collect(),
        }
    }

    pub(in crate::strong) fn is_empty(&self) -> bool {
        self.ways == 0 && self.numbers.is_empty()
    }

    /// Those of what a function leaves in a number, or a pointer, of its caller.
    pub(super) fn of_output(is_number: bool) -> Self {
        if is_number { NEGATIVE } else { ZERO }.into()
    }

    /// Those of a variable that gets one of these numbers where there is an exception.
    pub(super) fn of_numbers(numbers: &BTreeSet<i64>) -> Self {
        let ways = if numbers.contains(&0) { 0 } else { NONZERO };
        let numbers = numbers.clone();
        Self { ways, numbers }
    }

    /// Those of a value that is one of these numbers where there is an exception.
    pub(super) fn of_these(numbers: &BTreeSet<i64>) -> Self {
        let numbers = numbers.clone();
        Self { ways: 0, numbers }
    }

    /// Those of a function of which nothing is known: if it gives an object, `NULL` says of one.
    pub(super) fn of_unknown() -> Self {
        ZERO_OBJECT.into()
    }

    /// Whether they hold all of `other`.
    pub(in crate::strong) fn holds(&self, other: &Self) -> bool {
        self.ways & other.ways == other.ways && self.numbers.is_superset(&other.numbers)
    }

    pub(in crate::strong) fn extend(&mut self, other: &Self) {
        self.ways |= other.ways;
        self.numbers.extend(&other.numbers);
    }

    /// Makes them those of `a | b`; whether that is known: not where 0 says of an exception.
    pub(super) fn joined(&mut self) -> bool {
        let is_known = self.ways & !(NEGATIVE | NONZERO) == 0 && !self.numbers.contains(&0);
        if is_known && !self.is_empty() {
            self.ways |= NONZERO;
        }
        is_known
    }

    /// The numbers that say of an exception, if they are all that says so.
    pub(in crate::strong) fn exact(&self) -> Option<&BTreeSet<i64>> {
        (self.ways & !NONZERO == 0).then_some(&self.numbers)
    }

    /// Whether the value, if it is one of a call, asks for any exception: `PyErr_Occurred()`.
    pub(in crate::strong) fn asks(&self) -> bool {
        self.ways == ASKED
    }

    /// Whether a negative number says of an exception.
    pub(in crate::strong) fn is_negative(&self) -> bool {
        self.ways & NEGATIVE != 0
    }

    /// Whether a value that is no error otherwise says of an exception: 0, or -1.
    pub(in crate::strong) fn is_sign(&self, number: i64) -> bool {
        number == 0 && self.ways & ZERO != 0 || number == -1 && self.is_negative()
    }

    /// Whether it is known which values say of an exception.
    pub(in crate::strong) fn is_sure(&self) -> bool {
        self.ways & ZERO != 0 || !self.numbers.is_empty()
    }

    /// Whether only null says of an exception.
    pub(in crate::strong) fn is_null_only(&self) -> bool {
        self.ways & !(ZERO | ZERO_OBJECT | ZERO_OR_END) == 0 && self.numbers.is_empty()
    }

    /// Those of a variable that gets the value.
    pub(in crate::strong) fn stored(mut self, in_object: bool) -> Self {
        if self.ways == ZERO_OBJECT {
            self.ways = if in_object { ZERO } else { 0 };
        }
        self
    }

    /// The values that may say of an exception; some negative number stands for all.
    pub(in crate::strong) fn errors(&self) -> impl Iterator<Item = i64> {
        let zero = (self.ways & (ZERO | ZERO_OBJECT | ZERO_OR_END) != 0).then_some(0);
        let is_negative = self.ways & NEGATIVE != 0;
        let minus_one = is_negative || self.ways & NONZERO != 0 && self.numbers.is_empty();
        let numbers = self.numbers.iter().copied();
        zero.into_iter()
            .chain(minus_one.then_some(-1))
            .chain(numbers)
    }

    /// Whether the value may be an error where a test of it turns out so.
    pub(in crate::strong) fn may_be_error(&self, test: &Condition, holds: bool) -> bool {
        let mut errors = self.errors();
        let number = match test.rhs {
            Operand::Null => 0,
            Operand::Int(number) => number,
            // `x == -1.0`
            _ => return errors.next().is_some(),
        };
        errors.any(|error| test.comparison.holds(error, number) == holds)
    }

    /// Whether a comparison with `number` that has this outcome shows an exception.
    pub(in crate::strong) fn shown_by(
        &self,
        comparison: Comparison,
        number: i64,
        holds: bool,
    ) -> bool {
        match (comparison, holds) {
            (Comparison::Equal, true) | (Comparison::NotEqual, false) => {
                number == 0 && self.ways & ZERO != 0
                    || number == -1 && self.ways & NEGATIVE != 0
                    || self.numbers.contains(&number)
            }
            (Comparison::Equal, false) | (Comparison::NotEqual, true) => {
                number == 0 && self.ways & (NONZERO | ASKED) != 0
            }
            _ => {
                let is_so = |value| comparison.holds(value, number) == holds;
                !is_so(0) && self.errors().any(is_so)
            }
        }
    }

    /// Whether a comparison with `number` tells errors from other values.
    pub(in crate::strong) fn asked_by(&self, comparison: Comparison, number: i64) -> bool {
        match comparison {
            Comparison::Equal | Comparison::NotEqual => {
                self.errors().any(|error| error == number)
                    || number == 0 && self.ways & NONZERO != 0
            }
            _ if self.ways & NEGATIVE != 0 => matches!(number, -1 | 0),
            _ => [true, false]
                .iter()
                .any(|&holds| self.shown_by(comparison, number, holds)),
        }
    }
}

/// Whether the result of `name` alone says whether an exception is pending behind the call: to give
/// an object with an exception set is a `SystemError` (`_Py_CheckFunctionResult`).
pub(in crate::strong) fn checks_result(name: &str) -> bool {
    let is_call = ["PyObject_Call", "PyObject_Vectorcall"]
        .iter()
        .any(|start| name.starts_with(start));
    is_call && !name.starts_with("PyObject_CallFinalizer")
        || matches!(name, "PyImport_Import" | "PyImport_ImportModule")
}

/// What the result of `name` says.
pub(in crate::strong) fn signs(name: &str) -> Signs {
    // Their `NULL` is an answer.
    const ANSWERS: [&str; 2] = ["PyFrame_GetBack", "PyThreadState_GetFrame"];
    let Some(effects) = capi::effects(name) else {
        return Signs::of_unknown();
    };
    let ways = match effects.returns {
        _ if name == "PyErr_Occurred" => ASKED,
        _ if name == "PyErr_ExceptionMatches" => NONZERO,
        _ if name == "PyIter_Next" => ZERO_OR_END,
        _ if never_fails(name) => 0,
        Returns::New if !ANSWERS.contains(&name) => ZERO,
        Returns::Borrowed => {
            let raising =
                capi::replacement(name).is_some_and(|row| row.errors == OldErrors::Raised);
            if raising { ZERO } else { 0 }
        }
        Returns::Plain if name.starts_with("PyArg_") || gives_pointer(name) => ZERO,
        // They are made for `O&`.
        Returns::Plain if name.ends_with("_FSConverter") || name.ends_with("_FSDecoder") => ZERO,
        Returns::Plain if is_status(name) => NEGATIVE | NONZERO,
        Returns::Plain => NEGATIVE,
        Returns::New | Returns::Null | Returns::Void => 0,
    };
    ways.into()
}

/// Whether the function gives a C pointer that an object holds or that is made of it, or `NULL` with
/// an exception.
fn gives_pointer(name: &str) -> bool {
    name.contains("_AsUTF8")
        || matches!(
            name,
            "PyByteArray_AsString"
                | "PyBytes_AsString"
                | "PyCapsule_GetPointer"
                | "PyCapsule_Import"
                | "PyUnicode_AsUCS4"
                | "PyUnicode_AsUCS4Copy"
                | "PyUnicode_AsWideCharString"
        )
}

/// Whether the function `name` neither raises nor does something else while an exception is pending.
pub(in crate::strong) fn leaves_errors_alone(name: &str) -> bool {
    let runs_python = capi::effects(name).is_none_or(|effects| effects.runs_python);
    !runs_python && never_fails(name) || name == "Py_TYPE"
}

/// Whether the function only looks, at what is there in any case.
fn never_fails(name: &str) -> bool {
    let is_check = name.ends_with("Check") || name.ends_with("_CheckExact");
    is_check && name != "PyABIInfo_Check"
        || name.contains("_GET_")
        || ["PyMem_", "Py_IS_", "Py_Is", "PyGILState_", "PyThreadState_"]
            .iter()
            .any(|start| name.starts_with(start))
        || matches!(
            name,
            "Py_SIZE"
                | "Py_REFCNT"
                | "Py_TYPE"
                | "Py_NewRef"
                | "Py_XNewRef"
                | "PyBool_FromLong"
                | "PyEval_SaveThread"
        )
}

/// Whether the function `name` raises for what is in an object, or for what an object is: by running
/// Python code, or since it is no string, or one with a lone surrogate.
pub(in crate::strong) fn rejects_objects(name: &str) -> bool {
    capi::effects(name).is_some_and(|effects| effects.runs_python)
        || matches!(
            name,
            "PyUnicode_AsUTF8" | "PyUnicode_AsUTF8AndSize" | "PyUnicode_Compare"
        )
}

/// Whether the function `name` gives 0, or -1 with an exception.
pub(in crate::strong) fn is_status(name: &str) -> bool {
    const PARTS: [&str; 10] = [
        "_Add",
        "_Append",
        "_AsStringAndSize",
        "_Del",
        "_EnterRecursiveCall",
        "_FillInfo",
        "_GetBuffer",
        "_Insert",
        "_Ready",
        "_Resize",
    ];
    name.contains("_Set") || PARTS.iter().any(|part| name.contains(part))
}

/// What a function calls of the package, as far as it may raise.
#[derive(Debug, Default)]
pub(in crate::strong) struct Helpers {
    named: FxHashMap<Box<str>, Helper>,
    /// What results of calls by a pointer say.
    pub pointed: FxHashMap<TempId, Signs>,
    /// Results of those that lead to functions of the package none of which leaves an exception.
    pub quiet: FxHashSet<TempId>,
    /// Functions out of sight, and those of the package that raise nothing but by calling one.
    pub unseen: FxHashSet<Box<str>>,
}

impl Helpers {
    pub(super) fn get(&self, name: &str) -> Option<&Helper> {
        self.named.get(name)
    }

    pub(super) fn contains_key(&self, name: &str) -> bool {
        self.named.contains_key(name)
    }
}

/// A function of the package that may raise.
#[derive(Debug)]
pub(in crate::strong) struct Helper {
    /// What its result says.
    pub signs: Signs,
    /// Whether its result does not tell of some exception.
    pub silent: bool,
    /// Whether it always comes back with one.
    pub always: bool,
    /// Whether it may come back with one at all.
    pub leaves: bool,
    /// Whether it may do so in a way that nobody knows.
    pub unsure: bool,
    /// The numbers that it stores then, by the argument that says where.
    pub outs: BTreeMap<usize, BTreeSet<i64>>,
}

/// Those that `tree` calls; `known` says how some of them come back.
pub(in crate::strong) fn helpers(
    cx: &PackageCx<'_>,
    tree: &Tree,
    known: &BTreeMap<Box<str>, ErrorReturn>,
) -> Helpers {
    let mut helpers = Helpers::default();
    let mut seen = FxHashMap::default();
    for (_, name) in tree.calls() {
        if helpers.contains_key(name) {
            continue;
        }
        if let Some(helper) = helper(cx, name, known) {
            helpers.named.insert(name.into(), helper);
        } else if is_unseen(cx, name, &mut seen) {
            helpers.unseen.insert(name.into());
        }
    }
    helpers
}

/// Whether nobody knows what the function `name` does about exceptions: it is out of sight, or calls
/// what is, or what may raise. `seen` are functions of the package that were looked at.
fn is_unseen<'a>(cx: &PackageCx<'a>, name: &str, seen: &mut FxHashMap<&'a str, bool>) -> bool {
    let own: Vec<&'a Function> = cx.definitions(name).map(|(_, own)| own).collect();
    let Some(first) = own.first() else {
        return capi::effects(name).is_none() && capi::acts(name) == Some(Acts::UNKNOWN)
            || capi::calls_back(name) == Some(CallsBack::Within);
    };
    if let Some(&known) = seen.get(first.name.as_str()) {
        return known;
    }
    seen.insert(&first.name, false);
    let is_one = own.iter().any(|function| {
        let tree = &function.tree;
        let callees = tree.exprs.iter().filter_map(|expr| match expr.kind {
            ExprKind::Call { callee, .. } => Some(tree.callee_name(callee)),
            _ => None,
        });
        let callees: BTreeSet<Option<&str>> = callees.collect();
        let mut callees = callees.into_iter();
        may_raise(function) || callees.any(|it| it.is_none_or(|it| is_unseen(cx, it, seen)))
    });
    seen.insert(&first.name, is_one);
    is_one
}

/// What the function `name` of the package says of exceptions; `None` if it raises none.
pub(super) fn helper(
    cx: &PackageCx<'_>,
    name: &str,
    known: &BTreeMap<Box<str>, ErrorReturn>,
) -> Option<Helper> {
    let may_raise = |(_, function): &(ItemId, &Function)| may_raise(function);
    let (_, function) = cx.definitions(name).find(may_raise)?;
    let known = known.get(name);
    let numbers = known.and_then(|known| known.numbers.as_ref());
    let signs = numbers.map(signs_of_numbers);
    Some(Helper {
        signs: signs.unwrap_or_else(|| signs_of(&function.ret)),
        silent: known.is_some_and(|known| known.silent),
        always: known.is_some_and(|known| known.always),
        leaves: known.is_none_or(|known| known.leaves),
        unsure: known.is_none_or(|known| known.unsure),
        outs: known.map(|known| known.outs.clone()).unwrap_or_default(),
    })
}

fn signs_of_numbers(known: &ErrorNumbers) -> Signs {
    Signs {
        ways: if known.else_zero { NONZERO } else { 0 },
        numbers: known.numbers.clone(),
    }
}

/// What the result of a function of the package says.
fn signs_of(ret: &Type) -> Signs {
    let ways = match ret {
        ret if ret.is_py_object_pointer() || matches!(ret.kind, TypeKind::Pointer(_)) => ZERO,
        ret if ret.is_void() || !is_number(ret) => 0,
        _ => NEGATIVE,
    };
    ways.into()
}

/// Whether a function may raise: it works on objects, or calls what raises.
pub(in crate::strong) fn may_raise(function: &Function) -> bool {
    let tree = &function.tree;
    let mut params = function.params.iter();
    let has_object = params.any(|&param| tree.local(param).ty.is_py_object_pointer());
    let calls = |expr: &Expr| match expr.kind {
        ExprKind::Call { callee, .. } => tree.callee_name(callee).is_some_and(|name| {
            capi::raises_exception(name)
                || capi::effects(name).is_some_and(|effects| effects.runs_python)
        }),
        _ => false,
    };
    has_object || function.ret.is_py_object_pointer() || tree.exprs.iter().any(calls)
}
