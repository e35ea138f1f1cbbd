//! The text of exits that the function has, for another place: the names mean the same there.

use super::Exits;
use super::branch::{Branch, releases_all};
use super::made_exit::release;
use super::state::Owned;
use crate::ast::StmtId;
use crate::strong::scene::Scene;

impl Exits<'_, '_> {
    /// The lines of the releases and of the jump of a branch.
    pub(super) fn text(&self, branch: &Branch) -> Option<Vec<String>> {
        let mut stmts = branch.releases.iter().chain([&branch.jump]);
        let fits = stmts.all(|&stmt| self.means_the_same(stmt));
        text(self.scene, branch).filter(|_| fits)
    }

    /// The statement's own text if it is one line of the file.
    pub(super) fn line(&self, stmt: StmtId) -> Option<String> {
        line(self.scene, stmt).filter(|_| self.means_the_same(stmt))
    }

    /// The statement that releases what a variable owns.
    pub(super) fn release(&self, owned: Owned) -> Option<String> {
        let at = self.scene.stmt_of(self.call)?;
        release(self.scene, owned).filter(|_| self.scene.is_named(owned.local, at))
    }

    /// Whether `stmt` would mean the same where the call stands.
    fn means_the_same(&self, stmt: StmtId) -> bool {
        let at = self.scene.stmt_of(self.call);
        let range = self.scene.tree.stmt(stmt).range;
        at.is_some_and(|at| self.scene.means_the_same(range, at))
    }
}

/// The lines of the releases and of the jump of a branch.
pub(in crate::strong) fn text(scene: &Scene<'_>, branch: &Branch) -> Option<Vec<String>> {
    let stmts = branch.releases.iter().chain([&branch.jump]);
    let lines: Option<Vec<_>> = stmts
        .map(|&stmt| match releases_all(scene, stmt) {
            true => lines(scene, stmt),
            false => Some(vec![line(scene, stmt)?]),
        })
        .collect();
    Some(lines?.concat())
}

/// The lines of a loop, as far as they are indented by it; `None` if there are directives among
/// them.
fn lines(scene: &Scene<'_>, stmt: StmtId) -> Option<Vec<String>> {
    let span = scene.stmt_span(stmt)?;
    let outer = String::from_utf8_lossy(scene.layout.indentation(span.start())).into_owned();
    let text = scene.text(span);
    let lines = text.lines().enumerate().map(|(at, line)| match at {
        0 => Some(line),
        _ => line.strip_prefix(&*outer),
    });
    let lines: Option<Vec<String>> = lines
        .map(|line| Some(line?.trim_end().to_owned()))
        .collect();
    lines.filter(|_| !text.contains('#'))
}

/// The statement's own text if it is one line of the file.
pub(in crate::strong) fn line(scene: &Scene<'_>, stmt: StmtId) -> Option<String> {
    let text = scene.text(scene.stmt_span(stmt)?);
    (!text.contains('\n')).then_some(text)
}
