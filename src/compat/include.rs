//! Where the `#include` of a compatibility header goes.

use std::path::{Component, Path, PathBuf};

use crate::edit::{Edit, Layout};
use crate::lex::{Token, TokenKind};
use crate::source::{ByteOffset, FileId, SourceFile};

/// The header that a file is to include.
#[derive(Debug, Clone, Copy)]
pub struct Target<'a> {
    /// Its path, relative to the root of the run.
    pub path: &'a Path,
    /// How other files of the package include it, if they do.
    pub spelling: Option<&'a str>,
}

/// The edit that includes `target` in `file`: behind `Python.h`, else behind the last `#include`
/// that stands in no conditional and no block. `None` if there is no `#include` to follow.
#[must_use]
pub fn include_edit(
    id: FileId,
    file: &SourceFile,
    tokens: &[Token],
    target: Target<'_>,
) -> Option<Edit> {
    let includes = unconditional_includes(file, tokens);
    let python = includes
        .iter()
        .find(|include| include.operand.ends_with("Python.h"));
    let place = python.or(includes.last())?;
    let operand = match target.spelling {
        Some(spelling) => spelling.to_owned(),
        None => relative(file.path().parent().unwrap_or(Path::new("")), target.path),
    };
    let layout = Layout::learn(id, file.bytes(), tokens);
    Some(layout.insert_line_after(place.end, &format!("#include \"{operand}\"")))
}

struct Include {
    operand: String,
    /// The last byte of the directive.
    end: ByteOffset,
}

fn unconditional_includes(file: &SourceFile, tokens: &[Token]) -> Vec<Include> {
    let text = |token: &Token| file.slice(token.span);
    let mut includes = Vec::new();
    let guards = guard_depth(file, tokens);
    let (mut depth, mut blocks) = (0u32, 0i32);
    for (at, pair) in tokens.windows(2).enumerate() {
        if !(pair[0].first_on_line && text(&pair[0]) == b"#") {
            match text(&pair[0]) {
                b"{" if depth <= guards => blocks += 1,
                b"}" if depth <= guards => blocks -= 1,
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
                let operand = operand.trim_matches(['"', '<', '>']).to_owned();
                includes.push(Include {
                    operand,
                    end: ByteOffset(last.span.end().0 - 1),
                });
            }
            _ => {}
        }
    }
    includes
}

/// 1 in a header whose first directive is an include guard: all of it stands in one conditional.
fn guard_depth(file: &SourceFile, tokens: &[Token]) -> u32 {
    let words: Vec<&[u8]> = tokens
        .iter()
        .take(6)
        .map(|token| file.slice(token.span))
        .collect();
    let guarded = matches!(
        words[..],
        [b"#", b"ifndef", name, b"#", b"define", again] if name == again
    );
    u32::from(guarded && tokens[0].kind == TokenKind::Punct)
}

/// `to` as seen from the folder `from`, with `/`.
fn relative(from: &Path, to: &Path) -> String {
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

    use super::{Target, include_edit};
    use crate::edit::apply;
    use crate::lex::lex;
    use crate::source::{FileId, SourceFile};

    fn included(path: &str, text: &str) -> String {
        let file = SourceFile::new(PathBuf::from(path), text.as_bytes().to_vec());
        let tokens = lex(file.bytes());
        let target = Target {
            path: Path::new("src/ungil_compat.h"),
            spelling: None,
        };
        let edit = include_edit(FileId(0), &file, &tokens, target);
        let bytes = apply(file.bytes(), &edit).bytes;
        String::from_utf8(bytes).expect("text in, text out")
    }

    #[test]
    fn it_follows_python_h() {
        let text = "#define PY_SSIZE_T_CLEAN\r\n#include <Python.h>\r\n#include \"a.h\"\r\n";
        assert_eq!(
            included("src/a.c", text),
            "#define PY_SSIZE_T_CLEAN\r\n#include <Python.h>\r\n#include \"ungil_compat.h\"\r\n#include \"a.h\"\r\n"
        );
    }

    #[test]
    fn other_folders_and_conditionals() {
        let text =
            "#ifdef X\n#include \"Python.h\"\n#endif\n#include \"mod.h\" /* all */\nint x;\n";
        assert_eq!(
            included("lib/sub/a.c", text),
            "#ifdef X\n#include \"Python.h\"\n#endif\n#include \"mod.h\" /* all */\n#include \"../../src/ungil_compat.h\"\nint x;\n"
        );
        assert_eq!(included("a.c", "int x;\n"), "int x;\n");
    }

    #[test]
    fn an_include_inside_a_function_is_none() {
        let text = "#include \"a.h\"\nint f(void)\n{\n#include \"body.h\"\n}\n";
        insta::assert_snapshot!(included("m.c", text), @r#"
        #include "a.h"
        #include "src/ungil_compat.h"
        int f(void)
        {
        #include "body.h"
        }
        "#);
    }

    #[test]
    fn an_include_guard_is_no_conditional() {
        let text = "#ifndef A_H\n#define A_H\n#include <Python.h>\n#endif\n";
        assert!(included("src/a.h", text).contains("<Python.h>\n#include \"ungil_compat.h\"\n"));
    }
}
