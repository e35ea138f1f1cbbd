//! Follows pointers through the package: which holders get which pointers, and which calls
//! allocate and release them.

mod call;
mod parts;
mod value;

use std::collections::BTreeMap;

use crate::ast::{
    Declarator, Designator, Function, Init, InitList, Stmt, StmtKind, StructDef, Tree, Type,
};
use crate::program::{Body, CallSite, Program, Types};

use super::domain::Allocator;
use super::graph::{Graph, Holder, Node};
use parts::Addresses;

/// What is known of a pointer beside where it goes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Mark {
    /// It points at a Python object.
    Object,
    /// It is made a Python object by the function of this name.
    Made(Box<str>),
    /// It gets to code that is not seen: a clause about `it`.
    Leaves(String),
    /// It may come from code that is not seen.
    Comes,
}

/// A call that allocates or releases.
#[derive(Debug, Clone, Copy)]
pub(super) struct Site {
    pub(super) call: CallSite,
    pub(super) allocator: &'static Allocator,
    /// The pointer that it resizes or releases.
    pub(super) taken: Option<Node>,
    /// The pointer that it gives.
    pub(super) given: Option<Node>,
}

/// The whole package.
#[derive(Debug, Default)]
pub(super) struct Followed {
    pub(super) graph: Graph,
    pub(super) sites: Vec<Site>,
    pub(super) marks: Vec<(Node, Mark)>,
}

/// Follows all pointers of `program`.
pub(super) fn follow(program: &Program<'_>) -> Followed {
    let types = Types::new(program);
    let mut functions: BTreeMap<&str, Vec<(u32, &Function)>> = BTreeMap::new();
    for (at, item) in (0u32..).zip(&program.items) {
        if let Some(Body::Function(function)) = &item.body {
            let all = functions.entry(&function.name).or_default();
            all.push((at, function));
        }
    }
    let mut walk = Walk {
        types: &types,
        functions: &functions,
        followed: Followed::default(),
        addresses: Addresses::default(),
    };
    for (at, item) in (0u32..).zip(&program.items) {
        match &item.body {
            Some(Body::Function(function)) => walk.function(at, function),
            Some(Body::Declaration(declaration)) => {
                for declarator in &declaration.declarators {
                    let name = declarator.name.as_str().into();
                    let node = walk.graph().holder(Holder::Global(name));
                    walk.typed(node, &declarator.ty);
                    if let Some(init) = &declarator.init {
                        let here = Here {
                            item: at,
                            tree: &declaration.tree,
                        };
                        walk.init(here, Some(node), &declarator.ty, init);
                    }
                }
                for def in &declaration.structs {
                    walk.fields(&declaration.declarators, def);
                }
            }
            None => {}
        }
    }
    walk.join_unresolved_fields();
    walk.mark_reached_fields();
    walk.followed
}

/// The item that is looked at.
#[derive(Clone, Copy)]
struct Here<'t> {
    item: u32,
    tree: &'t Tree,
}

struct Walk<'w, 'a> {
    types: &'w Types<'a>,
    functions: &'w BTreeMap<&'a str, Vec<(u32, &'a Function)>>,
    followed: Followed,
    addresses: Addresses,
}

impl<'a> Walk<'_, 'a> {
    fn graph(&mut self) -> &mut Graph {
        &mut self.followed.graph
    }

    fn mark(&mut self, node: Node, mark: Mark) {
        self.followed.marks.push((node, mark));
    }

    /// Notes what the declared type of a holder says of it.
    fn typed(&mut self, node: Node, ty: &Type) {
        if self.types.is_object_pointer(ty) {
            self.mark(node, Mark::Object);
        }
        self.views(node, ty);
    }

    fn fields(&mut self, declarators: &[Declarator], def: &StructDef) {
        let key = match (&def.tag, declarators) {
            (Some(tag), _) => Some(format!("struct {tag}")),
            (None, [only]) => Some(only.name.clone()),
            (None, _) => None,
        };
        for field in &def.fields {
            let holder = Holder::Field(key.clone(), field.name.as_str().into());
            let node = self.graph().holder(holder);
            self.typed(node, &field.ty);
            if def.is_union {
                let what = "it is stored in a member of a union".to_owned();
                self.mark(node, Mark::Leaves(what));
            }
        }
    }

    fn function(&mut self, item: u32, function: &'a Function) {
        let here = Here {
            item,
            tree: &function.tree,
        };
        for (number, local) in (0u32..).zip(&function.tree.locals) {
            let node = self.graph().holder(Holder::Local(item, number));
            self.typed(node, &local.ty);
        }
        let name = function.name.as_str();
        for (index, param) in function.params.iter().enumerate() {
            let param = self.graph().holder(Holder::Local(item, param.0));
            let outer = self.graph().holder(Holder::Param(name.into(), index));
            self.graph().flow(outer, param);
        }
        let result = self.graph().holder(Holder::Result(name.into()));
        self.typed(result, &function.ret);
        // The arena holds the statements of all blocks.
        for stmt in &function.tree.stmts {
            self.stmt(here, stmt, function, result);
        }
    }

    fn stmt(&mut self, here: Here<'a>, stmt: &Stmt, function: &Function, result: Node) {
        match &stmt.kind {
            StmtKind::Expr(expr)
            | StmtKind::If { cond: expr, .. }
            | StmtKind::While { cond: expr, .. }
            | StmtKind::DoWhile { cond: expr, .. }
            | StmtKind::Switch { value: expr, .. }
            | StmtKind::ComputedGoto(expr) => {
                self.value(here, *expr);
            }
            StmtKind::For { cond, step, .. } => {
                for expr in cond.iter().chain(step) {
                    self.value(here, *expr);
                }
            }
            StmtKind::Return(Some(expr)) => {
                let value = self.value(here, *expr);
                self.flows(Some(result), Some(&function.ret), value);
            }
            StmtKind::Decl(decls) => {
                for decl in decls {
                    if let Some(init) = &decl.init {
                        let holder = Holder::Local(here.item, decl.local.0);
                        let node = self.graph().holder(holder);
                        self.init(here, Some(node), &here.tree.local(decl.local).ty, init);
                    }
                }
            }
            StmtKind::Null
            | StmtKind::Block(_)
            | StmtKind::Case { .. }
            | StmtKind::Default { .. }
            | StmtKind::Label { .. }
            | StmtKind::Goto(_)
            | StmtKind::Break
            | StmtKind::Continue
            | StmtKind::Return(None)
            | StmtKind::Asm => {}
        }
    }

    /// `target` of type `ty` begins with `init`.
    fn init(&mut self, here: Here<'_>, target: Option<Node>, ty: &Type, init: &Init) {
        match init {
            Init::Expr(expr) => {
                let value = self.value(here, *expr);
                self.flows(target, Some(ty), value);
            }
            Init::List(list) => self.list(here, target, ty, list),
        }
    }

    fn list(&mut self, here: Here<'_>, target: Option<Node>, ty: &Type, list: &InitList) {
        let key = self.types.key(ty);
        let def = key.as_deref().and_then(|key| self.types.definition(key));
        let mut position = 0;
        for entry in &list.entries {
            let named = match entry.designators.as_slice() {
                [Designator::Field(name), ..] => Some(name.as_str()),
                _ => None,
            };
            let field = def.and_then(|def| {
                if let Some(name) = named {
                    position = def.fields.iter().position(|field| field.name == name)?;
                }
                let field = def.fields.get(position);
                position += 1;
                field
            });
            let holder = match (field, named, self.types.pointee(ty)) {
                (Some(field), ..) => Some((
                    Holder::Field(key.clone(), field.name.as_str().into()),
                    &field.ty,
                )),
                (None, Some(name), _) => Some((Holder::Field(key.clone(), name.into()), ty)),
                (None, None, _) => None,
            };
            match (holder, target) {
                (Some((holder, ty)), _) => {
                    let node = self.graph().holder(holder);
                    self.init(here, Some(node), ty, &entry.value);
                }
                (None, Some(array)) => {
                    let inner = self.graph().pointee(array);
                    let ty = self.types.pointee(ty).unwrap_or(ty);
                    self.init(here, Some(inner), ty, &entry.value);
                }
                (None, None) => self.init(here, None, ty, &entry.value),
            }
        }
    }

    /// A value gets into a holder of the declared type.
    fn flows(&mut self, to: Option<Node>, ty: Option<&Type>, from: Option<Node>) {
        let Some(from) = from else { return };
        if ty.is_some_and(|ty| self.types.is_number(ty)) {
            return;
        }
        match to {
            Some(to) => self.graph().flow(from, to),
            None => self.mark(
                from,
                Mark::Leaves("it is stored in memory that is not tracked".into()),
            ),
        }
    }

    /// A pointer from code that is not seen.
    fn unknown(&mut self) -> Node {
        let node = self.graph().fresh();
        self.mark(node, Mark::Comes);
        node
    }

    /// A field of a type that is not known may be that field of any type.
    fn join_unresolved_fields(&mut self) {
        let mut by_name: BTreeMap<Box<str>, Vec<(bool, Node)>> = BTreeMap::new();
        let mut foreign = Vec::new();
        for (holder, node) in self.followed.graph.named() {
            let Holder::Field(owner, name) = holder else {
                continue;
            };
            let all = by_name.entry(name.clone()).or_default();
            all.push((owner.is_none(), node));
            let known = owner.as_deref().and_then(|key| self.types.definition(key));
            if owner.is_some() && known.is_none() {
                foreign.push((name.clone(), node));
            }
        }
        for (name, all) in by_name {
            let Some(&(_, unresolved)) = all.iter().find(|(unresolved, _)| *unresolved) else {
                continue;
            };
            foreign.push((name, unresolved));
            for (_, node) in all {
                self.graph().same(node, unresolved);
            }
        }
        for (name, node) in foreign {
            let what =
                format!("it is stored in `{name}`, a field of a type that is not known here");
            self.mark(node, Mark::Leaves(what));
            self.mark(node, Mark::Comes);
        }
    }
}
