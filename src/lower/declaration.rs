//! External declarations and function definitions.

use lang_c::ast;
use lang_c::span::Node;

use super::declarator::{Declared, Parameters};
use super::{Lowerer, to_u32};
use crate::ast::{
    Declaration, Declarator, Function, Local, LocalId, Storage, TokenRange, Type, TypeKind,
};

impl Lowerer<'_> {
    /// Goes on with a declaration that an earlier part of the item gave.
    pub(super) fn resume(&mut self, mut before: Declaration) {
        self.tree = std::mem::take(&mut before.tree);
        self.before = Some(before);
    }

    pub(super) fn external_declaration(&mut self, node: &Node<ast::Declaration>) -> Declaration {
        let specifiers = self.specifiers(&node.node.specifiers);
        let range = self.range(node.span);
        let mut declaration = self.before.take().unwrap_or_else(|| Declaration {
            storage: specifiers.storage,
            thread_local: specifiers.thread_local,
            declarators: Vec::new(),
            structs: Vec::new(),
            tree: crate::ast::Tree::default(),
            range,
        });
        declaration.range.end = range.end.max(declaration.range.end);
        declaration.structs.extend(specifiers.structs);
        for init_declarator in &node.node.declarators {
            let ast::InitDeclarator {
                declarator,
                initializer,
            } = &init_declarator.node;
            let declared = self.declarator(declarator, specifiers.ty.clone());
            let init = initializer.as_ref().map(|init| self.initializer(init));
            declaration.declarators.push(Declarator {
                name: self.range_text(declared.name).into(),
                name_range: declared.name,
                ty: declared.ty,
                init,
                range: self.range(declarator.span),
            });
        }
        declaration.tree = std::mem::take(&mut self.tree);
        declaration
    }

    pub(super) fn function(&mut self, node: &Node<ast::FunctionDefinition>) -> Function {
        let definition = &node.node;
        let specifiers = self.specifiers(&definition.specifiers);
        let declared = self.declarator(&definition.declarator, specifiers.ty);
        let name_range = declared.name;
        let (ret, parameters) = signature(declared);
        let variadic = parameters.variadic;
        let params = self.declare_parameters(parameters);
        for declaration in &definition.declarations {
            self.old_style_parameters(&declaration.node, &params);
        }
        let body = self.statement(&definition.statement);
        Function {
            name: self.range_text(name_range).into(),
            name_range,
            ret,
            params,
            variadic,
            is_static: specifiers.storage == Storage::Static,
            tree: std::mem::take(&mut self.tree),
            body,
            range: self.with_prefix(self.range(node.span)),
        }
    }

    /// `range` with the tokens in front of it that the parser need not see, and that the macro has
    /// made which makes the first of it: the whole use of the macro stands in the file.
    ///
    /// ```c
    /// #define API(type) __declspec(dllexport) type
    /// API(int) use(PyObject *list) { … }
    /// ```
    fn with_prefix(&self, range: TokenRange) -> TokenRange {
        let first = self.tokens.tokens.get(range.start as usize);
        let Some(made_by) = first.and_then(|token| token.expansion) else {
            return range;
        };
        let start = self.tokens.root(made_by).tokens.start;
        let mut prefix = start..range.start;
        // DECLARE_AND_DEFINE(use) makes more than this.
        match prefix.any(|at| matches!(self.text(at), b";" | b"}")) {
            true => range,
            false => TokenRange { start, ..range },
        }
    }

    fn declare_parameters(&mut self, parameters: Parameters) -> Vec<LocalId> {
        let declare = |parameter: super::declarator::Parameter| {
            self.declare_local(Local {
                name: self.range_text(parameter.name).into(),
                name_range: parameter.name,
                ty: parameter.ty,
                storage: Storage::None,
                thread_local: false,
                is_register: parameter.is_register,
                is_param: true,
                decl: None,
            })
        };
        parameters.list.into_iter().map(declare).collect()
    }

    /// Gives the parameters of `f(a) char *a; {` their types.
    fn old_style_parameters(&mut self, declaration: &ast::Declaration, params: &[LocalId]) {
        let specifiers = self.specifiers(&declaration.specifiers);
        for init_declarator in &declaration.declarators {
            let base = specifiers.ty.clone();
            let declared = self.declarator(&init_declarator.node.declarator, base);
            let name = self.range_text(declared.name);
            let param = params
                .iter()
                .find(|&&id| *self.tree.local(id).name == *name);
            if let Some(&LocalId(index)) = param {
                let param = &mut self.tree.locals[index as usize];
                (param.ty, param.is_register) = (declared.ty, specifiers.is_register);
            }
        }
    }

    /// Adds a variable and puts its name in scope.
    pub(super) fn declare_local(&mut self, local: Local) -> LocalId {
        let id = LocalId(to_u32(self.tree.locals.len()));
        self.declare_name(local.name_range, Some(id));
        self.tree.locals.push(local);
        id
    }

    /// Puts a name in scope; `None` for one that is no variable of the function.
    pub(super) fn declare_name(&mut self, name: TokenRange, meaning: Option<LocalId>) {
        let key = self.scope_key(name);
        if !key.is_empty() {
            self.scopes.declare(key, meaning);
        }
    }
}

/// Result type and parameters of a defined function.
fn signature(declared: Declared) -> (Type, Parameters) {
    let parameters = declared.parameters.unwrap_or_default();
    match declared.ty.kind {
        TypeKind::Function(result, _) => (*result, parameters),
        // A macro made the head; what it returns cannot be told.
        TypeKind::Named(_)
        | TypeKind::Struct(_)
        | TypeKind::Enum(_)
        | TypeKind::Pointer(_)
        | TypeKind::Array(..)
        | TypeKind::Unknown => (Type::plain(TypeKind::Unknown), parameters),
    }
}
