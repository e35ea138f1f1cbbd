//! How control leaves a statement other than by its end.

use std::collections::BTreeSet;

use crate::ast::{ExprId, StmtId, StmtKind, TokenRange, Tree, Visitor, walk_stmt};
use crate::cfg::Terminator;

use super::leaving::{always_leaves, is_same_behind};
use super::scope::{Scope, inside};
use super::site::{Kind, Site};

/// A statement that leaves the region.
#[derive(Debug, Clone)]
pub(super) struct Exit {
    pub(super) stmt: StmtId,
    pub(super) kind: ExitKind,
    pub(super) reach: Reach,
}

/// How the end of the region can be reached from an exit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    /// By `break` of the region's own loop.
    Break,
    /// By `goto`, out of inner loops and `switch`es.
    Jump,
    /// By going on: it is the last statement.
    End,
}

/// Where it goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ExitKind {
    Return(Option<ExprId>),
    Goto(Box<str>),
    /// The use of a macro that always leaves.
    Macro,
    /// `break` of a loop or `switch` around the region.
    Break,
    /// `continue` of a loop around the region.
    Continue,
}

/// All jumps of a region.
#[derive(Debug, Default)]
pub(super) struct Exits {
    /// Those that leave it.
    pub(super) out: Vec<Exit>,
    /// `break` and `continue` of the region's own loop.
    pub(super) own: Vec<StmtId>,
}

impl Exits {
    /// Finds the jumps of the region.
    ///
    /// # Errors
    /// Why there can be no section around the region: jumps into it, or out of it by a macro.
    pub(super) fn collect(scope: &Scope<'_>, site: &Site) -> Result<Self, String> {
        let exits = Self::of_region(scope, site)?;
        for exit in &exits.out {
            written_out(scope, site, exit)?;
        }
        Ok(exits)
    }

    /// The same, whatever text the exits have.
    ///
    /// # Errors
    /// Something may jump into the region, or out of it to where nobody knows.
    pub(super) fn of_region(scope: &Scope<'_>, site: &Site) -> Result<Self, String> {
        let mut collector = Collector {
            scope,
            region: site.range(scope),
            site,
            iteration: matches!(site.kind, Kind::Loop | Kind::DoLoop).then_some(site.iteration),
            around: Vec::new(),
            labels: BTreeSet::new(),
            gotos: Vec::new(),
            obstacle: None,
            exits: Self::default(),
        };
        for stmt in scope.statements(site.region.first, site.region.last) {
            collector.visit_stmt(scope.tree(), stmt);
        }
        collector.resolve_gotos();
        if let Some(obstacle) = collector.obstacle {
            return Err(obstacle.to_owned());
        }
        jump_into(scope, site, &collector.labels)?;
        left_unseen(scope, site)?;
        Ok(collector.exits)
    }
}

/// An error if a `goto` from outside leads to a label inside.
fn jump_into(scope: &Scope<'_>, site: &Site, labels: &BTreeSet<Box<str>>) -> Result<(), String> {
    let region = site.range(scope);
    let outside = scope
        .tree()
        .stmts
        .iter()
        .filter(|s| !inside(s.range, region));
    for stmt in outside {
        match &stmt.kind {
            StmtKind::Goto(label) if labels.contains(label) => {
                return Err(format!(
                    "move the label out of the loop first (`goto {label}` jumps into the loop, but \
                     nothing may jump into a critical section)"
                ));
            }
            StmtKind::ComputedGoto(_) if !labels.is_empty() => {
                return Err(
                    "replace the computed `goto` (it may jump into the loop, but nothing may jump \
                     into a critical section)"
                        .into(),
                );
            }
            _ => {}
        }
    }
    Ok(())
}

/// An error if a macro whose definition is not found may leave the region: `ERROR("no name", -1);`.
fn left_unseen(scope: &Scope<'_>, site: &Site) -> Result<(), String> {
    let region = site.range(scope);
    for block in &scope.cfg.blocks {
        let Terminator::Return(_, stmt) = block.terminator else {
            continue;
        };
        let is_jump = matches!(scope.stmt(stmt), StmtKind::Return(_));
        if !is_jump && inside(scope.range(stmt), region) {
            let text = scope.stmt_text(stmt).unwrap_or_default();
            let name = text.split('(').next().unwrap_or_default().trim();
            return Err(format!("{LEFT_BY_MACRO}`{name}`, if that is a macro"));
        }
    }
    Ok(())
}

/// What the advice says where a macro leaves the loop.
const LEFT_BY_MACRO: &str = "move the loop into a separate function and call that in the critical \
                             section, or iterate over a copy (`PyDict_Copy`), because the loop is \
                             left by ";

/// Whether a loop has no section because a macro leaves it.
pub(crate) fn is_left_by_macro(advice: &str) -> bool {
    advice.starts_with(LEFT_BY_MACRO)
}

/// An error if a macro of the project makes the exit, and cannot be used behind the region instead.
fn written_out(scope: &Scope<'_>, site: &Site, exit: &Exit) -> Result<(), String> {
    if exit.kind == ExitKind::Macro && is_same_behind(scope, site, exit.stmt) {
        return Ok(());
    }
    if is_plain(scope, exit) {
        return Ok(());
    }
    let place = scope
        .cx
        .item(scope.item)
        .tokens
        .place(scope.range(exit.stmt));
    let name = match place {
        crate::preprocess::Place::Macro { name, .. }
        | crate::preprocess::Place::Argument { name, .. } => format!("the macro `{name}`"),
        crate::preprocess::Place::File(..) => "a macro".to_owned(),
    };
    Err(format!("{LEFT_BY_MACRO}{name}"))
}

/// Whether the exit is written as what it is, or as one of these macros.
pub(super) fn is_plain(scope: &Scope<'_>, exit: &Exit) -> bool {
    let text = scope.stmt_text(exit.stmt);
    text.as_deref().is_some_and(|text| {
        let word = text
            .split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
            .next();
        matches!(word, Some("return" | "goto" | "break" | "continue"))
            || (is_return_macro(text) && text.ends_with(';'))
    })
}

/// Macros of the C API that return and name nothing of the loop.
pub(super) fn is_return_macro(text: &str) -> bool {
    let name = text.trim_end_matches(';').trim_end();
    matches!(
        name,
        "Py_RETURN_NONE" | "Py_RETURN_TRUE" | "Py_RETURN_FALSE" | "Py_RETURN_NOTIMPLEMENTED"
    )
}

struct Collector<'s, 'a> {
    scope: &'s Scope<'a>,
    region: TokenRange,
    site: &'s Site,
    /// The loop that iterates.
    iteration: Option<StmtId>,
    /// Loops and `switch`es of the region around the present statement, innermost last.
    around: Vec<StmtId>,
    labels: BTreeSet<Box<str>>,
    gotos: Vec<Exit>,
    obstacle: Option<&'static str>,
    exits: Exits,
}

impl Collector<'_, '_> {
    fn exit(&self, stmt: StmtId, kind: ExitKind) -> Exit {
        Exit {
            stmt,
            kind,
            reach: match self.around[..] {
                [only] if self.iteration == Some(only) && self.is_last(only) => Reach::Break,
                [] if self.is_last(stmt) && !self.is_before_release(stmt) => Reach::End,
                _ => Reach::Jump,
            },
        }
    }

    /// Whether nothing of the region runs behind `stmt`.
    fn is_last(&self, stmt: StmtId) -> bool {
        let mut at = stmt;
        while at != self.site.region.last {
            let Some(parent) = self.scope.parent(at) else {
                return false;
            };
            let ends = match self.scope.stmt(parent) {
                StmtKind::Block(stmts) => stmts.last() == Some(&at),
                kind => matches!(kind, StmtKind::If { .. } | StmtKind::Label { .. }),
            };
            if !ends {
                return false;
            }
            at = parent;
        }
        true
    }

    /// Whether the end of the body, where references are released, may come behind `stmt`.
    ///
    /// ```c
    /// if (PyDict_Next(d, &pos, &key, NULL)) {
    ///     if (PyDict_DelItem(d, key) < 0)
    ///         goto error;
    /// }                                       /* Py_DECREF(key); */
    /// ```
    fn is_before_release(&self, stmt: StmtId) -> bool {
        let site = self.site;
        let end = match self.scope.stmt(site.body.last) {
            StmtKind::Block(stmts) if site.kind != Kind::Once => stmts.last().copied(),
            _ => Some(site.body.last),
        };
        inside(self.scope.range(stmt), site.body_range(self.scope)) && end != Some(stmt)
    }

    /// What `break` (or `continue`) leads to the end of; `None` if that is around the region.
    fn target(&self, kind: &StmtKind) -> Option<StmtId> {
        let mut around = self.around.iter().rev().copied();
        match kind {
            StmtKind::Break => around.next(),
            _ => around.find(|&stmt| self.scope.is_loop(stmt)),
        }
    }

    fn note_jump(&mut self, id: StmtId, kind: &StmtKind) {
        match kind {
            StmtKind::Return(value) => {
                let exit = self.exit(id, ExitKind::Return(*value));
                self.exits.out.push(exit);
            }
            StmtKind::Goto(label) => {
                let exit = self.exit(id, ExitKind::Goto(label.clone()));
                self.gotos.push(exit);
            }
            StmtKind::Break | StmtKind::Continue => match self.target(kind) {
                None => {
                    let kind = match kind {
                        StmtKind::Break => ExitKind::Break,
                        _ => ExitKind::Continue,
                    };
                    let exit = self.exit(id, kind);
                    self.exits.out.push(exit);
                }
                target if target == self.iteration => self.exits.own.push(id),
                Some(_) => {}
            },
            StmtKind::ComputedGoto(_) => {
                self.obstacle = Some(
                    "iterate over a copy (`PyDict_Copy`), because a computed `goto` may leave the \
                     loop",
                );
            }
            StmtKind::Case { .. } | StmtKind::Default { .. } if !self.is_in_switch() => {
                self.obstacle = Some(
                    "move the `case` label out of the loop (it leads into the loop, but nothing \
                     may jump into a critical section)",
                );
            }
            StmtKind::Label { name, .. } => {
                self.labels.insert(name.clone());
            }
            _ => {}
        }
    }

    fn is_in_switch(&self) -> bool {
        self.around.iter().any(|&stmt| !self.scope.is_loop(stmt))
    }

    fn resolve_gotos(&mut self) {
        for exit in std::mem::take(&mut self.gotos) {
            match &exit.kind {
                ExitKind::Goto(label) if self.labels.contains(label) => {}
                _ => self.exits.out.push(exit),
            }
        }
        self.exits.out.sort_by_key(|exit| exit.stmt);
    }
}

impl Visitor for Collector<'_, '_> {
    fn visit_stmt(&mut self, tree: &Tree, id: StmtId) {
        if always_leaves(self.scope, self.region, id) {
            let exit = self.exit(id, ExitKind::Macro);
            return self.exits.out.push(exit);
        }
        let kind = &tree.stmt(id).kind;
        self.note_jump(id, kind);
        let is_around = self.scope.is_loop(id) || matches!(kind, StmtKind::Switch { .. });
        if is_around {
            self.around.push(id);
        }
        walk_stmt(self, tree, id);
        if is_around {
            self.around.pop();
        }
    }
}
