//! The `Setup` files of CPython, which pygame uses as well:
//!
//! ```text
//! SDL = -I/usr/include/SDL2 -lSDL2
//! image src_c/image.c $(SDL)
//! _json _json.c  # -DNDEBUG
//! ```

use std::collections::BTreeMap;

use super::value::Value;
use super::{Extent, Target, made};
use crate::build::{BuildFile, comment};

pub(super) fn targets(file: &BuildFile<'_>) -> Vec<Target> {
    let mut variables: BTreeMap<String, String> = BTreeMap::new();
    let mut found = Vec::new();
    for line in lines(file.source.bytes()) {
        if let Some((name, value)) = line
            .split_once('=')
            .filter(|(name, _)| is_name(name.trim()))
        {
            let held = variables.entry(name.trim().to_owned()).or_default();
            *held = format!("{held} {value}");
            continue;
        }
        let mut words = line.split_whitespace();
        // @MODULE__JSON_TRUE@_json _json.c
        let Some(name) = words
            .next()
            .map(|name| name.rsplit('@').next().unwrap_or(name))
        else {
            continue;
        };
        let mut sources = Vec::new();
        add(words, &variables, &mut sources, 0);
        if is_name(name) && sources.contains(&Value::Unknown) | sources.iter().any(is_source) {
            found.extend(made(file, &Value::text(name), &Value::List(sources)));
        }
    }
    for target in &mut found {
        target.is_moved = true;
        // Whatever copies the file may leave lines out, or change them.
        target.extent = target.extent.min(Extent::AtMost);
    }
    found
}

/// The lines with what `\` continues, without comments.
fn lines(bytes: &[u8]) -> Vec<String> {
    let mut lines = Vec::new();
    let mut open = String::new();
    for line in bytes.split(|&byte| byte == b'\n') {
        let end = comment(line).unwrap_or(line.len());
        let text = String::from_utf8_lossy(&line[..end]);
        let text = text.trim_end();
        open.push_str(text.strip_suffix('\\').unwrap_or(text));
        open.push(' ');
        if !text.ends_with('\\') {
            lines.push(std::mem::take(&mut open));
        }
    }
    lines.push(open);
    lines
}

fn is_name(text: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
    !text.is_empty() && text.chars().all(is_part)
}

/// Adds the sources among `words`; flags are none.
fn add<'w>(
    words: impl Iterator<Item = &'w str>,
    variables: &BTreeMap<String, String>,
    sources: &mut Vec<Value>,
    depth: u32,
) {
    for word in words {
        let name = word.strip_prefix("$(").and_then(|it| it.strip_suffix(')'));
        let held = name.and_then(|name| variables.get(name));
        match (name, held) {
            (Some(_), Some(held)) if depth < 8 && sources.len() < 4096 => {
                add(held.split_whitespace(), variables, sources, depth + 1);
            }
            // $(srcdir)/Modules/x.c, and what `configure` puts in
            _ if word.contains('$') && !word.starts_with('-') => sources.push(Value::Unknown),
            _ if is_source(&Value::text(word)) => sources.push(Value::text(word)),
            _ => {}
        }
    }
}

fn is_source(value: &Value) -> bool {
    let Value::Text(word) = value else {
        return false;
    };
    let ending = word.rsplit_once('.').map(|(_, ending)| ending);
    let is_code = matches!(
        ending,
        Some("c" | "cc" | "cpp" | "cxx" | "c++" | "m" | "mm" | "pyx")
    );
    is_code && !word.starts_with('-')
}
