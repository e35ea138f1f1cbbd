//! Build files before and after `migrate --build-files`, run by Pythons with and without a GIL.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::fs;
use std::path::Path;
use std::process::Command;

use support::{free_threaded_python, run};

const SETUP: &str = "\
import sys
from setuptools import Extension, setup

use_abi3 = sys.version_info >= (3, 8)
macros = [(\"A\", \"1\"), (\"Py_LIMITED_API\", \"0x03080000\")]
flags = []
flags += [\"-DPy_LIMITED_API=0x03080000\"]
if use_abi3:
    macros.append((\"Py_LIMITED_API\",
                   \"0x03080000\"))

setup(
    ext_modules=[
        Extension(\"a\", define_macros=macros, py_limited_api=use_abi3),
        Extension(\"b\", extra_compile_args=[\"-O2\"] + flags, py_limited_api=True),
        Extension(\"c\", define_macros=[(\"Py_LIMITED_API\", \"0x03080000\")]),
    ],
    options={\"bdist_wheel\": {\"py_limited_api\": \"cp38\"}},
)
";

/// A `setuptools` that says what it is asked for.
const SETUPTOOLS: &str = "\
def Extension(*args, **options):
    return args, sorted(options.items())

def setup(**options):
    print(sorted(options.items()))
";

/// What `setup.py` in `folder` asks for under `python`; with the GIL the variable is 0 or unset.
fn asked(folder: &Path, python: &Path) -> String {
    let output = run(Command::new(python).arg("setup.py").current_dir(folder));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_limited_api_is_asked_for_with_the_gil_only() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    fs::write(path.join("setup.py"), SETUP).unwrap();
    fs::write(path.join("setuptools.py"), SETUPTOOLS).unwrap();
    fs::write(path.join("m.c"), "int x;\n").unwrap();
    let (with, without) = (Path::new("python3"), free_threaded_python());
    let before = asked(path, with);
    assert_eq!(asked(path, &without), before);

    let ungil = || {
        let mut ungil = Command::new(env!("CARGO_BIN_EXE_ungil"));
        ungil.current_dir(path);
        ungil
    };
    // Without the flag nothing is written, and the finding stays.
    let migrate = ["migrate", "--allow-no-vcs", "--select=UG8"];
    let refused = ungil().args(migrate).output().unwrap();
    assert_eq!(refused.status.code(), Some(1));
    assert_eq!(fs::read_to_string(path.join("setup.py")).unwrap(), SETUP);
    run(ungil().args(migrate).arg("--build-files"));

    assert_eq!(asked(path, with), before, "with the GIL nothing changes");
    let free = asked(path, &without);
    assert!(!free.contains("Py_LIMITED_API"), "{free}");
    assert!(!free.contains("'py_limited_api', True"), "{free}");
    assert!(!free.contains("cp38"), "{free}");
    assert!(
        free.contains("('A', '1')") && free.contains("-O2"),
        "{free}"
    );
    let again = run(ungil().args(["diff", "--select=UG8", "--build-files"]));
    assert!(again.stdout.is_empty());
}
