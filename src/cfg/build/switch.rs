//! `switch` and its labels, which may stand anywhere below it, as in Duff's device.

use crate::ast::{ExprId, StmtId};
use crate::cfg::{BlockId, CaseLabel, Terminator};

use super::Builder;

/// A `switch` whose body is being lowered.
#[derive(Default)]
pub(super) struct OpenSwitch {
    cases: Vec<(CaseLabel, BlockId)>,
    default: Option<BlockId>,
}

impl Builder<'_> {
    pub(super) fn switch(&mut self, stmt: StmtId, value: ExprId, body: StmtId) {
        let value = self.value(value);
        let head = self.drafts.suspend();
        let exit = self.drafts.reserve();
        self.switches.push(OpenSwitch::default());
        self.with_break(exit, |builder| builder.stmt(body));
        let OpenSwitch { cases, default } = self.switches.pop().unwrap_or_default();
        let default = default.unwrap_or(exit);
        self.drafts.resume(
            head,
            Terminator::Switch {
                value,
                cases,
                default,
                stmt,
            },
        );
        self.drafts.land(exit);
    }

    pub(super) fn case_label(&mut self, low: ExprId, high: Option<ExprId>) {
        if self.switches.is_empty() {
            return;
        }
        let label = match (self.constant(low), high.map(|high| self.constant(high))) {
            (Some(low), None) => CaseLabel::Int(low),
            (Some(low), Some(Some(high))) => CaseLabel::Range(low, high),
            _ => CaseLabel::Expr(low),
        };
        let block = self.switch_target();
        if let Some(switch) = self.switches.last_mut() {
            switch.cases.push((label, block));
        }
    }

    pub(super) fn default_label(&mut self) {
        if self.switches.is_empty() {
            return;
        }
        let block = self.switch_target();
        if let Some(switch) = self.switches.last_mut() {
            switch.default = Some(block);
        }
    }

    /// A block for the label that stands here. `case 1: case 2:` share one.
    fn switch_target(&mut self) -> BlockId {
        self.drafts
            .fresh()
            .unwrap_or_else(|| self.drafts.start_new())
    }
}
