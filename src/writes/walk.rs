//! From the functions that Python calls to all that they reach, each in the contexts it is met in.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::body::{Body, Summary};
use super::guards::{Guards, Helpers, Use};
use super::members::{Members, key, tag};
use super::owned::Lent;
use super::reached::Reached;
use super::targets::Targets;
use super::text::Text;
use super::value::{Kinds, Value};
use super::{IN_MACRO, Left, What, Why};
use crate::ast::{ExprId, ExprKind, Function, Name, Storage, TokenRange, Type};
use crate::program::Types;
use crate::roles::Role;
use crate::rule::{ItemId, PackageCx};
use crate::source::FileId;
use crate::state::{Variable, inventory, object_states};

/// Contexts of one function after which it is looked at as if all it gets were shared.
const MAX_CONTEXTS: usize = 24;

/// A function with what it is given.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Context {
    pub(super) item: ItemId,
    pub(super) params: Vec<Value>,
    /// The locks that its caller holds.
    pub(super) held: Guards,
    /// The parameters that are handles which others have, a bit for each.
    pub(super) handles: u32,
}

/// What is known of the whole package, and what was found so far.
pub(super) struct Walk<'c, 'a> {
    pub(super) cx: &'c PackageCx<'a>,
    pub(super) types: &'c Types<'a>,
    /// What its functions do to locks.
    helpers: Helpers<'c, 'a>,
    /// Whether the package takes any lock.
    pub(super) has_locks: bool,
    pub(super) targets: Targets,
    pub(super) lent: Lent,
    /// Places that a rule reports already.
    reported: BTreeSet<(ItemId, ExprId)>,
    /// Static variables of which a comment says that a lock guards them.
    guarded: FxHashSet<String>,
    /// What methods do without a lock, and a rule reports.
    reported_state: ReportedState,
    /// Fields that Python may set.
    pub(super) members: Members,
    /// Variables of file scope with their types.
    variables: FxHashMap<&'c str, &'c Type>,
    /// Those that are one for all threads and all files.
    single: FxHashSet<&'c str>,
    /// Whether the package has a `tp_alloc` of its own, which may give what others have.
    pub(super) allocates: bool,
    /// Whether files that were not read put names together.
    pub(super) pastes: bool,
    /// Those of which each thread has its own.
    own: FxHashSet<&'c str>,
    functions: FxHashSet<&'c str>,
    known: FxHashMap<Context, (usize, Summary)>,
    pub(super) reached: Reached,
    pub(super) contexts: FxHashMap<ItemId, usize>,
    /// How many functions are looked at as if all they get were shared.
    pub(super) full: usize,
    texts: FxHashMap<ItemId, Rc<Text<'a>>>,
}

impl<'c, 'a> Walk<'c, 'a> {
    pub(super) fn new(cx: &'c PackageCx<'a>) -> Self {
        let inventory = inventory(cx);
        let helpers = Helpers::new(cx);
        let mut variables = FxHashMap::default();
        let mut own = FxHashSet::default();
        for (_, declaration) in cx.program.declarations() {
            if declaration.storage == Storage::Typedef {
                continue;
            }
            for declarator in &declaration.declarators {
                if matches!(declarator.ty.kind, crate::ast::TypeKind::Function(..)) {
                    continue;
                }
                let ty = &declarator.ty;
                let known = variables.entry(declarator.name.as_str()).or_insert(ty);
                // Of two files with a variable of that name, the one that may hold more counts.
                let holds = |ty: &Type| {
                    let to = cx.types().pointee(ty);
                    let is_number = cx.types().is_number(ty);
                    (!ty.is_const, !is_number, !to.is_some_and(|to| to.is_const))
                };
                if holds(ty) > holds(known) {
                    *known = ty;
                }
                if declaration.thread_local {
                    own.insert(declarator.name.as_str());
                }
            }
        }
        let guarded = inventory.iter().filter(|variable| variable.is_guarded);
        Self {
            cx,
            types: cx.types(),
            has_locks: helpers.take_any(),
            helpers,
            targets: Targets::new(cx),
            lent: Lent::new(cx),
            reported: reported(&inventory),
            guarded: guarded.map(|variable| variable.name.clone()).collect(),
            reported_state: ReportedState::new(cx),
            members: Members::new(cx),
            variables,
            single: single(cx),
            allocates: allocates(cx),
            pastes: pastes(cx),
            own,
            functions: cx
                .program
                .functions()
                .map(|(_, it)| it.name.as_str())
                .collect(),
            known: FxHashMap::default(),
            reached: Reached::default(),
            contexts: FxHashMap::default(),
            full: 0,
            texts: FxHashMap::default(),
        }
    }

    pub(super) fn visit(&mut self, context: Context) -> Summary {
        self.look_at(context).1
    }

    /// The number of what is looked at, and what it does.
    pub(super) fn look_at(&mut self, mut context: Context) -> (Option<usize>, Summary) {
        let Some(function) = self.cx.function(context.item) else {
            return (None, unknown(&context));
        };
        let met = self.contexts.entry(context.item).or_default();
        if *met >= MAX_CONTEXTS {
            context.params.fill(Value::SHARED);
            context.handles = u32::MAX;
        }
        let entry = self.cx.item(context.item).place.0;
        if let Some(&(node, summary)) = self.known.get(&context) {
            self.reached.call(node, entry);
            return (Some(node), summary);
        }
        *met += 1;
        self.full += usize::from(*met == MAX_CONTEXTS);
        let node = self.reached.begin(entry);
        // Recursion may do anything.
        let unknown = unknown(&context);
        self.known.insert(context.clone(), (node, unknown));
        let summary = Body::new(self, &context, function).run();
        self.reached.end();
        self.known.insert(context, (node, summary));
        (Some(node), summary)
    }

    /// What the text of a function says, whoever calls it.
    pub(super) fn text_of(&mut self, item: ItemId, function: &'a Function) -> Rc<Text<'a>> {
        let text = self.texts.entry(item);
        let new = || Rc::new(Text::new(&self.helpers, item, function));
        Rc::clone(text.or_insert_with(new))
    }

    /// The files from which functions are reached, in all contexts they were met in.
    pub(super) fn files(&self) -> FxHashMap<ItemId, BTreeSet<FileId>> {
        let mut nodes: BTreeMap<ItemId, Vec<usize>> = BTreeMap::new();
        let known: BTreeSet<(ItemId, usize)> = self
            .known
            .iter()
            .map(|(context, (node, _))| (context.item, *node))
            .collect();
        for (item, node) in known {
            nodes.entry(item).or_default().push(node);
        }
        let nodes = nodes.into_iter();
        nodes
            .map(|(item, nodes)| (item, self.reached.files(&nodes)))
            .collect()
    }

    /// The type of a variable of file scope.
    pub(super) fn variable_type(&self, name: &str) -> Option<&'c Type> {
        self.variables.get(name).copied()
    }

    /// Whether a variable of file scope is one and the same wherever its name is used.
    pub(super) fn is_single(&self, name: &str) -> bool {
        self.single.contains(name)
    }

    pub(super) fn is_function(&self, name: &str) -> bool {
        self.functions.contains(name)
    }

    /// Whether a write of the static variable `name` is accounted for elsewhere: a rule reports it,
    /// a comment names its lock, or each thread has its own.
    pub(super) fn is_accounted(&self, name: &str, place: (ItemId, ExprId)) -> bool {
        // Each thread has its own (C17 7.5).
        matches!(name, "errno" | "h_errno")
            || self.reported.contains(&place)
            || self.guarded.contains(name)
            || self.own.contains(name)
    }

    /// Whether a comment names the lock of a static variable.
    pub(super) fn is_guarded(&self, name: &str) -> bool {
        self.guarded.contains(name)
    }

    /// Whether a rule reports that methods set the field without a lock.
    pub(super) fn is_reported_field(&self, owner: &str, field: &str) -> bool {
        self.reported_state.fields.contains(&key(owner, field))
    }

    /// Whether a rule reports that methods change without a lock what the field leads to.
    pub(super) fn leads_to_reported(&self, owner: &str, field: &str) -> bool {
        self.reported_state.behind.contains(&key(owner, field))
    }

    /// Whether a rule reports an `__init__` with the methods of its type.
    pub(super) fn is_reported_init(&self, item: ItemId) -> bool {
        self.reported_state.inits.contains(&item)
    }

    /// Whether code of the package calls a function by its name.
    pub(super) fn is_helper(&self, function: &Function) -> bool {
        !self.cx.call_index().calls_to(&function.name).is_empty()
    }

    /// The functions of this name that code of the same translation unit calls.
    pub(super) fn callees(&self, item: ItemId, name: &str) -> Vec<ItemId> {
        self.helpers.callees(item, name)
    }

    pub(super) fn leave(&mut self, item: ItemId, expr: ExprId, what: impl Into<What>, why: Why) {
        if let Some(left) = self.place_of(item, expr, what, why) {
            self.reached.note(left);
        }
    }

    pub(super) fn leave_range(
        &mut self,
        item: ItemId,
        range: TokenRange,
        what: impl Into<What>,
        why: Why,
    ) {
        let left = self.left_at(item, range, what, why);
        self.reached.note(left);
    }

    /// Notes a use of what a lock may guard.
    pub(super) fn note_use(&mut self, it: Use) {
        self.reached.note_use(it);
    }

    /// An expression as it stands in the text, on one line.
    pub(super) fn text(&self, item: ItemId, expr: ExprId) -> String {
        let span = self.cx.span(item, expr);
        if let Some((file, span)) = span {
            return on_one_line(&self.cx.file(file).text(span));
        }
        match self.cx.tree(item).map(|tree| &tree.expr(expr).kind) {
            Some(ExprKind::Member { field, .. }) => format!("->{field}"),
            Some(ExprKind::Name(Name::Global(name))) => name.to_string(),
            _ => IN_MACRO.to_owned(),
        }
    }

    /// What is left at an expression, with its place.
    pub(super) fn place_of(
        &self,
        item: ItemId,
        expr: ExprId,
        what: impl Into<What>,
        why: Why,
    ) -> Option<Left> {
        let tree = self.cx.tree(item)?;
        Some(self.left_at(item, tree.expr(expr).range, what, why))
    }

    pub(super) fn left_at(
        &self,
        item: ItemId,
        range: TokenRange,
        what: impl Into<What>,
        why: Why,
    ) -> Left {
        use crate::preprocess::Place;
        let of_item = self.cx.item(item);
        let place = (range.start < range.end).then(|| of_item.tokens.place(range));
        let place = match place {
            Some(Place::File(file, span) | Place::Argument { file, span, .. }) => (file, span),
            Some(Place::Macro { call, .. }) => call,
            None => of_item.place,
        };
        let function = self.cx.function(item).map(|it| it.name.clone());
        Left {
            file: place.0,
            span: place.1,
            function: function.unwrap_or_default(),
            what: what.into(),
            why,
        }
    }
}

fn allocates(cx: &PackageCx<'_>) -> bool {
    let roles = cx.roles().into_iter();
    let mut all = roles.flat_map(|roles| roles.functions());
    all.any(|(_, name, role)| {
        let is_it = matches!(role, Role::Slot(slot) if &**slot == "tp_alloc");
        is_it && cx.definitions(name).next().is_some()
    })
}

fn pastes(cx: &PackageCx<'_>) -> bool {
    let unread = cx.program.unread.files().iter();
    let mut texts = unread.map(|&id| cx.file(id).bytes());
    texts.any(|text| memchr::memmem::find(text, b"##").is_some())
}

/// The variables of file scope that are one for all threads and all files: no other has the name,
/// and each file that includes a header has the `static` ones of that to itself.
fn single<'c>(cx: &PackageCx<'c>) -> FxHashSet<&'c str> {
    let mut places: FxHashMap<&str, BTreeSet<FileId>> = FxHashMap::default();
    let mut several: FxHashSet<&str> = FxHashSet::default();
    for (item, declaration) in cx.program.declarations() {
        let is_of_header = item.place.0 != item.unit;
        for declarator in &declaration.declarators {
            let name = declarator.name.as_str();
            match declaration.storage {
                Storage::Typedef => continue,
                Storage::Extern => {}
                Storage::Static if is_of_header => drop(several.insert(name)),
                _ => drop(places.entry(name).or_default().insert(item.place.0)),
            }
            if declaration.thread_local {
                several.insert(name);
            }
        }
    }
    let all = places.into_iter().filter(|(_, files)| files.len() == 1);
    all.map(|(name, _)| name)
        .filter(|name| !several.contains(name))
        .collect()
}

/// A text with one blank for what is blank in it.
pub(super) fn on_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What a function that is not looked at may do.
fn unknown(context: &Context) -> Summary {
    let all = context
        .params
        .iter()
        .fold(Kinds::default(), |all, it| all | it.all());
    Summary {
        result: Value::SHARED,
        stored: all,
        published: 0,
        ways: u32::MAX,
    }
}

fn reported(inventory: &[Variable]) -> BTreeSet<(ItemId, ExprId)> {
    let late = inventory.iter().flat_map(|variable| &variable.late);
    late.map(|write| (write.item, write.expr)).collect()
}

/// What methods do with the fields of their objects without a lock.
#[derive(Default)]
struct ReportedState {
    /// Those that they set.
    fields: BTreeSet<(String, String)>,
    /// Those that lead to what they change.
    behind: BTreeSet<(String, String)>,
    /// The functions that fill objects again which have such fields.
    inits: BTreeSet<ItemId>,
}

impl ReportedState {
    fn new(cx: &PackageCx<'_>) -> Self {
        let mut found = Self::default();
        for state in object_states(cx) {
            let owner = tag(cx, &state.type_name);
            let keys = |fields: &BTreeSet<String>| -> Vec<(String, String)> {
                fields.iter().map(|field| key(&owner, field)).collect()
            };
            found.fields.extend(keys(&state.set));
            found.behind.extend(keys(&state.behind));
            let inits = state.methods.iter().filter(|method| method.is_init);
            found.inits.extend(inits.map(|method| method.item));
        }
        found
    }
}
