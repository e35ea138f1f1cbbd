//! Judges a container by where it comes from.

use std::collections::BTreeSet;

use crate::capi;
use crate::cfg::{Operand, Point};
use crate::program::{CallSite, ItemId};
use crate::roles::{Param, Role};
use crate::source::FileId;

use super::Cx;
use super::api::{Gives, Use, gives, is_full_list};
use super::borrow::{Borrow, Later};
use super::field::Contents;
use super::flow::{Flow, Origin};
use super::sharing::{Root, Until};
use super::verdict::{SafeReason, SharedKind, Verdict, safe};

/// Helpers with more callers are not followed: `insint(d, "NAME", NAME)` a thousand times.
const MAX_CALLERS: usize = 100;

/// Whether a value of this origin is `None`, a number or text, out of which nobody takes items:
/// `case TEXT: return PyUnicode_FromString(s); case LIST: return list_of(l);`.
fn is_scalar(flow: &Flow<'_>, origin: &Origin) -> bool {
    const TYPES: &[&str] = &["PyLong_", "PyFloat_", "PyBool_", "PyUnicode_", "PyBytes_"];
    match origin {
        Origin::Call(made) => {
            let name = flow.call(*made).and_then(|(name, _)| name);
            name.is_some_and(|name| TYPES.iter().any(|start| name.starts_with(start)))
        }
        Origin::Global(name) | Origin::Address(name) => capi::is_singleton(name),
        _ => false,
    }
}

/// A function and the step at which its container is looked at.
#[derive(Clone, Copy)]
pub(super) struct At<'f, 'b> {
    pub flow: &'f Flow<'f>,
    pub site: Point,
    pub until: Until<'b>,
    pub depth: u32,
}

impl Cx<'_> {
    /// The verdict on the container `operand` as the step at `site` gets it.
    pub(super) fn container(
        &self,
        flow: &Flow<'_>,
        operand: &Operand,
        site: Point,
        until: Until<'_>,
        depth: u32,
    ) -> Verdict {
        let at = At {
            flow,
            site,
            until,
            depth,
        };
        self.tuple(
            flow,
            operand,
            site,
            &["PyTuple_Check", "PyTuple_CheckExact"],
        )
        .unwrap_or_else(|| self.value(at, operand))
    }

    fn value(&self, at: At<'_, '_>, operand: &Operand) -> Verdict {
        let origins = at.flow.origins(operand);
        let verdicts = origins.iter().map(|origin| self.origin(at, origin));
        verdicts
            .reduce(Verdict::join)
            .unwrap_or(Verdict::Shared(SharedKind::Unknown))
    }

    fn origin(&self, at: At<'_, '_>, origin: &Origin) -> Verdict {
        let kind = match origin {
            Origin::Param(index) => return self.param(at, *index),
            Origin::Call(point) => return self.call(at, *point),
            Origin::Out(point, arg) => return self.out(at, *point, *arg),
            Origin::Global(name) => return self.global(at, name),
            Origin::Field(name, base) => return self.field(at, name, base),
            Origin::Element(base) if self.is_argument_array(at.flow, base) => {
                SharedKind::ParsedArgument
            }
            Origin::Element(_) | Origin::Address(_) | Origin::Unknown => SharedKind::Unknown,
        };
        Verdict::Shared(kind)
    }

    fn call(&self, at: At<'_, '_>, point: Point) -> Verdict {
        let Some((Some(name), args)) = at.flow.call(point) else {
            return Verdict::Shared(SharedKind::Unknown);
        };
        let from_call = || Verdict::Shared(SharedKind::FromCall(name.into()));
        match gives(name) {
            Some(Gives::Fresh) => self.fresh(at, point, name),
            Some(Gives::Immutable) => safe(
                SafeReason::Immutable,
                format!(
                    "`{name}()` on line {} returns a tuple",
                    self.line(at.flow, point)
                ),
            ),
            Some(Gives::SameOrFresh(_)) if at.flow.is_of_no_list(point) => {
                self.fresh(at, point, name)
            }
            Some(Gives::Same(arg) | Gives::SameOrFresh(arg)) if at.depth > 0 => {
                let at = At {
                    depth: at.depth - 1,
                    ..at
                };
                let Some(arg) = args.get(arg) else {
                    return from_call();
                };
                // Of a subclass `PySequence_Fast` makes a list.
                self.tuple(at.flow, arg, point, &["PyTuple_CheckExact"])
                    .unwrap_or_else(|| self.value(at, arg))
            }
            Some(Gives::ModuleDict(arg)) => match args.get(arg) {
                Some(module) if self.is_own_module(at.flow, module, at.depth) => safe(
                    SafeReason::InitOnly,
                    format!(
                        "`{}()` runs only during module initialisation, and the dict belongs to \
                         that module",
                        at.flow.function.name
                    ),
                ),
                _ => Verdict::Shared(SharedKind::ModuleOrTypeDict),
            },
            Some(Gives::Interpreter) => Verdict::Shared(SharedKind::Interpreter),
            Some(Gives::Thread) => self.thread_dict(at, point, name),
            Some(Gives::Item(arg)) => match args.get(arg) {
                Some(tuple) if self.is_argument_tuple(at.flow, tuple) => {
                    Verdict::Shared(SharedKind::ParsedArgument)
                }
                _ => from_call(),
            },
            Some(Gives::Same(_) | Gives::SameOrFresh(_)) => from_call(),
            None if self.returns_fresh(name, at.depth) => self.fresh(at, point, name),
            None => from_call(),
        }
    }

    fn fresh(&self, at: At<'_, '_>, point: Point, name: &str) -> Verdict {
        match self.shared_at(at.flow, Root::Step(point), at.site, at.until, at.depth) {
            Some(_) if is_full_list(name) => Verdict::Shared(SharedKind::FromCall(name.into())),
            Some(shared) => Verdict::Shared(SharedKind::Published {
                line: self.line(at.flow, shared),
                has_gaps: self.has_gaps(at.flow, point, at.site),
            }),
            None => safe(
                SafeReason::Fresh,
                format!(
                    "the container is made by `{name}()` on line {}, and no other code has it \
                     while the value is in use",
                    self.line(at.flow, point)
                ),
            ),
        }
    }

    /// Whether every definition of the helper `name` gives a container that only its caller knows.
    fn returns_fresh(&self, name: &str, depth: u32) -> bool {
        let mut any = false;
        if depth == 0 || self.calls.is_broken(name) {
            return false;
        }
        for item in self.definitions(name) {
            let Some(flow) = self.flow(item) else {
                return false;
            };
            for (_, value) in flow.returns() {
                let origins = flow.origins(value);
                for origin in origins.iter().filter(|origin| !is_scalar(flow, origin)) {
                    if !self.is_fresh_value(flow, origin, depth - 1) {
                        return false;
                    }
                    any = true;
                }
            }
        }
        any
    }

    /// Whether a value of this origin is a new container that is given to nobody but by `return`.
    fn is_fresh_value(&self, flow: &Flow<'_>, origin: &Origin, depth: u32) -> bool {
        let Origin::Call(made) = origin else {
            return false;
        };
        let Some((Some(name), _)) = flow.call(*made) else {
            return false;
        };
        let is_new = match gives(name) {
            Some(Gives::Fresh) => true,
            Some(_) => false,
            None => self.returns_fresh(name, depth),
        };
        let shares = || self.uses_above(flow, Root::Step(*made), Use::Change, depth);
        is_new
            && shares()
                .iter()
                .all(|point| flow.cfg.instr(*point).is_none())
    }

    fn out(&self, at: At<'_, '_>, point: Point, arg: usize) -> Verdict {
        let Some((Some(name), args)) = at.flow.call(point) else {
            return Verdict::Shared(SharedKind::Unknown);
        };
        if !name.starts_with("PyArg_") {
            return Verdict::Shared(SharedKind::FromCall(name.into()));
        }
        // "O!" checks the type: `&PyTuple_Type, &tuple`.
        let checked = arg.checked_sub(1).and_then(|before| args.get(before));
        let types = checked.map(|ty| at.flow.origins(ty)).unwrap_or_default();
        if matches!(types.as_slice(), [Origin::Address(ty)] if &**ty == "PyTuple_Type") {
            let line = self.line(at.flow, point);
            return safe(
                SafeReason::Immutable,
                format!("`{name}()` on line {line} accepts only a tuple"),
            );
        }
        Verdict::Shared(SharedKind::ParsedArgument)
    }

    fn param(&self, at: At<'_, '_>, index: usize) -> Verdict {
        let function = at.flow.function;
        let name = function
            .params
            .get(index)
            .map(|&param| function.tree.local(param).name.as_str());
        let name = name.unwrap_or_default();
        let passed_in = || Verdict::Shared(SharedKind::Parameter(name.into()));
        let roles = self.roles.of(at.flow.item, function);
        let from_python = roles
            .map(|role| self.role_param(at, role, index, name))
            .reduce(Verdict::join);
        let sites = self.calls_of(at.flow);
        let is_open = !function.is_static || self.calls.is_mentioned(&function.name);
        match from_python {
            Some(verdict) if sites.is_empty() || matches!(verdict, Verdict::Shared(_)) => verdict,
            None if is_open || sites.is_empty() => passed_in(),
            _ if at.depth == 0 || sites.len() > MAX_CALLERS => passed_in(),
            Some(verdict) => verdict.join(self.callers(at, index)),
            None => self.callers(at, index),
        }
    }

    fn role_param(&self, at: At<'_, '_>, role: &Role, index: usize, name: &str) -> Verdict {
        match role.param(index) {
            Some(Param::Tuple) => safe(
                SafeReason::Immutable,
                format!("`{name}` is the tuple of the arguments"),
            ),
            Some(Param::Keywords) if !self.has_own_keywords(role) => {
                Verdict::Shared(SharedKind::Parameter(name.into()))
            }
            Some(Param::Keywords) => {
                match self.shared_at(at.flow, Root::Param(index), at.site, at.until, at.depth) {
                    Some(_) => Verdict::Shared(SharedKind::Parameter(name.into())),
                    None => safe(
                        SafeReason::Kwargs,
                        format!(
                            "`{name}` holds the keyword arguments, and is created for this call"
                        ),
                    ),
                }
            }
            Some(Param::Argument) => Verdict::Shared(SharedKind::ParsedArgument),
            Some(Param::Own) | None => Verdict::Shared(SharedKind::Parameter(name.into())),
        }
    }

    /// The calls of the function: those in another source file that has a `static` namesake of it
    /// are calls of that one.
    pub(super) fn calls_of(&self, flow: &Flow<'_>) -> Vec<CallSite> {
        let (name, file) = (&flow.function.name, flow.item.place.0);
        let place = |item: ItemId| self.program.items[item.0 as usize].place.0;
        let path = &self.program.files.get(file).path();
        let is_header = path
            .extension()
            .is_some_and(|it| it.to_string_lossy().starts_with('h'));
        let is_static = |item: ItemId| {
            let flow = self.flow(item);
            flow.is_some_and(|flow| flow.function.is_static)
        };
        let others = self
            .definitions(name)
            .filter(|&item| is_static(item))
            .map(place);
        let others: BTreeSet<FileId> = others
            .filter(|&other| other != file && !is_header)
            .collect();
        let sites = self.calls.calls_to(name).iter().copied();
        sites
            .filter(|site| !others.contains(&place(site.item)))
            .collect()
    }

    /// What all callers pass as parameter `index`.
    fn callers(&self, at: At<'_, '_>, index: usize) -> Verdict {
        let (until, handed) = match at.until {
            Until::LastUse(borrow) => match borrow.later() {
                Later::Nowhere => (Until::Site, None),
                Later::InCaller(handed) => (Until::Forever, Some(handed)),
                Later::Anywhere => (Until::Forever, None),
            },
            until => (until, None),
        };
        let sites = self.calls_of(at.flow).into_iter();
        let verdicts = sites.filter_map(|call| {
            let unknown = Some(Verdict::Shared(SharedKind::Unknown));
            let Some(flow) = self.flow(call.item) else {
                return unknown;
            };
            // A call that is never evaluated passes nothing.
            let Some(site) = flow.cfg.call(call.expr) else {
                return unknown;
            };
            let borrow = handed.map(|handed| Borrow::through(self, flow, site, handed.clone()));
            let until = borrow.as_ref().map_or(until, Until::LastUse);
            match flow.call(site) {
                // No container, so nothing is read there.
                Some((_, args)) if args.get(index).is_some_and(Operand::is_zero) => None,
                Some((_, args)) if index < args.len() => {
                    match self.container(flow, &args[index], site, until, at.depth - 1) {
                        Verdict::Safe(mut proof) => {
                            proof.sentence =
                                format!("in `{}()`: {}", flow.function.name, proof.sentence);
                            Some(Verdict::Safe(proof))
                        }
                        shared @ Verdict::Shared(_) => Some(shared),
                    }
                }
                _ => unknown,
            }
        });
        let Some(found) = verdicts.reduce(Verdict::join) else {
            return safe(
                SafeReason::Absent,
                format!("all callers of `{}()` pass `NULL`", at.flow.function.name),
            );
        };
        // What is private to the caller may be given away by the helper itself.
        let shared = || self.shared_at(at.flow, Root::Param(index), at.site, at.until, at.depth);
        match &found {
            Verdict::Safe(proof) if proof.reason != SafeReason::Immutable => match shared() {
                Some(point) => Verdict::Shared(SharedKind::Published {
                    line: self.line(at.flow, point),
                    has_gaps: true,
                }),
                None => found,
            },
            Verdict::Safe(_) | Verdict::Shared(_) => found,
        }
    }

    fn global(&self, at: At<'_, '_>, name: &str) -> Verdict {
        if self.is_init_only(at.flow)
            && !self.calls.is_named_unread(name)
            && self.is_filled_here(name)
        {
            return safe(
                SafeReason::InitOnly,
                format!(
                    "`{}()` runs only during module initialisation, and `{name}` belongs to that \
                     module",
                    at.flow.function.name
                ),
            );
        }
        let kind = self.unread_kind(name, name);
        Verdict::Shared(kind.unwrap_or_else(|| SharedKind::Global(name.into())))
    }

    fn field(&self, at: At<'_, '_>, name: &str, base: &Operand) -> Verdict {
        if name == "tp_dict" {
            let origins = at.flow.origins(base);
            let own =
                |origin: &Origin| matches!(origin, Origin::Address(ty) if self.is_own_type(ty));
            if self.is_init_only(at.flow) && !origins.is_empty() && origins.iter().all(own) {
                return safe(
                    SafeReason::InitOnly,
                    format!(
                        "`{}()` runs only during module initialisation, and the type belongs to \
                         that module",
                        at.flow.function.name
                    ),
                );
            }
            return Verdict::Shared(SharedKind::ModuleOrTypeDict);
        }
        let shown = at
            .flow
            .variable(base)
            .map_or_else(|| name.to_owned(), |var| format!("{var}->{name}"));
        match self.known_field(name, Contents::Fixed) {
            Some(made) => safe(SafeReason::FrozenField, format!("`{shown}` {made}")),
            None if self.is_on_stack(at.flow, base, name) => safe(
                SafeReason::Fresh,
                format!("`{shown}` is in a struct on the stack, and only its own functions get it"),
            ),
            None => Verdict::Shared(
                self.unread_kind(name, &shown)
                    .unwrap_or_else(|| SharedKind::Field(shown.into())),
            ),
        }
    }

    /// What is known of the field or variable `name` where a file names it that nobody analyses.
    fn unread_kind(&self, name: &str, shown: &str) -> Option<SharedKind> {
        let by = self.calls.unread_by(name)?.display().to_string().into();
        let what = shown.into();
        Some(SharedKind::NamedUnread { what, by })
    }

    /// Whether `operand` is the tuple of the arguments of the Python call.
    fn is_argument_tuple(&self, flow: &Flow<'_>, operand: &Operand) -> bool {
        let origins = flow.origins(operand);
        let mut roles = self.roles.of(flow.item, flow.function);
        matches!(origins.as_slice(), [Origin::Param(index)]
            if roles.any(|role| role.param(*index) == Some(Param::Tuple)))
    }

    /// Whether `operand` is the array of the arguments of the Python call.
    fn is_argument_array(&self, flow: &Flow<'_>, operand: &Operand) -> bool {
        let origins = flow.origins(operand);
        let mut roles = self.roles.of(flow.item, flow.function);
        !origins.is_empty()
            && origins
                .iter()
                .all(|origin| matches!(origin, Origin::Param(_)))
            && roles.any(Role::is_method)
    }
}
