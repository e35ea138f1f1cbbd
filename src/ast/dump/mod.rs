//! A deterministic text form of the tree, for tests and for reading.
//!
//! Statements stand on lines of their own, expressions are S-expressions. A local is printed as
//! `name#id`, a type in prefix notation: `* const char`.

mod expr;
mod operators;
mod types;

use std::fmt::Write as _;

use super::{
    Declaration, Function, Item, LocalDecl, LocalId, StmtId, StmtKind, Storage, StructDef, Tree,
};
use types::type_text;

/// The item as text, with a final line end.
#[must_use]
pub fn dump(item: &Item) -> String {
    match item {
        Item::Function(function) => dump_function(function),
        Item::Declaration(declaration) => dump_declaration(declaration),
        Item::Other => "other\n".to_owned(),
    }
}

fn dump_function(function: &Function) -> String {
    let mut dumper = Dumper {
        tree: &function.tree,
        out: String::new(),
    };
    let storage = if function.is_static { "static " } else { "" };
    let params: Vec<_> = function
        .params
        .iter()
        .map(|&id| dumper.declared(id))
        .collect();
    let rest = if function.variadic { ", ..." } else { "" };
    let (name, ret) = (&function.name, type_text(&function.ret));
    let params = params.join(", ");
    writeln_to(
        &mut dumper.out,
        0,
        &format!("function {storage}{name}({params}{rest}): {ret}"),
    );
    dumper.stmt(function.body, 1);
    dumper.out
}

fn dump_declaration(declaration: &Declaration) -> String {
    let mut dumper = Dumper {
        tree: &declaration.tree,
        out: String::new(),
    };
    let thread_local = if declaration.thread_local {
        " thread_local"
    } else {
        ""
    };
    let storage = storage_text(declaration.storage);
    writeln_to(
        &mut dumper.out,
        0,
        &format!("declaration{storage}{thread_local}"),
    );
    for def in &declaration.structs {
        let text = struct_text(def);
        writeln_to(&mut dumper.out, 1, &text);
    }
    for declarator in &declaration.declarators {
        let init = declarator
            .init
            .as_ref()
            .map(|init| format!(" = {}", dumper.init(init)));
        let (name, ty) = (&declarator.name, type_text(&declarator.ty));
        writeln_to(
            &mut dumper.out,
            1,
            &format!("{name}: {ty}{}", init.unwrap_or_default()),
        );
    }
    dumper.out
}

fn struct_text(def: &StructDef) -> String {
    let kind = if def.is_union { "union" } else { "struct" };
    let field = |field: &super::FieldType| format!("{}: {}", field.name, type_text(&field.ty));
    let fields: Vec<_> = def.fields.iter().map(field).collect();
    format!(
        "{kind} {} {{ {} }}",
        def.tag.as_deref().unwrap_or("_"),
        fields.join(", ")
    )
}

fn storage_text(storage: Storage) -> &'static str {
    match storage {
        Storage::None => "",
        Storage::Static => " static",
        Storage::Extern => " extern",
        Storage::Typedef => " typedef",
    }
}

fn writeln_to(out: &mut String, depth: usize, line: &str) {
    writeln!(out, "{:1$}{line}", "", 2 * depth).expect("writing to a string cannot fail");
}

struct Dumper<'a> {
    tree: &'a Tree,
    out: String,
}

impl Dumper<'_> {
    fn line(&mut self, depth: usize, line: &str) {
        writeln_to(&mut self.out, depth, line);
    }

    fn local(&self, id: LocalId) -> String {
        format!("{}#{}", self.tree.local(id).name, id.0)
    }

    fn declared(&self, id: LocalId) -> String {
        format!("{}: {}", self.local(id), type_text(&self.tree.local(id).ty))
    }

    fn local_decl(&self, decl: &LocalDecl) -> String {
        let storage = storage_text(self.tree.local(decl.local).storage);
        let init = decl
            .init
            .as_ref()
            .map(|init| format!(" = {}", self.init(init)));
        let name = self.declared(decl.local);
        format!("let{storage} {name}{}", init.unwrap_or_default())
    }

    fn stmt(&mut self, id: StmtId, depth: usize) {
        let inner = depth + 1;
        match &self.tree.stmt(id).kind {
            StmtKind::Null => self.line(depth, "null"),
            StmtKind::Expr(value) => self.line(depth, &self.expr(*value)),
            StmtKind::Decl(decls) => {
                for decl in decls {
                    let line = self.local_decl(decl);
                    self.line(depth, &line);
                }
            }
            StmtKind::Block(stmts) => {
                self.line(depth, "block");
                for &stmt in stmts {
                    self.stmt(stmt, inner);
                }
            }
            StmtKind::If {
                cond,
                then,
                otherwise,
            } => {
                self.line(depth, &format!("if {}", self.expr(*cond)));
                self.stmt(*then, inner);
                if let Some(otherwise) = otherwise {
                    self.line(depth, "else");
                    self.stmt(*otherwise, inner);
                }
            }
            StmtKind::While { cond, body } => {
                self.line(depth, &format!("while {}", self.expr(*cond)));
                self.stmt(*body, inner);
            }
            StmtKind::DoWhile { body, cond } => {
                self.line(depth, &format!("do-while {}", self.expr(*cond)));
                self.stmt(*body, inner);
            }
            StmtKind::For {
                init,
                cond,
                step,
                body,
            } => {
                let (cond, step) = (self.optional(*cond), self.optional(*step));
                self.line(depth, &format!("for cond={cond} step={step}"));
                if let Some(init) = init {
                    self.stmt(*init, depth + 2);
                }
                self.stmt(*body, inner);
            }
            StmtKind::Switch { value, body } => {
                self.line(depth, &format!("switch {}", self.expr(*value)));
                self.stmt(*body, inner);
            }
            kind => self.simple_or_labelled(kind, depth),
        }
    }

    fn simple_or_labelled(&mut self, kind: &StmtKind, depth: usize) {
        let (head, body) = match kind {
            StmtKind::Case {
                low,
                high: None,
                body,
            } => (format!("case {}", self.expr(*low)), Some(*body)),
            StmtKind::Case {
                low,
                high: Some(high),
                body,
            } => (
                format!("case {} ... {}", self.expr(*low), self.expr(*high)),
                Some(*body),
            ),
            StmtKind::Default { body } => ("default".to_owned(), Some(*body)),
            StmtKind::Label { name, body } => (format!("label {name}"), Some(*body)),
            StmtKind::Goto(name) => (format!("goto {name}"), None),
            StmtKind::ComputedGoto(target) => (format!("goto *{}", self.expr(*target)), None),
            StmtKind::Break => ("break".to_owned(), None),
            StmtKind::Continue => ("continue".to_owned(), None),
            StmtKind::Return(None) => ("return".to_owned(), None),
            StmtKind::Return(Some(value)) => (format!("return {}", self.expr(*value)), None),
            StmtKind::Asm => ("asm".to_owned(), None),
            StmtKind::Null
            | StmtKind::Expr(_)
            | StmtKind::Decl(_)
            | StmtKind::Block(_)
            | StmtKind::If { .. }
            | StmtKind::While { .. }
            | StmtKind::DoWhile { .. }
            | StmtKind::For { .. }
            | StmtKind::Switch { .. } => return,
        };
        self.line(depth, &head);
        if let Some(body) = body {
            self.stmt(body, depth + 1);
        }
    }
}
