//! What is done about the outcome behind the section.

use super::Rewrite;
use crate::source::ByteSpan;
use crate::transforms::critical_section::dict_next::plan::RETURN_RESULT;

impl Rewrite<'_> {
    /// The `if`s behind the section that act on the outcome, or what is done whatever it is.
    pub(super) fn actions(&self, region: ByteSpan) -> Vec<String> {
        let plan = self.section.plan;
        let actions = &plan.actions;
        let Some(flag) = &self.names.flag else {
            let certain = actions
                .iter()
                .filter(|_| plan.is_certain() && !plan.happens_anyway);
            return certain.flat_map(|it| self.with_result(it)).collect();
        };
        let only = actions.len() == 1;
        let numbered = actions.iter().zip(1..);
        let condition = |n: usize| match only {
            true => flag.clone(),
            false => format!("{flag} == {n}"),
        };
        let mut acts = Vec::new();
        for (action, n) in numbered {
            let lines = self.with_result(action);
            // The compiler is to see that the function ends there.
            match plan.is_left(n - 1) {
                true => acts.extend(lines),
                false => acts.push(self.draft.branch(&condition(n), &lines, region)),
            }
        }
        acts
    }

    /// With the name of the result variable.
    fn with_result(&self, action: &[String]) -> Vec<String> {
        let result = self.names.result.as_deref().unwrap_or_default();
        let named = format!("return {result};");
        let lines = action.iter();
        lines
            .map(|line| line.replace(RETURN_RESULT, &named))
            .collect()
    }
}
