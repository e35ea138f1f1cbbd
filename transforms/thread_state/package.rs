//! The functions of the package with their calls, and what follows from one for another.

use std::collections::{BTreeMap, BTreeSet};

use crate::ast::ExprId;
use crate::roles::Roles;
use crate::rule::{ItemId, PackageCx};
use crate::source::{ByteSpan, FileId};

use super::calls::needs_thread;
use super::flow::{Step, helpers, steps};

/// One definition of a function.
pub(super) struct Definition {
    pub(super) item: ItemId,
    pub(super) steps: Vec<Step>,
}

/// All functions, by name.
pub(super) struct Package<'a> {
    pub(super) cx: &'a PackageCx<'a>,
    pub(super) functions: BTreeMap<&'a str, Vec<Definition>>,
}

impl<'a> Package<'a> {
    pub(super) fn new(cx: &'a PackageCx<'a>) -> Self {
        let helpers = helpers(cx);
        let mut functions: BTreeMap<&str, Vec<Definition>> = BTreeMap::new();
        for at in 0..u32::try_from(cx.program.items.len()).expect("items are numbered so") {
            let item = ItemId(at);
            if let Some(function) = cx.function(item) {
                let steps = steps(cx, &helpers, item, function);
                let all = functions.entry(&function.name).or_default();
                all.push(Definition { item, steps });
            }
        }
        Self { cx, functions }
    }

    pub(super) fn definitions(&self) -> impl Iterator<Item = (&'a str, &Definition)> {
        let all = self.functions.iter();
        all.flat_map(|(name, definitions)| definitions.iter().map(|each| (*name, each)))
    }

    /// Functions that must be called by an attached thread, with the call that needs it: of the
    /// C API, or of another function of this kind. Those that ask whether the thread is attached
    /// are left out.
    pub(super) fn need_thread(&self) -> BTreeMap<&'a str, (ItemId, ExprId)> {
        let mut callers: BTreeMap<&str, Vec<(&'a str, ItemId, ExprId)>> = BTreeMap::new();
        let mut need: BTreeMap<&'a str, (ItemId, ExprId)> = BTreeMap::new();
        let mut pending: Vec<&'a str> = Vec::new();
        for (name, definition) in self.definitions() {
            if asks(definition) {
                continue;
            }
            let steps = definition.steps.iter();
            for step in steps.filter(|step| step.thread.is_as_at_entry()) {
                if let Some((callee, _)) = self.functions.get_key_value(&*step.name) {
                    let all = callers.entry(callee).or_default();
                    all.push((name, definition.item, step.call));
                } else if needs_thread(&step.name) && !need.contains_key(name) {
                    need.insert(name, (definition.item, step.call));
                    pending.push(name);
                }
            }
        }
        while let Some(name) = pending.pop() {
            for &(caller, item, call) in callers.get(name).into_iter().flatten() {
                if !need.contains_key(caller) {
                    need.insert(caller, (item, call));
                    pending.push(caller);
                }
            }
        }
        need
    }

    /// Functions that run attached: Python calls them, or another such function does so without
    /// detaching before. Those that run only while a module is made are left out.
    pub(super) fn run_attached(&self) -> BTreeSet<&'a str> {
        let roles = Roles::new(self.cx.program);
        let mut pending: Vec<&'a str> = Vec::new();
        for (item, function) in self.cx.program.functions() {
            let mut of = roles.of(item, function).peekable();
            if of.peek().is_some() && !of.all(crate::roles::Role::is_module_init) {
                pending.push(&function.name);
            }
        }
        let mut found = BTreeSet::new();
        while let Some(name) = pending.pop() {
            let Some((name, definitions)) = self.functions.get_key_value(name) else {
                continue;
            };
            if self.cx.runs_at_init_only(name) || !found.insert(*name) {
                continue;
            }
            let steps = definitions.iter().flat_map(|each| &each.steps);
            let called = steps.filter(|step| step.thread.is_attached());
            let own = called.filter_map(|step| self.functions.get_key_value(&*step.name));
            pending.extend(own.map(|(name, _)| *name));
        }
        found
    }

    /// The text of an expression, or of the macro use that made it.
    pub(super) fn text(&self, item: ItemId, expr: ExprId) -> Option<(FileId, ByteSpan)> {
        Some(self.cx.place(item, expr)?.written_at())
    }
}

fn asks(definition: &Definition) -> bool {
    definition.steps.iter().any(|step| {
        matches!(
            &*step.name,
            "PyGILState_Check" | "PyGILState_GetThisThreadState"
        )
    })
}
