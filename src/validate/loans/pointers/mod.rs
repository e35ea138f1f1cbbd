//! Where the address of the struct goes in the package as it was, and whether anything is written
//! by way of it that the fields share their memory with.
//!
//! ```text
//! t1 = call walk(t0, each, &args)    `walk` gets it as its third parameter, and `each` as its second
//! t2 = call t3(t4, t5)               in `walk`: t3 is the parameter `each`
//! store *t6.filter.tag = NULL        in `each`: the field holds something else from then on
//! ```

mod flow;

use std::collections::{BTreeMap, BTreeSet};

use super::super::proof::graph;
use crate::ast::{ExprKind, Function, Name};
use crate::capi;
use crate::program::{CallIndex, Program, Types};

/// What is followed.
pub(super) struct Lent<'a> {
    pub program: &'a Program<'a>,
    pub index: &'a CallIndex,
    pub types: &'a Types<'a>,
    /// The function with the struct, its variable, and the function that fills it.
    pub owner: &'a str,
    pub variable: &'a str,
    pub filler: &'a str,
    /// The fields on the way to those that are filled, and these.
    pub parts: BTreeSet<&'a str>,
    /// The types of the structs on that way.
    pub kinds: BTreeSet<String>,
}

/// What a function is known to pass as an argument beside the address.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Beside {
    Function(Box<str>),
    Other,
}

/// Where the address may be.
#[derive(Default, PartialEq, Clone)]
struct Reached {
    /// Parameters of functions, by their position.
    params: BTreeSet<(Box<str>, usize)>,
    /// Fields of structs, and the types of these.
    fields: BTreeSet<Box<str>>,
    holders: BTreeSet<String>,
    /// What functions get where they get the address.
    beside: BTreeSet<(Box<str>, usize, Beside)>,
}

impl Lent<'_> {
    /// Whether nothing in the package changes the fields by way of the address, as far as it can
    /// be followed.
    pub(super) fn is_left_alone(&self) -> bool {
        let mut reached = Reached::default();
        loop {
            let before = reached.clone();
            for (_, function) in self.program.functions() {
                let name = function.name.as_str();
                let gets_it = reached.params.iter().any(|(to, _)| **to == *name);
                let may_read_it = gets_it || name == self.owner || !reached.fields.is_empty();
                if may_read_it && !self.follow(function, &mut reached) {
                    return false;
                }
            }
            if reached == before {
                return true;
            }
        }
    }

    fn follow(&self, function: &Function, reached: &mut Reached) -> bool {
        let graph = graph(function);
        flow::Flow::new(self, function, &graph, reached).ends_well(reached)
    }

    /// Whether the function with the struct may come to code that detaches the thread or looks at
    /// reference counts, by name or through a pointer.
    pub(super) fn may_detach(&self) -> bool {
        if self.program.functions().any(|(_, it)| stays_detached(it)) {
            return true;
        }
        let mut names: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for (_, function) in self.program.functions() {
            let of_function = names.entry(&function.name).or_default();
            of_function.extend(
                function
                    .tree
                    .exprs
                    .iter()
                    .filter_map(|expr| match &expr.kind {
                        ExprKind::Name(Name::Global(name)) => Some(&**name),
                        ExprKind::Member { field, .. } if &**field == "ob_refcnt" => {
                            Some("Py_REFCNT")
                        }
                        _ => None,
                    }),
            );
        }
        let is_one =
            |name: &&str| capi::detaches(name) || *name == "Py_REFCNT" || name.contains("IsUnique");
        let mut found: BTreeSet<&str> = names.values().flatten().copied().filter(is_one).collect();
        found.extend(names.keys().filter(|name| self.index.is_broken(name)));
        loop {
            let more = names.iter().filter(|(name, used)| {
                !found.contains(*name) && used.iter().any(|used| found.contains(used))
            });
            let more: Vec<&str> = more.map(|(name, _)| *name).collect();
            if more.is_empty() {
                return found.contains(self.owner);
            }
            found.extend(more);
        }
    }
}

/// Whether the function has calls that detach the thread and fewer that attach it: it may be what a
/// pointer calls.
fn stays_detached(function: &Function) -> bool {
    let mut open = 0i32;
    for (_, name) in function.tree.calls() {
        open += i32::from(capi::detaches(name)) - i32::from(capi::attaches(name));
    }
    open > 0
}
