//! The graph as text, for tests and for `dump cfg`.

use std::fmt::{self, Display, Formatter, Write};

use crate::ast::{ExprKind, Function, LocalId, UnaryOp};

use super::{
    Base, Block, BlockId, Callee, CaseLabel, Cfg, Comparison, Condition, Instr, InstrKind, Op,
    Operand, Place, Projection, Terminator,
};

/// `cfg` as text, one instruction a line, variables by name. Variables that share a name are told
/// apart by number: `x`, `x.2`. Blocks that no path leads to are marked `(dead)`.
#[must_use]
pub fn dump(cfg: &Cfg, function: &Function) -> String {
    let mut text = String::new();
    let dump = Dump {
        function,
        names: names(function),
    };
    for (id, block) in cfg.iter() {
        dump.block(&mut text, cfg, id, block)
            .expect("writing to a string does not fail");
    }
    text
}

fn names(function: &Function) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    let mut seen = std::collections::BTreeMap::new();
    for local in &function.tree.locals {
        let count = seen.entry(local.name.as_str()).or_insert(0);
        *count += 1;
        names.push(match count {
            1 => local.name.clone(),
            _ => format!("{}.{count}", local.name),
        });
    }
    names
}

struct Dump<'a> {
    function: &'a Function,
    names: Vec<String>,
}

impl Dump<'_> {
    fn block(&self, text: &mut String, cfg: &Cfg, id: BlockId, block: &Block) -> fmt::Result {
        write!(text, "{id}:")?;
        if !cfg.is_reachable(id) {
            write!(text, " (dead)")?;
        }
        if !block.predecessors.is_empty() {
            write!(text, " <-")?;
        }
        for predecessor in &block.predecessors {
            write!(text, " {predecessor}")?;
        }
        writeln!(text)?;
        for instr in &block.instrs {
            writeln!(text, "  {}", self.instr(instr))?;
        }
        writeln!(text, "  {}", self.terminator(&block.terminator))
    }

    fn instr(&self, instr: &Instr) -> String {
        let value = match &instr.kind {
            InstrKind::Load { place, .. } => format!("load {}", self.place(place)),
            InstrKind::Store { place, value } => {
                format!("store {} = {}", self.place(place), self.operand(value))
            }
            InstrKind::Copy { src, .. } => format!("copy {}", self.operand(src)),
            InstrKind::Cast { src, .. } => format!("cast {}", self.operand(src)),
            InstrKind::Op { op, operands, .. } => match (op, operands.as_slice()) {
                (Op::Binary(op), [lhs, rhs]) => {
                    format!(
                        "{} {} {}",
                        self.operand(lhs),
                        op.symbol(),
                        self.operand(rhs)
                    )
                }
                (Op::Unary(op), operands) => format!("{}{}", unary(*op), self.operands(operands)),
                (Op::Look, operands) => format!("look {}", self.operands(operands)),
                (_, operands) => format!("va_arg {}", self.operands(operands)),
            },
            InstrKind::Call { callee, args, .. } => {
                let callee = match callee {
                    Callee::Named(name) => name.to_string(),
                    Callee::Indirect(operand) => format!("*{}", self.operand(operand)),
                };
                format!("call {callee}({})", self.operands(args))
            }
            InstrKind::Declare { local } => format!("declare {}", self.name(*local)),
            InstrKind::ScopeEnd { locals } => {
                let names: Vec<&str> = locals.iter().map(|&local| self.name(local)).collect();
                format!("end {}", names.join(", "))
            }
            InstrKind::Asm => "asm".to_owned(),
        };
        match instr.dst() {
            Some(dst) => format!("t{} = {value}", dst.0),
            None => value,
        }
    }

    fn terminator(&self, terminator: &Terminator) -> String {
        match terminator {
            Terminator::Goto(target) => format!("goto {target}"),
            Terminator::Branch {
                condition,
                then,
                otherwise,
            } => {
                format!(
                    "if {} goto {then} else {otherwise}",
                    self.condition(condition)
                )
            }
            Terminator::Switch {
                value,
                cases,
                default,
                ..
            } => {
                let mut text = format!("switch {}", self.operand(value));
                for (label, target) in cases {
                    text += &format!(" [{}: {target}]", self.case_label(*label));
                }
                format!("{text} [default: {default}]")
            }
            Terminator::Indirect(targets) => {
                let targets: Vec<String> = targets.iter().map(ToString::to_string).collect();
                format!("goto one of {}", targets.join(" "))
            }
            Terminator::Return(Some(value), _) => format!("return {}", self.operand(value)),
            Terminator::Return(None, _) => "return".to_owned(),
            Terminator::Unreachable => "unreachable".to_owned(),
        }
    }

    fn condition(&self, condition: &Condition) -> String {
        let comparison = match condition.comparison {
            Comparison::Equal => "==",
            Comparison::NotEqual => "!=",
            Comparison::Less => "<",
            Comparison::LessOrEqual => "<=",
            Comparison::Greater => ">",
            Comparison::GreaterOrEqual => ">=",
        };
        format!(
            "{} {comparison} {}",
            self.operand(&condition.lhs),
            self.operand(&condition.rhs)
        )
    }

    fn case_label(&self, label: CaseLabel) -> String {
        match label {
            CaseLabel::Int(value) => value.to_string(),
            CaseLabel::Range(low, high) => format!("{low}...{high}"),
            CaseLabel::Expr(expr) => match &self.function.tree.expr(expr).kind {
                ExprKind::Name(crate::ast::Name::Global(name)) => name.to_string(),
                _ => "?".to_owned(),
            },
        }
    }

    fn operands(&self, operands: &[Operand]) -> String {
        let operands: Vec<String> = operands
            .iter()
            .map(|operand| self.operand(operand))
            .collect();
        operands.join(", ")
    }

    fn operand(&self, operand: &Operand) -> String {
        match operand {
            Operand::Temp(temp) => format!("t{}", temp.0),
            Operand::Null => "NULL".to_owned(),
            Operand::Int(value) => value.to_string(),
            Operand::Str(expr) => match &self.function.tree.expr(*expr).kind {
                ExprKind::Str(bytes) => format!("\"{}\"", bytes.escape_ascii()),
                _ => "\"?\"".to_owned(),
            },
            Operand::AddressOf(place) => format!("&{}", self.place(place)),
            Operand::Unknown => "_".to_owned(),
        }
    }

    fn place(&self, place: &Place) -> String {
        let mut text = match &place.base {
            Base::Local(local) => self.name(*local).to_owned(),
            Base::Global(name) => format!("::{name}"),
            Base::Deref(pointer) => format!("(*{})", self.operand(pointer)),
            Base::Unnamed(_) => "(unnamed)".to_owned(),
        };
        for step in &place.path {
            match step {
                Projection::Field(name) => text += &format!(".{name}"),
                Projection::Index(index) => text += &format!("[{}]", self.operand(index)),
            }
        }
        text
    }

    fn name(&self, local: LocalId) -> &str {
        &self.names[local.0 as usize]
    }
}

impl Display for BlockId {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "b{}", self.0)
    }
}

fn unary(op: UnaryOp) -> &'static str {
    match op {
        UnaryOp::PostIncrement | UnaryOp::PreIncrement => "++",
        UnaryOp::PostDecrement | UnaryOp::PreDecrement => "--",
        UnaryOp::AddressOf => "&",
        UnaryOp::Deref => "*",
        UnaryOp::Plus => "+",
        UnaryOp::Minus => "-",
        UnaryOp::Complement => "~",
        UnaryOp::Not => "!",
        UnaryOp::LabelAddress => "&&",
    }
}
