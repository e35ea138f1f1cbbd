//! Functions that use fields of objects only while nobody else has these.
//!
//! ```c
//! it = PyObject_GC_New(listiter, &ListIter_Type);
//! it->index = 0;                            /* nobody has it */
//! ```

use std::cell::OnceCell;
use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

use super::Plain;
use super::code::Code;
use crate::ast::{ExprId, ExprKind, Function};
use crate::cfg::{Base, Operand, Place, Point, Projection};
use crate::rule::{ItemId, PackageCx};
use crate::writes::walk::Walk;

/// Looks at functions one by one: what their callers give them, others may have.
pub struct Makers<'c, 'a> {
    cx: &'c PackageCx<'a>,
    walk: OnceCell<Walk<'c, 'a>>,
}

impl<'c, 'a> Makers<'c, 'a> {
    /// All items must have been parsed.
    #[must_use]
    pub fn new(cx: &'c PackageCx<'a>) -> Self {
        Self {
            cx,
            walk: OnceCell::new(),
        }
    }

    /// Whether a function uses fields of these names only in memory that it has for itself.
    #[must_use]
    pub fn keeps_to_own(&self, item: ItemId, fields: &BTreeSet<String>) -> bool {
        let Some(function) = self.cx.function(item) else {
            return false;
        };
        if uses_given(function, fields) {
            return false;
        }
        let walk = self.walk.get_or_init(|| Walk::new(self.cx));
        let plain = Plain {
            walk,
            given: FxHashMap::default(),
            results: FxHashMap::default(),
        };
        let code = Code::new(walk, item, function);
        let frame = plain.frame(&code);
        let (origins, escapes) = frame.solved();
        let is_own = |at: Point, place: &Place| match &place.base {
            Base::Deref(pointer) if names(place, fields) => {
                !escapes.foreign(frame, &origins, (pointer, at)).given
            }
            _ => true,
        };
        code.cfg.steps().all(|(at, instr)| {
            let mut operands = instr.operands();
            instr.place().is_none_or(|place| is_own(at, place))
                && operands.all(|operand| match operand {
                    Operand::AddressOf(place) => is_own(at, place),
                    _ => true,
                })
        })
    }
}

/// Whether a function uses one of the fields of an object that it gets, without a look at what it does with
/// others.
fn uses_given(function: &Function, fields: &BTreeSet<String>) -> bool {
    let tree = &function.tree;
    let is_given = |base: ExprId| {
        let local = tree.as_local(tree.without_casts(base));
        let local = local.filter(|local| function.params.contains(local));
        local.is_some_and(|local| !tree.stores().any(|(stored, _)| stored == local))
    };
    tree.exprs.iter().any(|expr| match &expr.kind {
        ExprKind::Member {
            base,
            field,
            arrow: true,
        } => fields.contains(&**field) && is_given(*base),
        _ => false,
    })
}

fn names(place: &Place, fields: &BTreeSet<String>) -> bool {
    place.path.iter().any(|step| match step {
        Projection::Field(field) => fields.contains(&**field),
        _ => false,
    })
}
