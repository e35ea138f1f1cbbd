//! What the solver wants to know of a graph, and the order it visits nodes in.

/// Names a node: `0..node_count`.
pub type NodeId = usize;

/// A directed graph with one entry. Parallel edges are allowed.
pub trait Graph {
    /// How many nodes there are.
    fn node_count(&self) -> usize;

    /// Where execution starts.
    fn entry(&self) -> NodeId;

    /// Targets of the edges out of `node`, in a fixed order. The position is the edge's name.
    fn successors(&self, node: NodeId) -> impl Iterator<Item = NodeId>;

    /// Sources of the edges into `node`, each once.
    fn predecessors(&self, node: NodeId) -> impl Iterator<Item = NodeId>;
}

/// All nodes that can be reached from the entry, each before its successors except along edges
/// that close a cycle.
///
/// Takes time linear in nodes and edges and keeps its own stack.
pub fn reverse_post_order(graph: &impl Graph) -> Vec<NodeId> {
    let mut order = Vec::with_capacity(graph.node_count());
    let mut seen = vec![false; graph.node_count()];
    seen[graph.entry()] = true;
    let mut stack = vec![(graph.entry(), graph.successors(graph.entry()))];
    while let Some((node, successors)) = stack.last_mut() {
        match successors.next() {
            None => {
                order.push(*node);
                stack.pop();
            }
            Some(next) if !seen[next] => {
                seen[next] = true;
                stack.push((next, graph.successors(next)));
            }
            Some(_) => {}
        }
    }
    order.reverse();
    order
}
