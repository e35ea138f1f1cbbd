//! A deterministic text form of the tree, for tests and for reading.
//!
//! Statements stand on lines of their own, expressions are S-expressions. A local is printed as
//! `name#id`, a type in prefix notation: `* const char`.

use std::fmt::Write as _;

use super::{
    BinaryOp, Declaration, Designator, ExprId, ExprKind, Function, Init, InitList, Item, LocalId,
    Name, StmtId, StmtKind, Storage, StructDef, Tree, Type, TypeKind, UnaryOp,
};

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
    let mut dumper = Dumper { tree: &function.tree, out: String::new() };
    let storage = if function.is_static { "static " } else { "" };
    let params: Vec<_> = function.params.iter().map(|&id| dumper.declared(id)).collect();
    let rest = if function.variadic { ", ..." } else { "" };
    let (name, ret) = (&function.name, type_text(&function.ret));
    let params = params.join(", ");
    writeln_to(&mut dumper.out, 0, &format!("function {storage}{name}({params}{rest}): {ret}"));
    dumper.stmt(function.body, 1);
    dumper.out
}

fn dump_declaration(declaration: &Declaration) -> String {
    let mut dumper = Dumper { tree: &declaration.tree, out: String::new() };
    let thread_local = if declaration.thread_local { " thread_local" } else { "" };
    let storage = storage_text(declaration.storage);
    writeln_to(&mut dumper.out, 0, &format!("declaration{storage}{thread_local}"));
    for def in &declaration.structs {
        let text = struct_text(def);
        writeln_to(&mut dumper.out, 1, &text);
    }
    for declarator in &declaration.declarators {
        let init = declarator.init.as_ref().map(|init| format!(" = {}", dumper.init(init)));
        let (name, ty) = (&declarator.name, type_text(&declarator.ty));
        writeln_to(&mut dumper.out, 1, &format!("{name}: {ty}{}", init.unwrap_or_default()));
    }
    dumper.out
}

fn struct_text(def: &StructDef) -> String {
    let kind = if def.is_union { "union" } else { "struct" };
    let field = |field: &super::FieldType| format!("{}: {}", field.name, type_text(&field.ty));
    let fields: Vec<_> = def.fields.iter().map(field).collect();
    format!("{kind} {} {{ {} }}", def.tag.as_deref().unwrap_or("_"), fields.join(", "))
}

fn storage_text(storage: Storage) -> &'static str {
    match storage {
        Storage::None => "",
        Storage::Static => " static",
        Storage::Extern => " extern",
        Storage::Typedef => " typedef",
    }
}

fn type_text(ty: &Type) -> String {
    let mut text = String::new();
    if ty.is_const {
        text.push_str("const ");
    }
    if ty.is_volatile {
        text.push_str("volatile ");
    }
    let tag = |tag: &Option<Box<str>>| tag.as_deref().unwrap_or("_").to_owned();
    text + &match &ty.kind {
        TypeKind::Named(name) => name.to_string(),
        TypeKind::Struct(name) => format!("struct {}", tag(name)),
        TypeKind::Enum(name) => format!("enum {}", tag(name)),
        TypeKind::Pointer(inner) => format!("* {}", type_text(inner)),
        TypeKind::Array(inner, Some(length)) => format!("[{length}] {}", type_text(inner)),
        TypeKind::Array(inner, None) => format!("[] {}", type_text(inner)),
        TypeKind::Function(result, params) => {
            let params: Vec<_> = params.iter().map(type_text).collect();
            format!("fn({}) {}", params.join(", "), type_text(result))
        }
        TypeKind::Unknown => "?".to_owned(),
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

    fn stmt(&mut self, id: StmtId, depth: usize) {
        let inner = depth + 1;
        match &self.tree.stmt(id).kind {
            StmtKind::Null => self.line(depth, "null"),
            StmtKind::Expr(value) => self.line(depth, &self.expr(*value)),
            StmtKind::Decl(decls) => {
                for decl in decls {
                    let storage = storage_text(self.tree.local(decl.local).storage);
                    let init = decl.init.as_ref().map(|init| format!(" = {}", self.init(init)));
                    let name = self.declared(decl.local);
                    self.line(depth, &format!("let{storage} {name}{}", init.unwrap_or_default()));
                }
            }
            StmtKind::Block(stmts) => {
                self.line(depth, "block");
                for &stmt in stmts {
                    self.stmt(stmt, inner);
                }
            }
            StmtKind::If { cond, then, otherwise } => {
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
            StmtKind::For { init, cond, step, body } => {
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
            StmtKind::Case { low, high: None, body } => {
                (format!("case {}", self.expr(*low)), Some(*body))
            }
            StmtKind::Case { low, high: Some(high), body } => {
                (format!("case {} ... {}", self.expr(*low), self.expr(*high)), Some(*body))
            }
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

    fn optional(&self, id: Option<ExprId>) -> String {
        id.map_or_else(|| "-".to_owned(), |id| self.expr(id))
    }

    fn expr(&self, id: ExprId) -> String {
        match &self.tree.expr(id).kind {
            ExprKind::Name(Name::Local(local)) => self.local(*local),
            ExprKind::Name(Name::Global(name)) => name.to_string(),
            ExprKind::Int(Some(value)) => value.to_string(),
            ExprKind::Int(None) => "int?".to_owned(),
            ExprKind::Float => "float".to_owned(),
            ExprKind::Char => "char".to_owned(),
            ExprKind::Str(bytes) => format!("\"{}\"", bytes.escape_ascii()),
            ExprKind::Call { callee, args } => {
                let mut text = format!("(call {}", self.expr(*callee));
                for &arg in args {
                    text.push(' ');
                    text.push_str(&self.expr(arg));
                }
                text + ")"
            }
            ExprKind::Member { base, field, arrow } => {
                let dot = if *arrow { "->" } else { "." };
                format!("({dot} {} {field})", self.expr(*base))
            }
            ExprKind::Index { base, index } => {
                format!("([] {} {})", self.expr(*base), self.expr(*index))
            }
            ExprKind::Unary { op, operand } => {
                format!("({} {})", unary_text(*op), self.expr(*operand))
            }
            ExprKind::Binary { op, lhs, rhs } => {
                format!("({} {} {})", binary_text(*op), self.expr(*lhs), self.expr(*rhs))
            }
            ExprKind::Assign { op, lhs, rhs } => {
                let op = op.map_or("", binary_text);
                format!("({op}= {} {})", self.expr(*lhs), self.expr(*rhs))
            }
            ExprKind::Conditional { cond, then, otherwise } => {
                let (cond, otherwise) = (self.expr(*cond), self.expr(*otherwise));
                format!("(? {cond} {} {otherwise})", self.optional(*then))
            }
            ExprKind::Cast { ty, operand } => {
                format!("(cast <{}> {})", type_text(ty), self.expr(*operand))
            }
            ExprKind::TypeQuery(ty) => format!("(type-query <{}>)", type_text(ty)),
            ExprKind::SizeOfExpr(operand) => format!("(sizeof {})", self.expr(*operand)),
            ExprKind::VaArg { list, ty } => {
                format!("(va_arg {} <{}>)", self.expr(*list), type_text(ty))
            }
            ExprKind::Compound { ty, init } => {
                format!("(compound <{}> {})", type_text(ty), self.init_list(init))
            }
            ExprKind::Stmt(stmt) => {
                let mut inner = Dumper { tree: self.tree, out: String::new() };
                inner.stmt(*stmt, 0);
                let lines: Vec<_> = inner.out.lines().map(str::trim).collect();
                format!("(stmt {{{}}})", lines.join("; "))
            }
        }
    }

    fn init(&self, init: &Init) -> String {
        match init {
            Init::Expr(value) => self.expr(*value),
            Init::List(list) => self.init_list(list),
        }
    }

    fn init_list(&self, list: &InitList) -> String {
        let mut parts = Vec::new();
        for entry in &list.entries {
            let mut text = String::new();
            for designator in &entry.designators {
                text += &match designator {
                    Designator::Field(name) => format!(".{name}"),
                    Designator::Index(index) => format!("[{}]", self.expr(*index)),
                    Designator::Range(from, to) => {
                        format!("[{} ... {}]", self.expr(*from), self.expr(*to))
                    }
                };
            }
            if !text.is_empty() {
                text += "=";
            }
            parts.push(text + &self.init(&entry.value));
        }
        format!("{{{}}}", parts.join(", "))
    }
}

fn unary_text(op: UnaryOp) -> &'static str {
    match op {
        UnaryOp::PostIncrement => "post++",
        UnaryOp::PostDecrement => "post--",
        UnaryOp::PreIncrement => "++",
        UnaryOp::PreDecrement => "--",
        UnaryOp::AddressOf => "addr",
        UnaryOp::Deref => "deref",
        UnaryOp::Plus => "plus",
        UnaryOp::Minus => "neg",
        UnaryOp::Complement => "~",
        UnaryOp::Not => "!",
        UnaryOp::LabelAddress => "label-addr",
    }
}

fn binary_text(op: BinaryOp) -> &'static str {
    match op {
        BinaryOp::Multiply => "*",
        BinaryOp::Divide => "/",
        BinaryOp::Modulo => "%",
        BinaryOp::Plus => "+",
        BinaryOp::Minus => "-",
        BinaryOp::ShiftLeft => "<<",
        BinaryOp::ShiftRight => ">>",
        BinaryOp::Less => "<",
        BinaryOp::Greater => ">",
        BinaryOp::LessOrEqual => "<=",
        BinaryOp::GreaterOrEqual => ">=",
        BinaryOp::Equals => "==",
        BinaryOp::NotEquals => "!=",
        BinaryOp::BitAnd => "&",
        BinaryOp::BitXor => "^",
        BinaryOp::BitOr => "|",
        BinaryOp::LogicalAnd => "&&",
        BinaryOp::LogicalOr => "||",
        BinaryOp::Comma => ",",
    }
}
