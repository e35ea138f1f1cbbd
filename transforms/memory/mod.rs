//! Rules about memory: which allocator it comes from, and which one gets it back.

pub mod buffer;
mod domain;
mod families;
mod flow;
mod graph;
mod known;
pub mod mismatch;
pub mod object;

pub use domain::PYTHON_ALLOCATORS;
pub use known::INITIALISERS;

#[cfg(test)]
mod tests;
