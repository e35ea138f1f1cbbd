//! The inventory: every mutable static variable of the package, and who writes it when.

use std::collections::BTreeMap;

use rustc_hash::FxHashSet;

use super::meeting::{Meetings, Phase};
use super::roots::Path;
use super::writes::{How, Target, Writers};
use crate::ast::{ExprId, Function, LocalId, Name, Storage, TokenRange, Type, TypeKind};
use crate::facts::{GuardedBy, Subject, guards};
use crate::program::{Body, ItemId, ProgramItem, Types};
use crate::rule::PackageCx;
use crate::source::{ByteSpan, FileId};

/// A variable of static storage that is neither `const` nor of one thread nor atomic.
#[derive(Debug, Clone)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// The name in its declaration, or the use of the macro that made it.
    pub place: (FileId, ByteSpan),
    /// The item that declares it.
    pub item: ItemId,
    /// The variable of the function `item`; `None` at file scope.
    pub local: Option<LocalId>,
    /// Whether only its own translation unit knows it.
    pub is_static: bool,
    /// Its type.
    pub ty: Type,
    /// Writes while no other thread can be there.
    pub early: Vec<Write>,
    /// Writes at any time without a lock.
    pub late: Vec<Write>,
    /// Whether some writes hold a lock.
    pub is_locked: bool,
    /// Whether a comment names its lock.
    pub is_guarded: bool,
}

impl Variable {
    /// The variable as a person can speak of it.
    #[must_use]
    pub fn subject(&self, cx: &PackageCx<'_>) -> Subject {
        let subject = Subject::in_file(cx.file(self.place.0).path(), &self.name);
        match self.local.and_then(|_| cx.function(self.item)) {
            Some(function) => subject.of_function(&function.name),
            None => subject,
        }
    }
}

/// A place that writes a variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Write {
    /// The function.
    pub item: ItemId,
    /// The assignment or call.
    pub expr: ExprId,
    /// Which part of the variable.
    pub path: Path,
    /// How.
    pub how: How,
}

/// The mutable static variables of the package in order of their declarations.
///
/// All items must have been parsed.
#[must_use]
pub fn inventory(cx: &PackageCx<'_>) -> Vec<Variable> {
    let mut inventory = Inventory::new(cx);
    let writers = Writers::new(cx.program);
    let meetings = Meetings::new(cx);
    for (item, at) in cx.program.items.iter().zip(0u32..) {
        let Some(Body::Function(function)) = &item.body else {
            continue;
        };
        let id = ItemId(at);
        if !meetings.is_met(id, function) {
            continue;
        }
        for expr in function.tree.expr_ids() {
            for target in writers.targets(&function.tree, expr) {
                let phase = meetings.phase(id, function, expr);
                inventory.note(item, function, &target, (id, expr), phase);
            }
        }
    }
    inventory.finish()
}

struct Inventory<'c, 'a> {
    cx: &'c PackageCx<'a>,
    variables: Vec<Variable>,
    by_name: BTreeMap<String, Vec<usize>>,
    /// Variables of functions; one use of a macro can make several.
    by_place: BTreeMap<(FileId, ByteSpan, String), usize>,
    /// The files of each translation unit.
    files: BTreeMap<FileId, FxHashSet<FileId>>,
}

impl<'c, 'a> Inventory<'c, 'a> {
    fn new(cx: &'c PackageCx<'a>) -> Self {
        let mut inventory = Self {
            cx,
            variables: Vec::new(),
            by_name: BTreeMap::new(),
            by_place: BTreeMap::new(),
            files: BTreeMap::new(),
        };
        for (item, at) in cx.program.items.iter().zip(0u32..) {
            match &item.body {
                _ if item.needs_gil => {}
                Some(Body::Declaration(_)) => inventory.declaration(item, ItemId(at)),
                Some(Body::Function(function)) => {
                    inventory.statics(item, ItemId(at), function);
                }
                None => {}
            }
        }
        inventory
    }

    fn declaration(&mut self, item: &ProgramItem, id: ItemId) {
        let Some(Body::Declaration(declaration)) = &item.body else {
            return;
        };
        let is_variable = matches!(declaration.storage, Storage::None | Storage::Static);
        let declarators = declaration.declarators.iter();
        let names: Vec<&str> = declarators.map(|it| it.name.as_str()).collect();
        let is_known = is_variable && !declaration.thread_local;
        if !is_known || self.is_atomic(item, declaration.range, &names) {
            return;
        }
        for declarator in &declaration.declarators {
            if !is_mutable(self.cx.types(), &declarator.ty) {
                continue;
            }
            let Some(place) = place_of(item, declarator.name_range) else {
                continue;
            };
            let is_static = declaration.storage == Storage::Static;
            // `static PyObject *x;` may be said again, with its value.
            let same = self.by_name.get(&declarator.name).into_iter().flatten();
            let mut same = same.map(|&at| &self.variables[at]);
            if same.any(|old| old.place.0 == place.0 || !is_static && !old.is_static) {
                continue;
            }
            self.add(Variable {
                name: declarator.name.clone(),
                place,
                item: id,
                local: None,
                is_static,
                ty: declarator.ty.clone(),
                early: Vec::new(),
                late: Vec::new(),
                is_locked: false,
                is_guarded: false,
            });
        }
    }

    fn statics(&mut self, item: &ProgramItem, id: ItemId, function: &Function) {
        for (local, at) in function.tree.locals.iter().zip(0u32..) {
            let is_static = local.storage == Storage::Static && !local.thread_local;
            let range = local.decl.map(|decl| function.tree.stmt(decl).range);
            if !is_static
                || !is_mutable(self.cx.types(), &local.ty)
                || range.is_some_and(|range| self.is_atomic(item, range, &[&local.name]))
            {
                continue;
            }
            let Some(place) = place_of(item, local.name_range) else {
                continue;
            };
            let key = (place.0, place.1, local.name.clone());
            if self.by_place.contains_key(&key) {
                continue;
            }
            let variable = Variable {
                name: local.name.clone(),
                place,
                item: id,
                local: Some(LocalId(at)),
                is_static: true,
                ty: local.ty.clone(),
                early: Vec::new(),
                late: Vec::new(),
                is_locked: false,
                is_guarded: false,
            };
            self.by_place.insert(key, self.variables.len());
            self.variables.push(variable);
        }
    }

    fn add(&mut self, variable: Variable) {
        let at = self.variables.len();
        self.by_name
            .entry(variable.name.clone())
            .or_default()
            .push(at);
        self.variables.push(variable);
    }

    /// `_Atomic int n;`, `PYAPI_ATOMIC(int) n;`, and what packages call thread-local:
    /// `static PKG_THREAD_LOCAL int n;`.
    fn is_atomic(&self, item: &ProgramItem, range: TokenRange, names: &[&str]) -> bool {
        let files = self.cx.program.files;
        let is_atomic = (range.start..range.end)
            .take_while(|&at| item.tokens.text(files, at) != b"=")
            .any(|at| item.tokens.text(files, at) == b"_Atomic");
        let expansions = item.tokens.expansions.iter();
        let (empty, made): (Vec<_>, Vec<_>) =
            expansions.partition(|it| it.tokens.start >= it.tokens.end);
        let mut made = made.iter().filter(|it| range.contains(it.tokens));
        let local = made.any(|it| is_thread_local(&it.name) || &*it.name == ATOMIC);
        // An unknown word among the specifiers is lost to the parser. A macro that stands for nothing
        // says nothing: `#define PKG_TLS`.
        let says =
            |word: &&str| !names.contains(word) && !empty.iter().any(|it| *it.name == **word);
        let text = place_of(item, range).map(|(file, span)| files.get(file).text(span));
        let words = text.iter().flat_map(|text| {
            let declared = text.split('=').next().unwrap_or_default();
            declared.split(|c: char| c != '_' && !c.is_ascii_alphanumeric())
        });
        is_atomic || local || words.filter(says).any(is_thread_local)
    }

    fn note(
        &mut self,
        item: &ProgramItem,
        function: &Function,
        target: &Target<'_>,
        (id, expr): (ItemId, ExprId),
        phase: Phase,
    ) {
        let found = match target.name {
            Name::Local(local) => {
                let local = function.tree.local(*local);
                place_of(item, local.name_range).and_then(|(file, span)| {
                    let key = (file, span, local.name.clone());
                    self.by_place.get(&key).copied()
                })
            }
            Name::Global(name) => self.global(item.unit, name),
        };
        let Some(variable) = found.map(|at| &mut self.variables[at]) else {
            return;
        };
        // What a pointer points at is another thing than the pointer; `&FooType` among the
        // arguments of `PyArg_ParseTuple` is read, whatever the format.
        let is_array = matches!(variable.ty.kind, TypeKind::Array(..));
        let is_read = matches!(&target.how, How::Handed(by) if by.starts_with("PyArg_"))
            && variable.ty.name() == Some("PyTypeObject");
        if target.path == Path::Element && !is_array || is_read {
            return;
        }
        let write = Write {
            item: id,
            expr,
            path: target.path,
            how: target.how.clone(),
        };
        match phase {
            Phase::Early => variable.early.push(write),
            Phase::Locked => variable.is_locked = true,
            Phase::Late => variable.late.push(write),
        }
    }

    /// The variable of file scope that `name` means in `unit`.
    fn global(&mut self, unit: FileId, name: &str) -> Option<usize> {
        let candidates = self.by_name.get(name)?;
        let files = self.files.entry(unit).or_insert_with(|| {
            let mut files = FxHashSet::default();
            self.cx.program.includes.reach(unit, &mut files);
            files.insert(unit);
            files
        });
        let of = |at: &&usize| &self.variables[**at];
        let own = candidates.iter().find(|at| files.contains(&of(at).place.0));
        own.or_else(|| candidates.iter().find(|at| !of(at).is_static))
            .copied()
    }

    fn finish(mut self) -> Vec<Variable> {
        self.trust_guards();
        self.variables.sort_by_key(|variable| variable.place);
        self.variables
    }
}

impl Inventory<'_, '_> {
    /// A variable at which a comment names its lock is written with the lock held, as its author
    /// says.
    fn trust_guards(&mut self) {
        let files = self.cx.program.files;
        let mut by_file: BTreeMap<FileId, Vec<GuardedBy>> = BTreeMap::new();
        for variable in &mut self.variables {
            let file = files.get(variable.place.0);
            let guards = by_file
                .entry(variable.place.0)
                .or_insert_with(|| guards(file));
            if guards.is_empty() {
                continue;
            }
            let line = file.position(variable.place.1.start()).line;
            if guards
                .iter()
                .any(|guard| guard.lines.0 <= line && line <= guard.lines.1)
            {
                variable.is_guarded = true;
                variable.is_locked |= !variable.late.is_empty();
                variable.late.clear();
            }
        }
    }
}

/// The macro of the generated header for the type of an atomic variable; with the GIL it is a plain
/// one.
const ATOMIC: &str = "PYAPI_ATOMIC";

fn is_thread_local(word: &str) -> bool {
    let word = word.to_ascii_lowercase();
    word.contains("thread_local") || word.contains("threadlocal") || word.ends_with("_tls")
}

/// The text that the tokens stand for; the use of the macro that made them.
fn place_of(item: &ProgramItem, range: TokenRange) -> Option<(FileId, ByteSpan)> {
    if range.start >= range.end {
        return None;
    }
    Some(item.tokens.place(range).written_at())
}

/// Whether a variable of this type is data that code may write, and no lock or atomic.
fn is_mutable(types: &Types<'_>, ty: &Type) -> bool {
    const ATOMIC: &[&str] = &["once_flag", "_PyOnceFlag", "Py_tss_t"];
    if ty.is_const {
        return false;
    }
    match &ty.kind {
        TypeKind::Array(element, _) => is_mutable(types, element),
        TypeKind::Function(..) => false,
        _ => ty
            .name()
            .is_none_or(|name| !is_lock(ty) && !ATOMIC.contains(&name) && !types.is_atomic(ty)),
    }
}

/// Whether a variable of this type is a lock, or something else that is there for threads: what is
/// done with it needs no lock, but for making it.
#[must_use]
pub fn is_lock(ty: &Type) -> bool {
    const LOCKS: &[&str] = &["PyMutex", "PyThread_type_lock", "CRITICAL_SECTION", "mtx_t"];
    ty.name()
        .is_some_and(|name| LOCKS.contains(&name) || name.starts_with("pthread_"))
}
