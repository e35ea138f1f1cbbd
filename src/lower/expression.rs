//! Expressions.

use lang_c::ast::{self, Expression};
use lang_c::span::Node;

use super::operators::{self, Operator};
use super::{Lowerer, literal};
use crate::ast::{BinaryOp, ExprId, ExprKind, InitList, Name, TokenRange, UnaryOp};
use crate::parse::{ELVIS, LABEL_ADDRESS};

impl Lowerer<'_> {
    pub(super) fn expression(&mut self, node: &Node<Expression>) -> ExprId {
        let range = self.expression_range(node);
        let kind = match &node.node {
            Expression::Identifier(_) => self.name_kind(range),
            Expression::Constant(_) => literal::constant(self.scope_key(range)),
            Expression::StringLiteral(_) => self.string(range),
            Expression::GenericSelection(selection) => return self.generic(&selection.node),
            Expression::Member(member) => self.member(&member.node),
            Expression::Call(call) => self.call(&call.node),
            Expression::CompoundLiteral(literal) => self.compound_literal(literal),
            Expression::SizeOfTy(query) => ExprKind::TypeQuery(self.type_name(&query.node.0)),
            Expression::SizeOfVal(query) => ExprKind::SizeOfExpr(self.expression(&query.node.0)),
            Expression::AlignOf(query) => ExprKind::TypeQuery(self.type_name(&query.node.0)),
            Expression::UnaryOperator(unary) => ExprKind::Unary {
                op: operators::unary(&unary.node.operator.node),
                operand: self.expression(&unary.node.operand),
            },
            Expression::Cast(cast) => ExprKind::Cast {
                ty: self.type_name(&cast.node.type_name),
                operand: self.expression(&cast.node.expression),
            },
            Expression::BinaryOperator(binary) => self.binary(&binary.node),
            Expression::Conditional(conditional) => self.conditional(&conditional.node),
            Expression::Comma(parts) => return self.comma(parts),
            Expression::OffsetOf(query) => {
                ExprKind::TypeQuery(self.type_name(&query.node.type_name))
            }
            Expression::VaArg(va_arg) => ExprKind::VaArg {
                list: self.expression(&va_arg.node.va_list),
                ty: self.type_name(&va_arg.node.type_name),
            },
            Expression::Statement(block) => ExprKind::Stmt(self.statement(block)),
        };
        self.push_expr(kind, range)
    }

    /// Tokens of the node without parentheses around it, which `lang_c` counts in.
    fn expression_range(&self, node: &Node<Expression>) -> TokenRange {
        let mut range = self.range(node.span);
        while self.is_parenthesised(range) {
            range = TokenRange {
                start: range.start + 1,
                end: range.end - 1,
            };
        }
        range
    }

    /// Whether the first token is a `(` that the last one closes; not so for `({ … })`.
    fn is_parenthesised(&self, range: TokenRange) -> bool {
        if range.end < range.start + 3
            || self.text(range.start) != b"("
            || self.text(range.end - 1) != b")"
            || self.text(range.start + 1) == b"{"
        {
            return false;
        }
        let mut depth = 0_usize;
        for at in range.start..range.end - 1 {
            match self.text(at) {
                b"(" => depth += 1,
                b")" => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                return false;
            }
        }
        true
    }

    fn name_kind(&self, range: TokenRange) -> ExprKind {
        let name = match self.scopes.get(self.scope_key(range)).flatten() {
            Some(local) => Name::Local(local),
            None => Name::Global(self.range_text(range)),
        };
        ExprKind::Name(name)
    }

    fn string(&self, range: TokenRange) -> ExprKind {
        let mut bytes = Vec::new();
        for piece in (range.start..range.end).filter_map(|at| literal::string_piece(self.text(at)))
        {
            bytes.extend_from_slice(piece);
        }
        ExprKind::Str(bytes.into())
    }

    /// `_Generic` chooses one of its expressions by types, which are not known here: any of them.
    fn generic(&mut self, selection: &ast::GenericSelection) -> ExprId {
        let mut choices = selection
            .associations
            .iter()
            .rev()
            .map(|it| match &it.node {
                ast::GenericAssociation::Type(typed) => &typed.node.expression,
                ast::GenericAssociation::Default(value) => value,
            });
        let last = choices.next().unwrap_or(&selection.expression);
        let mut otherwise = self.expression(last);
        for choice in choices {
            let then = Some(self.expression(choice));
            let range = self.range(choice.span);
            let cond = self.push_expr(ExprKind::Int(None), range);
            let kind = ExprKind::Conditional {
                cond,
                then,
                otherwise,
            };
            otherwise = self.push_expr(kind, range);
        }
        otherwise
    }

    fn member(&mut self, member: &ast::MemberExpression) -> ExprKind {
        let arrow = match member.operator.node {
            ast::MemberOperator::Direct => false,
            ast::MemberOperator::Indirect => true,
        };
        let base = self.expression(&member.expression);
        ExprKind::Member {
            base,
            field: self.name(&member.identifier),
            arrow,
        }
    }

    fn call(&mut self, call: &ast::CallExpression) -> ExprKind {
        if let (Some(LABEL_ADDRESS), [label]) = (stand_in(&call.callee), &call.arguments[..]) {
            let range = self.range(label.span);
            let kind = ExprKind::Name(Name::Global(self.range_text(range)));
            let operand = self.push_expr(kind, range);
            return ExprKind::Unary {
                op: UnaryOp::LabelAddress,
                operand,
            };
        }
        let callee = self.expression(&call.callee);
        let args = call
            .arguments
            .iter()
            .map(|argument| self.expression(argument))
            .collect();
        ExprKind::Call { callee, args }
    }

    fn compound_literal(&mut self, node: &Node<ast::CompoundLiteral>) -> ExprKind {
        let ty = self.type_name(&node.node.type_name);
        let InitList { entries, .. } =
            self.initializer_list(&node.node.initializer_list, node.span);
        let after_type = self.range(node.node.type_name.span).end + 1;
        let range = TokenRange {
            start: after_type,
            end: self.range(node.span).end,
        };
        ExprKind::Compound {
            ty,
            init: InitList { entries, range },
        }
    }

    fn binary(&mut self, binary: &ast::BinaryOperatorExpression) -> ExprKind {
        let lhs = self.expression(&binary.lhs);
        let rhs = self.expression(&binary.rhs);
        match operators::binary(&binary.operator.node) {
            Operator::Index => ExprKind::Index {
                base: lhs,
                index: rhs,
            },
            Operator::Binary(op) => ExprKind::Binary { op, lhs, rhs },
            Operator::Assign(op) => ExprKind::Assign { op, lhs, rhs },
        }
    }

    fn conditional(&mut self, conditional: &ast::ConditionalExpression) -> ExprKind {
        let cond = self.expression(&conditional.condition);
        let is_elvis = stand_in(&conditional.then_expression) == Some(ELVIS);
        let then = (!is_elvis).then(|| self.expression(&conditional.then_expression));
        let otherwise = self.expression(&conditional.else_expression);
        ExprKind::Conditional {
            cond,
            then,
            otherwise,
        }
    }

    /// `a, b, c` is `(a, b), c`.
    fn comma(&mut self, parts: &[Node<Expression>]) -> ExprId {
        let mut parts = parts.iter();
        let first = parts.next().expect("a comma expression has operands");
        let mut result = self.expression(first);
        let start = self.expression_range(first).start;
        for part in parts {
            let rhs = self.expression(part);
            let end = self.expression_range(part).end;
            let kind = ExprKind::Binary {
                op: BinaryOp::Comma,
                lhs: result,
                rhs,
            };
            result = self.push_expr(kind, TokenRange { start, end });
        }
        result
    }
}

/// The name of the shadow that `node` is, if it is one.
pub(super) fn stand_in(node: &Node<Expression>) -> Option<&str> {
    match &node.node {
        Expression::Identifier(name) => Some(&name.node.name),
        Expression::Constant(_)
        | Expression::StringLiteral(_)
        | Expression::GenericSelection(_)
        | Expression::Member(_)
        | Expression::Call(_)
        | Expression::CompoundLiteral(_)
        | Expression::SizeOfTy(_)
        | Expression::SizeOfVal(_)
        | Expression::AlignOf(_)
        | Expression::UnaryOperator(_)
        | Expression::Cast(_)
        | Expression::BinaryOperator(_)
        | Expression::Conditional(_)
        | Expression::Comma(_)
        | Expression::OffsetOf(_)
        | Expression::VaArg(_)
        | Expression::Statement(_) => None,
    }
}
