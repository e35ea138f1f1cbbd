//! Which strong function stands for which borrowed one.
//!
//! `PyDict_Next` has no strong form: its loop needs a critical section.

use super::PyVersion;

/// A borrowed-reference function and the function that hands out a strong reference instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Replacement {
    /// The function or macro that returns a borrowed reference.
    pub borrowed: &'static str,
    /// The function that gives a strong one.
    pub strong: &'static str,
    /// How the strong function hands it out.
    pub form: Form,
    /// What the borrowed function gives when there is nothing to give.
    pub absent: Absent,
    /// What the borrowed function does on an error.
    pub errors: OldErrors,
    /// The first Python whose headers declare the strong function.
    pub since: PyVersion,
    /// The first limited API that has it; `None` if none does.
    pub limited_since: Option<PyVersion>,
    /// The first Python whose headers have the borrowed one no more; `None` if all have it.
    pub removed: Option<PyVersion>,
    /// Why the call cannot be swapped by name and result alone; `None` if it can.
    pub caution: Option<&'static str>,
}

/// How a strong function hands out its reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// As its result, `NULL` on failure; the arguments stay the same.
    Return,
    /// Through one more argument, the last; the result is 1 (there), 0 (absent) or -1 (error).
    Out {
        /// The index of that argument.
        arg: u8,
    },
}

/// What a borrowed function gives when there is nothing to give.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Absent {
    /// That is an error: `NULL` with an exception.
    Error,
    /// `NULL` without an exception.
    Null,
    /// `Py_None`: a dead weak reference.
    None,
}

/// What a borrowed function does on an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OldErrors {
    /// Leaves an exception set.
    Raised,
    /// Gives `NULL` without an exception.
    Swallowed,
    /// Does not look: undefined behaviour.
    Unchecked,
}

impl Replacement {
    /// Whether it reads an item of a list: a checked one fails where the list got shorter.
    #[must_use]
    pub fn reads_list(&self) -> bool {
        self.strong == LIST.strong
    }

    /// Whether the headers of the Python with this `PY_VERSION_HEX` lack the borrowed function.
    #[must_use]
    pub fn is_gone_by(&self, newest: u32) -> bool {
        self.removed.is_some_and(|removed| removed.hex() <= newest)
    }
}

/// Whether the function or macro `name` gives a borrowed reference to an item of a list.
#[must_use]
pub fn reads_list(name: &str) -> bool {
    replacement(name).is_some_and(Replacement::reads_list)
}

/// The replacement for the borrowed function called `name`.
pub fn replacement(name: &str) -> Option<&'static Replacement> {
    REPLACEMENTS
        .iter()
        .find(|replacement| replacement.borrowed == name)
}

/// The first replacement by the strong function called `name`.
#[must_use]
pub fn replacement_by(name: &str) -> Option<&'static Replacement> {
    REPLACEMENTS.iter().find(|row| row.strong == name)
}

const V3_6: PyVersion = PyVersion::new(3, 6);
const V3_7: PyVersion = PyVersion::new(3, 7);
const V3_8: PyVersion = PyVersion::new(3, 8);
const V3_9: PyVersion = PyVersion::new(3, 9);
const V3_10: PyVersion = PyVersion::new(3, 10);
const V3_13: PyVersion = PyVersion::new(3, 13);
const V3_15: PyVersion = PyVersion::new(3, 15);

/// A lookup in a dict that reports errors; the rows below say where they differ.
const DICT: Replacement = Replacement {
    borrowed: "PyDict_GetItemWithError",
    strong: "PyDict_GetItemRef",
    form: Form::Out { arg: 2 },
    absent: Absent::Null,
    errors: OldErrors::Raised,
    since: V3_13,
    limited_since: Some(V3_13),
    removed: None,
    caution: None,
};

const DICT_STRING: Replacement = Replacement {
    borrowed: "_PyDict_GetItemStringWithError",
    strong: "PyDict_GetItemStringRef",
    ..DICT
};

const LIST: Replacement = Replacement {
    borrowed: "PyList_GetItem",
    strong: "PyList_GetItemRef",
    form: Form::Return,
    absent: Absent::Error,
    errors: OldErrors::Raised,
    since: V3_13,
    limited_since: Some(V3_13),
    removed: None,
    caution: None,
};

const WEAKREF: Replacement = Replacement {
    borrowed: "PyWeakref_GetObject",
    strong: "PyWeakref_GetRef",
    form: Form::Out { arg: 1 },
    absent: Absent::None,
    errors: OldErrors::Raised,
    since: V3_13,
    limited_since: Some(V3_13),
    removed: Some(V3_15),
    caution: None,
};

const FRAME_GLOBALS: Replacement = Replacement {
    borrowed: "PyEval_GetGlobals",
    strong: "PyEval_GetFrameGlobals",
    form: Form::Return,
    absent: Absent::Null,
    errors: OldErrors::Raised,
    since: V3_13,
    limited_since: Some(V3_13),
    removed: None,
    caution: None,
};

/// Every borrowed function that has a strong form.
pub const REPLACEMENTS: &[Replacement] = &[
    LIST,
    Replacement {
        borrowed: "PyList_GET_ITEM",
        errors: OldErrors::Unchecked,
        ..LIST
    },
    Replacement {
        borrowed: "PyDict_GetItem",
        errors: OldErrors::Swallowed,
        ..DICT
    },
    DICT,
    Replacement {
        borrowed: "PyDict_GetItemString",
        errors: OldErrors::Swallowed,
        ..DICT_STRING
    },
    Replacement {
        borrowed: "PyODict_GetItem",
        errors: OldErrors::Swallowed,
        ..DICT
    },
    Replacement {
        borrowed: "PyODict_GetItemWithError",
        ..DICT
    },
    Replacement {
        borrowed: "PyODict_GetItemString",
        errors: OldErrors::Swallowed,
        ..DICT_STRING
    },
    Replacement {
        borrowed: "_PyDict_GetItemWithError",
        ..DICT
    },
    DICT_STRING,
    Replacement {
        borrowed: "_PyDict_GetItem_KnownHash",
        caution: Some("remove the last argument (the strong function computes the hash itself)"),
        ..DICT
    },
    Replacement {
        borrowed: "PyDict_SetDefault",
        strong: "PyDict_SetDefaultRef",
        form: Form::Out { arg: 3 },
        absent: Absent::Error,
        limited_since: Some(V3_15),
        ..DICT
    },
    WEAKREF,
    Replacement {
        borrowed: "PyWeakref_GET_OBJECT",
        errors: OldErrors::Unchecked,
        ..WEAKREF
    },
    Replacement {
        borrowed: "PyImport_AddModule",
        strong: "PyImport_AddModuleRef",
        ..LIST
    },
    Replacement {
        borrowed: "PyImport_AddModuleObject",
        strong: "PyImport_GetModule",
        since: V3_7,
        limited_since: Some(V3_8),
        caution: Some(
            "create a missing module before the call (the strong function does not create it)",
        ),
        ..LIST
    },
    Replacement {
        borrowed: "PyCell_GET",
        strong: "PyCell_Get",
        absent: Absent::Null,
        errors: OldErrors::Unchecked,
        since: V3_6,
        limited_since: None,
        ..LIST
    },
    Replacement {
        borrowed: "PySequence_Fast_GET_ITEM",
        strong: "PySequence_GetItem",
        errors: OldErrors::Unchecked,
        since: V3_6,
        limited_since: Some(V3_6),
        ..LIST
    },
    Replacement {
        borrowed: "PySys_GetObject",
        strong: "PySys_GetOptionalAttrString",
        form: Form::Out { arg: 1 },
        errors: OldErrors::Swallowed,
        since: V3_15,
        limited_since: Some(V3_15),
        ..DICT
    },
    FRAME_GLOBALS,
    Replacement {
        borrowed: "PyEval_GetBuiltins",
        strong: "PyEval_GetFrameBuiltins",
        ..FRAME_GLOBALS
    },
    Replacement {
        borrowed: "PyEval_GetLocals",
        strong: "PyEval_GetFrameLocals",
        absent: Absent::Error,
        caution: Some(
            "do not write to the result (in a function, each call returns a new snapshot)",
        ),
        ..FRAME_GLOBALS
    },
    Replacement {
        borrowed: "PyEval_GetFrame",
        strong: "PyThreadState_GetFrame",
        since: V3_9,
        limited_since: Some(V3_10),
        caution: Some(
            "pass `PyThreadState_Get()` first (the strong function takes the thread state as its \
             first argument)",
        ),
        ..FRAME_GLOBALS
    },
    Replacement {
        borrowed: "PyType_GetModuleByDef",
        strong: "PyType_GetModuleByToken",
        absent: Absent::Error,
        since: V3_15,
        limited_since: Some(V3_15),
        removed: None,
        caution: Some(
            "check whether a change is needed (the borrowed module is valid while the type is \
             alive)",
        ),
        ..FRAME_GLOBALS
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capi::{OutKind, Returns, effects};

    #[test]
    fn borrowed_turns_into_strong() {
        for row in REPLACEMENTS {
            let old = effects(row.borrowed).expect(row.borrowed);
            assert!(matches!(old.returns, Returns::Borrowed), "{}", row.borrowed);

            let new = effects(row.strong).expect(row.strong);
            match row.form {
                Form::Return => assert_eq!(new.returns, Returns::New, "{}", row.strong),
                Form::Out { arg } => assert!(
                    new.outs
                        .iter()
                        .any(|out| out.arg == arg && out.kind == OutKind::New),
                    "{}",
                    row.strong
                ),
            }
        }
    }

    #[test]
    fn versions_agree_with_the_effects() {
        for row in REPLACEMENTS {
            let since = effects(row.strong).and_then(|effects| effects.since);
            assert_eq!(row.since, since.unwrap_or(V3_6), "{}", row.strong);
        }
    }

    #[test]
    fn each_borrowed_function_has_one_replacement() {
        for row in REPLACEMENTS {
            assert_eq!(replacement(row.borrowed), Some(row));
        }
        assert_eq!(replacement("PyDict_Next"), None);
        assert_eq!(replacement("PyTuple_GET_ITEM"), None);
    }

    #[test]
    fn errors_that_the_old_call_hid_are_known() {
        let errors = |name| replacement(name).expect(name).errors;
        assert_eq!(errors("PyDict_GetItem"), OldErrors::Swallowed);
        assert_eq!(errors("PyDict_GetItemWithError"), OldErrors::Raised);
        assert_eq!(errors("PyList_GET_ITEM"), OldErrors::Unchecked);
        assert_eq!(
            replacement("PyWeakref_GetObject").expect("listed").absent,
            Absent::None
        );
    }
}
