//! Functions of the C library that keep static state, and what takes their place, read once from
//! `reentrant.tsv`.

use std::sync::LazyLock;

use rustc_hash::FxHashMap;

/// What is known of a function of the C library that keeps static state of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeepsState {
    /// What it keeps there: `its result`.
    pub keeps: &'static str,
    /// What takes its place, if it is called in the same way but for a variable.
    pub sibling: Option<Sibling>,
    /// Whether each thread has that state for itself on Windows.
    pub is_threads_own_on_windows: bool,
    /// What to do by hand.
    pub advice: &'static str,
}

/// A function that is called as another one is, with the address of a variable behind the other
/// arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sibling {
    /// Its name.
    pub name: &'static str,
    /// How the variable is declared: `struct tm tm_buf`.
    pub variable: &'static str,
    /// What holds if it does the same; empty if it does in any case.
    pub same_if: &'static str,
    /// Its name on Windows.
    pub on_windows: &'static str,
    /// Whether it takes its arguments in another order there.
    pub is_swapped_on_windows: bool,
}

impl Sibling {
    /// What the variable is for.
    #[must_use]
    pub fn lends(self) -> Lends {
        match self.variable.contains('*') {
            true => Lends::Place,
            false => Lends::Result,
        }
    }

    /// The name of the variable in its declaration.
    #[must_use]
    pub fn variable_name(self) -> &'static str {
        let declared = self.variable.split(" =").next().unwrap_or_default();
        declared.rsplit([' ', '*']).next().unwrap_or_default()
    }
}

/// What the variable is for that a [`Sibling`] gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lends {
    /// A call goes on where the one before it has stopped, if its first argument is `NULL`.
    Place,
    /// The result is a pointer to it.
    Result,
}

/// Headers that all systems but Windows have: none of its compilers comes with them.
///
/// Left out are those that MSVC or mingw-w64 has: `sys/types.h`, `sys/stat.h`, `sys/time.h`,
/// `unistd.h`, `pthread.h`, `dirent.h`, `strings.h`.
const NOT_ON_WINDOWS: &[&str] = &[
    "arpa/inet.h",
    "grp.h",
    "netdb.h",
    "netinet/in.h",
    "poll.h",
    "pwd.h",
    "spawn.h",
    "sys/ioctl.h",
    "sys/ipc.h",
    "sys/mman.h",
    "sys/resource.h",
    "sys/select.h",
    "sys/socket.h",
    "sys/statvfs.h",
    "sys/times.h",
    "sys/uio.h",
    "sys/un.h",
    "sys/utsname.h",
    "sys/wait.h",
    "syslog.h",
    "termios.h",
];

/// Whether a file that includes this header in any case compiles on other systems than Windows only.
#[must_use]
pub fn is_absent_on_windows(header: &str) -> bool {
    NOT_ON_WINDOWS.contains(&header)
}

/// Whether a name is one that compilers define for Windows, or the headers of Python do.
#[must_use]
pub fn tells_windows(name: &str) -> bool {
    matches!(
        name,
        "_WIN32"
            | "WIN32"
            | "__WIN32__"
            | "_WIN64"
            | "WIN64"
            | "MS_WINDOWS"
            | "MS_WIN32"
            | "_MSC_VER"
    )
}

/// What is known of the function `name`, if it keeps static state that programs can do without.
#[must_use]
pub fn keeps_state(name: &str) -> Option<&'static KeepsState> {
    table().get(name)
}

/// The functions for which there is a row.
pub fn keeping_state() -> impl Iterator<Item = (&'static str, &'static KeepsState)> {
    let mut all: Vec<_> = table().iter().map(|(&name, row)| (name, row)).collect();
    all.sort_unstable_by_key(|(name, _)| *name);
    all.into_iter()
}

/// The function that `name` takes the place of, with what is known of it.
#[must_use]
pub fn sibling_of(name: &str) -> Option<(&'static str, Sibling)> {
    keeping_state().find_map(|(old, row)| {
        let sibling = row.sibling.filter(|it| it.name == name)?;
        Some((old, sibling))
    })
}

/// Whether a function writes the `struct tm` that all of these have in common (C17 7.27.3).
#[must_use]
pub fn writes_static_time(name: &str) -> bool {
    matches!(name, "ctime" | "gmtime" | "localtime")
}

/// What is asked of a function that gets a pointer which is good for one call of its caller only.
#[must_use]
pub fn does_not_keep(function: &str) -> String {
    format!("`{function}` does not keep the pointer that it gets, and does not return a part of it")
}

fn table() -> &'static FxHashMap<&'static str, KeepsState> {
    static TABLE: LazyLock<FxHashMap<&str, KeepsState>> = LazyLock::new(|| {
        let rows = ROWS.lines().filter(|line| !line.starts_with('#')).skip(1);
        let parsed = rows.map(|row| parse(row).expect("a test parses every row"));
        parsed
            .flat_map(|(names, row)| names.split(' ').map(move |name| (name, row.clone())))
            .collect()
    });
    &TABLE
}

const ROWS: &str = include_str!("reentrant.tsv");

fn parse(row: &'static str) -> Option<(&'static str, KeepsState)> {
    let columns: Vec<&str> = row.split('\t').collect();
    let [
        names,
        keeps,
        sibling,
        variable,
        same_if,
        windows,
        advice,
        _source,
    ] = columns[..]
    else {
        return None;
    };
    let mut windows = windows
        .split(' ')
        .filter(|word| !word.is_empty())
        .peekable();
    let is_threads_own_on_windows = windows.next_if(|word| *word == "thread").is_some();
    let (on_windows, swapped) = (windows.next(), windows.next());
    let sibling = match sibling {
        "" => None,
        name => Some(Sibling {
            name,
            variable,
            same_if,
            on_windows: on_windows?,
            is_swapped_on_windows: swapped == Some("swapped"),
        }),
    };
    let row = KeepsState {
        keeps,
        sibling,
        is_threads_own_on_windows,
        advice,
    };
    Some((names, row))
}

#[cfg(test)]
mod tests {
    use super::{Lends, ROWS, keeping_state, keeps_state, parse, sibling_of};
    use crate::capi::writes;

    #[test]
    fn every_row_is_read_and_has_a_source() {
        for row in ROWS.lines().filter(|line| !line.starts_with('#')).skip(1) {
            let (names, parsed) = parse(row).unwrap_or_else(|| panic!("{row}"));
            let source = row.rsplit('\t').next();
            assert!(source.is_some_and(|it| !it.is_empty()), "{row}");
            assert!(
                !parsed.advice.is_empty() && !parsed.keeps.is_empty(),
                "{row}"
            );
            for name in names.split(' ') {
                assert_eq!(keeps_state(name), Some(&parsed), "{name} stands twice");
            }
        }
    }

    #[test]
    fn what_keeps_state_is_known_to_and_its_sibling_does_not() {
        for (name, row) in keeping_state() {
            let writes_of = writes(name).unwrap_or_else(|| panic!("{name}"));
            assert!(writes_of.is_hidden(|_| true), "{name}");
            if let Some(sibling) = row.sibling {
                let other = writes(sibling.name).unwrap_or_else(|| panic!("{}", sibling.name));
                assert!(!other.is_hidden(|_| true), "{}", sibling.name);
                assert_eq!(sibling_of(sibling.name), Some((name, sibling)));
            }
        }
        let strtok = keeps_state("strtok").unwrap().sibling.unwrap();
        assert_eq!(
            (strtok.lends(), strtok.variable_name()),
            (Lends::Place, "saveptr")
        );
        let gmtime = keeps_state("gmtime").unwrap().sibling.unwrap();
        assert_eq!(
            (gmtime.lends(), gmtime.variable_name()),
            (Lends::Result, "utc_buf")
        );
        assert!(gmtime.is_swapped_on_windows && !strtok.is_swapped_on_windows);
        assert_eq!(keeps_state("readdir"), None);
    }
}
