//! `py.extension_module('name', 'a.c', files('b.c'), more)` of Meson. Variables are those of all
//! `meson.build` files, which bring each other in by `subdir()`.

use std::collections::BTreeMap;

use super::meson_tokens::{Token, tokens};
use super::value::{Value, join, perhaps};
use super::{Target, made, placed};
use crate::build::BuildFile;

/// How deep expressions and variables lie in each other.
const MAX_DEPTH: u32 = 32;
/// Most terms that are looked at, for all files.
const MAX_STEPS: u32 = 200_000;

/// One file, as tokens.
struct File<'f, 'a> {
    file: &'f BuildFile<'a>,
    tokens: Vec<Token>,
}

/// A statement that gives a variable something.
#[derive(Debug, Clone, Copy)]
struct Given {
    /// The file, and the token where the value begins.
    place: (usize, usize),
    how: How,
    is_conditional: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum How {
    /// `x = value`
    Set,
    /// `x += value`
    Add,
    /// `foreach x : value`
    Each,
    /// One of the two names of `foreach key, value : dict`.
    Part(usize),
}

struct Meson<'f, 'a> {
    files: Vec<File<'f, 'a>>,
    given: BTreeMap<String, Vec<Given>>,
    open: Vec<String>,
    depth: u32,
    steps: u32,
}

/// Arguments with their names, which are empty for those without.
type Arguments = Vec<(String, Value)>;

pub(super) fn targets(files: &[&BuildFile<'_>]) -> Vec<Target> {
    let files = files.iter().map(|file| File {
        file,
        tokens: tokens(&String::from_utf8_lossy(file.source.bytes())),
    });
    let mut meson = Meson {
        files: files.collect(),
        given: BTreeMap::new(),
        open: Vec::new(),
        depth: 0,
        steps: 0,
    };
    meson.find_given();
    let mut found = Vec::new();
    for at in 0..meson.files.len() {
        for index in 0..meson.files[at].tokens.len() {
            if meson.name((at, index)) != Some("extension_module") {
                continue;
            }
            let (arguments, _) = meson.arguments((at, index + 1));
            let mut plain = arguments
                .into_iter()
                .filter(|(key, _)| key.is_empty() || key == "sources");
            let name = plain.next().map_or(Value::Unknown, |(_, value)| value);
            let sources = Value::List(plain.map(|(_, value)| value).collect());
            found.extend(made(meson.files[at].file, &name, &sources));
        }
    }
    found
}

impl Meson<'_, '_> {
    fn token(&self, (file, index): (usize, usize)) -> Option<&Token> {
        self.files[file].tokens.get(index)
    }

    fn name(&self, place: (usize, usize)) -> Option<&str> {
        match self.token(place)? {
            Token::Name(name) => Some(name),
            _ => None,
        }
    }

    fn is_sign(&self, place: (usize, usize), sign: char) -> bool {
        self.token(place) == Some(&Token::Sign(sign))
    }

    fn find_given(&mut self) {
        for file in 0..self.files.len() {
            let mut ifs = 0u32;
            for index in 0..self.files[file].tokens.len() {
                let Some(name) = self.name((file, index)).map(str::to_owned) else {
                    continue;
                };
                let at = |n: usize| (file, index + n);
                let starts = index == 0 || self.token((file, index - 1)) == Some(&Token::Line);
                match &*name {
                    "if" => ifs += 1,
                    "endif" => ifs = ifs.saturating_sub(1),
                    "foreach" => self.find_loop(at(1)),
                    _ if !starts => {}
                    _ if self.is_sign(at(1), '=') && !self.is_sign(at(2), '=') => {
                        self.give(&name, at(2), How::Set, ifs > 0);
                    }
                    _ if self.is_sign(at(1), '+') && self.is_sign(at(2), '=') => {
                        self.give(&name, at(3), How::Add, ifs > 0);
                    }
                    _ => {}
                }
            }
        }
    }

    /// The names of a loop, of which the first stands at `place`.
    fn find_loop(&mut self, (file, index): (usize, usize)) {
        let names = [(file, index), (file, index + 2)];
        let names = names.map(|place| self.name(place).map(str::to_owned));
        match names {
            [Some(name), _] if self.is_sign((file, index + 1), ':') => {
                self.give(&name, (file, index + 2), How::Each, false);
            }
            [Some(key), Some(value)] if self.is_sign((file, index + 3), ':') => {
                self.give(&key, (file, index + 4), How::Part(0), false);
                self.give(&value, (file, index + 4), How::Part(1), false);
            }
            _ => {}
        }
    }

    fn give(&mut self, name: &str, place: (usize, usize), how: How, is_conditional: bool) {
        let given = Given {
            place,
            how,
            is_conditional,
        };
        self.given.entry(name.to_owned()).or_default().push(given);
    }

    /// The value of the expression at `place`, and where it ends.
    fn expression(&mut self, place: (usize, usize)) -> (Value, usize) {
        self.steps += 1;
        if self.depth > MAX_DEPTH || self.steps > MAX_STEPS {
            return (Value::Unknown, self.end(place));
        }
        self.depth += 1;
        let found = self.sum(place);
        self.depth -= 1;
        found
    }

    fn sum(&mut self, (file, index): (usize, usize)) -> (Value, usize) {
        let (mut value, mut at) = self.term((file, index));
        loop {
            let sign = match self.token((file, at)) {
                Some(Token::Sign(sign)) => *sign,
                // `and`, `in`
                Some(Token::Name(_)) => ' ',
                _ => return (value, at),
            };
            match sign {
                '+' | '/' => {
                    let (right, end) = self.term((file, at + 1));
                    value = match (sign, &value) {
                        ('/', _) => value.with(&right, join),
                        (_, Value::Text(_)) => value.with(&right, |a, b| format!("{a}{b}")),
                        // A plain text is one item more.
                        _ => value.and(match right {
                            Value::Text(_) => Value::List(vec![right]),
                            right => right,
                        }),
                    };
                    at = end;
                }
                '?' => {
                    let (then, end) = self.expression((file, at + 1));
                    let (otherwise, end) = self.expression((file, end + 1));
                    return (Value::one_of(vec![then, otherwise]), end);
                }
                ',' | ')' | ']' | '}' | ':' => return (value, at),
                // A comparison: what comes of it is no source.
                _ => {
                    value = Value::Unknown;
                    (_, at) = self.term((file, at + 1));
                }
            }
        }
    }

    fn term(&mut self, (file, index): (usize, usize)) -> (Value, usize) {
        let (mut value, mut at) = match self.token((file, index)) {
            Some(Token::Text(text)) => (Value::text(text.as_str()), index + 1),
            Some(Token::Sign('(')) => {
                let (value, at) = self.expression((file, index + 1));
                (value, at + 1)
            }
            Some(Token::Sign('[')) => {
                let (items, at) = self.arguments((file, index));
                (
                    Value::List(items.into_iter().map(|(_, item)| item).collect()),
                    at,
                )
            }
            Some(Token::Sign('{')) => {
                let (pairs, at) = self.arguments((file, index));
                let pairs = pairs.into_iter();
                (
                    Value::Pairs(
                        pairs
                            .map(|(key, value)| (Value::Text(key), value))
                            .collect(),
                    ),
                    at,
                )
            }
            Some(Token::Name(name)) => {
                let name = name.clone();
                match self.is_sign((file, index + 1), '(') {
                    true => self.call(&name, (file, index + 1)),
                    false => (self.variable(&name, file), index + 1),
                }
            }
            _ => (Value::Unknown, index + 1),
        };
        loop {
            let next = (file, at);
            if self.is_sign(next, '[') {
                let (key, end) = self.arguments(next);
                value = match (self.token((file, at + 1)), key.first()) {
                    (Some(Token::Number(n)), _) => value.part(*n, None),
                    (_, Some((_, key))) => value.at_key(key),
                    _ => Value::Unknown,
                };
                at = end;
            } else if self.is_sign(next, '.') && self.is_sign((file, at + 2), '(') {
                let is_here = self.name((file, at + 1)) == Some("current_source_dir");
                value = if is_here {
                    Value::text(".")
                } else {
                    Value::Unknown
                };
                (_, at) = self.arguments((file, at + 2));
            } else {
                return (value, at.max(index + 1));
            }
        }
    }

    fn call(&mut self, name: &str, place: (usize, usize)) -> (Value, usize) {
        let (arguments, end) = self.arguments(place);
        let values = arguments.into_iter().map(|(_, value)| value);
        let value = match name {
            "files" => {
                let file = self.files[place.0].file;
                let mut list = Vec::new();
                let texts = Value::List(values.collect()).texts();
                list.extend(
                    texts
                        .texts
                        .iter()
                        .map(|it| Value::Text(format!("/{}", placed(file, it)))),
                );
                if texts.is_open {
                    list.push(Value::Unknown);
                }
                Value::List(if texts.has_choice {
                    perhaps(list)
                } else {
                    list
                })
            }
            "join_paths" => {
                let path = values.reduce(|path, part| path.with(&part, join));
                path.unwrap_or(Value::Unknown)
            }
            _ => Value::Unknown,
        };
        (value, end)
    }

    /// What stands in the brackets that open at `place`, and where they end.
    fn arguments(&mut self, (file, index): (usize, usize)) -> (Arguments, usize) {
        let mut found = Vec::new();
        let mut at = index + 1;
        loop {
            match self.token((file, at)) {
                None => return (found, at),
                Some(Token::Sign(')' | ']' | '}')) => return (found, at + 1),
                Some(Token::Sign(',')) => at += 1,
                Some(_) => {
                    let key = match (self.token((file, at)), self.is_sign((file, at + 1), ':')) {
                        (Some(Token::Name(key) | Token::Text(key)), true) => key.clone(),
                        _ => String::new(),
                    };
                    let begin = if key.is_empty() { at } else { at + 2 };
                    let (value, end) = self.expression((file, begin));
                    found.push((key, value));
                    at = end.max(begin + 1);
                }
            }
        }
    }

    /// Where the statement, or the part of the brackets, ends in which `place` lies.
    fn end(&self, (file, index): (usize, usize)) -> usize {
        let tokens = &self.files[file].tokens;
        let mut depth = 0u32;
        for (at, token) in tokens.iter().enumerate().skip(index) {
            match token {
                Token::Sign('(' | '[' | '{') => depth += 1,
                Token::Sign(')' | ']' | '}' | ',') | Token::Line if depth == 0 => return at,
                Token::Sign(')' | ']' | '}') => depth -= 1,
                _ => {}
            }
        }
        tokens.len()
    }

    fn variable(&mut self, name: &str, file: usize) -> Value {
        let all = self.given.get(name).cloned().unwrap_or_default();
        if self.open.iter().any(|it| it == name) || all.is_empty() {
            return Value::Unknown;
        }
        let is_here = all
            .iter()
            .any(|it| it.place.0 == file && it.how != How::Add);
        self.open.push(name.to_owned());
        let mut values = Vec::new();
        let mut added = Vec::new();
        for given in all {
            if is_here && given.place.0 != file && given.how != How::Add {
                continue;
            }
            let (value, _) = self.expression(given.place);
            match given.how {
                How::Set => values.push(value),
                How::Each => values.push(Value::OneOf(value.items())),
                How::Part(at) => values.push(match value {
                    Value::Pairs(pairs) => {
                        let part = |(key, value)| if at == 0 { key } else { value };
                        Value::OneOf(pairs.into_iter().map(part).collect())
                    }
                    _ => Value::Unknown,
                }),
                How::Add => added.push((value, given.is_conditional)),
            }
        }
        self.open.pop();
        let mut value = Value::one_of(values);
        for (more, is_conditional) in added {
            let items = match more {
                Value::Text(_) => vec![more],
                more => more.items(),
            };
            value = value.and(Value::List(if is_conditional {
                perhaps(items)
            } else {
                items
            }));
        }
        value
    }
}
