//! `Extension(name, sources=[…])` of `setup.py`.

use tree_sitter::Node;

use super::names::{children, text};
use super::python::Values;
use super::value::Value;
use super::{Extent, Target, made};
use crate::build::{BuildFile, Python};

pub(super) fn targets(file: &BuildFile<'_>, python: &Python) -> Vec<Target> {
    let bytes = file.source.bytes();
    let mut values = Values::new(python, bytes);
    let mut found = Vec::new();
    for node in python.nodes().filter(|node| node.kind() == "call") {
        let callee = node
            .child_by_field_name("function")
            .map(|it| text(it, bytes));
        let class = callee.and_then(|it| it.rsplit('.').next()).unwrap_or("");
        if !class.ends_with("Extension") {
            continue;
        }
        // A class of its own may add sources.
        let is_plain = class == "Extension" && !values.names.defines(class);
        for bound in values.contexts(node) {
            values.bound = bound;
            let name = argument(&mut values, node, 0, "name");
            let sources = argument(&mut values, node, 1, "sources");
            let mut targets = made(file, &name, &sources);
            for target in &mut targets {
                if !is_plain {
                    target.extent = Extent::Open;
                }
            }
            found.extend(targets);
        }
        values.bound.clear();
    }
    if changes_sources(python, bytes) {
        for target in &mut found {
            target.extent = Extent::Open;
        }
    }
    found
}

/// The argument at `at`, or that of this name.
fn argument<'t>(values: &mut Values<'t, '_>, call: Node<'t>, at: usize, name: &str) -> Value {
    let list = call.child_by_field_name("arguments");
    let list = list.map(children).unwrap_or_default();
    let bytes = values.bytes;
    for (index, argument) in list.iter().enumerate() {
        let value = argument.child_by_field_name("value");
        match argument.kind() {
            "keyword_argument" => {
                let key = argument.child_by_field_name("name");
                if let (Some(key), Some(value)) = (key, value)
                    && text(key, bytes) == name
                {
                    return values.eval(value);
                }
            }
            "dictionary_splat" => {
                let pairs = children(*argument).first().map(|it| values.eval(*it));
                let pairs = pairs.unwrap_or(Value::Unknown);
                match pairs.at_key(&Value::text(name)) {
                    Value::Unknown => {}
                    value => return value,
                }
            }
            "list_splat" => {
                let items = children(*argument).first().map(|it| values.eval(*it));
                return items.unwrap_or(Value::Unknown).part(at, None);
            }
            _ if index == at => return values.eval(*argument),
            _ => {}
        }
    }
    Value::Unknown
}

/// Whether code of the file looks at the sources of extensions that are made already: it may change
/// them.
fn changes_sources(python: &Python, bytes: &[u8]) -> bool {
    python.nodes().any(|node| {
        let attribute = node.child_by_field_name("attribute");
        attribute.is_some_and(|it| text(it, bytes) == "sources")
    })
}
