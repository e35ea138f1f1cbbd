//! Methods that the Python code of a package calls where it is imported, and nowhere else.
//!
//! ```python
//! from . import _speedups
//! _speedups.set_error(Error)         # nobody else has the module by now
//! ```
//!
//! They have to be private to the package: the module or the method has a name with an underscore.

use std::path::Path;

use tree_sitter::Node;

use crate::build::Python;
use crate::source::{FileSet, SourceFile};

/// The names of the methods.
pub(super) fn called_at_import(texts: &FileSet) -> Vec<Box<[u8]>> {
    let texts = || texts.iter().map(|(_, file)| file);
    let candidates = texts()
        .filter(|file| is_module(file.path()))
        .flat_map(calls);
    let is_only_use = |name: &[u8]| {
        let uses = texts().map(|file| uses(file.bytes(), name));
        uses.sum::<usize>() == 1
    };
    candidates.filter(|name| is_only_use(name)).collect()
}

/// Whether a file is Python that programs import, and no test.
fn is_module(path: &Path) -> bool {
    let is_test = |name: &str| name.starts_with("test") || name == "conftest.py";
    let mut names = path.iter().filter_map(|name| name.to_str());
    path.extension().is_some_and(|ending| ending == "py") && !names.any(is_test)
}

/// The methods that statements of the module itself call.
fn calls(file: &SourceFile) -> Vec<Box<[u8]>> {
    let bytes = file.bytes();
    let may_call = bytes.split(|&byte| byte == b'\n').any(|line| {
        let callee = memchr::memchr(b'(', line).map(|end| &line[..end]);
        callee.and_then(private_method).is_some()
    });
    let Some(python) = may_call.then(|| Python::parse(bytes).ok()).flatten() else {
        return Vec::new();
    };
    let callees = python.statements().into_iter().filter_map(callee);
    let callees = callees.filter_map(|callee| bytes.get(callee.byte_range()));
    callees.filter_map(private_method).map(Box::from).collect()
}

/// What a statement calls that is a call and no more.
fn callee(statement: Node<'_>) -> Option<Node<'_>> {
    let call = statement.named_child(0)?;
    let is_call = statement.kind() == "expression_statement"
        && statement.named_child_count() == 1
        && call.kind() == "call";
    is_call.then(|| call.child_by_field_name("function"))?
}

/// `set_error` of `_speedups.set_error`; `None` if none of the names has an underscore in front.
fn private_method(callee: &[u8]) -> Option<&[u8]> {
    let is_word = |byte: &u8| *byte == b'_' || byte.is_ascii_alphanumeric();
    let is_private = |name: &[u8]| name.starts_with(b"_") && !name.starts_with(b"__");
    let names: Vec<&[u8]> = callee.split(|&byte| byte == b'.').collect();
    let is_dotted = names.iter().all(|name| name.iter().all(is_word));
    let [modules @ .., last] = &names[..] else {
        return None;
    };
    let is_ours = !modules.is_empty() && names.iter().any(|name| is_private(name));
    (is_dotted && is_ours).then_some(*last)
}

/// How often a word stands in the text.
fn uses(bytes: &[u8], word: &[u8]) -> usize {
    let is_word = |byte: &u8| *byte == b'_' || byte.is_ascii_alphanumeric();
    let words = bytes.split(|byte| !is_word(byte));
    words.filter(|it| *it == word).count()
}
