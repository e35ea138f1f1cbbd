//! Expressions that name objects.

use std::collections::{BTreeMap, BTreeSet};

use crate::ast::{ExprId, ExprKind, LocalId, Name, Tree, Type, TypeKind, UnaryOp};
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
        if self.is_array(expr) || self.is_array_by_name(expr) {
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

    fn is_array_by_name(&self, expr: ExprId) -> bool {
        let local = self.tree.as_local(expr);
        local.is_some_and(|local| self.arrays.contains(&local))
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

/// The variables that are arrays by another name: of a type that is not seen, and all that is done
/// with them is to give them to calls, of which the first one can only set them: `mpz_t z;
/// mpz_init(z);`.
pub(super) fn named_arrays(tree: &Tree) -> BTreeSet<LocalId> {
    let declared = tree.declarations().filter(|decl| decl.init.is_none());
    let is_one = |local: LocalId| {
        let variable = tree.local(local);
        let is_named = matches!(variable.ty.kind, TypeKind::Named(_));
        is_named && !variable.ty.is_number() && !variable.is_param && variable.is_automatic()
    };
    let declared = declared.map(|decl| decl.local).filter(|&it| is_one(it));
    // How often each is named in any way but these.
    let mut others: BTreeMap<LocalId, i32> = declared.map(|local| (local, 0)).collect();
    if others.is_empty() {
        return BTreeSet::new();
    }
    let mut count = |expr: ExprId, by: i32| {
        let local = tree.as_local(tree.without_casts(expr));
        if let Some(times) = local.and_then(|local| others.get_mut(&local)) {
            *times += by;
        }
    };
    for expr in tree.expr_ids() {
        match &tree.expr(expr).kind {
            ExprKind::Name(Name::Local(_)) => count(expr, 1),
            ExprKind::Call { args, .. } => args.iter().for_each(|&arg| count(arg, -1)),
            ExprKind::Member {
                base, arrow: true, ..
            }
            | ExprKind::Index { base, .. } => count(*base, -1),
            _ => {}
        }
    }
    let arrays = others.into_iter().filter(|(_, times)| *times == 0);
    arrays.map(|(local, _)| local).collect()
}
