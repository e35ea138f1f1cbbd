//! Groups the calls that allocate and release by the memory they meet.

use std::collections::{BTreeMap, BTreeSet};

use fixedbitset::FixedBitSet;

use crate::ast::ExprKind;
use crate::preprocess::Place;
use crate::program::{CallIndex, CallSite, Program};
use crate::source::{ByteSpan, FileId};

use super::domain::{Act, Allocator, Domain};
use super::flow::{Followed, Mark, follow};
use super::graph::{Graph, Holder, Node};

/// A call that allocates or releases, in the files.
#[derive(Debug, Clone)]
pub struct Member {
    /// The call.
    pub call: CallSite,
    /// What it calls.
    pub allocator: &'static Allocator,
    /// The name of the function, or the use of the macro that made the call.
    pub place: Span,
    /// The macro whose body makes the call.
    pub from_macro: Option<String>,
    /// What it takes may come from code that is not seen.
    pub comes: bool,
    /// The function that makes a Python object of what it gives.
    pub made_by: Option<Box<str>>,
}

type Span = (FileId, ByteSpan);

/// Calls that must agree on the allocator: memory that one of them gives gets to another.
#[derive(Debug, Default)]
pub struct Family {
    /// The calls, each text once, by file and place.
    pub members: Vec<Member>,
    /// Pairs of members, by number: the second takes memory that the first gives.
    pub pairs: Vec<(usize, usize)>,
    /// Memory that a member gives becomes a Python object.
    pub makes_objects: bool,
    /// A member may also be given Python objects.
    pub takes_objects: bool,
    /// Clauses about how a pointer gets to code that is not seen.
    pub leaves: BTreeSet<String>,
}

impl Family {
    /// The domains of the members that do one of `acts`.
    pub fn domains(&self, acts: &[Act]) -> BTreeSet<Domain> {
        let chosen = self.members.iter();
        chosen
            .filter(|member| acts.contains(&member.allocator.act))
            .map(|member| member.allocator.domain)
            .collect()
    }
}

/// The families of the package, by the place of their first member.
#[must_use]
pub fn families(program: &Program<'_>, calls: &CallIndex) -> Vec<Family> {
    let mut followed = follow(program);
    let mut vertices = vertices(program, &mut followed);
    let marks = Marks::new(calls, &mut followed);
    let takers = takers(&followed.graph, &vertices);
    let mut groups = Groups::new(vertices.len());
    let mut facts = Vec::new();
    let mut pairs = BTreeSet::new();
    for (at, vertex) in vertices.iter_mut().enumerate() {
        let mut fact = Fact::default();
        for &node in &vertex.given {
            for reached in followed.graph.reached(node) {
                marks.given(reached, &mut fact, &mut vertex.member);
                for &taker in &takers[reached.index()] {
                    groups.join(at, taker);
                    pairs.insert((at, taker));
                }
            }
        }
        for &node in &vertex.taken {
            for origin in followed.graph.origins(node) {
                marks.taken(origin, &mut fact, &mut vertex.member);
            }
        }
        facts.push(fact);
    }
    let mut families: BTreeMap<usize, Family> = BTreeMap::new();
    let mut numbers = Vec::new();
    for (at, (vertex, fact)) in vertices.into_iter().zip(facts).enumerate() {
        let family = families.entry(groups.root(at)).or_default();
        numbers.push(family.members.len());
        family.members.push(vertex.member);
        family.makes_objects |= fact.makes_objects;
        family.takes_objects |= fact.takes_objects;
        family.leaves.extend(marks.clauses(&fact.leaves));
    }
    for (from, to) in pairs {
        if let Some(family) = families.get_mut(&groups.root(from)) {
            family.pairs.push((numbers[from], numbers[to]));
        }
    }
    families.into_values().collect()
}

/// The calls that take what a holder holds, by holder.
fn takers(graph: &Graph, vertices: &[Vertex]) -> Vec<Vec<usize>> {
    let mut takers = vec![Vec::new(); graph.len()];
    for (at, vertex) in vertices.iter().enumerate() {
        for node in &vertex.taken {
            takers[node.index()].push(at);
        }
    }
    takers
}

/// A text that allocates or releases, with the pointers of all of its configurations: what is
/// edited once must be right in all of them.
struct Vertex {
    member: Member,
    taken: Vec<Node>,
    given: Vec<Node>,
}

/// The calls, by place.
fn vertices(program: &Program<'_>, followed: &mut Followed) -> Vec<Vertex> {
    let mut by_place: BTreeMap<(Span, &str), Vertex> = BTreeMap::new();
    for site in std::mem::take(&mut followed.sites) {
        let Some(member) = member(program, site.call, site.allocator) else {
            continue;
        };
        let vertex = by_place
            .entry((member.place, site.allocator.name))
            .or_insert(Vertex {
                member,
                taken: Vec::new(),
                given: Vec::new(),
            });
        vertex.taken.extend(site.taken);
        vertex.given.extend(site.given);
    }
    by_place.into_values().collect()
}

/// Union-find over the calls.
struct Groups(Vec<usize>);

impl Groups {
    fn new(count: usize) -> Self {
        Self((0..count).collect())
    }

    fn root(&self, at: usize) -> usize {
        let mut at = at;
        while self.0[at] != at {
            at = self.0[at];
        }
        at
    }

    fn join(&mut self, a: usize, b: usize) {
        let (a, b) = (self.root(a), self.root(b));
        self.0[a.max(b)] = a.min(b);
    }
}

/// What is known of one holder.
#[derive(Debug, Default)]
struct Known {
    is_object: bool,
    comes: bool,
    made_by: Option<Box<str>>,
    /// Numbers of clauses about how it gets to code that is not seen.
    leaves: Vec<usize>,
}

/// What is known of one vertex by the holders that it meets.
#[derive(Debug, Default)]
struct Fact {
    makes_objects: bool,
    takes_objects: bool,
    leaves: FixedBitSet,
}

/// What is known of each holder.
struct Marks {
    known: Vec<Known>,
    clauses: BTreeMap<String, usize>,
}

impl Marks {
    fn new(calls: &CallIndex, followed: &mut Followed) -> Self {
        let known = std::iter::repeat_with(Known::default);
        let mut marks = Self {
            known: known.take(followed.graph.len()).collect(),
            clauses: BTreeMap::new(),
        };
        for (node, mark) in std::mem::take(&mut followed.marks) {
            marks.add(node, mark);
        }
        for (name, node) in in_gaps(calls, &followed.graph) {
            let what = match calls.unread_by(&name) {
                Some(file) => format!(
                    "`{}`, which was not read, contains the name `{name}`",
                    file.display()
                ),
                None => format!("code that was not analysed contains the name `{name}`"),
            };
            let inner = followed.graph.known_pointee(node);
            for node in inner.into_iter().chain([node]) {
                marks.add(node, Mark::Leaves(what.clone()));
                marks.add(node, Mark::Comes);
            }
        }
        for known in &mut marks.known {
            known.leaves.sort_unstable();
            known.leaves.dedup();
        }
        marks
    }

    fn add(&mut self, node: Node, mark: Mark) {
        let known = &mut self.known[node.index()];
        match mark {
            Mark::Object => known.is_object = true,
            Mark::Made(by) => known.made_by = Some(by),
            Mark::Comes => known.comes = true,
            Mark::Leaves(what) => {
                let next = self.clauses.len();
                let number = *self.clauses.entry(what).or_insert(next);
                known.leaves.push(number);
            }
        }
    }

    /// Memory that `member` gives gets to `node`.
    fn given(&self, node: Node, fact: &mut Fact, member: &mut Member) {
        let known = &self.known[node.index()];
        fact.makes_objects |= known.is_object;
        for &clause in &known.leaves {
            fact.leaves.grow_and_insert(clause);
        }
        if let Some(by) = &known.made_by {
            member.made_by = Some(by.clone());
        }
    }

    /// What `node` holds gets to `member`, which takes it.
    fn taken(&self, node: Node, fact: &mut Fact, member: &mut Member) {
        let known = &self.known[node.index()];
        fact.takes_objects |= known.is_object;
        member.comes |= known.comes;
    }

    /// The clauses with these numbers.
    fn clauses(&self, numbers: &FixedBitSet) -> impl Iterator<Item = String> {
        let all = self.clauses.iter();
        let chosen = all.filter(|(_, number)| numbers.contains(**number));
        chosen.map(|(clause, _)| clause.clone())
    }
}

/// Holders whose names stand in text that was not understood, or that nobody analyses, which may do
/// anything with them.
fn in_gaps(calls: &CallIndex, graph: &Graph) -> Vec<(Box<str>, Node)> {
    let named = graph.named().filter_map(|(holder, node)| match holder {
        Holder::Local(..) => None,
        Holder::Global(name) | Holder::Field(_, name) => {
            calls.is_named_unread(name).then(|| (name.clone(), node))
        }
        Holder::Param(name, _) | Holder::Result(name) => calls
            .may_be_called_unseen(name)
            .then(|| (name.clone(), node)),
    });
    named.collect()
}

fn member(program: &Program<'_>, call: CallSite, allocator: &'static Allocator) -> Option<Member> {
    let item = program.item(call.item);
    let tree = item.tree()?;
    let ExprKind::Call { callee, .. } = tree.expr(call.expr).kind else {
        return None;
    };
    let (place, from_macro) = match item.tokens.place(tree.expr(callee).range) {
        Place::File(file, span) | Place::Argument { file, span, .. } => ((file, span), None),
        Place::Macro { name, call, .. } => (call, Some(name.to_string())),
    };
    // `#define ALLOC PyObject_Malloc`: the text is the name of the macro.
    let text = program.files.get(place.0).slice(place.1);
    let from_macro = from_macro.or_else(|| {
        (text != allocator.name.as_bytes()).then(|| String::from_utf8_lossy(text).into_owned())
    });
    Some(Member {
        call,
        allocator,
        place,
        from_macro,
        comes: false,
        made_by: None,
    })
}
