//! The steps of a function of which it is not shown that they only change its own.

use super::Given;
use super::code::{Code, Frame};
use super::escape::Escapes;
use super::origin::{Foreign, Origins, Root};
use super::touches;
use crate::ast::{ExprId, ExprKind, Type};
use crate::capi::{self, Acts, Effects, Writes, acts, counts, effects, keeps_pointer, writes};
use crate::cfg::{
    Base, Callee, InstrKind, Operand, Place, Point, Projection, Source, addressed_local,
};
use crate::rule::ItemId;
use crate::writes::walk::Walk;
use crate::writes::{Left, What, Why};

/// Whose the arguments are that functions of the package get: function, number, whose.
pub(super) fn given(
    frame: Frame<'_, '_, '_, '_>,
    (origins, escapes): (&Origins, &Escapes),
) -> Vec<(ItemId, usize, Given)> {
    let mut found = Vec::new();
    for (at, instr) in frame.code.cfg.steps() {
        let (Some((name, _)), InstrKind::Call { args, .. }) = (instr.named_call(), &instr.kind)
        else {
            continue;
        };
        for &item in frame.code.own(name) {
            for (number, arg) in args.iter().enumerate() {
                let given = Given {
                    memory: escapes.foreign(frame, origins, (arg, at)),
                    within: escapes.within(frame, origins, (arg, at)),
                };
                found.push((item, number, given));
            }
        }
    }
    found
}

/// What is not proven of a function, with its place.
pub(super) fn unproven(
    frame: Frame<'_, '_, '_, '_>,
    (origins, escapes): (&Origins, &Escapes),
) -> Vec<(ItemId, Left)> {
    let mut steps = Steps {
        frame,
        origins,
        escapes,
        found: Vec::new(),
    };
    for (at, instr) in frame.code.cfg.steps() {
        let Source::Expr(expr) = instr.source else {
            continue;
        };
        match &instr.kind {
            InstrKind::Store { place, value } => {
                steps.store(at, expr, place);
                steps.lend(at, expr, (place, value));
            }
            InstrKind::Load { place, .. } => steps.load(at, expr, place),
            InstrKind::Call { callee, args, .. } => steps.call(at, expr, callee, args),
            _ => {}
        }
    }
    for call in touches::apart(frame, (origins, escapes)) {
        let text = steps.walk().text(frame.code.item, call);
        steps.leave(call, text);
    }
    steps.found
}

struct Steps<'p, 'w, 'c, 'a> {
    frame: Frame<'p, 'w, 'c, 'a>,
    origins: &'p Origins,
    escapes: &'p Escapes,
    found: Vec<(ItemId, Left)>,
}

impl<'p, 'w, 'c, 'a> Steps<'p, 'w, 'c, 'a> {
    fn code(&self) -> &'p Code<'a> {
        self.frame.code
    }

    fn walk(&self) -> &'w Walk<'c, 'a> {
        self.frame.plain.walk
    }

    fn foreign(&self, operand: &Operand, at: Point) -> Foreign {
        let origins = self.origins;
        self.escapes.foreign(self.frame, origins, (operand, at))
    }

    fn leave(&mut self, expr: ExprId, what: impl Into<What>) {
        let item = self.code().item;
        let left = self.walk().place_of(item, expr, what, Why::Unproven);
        self.found.extend(left.map(|left| (item, left)));
    }

    fn store(&mut self, at: Point, expr: ExprId, place: &Place) {
        let is_of_others = match &place.base {
            Base::Deref(pointer) => {
                let origin = self.frame.of(self.origins, pointer);
                origin.roots.is_empty() || self.foreign(pointer, at).given
            }
            // `view = PyMemoryView_FromMemory(mem, 64, PyBUF_WRITE); … mem[0] = 1;`
            Base::Local(local) if self.code().is_automatic(*local) => {
                self.escapes
                    .is_out(self.code(), Root::Stack(*local), at, &[])
            }
            _ => false,
        };
        if is_of_others && !self.is_atomic(expr) {
            let text = self.walk().text(self.code().item, self.written(expr));
            self.leave(expr, text);
        }
    }

    /// What is read may be what Python replaces meanwhile, by whatever way: `(*(Item *)self).name`, and
    /// `Item copy = *self;` has all of it.
    fn load(&mut self, at: Point, expr: ExprId, place: &Place) {
        let Base::Deref(pointer) = &place.base else {
            return;
        };
        let members = &self.walk().members;
        // A number that a helper reads, its caller may read as well.
        let is_set = members.sets_object(place)
            || members.sets_number(place) && self.walk().is_helper(self.code().function)
            || members.has_objects() && self.is_struct(expr);
        if is_set && self.foreign(pointer, at).given {
            self.leave(expr, self.walk().text(self.code().item, expr));
        }
    }

    fn is_struct(&self, expr: ExprId) -> bool {
        let types = self.frame.types();
        let key = self.frame.type_of(expr).and_then(|ty| types.key(ty));
        key.is_some_and(|key| types.is_struct(&key))
    }

    /// What is stored may lead Python, or the function itself, to what others have: `view->buf = self->text`,
    /// and `int *n = &self->n;`, where Python sets `n` between two looks at it.
    fn lend(&mut self, at: Point, expr: ExprId, (to, value): (&Place, &Operand)) {
        let is_buffer =
            matches!(to.path.last(), Some(Projection::Field(field)) if &**field == "buf");
        let is_lent = match value {
            Operand::AddressOf(place) if self.walk().members.sets_number(place) => true,
            _ => is_buffer && !self.is_read_only(),
        };
        if is_lent && self.foreign(value, at).given {
            self.leave(expr, self.walk().text(self.code().item, expr));
        }
    }

    /// Whether the buffer that the function fills is for reading: `view->readonly = 1;`.
    fn is_read_only(&self) -> bool {
        let stores = self
            .code()
            .cfg
            .steps()
            .filter_map(|(_, instr)| match &instr.kind {
                InstrKind::Store { place, value } => match place.path.last() {
                    Some(Projection::Field(field)) if &**field == "readonly" => Some(value),
                    _ => None,
                },
                _ => None,
            });
        let mut stores = stores.peekable();
        stores.peek().is_some()
            && stores.all(|value| matches!(value, Operand::Int(read) if *read != 0))
    }

    /// What an assignment, or a step, writes.
    fn written(&self, expr: ExprId) -> ExprId {
        match self.code().function.tree.expr(expr).kind {
            ExprKind::Assign { lhs, .. } => lhs,
            ExprKind::Unary { operand, .. } => operand,
            _ => expr,
        }
    }

    /// Whether a number is written in one step; what such steps mean for each other is asked elsewhere.
    fn is_atomic(&self, expr: ExprId) -> bool {
        let ty = self.frame.type_of(self.written(expr));
        ty.is_some_and(|ty| self.frame.types().is_atomic(ty))
    }

    fn call(&mut self, at: Point, expr: ExprId, callee: &Callee, args: &[Operand]) {
        let walk = self.walk();
        let name = match callee {
            Callee::Named(name) => &**name,
            Callee::Indirect(pointer) => {
                if self.frame.slot(pointer).is_none() || self.fills(at, args) {
                    let called = self.code().function.tree.callee(expr).unwrap_or(expr);
                    self.leave(expr, walk.text(self.code().item, called));
                }
                return;
            }
        };
        let own = self.code().own(name);
        if !own.is_empty() {
            self.unnamed(at, expr, (name, args), own);
            return;
        }
        if capi::is_unknown(name) && writes(name).is_none() {
            if !walk.cx.program.facts.is_thread_safe(name) {
                self.leave(expr, name.to_owned());
            }
            return;
        }
        for number in 0..args.len() {
            if self.changes(at, expr, (name, args), number) {
                self.leave(expr, What::by(self.written_argument(expr, number), name));
            }
        }
    }

    /// What a function of the package gets behind `...` may be written there: `PyArg_VaParse(args, format, list)`.
    fn unnamed(
        &mut self,
        at: Point,
        call: ExprId,
        (name, args): (&str, &[Operand]),
        own: &[ItemId],
    ) {
        let named = own.iter().map(|&item| self.frame.plain.parameters(item));
        let named = named.min().unwrap_or_default();
        for (number, arg) in args.iter().enumerate().skip(named) {
            if self.is_for_result(call, number) && self.foreign(arg, at).given {
                self.leave(call, What::by(self.written_argument(call, number), name));
            }
        }
    }

    fn written_argument(&self, call: ExprId, number: usize) -> String {
        match self.frame.argument(call, number) {
            Some(arg) => self.walk().text(self.code().item, arg),
            None => format!("argument {}", number + 1),
        }
    }

    /// Whether a slot gets the address of what others may have: `bf_getbuffer(o, &self->view, 0)`.
    fn fills(&self, at: Point, args: &[Operand]) -> bool {
        let is_type = |place: &Place| match &place.base {
            Base::Global(name) => self.frame.plain.is_type(name),
            _ => false,
        };
        let mut places = args.iter().filter(|arg| match arg {
            // `ItemType.tp_new(&ItemType, args, NULL)`
            Operand::AddressOf(place) => !is_type(place),
            _ => false,
        });
        places.any(|arg| self.foreign(arg, at).given)
    }

    /// Whether a call changes what argument `number` leads to, or may, which others may have.
    fn changes(
        &self,
        at: Point,
        call: ExprId,
        (name, args): (&str, &[Operand]),
        number: usize,
    ) -> bool {
        let (row, arg) = (writes(name), &args[number]);
        if row.is_some_and(|row| row.place(number)) {
            let place = self.code().loaded(arg).and_then(|instr| instr.place());
            return match place.map(|place| &place.base) {
                Some(Base::Deref(pointer)) => self.foreign(pointer, at).given,
                Some(_) => false,
                None => true,
            };
        }
        let (is_object, effects) = (self.is_object(call, number), effects(name));
        if row.is_some_and(|row| row.deep == Some(number))
            && (effects.is_some() || self.leads_to_others(arg, at))
        {
            return true;
        }
        // `char *name = self->name; PyArg_ParseTuple(args, "es#", "utf-8", &name, &size)`
        let format = |at| {
            self.code()
                .function
                .tree
                .as_string(self.frame.argument(call, at)?)
        };
        if capi::fills_given_buffer(name, format) && self.leads_to_given(arg, at) {
            return true;
        }
        if let Some(row) = row
            && row.behind(number)
            && (row.names(number) || !is_object)
        {
            let is_given = self.foreign(arg, at).given
                || self.frame.of(self.origins, arg).number && row.takes_either(number);
            return is_given && !self.is_count(call, number, row);
        }
        // `PyMemoryView_FromMemory(self->text, n, PyBUF_WRITE)`: whoever gets the view may write there.
        if effects.is_some() && !is_object && keeps_pointer(name, number) {
            let is_read = effects.and_then(|it| it.read_only);
            let is_read = is_read.and_then(|at| args.get(usize::from(at)));
            let is_read = matches!(is_read, Some(Operand::Int(read)) if *read != 0);
            return !is_read && self.foreign(arg, at).given;
        }
        if capi::is_atomic(name) {
            // What atomic steps mean for each other is asked elsewhere, if it is clear what they change.
            let is_named = matches!(arg, Operand::AddressOf(_));
            return number == 0
                && !is_named
                && capi::sets_atomically(name)
                && self.foreign(arg, at).given;
        }
        let act = acts(name).filter(|act| is_change(name, *act, number));
        if effects.is_none() && self.frame.is_number(call, number) {
            return act.is_some_and(|act| !act.only_adds) && self.frame.is_given_number(arg);
        }
        if let Some(act) = act {
            let foreign = self.foreign(arg, at);
            // `PyBuffer_Release(view)`
            let is_one_step = effects.is_none_or(|it| is_object && is_one_step(it));
            return foreign.is_known() || foreign.given && !is_one_step && !act.elsewhere;
        }
        // `snprintf(text, n, "%d%n", 1, &self->at)`: a format may say so.
        let may_store = match effects {
            Some(_) => row.is_none(),
            None => matches!(arg, Operand::AddressOf(_)),
        };
        may_store && self.is_for_result(call, number) && self.foreign(arg, at).given
    }

    /// Whether a pointer leads to a struct, other than one that is named there, in which there is what
    /// others have.
    fn leads_to_others(&self, arg: &Operand, at: Point) -> bool {
        let within = self.escapes.within(self.frame, self.origins, (arg, at));
        addressed_local(arg).is_none() && within.given
    }

    /// Whether a variable holds the address of what others may have.
    fn leads_to_given(&self, arg: &Operand, at: Point) -> bool {
        let within = self.escapes.within(self.frame, self.origins, (arg, at));
        addressed_local(arg).is_some() && within.given
    }

    /// Whether an argument cannot be an address: a number is one only where a function takes either.
    fn is_count(&self, call: ExprId, number: usize, row: &Writes) -> bool {
        let types = self.frame.types();
        let arg = self.frame.argument(call, number);
        let ty = arg.and_then(|arg| self.frame.type_of(arg));
        let is_count = |ty| match row.takes_either(number) {
            true => types.is_below_address(ty),
            false => types.is_number(ty),
        };
        ty.is_some_and(is_count)
    }

    fn is_object(&self, call: ExprId, number: usize) -> bool {
        let arg = self.frame.argument(call, number);
        let ty = arg.and_then(|arg| self.frame.type_of(arg));
        ty.is_some_and(|ty| self.frame.types().is_object_pointer(ty))
    }

    /// Whether a call may store a number or a pointer through an argument.
    fn is_for_result(&self, call: ExprId, number: usize) -> bool {
        let types = self.frame.types();
        let Some(arg) = self.frame.argument(call, number) else {
            return true;
        };
        let to = types.pointed_at(&self.code().function.tree, arg);
        let is_text = |ty: &Type| ty.name() == Some("char");
        to.is_some_and(|to| {
            let is_result = types.is_number(to) && !is_text(to) || types.pointee(to).is_some();
            is_result && !to.is_const
        })
    }
}

/// Whether a call changes its argument `number` for others to see.
fn is_change(name: &str, act: Acts, number: usize) -> bool {
    let is_other = act.runs_code() || act.frees;
    act.changes(number) && !is_other && counts(name).is_none()
}

/// Whether a function of Python changes an object in one step: it locks it, or leaves it to its methods.
fn is_one_step(effects: &Effects) -> bool {
    effects.locks.is_some() || effects.runs_python
}
