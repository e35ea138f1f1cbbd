//! What the pointers of one function may point to, in one context; every path counts.

use std::ops::BitOrAssign;
use std::rc::Rc;

use rustc_hash::FxHashMap;

use super::guards::Guards;
use super::published::Published;
use super::text::Text;
use super::value::{Kinds, Value};
use super::walk::{Context, Walk};
use crate::ast::{
    BinaryOp, ExprId, ExprKind, Function, Init, LocalId, Name, StmtKind, Tree, Type, TypeKind,
    UnaryOp,
};
use crate::rule::ItemId;

/// Rounds after which everything counts as shared: a chain of locals this long is not met.
const MAX_ROUNDS: usize = 12;

/// What a caller learns of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Summary {
    /// What it returns.
    pub(super) result: Value,
    /// What pointers that it stores in memory of its caller point to.
    pub(super) stored: Kinds,
    /// The arguments that others may have afterwards, a bit for each.
    pub(super) published: u32,
    /// The arguments by which what it returns can be reached, a bit for each.
    pub(super) ways: u32,
}

impl BitOrAssign for Summary {
    fn bitor_assign(&mut self, other: Self) {
        self.result |= other.result;
        self.stored = self.stored | other.stored;
        self.published |= other.published;
        self.ways |= other.ways;
    }
}

/// What a call gives to the functions of the package that it may mean.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Given {
    pub(super) values: Vec<Value>,
    pub(super) handles: u32,
    /// See [`Walk::full`].
    pub(super) full: usize,
}

/// A call in the last round: what it gave, to what, and what that did.
#[derive(Debug)]
pub(super) struct Called {
    pub(super) given: Given,
    pub(super) nodes: Vec<usize>,
    pub(super) summary: Summary,
}

/// A place that is written: what kind of memory it lies in, and the static variable it is.
#[derive(Debug, Clone)]
pub(super) struct Place<'t> {
    pub(super) memory: Value,
    pub(super) variable: Option<&'t Name>,
}

/// One function in one context.
pub(super) struct Body<'w, 'c, 'a> {
    pub(super) walk: &'w mut Walk<'c, 'a>,
    pub(super) item: ItemId,
    pub(super) function: &'a Function,
    /// The locks that the caller holds.
    pub(super) held: Guards,
    /// The parameters that are handles which others have, a bit for each.
    pub(super) handles: u32,
    /// What is the same in all contexts.
    pub(super) known: Rc<Text<'a>>,
    pub(super) locals: Vec<Value>,
    /// What is stored in memory that is private.
    pub(super) inner: Kinds,
    /// What others may have.
    pub(super) published: Published,
    /// What calls give.
    results: FxHashMap<ExprId, Value>,
    /// What calls of functions of the package gave them last, and what these did.
    pub(super) called: FxHashMap<ExprId, Called>,
    /// What is stored in memory of the caller.
    stored: Kinds,
}

impl<'w, 'c, 'a> Body<'w, 'c, 'a> {
    pub(super) fn new(
        walk: &'w mut Walk<'c, 'a>,
        context: &Context,
        function: &'a Function,
    ) -> Self {
        let mut locals = vec![Value::NONE; function.tree.locals.len()];
        for (at, &param) in function.params.iter().enumerate() {
            let value = context.params.get(at).copied().unwrap_or(Value::SHARED);
            let is_number = walk.types.is_number(&function.tree.local(param).ty);
            locals[param.0 as usize] = if is_number { Value::NONE } else { value };
        }
        let known = walk.text_of(context.item, function);
        Self {
            walk,
            known,
            item: context.item,
            function,
            held: context.held.clone(),
            handles: context.handles,
            locals,
            inner: Kinds::default(),
            published: Published::default(),
            results: FxHashMap::default(),
            called: FxHashMap::default(),
            stored: Kinds::default(),
        }
    }

    pub(super) fn run(mut self) -> Summary {
        let mut before = self.state();
        let is_settled = (0..MAX_ROUNDS).any(|_| {
            self.round();
            let after = self.state();
            std::mem::replace(&mut before, after) == before
        });
        if !is_settled {
            self.locals.fill(Value::SHARED);
        }
        for at in self.function.tree.expr_ids() {
            self.check(at);
        }
        if !self.walk.members.numbers.is_empty() {
            self.check_numbers();
        }
        self.check_handles();
        self.check_sizes();
        self.check_released();
        if self.walk.has_locks {
            self.note_reads();
            self.check_copied_locks();
        }
        self.check_assembly();
        let returns = self.returns();
        Summary {
            result: self.returned(&returns),
            ways: self.ways_out(&returns),
            stored: self.stored,
            published: self.published_params(),
        }
    }

    fn state(&self) -> (Vec<Value>, FxHashMap<ExprId, Value>, Kinds, Kinds) {
        let (locals, results) = (self.locals.clone(), self.results.clone());
        (locals, results, self.inner, self.stored)
    }

    pub(super) fn tree(&self) -> &'a Tree {
        &self.function.tree
    }

    fn round(&mut self) {
        let tree = self.tree();
        // What is private is only known by now.
        self.published.forget();
        self.walk.reached.forget_calls();
        for decl in tree.declarations() {
            for value in decl.init.iter().flat_map(Init::values) {
                let points = self.value(value);
                self.store_local(decl.local, points);
                self.names_too(decl.local, value);
            }
        }
        for at in tree.expr_ids() {
            match &tree.expr(at).kind {
                ExprKind::Assign { lhs, rhs, .. } => {
                    let value = self.value(*rhs);
                    self.store(*lhs, value, Some(*rhs), at);
                }
                ExprKind::Call { callee, args } => {
                    let value = self.call(at, *callee, args);
                    *self.results.entry(at).or_default() |= value;
                }
                _ => {}
            }
        }
    }

    fn returns(&self) -> Vec<ExprId> {
        let returns = self.tree().stmts.iter().filter_map(|stmt| match stmt.kind {
            StmtKind::Return(value) => value,
            _ => None,
        });
        returns.collect()
    }

    fn returned(&self, returns: &[ExprId]) -> Value {
        let values = returns.iter().map(|&value| match self.is_handed_on(value) {
            true => Value::SHARED,
            false => self.value(value),
        });
        values.fold(Value::NONE, |all, value| all | value)
    }

    pub(super) fn store_local(&mut self, local: LocalId, value: Value) {
        let ty = &self.tree().local(local).ty;
        if !self.walk.types.is_number(ty) {
            self.locals[local.0 as usize] |= value;
        }
    }

    /// `lhs = value`, where `value` may be that of the expression `from`.
    pub(super) fn store(&mut self, lhs: ExprId, value: Value, from: Option<ExprId>, at: ExprId) {
        if let Some(local) = self.part_of(lhs) {
            self.store_local(local, value);
            if let Some(from) = from {
                self.names_too(local, from);
            }
            return;
        }
        let memory = self.place(lhs).memory.points;
        if memory.has(Kinds::PRIVATE) {
            self.holds(lhs, from, at);
            self.inner = self.inner | value.all();
            self.stored = self.stored | value.all();
        }
        if memory.has(Kinds::SHARED | Kinds::REPORTED) {
            self.publish(from, at);
        }
    }

    /// What a callee stored in memory that it was given.
    pub(super) fn took(&mut self, stored: Kinds) {
        self.inner = self.inner | stored;
        self.stored = self.stored | stored;
    }

    /// `pick(&text)`: what a callee stored may now be in locals of which it got the address.
    pub(super) fn set_given(&mut self, stored: Kinds, args: &[ExprId]) {
        for &arg in args {
            let operand = self.addressed(self.tree().without_casts(arg));
            if let Some(local) = operand.and_then(|operand| self.part_of(operand)) {
                self.store_local(local, Value::of(stored, stored));
            }
        }
    }

    /// The memory in which the place `expr` lies.
    pub(super) fn place(&self, expr: ExprId) -> Place<'a> {
        let tree = self.tree();
        let unnamed = |memory| Place {
            memory,
            variable: None,
        };
        match &tree.expr(expr).kind {
            ExprKind::Name(name) => match name {
                Name::Local(local) if tree.local(*local).is_automatic() => {
                    let value = self.locals[local.0 as usize];
                    unnamed(Value::of(Kinds::PRIVATE, value.all()))
                }
                Name::Local(local) if tree.local(*local).thread_local => unnamed(Value::PRIVATE),
                _ => Place {
                    memory: Value::SHARED,
                    variable: Some(name),
                },
            },
            ExprKind::Member {
                base, arrow: false, ..
            } => self.place(*base),
            ExprKind::Index { base, .. } if self.is_array(*base) => self.place(*base),
            ExprKind::Member { base, .. } => unnamed(self.value(*base)),
            // `1[table]`
            ExprKind::Index { base, index } if self.walk.types.is_pointer(tree, *index) => {
                unnamed(self.value(*base) | self.value(*index))
            }
            ExprKind::Index { base, .. } => unnamed(self.value(*base)),
            ExprKind::Unary {
                op: UnaryOp::Deref,
                operand,
            } => unnamed(self.value(*operand)),
            ExprKind::Cast { operand, .. } => self.place(*operand),
            // `Py_SIZE(self) = n`
            ExprKind::Call { args, .. } if !args.is_empty() => unnamed(self.value(args[0])),
            _ => unnamed(self.value(expr)),
        }
    }

    /// What a pointer that is the value of `expr`, or stands in it, may point to.
    pub(super) fn value(&self, expr: ExprId) -> Value {
        let tree = self.tree();
        if let Some(operand) = self.addressed(expr) {
            return self.address(operand);
        }
        match &tree.expr(expr).kind {
            ExprKind::Name(Name::Local(local)) => {
                let settled = self.known.settled.value(tree, *local, expr);
                settled.map_or_else(|| self.local(*local), |value| self.value(value))
            }
            ExprKind::Name(Name::Global(name)) => {
                let ty = self.walk.variable_type(name);
                ty.map_or(Value::NONE, |ty| self.of_static(ty))
            }
            ExprKind::Str(_) => Value::LENT,
            ExprKind::Call { .. } => self.results.get(&expr).copied().unwrap_or_default(),
            ExprKind::Member { .. }
            | ExprKind::Index { .. }
            | ExprKind::Unary {
                op: UnaryOp::Deref, ..
            } => self.read(expr),
            ExprKind::Unary { op, operand } if op.is_step() => self.value(*operand),
            ExprKind::Binary { op, lhs, rhs } => self.computed(*op, *lhs, *rhs),
            ExprKind::Assign { lhs, rhs, .. } => self.value(*rhs) | self.value(*lhs),
            ExprKind::Conditional {
                cond,
                then,
                otherwise,
            } => self.value(then.unwrap_or(*cond)) | self.value(*otherwise),
            ExprKind::Cast { ty, operand } => self.cast(ty, *operand),
            ExprKind::VaArg { ty, .. } if !self.walk.types.is_number(ty) => Value::SHARED,
            ExprKind::Compound { init, .. } => {
                let values = init.values().into_iter().map(|value| self.value(value));
                let value = values.fold(Value::NONE, |all, value| all | value);
                Value::of(Kinds::PRIVATE | value.points, value.all())
            }
            ExprKind::Stmt(stmt) => self.last_of(*stmt),
            _ => Value::NONE,
        }
    }

    fn last_of(&self, stmt: crate::ast::StmtId) -> Value {
        match &self.tree().stmt(stmt).kind {
            StmtKind::Block(stmts) => stmts.last().map_or(Value::NONE, |&last| self.last_of(last)),
            StmtKind::Expr(expr) => self.value(*expr),
            _ => Value::NONE,
        }
    }

    fn computed(&self, op: BinaryOp, lhs: ExprId, rhs: ExprId) -> Value {
        match op {
            BinaryOp::Comma => self.value(rhs),
            BinaryOp::Plus | BinaryOp::Minus | BinaryOp::BitAnd | BinaryOp::BitOr => {
                self.value(lhs) | self.value(rhs)
            }
            _ => Value::NONE,
        }
    }

    fn local(&self, local: LocalId) -> Value {
        let it = self.tree().local(local);
        let value = self.locals[local.0 as usize];
        match &it.ty.kind {
            _ if !it.is_automatic() => self.of_static(&it.ty),
            TypeKind::Array(..) if !it.is_param => Value::of(Kinds::PRIVATE, value.all()),
            _ if self.known.pointed.contains(&local) => value | Value::of(self.inner, self.inner),
            _ => value,
        }
    }

    /// What is read from a variable of static storage.
    fn of_static(&self, ty: &Type) -> Value {
        match &ty.kind {
            _ if self.walk.types.is_number(ty) => Value::NONE,
            TypeKind::Array(element, _) if element.is_const => Value::LENT,
            TypeKind::Pointer(to) if to.is_const => Value::LENT,
            _ if self.walk.types.is_object_pointer(ty) => Value::KEPT,
            _ => Value::SHARED,
        }
    }

    fn address(&self, operand: ExprId) -> Value {
        let tree = self.tree();
        match &tree.expr(operand).kind {
            // `&FooType`, `&function`
            ExprKind::Name(Name::Global(name)) => match self.walk.variable_type(name) {
                Some(ty) if ty.is_const => Value::LENT,
                Some(_) => Value::SHARED,
                None if self.walk.is_function(name) => Value::NONE,
                None => Value::SHARED,
            },
            _ => self.place(operand).memory,
        }
    }
}
