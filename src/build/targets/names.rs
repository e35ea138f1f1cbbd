//! What the names of a Python file are given, in any order: what is added in a branch may be there.

use std::collections::BTreeMap;

use tree_sitter::Node;

use crate::build::Python;

/// One statement that gives a name something.
#[derive(Debug, Clone, Copy)]
pub(super) struct Given<'t> {
    /// The function it stands in, by its node; `None` for the file.
    pub(super) scope: Option<usize>,
    /// What.
    pub(super) what: What<'t>,
    /// Whether it may not happen.
    pub(super) is_conditional: bool,
}

/// What a name is given.
#[derive(Debug, Clone, Copy)]
pub(super) enum What<'t> {
    /// The value of an expression.
    Value(Node<'t>),
    /// A part of the value: its place, and how many there are.
    Part(Node<'t>, usize, usize),
    /// An item of what a loop goes over, or a part of each.
    Each(Node<'t>, Option<(usize, usize)>),
    /// The items of a list, besides others: `x += …`, `x.extend(…)`.
    Items(Node<'t>),
    /// One more item: `x.append(…)`.
    Item(Node<'t>),
    /// Fewer items: `x.remove(…)`.
    Fewer,
    /// What nobody here sees: an import, an argument.
    Unknown,
}

impl What<'_> {
    /// Whether it is a change of a list that the name has already.
    pub(super) fn is_change(self) -> bool {
        matches!(self, Self::Items(_) | Self::Item(_) | Self::Fewer)
    }
}

/// All names of a file.
#[derive(Debug, Default)]
pub(super) struct Names<'t, 'b> {
    given: BTreeMap<&'b str, Vec<Given<'t>>>,
    functions: BTreeMap<&'b str, Vec<Node<'t>>>,
    calls: BTreeMap<&'b str, Vec<Node<'t>>>,
}

impl<'t, 'b> Names<'t, 'b> {
    pub(super) fn new(python: &'t Python, bytes: &'b [u8]) -> Self {
        let mut names = Self::default();
        for node in python.nodes() {
            names.add(node, bytes);
        }
        names.tell_passed(python, bytes);
        names
    }

    /// What `name` is given in the nearest of the functions around `at` that gives it something, or
    /// at file scope; and what is added to it anywhere.
    pub(super) fn given(&self, name: &str, at: Node<'t>) -> Vec<Given<'t>> {
        let all = self.given.get(name).map_or(&[][..], Vec::as_slice);
        let scopes = Python::around(at).filter(|it| it.kind() == "function_definition");
        let scopes = scopes.map(|it| Some(it.id())).chain([None]);
        for scope in scopes {
            let is_bound = |it: &&Given<'_>| it.scope == scope && !it.what.is_change();
            if all.iter().any(|it| is_bound(&it)) {
                let here = |it: &&Given<'_>| it.scope == scope || it.what.is_change();
                let elsewhere = |it: &Given<'t>| Given {
                    is_conditional: it.is_conditional || it.scope != scope,
                    ..*it
                };
                return all.iter().filter(here).map(elsewhere).collect();
            }
        }
        Vec::new()
    }

    /// The functions of this name.
    pub(super) fn functions(&self, name: &str) -> &[Node<'t>] {
        self.functions.get(name).map_or(&[], Vec::as_slice)
    }

    /// The calls of this name.
    pub(super) fn calls(&self, name: &str) -> &[Node<'t>] {
        self.calls.get(name).map_or(&[], Vec::as_slice)
    }

    /// Whether the file itself makes something of this name.
    pub(super) fn defines(&self, name: &str) -> bool {
        let given = self.given.get(name);
        let is_own = |it: &Given<'_>| !matches!(it.what, What::Unknown);
        self.functions.contains_key(name) || given.is_some_and(|all| all.iter().any(is_own))
    }

    fn add(&mut self, node: Node<'t>, bytes: &'b [u8]) {
        let field = |name| node.child_by_field_name(name);
        match node.kind() {
            "assignment" => {
                if let (Some(left), Some(right)) = (field("left"), field("right")) {
                    self.assign(left, last_value(right), bytes);
                }
            }
            "named_expression" => {
                if let (Some(name), Some(value)) = (field("name"), field("value")) {
                    self.give(name, What::Value(value), bytes);
                }
            }
            "augmented_assignment" => {
                if let (Some(left), Some(right)) = (field("left"), field("right")) {
                    let operator = field("operator").map_or("", |it| text(it, bytes));
                    let what = match operator {
                        "+=" | "|=" => What::Items(right),
                        _ => What::Unknown,
                    };
                    self.give(left, what, bytes);
                }
            }
            "for_statement" => {
                if let (Some(left), Some(right)) = (field("left"), field("right")) {
                    self.give_each(left, right, bytes);
                }
            }
            "function_definition" | "class_definition" => {
                if let Some(name) = field("name") {
                    self.give(name, What::Unknown, bytes);
                    let functions = self.functions.entry(text(name, bytes));
                    functions.or_default().push(node);
                }
                if let Some(parameters) = field("parameters") {
                    self.hide(parameters, bytes);
                }
            }
            "lambda_parameters" => self.hide(node, bytes),
            "call" => self.call(node, bytes),
            "delete_statement"
            | "as_pattern_target"
            | "aliased_import"
            | "import_statement"
            | "import_from_statement" => {
                self.hide(node, bytes);
            }
            _ => {}
        }
    }

    /// The names in `node` are given something that is not seen.
    fn hide(&mut self, node: Node<'t>, bytes: &'b [u8]) {
        for name in Python::within(node).filter(|it| it.kind() == "identifier") {
            self.give(name, What::Unknown, bytes);
        }
    }

    fn assign(&mut self, left: Node<'t>, right: Node<'t>, bytes: &'b [u8]) {
        match left.kind() {
            "identifier" => self.give(left, What::Value(right), bytes),
            "pattern_list" | "tuple_pattern" | "list_pattern" => {
                let parts = children(left);
                for (at, part) in parts.iter().enumerate() {
                    self.give(*part, What::Part(right, at, parts.len()), bytes);
                }
            }
            // x[0] = …
            "subscript" => {
                if let Some(name) = left.child_by_field_name("value") {
                    self.give(name, What::Unknown, bytes);
                }
            }
            _ => {}
        }
    }

    fn give_each(&mut self, left: Node<'t>, right: Node<'t>, bytes: &'b [u8]) {
        match left.kind() {
            "identifier" => self.give(left, What::Each(right, None), bytes),
            _ => {
                let parts = children(left);
                for (at, part) in parts.iter().enumerate() {
                    let what = What::Each(right, Some((at, parts.len())));
                    self.give(*part, what, bytes);
                }
            }
        }
    }

    fn call(&mut self, node: Node<'t>, bytes: &'b [u8]) {
        let Some(callee) = node.child_by_field_name("function") else {
            return;
        };
        if callee.kind() == "identifier" {
            self.calls
                .entry(text(callee, bytes))
                .or_default()
                .push(node);
        }
        let (Some(object), Some(method)) = (
            callee.child_by_field_name("object"),
            callee.child_by_field_name("attribute"),
        ) else {
            return;
        };
        let arguments = node.child_by_field_name("arguments").map(children);
        let arguments = arguments.unwrap_or_default();
        let what = match (text(method, bytes), &arguments[..]) {
            ("append" | "add", [item]) | ("insert", [_, item]) => What::Item(*item),
            ("extend" | "update", [items]) => What::Items(*items),
            ("remove" | "pop" | "clear" | "discard", _) => What::Fewer,
            _ => return,
        };
        self.give(object, what, bytes);
    }

    /// A function of the file may add to a list that it gets.
    fn tell_passed(&mut self, python: &'t Python, bytes: &'b [u8]) {
        for node in python.nodes().filter(|node| node.kind() == "call") {
            let callee = node.child_by_field_name("function");
            let name = callee.map_or("", |it| text(it, bytes));
            if !self.functions.contains_key(name) {
                continue;
            }
            let arguments = node.child_by_field_name("arguments").map(children);
            let is_list = |it: &Node<'_>| self.has_changes(text(*it, bytes));
            let lists = arguments.into_iter().flatten().filter(is_list);
            for list in lists.collect::<Vec<_>>() {
                self.give(list, What::Fewer, bytes);
            }
        }
    }

    fn has_changes(&self, name: &str) -> bool {
        let given = self.given.get(name);
        given.is_some_and(|all| all.iter().any(|it| it.what.is_change()))
    }

    fn give(&mut self, name: Node<'t>, what: What<'t>, bytes: &'b [u8]) {
        if name.kind() != "identifier" {
            return;
        }
        let mut around = Python::around(name);
        let scope = around.find(|it| {
            it.kind() == "function_definition" && it.child_by_field_name("name") != Some(name)
        });
        let inner = Python::around(name).take_while(|it| Some(*it) != scope);
        let is_branch = |it: Node<'_>| {
            let kind = it.kind();
            matches!(
                kind,
                "if_statement" | "while_statement" | "try_statement" | "match_statement"
            )
        };
        let given = Given {
            scope: scope.map(|it| it.id()),
            what,
            is_conditional: inner.into_iter().any(is_branch),
        };
        self.given.entry(text(name, bytes)).or_default().push(given);
    }
}

/// The last of `a = b = value`.
fn last_value(node: Node<'_>) -> Node<'_> {
    let mut value = node;
    while value.kind() == "assignment" {
        match value.child_by_field_name("right") {
            Some(right) => value = right,
            None => break,
        }
    }
    value
}

/// The children of a node that are no punctuation and no comments.
pub(super) fn children(node: Node<'_>) -> Vec<Node<'_>> {
    let mut cursor = node.walk();
    let all = node.named_children(&mut cursor);
    all.filter(|it| it.kind() != "comment").collect()
}

/// The text of a node.
pub(super) fn text<'b>(node: Node<'_>, bytes: &'b [u8]) -> &'b str {
    node.utf8_text(bytes).unwrap_or("")
}
