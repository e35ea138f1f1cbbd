//! The macro that declares a rule.

/// Declares a `static` [`Rule`](crate::rule::Rule) whose doc comment is also its page.
///
/// The fields are those of `Rule` without `docs`.
#[macro_export]
macro_rules! declare_rule {
    (
        $(#[doc = $line:literal])*
        $visibility:vis static $name:ident { $($field:ident : $value:expr),* $(,)? }
    ) => {
        $(#[doc = $line])*
        $visibility static $name: $crate::rule::Rule = $crate::rule::Rule {
            docs: concat!($($line, "\n"),*),
            $($field: $value),*
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
