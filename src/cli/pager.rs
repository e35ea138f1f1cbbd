//! Long results go through a pager, by the conventions of git.

use std::env;
use std::io::{self, IsTerminal, Write};
use std::process::{Child, Command, Stdio};

use super::interrupt::Interrupt;
use super::talk::write_results;

/// The pager where nobody asks for another one.
const DEFAULT: &str = "less";

/// Writes results to the standard output, on a terminal through a pager unless `wanted` is false.
///
/// # Errors
/// What the system says; `BrokenPipe` if the reader of the standard output has gone.
pub(super) fn page(bytes: &[u8], wanted: bool, interrupt: &Interrupt) -> io::Result<()> {
    let pager = (wanted && !bytes.is_empty() && io::stdout().is_terminal())
        .then(|| chosen(|name| env::var(name).ok()))
        .flatten();
    // Without the pager's program the results are still wanted.
    let Some(mut child) = pager.and_then(|pager| start(&pager).ok()) else {
        return write_results(bytes);
    };
    // Ctrl-C is for the pager: it must not outlive this program.
    let _held = interrupt.hold();
    if let Some(mut input) = child.stdin.take() {
        // A reader that leaves early has seen enough.
        let _ = input.write_all(bytes);
    }
    child.wait()?;
    Ok(())
}

/// The command of the pager; `None` if the user wants none.
fn chosen(variable: impl Fn(&str) -> Option<String>) -> Option<String> {
    let asked = ["UNGIL_PAGER", "GIT_PAGER", "PAGER"];
    let pager = asked.into_iter().find_map(variable);
    let pager = pager.unwrap_or_else(|| DEFAULT.to_owned());
    let pager = pager.trim();
    (!pager.is_empty() && pager != "cat").then(|| pager.to_owned())
}

fn start(pager: &str) -> io::Result<Child> {
    let mut command = shell(pager);
    for (name, value) in [("LESS", "FRX"), ("LV", "-c")] {
        if env::var_os(name).is_none() {
            command.env(name, value);
        }
    }
    command.stdin(Stdio::piped()).spawn()
}

#[cfg(unix)]
fn shell(pager: &str) -> Command {
    let mut command = Command::new("sh");
    // `exec` fails at once, and not after the input is gone, if there is no such program.
    command.arg("-c").arg(pager);
    command
}

#[cfg(not(unix))]
fn shell(pager: &str) -> Command {
    let mut command = Command::new("cmd");
    command.arg("/C").arg(pager);
    command
}

#[cfg(test)]
mod tests {
    use super::chosen;

    #[test]
    fn the_nearest_variable_decides() {
        let with = |set: &[(&str, &str)]| {
            let set: Vec<(String, String)> = set
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect();
            chosen(|name| {
                let found = set.iter().find(|(known, _)| known == name)?;
                Some(found.1.clone())
            })
        };
        assert_eq!(with(&[]).as_deref(), Some("less"));
        assert_eq!(with(&[("PAGER", "more")]).as_deref(), Some("more"));
        let both = [("PAGER", "more"), ("GIT_PAGER", "delta -s")];
        assert_eq!(with(&both).as_deref(), Some("delta -s"));
        assert_eq!(with(&[("PAGER", "cat")]), None);
        assert_eq!(with(&[("GIT_PAGER", ""), ("PAGER", "more")]), None);
    }
}
