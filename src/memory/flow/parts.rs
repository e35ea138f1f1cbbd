//! Fields that are reached by addresses, of which no field's name tells.
//!
//! ```c
//! for (p = &self->first; p <= &self->last; p++)       /* the fields between them as well */
//!     PyObject_Free(*p);
//! PyObject_Free(*(char **)((char *)self + offset));   /* any field of the struct */
//! ```

use std::collections::{BTreeMap, BTreeSet};

use crate::ast::{ExprId, Type};

use super::{Here, Holder, Mark, Node, Walk};

/// How memory is reached other than by the name of a field.
#[derive(Debug, Default)]
pub(super) struct Addresses {
    /// Pointers from which others are reckoned: `p + 1`, `p[n]`, `p++`.
    stepped: BTreeSet<Node>,
    /// Pointers through which a pointer is read or written.
    read: BTreeSet<Node>,
    /// Addresses of fields, with the structs.
    parts: Vec<(Node, String)>,
    /// Holders of pointers to structs.
    views: BTreeMap<Node, BTreeSet<String>>,
}

impl Walk<'_, '_> {
    /// Other pointers are reckoned from `value`.
    pub(super) fn steps(&mut self, value: Option<Node>) {
        self.addresses.stepped.extend(value);
    }

    /// `place` is what `value` points at.
    pub(super) fn reads(&mut self, here: Here<'_>, place: ExprId, value: Node) {
        let ty = self.types.of(here.tree, place);
        if ty.is_none_or(|ty| self.types.pointee(ty).is_some()) {
            self.addresses.read.insert(value);
        }
    }

    /// `address` is that of a field of the struct `owner`.
    pub(super) fn is_part(&mut self, address: Node, owner: String) {
        self.addresses.parts.push((address, owner));
    }

    /// `node` holds values of the type.
    pub(super) fn views(&mut self, node: Node, ty: &Type) {
        let key = self.types.pointee(ty).and_then(|ty| self.types.key(ty));
        if let Some(key) = key.filter(|key| self.types.definition(key).is_some()) {
            self.addresses.views.entry(node).or_default().insert(key);
        }
    }

    /// Notes the fields that are reached so: who else takes what they hold, or fills them, is not seen.
    pub(super) fn mark_reached_fields(&mut self) {
        let addresses = std::mem::take(&mut self.addresses);
        let mut structs: BTreeSet<&str> = BTreeSet::new();
        for (address, owner) in &addresses.parts {
            let mut reached = self.followed.graph.reached(*address).into_iter();
            if !structs.contains(owner.as_str())
                && reached.any(|node| addresses.stepped.contains(&node))
            {
                structs.insert(owner);
            }
        }
        let named = self.named();
        let parts: BTreeSet<Node> = addresses.parts.iter().map(|(node, _)| *node).collect();
        // Most pointers have an origin in common with others.
        let mut views_of: BTreeMap<Vec<Node>, Vec<&str>> = BTreeMap::new();
        for &pointer in &addresses.read {
            let origins = self.named_origins(pointer, &named, &parts);
            let views = views_of.entry(origins).or_insert_with_key(|origins| {
                let same = self
                    .followed
                    .graph
                    .reached_from(origins.clone())
                    .into_iter();
                let same: BTreeSet<Node> = same.filter(|it| named.contains(it)).collect();
                let views = same.iter().filter_map(|node| addresses.views.get(node));
                views.flatten().map(String::as_str).collect()
            });
            if let [first, ..] = views[..] {
                let place = self.graph().pointee(pointer);
                let what = format!("it is stored in a field of `{first}` by an address");
                self.mark(place, Mark::Leaves(what));
                self.mark(place, Mark::Comes);
            }
            structs.extend(views.iter().copied());
        }
        for key in structs {
            self.mark_fields(key);
        }
    }

    /// What has a name, but for results of functions: all that a function makes is not one memory.
    fn named(&self) -> BTreeSet<Node> {
        let named = self.followed.graph.named();
        let named = named.filter(|(holder, _)| !matches!(holder, Holder::Result(_)));
        named.map(|(_, node)| node).collect()
    }

    /// What has a name and what `pointer` holds comes from, the pointer included, in order. The address of
    /// one of the `parts` reaches that one.
    fn named_origins(
        &self,
        pointer: Node,
        named: &BTreeSet<Node>,
        parts: &BTreeSet<Node>,
    ) -> Vec<Node> {
        let graph = &self.followed.graph;
        let mut origins = graph.origins_up_to(pointer, |node| parts.contains(&node));
        origins.retain(|it| named.contains(it) || *it == pointer);
        origins.sort_unstable();
        origins
    }

    fn mark_fields(&mut self, key: &str) {
        let Some(def) = self.types.definition(key) else {
            return;
        };
        for field in &def.fields {
            let is_pointer = self.types.pointee(&field.ty).is_some();
            if !is_pointer || self.types.is_object_pointer(&field.ty) {
                continue;
            }
            let name = field.name.as_str();
            let holder = Holder::Field(Some(key.to_owned()), name.into());
            let node = self.graph().holder(holder);
            let what =
                format!("it is stored in `{name}`, and fields of `{key}` are reached by addresses");
            self.mark(node, Mark::Leaves(what));
            self.mark(node, Mark::Comes);
        }
    }
}
