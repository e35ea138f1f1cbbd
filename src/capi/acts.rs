//! What functions outside of a package leave behind, read once from `acts.tsv`.

use std::sync::LazyLock;

use rustc_hash::FxHashMap;

use super::{effects, is_libc, sets_atomically, writes};

/// What is there after a call, references apart. Argument indexes count from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Acts {
    /// The argument that is changed, and whether those after it are as well.
    argument: Option<(usize, bool)>,
    /// Whether it takes nothing away from the argument, and overwrites nothing there.
    pub only_adds: bool,
    /// Whether it just writes bytes there, as an assignment does.
    pub is_plain: bool,
    /// Whether it frees the memory there.
    pub frees: bool,
    /// Whether it changes the thread, the interpreter or the process.
    pub elsewhere: bool,
    /// Whether it gives something that is to be closed, or freed.
    pub opens: bool,
    /// Whether that is memory which nobody else knows.
    pub gives_memory: bool,
}

impl Acts {
    /// Whether what is done to the arguments is up to the code of others.
    #[must_use]
    pub fn runs_code(&self) -> bool {
        self.argument == Some((0, true))
    }

    /// Whether it passes on what it gets: to a file, another argument, the process.
    #[must_use]
    pub fn hands_on(&self) -> bool {
        self.argument.is_some() || self.elsewhere
    }

    /// What a function may do of which nothing is known.
    pub const UNKNOWN: Self = Self {
        argument: Some((0, true)),
        only_adds: false,
        is_plain: false,
        frees: false,
        elsewhere: true,
        opens: true,
        gives_memory: false,
    };

    /// What changes its first argument.
    const OF_FIRST: Self = Self {
        argument: Some((0, false)),
        only_adds: false,
        is_plain: false,
        frees: false,
        elsewhere: false,
        opens: false,
        gives_memory: false,
    };

    /// Whether it changes argument `at`, or what that points to, and no other.
    #[must_use]
    pub fn changes_only(&self, at: usize) -> bool {
        self.argument == Some((at, false))
    }

    /// Whether it changes argument `at`, or what that points to.
    #[must_use]
    pub fn changes(&self, at: usize) -> bool {
        self.argument
            .is_some_and(|(first, and_later)| first == at || and_later && first < at)
    }
}

/// What a call of the function `name`, which is not one of the package, leaves behind; `None` if
/// nothing.
#[must_use]
pub fn acts(name: &str) -> Option<Acts> {
    static TABLE: LazyLock<FxHashMap<&str, Acts>> = LazyLock::new(|| {
        let rows = ROWS.lines().filter(|line| !line.starts_with('#')).skip(1);
        let parsed = rows.map(|row| parse(row).expect("a test parses every row"));
        parsed
            .flat_map(|(names, acts)| names.split(' ').map(move |name| (name, acts)))
            .collect()
    });
    let known = TABLE.get(name).copied();
    let atomic = || sets_atomically(name).then_some(Acts::OF_FIRST);
    let unknown = || (!is_named(name)).then_some(Acts::UNKNOWN);
    known.or_else(atomic).or_else(unknown)
}

/// Whether another table says what a function does.
fn is_named(name: &str) -> bool {
    effects(name).is_some() || writes(name).is_some() || is_libc(name)
}

const ROWS: &str = include_str!("acts.tsv");

fn parse(row: &'static str) -> Option<(&'static str, Acts)> {
    let [names, changes, _source] = row.split('\t').collect::<Vec<&str>>()[..] else {
        return None;
    };
    let mut acts = Acts::default();
    for change in changes.split(' ') {
        match change {
            "*" => acts.elsewhere = true,
            "result" => acts.opens = true,
            "memory" => (acts.opens, acts.gives_memory) = (true, true),
            _ => {
                acts.only_adds = change.starts_with('+');
                acts.is_plain = change.starts_with('=');
                acts.frees = change.starts_with('-');
                let argument = change.trim_start_matches(['+', '=', '-']);
                let first = argument.strip_suffix('+');
                let number = first.unwrap_or(argument).parse().ok()?;
                acts.argument = Some((number, first.is_some()));
            }
        }
    }
    Some((names, acts))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{Acts, ROWS, acts, is_named, parse};

    #[test]
    fn every_row_is_read_and_names_what_other_tables_know() {
        let mut seen = BTreeSet::new();
        let rows = ROWS.lines().filter(|line| !line.starts_with('#')).skip(1);
        for row in rows {
            let (names, _) = parse(row).unwrap_or_else(|| panic!("{row}"));
            for name in names.split(' ') {
                assert!(seen.insert(name), "{name} twice");
                assert!(is_named(name), "{name} is in no other table");
            }
        }
    }

    #[test]
    fn what_is_left_behind() {
        assert_eq!(acts("PyLong_AsLong"), None);
        assert_eq!(acts("strlen"), None);
        assert_eq!(acts("of_nobody"), Some(Acts::UNKNOWN));
        let append = acts("PyList_Append").expect("it is in the table");
        assert!(append.changes(0) && !append.changes(1) && append.only_adds);
        let call = acts("PyObject_CallMethod").expect("it is in the table");
        assert!(call.changes(0) && call.changes(2) && !call.only_adds && !call.elsewhere);
        assert!(acts("umask").is_some_and(|it| it.elsewhere && !it.changes(0)));
        assert!(acts("getopt").is_some_and(|it| it.elsewhere));
        assert!(acts("PyOS_Readline").is_some_and(|it| it.gives_memory));
    }
}
