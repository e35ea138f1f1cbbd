//! What `ungil check` writes for other programs, and which findings it leaves out.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::path::PathBuf;

use serde_json::Value;
use support::snapshots;
use support::tree::Tree;

const FORMATS: [&str; 9] = [
    "full", "concise", "json", "sarif", "github", "gitlab", "junit", "markdown", "html",
];

/// A function that uses an item without owning it.
fn function(name: &str) -> String {
    format!(
        "static Py_ssize_t\n{name}(PyObject *list)\n{{\n    PyObject *item = \
         PyList_GetItem(list, 0);\n    return PyObject_Size(item);\n}}\n"
    )
}

fn module(functions: &[&str]) -> String {
    let functions = functions.iter().map(|name| function(name));
    format!("#include <Python.h>\n\n{}", functions.collect::<String>())
}

/// The functions of the findings that `ungil check` with `options` prints.
fn functions(tree: &Tree, options: &[&str]) -> Vec<String> {
    let ran = tree.ungil(&[&["check", "--output-format=json"], options].concat());
    let findings: Value = serde_json::from_slice(&ran.stdout).unwrap();
    let findings = findings.as_array().unwrap().iter();
    let name = |finding: &Value| finding["function"].as_str().unwrap().to_owned();
    findings.map(name).collect()
}

#[test]
fn every_format_goes_to_a_file() {
    let tree = Tree::example();
    let before = tree.names();
    for format in FORMATS {
        let printed = tree.ungil(&["check", "--output-format", format]);
        let written = tree.ungil(&["check", "--output-format", format, "-o", "out"]);
        assert_eq!((printed.status, written.status), (1, 1), "{format}");
        assert!(written.stdout.is_empty(), "{format}");
        assert!(!printed.stdout.is_empty(), "{format}");
        assert_eq!(tree.read("out"), printed.stdout, "{format}");
    }
    let mut after = tree.names();
    after.retain(|name| !before.contains(name));
    assert_eq!(after, [PathBuf::from("out")]);
}

#[test]
fn what_people_read_of_the_example() {
    let tree = Tree::example();
    let outputs = [
        ("check_full", &["check"][..]),
        ("check_concise", &["check", "--output-format", "concise"]),
        ("check_statistics", &["check", "--statistics"]),
        ("diff", &["diff", "--min-python", "3.13"]),
    ];
    for (name, arguments) in outputs {
        let ran = tree.ungil(arguments);
        snapshots::settings("cli").bind(|| insta::assert_snapshot!(name, ran.text()));
    }
}

#[test]
fn people_read_the_worst_first_and_programs_go_by_line() {
    let buffer = "static PyObject *\nshown(PyObject *self, PyObject *arg)\n{\n    static char text[16];\n    \
                  PyOS_snprintf(text, sizeof(text), \"%p\", (void *)arg);\n    return \
                  PyUnicode_FromString(text);\n}\nstatic PyMethodDef methods[] = {\n    {\"shown\", \
                  shown, METH_O, NULL},\n    {NULL, NULL, 0, NULL},\n};\n";
    let text = format!("#include <Python.h>\n\n{buffer}{}", function("f"));
    let tree = Tree::new(&[("m.c", text.as_bytes())]);
    let codes = |format: &str| {
        let ran = tree.ungil(&["check", "--output-format", format]);
        let code = regex::Regex::new(r"UG\d+ [a-z]").unwrap();
        let text = String::from_utf8(ran.stdout).unwrap();
        let found = code.find_iter(&text).map(|it| it.as_str()[..5].to_owned());
        (found.collect::<Vec<_>>(), ran.stderr)
    };
    let (full, said) = codes("full");
    assert_eq!(full, ["UG101", "UG502"]);
    assert!(
        said.contains("Severity: 1 memory error, 1 race\n"),
        "{said}"
    );
    assert_eq!(codes("github").0, ["UG101", "UG502"]);
    assert_eq!(codes("concise").0, ["UG502", "UG101"]);
}

#[test]
fn a_file_that_cannot_be_written_is_named() {
    let ran = Tree::example().ungil(&["check", "-o", "no/such/folder"]);
    assert_eq!((ran.status, ran.stdout.len()), (2, 0));
    assert!(
        ran.stderr.contains("cannot write `no/such/folder`"),
        "{}",
        ran.stderr
    );
}

/// The properties that the standard gives an object, and whether it must have them (`!`), for all
/// that the program writes; by the name of the property that holds the object.
const SARIF: [(&str, &str); 29] = [
    ("log", "$schema version! runs!"),
    (
        "runs",
        "tool! invocations originalUriBaseIds automationDetails columnKind results",
    ),
    ("tool", "driver!"),
    ("driver", "name! semanticVersion rules notifications"),
    (
        "rules",
        "id! name shortDescription fullDescription help defaultConfiguration properties",
    ),
    ("notifications", "id! shortDescription"),
    ("shortDescription", "text!"),
    ("fullDescription", "text!"),
    ("help", "text! markdown"),
    ("defaultConfiguration", "level rank"),
    ("properties", "tags"),
    ("automationDetails", "id"),
    ("originalUriBaseIds", "SRCROOT"),
    ("SRCROOT", "description"),
    (
        "invocations",
        "executionSuccessful! toolExecutionNotifications",
    ),
    (
        "toolExecutionNotifications",
        "descriptor level message! locations",
    ),
    (
        "results",
        "ruleId ruleIndex kind level rank message! locations partialFingerprints codeFlows fixes \
         suppressions",
    ),
    ("suppressions", "kind! justification"),
    ("partialFingerprints", "ungil/v1"),
    ("codeFlows", "threadFlows!"),
    ("threadFlows", "locations!"),
    (
        "locations",
        "physicalLocation logicalLocations message location",
    ),
    ("location", "physicalLocation logicalLocations message"),
    ("logicalLocations", "name kind"),
    ("physicalLocation", "artifactLocation region"),
    ("fixes", "description artifactChanges!"),
    ("artifactChanges", "artifactLocation! replacements!"),
    ("replacements", "deletedRegion! insertedContent"),
    ("artifactLocation", "uri uriBaseId"),
];

/// Asserts that `value`, found under `key`, has only properties of the standard.
fn keeps_to_the_standard(key: &str, value: &Value) {
    match value {
        Value::Array(values) => {
            assert!(
                !values.is_empty()
                    || matches!(
                        key,
                        "results" | "suppressions" | "toolExecutionNotifications"
                    ),
                "{key}"
            );
            values
                .iter()
                .for_each(|value| keeps_to_the_standard(key, value));
        }
        Value::Object(properties) => {
            if let Some((_, known)) = SARIF.iter().find(|(name, _)| *name == key) {
                for name in known.split(' ') {
                    let must = name.ends_with('!');
                    assert!(
                        !must || properties.contains_key(name.trim_end_matches('!')),
                        "{key}"
                    );
                }
                let mut known = known.split(' ').map(|name| name.trim_end_matches('!'));
                let strange = properties
                    .keys()
                    .find(|name| !known.clone().any(|known| known == *name));
                assert_eq!(strange, None, "{key} has {:?}", known.next());
            }
            for (name, value) in properties {
                keeps_to_the_standard(name, value);
            }
        }
        _ => {}
    }
}

#[test]
fn sarif_keeps_to_the_standard() {
    let broken = "static int f(void)\n{\n    return 1 +* / 2;\n}\nint g(PyObject *list) { return \
                  PyList_GetItem(list, 0) == NULL; }\n";
    let tree = Tree::example().committed();
    tree.write("odd name \u{e9}.c", broken);
    let ran = tree.ungil(&["check", "--output-format", "sarif", "--show-safe"]);
    let log: Value = serde_json::from_slice(&ran.stdout).unwrap();
    keeps_to_the_standard("log", &log);
    assert_eq!(log["version"], "2.1.0");
    let run = &log["runs"][0];
    let gaps = &run["invocations"][0]["toolExecutionNotifications"];
    assert_eq!(gaps.as_array().unwrap().len(), 1);
    let mut fingerprints = Vec::new();
    for result in run["results"].as_array().unwrap() {
        let index = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
        assert_eq!(
            run["tool"]["driver"]["rules"][index]["id"],
            result["ruleId"]
        );
        let passed = result["kind"] == "pass";
        assert_eq!(passed, result["level"] == "none", "{result}");
        fingerprints.push(result["partialFingerprints"]["ungil/v1"].as_str().unwrap());
    }
    assert!(
        run["results"]
            .as_array()
            .unwrap()
            .iter()
            .any(|result| result["kind"] == "pass")
    );
    let text = ran.text();
    assert!(text.contains("\"odd%20name%20%C3%A9.c\""), "{text}");
    assert!(
        !text.contains(tree.path().to_str().unwrap()),
        "an absolute path"
    );
    let count = fingerprints.len();
    fingerprints.sort_unstable();
    fingerprints.dedup();
    assert_eq!(fingerprints.len(), count);
}

#[test]
fn sarif_tells_of_what_is_silenced_and_why() {
    let silenced = function("one").replace(
        "    PyObject *item",
        "    /* ungil: ignore[UG101] -- \u{e9}t\u{e9} */\n    PyObject *item",
    );
    let code = format!("#include <Python.h>\n\n{silenced}{}", function("two"));
    let config = "[per-file-ignores]\n\"old.c\" = [\"UG101\"]\n";
    let tree = Tree::new(&[
        ("ungil.toml", config.as_bytes()),
        ("m.c", code.as_bytes()),
        ("old.c", module(&["three"]).as_bytes()),
    ]);
    let ran = tree.ungil(&["check", "--output-format", "sarif"]);
    let log: Value = serde_json::from_slice(&ran.stdout).unwrap();
    keeps_to_the_standard("log", &log);
    let results = log["runs"][0]["results"].as_array().unwrap().iter();
    let suppressions: Vec<&Value> = results.map(|result| &result["suppressions"]).collect();
    assert_eq!(suppressions[0][0]["kind"], "inSource");
    assert_eq!(suppressions[0][0]["justification"], "\u{e9}t\u{e9}");
    assert_eq!(suppressions[1].as_array().unwrap().len(), 0);
    assert_eq!(suppressions[2][0]["kind"], "external");
    // Nobody else hears of them, and nobody else is called by another name.
    assert_eq!(functions(&tree, &[]), ["two"]);
    let name = |text: &str| {
        let tree = Tree::new(&[("m.c", text.as_bytes())]);
        let ran = tree.ungil(&["check", "--output-format=json"]);
        let findings: Value = serde_json::from_slice(&ran.stdout).unwrap();
        let last = findings.as_array().unwrap().last().unwrap();
        last["fingerprint"].as_str().unwrap().to_owned()
    };
    let twice = "static int f(PyObject *l)\n{\n    int n;\n    n = !PyList_GetItem(l, 0);\n    \
                 n = !PyList_GetItem(l, 0);\n    return n;\n}\n";
    let once = twice.replacen("    n =", "    /* ungil: ignore[UG101] */\n    n =", 1);
    assert_eq!(name(twice), name(&once));
}

#[test]
fn json_has_the_file_that_a_fix_needs() {
    let tree = Tree::new(&[
        (
            "pyproject.toml",
            b"[project]\nrequires-python = \">=3.9\"\n",
        ),
        ("m.c", module(&["f"]).as_bytes()),
    ]);
    let ran = tree.ungil(&["check", "--output-format=json"]);
    let findings: Value = serde_json::from_slice(&ran.stdout).unwrap();
    let file = &findings[0]["outcome"]["new_files"][0];
    assert_eq!(file["path"], "pyapi_compat.h");
    let text = file["text"].as_str().unwrap();
    assert!(text.contains("pyapi_compat_PyList_GetItemRef"), "{text}");
}

#[test]
fn paths_for_other_programs_begin_at_the_top_of_the_repository() {
    let tree = Tree::new(&[("deep/m.c", module(&["f"]).as_bytes())]).committed();
    for format in ["github", "gitlab", "sarif", "junit"] {
        let mut command = tree.command(&["check", "--output-format", format]);
        let output = command
            .current_dir(tree.path().join("deep"))
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(text.contains("deep/m.c"), "{format}: {text}");
    }
}

#[test]
fn statistics_stand_in_place_of_findings() {
    let ran = Tree::example().ungil(&["check", "--statistics", "-q"]);
    assert_eq!(ran.status, 1);
    assert!(ran.text().starts_with("CODE   NAME"), "{}", ran.text());
    let last = ran.text().lines().last().unwrap();
    let numbers: Vec<&str> = last.split_whitespace().collect();
    let all = Tree::example().ungil(&["check", "--show-safe", "--output-format=concise", "-q"]);
    let sum: usize = numbers[1..]
        .iter()
        .map(|number| number.parse::<usize>().unwrap())
        .sum();
    assert_eq!(sum, all.text().lines().count());
}

#[test]
fn a_baseline_knows_findings_wherever_their_lines_are() {
    let tree = Tree::new(&[("m.c", module(&["one", "two"]).as_bytes())]);
    let made = tree.ungil(&["check", "--baseline", "known.json", "--write-baseline"]);
    assert_eq!(made.status, 0, "{}", made.stderr);
    let known = ["--baseline", "known.json"];
    assert!(functions(&tree, &known).is_empty());
    assert_eq!(tree.ungil(&["check", "--baseline", "known.json"]).status, 0);

    tree.write(
        "m.c",
        module(&["two", "three", "one"]).replace("{\n", "{\n    int more;\n"),
    );
    assert_eq!(functions(&tree, &known), ["three"]);
    let ran = tree.ungil(&["check", "--baseline", "known.json"]);
    assert_eq!(ran.status, 1);
    assert!(
        ran.stderr.contains("2 findings known from the baseline"),
        "{}",
        ran.stderr
    );

    // The same findings make the same file.
    let bytes = tree.read("known.json");
    tree.write("m.c", module(&["two", "one"]));
    tree.ungil(&["check", "--baseline", "known.json", "--write-baseline"]);
    assert_eq!(tree.read("known.json"), bytes);
}

#[test]
fn a_baseline_that_cannot_be_used_is_named() {
    let tree = Tree::new(&[
        ("m.c", b""),
        ("other.json", b"{\"schema\": \"x/1\", \"findings\": {}}"),
    ]);
    for (file, reason) in [
        ("none.json", "`--write-baseline` creates one"),
        ("m.c", "`m.c` is not a baseline"),
        ("other.json", "a baseline of another kind: `x/1`"),
    ] {
        let ran = tree.ungil(&["check", "--baseline", file]);
        assert_eq!(ran.status, 2, "{file}");
        assert!(ran.stderr.contains(reason), "{}", ran.stderr);
    }
}

#[test]
fn since_a_commit_only_changed_functions_count() {
    let text = module(&["one", "two"]);
    let tree = Tree::new(&[
        ("m.c", text.as_bytes()),
        ("n.c", module(&["other"]).as_bytes()),
    ]);
    let tree = tree.committed();
    let since = ["--since", "HEAD"];
    assert!(functions(&tree, &since).is_empty());
    assert_eq!(functions(&tree, &[]).len(), 3);

    // A line more in one function moves the other one.
    let at = text.find("one(PyObject").unwrap();
    let changed = text[at..].replacen("{\n", "{\n    int more;\n", 1);
    tree.write("m.c", format!("{}{changed}", &text[..at]));
    assert_eq!(functions(&tree, &since), ["one"]);
    tree.write("new file.c", module(&["fresh"]));
    assert_eq!(functions(&tree, &since), ["one", "fresh"]);
    tree.commit();
    assert!(functions(&tree, &since).is_empty());
    assert_eq!(functions(&tree, &["--since", "HEAD~1"]), ["one", "fresh"]);
    // Less is a change, too.
    tree.write(
        "n.c",
        module(&["other"]).replace("    return PyObject_Size(item);\n", ""),
    );
    tree.write(
        "m.c",
        text.replace("#include <Python.h>\n\n", "#include <Python.h>\n"),
    );
    assert_eq!(functions(&tree, &["--since", "HEAD~1", "n.c"]), ["other"]);
}

#[test]
fn a_commit_that_is_not_there_is_named() {
    let tree = Tree::new(&[("m.c", b"int x;\n")]);
    let ran = tree.ungil(&["check", "--since", "HEAD"]);
    assert_eq!(ran.status, 2);
    assert!(
        ran.stderr.contains("needs a git repository"),
        "{}",
        ran.stderr
    );
    let tree = tree.committed();
    for name in ["nowhere", "--all"] {
        let ran = tree.ungil(&["check", &format!("--since={name}")]);
        assert_eq!(ran.status, 2);
        let message = format!("git does not know the commit `{name}`");
        assert!(ran.stderr.contains(&message), "{}", ran.stderr);
    }
}

#[test]
fn a_report_is_about_the_whole_package() {
    let tree = Tree::example();
    let page = tree.ungil(&["check", "--output-format", "markdown"]);
    for heading in [
        "## Modules",
        "## To do by hand",
        "## Safe fixes",
        "## Coverage",
        "Proven safe",
    ] {
        assert!(page.text().contains(heading), "{heading}");
    }
    assert!(
        page.text()
            .contains("| `inventory` | inventory.c | single-phase |"),
        "{}",
        page.text()
    );
    let rule = "<h2>Findings by rule</h2>";
    assert!(
        tree.ungil(&["check", "--output-format", "html"])
            .text()
            .contains(rule)
    );
}

#[test]
fn what_git_tracks_is_read_whatever_is_ignored() {
    let text = "#include <Python.h>\nint f(PyObject *l) { return PyObject_IsTrue(PyList_GetItem(l, \
                0)); }\n";
    let files: [(&str, &[u8]); 4] = [
        ("setup.py", b""),
        ("gen.c", text.as_bytes()),
        ("build/other.c", text.as_bytes()),
        (".gitignore", b"*.c\n"),
    ];
    let tree = Tree::new(&files[..3]).committed();
    tree.write(files[3].0, files[3].1);
    tree.write("untracked.c", text);
    let ran = tree.ungil(&["check", "--output-format", "concise"]);
    assert!(ran.text().starts_with("gen.c:2:"), "{}", ran.text());
    assert!(!ran.text().contains("other.c:"), "{}", ran.text());
    assert!(!ran.text().contains("untracked.c"), "{}", ran.text());
    let said = &ran.stderr;
    let named = "1 file that git tracks in a folder for build products, such as `build/other.c`";
    assert!(said.contains(named), "{said}");
}
