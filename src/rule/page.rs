//! The page of a rule, and the table of its limits.

use super::Rule;

/// The heading of the table in the source.
const LIMITS: &str = "## Limits";

/// The headings of the lists that the page has in its place, with what happens in the cases of each.
const LISTS: [(&str, &[&str]); 2] = [
    ("## What it does not report", &["no finding", "not seen"]),
    ("## When there is no fix", &["manual"]),
];

/// Where a rule stops: a row of the table under *Limits*.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limit {
    /// The case, a sentence without its full stop.
    pub case: String,
    /// What happens then: `manual`, `review`, `no finding`, `not seen`, `assumed`, `reported`.
    pub then: String,
    /// The rest of the row, in Markdown: a sample of C, and what to do.
    pub rest: String,
}

impl Limit {
    fn of_row(row: &str) -> Option<Self> {
        let mut cells = row.strip_prefix("| ")?.splitn(3, " | ");
        let [case, then, rest] = [cells.next()?, cells.next()?, cells.next()?];
        (case != "limit").then(|| Self {
            case: case.replace("\\|", "|"),
            then: then.to_owned(),
            rest: rest.to_owned(),
        })
    }
}

impl Rule {
    /// The rule's page. In place of the table of limits it has two lists.
    #[must_use]
    pub fn page(&self) -> String {
        let text = self.text();
        let Some((before, table)) = text.split_once(&format!("{LIMITS}\n")) else {
            return text;
        };
        let end = table.find("\n## ").map_or(table.len(), |at| at + 1);
        let (table, after) = table.split_at(end);
        let limits: Vec<Limit> = table.lines().filter_map(Limit::of_row).collect();
        let mut page = before.to_owned();
        for (heading, thens) in LISTS {
            let cases = limits.iter().filter(|it| thens.contains(&&*it.then));
            let items = cases.map(|it| wrapped(&format!("{}.", it.case), 100, "- ", "  "));
            let items: Vec<String> = items.collect();
            if !items.is_empty() {
                page += &format!("{heading}\n{}\n\n", items.join("\n"));
            }
        }
        page + after
    }

    /// The text under the heading `## title` of the page; `None` if there is no such heading.
    #[must_use]
    pub fn section(&self, title: &str) -> Option<String> {
        let page = self.page();
        let head = format!("## {title}");
        let mut lines = page.lines().skip_while(|line| *line != head);
        lines.next()?;
        let text: Vec<&str> = lines.take_while(|line| !line.starts_with("## ")).collect();
        Some(text.join("\n").trim().to_owned())
    }

    /// Where the rule stops.
    #[must_use]
    pub fn limits(&self) -> Vec<Limit> {
        let text = self.text();
        let lines = text.lines().skip_while(|line| *line != LIMITS);
        let rows = lines.skip(1).take_while(|line| !line.starts_with("## "));
        rows.filter_map(Limit::of_row).collect()
    }

    /// The doc comment without the blank that each line begins with.
    fn text(&self) -> String {
        self.docs
            .lines()
            .flat_map(|line| [line.strip_prefix(' ').unwrap_or(line), "\n"])
            .collect()
    }
}

/// `text` in lines of at most `width` columns, where words allow; `first` begins the first line,
/// `rest` the others.
#[must_use]
pub fn wrapped(text: &str, width: usize, first: &str, rest: &str) -> String {
    let mut out = String::new();
    let mut line = first.to_owned();
    let mut is_empty = true;
    for word in text.split_whitespace() {
        if !is_empty && line.chars().count() + 1 + word.chars().count() > width {
            out += &line;
            out.push('\n');
            line = rest.to_owned();
            is_empty = true;
        }
        if !is_empty {
            line.push(' ');
        }
        line += word;
        is_empty = false;
    }
    out + &line
}

#[cfg(test)]
mod tests {
    use super::wrapped;
    use crate::declare_rule;

    declare_rule! {
        /// ## What it does
        /// Nothing.
        ///
        /// ## Limits
        /// | limit | what happens then | sample | what to do |
        /// |---|---|---|---|
        /// | Always | manual | `a \|\| b` | Wait. |
        /// | Never | not seen | `c` | |
        ///
        /// ## References
        /// - none
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
    fn the_table_becomes_lists_of_what_is_not_reported_and_not_fixed() {
        insta::assert_snapshot!(EXAMPLE.page(), @"
        ## What it does
        Nothing.

        ## What it does not report
        - Never.

        ## When there is no fix
        - Always.

        ## References
        - none
        ");
        let limits = EXAMPLE.limits();
        assert_eq!(limits[0].rest, "`a \\|\\| b` | Wait. |");
        assert_eq!(limits[1].then, "not seen");
    }

    #[test]
    fn text_is_wrapped_at_words() {
        let text = "word ".repeat(20);
        let lines = wrapped(&text, 72, "* ", "  ");
        assert!(lines.lines().all(|line| line.len() <= 72), "{lines}");
        assert_eq!(lines.matches("word").count(), 20);
        let long = "x".repeat(100);
        assert_eq!(wrapped(&long, 72, "", ""), long);
    }
}
