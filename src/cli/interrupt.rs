//! Ctrl-C: ends the run with status 130, but never in the middle of writing.

use std::process;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::Context;

/// Exit status of an interrupted run, as shells have it.
const STATUS: i32 = 130;

/// Whether Ctrl-C was pressed, and a lock that puts the exit off.
#[derive(Debug, Clone, Default)]
pub(super) struct Interrupt {
    requested: Arc<AtomicBool>,
    writing: Arc<Mutex<()>>,
}

impl Interrupt {
    /// Takes Ctrl-C over from the system.
    pub(super) fn install() -> anyhow::Result<Self> {
        let interrupt = Self::default();
        let in_handler = interrupt.clone();
        ctrlc::set_handler(move || in_handler.exit()).context("cannot listen for Ctrl-C")?;
        Ok(interrupt)
    }

    /// While the guard lives, Ctrl-C is only noted.
    pub(super) fn hold(&self) -> MutexGuard<'_, ()> {
        self.writing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether Ctrl-C was pressed while held off.
    pub(super) fn is_requested(&self) -> bool {
        self.requested.load(Ordering::SeqCst)
    }

    /// Notes Ctrl-C as if it had been pressed while held off.
    #[cfg(test)]
    pub(super) fn press(&self) {
        self.requested.store(true, Ordering::SeqCst);
    }

    fn exit(&self) {
        self.requested.store(true, Ordering::SeqCst);
        let _guard = self.hold();
        // A full screen must not outlive the program.
        if crossterm::terminal::is_raw_mode_enabled().unwrap_or(false) {
            ratatui::restore();
        }
        process::exit(STATUS);
    }
}
