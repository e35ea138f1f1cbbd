//! The text of exits that the function has.

use super::branch::{Branch, releases_all};
use crate::ast::StmtId;
use crate::strong::scene::Scene;

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
