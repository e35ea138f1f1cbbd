//! The macro that declares a rule.

/// Declares a `static` [`Rule`](crate::rule::Rule) whose doc comment is also its page.
///
/// The fields are those of `Rule` without `docs`. A rule about build files has `build` in place of
/// `triggers` and `check`.
#[macro_export]
macro_rules! declare_rule {
    (
        $(#[doc = $line:literal])*
        $visibility:vis static $name:ident {
            code: $code:expr,
            name: $rule:expr,
            summary: $summary:expr,
            severity: $severity:ident,
            since: $since:expr,
            best: $best:expr,
            triggers: $triggers:expr,
            check: $check:expr,
        }
    ) => {
        $(#[doc = $line])*
        $visibility static $name: $crate::rule::Rule = $crate::rule::Rule {
            code: $code,
            name: $rule,
            summary: $summary,
            severity: $crate::rule::Severity::$severity,
            docs: concat!($($line, "\n"),*),
            since: $since,
            best: $best,
            triggers: $triggers,
            check: $crate::rule::Check::Code($check),
        };
    };
    (
        $(#[doc = $line:literal])*
        $visibility:vis static $name:ident {
            code: $code:expr,
            name: $rule:expr,
            summary: $summary:expr,
            severity: $severity:ident,
            since: $since:expr,
            best: $best:expr,
            build: $check:expr,
        }
    ) => {
        $(#[doc = $line])*
        $visibility static $name: $crate::rule::Rule = $crate::rule::Rule {
            code: $code,
            name: $rule,
            summary: $summary,
            severity: $crate::rule::Severity::$severity,
            docs: concat!($($line, "\n"),*),
            since: $since,
            best: $best,
            triggers: &[],
            check: $crate::rule::Check::Build($check),
        };
    };
}

#[cfg(test)]
mod tests {
    declare_rule! {
        /// ## What it does
        /// Nothing.
        ///
        ///     code
        static EXAMPLE {
            code: "UG000",
            name: "example",
            summary: "an example",
            severity: Race,
            since: "0.1.0",
            best: None,
            triggers: &[],
            check: |_, _| {},
        }
    }

    #[test]
    fn the_doc_comment_becomes_the_page() {
        assert_eq!(EXAMPLE.page(), "## What it does\nNothing.\n\n    code\n");
        assert_eq!(EXAMPLE.code, "UG000");
    }
}
