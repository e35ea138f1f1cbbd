//! One function with its flow graph: where a value comes from, what leads where.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use crate::ast::{BinaryOp, ExprId, ExprKind, Function, LocalId, Storage};
use crate::capi::{self, Counts};
use crate::cfg::{
    self, Base, BlockId, Callee, Cfg, Instr, InstrKind, Liveness, Operand, Place, Point,
    Projection, Source, TempId, Terminator, reaches,
};
use crate::program::ProgramItem;

use super::api::{Gives, gives};

/// A function of the package, ready to be asked.
#[derive(Debug)]
pub(super) struct Flow<'a> {
    pub(super) item: &'a ProgramItem,
    pub(super) function: &'a Function,
    pub(super) cfg: Cfg,
    /// Instructions that define each temporary.
    definitions: Vec<Vec<Point>>,
    /// Calls whose results the function releases, as far as they were asked for.
    released: OnceLock<BTreeSet<Point>>,
}

/// Where a value comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Origin {
    /// Parameter `index`.
    Param(usize),
    /// Result of the call at this point.
    Call(Point),
    /// Stored by the call at this point through its argument.
    Out(Point, usize),
    /// A variable of file scope, or a `static` one.
    Global(Box<str>),
    /// `base->name`.
    Field(Box<str>, Operand),
    /// `base[i]`.
    Element(Operand),
    /// The address of a variable of file scope.
    Address(Box<str>),
    /// Cannot be told.
    Unknown,
}

impl<'a> Flow<'a> {
    pub(super) fn new(item: &'a ProgramItem, function: &'a Function) -> Self {
        let cfg = cfg::build(function, &crate::capi::never_returns);
        let mut definitions = vec![Vec::new(); cfg.temps as usize];
        for (point, instr) in points(&cfg) {
            if let Some(TempId(temp)) = instr.dst() {
                definitions[temp as usize].push(point);
            }
        }
        Self {
            item,
            function,
            cfg,
            definitions,
            released: OnceLock::new(),
        }
    }

    pub(super) fn liveness(&self) -> Liveness<'_> {
        Liveness::new(&self.cfg, self.function.tree.locals.len())
    }

    /// Every instruction that may run, with its point.
    pub(super) fn instrs(&self) -> impl Iterator<Item = (Point, &Instr)> {
        points(&self.cfg).filter(|(point, _)| self.cfg.is_reachable(point.block))
    }

    /// Every `return` that gives a value, as the point before it.
    pub(super) fn returns(&self) -> impl Iterator<Item = (Point, &Operand)> {
        self.cfg.iter().filter_map(|(id, block)| {
            let point = Point {
                block: id,
                index: block.instrs.len(),
            };
            match &block.terminator {
                Terminator::Return(Some(value), _) if self.cfg.is_reachable(id) => {
                    Some((point, value))
                }
                _ => None,
            }
        })
    }

    /// Name and arguments of the call at `point`.
    pub(super) fn call(&self, point: Point) -> Option<(Option<&str>, &[Operand])> {
        match &self.cfg.instr(point)?.kind {
            InstrKind::Call { callee, args, .. } => {
                let name = match callee {
                    Callee::Named(name) => Some(&**name),
                    Callee::Indirect(_) => None,
                };
                Some((name, args))
            }
            _ => None,
        }
    }

    /// Whether the call at `point` gets what is no list, so that `PySequence_Fast` gives a tuple or
    /// a list of its own: `PyList_CheckExact(v) ? PyList_AsTuple(v) : PySequence_Fast(v, "…")`.
    pub(super) fn is_of_no_list(&self, point: Point) -> bool {
        let tree = &self.function.tree;
        let Some(Source::Expr(call)) = self.source(point) else {
            return false;
        };
        let argument = |call| match &tree.expr(call).kind {
            ExprKind::Call { callee, args } => {
                let local = tree.as_local(*args.first()?)?;
                Some((tree.callee_name(*callee)?, local))
            }
            _ => None,
        };
        let Some((_, sequence)) = argument(call) else {
            return false;
        };
        let asks = |cond: ExprId| {
            // `v != NULL && PyList_CheckExact(v)`
            let last = match tree.expr(cond).kind {
                ExprKind::Binary {
                    op: BinaryOp::LogicalAnd,
                    rhs,
                    ..
                } => rhs,
                _ => cond,
            };
            argument(last) == Some(("PyList_CheckExact", sequence))
        };
        tree.exprs.iter().any(|expr| match expr.kind {
            ExprKind::Conditional {
                cond, otherwise, ..
            } => otherwise == call && asks(cond),
            _ => false,
        })
    }

    /// Whether the function releases the result of the call at `point`: that is an object of its
    /// own, and points into nothing.
    pub(super) fn is_released(&self, point: Point) -> bool {
        let released = self.released.get_or_init(|| self.find_released());
        released.contains(&point)
    }

    fn find_released(&self) -> BTreeSet<Point> {
        let objects = self.instrs().filter_map(|(_, instr)| match &instr.kind {
            InstrKind::Call {
                callee: Callee::Named(name),
                args,
                ..
            } if matches!(&**name, "Py_DECREF" | "Py_XDECREF") => args.first(),
            _ => None,
        });
        let origins = objects.flat_map(|object| self.origins(object));
        let made = origins.filter_map(|origin| match origin {
            Origin::Call(made) => Some(made),
            _ => None,
        });
        made.collect()
    }

    /// The field that the function pointer of an indirect call is read from: `tp_alloc`.
    pub(super) fn called_field(&self, point: Point) -> Option<&str> {
        last_field(self.called_place(self.cfg.instr(point)?)?)
    }

    /// Whether a slot of one of Python's own types makes or fills an object:
    /// `PyList_Type.tp_new(type, args, kwargs)`.
    pub(super) fn calls_slot_of_python(&self, call: &Instr) -> bool {
        let Some(place) = self.called_place(call) else {
            return false;
        };
        let of_python = match &place.base {
            Base::Global(name) => name.starts_with("Py") && name.ends_with("_Type"),
            _ => false,
        };
        of_python && matches!(last_field(place), Some("tp_new" | "tp_init"))
    }

    /// Where the function pointer of an indirect call is read from.
    fn called_place<'i>(&'i self, call: &'i Instr) -> Option<&'i Place> {
        let InstrKind::Call {
            callee: Callee::Indirect(Operand::Temp(temp)),
            ..
        } = &call.kind
        else {
            return None;
        };
        let [definition] = self.definitions[temp.0 as usize].as_slice() else {
            return None;
        };
        self.cfg.instr(*definition)?.place()
    }

    /// The name of the variable that `operand` was just read from, for messages.
    pub(super) fn variable(&self, operand: &Operand) -> Option<&'a str> {
        let local = self.local(operand)?;
        Some(&self.function.tree.local(local).name)
    }

    /// The variable that `operand` was just read from.
    pub(super) fn local(&self, operand: &Operand) -> Option<LocalId> {
        self.place_of(operand)?.as_local()
    }

    /// The place that `operand` was just read from.
    pub(super) fn place_of(&self, operand: &Operand) -> Option<&Place> {
        self.cfg.instr(self.read_at(operand)?)?.place()
    }

    /// Where `operand` was read from a place.
    pub(super) fn read_at(&self, operand: &Operand) -> Option<Point> {
        let mut operand = operand;
        loop {
            let Operand::Temp(temp) = operand else {
                return None;
            };
            let [definition] = self.definitions[temp.0 as usize].as_slice() else {
                return None;
            };
            match &self.cfg.instr(*definition)?.kind {
                InstrKind::Load { .. } => return Some(*definition),
                InstrKind::Cast { src, .. } => operand = src,
                _ => return None,
            }
        }
    }

    /// What the step at `at` assigns, if it does: the step that tells the place, and the value.
    ///
    /// ```c
    /// self->d = value;
    /// Py_XSETREF(self->d, value);
    /// ```
    pub(super) fn assigned(&self, at: Point) -> Option<(Point, &Operand)> {
        if let InstrKind::Store { value, .. } = &self.cfg.instr(at)?.kind {
            return Some((at, value));
        }
        let (name, args) = self.call(at)?;
        let counts = capi::effects(name?).and_then(|effects| effects.counts);
        match args {
            [place, value] if counts == Some(Counts::Replace) => {
                Some((self.read_at(place)?, value))
            }
            _ => None,
        }
    }

    /// Whether `operand` was just cast to another type.
    pub(super) fn is_cast(&self, operand: &Operand) -> bool {
        let Operand::Temp(temp) = operand else {
            return false;
        };
        let mut made = self.definitions[temp.0 as usize].iter();
        made.any(|&at| {
            let instr = self.cfg.instr(at);
            instr.is_some_and(|instr| matches!(instr.kind, InstrKind::Cast { .. }))
        })
    }

    /// What was written at `point`, if anything.
    pub(super) fn source(&self, point: Point) -> Option<Source> {
        self.cfg.source(point)
    }

    /// Where `operand` may come from; `NULL` comes from nowhere.
    pub(super) fn origins(&self, operand: &Operand) -> Vec<Origin> {
        self.search(operand).found
    }

    /// Whether `operand` may be `None`, which counts as no origin.
    pub(super) fn may_be_none(&self, operand: &Operand) -> bool {
        self.search(operand).finds_none
    }

    fn search(&self, operand: &Operand) -> Search<'_, 'a> {
        let mut search = Search {
            flow: self,
            found: Vec::new(),
            finds_none: false,
            pending: Vec::new(),
            seen_temps: BTreeSet::new(),
            seen_blocks: BTreeSet::new(),
        };
        search.operand(operand);
        search.run();
        search
    }

    /// Whether a path leads from `from` to `to` without coming to a point of `avoiding`.
    ///
    /// The step at `from` itself is not repeated unless the path comes back to it.
    pub(super) fn reaches(&self, from: Point, to: Point, avoiding: &[Point]) -> bool {
        reaches(&self.cfg, from.next(), to, avoiding)
    }
}

fn points(cfg: &Cfg) -> impl Iterator<Item = (Point, &Instr)> {
    cfg.iter().flat_map(|(block, content)| {
        let instrs = content.instrs.iter().enumerate();
        instrs.map(move |(index, instr)| (Point { block, index }, instr))
    })
}

/// The field that a place ends in.
pub(super) fn last_field(place: &Place) -> Option<&str> {
    match place.path.last() {
        Some(Projection::Field(name)) => Some(name),
        _ => None,
    }
}

/// The variable whose address `operand` is.
pub(super) fn address_of_local(operand: &Operand) -> Option<LocalId> {
    match operand {
        Operand::AddressOf(place) => match place.base {
            Base::Local(local) => Some(local),
            Base::Global(_) | Base::Deref(_) | Base::Unnamed(_) => None,
        },
        _ => None,
    }
}

/// Goes back from a use to what defines it.
struct Search<'f, 'a> {
    flow: &'f Flow<'a>,
    found: Vec<Origin>,
    finds_none: bool,
    /// Variables wanted at the end of a block or inside of it.
    pending: Vec<(LocalId, Point)>,
    seen_temps: BTreeSet<TempId>,
    seen_blocks: BTreeSet<(LocalId, BlockId)>,
}

impl Search<'_, '_> {
    fn run(&mut self) {
        while let Some((local, before)) = self.pending.pop() {
            self.local(local, before);
        }
    }

    fn add(&mut self, origin: Origin) {
        if !self.found.contains(&origin) {
            self.found.push(origin);
        }
    }

    fn operand(&mut self, operand: &Operand) {
        match operand {
            Operand::Temp(temp) => {
                if self.seen_temps.insert(*temp) {
                    self.temp(*temp);
                }
            }
            Operand::Null | Operand::Int(0) => {}
            Operand::AddressOf(place) => match &place.base {
                Base::Global(name) if place.path.is_empty() => {
                    self.add(Origin::Address(name.clone()));
                }
                _ => self.add(Origin::Unknown),
            },
            Operand::Int(_) | Operand::Str(_) | Operand::Unknown => self.add(Origin::Unknown),
        }
    }

    fn temp(&mut self, temp: TempId) {
        let flow = self.flow;
        for &at in &flow.definitions[temp.0 as usize] {
            let Some(instr) = flow.cfg.instr(at) else {
                continue;
            };
            match &instr.kind {
                InstrKind::Load { place, .. } => self.place(place, at),
                InstrKind::Copy { src, .. } | InstrKind::Cast { src, .. } => self.operand(src),
                InstrKind::Call { callee, args, .. } => {
                    let same = match callee {
                        Callee::Named(name) => match gives(name) {
                            Some(Gives::Same(arg)) => args.get(arg),
                            _ => None,
                        },
                        Callee::Indirect(_) => None,
                    };
                    match same {
                        Some(arg) => self.operand(arg),
                        None => self.add(Origin::Call(at)),
                    }
                }
                _ => self.add(Origin::Unknown),
            }
        }
    }

    fn place(&mut self, place: &Place, at: Point) {
        let origin = match (&place.base, place.path.last()) {
            (Base::Local(local), None) => return self.pending.push((*local, at)),
            (Base::Global(name), None) if &**name == "Py_None" => {
                self.finds_none = true;
                return;
            }
            (Base::Global(_), Some(Projection::Field(field))) if &**field == "tp_dict" => {
                let variable = Operand::AddressOf(Box::new(Place::whole(place.base.clone())));
                Origin::Field(field.clone(), variable)
            }
            (Base::Global(name), _) => Origin::Global(name.clone()),
            (Base::Deref(base), Some(Projection::Field(name))) => {
                Origin::Field(name.clone(), base.clone())
            }
            (Base::Deref(base), Some(Projection::Index(_))) => Origin::Element(base.clone()),
            (Base::Local(_) | Base::Deref(_) | Base::Unnamed(_), _) => Origin::Unknown,
        };
        self.add(origin);
    }

    /// The writes of `local` that may be the last one before `before`.
    fn local(&mut self, local: LocalId, before: Point) {
        let flow = self.flow;
        let variable = flow.function.tree.local(local);
        if variable.storage != Storage::None {
            return self.add(Origin::Global(variable.name.as_str().into()));
        }
        let instrs = &flow.cfg.block(before.block).instrs;
        for index in (0..before.index.min(instrs.len())).rev() {
            let at = Point {
                block: before.block,
                index,
            };
            if self.is_written(local, &instrs[index], at) {
                return;
            }
        }
        if before.block == Cfg::ENTRY {
            let param = flow
                .function
                .params
                .iter()
                .position(|&param| param == local);
            if let Some(param) = param {
                self.add(Origin::Param(param));
            }
        }
        for &block in &flow.cfg.block(before.block).predecessors {
            if flow.cfg.is_reachable(block) && self.seen_blocks.insert((local, block)) {
                let index = flow.cfg.block(block).instrs.len();
                self.pending.push((local, Point { block, index }));
            }
        }
    }

    /// Notes what `instr` writes to `local`; whether it surely writes it.
    fn is_written(&mut self, local: LocalId, instr: &Instr, at: Point) -> bool {
        match &instr.kind {
            InstrKind::Store { place, value } if place.as_local() == Some(local) => {
                self.operand(value);
                true
            }
            InstrKind::Declare { local: declared } => *declared == local,
            InstrKind::Call { args, .. } => {
                for (index, arg) in args.iter().enumerate() {
                    if address_of_local(arg) == Some(local) {
                        self.add(Origin::Out(at, index));
                    }
                }
                false
            }
            InstrKind::Asm => {
                self.add(Origin::Unknown);
                false
            }
            _ => {
                if instr
                    .operands()
                    .any(|op| address_of_local(op) == Some(local))
                {
                    self.add(Origin::Unknown);
                }
                false
            }
        }
    }
}
