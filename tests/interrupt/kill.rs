//! `kill -9` at each step of a write and of an undo: the next start leaves nothing half done.
//!
//! The program is watched as a debugger does it, and killed when it is about to rename or to remove
//! its n-th file, for each n.

use std::fs;
use std::process::{Child, Command, Stdio};
use std::thread;

use nix::libc::{SYS_rename, SYS_renameat, SYS_renameat2, SYS_rmdir, SYS_unlink, SYS_unlinkat};
use nix::sys::ptrace::{self, Options};
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::Pid;

use super::support::run;
use super::support::tree::Tree;
use super::{contents, drain, start};

/// What a program asks of the system to give or take a name.
const STEPS: [i64; 6] = [
    SYS_rename,
    SYS_renameat,
    SYS_renameat2,
    SYS_unlink,
    SYS_unlinkat,
    SYS_rmdir,
];
/// Where the result of a call to the system stands before there is one.
const NO_RESULT: u64 = -38_i64 as u64;

/// Two files to change, and a header to make.
fn two_files() -> Tree {
    let borrows = |name: &str| {
        format!(
            "#include <Python.h>\n\nstatic int\n{name}(PyObject *list)\n{{\n    PyObject *item = \
             PyList_GetItem(list, 0);\n    return item ? PyObject_IsTrue(item) : -1;\n}}\n"
        )
    };
    let tree = Tree::new(&[
        (
            "pyproject.toml",
            b"[project]\nrequires-python = \">=3.9\"\n",
        ),
        ("one.c", borrows("one").as_bytes()),
        ("two.c", borrows("two").as_bytes()),
    ]);
    run(Command::new("mkfifo").arg("pipe").current_dir(tree.path()));
    tree.committed()
}

/// Lets `go_on` wake the program, which waits for something, and kills it at its `nth` step from
/// then on; whether it got there.
fn kill_at(nth: usize, child: Child, go_on: impl FnOnce() + Send) -> bool {
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap());
    ptrace::seize(pid, Options::PTRACE_O_TRACESYSGOOD).unwrap();
    ptrace::interrupt(pid).unwrap();
    thread::scope(|scope| {
        scope.spawn(go_on);
        let mut steps = 0;
        loop {
            let signal = match waitpid(pid, None).unwrap() {
                WaitStatus::PtraceSyscall(_) => {
                    let registers = ptrace::getregs(pid).unwrap();
                    let begins = registers.rax == NO_RESULT;
                    let call = i64::try_from(registers.orig_rax).unwrap_or(-1);
                    steps += usize::from(begins && STEPS.contains(&call));
                    if begins && steps == nth {
                        kill(pid, Signal::SIGKILL).unwrap();
                    }
                    None
                }
                WaitStatus::Stopped(_, signal) => Some(signal),
                WaitStatus::Signaled(_, signal, _) => {
                    assert_eq!(signal, Signal::SIGKILL);
                    return true;
                }
                WaitStatus::Exited(..) => return false,
                _ => None,
            };
            // A program that was killed cannot go on.
            let _ = ptrace::syscall(pid, signal);
        }
    })
}

#[test]
fn a_write_that_is_killed_is_taken_back() {
    let before = contents(&two_files());
    let (mut cut_off, mut restarted) = (0, Vec::new());
    let after = loop {
        let tree = two_files();
        let child = start(&tree, &["migrate", "--allow-dirty"]);
        let nth = restarted.len() + 1;
        if !kill_at(nth, child, || drain(&tree)) {
            break contents(&tree);
        }
        cut_off += usize::from(contents(&tree) != before);
        tree.ungil(&["review", "--list"]);
        restarted.push(contents(&tree));
        tree.ungil(&["undo"]);
        assert!(contents(&tree) == before, "killed at step {nth}");
    };
    assert_ne!(before, after);
    // Before and after the first file, and after the second.
    assert!(cut_off >= 3, "{cut_off}");
    for (at, found) in restarted.iter().enumerate() {
        assert!(
            [&before, &after].contains(&found),
            "killed at step {}",
            at + 1
        );
    }
}

#[test]
fn an_undo_that_is_killed_is_completed() {
    let before = contents(&two_files());
    let mut cut_off = 0;
    for nth in 1.. {
        let tree = two_files();
        let child = start(&tree, &["migrate", "--allow-dirty"]);
        drain(&tree);
        child.wait_with_output().unwrap();
        let after = contents(&tree);
        assert_ne!(before, after);
        // The program waits where it reads what the file held before.
        let saved = tree.path().join(".ungil/writes/0001/0.old");
        let old = fs::read(&saved).unwrap();
        fs::remove_file(&saved).unwrap();
        run(Command::new("mkfifo").arg(&saved));
        let mut undo = tree.command(&["undo"]);
        let child = undo.stderr(Stdio::null()).spawn().unwrap();
        let is_killed = kill_at(nth, child, || fs::write(&saved, &old).unwrap());
        if !is_killed {
            assert!(contents(&tree) == before);
            break;
        }
        cut_off += usize::from(![&before, &after].contains(&&contents(&tree)));
        if fs::remove_file(&saved).is_ok() {
            fs::write(&saved, &old).unwrap();
        }
        let ran = tree.ungil(&["review", "--list"]);
        assert_ne!(ran.status, 2, "killed at step {nth}: {}", ran.stderr);
        // Before the first step nothing had begun.
        let expected = if nth == 1 { &after } else { &before };
        assert!(contents(&tree) == *expected, "killed at step {nth}");
    }
    assert!(cut_off >= 2, "{cut_off}");
}
