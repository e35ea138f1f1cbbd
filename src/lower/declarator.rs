//! Declarators to names and types.

use lang_c::ast::{
    ArraySize, Constant, Declarator, DeclaratorKind, DerivedDeclarator, Ellipsis, Expression,
    FunctionDeclarator, Identifier, ParameterDeclaration, PointerQualifier, TypeName,
};
use lang_c::span::Node;

use super::Lowerer;
use super::literal;
use super::specifiers::qualifier_flags;
use crate::ast::{TokenRange, Type, TypeKind};

/// A declared name and its type.
pub(super) struct Declared {
    /// The name token; empty if there is no name.
    pub(super) name: TokenRange,
    pub(super) ty: Type,
    /// The parameters, if the name is a function.
    pub(super) parameters: Option<Parameters>,
}

/// A parameter list.
#[derive(Default)]
pub(super) struct Parameters {
    pub(super) list: Vec<Parameter>,
    pub(super) variadic: bool,
}

/// One parameter.
pub(super) struct Parameter {
    pub(super) name: TokenRange,
    pub(super) ty: Type,
    pub(super) is_register: bool,
}

impl Lowerer<'_> {
    /// The name that `declarator` declares with a type built on `base`.
    pub(super) fn declarator(&mut self, declarator: &Node<Declarator>, base: Type) -> Declared {
        let derived = &declarator.node.derived;
        let mut ty = derived.iter().fold(base, |ty, part| match &part.node {
            DerivedDeclarator::Pointer(words) | DerivedDeclarator::Block(words) => {
                pointer(ty, words)
            }
            DerivedDeclarator::Array(_)
            | DerivedDeclarator::Function(_)
            | DerivedDeclarator::KRFunction(_) => ty,
        });
        // `a[2][3]` is an array of 2 arrays: the last suffix is the innermost type.
        let mut parameters = None;
        for part in derived.iter().rev() {
            match &part.node {
                DerivedDeclarator::Pointer(_) | DerivedDeclarator::Block(_) => {}
                DerivedDeclarator::Array(array) => {
                    let length = self.array_length(&array.node.size);
                    ty = Type::plain(TypeKind::Array(Box::new(ty), length));
                    parameters = None;
                }
                DerivedDeclarator::Function(function) => {
                    (ty, parameters) = self.function_type(ty, &function.node);
                }
                DerivedDeclarator::KRFunction(names) => {
                    (ty, parameters) = self.old_style_function_type(ty, names);
                }
            }
        }
        match &declarator.node.kind.node {
            DeclaratorKind::Abstract => {
                let at = self.range(declarator.span);
                let name = TokenRange {
                    start: at.end,
                    end: at.end,
                };
                Declared {
                    name,
                    ty,
                    parameters,
                }
            }
            DeclaratorKind::Identifier(name) => Declared {
                name: self.range(name.span),
                ty,
                parameters,
            },
            DeclaratorKind::Declarator(inner) => {
                let declared = self.declarator(inner, ty);
                // `int (f)(void)` declares a function, `int (*f)(void)` a pointer.
                let is_plain = inner.node.derived.is_empty();
                let parameters = if is_plain {
                    parameters.or(declared.parameters)
                } else {
                    declared.parameters
                };
                Declared {
                    parameters,
                    ..declared
                }
            }
        }
    }

    fn function_type(
        &mut self,
        result: Type,
        function: &FunctionDeclarator,
    ) -> (Type, Option<Parameters>) {
        let variadic = match function.ellipsis {
            Ellipsis::Some => true,
            Ellipsis::None => false,
        };
        let mut list: Vec<_> = function
            .parameters
            .iter()
            .map(|parameter| self.parameter(&parameter.node))
            .collect();
        // `f(void)`
        if matches!(&list[..], [only] if only.ty.is_void()) {
            list.clear();
        }
        (
            function_of(result, &list),
            Some(Parameters { list, variadic }),
        )
    }

    fn old_style_function_type(
        &self,
        result: Type,
        names: &[Node<Identifier>],
    ) -> (Type, Option<Parameters>) {
        let int = || Type {
            names_number: true,
            ..Type::plain(TypeKind::Named("int".into()))
        };
        let list: Vec<_> = names
            .iter()
            .map(|name| Parameter {
                name: self.range(name.span),
                ty: int(),
                is_register: false,
            })
            .collect();
        (
            function_of(result, &list),
            Some(Parameters {
                list,
                variadic: false,
            }),
        )
    }

    fn parameter(&mut self, parameter: &ParameterDeclaration) -> Parameter {
        let specifiers = self.specifiers(&parameter.specifiers);
        let (base, is_register) = (specifiers.ty, specifiers.is_register);
        match &parameter.declarator {
            Some(declarator) => {
                let declared = self.declarator(declarator, base);
                Parameter {
                    name: declared.name,
                    ty: declared.ty,
                    is_register,
                }
            }
            None => {
                let end = parameter
                    .specifiers
                    .last()
                    .map_or(0, |last| self.range(last.span).end);
                Parameter {
                    name: TokenRange { start: end, end },
                    ty: base,
                    is_register,
                }
            }
        }
    }

    fn array_length(&self, size: &ArraySize) -> Option<u64> {
        match size {
            ArraySize::Unknown | ArraySize::VariableUnknown => None,
            ArraySize::VariableExpression(length) | ArraySize::StaticExpression(length) => {
                let Expression::Constant(constant) = &length.node else {
                    return None;
                };
                let Constant::Integer(_) = constant.node else {
                    return None;
                };
                let range = self.range(constant.span);
                let value = literal::integer(self.scope_key(range))?;
                u64::try_from(value).ok()
            }
        }
    }

    /// The type that a type name names.
    pub(super) fn type_name(&mut self, name: &Node<TypeName>) -> Type {
        let base = self.qualified_specifiers(&name.node.specifiers).ty;
        match &name.node.declarator {
            Some(declarator) => self.declarator(declarator, base).ty,
            None => base,
        }
    }
}

fn pointer(target: Type, qualifiers: &[Node<PointerQualifier>]) -> Type {
    let mut ty = Type::plain(TypeKind::Pointer(Box::new(target)));
    for qualifier in qualifiers {
        match &qualifier.node {
            PointerQualifier::TypeQualifier(word) => {
                let (is_const, is_volatile) = qualifier_flags(&word.node);
                ty.is_const |= is_const;
                ty.is_volatile |= is_volatile;
                ty.is_atomic |= matches!(word.node, lang_c::ast::TypeQualifier::Atomic);
            }
            PointerQualifier::Extension(_) => {}
        }
    }
    ty
}

fn function_of(result: Type, parameters: &[Parameter]) -> Type {
    let parameters = parameters
        .iter()
        .map(|parameter| parameter.ty.clone())
        .collect();
    Type::plain(TypeKind::Function(Box::new(result), parameters))
}
