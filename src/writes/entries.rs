//! What Python, or code that is not seen, may call, and with what.

use std::collections::BTreeSet;

use super::Why;
use super::guards::Guards;
use super::plain::{Foreign, Given};
use super::targets::{functions, parameter};
use super::value::Value;
use super::walk::{Context, Walk};
use crate::ast::Function;
use crate::roles::Role;
use crate::rule::ItemId;

impl Walk<'_, '_> {
    /// Looks at all that Python, or code that is not seen, may call.
    pub(super) fn run(&mut self) {
        for (item, function) in functions(self.cx) {
            for params in self.roles(item, function) {
                self.visit_as(item, params);
            }
            if self.has_role(
                item,
                function,
                |role| matches!(role, Role::Slot(slot) if &**slot == "tp_init"),
            ) {
                self.visit_again(item, function);
            }
        }
        for (item, function) in functions(self.cx) {
            if self.targets.destructors.contains(&function.name) {
                self.visit_as(item, vec![Value::OWN; function.params.len()]);
            }
        }
        for (item, function) in functions(self.cx) {
            let is_named = !function.is_static && self.cx.program.unread.names(&function.name);
            let is_target = self.targets.by_arity.get(&function.params.len());
            let is_target = is_target.is_some_and(|all| all.contains(&item));
            let is_met = self.contexts.contains_key(&item) && !self.targets.kept.contains(&item);
            // What files that were not read name, they may call with anything.
            if (is_named && !self.is_init(item, function) || is_target && !is_met)
                && !self.targets.alone.contains(&function.name)
            {
                self.visit_unknown(item, function);
            }
        }
    }

    /// Looks at a function that Python calls with these.
    fn visit_as(&mut self, item: ItemId, params: Vec<Value>) {
        self.visit(Context {
            item,
            params,
            held: Guards::default(),
            handles: 0,
        });
    }

    /// Looks at an `__init__` as it runs for an object that others have, which Python code may ask
    /// for: what is left of it then is left as a whole.
    fn visit_again(&mut self, item: ItemId, function: &Function) {
        if self.is_reported_init(item) {
            return;
        }
        let file = self.cx.item(item).place.0;
        let again = self.reached.begin_apart();
        self.visit_as(item, vec![Value::SHARED; function.params.len()]);
        self.reached.end();
        if !self.reached.has_new(again) {
            return self.reached.enter(again, file);
        }
        let range = function.tree.stmt(function.body).range;
        let mut left = self.left_at(item, range, function.name.clone(), Why::Again);
        left.function = String::new();
        self.reached.begin(file);
        self.reached.note(left);
        self.reached.end();
    }

    fn is_init(&self, item: ItemId, function: &Function) -> bool {
        self.has_role(item, function, Role::is_module_init) || function.name == "main"
    }

    fn has_role(&self, item: ItemId, function: &Function, is: impl Fn(&Role) -> bool) -> bool {
        let roles = self.cx.roles().into_iter();
        let mut roles = roles.flat_map(|roles| roles.of(self.cx.item(item), function));
        roles.any(is)
    }

    /// The parameters with which Python calls a function, once for each of its roles.
    fn roles(&self, item: ItemId, function: &Function) -> BTreeSet<Vec<Value>> {
        let roles = self.cx.roles().into_iter();
        let roles = roles.flat_map(|roles| roles.of(self.cx.item(item), function));
        let count = function.params.len();
        let params = |role| (0..count.max(1)).map(|at| parameter(role, at)).collect();
        let params = roles.map(|role| -> Option<Vec<Value>> { params(role) });
        params.flatten().collect()
    }

    /// Whose the parameters of a function are that is called from elsewhere than what is seen; of
    /// the others, calls tell.
    pub(super) fn entry_parameters(&self, item: ItemId, function: &Function) -> Vec<Given> {
        let count = function.params.len();
        let mut all = vec![Given::default(); count];
        let roles = self.roles(item, function);
        for params in &roles {
            for (known, value) in all.iter_mut().zip(params) {
                known.memory |= Foreign::of(*value);
            }
        }
        let is_destructor = self.targets.destructors.contains(&function.name);
        let calls = self.cx.call_index();
        let is_mentioned = calls.is_mentioned(&function.name) && roles.is_empty();
        if is_mentioned && !is_destructor || calls.may_be_called_unseen(&function.name) {
            // The package may have given its own: `PySys_AddAuditHook(hook, counts)`.
            all.fill(Given::KEPT);
        }
        if !roles.is_empty() || is_destructor {
            all.iter_mut().for_each(|it| it.within = Foreign::KEPT);
        }
        all
    }

    /// Looks at a function that is called from somewhere with anything.
    pub(super) fn visit_unknown(&mut self, item: ItemId, function: &Function) {
        let params = vec![Value::SHARED; function.params.len()];
        self.visit(Context {
            item,
            params,
            held: Guards::default(),
            handles: u32::MAX,
        });
    }
}
