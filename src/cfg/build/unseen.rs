//! Macros of headers that were not found: calls of names in capitals, some of which leave the
//! function.
//!
//! ```c
//! if (value == NULL)
//!     IGRAPH_ERROR("no value", IGRAPH_EINVAL);    /* do { … return errno; } while (0) */
//! ```

use crate::ast::{ExprId, ExprKind, Name, StmtId};

use super::{Builder, Operand};

impl Builder<'_> {
    /// What stands in a statement of its own; the function may end there if it is a macro that is
    /// not seen.
    pub(super) fn whole_statement(&mut self, stmt: StmtId, expr: ExprId) {
        // `RETURN_IF_ERROR;`
        let name = match &self.tree.expr(expr).kind {
            ExprKind::Name(Name::Global(name)) => Some(&**name),
            _ => self.tree.called(expr),
        };
        if !name.is_some_and(may_leave) {
            return self.effect(expr);
        }
        self.inner = None;
        let value = self.value(expr);
        self.may_leave_at(stmt, expr, value);
    }

    /// The function ends here if `value` is not 0.
    pub(super) fn may_leave_at(&mut self, stmt: StmtId, expr: ExprId, value: Operand) {
        let (leaves, goes_on) = (self.drafts.reserve(), self.drafts.reserve());
        self.branch_nonzero(expr, value, leaves, goes_on);
        self.drafts.start(leaves);
        self.return_stmt(stmt, None);
        self.drafts.start(goes_on);
    }
}

/// Whether the name of a macro says that it has a value, unless it leaves the function:
/// `value = TRY(convert(item));`, `VALUE_OR_RETURN(f(item))`.
pub(super) fn gives_or_leaves(name: &str) -> bool {
    const LEAVES: [&str; 8] = [
        "BAIL", "DIE", "EXIT", "FAIL", "GOTO", "RAISE", "RETURN", "THROW",
    ];
    let in_capitals = !name.contains(|letter: char| letter.is_lowercase());
    let words: Vec<&str> = name.split('_').collect();
    let mut pairs = words.windows(2);
    let leaves = pairs.any(|pair| pair[0] == "OR" && LEAVES.contains(&pair[1]));
    in_capitals && (leaves || words.contains(&"TRY"))
}

/// Whether the name of a macro says that it returns, at least where something is wrong.
fn may_leave(name: &str) -> bool {
    const SAYS: [&str; 14] = [
        "BAIL", "CHECK", "ENSURE", "ERR", "ERROR", "EXIT", "FAIL", "GOTO", "RAISE", "REQUIRE",
        "RETURN", "THROW", "TRY", "VERIFY",
    ];
    let in_capitals = !name.contains(|letter: char| letter.is_lowercase());
    let of_glib = matches!(
        name,
        "g_return_if_fail"
            | "g_return_val_if_fail"
            | "g_return_if_reached"
            | "g_return_val_if_reached"
    );
    // `CHECK_OK`, `RETURNIF`, `CHECKERR2`
    let says_so = |word: &str| SAYS.iter().any(|said| word.starts_with(said));
    of_glib || in_capitals && name.split('_').any(says_so)
}
