//! Whether a module is ready to be declared: nothing is open in its files that threads could race
//! for.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashSet;

use super::whose::files_of_modules;
use super::{Config, Stopped};
use crate::edit::{Confidence, EditSet, FixId};
use crate::facts::{Fact, listed};
use crate::package::Package;
use crate::rule::{Finding, Outcome, PackageCx, Rule, Suppression, fold, suppressions};
use crate::source::{ByteOffset, FileId, FileSet};
use crate::transforms;
use crate::writes::{IN_MACRO, Left, Places, Reach, Why};

/// Most names that an assumption lists.
const SHOWN: usize = 6;

/// What can stand against declaring a module.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum OpenKind {
    /// Values that are used without owning a reference.
    BorrowedReference,
    /// Iterations and critical sections that do not hold their lock.
    CriticalSection,
    /// Static variables that functions write after import.
    StaticVariable,
    /// Types whose methods change fields without a lock.
    ObjectState,
    /// Calls of functions of C that keep static state.
    LibraryCall,
    /// Calls into Python by threads that are not attached to it.
    DetachedCall,
    /// Items and fields of objects that are used around the API, and counts taken for proofs.
    ObjectAccess,
    /// Memory that is allocated in one domain and used, or released, as of another.
    Memory,
    /// Functions that were not understood, which may hide any of these.
    NotUnderstood,
}

impl OpenKind {
    /// The kind that findings of `rule` are of; `None` if they are no races.
    #[must_use]
    pub fn of(rule: &Rule) -> Option<Self> {
        match rule.code.get(..3)? {
            "UG1" => Some(Self::BorrowedReference),
            "UG3" => Some(Self::CriticalSection),
            "UG4" if matches!(rule.code, "UG401" | "UG402") => Some(Self::Memory),
            "UG5" if rule.name == "unlocked-object-state" => Some(Self::ObjectState),
            "UG5" if rule.name == "non-reentrant-call" => Some(Self::LibraryCall),
            "UG5" => Some(Self::StaticVariable),
            // The others of this group block or deadlock; nothing is read half written.
            "UG6" if matches!(rule.name, "detached-api-call" | "unattached-thread") => {
                Some(Self::DetachedCall)
            }
            "UG7" => Some(Self::ObjectAccess),
            _ => None,
        }
    }

    /// Whether a finding of this kind is about one of these files. A variable or a type races where
    /// it is used too: structs of one name in three modules are one finding.
    fn concerns(self, finding: &Finding, files: &FxHashSet<FileId>) -> bool {
        let is_shared = matches!(self, Self::StaticVariable | Self::ObjectState);
        files.contains(&finding.file)
            || is_shared && finding.notes.iter().any(|note| files.contains(&note.file))
    }

    /// What findings of this kind are about.
    const fn about(self) -> &'static str {
        match self {
            Self::BorrowedReference => "borrowed references",
            Self::CriticalSection => "critical sections",
            Self::StaticVariable => "static variables",
            Self::ObjectState => "fields without a lock",
            Self::LibraryCall => "C functions with static state",
            Self::DetachedCall => "calls while the thread is detached",
            Self::ObjectAccess => "unsafe use of objects",
            Self::Memory => "memory allocators",
            Self::NotUnderstood => "functions that were not analysed",
        }
    }
}

/// What is open in the files of one module.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Open {
    /// How many findings of each kind, as they are shown.
    pub kinds: BTreeMap<OpenKind, usize>,
    /// Whether all rules about races ran, on all functions.
    pub is_complete: bool,
    /// What the project has confirmed, without which more would be open.
    word: BTreeSet<Fact>,
    /// Static variables by name.
    statics: BTreeSet<String>,
    /// What methods reach and nothing accounts for, in words, by why.
    left: BTreeMap<Why, BTreeSet<String>>,
}

impl Open {
    /// How many things are open.
    #[must_use]
    pub fn count(&self) -> usize {
        self.kinds.values().sum()
    }

    /// Whether methods reach a write, or a function that was not read, for which nothing accounts.
    #[must_use]
    pub fn has_left(&self) -> bool {
        !self.left.is_empty()
    }

    /// The counts in words: `3 findings without a safe fix (2 about borrowed references, 1 about static variables)`.
    #[must_use]
    pub fn in_words(&self) -> String {
        self.counted(|_| String::new())
    }

    /// The same, with what `more` says of each kind.
    fn counted(&self, more: impl Fn(OpenKind) -> String) -> String {
        let unread = self.kinds.get(&OpenKind::NotUnderstood).copied();
        let unread = unread.map(|n| match n {
            1 => "1 function that was not analysed".to_owned(),
            _ => format!("{n} {}", OpenKind::NotUnderstood.about()),
        });
        let kinds = self.kinds.iter();
        let kinds = kinds.filter(|(kind, _)| **kind != OpenKind::NotUnderstood);
        let each =
            |(kind, n): (&OpenKind, &usize)| format!("{n} about {}{}", kind.about(), more(*kind));
        let parts: Vec<String> = kinds.clone().map(each).collect();
        let findings = match kinds.map(|(_, n)| n).sum() {
            0 => None,
            1 => Some(format!(
                "1 finding without a safe fix ({})",
                parts[0].trim_start_matches("1 ")
            )),
            n => Some(format!(
                "{n} findings without a safe fix ({})",
                parts.join(", ")
            )),
        };
        let parts: Vec<String> = findings.into_iter().chain(unread).collect();
        parts.join(" and ")
    }

    /// What is open of a module that is declared: whoever did that has answered for its locks.
    #[must_use]
    pub fn of_declared(&self) -> Self {
        let mut open = self.clone();
        let is_answered =
            |why: &Why| matches!(why, Why::Guarded | Why::Once | Why::Again | Why::Unproven);
        open.left.retain(|why, _| !is_answered(why));
        open
    }

    /// What a person has to settle, in one line; `None` if nothing is open.
    #[must_use]
    pub fn sentence(&self) -> Option<String> {
        let conditions = self.conditions();
        (!conditions.is_empty()).then(|| conditions.join("; "))
    }

    /// What a person has to settle, one thing each. All places are named where nothing else is open.
    #[must_use]
    pub fn conditions(&self) -> Vec<String> {
        let most = if self.kinds.is_empty() {
            usize::MAX
        } else {
            SHOWN
        };
        let mut parts = Vec::new();
        if !self.kinds.is_empty() {
            let named = self.counted(|kind| match kind {
                OpenKind::StaticVariable => format!(" ({})", listed(&self.statics, SHOWN)),
                _ => String::new(),
            });
            parts.push(format!("you first resolve {named}"));
        } else if !self.is_complete {
            let rest = "nothing else in this module changes shared data without a lock \
                        (static variables, caches, fields of objects, C libraries)";
            parts.push(rest.to_owned());
        }
        parts.extend(self.left.iter().map(|(why, names)| {
            let what = asked(*why);
            format!("{what}: {}", listed(names, most))
        }));
        parts
    }
}

/// What a person has to confirm of places that are left.
const fn asked(why: Why) -> &'static str {
    match why {
        Why::Writes => {
            "no two threads make these writes to the same data, although no lock was found \
             around them"
        }
        Why::Member => {
            "no Python code uses these members, or what these calls read, at the same time"
        }
        Why::Calls => "several threads may make these calls with the same data at the same time",
        Why::Assembly => "this assembly writes no shared memory",
        Why::Unguarded => {
            "these uses are safe without the lock that other code holds for the same data"
        }
        Why::Decides => {
            "no other thread changes these atomic numbers between the read and the code that \
             depends on it"
        }
        Why::Guarded => {
            "no code uses what it read under the lock of these objects after the lock is released, \
             and values that belong together change under one hold of the lock"
        }
        Why::Once => "these functions have run before anything uses what they set",
        Why::Again => {
            "Python code does not call `__init__` again on an object that other threads use"
        }
        Why::Stale => {
            "these values are still valid when they are used (a size that was read earlier, an \
             object whose reference was given up, a borrowed value)"
        }
        Why::Unproven => {
            "no other thread uses what these change while they run (this could not be proven)"
        }
        Why::Unread => {
            "several threads may use these at the same time (their definition, or some of their \
             uses, could not be analysed)"
        }
    }
}

/// The findings whose safe fixes clash with those of others, so that this run leaves them out.
fn left_out(findings: &[Finding]) -> BTreeSet<usize> {
    let fixes = (0u32..).zip(findings).filter_map(|(at, finding)| {
        let Outcome::Fix(fix) = &finding.outcome else {
            return None;
        };
        (fix.confidence == Confidence::Safe).then_some((FixId(at), fix))
    });
    let (_, conflicts) = EditSet::merge(fixes);
    conflicts.iter().map(|it| it.rejected.0 as usize).collect()
}

/// For each finding that is shown as one with others, the first of them.
fn folded(files: &FileSet, findings: &[Finding]) -> BTreeMap<usize, usize> {
    let all: Vec<&Finding> = findings.iter().collect();
    let groups = fold(files, &all).into_iter();
    let members = groups.flat_map(|(first, (_, all))| all.into_iter().map(move |at| (at, first)));
    members.collect()
}

/// What a run knows of the modules of a package.
pub(super) struct Readiness<'c, 'a> {
    cx: &'c PackageCx<'a>,
    is_complete: bool,
    comments: BTreeMap<FileId, Vec<Suppression>>,
    /// The files of the modules, by the file of their `PyInit_` function.
    files: BTreeMap<FileId, FxHashSet<FileId>>,
    /// See [`left_out`]; looked for once a module is asked for.
    left_out: OnceCell<BTreeSet<usize>>,
    /// See [`folded`].
    folded: OnceCell<BTreeMap<usize, usize>>,
    /// Where [`Open::left`] comes from, looked for once a module is asked for.
    reach: OnceCell<Reach<'c, 'a>>,
}

impl<'c, 'a> Readiness<'c, 'a> {
    pub(super) fn new(
        cx: &'c PackageCx<'a>,
        package: &Package,
        config: &Config,
        stopped: &[Stopped],
    ) -> Self {
        let ran = |rule: &Rule| {
            config.selection.includes(rule) && stopped.iter().all(|it| it.rule != rule.code)
        };
        let mut races = transforms::ALL
            .iter()
            .filter(|rule| OpenKind::of(rule).is_some());
        let is_complete = races.all(|rule| ran(rule)) && config.functions.is_empty();
        let analysed = package.analysed();
        let comments = analysed.map(|(id, file)| (id, suppressions(file, transforms::ALL)));
        Self {
            cx,
            is_complete,
            comments: comments.collect(),
            files: files_of_modules(cx, package),
            left_out: OnceCell::new(),
            folded: OnceCell::new(),
            reach: OnceCell::new(),
        }
    }

    /// The files of the module whose `PyInit_` function stands in `file`.
    pub(super) fn files_of(&self, file: FileId) -> BTreeSet<FileId> {
        let files = self.files.get(&file).into_iter().flatten();
        files.copied().chain([file]).collect()
    }

    /// What is open for the module whose `PyInit_` function stands in `file`, with the findings of the
    /// run, which are the same each time but for what they assume.
    pub(super) fn open(&self, findings: &[Finding], file: FileId) -> Open {
        let none = FxHashSet::default();
        let own = self.files.get(&file).unwrap_or(&none);
        let mut open = Open {
            is_complete: self.is_complete,
            ..Open::default()
        };
        let left_out = self.left_out.get_or_init(|| left_out(findings));
        let folded = self
            .folded
            .get_or_init(|| folded(self.cx.program.files, findings));
        let mut counted = BTreeSet::new();
        for (at, finding) in findings.iter().enumerate() {
            let Some(kind) = OpenKind::of(finding.rule).filter(|kind| kind.concerns(finding, own))
            else {
                continue;
            };
            if self.is_settled(finding) && !left_out.contains(&at) {
                let confirmed = finding.fix().map(|fix| &fix.confirmed);
                open.word.extend(confirmed.into_iter().flatten().cloned());
                continue;
            }
            if counted.insert(folded.get(&at).copied().unwrap_or(at)) {
                *open.kinds.entry(kind).or_default() += 1;
            }
            if kind == OpenKind::StaticVariable {
                let name = self.cx.file(finding.file).text(finding.span);
                open.statics.insert(name.into_owned());
            }
        }
        let gaps = self.cx.program.gaps.iter();
        let gaps: BTreeSet<_> = gaps
            .filter(|gap| gap.function.is_some() && own.contains(&gap.file))
            .map(|gap| (gap.file, &gap.function))
            .collect();
        if !gaps.is_empty() {
            open.kinds.insert(OpenKind::NotUnderstood, gaps.len());
        }
        if self.is_complete {
            let reach = self.reach.get_or_init(|| Reach::new(self.cx));
            let calls = self.settled_calls(findings, left_out);
            open.left = self.left_of(reach.left(), own, &calls);
            // Where something is known to be open, what is not proven besides is no question.
            if open.kinds.is_empty() && open.left.is_empty() {
                open.left = self.left_of(reach.unproven(), own, &calls);
            }
        }
        open
    }

    /// Those of `places` that are reached from files of a module, in words; not what `calls` settle.
    fn left_of(
        &self,
        places: &Places,
        own: &FxHashSet<FileId>,
        calls: &BTreeSet<(FileId, ByteOffset)>,
    ) -> BTreeMap<Why, BTreeSet<String>> {
        let mut found: BTreeMap<Why, BTreeSet<String>> = BTreeMap::new();
        for (left, entries) in places {
            let is_settled =
                left.why == Why::Calls && calls.contains(&(left.file, left.span.start()));
            if !is_settled && entries.iter().any(|it| own.contains(it)) {
                let of = found.entry(left.why).or_default();
                of.insert(self.in_words(left));
            }
        }
        found
    }

    /// Where the calls of functions with static state begin of which nothing is left to settle.
    fn settled_calls(
        &self,
        findings: &[Finding],
        left_out: &BTreeSet<usize>,
    ) -> BTreeSet<(FileId, ByteOffset)> {
        let settled = findings.iter().enumerate().filter(|(at, finding)| {
            OpenKind::of(finding.rule) == Some(OpenKind::LibraryCall)
                && self.is_settled(finding)
                && !left_out.contains(at)
        });
        let places = settled.flat_map(|(_, finding)| {
            let more = finding
                .notes
                .iter()
                .map(|note| (note.file, note.span.start()));
            more.chain([(finding.file, finding.span.start())])
        });
        places.collect()
    }

    /// `` `s->n` in `f` (m.c:12) ``; `` `s->n` by `memset` in `f` (m.c:12) ``
    fn in_words(&self, left: &Left) -> String {
        let file = self.cx.file(left.file);
        let line = file.position(left.span.start()).line.0;
        let name = file.path().file_name().unwrap_or_default().display();
        let by = left.what.by.iter().map(|by| format!(" by `{by}`"));
        let by: String = by.collect();
        let what = match (&*left.what.text, &left.function) {
            (what, function) if function.is_empty() => format!("`{what}`{by}"),
            (IN_MACRO, function) => format!("`{function}`, in a macro{by}"),
            (what, function) => format!("`{what}`{by} in `{function}`"),
        };
        format!("{what} ({name}:{line})")
    }

    /// Whether nothing is left to do: the use is proven safe, this run repairs it, or a comment
    /// says that it may stay.
    fn is_settled(&self, finding: &Finding) -> bool {
        let line = self
            .cx
            .file(finding.file)
            .position(finding.span.start())
            .line;
        let is_silenced = self.comments.get(&finding.file).is_some_and(|comments| {
            comments
                .iter()
                .any(|comment| comment.covers(finding.rule, line))
        });
        is_silenced
            || match &finding.outcome {
                Outcome::Safe(_) => true,
                Outcome::Fix(fix) => fix.confidence == Confidence::Safe,
                Outcome::Manual(_) => false,
            }
    }

    /// Names in the assumptions of the declarations what is open.
    pub(super) fn tell(&self, findings: &mut [Finding]) {
        let open: Vec<Option<Open>> = findings
            .iter()
            .map(|finding| {
                let declares = finding.rule.code.starts_with("UG2");
                declares.then(|| self.open(findings, finding.file))
            })
            .collect();
        for (finding, open) in findings.iter_mut().zip(open) {
            if let (Outcome::Fix(fix), Some(open)) = (&mut finding.outcome, open) {
                open.conditions().into_iter().for_each(|it| fix.assume(it));
                fix.rest_on_word(open.word);
            }
        }
    }
}
