//! Going from fix to fix.

use std::borrow::Cow;

use regex::RegexBuilder;

use super::decision::{Decision, GroupId};
use super::group::Group;
use super::session::Session;

/// Where to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// Towards the end, and on from the beginning.
    Forward,
    /// Towards the beginning, and on from the end.
    Backward,
}

/// Nothing to go to.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotFound {
    /// No other fix is left without a decision.
    #[error("no other fix is undecided")]
    Open,
    /// There are no more fixes in this direction.
    #[error("no more fixes")]
    End,
    /// Nothing has this name.
    #[error("nothing has the name `{0}`; give a number, an id, a file or `file:line`")]
    Name(String),
    /// Nothing holds this text.
    #[error("no fix contains `{0}`")]
    Text(String),
}

impl Session<'_> {
    /// The first undecided fix, else the first skipped one.
    pub(super) fn first_open(&self) -> Option<usize> {
        let undecided = |at: &&usize| *self.decision(**at) == Decision::Undecided;
        self.open
            .iter()
            .find(undecided)
            .or(self.open.first())
            .copied()
    }

    /// Goes on after a decision: to the next undecided fix, else to the next skipped one.
    ///
    /// # Errors
    /// [`NotFound::Open`] if no other fix is open; the place stays.
    pub fn advance(&mut self) -> Result<(), NotFound> {
        let others = || {
            self.open
                .range(self.current + 1..)
                .chain(self.open.range(..self.current))
        };
        let undecided = |at: &&usize| *self.decision(**at) == Decision::Undecided;
        let next = others().find(undecided).or(others().next());
        self.current = *next.ok_or(NotFound::Open)?;
        Ok(())
    }

    /// Goes to the nearest open fix, around the end.
    ///
    /// # Errors
    /// [`NotFound::Open`] if no other fix is open.
    pub fn go_open(&mut self, direction: Direction) -> Result<(), NotFound> {
        let (before, after) = (..self.current, self.current + 1..);
        let found = match direction {
            Direction::Forward => self
                .open
                .range(after)
                .next()
                .or_else(|| self.open.range(before).next()),
            Direction::Backward => {
                let last = self.open.range(before).next_back();
                last.or_else(|| self.open.range(after).next_back())
            }
        };
        self.current = *found.ok_or(NotFound::Open)?;
        Ok(())
    }

    /// Goes to the neighbour, whatever is decided of it.
    ///
    /// # Errors
    /// [`NotFound::End`] at the end of the list.
    pub fn go_any(&mut self, direction: Direction) -> Result<(), NotFound> {
        let next = match direction {
            Direction::Forward => self.current + 1,
            Direction::Backward => self.current.checked_sub(1).ok_or(NotFound::End)?,
        };
        if next >= self.groups.len() {
            return Err(NotFound::End);
        }
        self.current = next;
        Ok(())
    }

    /// Goes to a number (from 1), an id, a file, or `file:line` (the first fix from that line on,
    /// else the last one of the file). Of a file the end of its path is enough.
    ///
    /// # Errors
    /// [`NotFound::Name`] if there is none.
    pub fn go_to(&mut self, name: &str) -> Result<(), NotFound> {
        let name = name.trim();
        let number = name
            .parse::<usize>()
            .ok()
            .and_then(|number| number.checked_sub(1));
        let by_number = number.filter(|&at| at < self.groups.len());
        let found = by_number
            .or_else(|| self.find(&GroupId(name.to_owned())))
            .or_else(|| self.find_place(name));
        self.current = found.ok_or_else(|| NotFound::Name(name.to_owned()))?;
        Ok(())
    }

    fn find_place(&self, name: &str) -> Option<usize> {
        let with_line = name
            .rsplit_once(':')
            .and_then(|(path, line)| Some((path, line.parse::<u32>().ok()?)));
        let (path, line) = with_line.unwrap_or((name, 0));
        if path.is_empty() {
            return None;
        }
        let in_file = |(_, group): &(usize, &Group<'_>)| {
            let rest = group.path.strip_suffix(path);
            rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('/'))
        };
        let mut here = self.groups.iter().enumerate().filter(in_file);
        let from_line = here.clone().find(|(_, group)| group.line >= line);
        from_line.or_else(|| here.next_back()).map(|(at, _)| at)
    }

    /// Goes to the next fix with `text` (a regular expression if it is one; small letters match
    /// capitals too) in its file name, function, rule, message or new code.
    ///
    /// # Errors
    /// [`NotFound::Text`] if no other fix has it.
    pub fn search(&mut self, text: &str) -> Result<(), NotFound> {
        let build = |pattern: &str| {
            RegexBuilder::new(pattern)
                .case_insensitive(!text.chars().any(char::is_uppercase))
                .build()
        };
        let missing = || NotFound::Text(text.to_owned());
        let pattern = build(text).or_else(|_| build(&regex::escape(text)));
        // A pattern can also be too large.
        let pattern = pattern.map_err(|_| missing())?;
        let after = self.current + 1..self.groups.len();
        let found = after.chain(0..self.current).find(|&at| {
            let texts = texts(&self.groups[at]);
            texts.iter().any(|text| pattern.is_match(text))
        });
        self.current = found.ok_or_else(missing)?;
        Ok(())
    }
}

fn texts<'g>(group: &'g Group<'_>) -> Vec<Cow<'g, str>> {
    let edits = group.fix.edits.iter();
    let mut texts: Vec<_> = edits
        .map(|edit| String::from_utf8_lossy(&edit.text))
        .collect();
    let finding = group.finding;
    let function = finding.function.as_deref().unwrap_or_default();
    let words = [
        group.path.as_str(),
        function,
        finding.rule.code,
        finding.rule.name,
        finding.message.as_str(),
        group.fix.title.as_str(),
    ];
    texts.extend(words.map(Into::into));
    texts
}
