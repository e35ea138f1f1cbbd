//! What a rule may ask about the code around the C that was looked at.

use std::collections::BTreeSet;
use std::fmt::Debug;

use crate::source::FileId;

/// What stands around the C of a package: its build, its other languages.
pub trait Outside: Debug + Sync {
    /// What must hold for no other code to call the function `name`, which `files` define and which
    /// is not `static`; `None` if it holds.
    fn callers(&self, name: &str, files: &BTreeSet<FileId>) -> Option<String>;

    /// The same of a `static` function, which those may call that include one of `files`.
    fn includers(&self, name: &str, files: &BTreeSet<FileId>) -> Option<String>;
}
