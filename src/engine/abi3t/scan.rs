//! Types, fields and names of the C API that `abi3t` does not have.

use std::collections::BTreeSet;

use super::{Found, ObstacleKind};
use crate::ast::{
    Declaration, Declarator, ExprId, ExprKind, Name, Storage, StructDef, TokenRange, Tree, Type,
    TypeKind,
};
use crate::capi::OutsideAbi3t;
use crate::lex::TokenKind;
use crate::package::Package;
use crate::preprocess::Spelling;
use crate::program::{Body, Program, ProgramItem, Types};
use crate::source::{ByteSpan, FileId};

/// Macros that are told of by what they are in: a type, a `struct`, a module.
const HEADS: &[&str] = &[
    "PyObject_HEAD",
    "PyObject_VAR_HEAD",
    "PyObject_HEAD_INIT",
    "PyVarObject_HEAD_INIT",
    "PyModuleDef_HEAD_INIT",
];

/// Adds what the C of `package` has, read as `program`.
pub(super) fn scan(program: &Program<'_>, package: &Package, found: &mut Found) {
    let own = program
        .functions()
        .map(|(_, function)| function.name.as_str());
    let all = program
        .declarations()
        .flat_map(|(_, declaration)| &declaration.declarators);
    let filled = all.filter(|declarator| declarator.init.is_some());
    let mut scan = Scan {
        program,
        package,
        outside: OutsideAbi3t::read(),
        types: Types::new(program),
        own: own.collect(),
        filled: filled.map(|declarator| declarator.name.as_str()).collect(),
        found,
    };
    for item in &program.items {
        match &item.body {
            Some(Body::Declaration(declaration)) => {
                scan.declaration(item, declaration);
                scan.fields(item, &declaration.tree);
            }
            Some(Body::Function(function)) => scan.fields(item, &function.tree),
            None => {}
        }
        scan.names(item);
    }
}

struct Scan<'a> {
    program: &'a Program<'a>,
    package: &'a Package,
    outside: OutsideAbi3t,
    types: Types<'a>,
    /// Functions that the package defines itself.
    own: BTreeSet<&'a str>,
    /// Variables that some declaration gives a value.
    filled: BTreeSet<&'a str>,
    found: &'a mut Found,
}

impl Scan<'_> {
    fn add(&mut self, kind: ObstacleKind, name: String, place: (FileId, ByteSpan)) {
        let info = self.package.info_of(place.0);
        let is_copy = self.package.compat_headers.contains(&place.0);
        if info.is_some_and(|info| info.kind.is_analysed()) && !is_copy {
            self.found.entry((kind, name)).or_default().insert(place);
        }
    }

    fn declaration(&mut self, item: &ProgramItem, declaration: &Declaration) {
        for declarator in &declaration.declarators {
            // `static PyTypeObject Thing_Type;` before the one that counts.
            let is_repeated = declarator.init.is_none() && self.filled.contains(&*declarator.name);
            if let Some(kind) = laid_out(declaration, declarator).filter(|_| !is_repeated) {
                let place = written(item, declarator.name_range).unwrap_or(item.place);
                self.add(kind, declarator.name.clone(), place);
            }
        }
        for def in declaration
            .structs
            .iter()
            .filter(|def| begins_with_head(def))
        {
            let named = declaration.declarators.first().map(|first| &first.name);
            if let Some(name) = def.tag.as_ref().or(named) {
                self.add(ObstacleKind::InstanceLayout, name.clone(), item.place);
            }
        }
    }

    fn fields(&mut self, item: &ProgramItem, tree: &Tree) {
        for expr in &tree.exprs {
            let ExprKind::Member { base, field, arrow } = &expr.kind else {
                continue;
            };
            let Some(owner) = self.owner(tree, *base, *arrow) else {
                continue;
            };
            // The name of the field is the last token: `a->ob_type`.
            let last = TokenRange {
                start: expr.range.end.saturating_sub(1),
                end: expr.range.end,
            };
            if let Some(place) = written(item, last) {
                self.add(ObstacleKind::Field, format!("{owner}.{field}"), place);
            }
        }
    }

    /// The `struct` of Python that `base->field` looks into, if the ABI hides its fields.
    fn owner(&self, tree: &Tree, base: ExprId, arrow: bool) -> Option<String> {
        let key = match &tree.expr(base).kind {
            // `Py_TYPE(self)->tp_free`: its result is declared in no file of the package.
            ExprKind::Call { callee, .. } if tree.callee_name(*callee) == Some("Py_TYPE") => {
                "PyTypeObject".to_owned()
            }
            // `self->ob_type->tp_free`
            ExprKind::Member { field, .. } if &**field == "ob_type" => "PyTypeObject".to_owned(),
            // `PyUnicode_Type.tp_new`
            ExprKind::Name(Name::Global(name)) if is_type_of_python(name) => {
                "PyTypeObject".to_owned()
            }
            _ => self.types.owner(tree, base, arrow)?,
        };
        let is_own = self.types.definition(&key).is_some();
        let owner = key.strip_prefix("struct ").unwrap_or(&key);
        (!is_own && self.outside.hides_fields(owner)).then(|| owner.to_owned())
    }

    fn names(&mut self, item: &ProgramItem) {
        let tokens = &item.tokens.tokens;
        for token in tokens.iter().filter(|token| token.kind == TokenKind::Ident) {
            if let Spelling::File(file, span) = token.spelling {
                let name = self.program.files.get(file).text(span).into_owned();
                self.name(name, (file, span));
            }
        }
        // Macros of the model leave no token of their own.
        for expansion in &item.tokens.expansions {
            let is_own = expansion
                .definition
                .is_some_and(|(file, _)| self.package.info_of(file).is_some());
            if !is_own && !HEADS.contains(&&*expansion.name) {
                self.name(expansion.name.to_string(), expansion.call);
            }
        }
    }

    fn name(&mut self, name: String, place: (FileId, ByteSpan)) {
        if self.outside.has(&name) && !self.own.contains(&*name) {
            self.add(ObstacleKind::Name, name, place);
        }
    }
}

/// What `declarator` makes the compiler lay out: `static PyTypeObject Thing_Type = {…};`.
fn laid_out(declaration: &Declaration, declarator: &Declarator) -> Option<ObstacleKind> {
    if matches!(declaration.storage, Storage::Typedef | Storage::Extern) {
        return None;
    }
    // `static PyTypeObject types[] = {…};`
    let mut ty = &declarator.ty;
    while let TypeKind::Array(inner, _) = &ty.kind {
        ty = inner;
    }
    match ty.name()? {
        "PyTypeObject" | "_typeobject" => Some(ObstacleKind::StaticType),
        "PyModuleDef" => Some(ObstacleKind::ModuleDefinition),
        _ => None,
    }
}

fn is_type_of_python(name: &str) -> bool {
    name.starts_with("Py") && name.ends_with("_Type")
}

fn begins_with_head(def: &StructDef) -> bool {
    let is_head = |ty: &Type| matches!(ty.name(), Some("PyObject" | "_object" | "PyVarObject"));
    def.fields.first().is_some_and(|first| is_head(&first.ty))
}

/// Where the first token of `range` is spelled, if in a file: also in the body of a macro.
fn written(item: &ProgramItem, range: TokenRange) -> Option<(FileId, ByteSpan)> {
    match item.tokens.tokens.get(range.start as usize)?.spelling {
        Spelling::File(file, span) => Some((file, span)),
        Spelling::Synthetic(_) => None,
    }
}
