//! UG302: critical sections that some path leaves open.

use crate::ast::{ExprKind, Function};
use crate::capi;
use crate::cfg::{self, Cfg, Point, Source};
use crate::declare_rule;
use crate::preprocess::Place;
use crate::program::{Body, ItemId, ProgramItem};
use crate::rule::{Finding, Note, Outcome, PackageCx};
use crate::sections::{Fault, Imbalance, Section, check_balance};
use crate::source::{ByteSpan, FileId};

declare_rule! {
    /// ## What it does
    /// Finds paths through a function that begin a critical section, or a block of
    /// `Py_BEGIN_ALLOW_THREADS`, and do not end it, or that end one that they did not begin. The same
    /// holds for a static `PyMutex` in functions that both lock and unlock it.
    ///
    /// ## Why
    /// On the free-threaded build, a section that is left open keeps its object locked for ever, and
    /// its record on the stack is used after the function has returned. On the build with the GIL, the
    /// macros are bare braces, so neither the compiler nor the tests report anything.
    ///
    /// ## Example
    /// ```c
    /// Py_BEGIN_CRITICAL_SECTION(self);
    /// if (self->closed)
    ///     return -1;              /* self stays locked */
    /// self->count++;
    /// Py_END_CRITICAL_SECTION();
    /// ```
    /// Use instead:
    /// ```c
    /// int result = -1;
    /// Py_BEGIN_CRITICAL_SECTION(self);
    /// if (!self->closed) {
    ///     self->count++;
    ///     result = 0;
    /// }
    /// Py_END_CRITICAL_SECTION();
    /// return result;
    /// ```
    ///
    /// ## Confidence
    /// There is no fix: only the author knows what was meant. If you move the body into a function of
    /// its own (`count_lock_held`), every `return` in it is allowed.
    ///
    /// ## Limits
    /// | limit | what happens then | sample | what to do |
    /// |---|---|---|---|
    /// | The function is entered or left with the mutex held by design: it unlocks before it locks, or its name says that it locks | no finding | `static void state_lock(void) { PyMutex_Lock(&m); }` | |
    pub static UNBALANCED_CRITICAL_SECTION {
        code: "UG302",
        name: "unbalanced-critical-section",
        summary: "a critical section that some path leaves open or ends twice",
        severity: Memory,
        since: "0.1.0",
        best: None,
        triggers: &[
            "PyCriticalSection_Begin",
            "PyCriticalSection_BeginMutex",
            "PyCriticalSection2_Begin",
            "PyCriticalSection2_BeginMutex",
            "PyCriticalSection_End",
            "PyCriticalSection2_End",
            "PyEval_SaveThread",
            "PyMutex_Lock",
        ],
        check: check,
    }
}

fn check(cx: &PackageCx<'_>, findings: &mut Vec<Finding>) {
    for (item, at) in cx.program.items.iter().zip(0u32..) {
        let Some(Body::Function(function)) = &item.body else {
            continue;
        };
        let cfg = cfg::build(function, &capi::never_returns);
        let all = check_balance(&cfg, &function.tree);
        for found in all
            .iter()
            .filter(|found| !is_by_design(function, &all, found))
        {
            let report = Report {
                cx,
                item,
                id: ItemId(at),
                cfg: &cfg,
            };
            findings.extend(report.finding(found, &function.name));
        }
    }
    // Variants of a function for other configurations say the same again.
    findings.sort_by(|a, b| (a.file, a.span, &a.message).cmp(&(b.file, b.span, &b.message)));
    findings.dedup_by(|b, a| (a.file, a.span, &a.message) == (b.file, b.span, &b.message));
}

/// Whether the function is half of a pair: one takes the mutex, another gives it back.
///
/// ```c
/// static int pool_acquire(void) { PyMutex_Lock(&pool); if (!ready) { PyMutex_Unlock(&pool); return -1; } return 0; }
/// static void wait(void) { PyMutex_Unlock(&pool); sleep(1); PyMutex_Lock(&pool); }
/// ```
fn is_by_design(function: &Function, all: &[Imbalance], found: &Imbalance) -> bool {
    if !matches!(found.section, Some(Section::Mutex(_))) {
        return false;
    }
    let name = function.name.to_ascii_lowercase();
    let ends_first =
        |other: &Imbalance| other.section == found.section && other.fault == Fault::NotOpen;
    let first = |name: &str| {
        let mut exprs = function.tree.exprs.iter();
        exprs.position(|expr| {
            matches!(&expr.kind, ExprKind::Call { callee, .. }
                if function.tree.callee_name(*callee) == Some(name))
        })
    };
    let unlocks_later = first("PyMutex_Unlock") > first("PyMutex_Lock");
    ["lock", "acquire", "enter"]
        .iter()
        .any(|word| name.contains(word))
        || all.iter().any(ends_first)
        || !unlocks_later
}

struct Report<'a> {
    cx: &'a PackageCx<'a>,
    item: &'a ProgramItem,
    id: ItemId,
    cfg: &'a Cfg,
}

impl Report<'_> {
    fn finding(&self, found: &Imbalance, function: &str) -> Option<Finding> {
        let (file, span) = self.text_at(found.at)?;
        let name = self.section_name(found.section.as_ref());
        let is_mutex = matches!(found.section, Some(Section::Mutex(_)));
        let message = match found.fault {
            Fault::LeftOpen if is_mutex => {
                format!("{name} is still locked here; the next thread that locks it waits forever")
            }
            Fault::OpenTwice if is_mutex => {
                format!(
                    "{name} is locked here although it may already be locked; the thread then \
                     waits for itself"
                )
            }
            Fault::LeftOpen => {
                format!("{name} is still open here; the function leaves without ending it")
            }
            Fault::NotOpen => {
                format!("{name} ends here although it may not be open; its lock is released twice")
            }
            Fault::OpenTwice => {
                format!("{name} begins here although it may be open; the first one is never ended")
            }
            Fault::WrongEnd => "this ends a critical section that was not begun here; it releases \
                                the wrong lock"
                .to_owned(),
        };
        Some(Finding {
            rule: &UNBALANCED_CRITICAL_SECTION,
            file,
            span,
            function: Some(function.to_owned()),
            api: None,
            message,
            notes: self.notes(found),
            outcome: Outcome::Manual(advice(found.fault, is_mutex).to_owned()),
        })
    }

    fn notes(&self, found: &Imbalance) -> Vec<Note> {
        let note = |at, text: &str| {
            let (file, span) = self.text_at(at)?;
            Some(Note {
                file,
                span,
                text: text.to_owned(),
            })
        };
        let branch = |&(at, held): &(Point, bool)| {
            note(at, if held { "this holds" } else { "this is false" })
        };
        let opened = found.opened.and_then(|at| note(at, "it begins here"));
        let branches = found.path.iter().filter_map(branch);
        opened.into_iter().chain(branches).collect()
    }

    fn section_name(&self, section: Option<&Section>) -> String {
        match (section, self.cx.tree(self.id)) {
            (Some(Section::Mutex(name)), _) => format!("`{name}`"),
            (Some(Section::Record(local)), Some(tree)) if tree.local(*local).name == "_save" => {
                "the block without the GIL".to_owned()
            }
            _ => "the critical section".to_owned(),
        }
    }

    /// The text of the step at `point`, or of the use of the macro that made it; the closing brace
    /// if the step is the end of a block.
    fn text_at(&self, point: Point) -> Option<(FileId, ByteSpan)> {
        let tree = self.cx.tree(self.id)?;
        let range = match self.cfg.source(point)? {
            Source::Expr(expr) => tree.expr(expr).range,
            Source::Stmt(stmt) => tree.stmt(stmt).range,
        };
        match self.item.tokens.place(range) {
            Place::File(file, span) if self.cx.file(file).slice(span).contains(&b'\n') => {
                let end = span.end().0;
                Some((file, ByteSpan::new(end.saturating_sub(1), end)))
            }
            place => Some(place.written_at()),
        }
    }
}

fn advice(fault: Fault, is_mutex: bool) -> &'static str {
    match fault {
        Fault::LeftOpen if is_mutex => "unlock it on this path, too",
        Fault::OpenTwice if is_mutex => "unlock it first, or lock it once around both",
        Fault::LeftOpen => {
            "store the result and leave after the end of the section, or move its body into a \
             function that is called in the section"
        }
        Fault::NotOpen => "move the label after the end of the section, or the jump into it",
        Fault::OpenTwice => "jump to a place before the section begins",
        Fault::WrongEnd => "use the end macro that belongs to the begin macro, in the same block",
    }
}

#[cfg(test)]
mod tests {
    use super::UNBALANCED_CRITICAL_SECTION;
    use crate::testing::report;

    fn found(body: &str) -> String {
        let text = format!("static int\nf(PyObject *d, int n)\n{{\n{body}\n    return 0;\n}}\n");
        report(&UNBALANCED_CRITICAL_SECTION, &text)
    }

    #[test]
    fn the_end_of_another_kind_is_told() {
        insta::assert_snapshot!(found("    Py_BEGIN_CRITICAL_SECTION2(d, d);\n    g();\n    Py_END_CRITICAL_SECTION();"), @r"
        6: this ends a critical section that was not begun here; it releases the wrong lock
          by hand: use the end macro that belongs to the begin macro, in the same block
        6: the critical section is still open here; the function leaves without ending it
          4: it begins here
          by hand: store the result and leave after the end of the section, or move its body into a function that is called in the section
        ");
    }

    #[test]
    fn a_mutex_that_a_path_keeps_is_told() {
        insta::assert_snapshot!(found("    static PyMutex m;\n    PyMutex_Lock(&m);\n    if (n < 0)\n        return -1;\n    PyMutex_Lock(&m);\n    PyMutex_Unlock(&m);"), @"
        7: `m` is still locked here; the next thread that locks it waits forever
          5: it begins here
          6: this holds
          by hand: unlock it on this path, too
        8: `m` is locked here although it may already be locked; the thread then waits for itself
          5: it begins here
          6: this is false
          by hand: unlock it first, or lock it once around both
        ");
    }

    #[test]
    fn functions_that_hand_on_a_mutex_are_silent() {
        let body = "    if (n) {\n        PyMutex_Unlock(&m);\n        wait();\n        PyMutex_Lock(&m);\n    }";
        assert_eq!(found(body), "");
        assert_eq!(
            found("    PyMutex_Lock(&m);\n    if (n)\n        return 1;"),
            ""
        );
        let acquire = "static int pool_acquire(int n) { PyMutex_Lock(&m); if (n) { PyMutex_Unlock(&m); return -1; } return 0; }";
        assert_eq!(report(&UNBALANCED_CRITICAL_SECTION, acquire), "");
    }

    #[test]
    fn balanced_sections_are_silent() {
        assert_eq!(
            found(
                "    Py_BEGIN_CRITICAL_SECTION(d);\n    while (n--)\n        if (g()) break;\n    Py_END_CRITICAL_SECTION();"
            ),
            ""
        );
        assert_eq!(
            found("    Py_BEGIN_ALLOW_THREADS\n    n = wait();\n    Py_END_ALLOW_THREADS"),
            ""
        );
    }
}
