//! `ungil.toml` and `[tool.ungil]`, and how flags win over them.

mod confirm;
mod file;
mod show;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use super::args::OptionArgs;
use crate::capi::PyVersion;
use crate::engine::{Config, GivenHeader};
use crate::package::Roots;
use crate::rule::{Rule, Selection, Selector};
use crate::transforms;
use file::FileSettings;
pub(super) use show::run;

/// What holds for a run, from flags and file.
#[derive(Debug)]
pub(super) struct Settings {
    /// For the engine; `include_dirs` are absolute.
    pub(super) engine: Config,
    pub(super) exclude: Vec<String>,
    pub(super) min_python: Option<PyVersion>,
    pub(super) unsafe_fixes: bool,
    pub(super) strict: bool,
    is_isolated: bool,
    /// The configuration file that was read.
    pub(super) file: Option<PathBuf>,
    /// What it says.
    in_file: FileSettings,
    /// Rules that are not to run on files that fit.
    per_file: Vec<(Gitignore, Vec<Selector>)>,
}

impl Settings {
    /// Reads the configuration file, if there is one, and puts the flags over it.
    pub(super) fn resolve(args: &OptionArgs, roots: &Roots, folder: &Path) -> anyhow::Result<Self> {
        let file = configuration_file(args, roots);
        let settings = match &file {
            Some(path) => file::read(path)?,
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
            compat_header: given_header(args, folder, &settings, beside)?,
            compat_name: args.compat_name.clone().or(settings.compat_name.clone()),
            errors: args.errors.or(settings.errors).unwrap_or_default(),
            include_dirs: include_dirs
                .map(|dir| dir.to_string_lossy().into_owned())
                .collect(),
            defines: settings
                .define
                .iter()
                .chain(&args.defines)
                .map(|text| define(text))
                .collect(),
            build_files: args.build_files || settings.build_files,
            functions: args.function.clone(),
            facts: settings.facts(),
            confirmed: settings.confirmed(),
            full_coverage: args.stats_file.is_some() || args.strict || settings.strict,
            alternatives: false,
        };
        Ok(Self {
            engine,
            exclude: [&args.exclude[..], &settings.exclude].concat(),
            min_python: args.min_python.or(settings.min_python),
            unsafe_fixes: args.unsafe_fixes || settings.unsafe_fixes,
            strict: args.strict || settings.strict,
            is_isolated: args.isolated,
            per_file: per_file(beside, &settings).with_context(in_file)?,
            in_file: settings,
            file,
        })
    }

    /// Whether the configuration silences `rule` in the file at `path`, which is absolute.
    pub(super) fn is_silenced(&self, rule: &Rule, path: &Path) -> bool {
        self.per_file.iter().any(|(glob, rules)| {
            let fits = || {
                // Files elsewhere fit no glob.
                path.starts_with(glob.path())
                    && glob.matched_path_or_any_parents(path, false).is_ignore()
            };
            rules.iter().any(|selector| selector.matches(rule)) && fits()
        })
    }
}

/// The compatibility header that the flag, relative to `folder`, or else the file, relative to
/// `beside`, names. Links are followed: it may be part of the project.
fn given_header(
    args: &OptionArgs,
    folder: &Path,
    settings: &FileSettings,
    beside: &Path,
) -> anyhow::Result<Option<GivenHeader>> {
    let in_file = settings.compat_header.as_ref();
    let in_file = in_file.filter(|path| !path.as_os_str().is_empty());
    let flag = args.compat_header.as_ref().map(|path| folder.join(path));
    let Some(path) = flag.or_else(|| in_file.map(|path| beside.join(path))) else {
        return Ok(None);
    };
    let read = || -> std::io::Result<GivenHeader> {
        let path = fs::canonicalize(&path)?;
        let bytes = fs::read(&path)?;
        Ok(GivenHeader { path, bytes })
    };
    let missing = || {
        format!(
            "the compatibility header `{}` cannot be read",
            path.display()
        )
    };
    read().with_context(missing).map(Some)
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

fn per_file(
    folder: &Path,
    settings: &FileSettings,
) -> anyhow::Result<Vec<(Gitignore, Vec<Selector>)>> {
    let compiled = |(glob, rules): (&String, &Vec<String>)| {
        let mut builder = GitignoreBuilder::new(folder);
        builder.add_line(None, glob)?;
        Ok((builder.build()?, selectors(rules)?))
    };
    settings.per_file_ignores.iter().map(compiled).collect()
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
    use super::define;

    #[test]
    fn a_macro_without_value_is_one() {
        assert_eq!(define("A"), ("A".into(), "1".into()));
        assert_eq!(define("A=b=c"), ("A".into(), "b=c".into()));
    }
}
