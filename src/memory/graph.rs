//! What holds pointers, and which pointers get from where to where.
//!
//! Values flow along directed edges. What two pointers point at is one thing as soon as either may
//! hold the value of the other: union-find over the holders decides that, and things that turn out
//! to be one exchange values in both directions. That is coarser than the truth, so no way that a
//! pointer can take is missed.

use std::collections::BTreeMap;

/// Names a holder of a pointer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Node(u32);

impl Node {
    pub(super) fn index(self) -> usize {
        self.0 as usize
    }
}

/// What holds a pointer.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Holder {
    /// A parameter or block-scope variable: item, number.
    Local(u32, u32),
    /// A variable of file scope.
    Global(Box<str>),
    /// A field of all objects of a type; `None` if the type cannot be told.
    Field(Option<String>, Box<str>),
    /// Parameter of a function of the package.
    Param(Box<str>, usize),
    /// What a function of the package returns.
    Result(Box<str>),
}

/// The holders and the edges between them.
#[derive(Debug, Default)]
pub(super) struct Graph {
    targets: Vec<Vec<Node>>,
    sources: Vec<Vec<Node>>,
    parents: Vec<Node>,
    pointees: Vec<Option<Node>>,
    holders: BTreeMap<Holder, Node>,
}

impl Graph {
    /// How many holders there are.
    pub(super) fn len(&self) -> usize {
        self.parents.len()
    }

    /// A holder that no name leads to: the result of a call.
    pub(super) fn fresh(&mut self) -> Node {
        let number = u32::try_from(self.parents.len()).expect("programs have fewer expressions");
        self.targets.push(Vec::new());
        self.sources.push(Vec::new());
        self.parents.push(Node(number));
        self.pointees.push(None);
        Node(number)
    }

    pub(super) fn holder(&mut self, holder: Holder) -> Node {
        if let Some(&node) = self.holders.get(&holder) {
            return node;
        }
        let node = self.fresh();
        self.holders.insert(holder, node);
        node
    }

    /// Everything that has a name, in a fixed order.
    pub(super) fn named(&self) -> impl Iterator<Item = (&Holder, Node)> {
        self.holders.iter().map(|(holder, &node)| (holder, node))
    }

    /// What the pointers in `node` point at.
    pub(super) fn pointee(&mut self, node: Node) -> Node {
        let root = self.root(node);
        if let Some(inner) = self.pointees[root.index()] {
            return inner;
        }
        let inner = self.fresh();
        self.pointees[root.index()] = Some(inner);
        inner
    }

    /// The same, if anything looks there.
    pub(super) fn known_pointee(&self, node: Node) -> Option<Node> {
        let mut root = node;
        while self.parents[root.index()] != root {
            root = self.parents[root.index()];
        }
        self.pointees[root.index()]
    }

    /// `node` points at `inner`.
    pub(super) fn points_at(&mut self, node: Node, inner: Node) {
        let old = self.pointee(node);
        self.same(old, inner);
    }

    /// The value of `from` gets to `to`.
    pub(super) fn flow(&mut self, from: Node, to: Node) {
        self.edge(from, to);
        self.join(from, to);
    }

    /// The value of `from` gets to `to` as a pointer to a part of the same block.
    pub(super) fn leads(&mut self, from: Node, to: Node) {
        self.edge(from, to);
    }

    /// Two names for one holder.
    pub(super) fn same(&mut self, a: Node, b: Node) {
        if a != b {
            self.edge(a, b);
            self.edge(b, a);
            self.join(a, b);
        }
    }

    /// Whether pointers in the two can have anything to do with each other.
    pub(super) fn root(&mut self, node: Node) -> Node {
        let mut at = node;
        while self.parents[at.index()] != at {
            let above = self.parents[self.parents[at.index()].index()];
            self.parents[at.index()] = above;
            at = above;
        }
        at
    }

    /// Everything that the value of `node` gets to, itself included.
    pub(super) fn reached(&self, node: Node) -> Vec<Node> {
        self.reached_from(vec![node])
    }

    /// Everything that one of the values of `nodes` gets to, themselves included.
    pub(super) fn reached_from(&self, nodes: Vec<Node>) -> Vec<Node> {
        spread(&self.targets, nodes, |_| false)
    }

    /// Everything whose value gets to `node`, itself included.
    pub(super) fn origins(&self, node: Node) -> Vec<Node> {
        spread(&self.sources, vec![node], |_| false)
    }

    /// The same, but for what gets there only by what `is_end`.
    pub(super) fn origins_up_to(&self, node: Node, is_end: impl Fn(Node) -> bool) -> Vec<Node> {
        spread(&self.sources, vec![node], is_end)
    }

    fn edge(&mut self, from: Node, to: Node) {
        self.targets[from.index()].push(to);
        self.sources[to.index()].push(from);
    }

    /// Makes what `a` and `b` point at one thing, and what that points at, and so on.
    fn join(&mut self, a: Node, b: Node) {
        let mut pending = vec![(a, b)];
        while let Some((a, b)) = pending.pop() {
            let (a, b) = (self.root(a), self.root(b));
            if a == b {
                continue;
            }
            // The smaller number stays: the result does not depend on the shape of the trees.
            let (root, child) = (a.min(b), a.max(b));
            self.parents[child.index()] = root;
            match (self.pointees[root.index()], self.pointees[child.index()]) {
                (Some(x), Some(y)) => {
                    self.edge(x, y);
                    self.edge(y, x);
                    pending.push((x, y));
                }
                (None, inner) => self.pointees[root.index()] = inner,
                (Some(_), None) => {}
            }
        }
    }
}

fn spread(edges: &[Vec<Node>], from: Vec<Node>, is_end: impl Fn(Node) -> bool) -> Vec<Node> {
    let mut seen = vec![false; edges.len()];
    let mut found = from;
    for node in &found {
        seen[node.index()] = true;
    }
    let mut next = 0;
    while let Some(node) = found.get(next).copied() {
        next += 1;
        if is_end(node) {
            continue;
        }
        for &to in &edges[node.index()] {
            if !std::mem::replace(&mut seen[to.index()], true) {
                found.push(to);
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::{Graph, Holder};

    #[test]
    fn a_common_target_does_not_join_its_sources() {
        let mut graph = Graph::default();
        let [p, q, printed] = [0, 1, 2].map(|local| graph.holder(Holder::Local(0, local)));
        graph.flow(p, printed);
        graph.flow(q, printed);
        assert_eq!(graph.reached(p), [p, printed]);
        assert_eq!(graph.origins(printed), [printed, p, q]);
    }

    #[test]
    fn what_a_copy_of_a_pointer_points_at_is_the_same() {
        let mut graph = Graph::default();
        let [p, q] = [0, 1].map(|local| graph.holder(Holder::Local(0, local)));
        let (in_p, in_q) = (graph.pointee(p), graph.pointee(q));
        graph.flow(p, q);
        assert_eq!(graph.reached(in_q), [in_q, in_p]);
        assert_eq!(graph.pointee(p), graph.pointee(q));
    }

    #[test]
    fn circles_end() {
        let mut graph = Graph::default();
        let next = graph.holder(Holder::Field(None, "next".into()));
        graph.points_at(next, next);
        let other = graph.fresh();
        let inner = graph.pointee(other);
        graph.flow(inner, next);
        graph.flow(next, other);
        assert!(graph.reached(next).contains(&inner));
    }
}
