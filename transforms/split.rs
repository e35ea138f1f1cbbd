//! Splits a function into its body, which expects a lock, and a wrapper that takes it.

use crate::ast::{ExprId, ExprKind};
use crate::edit::Edit;
use crate::rule::{Head, ItemId, PackageCx, Refusal};
use crate::source::{ByteSpan, FileId};
use crate::state::Own;

/// What the name of the body ends in.
const SUFFIX: &str = "_lock_held";

/// A function that can be split.
pub(super) struct Split<'a> {
    cx: &'a PackageCx<'a>,
    pub(super) file: FileId,
    /// What the body is called.
    pub(super) body_name: String,
    /// The positions of the parameters that are locked: one, or two.
    locked: Vec<usize>,
    item: ItemId,
    head: Head<'a>,
}

impl<'a> Split<'a> {
    /// A split of `item` whose wrapper locks the parameters at the positions `locked`, one or two.
    pub(super) fn new(
        cx: &'a PackageCx<'a>,
        item: ItemId,
        locked: Vec<usize>,
    ) -> Result<Self, Refusal> {
        let head = Head::new(cx, item)?;
        let body_name = format!("{}{SUFFIX}", head.function.name);
        if !head.is_free(&body_name) {
            return Err("the name for its body is already used");
        }
        Ok(Self {
            cx,
            file: head.file,
            body_name,
            locked,
            item,
            head,
        })
    }

    /// The macro that begins the section.
    pub(super) fn section(&self) -> &'static str {
        match self.locked.len() {
            1 => "Py_BEGIN_CRITICAL_SECTION",
            _ => "Py_BEGIN_CRITICAL_SECTION2",
        }
    }

    pub(super) fn is_same_text(&self, other: &Self) -> bool {
        (self.file, self.head.whole) == (other.file, other.head.whole)
    }

    /// Renames the body, calls the bodies of `others` where their locks are held already, and adds the
    /// wrapper.
    pub(super) fn edits(&self, others: &[Split<'_>]) -> Vec<Edit> {
        let mut edits = self.head.renamed(SUFFIX);
        edits.extend(self.calls(others));
        let end = ByteSpan::empty(self.head.whole.end());
        edits.push(self.head.edit(end, self.wrapper()));
        edits
    }

    /// Calls of methods that are split as well, on objects that are locked: their bodies are called. A
    /// section inside of another on the same object would let others in.
    fn calls(&self, others: &[Split<'_>]) -> Vec<Edit> {
        let function = self.head.function;
        let tree = &function.tree;
        let own = self.locked.iter().filter_map(|&at| Own::new(function, at));
        let own: Vec<Own> = own.collect();
        let is_locked = |object: &ExprId| own.iter().any(|own| own.is_object(tree, *object));
        let calls = tree.exprs.iter().filter_map(|expr| match &expr.kind {
            ExprKind::Call { callee, args } => Some((*callee, args)),
            _ => None,
        });
        calls
            .filter_map(|(callee, args)| {
                let name = tree.callee_name(callee)?;
                let mut others = others.iter();
                let other = others.find(|other| other.head.function.name == name)?;
                let mut objects = other.locked.iter().map(|&at| args.get(at));
                if !objects.all(|object| object.is_some_and(is_locked)) {
                    return None;
                }
                let (file, span) = self.cx.span(self.item, callee)?;
                let is_known = file == other.file && other.head.name.start() < span.start();
                is_known.then(|| self.head.edit(ByteSpan::empty(span.end()), SUFFIX))
            })
            .collect()
    }

    /// The function under the old name.
    fn wrapper(&self) -> String {
        let function = self.head.function;
        let step = self.head.indentation();
        let names: Vec<&str> = function
            .params
            .iter()
            .map(|&param| function.tree.local(param).name.as_str())
            .collect();
        let call = format!("{}({})", self.body_name, names.join(", "));
        let locked = self.locked.iter().filter_map(|&at| names.get(at).copied());
        let locked: Vec<&str> = locked.collect();
        let begin = self.section();
        let result = if names.contains(&"result") {
            "res"
        } else {
            "result"
        };
        let declaration = self.head.result_variable(result);
        let is_void = declaration.is_none();
        let stored = format!("{result} = {call};");
        let lines = [
            declaration,
            Some(format!("{begin}({});", locked.join(", "))),
            Some(if is_void { format!("{call};") } else { stored }),
            Some(format!("{}();", begin.replace("BEGIN", "END"))),
            (!is_void).then(|| format!("return {result};")),
        ];
        let ending = self.head.line_ending();
        let (head, brace) = (self.head.text(), self.head.opening_brace());
        let mut text = format!("{ending}{ending}{head}{brace}");
        for line in lines.into_iter().flatten() {
            text += &format!("{ending}{step}{line}");
        }
        text + ending + "}"
    }
}
