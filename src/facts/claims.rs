//! What a person can confirm once for the whole project: a claim about something that has a name.
//!
//! An assumption about one place ("`v` is not NULL here") is no claim: whether it holds elsewhere is
//! another question, even if the words are the same. What a claim says depends on the claim and its
//! subject alone, so equal facts are one question.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;

use crate::capi;

/// Most names that a sentence lists.
const SHOWN: usize = 4;

/// What is said of a subject.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Claim {
    /// Of a function: it does not change lists while its callers read from them.
    KeepsLists,
    /// Of a function: it does not change dicts that its callers read later.
    KeepsDicts,
    /// Of a function, with the way in which it sees whether objects are dead: it works if those that
    /// its callers hold are still alive.
    LetsLive,
    /// Of a function: it comes back to its callers.
    NoLongjmp,
    /// Of a function: it keeps no pointer that it gets.
    KeepsNoPointer,
    /// Of a function, with a field: the objects that it gets have their list of weak references there.
    HasWeakList,
    /// Of a function: no other code calls it.
    NotCalled,
    /// Of a static variable: no pointer into it goes to another thread.
    StaysInThread,
    /// Of a static variable: no other state has to agree with it.
    StandsAlone,
    /// Of a static variable: it is already filled where it is read without the lock.
    FilledBefore,
    /// Of a type: methods may wait for each other, and the functions named with it may use fields
    /// without the lock.
    MethodsMayWait,
    /// Of the compilers that are used.
    HasThreadLocal,
    /// Of a file, with a function of POSIX: Windows does not compile it, or has the function.
    NotOnWindows,
    /// Of the environment.
    TimeZoneStays,
    /// Of a missing header: it defines all that fixes call.
    HeaderHasAll,
    /// Of a header, with what a build does with headers: that is right for this one, too.
    HeaderFitsBuild,
}

/// A thing with a name: `src/queue.c:walk`, `uv_run`, or the project.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Subject {
    /// The file that defines it, and the function in it for a variable of a function; empty for what
    /// is defined elsewhere.
    scope: Vec<String>,
    name: String,
    /// What else the claim is about.
    with: Vec<String>,
}

/// What can be confirmed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fact {
    claim: Claim,
    subject: Subject,
}

/// The facts that a project has confirmed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Confirmed(BTreeMap<Claim, BTreeSet<String>>);

impl Claim {
    /// All claims, in the order in which they are listed.
    pub const ALL: [Self; 16] = [
        Self::KeepsLists,
        Self::KeepsDicts,
        Self::LetsLive,
        Self::NoLongjmp,
        Self::KeepsNoPointer,
        Self::HasWeakList,
        Self::NotCalled,
        Self::StaysInThread,
        Self::StandsAlone,
        Self::FilledBefore,
        Self::MethodsMayWait,
        Self::HasThreadLocal,
        Self::NotOnWindows,
        Self::TimeZoneStays,
        Self::HeaderHasAll,
        Self::HeaderFitsBuild,
    ];

    /// Its name in the configuration.
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            Self::KeepsLists => "keeps-lists",
            Self::KeepsDicts => "keeps-dicts",
            Self::LetsLive => "lets-live",
            Self::NoLongjmp => "no-longjmp",
            Self::KeepsNoPointer => "keeps-no-pointer",
            Self::HasWeakList => "has-weak-list",
            Self::NotCalled => "not-called",
            Self::StaysInThread => "stays-in-thread",
            Self::StandsAlone => "stands-alone",
            Self::FilledBefore => "filled-before",
            Self::MethodsMayWait => "methods-may-wait",
            Self::HasThreadLocal => "has-thread-local",
            Self::NotOnWindows => "not-on-windows",
            Self::TimeZoneStays => "time-zone-stays",
            Self::HeaderHasAll => "header-has-all",
            Self::HeaderFitsBuild => "header-fits-build",
        }
    }

    /// The claim with this name.
    #[must_use]
    pub fn of_key(key: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|claim| claim.key() == key)
    }

    /// What it says of `subject`: lower case, no full stop.
    fn sentence(self, subject: &Subject) -> String {
        let name = &subject.name;
        let with = listed(&subject.with, SHOWN);
        match self {
            Self::KeepsLists => format!(
                "`{name}` does not change a list while its caller reads the items (the copy would \
                 not show that)"
            ),
            Self::KeepsDicts => format!(
                "`{name}` does not change a dict that its caller reads later (the copy would not \
                 show the change)"
            ),
            Self::LetsLive => format!(
                "`{name}()` works if an object that its caller holds is still alive (it may remove \
                 the object from its container, and {})",
                subject.with.concat()
            ),
            Self::NoLongjmp => format!(
                "`{name}()` does not leave with `longjmp` while its caller owns an object, which \
                 would then not be released"
            ),
            Self::KeepsNoPointer => format!(
                "`{name}` does not keep the pointer that it gets, and does not return a part of it"
            ),
            Self::HasWeakList => format!(
                "every object that `{name}` gets has a type whose list of weak references is in \
                 {with} (for any other type, the call raises `SystemError`)"
            ),
            Self::NotCalled => format!("no code calls `{name}` (no analysed code does)"),
            Self::StaysInThread => format!("no pointer into `{name}` is passed to another thread"),
            Self::StandsAlone => {
                format!("no other data has to agree with the value of `{name}`")
            }
            Self::FilledBefore => {
                format!("`{name}` is already filled where it is read without the mutex")
            }
            Self::MethodsMayWait => methods_may_wait(name, &subject.with),
            Self::HasThreadLocal => "the compiler supports `_Thread_local` of C11".to_owned(),
            Self::NotOnWindows => not_on_windows(name, subject.with.first()),
            Self::TimeZoneStays => format!(
                "`TZ` does not change while the program runs, or `tzset` is called after each \
                 change (`{name}` reads `TZ` each time; {with} need not, and need not set `tzname` \
                 either)"
            ),
            Self::HeaderHasAll => format!(
                "the missing header `{name}` (a submodule?), which {with} includes, defines all \
                 functions that the fixes call"
            ),
            Self::HeaderFitsBuild => subject.with.join("; "),
        }
    }
}

impl Subject {
    /// What other code defines: a function of a library.
    #[must_use]
    pub fn elsewhere(name: &str) -> Self {
        Self {
            scope: Vec::new(),
            name: name.to_owned(),
            with: Vec::new(),
        }
    }

    /// The file at `path`, relative to the root of the package.
    #[must_use]
    pub fn file(path: &Path) -> Self {
        Self::elsewhere(&path.to_string_lossy().replace('\\', "/"))
    }

    /// What the file at `path` defines.
    #[must_use]
    pub fn in_file(path: &Path, name: &str) -> Self {
        Self {
            scope: vec![Self::file(path).name],
            ..Self::elsewhere(name)
        }
    }

    /// The project as a whole.
    #[must_use]
    pub fn project() -> Self {
        Self::elsewhere("project")
    }

    /// A variable of `function`.
    #[must_use]
    pub fn of_function(mut self, function: &str) -> Self {
        self.scope.push(function.to_owned());
        self
    }

    /// The same, with what else the claim is about.
    #[must_use]
    pub fn with<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.with.extend(names.into_iter().map(Into::into));
        self
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for part in &self.scope {
            write!(f, "{part}:")?;
        }
        f.write_str(&self.name)?;
        match self.with.is_empty() {
            true => Ok(()),
            false => write!(f, " with {}", self.with.join(", ")),
        }
    }
}

impl Fact {
    /// `claim` about `subject`.
    #[must_use]
    pub const fn new(claim: Claim, subject: Subject) -> Self {
        Self { claim, subject }
    }

    /// The claim.
    #[must_use]
    pub const fn claim(&self) -> Claim {
        self.claim
    }

    /// The subject, as the configuration names it.
    #[must_use]
    pub fn subject(&self) -> String {
        self.subject.to_string()
    }

    /// How the command line names it: `keeps-lists=src/queue.c:walk`.
    #[must_use]
    pub fn key(&self) -> String {
        format!("{}={}", self.claim.key(), self.subject)
    }
}

/// What a person is asked.
impl fmt::Display for Fact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.claim.sentence(&self.subject))
    }
}

impl Confirmed {
    /// Of a project that has confirmed nothing.
    pub const NONE: Self = Self(BTreeMap::new());

    /// Notes that `claim` holds of `subject`.
    pub fn add(&mut self, claim: Claim, subject: &str) {
        self.0.entry(claim).or_default().insert(subject.to_owned());
    }

    /// Whether the project has confirmed just this.
    #[must_use]
    pub fn has(&self, fact: &Fact) -> bool {
        let subjects = self.0.get(&fact.claim);
        subjects.is_some_and(|subjects| subjects.contains(&fact.subject()))
    }

    /// All of them, as claim and subject.
    pub fn iter(&self) -> impl Iterator<Item = (Claim, &str)> {
        let all = self.0.iter();
        all.flat_map(|(claim, subjects)| subjects.iter().map(|it| (*claim, it.as_str())))
    }
}

fn not_on_windows(file: &str, function: Option<&String>) -> String {
    let sibling = function.and_then(|name| capi::sibling_of(name));
    let Some((_, sibling)) = sibling else {
        return format!("`{file}` is not compiled on Windows");
    };
    let other = match sibling.is_swapped_on_windows {
        true => ", with its arguments in reverse order and a number as its result",
        false => "",
    };
    format!(
        "`{file}` is not compiled on Windows, which has `{}` instead of `{}`{other}, or a macro \
         handles this",
        sibling.on_windows, sibling.name
    )
}

fn methods_may_wait(name: &str, others: &[String]) -> String {
    match others {
        [] => format!("two threads that call methods of the same `{name}` may wait for each other"),
        _ => format!(
            "{} may use the fields of `{name}` without the lock of the object",
            listed(others, SHOWN)
        ),
    }
}

/// The first `most` names for a sentence, in backticks unless they have some: `` `f`, `g` and 2 more ``
#[must_use]
pub fn listed<S: AsRef<str>>(names: impl IntoIterator<Item = S>, most: usize) -> String {
    let mut names = names.into_iter();
    let first = names.by_ref().take(most).map(|name| match name.as_ref() {
        name if name.starts_with('`') => name.to_owned(),
        name => format!("`{name}`"),
    });
    let first = first.collect::<Vec<_>>().join(", ");
    match names.count() {
        0 => first,
        more => format!("{first} and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::{Claim, Confirmed, Fact, Subject};

    #[test]
    fn a_fact_settles_the_claim_that_was_asked_and_no_other() {
        let one = Subject::in_file(Path::new("src/a.c"), "walk");
        let mut confirmed = Confirmed::default();
        confirmed.add(Claim::KeepsLists, "src/a.c:walk");
        assert!(confirmed.has(&Fact::new(Claim::KeepsLists, one.clone())));
        let others = [
            Fact::new(Claim::KeepsDicts, one.clone()),
            Fact::new(Claim::KeepsLists, one.clone().of_function("walk")),
            Fact::new(Claim::KeepsLists, one.with(["other"])),
            Fact::new(
                Claim::KeepsLists,
                Subject::in_file(Path::new("b.c"), "walk"),
            ),
            Fact::new(Claim::KeepsLists, Subject::elsewhere("walk")),
        ];
        assert!(others.iter().all(|other| !confirmed.has(other)));
    }

    #[test]
    fn every_claim_has_a_name_of_its_own() {
        let keys: BTreeSet<&str> = Claim::ALL.iter().map(|claim| claim.key()).collect();
        assert_eq!(keys.len(), Claim::ALL.len());
        assert_eq!(Claim::of_key("no-longjmp"), Some(Claim::NoLongjmp));
        assert_eq!(Claim::of_key("no-longjump"), None);
    }
}
