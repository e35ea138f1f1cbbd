//! Triage: where the container behind a borrowed reference comes from, and whether another thread
//! can take the reference away.
//!
//! The answer is followed back from the call, along every path: through copies and casts,
//! parameters of `static` functions to all of their callers, results of helpers, fields. It is
//! [`Verdict::Safe`] only with a proof; whatever is not understood counts as shared.
//!
//! ```c
//! static PyObject *f(PyObject *self, PyObject *args, PyObject *kwargs) {
//!     PyObject *a = PyDict_GetItemString(kwargs, "a");     /* Kwargs */
//!     PyObject *list = PySequence_List(a);
//!     PyObject *first = PyList_GetItem(list, 0);           /* Fresh: nobody else has `list` */
//!     PyObject *value = PyDict_GetItem(cache, first);      /* Global */
//! ```
//!
//! All items that decide must have been parsed: see [`Cx::new`].

mod anything;
mod api;
mod borrow;
mod checked;
mod container;
mod dict;
mod exposure;
mod field;
mod filled;
mod flow;
mod gaps;
mod growing;
mod guard;
mod held;
mod keywords;
mod outs;
mod overwritten;
mod own;
mod sharing;
mod stack;
mod thread;
mod traced;
mod verdict;

pub(crate) use api::{makes_container, may_remove};
pub use exposure::Exposure;
pub use verdict::{Proof, SafeReason, SharedKind, Verdict};

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, OnceLock};

use crate::cfg::{Point, Source};
use crate::program::{Body, CallIndex, CallSite, ItemId, Program, Types};
use crate::roles::{Roles, init_only};

use borrow::Borrow;
use field::Contents;
use flow::Flow;
use overwritten::Overwrites;
use sharing::Until;

/// What rules ask of triage.
pub trait Triage: std::fmt::Debug + Sync {
    /// Where the argument `container` of the borrowing call `site` comes from, and what that
    /// means for the value it hands out.
    fn provenance(&self, site: CallSite, container: usize) -> Verdict;

    /// Whether argument `arg` of the call `site` is a dict, or `NULL`, for sure.
    fn is_dict(&self, site: CallSite, arg: usize) -> bool;

    /// Whether argument `arg` of the call `site` may be any object of Python code.
    fn is_any_object(&self, site: CallSite, arg: usize) -> bool;

    /// Whether the first argument of the call `site` may be a list with slots that are not filled,
    /// and the function goes on with what it finds in one.
    fn may_have_gaps(&self, site: CallSite) -> bool;

    /// What may befall the value that the borrowing call `site` hands out.
    fn exposure(&self, site: CallSite) -> Exposure;

    /// Whether the function only runs while a module is initialised.
    fn runs_at_init_only(&self, function: &str) -> bool;

    /// Whether the function of `item` sets the field of no objects but those that it makes itself
    /// and that nobody else knows by then.
    fn sets_new_only(&self, item: ItemId, field: &str) -> bool;

    /// What the functions of the package are to Python.
    fn roles(&self) -> &Roles;

    /// Whether Python calls the function of `item` and takes `NULL`, or -1, for an error.
    fn reports_errors(&self, item: ItemId) -> bool;
}

impl Triage for Cx<'_> {
    fn provenance(&self, site: CallSite, container: usize) -> Verdict {
        Cx::provenance(self, site, container)
    }

    fn is_dict(&self, site: CallSite, arg: usize) -> bool {
        Cx::is_dict(self, site, arg)
    }

    fn is_any_object(&self, site: CallSite, arg: usize) -> bool {
        Cx::is_any_object(self, site, arg)
    }

    fn may_have_gaps(&self, site: CallSite) -> bool {
        Cx::may_have_gaps(self, site)
    }

    fn exposure(&self, site: CallSite) -> Exposure {
        Cx::exposure(self, site)
    }

    fn runs_at_init_only(&self, function: &str) -> bool {
        self.init_only.contains(function)
    }

    fn sets_new_only(&self, item: ItemId, field: &str) -> bool {
        Cx::sets_new_only(self, item, field)
    }

    fn roles(&self) -> &Roles {
        self.roles
    }

    fn reports_errors(&self, item: ItemId) -> bool {
        let item = &self.program.items[item.0 as usize];
        let Some(Body::Function(function)) = &item.body else {
            return false;
        };
        let mut roles = self.roles.of(item, function).peekable();
        roles.peek().is_some() && roles.all(|role| !role.is_destructor() && !role.is_traverse())
    }
}

/// How many calls deep helpers are followed.
const MAX_DEPTH: u32 = 6;

/// Why what the fields of a name hold stays what it is, as far as it was asked for.
type KnownFields = BTreeMap<(Box<str>, Contents), Option<String>>;

/// The package, prepared for questions. Graphs are built when they are first needed.
#[derive(Debug)]
pub struct Cx<'a> {
    program: &'a Program<'a>,
    calls: &'a CallIndex,
    roles: &'a Roles,
    init_only: BTreeSet<&'a str>,
    definitions: BTreeMap<&'a str, Vec<ItemId>>,
    flows: Vec<OnceLock<Flow<'a>>>,
    fields: Mutex<KnownFields>,
    overwrites: OnceLock<Overwrites>,
    types: OnceLock<Types<'a>>,
    shows_by_number: OnceLock<bool>,
    /// Whether the package calls something with a dict of keywords that others may have.
    passes_keywords: OnceLock<bool>,
}

impl<'a> Cx<'a> {
    /// Prepares `program`.
    ///
    /// Beside the functions with the calls in question these items must have been parsed: method
    /// tables and type definitions; every item that names a function with such a call, or a
    /// function that one of those calls with the container; every item that names a field or a
    /// file-scope variable that such a container is read from. What is missing is not noticed:
    /// a caller that was never parsed is a caller that does not exist.
    #[must_use]
    pub fn new(program: &'a Program<'a>, calls: &'a CallIndex, roles: &'a Roles) -> Self {
        let mut definitions: BTreeMap<&str, Vec<ItemId>> = BTreeMap::new();
        for (at, item) in (0u32..).zip(&program.items) {
            if let Some(Body::Function(function)) = &item.body {
                definitions
                    .entry(&function.name)
                    .or_default()
                    .push(ItemId(at));
            }
        }
        Self {
            program,
            calls,
            roles,
            init_only: init_only(program, calls, roles),
            definitions,
            flows: program.items.iter().map(|_| OnceLock::new()).collect(),
            fields: Mutex::default(),
            overwrites: OnceLock::new(),
            types: OnceLock::new(),
            shows_by_number: OnceLock::new(),
            passes_keywords: OnceLock::new(),
        }
    }

    fn types(&self) -> &Types<'a> {
        self.types.get_or_init(|| Types::new(self.program))
    }

    /// Where the argument `container` of the borrowing call `site` comes from, and what that
    /// means for the value it hands out.
    #[must_use]
    pub fn provenance(&self, site: CallSite, container: usize) -> Verdict {
        let Some(flow) = self.flow(site.item) else {
            return Verdict::Shared(SharedKind::Unknown);
        };
        let Some(point) = flow.cfg.call(site.expr) else {
            return Verdict::Shared(SharedKind::Unknown);
        };
        if let Some(line) = self.marked_line(flow, point) {
            let sentence = format!("line {line} is marked `noqa: borrowed-ref OK`");
            return verdict::safe(SafeReason::Marked, sentence);
        }
        let Some((Some(name), args)) = flow.call(point) else {
            return Verdict::Shared(SharedKind::Unknown);
        };
        match name {
            "PyWeakref_GetObject" | "PyWeakref_GET_OBJECT" => {
                return Verdict::Shared(SharedKind::WeakReference);
            }
            "PyImport_AddModule" | "PyImport_AddModuleObject" => {
                if borrow::is_only_tested(flow, point) {
                    let sentence = format!("nothing reads the module that `{name}()` returns");
                    return verdict::safe(SafeReason::Unread, sentence);
                }
                return Verdict::Shared(SharedKind::Interpreter);
            }
            _ => {}
        }
        let Some(container) = args.get(container) else {
            return Verdict::Shared(SharedKind::Unknown);
        };
        let borrow = Borrow::new(self, flow, point);
        let found = self.container(flow, container, point, Until::LastUse(&borrow), MAX_DEPTH);
        match found {
            Verdict::Shared(_) => {
                let guarded = self.guard(flow, container, point, &borrow);
                let guarded = guarded.map(|sentence| (SafeReason::Guarded, sentence));
                let grows = || self.growing(flow, name, container);
                let grows = || Some((SafeReason::GrowingField, grows()?));
                let proof = guarded.or_else(grows);
                proof.map_or(found, |(reason, sentence)| verdict::safe(reason, sentence))
            }
            Verdict::Safe(_) => found,
        }
    }

    /// The graph of a function; `None` if the item is no parsed function.
    fn flow(&self, item: ItemId) -> Option<&Flow<'a>> {
        let at = item.0 as usize;
        let program = self.program.items.get(at)?;
        let Some(Body::Function(function)) = &program.body else {
            return None;
        };
        Some(self.flows[at].get_or_init(|| Flow::new(program, function)))
    }

    fn definitions(&self, name: &str) -> impl Iterator<Item = ItemId> + use<'_> {
        self.definitions.get(name).into_iter().flatten().copied()
    }

    fn is_init_only(&self, flow: &Flow<'_>) -> bool {
        self.init_only.contains(flow.function.name.as_str())
    }

    /// The line of the step at `point`, from 1; of a macro its outermost use.
    fn line(&self, flow: &Flow<'_>, point: Point) -> u32 {
        let (file, span) = self.text(flow, point);
        let start = self.program.files.get(file).position(span.start());
        start.line.0
    }

    fn text(
        &self,
        flow: &Flow<'_>,
        point: Point,
    ) -> (crate::source::FileId, crate::source::ByteSpan) {
        let tree = &flow.function.tree;
        let range = match flow.source(point) {
            Some(Source::Expr(expr)) => tree.expr(expr).range,
            Some(Source::Stmt(stmt)) => tree.stmt(stmt).range,
            None => flow.function.name_range,
        };
        if range.start >= range.end {
            return flow.item.place;
        }
        flow.item.tokens.place(range).written_at()
    }

    /// The line of the call if its maintainers looked at it: numpy writes
    /// `// noqa: borrowed-ref OK` behind such calls.
    fn marked_line(&self, flow: &Flow<'_>, point: Point) -> Option<u32> {
        let (file, span) = self.text(flow, point);
        let source = self.program.files.get(file);
        let lines = source.lines().whole_lines(span);
        let text = source.text(lines);
        let mark = text.find("noqa: borrowed-ref OK")?;
        let comment = text[..mark].rfind(['/', '*'])?;
        (comment < mark).then(|| source.position(span.start()).line.0)
    }
}

#[cfg(test)]
mod tests;
