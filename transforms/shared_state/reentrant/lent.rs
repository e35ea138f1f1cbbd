//! What becomes of a result that lies in static memory.

use std::collections::BTreeSet;

use super::callers;
use super::calls::Calls;
use crate::ast::{
    BinaryOp, ExprId, ExprKind, Init, LocalId, Parent, Parents, StmtId, StmtKind, Type, UnaryOp,
};
use crate::capi::{Gives, keeping_state, keeps_pointer, writes, writes_static_time};
use crate::edit::{Assumption, keeps_no_pointer};

const LEAVES: &str = "its result leaves the function";

impl Calls<'_> {
    /// What a person has to confirm for the result to be used in the function only.
    pub(super) fn result_doubts(&self) -> Result<Vec<Assumption>, String> {
        let uses = Uses {
            calls: self,
            parents: Parents::new(self.function),
        };
        let mut doubts = Vec::new();
        let mut variables: Vec<LocalId> = Vec::new();
        for &call in &self.exprs {
            variables.extend(uses.follow(call, &mut doubts)?);
        }
        let mut at = 0;
        while let Some(&variable) = variables.get(at) {
            at += 1;
            for found in uses.of_variable(variable, &mut doubts)? {
                if !variables.contains(&found) {
                    variables.push(found);
                }
            }
        }
        doubts.extend(self.overwriting().map(Assumption::from));
        doubts.dedup();
        Ok(doubts)
    }

    /// The function wrote the struct anew where another function of C, or one of the package, did
    /// so that it calls.
    fn overwriting(&self) -> Option<String> {
        let shared = keeping_state().map(|(name, _)| name);
        let shared: Vec<&str> = shared.filter(|name| writes_static_time(name)).collect();
        let writers = shared.iter().flat_map(|name| callers(self.cx, name));
        let writers: BTreeSet<&str> = writers.chain(shared.iter().copied()).collect();
        let mut called = self.function.tree.calls().map(|(_, name)| name);
        let other = called.find(|name| *name != self.name && writers.contains(name))?;
        Some(format!(
            "no code relies on `{other}` overwriting the result of `{}` (before, both used the \
             same memory)",
            self.name
        ))
    }
}

struct Uses<'c, 'a> {
    calls: &'c Calls<'a>,
    parents: Parents,
}

impl Uses<'_, '_> {
    /// What is done with the value of a variable; the variables that get it.
    fn of_variable(
        &self,
        local: LocalId,
        doubts: &mut Vec<Assumption>,
    ) -> Result<Vec<LocalId>, String> {
        let tree = &self.calls.function.tree;
        let variable = tree.local(local);
        if !variable.is_automatic() || !is_pointer(&variable.ty) {
            return Err(LEAVES.into());
        }
        let mut found = Vec::new();
        for expr in tree
            .expr_ids()
            .filter(|&it| tree.as_local(it) == Some(local))
        {
            found.extend(self.follow(expr, doubts)?);
        }
        Ok(found)
    }

    /// What is done with the value of an expression; the variable that gets it.
    fn follow(
        &self,
        value: ExprId,
        doubts: &mut Vec<Assumption>,
    ) -> Result<Option<LocalId>, String> {
        let tree = &self.calls.function.tree;
        let outer = match self.parents.of_expr(value) {
            Some(Parent::Expr(outer)) => outer,
            Some(Parent::Stmt(stmt)) => return self.in_statement(stmt, value),
            // An operand of `sizeof`.
            None => return Ok(None),
        };
        match &tree.expr(outer).kind {
            ExprKind::Member {
                arrow: true, base, ..
            } if *base == value => self.read(outer),
            ExprKind::Unary {
                op: UnaryOp::Deref, ..
            } => self.read(outer),
            ExprKind::Unary { op, .. } if *op == UnaryOp::Not => Ok(None),
            ExprKind::Binary { op, .. } if op.is_comparison() || is_logical(*op) => Ok(None),
            ExprKind::Conditional { cond, .. } if *cond == value => Ok(None),
            ExprKind::Conditional { .. } | ExprKind::Cast { .. } => self.follow(outer, doubts),
            ExprKind::Assign { op: None, lhs, .. } if *lhs == value => Ok(None),
            ExprKind::Assign { op: None, lhs, .. } => {
                let local = tree.as_local(*lhs).ok_or(LEAVES)?;
                // `if ((tm = gmtime(&t)) == NULL)`
                self.follow(outer, doubts)?;
                Ok(Some(local))
            }
            ExprKind::Call { callee, args } => {
                let at = args.iter().position(|&arg| arg == value).ok_or(LEAVES)?;
                let callee = tree.callee_name(*callee).ok_or(LEAVES)?;
                doubts.extend(self.handed(callee, at)?);
                Ok(None)
            }
            _ => Err(LEAVES.into()),
        }
    }

    /// `tm->tm_year`, `*tm`: a copy, unless the address of it is taken.
    fn read(&self, place: ExprId) -> Result<Option<LocalId>, String> {
        let tree = &self.calls.function.tree;
        let Some(Parent::Expr(outer)) = self.parents.of_expr(place) else {
            return Ok(None);
        };
        match &tree.expr(outer).kind {
            ExprKind::Member { arrow: false, .. } => self.read(outer),
            ExprKind::Unary {
                op: UnaryOp::AddressOf,
                ..
            } => Err(LEAVES.into()),
            _ => Ok(None),
        }
    }

    fn in_statement(&self, stmt: StmtId, value: ExprId) -> Result<Option<LocalId>, String> {
        match &self.calls.function.tree.stmt(stmt).kind {
            StmtKind::Return(_) => Err("its result is returned".into()),
            StmtKind::Decl(decls) => {
                let is_it =
                    |init: &Option<Init>| matches!(init, Some(Init::Expr(it)) if *it == value);
                let decl = decls.iter().find(|decl| is_it(&decl.init)).ok_or(LEAVES)?;
                Ok(Some(decl.local))
            }
            _ => Ok(None),
        }
    }

    /// What has to hold for a function that gets the pointer not to keep it.
    fn handed(&self, callee: &str, at: usize) -> Result<Option<Assumption>, String> {
        let cx = self.calls.cx;
        if keeps_pointer(callee, at) {
            return Err(LEAVES.into());
        }
        let is_own = cx.program.has_function(callee);
        if let Some(row) = writes(callee).filter(|_| !is_own) {
            let is_kept = row.keeps.is_some() || row.gives == Gives::Argument(at);
            return match is_kept {
                true => Err(LEAVES.into()),
                false => Ok(None),
            };
        }
        let program = cx.program;
        let function = program.named_function(program.item(self.calls.item), callee);
        Ok(Some(keeps_no_pointer(callee, function)))
    }
}

fn is_pointer(ty: &Type) -> bool {
    ty.pointee().is_some()
}

fn is_logical(op: BinaryOp) -> bool {
    matches!(op, BinaryOp::LogicalAnd | BinaryOp::LogicalOr)
}
