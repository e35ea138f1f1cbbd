//! Releases as text, at the slots that the plan has for them.

use crate::ast::{LocalId, StmtId, StmtKind, Type};
use crate::edit::BraceStyle;
use crate::source::ByteSpan;
use crate::strong::emit::Draft;
use crate::strong::follow::slots::Slot;
use crate::strong::plan::Planned;
use crate::strong::reason::Reason;

impl Draft<'_, '_> {
    /// Puts releases where the plan has them.
    ///
    /// # Errors
    /// A new `else` cannot be written.
    pub(in crate::strong) fn releases(&mut self, planned: &Planned) -> Result<(), Reason> {
        for (&call, &(variable, null)) in &planned.decisions.held {
            if self.is_kept_by_break(call, &planned.home) {
                continue;
            }
            let release = self.release(planned, variable, null);
            self.at_exit.entry(call).or_default().push(release);
        }
        for (&slot, &(variable, null)) in &planned.decisions.releases {
            let name = &planned.home.name;
            let line = match planned.decisions.cleared.contains(&slot) {
                true => format!("Py_CLEAR({name});"),
                false => self.release(planned, variable, null),
            };
            match slot {
                slot if self.behind_endif(planned, slot, &line) => {}
                Slot::Before(stmt) => self.before(stmt, [line]),
                Slot::After(stmt) => self.after(stmt, [line]),
                Slot::Else(stmt) => self.in_new_else(stmt, line, name)?,
                Slot::Inside(block) => self.fillings.entry(block).or_default().push(line),
                Slot::InReturn(_) => {}
            }
        }
        Ok(())
    }

    /// Puts a release where it goes behind an `#endif` up to which some configuration reads the
    /// variable: right behind it, and not behind the comment of the statement that comes next.
    fn behind_endif(&mut self, planned: &Planned, slot: Slot, line: &str) -> bool {
        let (scene, layout) = (self.scene, &self.scene.layout);
        let point = match slot {
            Slot::Before(stmt) => scene.cfg.before(stmt),
            Slot::After(stmt) => scene.cfg.after(stmt),
            _ => None,
        };
        let read = point.and_then(|point| scene.elsewhere(point));
        let is_behind = planned.decisions.behind_endif.contains(&slot);
        let Some(read) = read.filter(|_| is_behind) else {
            return false;
        };
        let Some(beside) = scene.stmt_span(read.beside) else {
            return false;
        };
        let line_of = |at| scene.cx.file(scene.file).position(at).line.0;
        if line_of(beside.start()) == line_of(read.endif) + 1 {
            return false;
        }
        let indentation = String::from_utf8_lossy(layout.indentation(beside.start()));
        let edit = layout.insert_line_after(read.endif, &format!("{indentation}{line}"));
        self.fix.edits.push(edit);
        true
    }

    /// Releases between the computation of a result and the `return`. They come last: whether the
    /// result is declared there depends on what stands in front of the statement.
    ///
    /// # Errors
    /// A variable for the result cannot be declared.
    pub(in crate::strong) fn returns(&mut self, planned: &Planned) -> Result<(), Reason> {
        for (&slot, &(variable, null)) in &planned.decisions.releases {
            if let Slot::InReturn(stmt) = slot {
                let line = self.release(planned, variable, null);
                self.in_return(stmt, line)?;
            }
        }
        Ok(())
    }

    fn release(&self, planned: &Planned, variable: Option<LocalId>, null: bool) -> String {
        let name = variable.map_or(&*planned.home.name, |local| self.scene.name(local));
        let release = if null { "Py_XDECREF" } else { "Py_DECREF" };
        format!("{release}({name});")
    }

    /// Notes a line for the `else` that `stmt` gets.
    fn in_new_else(&mut self, stmt: StmtId, line: String, name: &str) -> Result<(), Reason> {
        let StmtKind::If { then, .. } = self.scene.tree.stmt(stmt).kind else {
            return Err(Reason::NoPlace(name.to_owned()));
        };
        let braced = matches!(self.scene.tree.stmt(then).kind, StmtKind::Block(_));
        if !braced || self.scene.stmt_span(stmt).is_none() {
            return Err(Reason::NoPlace(name.to_owned()));
        }
        self.elses.entry(stmt).or_default().push(line);
        Ok(())
    }

    /// Writes each new `else` once, with the lines of all homes.
    pub(in crate::strong) fn new_elses(&mut self) {
        for (stmt, body) in std::mem::take(&mut self.elses) {
            let Some(span) = self.scene.stmt_span(stmt) else {
                continue;
            };
            let mut lines = self.block_of("else", &body, span);
            let separator = match self.scene.layout.braces() {
                BraceStyle::SameLine => " ".to_owned(),
                BraceStyle::NextLine | BraceStyle::Indented => {
                    lines.insert(0, String::new());
                    String::new()
                }
            };
            let text = self.joined(&lines, span);
            self.insert(span.end(), separator + &text);
        }
    }

    /// Fills each empty block once: `else { /* nothing */ }`.
    pub(in crate::strong) fn fill_blocks(&mut self) {
        for (block, body) in std::mem::take(&mut self.fillings) {
            let Some(span) = self.scene.stmt_span(block) else {
                continue;
            };
            let brace = ByteSpan::new(span.end().0 - 1, span.end().0);
            let inner = self
                .scene
                .text(ByteSpan::new(span.start().0, brace.start().0));
            let blanks = inner.len() - inner.trim_end().len();
            let step = self.step(brace);
            let mut lines = vec![String::new()];
            lines.extend(body.iter().map(|line| format!("{step}{line}")));
            lines.push(String::new());
            let blanks = u32::try_from(blanks).expect("files are indexed by u32");
            let text = self.joined(&lines, brace);
            self.replace(
                ByteSpan::new(brace.start().0 - blanks, brace.start().0),
                text,
            );
        }
    }

    /// `return f(), v;` assigns `(f(), v)`.
    fn parenthesize(&mut self, stmt: StmtId, keyword: ByteSpan) {
        let scene = self.scene;
        let StmtKind::Return(Some(value)) = scene.tree.stmt(stmt).kind else {
            return;
        };
        let Some(span) = scene.span(value).filter(|_| scene.tree.is_comma(value)) else {
            return;
        };
        let between = scene.text(ByteSpan::new(keyword.end().0, span.start().0));
        if !between.contains('(') {
            self.insert(span.start(), "(");
            self.insert(span.end(), ")");
        }
    }

    /// `return f(v);` turns into `int result = f(v); Py_DECREF(v); return result;`.
    fn in_return(&mut self, stmt: StmtId, release: String) -> Result<(), Reason> {
        if self.answered.contains(&stmt) {
            self.before(stmt, [release]);
            return Ok(());
        }
        let around = self.around.entry(stmt).or_default();
        if let Some(last) = around.after.len().checked_sub(1) {
            around.after.insert(last, release);
            return Ok(());
        }
        let no_place = || Reason::NoPlace("the result".to_owned());
        let span = self.scene.stmt_span(stmt).ok_or_else(no_place)?;
        let types = self.scene.cx.types();
        // typedef const int status;
        let fits = |ret: &&Type| !ret.is_void() && !types.is_const_by_name(ret);
        let ret = Some(&self.scene.function.ret).filter(fits);
        let prefix = ret.and_then(Type::result_prefix).ok_or_else(no_place)?;
        let name = self.unused_name(&["result", "ret", "retval", "rv"]);
        let head = self.declare(stmt, &prefix, &name);
        let keyword = ByteSpan::new(span.start().0, span.start().0 + 6);
        self.replace(keyword, head);
        self.parenthesize(stmt, keyword);
        self.after(stmt, [release, format!("return {name};")]);
        Ok(())
    }
}
