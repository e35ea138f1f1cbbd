//! When a function runs: while its module is made or goes away, or at any time.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::{FxHashMap, FxHashSet};

use crate::ast::{ExprId, ExprKind, Name, TokenRange, Tree, TypeKind};
use crate::capi::called_alone;
use crate::program::ProgramItem;
use crate::roles::{Role, reached_only_from};
use crate::rule::PackageCx;
use crate::source::FileId;

/// Functions that call one of their arguments once, by a flag that all threads share.
const ONCE: &[&str] = &[
    "pthread_once",
    "call_once",
    "InitOnceExecuteOnce",
    "_PyOnceFlag_CallOnce",
];

/// Whether a function calls one of its arguments once, by a flag that all threads share.
#[must_use]
pub fn calls_once(name: &str) -> bool {
    ONCE.contains(&name)
}

/// The functions, by name, that no other thread can meet: those that make a module or take it
/// down, programs with their `main`, what `pthread_once` calls, constructors of the compiler, and
/// all that only these call. What is not `reachable` (the API of a build into Python itself, under
/// `#ifdef Py_BUILD_CORE`) meets nobody.
#[must_use]
pub fn alone<'a>(cx: &PackageCx<'a>, reachable: Option<&BTreeSet<&str>>) -> BTreeSet<&'a str> {
    let Some(roles) = cx.roles() else {
        return BTreeSet::new();
    };
    let mut entries = callbacks(cx);
    entries.extend(programs(cx));
    entries.extend(constructors(cx));
    let is_entry = |name: &str, of: &[&Role]| match of {
        [] => {
            let is_never_called = reachable.is_some_and(|reached| !reached.contains(name));
            entries.contains(name) || is_never_called
        }
        _ => of.iter().all(|role| is_alone(role)),
    };
    reached_only_from(cx.program, cx.call_index(), roles, &is_entry)
}

fn is_alone(role: &Role) -> bool {
    let is_teardown = |slot: &str| matches!(slot, "m_free" | "m_clear" | "m_traverse");
    role.is_module_init() || matches!(role, Role::Slot(slot) if is_teardown(slot))
}

/// The functions, by name, that Python can get to: those that its tables name, and all that these
/// name; what files name that are not looked at counts as well. `None` if Python knows none of
/// them: then all may be called.
#[must_use]
pub fn reachable<'a>(cx: &PackageCx<'a>) -> Option<BTreeSet<&'a str>> {
    let roles = cx.roles()?;
    let mut named: FxHashMap<&str, FxHashSet<&str>> = FxHashMap::default();
    let mut open: Vec<&str> = Vec::new();
    for (item, function) in cx.program.functions() {
        let name = function.name.as_str();
        named.entry(name).or_default().extend(names(&function.tree));
        if roles.of(item, function).next().is_some() {
            open.push(name);
        }
    }
    open.extend(constructors(cx));
    // Every program has a `main` of its own.
    let calls = cx.call_index();
    let is_named = |name: &&&str| **name != "main" && calls.may_be_called_unread(name);
    open.extend(named.keys().filter(is_named));
    // The tables may all be in generated code, which names what it calls.
    if open.is_empty() {
        return None;
    }
    for (_, declaration) in cx.program.declarations() {
        open.extend(names(&declaration.tree));
    }
    open.extend(named.keys().filter(|name| calls.may_be_called_unseen(name)));
    let mut reached = FxHashSet::default();
    while let Some(name) = open.pop() {
        if reached.insert(name) {
            open.extend(named.get(name).into_iter().flatten());
        }
    }
    Some(reached.into_iter().collect())
}

fn names(tree: &Tree) -> impl Iterator<Item = &str> {
    tree.exprs.iter().filter_map(|expr| match &expr.kind {
        ExprKind::Name(Name::Global(name)) => Some(&**name),
        _ => None,
    })
}

/// The same but for what is called.
fn names_without_calls(tree: &Tree) -> impl Iterator<Item = &str> {
    let called = tree.exprs.iter().filter_map(|expr| match &expr.kind {
        ExprKind::Call { callee, .. } => Some(*callee),
        _ => None,
    });
    let called: FxHashSet<ExprId> = called.collect();
    let others = tree.expr_ids().filter(move |id| !called.contains(id));
    others.filter_map(|id| match &tree.expr(id).kind {
        ExprKind::Name(Name::Global(name)) => Some(&**name),
        _ => None,
    })
}

/// The functions of files with a `main`, and nothing that Python calls: programs beside the extension.
fn programs<'a>(cx: &PackageCx<'a>) -> BTreeSet<&'a str> {
    let is_main = |name: &str| matches!(name, "main" | "wmain" | "WinMain" | "DllMain");
    let functions = || cx.program.functions();
    // #ifdef TEST    int main(void)
    let is_always = |item: &ProgramItem| {
        let (file, span) = item.place;
        let index = &cx.program.index[file.index()];
        let around = index.conditions_at(cx.file(file), span.start());
        around.is_empty()
    };
    let units: BTreeSet<FileId> = functions()
        .filter(|(item, function)| is_main(&function.name) && is_always(item))
        .map(|(item, _)| item.unit)
        .collect();
    let of_python: BTreeSet<FileId> = functions()
        .filter(|(item, function)| {
            let roles = cx.roles().into_iter();
            roles
                .flat_map(|roles| roles.of(item, function))
                .next()
                .is_some()
        })
        .map(|(item, _)| item.unit)
        .collect();
    let units = &units - &of_python;
    // What is not `static` in a file that a program includes may be for others, which include or
    // compile that file.
    let (inside, outside): (Vec<_>, Vec<_>) = functions().partition(|(item, function)| {
        units.contains(&item.unit) && (function.is_static || item.place.0 == item.unit)
    });
    // The `main` of another build is that of a program as well.
    let outside = outside
        .iter()
        .filter(|(item, function)| !is_main(&function.name) || of_python.contains(&item.unit));
    let outside: BTreeSet<&str> = outside.map(|(_, f)| f.name.as_str()).collect();
    let inside = inside
        .into_iter()
        .map(|(_, function)| function.name.as_str());
    inside.filter(|name| !outside.contains(name)).collect()
}

/// `static void __attribute__((constructor)) load(void)` and destructors, as they are defined or
/// declared.
fn constructors<'a>(cx: &PackageCx<'a>) -> impl Iterator<Item = &'a str> {
    let files = cx.program.files;
    let is_marked = move |item: &ProgramItem, range: TokenRange| {
        let text = |at| item.tokens.text(files, at);
        let mut words = (range.start..range.end)
            .skip_while(|&at| !matches!(text(at), b"__attribute__" | b"__attribute" | b"gnu"));
        // `destructor free_it` is a parameter.
        words.any(|at| {
            let word = text(at);
            let word = word.strip_prefix(b"__").unwrap_or(word);
            let is_it = [
                &b"constructor"[..],
                b"constructor__",
                b"destructor",
                b"destructor__",
            ];
            is_it.contains(&word) && matches!(text(at + 1).first(), Some(b'(' | b')' | b',' | b']'))
        })
    };
    let defined = cx.program.functions().filter(move |(item, function)| {
        let start = function.range.start;
        let end = function.tree.stmt(function.body).range.start;
        is_marked(item, TokenRange { start, end })
    });
    let declared = cx
        .program
        .declarations()
        .filter(move |(item, declaration)| {
            let is_function = |ty: &TypeKind| matches!(ty, TypeKind::Function(..));
            let mut declarators = declaration.declarators.iter();
            declarators.any(|declarator| is_function(&declarator.ty.kind))
                && is_marked(item, declaration.range)
        });
    let declared = declared.flat_map(|(_, declaration)| &declaration.declarators);
    defined
        .map(|(_, function)| function.name.as_str())
        .chain(declared.map(|declarator| declarator.name.as_str()))
}

/// The functions that are handed to one that calls them once, or where no other thread is, and to
/// nothing else.
fn callbacks<'a>(cx: &PackageCx<'a>) -> BTreeSet<&'a str> {
    // By each function the flags with which it is called once; `None` for one that is not seen.
    let mut flags: BTreeMap<&str, BTreeSet<Option<String>>> = BTreeMap::new();
    let mut handed: BTreeMap<&str, usize> = BTreeMap::new();
    for (_, function) in cx.program.functions() {
        let tree = &function.tree;
        for (name, args) in tree.calls().filter_map(|(call, _)| tree.call(call)) {
            let flag = match args.first() {
                Some(&flag) if calls_once(name) => flag_name(&function.name, tree, flag),
                _ if called_alone(name).is_some() => Some(String::new()),
                _ => continue,
            };
            let is_it = |at: &usize| called_alone(name).is_none_or(|it| it == *at);
            let args = args.iter().enumerate().filter(|(at, _)| is_it(at));
            for called in args.filter_map(|(_, &arg)| function_of(tree, arg)) {
                flags.entry(called).or_default().insert(flag.clone());
                *handed.entry(called).or_default() += 1;
            }
        }
    }
    if handed.is_empty() {
        return BTreeSet::new();
    }
    let mut named: BTreeMap<&str, usize> = BTreeMap::new();
    for tree in cx.program.items.iter().filter_map(ProgramItem::tree) {
        let names = names_without_calls(tree).filter(|name| handed.contains_key(name));
        names.for_each(|name| *named.entry(name).or_default() += 1);
    }
    // With two flags it runs twice.
    let once = flags.into_iter().filter(|(name, flags)| {
        flags.len() == 1 && !flags.contains(&None) && handed.get(name) == named.get(name)
    });
    once.map(|(name, _)| name).collect()
}

/// What a flag that all calls share is called; that of a function has the function's name in front.
fn flag_name(owner: &str, tree: &Tree, flag: ExprId) -> Option<String> {
    match &tree.expr(flag).kind {
        ExprKind::Name(Name::Global(name)) => Some(name.to_string()),
        ExprKind::Name(Name::Local(local)) => {
            let is_shared = tree.is_static(*local) && !tree.local(*local).thread_local;
            is_shared.then(|| format!("{owner}.{}", local.0))
        }
        ExprKind::Cast { operand, .. } | ExprKind::Unary { operand, .. } => {
            flag_name(owner, tree, *operand)
        }
        _ => None,
    }
}

fn function_of(tree: &Tree, arg: ExprId) -> Option<&str> {
    match &tree.expr(arg).kind {
        ExprKind::Name(Name::Global(name)) => Some(name),
        ExprKind::Cast { operand, .. } | ExprKind::Unary { operand, .. } => {
            function_of(tree, *operand)
        }
        _ => None,
    }
}
