//! Where the `#include` of a compatibility header goes.

use std::path::{Component, Path, PathBuf};

use crate::edit::{Edit, Layout};
use crate::lex::Token;
use crate::source::{ByteOffset, FileId, SourceFile};

/// An `#include` that stands in no conditional and no block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Include {
    /// What it names, without quotes.
    pub operand: String,
    /// Whether it stands in `"…"`, not in `<…>`.
    pub quoted: bool,
    /// Where the operand begins.
    pub at: ByteOffset,
    /// The last byte of the directive.
    pub end: ByteOffset,
    /// Whether a function or another block stands above it.
    pub below_code: bool,
}

impl Include {
    /// Whether it names a header: others are parts of a file that was cut into pieces.
    #[must_use]
    pub fn is_header(&self) -> bool {
        let extension = Path::new(&self.operand).extension();
        extension.is_some_and(|extension| extension.to_string_lossy().starts_with('h'))
    }
}

/// Where an `#include` may go.
#[derive(Debug, Default)]
pub struct Places {
    /// The lines to follow, in the order of the file.
    pub includes: Vec<Include>,
    /// The last byte of the `#define` of the include guard that holds the file, if one does.
    pub guard: Option<ByteOffset>,
}

/// The edit that includes `operand` in `file`, below the line of `place`.
#[must_use]
pub fn include_below(
    place: ByteOffset,
    id: FileId,
    file: &SourceFile,
    tokens: &[Token],
    operand: &str,
) -> Edit {
    let layout = Layout::learn(id, file.bytes(), tokens);
    layout.insert_line_after(place, &format!("#include \"{operand}\""))
}

/// The edits that write `stand_ins` into `file`, below the line of `place`, as the file is indented.
#[must_use]
pub fn written_below(
    place: ByteOffset,
    id: FileId,
    file: &SourceFile,
    tokens: &[Token],
    stand_ins: &[String],
) -> Vec<Edit> {
    let layout = Layout::learn(id, file.bytes(), tokens);
    let ending = layout.line_ending(place);
    let written = |text: &String| {
        let lines: Vec<String> = text.lines().map(|line| indented(&layout, line)).collect();
        layout.insert_line_after(place, &format!("{ending}{}", lines.join(ending)))
    };
    stand_ins.iter().map(written).collect()
}

/// `line`, each four blanks in front of which are one step.
fn indented(layout: &Layout<'_>, line: &str) -> String {
    let text = line.trim_start();
    let blanks = line.len() - text.len();
    if !blanks.is_multiple_of(4) {
        return line.to_owned();
    }
    let steps = 0..blanks / 4;
    let indentation = steps.fold(Vec::new(), |outer, _| layout.step().deeper(&outer));
    String::from_utf8_lossy(&indentation).into_owned() + text
}

/// The same above all that `file` has, but for comments that are not of the first of it. `None` if
/// it has nothing.
///
/// ```c
/// /* A part of core.c, which no file of the package includes. */
///
/// static int first(PyObject *list) …
/// ```
#[must_use]
pub fn include_above(
    id: FileId,
    file: &SourceFile,
    tokens: &[Token],
    operand: &str,
) -> Option<Edit> {
    let layout = Layout::learn(id, file.bytes(), tokens);
    let first = tokens.first()?.span.start();
    let line = format!("#include \"{operand}\"{}", layout.line_ending(first));
    Some(layout.insert_line_before(layout.above_comments(first), &line))
}

/// The places of `file`.
#[must_use]
pub fn places(file: &SourceFile, tokens: &[Token]) -> Places {
    let guard = include_guard(file, tokens);
    Places {
        includes: unconditional_includes(file, tokens, u32::from(guard.is_some())),
        guard,
    }
}

/// `guards` conditionals hold the whole file.
fn unconditional_includes(file: &SourceFile, tokens: &[Token], guards: u32) -> Vec<Include> {
    let text = |token: &Token| file.slice(token.span);
    let mut includes = Vec::new();
    let (mut depth, mut blocks) = (0u32, 0i32);
    let (mut in_directive, mut below_code) = (false, false);
    for (at, pair) in tokens.windows(2).enumerate() {
        if pair[0].first_on_line {
            in_directive = text(&pair[0]) == b"#";
        }
        if !(pair[0].first_on_line && in_directive) {
            match text(&pair[0]) {
                b"{" if depth <= guards => blocks += 1,
                b"}" if depth <= guards => {
                    blocks -= 1;
                    below_code |= !in_directive;
                }
                _ => {}
            }
            continue;
        }
        match text(&pair[1]) {
            b"if" | b"ifdef" | b"ifndef" => depth += 1,
            b"endif" => depth = depth.saturating_sub(1),
            b"include" if depth <= guards && blocks <= 0 => {
                let line = &tokens[at + 2..];
                let line: Vec<&Token> = line
                    .iter()
                    .take_while(|token| !token.first_on_line)
                    .collect();
                let (Some(first), Some(last)) = (line.first(), line.last()) else {
                    continue;
                };
                let operand = file.text(first.span.join(last.span)).into_owned();
                let name = operand.trim_matches(['"', '<', '>']).to_owned();
                includes.push(Include {
                    operand: name,
                    quoted: operand.starts_with('"'),
                    at: first.span.start(),
                    end: ByteOffset(last.span.end().0 - 1),
                    below_code,
                });
            }
            _ => {}
        }
    }
    includes
}

/// The last byte of the second line of `#ifndef NAME`, `#define NAME` where a file begins so: all
/// of it stands in one conditional.
fn include_guard(file: &SourceFile, tokens: &[Token]) -> Option<ByteOffset> {
    let words: Vec<&[u8]> = tokens
        .iter()
        .take(6)
        .map(|token| file.slice(token.span))
        .collect();
    let guarded = matches!(
        words[..],
        [b"#", b"ifndef", name, b"#", b"define", again] if name == again
    );
    guarded.then(|| ByteOffset(tokens[5].span.end().0 - 1))
}

/// How `file` includes `header`, whose path is relative to the root of the run.
#[must_use]
pub fn operand(file: &SourceFile, header: &Path) -> String {
    relative(file.path().parent().unwrap_or(Path::new("")), header)
}

/// `to` as seen from the folder `from`, with `/`.
#[must_use]
pub fn relative(from: &Path, to: &Path) -> String {
    let shared = from
        .components()
        .zip(to.components())
        .take_while(|(a, b)| a == b)
        .count();
    let up = from.components().skip(shared).map(|_| Component::ParentDir);
    let path: PathBuf = up.chain(to.components().skip(shared)).collect();
    path.to_string_lossy().replace('\\', "/")
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::{include_above, include_below, operand, places};
    use crate::edit::apply;
    use crate::lex::lex;
    use crate::source::{FileId, SourceFile};

    /// The text with an include below each place.
    fn included(path: &str, text: &str) -> String {
        let file = SourceFile::new(PathBuf::from(path), text.as_bytes().to_vec());
        let tokens = lex(file.bytes());
        let places = places(&file, &tokens);
        let below = places.includes.iter().map(|include| include.end);
        let edits: Vec<_> = places
            .guard
            .into_iter()
            .chain(below)
            .map(|at| {
                let operand = operand(&file, Path::new("src/c.h"));
                include_below(at, FileId(0), &file, &tokens, &operand)
            })
            .collect();
        let bytes = apply(file.bytes(), &edits).bytes;
        String::from_utf8(bytes).expect("text in, text out")
    }

    #[test]
    fn a_part_without_includes_gets_the_line_above_its_code() {
        let above = |text: &str| {
            let file = SourceFile::new(PathBuf::from("src/part.c"), text.as_bytes().to_vec());
            let tokens = lex(file.bytes());
            let edit = include_above(FileId(0), &file, &tokens, "c.h");
            let bytes = apply(file.bytes(), &[edit.expect("it has code")]).bytes;
            String::from_utf8(bytes).expect("text in, text out")
        };
        assert_eq!(above("int x;\n"), "#include \"c.h\"\n\nint x;\n");
        assert_eq!(
            above("/* A part. */\n\n/* All of it. */\nint x;\n"),
            "/* A part. */\n\n#include \"c.h\"\n\n/* All of it. */\nint x;\n"
        );
    }

    #[test]
    fn line_ends_stay() {
        let text = "#define PY_SSIZE_T_CLEAN\r\n#include <Python.h>\r\nint x;\r\n";
        assert_eq!(
            included("src/a.c", text),
            "#define PY_SSIZE_T_CLEAN\r\n#include <Python.h>\r\n#include \"c.h\"\r\nint x;\r\n"
        );
    }

    #[test]
    fn other_folders_and_conditionals() {
        let text = "#ifdef X\n#include \"Python.h\"\n#endif\n#include \"m.h\" /* all */\nint x;\n";
        assert_eq!(
            included("lib/sub/a.c", text),
            "#ifdef X\n#include \"Python.h\"\n#endif\n#include \"m.h\" /* all */\n#include \"../../src/c.h\"\nint x;\n"
        );
        assert_eq!(included("a.c", "int x;\n"), "int x;\n");
    }

    #[test]
    fn what_backslashes_join_to_an_include_stays_with_it() {
        let text =
            "#include <Python.h> // of \\\n#include \"old.h\"\n#include \"own.h\" \\\n\nint x;\n";
        insta::assert_snapshot!(included("src/m.c", text), @r#"
        #include <Python.h> // of \
        #include "old.h"
        #include "c.h"
        #include "own.h" \

        #include "c.h"
        int x;
        "#);
    }

    #[test]
    fn an_include_inside_a_function_is_none() {
        let text = "#include \"a.h\"\nint f(void)\n{\n#include \"body.h\"\n}\n";
        insta::assert_snapshot!(included("m.c", text), @r#"
        #include "a.h"
        #include "src/c.h"
        int f(void)
        {
        #include "body.h"
        }
        "#);
    }

    #[test]
    fn an_include_guard_is_no_conditional() {
        let text = "#ifndef A_H\n#define A_H\n#include <Python.h>\n#endif\n";
        insta::assert_snapshot!(included("src/a.h", text), @r#"
        #ifndef A_H
        #define A_H
        #include "c.h"
        #include <Python.h>
        #include "c.h"
        #endif
        "#);
    }
}
