//! One finding for what has one cause.
//!
//! Only what is shown and counted is folded: each finding keeps its own name and silences only itself.

use std::collections::{BTreeMap, BTreeSet};

use super::{Finding, Note, Outcome};
use crate::lex::is_ident;
use crate::source::{ByteSpan, FileId, FileSet};

/// From how many variables on functions that write all of them get one finding.
const MANY: usize = 3;

/// How many of what is folded the message names.
const NAMED: usize = 3;

/// Why findings belong together.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Cause {
    /// The macro whose body does it.
    Macro(String),
    /// The functions of the file that write all of these variables, as the notes tell.
    Writers(BTreeSet<String>),
}

impl Cause {
    fn of(files: &FileSet, finding: &Finding) -> Option<Self> {
        if !matches!(finding.outcome, Outcome::Manual(_)) {
            return None;
        }
        if finding.rule.name == "shared-static-variable" && finding.function.is_none() {
            let writers = finding.notes.iter().map(|note| head(&note.text));
            return Some(Self::Writers(writers.collect())).filter(|_| !finding.notes.is_empty());
        }
        let text = files.get(finding.file).text(finding.span);
        let word: String = text.chars().take_while(|&c| is_ident_char(c)).collect();
        let is_use = text[word.len()..].trim_start().starts_with('(');
        let api = finding.api?;
        (is_use && !word.is_empty() && !text.contains(api)).then_some(Self::Macro(word))
    }

    fn least(&self) -> usize {
        match self {
            Self::Writers(_) => MANY,
            Self::Macro(_) => 2,
        }
    }
}

fn is_ident_char(c: char) -> bool {
    u8::try_from(c).is_ok_and(is_ident)
}

/// A note on writes without the number of those that are not shown.
fn head(text: &str) -> String {
    text.split(", and in ")
        .next()
        .unwrap_or_default()
        .to_owned()
}

/// Which of `findings` one finding speaks for, by the index of the first of them, and that finding.
#[must_use]
pub fn fold(files: &FileSet, findings: &[&Finding]) -> BTreeMap<usize, (Finding, Vec<usize>)> {
    type Key = (&'static str, Option<FileId>, Cause);
    let mut groups: BTreeMap<Key, Vec<usize>> = BTreeMap::new();
    for (at, finding) in findings.iter().enumerate() {
        let Some(cause) = Cause::of(files, finding) else {
            continue;
        };
        // A macro is one for all files.
        let file = (!matches!(cause, Cause::Macro(_))).then_some(finding.file);
        let key = (finding.rule.code, file, cause);
        groups.entry(key).or_default().push(at);
    }
    let large = groups
        .into_iter()
        .filter(|((_, _, cause), members)| members.len() >= cause.least());
    large
        .map(|((_, _, cause), members)| {
            let all: Vec<&Finding> = members.iter().map(|&at| findings[at]).collect();
            (members[0], (together(files, &cause, &all), members))
        })
        .collect()
}

fn together(files: &FileSet, cause: &Cause, all: &[&Finding]) -> Finding {
    let mut finding = all[0].clone();
    let count = all.len();
    match cause {
        Cause::Macro(name) => {
            finding.message += &format!(" (in {count} uses of the macro `{name}`)");
            if let Some((file, span)) = definition(files, name) {
                (finding.file, finding.span, finding.function) = (file, span, None);
                finding.notes.insert(0, note(all[0]));
            }
        }
        Cause::Writers(_) => {
            let name = |it: &&Finding| format!("`{}`", files.get(it.file).text(it.span));
            let names: Vec<String> = all.iter().take(NAMED).map(name).collect();
            let names = names.join(", ");
            let rest = match count - NAMED {
                0 => String::new(),
                n => format!(" and {n} more"),
            };
            finding.message = format!(
                "the same functions write {count} static variables without a lock ({names}{rest}); \
                 other threads may use them at the same time"
            );
            finding.outcome = Outcome::Manual(
                "hold one `PyMutex` around every write and every use, or keep them for each thread \
                 or in the module state"
                    .to_owned(),
            );
        }
    }
    let others = all[1..].iter().map(|it| note(it));
    for note in others {
        if !finding.notes.contains(&note) && note.span != finding.span {
            finding.notes.push(note);
        }
    }
    finding
}

/// What another finding says, as a place of this one.
fn note(finding: &Finding) -> Note {
    Note {
        file: finding.file,
        span: finding.span,
        text: finding.message.clone(),
    }
}

/// The name in the one `#define` of a macro.
fn definition(files: &FileSet, name: &str) -> Option<(FileId, ByteSpan)> {
    let mut found = files.iter().flat_map(|(id, file)| {
        let text = file.text(ByteSpan::new(
            0,
            u32::try_from(file.bytes().len()).unwrap_or(0),
        ));
        let places: Vec<_> = defines(&text, name).collect();
        places.into_iter().map(move |at| (id, at))
    });
    let (file, at) = found.next()?;
    let end = at + u32::try_from(name.len()).ok()?;
    found
        .next()
        .is_none()
        .then(|| (file, ByteSpan::new(at, end)))
}

fn defines(text: &str, name: &str) -> impl Iterator<Item = u32> {
    text.match_indices(name).filter_map(move |(at, _)| {
        let line = text[..at].rsplit('\n').next()?.trim();
        let directive = line.strip_prefix('#')?.trim_start();
        let is_whole = !text[at + name.len()..].starts_with(is_ident_char);
        (directive == "define" && is_whole).then(|| u32::try_from(at).ok())?
    })
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::fold;
    use crate::rule::{Check, Finding, Note, Outcome, Rule, Severity};
    use crate::source::{ByteSpan, FileId, FileSet, SourceFile};

    static RULE: Rule = Rule {
        code: "UG503",
        name: "shared-static-variable",
        summary: "",
        severity: Severity::Memory,
        docs: "",
        since: "0.1.0",
        best: None,
        triggers: &[],
        check: Check::Code(|_, _| {}),
    };

    static LOOKUP: Rule = Rule {
        code: "UG102",
        name: "dict-item",
        ..RULE
    };

    /// Findings at each place of `text` that `what` stands at, and the folded ones in words.
    fn folded(text: &str, what: &[(&str, &[&str])], rule: &'static Rule) -> String {
        let mut files = FileSet::default();
        files.add(SourceFile::new(PathBuf::from("m.c"), text.into()));
        let place = |at: usize, len: usize| {
            let at = u32::try_from(at).unwrap();
            ByteSpan::new(at, at + u32::try_from(len).unwrap())
        };
        let findings: Vec<Finding> = what
            .iter()
            .flat_map(|(what, notes)| {
                let places = text.match_indices(what).map(|(at, _)| at);
                let finding = move |at| Finding {
                    rule,
                    file: FileId(0),
                    span: place(at, what.len()),
                    function: None,
                    api: (rule.code == "UG102").then_some("PyDict_GetItem"),
                    message: format!("`{what}` races"),
                    notes: notes
                        .iter()
                        .map(|text| Note {
                            file: FileId(0),
                            span: place(0, 1),
                            text: (*text).to_owned(),
                        })
                        .collect(),
                    outcome: Outcome::Manual("lock it".to_owned()),
                };
                places.map(finding)
            })
            .collect();
        let all: Vec<&Finding> = findings.iter().collect();
        let folded = fold(&files, &all);
        let words = folded.values().map(|(finding, members)| {
            let line = files.get(FileId(0)).position(finding.span.start()).line.0;
            let notes = finding.notes.iter().map(|note| note.text.as_str());
            let notes: Vec<&str> = notes.collect();
            format!("{members:?} line {line}: {} {notes:?}\n", finding.message)
        });
        words.collect()
    }

    #[test]
    fn variables_that_the_same_functions_write_are_told_once() {
        let pair: &[&str] = &[
            "`init` writes it here",
            "`quit` writes it here, and in 2 more places",
        ];
        let text = "int a1;\nint a2;\nint a3;\nint b;\n";
        let what = [("a1", pair), ("a2", pair), ("b", &pair[..1]), ("a3", pair)];
        insta::assert_snapshot!(folded(text, &what, &RULE), @r#"[0, 1, 3] line 1: the same functions write 3 static variables without a lock (`a1`, `a2`, `a3`); other threads may use them at the same time ["`init` writes it here", "`quit` writes it here, and in 2 more places", "`a2` races", "`a3` races"]"#);
        assert_eq!(folded(text, &what[1..], &RULE), "");
    }

    #[test]
    fn the_uses_of_a_macro_are_told_at_the_macro() {
        let text = "#define SAY(x) x\n#  define GET(k) PyDict_GetItem(d, k)\nGET(a); GET(b); GET(c); PyDict_GetItem(d, e);\n";
        let what: Vec<(&str, &[&str])> = ["GET(a)", "GET(b)", "GET(c)", "PyDict_GetItem(d, e)"]
            .map(|what| (what, &[][..]))
            .into();
        insta::assert_snapshot!(folded(text, &what, &LOOKUP), @r#"[0, 1, 2] line 2: `GET(a)` races (in 3 uses of the macro `GET`) ["`GET(a)` races", "`GET(b)` races", "`GET(c)` races"]"#);
    }
}
