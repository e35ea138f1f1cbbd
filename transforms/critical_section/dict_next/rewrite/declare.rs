//! Where the new variables are declared, in the style of the function.

use super::Rewrite;
use crate::ast::{StmtId, StmtKind};
use crate::source::ByteSpan;
use crate::transforms::critical_section::dict_next::text::is_whole_in_every_branch;

impl Rewrite<'_> {
    /// Declares the new variables; gives what has to stand right before the section.
    ///
    /// Where all that comes before the section in its block are declarations, or the function
    /// declares between statements anyway, that is the declarations themselves.
    pub(super) fn declare(&mut self) -> Result<Vec<String>, String> {
        let declared = std::mem::take(&mut self.declared);
        if declared.is_empty() {
            return Ok(Vec::new());
        }
        let scope = self.section.scope;
        let region = self.section.site.region;
        let parent = scope.parent(region);
        let stmts = match parent.map(|parent| scope.stmt(parent)) {
            Some(StmtKind::Block(stmts)) => &stmts[..],
            Some(StmtKind::Label { .. } | StmtKind::Case { .. } | StmtKind::Default { .. }) => {
                return self.declare_above(&declared);
            }
            // The only statement of an `if` or loop: it gets braces.
            _ => return Ok(declared),
        };
        let is_decl = |stmt: &StmtId| matches!(scope.stmt(*stmt), StmtKind::Decl(_));
        let leading = stmts.iter().take_while(|stmt| is_decl(stmt)).count();
        let is_first = stmts.get(leading) == Some(&region);
        let joins_others = leading > 0 && !self.has_labels_before();
        if scope.declares_anywhere() || (is_first && !joins_others) {
            return Ok(declared);
        }
        self.declare_above(&declared)
    }

    /// Whether a jump may lead past declarations at the top of a block.
    fn has_labels_before(&self) -> bool {
        let scope = self.section.scope;
        let start = scope.range(self.section.site.region).start;
        scope.tree().stmts.iter().any(|stmt| {
            let is_label = matches!(
                stmt.kind,
                StmtKind::Label { .. } | StmtKind::Case { .. } | StmtKind::Default { .. }
            );
            is_label && stmt.range.start < start
        })
    }

    /// Declares at the top of the enclosing block; gives the assignments that jumps into the
    /// block would otherwise miss.
    fn declare_above(&mut self, declared: &[String]) -> Result<Vec<String>, String> {
        let scope = self.section.scope;
        let region = self.section.site.region;
        let mut blocks = scope.ancestors(region);
        let block = blocks.find_map(|stmt| match scope.stmt(stmt) {
            StmtKind::Block(stmts) => Some((stmt, stmts)),
            _ => None,
        });
        let (block, stmts) = block.ok_or("the loop is in no block")?;
        let is_decl = |stmt: &&StmtId| matches!(scope.stmt(**stmt), StmtKind::Decl(_));
        let last = stmts.iter().take_while(is_decl).last();
        let (lines, assigned) = if self.has_labels_before() {
            split_assignments(declared)
        } else {
            (declared.to_vec(), Vec::new())
        };
        let span = self.span(*last.unwrap_or(&stmts[0]))?;
        let block = self.span(block)?;
        let above = ByteSpan::new(block.start().0, span.start().0);
        if !is_whole_in_every_branch(self.bytes, self.tokens, above) {
            return Err(
                "the declarations of the block stand in an `#if`: put the loop into a \
                 critical section by hand"
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

/// `int failed = 0;` as `int failed;` and `failed = 0;`.
fn split_assignments(declared: &[String]) -> (Vec<String>, Vec<String>) {
    let mut lines = Vec::new();
    let mut assigned = Vec::new();
    for line in declared {
        match line.split_once(" = ") {
            Some((declaration, value)) => {
                let name = declaration.rsplit([' ', '*']).next().unwrap_or_default();
                lines.push(format!("{declaration};"));
                assigned.push(format!("{name} = {value}"));
            }
            None => lines.push(line.clone()),
        }
    }
    (lines, assigned)
}
