//! Declaration specifiers to a type and a storage class.

use lang_c::ast::{
    DeclarationSpecifier, SpecifierQualifier, StorageClassSpecifier, StructDeclaration, StructKind,
    StructType, TypeQualifier, TypeSpecifier,
};
use lang_c::span::Node;

use super::Lowerer;
use crate::ast::{FieldType, Storage, StructDef, Type, TypeKind};

/// What the specifiers of a declaration say.
pub(super) struct Specifiers {
    pub(super) ty: Type,
    pub(super) storage: Storage,
    pub(super) thread_local: bool,
    pub(super) is_register: bool,
    /// Structs and unions with a body, inner before outer.
    pub(super) structs: Vec<StructDef>,
    /// Fields of an anonymous struct or union that is the type, to be listed in place.
    pub(super) anonymous_fields: Option<Vec<FieldType>>,
}

/// Keywords of a builtin type, counted.
#[derive(Default)]
struct Builtin {
    base: Option<Box<str>>,
    longs: usize,
    is_short: bool,
    is_unsigned: bool,
    is_signed: bool,
    is_complex: bool,
}

impl Builtin {
    /// The normal form: `unsigned long`, `long long`, `signed char`, `double`.
    fn name(&self) -> Option<Box<str>> {
        let has_sign = self.is_unsigned || self.is_signed;
        let core = match (self.base.as_deref(), self.longs, self.is_short) {
            (Some("double"), 1.., _) => "long double",
            (Some("int") | None, 1, _) => "long",
            (Some("int") | None, 2.., _) => "long long",
            (Some("int") | None, 0, true) => "short",
            (None, 0, false) if self.is_complex => "double",
            (None, 0, false) if has_sign => "int",
            (None, 0, false) => return None,
            (Some(base), _, _) => base,
        };
        let sign = match () {
            () if self.is_unsigned => "unsigned ",
            () if self.is_signed && core == "char" => "signed ",
            () => "",
        };
        let complex = if self.is_complex { " _Complex" } else { "" };
        Some(format!("{sign}{core}{complex}").into())
    }
}

impl Lowerer<'_> {
    pub(super) fn specifiers(&mut self, list: &[Node<DeclarationSpecifier>]) -> Specifiers {
        let mut builder = Builder::default();
        for specifier in list {
            match &specifier.node {
                DeclarationSpecifier::StorageClass(class) => builder.storage_class(&class.node),
                DeclarationSpecifier::TypeSpecifier(ty) => self.type_specifier(&mut builder, ty),
                DeclarationSpecifier::TypeQualifier(word) => builder.qualifier(&word.node),
                DeclarationSpecifier::Function(_)
                | DeclarationSpecifier::Alignment(_)
                | DeclarationSpecifier::Extension(_) => {}
            }
        }
        builder.finish()
    }

    pub(super) fn qualified_specifiers(&mut self, list: &[Node<SpecifierQualifier>]) -> Specifiers {
        let mut builder = Builder::default();
        for specifier in list {
            match &specifier.node {
                SpecifierQualifier::TypeSpecifier(ty) => self.type_specifier(&mut builder, ty),
                SpecifierQualifier::TypeQualifier(word) => builder.qualifier(&word.node),
                SpecifierQualifier::Extension(_) => {}
            }
        }
        builder.finish()
    }

    fn type_specifier(&mut self, builder: &mut Builder, specifier: &Node<TypeSpecifier>) {
        let builtin = &mut builder.builtin;
        match &specifier.node {
            TypeSpecifier::Void => builtin.base = Some("void".into()),
            TypeSpecifier::Char => builtin.base = Some("char".into()),
            TypeSpecifier::Short => builtin.is_short = true,
            TypeSpecifier::Int => match &*self.range_text(self.range(specifier.span)) {
                // An implicit `int` has no token.
                "" | "int" | "__int32" => builtin.base = Some("int".into()),
                "__int8" => builtin.base = Some("char".into()),
                "__int16" => builtin.is_short = true,
                "__int64" => builtin.longs = 2,
                other => builtin.base = Some(other.into()),
            },
            TypeSpecifier::Long => builtin.longs += 1,
            TypeSpecifier::Float => builtin.base = Some("float".into()),
            TypeSpecifier::Double => builtin.base = Some("double".into()),
            TypeSpecifier::Signed => builtin.is_signed = true,
            TypeSpecifier::Unsigned => builtin.is_unsigned = true,
            TypeSpecifier::Bool => builtin.base = Some("_Bool".into()),
            TypeSpecifier::Complex => builtin.is_complex = true,
            TypeSpecifier::Atomic(inner) => {
                let inner = self.type_name(inner);
                builder.is_volatile = true;
                builder.is_atomic = true;
                builder.kind = Some(inner.kind);
            }
            TypeSpecifier::Struct(node) => self.struct_specifier(builder, &node.node),
            TypeSpecifier::Enum(node) => {
                let tag = node.node.identifier.as_ref().map(|name| self.name(name));
                builder.kind = Some(TypeKind::Enum(tag));
            }
            TypeSpecifier::TypedefName(_) => {
                let name = self.range_text(self.range(specifier.span));
                builder.names_number = self.types.is_number(&name);
                builder.kind = Some(match &*name {
                    "__auto_type" | "auto" => TypeKind::Unknown,
                    _ => TypeKind::Named(name),
                });
            }
            TypeSpecifier::TypeOf(_) => builder.kind = Some(TypeKind::Unknown),
            TypeSpecifier::TS18661Float(_) => {
                let name = self.range_text(self.range(specifier.span));
                builder.kind = Some(TypeKind::Named(name));
            }
        }
    }

    fn struct_specifier(&mut self, builder: &mut Builder, node: &StructType) {
        let tag = node.identifier.as_ref().map(|name| self.name(name));
        builder.kind = Some(TypeKind::Struct(tag.clone()));
        let Some(declarations) = &node.declarations else {
            return;
        };
        let is_union = match node.kind.node {
            StructKind::Struct => false,
            StructKind::Union => true,
        };
        let mut overlaps = is_union;
        let mut fields = Vec::new();
        for declaration in declarations {
            match &declaration.node {
                StructDeclaration::Field(field) => {
                    let specifiers = self.qualified_specifiers(&field.node.specifiers);
                    if field.node.declarators.is_empty() {
                        overlaps |= specifiers.structs.last().is_some_and(|it| it.overlaps);
                        fields.extend(specifiers.anonymous_fields.unwrap_or_default());
                    }
                    builder.structs.extend(specifiers.structs);
                    for declarator in &field.node.declarators {
                        let Some(declarator) = &declarator.node.declarator else {
                            continue;
                        };
                        let declared = self.declarator(declarator, specifiers.ty.clone());
                        let name = self.range_text(declared.name).into();
                        fields.push(FieldType {
                            name,
                            ty: declared.ty,
                        });
                    }
                }
                StructDeclaration::StaticAssert(_) => {}
            }
        }
        if is_union {
            let names = fields.iter().map(|field| field.name.as_str().into());
            self.tree.unions.push(names.collect());
        }
        if tag.is_none() {
            builder.anonymous_fields = Some(fields.clone());
        }
        builder.structs.push(StructDef {
            tag: tag.map(Into::into),
            is_union,
            overlaps,
            fields,
        });
    }
}

/// Specifiers under construction.
struct Builder {
    builtin: Builtin,
    kind: Option<TypeKind>,
    /// The name of `kind` stands for a number.
    names_number: bool,
    is_const: bool,
    is_volatile: bool,
    is_atomic: bool,
    storage: Storage,
    thread_local: bool,
    is_register: bool,
    structs: Vec<StructDef>,
    anonymous_fields: Option<Vec<FieldType>>,
}

impl Default for Builder {
    fn default() -> Self {
        Self {
            builtin: Builtin::default(),
            kind: None,
            names_number: false,
            is_const: false,
            is_volatile: false,
            is_atomic: false,
            storage: Storage::None,
            thread_local: false,
            is_register: false,
            structs: Vec::new(),
            anonymous_fields: None,
        }
    }
}

impl Builder {
    fn storage_class(&mut self, class: &StorageClassSpecifier) {
        match class {
            StorageClassSpecifier::Typedef => self.storage = Storage::Typedef,
            StorageClassSpecifier::Extern => self.storage = Storage::Extern,
            StorageClassSpecifier::Static => self.storage = Storage::Static,
            StorageClassSpecifier::ThreadLocal => self.thread_local = true,
            StorageClassSpecifier::Register => self.is_register = true,
            StorageClassSpecifier::Auto => {}
        }
    }

    fn qualifier(&mut self, qualifier: &TypeQualifier) {
        let (is_const, is_volatile) = qualifier_flags(qualifier);
        self.is_const |= is_const;
        self.is_volatile |= is_volatile;
        self.is_atomic |= matches!(qualifier, TypeQualifier::Atomic);
    }

    fn finish(self) -> Specifiers {
        let builtin = self.builtin.name();
        let is_builtin_number = builtin.as_ref().is_some_and(|name| &**name != "void");
        let names_number = match self.kind {
            Some(_) => self.names_number,
            None => is_builtin_number,
        };
        let kind = self.kind.or(builtin.map(TypeKind::Named));
        let ty = Type {
            kind: kind.unwrap_or(TypeKind::Unknown),
            names_number,
            is_const: self.is_const,
            is_volatile: self.is_volatile,
            is_atomic: self.is_atomic,
        };
        Specifiers {
            ty,
            storage: self.storage,
            thread_local: self.thread_local,
            is_register: self.is_register,
            structs: self.structs,
            anonymous_fields: self.anonymous_fields,
        }
    }
}

/// Whether a qualifier means `const`, and whether it means `volatile` or `_Atomic`.
pub(super) fn qualifier_flags(qualifier: &TypeQualifier) -> (bool, bool) {
    match qualifier {
        TypeQualifier::Const => (true, false),
        TypeQualifier::Volatile | TypeQualifier::Atomic => (false, true),
        TypeQualifier::Restrict
        | TypeQualifier::Nonnull
        | TypeQualifier::NullUnspecified
        | TypeQualifier::Nullable => (false, false),
    }
}
