//! How much of a fix is shown, and where.

use super::keys::Action;

/// Most lines of context that can be asked for.
const MAX_CONTEXT: u32 = 99;

/// What of a fix is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Look {
    pub(super) whole_function: bool,
    pub(super) context: u32,
    pub(super) side: Side,
    pub(super) panes: Panes,
}

/// Which of the diff and the reason are on a full screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Panes {
    /// Both; the diff where there is no room for both.
    Both,
    Reason,
    Diff,
}

impl Default for Look {
    fn default() -> Self {
        Self {
            whole_function: false,
            context: 3,
            side: Side::Both,
            panes: Panes::Both,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Both,
    New,
    Old,
}

impl Look {
    /// Shows more, less or something else, as `action` asks for.
    pub(super) fn change(&mut self, action: Action) {
        match action {
            Action::WholeFunction => self.whole_function = !self.whole_function,
            Action::MoreContext => self.context = (self.context + 1).min(MAX_CONTEXT),
            Action::LessContext => self.context = self.context.saturating_sub(1),
            Action::Why => {
                self.panes = match self.panes {
                    Panes::Both => Panes::Reason,
                    Panes::Reason => Panes::Diff,
                    Panes::Diff => Panes::Both,
                }
            }
            _ => {
                self.side = match self.side {
                    Side::Both => Side::New,
                    Side::New => Side::Old,
                    Side::Old => Side::Both,
                }
            }
        }
    }
}
