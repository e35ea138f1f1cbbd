//! Functions that use fields of objects only while nobody else has these.
//!
//! ```c
//! it = PyObject_GC_New(listiter, &ListIter_Type);
//! it->index = 0;                            /* nobody has it */
//! ```

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

use super::Plain;
use super::code::Code;
use super::escape::Escapes;
use super::origin::Origins;
use crate::cfg::{Base, Operand, Place, Point, Projection};
use crate::rule::{ItemId, PackageCx};
use crate::writes::walk::Walk;

/// Looks at functions one by one: what their callers give them, others may have.
pub struct Makers<'c, 'a> {
    walk: Walk<'c, 'a>,
}

impl<'c, 'a> Makers<'c, 'a> {
    /// All items must have been parsed.
    #[must_use]
    pub fn new(cx: &'c PackageCx<'a>) -> Self {
        Self {
            walk: Walk::new(cx),
        }
    }

    /// Whether a function uses fields of these names only in memory that it has for itself.
    #[must_use]
    pub fn keeps_to_own(&self, item: ItemId, fields: &BTreeSet<String>) -> bool {
        let Some(function) = self.walk.cx.function(item) else {
            return false;
        };
        let plain = Plain {
            walk: &self.walk,
            given: FxHashMap::default(),
            results: FxHashMap::default(),
        };
        let code = Code::new(&self.walk, item, function);
        let frame = plain.frame(&code);
        let origins = Origins::find(frame);
        let escapes = Escapes::find(frame, &origins);
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

fn names(place: &Place, fields: &BTreeSet<String>) -> bool {
    place.path.iter().any(|step| match step {
        Projection::Field(field) => fields.contains(&**field),
        _ => false,
    })
}
