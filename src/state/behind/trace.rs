//! Where the pointers of one function lead.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashMap;

use super::code::{Callee, Code, Holds, Leads};
use super::outside::{Use, gives_part, is_unknown, use_of};
use super::{Access, Behind, How, Region, Regions, Spot, Summary};
use crate::ast::{
    BinaryOp, ExprId, ExprKind, Init, LocalId, Name, StmtId, StmtKind, Tree, Type, UnaryOp,
};
use crate::program::ItemId;

/// One look at a function, with what is known of the others by then.
pub(super) struct Trace<'t, 'c, 'a> {
    behind: &'t Behind<'c, 'a>,
    code: &'t Code<'a>,
    locals: Vec<Regions>,
    results: FxHashMap<ExprId, Regions>,
    stores: BTreeMap<usize, BTreeSet<Spot>>,
    accesses: BTreeSet<Access>,
    /// Whether the last round found anything new.
    grows: bool,
}

impl<'t, 'c, 'a> Trace<'t, 'c, 'a> {
    pub(super) fn of(behind: &'t Behind<'c, 'a>, code: &'t Code<'a>) -> Summary {
        let mut trace = Self {
            behind,
            code,
            locals: vec![Regions::new(); code.locals.len()],
            results: FxHashMap::default(),
            stores: BTreeMap::new(),
            accesses: BTreeSet::new(),
            grows: true,
        };
        for (at, param) in code.function.params.iter().enumerate() {
            if code.locals[param.0 as usize] == Holds::Stored {
                trace.locals[param.0 as usize].insert(Region::Given(Spot::of(at)));
            }
        }
        while std::mem::take(&mut trace.grows) {
            trace.round();
        }
        trace.note_accesses();
        let result = trace.returned();
        Summary {
            accesses: trace.accesses,
            result: given(&result).collect(),
            stores: trace.stores,
        }
    }

    fn tree(&self) -> &'a Tree {
        &self.code.function.tree
    }

    fn round(&mut self) {
        let tree = self.tree();
        for decl in tree.declarations() {
            for value in decl.init.iter().flat_map(Init::values) {
                let value = self.value(value);
                self.store(&[Region::Own(decl.local)].into(), &value);
            }
        }
        for at in tree.expr_ids() {
            if let ExprKind::Assign { lhs, rhs, .. } = tree.expr(at).kind {
                let value = self.value(rhs);
                if !value.is_empty() {
                    self.store(&self.place(lhs), &value);
                }
            }
        }
        let code = self.code;
        for (at, callee) in &code.calls {
            self.call(*at, callee);
        }
    }

    fn returned(&self) -> Regions {
        let tree = self.tree();
        let values = tree.stmts.iter().filter_map(|stmt| match stmt.kind {
            StmtKind::Return(value) => value,
            _ => None,
        });
        let ret = &self.code.function.ret;
        if self.behind.cx.types().is_plain(ret) {
            return Regions::new();
        }
        let is_object = self.is_object(ret);
        let values = values.flat_map(|value| self.value(value));
        values.filter(|it| !is_object || is_whole(*it)).collect()
    }

    fn is_object(&self, ty: &Type) -> bool {
        self.behind.cx.types().is_object_pointer(ty)
    }

    /// Puts pointers into memory.
    fn store(&mut self, places: &Regions, value: &Regions) {
        for &place in places {
            match place {
                Region::Own(local) if self.holds(local) != Holds::Nothing => {
                    let known = &mut self.locals[local.0 as usize];
                    let before = known.len();
                    known.extend(value);
                    self.grows |= known.len() > before;
                }
                Region::Own(_) => {}
                Region::Given(spot) => {
                    // What is reached from there in any case needs no word.
                    let others = given(value).filter(|it| it.param != spot.param);
                    self.stores.entry(spot.param).or_default().extend(others);
                }
            }
        }
    }

    fn holds(&self, local: LocalId) -> Holds {
        self.code.locals[local.0 as usize]
    }

    /// What a variable holds.
    fn held(&self, local: LocalId) -> Regions {
        match self.holds(local) {
            Holds::Object(param) => [Region::Given(Spot::of(param))].into(),
            _ => self.locals[local.0 as usize].clone(),
        }
    }

    /// The memory in which a place lies.
    fn place(&self, expr: ExprId) -> Regions {
        let tree = self.tree();
        match &tree.expr(expr).kind {
            ExprKind::Name(Name::Local(local)) => [Region::Own(*local)].into(),
            ExprKind::Cast { operand, .. } => self.place(*operand),
            ExprKind::Member {
                base, arrow: false, ..
            } => self.place(*base),
            ExprKind::Member { base, .. } => {
                let field = self.code.places.get(&expr).and_then(|it| it.field);
                let whole = |region| match region {
                    Region::Given(spot) if !spot.behind && spot.field.is_none() => {
                        Region::Given(Spot { field, ..spot })
                    }
                    other => other,
                };
                self.value(*base).into_iter().map(whole).collect()
            }
            ExprKind::Index { base, .. } => self.value(*base),
            ExprKind::Unary {
                op: UnaryOp::Deref,
                operand,
            } => self.value(*operand),
            _ => Regions::new(),
        }
    }

    /// Where a pointer leads that is the value of `expr`.
    fn value(&self, expr: ExprId) -> Regions {
        let tree = self.tree();
        match &tree.expr(expr).kind {
            ExprKind::Name(Name::Local(local)) => match self.holds(*local) {
                Holds::Array => [Region::Own(*local)].into(),
                _ => self.held(*local),
            },
            ExprKind::Call { .. } => self.results.get(&expr).cloned().unwrap_or_default(),
            ExprKind::Member { .. } | ExprKind::Index { .. } => self.load(expr),
            ExprKind::Unary { op, operand } => match op {
                UnaryOp::Deref => self.load(expr),
                UnaryOp::AddressOf => self.place(*operand),
                op if op.is_step() => self.value(*operand),
                _ => Regions::new(),
            },
            ExprKind::Binary { op, lhs, rhs } => self.computed(*op, *lhs, *rhs),
            ExprKind::Assign { op: None, rhs, .. } => self.value(*rhs),
            ExprKind::Assign { lhs, .. } => self.value(*lhs),
            ExprKind::Conditional {
                cond,
                then,
                otherwise,
            } => self.either(then.unwrap_or(*cond), *otherwise),
            ExprKind::Cast { ty, operand } => {
                let mut all = self.value(*operand);
                if self.is_object(ty) {
                    all.retain(|it| is_whole(*it));
                }
                all
            }
            ExprKind::Compound { init, .. } => {
                let values = init.values().into_iter();
                values.flat_map(|value| self.value(value)).collect()
            }
            ExprKind::Stmt(stmt) => self.last_of(*stmt),
            _ => Regions::new(),
        }
    }

    fn computed(&self, op: BinaryOp, lhs: ExprId, rhs: ExprId) -> Regions {
        match op {
            BinaryOp::Comma => self.value(rhs),
            BinaryOp::Plus | BinaryOp::Minus | BinaryOp::BitAnd | BinaryOp::BitOr => {
                self.either(lhs, rhs)
            }
            _ => Regions::new(),
        }
    }

    fn either(&self, one: ExprId, other: ExprId) -> Regions {
        &self.value(one) | &self.value(other)
    }

    fn last_of(&self, stmt: StmtId) -> Regions {
        match &self.tree().stmt(stmt).kind {
            StmtKind::Block(stmts) => stmts
                .last()
                .map_or_else(Regions::new, |&it| self.last_of(it)),
            StmtKind::Expr(expr) => self.value(*expr),
            _ => Regions::new(),
        }
    }

    /// Where a pointer leads that is read from a place.
    fn load(&self, expr: ExprId) -> Regions {
        let leads = self.code.places.get(&expr).map(|it| it.leads);
        let place = || self.place(expr).into_iter();
        match leads {
            None | Some(Leads::Nowhere) => Regions::new(),
            Some(Leads::Here) => place().collect(),
            // A table that all objects share is `const`: `self->ops`.
            Some(Leads::ToConstant) => {
                let is_behind = |it: &Region| !matches!(it, Region::Given(spot) if !spot.behind);
                place()
                    .filter(is_behind)
                    .flat_map(|it| self.inside(it))
                    .collect()
            }
            Some(Leads::On) => place().flat_map(|it| self.inside(it)).collect(),
        }
    }

    /// Where pointers lead that are in memory.
    fn inside(&self, region: Region) -> Regions {
        match region {
            Region::Given(spot) => [Region::Given(spot.behind())].into(),
            Region::Own(local) => self.held(local),
        }
    }

    /// The memory that a function of the package uses at `spot`, with the arguments of a call.
    fn of_callee(&self, spot: Spot, args: &[Regions]) -> BTreeSet<Spot> {
        let mut found = BTreeSet::new();
        for region in args.get(spot.param).into_iter().flatten() {
            match *region {
                Region::Given(given) => drop(found.insert(spot.of_caller(given))),
                // A variable of this function has it: `find(tree, &at)`.
                Region::Own(local) if spot.behind => {
                    for given in given(&self.held(local)) {
                        found.extend([given, given.behind()]);
                    }
                }
                Region::Own(_) => {}
            }
        }
        found
    }

    /// Where the arguments of a call lead.
    fn arguments(&self, args: &[ExprId], by: By) -> Vec<Regions> {
        let value = |&arg: &ExprId| match by {
            By::Pointer if self.may_be_object(arg) => Regions::new(),
            _ => self.value(arg),
        };
        args.iter().map(value).collect()
    }

    /// Whether an argument may be an object: another function may get another one at this place.
    fn may_be_object(&self, arg: ExprId) -> bool {
        let types = self.behind.cx.types();
        let ty = types.of(self.tree(), arg);
        ty.is_some_and(|ty| self.is_object(ty) || types.pointee(ty).is_some_and(Type::is_void))
    }

    fn call(&mut self, at: ExprId, callee: &Callee<'a>) {
        let args = self.tree().arguments(at);
        let mut result = Regions::new();
        match callee {
            Callee::Own(items) => self.call_own(items, args, By::Name, &mut result),
            Callee::Pointed(items) => self.call_own(items, args, By::Pointer, &mut result),
            Callee::Outside(name) => {
                let parts = args.iter().enumerate();
                let parts = parts.filter(|(number, _)| gives_part(name, *number));
                for (_, &arg) in parts {
                    result.extend(self.value(arg));
                }
                if is_unknown(name) {
                    // It may give anything that it can reach.
                    let inside = result.clone().into_iter();
                    result.extend(inside.flat_map(|it| self.inside(it)));
                }
            }
            Callee::Unknown | Callee::Slot => {}
        }
        if !result.is_empty() {
            let known = self.results.entry(at).or_default();
            let before = known.len();
            known.extend(result);
            self.grows |= known.len() > before;
        }
    }

    /// What functions of the package give back, and store in what they are given.
    fn call_own(&mut self, items: &[ItemId], args: &[ExprId], by: By, result: &mut Regions) {
        let behind = self.behind;
        let given = self.arguments(args, by);
        for summary in items.iter().filter_map(|&item| behind.of(item)) {
            for &spot in &summary.result {
                let spots = self.of_callee(spot, &given).into_iter();
                result.extend(spots.map(Region::Given));
            }
            for (&param, spots) in &summary.stores {
                let Some(&arg) = args.get(param) else {
                    continue;
                };
                let values = spots.iter().flat_map(|&spot| self.of_callee(spot, &given));
                let values: Regions = values.map(Region::Given).collect();
                self.store(&self.value(arg), &values);
            }
        }
    }

    fn note_accesses(&mut self) {
        let (tree, code, behind) = (self.tree(), self.code, self.behind);
        let is_free = |at: ExprId| !behind.locks.is_held(code.item, at);
        let is_data = |at: ExprId| code.places.get(&at).is_some_and(|it| it.is_data);
        for at in tree.expr_ids() {
            let changed = tree.changed(at).map(|it| tree.without_casts(it));
            for (place, how) in [(Some(at), How::Reads), (changed, How::Writes)] {
                let place = place.filter(|&place| is_data(place));
                let regions = place.map_or_else(Regions::new, |place| self.place(place));
                if given(&regions).next().is_some() && is_free(at) {
                    self.note(&regions, how);
                }
            }
        }
        for (at, callee) in &code.calls {
            if is_free(*at) {
                self.note_call(tree.arguments(*at), callee);
            }
        }
    }

    fn note(&mut self, regions: &Regions, how: How) {
        let accesses = given(regions).map(|spot| Access { spot, how });
        self.accesses.extend(accesses);
    }

    fn note_call(&mut self, args: &'a [ExprId], callee: &Callee<'a>) {
        match callee {
            Callee::Own(items) => self.note_own(items, args, By::Name),
            Callee::Pointed(items) => self.note_own(items, args, By::Pointer),
            Callee::Outside(name) => {
                for (number, &arg) in args.iter().enumerate() {
                    self.note_use(arg, use_of(self.behind, self.tree(), (name, args), number));
                }
            }
            Callee::Unknown => {
                for &arg in args {
                    self.note_use(arg, Use::MayWriteAll);
                }
            }
            Callee::Slot => {}
        }
    }

    /// What functions of the package use.
    fn note_own(&mut self, items: &[ItemId], args: &[ExprId], by: By) {
        let behind = self.behind;
        let given = self.arguments(args, by);
        for summary in items.iter().filter_map(|&item| behind.of(item)) {
            for &Access { spot, how } in &summary.accesses {
                let spots = self.of_callee(spot, &given).into_iter();
                self.accesses.extend(spots.map(|spot| Access { spot, how }));
            }
        }
    }

    fn note_use(&mut self, arg: ExprId, of: Use) {
        let (regions, how) = match of {
            Use::Nothing => return,
            Use::Sets => (self.place(self.tree().without_casts(arg)), How::Writes),
            Use::Reads => (self.value(arg), How::Reads),
            Use::Writes | Use::WritesAll => (self.value(arg), How::Writes),
            Use::MayWriteAll => (self.value(arg), How::MayWrite),
        };
        self.note(&regions, how);
        if matches!(of, Use::WritesAll | Use::MayWriteAll) {
            let inside = regions.into_iter().flat_map(|it| self.inside(it));
            self.note(&inside.collect(), how);
        }
    }
}

/// How a function of the package is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum By {
    Name,
    Pointer,
}

/// Whether a pointer leads to an object that the caller gives.
fn is_whole(region: Region) -> bool {
    matches!(region, Region::Given(spot) if !spot.behind && spot.field.is_none())
}

fn given(regions: &Regions) -> impl Iterator<Item = Spot> {
    regions.iter().filter_map(|region| match region {
        Region::Given(spot) => Some(*spot),
        Region::Own(_) => None,
    })
}
