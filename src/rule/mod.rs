//! The contract between the engine and the rules.

mod check;
mod context;
mod declare;
mod destroyed;
mod finding;
mod fingerprint;
mod fold;
mod head;
mod lifetimes;
mod object_state;
mod outside;
mod page;
mod selection;
mod severity;
mod suppression;
mod threads;

pub use check::{BuildCx, Check};
pub use context::{
    ByCalls, ErrnoFunctions, ErrorNumbers, ErrorReturn, Errors, Exceptions, Lookups, PackageCx,
    Told,
};
pub use finding::{Finding, Note, Outcome};
pub use fingerprint::fingerprints;
pub use fold::fold;
pub use head::{Head, Refusal};
pub use lifetimes::{Asks, Lifetimes};
pub use object_state::{Method, ObjectState};
pub use outside::Outside;
pub use page::{Limit, wrapped};
pub use selection::{Selection, Selector, UnknownRule};
pub use severity::{Level, Severity};
pub use suppression::{Suppression, build_suppressions, suppressions};
pub use threads::{ThreadState, Threads, spread};

pub use crate::program::{CallSite, ItemId, Mention};

use crate::edit::Confidence;

/// A rule: what it is called, what its page says, what it does.
#[derive(Debug)]
pub struct Rule {
    /// `UG101`; never used twice.
    pub code: &'static str,
    /// Names the pattern in kebab case: `borrowed-list-item`.
    pub name: &'static str,
    /// One line, lower case, no full stop.
    pub summary: &'static str,
    /// The worst that its findings may lead to.
    pub severity: Severity,
    /// The rule's page in Markdown, from its doc comment.
    pub docs: &'static str,
    /// First release that has it.
    pub since: &'static str,
    /// The best confidence its fixes reach; `None` if it never makes one.
    pub best: Option<Confidence>,
    /// Identifiers without which the rule has nothing to say of an item: only items that hold one
    /// of them (after macro expansion) are parsed for it. Empty: it looks at every item, or at none
    /// if it is about build files.
    pub triggers: &'static [&'static str],
    /// What it does.
    pub check: Check,
}
