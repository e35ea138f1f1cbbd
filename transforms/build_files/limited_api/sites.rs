//! The places of a `setup.py` that ask for the limited API.

use std::collections::BTreeSet;
use std::ops::Range;

use tree_sitter::Node;

use crate::build::Python;

/// Words of conditions that tell the two builds apart.
const TELLING: &[&str] = &["Py_GIL_DISABLED", "_is_gil_enabled", "abiflags"];

/// A place that asks for the limited API on every Python.
#[derive(Debug, Clone, Copy)]
pub(super) struct Site<'t> {
    /// Where it is said.
    pub(super) node: Node<'t>,
    /// How.
    pub(super) form: Form<'t>,
}

/// How the limited API is asked for.
#[derive(Debug, Clone, Copy)]
pub(super) enum Form<'t> {
    /// `py_limited_api=VALUE`, a truth.
    Truth(Node<'t>),
    /// `"py_limited_api": VALUE`, a tag or a falsehood.
    Tag(Node<'t>),
    /// An element of a list: `("Py_LIMITED_API", …)`, `"-DPy_LIMITED_API=…"`.
    Element(Node<'t>),
    /// The statement `macros.append(("Py_LIMITED_API", …))`, or `macros += [("Py_LIMITED_API", …)]`.
    Statement(Node<'t>),
    /// Something else.
    Other,
}

/// All places of `python` that ask whatever the build is, in order.
pub(super) fn sites<'t>(python: &'t Python, bytes: &[u8]) -> Vec<Site<'t>> {
    let told = Told::new(python, bytes);
    let nodes = python.nodes().filter_map(|node| site(node, bytes));
    nodes.filter(|site| !told.holds_at(site.node)).collect()
}

fn site<'t>(node: Node<'t>, bytes: &[u8]) -> Option<Site<'t>> {
    let form = match node.kind() {
        "keyword_argument" => {
            let name = node.child_by_field_name("name")?;
            let value = node.child_by_field_name("value")?;
            let is_ours = text(name, bytes) == "py_limited_api" && is_on(value, bytes);
            is_ours.then_some(Form::Truth(value))?
        }
        "pair" => {
            let key = node.child_by_field_name("key")?;
            let value = node.child_by_field_name("value")?;
            let key = Python::string(key, bytes)?;
            let is_ours = matches!(key, "py_limited_api" | "py-limited-api");
            (is_ours && is_on(value, bytes)).then_some(Form::Tag(value))?
        }
        "string" => of_macro(node, Python::string(node, bytes)?)?,
        _ => return None,
    };
    Some(Site { node, form })
}

/// What a string does that names the macro.
fn of_macro<'t>(string: Node<'t>, content: &str) -> Option<Form<'t>> {
    let parent = string.parent()?;
    if content == "Py_LIMITED_API" {
        let is_definition = parent.kind() == "tuple" && parent.named_child(0) == Some(string);
        // Compared, or deleted, it asks for nothing.
        return is_definition.then(|| in_list(parent));
    }
    let (before, _) = content.split_once("Py_LIMITED_API")?;
    let defines = before.ends_with("-D") || before.ends_with("/D");
    let is_single = !content.contains(char::is_whitespace);
    defines.then(|| {
        if is_single {
            in_list(string)
        } else {
            Form::Other
        }
    })
}

/// What becomes of an element that stands in a list, or is appended to one.
fn in_list(element: Node<'_>) -> Form<'_> {
    let Some(parent) = element.parent() else {
        return Form::Other;
    };
    if parent.kind() == "list" {
        let statement = added(parent).filter(|_| parent.named_child_count() == 1);
        return statement.map_or(Form::Element(element), Form::Statement);
    }
    let call = parent.parent().filter(|_| parent.kind() == "argument_list");
    let statement = call.and_then(|call| call.parent());
    match statement {
        Some(statement)
            if statement.kind() == "expression_statement" && parent.named_child_count() == 1 =>
        {
            Form::Statement(statement)
        }
        _ => Form::Other,
    }
}

/// The statement `macros += [...]` around its list.
fn added(list: Node<'_>) -> Option<Node<'_>> {
    let sum = list
        .parent()
        .filter(|sum| sum.kind() == "augmented_assignment")?;
    sum.parent()
        .filter(|around| around.kind() == "expression_statement")
}

/// Whether an option of this value is asked for.
fn is_on(value: Node<'_>, bytes: &[u8]) -> bool {
    !matches!(text(value, bytes), "False" | "None" | "0" | "''" | "\"\"")
}

/// The text of a node, if it is UTF-8.
pub(super) fn text<'b>(node: Node<'_>, bytes: &'b [u8]) -> &'b str {
    node.utf8_text(bytes).unwrap_or_default()
}

/// What a file knows about the build it runs on.
struct Told<'b> {
    bytes: &'b [u8],
    /// Variables whose value depends on it.
    names: BTreeSet<&'b str>,
}

impl<'b> Told<'b> {
    fn new(python: &Python, bytes: &'b [u8]) -> Self {
        let mut told = Self {
            bytes,
            names: BTreeSet::new(),
        };
        let is_assignment = |node: &Node<'_>| node.kind() == "assignment";
        let assignments: Vec<Node<'_>> = python.nodes().filter(is_assignment).collect();
        loop {
            let known = told.names.len();
            for assignment in &assignments {
                let name = assignment.child_by_field_name("left");
                let name = name.filter(|name| name.kind() == "identifier");
                let value = assignment.child_by_field_name("right");
                if let (Some(name), Some(value)) = (name, value)
                    && (told.is_in(value) || told.holds_at(*assignment))
                {
                    told.names.insert(text(name, bytes));
                }
            }
            if told.names.len() == known {
                return told;
            }
        }
    }

    /// Whether the node, or a condition around it, depends on the build.
    fn holds_at(&self, node: Node<'_>) -> bool {
        let around = |node: Node<'_>| match node.kind() {
            "if_statement" | "elif_clause" => {
                let condition = node.child_by_field_name("condition");
                condition.is_some_and(|condition| self.is_in(condition))
            }
            "conditional_expression" | "boolean_operator" => self.is_in(node),
            _ => false,
        };
        self.is_in(node) || Python::around(node).any(around)
    }

    /// Whether the text of `node` tells the builds apart, or uses what does.
    fn is_in(&self, node: Node<'_>) -> bool {
        let range: Range<usize> = node.byte_range();
        let whole = String::from_utf8_lossy(&self.bytes[range]);
        let lower = whole.to_ascii_lowercase();
        TELLING.iter().any(|word| whole.contains(word))
            || lower.replace('_', "").contains("freethread")
            || Python::within(node).any(|part| {
                part.kind() == "identifier" && self.names.contains(text(part, self.bytes))
            })
    }
}
