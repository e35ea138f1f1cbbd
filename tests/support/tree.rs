//! Temporary trees that the binary runs in.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use super::run;

/// The patch of a tree with these files, with all fixes of borrowed references, and the reasons
/// where there is none.
pub(crate) fn patch(files: &[(&str, &str)]) -> String {
    let files: Vec<(&str, &[u8])> = files
        .iter()
        .map(|(name, text)| (*name, text.as_bytes()))
        .collect();
    let tree = Tree::new(&files);
    let options = ["--select", "UG1,UG301", "--min-python", "3.13"];
    let patch = tree.ungil(&[&["diff"][..], &options].concat());
    let told = tree.ungil(&[&["check"][..], &options].concat());
    let text = told.text();
    let by_hand = text.lines().filter(|line| line.contains("by hand: "));
    let lines = patch.text();
    let lines = lines
        .lines()
        .filter(|line| !line.starts_with("diff ") && !line.starts_with("index "));
    let all: Vec<&str> = lines
        .map(str::trim_end)
        .chain(by_hand.map(str::trim))
        .collect();
    all.join("\n")
}

/// A temporary folder.
pub(crate) struct Tree(tempfile::TempDir);

impl Tree {
    pub(crate) fn new(files: &[(&str, &[u8])]) -> Self {
        let tree = Self(tempfile::tempdir().unwrap());
        for (name, bytes) in files {
            tree.write(name, bytes);
        }
        tree
    }

    /// The bundled example.
    pub(crate) fn example() -> Self {
        let tree = Self::new(&[]);
        let original = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/example");
        for entry in fs::read_dir(original).unwrap() {
            let entry = entry.unwrap();
            fs::copy(entry.path(), tree.path().join(entry.file_name())).unwrap();
        }
        tree
    }

    /// The same tree as a git repository with one commit.
    pub(crate) fn committed(self) -> Self {
        self.git(&["init", "-q"]);
        // What is committed is what stands in the files.
        self.git(&["config", "core.autocrlf", "false"]);
        self.commit();
        self
    }

    pub(crate) fn commit(&self) {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-qm", "all"]);
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        let path = self.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.path().join(name)).unwrap()
    }

    pub(crate) fn text(&self, name: &str) -> String {
        String::from_utf8(self.read(name)).unwrap()
    }

    /// Names of all files below, without those of git, sorted.
    pub(crate) fn names(&self) -> Vec<PathBuf> {
        let mut names = Vec::new();
        let mut folders = vec![self.path().to_path_buf()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                match path.is_dir() {
                    true if path.ends_with(".git") => {}
                    true => folders.push(path),
                    false => names.push(path.strip_prefix(self.path()).unwrap().to_path_buf()),
                }
            }
        }
        names.sort();
        names
    }

    pub(crate) fn git(&self, arguments: &[&str]) -> Output {
        let identity = ["-c", "user.name=t", "-c", "user.email=t@example.invalid"];
        let mut git = Command::new("git");
        run(git.args(identity).args(arguments).current_dir(self.path()))
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ungil"));
        command.args(arguments).current_dir(self.path());
        for variable in ["UNGIL_OUTPUT_FORMAT", "PAGER", "GIT_PAGER", "COLUMNS"] {
            command.env_remove(variable);
        }
        command
    }

    pub(crate) fn ungil(&self, arguments: &[&str]) -> Ran {
        let output = self.command(arguments).output().unwrap();
        Ran {
            status: output.status.code().unwrap(),
            stdout: output.stdout,
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

/// How a run of the binary ended.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) status: i32,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: String,
}

impl Ran {
    pub(crate) fn text(&self) -> &str {
        str::from_utf8(&self.stdout).unwrap()
    }
}
