//! Threads that Python code starts with a dict of keywords, which what they run gets as it is.
//!
//! ```python
//! _thread.start_new_thread(_speedups.run, (), options)      # `options` is there for all
//! ```

use tree_sitter::Node;

use crate::build::Python;
use crate::capi::KEYWORD_STARTERS;
use crate::source::{FileSet, SourceFile};

/// Whether a text starts such a thread.
pub(super) fn starts_with_keywords(texts: &FileSet) -> bool {
    texts.iter().any(|(_, file)| starts(file))
}

fn starts(file: &SourceFile) -> bool {
    let bytes = file.bytes();
    let names = |name: &str| memchr::memmem::find(bytes, name.as_bytes()).is_some();
    let is_python = file.path().extension().is_some_and(|it| it == "py");
    if !is_python || !KEYWORD_STARTERS.iter().any(|name| names(name)) {
        return false;
    }
    // What cannot be parsed may do so.
    let Ok(python) = Python::parse(bytes) else {
        return true;
    };
    let mut calls = python.nodes().filter(|node| node.kind() == "call");
    calls.any(|call| is_start(call, bytes))
}

/// Whether a call is one of a starter with more than a function and its arguments.
fn is_start(call: Node<'_>, bytes: &[u8]) -> bool {
    let callee = call.child_by_field_name("function");
    let callee = callee.and_then(|callee| bytes.get(callee.byte_range()));
    let name = callee.and_then(|text| text.split(|&byte| byte == b'.').next_back());
    let is_starter = name.is_some_and(|name| {
        let mut starters = KEYWORD_STARTERS.iter();
        starters.any(|starter| starter.as_bytes() == name)
    });
    let count = call.child_by_field_name("arguments");
    is_starter && count.is_some_and(|arguments| arguments.named_child_count() > 2)
}
