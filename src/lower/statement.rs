//! Statements and the declarations among them.

use std::collections::BTreeSet;

use lang_c::ast::{self, BlockItem, Expression, ForInitializer, Label, Statement};
use lang_c::span::Node;

use super::Lowerer;
use super::declarator::Declared;
use super::expression::stand_in;
use super::specifiers::Specifiers;
use crate::ast::{
    BinaryOp, ExprId, ExprKind, Local, LocalDecl, LocalId, StmtId, StmtKind, Storage, TokenRange,
    TypeKind, UnaryOp,
};
use crate::parse::COMPUTED_GOTO;

impl Lowerer<'_> {
    pub(super) fn statement(&mut self, node: &Node<Statement>) -> StmtId {
        let kind = match &node.node {
            Statement::Labeled(labeled) => self.labeled(&labeled.node),
            Statement::Compound(items) => self.block(items),
            Statement::Expression(None) => StmtKind::Null,
            Statement::Expression(Some(value)) => self.expression_statement(value),
            Statement::If(branch) => StmtKind::If {
                cond: self.condition(&branch.node.condition),
                then: self.statement(&branch.node.then_statement),
                otherwise: branch
                    .node
                    .else_statement
                    .as_ref()
                    .map(|other| self.statement(other)),
            },
            Statement::Switch(switch) => StmtKind::Switch {
                value: self.expression(&switch.node.expression),
                body: self.statement(&switch.node.statement),
            },
            Statement::While(repeat) => StmtKind::While {
                cond: self.expression(&repeat.node.expression),
                body: self.statement(&repeat.node.statement),
            },
            Statement::DoWhile(repeat) => StmtKind::DoWhile {
                body: self.statement(&repeat.node.statement),
                cond: self.expression(&repeat.node.expression),
            },
            Statement::For(repeat) => self.for_loop(&repeat.node),
            Statement::Goto(label) => StmtKind::Goto(self.name(label)),
            Statement::Continue => StmtKind::Continue,
            Statement::Break => StmtKind::Break,
            Statement::Return(value) => StmtKind::Return(self.optional(value.as_deref())),
            Statement::Asm(_) => StmtKind::Asm,
        };
        let range = self.range(node.span);
        let stmt = self.push_stmt(kind, range);
        self.note_left_out(stmt, range);
        stmt
    }

    /// `TRACE("%s", Py_TYPE(item)->tp_name);` where `TRACE` is defined as nothing.
    fn note_left_out(&mut self, stmt: StmtId, range: TokenRange) {
        let mut locals = BTreeSet::new();
        for word in self.tokens.left_out(self.files, range) {
            let local = self.scopes.get(word).flatten();
            locals.extend(local.filter(|&local| self.tree.local(local).ty.pointee().is_some()));
        }
        let left_out = locals.into_iter().map(|local| (stmt, local));
        self.tree.left_out.extend(left_out);
    }

    fn condition(&mut self, node: &Node<Expression>) -> ExprId {
        let cond = self.expression(node);
        self.forget_settings(cond);
        cond
    }

    /// What a macro says of the build is no constant: another build runs the branch.
    ///
    /// ```c
    /// #define VERBOSE 0
    /// if (VERBOSE && item != NULL)
    ///     print(item);
    /// ```
    fn forget_settings(&mut self, cond: ExprId) {
        let range = self.tree.expr(cond).range;
        match self.tree.expr(cond).kind {
            ExprKind::Int(Some(value)) if self.is_setting(range, value) => {
                self.tree.exprs[cond.0 as usize].kind = ExprKind::Int(None);
            }
            ExprKind::Unary {
                op: UnaryOp::Not,
                operand,
            } => self.forget_settings(operand),
            ExprKind::Binary {
                op: BinaryOp::LogicalAnd | BinaryOp::LogicalOr,
                lhs,
                rhs,
            } => {
                self.forget_settings(lhs);
                self.forget_settings(rhs);
            }
            _ => {}
        }
    }

    /// Whether a number is all that a macro of the project says, or a 0 in what it says: `if (0)` in
    /// front of a call that another build makes.
    fn is_setting(&self, range: TokenRange, value: i64) -> bool {
        let token = &self.tokens.tokens[range.start as usize];
        let made_by = token.expansion.filter(|_| !token.from_argument);
        made_by.is_some_and(|id| {
            let expansion = &self.tokens.expansions[id.0 as usize];
            let TokenRange { start, end } = expansion.tokens;
            // `#define VERBOSE (0)`
            expansion.definition.is_some() && (value == 0 || end - start <= 3)
        })
    }

    fn optional(&mut self, value: Option<&Node<Expression>>) -> Option<ExprId> {
        value.map(|value| self.expression(value))
    }

    fn expression_statement(&mut self, value: &Node<Expression>) -> StmtKind {
        if let Expression::Call(call) = &value.node
            && let Some(COMPUTED_GOTO) = stand_in(&call.node.callee)
            && let [target] = &call.node.arguments[..]
        {
            return StmtKind::ComputedGoto(self.expression(target));
        }
        StmtKind::Expr(self.expression(value))
    }

    fn labeled(&mut self, labeled: &ast::LabeledStatement) -> StmtKind {
        match &labeled.label.node {
            Label::Identifier(name) => {
                let name = self.name(name);
                StmtKind::Label {
                    name,
                    body: self.statement(&labeled.statement),
                }
            }
            Label::Case(value) => StmtKind::Case {
                low: self.expression(value),
                high: None,
                body: self.statement(&labeled.statement),
            },
            Label::CaseRange(range) => StmtKind::Case {
                low: self.expression(&range.node.low),
                high: Some(self.expression(&range.node.high)),
                body: self.statement(&labeled.statement),
            },
            Label::Default => StmtKind::Default {
                body: self.statement(&labeled.statement),
            },
        }
    }

    fn block(&mut self, items: &[Node<BlockItem>]) -> StmtKind {
        let scope = self.scopes.enter();
        let mut stmts = Vec::with_capacity(items.len());
        for item in items {
            match &item.node {
                BlockItem::Declaration(declaration) => {
                    stmts.push(self.local_declaration(declaration));
                }
                BlockItem::StaticAssert(_) => {}
                BlockItem::Statement(statement) => stmts.push(self.statement(statement)),
            }
        }
        self.scopes.leave(&scope);
        StmtKind::Block(stmts)
    }

    fn for_loop(&mut self, repeat: &ast::ForStatement) -> StmtKind {
        let scope = self.scopes.enter();
        let init = match &repeat.initializer.node {
            ForInitializer::Empty | ForInitializer::StaticAssert(_) => None,
            ForInitializer::Expression(value) => {
                let kind = StmtKind::Expr(self.expression(value));
                let mut range = self.range(value.span);
                // The `;` belongs to the statement.
                range.end += 1;
                Some(self.push_stmt(kind, range))
            }
            ForInitializer::Declaration(declaration) => Some(self.local_declaration(declaration)),
        };
        let kind = StmtKind::For {
            init,
            cond: self.optional(repeat.condition.as_deref()),
            step: self.optional(repeat.step.as_deref()),
            body: self.statement(&repeat.statement),
        };
        self.scopes.leave(&scope);
        kind
    }

    fn local_declaration(&mut self, node: &Node<ast::Declaration>) -> StmtId {
        let specifiers = self.specifiers(&node.node.specifiers);
        let range = self.range(node.span);
        // The variables name their statement, so it gets its place first.
        let id = self.push_stmt(StmtKind::Null, range);
        let mut decls = Vec::new();
        for init_declarator in &node.node.declarators {
            let ast::InitDeclarator {
                declarator,
                initializer,
            } = &init_declarator.node;
            let declared = self.declarator(declarator, specifiers.ty.clone());
            // The name is in scope in its own initialiser.
            let local = self.local_variable(declared, &specifiers, id);
            let init = initializer.as_ref().map(|init| self.initializer(init));
            if let Some(local) = local {
                decls.push(LocalDecl {
                    local,
                    init,
                    range: self.range(init_declarator.span),
                });
            }
        }
        self.tree.stmts[id.0 as usize].kind = StmtKind::Decl(decls);
        id
    }

    /// Declares the name; types, functions and `extern` variables are no locals.
    fn local_variable(
        &mut self,
        declared: Declared,
        specifiers: &Specifiers,
        decl: StmtId,
    ) -> Option<LocalId> {
        let is_elsewhere = match specifiers.storage {
            Storage::Typedef | Storage::Extern => true,
            Storage::None | Storage::Static => matches!(declared.ty.kind, TypeKind::Function(..)),
        };
        if is_elsewhere {
            self.declare_name(declared.name, None);
            return None;
        }
        let local = Local {
            name: self.range_text(declared.name).into(),
            name_range: declared.name,
            ty: declared.ty,
            storage: specifiers.storage,
            thread_local: specifiers.thread_local,
            is_register: specifiers.is_register,
            is_param: false,
            decl: Some(decl),
        };
        Some(self.declare_local(local))
    }
}
