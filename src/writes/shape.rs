//! What an expression of a function is by its shape and type.

use rustc_hash::FxHashSet;

use super::Why;
use super::body::Body;
use crate::ast::{
    BinaryOp, ExprId, ExprKind, LocalId, Name, StmtKind, Tree, Type, TypeKind, UnaryOp,
};

impl<'a> Body<'_, '_, 'a> {
    /// The local variable of this call that an expression is, or is a part of, without a pointer
    /// in between.
    pub(super) fn part_of(&self, expr: ExprId) -> Option<LocalId> {
        let tree = self.tree();
        match &tree.expr(expr).kind {
            ExprKind::Name(Name::Local(local)) => {
                tree.local(*local).is_automatic().then_some(*local)
            }
            ExprKind::Member {
                base, arrow: false, ..
            } => self.part_of(*base),
            ExprKind::Index { base, .. } if self.is_array(*base) => self.part_of(*base),
            ExprKind::Cast { operand, .. } => self.part_of(*operand),
            _ => None,
        }
    }

    pub(super) fn is_array(&self, expr: ExprId) -> bool {
        let tree = self.tree();
        let is_param = tree
            .as_local(expr)
            .is_some_and(|local| tree.local(local).is_param);
        let ty = self.walk.types.of(tree, expr);
        !is_param && ty.is_some_and(|ty| matches!(ty.kind, TypeKind::Array(..)))
    }

    /// What an expression is the address of: `&x`, and `(z_streamp)&x` where the type is unknown, so
    /// that it reads as a product of bits.
    pub(super) fn addressed(&self, expr: ExprId) -> Option<ExprId> {
        let tree = self.tree();
        match &tree.expr(expr).kind {
            ExprKind::Unary {
                op: UnaryOp::AddressOf,
                operand,
            } => Some(*operand),
            ExprKind::Binary {
                op: BinaryOp::BitAnd,
                lhs,
                rhs,
            } => {
                let name = tree.callee_name(*lhs)?;
                let types = self.walk.types;
                let is_number = types.of(tree, *rhs).is_none_or(|ty| types.is_number(ty));
                (self.walk.variable_type(name).is_none() && !is_number).then_some(*rhs)
            }
            _ => None,
        }
    }

    /// Names the inline assembly of the function. One without instructions writes nothing, but keeps
    /// the compiler from moving what does: `__asm__ volatile("" ::: "memory")`.
    pub(super) fn check_assembly(&mut self) {
        let cx = self.walk.cx;
        let item = cx.item(self.item);
        let text = |at| item.tokens.text(cx.program.files, at);
        for stmt in &self.tree().stmts {
            let is_asm = matches!(stmt.kind, StmtKind::Asm);
            let (start, end) = (stmt.range.start, stmt.range.end);
            let mut rest = (start..end).map(text).skip_while(|word| **word != *b"(");
            let mut template = rest
                .by_ref()
                .skip(1)
                .take_while(|word| word.contains(&b'"'));
            let is_empty = template.next().is_some_and(|it| *it == *b"\"\"");
            let is_empty = is_empty && template.next().is_none();
            // `__asm__("" : "=r"(to) : "0"(from));` makes one pointer out of another.
            let sets = rest.any(|word| word.starts_with(b"\"=") || word.starts_with(b"\"+"));
            if is_asm && (sets || !is_empty) {
                let name = String::from_utf8_lossy(text(start)).into_owned();
                self.walk
                    .leave_range(self.item, stmt.range, name, Why::Assembly);
            }
        }
    }

    pub(super) fn is_of_buffer(&self, expr: ExprId) -> bool {
        let tree = self.tree();
        let ExprKind::Member { base, arrow, field } = &tree.expr(expr).kind else {
            return false;
        };
        let owner = self.walk.types.owner(tree, *base, *arrow);
        &**field == "buf"
            && owner.is_some_and(|owner| matches!(&*owner, "Py_buffer" | "struct bufferinfo"))
    }

    /// Whether an argument points to where a function of Python may put a number or a pointer:
    /// `PySlice_Unpack(slice, at, at + 1, at + 2)`.
    pub(super) fn is_for_result(&self, arg: ExprId) -> bool {
        let (tree, types) = (self.tree(), self.walk.types);
        let to = types.of(tree, arg).and_then(|ty| types.pointee(ty));
        let is_text = |ty: &Type| ty.name().is_some_and(|name| name.contains("char"));
        to.is_some_and(|to| {
            let is_result = types.is_number(to) && !is_text(to) || types.pointee(to).is_some();
            is_result && !to.is_const
        })
    }

    /// Whether nothing that an argument leads to can be written by it: it is a number, or what it
    /// points to is `const` and has no pointers of its own.
    pub(super) fn is_read_only(&self, arg: ExprId) -> bool {
        let tree = self.tree();
        let types = self.walk.types;
        let Some(ty) = types.of(tree, arg) else {
            return false;
        };
        types.is_number(ty)
            || types
                .pointee(ty)
                .is_some_and(|to| to.is_const && !self.is_opaque(to) && !self.leads_on(to))
    }

    /// Whether a type is a struct of a library that only that knows: it may take `const` off itself.
    ///
    /// ```c
    /// typedef const struct lib_font_ *lib_font;
    /// lib_font_set_size(font, 12);
    /// ```
    fn is_opaque(&self, ty: &Type) -> bool {
        let types = self.walk.types;
        let is_known = types.is_number(ty) || ty.is_void() || types.pointee(ty).is_some();
        let key = types.key(ty);
        !is_known && key.is_none_or(|key| types.definition(&key).is_none())
    }

    /// Whether a type is a struct with pointers in it, of which `const` says nothing.
    fn leads_on(&self, ty: &Type) -> bool {
        let types = self.walk.types;
        let is_struct = types.key(ty).is_some_and(|key| types.is_struct(&key));
        is_struct && !types.is_object(ty) && !types.is_plain(ty)
    }

    /// The type of what an argument points at.
    pub(super) fn pointed_at(&self, arg: ExprId) -> Option<&'a Type> {
        let (tree, types) = (self.tree(), self.walk.types);
        match self.addressed(tree.without_casts(arg)) {
            Some(operand) => types.of(tree, operand),
            None => types.pointed_at(tree, arg),
        }
    }

    /// Whether an argument is a Python object, or the address of a type.
    pub(super) fn is_object(&self, arg: ExprId) -> bool {
        let tree = self.tree();
        let types = self.walk.types;
        let inner = tree.without_casts(arg);
        if let Some(operand) = self.addressed(inner) {
            // `&PyDict_Type`
            let name = tree.callee_name(operand);
            let is_of_python = name.is_some_and(|name| {
                name.starts_with("Py") && self.walk.variable_type(name).is_none()
            });
            return is_of_python
                || types
                    .of(tree, operand)
                    .is_some_and(|ty| types.is_object(ty));
        }
        let is_object = |expr| {
            types
                .of(tree, expr)
                .is_some_and(|ty| types.is_object_pointer(ty))
        };
        is_object(arg) || is_object(inner)
    }
}

/// The locals whose address is kept, and not only an argument of a call: `char **end = &text;`.
pub(super) fn pointed(tree: &Tree) -> FxHashSet<LocalId> {
    let mut given = FxHashSet::default();
    for expr in &tree.exprs {
        if let ExprKind::Call { args, .. } = &expr.kind {
            given.extend(args.iter().map(|&arg| tree.without_casts(arg)));
        }
    }
    let kept = tree.expr_ids().filter(|at| !given.contains(at));
    let addressed = kept.filter_map(|at| match tree.expr(at).kind {
        ExprKind::Unary {
            op: UnaryOp::AddressOf,
            operand,
        } => tree.as_local(without_fields(tree, operand)),
        _ => None,
    });
    addressed.collect()
}

/// `box` of `box.text`.
fn without_fields(tree: &Tree, mut expr: ExprId) -> ExprId {
    while let ExprKind::Member {
        base, arrow: false, ..
    } = tree.expr(expr).kind
    {
        expr = base;
    }
    expr
}
