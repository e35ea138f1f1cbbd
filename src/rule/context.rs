//! What a rule may ask about the package.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use rustc_hash::{FxHashMap, FxHashSet};

use super::lifetimes::Lifetimes;
use super::threads::Threads;
use super::{ObjectState, Outcome, Outside};
use crate::ast::{ExprId, ExprKind, Function, StmtId, Tree};
use crate::edit::{Layout, Style};
use crate::memory::{Family, families};
use crate::ownership::summary::Summaries;
use crate::preprocess::{Place, VersionRange};
use crate::program::{Body, CallIndex, CallSite, ItemId, Mention, Program, ProgramItem, Types};
use crate::provenance::{Exposure, SharedKind, Triage, Verdict};
use crate::roles::Roles;
use crate::source::{ByteSpan, FileId, SourceFile};

/// What becomes of calls that give borrowed references, and of calls of functions that hand such
/// references on.
pub type Lookups = BTreeMap<ItemId, BTreeMap<ExprId, Outcome>>;

/// What is known of the functions of a package that raise or meet exceptions, by name.
#[derive(Debug, Default)]
pub struct Exceptions {
    /// Those that may be called while one is pending.
    pub entered: BTreeSet<Box<str>>,
    /// Those of them that are called so by a pointer, or by code that nobody reads.
    pub by_pointer: BTreeSet<Box<str>>,
    /// How those that others call come back where something fails.
    pub returns: BTreeMap<Box<str>, ErrorReturn>,
}

/// How a function comes back where something in it fails.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ErrorReturn {
    /// What it returns with an exception; `None` if it is no number, or not known.
    pub numbers: Option<ErrorNumbers>,
    /// What it returns with one on some path; 0 for `NULL`.
    pub raised: BTreeSet<i64>,
    /// Whether it may come back with an exception of which its result does not tell.
    pub silent: bool,
    /// Whether it always comes back with an exception.
    pub always: bool,
    /// Whether it may come back with one, whatever tells of it.
    pub leaves: bool,
    /// Whether it may do so in a way that nobody knows, of which its result may or may not tell.
    pub unsure: bool,
    /// The numbers that it stores where it raises, by the argument that says where: `*err = 1;`.
    pub outs: BTreeMap<usize, BTreeSet<i64>>,
}

/// The numbers that a function returns with an exception, and no others.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ErrorNumbers {
    /// At least one.
    pub numbers: BTreeSet<i64>,
    /// Whether it returns 0, and only 0, without an exception.
    pub else_zero: bool,
}

/// The numbers by which a function tells of the failure of a call in turn, none where it deals with that.
/// An error if it comes back as if nothing had happened, which may be sure or not.
pub type Told = Result<BTreeSet<i64>, bool>;

/// What functions of a package do by what they call, by name.
#[derive(Debug, Default)]
pub struct ByCalls {
    /// Those that the collector may call while it holds all threads still.
    pub traversing: BTreeSet<Box<str>>,
    /// Whether one of them may wait for an object, or run Python code, with a lock of C.
    pub holds_lock_in_python: bool,
}

/// What functions of a package do with the error number of what was called before, by name.
#[derive(Debug, Clone, Default)]
pub struct ErrnoFunctions {
    /// Those that read it.
    pub reading: BTreeSet<Box<str>>,
    /// Those after which it is the same again: they keep it in a variable meanwhile.
    pub keeping: BTreeSet<Box<str>>,
    /// Those that leave one which a caller reads.
    pub awaited: BTreeSet<Box<str>>,
}

/// What becomes of an error that a function of the C API swallowed, where its strong form reports
/// it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Errors {
    /// It is reported and the function goes on, as Python does since 3.13.
    Preserve,
    /// The function leaves with it, where it has an exit that fits; else it is reported.
    #[default]
    Propagate,
}

/// The package with what rules ask for again and again looked up once.
#[derive(Debug)]
pub struct PackageCx<'a> {
    /// All items.
    pub program: &'a Program<'a>,
    /// Supported Python versions.
    pub range: VersionRange,
    /// What becomes of errors that were swallowed.
    pub errors: Errors,
    /// Lookups that report their errors whatever `errors` says; nothing but the functions with them
    /// is of interest then.
    reporting: BTreeSet<CallSite>,
    lookups: OnceLock<Lookups>,
    triage: Option<&'a dyn Triage>,
    outside: Option<&'a dyn Outside>,
    known: Arc<Known<'a>>,
}

/// What follows from the program alone.
#[derive(Debug)]
struct Known<'a> {
    calls: CallIndex,
    types: Types<'a>,
    summaries: OnceLock<Summaries>,
    macros: OnceLock<FxHashSet<Box<[u8]>>>,
    exceptions: OnceLock<Exceptions>,
    by_calls: OnceLock<ByCalls>,
    errno: OnceLock<ErrnoFunctions>,
    states: OnceLock<Vec<ObjectState>>,
    memory: OnceLock<Vec<Family>>,
    threads: OnceLock<Threads>,
    lifetimes: OnceLock<Lifetimes>,
    /// By the call, and the number that says that it has failed.
    told: Mutex<FxHashMap<(CallSite, i64), Told>>,
    /// By [`FileId`].
    styles: Vec<OnceLock<Style>>,
}

impl<'a> Known<'a> {
    fn new(program: &'a Program<'a>) -> Self {
        Self {
            calls: CallIndex::new(program),
            types: Types::new(program),
            summaries: OnceLock::new(),
            macros: OnceLock::new(),
            exceptions: OnceLock::new(),
            by_calls: OnceLock::new(),
            errno: OnceLock::new(),
            states: OnceLock::new(),
            memory: OnceLock::new(),
            threads: OnceLock::new(),
            lifetimes: OnceLock::new(),
            told: Mutex::default(),
            styles: program.index.iter().map(|_| OnceLock::new()).collect(),
        }
    }
}

impl<'a> PackageCx<'a> {
    /// Indexes the calls of `program`.
    #[must_use]
    pub fn new(program: &'a Program<'a>, range: VersionRange) -> Self {
        Self {
            program,
            range,
            errors: Errors::default(),
            reporting: BTreeSet::new(),
            lookups: OnceLock::new(),
            triage: None,
            outside: None,
            known: Arc::new(Known::new(program)),
        }
    }

    /// The same package with triage; without it every container counts as shared.
    #[must_use]
    pub fn with_triage(self, triage: &'a dyn Triage) -> Self {
        Self {
            triage: Some(triage),
            ..self
        }
    }

    /// The same package with what stands around its C; without it other code may call each function
    /// that is not `static`.
    #[must_use]
    pub fn with_outside(self, outside: &'a dyn Outside) -> Self {
        Self {
            outside: Some(outside),
            ..self
        }
    }

    /// The same package with what the user asks of swallowed errors.
    #[must_use]
    pub fn with_errors(self, errors: Errors) -> Self {
        Self { errors, ..self }
    }

    /// The same package, of which only the functions with these lookups are of interest, and where
    /// these report their errors.
    #[must_use]
    pub fn reporting(&self, sites: BTreeSet<CallSite>) -> Self {
        Self {
            reporting: sites,
            lookups: OnceLock::new(),
            known: Arc::clone(&self.known),
            ..*self
        }
    }

    /// What becomes of the error of one lookup.
    #[must_use]
    pub fn errors_of(&self, site: CallSite) -> Errors {
        match self.reporting.contains(&site) {
            true => Errors::Preserve,
            false => self.errors,
        }
    }

    /// Whether the lookups of a function are of interest.
    #[must_use]
    pub fn asks_for(&self, item: ItemId) -> bool {
        self.reporting.is_empty() || self.reporting.iter().any(|site| site.item == item)
    }

    /// What functions of the package that get borrowed references do with them.
    pub fn summaries(&self) -> &Summaries {
        self.known
            .summaries
            .get_or_init(|| Summaries::of_helpers(self.program))
    }

    /// What becomes of the lookups of the package, as `plan` says for the first rule that asks: one
    /// fix may hold lookups of several rules.
    pub fn lookups(&self, plan: impl FnOnce(&Self) -> Lookups) -> &Lookups {
        self.lookups.get_or_init(|| plan(self))
    }

    /// What is known of exceptions, as `find` says for the first rule that asks.
    pub fn exceptions(&self, find: impl FnOnce(&Self) -> Exceptions) -> &Exceptions {
        self.known.exceptions.get_or_init(|| find(self))
    }

    /// What functions do by what they call, as `find` says for the first rule that asks.
    pub fn by_calls(&self, find: impl FnOnce(&Self) -> ByCalls) -> &ByCalls {
        self.known.by_calls.get_or_init(|| find(self))
    }

    /// What functions do with the error number, as `find` says for the first rule that asks.
    pub fn errno_functions(&self, find: impl FnOnce(&Self) -> ErrnoFunctions) -> &ErrnoFunctions {
        self.known.errno.get_or_init(|| find(self))
    }

    /// The state of the objects of the package that threads share, found by `find` once.
    pub fn object_states(&self, find: impl FnOnce(&Self) -> Vec<ObjectState>) -> &[ObjectState] {
        self.known.states.get_or_init(|| find(self))
    }

    /// The allocations and releases of the package by the memory that they meet.
    pub fn memory(&self) -> &[Family] {
        self.known
            .memory
            .get_or_init(|| families(self.program, &self.known.calls))
    }

    /// What functions do to the thread of their caller.
    pub fn threads(&self) -> &Threads {
        self.known.threads.get_or_init(|| Threads::new(self))
    }

    /// What functions ask whether something is dead.
    pub fn lifetimes(&self) -> &Lifetimes {
        self.known.lifetimes.get_or_init(|| Lifetimes::new(self))
    }

    /// How the function that makes a call tells of its failure, which the call says by `error`, as
    /// `find` says if nobody has asked before.
    pub fn told(&self, site: CallSite, error: i64, find: impl FnOnce() -> Told) -> Told {
        let cached = || {
            self.known
                .told
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
        };
        let key = (site, error);
        if let Some(told) = cached().get(&key).cloned() {
            return told;
        }
        // Without the lock: it asks for others.
        let told = find();
        cached().entry(key).or_insert(told).clone()
    }

    /// The layout of the function that stands at `place` of `file`.
    #[must_use]
    pub fn layout(&self, file: FileId, place: ByteSpan) -> Layout<'a> {
        let bytes = self.file(file).bytes();
        let tokens = self.program.index[file.index()].tokens();
        let style = self.known.styles[file.index()]
            .get_or_init(|| Layout::learn(file, bytes, tokens).style());
        Layout::with_style(file, bytes, tokens, *style).within(place)
    }

    /// Where the argument `container` of a borrowing call comes from.
    #[must_use]
    pub fn provenance(&self, site: CallSite, container: usize) -> Verdict {
        match self.triage {
            Some(triage) => triage.provenance(site, container),
            None => Verdict::Shared(SharedKind::Unknown),
        }
    }

    /// Whether argument `arg` of the call `site` is a dict, or `NULL`, as far as is known.
    #[must_use]
    pub fn is_dict(&self, site: CallSite, arg: usize) -> bool {
        self.triage.is_some_and(|triage| triage.is_dict(site, arg))
    }

    /// Whether argument `arg` of the call `site` may be any object that Python code hands in.
    #[must_use]
    pub fn is_any_object(&self, site: CallSite, arg: usize) -> bool {
        self.triage
            .is_some_and(|triage| triage.is_any_object(site, arg))
    }

    /// Whether the first argument of the call `site` may be a list with slots that are not filled,
    /// and the function goes on with what it finds in one, as far as is known.
    #[must_use]
    pub fn may_have_gaps(&self, site: CallSite) -> bool {
        self.triage.is_some_and(|triage| triage.may_have_gaps(site))
    }

    /// What may befall the value that a borrowing call hands out, as far as is known.
    #[must_use]
    pub fn exposure(&self, site: CallSite) -> Exposure {
        self.triage
            .map(|triage| triage.exposure(site))
            .unwrap_or_default()
    }

    /// Whether the function only runs while a module is initialised, as far as is known.
    #[must_use]
    pub fn runs_at_init_only(&self, function: &str) -> bool {
        self.triage
            .is_some_and(|triage| triage.runs_at_init_only(function))
    }

    /// Whether the function of `item` sets the field of no objects but those that it makes itself
    /// and that nobody else knows by then, as far as is known.
    #[must_use]
    pub fn sets_new_only(&self, item: ItemId, field: &str) -> bool {
        self.triage
            .is_some_and(|triage| triage.sets_new_only(item, field))
    }

    /// Whether any file of the package defines a macro of this name, which is more than another
    /// name of a stand-in for a function of newer Pythons.
    #[must_use]
    pub fn is_macro(&self, name: &str) -> bool {
        let macros = self.known.macros.get_or_init(|| self.macros());
        macros.contains(name.as_bytes())
    }

    fn macros(&self) -> FxHashSet<Box<[u8]>> {
        let files = self.program.files.iter().zip(self.program.index);
        files
            .flat_map(|((_, file), index)| index.macros(file).map(Box::from))
            .collect()
    }

    /// What the functions of the package are to Python; `None` without triage.
    #[must_use]
    pub fn roles(&self) -> Option<&Roles> {
        self.triage.map(Triage::roles)
    }

    /// What the package declares.
    #[must_use]
    pub fn types(&self) -> &Types<'a> {
        &self.known.types
    }

    /// Who calls which function.
    #[must_use]
    pub fn call_index(&self) -> &CallIndex {
        &self.known.calls
    }

    /// Whether Python calls the function of `item` and takes `NULL`, or -1, for an error.
    #[must_use]
    pub fn reports_errors(&self, item: ItemId) -> bool {
        self.triage
            .is_some_and(|triage| triage.reports_errors(item))
    }

    /// The item with this id.
    #[must_use]
    pub fn item(&self, id: ItemId) -> &'a ProgramItem {
        &self.program.items[id.0 as usize]
    }

    /// All calls of `name`, item by item in source order; also those that macro bodies make.
    #[must_use]
    pub fn calls_to(&self, name: &str) -> &[CallSite] {
        self.known.calls.calls_to(name)
    }

    /// Whether text that was not understood, or that nobody analyses, holds the word.
    #[must_use]
    pub fn is_named_unread(&self, word: &str) -> bool {
        self.known.calls.is_named_unread(word)
    }

    /// Where the name stands without being called, or in text that was not understood.
    #[must_use]
    pub fn mention(&self, name: &str) -> Option<Mention> {
        self.known.calls.mention(name)
    }

    /// The function a call stands in; `None` in the initialiser of a file-scope variable.
    #[must_use]
    pub fn function(&self, id: ItemId) -> Option<&'a Function> {
        match &self.item(id).body {
            Some(Body::Function(function)) => Some(function),
            Some(Body::Declaration(_)) | None => None,
        }
    }

    /// What must hold for the C that was looked at to have all calls of the function `name`; `None`
    /// if nothing else can call it.
    #[must_use]
    pub fn other_callers(&self, name: &str) -> Option<String> {
        let place = |(item, _): (ItemId, &Function)| self.item(item).place.0;
        let (own, open): (Vec<_>, Vec<_>) =
            self.definitions(name).partition(|(_, it)| it.is_static);
        let files: BTreeSet<FileId> = open.into_iter().map(place).collect();
        let Some(outside) = self.outside else {
            return (!files.is_empty()).then(|| format!("only analysed C code calls `{name}`"));
        };
        match files.is_empty() {
            true => outside.includers(name, &own.into_iter().map(place).collect()),
            false => outside.callers(name, &files),
        }
    }

    /// The definitions of the function `name`, variants of other configurations included.
    pub fn definitions(&self, name: &str) -> impl Iterator<Item = (ItemId, &'a Function)> {
        self.program.functions_named(name)
    }

    /// Callee and arguments of a call.
    #[must_use]
    pub fn call(&self, site: CallSite) -> (ExprId, &'a [ExprId]) {
        let tree = self.tree(site.item);
        match tree.map(|tree| &tree.expr(site.expr).kind) {
            Some(ExprKind::Call { callee, args }) => (*callee, args),
            _ => (site.expr, &[]),
        }
    }

    /// The tree of an item.
    #[must_use]
    pub fn tree(&self, id: ItemId) -> Option<&'a Tree> {
        self.item(id).tree()
    }

    /// What an expression is in the files.
    #[must_use]
    pub fn place(&self, item: ItemId, expr: ExprId) -> Option<Place> {
        let range = self.tree(item)?.expr(expr).range;
        (range.start < range.end).then(|| self.item(item).tokens.place(range))
    }

    /// The span of an expression that is text of a file; `None` if a macro made a part of it.
    #[must_use]
    pub fn span(&self, item: ItemId, expr: ExprId) -> Option<(FileId, ByteSpan)> {
        self.item(item)
            .tokens
            .file_span(self.tree(item)?.expr(expr).range)
    }

    /// The span of a statement that is text of a file.
    #[must_use]
    pub fn stmt_span(&self, item: ItemId, stmt: StmtId) -> Option<(FileId, ByteSpan)> {
        self.item(item)
            .tokens
            .file_span(self.tree(item)?.stmt(stmt).range)
    }

    /// The file with this id.
    #[must_use]
    pub fn file(&self, id: FileId) -> &'a SourceFile {
        self.program.files.get(id)
    }
}
