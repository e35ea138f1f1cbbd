//! Calls of Python whose results can be told: of paths, of text, of lists, and of functions of the
//! file itself.

use tree_sitter::Node;

use super::names::{children, text};
use super::python::Values;
use super::value::{Value, folder, join, perhaps};

impl<'t> Values<'t, '_> {
    /// What a call gives back.
    pub(super) fn call(&mut self, node: Node<'t>) -> Value {
        let field = |name| node.child_by_field_name(name);
        let (Some(callee), Some(arguments)) = (field("function"), field("arguments")) else {
            return Value::Unknown;
        };
        let arguments = match arguments.kind() {
            // list(x for x in y)
            "generator_expression" => vec![arguments],
            _ => children(arguments),
        };
        let plain = |it: &Node<'_>| it.kind() != "keyword_argument";
        let plain: Vec<Node<'t>> = arguments.iter().copied().filter(plain).collect();
        let object = callee.child_by_field_name("object");
        let method = callee.child_by_field_name("attribute");
        match (object, method) {
            (Some(object), Some(method)) => {
                let method = text(method, self.bytes);
                self.method(object, method, &plain, &arguments)
            }
            _ => {
                let name = text(callee, self.bytes);
                if self.names.functions(name).is_empty() {
                    self.function(name, &plain, &arguments)
                } else {
                    self.returned(node, name)
                }
            }
        }
    }

    fn function(&mut self, name: &str, plain: &[Node<'t>], all: &[Node<'t>]) -> Value {
        match (name, plain) {
            ("dict", []) => self.keywords(all),
            ("map" | "filter", [by, list]) => self.map(*by, *list, name == "filter"),
            ("zip", [a, b]) => {
                let (a, b) = (self.eval(*a).items(), self.eval(*b).items());
                match a.len() == b.len() {
                    true => Value::List(a.into_iter().zip(b).map(pair).collect()),
                    false => Value::Unknown,
                }
            }
            ("enumerate", [list]) => {
                let items = self.eval(*list).items().into_iter();
                Value::List(items.map(|it| pair((Value::Unknown, it))).collect())
            }
            ("glob" | "iglob", [pattern, ..]) => {
                let pattern = self.eval(*pattern);
                Value::List(vec![pattern])
            }
            ("list" | "tuple" | "set" | "sorted" | "reversed" | "frozenset", [list, ..]) => {
                Value::List(self.eval(*list).items())
            }
            ("list" | "tuple" | "set", []) => Value::List(Vec::new()),
            ("listdir", _) => Value::List(vec![Value::text("*")]),
            ("getcwd" | "cwd", []) => Value::text("."),
            ("dirname", [path]) => self.eval(*path).each(&mut |it| Value::text(folder(&it))),
            (_, [first, rest @ ..]) if name.ends_with("join") => {
                let first = self.eval(*first);
                let rest = rest.iter();
                rest.fold(first, |path, part| {
                    let part = self.eval(*part);
                    path.with(&part, join)
                })
            }
            ("Path" | "PurePath" | "PosixPath", [first, rest @ ..]) => {
                let first = self.eval(*first);
                rest.iter().fold(first, |path, part| {
                    let part = self.eval(*part);
                    path.with(&part, join)
                })
            }
            (
                "str" | "fspath" | "abspath" | "normpath" | "realpath" | "relpath" | "normcase"
                | "convert_path",
                [path, ..],
            ) => self.eval(*path),
            _ => Value::Unknown,
        }
    }

    fn method(
        &mut self,
        object: Node<'t>,
        method: &str,
        plain: &[Node<'t>],
        all: &[Node<'t>],
    ) -> Value {
        let of = self.eval(object);
        // Modules are no values: os.path.join, glob.glob
        if of == Value::Unknown {
            return self.function(method, plain, all);
        }
        let mut arguments = plain.iter().map(|it| self.eval(*it)).collect::<Vec<_>>();
        match (method, &mut arguments[..]) {
            ("items", []) => match of {
                Value::Pairs(pairs) => Value::List(pairs.into_iter().map(pair).collect()),
                _ => Value::Unknown,
            },
            ("values", []) => match of {
                Value::Pairs(pairs) => Value::List(pairs.into_iter().map(|it| it.1).collect()),
                _ => Value::Unknown,
            },
            ("keys", []) => Value::List(of.items()),
            ("get", [key, ..]) => of.at_key(key),
            (
                "copy" | "resolve" | "absolute" | "as_posix" | "strip" | "rstrip" | "lstrip"
                | "__str__",
                [],
            ) => of,
            ("relative_to", _) => of,
            ("glob" | "rglob", [pattern]) => {
                let deep = |a: &str, b: &str| join(&join(a, "**"), b);
                Value::List(vec![
                    of.with(pattern, if method == "glob" { join } else { deep }),
                ])
            }
            ("joinpath", parts) => parts.iter().fold(of, |path, part| path.with(part, join)),
            ("join", [list]) => joined(&of, std::mem::replace(list, Value::Unknown)),
            ("lower", []) => of.each(&mut |it| Value::Text(it.to_lowercase())),
            ("upper", []) => of.each(&mut |it| Value::Text(it.to_uppercase())),
            ("split", []) => of.each(&mut |it| list(it.split_whitespace())),
            ("split", [Value::Text(by)]) if !by.is_empty() => {
                of.each(&mut |it| list(it.split(by.as_str())))
            }
            ("splitlines", []) => of.each(&mut |it| list(it.lines())),
            ("replace", [Value::Text(from), Value::Text(to)]) if !from.is_empty() => {
                of.each(&mut |it| Value::Text(it.replace(from.as_str(), to)))
            }
            ("format", parts) => {
                let named = self.keywords(all);
                of.each(&mut |it| filled(&it, parts, &named))
            }
            _ => Value::Unknown,
        }
    }

    /// The arguments that have names.
    fn keywords(&mut self, arguments: &[Node<'t>]) -> Value {
        let pairs = arguments.iter().map(|it| {
            let part = |name| it.child_by_field_name(name);
            match (it.kind(), part("name"), part("value")) {
                ("keyword_argument", Some(name), Some(value)) => {
                    (Value::text(text(name, self.bytes)), self.eval(value))
                }
                ("keyword_argument" | "dictionary_splat", ..) => (Value::Unknown, Value::Unknown),
                _ => (Value::List(Vec::new()), Value::Unknown),
            }
        });
        Value::Pairs(pairs.collect())
    }

    fn map(&mut self, by: Node<'t>, list: Node<'t>, is_filter: bool) -> Value {
        let items = self.eval(list).items();
        let fields = ["parameters", "body"].map(|name| by.child_by_field_name(name));
        match fields {
            _ if is_filter => Value::List(perhaps(items)),
            [Some(parameters), Some(body)] if by.kind() == "lambda" => {
                let name = text(parameters, self.bytes).to_owned();
                let mut all = Vec::new();
                for item in items {
                    self.bound.push((name.clone(), item));
                    all.push(self.eval(body));
                    self.bound.pop();
                }
                Value::List(all)
            }
            _ => Value::List(vec![Value::Unknown]),
        }
    }
}

fn pair((left, right): (Value, Value)) -> Value {
    Value::List(vec![left, right])
}

fn list<'i>(items: impl Iterator<Item = &'i str>) -> Value {
    Value::List(items.map(Value::text).collect())
}

/// `by.join(items)`
fn joined(by: &Value, items: Value) -> Value {
    let mut items = items.items().into_iter();
    let Some(first) = items.next() else {
        return Value::text("");
    };
    items.fold(first, |all, item| {
        let all = all.with(by, |a, b| format!("{a}{b}"));
        all.with(&item, |a, b| format!("{a}{b}"))
    })
}

/// `'%s/%s.c' % parts`
pub(super) fn percent(format: Value, parts: Value) -> Value {
    let parts = match parts {
        Value::List(parts) => parts,
        part => vec![part],
    };
    format.each(&mut |format| {
        let mut pieces = format.split("%s");
        let mut value = Value::text(pieces.next().unwrap_or(""));
        let mut parts = parts.iter();
        for piece in pieces {
            let part = parts.next().unwrap_or(&Value::Unknown);
            value = value.with(part, |a, b| format!("{a}{b}"));
            value = value.each(&mut |it| Value::Text(it + piece));
        }
        // %d, %(name)s and %% are left to others.
        match format.replace("%s", "").contains('%') {
            true => Value::Unknown,
            false => value,
        }
    })
}

/// `'{}/{name}.c'.format(…)`
fn filled(format: &str, parts: &[Value], named: &Value) -> Value {
    let mut pieces = format.split('{');
    let mut value = Value::text(pieces.next().unwrap_or(""));
    let mut next = 0;
    for piece in pieces {
        let Some((field, after)) = piece.split_once('}') else {
            return Value::Unknown;
        };
        let part = match (field, field.parse::<usize>()) {
            ("", _) => {
                next += 1;
                parts.get(next - 1).cloned()
            }
            (_, Ok(at)) => parts.get(at).cloned(),
            _ => Some(named.at_key(&Value::text(field))),
        };
        value = value.with(&part.unwrap_or(Value::Unknown), |a, b| format!("{a}{b}"));
        value = value.each(&mut |it| Value::Text(it + after));
    }
    value
}
