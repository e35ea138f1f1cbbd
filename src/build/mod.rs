//! Build files: what says how extension modules are compiled, packed and published.

mod python;
mod targets;
mod toml;
mod words;

use std::path::Path;

pub use python::Python;
pub use targets::{Extent, Target, is_match, targets};
pub use toml::Toml;
pub use words::{Word, comment, words};

use crate::source::{ByteSpan, FileId, SourceFile};

/// What a build file is, told from its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BuildKind {
    /// `setup.py`.
    SetupPy,
    /// `setup.cfg`.
    SetupCfg,
    /// `pyproject.toml`.
    PyProject,
    /// `meson.build`.
    Meson,
    /// `CMakeLists.txt`.
    CMake,
    /// `MANIFEST.in`.
    Manifest,
    /// `Setup`, `Setup.local`: modules and their sources, as CPython lists them.
    Setup,
    /// A workflow of GitHub Actions.
    Workflow,
}

impl BuildKind {
    /// What a file of this name is; `None` if it is no build file.
    #[must_use]
    pub fn of_name(path: &Path) -> Option<Self> {
        match path.file_name()?.to_str()? {
            "setup.py" => Some(Self::SetupPy),
            "setup.cfg" => Some(Self::SetupCfg),
            "pyproject.toml" => Some(Self::PyProject),
            "meson.build" => Some(Self::Meson),
            "CMakeLists.txt" => Some(Self::CMake),
            "MANIFEST.in" => Some(Self::Manifest),
            name if name == "Setup" || name.starts_with("Setup.") => Some(Self::Setup),
            name if name.ends_with(".yml") || name.ends_with(".yaml") => {
                let folder = path.parent()?;
                folder
                    .ends_with(".github/workflows")
                    .then_some(Self::Workflow)
            }
            _ => None,
        }
    }
}

/// A build file as rules see it.
#[derive(Debug)]
pub struct BuildFile<'a> {
    /// Its number in the package.
    pub id: FileId,
    /// What it is.
    pub kind: BuildKind,
    /// Its bytes.
    pub source: &'a SourceFile,
    /// What they say.
    pub content: Content,
}

/// The structure of a build file.
#[derive(Debug)]
pub enum Content {
    /// A syntax tree of Python.
    Python(Python),
    /// Tables of TOML.
    Toml(Toml),
    /// Text of which only [`words`] are looked at.
    Text,
    /// It is not what its name says: why, lower case, no full stop.
    Broken(String),
}

impl<'a> BuildFile<'a> {
    /// Reads the structure of `source`.
    #[must_use]
    pub fn new(id: FileId, kind: BuildKind, source: &'a SourceFile) -> Self {
        let content = match kind {
            BuildKind::SetupPy => Python::parse(source.bytes()).map(Content::Python),
            BuildKind::PyProject => Toml::parse(source.bytes()).map(Content::Toml),
            BuildKind::SetupCfg
            | BuildKind::Meson
            | BuildKind::CMake
            | BuildKind::Manifest
            | BuildKind::Setup
            | BuildKind::Workflow => Ok(Content::Text),
        };
        Self {
            id,
            kind,
            source,
            content: content.unwrap_or_else(Content::Broken),
        }
    }

    /// The words of the file outside of comments.
    #[must_use]
    pub fn words(&self) -> Vec<Word<'a>> {
        words(self.source.bytes())
    }

    /// The span of `range`, which lies in this file.
    #[must_use]
    pub fn span(&self, range: std::ops::Range<usize>) -> ByteSpan {
        let offset = |at: usize| u32::try_from(at).expect("files are below 4 GiB");
        ByteSpan::new(offset(range.start), offset(range.end))
    }
}
