//! A patch of a series as a letter that `git am` takes.

use std::collections::BTreeSet;

use super::{Part, Patch};
use crate::diff::{FileChange, patch, stat};
use crate::edit::Confidence;
use crate::package::Package;
use crate::review::slashed;
use crate::rule::{Rule, wrapped};

/// Columns of the text of a letter.
pub const WIDTH: usize = 72;

/// What a letter says beside the patch.
#[derive(Debug, Clone, Copy)]
pub struct Letter<'a> {
    /// `Name <address>` of the author.
    pub author: &'a str,
    /// Number of the patch in the series, from 1, and how many there are.
    pub number: (usize, usize),
    /// Lines of context.
    pub context: usize,
}

/// The letter for `change`: why, what must be confirmed, how it is proven, and the patch.
///
/// There is no date, so that the same changes give the same bytes; git takes that of the day.
#[must_use]
pub fn message(package: &Package, change: &Patch<'_>, letter: Letter<'_>) -> Vec<u8> {
    let text = text(package, change);
    mail(&subject(change), &text, &change.changes(package), letter)
}

/// The letter with this subject and text, of lines that end, for `changes`.
#[must_use]
pub fn mail(subject: &str, text: &str, changes: &[FileChange<'_>], letter: Letter<'_>) -> Vec<u8> {
    let mut body = text.as_bytes().to_vec();
    body.extend(b"---\n");
    body.extend(stat(changes, WIDTH + 7).into_bytes());
    body.push(b'\n');
    body.extend(patch(changes, letter.context));
    body.extend(format!("-- \nungil {}\n", env!("CARGO_PKG_VERSION")).into_bytes());
    // Mail drops carriage returns at the end of lines.
    let encoding = if body.contains(&b'\r') {
        body = quoted_printable(&body);
        "quoted-printable"
    } else {
        "8bit"
    };
    let (number, count) = letter.number;
    let digits = count.to_string().len();
    // The first line is the one that `git format-patch` writes: what tells a letter from others.
    let head = format!(
        "From 0000000000000000000000000000000000000000 Mon Sep 17 00:00:00 2001\n\
         From: {}\nSubject: [PATCH {number:0digits$}/{count}] {}\nMIME-Version: 1.0\n\
         Content-Type: text/plain; charset=UTF-8\nContent-Transfer-Encoding: {encoding}\n\n",
        header(letter.author),
        header(subject),
    );
    [head.into_bytes(), body, b"\n".to_vec()].concat()
}

/// The text of a header field, which has one line; what is no ASCII is encoded.
fn header(text: &str) -> String {
    let text: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if text.is_ascii() {
        return text;
    }
    // An address must stay readable: only words that are no ASCII are encoded.
    let words = text.split(' ').map(|word| {
        if word.is_ascii() {
            return word.to_owned();
        }
        let bytes: String = word.bytes().map(|byte| format!("={byte:02X}")).collect();
        // A blank between two encoded words is no part of the text.
        format!("=?UTF-8?Q?{bytes}?=")
    });
    words.collect::<Vec<_>>().join(" ")
}

fn subject(change: &Patch<'_>) -> String {
    let verb = if change.parts.iter().all(is_declaration) {
        "declare that modules run without the GIL"
    } else {
        "make safe without the GIL"
    };
    format!("{}: {verb}", change.subject)
}

fn is_declaration(part: &Part<'_>) -> bool {
    part.finding.rule.code.starts_with("UG2")
}

fn text(package: &Package, change: &Patch<'_>) -> String {
    let mut out = String::new();
    let mut codes = BTreeSet::new();
    let rules: Vec<&Rule> = change
        .parts
        .iter()
        .map(|part| part.finding.rule)
        .filter(|rule| codes.insert(rule.code))
        .collect();
    for rule in &rules {
        let why = rule.section("Why").unwrap_or(rule.summary.to_owned());
        out += &format!("{}\n\n", wrapped(&why, WIDTH, "", ""));
    }
    for part in &change.parts {
        out += &place(package, part);
    }
    out.push('\n');
    let fixes = || change.parts.iter().map(|part| part.fix);
    let open = fixes().flat_map(|fix| &fix.assumptions);
    out += &listed("To confirm:", open.map(ToString::to_string));
    let confirmed = fixes().flat_map(|fix| &fix.confirmed);
    out += &listed(
        "As the project has confirmed:",
        confirmed.map(ToString::to_string),
    );
    out += &format!("{}\n\n", wrapped(proof(change), WIDTH, "", ""));
    for rule in rules {
        out += &format!("Ungil-Rule: {} {}\n", rule.code, rule.name);
    }
    out
}

fn place(package: &Package, part: &Part<'_>) -> String {
    let file = package.files.get(part.finding.file);
    let line = file.position(part.finding.span.start()).line.0;
    let function = match &part.finding.function {
        Some(function) => format!(" in {function}"),
        None => String::new(),
    };
    let text = format!(
        "{}:{line}{function}: {}",
        slashed(file.path()),
        part.finding.message
    );
    format!("{}\n", wrapped(&text, WIDTH, "* ", "  "))
}

/// A title and each text once; empty without texts.
fn listed(title: &str, texts: impl Iterator<Item = String>) -> String {
    let mut seen = BTreeSet::new();
    let lines = texts.filter(|text| seen.insert(text.clone()));
    let lines: String = lines
        .map(|text| format!("{}\n", wrapped(&text, WIDTH, "- ", "  ")))
        .collect();
    match lines.is_empty() {
        true => lines,
        false => format!("{title}\n{lines}\n"),
    }
}

fn proof(change: &Patch<'_>) -> &'static str {
    let is_safe = |part: &Part<'_>| part.fix.confidence == Confidence::Safe;
    if change.parts.iter().all(is_safe) {
        "The result was parsed again. On every path of its function, each new reference is \
         released, returned or passed on exactly once. Behaviour with the GIL is the same."
    } else {
        "The result was parsed again. It is correct if the statements to confirm above are true."
    }
}

/// RFC 2045: what mail could change is written as `=XX`, and lines are cut by `=` at their end.
fn quoted_printable(bytes: &[u8]) -> Vec<u8> {
    /// Bytes of a line, without the `=` that cuts it.
    const MAX: usize = 75;
    let mut out = Vec::with_capacity(bytes.len() * 5 / 4);
    let mut length = 0;
    for (at, &byte) in bytes.iter().enumerate() {
        if byte == b'\n' {
            out.push(byte);
            length = 0;
            continue;
        }
        let ends_line = bytes.get(at + 1).is_none_or(|next| *next == b'\n');
        let plain = matches!(byte, b'!'..=b'~') && byte != b'=' || byte == b' ' && !ends_line;
        let code = match plain {
            true => vec![byte],
            false => format!("={byte:02X}").into_bytes(),
        };
        if length + code.len() > MAX {
            out.extend(b"=\n");
            length = 0;
        }
        length += code.len();
        out.extend(code);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{header, quoted_printable};

    #[test]
    fn what_mail_could_change_is_quoted() {
        assert_eq!(
            quoted_printable(b"a = \xe9\r\nb \n"),
            b"a =3D =E9=0D\nb=20\n"
        );
        let long = quoted_printable(&[b'x'; 200]);
        assert!(
            long.split(|byte| *byte == b'\n')
                .all(|line| line.len() <= 76)
        );
    }

    #[test]
    fn headers_are_ascii_in_one_line() {
        assert_eq!(header("J\u{e9} <a@b>"), "=?UTF-8?Q?=4A=C3=A9?= <a@b>");
        assert_eq!(header("a\nb"), "a b");
    }
}
