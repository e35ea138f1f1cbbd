//! Which versions of the limited API C and build files ask for.

use super::build;
use super::workspace::Workspace;
use crate::build::{BuildFile, words};
use crate::capi::PyVersion;
use crate::compat::Target;
use crate::package::{FileKind, Package};
use crate::preprocess::FileIndex;
use crate::source::{ByteSpan, FileId, FileSet};

/// What asks for the limited API, in any build file.
const OPTIONS: &[&str] = &[
    "Py_LIMITED_API",
    "py_limited_api",
    "py-limited-api",
    "limited_api",
    "limited-api",
    "USE_SABI",
];

/// One place that asks for the limited API.
pub(super) struct Request {
    /// `None` where it does not say which version, or says it in other words.
    pub version: Option<PyVersion>,
    pub place: (FileId, ByteSpan),
}

/// All of them, in C and then in build files.
pub(super) fn requests(
    files: &FileSet,
    index: &[FileIndex],
    builds: &[BuildFile<'_>],
) -> Vec<Request> {
    let mut requests = Vec::new();
    for (id, file) in files.iter() {
        let defines = index[id.index()].defines(file, b"Py_LIMITED_API");
        requests.extend(defines.into_iter().map(|define| Request {
            version: version(&file.text(define.body)),
            place: (id, define.name),
        }));
    }
    for build in builds {
        let words = words(build.source.bytes());
        let options = words.iter().filter(|word| is_option(word.text));
        requests.extend(options.map(|word| Request {
            version: version(word.rest),
            place: (build.id, build.span(word.range.clone())),
        }));
    }
    requests
}

fn is_option(word: &str) -> bool {
    OPTIONS.contains(&word.trim_start_matches("-D"))
}

/// What the functions that the fixes of a package call have to be there for, if the oldest Python
/// is `oldest`. What generated files ask for is not for those that fixes change.
pub(super) fn target(package: &Package, workspace: &Workspace, oldest: u32) -> Target {
    let mut requests = requests(&workspace.files, &workspace.index, &build::files(package));
    requests.retain(|request| {
        let info = package.info_of(request.place.0);
        !info.is_some_and(|info| matches!(info.kind, FileKind::Generated(_)))
    });
    let versions = requests.iter().filter_map(|request| request.version);
    Target {
        oldest: versions.map(PyVersion::hex).fold(oldest, u32::min),
        limited: !requests.is_empty(),
    }
}

/// The first version of Python 3 in `text`, however it is spelled: `0x03090000`, `cp39`, `3.9`, or
/// the lone `3` that stands for 3.2.
fn version(text: &str) -> Option<PyVersion> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '.';
    let mut parts = text.split(|c| !is_part(c)).filter(|part| !part.is_empty());
    parts.find_map(|part| {
        let part = part.to_ascii_lowercase();
        if let Some(digits) = part.strip_prefix("0x") {
            let hex = u32::from_str_radix(digits, 16).ok()?;
            let minor = u8::try_from(hex >> 16 & 0xff).ok()?;
            return (hex >> 24 == 3).then(|| PyVersion::new(3, minor));
        }
        if let Some(digits) = part.strip_prefix("cp3") {
            return digits.parse().ok().map(|minor| PyVersion::new(3, minor));
        }
        match &*part {
            "3" => Some(PyVersion::new(3, 2)),
            _ => part.parse().ok(),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::version;

    #[test]
    fn versions_are_read_in_all_spellings() {
        let read = |text| version(text).map(|version| version.to_string());
        assert_eq!(read(" 0x030a0000").as_deref(), Some("3.10"));
        assert_eq!(read("\", \"0x03090000\")]").as_deref(), Some("3.9"));
        assert_eq!(read("=cp312").as_deref(), Some("3.12"));
        assert_eq!(read(": '3.8',").as_deref(), Some("3.8"));
        assert_eq!(read(" 3)").as_deref(), Some("3.2"));
        assert_eq!(read("=True"), None);
        assert_eq!(read("=not is_free_threaded"), None);
    }
}
