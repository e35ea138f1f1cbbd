//! `ungil review` at a terminal: keys in, pictures out.

use std::io::{Read, Write};
use std::num::NonZeroU16;
use std::process::Command;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};

use super::repository::Repository;
use super::support::run;

/// How long a picture may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(300);

/// `ungil review` at a terminal.
pub(crate) struct Terminal {
    pub(crate) screen: vt100::Parser,
    output: Receiver<Vec<u8>>,
    /// Bytes that came so far.
    pub(crate) received: usize,
    keys: Box<dyn Write + Send>,
    pub(crate) master: Box<dyn MasterPty + Send>,
    pub(crate) child: Box<dyn Child + Send + Sync>,
}

/// Rows of a terminal, where nothing else is said.
pub(crate) const ROWS: u16 = 40;

pub(crate) fn size(columns: u16, rows: u16) -> PtySize {
    PtySize {
        rows,
        cols: columns,
        pixel_width: 0,
        pixel_height: 0,
    }
}

pub(crate) fn non_zero(n: u16) -> NonZeroU16 {
    NonZeroU16::new(n).unwrap()
}

impl Terminal {
    pub(crate) fn new(repository: &Repository, columns: u16) -> Self {
        Self::with_editor(repository, (columns, ROWS), "false")
    }

    pub(crate) fn sized(repository: &Repository, columns: u16, rows: u16) -> Self {
        Self::with_editor(repository, (columns, rows), "false")
    }

    /// A review on a screen of so many columns and rows, with this command for an editor.
    pub(crate) fn with_editor(
        repository: &Repository,
        (columns, rows): (u16, u16),
        editor: &str,
    ) -> Self {
        let pair = native_pty_system().openpty(size(columns, rows)).unwrap();
        let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_ungil"));
        command.args(["review"]);
        command.cwd(repository.path());
        command.env("TERM", "xterm-256color");
        command.env("VISUAL", editor);
        let child = pair.slave.spawn_command(command).unwrap();
        let mut reader = pair.master.try_clone_reader().unwrap();
        let (sender, output) = channel();
        thread::spawn(move || {
            let mut bytes = [0; 4096];
            // At the end of the program a terminal gives an error and not an end.
            while let Ok(length @ 1..) = reader.read(&mut bytes) {
                if sender.send(bytes[..length].to_vec()).is_err() {
                    break;
                }
            }
        });
        Self {
            screen: vt100::Parser::new(non_zero(rows), non_zero(columns), 0),
            output,
            received: 0,
            keys: pair.master.take_writer().unwrap(),
            master: pair.master,
            child,
        }
    }

    /// Waits until the screen holds `text`.
    pub(crate) fn shows(&mut self, text: &str) -> String {
        let end = Instant::now() + PATIENCE;
        loop {
            let contents = self.screen.screen().contents();
            if contents.contains(text) {
                return contents;
            }
            let left = end.saturating_duration_since(Instant::now());
            match self.output.recv_timeout(left) {
                Ok(bytes) => {
                    self.received += bytes.len();
                    self.screen.process(&bytes);
                }
                Err(_) => panic!("no `{text}` in\n{contents}"),
            }
        }
    }

    pub(crate) fn types(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
        self.keys.flush().unwrap();
    }

    /// Waits for the end of the program; gives its exit status and what it left on the screen.
    pub(crate) fn ends(mut self) -> (u32, String) {
        let end = Instant::now() + PATIENCE;
        // The channel closes with the program.
        while let Ok(bytes) = self
            .output
            .recv_timeout(end.saturating_duration_since(Instant::now()))
        {
            self.screen.process(&bytes);
        }
        let status = self.child.wait().unwrap();
        assert!(
            !self.screen.screen().alternate_screen(),
            "the terminal is not restored"
        );
        (status.exit_code(), self.screen.screen().contents())
    }

    pub(crate) fn killed(mut self) {
        let pid = self.child.process_id().unwrap().to_string();
        run(Command::new("kill").args(["-9", &pid]));
        self.child.wait().unwrap();
    }
}
