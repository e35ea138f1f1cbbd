//! Functions of the package that are called by a pointer: where their addresses go, and the calls that
//! may mean them.
//!
//! ```c
//! node->drop = drop;                  node->drop(node);
//! each(tuple, visit, dict);           r |= f(PyTuple_GET_ITEM(t, i), arg);
//! qsort(v, n, sizeof *v, compare);    /* nobody reads what calls that, nor what it gets then */
//! ```

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashMap;

use super::addresses::{Address, is_test, leaves};
use crate::ast::{Declaration, ExprId, ExprKind, Function, Name, Parents, StmtKind, Tree, UnaryOp};
use crate::program::{Body, ItemId};
use crate::roles::is_slot;
use crate::rule::PackageCx;

/// What may call a function of which an address is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Way<'a> {
    /// A pointer in the field or variable of this name.
    Place(&'a str),
    /// Any pointer.
    Pointer,
    /// A function that is not of the package, within the call that gets it: until it fails, or again
    /// and again.
    Library { again: bool },
    /// Code that nobody reads, at any time.
    Anything,
}

/// A call by a pointer.
#[derive(Debug)]
pub(super) struct PointerCall<'a> {
    pub function: &'a Function,
    pub call: ExprId,
    callee: Callee<'a>,
}

/// What a call by a pointer goes by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Callee<'a> {
    /// The field or variable that has the pointer, and how many arguments it gets.
    Pointer(Option<&'a str>, usize),
    /// The address itself, which the called function gets: `qsort(v, n, sizeof *v, compare)`.
    Argument(&'a str),
}

/// The calls that go by the same.
#[derive(Debug, Default)]
struct Group<'a> {
    /// The functions with such calls.
    callers: Vec<&'a Function>,
    /// The functions that they may mean.
    meant: Vec<&'a str>,
}

/// The functions of a package whose addresses are taken, and the calls by pointers.
#[derive(Debug)]
pub(super) struct Pointers<'a> {
    pub(super) cx: &'a PackageCx<'a>,
    given: BTreeMap<&'a str, BTreeSet<Way<'a>>>,
    calls: Vec<PointerCall<'a>>,
    groups: BTreeMap<Callee<'a>, Group<'a>>,
    /// What calls go by that may mean a function.
    callees: FxHashMap<&'a str, Vec<Callee<'a>>>,
    /// Fields and variables whose pointers go elsewhere from there: `f = node->drop;`.
    passed_on: BTreeSet<&'a str>,
}

impl<'a> Pointers<'a> {
    pub(super) fn new(cx: &'a PackageCx<'a>) -> Self {
        let mut found = Self {
            cx,
            given: BTreeMap::new(),
            calls: Vec::new(),
            groups: BTreeMap::new(),
            callees: FxHashMap::default(),
            passed_on: BTreeSet::new(),
        };
        let items = (0u32..).map(ItemId).take(cx.program.items.len());
        for item in items {
            match &cx.item(item).body {
                Some(Body::Function(function)) => found.add_function(function),
                Some(Body::Declaration(declaration)) => found.add_declaration(declaration),
                None => {}
            }
        }
        found.group_calls();
        found
    }

    fn group_calls(&mut self) {
        let mut groups: BTreeMap<Callee<'a>, Group<'a>> = BTreeMap::new();
        for call in &self.calls {
            let callers = &mut groups.entry(call.callee).or_default().callers;
            if callers
                .last()
                .is_none_or(|&last| !std::ptr::eq(last, call.function))
            {
                callers.push(call.function);
            }
        }
        for (&callee, group) in &mut groups {
            let names = self.given.keys().copied();
            group.meant = names.filter(|name| self.means(callee, name)).collect();
            for &name in &group.meant {
                self.callees.entry(name).or_default().push(callee);
            }
        }
        self.groups = groups;
    }

    /// Adds the functions that the initialisers of variables of file scope name.
    fn add_declaration(&mut self, declaration: &'a Declaration) {
        let tree = &declaration.tree;
        let names = tree.exprs.iter().filter_map(|expr| match &expr.kind {
            ExprKind::Name(Name::Global(name)) if self.is_function(name) => {
                Some((expr.range.start, &**name))
            }
            _ => None,
        });
        let mut names: Vec<(u32, &'a str)> = names.collect();
        // A table of numbers may have any length.
        if names.is_empty() {
            return;
        }
        names.sort_unstable();
        for it in &declaration.declarators {
            let Some(init) = &it.init else {
                continue;
            };
            for (value, place) in leaves(self.cx.types(), init, &it.ty, Some(&it.name)) {
                let way = place.map_or(Way::Pointer, Way::Place);
                let range = tree.expr(value).range;
                let first = names.partition_point(|(at, _)| *at < range.start);
                let inner = names[first..].iter().take_while(|(at, _)| *at < range.end);
                for (_, name) in inner {
                    self.add(name, way);
                }
            }
        }
    }

    /// Whether the address of the function is taken, other than for Python.
    pub(super) fn is_given(&self, name: &str) -> bool {
        self.given.contains_key(name)
    }

    /// What calls by a pointer go by that may mean the function `name`.
    pub(super) fn callees_of(&self, name: &str) -> &[Callee<'a>] {
        self.callees.get(name).map_or(&[], Vec::as_slice)
    }

    /// The functions with a call by a pointer that goes by this.
    pub(super) fn callers(&self, callee: Callee<'a>) -> &[&'a Function] {
        self.groups.get(&callee).map_or(&[], |it| &it.callers)
    }

    /// The calls by a pointer of the function that has this body.
    pub(super) fn calls_in(&self, function: &Function) -> impl Iterator<Item = &PointerCall<'a>> {
        let calls = self.calls.iter();
        calls.filter(move |call| std::ptr::eq(call.function, function))
    }

    /// The functions that the call may mean.
    pub(super) fn meant(&self, call: &PointerCall<'a>) -> &[&'a str] {
        self.groups.get(&call.callee).map_or(&[], |it| &it.meant)
    }

    fn means(&self, callee: Callee<'_>, name: &str) -> bool {
        let (place, args) = match callee {
            Callee::Argument(given) => return given == name,
            Callee::Pointer(place, args) => (place, args),
        };
        let ways = self.given.get(name);
        let fits = |(_, function): (ItemId, &Function)| {
            let own = function.params.len();
            own == args || function.variadic && own <= args
        };
        ways.is_some_and(|ways| ways.iter().any(|&way| self.leads(way, place)))
            && self.cx.definitions(name).any(fits)
    }

    /// Whether a call by the pointer in `place` may mean a function whose address goes this way.
    fn leads(&self, way: Way<'_>, place: Option<&str>) -> bool {
        match way {
            Way::Place(own) if !self.passed_on.contains(own) => place == Some(own),
            Way::Place(_) | Way::Pointer => true,
            Way::Library { .. } | Way::Anything => false,
        }
    }

    /// Whether code that nobody reads may call the function at any time: it gets its address, or none
    /// of the package's calls is one by the pointer that has it.
    ///
    /// ```c
    /// static struct callbacks CALLBACKS = {on_read, on_close};
    /// library_register(&CALLBACKS);
    /// ```
    pub(super) fn may_be_called_unseen(&self, name: &str) -> bool {
        let Some(ways) = self.given.get(name) else {
            return false;
        };
        let calls = |way| {
            let mut callees = self.callees_of(name).iter();
            callees.any(|it| matches!(it, Callee::Pointer(place, _) if self.leads(way, *place)))
        };
        let mut ways = ways.iter();
        ways.any(|&way| match way {
            Way::Anything => true,
            Way::Place(_) | Way::Pointer => !calls(way),
            Way::Library { .. } => false,
        })
    }

    /// Whether a function that is not of the package calls it again after it has failed.
    pub(super) fn is_called_again(&self, name: &str) -> bool {
        let ways = self.given.get(name);
        ways.is_some_and(|ways| ways.contains(&Way::Library { again: true }))
    }

    /// Adds a call of a function that is not of the package, which calls the function `name`.
    pub(super) fn add_library_call(
        &mut self,
        name: &'a str,
        (function, call): (&'a Function, ExprId),
        again: bool,
    ) {
        self.add(name, Way::Library { again });
        let callee = Callee::Argument(name);
        self.calls.push(PointerCall {
            function,
            call,
            callee,
        });
    }

    pub(super) fn add(&mut self, name: &'a str, way: Way<'a>) {
        self.given.entry(name).or_default().insert(way);
    }

    fn add_function(&mut self, function: &'a Function) {
        let tree = &function.tree;
        let uses = Uses::new(tree);
        let mut parents = None;
        for expr in tree.expr_ids() {
            match &tree.expr(expr).kind {
                ExprKind::Call { callee, args } => {
                    if let Some(place) = called_by_pointer(self.cx, tree, *callee) {
                        let callee = Callee::Pointer(place, args.len());
                        self.calls.push(PointerCall {
                            function,
                            call: expr,
                            callee,
                        });
                    }
                }
                ExprKind::Name(Name::Global(name)) if !uses.called.contains(&expr) => {
                    if self.is_function(name) {
                        let parents = parents.get_or_insert_with(|| Parents::new(function));
                        Address::new(self, function, parents).follow(name, expr);
                    } else if !uses.looked_at.contains(&expr) {
                        self.passed_on.insert(name);
                    }
                }
                ExprKind::Member { field, .. }
                    if !uses.looked_at.contains(&expr) && !uses.called.contains(&expr) =>
                {
                    self.passed_on.insert(field);
                }
                _ => {}
            }
        }
    }

    pub(super) fn is_function(&self, name: &str) -> bool {
        self.cx.definitions(name).next().is_some()
    }

    /// Whether Python calls the function, by a slot or a table.
    pub(super) fn has_role(&self, name: &str) -> bool {
        let Some(roles) = self.cx.roles() else {
            return false;
        };
        let mut own = self.cx.definitions(name);
        own.any(|(id, it)| roles.of(self.cx.item(id), it).next().is_some())
    }
}

/// What an expression calls by: nothing for one by name, else the place that has the pointer. Calls of
/// slots are those of Python.
fn called_by_pointer<'a>(
    cx: &PackageCx<'_>,
    tree: &'a Tree,
    callee: ExprId,
) -> Option<Option<&'a str>> {
    let place = place(tree, callee);
    match tree.callee_name(callee) {
        Some(name) => {
            let is_variable = cx.types().is_variable(name) && cx.definitions(name).next().is_none();
            is_variable.then_some(place)
        }
        None => (!place.is_some_and(is_slot)).then_some(place),
    }
}

/// The field or variable of file scope that an expression reads or sets, or an element of it.
pub(super) fn place(tree: &Tree, expr: ExprId) -> Option<&str> {
    match &tree.expr(expr).kind {
        ExprKind::Member { field, .. } => Some(field),
        ExprKind::Name(Name::Global(name)) => Some(name),
        ExprKind::Cast { operand, .. }
        | ExprKind::Unary {
            op: UnaryOp::Deref,
            operand,
        } => place(tree, *operand),
        ExprKind::Index { base, .. } => place(tree, *base),
        _ => None,
    }
}

/// Where expressions stand in a function.
struct Uses {
    /// What is called.
    called: BTreeSet<ExprId>,
    /// What is set, or compared.
    looked_at: BTreeSet<ExprId>,
}

impl Uses {
    fn new(tree: &Tree) -> Self {
        let mut uses = Self {
            called: BTreeSet::new(),
            looked_at: BTreeSet::new(),
        };
        for expr in &tree.exprs {
            match expr.kind {
                ExprKind::Call { callee, .. } => uses.called.extend(within(tree, callee)),
                ExprKind::Assign { op: None, lhs, .. } => {
                    uses.looked_at.extend(within(tree, lhs));
                }
                ExprKind::Binary { op, lhs, rhs } if is_test(op) => {
                    uses.looked_at.extend([lhs, rhs]);
                }
                ExprKind::Unary {
                    op: UnaryOp::Not,
                    operand,
                } => {
                    uses.looked_at.insert(operand);
                }
                ExprKind::Conditional { cond, .. } => {
                    uses.looked_at.insert(cond);
                }
                // `node->ops.drop` and `node->ops->drop` read `drop`.
                ExprKind::Member { base, .. } => uses.looked_at.extend(within(tree, base)),
                _ => {}
            }
        }
        for stmt in &tree.stmts {
            match stmt.kind {
                StmtKind::If { cond, .. }
                | StmtKind::While { cond, .. }
                | StmtKind::DoWhile { cond, .. }
                | StmtKind::For {
                    cond: Some(cond), ..
                } => {
                    uses.looked_at.insert(cond);
                }
                _ => {}
            }
        }
        uses
    }
}

/// An expression that stands for a pointer, and the one that it is an element or a cast of.
fn within(tree: &Tree, expr: ExprId) -> Vec<ExprId> {
    let next = |&expr: &ExprId| match tree.expr(expr).kind {
        ExprKind::Cast { operand, .. }
        | ExprKind::Unary {
            op: UnaryOp::Deref,
            operand,
        } => Some(operand),
        ExprKind::Index { base, .. } => Some(base),
        _ => None,
    };
    std::iter::successors(Some(expr), next).collect()
}
