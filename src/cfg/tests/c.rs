//! Stopgap: C text to a tree, for tests, until `lower` is there.

use std::collections::HashMap;

use lang_c::ast as c;
use lang_c::driver::{Config, Flavor, parse_preprocessed};
use lang_c::span::Node;

use crate::ast::*;

pub(super) fn function(text: &str) -> Function {
    let prelude = "typedef struct _object { int x; } PyObject; typedef long Py_ssize_t; typedef void *va_list;\n";
    let config = Config {
        flavor: Flavor::GnuC11,
        ..Config::default()
    };
    let unit = parse_preprocessed(&config, format!("{prelude}{text}"))
        .unwrap()
        .unit;
    let definition = unit.0.iter().find_map(|node| match &node.node {
        c::ExternalDeclaration::FunctionDefinition(f) => Some(f.node.clone()),
        _ => None,
    });
    let definition = definition.unwrap();
    let mut lower = Lower::default();
    let (name, ty) = lower.declarator(&definition.declarator.node, base(&definition.specifiers));
    let mut params = Vec::new();
    for derived in &definition.declarator.node.derived {
        if let c::DerivedDeclarator::Function(f) = &derived.node {
            for p in &f.node.parameters {
                let Some(d) = &p.node.declarator else {
                    continue;
                };
                let (name, ty) = lower.declarator(&d.node, base(&p.node.specifiers));
                params.push(lower.local(name, ty, Storage::None, true));
            }
        }
    }
    let body = lower.stmt(&definition.statement.node);
    let range = TokenRange::default();
    Function {
        name,
        name_range: range,
        ret: ty,
        params,
        variadic: false,
        is_static: true,
        tree: lower.tree,
        body,
        range,
    }
}

#[derive(Default)]
struct Lower {
    tree: Tree,
    scopes: Vec<HashMap<String, LocalId>>,
}

fn named(name: &str) -> Type {
    Type::plain(TypeKind::Named(name.into()))
}

fn base(specifiers: &[Node<c::DeclarationSpecifier>]) -> Type {
    for s in specifiers {
        if let c::DeclarationSpecifier::TypeSpecifier(t) = &s.node {
            return type_specifier(&t.node);
        }
    }
    named("int")
}

fn type_specifier(t: &c::TypeSpecifier) -> Type {
    match t {
        c::TypeSpecifier::TypedefName(n) => named(&n.node.name),
        c::TypeSpecifier::Void => named("void"),
        _ => named("int"),
    }
}

impl Lower {
    fn declarator(&mut self, d: &c::Declarator, mut ty: Type) -> (String, Type) {
        let mut arrays = Vec::new();
        for derived in &d.derived {
            match &derived.node {
                c::DerivedDeclarator::Pointer(_) => {
                    ty = Type::plain(TypeKind::Pointer(Box::new(ty)))
                }
                c::DerivedDeclarator::Array(_) => arrays.push(()),
                _ => {}
            }
        }
        for () in arrays {
            ty = Type::plain(TypeKind::Array(Box::new(ty), None));
        }
        match &d.kind.node {
            c::DeclaratorKind::Identifier(i) => (i.node.name.clone(), ty),
            c::DeclaratorKind::Declarator(inner) => self.declarator(&inner.node, ty),
            c::DeclaratorKind::Abstract => (String::new(), ty),
        }
    }

    fn type_name(&mut self, t: &c::TypeName) -> Type {
        let mut ty = named("int");
        for s in &t.specifiers {
            if let c::SpecifierQualifier::TypeSpecifier(t) = &s.node {
                ty = type_specifier(&t.node);
            }
        }
        match &t.declarator {
            Some(d) => self.declarator(&d.node, ty).1,
            None => ty,
        }
    }

    fn local(&mut self, name: String, ty: Type, storage: Storage, is_param: bool) -> LocalId {
        let id = LocalId(self.tree.locals.len() as u32);
        if self.scopes.is_empty() {
            self.scopes.push(HashMap::new());
        }
        self.scopes.last_mut().unwrap().insert(name.clone(), id);
        self.tree.locals.push(Local {
            name,
            name_range: TokenRange::default(),
            ty,
            storage,
            thread_local: false,
            is_param,
            decl: None,
        });
        id
    }

    fn e(&mut self, kind: ExprKind) -> ExprId {
        self.tree.exprs.push(Expr {
            kind,
            range: TokenRange::default(),
        });
        ExprId(self.tree.exprs.len() as u32 - 1)
    }

    fn s(&mut self, kind: StmtKind) -> StmtId {
        self.tree.stmts.push(Stmt {
            kind,
            range: TokenRange::default(),
        });
        StmtId(self.tree.stmts.len() as u32 - 1)
    }

    fn decl(&mut self, d: &c::Declaration) -> StmtId {
        let mut storage = Storage::None;
        for s in &d.specifiers {
            if let c::DeclarationSpecifier::StorageClass(s) = &s.node {
                storage = match s.node {
                    c::StorageClassSpecifier::Static => Storage::Static,
                    c::StorageClassSpecifier::Extern => Storage::Extern,
                    _ => Storage::None,
                };
            }
        }
        let mut decls = Vec::new();
        for d2 in &d.declarators {
            let (name, ty) = self.declarator(&d2.node.declarator.node, base(&d.specifiers));
            let local = self.local(name, ty, storage, false);
            let init = d2.node.initializer.as_ref().map(|i| self.init(&i.node));
            decls.push(LocalDecl {
                local,
                init,
                range: TokenRange::default(),
            });
        }
        self.s(StmtKind::Decl(decls))
    }

    fn init(&mut self, i: &c::Initializer) -> Init {
        match i {
            c::Initializer::Expression(e) => Init::Expr(self.expr(&e.node)),
            c::Initializer::List(items) => Init::List(self.init_list(items)),
        }
    }

    fn init_list(&mut self, items: &[Node<c::InitializerListItem>]) -> InitList {
        let entries = items
            .iter()
            .map(|item| {
                let designators = item
                    .node
                    .designation
                    .iter()
                    .map(|d| match &d.node {
                        c::Designator::Index(e) => Designator::Index(self.expr(&e.node)),
                        c::Designator::Member(m) => Designator::Field(m.node.name.clone()),
                        c::Designator::Range(r) => Designator::Range(
                            self.expr(&r.node.from.node),
                            self.expr(&r.node.to.node),
                        ),
                    })
                    .collect();
                InitEntry {
                    designators,
                    value: self.init(&item.node.initializer.node),
                    range: TokenRange::default(),
                }
            })
            .collect();
        InitList {
            entries,
            range: TokenRange::default(),
        }
    }

    fn stmt(&mut self, s: &c::Statement) -> StmtId {
        let kind = match s {
            c::Statement::Labeled(l) => {
                let label = l.node.label.node.clone();
                let (low, high) = match &label {
                    c::Label::Case(e) => (Some(self.expr(&e.node)), None),
                    c::Label::CaseRange(r) => (
                        Some(self.expr(&r.node.low.node)),
                        Some(self.expr(&r.node.high.node)),
                    ),
                    _ => (None, None),
                };
                let body = self.stmt(&l.node.statement.node);
                match label {
                    c::Label::Identifier(i) => StmtKind::Label {
                        name: i.node.name.into(),
                        body,
                    },
                    c::Label::Default => StmtKind::Default { body },
                    _ => StmtKind::Case {
                        low: low.unwrap(),
                        high,
                        body,
                    },
                }
            }
            c::Statement::Compound(items) => {
                self.scopes.push(HashMap::new());
                let stmts = items
                    .iter()
                    .map(|i| match &i.node {
                        c::BlockItem::Declaration(d) => self.decl(&d.node),
                        c::BlockItem::Statement(s) => self.stmt(&s.node),
                        c::BlockItem::StaticAssert(_) => self.s(StmtKind::Null),
                    })
                    .collect();
                self.scopes.pop();
                StmtKind::Block(stmts)
            }
            c::Statement::Expression(None) => StmtKind::Null,
            c::Statement::Expression(Some(e)) => {
                let e = self.expr(&e.node);
                match &self.tree.expr(e).kind {
                    ExprKind::Call { callee, args }
                        if self.tree.callee_name(*callee) == Some("__ungil_computed_goto") =>
                    {
                        StmtKind::ComputedGoto(args[0])
                    }
                    _ => StmtKind::Expr(e),
                }
            }
            c::Statement::If(i) => StmtKind::If {
                cond: self.expr(&i.node.condition.node),
                then: self.stmt(&i.node.then_statement.node),
                otherwise: i.node.else_statement.as_ref().map(|s| self.stmt(&s.node)),
            },
            c::Statement::Switch(w) => StmtKind::Switch {
                value: self.expr(&w.node.expression.node),
                body: self.stmt(&w.node.statement.node),
            },
            c::Statement::While(w) => StmtKind::While {
                cond: self.expr(&w.node.expression.node),
                body: self.stmt(&w.node.statement.node),
            },
            c::Statement::DoWhile(w) => StmtKind::DoWhile {
                body: self.stmt(&w.node.statement.node),
                cond: self.expr(&w.node.expression.node),
            },
            c::Statement::For(f) => {
                self.scopes.push(HashMap::new());
                let init = match &f.node.initializer.node {
                    c::ForInitializer::Expression(e) => {
                        let e = self.expr(&e.node);
                        Some(self.s(StmtKind::Expr(e)))
                    }
                    c::ForInitializer::Declaration(d) => Some(self.decl(&d.node)),
                    _ => None,
                };
                let kind = StmtKind::For {
                    init,
                    cond: f.node.condition.as_ref().map(|e| self.expr(&e.node)),
                    step: f.node.step.as_ref().map(|e| self.expr(&e.node)),
                    body: self.stmt(&f.node.statement.node),
                };
                self.scopes.pop();
                kind
            }
            c::Statement::Goto(n) => StmtKind::Goto(n.node.name.as_str().into()),
            c::Statement::Continue => StmtKind::Continue,
            c::Statement::Break => StmtKind::Break,
            c::Statement::Return(e) => StmtKind::Return(e.as_ref().map(|e| self.expr(&e.node))),
            c::Statement::Asm(_) => StmtKind::Asm,
        };
        self.s(kind)
    }

    fn expr(&mut self, e: &c::Expression) -> ExprId {
        let kind = match e {
            c::Expression::Identifier(i) => {
                let name = &i.node.name;
                match self.scopes.iter().rev().find_map(|s| s.get(name)) {
                    Some(l) => ExprKind::Name(Name::Local(*l)),
                    None => ExprKind::Name(Name::Global(name.as_str().into())),
                }
            }
            c::Expression::Constant(k) => match &k.node {
                c::Constant::Integer(i) => ExprKind::Int(i.number.parse().ok()),
                c::Constant::Float(_) => ExprKind::Float,
                c::Constant::Character(_) => ExprKind::Char,
            },
            c::Expression::StringLiteral(s) => {
                ExprKind::Str(s.node.join("").trim_matches('"').as_bytes().into())
            }
            c::Expression::Member(m) => ExprKind::Member {
                base: self.expr(&m.node.expression.node),
                field: m.node.identifier.node.name.as_str().into(),
                arrow: m.node.operator.node == c::MemberOperator::Indirect,
            },
            c::Expression::Call(call) => {
                let callee = self.expr(&call.node.callee.node);
                let args: Vec<_> = call
                    .node
                    .arguments
                    .iter()
                    .map(|a| self.expr(&a.node))
                    .collect();
                if self.tree.callee_name(callee) == Some("__ungil_label_address") {
                    ExprKind::Unary {
                        op: UnaryOp::LabelAddress,
                        operand: args[0],
                    }
                } else {
                    ExprKind::Call { callee, args }
                }
            }
            c::Expression::CompoundLiteral(l) => ExprKind::Compound {
                ty: self.type_name(&l.node.type_name.node),
                init: self.init_list(&l.node.initializer_list),
            },
            c::Expression::SizeOfTy(t) => ExprKind::TypeQuery(self.type_name(&t.node.0.node)),
            c::Expression::SizeOfVal(v) => ExprKind::SizeOfExpr(self.expr(&v.node.0.node)),
            c::Expression::UnaryOperator(u) => {
                let op = match u.node.operator.node {
                    c::UnaryOperator::PostIncrement => UnaryOp::PostIncrement,
                    c::UnaryOperator::PostDecrement => UnaryOp::PostDecrement,
                    c::UnaryOperator::PreIncrement => UnaryOp::PreIncrement,
                    c::UnaryOperator::PreDecrement => UnaryOp::PreDecrement,
                    c::UnaryOperator::Address => UnaryOp::AddressOf,
                    c::UnaryOperator::Indirection => UnaryOp::Deref,
                    c::UnaryOperator::Plus => UnaryOp::Plus,
                    c::UnaryOperator::Minus => UnaryOp::Minus,
                    c::UnaryOperator::Complement => UnaryOp::Complement,
                    c::UnaryOperator::Negate => UnaryOp::Not,
                };
                ExprKind::Unary {
                    op,
                    operand: self.expr(&u.node.operand.node),
                }
            }
            c::Expression::Cast(k) => ExprKind::Cast {
                ty: self.type_name(&k.node.type_name.node),
                operand: self.expr(&k.node.expression.node),
            },
            c::Expression::BinaryOperator(b) => self.binary(&b.node),
            c::Expression::Conditional(k) => {
                let then = match &k.node.then_expression.node {
                    c::Expression::Identifier(i) if i.node.name == "__ungil_elvis" => None,
                    e => Some(e),
                };
                ExprKind::Conditional {
                    cond: self.expr(&k.node.condition.node),
                    then: then.map(|e| self.expr(e)),
                    otherwise: self.expr(&k.node.else_expression.node),
                }
            }
            c::Expression::Comma(list) => {
                let mut ids = list
                    .iter()
                    .map(|e| self.expr(&e.node))
                    .collect::<Vec<_>>()
                    .into_iter();
                let mut lhs = ids.next().unwrap();
                let last = ids.next_back().unwrap();
                for rhs in ids {
                    lhs = self.e(ExprKind::Binary {
                        op: BinaryOp::Comma,
                        lhs,
                        rhs,
                    });
                }
                ExprKind::Binary {
                    op: BinaryOp::Comma,
                    lhs,
                    rhs: last,
                }
            }
            c::Expression::VaArg(v) => ExprKind::VaArg {
                list: self.expr(&v.node.va_list.node),
                ty: self.type_name(&v.node.type_name.node),
            },
            c::Expression::Statement(s) => ExprKind::Stmt(self.stmt(&s.node)),
            _ => ExprKind::Float,
        };
        self.e(kind)
    }

    fn binary(&mut self, b: &c::BinaryOperatorExpression) -> ExprKind {
        use c::BinaryOperator as B;
        let lhs = self.expr(&b.lhs.node);
        let rhs = self.expr(&b.rhs.node);
        let plain = |op| ExprKind::Binary { op, lhs, rhs };
        let assign = |op| ExprKind::Assign { op, lhs, rhs };
        match b.operator.node {
            B::Index => ExprKind::Index {
                base: lhs,
                index: rhs,
            },
            B::Multiply => plain(BinaryOp::Multiply),
            B::Divide => plain(BinaryOp::Divide),
            B::Plus => plain(BinaryOp::Plus),
            B::Minus => plain(BinaryOp::Minus),
            B::ShiftLeft => plain(BinaryOp::ShiftLeft),
            B::Less => plain(BinaryOp::Less),
            B::Greater => plain(BinaryOp::Greater),
            B::LessOrEqual => plain(BinaryOp::LessOrEqual),
            B::GreaterOrEqual => plain(BinaryOp::GreaterOrEqual),
            B::Equals => plain(BinaryOp::Equals),
            B::NotEquals => plain(BinaryOp::NotEquals),
            B::BitwiseAnd => plain(BinaryOp::BitAnd),
            B::BitwiseOr => plain(BinaryOp::BitOr),
            B::LogicalAnd => plain(BinaryOp::LogicalAnd),
            B::LogicalOr => plain(BinaryOp::LogicalOr),
            B::Assign => assign(None),
            B::AssignPlus => assign(Some(BinaryOp::Plus)),
            B::AssignMinus => assign(Some(BinaryOp::Minus)),
            _ => plain(BinaryOp::Modulo),
        }
    }
}
