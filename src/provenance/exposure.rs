//! The steps of a function in which a borrowed value is in danger: what may free it, what uses it.

use crate::capi;
use crate::cfg::{Base, Instr, InstrKind, Operand, Point};
use crate::program::CallSite;
use crate::source::{ByteSpan, FileId};

use super::Cx;
use super::borrow::Borrow;
use super::flow::{Flow, Origin};

/// Text of a file.
type Text = (FileId, ByteSpan);

/// The steps after a borrowing call, where they are known for sure. Other threads can free the
/// value between any two steps; these are the ones worth showing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Exposure {
    /// The first call that can run Python code while the value is in use, and its function.
    pub freed: Option<(Text, String)>,
    /// The last use of the value in the text.
    pub used: Option<Text>,
}

impl Cx<'_> {
    /// What may befall the value that the borrowing call `site` hands out. Steps before the call
    /// in the text, which a loop comes back to, are left out.
    #[must_use]
    pub fn exposure(&self, site: CallSite) -> Exposure {
        let found = self.flow(site.item).and_then(|flow| {
            let point = flow.cfg.call(site.expr)?;
            Some(self.exposure_in(flow, point))
        });
        found.unwrap_or_default()
    }

    fn exposure_in(&self, flow: &Flow<'_>, site: Point) -> Exposure {
        let borrow = Borrow::new(self, flow, site);
        let here = self.text(flow, site);
        let is_later = |text: &Text| text.0 == here.0 && text.1.start() >= here.1.end();
        let place = |point: Point| {
            let text = self.text(flow, point);
            let comes = is_later(&text) && flow.reaches(site, point, borrow.adoptions());
            comes.then_some((text, point))
        };
        let Some((used, last)) = uses(flow, site).into_iter().filter_map(place).max() else {
            return Exposure::default();
        };
        let frees = flow.instrs().filter_map(|(point, _)| {
            let name = flow.call(point)?.0?;
            capi::effects(name).filter(|effects| effects.runs_python)?;
            let (text, _) = place(point)?;
            let between = text.1.end() <= used.1.start()
                && borrow.is_live_at(point)
                && flow.reaches(point, last, borrow.adoptions());
            between.then(|| (text, name.to_owned()))
        });
        Exposure {
            freed: frees.min(),
            used: Some(used),
        }
    }
}

/// Steps that follow the pointer, or give it to others. To compare it is no use.
fn uses(flow: &Flow<'_>, site: Point) -> Vec<Point> {
    let is_value = |operand: &Operand| {
        let mut origins = flow.origins(operand).into_iter();
        origins.any(|origin| origin == Origin::Call(site))
    };
    let steps = flow
        .instrs()
        .filter(|(_, instr)| uses_value(instr, is_value));
    let returns = flow.returns().filter(|(_, value)| is_value(value));
    steps
        .map(|(point, _)| point)
        .chain(returns.map(|(point, _)| point))
        .collect()
}

fn uses_value(instr: &Instr, is_value: impl Fn(&Operand) -> bool) -> bool {
    let follows = instr.place().is_some_and(|place| match &place.base {
        Base::Deref(pointer) => is_value(pointer),
        Base::Local(_) | Base::Global(_) | Base::Unnamed(_) => false,
    });
    follows
        || match &instr.kind {
            InstrKind::Call { args, .. } => args.iter().any(is_value),
            InstrKind::Store { place, value } => {
                !matches!(place.base, Base::Local(_)) && is_value(value)
            }
            _ => false,
        }
}
