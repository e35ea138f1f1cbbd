//! What functions outside of a package do to a lock, read once from `locks.tsv`.

use std::sync::LazyLock;

use rustc_hash::FxHashMap;

/// What a call of one function does to the lock that is one of its arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LockCall {
    /// What is done.
    pub act: LockAct,
    /// The argument that is the lock, or points to it, from 0.
    pub lock: usize,
    /// When a lock is had that is taken.
    pub had: Had,
    /// The argument that says whether to wait, and what it is then.
    waits: Option<(usize, Vec<&'static str>)>,
}

/// What is done to a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LockAct {
    /// It is taken; nobody else has it.
    Takes,
    /// It is taken; others that share it may have it as well.
    Shares,
    /// It is given back.
    Gives,
    /// It is made, or it ends.
    Makes,
}

/// When a call has got a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Had {
    /// It waits for it.
    Always,
    /// If it gives zero.
    Zero,
    /// If it gives anything but zero.
    NotZero,
    /// If it gives what this name stands for.
    Named(&'static str),
}

impl LockCall {
    /// The argument that says whether the call waits for the lock.
    #[must_use]
    pub fn waiting(&self) -> Option<usize> {
        self.waits.as_ref().map(|&(at, _)| at)
    }

    /// Whether the call waits for the lock where the argument that says so is this number, or this
    /// name.
    #[must_use]
    pub fn waits(&self, number: Option<i64>, name: Option<&str>) -> bool {
        let is_it = |&value: &&str| match value {
            "!0" => number.is_some_and(|it| it != 0),
            _ => name == Some(value) || number.is_some_and(|it| value.parse() == Ok(it)),
        };
        self.waits
            .as_ref()
            .is_some_and(|(_, values)| values.iter().any(is_it))
    }
}

/// What a call of the function `name` does to a lock; `None` where nothing is known of it.
#[must_use]
pub fn lock_call(name: &str) -> Option<&'static LockCall> {
    static TABLE: LazyLock<FxHashMap<&str, LockCall>> = LazyLock::new(|| {
        let rows = ROWS.lines().filter(|line| !line.starts_with('#')).skip(1);
        let parsed = rows.map(|row| parse(row).expect("a test parses every row"));
        parsed
            .flat_map(|(names, call)| names.split(' ').map(move |name| (name, call.clone())))
            .collect()
    });
    TABLE.get(name)
}

const ROWS: &str = include_str!("locks.tsv");

fn parse(row: &'static str) -> Option<(&'static str, LockCall)> {
    let columns: Vec<&str> = row.split('\t').collect();
    let [names, act, lock, had, waits, _source] = columns[..] else {
        return None;
    };
    let act = match act {
        "takes" => LockAct::Takes,
        "shares" => LockAct::Shares,
        "gives" => LockAct::Gives,
        "makes" => LockAct::Makes,
        _ => return None,
    };
    let had = match had {
        "" => Had::Always,
        "0" => Had::Zero,
        "!0" => Had::NotZero,
        name => Had::Named(name),
    };
    let waits = match waits.split_once('=') {
        Some((at, values)) => Some((at.parse().ok()?, values.split('|').collect())),
        None => None,
    };
    let lock = lock.parse().ok()?;
    Some((
        names,
        LockCall {
            act,
            lock,
            had,
            waits,
        },
    ))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{Had, LockAct, ROWS, lock_call, parse};

    #[test]
    fn every_row_is_read_and_has_a_source() {
        let mut seen = BTreeSet::new();
        let rows = ROWS.lines().filter(|line| !line.starts_with('#')).skip(1);
        for row in rows {
            let (names, _) = parse(row).unwrap_or_else(|| panic!("{row}"));
            assert!(row.rsplit('\t').next().is_some_and(|it| !it.is_empty()));
            for name in names.split(' ') {
                assert!(seen.insert(name), "{name} twice");
            }
        }
    }

    #[test]
    fn what_is_done_to_locks() {
        let of = |name| lock_call(name).unwrap_or_else(|| panic!("{name}"));
        assert_eq!(of("PyMutex_Lock").had, Had::Always);
        assert_eq!(of("pthread_rwlock_rdlock").act, LockAct::Shares);
        assert_eq!(of("pthread_mutex_trylock").had, Had::Zero);
        let acquire = of("PyThread_acquire_lock");
        assert!(acquire.waits(Some(1), None) && acquire.waits(None, Some("WAIT_LOCK")));
        assert!(!acquire.waits(Some(0), None) && !acquire.waits(None, Some("NOWAIT_LOCK")));
        let timed = of("PyThread_acquire_lock_timed");
        assert!(timed.waits(Some(-1), None) && !timed.waits(Some(1000), None));
        assert_eq!(lock_call("lock_of_nobody"), None);
    }
}
