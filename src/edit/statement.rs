//! Edits on whole statements and lines that look like their surroundings.

use super::Edit;
use super::layout::{BraceStyle, Head, Layout, to_offset};
use crate::lex::{TokenKind, is_ident};
use crate::source::{ByteOffset, ByteSpan};

impl Layout<'_> {
    /// Inserts `lines` (statements without indentation) before `statement`; see [`Self::surround`].
    #[must_use]
    pub fn insert_before(&self, statement: ByteSpan, lines: &[&str]) -> Vec<Edit> {
        self.surround(statement, lines, &[])
    }

    /// Inserts `lines` (statements without indentation) after `statement`; see [`Self::surround`].
    #[must_use]
    pub fn insert_after(&self, statement: ByteSpan, lines: &[&str]) -> Vec<Edit> {
        self.surround(statement, &[], lines)
    }

    /// Puts `before` and `after` around `statement`, each on its own line with its indentation.
    ///
    /// Braces are added if it is the only statement of an `if`, `else` or loop. A comment behind
    /// the statement stays on its line. In a block that is written on one line, so are the new
    /// statements.
    #[must_use]
    pub fn surround(&self, statement: ByteSpan, before: &[&str], after: &[&str]) -> Vec<Edit> {
        let statement = self.with_semicolon(self.with_empty_macro(statement));
        if let Some(head) = self.braceless_head(statement) {
            return self.wrap(statement, head, before, after);
        }
        if let Some(head) = self.head_before_directive(statement) {
            return self.wrap_with_directive(statement, head, before, after);
        }
        let mut edits = Vec::new();
        if !before.is_empty() {
            edits.push(self.before(statement, before));
        }
        if !after.is_empty() {
            edits.push(self.after(statement, after));
        }
        edits
    }

    /// `CHECK(x);` and `NO_MEMORY;` end in front of the `;` if the macro brings one along.
    fn with_semicolon(&self, statement: ByteSpan) -> ByteSpan {
        let next = self.index(statement.end());
        let last = self.bytes[statement.range()].last();
        let is_use = last.is_some_and(|&byte| byte == b')' || is_ident(byte));
        match self.tokens.get(next) {
            Some(token) if is_use && self.text(next) == b";" => statement.join(token.span),
            _ => statement,
        }
    }

    /// `DEBUG("text", x);` is a lone `;` if the macro gives nothing.
    fn with_empty_macro(&self, statement: ByteSpan) -> ByteSpan {
        const HEADS: [&[u8]; 6] = [b"if", b"else", b"while", b"do", b"for", b"switch"];
        let semicolon = self.index(statement.start());
        if &self.bytes[statement.range()] != b";" {
            return statement;
        }
        let mut at = semicolon;
        let mut depth = 0u32;
        while let Some(before) = at.checked_sub(1) {
            at = before;
            match self.text(at) {
                b")" => depth += 1,
                b"(" => depth = depth.saturating_sub(1),
                b";" | b"{" | b"}" => return statement,
                _ if depth > 0 => {}
                // The word in front of the arguments, or a macro without any.
                text if self.tokens[at].kind == TokenKind::Ident && !HEADS.contains(&text) => {
                    return statement.join(self.tokens[at].span);
                }
                _ => return statement,
            }
        }
        statement
    }

    /// Declarations behind `declaration`, the last one at the top of a block.
    ///
    /// They stand right behind its text, so that statements that another fix inserts behind the
    /// declarations stay behind these.
    #[must_use]
    pub fn declare_after(&self, declaration: ByteSpan, lines: &[&str]) -> Edit {
        if self.is_bare_end(declaration.end()) {
            let end = self.blanks_after(declaration.end());
            self.lines_at(end, self.indentation(declaration.start()), lines)
        } else {
            self.after(declaration, lines)
        }
    }

    /// Declarations in front of `statement`, the first of a block: right behind the brace, in front
    /// of comments on the statement and of what another fix inserts there.
    #[must_use]
    pub fn declare_before(&self, statement: ByteSpan, lines: &[&str]) -> Edit {
        let brace = self.index(statement.start()).checked_sub(1);
        match brace.map(|brace| (self.text(brace), self.tokens[brace].span.end())) {
            Some((b"{", end)) => self.declare_behind(end, statement, lines),
            _ => self.before(statement, lines),
        }
    }

    /// As [`Self::declare_before`], where an `#if` may stand between `statement` and the brace of
    /// its block, which ends at `brace`.
    #[must_use]
    pub fn declare_behind(&self, brace: ByteOffset, statement: ByteSpan, lines: &[&str]) -> Edit {
        if !self.is_bare_end(brace) {
            return self.before(statement, lines);
        }
        // The first statement is another one in each branch of an `#if`.
        let is_next = self.token_end_before(statement.start()) == brace;
        let indentation = match is_next {
            true => self.indentation(statement.start()).to_vec(),
            false => self.step().deeper(self.indentation(brace)),
        };
        self.lines_at(self.blanks_after(brace), &indentation, lines)
    }

    /// Whether nothing but blanks follows `offset` on its line.
    fn is_bare_end(&self, offset: ByteOffset) -> bool {
        let behind = self.blanks_after(offset);
        matches!(self.bytes.get(behind.index()), Some(b'\n' | b'\r'))
    }

    fn lines_at(&self, offset: ByteOffset, indentation: &[u8], lines: &[&str]) -> Edit {
        let ending = self.line_ending(offset).as_bytes();
        let lines = lines
            .iter()
            .map(|line| [ending, &self.step().line(indentation, line)].concat());
        self.insertion(offset, lines.collect::<Vec<_>>().concat())
    }

    /// Inserts `text` as a line of its own, from column 0, before the line of `offset`.
    #[must_use]
    pub fn insert_line_before(&self, offset: ByteOffset, text: &str) -> Edit {
        let line = format!("{text}{}", self.line_ending(offset));
        self.insertion(self.line_start(offset), line)
    }

    /// Inserts `text` as a line of its own, from column 0, after the line of `offset`, and after
    /// a comment that begins on it.
    #[must_use]
    pub fn insert_line_after(&self, offset: ByteOffset, text: &str) -> Edit {
        let ending = self.line_ending(offset);
        let last_token = self.tokens[..self.index(to_offset(offset.index() + 1))]
            .last()
            .map_or(offset, |token| token.span.end().max(offset));
        match self.next_line(last_token) {
            Some(next) => self.insertion(next, format!("{text}{ending}")),
            None => self.insertion(
                to_offset(self.bytes.len()),
                format!("{ending}{text}{ending}"),
            ),
        }
    }

    fn before(&self, statement: ByteSpan, lines: &[&str]) -> Edit {
        if self.label_before(statement.start()).is_some() {
            return self.behind_label(statement, lines);
        }
        if !self.begins_line(statement.start()) {
            return self.insertion(statement.start(), format!("{} ", on_one_line(lines)));
        }
        let ending = self.line_ending(statement.start());
        let indentation = self.indentation(statement.start());
        let text = lines
            .iter()
            .flat_map(|line| [self.step().line(indentation, line), ending.into()]);
        self.insertion(
            self.line_start(statement.start()),
            text.collect::<Vec<_>>().concat(),
        )
    }

    fn after(&self, statement: ByteSpan, lines: &[&str]) -> Edit {
        let (start, end) = (statement.start(), statement.end());
        let indentation = self.body_indentation(start);
        let edit = if !self.ends_line(end) {
            self.insertion(end, format!(" {}", on_one_line(lines)))
        } else if self.falls_through(end) {
            self.lines_at(end, &indentation, lines)
        } else {
            self.lines_after(end, &self.placed(&indentation, lines))
        };
        edit.behind(start)
    }

    /// Braces around `statement` in the style of the function, `before` and `after` inside.
    fn wrap(&self, statement: ByteSpan, head: Head, before: &[&str], after: &[&str]) -> Vec<Edit> {
        let outer = self.indentation(head.start);
        let own_line = self.begins_line(statement.start());
        let indented = self.braces() == BraceStyle::Indented;
        let brace = if indented {
            self.step().deeper(outer)
        } else {
            outer.to_vec()
        };
        let inner = if own_line && !indented {
            self.indentation(statement.start()).to_vec()
        } else {
            self.step().deeper(&brace)
        };
        let ending = self.line_ending(head.end);
        let mut edits = Vec::new();
        match (self.braces(), own_line) {
            (BraceStyle::SameLine, _) => edits.push(self.insertion(head.end, " {")),
            (_, true) => edits.push(self.lines_after(head.end, &[(&brace, "{")])),
            (_, false) => {
                let text = [ending.as_bytes(), &brace, b"{"].concat();
                edits.push(self.insertion(head.end, text));
            }
        }
        let mut text = Vec::new();
        for line in before {
            text.extend([&inner[..], line.as_bytes(), ending.as_bytes()].concat());
        }
        if own_line {
            edits.push(self.insertion(self.line_start(statement.start()), text));
        } else {
            let text = [ending.as_bytes(), &text, &inner].concat();
            let gap = ByteSpan::new(self.blanks_before(statement.start()).0, statement.start().0);
            edits.push(self.edit(gap, text));
        }
        if own_line && indented {
            edits.extend(self.deeper_lines(statement));
        }
        let mut closing = self.placed(&inner, after);
        closing.push((&brace, "}"));
        let closing = self.lines_after(statement.end(), &closing);
        edits.push(closing.behind(statement.start()));
        edits.retain(|edit| !(edit.text.is_empty() && edit.span.is_empty()));
        edits
    }

    /// The same where a directive stands behind the head: `before` belongs to all of its branches.
    fn wrap_with_directive(
        &self,
        statement: ByteSpan,
        head: Head,
        before: &[&str],
        after: &[&str],
    ) -> Vec<Edit> {
        let outer = self.indentation(head.start);
        let inner = self.step().deeper(outer);
        let mut opening = self.placed(&inner, before);
        let mut edits = Vec::new();
        match self.braces() {
            BraceStyle::SameLine => edits.push(self.insertion(head.end, " {")),
            BraceStyle::NextLine | BraceStyle::Indented => opening.insert(0, (outer, "{")),
        }
        if !opening.is_empty() {
            edits.push(self.lines_after(head.end, &opening));
        }
        let mut closing = self.placed(&inner, after);
        closing.push((outer, "}"));
        let closing = self.lines_after(statement.end(), &closing);
        edits.push(closing.behind(statement.start()));
        edits
    }

    /// The lines with their indentation: labels, `end: ;`, stand one step to the left.
    fn placed<'l>(&self, indentation: &'l [u8], lines: &[&'l str]) -> Vec<(&'l [u8], &'l str)> {
        let step = self.step().deeper(b"");
        let outer = indentation.strip_suffix(&step[..]).unwrap_or(indentation);
        let lines = lines.iter();
        lines
            .map(|&line| match line.ends_with(": ;") {
                true => (outer, line),
                false => (indentation, line),
            })
            .collect()
    }

    /// Moves the lines of `statement` one step to the right.
    fn deeper_lines(&self, statement: ByteSpan) -> Vec<Edit> {
        let lines = std::iter::once(statement.start()).chain(self.text_lines(statement));
        let more = self.step().deeper(b"");
        lines.map(|at| self.insertion(at, more.clone())).collect()
    }

    /// Where the text of each line begins that begins inside of `span` and may be indented: it is
    /// not blank, no directive, and not the rest of a string.
    #[must_use]
    pub fn text_lines(&self, span: ByteSpan) -> Vec<ByteOffset> {
        let inside = &self.bytes[span.range()];
        let starts = memchr::memchr_iter(b'\n', inside)
            .map(|newline| to_offset(span.start().index() + newline + 1));
        starts
            .map(|start| to_offset(start.index() + self.indentation(start).len()))
            .filter(|&at| {
                let in_token = self.token_end_before(at) > at;
                let first = self.bytes.get(at.index());
                at < span.end() && !in_token && !matches!(first, None | Some(b'#' | b'\n' | b'\r'))
            })
            .collect()
    }

    /// New lines of (indentation, text) behind `offset`: after its line if only comments follow
    /// there, else in front of what follows.
    fn lines_after(&self, offset: ByteOffset, lines: &[(&[u8], &str)]) -> Edit {
        let ending = self.line_ending(offset).as_bytes();
        let next = if self.ends_line(offset) {
            self.next_line(offset)
        } else {
            None
        };
        let mut text = Vec::new();
        for (indentation, line) in lines {
            let line = &*self.step().line(indentation, line);
            let parts = match next {
                Some(_) => [line, ending],
                None => [ending, line],
            };
            text.extend(parts.concat());
        }
        let at = next.unwrap_or_else(|| {
            if self.ends_line(offset) {
                to_offset(self.bytes.len())
            } else {
                offset
            }
        });
        self.insertion(at, text)
    }

    /// Whether the token at `offset` is the first on its line.
    #[must_use]
    pub fn begins_line(&self, offset: ByteOffset) -> bool {
        self.tokens
            .get(self.index(offset))
            .is_some_and(|token| token.first_on_line)
    }

    /// Whether no token follows `offset` on its line.
    #[must_use]
    pub fn ends_line(&self, offset: ByteOffset) -> bool {
        self.tokens
            .get(self.index(offset))
            .is_none_or(|token| token.first_on_line)
    }

    /// Begin of the line after `offset`, behind comments that start on this line, and behind lines
    /// that a backslash joins to it; `None` at the end of a file without final newline.
    ///
    /// ```c
    /// #include <Python.h> // the interpreter \
    ///     and what it needs
    /// ```
    pub(super) fn next_line(&self, offset: ByteOffset) -> Option<ByteOffset> {
        let mut at = offset.index();
        loop {
            let rest = &self.bytes[at..];
            let newline = joined_line(rest)?;
            match memchr::memmem::find(&rest[..newline], b"/*") {
                // A comment may go on over several lines; `//` hides the `/*` behind it.
                Some(open) if !contains(&rest[..open], b"//") => {
                    at += open + 2 + memchr::memmem::find(&rest[open + 2..], b"*/")? + 2;
                }
                _ => return Some(to_offset(at + newline + 1)),
            }
        }
    }

    pub(super) fn blanks_before(&self, offset: ByteOffset) -> ByteOffset {
        let before = &self.bytes[..offset.index()];
        let blanks = before
            .iter()
            .rev()
            .take_while(|byte| matches!(byte, b' ' | b'\t'))
            .count();
        to_offset(before.len() - blanks)
    }

    pub(super) fn blanks_after(&self, offset: ByteOffset) -> ByteOffset {
        let after = &self.bytes[offset.index()..];
        let blanks = after
            .iter()
            .take_while(|byte| matches!(byte, b' ' | b'\t'))
            .count();
        to_offset(offset.index() + blanks)
    }

    fn insertion(&self, offset: ByteOffset, text: impl Into<Vec<u8>>) -> Edit {
        self.edit(ByteSpan::empty(offset), text)
    }

    pub(super) fn edit(&self, span: ByteSpan, text: impl Into<Vec<u8>>) -> Edit {
        Edit::new(self.file, span, text.into())
    }
}

/// Where the first line of `text` ends, with those that backslashes join to it.
fn joined_line(text: &[u8]) -> Option<usize> {
    let mut start = 0;
    memchr::memchr_iter(b'\n', text).find(|&newline| {
        // As the lexer has it, blanks may follow the backslash.
        let is_joined = text[start..newline].trim_ascii_end().ends_with(b"\\");
        start = newline + 1;
        !is_joined
    })
}

fn on_one_line(lines: &[&str]) -> String {
    let lines: Vec<&str> = lines.iter().map(|line| line.trim_start()).collect();
    lines.join(" ")
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    memchr::memmem::find(text, part).is_some()
}

#[cfg(test)]
mod tests {
    use crate::edit::{Edit, EditSet, Fix, FixId, Layout, apply};
    use crate::lex::lex;
    use crate::source::{ByteSpan, FileId};

    /// Applies the edits that `build` makes for the statement `target` of `text`.
    fn edited(
        text: &str,
        target: &str,
        build: impl FnOnce(&Layout<'_>, ByteSpan) -> Vec<Edit>,
    ) -> String {
        let tokens = lex(text.as_bytes());
        let offset = |at: usize| u32::try_from(at).unwrap();
        let layout = Layout::learn(FileId(0), text.as_bytes(), &tokens);
        let start = text.find(target).unwrap();
        let statement = ByteSpan::new(offset(start), offset(start + target.len()));
        let mut fix = Fix::safe("test");
        fix.edits = build(&layout, statement);
        let mut set = EditSet::default();
        set.add(FixId(0), &fix).unwrap();
        String::from_utf8(apply(text.as_bytes(), set.edits(FileId(0))).bytes).unwrap()
    }

    fn around(text: &str, target: &str) -> String {
        edited(text, target, |layout, statement| {
            layout.surround(statement, &["<;"], &[">;"])
        })
    }

    fn removed(text: &str, target: &str) -> String {
        edited(text, target, |layout, statement| {
            vec![layout.remove(statement)]
        })
    }

    #[test]
    fn lines_take_the_indentation_of_the_statement() {
        assert_eq!(
            around("{\n\tf();\n}\n", "f();"),
            "{\n\t<;\n\tf();\n\t>;\n}\n"
        );
        assert_eq!(
            around("{\r\n  f();\r\n}", "f();"),
            "{\r\n  <;\r\n  f();\r\n  >;\r\n}"
        );
        assert_eq!(around("  f();", "f();"), "  <;\n  f();\n  >;");
    }

    #[test]
    fn lines_stand_in_front_of_a_directive_that_the_statement_goes_beyond() {
        let text = "\
{
    while (x) // all
#if A
        if (y) {
#else
        if (z) {
#endif
            f();
        }
    g();
}
";
        let target = &text[text.find("if (y)").unwrap()..text.find("    g();").unwrap() - 1];
        insta::assert_snapshot!(around(text, target), @"
        {
            while (x) { // all
                <;
        #if A
                if (y) {
        #else
                if (z) {
        #endif
                    f();
                }
                >;
            }
            g();
        }
    ");
        // A statement in one of the branches only is what it was.
        let text = "{\n  if (x)\n#if A\n    f();\n#else\n    g();\n#endif\n}\n";
        let inside = "{\n  if (x)\n#if A\n    <;\n    f();\n    >;\n#else\n    g();\n#endif\n}\n";
        assert_eq!(around(text, "f();"), inside);
    }

    #[test]
    fn a_comment_behind_the_statement_stays_with_it() {
        let text = "{\n  f(); /* one\n  two */ // three /*\n}\n";
        assert_eq!(
            around(text, "f();"),
            "{\n  <;\n  f(); /* one\n  two */ // three /*\n  >;\n}\n"
        );
    }

    #[test]
    fn a_comment_on_the_next_case_stays_last() {
        assert_eq!(
            around("{\n  f(); /* fall through */\n}\n", "f();"),
            "{\n  <;\n  f();\n  >; /* fall through */\n}\n"
        );
    }

    #[test]
    fn a_macro_that_gives_nothing_stays_with_its_semicolon() {
        let text = "{\n  DEBUG(\"a\",\n        f(x));\n  g();\n}\n";
        let start = text.find(");\n  g").unwrap() + 1;
        let offset = |at: usize| u32::try_from(at).unwrap();
        let alone = |layout: &Layout<'_>, _: ByteSpan| {
            let semicolon = ByteSpan::new(offset(start), offset(start + 1));
            layout.surround(semicolon, &["<;"], &[">;"])
        };
        assert_eq!(
            edited(text, "DEBUG", alone),
            "{\n  <;\n  DEBUG(\"a\",\n        f(x));\n  >;\n  g();\n}\n"
        );
        let body = "{\n    <;\n    ;\n    >;\n  }\n}\n";
        assert_eq!(
            around("{\n  if (x)\n    ;\n}\n", ";"),
            format!("{{\n  if (x) {body}")
        );
        assert_eq!(around("{\n  ;\n}\n", ";"), "{\n  <;\n  ;\n  >;\n}\n");
    }

    #[test]
    fn a_semicolon_behind_a_macro_stays_with_it() {
        assert_eq!(
            around("{\n  CHECK(x); // why\n}\n", "CHECK(x)"),
            "{\n  <;\n  CHECK(x); // why\n  >;\n}\n"
        );
    }

    #[test]
    fn labels_stand_one_step_to_the_left() {
        let labelled = |text, target| {
            edited(text, target, |layout, statement| {
                layout.surround(statement, &[], &["end: ;", ">;"])
            })
        };
        assert_eq!(
            labelled("{\n    if (x) {\n        f();\n    }\n}\n", "f();"),
            "{\n    if (x) {\n        f();\n    end: ;\n        >;\n    }\n}\n"
        );
        assert_eq!(
            labelled("{\n    if (x)\n        f();\n    g();\n}\n", "f();"),
            "{\n    if (x) {\n        f();\n    end: ;\n        >;\n    }\n    g();\n}\n"
        );
    }

    #[test]
    fn a_block_on_one_line_stays_on_one_line() {
        assert_eq!(
            around("if (x) { f(); }\n", "f();"),
            "if (x) { <; f(); >; }\n"
        );
    }

    #[test]
    fn what_follows_a_labelled_statement_is_one_step_deeper() {
        let text = "switch (x) {\ncase 1: f();\n    break;\n}\n";
        assert_eq!(
            edited(text, "f();", |layout, statement| layout
                .insert_after(statement, &[">;"])),
            "switch (x) {\ncase 1: f();\n    >;\n    break;\n}\n"
        );
    }

    #[test]
    fn a_body_without_braces_gets_them_in_the_style_of_the_function() {
        insta::assert_snapshot!(around("{\n    if (x)  /* why */\n        f();  // how\n    else\n        g();\n}\n", "f();"), @"
        {
            if (x) {  /* why */
                <;
                f();  // how
                >;
            }
            else
                g();
        }
        ");
        insta::assert_snapshot!(around("{\n    while (y)\n    {\n        h();\n    }\n    if (x)  /* why */\n        f();\n}\n", "f();"), @"
        {
            while (y)
            {
                h();
            }
            if (x)  /* why */
            {
                <;
                f();
                >;
            }
        }
        ");
    }

    #[test]
    fn a_body_on_the_line_of_its_head_moves_to_its_own() {
        insta::assert_snapshot!(around("{\n    if (x) f(); else g();\n}\n", "f();"), @"
        {
            if (x) {
                <;
                f();
                >;
            } else g();
        }
        ");
        insta::assert_snapshot!(around("{\n    if (x)\n    {\n        h();\n    }\n    else g();\n}\n", "g();"), @"
        {
            if (x)
            {
                h();
            }
            else
            {
                <;
                g();
                >;
            }
        }
        ");
    }

    #[test]
    fn a_directive_is_no_head() {
        for directive in ["#else", "#if (X)", "#  else  /* !X */"] {
            assert_eq!(
                around(&format!("{{\n{directive}\n    f();\n#endif\n}}\n"), "f();"),
                format!("{{\n{directive}\n    <;\n    f();\n    >;\n#endif\n}}\n")
            );
        }
    }

    #[test]
    fn removing_a_statement_takes_its_line() {
        assert_eq!(
            removed("{\n    f();\r\n    g();\n}\n", "f();"),
            "{\n    g();\n}\n"
        );
        assert_eq!(removed("a;\n  f(x,\n    y);\n", "f(x,\n    y);"), "a;\n");
    }

    #[test]
    fn removing_a_statement_keeps_its_neighbours_and_comments() {
        assert_eq!(removed("  f(); /* why */\n", "f();"), "  /* why */\n");
        assert_eq!(removed("  f(); g();\n", "f();"), "  g();\n");
        assert_eq!(removed("  f(); g();\n", "g();"), "  f();\n");
        assert_eq!(removed("  /* a */ f();\n", "f();"), "  /* a */\n");
    }

    #[test]
    fn removing_leaves_a_statement_where_c_needs_one() {
        assert_eq!(removed("if (x)\n    f();\n", "f();"), "if (x)\n    ;\n");
        assert_eq!(removed("{ done:\n f();\n}", "f();"), "{ done:\n ;\n}");
    }

    #[test]
    fn directives_start_in_column_zero() {
        let text = "  #include <a.h> /* x\n */\nint b;";
        let after = edited(text, "include", |layout, at| {
            vec![layout.insert_line_after(at.start(), "#include \"c.h\"")]
        });
        assert_eq!(
            after,
            "  #include <a.h> /* x\n */\n#include \"c.h\"\nint b;"
        );
        let before = edited(text, "b;", |layout, at| {
            vec![layout.insert_line_before(at.start(), "#include \"c.h\"")]
        });
        assert_eq!(
            before,
            "  #include <a.h> /* x\n */\n#include \"c.h\"\nint b;"
        );
    }

    #[test]
    fn of_two_blank_lines_around_a_removed_line_one_stays() {
        let text = "f() {\n    a;\n\n    b;\n\n    c;\n}\n";
        assert_eq!(removed(text, "b;"), "f() {\n    a;\n\n    c;\n}\n");
        let text = "f() {\n    a;\n    b;\n\n    c;\n}\n";
        assert_eq!(removed(text, "b;"), "f() {\n    a;\n\n    c;\n}\n");
    }

    #[test]
    fn lines_that_backslashes_join_stay_together() {
        // The `#endif` is a part of the comment.
        let text = "    v = f(o); // of \\\n#endif old\n    g(v); \\ \n\n    h(v);\n";
        let after = |target| {
            edited(text, target, |layout, span| {
                layout.insert_after(span, &["x();"])
            })
        };
        insta::assert_snapshot!(after("v = f(o);"), @r"
            v = f(o); // of \
        #endif old
            x();
            g(v); \ 

            h(v);
        ");
        insta::assert_snapshot!(after("g(v);"), @r"
            v = f(o); // of \
        #endif old
            g(v); \ 

            x();
            h(v);
        ");
    }
}
