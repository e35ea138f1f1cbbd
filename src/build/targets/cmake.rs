//! `Python_add_library(name MODULE a.c ${MORE})` of CMake. Variables are those of all
//! `CMakeLists.txt`, which bring each other in by `add_subdirectory()`.

use std::collections::BTreeMap;

use super::value::{Value, perhaps};
use super::{Target, made};
use crate::build::BuildFile;

/// Most text that variables stand for.
const MAX_ITEMS: usize = 4096;

/// `name(arguments)` in one of the files.
struct Command<'f, 'a> {
    file: &'f BuildFile<'a>,
    name: String,
    arguments: Vec<String>,
    /// Whether it stands in an `if`, a loop or a function.
    is_conditional: bool,
}

/// What variables hold, by name; each item with whether it may not be there.
type Variables = BTreeMap<String, Vec<(String, bool)>>;

pub(super) fn targets(files: &[&BuildFile<'_>]) -> Vec<Target> {
    let commands = files.iter().flat_map(|file| commands(file));
    let commands: Vec<Command<'_, '_>> = commands.collect();
    let variables = variables(&commands);
    let mut found = Vec::new();
    for command in commands.iter().filter(|it| makes_module(it)) {
        let Some((name, sources)) = command.arguments.split_first() else {
            continue;
        };
        let mut all = values(sources, &variables, command);
        let mut names = vec![Value::text(name.as_str())];
        for other in commands
            .iter()
            .filter(|it| it.arguments.first() == Some(name))
        {
            match &*other.name {
                "target_sources" => {
                    let more = values(&other.arguments[1..], &variables, other);
                    all.extend(if other.is_conditional {
                        perhaps(more)
                    } else {
                        more
                    });
                }
                "set_target_properties" => {
                    let mut words = other.arguments.iter();
                    if words.any(|word| word == "OUTPUT_NAME") {
                        names.extend(words.next().map(|it| Value::text(it.as_str())));
                    }
                }
                _ => {}
            }
        }
        let names = Value::List(names.into_iter().filter(is_whole).collect());
        found.extend(made(command.file, &names, &Value::List(all)));
    }
    found
}

/// Whether a name has nothing in it that is computed.
fn is_whole(name: &Value) -> bool {
    matches!(name, Value::Text(text) if !text.contains('$'))
}

fn makes_module(command: &Command<'_, '_>) -> bool {
    let kind = command.arguments.get(1).map(String::as_str);
    match &*command.name {
        "add_library" => matches!(kind, Some("MODULE" | "SHARED")),
        "python_add_library" | "python2_add_library" | "python3_add_library" => {
            kind != Some("STATIC")
        }
        name => matches!(
            name,
            "pybind11_add_module" | "nanobind_add_module" | "python_add_module"
        ),
    }
}

/// The sources among `words`, and what is not known.
fn values(words: &[String], variables: &Variables, command: &Command<'_, '_>) -> Vec<Value> {
    let mut found = Vec::new();
    for word in words {
        let mut meant = Meant::default();
        if !meant.add(word, variables, 0) {
            found.push(Value::Unknown);
        }
        for (text, is_choice) in meant.texts {
            let is_source = text.rsplit('/').next().is_some_and(|it| it.contains('.'));
            let is_version = text.starts_with(|c: char| c.is_ascii_digit()) && !text.contains(".c");
            if is_source && !is_version {
                let text = Value::Text(text);
                found.push(if is_choice {
                    Value::OneOf(vec![text])
                } else {
                    text
                });
            }
        }
    }
    if command.arguments.len() > MAX_ITEMS {
        found.push(Value::Unknown);
    }
    found
}

/// What the variables hold, wherever they are set.
fn variables(commands: &[Command<'_, '_>]) -> Variables {
    let mut variables = Variables::new();
    for command in commands {
        let words = &command.arguments;
        let (name, items) = match (&*command.name, &words[..]) {
            ("set", [name, items @ ..]) => (name, items),
            ("list", [how, name, items @ ..]) if matches!(&**how, "APPEND" | "PREPEND") => {
                (name, items)
            }
            ("file", [how, name, items @ ..]) if how.starts_with("GLOB") => (name, items),
            // What a function, a loop or a program gives them is not seen.
            (
                "foreach" | "string" | "get_filename_component" | "list" | "function" | "macro",
                [_, names @ ..],
            ) => {
                for name in names.iter().chain(words.first()) {
                    let held = variables.entry(name.clone()).or_default();
                    held.push(("$<>".to_owned(), true));
                }
                continue;
            }
            _ => continue,
        };
        let is_deep = words.first().is_some_and(|it| it == "GLOB_RECURSE");
        let held = variables.entry(name.clone()).or_default();
        let items = items
            .iter()
            .take_while(|it| !matches!(&***it, "CACHE" | "PARENT_SCOPE"));
        for item in items.filter(|it| *it != "CONFIGURE_DEPENDS") {
            let item = match (is_deep, item.rsplit_once('/')) {
                (true, Some((folder, name))) => format!("{folder}/**/{name}"),
                (true, None) => format!("**/{item}"),
                (false, _) => item.clone(),
            };
            held.push((item, command.is_conditional));
        }
    }
    // What is set twice is one or the other.
    for name in set_twice(commands) {
        for item in variables.entry(name).or_default() {
            item.1 = true;
        }
    }
    variables
}

fn set_twice(commands: &[Command<'_, '_>]) -> Vec<String> {
    let sets = commands.iter().filter(|it| it.name == "set");
    let mut count: BTreeMap<&str, u32> = BTreeMap::new();
    for name in sets.filter_map(|it| it.arguments.first()) {
        *count.entry(name).or_default() += 1;
    }
    let twice = count.into_iter().filter(|(_, n)| *n > 1);
    twice.map(|(name, _)| name.to_owned()).collect()
}

/// What a word stands for: text, and whether it may not be there.
#[derive(Default)]
struct Meant {
    texts: Vec<(String, bool)>,
    steps: usize,
}

impl Meant {
    /// Adds what `word` stands for; false if not all of it is known.
    fn add(&mut self, word: &str, variables: &Variables, depth: u32) -> bool {
        self.steps += 1;
        if depth > 16 || self.steps > MAX_ITEMS {
            return false;
        }
        let Some((before, after)) = word.split_once("${") else {
            self.texts.push((word.to_owned(), false));
            return !word.contains('$');
        };
        let Some((name, after)) = after.split_once('}') else {
            return false;
        };
        if matches!(name, "CMAKE_CURRENT_SOURCE_DIR" | "CMAKE_CURRENT_LIST_DIR") {
            return self.add(&format!("{before}.{after}"), variables, depth + 1);
        }
        let Some(items) = variables.get(name) else {
            return false;
        };
        let mut is_known = true;
        for (item, is_choice) in items {
            let begin = self.texts.len();
            is_known &= self.add(&format!("{before}{item}{after}"), variables, depth + 1);
            for text in &mut self.texts[begin..] {
                text.1 |= is_choice;
            }
        }
        is_known
    }
}

/// The commands of a file, their names in lower case.
fn commands<'f, 'a>(file: &'f BuildFile<'a>) -> Vec<Command<'f, 'a>> {
    let text = String::from_utf8_lossy(file.source.bytes());
    let mut found: Vec<Command<'f, 'a>> = Vec::new();
    let mut depth = 0u32;
    let mut rest = &*text;
    while let Some(open) = rest.find(['(', '#', '"']) {
        let (before, after) = rest.split_at(open);
        if after.starts_with('#') {
            rest = after_comment(after);
            continue;
        }
        let word = before
            .trim_end()
            .rsplit(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        let name = word.clone().next().unwrap_or("").to_ascii_lowercase();
        let (arguments, end) = arguments(&after[1..]);
        rest = &after[1 + end..];
        match &*name {
            "if" | "foreach" | "while" | "function" | "macro" => depth += 1,
            "endif" | "endforeach" | "endwhile" | "endfunction" | "endmacro" => {
                depth = depth.saturating_sub(1);
            }
            _ => {}
        }
        found.push(Command {
            file,
            name,
            arguments,
            is_conditional: depth > 0,
        });
    }
    found
}

/// What follows the comment that `text` begins with.
fn after_comment(text: &str) -> &str {
    let end = match text.starts_with("#[[") {
        true => text.find("]]"),
        false => text.find('\n'),
    };
    end.map_or("", |end| &text[end + 1..])
}

/// The words up to the closing bracket of `text`, and where that ends.
fn arguments(text: &str) -> (Vec<String>, usize) {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut depth = 0u32;
    let mut is_quoted = false;
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let at = text.len() - rest.len();
        rest = &rest[c.len_utf8()..];
        match c {
            '\\' => {
                let next = rest.chars().next();
                word.extend(next);
                rest = &rest[next.map_or(0, char::len_utf8)..];
            }
            '"' => is_quoted = !is_quoted,
            _ if is_quoted => word.push(c),
            '#' => rest = after_comment(&text[at..]),
            ')' if depth == 0 => {
                words.extend((!word.is_empty()).then_some(word));
                return (words, at + 1);
            }
            '(' | ')' => {
                depth = if c == '(' { depth + 1 } else { depth - 1 };
                word.push(c);
            }
            ';' | ' ' | '\t' | '\r' | '\n' => {
                words.extend((!word.is_empty()).then(|| std::mem::take(&mut word)));
            }
            _ => word.push(c),
        }
    }
    (words, text.len())
}
