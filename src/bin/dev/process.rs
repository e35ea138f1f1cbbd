//! Runs a program and measures it.

use std::{
    fs,
    io::{Read, Seek},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result};

/// How long the program may take before it counts as hanging.
const LIMIT: Duration = Duration::from_secs(600);

/// What a finished program left behind.
pub(crate) struct Run {
    /// The exit status; `None` if a signal ended it or it ran out of time.
    pub(crate) status: Option<i32>,
    pub(crate) wall: Duration,
    /// The largest resident set seen, in KiB; 0 where the system does not tell (not Linux).
    pub(crate) peak_kib: u64,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: String,
}

impl Run {
    pub(crate) fn success(&self) -> bool {
        self.status == Some(0)
    }
}

/// Runs `command` to its end. Its output goes through files, so it never waits for us to read.
pub(crate) fn run(command: &mut Command) -> Result<Run> {
    let mut stdout = tempfile::tempfile()?;
    let mut stderr = tempfile::tempfile()?;
    let start = Instant::now();
    let mut child = command
        .stdin(Stdio::null())
        .stdout(stdout.try_clone()?)
        .stderr(stderr.try_clone()?)
        .spawn()
        .with_context(|| format!("cannot start {}", command.get_program().display()))?;

    let mut peak_kib = 0;
    let status = loop {
        peak_kib = peak_kib.max(resident_peak(&child));
        if let Some(status) = child.try_wait()? {
            break status.code();
        }
        if start.elapsed() > LIMIT {
            child.kill()?;
            child.wait()?;
            break None;
        }
        thread::sleep(Duration::from_millis(2));
    };
    let wall = start.elapsed();

    let stderr = String::from_utf8_lossy(&read(&mut stderr)?).into_owned();
    Ok(Run {
        status,
        wall,
        peak_kib,
        stdout: read(&mut stdout)?,
        stderr,
    })
}

/// Everything the child wrote; it shares our file offset, so we start over.
fn read(file: &mut fs::File) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.rewind()?;
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// `VmHWM`, which the kernel only raises: the last look before the exit is the peak.
fn resident_peak(child: &Child) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok())
        .unwrap_or(0)
}
