//! An `if` in the style of the function.

use super::Draft;
use crate::ast::StmtKind;
use crate::edit::BraceStyle;
use crate::source::ByteSpan;

impl Draft<'_> {
    /// `if (condition) …` over several lines, indented for a place beside `region`.
    pub(in super::super) fn branch(
        &self,
        condition: &str,
        action: &[String],
        region: ByteSpan,
    ) -> String {
        let ending = self.layout.line_ending(region.start());
        let outer = match self.layout.braceless_head(region) {
            Some(head) => self
                .layout
                .step()
                .deeper(self.layout.indentation(head.start)),
            None => self.layout.indentation(region.start()).to_vec(),
        };
        let inner = String::from_utf8_lossy(&self.layout.step().deeper(&outer)).into_owned();
        let outer = String::from_utf8_lossy(&outer).into_owned();
        let line = |line: &String| {
            let line = line.replace('\n', &format!("{ending}{inner}"));
            format!("{ending}{inner}{line}")
        };
        let body: String = action.iter().map(line).collect();
        let open = self.layout.if_open();
        if action.len() == 1 && !self.always_braces() {
            return format!("{open}{condition}){body}");
        }
        match self.layout.braces() {
            BraceStyle::SameLine => format!("{open}{condition}) {{{body}{ending}{outer}}}"),
            BraceStyle::NextLine => {
                format!("{open}{condition}){ending}{outer}{{{body}{ending}{outer}}}")
            }
            BraceStyle::Indented => {
                let step = inner.strip_prefix(&*outer).unwrap_or_default();
                let body = body.replace(
                    &format!("{ending}{inner}"),
                    &format!("{ending}{inner}{step}"),
                );
                format!("{open}{condition}){ending}{inner}{{{body}{ending}{inner}}}")
            }
        }
    }

    /// Whether no `if` of the function goes without braces.
    fn always_braces(&self) -> bool {
        let scope = self.scope;
        scope.tree().stmts.iter().all(|stmt| match stmt.kind {
            StmtKind::If { then, .. } => matches!(scope.stmt(then), StmtKind::Block(_)),
            _ => true,
        })
    }
}
