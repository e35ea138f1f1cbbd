//! Rules about memory: which allocator it comes from, and which one gets it back.

pub mod buffer;
pub mod mismatch;
pub mod object;

use crate::memory::{Act, Member};
use crate::rule::Note;

/// What a call does to the memory that a finding is about.
fn note(member: &Member) -> Note {
    let name = member.allocator.name;
    let text = match member.allocator.act {
        Act::Allocate => format!("`{name}` allocates it here"),
        Act::Resize => format!("`{name}` resizes it here"),
        Act::Release => format!("`{name}` releases it here"),
    };
    Note {
        file: member.place.0,
        span: member.place.1,
        text,
    }
}

#[cfg(test)]
mod tests;
