//! The supported Python versions from a project's metadata files.

use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use regex::Regex;

use super::python::PythonRange;
use crate::capi::PyVersion;

static PYTHON_REQUIRES: LazyLock<Regex> = LazyLock::new(|| {
    // setup.cfg: `python_requires = >=3.8`; setup.py: `python_requires=">=3.8"`.
    Regex::new(r#"(?m)\bpython_requires\s*=\s*["']?([^"'\r\n#)]+)"#).expect("a valid pattern")
});

static CLASSIFIER: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"Programming Language :: Python :: 3\.(\d+)").expect("a valid pattern")
});

/// The versions that the metadata in `project` names. `min`, if given, replaces the oldest one.
pub(super) fn python_range(project: &Path, min: Option<PyVersion>) -> PythonRange {
    let read = |name: &str| fs::read_to_string(project.join(name)).unwrap_or_default();
    let texts = [
        ("pyproject.toml", read("pyproject.toml")),
        ("setup.cfg", read("setup.cfg")),
        ("setup.py", read("setup.py")),
    ];
    let declared = from_pyproject(&texts[0].1)
        .or_else(|| {
            texts[1..]
                .iter()
                .find_map(|(name, text)| from_setup(name, text))
        })
        .or_else(|| {
            texts
                .iter()
                .find_map(|(name, text)| from_classifiers(name, text))
        });
    let mut range = declared.unwrap_or_else(|| PythonRange {
        min: PythonRange::DEFAULT_MIN,
        max: None,
        source: "assumed, because the project does not state it".to_owned(),
    });
    if let Some(min) = min {
        range.min = min;
        range.max = range.max.filter(|&max| max >= min);
        range.source = "min-python".to_owned();
    }
    range
}

fn from_pyproject(text: &str) -> Option<PythonRange> {
    // A file that is no TOML has been refused when the configuration was read.
    let table: toml::Table = text.parse().ok()?;
    let standard = table
        .get("project")
        .and_then(|project| project.get("requires-python"));
    let poetry = || {
        table
            .get("tool")?
            .get("poetry")?
            .get("dependencies")?
            .get("python")
    };
    let specifiers = standard.or_else(poetry)?.as_str()?;
    PythonRange::from_specifiers(specifiers, "requires-python in pyproject.toml")
}

fn from_setup(name: &str, text: &str) -> Option<PythonRange> {
    let specifiers = PYTHON_REQUIRES.captures(text)?.get(1)?.as_str();
    PythonRange::from_specifiers(specifiers, &format!("python_requires in {name}"))
}

fn from_classifiers(name: &str, text: &str) -> Option<PythonRange> {
    let minors = CLASSIFIER
        .captures_iter(text)
        .filter_map(|found| found[1].parse::<u8>().ok());
    // Classifiers list what is tested; they say nothing against later versions.
    let min = PyVersion::new(3, minors.min()?);
    Some(PythonRange {
        min,
        max: None,
        source: format!("classifiers in {name}"),
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::python_range;
    use crate::capi::PyVersion;

    fn range(files: &[(&str, &str)], min: Option<u8>) -> (String, String) {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            fs::write(folder.path().join(name), text).unwrap();
        }
        let range = python_range(folder.path(), min.map(|minor| PyVersion::new(3, minor)));
        (range.min.to_string(), range.source)
    }

    #[test]
    fn requires_python_comes_before_setup_and_classifiers() {
        let setup = ("setup.py", "setup(python_requires='>=3.7', classifiers=[])");
        let pyproject = (
            "pyproject.toml",
            "[project]\nrequires-python = \">=3.10\"\n",
        );
        let found = range(&[setup, pyproject], None);
        assert_eq!(
            found,
            ("3.10".into(), "requires-python in pyproject.toml".into())
        );
        assert_eq!(
            range(&[setup], None),
            ("3.7".into(), "python_requires in setup.py".into())
        );
        let cfg = ("setup.cfg", "[options]\npython_requires = >=3.8\n");
        assert_eq!(range(&[setup, cfg], None).0, "3.8");
    }

    #[test]
    fn classifiers_are_the_last_resort() {
        let text =
            "'Programming Language :: Python :: 3.11', 'Programming Language :: Python :: 3.9'";
        assert_eq!(range(&[("setup.py", text)], None).0, "3.9");
        assert_eq!(range(&[], None).0, "3.9");
    }

    #[test]
    fn the_option_wins() {
        let pyproject = (
            "pyproject.toml",
            "[project]\nrequires-python = \">=3.10\"\n",
        );
        assert_eq!(
            range(&[pyproject], Some(13)),
            ("3.13".into(), "min-python".into())
        );
    }
}
