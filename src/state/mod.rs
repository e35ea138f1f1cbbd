//! State that threads share: the static variables of a package and the fields of its objects, with
//! the places that write them once other threads may be there.

mod behind;
mod fields;
mod kind;
mod locks;
mod meeting;
mod own;
mod phase;
mod pointees;
mod roots;
mod variables;
mod writes;

pub use fields::{is_shared, object_states};
pub use kind::{Kind, Lazy};
pub use locks::{
    Locks, begins_section, ends_section, holds_lock_by_name, lock_act_by_name,
    releases_lock_by_name, takes_lock_by_name,
};
pub use meeting::{Meetings, Phase};
pub use own::Own;
pub use phase::{alone, calls_once, reachable};
pub use roots::{Path, root};
pub use variables::{Variable, Write, inventory, is_lock};
pub use writes::How;
