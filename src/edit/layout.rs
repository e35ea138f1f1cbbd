//! How a function is laid out: line ends, indentation, braces, as they stand in its bytes.

use std::collections::BTreeMap;

use crate::lex::{Token, TokenKind, open_branches};
use crate::source::{ByteOffset, ByteSpan, FileId};

/// Columns from one tab stop to the next.
pub(super) const TAB: usize = 8;

/// Where the opening brace of a control statement stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum BraceStyle {
    /// `if (x) {`
    SameLine,
    /// `{` on its own line, as far left as the `if`.
    NextLine,
    /// `{` on its own line, one step further right, and its statements one more (GNU).
    Indented,
}

/// What one more level of nesting adds to the indentation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IndentStep {
    columns: usize,
    /// Whether eight columns are written as one tab.
    tabs: bool,
}

impl IndentStep {
    /// The indentation one level deeper than `indentation`.
    #[must_use]
    pub fn deeper(self, indentation: &[u8]) -> Vec<u8> {
        if self.is_in_blanks(indentation) {
            return [indentation, &vec![b' '; self.columns]].concat();
        }
        let columns = width(indentation) + self.columns;
        in_tabs(columns)
    }

    /// A line with its indentation, and the blanks with which it begins itself.
    pub(super) fn line(self, indentation: &[u8], line: &str) -> Vec<u8> {
        let text = line.trim_start_matches(' ');
        let inner = line.len() - text.len();
        if inner == 0 || self.is_in_blanks(indentation) {
            return [indentation, line.as_bytes()].concat();
        }
        [in_tabs(width(indentation) + inner), text.into()].concat()
    }

    /// Whether what follows `indentation` is in blanks: lines in blanks among lines in tabs go on so.
    fn is_in_blanks(self, indentation: &[u8]) -> bool {
        !self.tabs || indentation.len() >= TAB && !indentation.contains(&b'\t')
    }

    /// The columns of one level.
    #[must_use]
    pub fn columns(self) -> usize {
        self.columns
    }
}

fn in_tabs(columns: usize) -> Vec<u8> {
    [vec![b'\t'; columns / TAB], vec![b' '; columns % TAB]].concat()
}

/// The part of a control statement that stands before a body without braces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    /// First byte of `if`, `else`, `for`, `while`, `do`, `switch`.
    pub start: ByteOffset,
    /// First byte after its `)`, or after `else` or `do`.
    pub end: ByteOffset,
}

/// How somebody indents, sets braces, and declares pointers.
#[derive(Debug, Clone, Copy)]
pub struct Style {
    step: IndentStep,
    braces: BraceStyle,
    /// `PyObject* v`, not `PyObject *v`.
    star_at_type: bool,
    /// Whether a blank stands between `if` and its condition.
    spaced_if: bool,
    /// Whether a blank stands between a function and its arguments.
    spaced_calls: bool,
}

impl Default for Style {
    /// Four blanks, braces behind the head, stars at the variable.
    fn default() -> Self {
        Self {
            step: IndentStep {
                columns: 4,
                tabs: false,
            },
            braces: BraceStyle::SameLine,
            star_at_type: false,
            spaced_if: true,
            spaced_calls: false,
        }
    }
}

/// The layout of a file, or of one function of it.
#[derive(Debug, Clone, Copy)]
pub struct Layout<'a> {
    pub(super) file: FileId,
    pub(super) bytes: &'a [u8],
    pub(super) tokens: &'a [Token],
    style: Style,
}

impl<'a> Layout<'a> {
    /// Learns the layout of a file. `tokens` are all tokens of `bytes`.
    #[must_use]
    pub fn learn(file: FileId, bytes: &'a [u8], tokens: &'a [Token]) -> Self {
        Self::with_style(file, bytes, tokens, Style::default()).adapted(0..tokens.len())
    }

    /// The layout of a file whose style is known.
    #[must_use]
    pub fn with_style(file: FileId, bytes: &'a [u8], tokens: &'a [Token], style: Style) -> Self {
        Self {
            file,
            bytes,
            tokens,
            style,
        }
    }

    /// The layout of `function`: that of the file where the function shows nothing.
    #[must_use]
    pub fn within(self, function: ByteSpan) -> Self {
        self.adapted(self.index(function.start())..self.index(function.end()))
    }

    fn adapted(self, range: std::ops::Range<usize>) -> Self {
        let known = self.style;
        let style = Style {
            step: self.vote_step(range.clone()).unwrap_or(known.step),
            braces: self.vote_braces(range.clone()).unwrap_or(known.braces),
            star_at_type: self.vote_star(range.clone()).unwrap_or(known.star_at_type),
            spaced_if: self.vote_if(range.clone()).unwrap_or(known.spaced_if),
            spaced_calls: self.vote_calls(range).unwrap_or(known.spaced_calls),
        };
        Self { style, ..self }
    }

    /// The style that was learned.
    #[must_use]
    pub fn style(&self) -> Style {
        self.style
    }

    /// What one level of nesting adds.
    #[must_use]
    pub fn step(&self) -> IndentStep {
        self.style.step
    }

    /// Where opening braces stand.
    #[must_use]
    pub fn braces(&self) -> BraceStyle {
        self.style.braces
    }

    /// What stands in front of a variable in its declaration, `PyObject *`, with the star where it
    /// stands elsewhere: `PyObject* `.
    #[must_use]
    pub fn pointer(&self, prefix: &str) -> String {
        let ty = prefix.trim_end_matches('*');
        match ty.strip_suffix(' ') {
            Some(base) if self.style.star_at_type && ty.len() < prefix.len() => {
                format!("{base}{} ", &prefix[ty.len()..])
            }
            _ => prefix.to_owned(),
        }
    }

    pub(super) fn spaces_calls(&self) -> bool {
        self.style.spaced_calls
    }

    /// `if (` or `if(`.
    #[must_use]
    pub fn if_open(&self) -> &'static str {
        if self.style.spaced_if { "if (" } else { "if(" }
    }

    /// The bytes of `span`.
    #[must_use]
    pub fn text_of(&self, span: ByteSpan) -> &'a [u8] {
        &self.bytes[span.range()]
    }

    /// Blanks at the beginning of the line of `offset`, as they are.
    #[must_use]
    pub fn indentation(&self, offset: ByteOffset) -> &'a [u8] {
        let start = self.line_start(offset).index();
        let rest = &self.bytes[start..];
        let length = rest
            .iter()
            .take_while(|byte| matches!(byte, b' ' | b'\t'))
            .count();
        &rest[..length]
    }

    /// How many columns the line of `offset` is indented.
    #[must_use]
    pub fn indented_columns(&self, offset: ByteOffset) -> usize {
        width(self.indentation(offset))
    }

    /// How the line of `offset` ends; the line before it decides where it is the last one and has
    /// no end. `\n` in a file of one line.
    #[must_use]
    pub fn line_ending(&self, offset: ByteOffset) -> &'static str {
        let after = &self.bytes[offset.index()..];
        let newline = memchr::memchr(b'\n', after)
            .map(|at| offset.index() + at)
            .or_else(|| memchr::memrchr(b'\n', self.bytes));
        match newline {
            Some(at) if at > 0 && self.bytes[at - 1] == b'\r' => "\r\n",
            _ => "\n",
        }
    }

    /// The head that `statement` is the only statement of, if it has no braces of its own.
    #[must_use]
    pub fn braceless_head(&self, statement: ByteSpan) -> Option<Head> {
        let before = self.index(statement.start()).checked_sub(1)?;
        let starts_with_brace = self.text(before + 1) == b"{";
        if starts_with_brace || self.is_in_directive(before) {
            return None;
        }
        self.head_ending_at(before)
    }

    /// The same where a directive stands in between, of which all branches end in `statement`.
    ///
    /// ```c
    /// while (next(&key))
    /// #if PY_MAJOR_VERSION >= 3
    ///     if (PyUnicode_Check(key)) {
    /// #else
    ///     if (PyString_Check(key)) {
    /// #endif
    ///         use(key);
    ///     }
    /// ```
    pub(super) fn head_before_directive(&self, statement: ByteSpan) -> Option<Head> {
        let first = self.index(statement.start());
        let before = (0..first).rev().find(|&at| !self.is_in_directive(at))?;
        if before + 1 == first || self.text(first) == b"{" {
            return None;
        }
        let head = self.head_ending_at(before)?;
        let rest = ByteSpan::new(head.end.0, statement.end().0);
        (open_branches(self.bytes, self.tokens, rest) == Some(0)).then_some(head)
    }

    /// Whether a token stands in a directive: the last one of `#else` or `#if (X)` is no head.
    fn is_in_directive(&self, index: usize) -> bool {
        let mut line = self.tokens[..=index].iter();
        let first = line.rposition(|token| token.first_on_line);
        first.is_some_and(|first| self.text(first) == b"#")
    }

    /// The control head whose last token is `index`.
    fn head_ending_at(&self, index: usize) -> Option<Head> {
        let end = self.tokens[index].span.end();
        let keyword = match self.text(index) {
            b"else" | b"do" => index,
            b")" => self.opening_paren(index)?.checked_sub(1)?,
            _ => return None,
        };
        let known: [&[u8]; 6] = [b"if", b"for", b"while", b"switch", b"else", b"do"];
        let start = self.tokens[keyword].span.start();
        known
            .contains(&self.text(keyword))
            .then_some(Head { start, end })
    }

    fn opening_paren(&self, closing: usize) -> Option<usize> {
        let mut depth = 0;
        for index in (0..=closing).rev() {
            match self.text(index) {
                b")" => depth += 1,
                b"(" if depth == 1 => return Some(index),
                b"(" => depth -= 1,
                _ => {}
            }
        }
        None
    }

    /// The most frequent growth of the indentation after a `{` that ends its line.
    fn vote_step(&self, range: std::ops::Range<usize>) -> Option<IndentStep> {
        let mut votes = BTreeMap::<usize, usize>::new();
        let mut tabs = false;
        for index in range {
            let Some(next) = self.tokens.get(index + 1) else {
                break;
            };
            if self.text(index) != b"{" || !next.first_on_line {
                continue;
            }
            let outer = self.indentation(self.tokens[index].span.start());
            let inner = self.indentation(next.span.start());
            if let Some(columns) = width(inner).checked_sub(width(outer)).filter(|&n| n > 0) {
                *votes.entry(columns).or_default() += 1;
                tabs |= inner.contains(&b'\t');
            }
        }
        let columns = most_voted(&votes)?;
        Some(IndentStep { columns, tabs })
    }

    fn vote_braces(&self, range: std::ops::Range<usize>) -> Option<BraceStyle> {
        let mut votes = BTreeMap::<BraceStyle, usize>::new();
        for index in range.start.max(1)..range.end {
            if self.text(index) == b"{"
                && let Some(head) = self.head_ending_at(index - 1)
            {
                *votes.entry(self.brace_style(index, head)).or_default() += 1;
            }
        }
        most_voted(&votes)
    }

    /// Whether most declarations of pointers to objects and text have the star at the type.
    fn vote_star(&self, range: std::ops::Range<usize>) -> Option<bool> {
        let mut votes = BTreeMap::<bool, usize>::new();
        for index in range.start.max(1)..range.end {
            let is_type =
                self.text(index - 1).starts_with(b"Py") || self.text(index - 1) == b"char";
            let Some(next) = self.tokens.get(index + 1) else {
                break;
            };
            let is_pointer = is_type && self.text(index) == b"*" && next.kind == TokenKind::Ident;
            let behind_type = !self.tokens[index].space_before;
            if is_pointer && behind_type == next.space_before {
                *votes.entry(behind_type).or_default() += 1;
            }
        }
        most_voted(&votes)
    }

    /// Whether most `if`s have a blank behind them.
    fn vote_if(&self, range: std::ops::Range<usize>) -> Option<bool> {
        let mut votes = BTreeMap::<bool, usize>::new();
        for index in range.start..range.end.min(self.tokens.len().saturating_sub(1)) {
            if self.text(index) == b"if" && self.text(index + 1) == b"(" {
                *votes
                    .entry(self.tokens[index + 1].space_before)
                    .or_default() += 1;
            }
        }
        most_voted(&votes)
    }

    /// Where the last token before `offset` ends.
    #[must_use]
    pub fn token_end_before(&self, offset: ByteOffset) -> ByteOffset {
        let last = self.index(offset).checked_sub(1);
        last.map_or(ByteOffset(0), |last| self.tokens[last].span.end())
    }

    /// Where the words begin that stand before `offset` with nothing else between: macros that
    /// mark the definition behind them, `EXPORT BORROWED static PyObject *`.
    #[must_use]
    pub fn words_before(&self, offset: ByteOffset) -> ByteOffset {
        let is_word = |index: &usize| {
            self.tokens[*index].kind == TokenKind::Ident && !self.is_in_directive(*index)
        };
        let words = (0..self.index(offset)).rev().take_while(is_word);
        words
            .last()
            .map_or(offset, |first| self.tokens[first].span.start())
    }

    /// Whether a comment stands directly above `statement`, or behind it on its line.
    #[must_use]
    pub fn is_commented(&self, statement: ByteSpan) -> bool {
        let line = self.line_start(statement.start());
        let above = ByteSpan::new(
            self.token_end_before(statement.start()).0.min(line.0),
            line.0,
        );
        let above = self.text_of(above).trim_ascii_start();
        let blank = above
            .iter()
            .rev()
            .take_while(|byte| byte.is_ascii_whitespace());
        let lines = blank.filter(|&&byte| byte == b'\n').count();
        let rest = &self.bytes[statement.end().index()..];
        let rest = &rest[..memchr::memchr(b'\n', rest).unwrap_or(rest.len())];
        !above.is_empty() && lines < 2 || matches!(rest.trim_ascii_start(), [b'/', ..])
    }

    /// The first byte of the comment lines directly above the token at `start`, else `start`.
    #[must_use]
    pub fn above_comments(&self, start: ByteOffset) -> ByteOffset {
        let previous = self.token_end_before(start).0;
        let gap = &self.bytes[previous as usize..start.index()];
        // What stands on the line of the token before belongs to that token.
        let skipped = match memchr::memchr(b'\n', gap) {
            Some(newline) if previous > 0 => newline + 1,
            _ => 0,
        };
        let mut top = None;
        let mut at = gap.len() - self.indentation(start).len();
        for line in gap[skipped..at]
            .split_inclusive(|&byte| byte == b'\n')
            .rev()
        {
            let text = line.trim_ascii();
            at -= line.len();
            if text.starts_with(b"/*") || text.starts_with(b"//") {
                top = Some(at);
            } else if !text.starts_with(b"*") {
                break;
            }
        }
        let top = top.map(|at| previous + u32::try_from(at).expect("files fit"));
        top.map_or(start, ByteOffset)
    }

    /// The style of the brace that is token `index`, behind `head`.
    fn brace_style(&self, index: usize, head: Head) -> BraceStyle {
        let brace = self.tokens[index];
        let column = |offset| width(self.indentation(offset));
        if !brace.first_on_line {
            BraceStyle::SameLine
        } else if column(brace.span.start()) > column(head.start) {
            BraceStyle::Indented
        } else {
            BraceStyle::NextLine
        }
    }

    /// Index of the first token that starts at `offset` or later.
    pub(super) fn index(&self, offset: ByteOffset) -> usize {
        self.tokens
            .partition_point(|token| token.span.start() < offset)
    }

    pub(super) fn text(&self, index: usize) -> &'a [u8] {
        self.tokens
            .get(index)
            .map_or(&[], |token| &self.bytes[token.span.range()])
    }

    /// Where the line of `offset` begins.
    #[must_use]
    pub fn line_start(&self, offset: ByteOffset) -> ByteOffset {
        let before = &self.bytes[..offset.index()];
        to_offset(memchr::memrchr(b'\n', before).map_or(0, |newline| newline + 1))
    }
}

pub(super) fn to_offset(index: usize) -> ByteOffset {
    ByteOffset(u32::try_from(index).expect("files are at most MAX_FILE_BYTES long"))
}

/// The key with the most votes; the first of several.
pub(super) fn most_voted<K: Copy>(votes: &BTreeMap<K, usize>) -> Option<K> {
    votes
        .iter()
        .rev()
        .max_by_key(|&(_, &count)| count)
        .map(|(&key, _)| key)
}

/// Columns that blanks and other text take.
pub(super) fn width(blanks: &[u8]) -> usize {
    blanks.iter().fold(0, |column, &byte| match byte {
        b'\t' => (column / TAB + 1) * TAB,
        _ => column + 1,
    })
}

#[cfg(test)]
mod tests {
    use super::{BraceStyle, Layout};
    use crate::lex::lex;
    use crate::source::{ByteOffset, ByteSpan, FileId};

    fn with_layout<T>(text: &str, ask: impl FnOnce(Layout<'_>) -> T) -> T {
        let tokens = lex(text.as_bytes());
        ask(Layout::learn(FileId(0), text.as_bytes(), &tokens))
    }

    fn deeper(text: &str, indentation: &[u8]) -> Vec<u8> {
        with_layout(text, |layout| layout.step().deeper(indentation))
    }

    #[test]
    fn the_step_is_learned_from_blocks() {
        assert_eq!(
            deeper("f() {\n  if (x) {\n    y;\n  }\n}\n", b"    "),
            b"      "
        );
        assert_eq!(deeper("f()\n{\n\ty;\n}\n", b"\t"), b"\t\t");
        assert_eq!(deeper("int x;\n", b""), b"    ");
    }

    #[test]
    fn stars_stand_where_most_of_them_stand() {
        let pointer = |text, prefix| with_layout(text, |layout| layout.pointer(prefix));
        let left = "PyObject* f(PyObject* a, char *b) { PyObject*c; return a * b; }\n";
        assert_eq!(pointer(left, "PyObject *"), "PyObject* ");
        assert_eq!(pointer(left, "const char **"), "const char** ");
        assert_eq!(pointer(left, "int "), "int ");
        let right = "static PyObject *\nf(PyObject *a)\n{\n}\n";
        assert_eq!(pointer(right, "PyObject *"), "PyObject *");
    }

    #[test]
    fn tabs_of_eight_columns_between_steps_of_four_are_kept() {
        let mixed = "f()\n{\n    if (x) {\n\ty;\n\tif (z) {\n\t    w;\n\t}\n    }\n}\n";
        assert_eq!(deeper(mixed, b"    "), b"\t");
        assert_eq!(deeper(mixed, b"\t"), b"\t    ");
        assert_eq!(deeper(mixed, b"        "), b"            ");
    }

    #[test]
    fn braces_of_functions_and_initializers_do_not_vote() {
        let braces = |text| with_layout(text, |layout| layout.braces());
        assert_eq!(
            braces("f()\n{\n  int a[] =\n  {\n 1 };\n}\n"),
            BraceStyle::SameLine
        );
        assert_eq!(
            braces("f() {\n  if (g(x))\n  {\n  }\n}\n"),
            BraceStyle::NextLine
        );
        assert_eq!(
            braces("f()\n{\n  if (g(x))\n    {\n      h();\n    }\n}\n"),
            BraceStyle::Indented
        );
    }

    #[test]
    fn line_endings_are_those_of_the_place() {
        let at = |text, offset| with_layout(text, |layout| layout.line_ending(ByteOffset(offset)));
        assert_eq!(at("a\r\nb\nc", 0), "\r\n");
        assert_eq!(at("a\r\nb\nc", 3), "\n");
        assert_eq!(at("a\r\nb", 3), "\r\n");
        assert_eq!(at("a", 0), "\n");
    }

    #[test]
    fn bodies_without_braces_know_their_head() {
        let head = |text: &str, body: &str| {
            let start = u32::try_from(text.find(body).unwrap()).unwrap();
            let statement = ByteSpan::new(start, start + u32::try_from(body.len()).unwrap());
            let head = with_layout(text, |layout| layout.braceless_head(statement));
            head.map(|head| text[head.start.index()..head.end.index()].to_owned())
        };
        assert_eq!(
            head("if (f(a)) /* ) */ b;", "b;").as_deref(),
            Some("if (f(a))")
        );
        assert_eq!(head("if (a) { } else\n b;", "b;").as_deref(), Some("else"));
        assert_eq!(head("for (;;) b;", "b;").as_deref(), Some("for (;;)"));
        assert_eq!(head("if (a) { b; }", "b;"), None);
        assert_eq!(head("if (a) { b; }", "{ b; }"), None);
        assert_eq!(head("MACRO(a) b;", "b;"), None);
        assert_eq!(head("b;", "b;"), None);
    }
}
