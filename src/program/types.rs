//! Types of expressions, as far as the declarations of the package tell.

use std::collections::BTreeMap;

use rustc_hash::{FxHashMap, FxHashSet};

use super::structs::{Key, Structs};
use super::{Program, ProgramItem};
use crate::ast::{
    ExprId, ExprKind, FieldType, Name, Storage, StructDef, Tree, Type, TypeKind, UnaryOp,
};
use crate::capi;
use crate::source::FileId;

/// How many `typedef`s are followed.
const MAX_ALIASES: usize = 16;

/// How many structs and `typedef`s may stand in each other.
const MAX_NESTED: usize = 8;

/// Structs of numbers that headers outside the package define, of C, POSIX, Windows, CPython and
/// NumPy. What the package defines by such a name counts instead.
const PLAIN: [&str; 11] = [
    "Py_complex",
    "_Dcomplex",
    "_Fcomplex",
    "_Lcomplex",
    "npy_cdouble",
    "npy_cfloat",
    "npy_clongdouble",
    "struct in6_addr",
    "struct in_addr",
    "struct timespec",
    "struct timeval",
];

/// The declarations of the package by name. Of several that share a name the first counts, but a
/// field has the type that all of them give it: each file may have a `struct state` of its own.
#[derive(Debug, Default)]
pub struct Types<'a> {
    typedefs: FxHashMap<&'a str, &'a Type>,
    /// Other types that `typedef`s elsewhere give such a name.
    others: FxHashMap<&'a str, Vec<&'a Type>>,
    structs: Structs<'a>,
    variables: FxHashMap<&'a str, &'a Type>,
    results: FxHashMap<&'a str, &'a Type>,
}

impl<'a> Types<'a> {
    /// Reads the declarations of `program`.
    #[must_use]
    pub fn new(program: &'a Program<'_>) -> Self {
        Self::of_items(program, |_| true)
    }

    /// The same of what the translation unit `unit` sees.
    #[must_use]
    pub fn in_unit(program: &'a Program<'_>, unit: FileId) -> Self {
        let mut seen = FxHashSet::default();
        program.includes.reach(unit, &mut seen);
        Self::of_items(program, |item| seen.contains(&item.place.0))
    }

    fn of_items(program: &'a Program<'_>, is_seen: impl Fn(&ProgramItem) -> bool) -> Self {
        let mut types = Self::default();
        let declarations = program.declarations();
        for (_, declaration) in declarations.filter(|(item, _)| is_seen(item)) {
            let is_typedef = declaration.storage == Storage::Typedef;
            for def in &declaration.structs {
                if let Some(tag) = &def.tag {
                    types.structs.add(Key::Tag(tag), def);
                }
            }
            for declarator in &declaration.declarators {
                let name = declarator.name.as_str();
                if is_typedef {
                    let first = types.typedefs.entry(name).or_insert(&declarator.ty);
                    if **first != declarator.ty {
                        types.others.entry(name).or_default().push(&declarator.ty);
                    }
                    if let (TypeKind::Struct(None), [def]) =
                        (&declarator.ty.kind, &declaration.structs[..])
                    {
                        types.structs.add(Key::Named(name), def);
                    }
                } else if let TypeKind::Function(result, _) = &declarator.ty.kind {
                    types.results.entry(name).or_insert(result);
                } else {
                    types.variables.entry(name).or_insert(&declarator.ty);
                }
            }
        }
        let functions = program.functions();
        for (_, function) in functions.filter(|(item, _)| is_seen(item)) {
            types.results.insert(&function.name, &function.ret);
        }
        types
    }

    /// Whether the package declares a variable of file scope by this name.
    #[must_use]
    pub fn is_variable(&self, name: &str) -> bool {
        self.variables.contains_key(name)
    }

    /// Whether the package declares a function by this name.
    #[must_use]
    pub fn is_function(&self, name: &str) -> bool {
        self.results.contains_key(name)
    }

    /// The type of an expression; `None` if a part of it is declared elsewhere.
    #[must_use]
    pub fn of<'t>(&self, tree: &'t Tree, expr: ExprId) -> Option<&'t Type>
    where
        'a: 't,
    {
        match &tree.expr(expr).kind {
            ExprKind::Name(Name::Local(local)) => Some(&tree.local(*local).ty),
            ExprKind::Name(Name::Global(name)) => self.variables.get(&**name).copied(),
            ExprKind::Cast { ty, .. } | ExprKind::Compound { ty, .. } => Some(ty),
            ExprKind::VaArg { ty, .. } => Some(ty),
            ExprKind::Call { callee, .. } => {
                let name = tree.callee_name(*callee)?;
                self.results.get(name).copied()
            }
            ExprKind::Member { base, field, arrow } => {
                let base = self.of(tree, *base)?;
                let base = if *arrow { self.pointee(base)? } else { base };
                self.field(base, field)
            }
            ExprKind::Index { base, .. } => self.pointee(self.of(tree, *base)?),
            ExprKind::Unary { op, operand } => match op {
                UnaryOp::Deref => self.pointee(self.of(tree, *operand)?),
                _ if op.is_step() => self.of(tree, *operand),
                _ => None,
            },
            ExprKind::Assign { lhs, .. } | ExprKind::Binary { lhs, .. } => self.of(tree, *lhs),
            ExprKind::Conditional { otherwise, .. } => self.of(tree, *otherwise),
            _ => None,
        }
    }

    /// What a pointer or array type points at, through `typedef`s.
    #[must_use]
    pub fn pointee<'t>(&self, ty: &'t Type) -> Option<&'t Type>
    where
        'a: 't,
    {
        self.resolved(ty).pointee()
    }

    /// The type of what an argument points at: of `x` for `&x`.
    #[must_use]
    pub fn pointed_at<'t>(&self, tree: &'t Tree, arg: ExprId) -> Option<&'t Type>
    where
        'a: 't,
    {
        let arg = tree.without_casts(arg);
        match tree.expr(arg).kind {
            ExprKind::Unary {
                op: UnaryOp::AddressOf,
                operand,
            } => self.of(tree, operand),
            _ => self.pointee(self.of(tree, arg)?),
        }
    }

    /// The fields of a struct and of those in it, each with the name of its struct; none that are only
    /// reached by pointers.
    #[must_use]
    pub fn fields_within(&self, ty: &Type) -> Vec<(String, &'a FieldType)> {
        self.fields_to(ty, MAX_NESTED)
    }

    fn fields_to(&self, ty: &Type, depth: usize) -> Vec<(String, &'a FieldType)> {
        let key = self
            .key(ty)
            .filter(|_| depth > 0 && self.pointee(ty).is_none());
        let def = key.and_then(|key| Some((self.definition(&key)?, key)));
        let Some((def, key)) = def else {
            return Vec::new();
        };
        let fields = def.fields.iter().flat_map(|field| {
            let mut found = vec![(key.clone(), field)];
            found.extend(self.fields_to(&field.ty, depth - 1));
            found
        });
        fields.collect()
    }

    /// The `struct` or `union` that `base->field` looks into, by a name that all of its spellings
    /// share; `None` if it cannot be told.
    #[must_use]
    pub fn owner(&self, tree: &Tree, base: ExprId, arrow: bool) -> Option<String> {
        let ty = self.of(tree, base)?;
        let ty = if arrow { self.pointee(ty)? } else { ty };
        self.key(ty)
    }

    /// The types that the package defines, by the names that [`Self::key`] gives.
    pub fn structs(&self) -> impl Iterator<Item = (String, &'a StructDef)> {
        self.structs.all()
    }

    /// The definition of a type in the package.
    #[must_use]
    pub fn definition(&self, key: &str) -> Option<&'a StructDef> {
        self.structs.defs(Key::new(key)).first().copied()
    }

    /// Whether the package defines the type, and each member has memory of its own in it.
    #[must_use]
    pub fn is_struct(&self, key: &str) -> bool {
        let defs = self.structs.defs(Key::new(key));
        !defs.is_empty() && defs.iter().all(|def| !def.overlaps)
    }

    /// The name of a `struct` or `union` type that all of its spellings share.
    #[must_use]
    pub fn key(&self, ty: &Type) -> Option<String> {
        self.key_of(ty).map(|key| key.to_string())
    }

    fn key_of<'t>(&self, ty: &'t Type) -> Option<Key<'t>>
    where
        'a: 't,
    {
        let mut named = None;
        for ty in self.aliases(ty) {
            match &ty.kind {
                TypeKind::Struct(Some(tag)) => return Some(Key::Tag(tag)),
                TypeKind::Struct(None) => return named,
                TypeKind::Named(name) => named = Some(Key::Named(name)),
                _ => return None,
            }
        }
        named
    }

    /// Whether an expression is known to be a pointer.
    #[must_use]
    pub fn is_pointer(&self, tree: &Tree, expr: ExprId) -> bool {
        let ty = self.of(tree, expr);
        ty.is_some_and(|ty| self.pointee(ty).is_some())
    }

    /// Whether a value of this type can be no pointer.
    #[must_use]
    pub fn is_number(&self, ty: &Type) -> bool {
        self.resolved(ty).is_number()
    }

    /// Whether the type is `_Bool`: what a conversion to it keeps of a pointer is whether it is
    /// `NULL`.
    #[must_use]
    pub fn is_truth(&self, ty: &Type) -> bool {
        matches!(&self.resolved(ty).kind, TypeKind::Named(name) if matches!(&**name, "_Bool" | "bool"))
    }

    /// Whether the type is an array.
    #[must_use]
    pub fn is_array(&self, ty: &Type) -> bool {
        matches!(self.resolved(ty).kind, TypeKind::Array(..))
    }

    /// Whether nothing in a value of this type can be a pointer: it is a number, or made of numbers
    /// only, `struct range { int start, end; }`. An array by itself is read as a pointer.
    #[must_use]
    pub fn is_plain(&self, ty: &Type) -> bool {
        !self.is_array(ty) && self.is_made_of_numbers(ty, MAX_NESTED)
    }

    /// Whether the package defines several types by the name of this one.
    #[must_use]
    pub fn is_ambiguous(&self, ty: &Type) -> bool {
        let key = self.key_of(ty);
        key.is_some_and(|key| self.structs.defs(key).len() > 1)
            || matches!(&ty.kind, TypeKind::Named(name) if self.others.contains_key(&**name))
    }

    /// The names of all such structs, by `typedef` and by tag.
    pub fn plain_structs(&self) -> impl Iterator<Item = String> {
        let tags = self.structs.tags().map(|tag| {
            let key = Key::Tag(tag).to_string();
            (key, TypeKind::Struct(Some(tag.into())))
        });
        let is_struct = |ty: &Type| matches!(self.resolved(ty).kind, TypeKind::Struct(_));
        let names = self.typedefs.iter().filter(move |(_, ty)| is_struct(ty));
        let names = names.map(|(name, _)| ((*name).to_owned(), TypeKind::Named((*name).into())));
        let all = tags
            .chain(names)
            .map(|(name, kind)| (name, Type::plain(kind)));
        let own = all.filter(|(_, ty)| self.is_plain(ty));
        let foreign = PLAIN.iter().filter(|&&name| self.is_foreign(name));
        own.map(|(name, _)| name)
            .chain(foreign.map(|&name| name.to_owned()))
    }

    /// Whether the package does not define the type itself.
    fn is_foreign(&self, key: &str) -> bool {
        self.structs.defs(Key::new(key)).is_empty() && !self.typedefs.contains_key(key)
    }

    /// How many dimensions the fields of each name have that are arrays, in some struct of the package;
    /// 0 for one that is none.
    pub(crate) fn field_dimensions(&self) -> BTreeMap<Box<str>, usize> {
        let mut found = BTreeMap::new();
        let structs = self.structs.all();
        for field in structs.flat_map(|(_, def)| &def.fields) {
            let known = found.entry(field.name.as_str().into()).or_default();
            *known = self.dimensions(&field.ty).max(*known);
        }
        found
    }

    fn dimensions(&self, ty: &Type) -> usize {
        match &self.resolved(ty).kind {
            TypeKind::Array(element, _) => 1 + self.dimensions(element),
            _ => 0,
        }
    }

    /// Whether the memory of a value holds numbers only, with structs in structs up to a `depth`:
    /// so do all types of the name.
    fn is_made_of_numbers(&self, ty: &Type, depth: usize) -> bool {
        if ty.is_number() {
            return true;
        }
        let Some(depth) = depth.checked_sub(1) else {
            return false;
        };
        let is_plain = |def: &&StructDef| {
            let mut fields = def.fields.iter();
            !def.fields.is_empty() && fields.all(|it| self.is_made_of_numbers(&it.ty, depth))
        };
        let is_plain_struct = |key: Key<'_>| match self.structs.defs(key) {
            [] => {
                let mut plain = PLAIN.iter();
                plain.any(|it| Key::new(it) == key && self.is_foreign(it))
            }
            defs => defs.iter().all(is_plain),
        };
        match &ty.kind {
            TypeKind::Array(element, _) => self.is_made_of_numbers(element, depth),
            TypeKind::Struct(Some(tag)) => is_plain_struct(Key::Tag(tag)),
            TypeKind::Named(name) => match self.typedefs.get(&**name) {
                Some(first) => {
                    let others = self.others.get(&**name).into_iter().flatten();
                    let mut all = others.chain([first]);
                    all.all(|ty| match ty.kind {
                        TypeKind::Struct(None) => is_plain_struct(Key::Named(name)),
                        _ => self.is_made_of_numbers(ty, depth),
                    })
                }
                None => is_plain_struct(Key::Named(name)),
            },
            _ => false,
        }
    }

    /// Whether it is a pointer to a Python object: `PyObject *`, or a `struct` that begins with
    /// `PyObject_HEAD`.
    #[must_use]
    pub fn is_object_pointer(&self, ty: &Type) -> bool {
        let resolved = self.resolved(ty);
        matches!(resolved.kind, TypeKind::Pointer(_))
            && resolved
                .pointee()
                .is_some_and(|inner| self.is_object(inner))
    }

    /// Whether it is `PyObject *`, by whatever name.
    #[must_use]
    pub fn is_plain_object(&self, ty: &Type) -> bool {
        ty.is_py_object_pointer() || self.resolved(ty).is_py_object_pointer()
    }

    /// Whether it is the `struct` of a Python object itself.
    #[must_use]
    pub fn is_object(&self, ty: &Type) -> bool {
        let mut ty = ty;
        for _ in 0..MAX_ALIASES {
            let Some(key) = self.key_of(ty) else {
                return false;
            };
            let (Key::Tag(name) | Key::Named(name)) = key;
            match self
                .structs
                .defs(key)
                .first()
                .and_then(|def| def.fields.first())
            {
                Some(first) => ty = &first.ty,
                // `PyListObject`, `PyTypeObject`, `PyArrayObject`.
                None => {
                    return matches!(name, "_object" | "PyVarObject" | "_typeobject")
                        || name.starts_with("Py") && name.ends_with("Object");
                }
            }
        }
        false
    }

    fn field<'t>(&self, ty: &Type, field: &str) -> Option<&'t Type>
    where
        'a: 't,
    {
        self.structs.field(self.key_of(ty)?, field)
    }

    /// Whether a `typedef` that the type names makes it `const`: `typedef const int status;`.
    #[must_use]
    pub fn is_const_by_name(&self, ty: &Type) -> bool {
        self.aliases(ty).skip(1).any(|ty| ty.is_const)
    }

    /// Whether it is an atomic type: by `_Atomic`, or by a name of the C library that the package does
    /// not give to another one.
    #[must_use]
    pub fn is_atomic(&self, ty: &Type) -> bool {
        let name = self.resolved(ty).name();
        self.aliases(ty).any(|ty| ty.is_atomic) || name.is_some_and(capi::is_atomic_type)
    }

    /// A type, and what the `typedef`s stand for that it names.
    fn aliases<'t>(&self, ty: &'t Type) -> impl Iterator<Item = &'t Type>
    where
        'a: 't,
    {
        let next = |ty: &&'t Type| match &ty.kind {
            TypeKind::Named(name) => self.typedefs.get(&**name).copied(),
            _ => None,
        };
        std::iter::successors(Some(ty), next).take(MAX_ALIASES)
    }

    pub(super) fn resolved<'t>(&self, ty: &'t Type) -> &'t Type
    where
        'a: 't,
    {
        self.aliases(ty).last().unwrap_or(ty)
    }
}
