//! What a project itself says of its code: in its configuration, in comments, in attributes.
//!
//! It wins over what the code seems to do: its authors know more than one function shows.
//!
//! ```c
//! /* ungil: borrowed */
//! PyObject *peek(Queue *queue);
//! CPYCHECKER_STEALS_REFERENCE_TO_ARG(2) int give(Queue *queue, PyObject *item);
//! static long hits; /* ungil: guarded-by(lock) */
//! ```

mod claims;
mod comment;
mod declared;
mod functions;
mod guarded;

pub use claims::{Claim, Confirmed, Fact, Subject, listed};
pub use comment::{MARK, covered_lines, directive, is_in_token};
pub use declared::declared;
pub use functions::{Functions, Reference, Stated};
pub use guarded::{GuardedBy, guarded_fields, guards};

/// Whether the text of a directive states a fact.
#[must_use]
pub fn is_fact(text: &str) -> bool {
    guarded::lock(text).is_some()
        || comment::stated(text).is_some()
        || comment::thread_safe(text).is_some()
}
