//! Loops over dicts in each other.

use super::operand::Operand;
use super::scope::inside;
use super::site::Site;
use super::{Confidence, Outcome, Sites};

impl Sites<'_> {
    /// The outermost iteration around `site` that gets a section.
    pub(super) fn outer(&self, site: &Site) -> Option<usize> {
        let region = site.range(self.scope);
        self.read.iter().position(|other| {
            other.as_ref().is_ok_and(|other| {
                other.call != site.call && inside(region, other.range(self.scope))
            })
        })
    }

    /// Iterations inside of that of `site`.
    pub(super) fn inner(&self, site: &Site) -> impl Iterator<Item = &Site> {
        let region = site.range(self.scope);
        let sites = self.read.iter().filter_map(|site| site.as_ref().ok());
        sites
            .filter(move |other| other.call != site.call && inside(other.range(self.scope), region))
    }

    /// The dict that the section of `site` has to hold as well.
    pub(super) fn second(&self, site: &Site) -> Option<(&Site, Operand)> {
        let mut others = self
            .inner(site)
            .filter(|other| !self.scope.is_same_text(other.dict, site.dict));
        let other = others.next()?;
        if others.any(|third| !self.scope.is_same_text(third.dict, other.dict)) {
            return None;
        }
        let operand = Operand::read(self.scope, other, site.range(self.scope)).ok()?;
        (!matches!(operand, Operand::Bound(_))).then_some((other, operand))
    }

    pub(super) fn inner_outcome(&self, site: &Site, outer: usize, outcome: &Outcome) -> Outcome {
        let Ok(around) = &self.read[outer] else {
            return outcome.clone();
        };
        let held = self.scope.is_same_text(site.dict, around.dict)
            || self
                .second(around)
                .is_some_and(|(second, _)| self.scope.is_same_text(site.dict, second.dict));
        if held {
            return outcome.clone();
        }
        Outcome::Manual(
            "iterate over a copy (`PyDict_Copy`), because a separate section would suspend the \
             outer one in each iteration of the outer loop"
                .into(),
        )
    }

    /// Notes that the dict of `site` may be what a loop around it lends, which is not safe by then:
    /// while the section waits for the lock, another thread may free it.
    ///
    /// ```c
    /// while (PyDict_Next(d, &pos, &k, &inner))
    ///     while (PyDict_Next(inner, &at, &key, &value))
    /// ```
    pub(super) fn assume_lent(&self, site: &Site, around: &Outcome, outcome: &mut Outcome) {
        let is_safe = matches!(around, Outcome::Fix(fix) if fix.confidence == Confidence::Safe);
        if let (Outcome::Fix(fix), Some(dict)) = (outcome, self.scope.text(site.dict))
            && !is_safe
        {
            fix.assume(format!(
                "`{dict}`, which is borrowed from the outer loop, stays alive while the section \
                 waits for its lock"
            ));
        }
    }
}
