//! Keys and what they mean; letters that `git add -p` has keep their meaning.

/// What a person can ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    Accept,
    Reject,
    RejectWithReason,
    Skip,
    AcceptFile,
    RejectFile,
    AcceptFunction,
    RejectFunction,
    AcceptRule,
    RejectRule,
    AcceptSafe,
    NextOpen,
    PreviousOpen,
    Next,
    Previous,
    GoTo,
    Search,
    SearchAgain,
    Alternative,
    Confirm,
    Edit,
    Split,
    WholeFunction,
    MoreContext,
    LessContext,
    Side,
    Why,
    Undo,
    Redo,
    Write,
    Leave,
    LeaveAtOnce,
    Help,
}

impl Action {
    /// Whether it would take the fix itself where another form of it is shown.
    pub(super) fn is_about_first_form(self) -> bool {
        matches!(
            self,
            Self::AcceptFile
                | Self::AcceptFunction
                | Self::AcceptRule
                | Self::AcceptSafe
                | Self::Edit
        )
    }
}

/// Every key with its action and one line of help.
pub(super) const KEYS: &[(char, Action, &str)] = &[
    ('y', Action::Accept, "accept, next fix"),
    ('n', Action::Reject, "reject, next fix"),
    ('N', Action::RejectWithReason, "reject and say why"),
    (' ', Action::Skip, "decide later, next fix"),
    ('q', Action::Leave, "leave; asks whether to write"),
    (
        'Q',
        Action::LeaveAtOnce,
        "leave without writing, keep decisions",
    ),
    (
        'a',
        Action::AcceptFile,
        "accept this and all later safe ones in the file",
    ),
    (
        'd',
        Action::RejectFile,
        "reject this and all later ones in the file",
    ),
    ('f', Action::AcceptFunction, "accept all in this function"),
    ('F', Action::RejectFunction, "reject all in this function"),
    (
        'R',
        Action::AcceptRule,
        "accept all of this rule in all files",
    ),
    (
        'X',
        Action::RejectRule,
        "reject all of this rule in all files",
    ),
    ('A', Action::AcceptSafe, "accept all safe ones in all files"),
    ('j', Action::NextOpen, "next undecided"),
    ('k', Action::PreviousOpen, "previous undecided"),
    ('J', Action::Next, "next"),
    ('K', Action::Previous, "previous"),
    (
        'g',
        Action::GoTo,
        "go to a number, an id, a file or file:line",
    ),
    (
        '/',
        Action::Search,
        "search in files, functions, rules and code",
    ),
    ('*', Action::SearchAgain, "search for the same text again"),
    (
        'o',
        Action::Alternative,
        "show the next alternative of the fix (or Tab); y accepts it",
    ),
    (
        'c',
        Action::Confirm,
        "confirm what the fix rests on, for all fixes, in the configuration",
    ),
    ('e', Action::Edit, "edit the function as the fix changes it"),
    ('s', Action::Split, "say why the fix cannot be split"),
    (
        'z',
        Action::WholeFunction,
        "the whole function, or only the changes",
    ),
    ('+', Action::MoreContext, "more lines around changes"),
    ('-', Action::LessContext, "fewer lines around changes"),
    ('v', Action::Side, "both texts, new only, old only"),
    ('i', Action::Why, "the reason, the diff, or both"),
    ('u', Action::Undo, "undo the last decision or confirmation"),
    ('U', Action::Redo, "redo it"),
    ('w', Action::Write, "write what is accepted, and continue"),
    ('?', Action::Help, "all keys"),
];

/// The action of a key.
pub(super) fn action(key: char) -> Option<Action> {
    let found = KEYS.iter().find(|(known, ..)| *known == key);
    found.map(|(_, action, _)| *action)
}

/// How a key is written.
pub(super) fn name(key: char) -> String {
    match key {
        ' ' => "Space".to_owned(),
        key => key.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{KEYS, action};

    #[test]
    fn a_key_has_one_meaning_and_those_of_git_are_there() {
        let keys: BTreeSet<char> = KEYS.iter().map(|(key, ..)| *key).collect();
        assert_eq!(keys.len(), KEYS.len());
        assert!("ynqadesjkJKg/?".chars().all(|key| action(key).is_some()));
    }
}
