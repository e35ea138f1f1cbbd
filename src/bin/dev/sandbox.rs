//! A copy of a package under version control, in which patches are tried.

use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Result, ensure};
use tempfile::TempDir;

use crate::process::{Run, run};

/// A package's files, committed to a repository of their own; gone when dropped.
pub(crate) struct Sandbox {
    _temp: TempDir,
    pub(crate) root: PathBuf,
    patch: PathBuf,
}

impl Sandbox {
    pub(crate) fn new(package: &Path) -> Result<Sandbox> {
        let temp = tempfile::tempdir()?;
        let root = temp.path().join("tree");
        // The original may be read only; the copy must not be.
        let mut copy = Command::new("cp");
        let copied = run(copy
            .args(["-r", "--no-preserve=mode"])
            .arg(package)
            .arg(&root))?;
        ensure!(
            copied.success(),
            "cannot copy {}: {}",
            package.display(),
            copied.stderr
        );

        let patch = temp.path().join("patch");
        let sandbox = Sandbox {
            _temp: temp,
            root,
            patch,
        };
        sandbox.git(&["init", "--quiet"])?;
        sandbox.commit()?;
        Ok(sandbox)
    }

    /// Writes down the patch that the methods below are about.
    pub(crate) fn set_patch(&self, patch: &[u8]) -> Result<()> {
        Ok(std::fs::write(&self.patch, patch)?)
    }

    /// Whether `git apply` takes the patch.
    pub(crate) fn git_applies(&self) -> Result<bool> {
        Ok(self
            .try_git(&[
                OsStr::new("apply"),
                OsStr::new("--check"),
                self.patch.as_ref(),
            ])?
            .success())
    }

    /// Whether `patch -p1` takes it without fuzz.
    pub(crate) fn patch_applies(&self) -> Result<bool> {
        let mut patch = Command::new("patch");
        patch.args(["-p1", "--dry-run", "--force", "--fuzz=0", "--binary", "-i"]);
        Ok(run(patch.arg(&self.patch).current_dir(&self.root))?.success())
    }

    /// The files that the patch changes, from the root.
    pub(crate) fn changed_files(&self) -> Result<Vec<PathBuf>> {
        let args = ["apply", "--numstat", "-z"].map(OsStr::new);
        let stat = self.try_git(&[&args[..], &[self.patch.as_ref()]].concat())?;
        let stat = String::from_utf8_lossy(&stat.stdout).into_owned();
        let paths = stat
            .split('\0')
            .filter_map(|line| line.splitn(3, '\t').nth(2));
        Ok(paths.map(PathBuf::from).collect())
    }

    /// Applies the patch and commits the result.
    pub(crate) fn apply(&self) -> Result<()> {
        let applied = self.try_git(&[OsStr::new("apply"), self.patch.as_ref()])?;
        ensure!(applied.success(), "git apply: {}", applied.stderr);
        self.commit()
    }

    fn commit(&self) -> Result<()> {
        self.git(&["add", "--all", "--force"])?;
        self.git(&["commit", "--quiet", "--allow-empty", "--message", "state"])
    }

    fn git(&self, args: &[&str]) -> Result<()> {
        let git = self.try_git(&args.iter().map(OsStr::new).collect::<Vec<_>>())?;
        ensure!(git.success(), "git {}: {}", args[0], git.stderr);
        Ok(())
    }

    /// Runs git without the user's settings: they may convert line ends or ask for a signature.
    fn try_git(&self, args: &[&OsStr]) -> Result<Run> {
        let mut git = Command::new("git");
        git.current_dir(&self.root)
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .args(["-c", "user.name=ungil", "-c", "user.email=ungil@localhost"])
            .args(["-c", "gc.auto=0", "-c", "advice.addEmbeddedRepo=false"]);
        run(git.args(args))
    }
}
