//! What is said of a problem with a reference.

use crate::ast::Function;
use crate::ownership::track::{Origin, Problem, Seed, Trouble};

/// The function that gave the reference which a problem is about.
fn giver<'f>(function: &'f Function, seeds: &[Seed], trouble: &Trouble) -> &'f str {
    let name = match seeds[trouble.seed].origin {
        Origin::Call(call) => function.tree.called(call),
        Origin::Param(_) | Origin::Local(_) => None,
    };
    name.unwrap_or("the call")
}

/// What a person has to confirm where a problem is a doubt.
pub(super) fn claim(function: &Function, seeds: &[Seed], trouble: &Trouble) -> String {
    let name = giver(function, seeds, trouble);
    let what = match trouble.problem {
        Problem::MayOutlive => format!(
            "what a function made from the object that `{name}` returned stays valid after the \
             object is released"
        ),
        Problem::MayBeKept => format!("no function keeps the object from `{name}` that it gets"),
        Problem::MayBePassedOn | Problem::BorrowedPassedOn => {
            format!("no function that gets the object from `{name}` releases it or passes it on")
        }
        Problem::CountMatters => format!(
            "no code relies on the reference count of the object from `{name}`, which is now one \
             higher"
        ),
        _ => return describe(function, seeds, trouble),
    };
    format!("in `{}`, {what}", function.name)
}

/// What is wrong with a reference.
pub(super) fn describe(function: &Function, seeds: &[Seed], trouble: &Trouble) -> String {
    let name = giver(function, seeds, trouble);
    let what = match trouble.problem {
        Problem::Leak => "is not released on every path",
        Problem::OverRelease => "is released or given away once too often on some path",
        Problem::UseAfterRelease => "is used after its release on some path",
        Problem::ReleaseOfNull => "is released where it is NULL",
        Problem::ReleaseOfUnset => "is released where its variable has no value yet",
        Problem::UseOfUnset => "is used where its variable has no value yet",
        Problem::AddressTaken => "can be changed through a pointer that leaves the function",
        Problem::DerivedEscapes | Problem::BorrowedEscapes => {
            "is freed while a pointer into it is still in use"
        }
        Problem::MayOutlive => {
            "is released before the last use of what a function made from the object"
        }
        Problem::MayBeKept => "may be kept by a function that it is passed to",
        Problem::MayBePassedOn | Problem::BorrowedPassedOn => {
            "may be released or passed on by a function that gets it"
        }
        Problem::CountMatters => "is one more than code that looks at the reference count expects",
    };
    format!("in `{}`, the reference from `{name}` {what}", function.name)
}
