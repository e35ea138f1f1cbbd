//! Which allocator memory comes from, and which one gets it back.

mod domain;
mod families;
mod flow;
mod graph;
mod known;

pub use domain::{
    Act, Allocator, Domain, OBJECT_ALLOCATORS, PYTHON_ALLOCATORS, in_mem_domain, lets_go,
};
pub use families::{Family, Member, families};
pub use known::INITIALISERS;
