//! Expressions that name objects.

use crate::ast::{ExprId, ExprKind, Name, Type, TypeKind, UnaryOp};
use crate::cfg::{Base, InstrKind, Operand, Place, Projection, Source};

use super::Builder;

impl Builder<'_> {
    /// The object that `expr` names; runs what it takes to find it.
    pub(super) fn place(&mut self, expr: ExprId) -> Place {
        let tree = self.tree;
        match &tree.expr(expr).kind {
            ExprKind::Name(Name::Local(local)) => Place::whole(Base::Local(*local)),
            ExprKind::Name(Name::Global(name)) => Place::whole(Base::Global(name.clone())),
            ExprKind::Member { base, field, arrow } => {
                let mut place = if *arrow {
                    self.pointee(*base)
                } else {
                    self.place(*base)
                };
                place.path.push(Projection::Field(field.clone()));
                place
            }
            ExprKind::Index { base, index } => {
                let mut place = self.pointee(*base);
                place.path.push(Projection::Index(self.value(*index)));
                place
            }
            ExprKind::Unary {
                op: UnaryOp::Deref,
                operand,
            } => self.pointee(*operand),
            ExprKind::Compound { init, .. } => {
                let place = Place::whole(Base::Unnamed(expr));
                self.init_list(Source::Expr(expr), &place, init);
                place
            }
            ExprKind::Int(_)
            | ExprKind::Float
            | ExprKind::Char
            | ExprKind::Str(_)
            | ExprKind::Call { .. }
            | ExprKind::Unary { .. }
            | ExprKind::Binary { .. }
            | ExprKind::Assign { .. }
            | ExprKind::Conditional { .. }
            | ExprKind::Cast { .. }
            | ExprKind::TypeQuery(_)
            | ExprKind::SizeOfExpr(_)
            | ExprKind::VaArg { .. }
            | ExprKind::Stmt(_) => self.unnamed(expr),
        }
    }

    /// Reads the object that `expr` names; an array gives its address instead.
    pub(super) fn load(&mut self, expr: ExprId) -> Operand {
        let place = self.place(expr);
        if self.is_array(expr) {
            return Operand::AddressOf(Box::new(place));
        }
        self.emit_value(expr, |dst| InstrKind::Load { dst, place })
    }

    /// `&expr`; `&*p` is `p`.
    pub(super) fn address_of(&mut self, expr: ExprId) -> Operand {
        match self.place(expr) {
            Place {
                base: Base::Deref(pointer),
                path,
            } if path.is_empty() => pointer,
            place => Operand::AddressOf(Box::new(place)),
        }
    }

    /// What the value of `pointer` points at; `*&x` is `x`.
    fn pointee(&mut self, pointer: ExprId) -> Place {
        match self.value(pointer) {
            Operand::AddressOf(place) => *place,
            pointer => Place::whole(Base::Deref(pointer)),
        }
    }

    /// Keeps the value of `expr`, which has no object, in one: `f().field`.
    fn unnamed(&mut self, expr: ExprId) -> Place {
        let value = self.value(expr);
        let place = Place::whole(Base::Unnamed(expr));
        self.emit(
            Source::Expr(expr),
            InstrKind::Store {
                place: place.clone(),
                value,
            },
        );
        place
    }

    /// Whether `expr` names a local array or a row of one: `m[i]` of `int m[2][2]`.
    fn is_array(&self, expr: ExprId) -> bool {
        matches!(
            self.local_type(expr),
            Some(Type {
                kind: TypeKind::Array(..),
                ..
            })
        )
    }

    /// The declared type of a local or of an item of a local array. Parameters of array type are
    /// pointers.
    fn local_type(&self, expr: ExprId) -> Option<&Type> {
        let mut steps = 0;
        let mut at = expr;
        while let ExprKind::Index { base, .. } = self.tree.expr(at).kind {
            steps += 1;
            at = base;
        }
        let ExprKind::Name(Name::Local(local)) = self.tree.expr(at).kind else {
            return None;
        };
        let local = self.tree.local(local);
        let is_pointer = local.is_param && steps == 0;
        let mut ty = Some(&local.ty).filter(|_| !is_pointer);
        for _ in 0..steps {
            ty = ty?.pointee();
        }
        ty
    }
}
