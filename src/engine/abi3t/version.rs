//! Which version of the limited API C and build files ask for.

use super::{Found, ObstacleKind, PYTHON};
use crate::build::{BuildFile, words};
use crate::capi::PyVersion;
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

/// Adds the places that ask for a version before [`PYTHON`].
pub(super) fn add(
    files: &FileSet,
    index: &[FileIndex],
    builds: &[BuildFile<'_>],
    found: &mut Found,
) {
    for (id, file) in files.iter() {
        for define in index[id.index()].defines(file, b"Py_LIMITED_API") {
            let value = version(&file.text(define.body));
            note(value, (id, define.name), found);
        }
    }
    for build in builds {
        let words = words(build.source.bytes());
        for word in words
            .iter()
            .filter(|word| OPTIONS.contains(&word.text.trim_start_matches("-D")))
        {
            let place = (build.id, build.span(word.range.clone()));
            note(version(word.rest), place, found);
        }
    }
}

fn note(version: Option<PyVersion>, place: (FileId, ByteSpan), found: &mut Found) {
    let Some(version) = version.filter(|version| *version < PYTHON) else {
        return;
    };
    let key = (ObstacleKind::OlderVersion, version.to_string());
    found.entry(key).or_default().insert(place);
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
