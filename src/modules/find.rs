//! From `PyInit_` functions to the calls that make their modules.

use super::create::creates;
use super::slots::{Slots, def};
use super::symbols::{Symbols, designation};
use super::{Declared, Made, Module, Route, declared, place_of, start_of};
use crate::ast::{ExprId, ExprKind, Init, StmtKind, Tree};
use crate::rule::{ItemId, PackageCx};
use crate::source::{ByteOffset, ByteSpan, FileId};

/// How many functions lie at most between `PyInit_` and the call that makes the module.
const MAX_DEPTH: u32 = 4;

/// All extension modules of the package in the order of its items.
#[must_use]
pub fn find_modules(cx: &PackageCx<'_>) -> Vec<Module> {
    let symbols = Symbols::new(cx);
    let mut modules: Vec<Module> = drafts(cx, &symbols)
        .iter()
        .map(|draft| draft.module(cx, &symbols))
        .collect();
    for gap in &cx.program.gaps {
        let Some(name) = gap.function.as_deref().and_then(module_name) else {
            continue;
        };
        let known = |module: &Module| module.place.0 == gap.file && module.name == name;
        if !modules.iter().any(known) {
            modules.push(Module {
                name: name.to_owned(),
                made: vec![Made {
                    name: name.to_owned(),
                    file: gap.file,
                }],
                place: (gap.file, gap.span),
                route: Route::Unknown(format!(
                    "its function could not be analysed: {}",
                    gap.reason
                )),
                declared: Declared::No,
            });
        }
    }
    modules.sort_by_key(|module| module.place);
    modules
}

fn module_name(function: &str) -> Option<&str> {
    function
        .strip_prefix("PyInit_")
        .or_else(|| function.strip_prefix("PyInitU_"))
        // `PyInit_ ## NAME`, where the build gives the name and the header has it as a string.
        .map(|name| name.trim_matches('"'))
}

/// One `PyInit_` function with its variants.
struct Draft {
    name: String,
    place: (FileId, ByteSpan),
    variants: Vec<ItemId>,
    /// Where the bodies begin: `#if`s may give one body several heads.
    bodies: Vec<(FileId, ByteOffset)>,
}

fn drafts(cx: &PackageCx<'_>, symbols: &Symbols<'_>) -> Vec<Draft> {
    let mut drafts: Vec<Draft> = Vec::new();
    let mut inits: Vec<_> = symbols
        .functions()
        .filter_map(|(id, function)| Some((id, function, module_name(&function.name)?)))
        .collect();
    inits.sort_by_key(|(id, ..)| *id);
    for (id, function, name) in inits {
        let place = place_of(cx, id, function.name_range).unwrap_or(cx.item(id).place);
        let body = start_of(cx, id, function.tree.stmt(function.body).range.start);
        let same = drafts.iter_mut().find(|draft| {
            (draft.name == name && draft.place.0 == place.0)
                || body.is_some_and(|body| draft.bodies.contains(&body))
        });
        let draft = match same {
            Some(draft) => draft,
            None => {
                drafts.push(Draft {
                    name: name.to_owned(),
                    place,
                    variants: Vec::new(),
                    bodies: Vec::new(),
                });
                drafts.last_mut().expect("just pushed")
            }
        };
        draft.variants.push(id);
        draft.bodies.extend(body);
    }
    // PyMODINIT_FUNC PyInit_m(void) { return NULL; }    for linkers only
    let is_empty = |id: &ItemId| cx.tree(*id).is_some_and(Tree::only_returns_null);
    drafts.retain(|draft| !draft.variants.iter().all(is_empty));
    drafts
}

impl Draft {
    /// The modules: one, or one for each name that translation units give the function.
    fn made(&self, cx: &PackageCx<'_>) -> Vec<Made> {
        let mut made: Vec<Made> = Vec::new();
        for &variant in &self.variants {
            let file = cx.item(variant).unit;
            let function = cx.function(variant);
            let name = function
                .and_then(|it| module_name(&it.name))
                .unwrap_or_default();
            let is_new = made.iter().all(|it| it.file != file);
            match made.iter_mut().find(|it| it.name == name) {
                // Any of these files may be the one that a build compiles.
                Some(known) if known.file != file => known.file = self.place.0,
                None if is_new => made.push(Made {
                    name: name.to_owned(),
                    file,
                }),
                Some(_) | None => {}
            }
        }
        if let [only] = made.as_mut_slice() {
            only.file = self.place.0;
        }
        made
    }

    fn module(&self, cx: &PackageCx<'_>, symbols: &Symbols<'_>) -> Module {
        let mut calls = Calls::default();
        for &variant in &self.variants {
            calls.follow(cx, symbols, variant, MAX_DEPTH);
        }
        let defs: Vec<_> = calls
            .inits
            .iter()
            .map(|&(id, at)| def(cx, symbols, id, at))
            .collect();
        let creates = creates(cx, &calls.creates);
        let names: Vec<(ItemId, &str)> = calls
            .visited
            .iter()
            .flat_map(|&item| {
                cx.tree(item)
                    .into_iter()
                    .flat_map(called)
                    .map(move |it| (item, it))
            })
            .collect();
        let own = names
            .iter()
            .flat_map(|(item, name)| symbols.callees(*item, name));
        let callees: Vec<ItemId> = own.map(|(callee, _)| callee).collect();
        let arrays = defs.iter().flat_map(|def| def.slots.iter().flatten());
        let declared = arrays
            .filter_map(|slots| match slots {
                Slots::Array(array) => Some(declared::by_slot(cx, array.item, array.list.range)),
                Slots::None(_) => None,
            })
            .chain([declared::by_call(cx, &calls.visited, &callees)])
            .reduce(strongest)
            .unwrap_or(Declared::No);
        let route = match (defs.is_empty(), creates.is_empty()) {
            (false, true) => Route::Multi(defs),
            (true, false) => Route::Single(creates),
            (false, false) => Route::Both(defs, creates),
            (true, true) => Route::Unknown(why_unknown(names.iter().map(|it| it.1))),
        };
        Module {
            name: self.name.clone(),
            made: self.made(cx),
            place: self.place,
            route,
            declared,
        }
    }
}

fn strongest(a: Declared, b: Declared) -> Declared {
    match (a, b) {
        (Declared::Already, _) | (_, Declared::Already) => Declared::Already,
        (Declared::NeedsGil, _) | (_, Declared::NeedsGil) => Declared::NeedsGil,
        (Declared::No, Declared::No) => Declared::No,
    }
}

fn why_unknown<'n>(mut callees: impl Iterator<Item = &'n str>) -> String {
    const OTHER: &[&str] = &[
        "PyState_FindModule",
        "PyModule_FromDefAndSpec",
        "PyModule_New",
        "PyModule_NewObject",
        "PyImport_AddModule",
        "PyImport_ImportModule",
    ];
    match callees.find(|name| OTHER.contains(name)) {
        Some(name) => format!("its module comes from `{name}`, not from `PyModule_Create`"),
        None => "it has no visible call of `PyModule_Create` or `PyModuleDef_Init`".to_owned(),
    }
}

/// The calls that make a module.
#[derive(Default)]
struct Calls {
    /// `PyModuleDef_Init`.
    inits: Vec<(ItemId, ExprId)>,
    /// `PyModule_Create`.
    creates: Vec<(ItemId, ExprId)>,
    visited: Vec<ItemId>,
}

impl Calls {
    /// Collects what makes the result of the function `item`: its own calls, else those of the
    /// functions whose result it returns, else those of any function it calls.
    fn follow(&mut self, cx: &PackageCx<'_>, symbols: &Symbols<'_>, item: ItemId, depth: u32) {
        let Some(tree) = cx
            .tree(item)
            .filter(|_| depth > 0 && !self.visited.contains(&item))
        else {
            return;
        };
        self.visited.push(item);
        let inits = calls(tree, |name| name == "PyModuleDef_Init");
        let creates = calls(tree, |name| {
            matches!(name, "PyModule_Create" | "PyModule_Create2")
        });
        if !inits.is_empty() || !creates.is_empty() {
            self.inits
                .extend(inits.into_iter().map(|call| (item, call)));
            let creates = keep_returned(tree, creates);
            self.creates
                .extend(creates.into_iter().map(|call| (item, call)));
            return;
        }
        let before = self.inits.len() + self.creates.len();
        let returned = returned_calls(tree);
        for names in [returned, called(tree).collect()] {
            for name in names {
                for (callee, _) in symbols.callees(item, name) {
                    self.follow(cx, symbols, callee, depth - 1);
                }
            }
            if self.inits.len() + self.creates.len() > before {
                return;
            }
        }
    }
}

/// Names of the functions that `tree` calls.
fn called(tree: &Tree) -> impl Iterator<Item = &str> {
    tree.exprs.iter().filter_map(|expr| match &expr.kind {
        ExprKind::Call { callee, .. } => tree.callee_name(*callee),
        _ => None,
    })
}

fn calls(tree: &Tree, is_wanted: impl Fn(&str) -> bool) -> Vec<ExprId> {
    let ids = tree.expr_ids();
    ids.filter(|&id| match &tree.expr(id).kind {
        ExprKind::Call { callee, .. } => tree.callee_name(*callee).is_some_and(&is_wanted),
        _ => false,
    })
    .collect()
}

/// Of several modules that a function creates, those it returns: others are submodules, which no
/// import statement asks for.
fn keep_returned(tree: &Tree, creates: Vec<ExprId>) -> Vec<ExprId> {
    if creates.len() < 2 {
        return creates;
    }
    let returned = returned_calls_and_names(tree);
    let kept: Vec<ExprId> = creates
        .iter()
        .copied()
        .filter(|call| returned.calls.contains(call))
        .collect();
    if kept.is_empty() { creates } else { kept }
}

fn returned_calls(tree: &Tree) -> Vec<&str> {
    let returned = returned_calls_and_names(tree).calls.into_iter();
    returned
        .filter_map(|call| match &tree.expr(call).kind {
            ExprKind::Call { callee, .. } => tree.callee_name(*callee),
            _ => None,
        })
        .collect()
}

/// What `return` statements give back.
#[derive(Default)]
struct Returned {
    /// Calls, also those stored in a returned variable.
    calls: Vec<ExprId>,
    /// Variables.
    names: Vec<String>,
}

fn returned_calls_and_names(tree: &Tree) -> Returned {
    let mut returned = Returned::default();
    for stmt in &tree.stmts {
        if let StmtKind::Return(Some(value)) = stmt.kind {
            returned.add(tree, value, 0);
        }
    }
    for expr in &tree.exprs {
        if let ExprKind::Assign { op: None, lhs, rhs } = expr.kind
            && returned.holds(tree, lhs)
        {
            returned.add_call(tree, rhs);
        }
    }
    let decls = tree.stmts.iter().filter_map(|stmt| match &stmt.kind {
        StmtKind::Decl(decls) => Some(decls),
        _ => None,
    });
    for decl in decls.flatten() {
        if let Some(Init::Expr(value)) = decl.init
            && returned.names.contains(&tree.local(decl.local).name)
        {
            returned.add_call(tree, value);
        }
    }
    returned
}

impl Returned {
    fn add(&mut self, tree: &Tree, value: ExprId, depth: u32) {
        match &tree.expr(value).kind {
            _ if depth > 8 => {}
            ExprKind::Cast { operand, .. } => self.add(tree, *operand, depth + 1),
            ExprKind::Conditional {
                then, otherwise, ..
            } => {
                for arm in then.iter().chain([otherwise]) {
                    self.add(tree, *arm, depth + 1);
                }
            }
            ExprKind::Call { .. } => self.calls.push(value),
            _ => self.names.extend(designation(tree, value)),
        }
    }

    fn holds(&self, tree: &Tree, place: ExprId) -> bool {
        designation(tree, place).is_some_and(|name| self.names.contains(&name))
    }

    fn add_call(&mut self, tree: &Tree, value: ExprId) {
        let mut value = value;
        while let ExprKind::Cast { operand: inner, .. } | ExprKind::Assign { rhs: inner, .. } =
            tree.expr(value).kind
        {
            value = inner;
        }
        if let ExprKind::Call { .. } = tree.expr(value).kind {
            self.calls.push(value);
        }
    }
}
