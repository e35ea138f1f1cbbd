//! Which automatic variables live where.

use crate::ast::LocalId;

/// Names a scope of the function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ScopeId(usize);

struct Scope {
    parent: Option<ScopeId>,
    depth: usize,
    /// Automatic variables, each with its place in the order of all declarations.
    locals: Vec<(LocalId, usize)>,
}

/// All scopes met so far, as a tree. `None` stands for the function itself, outside of its body.
#[derive(Default)]
pub(super) struct Scopes {
    all: Vec<Scope>,
    current: Option<ScopeId>,
    declared: usize,
}

/// Where a jump starts.
#[derive(Debug, Clone, Copy)]
pub(super) struct ScopePoint {
    scope: Option<ScopeId>,
    /// How many variables were declared before it.
    declared: usize,
}

impl Scopes {
    pub(super) fn current(&self) -> Option<ScopeId> {
        self.current
    }

    pub(super) fn here(&self) -> ScopePoint {
        ScopePoint {
            scope: self.current,
            declared: self.declared,
        }
    }

    pub(super) fn open(&mut self) {
        let depth = self.depth(self.current) + 1;
        self.all.push(Scope {
            parent: self.current,
            depth,
            locals: Vec::new(),
        });
        self.current = Some(ScopeId(self.all.len() - 1));
    }

    /// Closes the innermost scope; gives its variables, last declared first.
    pub(super) fn close(&mut self) -> Vec<LocalId> {
        let parent = self.current.and_then(|scope| self.all[scope.0].parent);
        let locals = self.left(self.here(), parent);
        self.current = parent;
        locals
    }

    pub(super) fn declare(&mut self, local: LocalId) {
        if let Some(scope) = self.current {
            self.all[scope.0].locals.push((local, self.declared));
        }
        self.declared += 1;
    }

    /// Variables that die on a jump to a point inside `target`, last declared first.
    pub(super) fn left(&self, from: ScopePoint, mut target: Option<ScopeId>) -> Vec<LocalId> {
        let mut locals = Vec::new();
        let mut at = from.scope;
        while at != target {
            if self.depth(target) > self.depth(at) {
                target = self.parent(target);
                continue;
            }
            let Some(scope) = at else { break };
            let declared = self.all[scope.0].locals.iter().rev();
            locals.extend(
                declared
                    .filter(|entry| entry.1 < from.declared)
                    .map(|entry| entry.0),
            );
            at = self.parent(at);
        }
        locals
    }

    fn parent(&self, scope: Option<ScopeId>) -> Option<ScopeId> {
        scope.and_then(|scope| self.all[scope.0].parent)
    }

    fn depth(&self, scope: Option<ScopeId>) -> usize {
        scope.map_or(0, |scope| self.all[scope.0].depth)
    }
}
