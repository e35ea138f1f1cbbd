//! Which folder a run is about.

use std::path::{Path, PathBuf};

/// Files that mark the top of a Python project.
const PROJECT_FILES: [&str; 3] = ["pyproject.toml", "setup.py", "setup.cfg"];

/// The folders a run is about, absolute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Roots {
    /// Folder with the project's metadata; its whole tree is read.
    pub project: PathBuf,
    /// Top of the git repository around the project.
    pub repository: Option<PathBuf>,
}

impl Roots {
    /// The folder that paths are relative to.
    #[must_use]
    pub fn base(&self) -> &Path {
        self.repository.as_deref().unwrap_or(&self.project)
    }
}

/// Finds the folders for absolute, existing `paths` (at least one).
///
/// The project is the nearest folder around all of them that holds a project file, inside of the
/// repository; where there is none, it is the folder around them itself.
#[must_use]
pub fn find_roots(paths: &[PathBuf]) -> Roots {
    let common = common_folder(paths);
    // `.git` is a file in a worktree or submodule.
    let repository = common
        .ancestors()
        .find(|folder| folder.join(".git").exists());
    let inside = |folder: &&Path| repository.is_none_or(|top| folder.starts_with(top));
    let is_project = |folder: &&Path| PROJECT_FILES.iter().any(|file| folder.join(file).is_file());
    let project = common.ancestors().take_while(inside).find(is_project);
    Roots {
        project: project.unwrap_or(&common).to_path_buf(),
        repository: repository.map(Path::to_path_buf),
    }
}

fn common_folder(paths: &[PathBuf]) -> PathBuf {
    let folders = paths.iter().map(|path| {
        let folder = if path.is_dir() {
            Some(path.as_path())
        } else {
            path.parent()
        };
        folder.unwrap_or(path)
    });
    let common = folders.reduce(|a, b| {
        a.ancestors()
            .find(|folder| b.starts_with(folder))
            .unwrap_or(a)
    });
    common.unwrap_or(Path::new("")).to_path_buf()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::find_roots;

    #[test]
    fn the_project_lies_inside_the_repository() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path();
        fs::create_dir_all(top.join("repo/.git")).unwrap();
        fs::create_dir_all(top.join("repo/pkg/src/deep")).unwrap();
        fs::write(top.join("setup.py"), "").unwrap();
        fs::write(top.join("repo/pkg/setup.cfg"), "").unwrap();
        let roots = find_roots(&[top.join("repo/pkg/src"), top.join("repo/pkg/src/deep")]);
        assert_eq!(roots.project, top.join("repo/pkg"));
        assert_eq!(roots.base(), top.join("repo"));
        // The `setup.py` above the repository belongs to something else.
        assert_eq!(find_roots(&[top.join("repo")]).project, top.join("repo"));
    }

    #[test]
    fn without_metadata_the_given_folder_is_the_project() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("m.c"), "").unwrap();
        let roots = find_roots(&[folder.path().join("m.c")]);
        assert_eq!(roots.base(), folder.path());
    }
}
