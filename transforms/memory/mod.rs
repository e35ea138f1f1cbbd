//! Rules about memory: which allocator it comes from, and which one gets it back.

pub mod buffer;
pub mod mismatch;
pub mod object;

#[cfg(test)]
mod tests;
