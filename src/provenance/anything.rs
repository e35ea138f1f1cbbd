//! Whether an argument may be whatever Python code hands in: a call that finds nothing in what is
//! no dict then answers where one that minds raises an error.
//!
//! ```c
//! self->expr = PyTuple_GetItem(args, 0);              /* a dict, or `None` */
//! v = PyDict_GetItemString(self->expr, "key");
//! ```

use crate::ast::ExprKind;
use crate::capi::{self, Returns};
use crate::cfg::{Base, Condition, Dominators, Instr, Operand, Point, Source};
use crate::program::{Body, CallSite, ItemId, ProgramItem, members};
use crate::roles::Param;

use super::Cx;
use super::checked::{holds_from, unequal_from};
use super::dict::{gives_dict, parses_dict};
use super::flow::{Flow, Origin, last_field};

/// How many calls, fields and variables deep a value is followed.
const MAX_DEPTH: u32 = 3;

impl Cx<'_> {
    /// Whether argument `arg` of the call `site` may be whatever Python code hands in, as nothing
    /// asks whether it is a dict.
    #[must_use]
    pub fn is_any_object(&self, site: CallSite, arg: usize) -> bool {
        let found = self.flow(site.item).and_then(|flow| {
            let point = flow.cfg.call(site.expr)?;
            let (_, args) = flow.call(point)?;
            Some((flow, args.get(arg)?, point))
        });
        found.is_some_and(|(flow, operand, at)| self.may_be_anything(flow, operand, at, MAX_DEPTH))
    }

    fn may_be_anything(&self, flow: &Flow<'_>, operand: &Operand, at: Point, depth: u32) -> bool {
        if depth == 0 || self.holds_dict(flow, operand, at, depth) {
            return false;
        }
        match self.read(flow, operand) {
            Some(cell) => {
                !self.is_asked(flow, &cell, at) && self.cell_may_be_anything(&cell, depth)
            }
            None => {
                flow.may_be_none(operand) && !is_told_from_none(flow, operand, at)
                    || self.value_may_be_anything(flow, operand, depth)
            }
        }
    }

    fn value_may_be_anything(&self, flow: &Flow<'_>, operand: &Operand, depth: u32) -> bool {
        let origins = flow.origins(operand);
        let called = |origin: &Origin| match origin {
            Origin::Call(made) => flow.call(*made).and_then(|(name, _)| name),
            _ => None,
        };
        // v = PyDict_GetItem(cache, key); if (v == NULL) { v = PyDict_New(); … }: one of those that
        // the function puts there itself.
        let is_cached = origins.iter().filter_map(called).any(gives_dict);
        let is_own = |name: &str| {
            let effects = capi::effects(name).filter(|_| is_cached);
            effects.is_some_and(|effects| effects.returns == Returns::Borrowed)
        };
        let may_be = |origin: &Origin| match origin {
            Origin::Out(point, arg) => {
                let name = flow.call(*point).and_then(|(name, _)| name);
                name.is_some_and(|name| name.starts_with("PyArg_"))
                    && !parses_dict(flow, *point, *arg)
            }
            Origin::Call(_) => called(origin).is_some_and(|name| {
                let is_any = gives_any(name) && !gives_dict(name) && !is_own(name);
                is_any || self.returns_anything(name, depth)
            }),
            Origin::Param(index) => self.param_may_be_anything(flow, *index, depth),
            Origin::Global(name) => {
                self.cell_may_be_anything(&Cell::Static(name.clone()), depth - 1)
            }
            Origin::Field(..) | Origin::Element(_) | Origin::Address(_) | Origin::Unknown => false,
        };
        origins.iter().any(may_be)
    }

    /// Whether a function of the package may return whatever Python code has given.
    fn returns_anything(&self, name: &str, depth: u32) -> bool {
        self.definitions(name).any(|item| {
            self.flow(item).is_some_and(|flow| {
                let mut returns = flow.returns();
                returns.any(|(at, value)| self.may_be_anything(flow, value, at, depth - 1))
            })
        })
    }

    fn param_may_be_anything(&self, flow: &Flow<'_>, index: usize, depth: u32) -> bool {
        let mut roles = self.roles.of(flow.item, flow.function);
        let is_argument = roles.any(|role| role.param(index) == Some(Param::Argument));
        let mut sites = self.calls.calls_to(&flow.function.name).iter();
        is_argument
            || sites.any(|call| {
                let given = self.flow(call.item).and_then(|caller| {
                    let site = caller.cfg.call(call.expr)?;
                    let (_, args) = caller.call(site)?;
                    Some((caller, args.get(index)?, site))
                });
                given.is_some_and(|(caller, arg, site)| {
                    self.may_be_anything(caller, arg, site, depth - 1)
                })
            })
    }

    /// Whether the package puts `None`, or what Python code gave, into such a cell, or Python code
    /// may.
    fn cell_may_be_anything(&self, cell: &Cell, depth: u32) -> bool {
        let stores = |(at, item): (u32, &ProgramItem)| {
            let is_function = matches!(item.body, Some(Body::Function(_)));
            is_function
                && self.has_word(item, cell.name())
                && self
                    .flow(ItemId(at))
                    .is_some_and(|flow| self.stores_anything(flow, cell, depth))
        };
        depth > 0 && (self.is_member(cell) || (0u32..).zip(&self.program.items).any(stores))
    }

    fn is_member(&self, cell: &Cell) -> bool {
        let Cell::Field { name, .. } = cell else {
            return false;
        };
        members(self.program).any(|member| {
            let is_named = member.field.is_some_and(|(_, field)| *field == **name);
            is_named && member.is_object && !member.is_read_only
        })
    }

    fn stores_anything(&self, flow: &Flow<'_>, cell: &Cell, depth: u32) -> bool {
        flow.instrs().any(|(at, _)| {
            flow.assigned(at).is_some_and(|(place, value)| {
                self.is_of(flow, place, cell)
                    && (flow.may_be_none(value) || self.may_be_anything(flow, value, at, depth - 1))
            })
        })
    }

    /// The cell that `operand` was just read from.
    fn read(&self, flow: &Flow<'_>, operand: &Operand) -> Option<Cell> {
        self.cell(flow, flow.read_at(operand)?)
    }

    /// The cell that a step reads or writes.
    fn cell(&self, flow: &Flow<'_>, at: Point) -> Option<Cell> {
        let instr = flow.cfg.instr(at)?;
        let place = instr.place()?;
        match (&place.base, last_field(place)) {
            (_, Some(name)) => Some(Cell::Field {
                owner: self.owner(flow, instr.source),
                name: name.into(),
            }),
            (Base::Global(name), None) if place.path.is_empty() => Some(Cell::Static(name.clone())),
            _ => None,
        }
    }

    /// The type whose field an expression reads or sets; `None` if it cannot be told.
    fn owner(&self, flow: &Flow<'_>, source: Source) -> Option<String> {
        let tree = &flow.function.tree;
        let Source::Expr(expr) = source else {
            return None;
        };
        let place = tree.changed(expr).unwrap_or(expr);
        match tree.expr(tree.without_casts(place)).kind {
            ExprKind::Member { base, arrow, .. } => self.types().owner(tree, base, arrow),
            _ => None,
        }
    }

    /// Whether a step reads or writes such a cell.
    fn is_of(&self, flow: &Flow<'_>, at: Point, cell: &Cell) -> bool {
        let place = flow.cfg.instr(at).and_then(Instr::place);
        let is_named = place.is_some_and(|place| match (&place.base, last_field(place)) {
            (_, Some(field)) => field == cell.name(),
            (Base::Global(name), None) => **name == *cell.name(),
            _ => false,
        });
        is_named && self.cell(flow, at).is_some_and(|it| it.meets(cell))
    }

    /// Whether all ways to `at` come from where `PyDict_Check(cell)` said yes, or where the cell was
    /// compared with `None`: there the author thought of what is no dict.
    fn is_asked(&self, flow: &Flow<'_>, cell: &Cell, at: Point) -> bool {
        let is_read = |operand: &Operand| self.read(flow, operand).is_some_and(|it| it.meets(cell));
        let dominators = Dominators::new(&flow.cfg);
        let leads = |block| dominators.dominates(block, at.block);
        let checks = flow.instrs().any(|(check, _)| {
            let asks = matches!(flow.call(check),
                Some((Some("PyDict_Check" | "PyDict_CheckExact"), [arg])) if is_read(arg));
            asks && holds_from(flow, check).is_some_and(leads)
        });
        let differs = |condition: &Condition| {
            let (lhs, rhs) = (&condition.lhs, &condition.rhs);
            is_read(lhs) && flow.may_be_none(rhs) || is_read(rhs) && flow.may_be_none(lhs)
        };
        let mut blocks = flow.cfg.iter().map(|(_, block)| &block.terminator);
        checks || blocks.any(|end| unequal_from(flow, end, differs).is_some_and(leads))
    }
}

/// Whether a variable was compared with `None` on all ways to `at`.
fn is_told_from_none(flow: &Flow<'_>, operand: &Operand, at: Point) -> bool {
    let local = flow.local(operand);
    let is_it = |operand: &Operand| local.is_some() && flow.local(operand) == local;
    let differs = |condition: &Condition| {
        let (lhs, rhs) = (&condition.lhs, &condition.rhs);
        is_it(lhs) && flow.may_be_none(rhs) || is_it(rhs) && flow.may_be_none(lhs)
    };
    let dominators = Dominators::new(&flow.cfg);
    let mut blocks = flow.cfg.iter().map(|(_, block)| &block.terminator);
    blocks.any(|end| {
        let block = unequal_from(flow, end, differs);
        block.is_some_and(|block| dominators.dominates(block, at.block))
    })
}

/// A place that other functions write: a field of a type, or a static variable.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Cell {
    /// Without an owner it may be the field of any type.
    Field {
        owner: Option<String>,
        name: Box<str>,
    },
    Static(Box<str>),
}

impl Cell {
    fn name(&self) -> &str {
        match self {
            Self::Field { name, .. } | Self::Static(name) => name,
        }
    }

    /// Whether both may be one.
    fn meets(&self, other: &Self) -> bool {
        match (self, other) {
            (
                Self::Field { owner, name },
                Self::Field {
                    owner: others,
                    name: named,
                },
            ) => name == named && (owner.is_none() || others.is_none() || owner == others),
            _ => self == other,
        }
    }
}

/// Whether a function of the C API gives an object that Python code, or another container, has to
/// give: an attribute, an item, what a call returns.
fn gives_any(name: &str) -> bool {
    let Some(effects) = capi::effects(name) else {
        return false;
    };
    match effects.returns {
        Returns::New => effects.runs_python,
        Returns::Borrowed => effects.derived_from.is_some(),
        _ => false,
    }
}
