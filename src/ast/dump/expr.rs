//! Expressions as S-expressions.

use super::Dumper;
use super::operators::unary_text;
use super::types::type_text;
use crate::ast::{BinaryOp, Designator, ExprId, ExprKind, Init, InitList, Name, StmtId};

impl Dumper<'_> {
    pub(super) fn optional(&self, id: Option<ExprId>) -> String {
        id.map_or_else(|| "-".to_owned(), |id| self.expr(id))
    }

    pub(super) fn expr(&self, id: ExprId) -> String {
        match &self.tree.expr(id).kind {
            ExprKind::Name(Name::Local(local)) => self.local(*local),
            ExprKind::Name(Name::Global(name)) => name.to_string(),
            ExprKind::Int(Some(value)) => value.to_string(),
            ExprKind::Int(None) => "int?".to_owned(),
            ExprKind::Float => "float".to_owned(),
            ExprKind::Char => "char".to_owned(),
            ExprKind::Str(bytes) => format!("\"{}\"", bytes.escape_ascii()),
            ExprKind::Call { callee, args } => {
                let args: Vec<_> = args
                    .iter()
                    .map(|&arg| format!(" {}", self.expr(arg)))
                    .collect();
                format!("(call {}{})", self.expr(*callee), args.concat())
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
                format!("({} {} {})", op.symbol(), self.expr(*lhs), self.expr(*rhs))
            }
            ExprKind::Assign { op, lhs, rhs } => {
                let op = op.map_or("", BinaryOp::symbol);
                format!("({op}= {} {})", self.expr(*lhs), self.expr(*rhs))
            }
            ExprKind::Conditional {
                cond,
                then,
                otherwise,
            } => {
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
            ExprKind::Stmt(stmt) => self.statement_expr(*stmt),
        }
    }

    fn statement_expr(&self, block: StmtId) -> String {
        let mut inner = Dumper {
            tree: self.tree,
            out: String::new(),
        };
        inner.stmt(block, 0);
        let lines: Vec<_> = inner.out.lines().map(str::trim).collect();
        format!("(stmt {{{}}})", lines.join("; "))
    }

    pub(super) fn init(&self, init: &Init) -> String {
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
