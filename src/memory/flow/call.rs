//! Calls: of the package's own functions, of allocators, of everything else.

use crate::ast::{ExprId, ExprKind, Function, Name, Type};
use crate::capi;
use crate::program::{CallSite, ItemId};

use super::super::domain::{Act, Allocator, allocator};
use super::super::known::{INITIALISERS, Outside, outside};
use super::{Here, Holder, Mark, Node, Site, Walk};

impl Walk<'_, '_> {
    pub(super) fn call(
        &mut self,
        here: Here<'_>,
        expr: ExprId,
        callee: ExprId,
        args: &[ExprId],
    ) -> Option<Node> {
        let values: Vec<Option<Node>> = args.iter().map(|arg| self.value(here, *arg)).collect();
        let Some(name) = here.tree.callee_name(callee) else {
            return Some(self.indirect(here, callee, &values));
        };
        if let Some(definitions) = self.functions.get(name) {
            return Some(self.own(name, definitions, &values));
        }
        if let Some(allocator) = allocator(name) {
            let call = CallSite {
                item: ItemId(here.item),
                expr,
            };
            return self.site(call, allocator, values.first().copied().flatten());
        }
        // PyThread_start_new_thread(run, job): `run` gets the job, and keeps it
        let calls_back = args.iter().any(|&arg| self.is_function(here, arg));
        if calls_back && outside(name) == Outside::Looks && capi::effects(name).is_some() {
            self.leave(&values, &format!("`{name}()` gives it to a function"));
            return Some(self.unknown());
        }
        self.foreign(name, &values)
    }

    /// Whether an argument is a function of the package.
    fn is_function(&self, here: Here<'_>, arg: ExprId) -> bool {
        let arg = here.tree.without_address(arg);
        matches!(&here.tree.expr(arg).kind, ExprKind::Name(Name::Global(name)) if self.functions.contains_key(&**name))
    }

    fn site(
        &mut self,
        call: CallSite,
        allocator: &'static Allocator,
        argument: Option<Node>,
    ) -> Option<Node> {
        let given = (allocator.act != Act::Release).then(|| self.graph().fresh());
        self.followed.sites.push(Site {
            call,
            allocator,
            taken: argument.filter(|_| allocator.act != Act::Allocate),
            given,
        });
        given
    }

    /// A call of a function of the package.
    fn own(
        &mut self,
        name: &str,
        definitions: &[(u32, &Function)],
        values: &[Option<Node>],
    ) -> Node {
        for (index, value) in values.iter().enumerate() {
            let Some(value) = *value else { continue };
            let params: Vec<&Type> = definitions
                .iter()
                .filter_map(|(_, f)| Some(&f.tree.local(*f.params.get(index)?).ty))
                .collect();
            if params.is_empty() {
                let what = format!("`{name}()` gets it as one of its variable arguments");
                self.mark(value, Mark::Leaves(what));
            }
            let param = self.graph().holder(Holder::Param(name.into(), index));
            for ty in params {
                self.flows(Some(param), Some(ty), Some(value));
            }
        }
        self.graph().holder(Holder::Result(name.into()))
    }

    fn foreign(&mut self, name: &str, values: &[Option<Node>]) -> Option<Node> {
        let first = values.first().copied().flatten();
        match outside(name) {
            Outside::First => return first,
            Outside::Copies => {
                if let [Some(to), Some(from), ..] = *values {
                    let from = self.graph().pointee(from);
                    self.graph().points_at(to, from);
                }
                return first;
            }
            Outside::Object => {
                if let Some(first) = first {
                    self.mark(first, Mark::Object);
                    if INITIALISERS.contains(&name) {
                        self.mark(first, Mark::Made(name.into()));
                    }
                }
                return first;
            }
            Outside::Looks => {
                for (at, value) in values.iter().enumerate() {
                    if capi::keeps_pointer(name, at) {
                        self.leave(&[*value], &format!("`{name}()` gets it"));
                    } else if let Some(value) = *value {
                        let inner = self.graph().pointee(value);
                        self.mark(inner, Mark::Comes);
                    }
                }
            }
            Outside::Unknown => self.leave(values, &format!("`{name}()` gets it")),
        }
        Some(self.unknown())
    }

    /// A call through a pointer.
    fn indirect(&mut self, here: Here<'_>, callee: ExprId, values: &[Option<Node>]) -> Node {
        self.value(here, callee);
        if let ExprKind::Member { field, .. } = &here.tree.expr(callee).kind {
            match (&**field, values) {
                ("tp_free", [Some(object)]) => self.mark(*object, Mark::Object),
                ("tp_alloc", _) => {
                    let made = self.graph().fresh();
                    self.mark(made, Mark::Object);
                    return made;
                }
                _ => {}
            }
        }
        self.leave(values, "a function called through a pointer gets it");
        self.unknown()
    }

    /// Code that is not seen gets pointers, and may change what they point at.
    fn leave(&mut self, values: &[Option<Node>], what: &str) {
        for value in values.iter().flatten() {
            self.mark(*value, Mark::Leaves(what.to_owned()));
            let inner = self.graph().pointee(*value);
            self.mark(inner, Mark::Leaves(what.to_owned()));
            self.mark(inner, Mark::Comes);
        }
    }
}
