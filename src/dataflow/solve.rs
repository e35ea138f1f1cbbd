//! The worklist.

use std::collections::BTreeSet;

use super::graph::{Graph, NodeId, reverse_post_order};

/// Which way facts flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// From the entry along the edges.
    Forward,
    /// From the nodes without successors against the edges.
    Backward,
}

/// A question about every node of a graph.
///
/// # Convergence
///
/// [`solve`] ends, with the least solution, if
///
/// 1. `join` computes a least upper bound: it never loses what `into` held, and it answers `true`
///    exactly if `into` grew;
/// 2. no chain of ever growing states is infinite;
/// 3. `transfer` and `edge` are monotone: a larger state going in never gives a smaller one.
///
/// A domain that breaks the law is a defect of the client; it is reported as [`Diverged`] and
/// never as a hang.
pub trait Analysis {
    /// What is known at one point.
    type Domain: Clone;

    /// Which way facts flow.
    const DIRECTION: Direction;

    /// The state of a point that is not reached: the neutral element of `join`.
    fn bottom(&self) -> Self::Domain;

    /// What holds at the entry (forward), or at the end of a node without successors (backward).
    fn boundary(&self) -> Self::Domain;

    /// Turns the state on one side of `node` into the state on the other, in flow direction.
    fn transfer(&self, node: NodeId, state: &mut Self::Domain);

    /// Adds `from` to `into`; whether `into` changed.
    fn join(&self, into: &mut Self::Domain, from: &Self::Domain) -> bool;

    /// Refines the state that flows along edge number `edge` out of `node`: after
    /// `if (v == NULL)` the first edge knows that `v` is null. Forward only.
    fn edge(&self, node: NodeId, edge: usize, state: &mut Self::Domain) {
        let _ = (node, edge, state);
    }

    /// How often one node may be visited before the analysis counts as diverged.
    fn visit_limit(&self) -> u32 {
        10_000
    }
}

/// The analysis broke the law of convergence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("data-flow analysis does not converge: node {node} was visited {visits} times")]
pub struct Diverged {
    /// The node that was visited too often.
    pub node: NodeId,
    /// How often.
    pub visits: u32,
}

/// One state a node.
#[derive(Debug, Clone)]
pub struct Solution<D> {
    inputs: Vec<D>,
}

impl<D> Solution<D> {
    /// The state with which flow comes into `node`: at its start (forward) or its end (backward).
    /// Nodes that flow does not reach hold `bottom`.
    #[must_use]
    pub fn input(&self, node: NodeId) -> &D {
        &self.inputs[node]
    }
}

/// Solves `analysis` over `graph`.
///
/// A forward analysis visits what can be reached from the entry; a backward one visits every node,
/// so that endless loops and code after `return` have answers too.
///
/// # Errors
///
/// [`Diverged`] if the analysis breaks the law of convergence.
pub fn solve<G: Graph, A: Analysis>(
    graph: &G,
    analysis: &A,
) -> Result<Solution<A::Domain>, Diverged> {
    let order = visit_order(graph, A::DIRECTION);
    let mut position = vec![0; graph.node_count()];
    for (index, &node) in order.iter().enumerate() {
        position[node] = index;
    }
    let mut worklist = Worklist::seed(graph, analysis, &order);
    while let Some(at) = worklist.pending.pop_first() {
        let node = order[at];
        worklist.count_visit(node, analysis.visit_limit())?;
        let mut state = worklist.inputs[node].clone();
        analysis.transfer(node, &mut state);
        match A::DIRECTION {
            Direction::Forward => {
                for (edge, next) in graph.successors(node).enumerate() {
                    let mut refined = state.clone();
                    analysis.edge(node, edge, &mut refined);
                    worklist.flow(analysis, &refined, next, position[next]);
                }
            }
            Direction::Backward => {
                for next in graph.predecessors(node) {
                    worklist.flow(analysis, &state, next, position[next]);
                }
            }
        }
    }
    Ok(Solution {
        inputs: worklist.inputs,
    })
}

/// Nodes in the order in which most of what a node depends on comes first.
fn visit_order(graph: &impl Graph, direction: Direction) -> Vec<NodeId> {
    let mut order = reverse_post_order(graph);
    if direction == Direction::Backward {
        let mut reached = vec![false; graph.node_count()];
        for &node in &order {
            reached[node] = true;
        }
        order.extend((0..graph.node_count()).filter(|&node| !reached[node]));
        order.reverse();
    }
    order
}

struct Worklist<D> {
    inputs: Vec<D>,
    reached: Vec<bool>,
    visits: Vec<u32>,
    /// Positions in the visit order.
    pending: BTreeSet<usize>,
}

impl<D: Clone> Worklist<D> {
    fn seed<G: Graph, A: Analysis<Domain = D>>(graph: &G, analysis: &A, order: &[NodeId]) -> Self {
        let count = graph.node_count();
        let mut inputs = vec![analysis.bottom(); count];
        let mut reached = vec![false; count];
        let mut pending = BTreeSet::new();
        match A::DIRECTION {
            Direction::Forward => {
                inputs[graph.entry()] = analysis.boundary();
                reached[graph.entry()] = true;
                pending.insert(0);
            }
            Direction::Backward => {
                reached.fill(true);
                pending.extend(0..order.len());
                for node in (0..count).filter(|&node| graph.successors(node).next().is_none()) {
                    inputs[node] = analysis.boundary();
                }
            }
        }
        Self {
            inputs,
            reached,
            visits: vec![0; count],
            pending,
        }
    }

    fn flow<A: Analysis<Domain = D>>(
        &mut self,
        analysis: &A,
        state: &D,
        node: NodeId,
        position: usize,
    ) {
        let grew = analysis.join(&mut self.inputs[node], state);
        if grew || !self.reached[node] {
            self.reached[node] = true;
            self.pending.insert(position);
        }
    }

    fn count_visit(&mut self, node: NodeId, limit: u32) -> Result<(), Diverged> {
        self.visits[node] += 1;
        let visits = self.visits[node];
        if visits > limit {
            Err(Diverged { node, visits })
        } else {
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Edges(Vec<Vec<NodeId>>);

    impl Graph for Edges {
        fn node_count(&self) -> usize {
            self.0.len()
        }

        fn entry(&self) -> NodeId {
            0
        }

        fn successors(&self, node: NodeId) -> impl Iterator<Item = NodeId> {
            self.0[node].iter().copied()
        }

        fn predecessors(&self, node: NodeId) -> impl Iterator<Item = NodeId> {
            (0..self.0.len()).filter(move |&from| self.0[from].contains(&node))
        }
    }

    /// Which nodes lie on some path to here, as bits.
    struct Passed;

    impl Analysis for Passed {
        type Domain = u32;
        const DIRECTION: Direction = Direction::Forward;

        fn bottom(&self) -> u32 {
            0
        }

        fn boundary(&self) -> u32 {
            0
        }

        fn transfer(&self, node: NodeId, state: &mut u32) {
            *state |= 1 << node;
        }

        fn join(&self, into: &mut u32, from: &u32) -> bool {
            let before = *into;
            *into |= from;
            *into != before
        }

        fn edge(&self, node: NodeId, edge: usize, state: &mut u32) {
            if node == 1 && edge == 1 {
                *state |= 1 << 31;
            }
        }
    }

    /// Whether the end can be reached.
    struct Ends;

    impl Analysis for Ends {
        type Domain = bool;
        const DIRECTION: Direction = Direction::Backward;

        fn bottom(&self) -> bool {
            false
        }

        fn boundary(&self) -> bool {
            true
        }

        fn transfer(&self, _: NodeId, _: &mut bool) {}

        fn join(&self, into: &mut bool, from: &bool) -> bool {
            let before = *into;
            *into |= from;
            *into != before
        }
    }

    /// Counts for ever.
    struct Counter;

    impl Analysis for Counter {
        type Domain = u64;
        const DIRECTION: Direction = Direction::Forward;

        fn bottom(&self) -> u64 {
            0
        }

        fn boundary(&self) -> u64 {
            1
        }

        fn transfer(&self, _: NodeId, state: &mut u64) {
            *state += 1;
        }

        fn join(&self, into: &mut u64, from: &u64) -> bool {
            let before = *into;
            *into = before.max(*from);
            *into != before
        }
    }

    #[test]
    fn forward_facts_go_round_a_loop_and_are_refined_on_edges() {
        let graph = Edges(vec![vec![1], vec![2, 3], vec![1], vec![], vec![3]]);
        let solution = solve(&graph, &Passed).unwrap();
        assert_eq!(*solution.input(1), 0b0111);
        assert_eq!(*solution.input(2), 0b0111);
        assert_eq!(*solution.input(3), 0b0111 | 1 << 31);
        assert_eq!(*solution.input(4), 0, "not reached: bottom");
    }

    #[test]
    fn backward_facts_reach_dead_code_and_stay_out_of_endless_loops() {
        let graph = Edges(vec![vec![1, 2], vec![1], vec![], vec![2]]);
        let solution = solve(&graph, &Ends).unwrap();
        let ends: Vec<bool> = (0..4).map(|node| *solution.input(node)).collect();
        assert_eq!(ends, [true, false, true, true]);
    }

    #[test]
    fn a_domain_without_bound_is_an_error_and_not_a_hang() {
        let graph = Edges(vec![vec![1], vec![1]]);
        let diverged = solve(&graph, &Counter).unwrap_err();
        assert_eq!(
            diverged,
            Diverged {
                node: 1,
                visits: 10_001
            }
        );
    }

    #[test]
    fn reverse_post_order_of_a_long_chain_keeps_its_own_stack() {
        let count = 100_000;
        let graph = Edges(
            (1..=count)
                .map(|next| if next < count { vec![next] } else { vec![] })
                .collect(),
        );
        let order = reverse_post_order(&graph);
        assert!(order.iter().copied().eq(0..count));
    }
}
