//! What the commits say: what could go wrong before, why it cannot now, where.

use std::collections::BTreeMap;

use crate::package::Package;
use crate::review::slashed;
use crate::rule::{Rule, wrapped};
use crate::series::{Patch, WIDTH, intent};

/// An error that a lookup swallowed leaves the function now.
pub(super) const PROPAGATES: &str = "An error of a lookup that was ignored before is now raised.";

/// Of the tests.
pub(super) fn tests() -> String {
    paragraphs([
        "Several threads call the functions that the next changes are about, on shared objects. \
         Each function runs in processes of its own, with a time limit. A test fails if the \
         process dies or hangs, if the results are not those of one thread, or if references are \
         lost.",
        "With the GIL the tests are skipped. Without it, some may fail before the last change of \
         this series. Most of the file is what runs the calls, and needs only pytest. Arguments \
         are made up: functions that must not be called so, and better arguments, go between the \
         marked lines.",
    ])
}

/// Of the workflow.
pub(super) fn workflow() -> String {
    paragraphs([
        "Nothing would show if a later change brings a race, or turns the GIL on again. The new \
         entry of the matrix runs the same steps as the others.",
    ])
}

/// Of fixes.
pub(super) fn fixes(package: &Package, patch: &Patch<'_>) -> String {
    let rules: BTreeMap<&str, &Rule> = patch
        .parts
        .iter()
        .map(|part| (part.finding.rule.code, part.finding.rule))
        .collect();
    let mut said: Vec<String> = Vec::new();
    let mut say = |text: String| {
        if !text.is_empty() && !said.contains(&text) {
            said.push(text);
        }
    };
    for rule in rules.values() {
        say(rule.section("Why").unwrap_or(rule.summary.to_owned()));
        say(intent(rule).now.to_owned());
    }
    if patch.parts.iter().any(|part| part.fix.propagates) {
        say(PROPAGATES.to_owned());
    }
    for header in patch.new_files() {
        let path = slashed(header);
        say(format!(
            "The new file {path} defines, for older Pythons, the functions that this change calls."
        ));
    }
    let mut out = paragraphs(said.iter().map(String::as_str));
    out += &places(package, patch);
    let open = to_confirm(patch).into_iter();
    out += &listed("To confirm before this is merged:", open);
    let codes: Vec<&str> = rules.keys().copied().collect();
    out + &format!("Assisted-by: ungil ({})\n", codes.join(", "))
}

/// Each message once, with the functions that it is about.
fn places(package: &Package, patch: &Patch<'_>) -> String {
    let mut by_message: Vec<((String, &str), Vec<&str>)> = Vec::new();
    for part in &patch.parts {
        let finding = part.finding;
        let path = slashed(package.files.get(finding.file).path());
        let key = (path, finding.message.as_str());
        let at = by_message.iter().position(|(known, _)| *known == key);
        let at = at.unwrap_or_else(|| {
            by_message.push((key, Vec::new()));
            by_message.len() - 1
        });
        let functions = &mut by_message[at].1;
        let function = finding.function.as_deref();
        functions.extend(function.filter(|name| !functions.contains(name)));
    }
    let line = |((path, message), functions): ((String, &str), Vec<&str>)| {
        let place = match functions.is_empty() {
            true => path,
            false => format!("{path}, {}", functions.join(", ")),
        };
        format!("{place}: {message}")
    };
    listed("", by_message.into_iter().map(line))
}

/// What must be confirmed before a patch is merged.
pub(super) fn to_confirm(patch: &Patch<'_>) -> Vec<String> {
    let open = patch.parts.iter().flat_map(|part| &part.fix.assumptions);
    folded(open.map(ToString::to_string))
}

/// Texts that differ only in the first name in backticks as one, in the order of their first ones.
fn folded(texts: impl IntoIterator<Item = String>) -> Vec<String> {
    let mut all: Vec<(String, Vec<String>)> = Vec::new();
    for text in texts {
        let name = text.split('`').nth(1).unwrap_or_default().to_owned();
        let is_same = |(first, names): &&mut (String, Vec<String>)| {
            let own = format!("`{}`", names[0]);
            *first == text || first.replacen(&own, &format!("`{name}`"), 1) == text
        };
        match all.iter_mut().find(is_same) {
            Some((_, names)) if names.contains(&name) => {}
            Some((_, names)) => names.push(name),
            None => all.push((text, vec![name])),
        }
    }
    let one = |(text, names): (String, Vec<String>)| match &names[1..] {
        [] => text,
        more => {
            let more: Vec<String> = more.iter().map(|name| format!("`{name}`")).collect();
            format!("{text}; the same for {}", more.join(", "))
        }
    };
    all.into_iter().map(one).collect()
}

fn paragraphs<'t>(texts: impl IntoIterator<Item = &'t str>) -> String {
    let all = texts.into_iter().map(|text| wrapped(text, WIDTH, "", ""));
    all.map(|text| text + "\n\n").collect()
}

/// A title and each text once; empty without texts.
fn listed(title: &str, texts: impl Iterator<Item = String>) -> String {
    let mut all: Vec<String> = Vec::new();
    for text in texts {
        if !all.contains(&text) {
            all.push(text);
        }
    }
    let lines = all
        .iter()
        .map(|text| wrapped(text, WIDTH, "- ", "  ") + "\n");
    let lines: String = lines.collect();
    let title = match title {
        "" => String::new(),
        title => format!("{title}\n"),
    };
    match lines.is_empty() {
        true => lines,
        false => format!("{title}{lines}\n"),
    }
}

#[cfg(test)]
mod tests {
    use super::folded;

    #[test]
    fn texts_about_several_names_are_one() {
        let texts = [
            "lock `f`: it moves `x`",
            "done",
            "lock `g`: it moves `x`",
            "done",
        ];
        assert_eq!(
            folded(texts.map(str::to_owned)),
            ["lock `f`: it moves `x`; the same for `g`", "done"]
        );
    }
}
