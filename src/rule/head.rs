//! The head of a function, for rules that split the function in two: the second half gets a head
//! much like it.

use super::PackageCx;
use crate::ast::{Function, LocalId, StmtKind, TokenRange};
use crate::edit::Edit;
use crate::program::ItemId;
use crate::source::{ByteOffset, ByteSpan, FileId, SourceFile};

/// What the half under a new name begins with.
const STATIC: &str = "static ";

/// Why a function cannot be split.
pub type Refusal = &'static str;

/// The head of a function that is written in its file and has no odd form.
pub struct Head<'a> {
    cx: &'a PackageCx<'a>,
    item: ItemId,
    /// The function.
    pub function: &'a Function,
    /// Its file.
    pub file: FileId,
    /// All of the function.
    pub whole: ByteSpan,
    /// Its name.
    pub name: ByteSpan,
    /// From the first word to the `)` of the parameters.
    pub span: ByteSpan,
    /// What the result is declared as: `PyObject *`, `int`.
    result: String,
}

impl<'a> Head<'a> {
    /// Reads the head of a function.
    ///
    /// # Errors
    /// Why no other function can get a head like it.
    pub fn new(cx: &'a PackageCx<'a>, item: ItemId) -> Result<Self, Refusal> {
        const FROM_MACRO: &str = "a macro defines it";
        let function = cx.function(item).ok_or("it could not be analysed")?;
        let tokens = &cx.item(item).tokens;
        let span = |range: TokenRange| tokens.file_span(range).ok_or(FROM_MACRO);
        let (file, whole) = span(function.range)?;
        let (_, name) = span(function.name_range)?;
        let body = function.tree.stmt(function.body).range;
        let (_, body_span) = span(body)?;
        let (_, head) = span(TokenRange {
            start: function.range.start,
            end: body.start,
        })?;
        let source = cx.file(file);
        if !(head.start() < name.start() && head.end() <= body_span.start()) {
            return Err(FROM_MACRO);
        }
        if !source.slice(head).ends_with(b")") || function.variadic || has_directive(source, head) {
            return Err("its declaration does not have the form `type name(parameters)`");
        }
        let is_named = |&param: &LocalId| !function.tree.local(param).name.is_empty();
        if !function.params.iter().all(is_named) {
            return Err("its parameters have no names");
        }
        let words = source.text(ByteSpan::new(head.start().0, name.start().0));
        let result = result_type(&words)
            .ok_or("its declaration does not have the form `type name(parameters)`")?;
        Ok(Self {
            cx,
            item,
            function,
            file,
            whole,
            name,
            span: head,
            result,
        })
    }

    /// Whether a name occurs nowhere in the file, and is no macro.
    #[must_use]
    pub fn is_free(&self, name: &str) -> bool {
        let text = self.cx.file(self.file).bytes();
        memchr::memmem::find(text, name.as_bytes()).is_none() && !self.cx.is_macro(name)
    }

    /// Gives the function a longer name, and makes it `static`.
    #[must_use]
    pub fn renamed(&self, suffix: &str) -> Vec<Edit> {
        let mut edits = vec![self.edit(ByteSpan::empty(self.name.end()), suffix)];
        if !self.function.is_static {
            edits.push(self.edit(ByteSpan::empty(self.whole.start()), STATIC));
        }
        edits.extend(self.aligned_lines(suffix));
        edits
    }

    /// Lines of the head that stand below its first parameter move with it.
    fn aligned_lines(&self, suffix: &str) -> Vec<Edit> {
        let source = self.cx.file(self.file);
        let text = source.bytes();
        let line = text[..self.name.start().index()]
            .iter()
            .rposition(|&byte| byte == b'\n')
            .map_or(0, |at| at + 1);
        let column = self.name.end().index() + 1 - line;
        let gets_static = !self.function.is_static && line <= self.whole.start().index();
        let shift = suffix.len() + if gets_static { STATIC.len() } else { 0 };
        let mut edits = Vec::new();
        let parameters = self.name.end().index()..self.span.end().index();
        for newline in memchr::memchr_iter(b'\n', &text[parameters.clone()]) {
            let at = parameters.start + newline;
            let blanks = text[at + 1..]
                .iter()
                .take_while(|&&byte| byte == b' ')
                .count();
            if blanks == column {
                let start = ByteOffset(u32::try_from(at + 1).expect("files fit"));
                edits.push(self.edit(ByteSpan::empty(start), " ".repeat(shift)));
            }
        }
        edits
    }

    /// The text of the head, with names for all parameters.
    #[must_use]
    pub fn text(&self) -> String {
        with_names(&self.cx.file(self.file).text(self.span))
    }

    /// The declaration of a variable for the result; `None` if there is none.
    #[must_use]
    pub fn result_variable(&self, name: &str) -> Option<String> {
        // `PyObject *name`, but `PyObject* name`
        let has_star_at_name = self
            .result
            .trim_end_matches('*')
            .ends_with(char::is_whitespace);
        let gap = if has_star_at_name { "" } else { " " };
        let is_void = self.function.ret.is_void();
        (!is_void).then(|| format!("{}{gap}{name};", self.result))
    }

    /// How lines end.
    #[must_use]
    pub fn line_ending(&self) -> &'static str {
        match self.cx.file(self.file).slice(self.whole).contains(&b'\r') {
            true => "\r\n",
            false => "\n",
        }
    }

    /// What the statements of the body are indented by.
    #[must_use]
    pub fn indentation(&self) -> String {
        let tree = &self.function.tree;
        let first = match &tree.stmt(self.function.body).kind {
            StmtKind::Block(stmts) => stmts.first(),
            _ => None,
        };
        let source = self.cx.file(self.file);
        let own = first.and_then(|&first| self.cx.stmt_span(self.item, first));
        let line = own.map(|(_, span)| source.text(source.lines().whole_lines(span)));
        let blanks = line.map(|line| {
            let code = line.trim_start_matches([' ', '\t']);
            line[..line.len() - code.len()].to_owned()
        });
        let blanks = blanks.filter(|blanks| !blanks.is_empty());
        blanks.unwrap_or_else(|| "    ".to_owned())
    }

    /// The brace where the function has its own.
    #[must_use]
    pub fn opening_brace(&self) -> String {
        let text = self.cx.file(self.file).bytes();
        let gap = text[self.span.end().index()..]
            .iter()
            .take_while(|&&byte| byte != b'{');
        if gap.into_iter().any(|&byte| byte == b'\n') {
            format!("{}{{", self.line_ending())
        } else {
            " {".to_owned()
        }
    }

    /// An edit of its file.
    #[must_use]
    pub fn edit(&self, span: ByteSpan, text: impl Into<String>) -> Edit {
        Edit::new(self.file, span, text.into().into_bytes())
    }
}

fn has_directive(source: &SourceFile, head: ByteSpan) -> bool {
    let text = source.text(head);
    text.lines().any(|line| line.trim_start().starts_with('#'))
}

/// The type in front of the name, without words of storage; `None` if there is more than words
/// and `*`.
fn result_type(words: &str) -> Option<String> {
    const STORAGE: &[&str] = &["static", "inline", "__inline", "__inline__"];
    let is_plain = |c: char| c == '_' || c == '*' || c.is_ascii_alphanumeric() || c.is_whitespace();
    if !words.chars().all(is_plain) || words.contains("extern") {
        return None;
    }
    let kept: Vec<&str> = words
        .split_whitespace()
        .filter(|word| !STORAGE.contains(word))
        .collect();
    (!kept.is_empty()).then(|| kept.join(" "))
}

/// The head with parameters that can be handed on: `Py_UNUSED(ignored)` hides its name.
fn with_names(head: &str) -> String {
    const UNUSED: &str = "Py_UNUSED(";
    let mut text = String::new();
    let mut rest = head;
    while let Some((before, after)) = rest.split_once(UNUSED) {
        text += before;
        let (name, behind) = after.split_once(')').unwrap_or((after, ""));
        text += name.trim();
        rest = behind;
    }
    text + rest
}
