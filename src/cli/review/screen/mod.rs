//! The full screen: keys in, pictures out.

mod draw;
mod text;

use std::io;
use std::time::Duration;

use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use super::desk::{Desk, Next, Question};
use super::keys::{Action, action};
use super::look::Panes;
use crate::cli::talk::Talk;
use crate::edit::Confidence;
use draw::Palette;

/// Lines that a page key scrolls.
const PAGE: usize = 10;

/// What is on the screen besides the state of the review.
#[derive(Debug, Default)]
struct Screen {
    mode: Mode,
    /// Lines of the diff, or of the reason where that stands alone, that are above the screen;
    /// `None` until it is drawn.
    scroll: Option<usize>,
    /// Whether there is no room for the diff and the reason at once.
    is_small: bool,
    palette: Palette,
}

#[derive(Debug, Default)]
enum Mode {
    /// A fix.
    #[default]
    Fix,
    /// All keys, and how many lines of them are above the screen.
    Help(usize),
    /// A question and what is typed so far.
    Ask(Question, String),
}

/// Gives the terminal back, also when an error ends the review; the hook of `ratatui` does it for
/// panics.
struct Restore;

impl Drop for Restore {
    fn drop(&mut self) {
        ratatui::restore();
    }
}

/// Leads through the review until something is to be written or the person leaves.
pub(super) fn ask(desk: &mut Desk<'_>, talk: &Talk) -> anyhow::Result<Next> {
    let mut terminal = ratatui::try_init()?;
    let _restore = Restore;
    let mut screen = Screen {
        palette: Palette::new(talk.styles_results()),
        ..Screen::default()
    };
    // Listens from here on, so that a new size that comes with the first picture is not missed.
    event::poll(Duration::ZERO)?;
    loop {
        terminal.draw(|frame| draw::screen(frame, desk, &mut screen))?;
        let mut next = match event::read()? {
            Event::Key(key) if key.kind != KeyEventKind::Release => {
                screen.key(key, desk, &mut terminal)?
            }
            // A new size is drawn at the next turn.
            _ => Next::Stay,
        };
        if next == Next::Edit {
            ratatui::restore();
            next = desk.edit()?;
            terminal = ratatui::try_init()?;
        }
        match next {
            Next::Write { .. } | Next::Confirm(_) | Next::Retract(_) | Next::Leave => {
                return Ok(next);
            }
            Next::Ask(question) => screen.mode = Mode::Ask(question, String::new()),
            Next::Help => screen.mode = Mode::Help(0),
            Next::Stay | Next::Edit => {}
        }
    }
}

impl Screen {
    fn key(
        &mut self,
        key: KeyEvent,
        desk: &mut Desk<'_>,
        terminal: &mut DefaultTerminal,
    ) -> anyhow::Result<Next> {
        if key.modifiers.contains(KeyModifiers::CONTROL) {
            return self.control(key.code, terminal).map_err(Into::into);
        }
        match std::mem::take(&mut self.mode) {
            Mode::Help(at) => {
                if let Some(at) = scrolled(key.code, at) {
                    self.mode = Mode::Help(at);
                }
                Ok(Next::Stay)
            }
            Mode::Ask(question, typed) => self.typed(key.code, question, typed, desk),
            Mode::Fix => self.asked(key.code, desk),
        }
    }

    fn control(&mut self, code: KeyCode, terminal: &mut DefaultTerminal) -> io::Result<Next> {
        match code {
            KeyCode::Char('c') => Ok(Next::Leave),
            KeyCode::Char('l') => terminal.clear().map(|()| Next::Stay),
            _ => Ok(Next::Stay),
        }
    }

    /// A key while a fix is shown.
    fn asked(&mut self, code: KeyCode, desk: &mut Desk<'_>) -> anyhow::Result<Next> {
        let wanted = match code {
            KeyCode::Char(key) => action(key),
            KeyCode::Tab => Some(Action::Alternative),
            // By accident nobody should confirm an assumption.
            KeyCode::Enter => {
                let shown = desk.session.current().map(|group| desk.shown(group));
                let safe = shown.is_some_and(|fix| fix.confidence == Confidence::Safe);
                if !safe {
                    desk.message = "Enter accepts safe fixes only; y accepts this one".to_owned();
                }
                safe.then_some(Action::Accept)
            }
            _ => None,
        };
        if let Some(at) = scrolled(code, self.scroll.unwrap_or(0)) {
            self.scroll = Some(at);
        }
        let Some(wanted) = wanted else {
            return Ok(Next::Stay);
        };
        let before = desk.session.position();
        let next = desk.act(wanted)?;
        if wanted == Action::Why {
            self.turn(desk);
        }
        self.show_from_the_top(before, desk);
        Ok(next)
    }

    /// A key while a question is shown.
    fn typed(
        &mut self,
        code: KeyCode,
        question: Question,
        mut typed: String,
        desk: &mut Desk<'_>,
    ) -> anyhow::Result<Next> {
        match code {
            KeyCode::Esc => return Ok(Next::Stay),
            KeyCode::Char(key) => typed.push(key),
            KeyCode::Backspace => drop(typed.pop()),
            _ => {}
        }
        let is_complete = match question.is_choice() {
            true => !typed.is_empty(),
            false => code == KeyCode::Enter,
        };
        if !is_complete {
            self.mode = Mode::Ask(question, typed);
            return Ok(Next::Stay);
        }
        let before = desk.session.position();
        let next = desk.answer(question, &typed)?;
        self.show_from_the_top(before, desk);
        Ok(next)
    }

    fn show_from_the_top(&mut self, before: usize, desk: &Desk<'_>) {
        if desk.session.position() != before {
            self.scroll = None;
        }
    }

    /// What is alone in sight is read from its beginning; where there is no room for both, the
    /// diff alone would be the same picture twice.
    fn turn(&mut self, desk: &mut Desk<'_>) {
        self.scroll = None;
        if desk.look.panes == Panes::Diff && self.is_small {
            desk.look.panes = Panes::Both;
        }
    }
}

/// Where a key scrolls to from line `at`; `None` if it is none that scrolls.
fn scrolled(code: KeyCode, at: usize) -> Option<usize> {
    match code {
        KeyCode::Down => Some(at.saturating_add(1)),
        KeyCode::Up => Some(at.saturating_sub(1)),
        KeyCode::PageDown => Some(at.saturating_add(PAGE)),
        KeyCode::PageUp => Some(at.saturating_sub(PAGE)),
        _ => None,
    }
}
