//! What the files are compared with.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};

use crate::cli::args::VerifyArgs;
use crate::cli::session::Session;
use crate::cli::store::{Replaced, Store, Writes};
use crate::engine::Bytes;
use crate::source::FileId;

/// Older bytes of files.
#[derive(Debug)]
pub(super) struct Baseline {
    /// Those of files that have changed; empty for files that are new.
    pub(super) before: Bytes,
    /// Where they are from, in words.
    pub(super) what: String,
}

impl Baseline {
    /// What `args` name; else what the last write replaced; else the last commit.
    ///
    /// # Errors
    /// If git or the journal do not give the bytes.
    pub(super) fn choose(run: &Session, args: &VerifyArgs) -> anyhow::Result<Self> {
        if let Some(revision) = &args.since {
            return Self::revision(run, revision);
        }
        if let Some(store) = Store::find(&run.roots.project)?
            && let Some(baseline) = Self::last_write(run, &store.writes())?
        {
            return Ok(baseline);
        }
        match run.roots.repository {
            Some(_) => Self::revision(run, "HEAD"),
            None => {
                bail!("there is nothing to compare with: no write to verify, and no repository")
            }
        }
    }

    /// What the last of `writes` replaced; `None` if there was none.
    pub(super) fn last_write(run: &Session, writes: &Writes) -> anyhow::Result<Option<Self>> {
        let Some(Replaced(files)) = writes.replaced()? else {
            return Ok(None);
        };
        let known = files
            .into_iter()
            .filter_map(|(path, old)| Some((analysed(run, &path)?, old)));
        Ok(Some(Self {
            before: changed(run, known),
            what: "compared with what the last write replaced".to_owned(),
        }))
    }

    fn revision(run: &Session, revision: &str) -> anyhow::Result<Self> {
        let Some(repository) = &run.roots.repository else {
            bail!("this is not a git repository, so there is no `{revision}` to compare with");
        };
        // An option would be taken for one by git.
        let commit = format!("{revision}^{{commit}}");
        let commit = git(
            repository,
            &["rev-parse", "--verify", "--end-of-options", &commit],
        )
        .with_context(|| format!("`{revision}` is not a commit"))?;
        let commit = String::from_utf8_lossy(&commit).trim().to_owned();
        let list = ["diff", "--name-only", "--no-renames", "-z", &commit, "--"];
        let names = git(repository, &list)?;
        let mut before = Vec::new();
        for name in names
            .split(|&byte| byte == 0)
            .filter(|name| !name.is_empty())
        {
            let name = String::from_utf8_lossy(name);
            let selected = |id: &FileId| run.package.info(*id).selected;
            let Some(id) = analysed(run, Path::new(&*name)).filter(selected) else {
                continue;
            };
            // A file that the commit does not have is new.
            let old = git(repository, &["show", &format!("{commit}:{name}")]);
            before.push((id, old.unwrap_or_default()));
        }
        Ok(Self {
            before: changed(run, before),
            what: format!("compared with {revision}"),
        })
    }
}

/// The analysed file at `path`, which is relative to the root of the run.
fn analysed(run: &Session, path: &Path) -> Option<FileId> {
    let mut files = run.package.analysed();
    files
        .find(|(_, file)| file.path() == path)
        .map(|(id, _)| id)
}

fn changed(run: &Session, old: impl IntoIterator<Item = (FileId, Vec<u8>)>) -> Bytes {
    let differs = |(id, bytes): &(FileId, Vec<u8>)| run.package.files.get(*id).bytes() != bytes;
    old.into_iter().filter(differs).collect()
}

fn git(repository: &PathBuf, arguments: &[&str]) -> anyhow::Result<Vec<u8>> {
    let output = Command::new("git")
        .arg("--no-optional-locks")
        .args(arguments)
        .current_dir(repository)
        .output()
        .context("cannot run git")?;
    if !output.status.success() {
        bail!("git: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(output.stdout)
}
