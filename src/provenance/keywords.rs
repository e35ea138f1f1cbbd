//! Whose dict the keyword arguments are.
//!
//! `f(**d)` makes a dict for the call, and so do `functools.partial` and `super().__init__(**d)`. C
//! that calls passes on the dict that it has, whatever is called: seen in CPython 3.13 with
//! `PyObject_Call` of a function, a method, a type, and an object with `tp_call`.
//!
//! ```c
//! return PyObject_Call(self->function, args, self->keywords);      /* a dict that others have */
//! ```

use crate::cfg::{Operand, Point};
use crate::roles::{Param, Role};

use super::Cx;
use super::api::{Gives, gives};
use super::flow::{Flow, Origin};
use super::sharing::{Root, Until};

/// How many helpers deep a dict is followed that is passed on.
const DEPTH: u32 = 3;

/// Functions that call something with a dict of keywords, and which argument that is. One with
/// `vectorcall` gets the names and values instead.
const CALLS: [(&str, usize); 5] = [
    ("PyCFunction_Call", 2),
    ("PyEval_CallObjectWithKeywords", 2),
    ("PyObject_Call", 2),
    ("PyObject_VectorcallDict", 3),
    ("_PyObject_FastCallDict", 3),
];

impl Cx<'_> {
    /// Whether a function of this role gets a dict that is made for the call. Types are called by C
    /// with whatever it has; functions are, if the package itself does so.
    pub(super) fn has_own_keywords(&self, role: &Role) -> bool {
        let passes_others = || *self.passes_keywords.get_or_init(|| self.passes_keywords());
        matches!(role, Role::Method(_)) && !passes_others()
    }

    /// Whether the package calls something with keywords that others may have.
    fn passes_keywords(&self) -> bool {
        let sites = CALLS.iter().flat_map(|(name, at)| {
            let sites = self.calls.calls_to(name).iter();
            sites.map(move |site| (site, *at))
        });
        let mut sites = sites.filter_map(|(site, at)| {
            let flow = self.flow(site.item)?;
            Some((flow, flow.cfg.call(site.expr)?, at))
        });
        sites.any(|(flow, call, at)| {
            let dict = flow.call(call).and_then(|(_, args)| args.get(at));
            dict.is_some_and(|dict| !self.is_for_call(flow, dict, call, DEPTH))
        })
    }

    /// Whether nobody else has the dict that a call at `site` gets, or it is the one of the
    /// function's own call.
    fn is_for_call(&self, flow: &Flow<'_>, dict: &Operand, site: Point, depth: u32) -> bool {
        let origins = flow.origins(dict);
        let is_new = |made: Point| {
            let name = flow.call(made).and_then(|(name, _)| name);
            name.and_then(gives) == Some(Gives::Fresh)
                && self
                    .shared_at(flow, Root::Step(made), site, Until::Site, DEPTH)
                    .is_none()
        };
        let is_own = |origin: &Origin| match origin {
            Origin::Call(made) => is_new(*made),
            Origin::Param(index) => self.is_passed_for_call(flow, *index, depth),
            _ => false,
        };
        dict.is_zero() || !origins.is_empty() && origins.iter().all(is_own)
    }

    /// The same of what a function gets as parameter `index`.
    fn is_passed_for_call(&self, flow: &Flow<'_>, index: usize, depth: u32) -> bool {
        let function = flow.function;
        let mut roles = self.roles.of(flow.item, function).peekable();
        if roles.peek().is_some() {
            return roles.all(|role| role.param(index) == Some(Param::Keywords));
        }
        let is_open = !function.is_static || self.calls.is_mentioned(&function.name);
        !is_open
            && depth > 0
            && self.calls_of(flow).into_iter().all(|call| {
                let caller = self.flow(call.item);
                let site = caller.and_then(|caller| caller.cfg.call(call.expr));
                let (Some(caller), Some(site)) = (caller, site) else {
                    return false;
                };
                let passed = caller.call(site).and_then(|(_, args)| args.get(index));
                passed.is_some_and(|dict| self.is_for_call(caller, dict, site, depth - 1))
            })
    }
}
