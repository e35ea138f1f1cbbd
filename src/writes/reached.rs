//! What functions have left, each in the contexts it is met in, and the files from which that is
//! reached.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use fixedbitset::FixedBitSet;
use rustc_hash::FxHashMap;

use super::Left;
use super::guards::{Use, guarded};
use crate::source::FileId;

/// A function in one context.
#[derive(Debug, Default)]
struct Node {
    callees: Vec<usize>,
    /// The files with functions that are called from outside and reach it, by number.
    files: FixedBitSet,
}

/// The functions in their contexts, with what they have left.
#[derive(Debug, Default)]
pub(super) struct Reached {
    nodes: Vec<Node>,
    /// Those that are being looked at, innermost last.
    open: Vec<usize>,
    /// What is left and what is used, with the nodes that have it.
    lefts: FxHashMap<Rc<Left>, Vec<usize>>,
    uses: FxHashMap<Use, Vec<usize>>,
}

impl Reached {
    /// Begins with a function in a new context; what is noted until [`Self::end`] is its own.
    pub(super) fn begin(&mut self, file: FileId) -> usize {
        let node = self.nodes.len();
        self.nodes.push(Node::default());
        self.call(node, file);
        self.open.push(node);
        node
    }

    /// Begins with what is called from nowhere, unless [`Self::enter`] says so.
    pub(super) fn begin_apart(&mut self) -> usize {
        let node = self.nodes.len();
        self.nodes.push(Node::default());
        self.open.push(node);
        node
    }

    /// Notes that code outside calls `node`.
    pub(super) fn enter(&mut self, node: usize, file: FileId) {
        self.nodes[node].files.grow_and_insert(file.index());
    }

    /// Whether something is left by `first`, and what was looked at since, and by nothing before.
    pub(super) fn has_new(&self, first: usize) -> bool {
        let mut all = self.lefts.values();
        all.any(|nodes| !nodes.is_empty() && nodes.iter().all(|&node| node >= first))
    }

    /// Forgets which calls were noted for what is looked at: less was known of their arguments.
    pub(super) fn forget_calls(&mut self) {
        if let Some(&node) = self.open.last() {
            self.nodes[node].callees.clear();
        }
    }

    /// Notes that what is looked at calls `node`, or that it is called from outside.
    pub(super) fn call(&mut self, node: usize, file: FileId) {
        match self.open.last() {
            Some(&caller) => self.nodes[caller].callees.push(node),
            None => self.enter(node, file),
        }
    }

    /// Notes that what is looked at calls these.
    pub(super) fn link(&mut self, nodes: &[usize]) {
        if let Some(&caller) = self.open.last() {
            self.nodes[caller].callees.extend(nodes);
        }
    }

    pub(super) fn end(&mut self) {
        if let Some(node) = self.open.pop() {
            let callees = &mut self.nodes[node].callees;
            callees.sort_unstable();
            callees.dedup();
        }
    }

    pub(super) fn note(&mut self, left: Left) {
        let nodes = self.lefts.entry(left.into()).or_default();
        nodes.extend(self.open.last());
    }

    /// Notes a use of what a lock may guard.
    pub(super) fn note_use(&mut self, it: Use) {
        let nodes = self.uses.entry(it).or_default();
        nodes.extend(self.open.last());
    }

    /// What is left, with the files from which it is reached. All files were handed on.
    pub(super) fn left(&self) -> BTreeMap<Rc<Left>, BTreeSet<FileId>> {
        let uses = self.uses.iter();
        let uses = uses.map(|(it, nodes)| (it, self.numbers(nodes)));
        let lefts = self.lefts.iter();
        let lefts = lefts.map(|(left, nodes)| (Rc::clone(left), self.numbers(nodes)));
        let mut found: BTreeMap<Rc<Left>, BTreeSet<FileId>> = BTreeMap::new();
        for (left, files) in guarded(uses.collect()).into_iter().chain(lefts) {
            found.entry(left).or_default().extend(ids(&files));
        }
        found
    }

    /// The files from which some of the nodes are reached.
    pub(super) fn files(&self, nodes: &[usize]) -> BTreeSet<FileId> {
        ids(&self.numbers(nodes)).collect()
    }

    fn numbers(&self, nodes: &[usize]) -> FixedBitSet {
        let mut files = FixedBitSet::new();
        for &node in nodes {
            files.union_with(&self.nodes[node].files);
        }
        files
    }

    /// Hands the files on from callers to what they call. A function has a lower number than those
    /// that were first met in it, so that few rounds are needed.
    pub(super) fn spread(&mut self) {
        let mut is_spreading = true;
        while std::mem::take(&mut is_spreading) {
            for caller in 0..self.nodes.len() {
                let Node { callees, files } = std::mem::take(&mut self.nodes[caller]);
                for &callee in &callees {
                    let known = &mut self.nodes[callee].files;
                    if callee != caller && !files.is_subset(known) {
                        known.union_with(&files);
                        is_spreading |= callee < caller;
                    }
                }
                self.nodes[caller] = Node { callees, files };
            }
        }
    }
}

fn ids(files: &FixedBitSet) -> impl Iterator<Item = FileId> {
    let numbers = files.ones().filter_map(|at| u32::try_from(at).ok());
    numbers.map(FileId)
}
