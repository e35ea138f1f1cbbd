//! Initialisers, in linear time however long the table is.

use super::Walker;
use crate::parse::shadow::NAME;
use crate::parse::words::Kind;

impl Walker<'_> {
    /// Writes the initialiser at `at`.
    pub(super) fn initializer(&mut self, at: usize) -> usize {
        if self.is(at, "{") {
            self.initializer_list(at)
        } else {
            self.assignment(at)
        }
    }

    /// Writes the braced list at `open`.
    pub(super) fn initializer_list(&mut self, open: usize) -> usize {
        let close = self.mate(open);
        let mut at = self.copy(open);
        while at < close {
            // `PyVarObject_HEAD_INIT(NULL, 0),` ends in a comma of its own.
            if self.is(at, ",") {
                at += 1;
                continue;
            }
            let entry = at;
            at = self.designators(at);
            at = self.initializer(at);
            if at == entry || self.is(at, ",") {
                at = self.copy(at);
            } else if at < close {
                // `FOO_METHODDEF {"bar", …}`: the macro brings its comma.
                self.insert(",", at);
            }
        }
        self.copy(close)
    }

    fn designators(&mut self, mut at: usize) -> usize {
        // `name: value` of old GNU C
        if self.kind(at) == Kind::Name && self.is(at + 1, ":") {
            at = self.put(NAME, at);
            return self.copy(at);
        }
        let start = at;
        loop {
            if self.is(at, ".") && self.kind(at + 1) == Kind::Name {
                at = self.copy(at);
                at = self.put(NAME, at);
            } else if self.is(at, "[") {
                let close = self.mate(at);
                at = self.copy(at);
                at = self.expression(at);
                if self.is(at, "...") {
                    at = self.copy(at);
                    at = self.expression(at);
                }
                at = self.finish_group(at, close);
            } else {
                break;
            }
        }
        if at != start && self.is(at, "=") {
            self.copy(at)
        } else {
            at
        }
    }
}
