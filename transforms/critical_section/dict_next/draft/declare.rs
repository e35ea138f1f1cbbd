//! Where the new variables are declared, in the style of the function.

use super::Draft;
use crate::ast::{StmtId, StmtKind};
use crate::source::ByteSpan;
use crate::transforms::critical_section::dict_next::text::is_whole_in_every_branch;

/// A new variable.
pub(in super::super) struct Variable {
    /// `int failed`
    pub(in super::super) declaration: String,
    /// What it has before the section; empty if nothing.
    pub(in super::super) value: String,
    /// Whether it can have that from the beginning of the function on.
    pub(in super::super) is_constant: bool,
}

impl Variable {
    /// The declaration with its value.
    pub(in super::super) fn declared(&self) -> String {
        match &*self.value {
            "" => format!("{};", self.declaration),
            value => format!("{} = {value};", self.declaration),
        }
    }

    /// The declaration without the value, and the assignment.
    fn split(&self) -> (String, Option<String>) {
        let name = self.declaration.rsplit([' ', '*']).next();
        let name = name.unwrap_or_default();
        let assigned = (!self.value.is_empty()).then(|| format!("{name} = {};", self.value));
        (format!("{};", self.declaration), assigned)
    }
}

impl Draft<'_> {
    /// Declares new variables for the statements from `first` on; gives what has to stand right
    /// before these.
    ///
    /// Where all that comes before them in their block are declarations, or the function declares
    /// between statements anyway, that is the declarations themselves.
    ///
    /// # Errors
    /// There is no place for them.
    pub(in super::super) fn declare(
        &mut self,
        declared: &[Variable],
        first: StmtId,
    ) -> Result<Vec<String>, String> {
        if declared.is_empty() {
            return Ok(Vec::new());
        }
        let in_place = || declared.iter().map(Variable::declared).collect();
        let scope = self.scope;
        let parent = scope.parent(first);
        let stmts = match parent.map(|parent| scope.stmt(parent)) {
            Some(StmtKind::Block(stmts)) => &stmts[..],
            Some(StmtKind::Label { .. } | StmtKind::Case { .. } | StmtKind::Default { .. }) => {
                return self.declare_above(declared, first, false);
            }
            // The only statement of an `if` or loop: it gets braces.
            _ => return Ok(in_place()),
        };
        let is_decl = |stmt: &StmtId| matches!(scope.stmt(*stmt), StmtKind::Decl(_));
        let leading = stmts.iter().take_while(|stmt| is_decl(stmt)).count();
        let is_first = stmts.get(leading) == Some(&first);
        let joins_others = is_first && leading > 0 && !self.has_labels_before(first);
        if !joins_others && (is_first || scope.declares_anywhere()) {
            return Ok(in_place());
        }
        self.declare_above(declared, first, joins_others)
    }

    /// Whether a jump may lead past declarations at the top of a block.
    fn has_labels_before(&self, first: StmtId) -> bool {
        let scope = self.scope;
        let start = scope.range(first).start;
        scope.tree().stmts.iter().any(|stmt| {
            let is_label = matches!(
                stmt.kind,
                StmtKind::Label { .. } | StmtKind::Case { .. } | StmtKind::Default { .. }
            );
            is_label && stmt.range.start < start
        })
    }

    /// Declares at the top of the enclosing block, which ends `right_before` the section or
    /// earlier; gives the assignments that come too soon there, and those that jumps into the block
    /// would miss.
    fn declare_above(
        &mut self,
        declared: &[Variable],
        first: StmtId,
        right_before: bool,
    ) -> Result<Vec<String>, String> {
        let scope = self.scope;
        let mut blocks = scope.ancestors(first);
        let block = blocks.find_map(|stmt| match scope.stmt(stmt) {
            StmtKind::Block(stmts) => Some((stmt, stmts)),
            _ => None,
        });
        let (block, stmts) = block.ok_or("the loop is not in a block")?;
        let is_decl = |stmt: &&StmtId| matches!(scope.stmt(**stmt), StmtKind::Decl(_));
        let last = stmts.iter().take_while(is_decl).last();
        let has_labels = self.has_labels_before(first);
        let mut assigned = Vec::new();
        let mut lines = Vec::new();
        for variable in declared {
            if right_before || (variable.is_constant && !has_labels) {
                lines.push(variable.declared());
            } else {
                let (line, assignment) = variable.split();
                lines.push(line);
                assigned.extend(assignment);
            }
        }
        let span = self.span(*last.unwrap_or(&stmts[0]))?;
        let block = self.span(block)?;
        let above = ByteSpan::new(block.start().0, span.start().0);
        let next = self.span(first)?.start().0;
        let is_whole = |text| is_whole_in_every_branch(self.bytes, self.tokens, text);
        // `#if … int n; while (…) … #endif`: the same branch has both.
        let is_near = last.is_some() && is_whole(ByteSpan::new(span.end().0, next));
        if !is_near && !is_whole(above) {
            return Err(
                "put the loop into a critical section by hand (the declarations of its block are \
                 in an `#if`)"
                    .into(),
            );
        }
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        if last.is_some() {
            self.openers.push(self.layout.declare_after(span, &lines));
        } else {
            self.openers.push(self.layout.declare_before(span, &lines));
        }
        Ok(assigned)
    }
}
