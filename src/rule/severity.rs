//! How bad the findings of a rule are.

/// What may happen if nothing is done about the findings of a rule, the worst first. A rule declares
/// the worst that any of its findings may lead to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Memory is used after it was freed, or is not what the code takes it for.
    Memory,
    /// Threads change the same data at one time: a result is lost, mixed or half written.
    Race,
    /// Threads wait for each other for good, or all for one that sleeps.
    Deadlock,
    /// It runs with the GIL only, or turns the GIL on.
    Portability,
    /// It cannot be built, installed or found for free-threaded Python.
    Packaging,
}

/// The three steps that compilers and code scanning know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// Must be settled.
    Error,
    /// Should be settled.
    Warning,
    /// Breaks nothing that runs.
    Note,
}

impl Severity {
    /// All of them, the worst first.
    pub const ALL: [Self; 5] = [
        Self::Memory,
        Self::Race,
        Self::Deadlock,
        Self::Portability,
        Self::Packaging,
    ];

    /// Its name in tables and for programs.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Race => "race",
            Self::Deadlock => "deadlock",
            Self::Portability => "portability",
            Self::Packaging => "packaging",
        }
    }

    /// What may happen, for a legend: lower case, no full stop.
    #[must_use]
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::Memory => "use after free, or other invalid memory: a crash",
            Self::Race => "threads change the same data at the same time: lost or mixed results",
            Self::Deadlock => {
                "threads wait for each other, or all of them for one that waits for something else"
            }
            Self::Portability => "the code runs only with the GIL, or turns the GIL on",
            Self::Packaging => {
                "the package cannot be built, installed or found for free-threaded Python"
            }
        }
    }

    /// The level of its findings.
    #[must_use]
    pub const fn level(self) -> Level {
        match self {
            Self::Memory => Level::Error,
            Self::Race | Self::Deadlock => Level::Warning,
            Self::Portability | Self::Packaging => Level::Note,
        }
    }

    /// Its place between 0 and 100, as SARIF ranks: 100 is the worst.
    #[must_use]
    pub const fn rank(self) -> u8 {
        match self {
            Self::Memory => 95,
            Self::Race => 75,
            Self::Deadlock => 60,
            Self::Portability => 35,
            Self::Packaging => 15,
        }
    }

    /// `1 memory error`, `3 races`.
    #[must_use]
    pub fn counted(self, count: usize) -> String {
        let (one, many) = match self {
            Self::Memory => ("memory error", "memory errors"),
            Self::Race => ("race", "races"),
            Self::Deadlock => ("deadlock", "deadlocks"),
            Self::Portability => ("portability problem", "portability problems"),
            Self::Packaging => ("packaging problem", "packaging problems"),
        };
        format!("{count} {}", if count == 1 { one } else { many })
    }
}

impl Level {
    /// Its name, as SARIF has it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Note => "note",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Severity;

    #[test]
    fn the_worst_has_the_highest_rank() {
        assert!(Severity::ALL.is_sorted());
        assert!(Severity::ALL.is_sorted_by_key(|it| std::cmp::Reverse(it.rank())));
    }
}
