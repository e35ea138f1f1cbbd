//! Static variables and fields of objects, before and after the rewrite, in a free-threaded debug
//! build of CPython.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use support::tree::Tree;
use support::{free_threaded_python, headers, run};

/// Caches that threads fill at the same time: more than one, since a race can be missed.
const CACHES: usize = 24;

fn text(output: Output) -> String {
    String::from_utf8(output.stdout).unwrap()
}

/// The module with more of its first cache.
fn source() -> String {
    let text = include_str!("shared_state/state.c");
    let start = text.find("/* A cache").unwrap();
    let end = text.find("/* END */").unwrap();
    let entry = "    {\"cache_0\", cache_0, METH_NOARGS, NULL},\n";
    let copies = |one: &str| -> String {
        let copy = |n: usize| one.replace("cache_0", &format!("cache_{n}"));
        (1..CACHES).map(copy).collect()
    };
    let mut all = text.replace(entry, &format!("{entry}{}", copies(entry)));
    all.insert_str(end, &copies(&text[start..end]));
    all
}

/// A folder with the extension module made from `source`.
fn build(source: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("state.c"), source).unwrap();
    let headers = headers(&free_threaded_python());
    // The style of C89 is what older packages are held to; the headers themselves are newer.
    let strict = ["-Wall", "-Werror", "-Wdeclaration-after-statement"];
    let mut compiler = Command::new("gcc");
    compiler.current_dir(folder.path()).args(strict);
    compiler.args(["-shared", "-fPIC", "-O1", "-g", "-isystem", &headers]);
    run(compiler.args(["-o", "state.so", "state.c"]));
    folder
}

/// The module as the command rewrites it, with fixes to review or without.
fn rewritten(options: &[&str]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("state.c");
    fs::write(&file, source()).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_ungil"));
    command
        .args([
            "migrate",
            "--select",
            "UG5",
            "--allow-no-vcs",
            "--min-python",
            "3.13",
        ])
        .args(options)
        .arg(".")
        .current_dir(folder.path());
    let output = command.output().unwrap();
    let text = fs::read_to_string(file).unwrap();
    assert_ne!(
        text,
        source(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    text
}

fn python(folder: &tempfile::TempDir, arguments: &[&str]) -> String {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/shared_state");
    let mut python = Command::new(free_threaded_python());
    python
        .arg(tests.join(arguments[0]))
        .args(&arguments[1..])
        .env("PYTHONPATH", folder.path());
    text(run(&mut python))
}

#[test]
fn rewritten_functions_give_the_same_results() {
    let before = python(&build(&source()), &["results.py"]);
    assert_eq!(before.lines().count(), 10);
    assert!(
        before.lines().all(|line| line.ends_with(" balanced")),
        "{before}"
    );
    for options in [&[][..], &["--unsafe-fixes"]] {
        assert_eq!(python(&build(&rewritten(options)), &["results.py"]), before);
    }
}

#[test]
fn threads_lose_what_nobody_locks() {
    let said = python(&build(&source()), &["threads.py"]);
    assert_eq!(
        said,
        "caches: filled more than once\nimported: made again\ncounter: counts lost\n\
         taken: counts lost or doubled\n"
    );
}

#[test]
fn threads_keep_what_the_rewrite_locks() {
    let new = rewritten(&["--unsafe-fixes"]);
    assert_eq!(new.matches("PyMutex_Lock(&").count(), CACHES + 6);
    // The constants are made with the module.
    assert!(new.contains("\n\nstatic PyObject *item_key = NULL;\n\n"));
    assert_eq!(new.matches("Py_BEGIN_CRITICAL_SECTION(").count(), 6);
    assert_eq!(new.matches("Py_BEGIN_CRITICAL_SECTION2(").count(), 2);
    let said = python(&build(&new), &["threads.py", "attributes"]);
    assert_eq!(
        said,
        "caches: each filled once\nimported: the first one stays\ncounter: all counted\n\
         taken: none lost\nattributes: kept\n"
    );
}

/// What threads count with the module, as it is or as the command rewrites it, in so many attempts.
fn counted(is_rewritten: bool, attempts: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let source = include_str!("shared_state/counts.c");
    fs::write(folder.path().join("counts.c"), source).unwrap();
    if is_rewritten {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ungil"));
        command.args([
            "migrate",
            "--select",
            "UG503",
            "--unsafe-fixes",
            "--allow-no-vcs",
            ".",
        ]);
        run(command.current_dir(folder.path()));
        let text = fs::read_to_string(folder.path().join("counts.c")).unwrap();
        assert_eq!(text.matches("static PYAPI_ATOMIC(").count(), 3, "{text}");
        assert_eq!(text.matches("PYAPI_ATOMIC_ADD(").count(), 3, "{text}");
    }
    let headers = headers(&free_threaded_python());
    let mut compiler = Command::new("gcc");
    compiler.args(["-Wall", "-Werror", "-shared", "-fPIC", "-O1", "-isystem"]);
    compiler.args([&*headers, "-o", "counts.so", "counts.c"]);
    run(compiler.current_dir(folder.path()));
    python(&folder, &["counting.py", attempts])
}

#[test]
fn threads_lose_plain_counts() {
    assert!(counted(false, "200").contains("lost"));
}

#[test]
fn threads_keep_atomic_counts() {
    assert_eq!(counted(true, "3"), "calls kept\nundone kept\nbytes kept\n");
}

/// Whether threads that change and read a tree behind a field find it in order, with the module as it
/// is or as the command rewrites it, in each of so many attempts. If not, they crash or see wrong keys.
fn tree_stays_in_order(is_rewritten: bool, attempts: usize) -> bool {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tree.c");
    fs::write(&file, include_str!("shared_state/tree.c")).unwrap();
    if is_rewritten {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ungil"));
        command.args(["migrate", "--select", "UG504,UG202", "--unsafe-fixes"]);
        command.args(["--allow-no-vcs", "--min-python", "3.13", "."]);
        run(command.current_dir(folder.path()));
        let text = fs::read_to_string(&file).unwrap();
        // Five methods and `__init__`.
        let sections = text.matches("Py_BEGIN_CRITICAL_SECTION(self);").count();
        assert_eq!(sections, 6, "{text}");
        assert!(text.contains("static int\nTree_init_lock_held("), "{text}");
    }
    let headers = headers(&free_threaded_python());
    let mut compiler = Command::new("gcc");
    compiler.args(["-Wall", "-Werror", "-shared", "-fPIC", "-O1", "-isystem"]);
    compiler.args([&*headers, "-o", "tree.so", "tree.c"]);
    run(compiler.current_dir(folder.path()));
    let script =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/shared_state/writer_and_readers.py");
    (0..attempts).all(|_| {
        let mut python = Command::new(free_threaded_python());
        python.args(["-X", "gil=0"]).arg(&script);
        let output = python.env("PYTHONPATH", folder.path()).output().unwrap();
        let said = text(output.clone());
        let is_crash = output.status.code().is_none();
        assert!(
            is_crash || said == "right\n" || said == "wrong\n",
            "{output:?}"
        );
        !is_crash && said == "right\n"
    })
}

#[test]
fn threads_spoil_a_tree_behind_a_field() {
    assert!(!tree_stays_in_order(false, 8));
}

#[test]
fn threads_keep_a_tree_whose_methods_are_locked() {
    assert!(tree_stays_in_order(true, 2));
}

#[test]
fn what_not_even_generated_tables_name_is_never_called() {
    let code = b"#include <Python.h>
#include <stdio.h>
const char *label(int n) { static char used[9]; snprintf(used, 9, \"%d\", n); return used; }
const char *dead(int n) { static char unused[9]; snprintf(unused, 9, \"%d\", n); return unused; }
" as &[u8];
    let tables = b"/* File automatically generated by gen.py. */
#include <Python.h>
static PyObject *f(PyObject *self, PyObject *n) { return PyUnicode_FromString(label(3)); }
static PyMethodDef methods[] = {{\"f\", f, METH_O, NULL}, {NULL}};
" as &[u8];
    let tree = Tree::new(&[("lib.c", code), ("m.c", tables)]);
    let ran = tree.ungil(&["check", "--select", "UG502"]);
    assert!(
        ran.text().contains("`used`") && !ran.text().contains("`unused`"),
        "{}",
        ran.text()
    );
}

/// A module whose type has the method `update` with these statements.
fn declaration_of(body: &str) -> String {
    let text = format!(
        r#"
#include <Python.h>
typedef struct Hash {{
    PyObject_HEAD
    void *state;
    int mode;
    int (*step)(struct Hash *);
}} Hash;
typedef struct {{ char *text; int length; const char *name; }} Buffer;
static Buffer *buffer_of(PyObject *capsule)
{{
    return (Buffer *)PyCapsule_GetPointer(capsule, NULL);
}}
static void buffer_drop(PyObject *capsule)
{{
    Buffer *buffer = buffer_of(capsule);
    buffer->text = NULL;
}}
static void buffer_clear(Buffer *buffer) {{ buffer->length = 0; }}
static int buffer_length(Buffer *buffer) {{ return buffer->length; }}
static PyObject *Hash_new_buffer(Hash *self, PyObject *data)
{{
    return PyCapsule_New(PyMem_Calloc(1, sizeof(Buffer)), NULL, buffer_drop);
}}
static PyObject *Hash_update(Hash *self, PyObject *data)
{{
    {body}
    Py_RETURN_NONE;
}}
static PyMethodDef Hash_methods[] = {{
    {{"update", (PyCFunction)Hash_update, METH_O, NULL}},
    {{"new_buffer", (PyCFunction)Hash_new_buffer, METH_O, NULL}},
    {{NULL}}
}};
static PyTypeObject Hash_Type = {{
    PyVarObject_HEAD_INIT(NULL, 0) .tp_name = "m.Hash", .tp_methods = Hash_methods,
}};
static struct PyModuleDef def = {{PyModuleDef_HEAD_INIT, "m", NULL, -1, NULL}};
PyMODINIT_FUNC PyInit_m(void)
{{
    if (PyType_Ready(&Hash_Type) < 0)
        return NULL;
    return PyModule_Create(&def);
}}
"#
    );
    let tree = Tree::new(&[("m.c", text.as_bytes())]);
    tree.ungil(&["check"]).text().to_owned()
}

/// Whether a module whose method has these statements is declared without a question; else the
/// functions that it asks about.
fn asks_about(body: &str) -> Option<String> {
    let text = declaration_of(body);
    let asked = text
        .lines()
        .find_map(|line| line.split_once("to confirm: "));
    assert_eq!(asked.is_none(), text.contains("= safe fix "), "{text}");
    if text.contains("[UG504 ") {
        assert!(
            text.contains("= to confirm: you first resolve 1 finding"),
            "{text}"
        );
        return Some("the finding".to_owned());
    }
    // Buffers in structs are private without a proof.
    let asked = asked.filter(|(_, what)| !what.contains("could not be proven"));
    let names = asked?.1.split_once(": ").unwrap().1;
    Some(names.split_once(" in `").unwrap().0.to_owned())
}

#[test]
fn a_module_with_state_in_a_library_is_not_declared_without_a_look() {
    let asked = Some("`hash_update`");
    assert_eq!(
        asks_about("hash_update(self->state, data);").as_deref(),
        Some("the finding")
    );
    assert_eq!(
        asks_about("hash_update(((Hash *)data)->state, data);").as_deref(),
        asked
    );
    assert_eq!(asks_about("hash_update(((Hash *)data)->mode);"), None);
    // What was not read may do anything to an object.
    assert_eq!(asks_about("hash_update(data);").as_deref(), asked);
    assert_eq!(asks_about("hash_update(3);"), None);
}

#[test]
fn a_function_pointer_that_gets_the_object_may_write_it() {
    let asked = Some("`self->step`");
    assert_eq!(asks_about("self->step(self);").as_deref(), asked);
    let local = "int (*run)(Hash *) = self->step; run(self);";
    assert_eq!(asks_about(local).as_deref(), Some("`run`"));
    let field = "int (*run)(void *) = NULL; run(self->state);";
    assert_eq!(asks_about(field).as_deref(), Some("the finding"));
    assert_eq!(
        asks_about("Py_TYPE(self)->tp_iter((PyObject *)self);"),
        None
    );
    let other = "int (*run)(PyObject *) = NULL; run(data);";
    assert_eq!(asks_about(other).as_deref(), Some("`run`"));
    let number = "int (*run)(int) = NULL; run(3);";
    assert_eq!(asks_about(number), None);
}

#[test]
fn what_is_behind_a_capsule_may_be_written_by_two_threads() {
    let of = |statement: &str| asks_about(&format!("Buffer *b = buffer_of(data); {statement}"));
    assert_eq!(of("b->text = NULL;").as_deref(), Some("`b->text`"));
    let cast = of("((Buffer *)b)->length++;");
    assert_eq!(cast.as_deref(), Some("`((Buffer *)b)->length`"));
    let whole = of("memset(b, 0, sizeof(*b));");
    assert_eq!(whole.as_deref(), Some("`b` by `memset`"));
    let helper = of("buffer_clear(b);");
    assert_eq!(helper.as_deref(), Some("`buffer->length`"));
    assert_eq!(of("lib_step(&b->text);").as_deref(), Some("`lib_step`"));
    let number = "((Buffer *)PyLong_AsVoidPtr(data))->text[0] = 'x';";
    let place = "`((Buffer *)PyLong_AsVoidPtr(data))->text[0]`";
    assert_eq!(asks_about(number).as_deref(), Some(place));
    assert_eq!(of("if (buffer_length(b) < 0) return NULL;"), None);
    assert_eq!(of("return PyLong_FromLong(b->length);"), None);
}

#[test]
fn types_of_one_name_are_open_in_the_modules_of_all_their_files() {
    let module = |name: &str| {
        format!(
            r#"
#include <Python.h>
typedef struct {{ PyObject_HEAD int st; }} Cipher;
static PyObject *Cipher_next(Cipher *self, PyObject *unused) {{ return PyLong_FromLong(self->st++); }}
static PyMethodDef methods[] = {{{{"next", (PyCFunction)Cipher_next, METH_NOARGS, NULL}}, {{NULL}}}};
static PyTypeObject Cipher_Type = {{
    PyVarObject_HEAD_INIT(NULL, 0) .tp_name = "{name}.Cipher", .tp_methods = methods,
}};
static struct PyModuleDef def = {{PyModuleDef_HEAD_INIT, "{name}", NULL, -1, NULL}};
PyMODINIT_FUNC PyInit_{name}(void)
{{
    if (PyType_Ready(&Cipher_Type) < 0)
        return NULL;
    return PyModule_Create(&def);
}}
"#
        )
    };
    let names: Vec<String> = (0..10).map(|n| format!("c{n}")).collect();
    let texts = names.iter().map(|name| (format!("{name}.c"), module(name)));
    let texts: Vec<(String, String)> = texts.collect();
    let files = texts.iter().map(|(name, text)| (&**name, text.as_bytes()));
    let tree = Tree::new(&files.collect::<Vec<_>>());
    let ran = tree.ungil(&["check"]);
    let open = ran
        .text()
        .matches("you first resolve 1 finding without a safe fix (about fields without a lock)");
    assert_eq!(open.count(), names.len(), "{}", ran.text());
}

/// Seen in CPython 3.13: `_thread.start_new_thread(f, (), d)` passes `d` itself on.
#[test]
fn keyword_arguments_may_be_those_of_a_thread_that_python_code_starts() {
    let code = b"#include <Python.h>
static PyObject *f(PyObject *self, PyObject *args, PyObject *kwargs) {
    PyObject *v = kwargs ? PyDict_GetItemString(kwargs, \"a\") : NULL;
    if (v == NULL) Py_RETURN_NONE;
    return PyObject_Str(v);
}
static PyMethodDef methods[] = {{\"f\", (PyCFunction)f, METH_VARARGS | METH_KEYWORDS, \"\"}, {0}};
" as &[u8];
    let is_own = |python: &str| {
        let tree = Tree::new(&[
            ("m.c", code),
            ("setup.py", b""),
            ("p.py", python.as_bytes()),
        ]);
        let ran = tree.ungil(&["check", "--select", "UG102", "--show-safe"]);
        ran.text().contains("holds the keyword arguments")
    };
    assert!(is_own("import m\nm.f(**d)\n"));
    assert!(is_own(
        "import m, _thread\n_thread.start_new_thread(m.f, ())\n"
    ));
    assert!(!is_own(
        "import m, _thread\n_thread.start_new_thread(m.f, (), d)\n"
    ));
    assert!(!is_own(
        "from _thread import start_new_thread\ndef g():\n    start_new_thread(f, (), d)\n"
    ));
}

const SET_UP: &str = "\
#include <Python.h>
static PyObject *handler;
static PyObject *set_handler(PyObject *self, PyObject *o) { Py_XSETREF(handler, Py_NewRef(o)); Py_RETURN_NONE; }
static PyObject *handle(PyObject *self, PyObject *o) { return PyObject_CallOneArg(handler, o); }
static PyMethodDef methods[] = {{\"set_handler\", set_handler, METH_O, \"\"}, {\"handle\", handle, METH_O, \"\"}, {0}};
static struct PyModuleDef def = {PyModuleDef_HEAD_INIT, \"_u\", 0, -1, methods};
PyMODINIT_FUNC PyInit__u(void) { return PyModule_Create(&def); }
";

/// The package is imported by then, and nobody else has the module.
#[test]
fn what_python_code_of_the_package_calls_as_it_is_imported_meets_no_thread() {
    let is_reported = |code: &str, python: &[(&str, &str)]| {
        let python = python.iter().map(|(name, text)| (*name, text.as_bytes()));
        let code = [("_u.c", code.as_bytes()), ("setup.py", &b""[..])];
        let tree = Tree::new(&code.into_iter().chain(python).collect::<Vec<_>>());
        let check = ["check", "--select", "UG503", "--min-python", "3.13"];
        tree.ungil(&check).text().contains("`handler` is replaced")
    };
    let init =
        "\"\"\"_u.other(1)\"\"\"\nfrom . import _u\n_u.set_handler(print)\nhandle = _u.handle\n";
    let with = |more: &str| is_reported(SET_UP, &[("p/__init__.py", &format!("{init}{more}"))]);
    assert!(!with(""));
    assert!(with("_u.set_handler(str)\n"));
    assert!(with("def reset():\n    _u.set_handler(None)\n"));
    assert!(with("\ngetattr(_u, 'set_handler')(len)\n"));
    let only = |name: &str, text: &str| is_reported(SET_UP, &[(name, text)]);
    assert!(only(
        "p/__init__.py",
        "from . import _u\ndef f():\n    _u.set_handler(1)\n"
    ));
    assert!(only("p/__init__.py", "\"\"\"\n_u.set_handler(1)\n\"\"\"\n"));
    assert!(only("p/__init__.py", "import u\nu.set_handler(1)\n"));
    assert!(only("tests/test_u.py", init));
    let test = [
        ("p/__init__.py", init),
        ("tests/test_u.py", "from p import _u\n_u.set_handler(1)\n"),
    ];
    assert!(is_reported(SET_UP, &test));
    // C calls it as well.
    let by_name = "PyObject *again(PyObject *m) { return PyObject_CallMethod(m, \"set_handler\", \"O\", m); }\n";
    assert!(is_reported(
        &format!("{SET_UP}{by_name}"),
        &[("p/__init__.py", init)]
    ));
    let by_code = SET_UP.replace(
        "{ return PyObject_CallOne",
        "{ set_handler(self, o); return PyObject_CallOne",
    );
    assert_ne!(by_code, SET_UP);
    assert!(is_reported(&by_code, &[("p/__init__.py", init)]));
}
