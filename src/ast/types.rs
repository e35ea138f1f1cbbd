//! Types as far as the analyses need them: names, pointers, `const`.

/// A C type. Unknown parts (types of headers that are not read) stay names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Type {
    /// Shape.
    pub kind: TypeKind,
    /// `const` at this level: `const char *` is a non-const pointer to a const `char`.
    pub is_const: bool,
    /// `volatile` or `_Atomic` at this level.
    pub is_volatile: bool,
    /// `_Atomic` at this level.
    pub is_atomic: bool,
    /// The name is known to stand for a number.
    pub names_number: bool,
}

/// Words in the names of numbers that are smaller than an address.
const SMALL: [&str; 12] = [
    "_Bool", "bool", "char", "double", "float", "int16_t", "int32_t", "int8_t", "short",
    "uint16_t", "uint32_t", "uint8_t",
];

/// Shapes of types.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TypeKind {
    /// A builtin or typedef name, builtins in normal form: `unsigned long`, `int`, `PyObject`.
    Named(Box<str>),
    /// `struct tag` or `union tag`; `None` for an anonymous one.
    Struct(Option<Box<str>>),
    /// `enum tag`.
    Enum(Option<Box<str>>),
    /// Pointer to.
    Pointer(Box<Type>),
    /// Array of; the length if it is a plain number.
    Array(Box<Type>, Option<u64>),
    /// Function: result, parameters.
    Function(Box<Type>, Vec<Type>),
    /// `typeof(…)` and what else cannot be told.
    Unknown,
}

/// A field of a struct or union.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldType {
    /// The field's name.
    pub name: String,
    /// Its type.
    pub ty: Type,
}

impl Type {
    /// A type that is neither `const` nor `volatile` at its outer level.
    #[must_use]
    pub fn plain(kind: TypeKind) -> Self {
        Self {
            kind,
            is_const: false,
            is_volatile: false,
            is_atomic: false,
            names_number: false,
        }
    }

    /// What a pointer or array points at.
    #[must_use]
    pub fn pointee(&self) -> Option<&Type> {
        match &self.kind {
            TypeKind::Pointer(inner) | TypeKind::Array(inner, _) => Some(inner),
            TypeKind::Named(_)
            | TypeKind::Struct(_)
            | TypeKind::Enum(_)
            | TypeKind::Function(..)
            | TypeKind::Unknown => None,
        }
    }

    /// Name of a builtin, typedef, struct or union.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        match &self.kind {
            TypeKind::Named(name) => Some(name),
            TypeKind::Struct(tag) => tag.as_deref(),
            TypeKind::Enum(_)
            | TypeKind::Pointer(_)
            | TypeKind::Array(..)
            | TypeKind::Function(..)
            | TypeKind::Unknown => None,
        }
    }

    /// The type as it is written in a declaration of one variable, with the blank or star in front
    /// of the name: `PyObject *`, `int `, `const char *const *`. `None` for what needs more than
    /// that, and for `volatile` and `_Atomic`, which are not told apart.
    #[must_use]
    pub fn prefix(&self) -> Option<String> {
        if self.is_volatile {
            return None;
        }
        let constant = if self.is_const { "const " } else { "" };
        match &self.kind {
            TypeKind::Named(name) => Some(format!("{constant}{name} ")),
            TypeKind::Struct(Some(tag)) => Some(format!("{constant}struct {tag} ")),
            TypeKind::Enum(Some(tag)) => Some(format!("{constant}enum {tag} ")),
            TypeKind::Pointer(inner) => Some(format!("{}*{constant}", inner.prefix()?)),
            TypeKind::Struct(None)
            | TypeKind::Enum(None)
            | TypeKind::Array(..)
            | TypeKind::Function(..)
            | TypeKind::Unknown => None,
        }
    }

    /// The same of a variable that gets its value after its declaration, such as the result of a
    /// function of this type: what qualifies a value means nothing for the function.
    #[must_use]
    pub fn result_prefix(&self) -> Option<String> {
        let plain = Self {
            is_const: false,
            is_volatile: false,
            ..self.clone()
        };
        plain.prefix()
    }

    /// Whether an address fits into a number of the type: into none that is known to be small.
    #[must_use]
    pub fn may_keep_address(&self) -> bool {
        let is_small = |name: &str| {
            let mut words = name.split(' ');
            words.any(|word| SMALL.contains(&word))
                || !name.contains("long") && name.split(' ').any(|word| word == "int")
        };
        !matches!(self.kind, TypeKind::Enum(_)) && !self.name().is_some_and(is_small)
    }

    /// Whether this is `PyObject *`.
    #[must_use]
    pub fn is_py_object_pointer(&self) -> bool {
        matches!(&self.kind, TypeKind::Pointer(inner) if inner.name().is_some_and(|n| n == "PyObject" || n == "_object"))
    }

    /// Whether a function that gives an object through a `PyObject **` can give it to a variable of
    /// the type: not to a `const PyObject *`, nor to a `PyObject *volatile`.
    #[must_use]
    pub fn takes_object(&self) -> bool {
        let is_plain = |ty: &Self| !ty.is_const && !ty.is_volatile;
        self.is_py_object_pointer() && is_plain(self) && self.pointee().is_some_and(is_plain)
    }

    /// Whether values of the type are numbers: they point nowhere.
    #[must_use]
    pub fn is_number(&self) -> bool {
        self.names_number || matches!(self.kind, TypeKind::Enum(_))
    }

    /// Whether this is `void`.
    #[must_use]
    pub fn is_void(&self) -> bool {
        matches!(&self.kind, TypeKind::Named(name) if &**name == "void")
    }
}
