//! What a configuration file says: `ungil.toml`, or `[tool.ungil]` of `pyproject.toml`.

use std::collections::BTreeMap;
use std::fs;
use std::num::NonZeroU8;
use std::path::{Path, PathBuf};

use anyhow::Context;
use serde::Deserialize;
use toml::de::{DeTable, DeValue};

use crate::capi::PyVersion;
use crate::engine::Compat;
use crate::facts::{Claim, Confirmed, Functions, Reference, Stated};
use crate::rule::Errors;

/// The keys of [`FileSettings`], for the search and the suggestion.
pub(super) const KEYS: [&str; 17] = [
    "select",
    "ignore",
    "exclude",
    "unsafe-fixes",
    "build-files",
    "min-python",
    "compat",
    "compat-header",
    "compat-name",
    "errors",
    "include-dirs",
    "define",
    "strict",
    "per-file-ignores",
    "functions",
    "thread-safe",
    "confirmed",
];

/// The keys of [`FunctionFacts`].
const FUNCTION_KEYS: [&str; 2] = ["returns", "steals"];

/// What a configuration file may say.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub(super) struct FileSettings {
    pub(super) select: Vec<String>,
    pub(super) ignore: Vec<String>,
    pub(super) exclude: Vec<String>,
    pub(super) unsafe_fixes: bool,
    pub(super) build_files: bool,
    pub(super) min_python: Option<PyVersion>,
    pub(super) compat: Option<Compat>,
    pub(super) compat_header: Option<PathBuf>,
    pub(super) compat_name: Option<String>,
    pub(super) errors: Option<Errors>,
    pub(super) include_dirs: Vec<PathBuf>,
    pub(super) define: Vec<String>,
    pub(super) strict: bool,
    /// Rules not to run on files that fit a glob.
    pub(super) per_file_ignores: BTreeMap<String, Vec<String>>,
    /// What is said of functions of the project, by name.
    pub(super) functions: BTreeMap<String, FunctionFacts>,
    /// Functions of libraries that threads may call at once: names, or `prefix_*`.
    pub(super) thread_safe: Vec<String>,
    /// What the project has confirmed, by claim: the subjects.
    pub(super) confirmed: BTreeMap<String, Vec<String>>,
    /// The line of each key, from 1.
    #[serde(skip)]
    pub(super) lines: BTreeMap<String, usize>,
}

impl FileSettings {
    /// What is said of functions.
    pub(super) fn facts(&self) -> Functions {
        let mut facts = Functions::default();
        for (name, function) in &self.functions {
            facts.amend(name, &function.stated());
        }
        for name in &self.thread_safe {
            facts.add_thread_safe(name);
        }
        facts
    }

    /// What the project has confirmed.
    pub(super) fn confirmed(&self) -> Confirmed {
        let mut confirmed = Confirmed::default();
        for (key, subjects) in &self.confirmed {
            let claim = Claim::of_key(key).expect("`read` refuses other keys");
            subjects.iter().for_each(|it| confirmed.add(claim, it));
        }
        confirmed
    }
}

/// What is said of a function.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct FunctionFacts {
    pub(super) returns: Option<Reference>,
    /// Arguments from 1.
    pub(super) steals: Option<Vec<NonZeroU8>>,
}

impl FunctionFacts {
    pub(super) fn stated(&self) -> Stated {
        let from_zero = |arg: &NonZeroU8| usize::from(arg.get()) - 1;
        Stated {
            returns: self.returns,
            steals: self
                .steals
                .as_ref()
                .map(|args| args.iter().map(from_zero).collect()),
        }
    }
}

/// Reads the file at `path`.
///
/// # Errors
/// What is wrong with it, with file, line and key.
pub(super) fn read(path: &Path) -> anyhow::Result<FileSettings> {
    let text =
        fs::read_to_string(path).with_context(|| format!("cannot read `{}`", path.display()))?;
    let line = |offset: usize| text[..offset].matches('\n').count() + 1;
    let place = |offset: usize| format!("{}:{}", path.display(), line(offset));
    let explain = |error: toml::de::Error| {
        let place = place(error.span().map_or(0, |span| span.start));
        anyhow::anyhow!("{place}: {}", error.message())
    };
    let document = DeTable::parse(&text).map_err(explain)?;
    let shared = path
        .file_name()
        .is_some_and(|name| name == "pyproject.toml");
    let keys: &[&str] = if shared { &["tool", "ungil"] } else { &[] };
    let Some(table) = subtable(document.get_ref(), keys) else {
        return Ok(FileSettings::default());
    };
    let mut lines = BTreeMap::new();
    let check = |table: &DeTable<'_>, known: &[&str]| match table
        .keys()
        .find(|key| !known.contains(&&**key.get_ref()))
    {
        Some(key) => {
            let place = place(key.span().start);
            let key = key.get_ref();
            anyhow::bail!("{place}: unknown key `{key}`{}", suggestion(key, known))
        }
        None => Ok(()),
    };
    check(table, &KEYS)?;
    for key in table.keys() {
        lines.insert(key.get_ref().to_string(), line(key.span().start));
    }
    let functions = subtable(table, &["functions"]).into_iter();
    for function in functions.flat_map(|functions| functions.values()) {
        if let DeValue::Table(facts) = function.get_ref() {
            check(facts, &FUNCTION_KEYS)?;
        }
    }
    if let Some(confirmed) = subtable(table, &["confirmed"]) {
        check(confirmed, &Claim::ALL.map(Claim::key))?;
    }
    let settings = if shared {
        toml::from_str::<PyProject>(&text).map(|project| project.tool.ungil)
    } else {
        toml::from_str(&text)
    };
    let settings = settings.map_err(explain)?;
    Ok(FileSettings { lines, ..settings })
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct PyProject {
    tool: Tool,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Tool {
    ungil: FileSettings,
}

fn subtable<'a, 'i>(table: &'a DeTable<'i>, keys: &[&str]) -> Option<&'a DeTable<'i>> {
    let Some((first, rest)) = keys.split_first() else {
        return Some(table);
    };
    match table.get(*first)?.get_ref() {
        DeValue::Table(inner) => subtable(inner, rest),
        _ => None,
    }
}

fn suggestion(key: &str, keys: &[&str]) -> String {
    let distance = |known: &&&str| strsim::damerau_levenshtein(known, key);
    match keys
        .iter()
        .min_by_key(distance)
        .filter(|known| distance(known) <= 3)
    {
        Some(known) => format!("; did you mean `{known}`?"),
        None => format!("; known keys are {}", keys.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{Claim, FileSettings, KEYS, read};
    use crate::capi::PyVersion;
    use crate::facts::Reference;

    fn settings(name: &str, text: &str) -> Result<FileSettings, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        let shown = format!("{}/", folder.path().display());
        read(&path).map_err(|error| error.to_string().replace(&shown, ""))
    }

    #[test]
    fn both_files_are_read() {
        let own = settings("ungil.toml", "exclude = [\"x\"]\nstrict = true\n").unwrap();
        assert_eq!((own.exclude, own.strict), (vec!["x".to_owned()], true));
        let shared = "[project]\nname = \"x\"\n[tool.ungil]\nmin-python = \"3.8\"\n";
        let shared = settings("pyproject.toml", shared).unwrap();
        assert_eq!(shared.min_python, Some(PyVersion::new(3, 8)));
        assert!(settings("pyproject.toml", "[tool.other]\nx = 1\n").is_ok());
    }

    #[test]
    fn errors_name_file_line_and_key() {
        let error = |text| settings("ungil.toml", text).unwrap_err();
        assert_eq!(
            error("strict = true\nexlude = []\n"),
            "ungil.toml:2: unknown key `exlude`; did you mean `exclude`?"
        );
        assert!(
            error("colour = 1\n").starts_with("ungil.toml:1: unknown key `colour`; known keys")
        );
        assert_eq!(
            error("\nstrict = 1\n"),
            "ungil.toml:2: invalid type: integer `1`, expected a boolean"
        );
        assert_eq!(
            error("min-python = \"2.7\"\n"),
            "ungil.toml:1: `2.7` is not a Python 3 version; write it like `3.9`"
        );
        assert!(error("a = \n").starts_with("ungil.toml:1: "));
        let shared = settings("pyproject.toml", "[tool.ungil]\nselct = []\n").unwrap_err();
        assert_eq!(
            shared,
            "pyproject.toml:2: unknown key `selct`; did you mean `select`?"
        );
    }

    #[test]
    fn functions_are_described_by_what_they_do_to_references() {
        let text = "[functions]\npeek = { returns = \"borrowed\" }\n\
                    [functions.give]\nsteals = [2]\n";
        let functions = settings("ungil.toml", text).unwrap().functions;
        assert_eq!(
            functions["peek"].stated().returns,
            Some(Reference::Borrowed)
        );
        assert_eq!(functions["give"].stated().steals, Some([1].into()));
        let error = |facts| {
            let text = format!("[functions]\nf = {facts}\n");
            settings("ungil.toml", &text).unwrap_err()
        };
        assert_eq!(
            error("{ stels = [1] }"),
            "ungil.toml:2: unknown key `stels`; did you mean `steals`?"
        );
        assert_eq!(
            error("{ returns = \"own\" }"),
            "ungil.toml:2: unknown variant `own`, expected `new` or `borrowed`"
        );
        assert_eq!(
            error("{ steals = [0] }"),
            "ungil.toml:2: invalid value: integer `0`, expected a nonzero u8"
        );
    }

    #[test]
    fn every_key_is_known_to_the_types() {
        // A key that `FileSettings` does not have would be read without effect.
        for key in KEYS {
            let read = settings("ungil.toml", &format!("{key} = {{ a = 1, b = 2 }}\n"));
            assert!(read.is_err(), "{key}");
        }
    }

    #[test]
    fn every_claim_is_documented() {
        let page = include_str!("../../../docs/facts.md");
        let rows = page.lines().filter_map(|line| line.strip_prefix("| `"));
        let keys = rows.filter_map(|row| row.split('`').next());
        let known = Claim::ALL.map(Claim::key);
        assert_eq!(keys.collect::<Vec<_>>(), known);
    }

    #[test]
    fn every_key_is_documented() {
        let page = include_str!("../../../docs/cli.md");
        let section = page
            .split("\n## ")
            .find(|part| part.starts_with("Configuration"));
        let rows = section
            .unwrap()
            .lines()
            .filter(|line| line.starts_with("| `"));
        let keys = rows.flat_map(|row| {
            let first = row.split('|').nth(1).unwrap();
            first.split('`').skip(1).step_by(2)
        });
        assert_eq!(keys.collect::<Vec<_>>(), KEYS);
    }
}
