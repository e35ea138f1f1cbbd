//! The values of Python expressions that are made of literals.

use tree_sitter::Node;

use super::names::{Given, Names, What, children, text};
use super::value::{Value, folder, join, perhaps};
use crate::build::Python;

/// Most expressions that are looked at, for all of a file.
const MAX_STEPS: u32 = 200_000;
/// How deep expressions, names and functions lie in each other.
const MAX_DEPTH: u32 = 48;
/// Most rounds of loops and calls around an expression.
const MAX_CONTEXTS: usize = 1024;

/// Names with what they are here: of loops, of arguments.
pub(super) type Bound = Vec<(String, Value)>;

/// Looks at the expressions of one file.
pub(super) struct Values<'t, 'b> {
    pub(super) names: Names<'t, 'b>,
    pub(super) bytes: &'b [u8],
    pub(super) bound: Bound,
    /// The names that are being looked at.
    open: Vec<(Option<usize>, String)>,
    steps: u32,
    depth: u32,
}

impl<'t, 'b> Values<'t, 'b> {
    pub(super) fn new(python: &'t Python, bytes: &'b [u8]) -> Self {
        Self {
            names: Names::new(python, bytes),
            bytes,
            bound: Bound::new(),
            open: Vec::new(),
            steps: 0,
            depth: 0,
        }
    }

    /// The values that the loops, comprehensions and functions around `node` give their names, one
    /// for each round.
    pub(super) fn contexts(&mut self, node: Node<'t>) -> Vec<Bound> {
        let mut contexts = vec![Bound::new()];
        let around: Vec<Node<'t>> = Python::around(node).collect();
        for outer in around.into_iter().rev() {
            contexts = match outer.kind() {
                "for_statement" => self.rounds(contexts, &[outer]),
                _ if is_comprehension(outer) => self.rounds(contexts, &clauses(outer)),
                "function_definition" => self.called(outer),
                _ => contexts,
            };
            if contexts.len() > MAX_CONTEXTS {
                return vec![Bound::new()];
            }
        }
        contexts
    }

    /// The values that a function gets, one for each call.
    fn called(&mut self, function: Node<'t>) -> Vec<Bound> {
        let name = function.child_by_field_name("name");
        let name = name.map_or("", |it| text(it, self.bytes));
        let calls = self.names.calls(name).to_vec();
        let outside = |call: &Node<'t>| !Python::around(*call).any(|it| it == function);
        let mut contexts = Vec::new();
        if self.depth < MAX_DEPTH {
            self.depth += 8;
            for call in calls.into_iter().filter(outside) {
                self.steps += 1;
                if self.steps > MAX_STEPS {
                    break;
                }
                for bound in self.contexts(call) {
                    let before = std::mem::replace(&mut self.bound, bound);
                    contexts.push(self.arguments(call, function));
                    self.bound = before;
                }
                if contexts.len() > MAX_CONTEXTS {
                    break;
                }
            }
            self.depth -= 8;
        }
        if contexts.is_empty() {
            contexts.push(Bound::new());
        }
        contexts
    }

    /// Each of `contexts` with each round of the loops.
    fn rounds(&mut self, mut contexts: Vec<Bound>, loops: &[Node<'t>]) -> Vec<Bound> {
        for each in loops {
            let fields = ["left", "right"].map(|name| each.child_by_field_name(name));
            let [Some(left), Some(right)] = fields else {
                continue;
            };
            let mut next = Vec::new();
            for bound in contexts {
                let before = std::mem::replace(&mut self.bound, bound.clone());
                let items = self.eval(right).items();
                self.bound = before;
                for item in items {
                    let mut bound = bound.clone();
                    self.bind(left, &item, &mut bound);
                    next.push(bound);
                }
                if next.len() > MAX_CONTEXTS {
                    return next;
                }
            }
            contexts = next;
        }
        contexts
    }

    fn bind(&self, pattern: Node<'t>, value: &Value, bound: &mut Bound) {
        if pattern.kind() == "identifier" {
            bound.push((text(pattern, self.bytes).to_owned(), value.clone()));
            return;
        }
        let parts = children(pattern);
        for (at, part) in parts.iter().enumerate() {
            self.bind(*part, &value.part(at, Some(parts.len())), bound);
        }
    }

    /// The parameters of `function` as this call gives them.
    fn arguments(&mut self, call: Node<'t>, function: Node<'t>) -> Bound {
        let mut bound = Bound::new();
        let mut given = Vec::new();
        let mut named = Bound::new();
        for argument in call
            .child_by_field_name("arguments")
            .map(children)
            .unwrap_or_default()
        {
            let value = argument.child_by_field_name("value");
            match (argument.kind(), argument.child_by_field_name("name"), value) {
                ("keyword_argument", Some(name), Some(value)) => {
                    let value = self.eval(value);
                    named.push((text(name, self.bytes).to_owned(), value));
                }
                ("list_splat" | "dictionary_splat", ..) => given.push(Value::Unknown),
                _ => given.push(self.eval(argument)),
            }
        }
        let mut given = given.into_iter();
        let parameters = function.child_by_field_name("parameters");
        for parameter in parameters.map(children).unwrap_or_default() {
            let default = parameter.child_by_field_name("value");
            let name = parameter.child_by_field_name("name").unwrap_or(parameter);
            let name = text(name, self.bytes).trim_start_matches('*').to_owned();
            let value = match parameter.kind() {
                "list_splat_pattern" => Value::List(given.by_ref().collect()),
                "dictionary_splat_pattern" => Value::Unknown,
                _ => {
                    let by_name = named.iter().find(|(it, _)| *it == name);
                    let by_name = by_name.map(|(_, value)| value.clone());
                    let value = by_name.or_else(|| given.next());
                    value.unwrap_or_else(|| default.map_or(Value::Unknown, |it| self.eval(it)))
                }
            };
            bound.push((name, value));
        }
        bound
    }

    pub(super) fn eval(&mut self, node: Node<'t>) -> Value {
        self.steps += 1;
        if self.depth >= MAX_DEPTH || self.steps > MAX_STEPS {
            return Value::Unknown;
        }
        self.depth += 1;
        let value = self.expression(node);
        self.depth -= 1;
        value
    }

    fn expression(&mut self, node: Node<'t>) -> Value {
        let field = |name| node.child_by_field_name(name);
        match node.kind() {
            "string" => self.string(node),
            "concatenated_string" => {
                let parts = children(node).into_iter().map(|part| self.eval(part));
                let parts: Vec<Value> = parts.collect();
                let join = |a: Value, b: Value| a.with(&b, |a, b| format!("{a}{b}"));
                parts.into_iter().reduce(join).unwrap_or(Value::Unknown)
            }
            "parenthesized_expression" => match children(node)[..] {
                [inner] => self.eval(inner),
                _ => Value::Unknown,
            },
            "list" | "tuple" | "set" | "expression_list" => self.list(node),
            "dictionary" => self.dict(node),
            "none" => Value::List(Vec::new()),
            "identifier" => self.name(node),
            "conditional_expression" => match children(node)[..] {
                [then, _, otherwise] => self.either(then, otherwise),
                _ => Value::Unknown,
            },
            "boolean_operator" => match (field("left"), field("right")) {
                (Some(left), Some(right)) => self.either(left, right),
                _ => Value::Unknown,
            },
            "binary_operator" => self.operator(node),
            "subscript" => self.subscript(node),
            "attribute" => self.attribute(node),
            "call" => self.call(node),
            _ if is_comprehension(node) => self.comprehension(node),
            _ => Value::Unknown,
        }
    }

    fn either(&mut self, left: Node<'t>, right: Node<'t>) -> Value {
        let values = vec![self.eval(left), self.eval(right)];
        Value::one_of(values)
    }

    fn string(&mut self, node: Node<'t>) -> Value {
        let is_raw = text(node, self.bytes).split(['"', '\'']).next();
        let is_raw = is_raw.is_some_and(|prefix| prefix.contains(['r', 'R']));
        let mut value = Value::text("");
        for part in children(node) {
            let more = match part.kind() {
                "string_content" if is_raw => Value::text(text(part, self.bytes)),
                "string_content" => Value::text(text(part, self.bytes).replace("\\\\", "\\")),
                "interpolation" => match part.child_by_field_name("expression") {
                    Some(inner) if children(part).len() == 1 => self.eval(inner),
                    _ => Value::Unknown,
                },
                _ => continue,
            };
            value = value.with(&more, |a, b| format!("{a}{b}"));
        }
        value
    }

    fn list(&mut self, node: Node<'t>) -> Value {
        let mut items = Vec::new();
        for part in children(node) {
            match (part.kind(), children(part).first()) {
                ("list_splat", Some(inner)) => items.extend(self.eval(*inner).items()),
                _ => items.push(self.eval(part)),
            }
        }
        Value::List(items)
    }

    fn dict(&mut self, node: Node<'t>) -> Value {
        let pairs = children(node).into_iter().map(|pair| {
            let part = |name| pair.child_by_field_name(name);
            match (part("key"), part("value")) {
                (Some(key), Some(value)) => (self.eval(key), self.eval(value)),
                _ => (Value::Unknown, Value::Unknown),
            }
        });
        Value::Pairs(pairs.collect())
    }

    fn comprehension(&mut self, node: Node<'t>) -> Value {
        let Some(body) = node.child_by_field_name("body") else {
            return Value::Unknown;
        };
        let clauses = clauses(node);
        let has_choice = clauses.iter().any(|it| it.kind() == "if_clause");
        let rounds = self.rounds(vec![self.bound.clone()], &clauses);
        if rounds.len() > MAX_CONTEXTS {
            return Value::Unknown;
        }
        let mut items = Vec::new();
        for bound in rounds {
            let before = std::mem::replace(&mut self.bound, bound);
            items.push(self.eval(body));
            self.bound = before;
        }
        Value::List(if has_choice { perhaps(items) } else { items })
    }

    fn name(&mut self, node: Node<'t>) -> Value {
        let name = text(node, self.bytes);
        if let Some((_, value)) = self.bound.iter().rev().find(|(it, _)| it == name) {
            return value.clone();
        }
        if name == "__file__" {
            return Value::text("setup.py");
        }
        let given = self.names.given(name, node);
        let bindings = given.iter().find(|it| !it.what.is_change());
        let Some(key) = bindings.map(|it| (it.scope, name.to_owned())) else {
            return Value::Unknown;
        };
        if self.open.contains(&key) {
            // x = x + ['b.c']: the others are looked at already.
            return Value::List(Vec::new());
        }
        self.open.push(key);
        let value = self.given(&given);
        self.open.pop();
        value
    }

    fn given(&mut self, given: &[Given<'t>]) -> Value {
        let (changes, values): (Vec<&Given<'t>>, Vec<&Given<'t>>) =
            given.iter().partition(|it| it.what.is_change());
        let values = values.into_iter().map(|it| match it.what {
            What::Value(node) => self.eval(node),
            What::Part(node, at, count) => self.eval(node).part(at, Some(count)),
            What::Each(node, part) => {
                let items = Value::OneOf(self.eval(node).items());
                part.map_or(items.clone(), |(at, count)| items.part(at, Some(count)))
            }
            _ => Value::Unknown,
        });
        let mut value = Value::one_of(values.collect());
        for change in changes {
            let more = match change.what {
                What::Item(node) => Value::List(vec![self.eval(node)]),
                // text += 'b'
                What::Items(node) => match (&value, self.eval(node)) {
                    (Value::List(_) | Value::OneOf(_), more) => more,
                    (..) => Value::Unknown,
                },
                _ => {
                    value = Value::List(perhaps(value.items()));
                    continue;
                }
            };
            value = value.and(match change.is_conditional {
                true => Value::List(perhaps(more.items())),
                false => more,
            });
        }
        value
    }

    fn operator(&mut self, node: Node<'t>) -> Value {
        let field = |name| node.child_by_field_name(name);
        let (Some(left), Some(right)) = (field("left"), field("right")) else {
            return Value::Unknown;
        };
        let operator = field("operator").map_or("", |it| text(it, self.bytes));
        let (left, right) = (self.eval(left), self.eval(right));
        match operator {
            "+" if is_text(&left) => left.with(&right, |a, b| format!("{a}{b}")),
            "+" | "|" => left.and(right),
            "/" => left.with(&right, join),
            "%" => super::python_calls::percent(left, right),
            _ => Value::Unknown,
        }
    }

    fn subscript(&mut self, node: Node<'t>) -> Value {
        let field = |name| node.child_by_field_name(name);
        let (Some(object), Some(key)) = (field("value"), field("subscript")) else {
            return Value::Unknown;
        };
        let object = self.eval(object);
        match (key.kind(), text(key, self.bytes).parse::<usize>()) {
            ("slice", _) => Value::List(perhaps(object.items())),
            (_, Ok(at)) => object.part(at, None),
            _ => object.at_key(&self.eval(key)),
        }
    }

    fn attribute(&mut self, node: Node<'t>) -> Value {
        let field = |name| node.child_by_field_name(name);
        let (Some(object), Some(name)) = (field("object"), field("attribute")) else {
            return Value::Unknown;
        };
        match text(name, self.bytes) {
            "sep" => Value::text("/"),
            "curdir" => Value::text("."),
            "pardir" => Value::text(".."),
            "parent" => self
                .eval(object)
                .each(&mut |path| Value::text(folder(&path))),
            _ => Value::Unknown,
        }
    }

    /// What a function of the file gives back.
    pub(super) fn returned(&mut self, call: Node<'t>, name: &str) -> Value {
        let [function] = *self.names.functions(name) else {
            return Value::Unknown;
        };
        let bound = self.arguments(call, function);
        let before = std::mem::replace(&mut self.bound, bound);
        let returns = Python::within(function).filter(|it| it.kind() == "return_statement");
        let mut values = Vec::new();
        for each in returns.collect::<Vec<_>>() {
            let value = children(each).first().map(|it| self.eval(*it));
            values.push(value.unwrap_or(Value::Unknown));
        }
        self.bound = before;
        Value::one_of(values)
    }
}

fn is_text(value: &Value) -> bool {
    match value {
        Value::Text(_) => true,
        Value::OneOf(values) => values.iter().all(is_text),
        _ => false,
    }
}

fn is_comprehension(node: Node<'_>) -> bool {
    let kind = node.kind();
    matches!(
        kind,
        "list_comprehension" | "set_comprehension" | "generator_expression"
    )
}

/// The `for` and `if` of a comprehension.
fn clauses(node: Node<'_>) -> Vec<Node<'_>> {
    let mut parts = children(node);
    parts.retain(|it| matches!(it.kind(), "for_in_clause" | "if_clause"));
    parts
}
