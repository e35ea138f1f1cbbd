//! What becomes of memory whose address a call gets.
//!
//! ```c
//! n = strlen(text);                             /* is read */
//! fill(text, n);                                /* is written */
//! capsule = PyCapsule_New(text, NULL, drop);    /* is taken: it may be freed, or freed later */
//! ```

use rustc_hash::FxHashSet;

use super::{Program, Types};
use crate::ast::{BinaryOp, ExprId, ExprKind, Function, Init, LocalId, StmtKind, Tree, UnaryOp};
use crate::capi::{self, Acts};

/// How deep functions of the package are looked into.
const MAX_DEPTH: usize = 4;

/// What may become of it; the last is the most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Handed {
    /// Nothing.
    Read,
    /// What is there, or what that leads to, may be written or freed.
    Written,
    /// It may be freed itself, or kept by others.
    Taken,
}

/// What becomes of memory that some variables of a function lead to.
pub struct Hands<'a> {
    program: &'a Program<'a>,
    types: &'a Types<'a>,
    tree: &'a Tree,
    depth: usize,
}

impl<'a> Hands<'a> {
    /// For the expressions of `tree`.
    #[must_use]
    pub fn new(program: &'a Program<'a>, types: &'a Types<'a>, tree: &'a Tree) -> Self {
        Self {
            program,
            types,
            tree,
            depth: MAX_DEPTH,
        }
    }

    /// The variables that hold an address in the memory of `local`, or what is read from there.
    #[must_use]
    pub fn aliases(&self, local: LocalId) -> FxHashSet<LocalId> {
        let tree = self.tree;
        let mut found = FxHashSet::from_iter([local]);
        loop {
            let leads = |value: ExprId| {
                self.root(value)
                    .is_some_and(|(root, _)| found.contains(&root))
            };
            let is_pointer = |local: LocalId| !self.types.is_number(&tree.local(local).ty);
            let is_same = |value: ExprId| tree.as_local(tree.without_casts(value)).is_some();
            let given = tree.stores().filter(|&(to, value)| {
                let is_object = self.types.is_object_pointer(&tree.local(to).ty);
                leads(value) && is_pointer(to) && (is_same(value) || !is_object)
            });
            // `t.items = items;`
            let put = tree.exprs.iter().filter_map(|expr| match expr.kind {
                ExprKind::Assign { lhs, rhs, .. } if leads(lhs) => {
                    let from = tree.as_local(tree.without_casts(rhs))?;
                    let ty = &tree.local(from).ty;
                    (is_pointer(from) && !self.types.is_object_pointer(ty)).then_some(from)
                }
                _ => None,
            });
            let more = given.map(|(to, _)| to).chain(put);
            let more: Vec<LocalId> = more.filter(|it| !found.contains(it)).collect();
            if more.is_empty() {
                return found;
            }
            found.extend(more);
        }
    }

    /// What an expression, and nothing within it, does with the memory of `aliases`.
    #[must_use]
    pub fn at(&self, expr: ExprId, aliases: &FxHashSet<LocalId>) -> Handed {
        let tree = self.tree;
        if let Some(place) = tree.changed(expr) {
            return self.stored(expr, place, aliases);
        }
        let ExprKind::Call { callee, args } = &tree.expr(expr).kind else {
            return Handed::Read;
        };
        let name = tree.callee_name(*callee);
        let given = args.iter().enumerate().filter_map(|(at, &arg)| {
            let (root, is_inner) = self.root(arg)?;
            aliases.contains(&root).then_some((at, arg, is_inner))
        });
        let handed = given.map(|(at, arg, is_inner)| {
            let handed = match name {
                // A number leads to no memory.
                _ if self.is_number(arg) => Handed::Read,
                // An object stays whole, whoever gets it.
                _ if is_inner && self.is_object(arg) => Handed::Read,
                Some(name) => self.by(name, at, self.is_object(arg)),
                None => Handed::Taken,
            };
            match is_inner {
                true => handed.min(Handed::Written),
                false => handed,
            }
        });
        handed.max().unwrap_or(Handed::Read)
    }

    fn stored(&self, expr: ExprId, place: ExprId, aliases: &FxHashSet<LocalId>) -> Handed {
        let tree = self.tree;
        let is_variable = |local: LocalId| tree.local(local).is_automatic();
        let is_plain = tree.as_local(place).is_some_and(is_variable);
        let root = self.root(place).filter(|(root, _)| aliases.contains(root));
        let value = match tree.expr(expr).kind {
            ExprKind::Assign { op: None, rhs, .. } => self.root(rhs),
            _ => None,
        };
        let gives = value.is_some_and(|(root, is_inner)| !is_inner && aliases.contains(&root));
        match (gives && !is_plain && root.is_none(), root) {
            (true, _) => Handed::Taken,
            (false, Some(_)) if !is_plain => Handed::Written,
            _ => Handed::Read,
        }
    }

    /// What the function `name` does with what its argument `at` points at.
    fn by(&self, name: &str, at: usize, is_object: bool) -> Handed {
        let mut own = self.program.functions_named(name).peekable();
        if own.peek().is_none() {
            return outside(name, at, is_object);
        }
        let Some(depth) = self.depth.checked_sub(1) else {
            return Handed::Taken;
        };
        let inner = own.map(|(_, function)| {
            let hands = Hands {
                tree: &function.tree,
                depth,
                ..*self
            };
            hands.inside(function, at)
        });
        inner.max().unwrap_or(Handed::Taken)
    }

    fn inside(&self, function: &Function, at: usize) -> Handed {
        let Some(&param) = function.params.get(at) else {
            return Handed::Taken;
        };
        let tree = self.tree;
        let aliases = self.aliases(param);
        let leads = |value: ExprId| {
            let root = self.root(value);
            root.is_some_and(|(root, is_inner)| !is_inner && aliases.contains(&root))
        };
        let is_list = tree.declarations().any(|decl| match &decl.init {
            Some(Init::List(list)) => tree.exprs_in(list.range).any(|(expr, _)| leads(expr)),
            _ => false,
        });
        let is_kept = tree.stmts.iter().any(|stmt| match stmt.kind {
            StmtKind::Return(Some(value)) => leads(value),
            StmtKind::Asm => true,
            _ => false,
        });
        if is_list || is_kept {
            return Handed::Taken;
        }
        let handed = tree.expr_ids().map(|expr| self.at(expr, &aliases));
        handed.max().unwrap_or(Handed::Read)
    }

    /// The variable whose memory an expression leads to, or is read from, and whether it is what is
    /// read there: `t.items` and `t->items` are, `&t`, `t` and `t + 1` are not.
    #[must_use]
    pub fn root(&self, expr: ExprId) -> Option<(LocalId, bool)> {
        let tree = self.tree;
        match tree.expr(expr).kind {
            ExprKind::Cast { operand, .. } => self.root(operand),
            ExprKind::Unary { op, operand } => match op {
                UnaryOp::AddressOf => self.root(operand).map(|(root, _)| (root, false)),
                UnaryOp::Deref => self.root(operand).map(|(root, _)| (root, true)),
                _ if op.is_step() => self.root(operand),
                _ => None,
            },
            ExprKind::Binary {
                op: BinaryOp::Plus | BinaryOp::Minus,
                lhs,
                rhs,
            } => self.root(lhs).or_else(|| self.root(rhs)),
            ExprKind::Conditional {
                then, otherwise, ..
            } => then
                .and_then(|then| self.root(then))
                .or_else(|| self.root(otherwise)),
            ExprKind::Member { base, .. } | ExprKind::Index { base, .. } => {
                self.root(base).map(|(root, _)| (root, true))
            }
            _ => tree.as_local(expr).map(|local| (local, false)),
        }
    }

    fn is_number(&self, arg: ExprId) -> bool {
        let ty = self.types.of(self.tree, arg);
        ty.is_some_and(|ty| self.types.is_number(ty))
    }

    fn is_object(&self, arg: ExprId) -> bool {
        let ty = self.types.of(self.tree, self.tree.without_casts(arg));
        ty.is_some_and(|ty| self.types.is_object_pointer(ty))
    }
}

/// What a function outside of the package does with what its argument `at` points at.
fn outside(name: &str, at: usize, is_object: bool) -> Handed {
    let acts = capi::acts(name);
    let effects = capi::effects(name);
    let changes = acts.is_some_and(|acts| acts.changes(at));
    let is_freed = changes && acts.is_some_and(|acts| acts.frees);
    let writes = capi::writes(name);
    let is_kept = capi::keeps_pointer(name, at)
        || writes.is_some_and(|it| it.keeps.is_some_and(|first| at >= first));
    // Python keeps its objects whole.
    if is_object && effects.is_some() && !is_freed {
        return Handed::Read;
    }
    if is_freed || is_kept || acts == Some(Acts::UNKNOWN) {
        return Handed::Taken;
    }
    let is_out = effects.is_some_and(|it| it.out(at).is_some());
    match changes || is_out || writes.is_some_and(|it| it.behind(at) || it.place(at)) {
        true => Handed::Written,
        false => Handed::Read,
    }
}
