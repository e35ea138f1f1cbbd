//! Capsules that free nothing: what is behind one lives by itself.
//!
//! ```c
//! capsule = PyCapsule_New(thread, "demo.thread", NULL);          /* no destructor */
//! …
//! capsule = PyDict_GetItemString(dict, "thread");
//! return PyCapsule_GetPointer(capsule, "demo.thread");           /* as good without the capsule */
//! ```

use rustc_hash::FxHashSet;

use super::order::calls_any;
use crate::ast::{ExprId, ExprKind, Name, Tree, Type, TypeKind};
use crate::program::{Body, Program};

/// What tells capsules from others.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Kind {
    /// The name, which `PyCapsule_GetPointer` asks for.
    Named(Box<[u8]>),
    /// Of those without a name the type of what they hold.
    Of(Box<str>),
}

/// The capsules of the package that have no destructor, and no others of their kind have one.
#[derive(Debug, Default)]
pub(super) struct Capsules {
    bare: Vec<Kind>,
}

/// What a call of the package makes.
struct Made {
    /// `None` if the name is not known before the program runs, or says nothing.
    kind: Option<Kind>,
    has_name: Option<bool>,
    is_bare: bool,
}

impl Capsules {
    /// All capsules that `program` makes; none where it may give one a destructor or a name unseen.
    pub(super) fn new(program: &Program<'_>) -> Self {
        if !calls_any(program, &["PyCapsule_GetPointer"]) {
            return Self::default();
        }
        let trees = program.items.iter().filter_map(|item| match &item.body {
            Some(Body::Function(function)) => Some(&function.tree),
            Some(Body::Declaration(declaration)) => Some(&declaration.tree),
            None => None,
        });
        let mut made = Vec::new();
        for tree in trees {
            if changes_unseen(tree) {
                return Self::default();
            }
            made.extend(tree.expr_ids().filter_map(|call| made_by(tree, call)));
        }
        let in_gap = program.gaps.iter().any(|gap| {
            let text = program.files.get(gap.file).text(gap.span);
            text.contains("PyCapsule_")
        });
        let mut owners = made.iter().filter(|one| !one.is_bare);
        if in_gap || owners.any(|one| one.has_name.is_none()) {
            return Self::default();
        }
        let unread = unread_makers(program);
        let frees = |kind: &Kind| {
            let mut owners = made.iter().filter(|one| !one.is_bare);
            match kind {
                Kind::Named(name) => {
                    let mut others = unread.iter();
                    others.any(|text| has(text, name))
                        || owners.any(|one| one.kind.as_ref() == Some(kind))
                }
                Kind::Of(_) => !unread.is_empty() || owners.any(|one| one.has_name == Some(false)),
            }
        };
        let bare = made.iter().filter(|one| one.is_bare);
        let bare = bare.filter_map(|one| one.kind.clone());
        Self {
            bare: bare.filter(|kind| !frees(kind)).collect(),
        }
    }

    /// Whether `call` gives what is behind such a capsule.
    pub(super) fn is_opened_by(&self, tree: &Tree, call: ExprId) -> bool {
        let Some(("PyCapsule_GetPointer", [_, name])) = tree.call(call) else {
            return false;
        };
        let kind = match tree.as_string(tree.without_casts(*name)) {
            Some(name) => Some(Kind::Named(name.into())),
            None if tree.is_null(*name) => pointer_type(tree, call).map(Kind::Of),
            None => None,
        };
        kind.is_some_and(|kind| self.bare.contains(&kind))
    }
}

/// The text that makes capsules and is not read: C++, generated files.
fn unread_makers<'a>(program: &Program<'a>) -> Vec<&'a [u8]> {
    let mut read = FxHashSet::default();
    for item in &program.items {
        program.includes.reach(item.unit, &mut read);
    }
    let is_word = |c: &u8| *c == b'_' || c.is_ascii_alphanumeric();
    let unread = program.files.iter().filter(|(id, _)| !read.contains(id));
    let texts = unread.map(|(_, file)| file.bytes());
    let makes = |text: &&[u8]| {
        let mut words = text.split(|c| !is_word(c));
        words.any(|word| word == b"PyCapsule_New")
    };
    texts.filter(makes).collect()
}

fn has(text: &[u8], name: &[u8]) -> bool {
    memchr::memmem::find(text, name).is_some()
}

fn made_by(tree: &Tree, call: ExprId) -> Option<Made> {
    let Some(("PyCapsule_New", [pointer, name, destructor])) = tree.call(call) else {
        return None;
    };
    let text = tree.as_string(tree.without_casts(*name));
    let has_name = match text {
        Some(_) => Some(true),
        None => tree.is_null(*name).then_some(false),
    };
    let of = || {
        let local = tree.as_local(tree.without_casts(*pointer))?;
        telling(&tree.local(local).ty)
    };
    Some(Made {
        kind: match text {
            Some(text) => Some(Kind::Named(text.into())),
            None if has_name == Some(false) => of().map(Kind::Of),
            None => None,
        },
        has_name,
        is_bare: tree.is_null(*destructor),
    })
}

/// Whether capsules may get a destructor or a name where that does not show.
fn changes_unseen(tree: &Tree) -> bool {
    let names = |name: &Name| matches!(name, Name::Global(name) if &**name == "PyCapsule_New");
    let named = tree.exprs.iter().filter(|expr| match &expr.kind {
        ExprKind::Name(name) => names(name),
        _ => false,
    });
    let calls: Vec<_> = tree.expr_ids().filter_map(|call| tree.call(call)).collect();
    let made = calls
        .iter()
        .filter(|(name, args)| *name == "PyCapsule_New" && args.len() == 3);
    let is_change = |(name, args): &(&str, &[ExprId])| match *name {
        "PyCapsule_SetDestructor" => !args.get(1).is_some_and(|&arg| tree.is_null(arg)),
        "PyCapsule_SetName" => true,
        _ => false,
    };
    named.count() != made.count() || calls.iter().any(is_change)
}

/// The type of the pointer that `call` gives, by the variable that gets it or the cast around it.
fn pointer_type(tree: &Tree, call: ExprId) -> Option<Box<str>> {
    let is_call = |value: ExprId| tree.without_casts(value) == call;
    let mut stores = tree.stores().filter(|(_, value)| is_call(*value));
    if let Some((local, _)) = stores.next() {
        return telling(&tree.local(local).ty);
    }
    tree.exprs.iter().find_map(|expr| match &expr.kind {
        ExprKind::Cast { ty, operand } if *operand == call => telling(ty),
        _ => None,
    })
}

/// The name of a type that says what a pointer is of: not that of `void *` or `char *`.
fn telling(ty: &Type) -> Option<Box<str>> {
    let of = match &ty.kind {
        TypeKind::Pointer(of) => of,
        _ => ty,
    };
    let says = !of.is_number() && !of.is_void();
    of.name().filter(|_| says).map(Into::into)
}
