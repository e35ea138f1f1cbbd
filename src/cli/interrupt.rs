//! Ctrl-C: ends the run with status 130, but never in the middle of writing.

use std::process;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use anyhow::Context;

/// Exit status of an interrupted run, as shells have it.
const STATUS: i32 = 130;

/// Whether Ctrl-C was pressed, and what puts the exit off.
#[derive(Debug, Clone, Default)]
pub(super) struct Interrupt {
    requested: Arc<AtomicBool>,
    /// How many guards there are, and a bell for when the last one goes.
    held: Arc<(Mutex<usize>, Condvar)>,
}

/// While it lives, Ctrl-C is only noted. There may be several: a write that is verified holds one
/// around those of the write and of taking it back.
#[derive(Debug)]
pub(super) struct Held<'a>(&'a Interrupt);

impl Drop for Held<'_> {
    fn drop(&mut self) {
        *self.0.count() -= 1;
        self.0.held.1.notify_all();
    }
}

impl Interrupt {
    /// Takes Ctrl-C over from the system.
    pub(super) fn install() -> anyhow::Result<Self> {
        let interrupt = Self::default();
        let in_handler = interrupt.clone();
        ctrlc::set_handler(move || in_handler.exit()).context("cannot listen for Ctrl-C")?;
        Ok(interrupt)
    }

    /// Puts the exit off until the guard goes.
    pub(super) fn hold(&self) -> Held<'_> {
        *self.count() += 1;
        Held(self)
    }

    fn count(&self) -> MutexGuard<'_, usize> {
        self.held.0.lock().unwrap_or_else(PoisonError::into_inner)
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
        let count = self.count();
        let bell = &self.held.1;
        let _none = bell
            .wait_while(count, |count| *count > 0)
            .unwrap_or_else(PoisonError::into_inner);
        // A full screen must not outlive the program.
        if crossterm::terminal::is_raw_mode_enabled().unwrap_or(false) {
            ratatui::restore();
        }
        process::exit(STATUS);
    }
}
