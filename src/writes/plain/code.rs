//! The functions with their flow graphs, and which definitions their loads see.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::{FxHashMap, FxHashSet};

use super::Plain;
use super::order::Order;
use super::origin::Root;
use super::touches::Touch;
use crate::ast::{ExprId, ExprKind, Function, LocalId, Name, Type};
use crate::capi::{self, acts, effects, writes};
use crate::cfg::{
    self, Base, Cfg, Definition, Instr, InstrKind, Operand, Place, Point, Projection, Source,
    TempId, Terminator,
};
use crate::program::Types;
use crate::roles::{is_slot, is_table};
use crate::rule::ItemId;
use crate::writes::walk::Walk;

/// A function with its flow graph.
#[derive(Debug)]
pub(super) struct Code<'a> {
    pub(super) item: ItemId,
    pub(super) function: &'a Function,
    pub(super) cfg: Cfg,
    /// What may run in any order.
    pub(super) order: Order,
    /// The functions of the package that it calls by name.
    own: FxHashMap<Box<str>, Vec<ItemId>>,
    /// The calls that may do something with objects which the package keeps.
    pub(super) touching: Vec<(Point, Touch)>,
    /// Where temporaries get their values.
    defs: FxHashMap<TempId, Vec<Point>>,
    /// The definitions that loads see, of variables that nothing else changes.
    reaching: FxHashMap<TempId, BTreeSet<Definition>>,
}

impl<'a> Code<'a> {
    pub(super) fn new(walk: &Walk<'_, 'a>, item: ItemId, function: &'a Function) -> Self {
        let cfg = cfg::build(function, &capi::never_returns);
        let mut defs: FxHashMap<TempId, Vec<Point>> = FxHashMap::default();
        let mut own: FxHashMap<Box<str>, Vec<ItemId>> = FxHashMap::default();
        let mut touching = Vec::new();
        for (point, instr) in cfg.steps() {
            if let Some(dst) = instr.dst() {
                defs.entry(dst).or_default().push(point);
            }
            if let Some((name, _)) = instr.named_call() {
                if !own.contains_key(name) {
                    own.insert(name.into(), walk.callees(item, name));
                }
                let touch = match own[name].is_empty() {
                    true => Touch::by(name),
                    // What functions of the package do is found later.
                    false => Touch::default(),
                };
                if touch.is_any() || !own[name].is_empty() {
                    touching.push((point, touch));
                }
            }
        }
        let mut code = Self {
            item,
            function,
            order: Order::new(&function.tree, &cfg),
            cfg,
            own,
            touching,
            defs,
            reaching: FxHashMap::default(),
        };
        code.reaching = code.reaching();
        code
    }

    /// The functions of the package that a call of `name` may mean.
    pub(super) fn own(&self, name: &str) -> &[ItemId] {
        self.own.get(name).map_or(&[], Vec::as_slice)
    }

    /// All functions of the package that it calls by name.
    pub(super) fn callees(&self) -> BTreeSet<ItemId> {
        self.own.values().flatten().copied().collect()
    }

    pub(super) fn is_automatic(&self, local: LocalId) -> bool {
        self.function.tree.local(local).is_automatic()
    }

    /// Where a root comes to be, anew each time.
    pub(super) fn births(&self, root: Root) -> &[Point] {
        match root {
            Root::Made(call) => self.defs.get(&call).map_or(&[], Vec::as_slice),
            _ => &[],
        }
    }

    /// The one step that gives `operand`, casts left out.
    fn source(&self, operand: &Operand) -> Option<(Point, &Instr)> {
        let Operand::Temp(temp) = operand else {
            return None;
        };
        let [at] = self.defs.get(temp)?[..] else {
            return None;
        };
        let instr = self.cfg.instr(at)?;
        match &instr.kind {
            InstrKind::Cast { src, .. } => self.source(src),
            _ => Some((at, instr)),
        }
    }

    /// The call that has made what `operand` points to and not been run again since: the operand is
    /// its result, or a variable that can only hold that.
    pub(super) fn born(&self, operand: &Operand) -> Option<TempId> {
        let (_, instr) = self.source(operand)?;
        let InstrKind::Load { dst, .. } = instr.kind else {
            return result(instr);
        };
        let definitions = self.definitions(dst)?;
        let store = definitions.first().filter(|_| definitions.len() == 1);
        let store = (*store?)?;
        // `item = (Item *)make();`: the two run together.
        let (at, made) = self.source(self.stored(store)?)?;
        result(made).filter(|_| at.block == store.block)
    }

    /// What the function gives back, and where.
    pub(super) fn returned(&self) -> impl Iterator<Item = (Point, &Operand)> {
        self.cfg
            .returns()
            .filter_map(|at| match &self.cfg.block(at.block).terminator {
                Terminator::Return(Some(value), _) => Some((at, value)),
                _ => None,
            })
    }

    /// The call with the result `dst`.
    pub(super) fn call(&self, dst: TempId) -> Option<&Instr> {
        let defs = self.defs.get(&dst)?;
        self.cfg.instr(*defs.first()?)
    }

    /// The definitions that the load into `dst` may see, if nothing else changes the variable.
    pub(super) fn definitions(&self, dst: TempId) -> Option<&BTreeSet<Definition>> {
        self.reaching.get(&dst)
    }

    /// Whether a place is a variable of which all definitions are known.
    pub(super) fn is_tracked(&self, place: &Place) -> bool {
        let is_taken = |local| self.cfg.address_taken().contains(&local);
        place
            .as_local()
            .is_some_and(|local| self.is_automatic(local) && !is_taken(local))
    }

    /// What a step stores.
    pub(super) fn stored(&self, at: Point) -> Option<&Operand> {
        match &self.cfg.instr(at)?.kind {
            InstrKind::Store { value, .. } => Some(value),
            _ => None,
        }
    }

    /// The step that loads `operand`, if one does.
    pub(super) fn loaded(&self, operand: &Operand) -> Option<&Instr> {
        let (_, instr) = self.source(operand)?;
        matches!(instr.kind, InstrKind::Load { .. }).then_some(instr)
    }

    /// The place that a call sets, as a macro does, and what it gets: `Py_SETREF(item, other)`.
    pub(super) fn set<'i>(&self, instr: &'i Instr) -> Option<(&Place, Option<&'i Operand>)> {
        let (name, _) = instr.named_call()?;
        let InstrKind::Call { args, .. } = &instr.kind else {
            return None;
        };
        let place = writes(name)?
            .place(0)
            .then(|| self.loaded(args.first()?))??;
        Some((place.place()?, args.get(1)))
    }

    /// The definitions of its variables that are only loaded and stored as a whole, by their loads.
    fn reaching(&self) -> FxHashMap<TempId, BTreeSet<Definition>> {
        let mut definitions: BTreeMap<LocalId, BTreeSet<Definition>> = BTreeMap::new();
        let mut others: FxHashSet<LocalId> = self.cfg.address_taken().iter().copied().collect();
        for &param in &self.function.params {
            definitions.entry(param).or_default().insert(None);
        }
        for (at, instr) in self.cfg.steps() {
            if let Some(local) = self.set(instr).and_then(|(place, _)| place.as_local()) {
                definitions.entry(local).or_default().insert(Some(at));
            }
            let Some(place) = instr.place() else {
                continue;
            };
            match (place.as_local(), &place.base) {
                (Some(local), _) if matches!(instr.kind, InstrKind::Store { .. }) => {
                    definitions.entry(local).or_default().insert(Some(at));
                }
                (None, &Base::Local(local)) => {
                    others.insert(local);
                }
                _ => {}
            }
        }
        definitions.retain(|local, _| !others.contains(local));
        let loads = definitions
            .iter()
            .filter_map(|(&local, definitions)| self.cfg.reaching_definitions(local, definitions));
        let by_load = loads.flatten().filter_map(|(at, definitions)| {
            let dst = self.cfg.instr(at).and_then(Instr::dst)?;
            Some((dst, definitions))
        });
        by_load.collect()
    }
}

/// The result of a call.
fn result(instr: &Instr) -> Option<TempId> {
    match instr.kind {
        InstrKind::Call { dst, .. } => Some(dst),
        _ => None,
    }
}

/// A function beside what is known of the others.
#[derive(Clone, Copy)]
pub(super) struct Frame<'p, 'w, 'c, 'a> {
    pub(super) plain: &'p Plain<'w, 'c, 'a>,
    pub(super) code: &'p Code<'a>,
}

impl<'p, 'c, 'a> Frame<'p, '_, 'c, 'a> {
    pub(super) fn types(self) -> &'c Types<'a> {
        self.plain.walk.types
    }

    /// An argument of a call, as it is written.
    pub(super) fn argument(self, call: ExprId, number: usize) -> Option<ExprId> {
        let args = self.code.function.tree.arguments(call);
        args.get(number).copied()
    }

    pub(super) fn type_of(self, expr: ExprId) -> Option<&'p Type>
    where
        'a: 'p,
        'c: 'p,
    {
        self.types().of(&self.code.function.tree, expr)
    }

    /// The type of what a step is made from.
    pub(super) fn type_at(self, source: Source) -> Option<&'p Type>
    where
        'a: 'p,
        'c: 'p,
    {
        match source {
            Source::Expr(expr) => self.type_of(expr),
            Source::Stmt(_) => None,
        }
    }

    /// Whether a step is one with numbers.
    pub(super) fn is_number_of(self, source: Source) -> bool {
        let ty = self.type_at(source);
        ty.is_some_and(|ty| self.types().is_number(ty))
    }

    /// Whether an argument is a number.
    pub(super) fn is_number(self, call: ExprId, number: usize) -> bool {
        let ty = self
            .argument(call, number)
            .and_then(|arg| self.type_of(arg));
        ty.is_some_and(|ty| self.types().is_number(ty))
    }

    /// Whether the number of a file comes from what others may have open, by a call or by itself: calls with
    /// those of fields and parameters are compared elsewhere.
    ///
    /// ```c
    /// lseek(PyObject_AsFileDescriptor(file), 0, SEEK_SET);
    /// ```
    pub(super) fn is_given_number(self, number: &Operand) -> bool {
        let code = self.code;
        let is_given = |instr: &Instr| {
            let name = instr.named_call().map(|(name, _)| name);
            name.is_some_and(|name| !acts(name).is_some_and(|act| act.opens))
        };
        match code.source(number).map(|(_, instr)| instr) {
            None => matches!(number, Operand::Int(_)),
            Some(Instr {
                kind: InstrKind::Load { dst, .. },
                ..
            }) => {
                let values = code.definitions(*dst).into_iter().flatten();
                let mut sources = values.filter_map(|at| code.source(code.stored((*at)?)?));
                sources.any(|(_, instr)| is_given(instr))
            }
            Some(instr) => is_given(instr),
        }
    }

    /// The slot of a type that a pointer to a function is read from.
    pub(super) fn slot(self, pointer: &Operand) -> Option<&'p str> {
        let instr = self.code.loaded(pointer)?;
        let (InstrKind::Load { place, .. }, Source::Expr(expr)) = (&instr.kind, instr.source)
        else {
            return None;
        };
        let tree = &self.code.function.tree;
        let ExprKind::Member { base, arrow, .. } = tree.expr(expr).kind else {
            return None;
        };
        let owner = self.types().owner(tree, base, arrow);
        // `PyTuple_Type.tp_alloc`, `Py_TYPE(self)->tp_free`
        let is_table = match (owner, &tree.expr(base).kind) {
            (Some(owner), _) => owner == "struct _typeobject" || is_table(&owner),
            (None, ExprKind::Name(Name::Global(name))) => self.plain.is_named_by_python(name),
            (None, _) => tree.called(base).is_some_and(|it| effects(it).is_some()),
        };
        match place.path.last() {
            Some(Projection::Field(field)) if is_table && is_slot(field) => Some(field),
            _ => None,
        }
    }
}
