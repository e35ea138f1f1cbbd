//! Splits a function into its body, which expects a lock, and a wrapper that takes it.

use crate::ast::{ExprKind, Function, LocalId, StmtKind, TokenRange};
use crate::edit::Edit;
use crate::rule::{ItemId, PackageCx};
use crate::source::{ByteOffset, ByteSpan, FileId};
use crate::state::Own;

/// What the name of the body ends in.
const SUFFIX: &str = "_lock_held";
/// What the body begins with.
const STATIC: &str = "static ";

/// Why a function cannot be split.
pub(super) type Refusal = &'static str;

/// A function that can be split.
pub(super) struct Split<'a> {
    cx: &'a PackageCx<'a>,
    pub(super) file: FileId,
    /// What the body is called.
    pub(super) body_name: String,
    item: ItemId,
    function: &'a Function,
    /// All of it.
    whole: ByteSpan,
    /// The name in the head.
    name: ByteSpan,
    /// From the first word to the `)` of the parameters.
    head: ByteSpan,
    /// What the result is declared as: `PyObject *`, `int`.
    result: String,
}

impl<'a> Split<'a> {
    pub(super) fn new(cx: &'a PackageCx<'a>, item: ItemId) -> Result<Self, Refusal> {
        const FROM_MACRO: &str = "a macro makes it";
        let function = cx.function(item).ok_or("it was not understood")?;
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
            return Err("its head is not of the usual form");
        }
        let is_named = |&param: &LocalId| !function.tree.local(param).name.is_empty();
        if !function.params.iter().all(is_named) {
            return Err("its parameters have no names");
        }
        let words = source.text(ByteSpan::new(head.start().0, name.start().0));
        let result = result_type(&words).ok_or("its head is not of the usual form")?;
        let body_name = format!("{}{SUFFIX}", function.name);
        if memchr::memmem::find(source.bytes(), body_name.as_bytes()).is_some() {
            return Err("the name for its body is taken");
        }
        Ok(Self {
            cx,
            file,
            body_name,
            item,
            function,
            whole,
            name,
            head,
            result,
        })
    }

    pub(super) fn is_same_text(&self, other: &Self) -> bool {
        (self.file, self.whole) == (other.file, other.whole)
    }

    /// Renames the body, calls the bodies of `others` where the lock is held already, and adds the
    /// wrapper, which locks the parameter at the position `locked`.
    pub(super) fn edits(&self, locked: usize, others: &[Split<'_>]) -> Vec<Edit> {
        let mut edits = vec![self.edit(ByteSpan::empty(self.name.end()), SUFFIX)];
        if !self.function.is_static {
            edits.push(self.edit(ByteSpan::empty(self.whole.start()), STATIC));
        }
        edits.extend(self.aligned_lines());
        edits.extend(self.calls(others));
        edits.push(self.edit(ByteSpan::empty(self.whole.end()), self.wrapper(locked)));
        edits
    }

    /// Lines of the head that stand below its first parameter move with it.
    fn aligned_lines(&self) -> Vec<Edit> {
        let source = self.cx.file(self.file);
        let text = source.bytes();
        let line = text[..self.name.start().index()]
            .iter()
            .rposition(|&byte| byte == b'\n')
            .map_or(0, |at| at + 1);
        let column = self.name.end().index() + 1 - line;
        let gets_static = !self.function.is_static && line <= self.whole.start().index();
        let shift = SUFFIX.len() + if gets_static { STATIC.len() } else { 0 };
        let mut edits = Vec::new();
        let parameters = self.name.end().index()..self.head.end().index();
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

    /// Calls of methods that are split as well, on the same object: their bodies are called. A
    /// section inside of another on the same object would let others in.
    fn calls(&self, others: &[Split<'_>]) -> Vec<Edit> {
        let tree = &self.function.tree;
        let Some(own) = Own::new(self.function, 0) else {
            return Vec::new();
        };
        let calls = tree.exprs.iter().filter_map(|expr| match &expr.kind {
            ExprKind::Call { callee, args } => Some((*callee, *args.first()?)),
            _ => None,
        });
        calls
            .filter(|(_, object)| own.is_object(tree, *object))
            .filter_map(|(callee, _)| {
                let name = tree.callee_name(callee)?;
                let other = others.iter().find(|other| other.function.name == name)?;
                let (file, span) = self.cx.span(self.item, callee)?;
                let is_known = file == other.file && other.name.start() < span.start();
                is_known.then(|| self.edit(ByteSpan::empty(span.end()), SUFFIX))
            })
            .collect()
    }

    /// The function under the old name.
    fn wrapper(&self, locked: usize) -> String {
        let source = self.cx.file(self.file);
        let step = self.indentation();
        let names: Vec<&str> = self
            .function
            .params
            .iter()
            .map(|&param| self.function.tree.local(param).name.as_str())
            .collect();
        let call = format!("{}({})", self.body_name, names.join(", "));
        let locked = names.get(locked).copied().unwrap_or_default();
        let result = if names.contains(&"result") {
            "res"
        } else {
            "result"
        };
        let is_void = self.function.ret.is_void();
        let pointer = if self.result.ends_with('*') { "" } else { " " };
        let declaration = format!("{}{pointer}{result};", self.result);
        let stored = format!("{result} = {call};");
        let lines = [
            (!is_void).then_some(declaration),
            Some(format!("Py_BEGIN_CRITICAL_SECTION({locked});")),
            Some(if is_void { format!("{call};") } else { stored }),
            Some("Py_END_CRITICAL_SECTION();".to_owned()),
            (!is_void).then(|| format!("return {result};")),
        ];
        let ending = if source.slice(self.whole).contains(&b'\r') {
            "\r\n"
        } else {
            "\n"
        };
        let head = with_names(&source.text(self.head));
        let brace = self.opening_brace(ending);
        let mut text = format!("{ending}{ending}{head}{brace}");
        for line in lines.into_iter().flatten() {
            text += &format!("{ending}{step}{line}");
        }
        text + ending + "}"
    }

    /// What the statements of the body are indented by.
    fn indentation(&self) -> String {
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
    fn opening_brace(&self, ending: &str) -> String {
        let text = self.cx.file(self.file).bytes();
        let gap = text[self.head.end().index()..]
            .iter()
            .take_while(|&&byte| byte != b'{');
        if gap.into_iter().any(|&byte| byte == b'\n') {
            format!("{ending}{{")
        } else {
            " {".to_owned()
        }
    }

    fn edit(&self, span: ByteSpan, text: impl Into<String>) -> Edit {
        Edit {
            file: self.file,
            span,
            text: text.into().into_bytes(),
        }
    }
}

fn has_directive(source: &crate::source::SourceFile, head: ByteSpan) -> bool {
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
