//! The package before the change.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use super::locked::called_under_lock;
use crate::ast::Function;
use crate::ownership::summary::Summaries;
use crate::program::{CallIndex, CallSite, Program, ProgramItem, Types};
use crate::roles::{Role, Roles, WeakLists};
use crate::source::{ByteSpan, FileId};

/// The package before the change.
pub(super) struct Original<'a> {
    pub(super) program: &'a Program<'a>,
    /// What its functions do with their arguments.
    pub(super) callees: &'a Summaries,
    /// The types of its places.
    pub(super) types: Types<'a>,
    /// What Python calls, and who calls what, when first asked for.
    roles: OnceLock<Roles>,
    calls: OnceLock<CallIndex>,
    under_lock: OnceLock<BTreeSet<Box<str>>>,
    weak_lists: OnceLock<WeakLists>,
}

impl<'a> Original<'a> {
    pub(super) fn new(program: &'a Program<'a>, callees: &'a Summaries) -> Self {
        Self {
            program,
            callees,
            types: Types::new(program),
            roles: OnceLock::new(),
            calls: OnceLock::new(),
            under_lock: OnceLock::new(),
            weak_lists: OnceLock::new(),
        }
    }

    /// The functions of `file` that begin within `span`.
    pub(super) fn functions_within(
        &self,
        file: FileId,
        span: ByteSpan,
    ) -> impl Iterator<Item = (&'a ProgramItem, &'a Function)> + use<'a> {
        let functions = self.program.functions();
        functions.filter(move |(item, _)| item.place.0 == file && span.contains(item.place.1))
    }

    /// Whether Python alone calls the function, as a method: it owns what is returned.
    pub(super) fn is_method(&self, item: &ProgramItem, function: &Function) -> bool {
        let mut roles = self.roles().of(item, function);
        roles.any(|role| role.is_method() || *role == Role::Getter)
            && self.calls().calls_to(&function.name).is_empty()
    }

    /// Whether Python calls the function also while an exception is pending: in a slot, or as the
    /// destructor of a capsule.
    pub(super) fn meets_exception(&self, item: &ProgramItem, function: &Function) -> bool {
        let mut roles = self.roles().of(item, function);
        let is_destructor = |site: &CallSite| {
            let tree = self.program.item(site.item).tree();
            let given = tree.and_then(|tree| {
                let (_, args) = tree.call(site.expr)?;
                tree.callee_name(tree.without_casts(*args.get(2)?))
            });
            given == Some(&function.name)
        };
        let mut capsules = self.calls().calls_to("PyCapsule_New").iter();
        roles.any(Role::may_meet_exception) || capsules.any(is_destructor)
    }

    /// The calls of its functions by their names.
    pub(super) fn calls(&self) -> &CallIndex {
        self.calls.get_or_init(|| CallIndex::new(self.program))
    }

    /// The functions that run while a function of the package holds a lock.
    pub(super) fn under_lock(&self) -> &BTreeSet<Box<str>> {
        self.under_lock
            .get_or_init(|| called_under_lock(self.program))
    }

    /// Which types have lists of weak references.
    pub(super) fn weak_lists(&self) -> &WeakLists {
        self.weak_lists
            .get_or_init(|| WeakLists::new(self.program, &self.types))
    }

    fn roles(&self) -> &Roles {
        self.roles.get_or_init(|| Roles::new(self.program))
    }
}
