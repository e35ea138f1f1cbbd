//! The table of reference effects, read once from `effects.tsv`, and `numpy.tsv` for NumPy's API.

use std::sync::LazyLock;

use rustc_hash::FxHashMap;

use super::PyVersion;
use super::libc::kept_by_libc;

/// What a call of one C-API function does to references. Argument indexes count from 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Effects {
    /// The function, function-like macro, or format unit (`PyArg:O`, `Py_BuildValue:N`).
    pub name: &'static str,
    /// What the call evaluates to.
    pub returns: Returns,
    /// Arguments whose reference the callee takes over.
    pub steals: Vec<Steal>,
    /// Arguments through which the callee hands something back.
    pub outs: Vec<Out>,
    /// Whether it may execute Python code, or release references whose finalisers do.
    pub runs_python: bool,
    /// The argument that a borrowed or raw result (or out) points into: it dies with that argument.
    /// `None` for a borrowed result whose owner is no argument (`PySys_GetObject`).
    pub derived_from: Option<u8>,
    /// The argument whose lock it takes on the free-threaded build, which may suspend an outer
    /// critical section.
    pub locks: Option<u8>,
    /// It never comes back.
    pub noreturn: bool,
    /// What it does about arguments that are `NULL`, as far as that is known.
    pub on_null: Vec<(u8, OnNull)>,
    /// Whether it asks an object for its value as a number of C.
    pub converts: bool,
    /// The argument that says, if it is not zero, that what is kept is only read.
    pub read_only: Option<u8>,
    /// What it calls, if that is what it is for.
    pub calls: Option<Calls>,
    /// Whether its result is an object that all threads share: a type, a module.
    pub gives_global: bool,
    /// The arguments whose pointers are used after the call, without a reference to what they point
    /// into: `PyMemoryView_FromMemory(text, …)`.
    pub keeps: Vec<u8>,
    /// It looks at the reference count of its first argument, or does something else if there is
    /// another reference to it than the caller's.
    pub looks_at_count: bool,
    /// After it the key in its second argument is in the container in its first, or its result says
    /// whether.
    pub settles_key: bool,
    /// What it does to the count of its first argument, if that is what it is for.
    pub counts: Option<Counts>,
    /// The argument of which it leaves the count as it is, whatever else it does to it:
    /// `PyObject_GC_UnTrack`.
    pub uncounted: Option<u8>,
    /// The argument with a format of `Py_BuildValue`; the next one is the first that it stands for.
    pub format: Option<u8>,
    /// The first Python whose headers have it; `None` if older than 3.7.
    pub since: Option<PyVersion>,
    /// Where the row comes from.
    pub source: &'static str,
}

impl Effects {
    /// When the callee takes over the reference of argument `arg`; `None` if it does not.
    #[must_use]
    pub fn steals(&self, arg: usize) -> Option<StealWhen> {
        let mut steals = self.steals.iter();
        let steal = steals.find(|steal| usize::from(steal.arg) == arg);
        steal.map(|steal| steal.on)
    }

    /// What the callee stores through argument `arg`; `None` if nothing.
    #[must_use]
    pub fn out(&self, arg: usize) -> Option<OutKind> {
        let mut outs = self.outs.iter();
        let out = outs.find(|out| {
            let first = usize::from(out.arg);
            first == arg || out.variadic && first <= arg
        });
        out.map(|out| out.kind)
    }
}

/// What a callee does if an argument is `NULL`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnNull {
    /// It reads it, and crashes.
    Crashes,
    /// It raises an exception, and returns what it returns for an object that it cannot convert: so
    /// in Python 3.8 to 3.14.
    Raises,
    /// It does nothing about it, and gives zero or `NULL`.
    Takes,
    /// It gives an object for it: `PyObject_Str(NULL)`.
    Gives,
}

/// What a function calls that is there for calling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Calls {
    /// Its first argument.
    Itself,
    /// A method of its first argument.
    Method,
    /// A method of the first object in the array that this argument is.
    MethodIn(u8),
}

/// What a macro or function that is there for counting does to its first argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counts {
    /// Takes a reference: `Py_INCREF`.
    Take,
    /// Takes a reference and gives its argument back: `Py_NewRef`.
    Copy,
    /// Releases one.
    Release {
        /// Whether `NULL` is fine.
        null: bool,
    },
    /// Releases one and sets the variable to `NULL`: `Py_CLEAR`.
    Clear,
    /// Releases one and assigns to the variable: `Py_SETREF`.
    Replace,
}

impl Counts {
    /// Whether it takes a reference, for the caller or as its result.
    #[must_use]
    pub const fn takes(self) -> bool {
        matches!(self, Self::Take | Self::Copy)
    }

    /// Whether it releases a reference, and puts nothing in its place.
    #[must_use]
    pub const fn releases(self) -> bool {
        matches!(self, Self::Release { .. } | Self::Clear)
    }
}

/// The kind of value a call evaluates to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Returns {
    /// A reference that the caller owns, or `NULL`.
    New,
    /// A reference that somebody else owns, or `NULL`.
    Borrowed,
    /// Always `NULL`: `return PyErr_NoMemory();`.
    Null,
    /// Nothing.
    Void,
    /// No reference: a number, a status, a C pointer.
    Plain,
}

/// A reference that the callee takes over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Steal {
    /// The argument's index.
    pub arg: u8,
    /// When it is taken.
    pub on: StealWhen,
}

/// When a callee takes over a reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StealWhen {
    /// Also when the call fails: `PyList_SetItem`.
    Always,
    /// Only when the call succeeds: `PyModule_AddObject`.
    Success,
}

/// A value that a callee stores through a pointer argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Out {
    /// The argument's index.
    pub arg: u8,
    /// Whether all later arguments are outs of this kind as well: `PyArg_UnpackTuple`.
    pub variadic: bool,
    /// What is stored.
    pub kind: OutKind,
}

/// What a callee stores through a pointer argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutKind {
    /// A reference that the caller owns, or `NULL`.
    New,
    /// A reference that `derived_from` or the container of the arguments owns.
    Borrowed,
    /// The old reference is consumed and an owned one (or `NULL`) replaces it.
    Inout,
    /// A `Py_buffer` that owns a reference until `PyBuffer_Release`.
    Buffer,
    /// A C pointer into an object.
    Pointer,
    /// Memory of its own, which the caller frees.
    Memory,
    /// Whatever a converter stores: the caller may own it, or not.
    Converted,
}

impl OutKind {
    /// Whether that may be a pointer into an object, or one that lives in another.
    #[must_use]
    pub fn is_pointer(self) -> bool {
        matches!(self, Self::Pointer | Self::Borrowed | Self::Converted)
    }
}

/// The effects of the function, macro or format unit called `name`.
pub fn effects(name: &str) -> Option<&'static Effects> {
    static TABLE: LazyLock<FxHashMap<&str, Effects>> = LazyLock::new(|| {
        let rows = rows(PYTHON).chain(rows(NUMPY));
        let rows = rows.map(|row| parse(row).expect("a test parses every row"));
        rows.map(|effects| (effects.name, effects)).collect()
    });
    TABLE.get(name)
}

/// Whether a call of `name` does not come back: C-API functions by the table, and those of C.
#[must_use]
pub fn never_returns(name: &str) -> bool {
    ends_program(name) || jumps(name) || name == "PyThread_exit_thread"
}

/// Whether a call of `name` goes on where a `setjmp` was: what the functions up to there own, or
/// hold open, stays so.
#[must_use]
pub fn jumps(name: &str) -> bool {
    matches!(
        name,
        "__builtin_longjmp" | "_longjmp" | "__longjmp_chk" | "longjmp" | "siglongjmp"
    )
}

/// Whether a call of `name` is where such a jump goes on.
#[must_use]
pub fn is_jumped_to(name: &str) -> bool {
    matches!(
        name,
        "__builtin_setjmp" | "__sigsetjmp" | "_setjmp" | "setjmp" | "sigsetjmp"
    )
}

/// Whether a call of `name` ends the program: one that never returns, but for those behind which
/// other code goes on.
#[must_use]
pub fn ends_program(name: &str) -> bool {
    let is_of_c = matches!(name, "abort" | "exit" | "_exit" | "__builtin_unreachable");
    let never_returns = || effects(name).is_some_and(|effects| effects.noreturn);
    is_of_c || name != "PyThread_exit_thread" && never_returns()
}

/// What a call of `name` does if argument `arg` is `NULL`; `None` if that is not known.
#[must_use]
pub fn on_null(name: &str, arg: usize) -> Option<OnNull> {
    let mut known = effects(name)?.on_null.iter();
    let found = known.find(|(at, _)| usize::from(*at) == arg);
    found.map(|&(_, on_null)| on_null)
}

/// Whether a call of `name` crashes if its first argument is `NULL`.
#[must_use]
pub fn reads_first(name: &str) -> bool {
    on_null(name, 0) == Some(OnNull::Crashes)
}

/// Whether the program ends at a call of `name` with `NULL` as its first argument: it reads the
/// object, or counts a reference to it.
#[must_use]
pub fn dies_of_null(name: &str) -> bool {
    let is_count = matches!(
        counts(name),
        Some(Counts::Take | Counts::Copy | Counts::Release { null: false })
    );
    reads_first(name) || is_count && on_null(name, 0).is_none()
}

/// Whether a call of `name` does nothing but ask its argument for a number, and raises an exception
/// if it cannot have one, for `NULL` too.
#[must_use]
pub fn converts(name: &str) -> bool {
    effects(name).is_some_and(|effects| effects.converts)
}

/// Whether the function keeps the pointer that is its argument `arg` after it has returned, without
/// a reference to what the pointer leads into; functions of the C library included.
#[must_use]
pub fn keeps_pointer(name: &str, arg: usize) -> bool {
    let kept = effects(name).map_or(&[][..], |effects| &effects.keeps);
    kept.iter().any(|&kept| usize::from(kept) == arg) || kept_by_libc(name, arg)
}

/// Whether the function looks at the reference count of its first argument, or does something else
/// if there is another reference to it than the caller's.
#[must_use]
pub fn looks_at_count(name: &str) -> bool {
    effects(name).is_some_and(|effects| effects.looks_at_count)
}

/// Whether the key in its second argument is in the container in its first after the call, or its
/// result says whether.
#[must_use]
pub fn settles_key(name: &str) -> bool {
    effects(name).is_some_and(|effects| effects.settles_key)
}

/// What a function or macro that is there for counting does to its first argument.
#[must_use]
pub fn counts(name: &str) -> Option<Counts> {
    effects(name)?.counts
}

const PYTHON: &str = include_str!("../effects.tsv");
const NUMPY: &str = include_str!("../numpy.tsv");

fn rows(table: &'static str) -> impl Iterator<Item = &'static str> {
    let lines = table.lines();
    lines.filter(|line| !line.starts_with('#')).skip(1)
}

fn parse(row: &'static str) -> Option<Effects> {
    let columns: Vec<&'static str> = row.split('\t').collect();
    let [name, returns, steals, outs, python, notes, source] = columns[..] else {
        return None;
    };
    let notes = Notes::parse(notes)?;
    Some(Effects {
        name,
        returns: match returns {
            "new" => Returns::New,
            "borrowed" => Returns::Borrowed,
            "null" => Returns::Null,
            "void" => Returns::Void,
            "plain" => Returns::Plain,
            _ => return None,
        },
        steals: list(steals, parse_steal)?,
        outs: list(outs, parse_out)?,
        runs_python: match python {
            "yes" => true,
            "no" => false,
            _ => return None,
        },
        derived_from: notes.derived,
        locks: notes.locks,
        noreturn: notes.noreturn,
        on_null: notes.on_null,
        converts: notes.converts,
        looks_at_count: notes.looks,
        settles_key: notes.settles,
        counts: notes.counts,
        uncounted: notes.uncounted,
        format: notes.format,
        read_only: notes.read_only,
        calls: notes.calls,
        gives_global: notes.global,
        keeps: notes.keeps,
        since: notes.since,
        source,
    })
}

fn list<T>(cell: &'static str, parse: fn(&'static str) -> Option<T>) -> Option<Vec<T>> {
    if cell.is_empty() {
        Some(Vec::new())
    } else {
        cell.split(';').map(parse).collect()
    }
}

fn parse_steal(item: &str) -> Option<Steal> {
    let (arg, on) = match item.strip_suffix("@success") {
        Some(arg) => (arg, StealWhen::Success),
        None => (item, StealWhen::Always),
    };
    Some(Steal {
        arg: arg.parse().ok()?,
        on,
    })
}

fn parse_out(item: &str) -> Option<Out> {
    let (arg, kind) = item.split_once(':')?;
    let first = arg.strip_suffix('+');
    Some(Out {
        arg: first.unwrap_or(arg).parse().ok()?,
        variadic: first.is_some(),
        kind: match kind {
            "new" => OutKind::New,
            "borrowed" => OutKind::Borrowed,
            "inout" => OutKind::Inout,
            "buffer" => OutKind::Buffer,
            "pointer" => OutKind::Pointer,
            _ => return None,
        },
    })
}

fn parse_counts(what: &str) -> Option<Counts> {
    Some(match what {
        "take" => Counts::Take,
        "copy" => Counts::Copy,
        "release" => Counts::Release { null: false },
        "xrelease" => Counts::Release { null: true },
        "clear" => Counts::Clear,
        "replace" => Counts::Replace,
        _ => return None,
    })
}

fn parse_null(what: &str) -> Option<OnNull> {
    Some(match what {
        "reads" => OnNull::Crashes,
        "raises" => OnNull::Raises,
        "takes" => OnNull::Takes,
        "gives" => OnNull::Gives,
        _ => return None,
    })
}

#[derive(Default)]
struct Notes {
    derived: Option<u8>,
    locks: Option<u8>,
    noreturn: bool,
    on_null: Vec<(u8, OnNull)>,
    converts: bool,
    keeps: Vec<u8>,
    read_only: Option<u8>,
    calls: Option<Calls>,
    global: bool,
    looks: bool,
    settles: bool,
    uncounted: Option<u8>,
    counts: Option<Counts>,
    format: Option<u8>,
    since: Option<PyVersion>,
}

impl Notes {
    fn parse(cell: &str) -> Option<Notes> {
        let mut notes = Notes::default();
        for note in cell.split(';').filter(|note| !note.is_empty()) {
            match note.split_once(':') {
                Some(("derived", arg)) => notes.derived = Some(arg.parse().ok()?),
                Some(("uncounted", arg)) => notes.uncounted = Some(arg.parse().ok()?),
                Some(("keeps", arg)) => notes.keeps.push(arg.parse().ok()?),
                Some(("locks", arg)) => notes.locks = Some(arg.parse().ok()?),
                Some(("readonly", arg)) => notes.read_only = Some(arg.parse().ok()?),
                Some(("method", arg)) => notes.calls = Some(Calls::MethodIn(arg.parse().ok()?)),
                Some(("since", version)) => notes.since = Some(version.parse().ok()?),
                Some(("count", what)) => notes.counts = Some(parse_counts(what)?),
                Some(("format", arg)) => notes.format = Some(arg.parse().ok()?),
                None if note == "method" => notes.calls = Some(Calls::Method),
                None if note == "call" => notes.calls = Some(Calls::Itself),
                None if note == "global" => notes.global = true,
                None if note == "looks" => notes.looks = true,
                None if note == "settles" => notes.settles = true,
                None if note == "noreturn" => notes.noreturn = true,
                None if note == "converts" => notes.converts = true,
                None => notes.on_null.push((0, parse_null(note)?)),
                Some((what, arg)) => notes.on_null.push((arg.parse().ok()?, parse_null(what)?)),
            }
        }
        Some(notes)
    }
}

#[cfg(test)]
mod tests;
