//! UG605: calls that attach or detach the thread, left out of builds without the GIL.

use crate::capi;
use crate::declare_rule;
use crate::lex::{Token, TokenKind};
use crate::rule::{Finding, Outcome, PackageCx};
use crate::source::{ByteSpan, FileId, SourceFile};

use super::settle;

declare_rule! {
    /// ## What it does
    /// Finds `Py_BEGIN_ALLOW_THREADS`, `Py_END_ALLOW_THREADS`, `PyGILState_Ensure` and their like
    /// under `#ifndef Py_GIL_DISABLED`, where the other branch has none of them, and macros that
    /// define them away under `#ifdef Py_GIL_DISABLED`.
    ///
    /// ## Why
    /// These calls do not only release and acquire the GIL: they detach the thread from the interpreter
    /// and attach it. Without the GIL, the garbage collector still stops all attached threads, so a
    /// thread that waits without detaching makes all others wait. A thread that C started and that
    /// never attached crashes in the first call that needs a thread state.
    ///
    /// ## Example
    /// ```c
    /// #ifndef Py_GIL_DISABLED
    ///     Py_BEGIN_ALLOW_THREADS
    /// #endif
    ///     rc = connect(self->fd, address, length);
    /// #ifndef Py_GIL_DISABLED
    ///     Py_END_ALLOW_THREADS
    /// #endif
    /// ```
    /// Use instead:
    /// ```c
    ///     Py_BEGIN_ALLOW_THREADS
    ///     rc = connect(self->fd, address, length);
    ///     Py_END_ALLOW_THREADS
    /// ```
    ///
    /// ## Confidence
    /// There is no fix: the code may do something else instead of these calls, and that would have to be
    /// removed when they are restored.
    ///
    /// ## References
    /// - <https://docs.python.org/3/howto/free-threading-extensions.html#thread-state-and-gil-apis>
    pub static THREAD_CALL_LEFT_OUT {
        code: "UG605",
        name: "gil-only-thread-state",
        summary: "code that attaches or detaches the thread is left out of builds without the GIL",
        severity: Deadlock,
        since: "0.1.0",
        best: None,
        triggers: &["Py_GIL_DISABLED"],
        check: check,
    }
}

/// What is there for builds with the GIL must have a counterpart here for those without.
fn is_thread_call(word: &[u8]) -> bool {
    const MACROS: [&[u8]; 4] = [
        b"Py_BEGIN_ALLOW_THREADS",
        b"Py_END_ALLOW_THREADS",
        b"Py_BLOCK_THREADS",
        b"Py_UNBLOCK_THREADS",
    ];
    let is_call = |name| capi::attaches(name) || capi::detaches(name);
    MACROS.contains(&word) || std::str::from_utf8(word).is_ok_and(is_call)
}

fn check(cx: &PackageCx<'_>, findings: &mut Vec<Finding>) {
    let mut found = Vec::new();
    for (id, file) in cx.program.files.iter() {
        if memchr::memmem::find(file.bytes(), b"Py_GIL_DISABLED").is_none() {
            continue;
        }
        let mut scan = Scan::new(file);
        scan.run(cx.program.index[id.index()].tokens());
        found.extend(scan.left_out.into_iter().map(|span| told(cx, id, span)));
    }
    let start = findings.len();
    findings.append(&mut found);
    settle(findings, start);
}

fn told(cx: &PackageCx<'_>, file: FileId, span: ByteSpan) -> Finding {
    let around = cx.program.functions().find(|(item, _)| {
        let (at, place) = item.place;
        at == file && place.contains(span)
    });
    let word = cx.file(file).text(span);
    Finding {
        rule: &THREAD_CALL_LEFT_OUT,
        file,
        span,
        function: around.map(|(_, function)| function.name.clone()),
        api: None,
        message: format!(
            "`{word}` is left out of builds without the GIL; threads must attach and detach \
             there, too"
        ),
        notes: Vec::new(),
        outcome: Outcome::Manual("keep it in both builds".to_owned()),
    }
}

/// For which builds a branch of an `#if` is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Branch {
    WithGil,
    WithoutGil,
    /// The question is another one, or asks for more.
    Any,
}

impl Branch {
    fn other(self) -> Self {
        match self {
            Self::WithGil => Self::WithoutGil,
            Self::WithoutGil => Self::WithGil,
            Self::Any => Self::Any,
        }
    }
}

/// An `#if` that is open.
struct Open {
    branch: Branch,
    /// Calls in the branch with the GIL.
    calls: Vec<ByteSpan>,
    /// Whether the branch without the GIL has a call too.
    has_counterpart: bool,
}

struct Scan<'a> {
    file: &'a SourceFile,
    open: Vec<Open>,
    left_out: Vec<ByteSpan>,
}

impl<'a> Scan<'a> {
    fn new(file: &'a SourceFile) -> Self {
        Self {
            file,
            open: Vec::new(),
            left_out: Vec::new(),
        }
    }

    fn run(&mut self, tokens: &[Token]) {
        let lines = tokens.chunk_by(|_, next| !next.first_on_line);
        for line in lines {
            let words: Vec<&[u8]> = line
                .iter()
                .map(|token| self.file.slice(token.span))
                .collect();
            match words[..] {
                [b"#", b"if" | b"ifdef" | b"ifndef", ..] => self.open.push(Open {
                    branch: branch(&words[1..]),
                    calls: Vec::new(),
                    has_counterpart: false,
                }),
                [b"#", b"else" | b"elif", ..] => {
                    if let Some(open) = self.open.last_mut() {
                        open.branch = open.branch.other();
                    }
                }
                [b"#", b"endif", ..] => self.close(),
                // `#define Py_BEGIN_ALLOW_THREADS` for builds without the GIL.
                [b"#", b"define", name, ..] if is_thread_call(name) => {
                    let is_away = |open: &Open| open.branch == Branch::WithoutGil;
                    if self.open.iter().any(is_away) {
                        self.left_out.push(line[2].span);
                    }
                }
                _ => self.line(line),
            }
        }
    }

    fn line(&mut self, line: &[Token]) {
        let calls = line.iter().filter(|token| {
            token.kind == TokenKind::Ident && is_thread_call(self.file.slice(token.span))
        });
        for call in calls {
            for open in &mut self.open {
                match open.branch {
                    Branch::WithGil => open.calls.push(call.span),
                    Branch::WithoutGil => open.has_counterpart = true,
                    Branch::Any => {}
                }
            }
        }
    }

    fn close(&mut self) {
        let Some(open) = self.open.pop() else {
            return;
        };
        if !open.has_counterpart {
            self.left_out.extend(open.calls);
        }
    }
}

/// What the words of a directive, its own name first, ask of the build.
fn branch(words: &[&[u8]]) -> Branch {
    const GIL: &[u8] = b"Py_GIL_DISABLED";
    let plain = words.iter().copied();
    let plain: Vec<&[u8]> = plain.filter(|word| !matches!(*word, b"(" | b")")).collect();
    match plain[..] {
        [b"ifdef", name] | [b"if", b"defined", name] | [b"if", name] if name == GIL => {
            Branch::WithoutGil
        }
        [b"ifndef", name] | [b"if", b"!", b"defined", name] | [b"if", b"!", name]
            if name == GIL =>
        {
            Branch::WithGil
        }
        _ => Branch::Any,
    }
}
