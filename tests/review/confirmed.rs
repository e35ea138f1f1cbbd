//! What is confirmed once settles all fixes that ask for it, and no other.

use std::fs;

use super::repository::{Repository, said};
use super::terminal::Terminal;

/// A method with a static buffer of its own.
fn buffer(name: &str) -> String {
    format!(
        "static PyObject *\n{name}(PyObject *self, PyObject *arg)\n{{\n    static char text[16];\n    \
         PyOS_snprintf(text, sizeof(text), \"%p\", (void *)arg);\n    return \
         PyUnicode_FromString(text);\n}}\n\n"
    )
}

/// Two methods with buffers of one name.
fn buffers() -> Repository {
    let rows = ["one", "two"].map(|name| format!("    {{\"{name}\", {name}, METH_O, NULL}},\n"));
    let text = format!(
        "#include <Python.h>\n\n{}{}static PyMethodDef methods[] = {{\n{}    {{NULL, NULL, 0, \
         NULL}},\n}};\n",
        buffer("one"),
        buffer("two"),
        rows.concat()
    );
    let repository = Repository::empty();
    let files = [
        ("m.c", &*text),
        (
            "pyproject.toml",
            "[project]  # ours\nname = \"m\"\nrequires-python = \">=3.13\"\n",
        ),
    ];
    for (name, text) in files {
        fs::write(repository.path().join(name), text).unwrap();
    }
    repository.commit();
    repository
}

const ONE: &str = "stays-in-thread=m.c:one:text";
const TWO: &str = "stays-in-thread=m.c:two:text";
const KNOWN: &str = "has-thread-local=project";

/// What `review --confirm KEY` says.
fn confirm(repository: &Repository, key: &str) -> String {
    said(&repository.ungil(&["review", "--confirm", key], ""))
}

/// The names for `--confirm` with the number of fixes that rest on each.
fn asked(repository: &Repository) -> Vec<(String, usize)> {
    let list = repository.json(&["--list"]);
    let questions = list["questions"].as_array().unwrap().iter();
    let asked = questions.map(|it| {
        let fixes = it["fixes"].as_array().unwrap();
        (it["confirm"].as_str().unwrap().to_owned(), fixes.len())
    });
    asked.collect()
}

fn levels(repository: &Repository) -> Vec<String> {
    let list = repository.json(&["--list"]);
    let fixes = list["fixes"].as_array().unwrap().iter();
    fixes
        .map(|fix| fix["level"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn what_several_fixes_rest_on_is_one_question() {
    let repository = buffers();
    let wanted = [(ONE, 1), (TWO, 1), (KNOWN, 2)].map(|(key, on)| (key.to_owned(), on));
    assert_eq!(asked(&repository), wanted);
    let told = "2 fixes are correct only if the compiler supports `_Thread_local` of C11";
    let how = format!("if this is true, run `ungil review --confirm '{KNOWN}'`\n");
    let list = repository.ungil(&["review", "--list"], "");
    let text = String::from_utf8_lossy(&list.stdout);
    assert!(text.contains(&format!("{told}\n  {how}")), "{text}");
    for command in ["check", "diff"] {
        let text = said(&repository.ungil(&[command], ""));
        assert!(text.contains(&format!("{told}; {how}")), "{text}");
        assert!(!text.contains("no pointer into"), "{text}");
    }
}

#[test]
fn one_answer_settles_all_that_rest_on_it() {
    let repository = buffers();
    let ids = repository.ids();
    // One of two conditions: nothing is safe yet.
    let text = confirm(&repository, KNOWN);
    let kept = "kept in pyproject.toml; 0 of 2 fixes that rest on it need no other answer\n";
    assert!(text.contains(kept), "{text}");
    assert_eq!(levels(&repository), ["review", "review"]);
    // A buffer of the same name in another function is another one.
    confirm(&repository, ONE);
    assert_eq!(levels(&repository), ["safe", "review"]);
    assert_eq!(repository.ids(), ids);
    let pyproject = fs::read_to_string(repository.path().join("pyproject.toml")).unwrap();
    insta::assert_snapshot!(pyproject, @r#"
    [project]  # ours
    name = "m"
    requires-python = ">=3.13"

    [tool.ungil.confirmed]
    has-thread-local = ["project"]
    stays-in-thread = ["m.c:one:text"]
    "#);
}

#[test]
fn a_fix_by_the_word_of_the_project_says_so() {
    let repository = buffers();
    confirm(&repository, KNOWN);
    confirm(&repository, ONE);
    let word =
        "Confirmed in pyproject.toml: the compiler supports `_Thread_local` of C11 (2 fixes)";
    let check = repository.ungil(&["check"], "");
    let text = String::from_utf8_lossy(&check.stdout);
    let note = "confirmed in the configuration: no pointer into `text`";
    assert!(text.contains(note), "{text}");
    assert!(said(&check).contains(word), "{}", said(&check));
    let concise = repository.ungil(&["check", "--output-format", "concise"], "");
    let text = String::from_utf8_lossy(&concise.stdout);
    assert!(text.contains("[safe fix by your word]"), "{text}");
    let diff = repository.ungil(&["diff"], "");
    let text = String::from_utf8_lossy(&diff.stdout);
    let made = text.matches("+    static _Thread_local").count();
    assert_eq!(made, 1, "{text}");
    assert!(said(&diff).contains(word), "{}", said(&diff));
}

#[test]
fn a_declaration_names_the_word_that_its_module_rests_on() {
    let repository = buffers();
    let path = repository.path().join("m.c");
    let text = fs::read_to_string(&path).unwrap();
    let init = "static struct PyModuleDef m = {PyModuleDef_HEAD_INIT, \"m\", NULL, -1, \
                methods};\nPyMODINIT_FUNC\nPyInit_m(void)\n{\n    return \
                PyModule_Create(&m);\n}\n";
    fs::write(&path, text + init).unwrap();
    let declared = || repository.json(&["--list"])["fixes"][2].clone();
    assert!(declared().get("confirmed").is_none());
    for key in [KNOWN, ONE, TWO] {
        confirm(&repository, key);
    }
    // What else it asks for stays.
    assert_eq!(declared()["level"], "review");
    assert_eq!(declared()["confirmed"].as_array().unwrap().len(), 3);
}

#[test]
fn what_no_fix_asks_is_refused_and_reported() {
    let repository = buffers();
    let path = repository.path().join("pyproject.toml");
    let before = fs::read_to_string(&path).unwrap();
    for key in ["stays-in-thread=m.c:text", "keeps-lists=m.c:one", "one"] {
        let ran = repository.ungil(&["review", "--confirm", key], "");
        assert_eq!(ran.status.code(), Some(2));
        assert!(said(&ran).contains("no fix asks for"), "{}", said(&ran));
    }
    assert_eq!(fs::read_to_string(&path).unwrap(), before);
    let word = "[tool.ungil.confirmed]\nstays-in-thread = [\"m.c:text\", \"m.c:one:text\"]\n";
    fs::write(&path, before.clone() + word).unwrap();
    let check = repository.ungil(&["check"], "");
    let unused =
        "pyproject.toml: no fix asks any more whether `confirmed.stays-in-thread` is true of ";
    assert!(
        said(&check).contains(&format!("{unused}`m.c:text`")),
        "{}",
        said(&check)
    );
    assert_eq!(said(&check).matches(unused).count(), 1, "{}", said(&check));
    // Not all that may ask had its say.
    let check = repository.ungil(&["check", "--select", "UG1"], "");
    assert!(!said(&check).contains(unused), "{}", said(&check));

    fs::write(
        &path,
        before + "[tool.ungil.confirmed]\nstays-in-thred = []\n",
    )
    .unwrap();
    let check = repository.ungil(&["check"], "");
    assert!(
        said(&check).contains("did you mean `stays-in-thread`?"),
        "{}",
        said(&check)
    );
}

#[test]
fn a_key_confirms_it_for_all() {
    let repository = buffers();
    let mut terminal = Terminal::new(&repository, 160);
    terminal.shows("c confirms it for all)");
    terminal.types("c");
    terminal.shows("[y]es / [n]o");
    terminal.types("y");
    terminal.shows("kept in pyproject.toml; 0 of 2 fixes");
    terminal.types("cy");
    terminal.shows("safe by your word");
    terminal.types("c");
    terminal.shows("this fix has nothing to confirm");
    terminal.types("Q");
    assert_eq!(terminal.ends().0, 1);
    // The same, line by line.
    let repository = buffers();
    let ran = repository.ungil(&["review", "--plain"], "c\ny\nc\nn\nc\ny\nQ\n");
    let text = String::from_utf8_lossy(&ran.stdout);
    assert!(
        text.contains(
            "by your word: the compiler supports `_Thread_local` of C11 (pyproject.toml)"
        ),
        "{text}"
    );
    let pyproject = fs::read_to_string(repository.path().join("pyproject.toml")).unwrap();
    assert!(
        pyproject.contains("stays-in-thread = [\"m.c:one:text\"]"),
        "{pyproject}"
    );
}

#[test]
fn undo_takes_a_confirmation_back() {
    let repository = buffers();
    let path = repository.path().join("pyproject.toml");
    let before = fs::read_to_string(&path).unwrap();
    let mut terminal = Terminal::new(&repository, 160);
    terminal.shows("c confirms it for all)");
    terminal.types("cy");
    terminal.shows("kept in pyproject.toml");
    terminal.types("n");
    terminal.shows("1 fix rejected");
    terminal.types("u");
    terminal.shows("decision undone");
    assert_ne!(fs::read_to_string(&path).unwrap(), before);
    terminal.types("u");
    terminal.shows("confirmation undone: it is no longer in pyproject.toml");
    assert_eq!(fs::read_to_string(&path).unwrap(), before);
    terminal.shows("c confirms it for all)");
    terminal.types("u");
    terminal.shows("no decision to undo");
    terminal.types("Q");
    assert_eq!(terminal.ends().0, 1);

    // A file that was made for it goes as well.
    fs::remove_file(&path).unwrap();
    repository.ungil(&["review", "--plain"], "c\ny\nu\nQ\n");
    assert!(!repository.path().join("ungil.toml").exists());
}

#[test]
fn functions_of_one_name_in_two_files_are_two() {
    let reader = "#include <Python.h>\n\nstatic void\nvisit(PyObject *item)\n{\n    \
                  Py_XDECREF(PyObject_CallNoArgs(item));\n}\n\nPyObject *\nwalk_NAME(PyObject \
                  *self, PyObject *arg)\n{\n    PyObject *fast, **items;\n    Py_ssize_t i, \
                  n;\n\n    fast = PySequence_Fast(arg, \"not a sequence\");\n    if (fast == \
                  NULL)\n        return NULL;\n    n = PySequence_Fast_GET_SIZE(fast);\n    items \
                  = PySequence_Fast_ITEMS(fast);\n    for (i = 0; i < n; i++)\n        \
                  visit(items[i]);\n    Py_DECREF(fast);\n    Py_RETURN_NONE;\n}\n";
    let repository = Repository::empty();
    for name in ["a", "b"] {
        let text = reader.replace("NAME", name);
        fs::write(repository.path().join(format!("{name}.c")), text).unwrap();
    }
    repository.commit();
    let list = repository.json(&["--list", "--min-python", "3.13"]);
    let keys: Vec<&str> = list["questions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["confirm"].as_str().unwrap())
        .collect();
    assert_eq!(keys, ["keeps-lists=a.c:visit", "keeps-lists=b.c:visit"]);
    // Where there is no configuration, there is one afterwards.
    repository.ungil(
        &["review", "--confirm", keys[0], "--min-python", "3.13"],
        "",
    );
    let own = fs::read_to_string(repository.path().join("ungil.toml")).unwrap();
    assert_eq!(own, "[confirmed]\nkeeps-lists = [\"a.c:visit\"]\n");
    let list = repository.json(&["--list", "--min-python", "3.13"]);
    let levels = [&list["fixes"][0]["level"], &list["fixes"][1]["level"]];
    assert_eq!(levels, ["safe", "review"]);
}
