//! What functions outside of a package write that threads may share, read once from `writes.tsv`.

use std::sync::LazyLock;

use rustc_hash::FxHashMap;

use super::effects::{Counts, Returns, counts, effects};
use super::replacements::replacement;

/// What a call of one function writes. Argument indexes count from 0.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Writes {
    arguments: Vec<Written>,
    hidden: Option<Hidden>,
    /// The first argument that others may reach behind the call, as may those after it.
    pub keeps: Option<usize>,
    /// The argument of which it writes what its pointers lead to as well: `deflate(&stream, 0)`.
    pub deep: Option<usize>,
    /// The argument of which nobody may use afterwards what it leads to: `free(text)`.
    pub ends: Option<usize>,
    /// The argument that holds the reference it gives, which Python code may replace meanwhile.
    pub lends: Option<usize>,
    /// What it gives.
    pub gives: Gives,
}

/// When a function uses static state of its own, for which two threads race.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Hidden {
    Always,
    /// Where this argument is `NULL`.
    Without(usize),
}

/// What a function gives, as far as threads may share it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Gives {
    /// No pointer.
    #[default]
    Number,
    /// Memory that nobody else knows.
    Fresh,
    /// A pointer into what this argument points to.
    Argument(usize),
    /// Something that others may have.
    Shared,
    /// Bytes that an object lends, and that are read.
    Lent,
    /// Memory of the object that this argument is: who has it alone may write there.
    Part(usize),
    /// What this argument leads to: nobody else has it if nobody else has the argument.
    Held(usize),
    /// The attributes of a type, which others look up without a lock.
    Attributes,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Written {
    first: usize,
    and_later: bool,
    how: How,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum How {
    /// What the argument points to.
    Behind,
    /// The same of an argument that is a number for some calls, and an address for others.
    Either,
    /// The argument itself, as a macro does.
    Place,
    /// What the argument points to, with its lock held.
    Locked,
}

impl Writes {
    /// Whether it uses static state of its own, for which two threads race; `is_null` tells of its
    /// arguments.
    #[must_use]
    pub fn is_hidden(&self, is_null: impl Fn(usize) -> bool) -> bool {
        match self.hidden {
            Some(Hidden::Always) => true,
            Some(Hidden::Without(at)) => is_null(at),
            None => false,
        }
    }

    /// Whether it writes what argument `at` points to.
    #[must_use]
    pub fn behind(&self, at: usize) -> bool {
        self.any(at, How::Behind) || self.takes_either(at)
    }

    /// Whether argument `at` is a number for some calls, and an address for others: `ioctl(fd, what, 1)`.
    #[must_use]
    pub fn takes_either(&self, at: usize) -> bool {
        self.any(at, How::Either)
    }

    /// Whether argument `at` is one that its row names, and not one of those "from there on", of
    /// which a format says what they are.
    #[must_use]
    pub fn names(&self, at: usize) -> bool {
        let mut all = self.arguments.iter();
        all.any(|it| matches!(it.how, How::Behind | How::Either) && !it.and_later && it.first == at)
    }

    /// Whether it changes what argument `at` points to with the lock of that object.
    #[must_use]
    pub fn locked(&self, at: usize) -> bool {
        self.any(at, How::Locked)
    }

    /// Whether it is a macro that sets argument `at` itself: `Py_CLEAR(self->name)`.
    #[must_use]
    pub fn place(&self, at: usize) -> bool {
        self.any(at, How::Place)
    }

    fn any(&self, at: usize, how: How) -> bool {
        let mut all = self.arguments.iter();
        all.any(|it| it.how == how && (it.first == at || it.and_later && it.first < at))
    }
}

/// What the function `name` writes; `None` where nothing is known of it.
///
/// Names in `<stdatomic.h>` are reserved (C17 7.31.10), those of the compiler and of CPython begin
/// with an underscore, and Windows documents its own: what they write they write at once.
#[must_use]
pub fn writes(name: &str) -> Option<&'static Writes> {
    static TABLE: LazyLock<FxHashMap<&str, Writes>> = LazyLock::new(|| {
        let rows = ROWS.lines().filter(|line| !line.starts_with('#')).skip(1);
        let parsed = rows.map(|row| parse(row).expect("a test parses every row"));
        parsed
            .flat_map(|(names, writes)| names.split(' ').map(move |name| (name, writes.clone())))
            .collect()
    });
    static ATOMIC: Writes = Writes {
        arguments: Vec::new(),
        hidden: None,
        keeps: None,
        deep: None,
        ends: None,
        lends: None,
        gives: Gives::Shared,
    };
    TABLE
        .get(name)
        .or_else(|| is_atomic(name).then_some(&ATOMIC))
}

/// Whether a type of the C library is atomic, by its name; those for addresses are left out, as what
/// they lead to is not (C17 7.17.6).
#[must_use]
pub fn is_atomic_type(name: &str) -> bool {
    let what = name.strip_prefix("atomic_");
    what.is_some_and(|what| {
        let what = what.trim_start_matches("u");
        let sized = what.starts_with("int_") && what.ends_with("_t");
        sized || ATOMIC_TYPES.contains(&what)
    })
}

/// How the names of atomic operations begin.
const FAMILIES: [&str; 5] = [
    "atomic_",
    "__atomic_",
    "__sync_",
    "_Py_atomic_",
    "Interlocked",
];

/// The atomic types after `atomic_` and `u`, but for those with a size.
const ATOMIC_TYPES: [&str; 15] = [
    "bool",
    "char",
    "schar",
    "short",
    "int",
    "long",
    "llong",
    "char8_t",
    "char16_t",
    "char32_t",
    "wchar_t",
    "size_t",
    "ptrdiff_t",
    "intmax_t",
    "flag",
];

/// Whether an atomic operation writes only if what is there is still what was read before.
#[must_use]
pub fn compares_atomically(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    name.contains("compare")
        && FAMILIES
            .iter()
            .any(|it| name.starts_with(&it.to_ascii_lowercase()))
}

/// Whether a name is one of a family of atomic operations.
#[must_use]
pub fn is_atomic(name: &str) -> bool {
    FAMILIES.iter().any(|family| name.starts_with(family))
}

/// Whether a function is an atomic operation that changes what its first argument points to.
#[must_use]
pub fn sets_atomically(name: &str) -> bool {
    is_atomic(name) && !name.contains("load") && !name.contains("fence")
}

/// Whether it is one that does not look at what was there.
#[must_use]
pub fn stores_atomically(name: &str) -> bool {
    is_atomic(name) && name.contains("store")
}

/// What is known of a field of a struct of Python: `tp_dict` of `PyTypeObject`, which subtypes have
/// under their own names, or `PyFunctionObject->func_code`.
#[must_use]
pub fn field(owner: Option<&str>, name: &str) -> Option<&'static Writes> {
    if name.starts_with("tp_") {
        return writes(&format!("->{name}"));
    }
    let owner = owner.filter(|owner| owner.starts_with("Py"))?;
    writes(&format!("{owner}->{name}"))
}

/// The argument of which a function gives the memory, or an item that no other thread can take out:
/// what it gives is good as long as that argument lives.
#[must_use]
pub fn lives_in(name: &str) -> Option<usize> {
    let row = writes(name).filter(|_| !counts(name).is_some_and(Counts::takes))?;
    let from = effects(name).and_then(|effects| effects.derived_from);
    match (row.gives, from) {
        (Gives::Argument(at) | Gives::Part(at), _) => Some(at),
        (Gives::Shared, Some(at)) if row.lends.is_none() && replacement(name).is_none() => {
            let is_item = effects(name).is_some_and(|it| it.returns == Returns::Borrowed);
            is_item.then_some(usize::from(at))
        }
        _ => None,
    }
}

/// Whether the function gives a `Py_buffer` back, the bytes of which may move then.
#[must_use]
pub fn releases_buffer(name: &str) -> bool {
    name == "PyBuffer_Release"
}

const ROWS: &str = include_str!("writes.tsv");

fn parse(row: &'static str) -> Option<(&'static str, Writes)> {
    let columns: Vec<&str> = row.split('\t').collect();
    let [names, arguments, state, result, _source] = columns[..] else {
        return None;
    };
    let (mut keeps, mut lends, mut deep, mut ends) = (None, None, None, None);
    let mut hidden = (state == "hidden").then_some(Hidden::Always);
    match state.split_once(':') {
        Some(("null", argument)) => hidden = Some(Hidden::Without(argument.parse().ok()?)),
        Some(("keeps", first)) => keeps = Some(first.strip_suffix('+')?.parse().ok()?),
        Some(("lends", argument)) => lends = Some(argument.parse().ok()?),
        Some(("deep", argument)) => deep = Some(argument.parse().ok()?),
        Some(("ends", argument)) => ends = Some(argument.parse().ok()?),
        Some(_) => return None,
        None if state.is_empty() || state == "hidden" => {}
        None => return None,
    }
    let arguments: Option<Vec<Written>> = match arguments {
        "" => Some(Vec::new()),
        _ => arguments.split(';').map(written).collect(),
    };
    let gives = match result {
        "" | "number" => Gives::Number,
        "fresh" => Gives::Fresh,
        "shared" => Gives::Shared,
        "lent" => Gives::Lent,
        "attributes" => Gives::Attributes,
        _ => {
            let (what, argument) = result.split_once(':')?;
            let argument = argument.parse().ok()?;
            match what {
                "part" => Gives::Part(argument),
                "held" => Gives::Held(argument),
                "arg" => Gives::Argument(argument),
                _ => return None,
            }
        }
    };
    let writes = Writes {
        arguments: arguments?,
        hidden,
        keeps,
        deep,
        ends,
        lends,
        gives,
    };
    Some((names, writes))
}

fn written(text: &str) -> Option<Written> {
    let (how, number) = match text.split_at_checked(1)? {
        ("&", number) => (How::Place, number),
        ("~", number) => (How::Locked, number),
        ("?", number) => (How::Either, number),
        _ => (How::Behind, text),
    };
    let first = number.strip_suffix('+');
    Some(Written {
        first: first.unwrap_or(number).parse().ok()?,
        and_later: first.is_some(),
        how,
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{Gives, ROWS, field, parse, writes};

    #[test]
    fn every_row_is_read_and_has_a_source() {
        let mut names = BTreeSet::new();
        for row in ROWS.lines().filter(|line| !line.starts_with('#')).skip(1) {
            let (all, _) = parse(row).unwrap_or_else(|| panic!("{row}"));
            assert!(
                row.rsplit('\t').next().is_some_and(|it| !it.is_empty()),
                "{row}"
            );
            for name in all.split(' ') {
                assert!(names.insert(name), "{name} stands twice");
            }
        }
    }

    #[test]
    fn functions_write_what_their_row_says() {
        let of = |name| writes(name).unwrap();
        assert!(of("memcpy").behind(0) && !of("memcpy").behind(1));
        assert!(of("PyArg_ParseTuple").behind(7) && !of("PyArg_ParseTuple").behind(1));
        assert!(of("Py_CLEAR").place(0) && !of("Py_CLEAR").behind(0));
        assert!(of("PyTuple_SET_ITEM").names(0) && !of("PyArg_ParseTuple").names(2));
        assert!(of("PyDict_SetItem").locked(0) && !of("PyDict_SetItem").behind(0));
        assert_eq!(of("PyUnicode_AsUTF8").gives, Gives::Part(0));
        assert_eq!(field(None, "tp_dict").unwrap().gives, Gives::Attributes);
        assert_eq!(field(None, "tp_name"), None);
        let code = field(Some("PyFunctionObject"), "func_code").unwrap();
        assert_eq!(
            (code.lends, of("PyFunction_GetCode").lends),
            (Some(0), Some(0))
        );
        assert_eq!(field(Some("Item"), "func_code"), None);
        let is_hidden = |name, null: usize| of(name).is_hidden(|at| at == null);
        assert!(is_hidden("strtok", 9) && !is_hidden("strtok_r", 9));
        assert!(is_hidden("mbrtowc", 3) && !is_hidden("mbrtowc", 0));
        assert_eq!(of("strchr").gives, Gives::Argument(0));
        assert!(!of("atomic_fetch_add_explicit").behind(0));
        // A name that only begins like one of C is not known.
        assert_eq!(writes("strategy_apply"), None);
        assert_eq!(writes("memory_pool_put"), None);
    }
}
