//! Fixed points over any directed graph; knows no C.
//!
//! A client describes its graph by [`Graph`] and its question by [`Analysis`]; [`solve`] gives the
//! least solution, one state a node. `cfg::liveness` is a small complete example.

mod graph;
mod solve;

pub use graph::{Graph, NodeId, reverse_post_order};
pub use solve::{Analysis, Direction, Diverged, Solution, solve};
