//! Comments that silence findings: `/* ungil: ignore[UG101] -- reason */` for a line, a statement or
//! a function, `ungil: ignore-file[UG101]` for a file, and the `noqa` marks of numpy.

use memchr::memmem;

use super::{Rule, Selector};
use crate::build::comment;
use crate::facts::{self, MARK, covered_lines, directive, is_in_token};
use crate::lex::{Token, lex};
use crate::source::{ByteOffset, ByteSpan, LineNumber, SourceFile};

/// What numpy writes beside a borrowed reference that somebody has looked at and found safe.
const NOQA: &[u8] = b"noqa: borrowed-ref OK";

/// One comment that silences findings, or tries to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Suppression {
    /// The mark in the comment.
    pub span: ByteSpan,
    /// First and last line whose findings it silences; all of them if `None`.
    lines: Option<(LineNumber, LineNumber)>,
    /// Rules that it names, or what is wrong with it.
    rules: Result<Vec<Selector>, String>,
    /// Why, as it says behind `--`.
    pub reason: Option<String>,
}

impl Suppression {
    /// Whether this silences findings of `rule` on `line`.
    #[must_use]
    pub fn covers(&self, rule: &Rule, line: LineNumber) -> bool {
        let inside = |(first, last)| first <= line && line <= last;
        self.names(rule) && self.lines.is_none_or(inside)
    }

    /// Whether it is about `rule`.
    #[must_use]
    pub fn names(&self, rule: &Rule) -> bool {
        let rules = self.rules.as_ref();
        rules.is_ok_and(|list| list.iter().any(|selector| selector.matches(rule)))
    }

    /// What is wrong with the comment; it silences nothing then.
    #[must_use]
    pub fn error(&self) -> Option<&str> {
        self.rules.as_ref().err().map(String::as_str)
    }
}

/// All such comments of `file`. `rules` are those a comment may name.
#[must_use]
pub fn suppressions(file: &SourceFile, rules: &[&Rule]) -> Vec<Suppression> {
    let bytes = file.bytes();
    let places = |mark| memmem::find_iter(bytes, mark).map(to_offset);
    let marks: Vec<_> = places(MARK).collect();
    let noqa: Vec<_> = places(NOQA).collect();
    if marks.is_empty() && noqa.is_empty() {
        return Vec::new();
    }
    let tokens = lex(bytes);
    let in_comments = |list: Vec<ByteOffset>| {
        let is_free = |mark: &ByteOffset| !is_in_token(&tokens, *mark);
        list.into_iter().filter(is_free)
    };
    let own = in_comments(marks).filter_map(|mark| own(file, &tokens, mark, rules));
    let mut found: Vec<_> = own.collect();
    found.extend(in_comments(noqa).map(|mark| foreign(file, mark, rules)));
    found
}

/// All such comments of a build file, whose comments begin with `#`. One that stands alone on its
/// line is for the next line that holds more than a comment.
#[must_use]
pub fn build_suppressions(file: &SourceFile, rules: &[&Rule]) -> Vec<Suppression> {
    let marks = memmem::find_iter(file.bytes(), MARK).map(to_offset);
    marks
        .filter_map(|mark| in_build_file(file, mark, rules))
        .collect()
}

fn in_build_file(file: &SourceFile, mark: ByteOffset, rules: &[&Rule]) -> Option<Suppression> {
    let line = file.position(mark).line;
    let span = file.lines().span(line);
    let start = comment(file.slice(span))?;
    if start > mark.index() - span.start().index() {
        return None; // in a string in front of the comment
    }
    let text = directive(file, mark);
    let code = &file.slice(span)[..start];
    let last = match code.trim_ascii().is_empty() {
        true => next_code(file, line),
        false => line,
    };
    Some(Suppression {
        span: ByteSpan::new(mark.0, mark.0 + 6),
        lines: (!text.starts_with("ignore-file")).then_some((line, last)),
        rules: parse(&text, rules),
        reason: reason(&text),
    })
}

/// The first line behind `line` that holds more than a comment; `line` itself if a blank one or
/// the end comes before.
fn next_code(file: &SourceFile, line: LineNumber) -> LineNumber {
    let count = u32::try_from(file.lines().count()).expect("lines are fewer than bytes");
    for next in (line.0 + 1..=count).map(LineNumber) {
        let text = file.slice(file.lines().span(next));
        let code = &text[..comment(text).unwrap_or(text.len())];
        if !code.trim_ascii().is_empty() {
            return next;
        }
        if text.trim_ascii().is_empty() {
            break;
        }
    }
    line
}

/// A comment with our mark; `None` if it states a fact.
fn own(
    file: &SourceFile,
    tokens: &[Token],
    mark: ByteOffset,
    rules: &[&Rule],
) -> Option<Suppression> {
    let text = directive(file, mark);
    if facts::is_fact(&text) {
        return None;
    }
    let whole_file = text.starts_with("ignore-file");
    Some(Suppression {
        span: ByteSpan::new(mark.0, mark.0 + 6),
        lines: (!whole_file).then(|| covered_lines(file, tokens, mark)),
        rules: parse(&text, rules),
        reason: reason(&text),
    })
}

/// A mark of numpy, which is for its own line.
fn foreign(file: &SourceFile, mark: ByteOffset, rules: &[&Rule]) -> Suppression {
    let line = file.position(mark).line;
    let borrowed = rules
        .iter()
        .filter(|rule| rule.name.starts_with("borrowed-"));
    let selector = |rule: &&Rule| Selector::new(rule.name, rules).ok();
    Suppression {
        span: ByteSpan::new(mark.0, mark.0 + 4),
        lines: Some((line, line)),
        rules: Ok(borrowed.filter_map(selector).collect()),
        reason: None,
    }
}

/// Reads `ignore[UG101, borrowed-list-item] -- reason`.
fn parse(text: &str, rules: &[&Rule]) -> Result<Vec<Selector>, String> {
    let rest = text
        .strip_prefix("ignore-file")
        .or(text.strip_prefix("ignore"));
    let Some(rest) = rest else {
        return Err("unknown directive; write `ungil: ignore[CODE] -- reason`".to_owned());
    };
    let list = rest.strip_prefix('[').and_then(|rest| rest.split_once(']'));
    let Some((list, _)) = list.filter(|(list, _)| !list.trim().is_empty()) else {
        return Err("no rule is named; write `ungil: ignore[CODE] -- reason`".to_owned());
    };
    list.split(',')
        .map(|text| Selector::new(text.trim(), rules).map_err(|error| error.to_string()))
        .collect()
}

fn reason(text: &str) -> Option<String> {
    let (_, reason) = text.split_once("--")?;
    let reason = reason.split("*/").next().unwrap_or(reason).trim();
    (!reason.is_empty()).then(|| reason.to_owned())
}

fn to_offset(at: usize) -> ByteOffset {
    ByteOffset(u32::try_from(at).expect("files are at most MAX_FILE_BYTES long"))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::suppressions;
    use crate::rule::{Check, Rule, Severity};
    use crate::source::{LineNumber, SourceFile};

    static LIST: Rule = Rule {
        code: "UG101",
        name: "borrowed-list-item",
        summary: "",
        severity: Severity::Memory,
        docs: "",
        since: "0.1.0",
        best: None,
        triggers: &[],
        check: Check::Code(|_, _| {}),
    };

    /// Lines on which a finding of `LIST` is silenced.
    fn silenced(text: &str) -> Vec<u32> {
        let file = SourceFile::new(PathBuf::from("m.c"), text.into());
        let found = suppressions(&file, &[&LIST]);
        let is_silenced = |&line: &u32| found.iter().any(|s| s.covers(&LIST, LineNumber(line)));
        (1..10).filter(is_silenced).collect()
    }

    fn errors(text: &str) -> Vec<String> {
        let file = SourceFile::new(PathBuf::from("m.c"), text.into());
        let found = suppressions(&file, &[&LIST]);
        found
            .iter()
            .filter_map(|s| s.error().map(str::to_owned))
            .collect()
    }

    #[test]
    fn a_comment_behind_code_is_for_its_own_line() {
        assert_eq!(
            silenced("a;\nb; /* ungil: ignore[UG101] -- why */\nc;\n"),
            [2]
        );
        assert_eq!(
            silenced("b; // ungil: ignore[borrowed-list-item]\nc;\n"),
            [1]
        );
    }

    #[test]
    fn a_comment_on_its_own_line_is_for_the_next() {
        assert_eq!(
            silenced("a;\n/* ungil: ignore[UG1] -- why */\nc;\nd;\n"),
            [2, 3]
        );
        assert_eq!(
            silenced("/* ungil: ignore[UG1] --\n * why */\nc;\nd;\n"),
            [1, 2, 3]
        );
        assert_eq!(silenced("/* ungil: ignore[UG1] */\n\nc;\n"), [1]);
    }

    #[test]
    fn a_comment_before_a_statement_or_function_is_for_all_of_it() {
        let statement = "int f(void) {\n/* ungil: ignore[UG1] */\nx = f(a,\n    b);\nc;\n}\n";
        assert_eq!(silenced(statement), [2, 3, 4]);
        let head = "int f(void) {\n/* ungil: ignore[UG1] */\nif (a &&\n    b) {\nc;\n}\n}\n";
        assert_eq!(silenced(head), [2, 3, 4]);
        let function = "/* ungil: ignore[UG1] */\nint f(void)\n{\n    if (a) { b; }\n}\nint c;\n";
        assert_eq!(silenced(function), [1, 2, 3, 4, 5]);
        let table = "/* ungil: ignore[UG1] */\nint t[] = {\n    1\n};\nint c;\n";
        assert_eq!(silenced(table), [1, 2, 3, 4]);
    }

    #[test]
    fn a_comment_in_a_macro_is_for_its_line_or_the_next() {
        let before = "#define M(a) \\\n/* ungil: ignore[UG1] */ \\\nb(a) \\\nc(a)\nd;\n";
        assert_eq!(silenced(before), [2, 3]);
        let beside = "#define M(a) \\\nb(a) /* ungil: ignore[UG1] */ \\\nc(a)\nd;\n";
        assert_eq!(silenced(beside), [2]);
    }

    #[test]
    fn a_whole_file_can_be_silenced() {
        let all: Vec<u32> = (1..10).collect();
        assert_eq!(
            silenced("a;\n/* ungil: ignore-file[UG101] -- why */\nb;\n"),
            all
        );
    }

    #[test]
    fn what_numpy_has_looked_at_is_silenced() {
        assert_eq!(silenced("a;\nb; // noqa: borrowed-ref OK\nc;\n"), [2]);
        assert_eq!(
            silenced("b; // noqa: borrowed-ref - manual fix needed\n"),
            [0; 0]
        );
    }

    #[test]
    fn build_files_have_comments_of_their_own() {
        let text = "a = 1\n# ungil: ignore[UG1] -- why\n# more\nb = [\n  2,  # ungil: ignore[UG1]\n]\n\
                    c = '# ungil: ignore[UG1]'\n# ungil: ignore[UG1]\n\nd = 1\n";
        let file = SourceFile::new(PathBuf::from("setup.py"), text.into());
        let found = super::build_suppressions(&file, &[&LIST]);
        let is_silenced = |&line: &u32| found.iter().any(|s| s.covers(&LIST, LineNumber(line)));
        let silenced: Vec<u32> = (1..12).filter(is_silenced).collect();
        assert_eq!(silenced, [2, 3, 4, 5, 8]);
    }

    #[test]
    fn facts_are_no_errors() {
        assert_eq!(errors("int a; /* ungil: guarded-by(lock) */"), [""; 0]);
    }

    #[test]
    fn strings_and_other_rules_silence_nothing() {
        assert_eq!(silenced("a(\"ungil: ignore[UG101]\");\n"), [0; 0]);
        assert_eq!(silenced("a; /* ungil: ignore[UG999] */\n"), [0; 0]);
    }

    #[test]
    fn a_comment_that_silences_nothing_is_an_error() {
        assert_eq!(errors("a; /* ungil: ignore[UG101] */"), [""; 0]);
        assert_eq!(
            errors("/* ungil: ignore */ /* ungil: skip */"),
            [
                "no rule is named; write `ungil: ignore[CODE] -- reason`",
                "unknown directive; write `ungil: ignore[CODE] -- reason`"
            ]
        );
        assert_eq!(errors("a; /* ungil: ignore[UG999] */").len(), 1);
    }
}
