//! What was considered at a call that can fail now, in words: `cargo dev trace`.

use super::branch::{Branch, branches};
use super::exit::candidates;
use super::{Exits, text};
use crate::ast::StmtId;

impl Exits<'_, '_> {
    /// What an exit has to do here, and why each one is or is not taken over.
    pub(in crate::strong) fn trace(&self) -> Vec<String> {
        let mut lines = self.tasks();
        for branch in branches(self.scene) {
            let known = self.branches.iter().find(|it| it.jump == branch.jump);
            let answer = known.map_or("it does not return the error", |it| self.answer(it));
            lines.push(format!("exit at {}: {answer}", self.shown(branch.jump)));
        }
        for (name, candidate) in candidates(self) {
            lines.push(match candidate() {
                None => format!("{name}: none"),
                Some(exit) if self.loses(&exit) => {
                    format!("{name}: `{}` would leak", exit.join(" "))
                }
                Some(exit) => format!("{name}: `{}`", exit.join(" ")),
            });
        }
        lines
    }

    fn tasks(&self) -> Vec<String> {
        let scene = self.scene;
        let owned = self.state.owned().into_iter();
        let owned: Vec<&str> = owned.map(|it| scene.name(it.local)).collect();
        let told = match self.returns {
            true => "returns",
            false => "is not known to return",
        };
        let mut lines = vec![
            format!(
                "the function {told} `{}` for an error",
                self.error.text(scene)
            ),
            format!("it owns here: {}", listed(&owned)),
        ];
        let tasks = [
            ("an exit also has to undo", &self.undo.due),
            ("an exit may have to undo", &self.undo.unsure),
        ];
        for (what, stmts) in tasks {
            lines.extend(stmts.iter().map(|&it| format!("{what} {}", self.shown(it))));
        }
        if !self.locks.is_empty() {
            let locks: Vec<&str> = self.locks.iter().map(String::as_str).collect();
            lines.push(format!("held by earlier calls: {}", listed(&locks)));
        }
        lines
    }

    /// Whether the exit that `branch` takes is right here, too.
    fn answer(&self, branch: &Branch) -> &'static str {
        if self.bare(branch).is_some() {
            return "its jump fits";
        }
        let Some(start) = self.scene.cfg.before(branch.then) else {
            return "it is never reached";
        };
        if start.index != 0 || text(self.scene, branch).is_none() {
            return "it does more than to release and to leave";
        }
        if !self.fails_cleanly(start.block) {
            return "it does not release just what is owned here";
        }
        if !self.undoes(branch) {
            return "it does not undo just what has begun here";
        }
        match self.is_apart_from(branch) {
            true => "it fits",
            false => "what it leaves behind may differ here",
        }
    }

    fn shown(&self, stmt: StmtId) -> String {
        let scene = self.scene;
        scene.stmt_span(stmt).map_or_else(
            || "a statement from a macro".to_owned(),
            |span| {
                let line = scene.cx.file(scene.file).position(span.start()).line.0;
                format!("line {line}, `{}`", scene.text(span))
            },
        )
    }
}

fn listed(names: &[&str]) -> String {
    match names {
        [] => "nothing".to_owned(),
        _ => format!("`{}`", names.join("`, `")),
    }
}
