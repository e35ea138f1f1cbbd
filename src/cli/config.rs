//! `ungil.toml` and `[tool.ungil]`, and how flags win over them.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use serde::Deserialize;
use toml::de::{DeTable, DeValue};

use super::args::OptionArgs;
use crate::capi::PyVersion;
use crate::engine::{Compat, Config};
use crate::package::Roots;
use crate::rule::{Selection, Selector};
use crate::transforms;

/// The keys of [`FileSettings`], for the search and the suggestion.
const KEYS: [&str; 9] = [
    "select",
    "ignore",
    "exclude",
    "unsafe-fixes",
    "min-python",
    "compat",
    "include-dirs",
    "define",
    "strict",
];

/// What a configuration file may say.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
struct FileSettings {
    select: Vec<String>,
    ignore: Vec<String>,
    exclude: Vec<String>,
    unsafe_fixes: bool,
    min_python: Option<PyVersion>,
    compat: Option<Compat>,
    include_dirs: Vec<PathBuf>,
    define: Vec<String>,
    strict: bool,
}

/// What holds for a run, from flags and file.
#[derive(Debug)]
pub(super) struct Settings {
    /// For the engine; `include_dirs` are absolute.
    pub(super) engine: Config,
    pub(super) exclude: Vec<String>,
    pub(super) min_python: Option<PyVersion>,
    pub(super) unsafe_fixes: bool,
    pub(super) strict: bool,
    /// The configuration file that was read.
    pub(super) file: Option<PathBuf>,
}

impl Settings {
    /// Reads the configuration file, if there is one, and puts the flags over it.
    pub(super) fn resolve(args: &OptionArgs, roots: &Roots, folder: &Path) -> anyhow::Result<Self> {
        let file = configuration_file(args, roots);
        let settings = match &file {
            Some(path) => read(path)?,
            None => FileSettings::default(),
        };
        let beside = file.as_deref().and_then(Path::parent).unwrap_or(folder);
        let from_file = settings.include_dirs.iter().map(|dir| beside.join(dir));
        let include_dirs = args
            .include_dirs
            .iter()
            .map(|dir| folder.join(dir))
            .chain(from_file);
        let in_file = || {
            file.as_deref()
                .map_or(String::new(), |file| file.display().to_string())
        };
        let engine = Config {
            selection: Selection {
                select: match &args.select[..] {
                    [] => selectors(&settings.select).with_context(in_file)?,
                    flags => selectors(flags)?,
                },
                ignore: [
                    selectors(&args.ignore)?,
                    selectors(&settings.ignore).with_context(in_file)?,
                ]
                .concat(),
            },
            compat: args.compat.or(settings.compat).unwrap_or_default(),
            include_dirs: include_dirs
                .map(|dir| dir.to_string_lossy().into_owned())
                .collect(),
            defines: settings
                .define
                .iter()
                .chain(&args.defines)
                .map(|text| define(text))
                .collect(),
            functions: args.function.clone(),
            full_coverage: args.stats_file.is_some() || args.strict || settings.strict,
        };
        Ok(Self {
            engine,
            exclude: [&args.exclude[..], &settings.exclude].concat(),
            min_python: args.min_python.or(settings.min_python),
            unsafe_fixes: args.unsafe_fixes || settings.unsafe_fixes,
            strict: args.strict || settings.strict,
            file,
        })
    }
}

/// The file to read: the given one, else the nearest of the project and the repository.
fn configuration_file(args: &OptionArgs, roots: &Roots) -> Option<PathBuf> {
    if args.isolated {
        return None;
    }
    if args.config.is_some() {
        return args.config.clone();
    }
    [roots.project.as_path(), roots.base()]
        .into_iter()
        .find_map(|folder| {
            let own = folder.join("ungil.toml");
            let shared = folder.join("pyproject.toml");
            if own.is_file() {
                return Some(own);
            }
            shared.is_file().then_some(shared)
        })
}

fn read(path: &Path) -> anyhow::Result<FileSettings> {
    let text =
        fs::read_to_string(path).with_context(|| format!("cannot read `{}`", path.display()))?;
    let place = |offset: usize| {
        let line = text[..offset].matches('\n').count() + 1;
        format!("{}:{line}", path.display())
    };
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
    for key in table.keys() {
        if !KEYS.contains(&&**key.get_ref()) {
            let place = place(key.span().start);
            anyhow::bail!(
                "{place}: unknown key `{}`{}",
                key.get_ref(),
                suggestion(key.get_ref())
            );
        }
    }
    let settings = if shared {
        toml::from_str::<PyProject>(&text).map(|project| project.tool.ungil)
    } else {
        toml::from_str(&text)
    };
    settings.map_err(explain)
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

fn suggestion(key: &str) -> String {
    let distance = |known: &&&str| strsim::damerau_levenshtein(known, key);
    match KEYS
        .iter()
        .min_by_key(distance)
        .filter(|known| distance(known) <= 3)
    {
        Some(known) => format!("; did you mean `{known}`?"),
        None => format!("; known keys are {}", KEYS.join(", ")),
    }
}

fn selectors(texts: &[String]) -> anyhow::Result<Vec<Selector>> {
    let read = |text: &String| Ok(Selector::new(text, transforms::ALL)?);
    texts.iter().map(read).collect()
}

/// `NAME=VALUE`; `NAME` is `NAME=1`, as for compilers.
fn define(text: &str) -> (String, String) {
    let (name, value) = text.split_once('=').unwrap_or((text, "1"));
    (name.to_owned(), value.to_owned())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{FileSettings, KEYS, define, read};
    use crate::capi::PyVersion;

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
            "ungil.toml:1: `2.7` is no Python 3 version; write it like `3.9`"
        );
        assert!(error("a = \n").starts_with("ungil.toml:1: "));
        let shared = settings("pyproject.toml", "[tool.ungil]\nselct = []\n").unwrap_err();
        assert_eq!(
            shared,
            "pyproject.toml:2: unknown key `selct`; did you mean `select`?"
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
    fn a_macro_without_value_is_one() {
        assert_eq!(define("A"), ("A".into(), "1".into()));
        assert_eq!(define("A=b=c"), ("A".into(), "b=c".into()));
    }

    #[test]
    fn every_key_is_documented() {
        let page = include_str!("../../docs/cli.md");
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
