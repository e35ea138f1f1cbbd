//! What a pull request needs of the project beside its C: the folder of the tests, the changelog.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;

use super::super::session::Session;
use super::super::stress::{made, old, reported};
use super::super::talk::Talk;
use crate::pr::{Ci, Extra, PYTHON, with_line};

/// Names of changelogs, without extensions.
const CHANGELOGS: &[&str] = &["changelog", "changes", "news", "history", "release_notes"];

/// What the changelog says.
const LINE: &str = "The extension modules can be used with free-threaded Python: they no longer \
                    turn the GIL on.";

/// What to do if a script that somebody else has written is in the way.
const ADVICE: &str = "choose another folder";

/// How deep below the project tests may be: `src/name/package/tests`.
const DEPTH: usize = 4;

pub(super) struct Project {
    /// Scripts for the folder of the tests.
    pub(super) tests: Vec<Extra>,
    /// Name and text of scripts for which there is no such folder.
    pub(super) scripts: Vec<(String, String)>,
    pub(super) changelog: Option<Extra>,
}

impl Project {
    /// `output` is where scripts of an earlier run may be, with what a person has filled in.
    pub(super) fn read(session: &Session, output: &Path, talk: &Talk) -> anyhow::Result<Self> {
        let root = &session.roots.project;
        let mut project = Self {
            tests: Vec::new(),
            scripts: Vec::new(),
            changelog: changelog(session),
        };
        let folder = folder_of_tests(root);
        let modules: Vec<_> = session.analysis.modules.iter().collect();
        let surfaces = session.surfaces(&modules, talk);
        let reported = reported(session);
        let mut names = BTreeSet::new();
        for (&module, surface) in modules.iter().zip(&surfaces) {
            let has_findings = reported.iter().any(|it| module.files.contains(&it.0));
            // Without findings the script would call nothing. Of modules with one name a build has one.
            if !has_findings || !names.insert(&module.name) {
                continue;
            }
            let name = format!("test_stress_{}.py", module.name);
            let path = folder.as_ref().map(|folder| folder.join(&name));
            let module = (module, surface);
            match path.and_then(|path| Some((old(&path, ADVICE).ok()?, path))) {
                Some((old, path)) => {
                    let (text, _) = made(module, &reported, &name, true, old.as_deref());
                    project.tests.push(Extra {
                        path: shown(session, &path)?,
                        old: old.map(String::into_bytes),
                        new: text.into_bytes(),
                    });
                }
                None => {
                    let name = format!("stress_{}.py", module.0.name);
                    let old = old(&output.join(&name), ADVICE)?;
                    let (text, _) = made(module, &reported, &name, false, old.as_deref());
                    project.scripts.push((name, text));
                }
            }
        }
        project
            .tests
            .retain(|test| test.old.as_ref() != Some(&test.new));
        Ok(project)
    }

    /// What the series leaves to a person, in sentences.
    pub(super) fn by_hand(&self, ci: &Ci) -> Vec<String> {
        let mut lines = Vec::new();
        if let Ci::ByHand(why) = ci {
            lines.push(format!(
                "CI: add a job, or an entry of the matrix, with Python {PYTHON}. It is not here \
                 because {why}."
            ));
        }
        for (name, _) in &self.scripts {
            lines.push(format!(
                "Tests: `{name}` calls the functions from several threads. It is beside this \
                 description, because no folder with tests in Python was found, or because another \
                 file there has its name. Run it before and after."
            ));
        }
        if self.changelog.is_none() {
            lines.push(format!(
                "Changelog, once the modules are declared: \"{LINE}\" No changelog with a section \
                 for unreleased changes was found."
            ));
        }
        lines
    }
}

/// `path` as those of the package are.
fn shown(session: &Session, path: &Path) -> anyhow::Result<PathBuf> {
    let inside = path.strip_prefix(session.roots.base());
    Ok(inside
        .with_context(|| format!("`{}` is not in the project", path.display()))?
        .to_path_buf())
}

/// The changelog of the project with a new line, if it is clear where that goes.
fn changelog(session: &Session) -> Option<Extra> {
    let root = &session.roots.project;
    let folders = [root.clone(), root.join("docs"), root.join("doc")];
    let files = folders.iter().flat_map(|folder| entries(folder));
    let known = files.filter(|path| {
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        path.is_file() && CHANGELOGS.contains(&stem.to_lowercase().as_str())
    });
    let mut found = known.filter_map(|path| {
        let old = fs::read_to_string(&path).ok()?;
        Some(Extra {
            path: shown(session, &path).ok()?,
            new: with_line(&old, LINE)?.into_bytes(),
            old: Some(old.into_bytes()),
        })
    });
    found.next()
}

/// The folder of tests in Python that is nearest to the top.
fn folder_of_tests(root: &Path) -> Option<PathBuf> {
    let mut level = vec![root.to_path_buf()];
    for _ in 0..DEPTH {
        let below = level.iter().flat_map(|folder| entries(folder));
        level = below.filter(|path| is_open_folder(path)).collect();
        let tests = level.iter().find(|path| {
            let name = path.file_name().unwrap_or_default();
            (name == "tests" || name == "test") && entries(path).iter().any(|it| is_test(it))
        });
        if let Some(tests) = tests {
            return Some(tests.clone());
        }
    }
    None
}

fn is_open_folder(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.is_dir() && !path.is_symlink() && !name.starts_with('.')
}

/// `test_x.py`, `x_test.py`
fn is_test(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let name = name.strip_suffix(".py").unwrap_or_default();
    name.starts_with("test") || name.ends_with("_test")
}

/// What is in a folder, sorted; nothing if it cannot be read.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    paths
}
