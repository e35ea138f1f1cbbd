//! Ten thousand fixes: nobody waits, and nothing of them is lost.

use std::fs;

use super::repository::Repository;
use super::terminal::Terminal;

const FILES: usize = 50;
const FUNCTIONS: usize = 10;
const FIXES: usize = 20;

/// A function with many fixes that are quickly found.
fn function(at: usize) -> String {
    let uses = (0..FIXES).map(|at| format!("    use(object->ob_type, {at});\n"));
    let uses: String = uses.collect();
    format!("void\nf{at}(PyObject *object)\n{{\n{uses}}}\n\n")
}

fn repository() -> Repository {
    let repository = Repository::empty();
    let pyproject = "[project]\nname = \"many\"\nrequires-python = \">=3.13\"\n\n\
                     [tool.ungil]\nselect = [\"UG702\"]\n";
    fs::write(repository.path().join("pyproject.toml"), pyproject).unwrap();
    for file in 0..FILES {
        let functions = (0..FUNCTIONS).map(|at| function(file * FUNCTIONS + at));
        let text: String = functions.collect();
        let path = repository.path().join(format!("m{file:02}.c"));
        fs::write(path, format!("#include <Python.h>\n\n{text}")).unwrap();
    }
    repository.commit();
    repository
}

#[test]
fn ten_thousand_fixes_are_reviewed_key_by_key() {
    let repository = repository();
    let mut terminal = Terminal::new(&repository, 120);
    terminal.shows(" 1/10000 ");
    // A picture holds what has changed on the screen, however many fixes there are.
    let before = terminal.received;
    terminal.types(&"J".repeat(100));
    terminal.shows(" 101/10000 ");
    let bytes = terminal.received - before;
    assert!(bytes < 100 * 5_000, "{bytes} bytes for 100 pictures");
    terminal.types("g9000\r");
    terminal.shows(" 9000/10000 ");
    terminal.types("/f499\\b\r");
    terminal.shows(" 9981/10000 ");
    terminal.types("y");
    terminal.shows("1 accepted 0 rejected 9999 open");
    terminal.types("A");
    terminal.shows("Accept 9999 fixes in all files, all safe?");
    terminal.types("y");
    terminal.shows("10000 accepted 0 rejected 0 open");
    terminal.killed();
    // One decision is one line, however many fixes it is about.
    let journal = fs::read_to_string(repository.path().join(".ungil/review.jsonl")).unwrap();
    assert_eq!(journal.lines().count(), 2);

    let mut terminal = Terminal::new(&repository, 120);
    terminal.shows("10000 accepted 0 rejected 0 open");
    terminal.types("u");
    terminal.shows("1 accepted 0 rejected 9999 open");
    terminal.types("U");
    terminal.shows("10000 accepted 0 rejected 0 open");
    terminal.types("Q");
    assert_eq!(terminal.ends().0, 1);
}
