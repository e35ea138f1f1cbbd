//! What is said to the person at the terminal: on stderr, never mixed with results.

use std::cell::RefCell;
use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Work that takes longer than this shows a spinner.
const PATIENCE: Duration = Duration::from_secs(1);

/// Messages for people, and where results go.
pub(super) struct Talk {
    color: ColorChoice,
    /// 0 is normal.
    loudness: i16,
    stderr: RefCell<AutoStream<io::Stderr>>,
}

impl Talk {
    pub(super) fn new(color: ColorChoice, loudness: i16) -> Self {
        let stderr = RefCell::new(AutoStream::new(io::stderr(), color));
        Self {
            color,
            loudness,
            stderr,
        }
    }

    /// What ends the run; always said.
    pub(super) fn error(&self, text: &str) {
        self.labelled(AnsiColor::Red, "error", text);
    }

    /// What a person should know of; not with `-qq`.
    pub(super) fn warning(&self, text: &str) {
        if self.loudness > -2 {
            self.labelled(AnsiColor::Yellow, "warning", text);
        }
    }

    /// What was done; not with `-q`.
    pub(super) fn info(&self, text: &str) {
        if self.loudness > -1 {
            self.line(text);
        }
    }

    /// Details; only with `-v`.
    pub(super) fn detail(&self, text: &str) {
        if self.loudness > 0 {
            self.line(text);
        }
    }

    /// Whether results on stdout are to be coloured.
    pub(super) fn styles_results(&self) -> bool {
        let choice = match self.color {
            ColorChoice::Auto => AutoStream::choice(&io::stdout()),
            other => other,
        };
        choice != ColorChoice::Never
    }

    /// Runs `work`, with a spinner on a terminal if it takes long.
    pub(super) fn while_waiting<T>(&self, what: &'static str, work: impl FnOnce() -> T) -> T {
        if self.loudness < 0 || !io::stderr().is_terminal() {
            return work();
        }
        spinning(PATIENCE, ProgressDrawTarget::stderr(), what, work)
    }

    fn labelled(&self, color: AnsiColor, label: &str, text: &str) {
        let style = Style::new().fg_color(Some(color.into())).bold();
        self.line(&format!("{style}{label}{style:#}: {text}"));
    }

    fn line(&self, text: &str) {
        // There is nobody left to tell if stderr is closed.
        let _ = writeln!(self.stderr.borrow_mut(), "{text}");
    }
}

/// Runs `work`; a spinner says `what` it is from when `patience` is at its end until it is done.
fn spinning<T>(
    patience: Duration,
    target: ProgressDrawTarget,
    what: &'static str,
    work: impl FnOnce() -> T,
) -> T {
    let (done, waiting) = mpsc::channel::<()>();
    thread::scope(|scope| {
        scope.spawn(move || {
            if waiting.recv_timeout(patience) == Err(RecvTimeoutError::Timeout) {
                let spinner = ProgressBar::with_draw_target(None, target)
                    .with_style(ProgressStyle::default_spinner())
                    .with_message(what);
                spinner.enable_steady_tick(Duration::from_millis(100));
                // Ends when `done` is dropped.
                let _ = waiting.recv();
                spinner.finish_and_clear();
            }
        });
        let result = work();
        drop(done);
        result
    })
}

/// `1 fix`, `2 fixes`.
pub(super) fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// Each of `paths` on a line of its own, for the end of a message.
pub(super) fn listed(paths: &[PathBuf]) -> String {
    paths
        .iter()
        .map(|path| format!("\n  {}", path.display()))
        .collect()
}

/// Writes results to stdout, byte for byte.
///
/// # Errors
/// What the system says; `BrokenPipe` if the reader has gone.
pub(super) fn write_results(bytes: &[u8]) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(bytes)?;
    stdout.flush()
}

#[cfg(test)]
mod tests {
    use std::thread;
    use std::time::Duration;

    use indicatif::{InMemoryTerm, ProgressDrawTarget};

    use super::spinning;

    fn target(terminal: &InMemoryTerm) -> ProgressDrawTarget {
        ProgressDrawTarget::term_like(Box::new(terminal.clone()))
    }

    #[test]
    fn long_work_shows_what_it_is_and_leaves_nothing() {
        let terminal = InMemoryTerm::new(4, 40);
        let shown = spinning(Duration::ZERO, target(&terminal), "thinking", || {
            loop {
                let contents = terminal.contents();
                if !contents.is_empty() {
                    return contents;
                }
                thread::yield_now();
            }
        });
        assert!(shown.contains("thinking"), "{shown}");
        assert_eq!(terminal.contents(), "");
    }

    #[test]
    fn short_work_shows_nothing() {
        let terminal = InMemoryTerm::new(4, 40);
        spinning(Duration::MAX, target(&terminal), "thinking", || ());
        assert_eq!(terminal.moves_since_last_check(), "");
    }
}
