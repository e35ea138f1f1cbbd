//! A line in the changelog, where its form is known: the top section is for what is not released.

use crate::rule::wrapped;

/// Columns of a changelog.
const WIDTH: usize = 79;

/// Says that a section has nothing in it.
const PLACEHOLDER: &str = "nothing changed yet";

/// The changelog `text` with an item that says `line`; `None` if it is not clear where it goes.
///
/// ```text
/// ## Unreleased          2.1 (unreleased)
///                        ----------------
/// - an item              * an item
/// ```
#[must_use]
pub fn with_line(text: &str, line: &str) -> Option<String> {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let head = (0..lines.len()).find_map(|at| heading(&lines, at));
    let head = match head {
        // The title of the page.
        Some(title) if !is_unreleased(title.text) && !title.text.contains(char::is_numeric) => {
            (title.end..lines.len()).find_map(|at| heading(&lines, at))?
        }
        head => head?,
    };
    if !is_unreleased(head.text) {
        return None;
    }
    let next = (head.end..lines.len()).find(|at| {
        let other = heading(&lines, *at);
        other.is_some_and(|other| other.mark == head.mark || other.is_above(&head))
    });
    let end = next.unwrap_or(lines.len());
    let mut begin = head.end;
    // Sections inside say what kind of change follows.
    let mut inner = (begin..end).filter_map(|at| heading(&lines, at)).peekable();
    if inner.peek().is_some() {
        begin = inner.find(|it| it.text == "Added")?.end;
    }
    let end = (begin..end)
        .find(|at| heading(&lines, *at).is_some())
        .unwrap_or(end);
    insert(&lines, begin, end, line)
}

struct Heading<'t> {
    text: &'t str,
    /// `##`, or what the title is underlined with.
    mark: &'t str,
    /// The line after it.
    end: usize,
}

impl Heading<'_> {
    fn is_above(&self, other: &Self) -> bool {
        self.mark.starts_with('#') && self.mark.len() < other.mark.len()
    }
}

fn heading<'t>(lines: &[&'t str], at: usize) -> Option<Heading<'t>> {
    let line = lines[at].trim_end();
    let text = line.trim_start_matches('#');
    let depth = line.len() - text.len();
    if depth > 0 && text.starts_with(' ') {
        let (mark, text) = (&line[..depth], text.trim());
        return Some(Heading {
            text,
            mark,
            end: at + 1,
        });
    }
    let under = lines.get(at + 1)?.trim_end();
    let mark = under.get(..1)?;
    let is_line = under.len() >= 3 && under.len() >= line.trim().len();
    let is_heading = is_line
        && "=-~^*".contains(mark)
        && under.chars().all(|c| mark.contains(c))
        && line.contains(char::is_alphanumeric);
    is_heading.then(|| Heading {
        text: line.trim(),
        mark,
        end: at + 2,
    })
}

fn is_unreleased(text: &str) -> bool {
    text.to_lowercase().contains("unreleased")
}

/// Puts the item before the first one of the lines from `begin` to `end`.
fn insert(lines: &[&str], begin: usize, end: usize, line: &str) -> Option<String> {
    let body = &lines[begin..end];
    let newline = match lines[begin.checked_sub(1)?] {
        line if line.ends_with("\r\n") => "\r\n",
        line if line.ends_with('\n') => "\n",
        _ => return None,
    };
    let first = body.iter().position(|line| marker(line).is_some());
    let (mark, from, to) = match first {
        Some(at) => {
            let is_placeholder = body[at].to_lowercase().contains(PLACEHOLDER);
            let to = begin + at + usize::from(is_placeholder);
            (marker(body[at])?, begin + at, to)
        }
        // A text in other words.
        None if body.iter().any(|line| !line.trim().is_empty()) => return None,
        None => ("- ", begin, begin),
    };
    let item = wrapped(line, WIDTH, mark, &" ".repeat(mark.len()));
    let item = item.replace('\n', newline) + newline;
    let is_apart = |at: usize| {
        let before = body[..at].iter().rposition(|line| !line.trim().is_empty());
        before.is_some_and(|before| before + 1 < at)
    };
    let mut items = body.iter().enumerate().skip(first.map_or(0, |at| at + 1));
    let second = items.find(|(_, line)| marker(line).is_some());
    let new = match first {
        None => format!("{newline}{item}"),
        Some(_) if second.is_some_and(|(at, _)| is_apart(at)) => format!("{item}{newline}"),
        Some(_) => item,
    };
    Some(lines[..from].concat() + &new + &lines[to..].concat())
}

/// The dash or star of an item that is not inside of another.
fn marker(line: &str) -> Option<&str> {
    let mark = line.get(..2)?;
    matches!(mark, "- " | "* " | "+ ").then_some(mark)
}

#[cfg(test)]
mod tests {
    use super::with_line;

    /// The lines around the new one, and itself.
    fn shown(text: &str) -> String {
        with_line(text, "New line.").unwrap_or_else(|| "by hand".to_owned())
    }

    #[test]
    fn the_item_comes_first_in_the_unreleased_section() {
        insta::assert_snapshot!(shown("# Log\n\n## [Unreleased]\n\n* one\n* two\n\n## 1.0\n- x\n"), @r"
        # Log

        ## [Unreleased]

        * New line.
        * one
        * two

        ## 1.0
        - x
        ");
        insta::assert_snapshot!(shown("Log\n===\n\n2.1 (unreleased)\n----------------\n\n- one\n\n- two\n\n2.0\n---\n"), @r"
        Log
        ===

        2.1 (unreleased)
        ----------------

        - New line.

        - one

        - two

        2.0
        ---
        ");
        insta::assert_snapshot!(shown("1.1 (unreleased)\n=====\n\n- Nothing changed yet.\n\n1.0\n"), @"by hand");
    }

    #[test]
    fn kinds_of_changes_are_kept_apart() {
        let log = "# Log\n## Unreleased\n### Fixed\n- one\n### Added\n- two\n## 1.0\n";
        insta::assert_snapshot!(shown(log), @r"
        # Log
        ## Unreleased
        ### Fixed
        - one
        ### Added
        - New line.
        - two
        ## 1.0
        ");
        assert_eq!(shown(&log.replace("Added", "Changed")), "by hand");
    }

    #[test]
    fn released_sections_and_other_texts_stay() {
        assert_eq!(
            shown("# News\n\n## 0.8\n\n- one\n\n## Unreleased ideas\n- x\n"),
            "by hand"
        );
        assert_eq!(shown("## Unreleased\nWords.\n"), "by hand");
        assert_eq!(shown(""), "by hand");
        insta::assert_snapshot!(shown("## Unreleased\n\n## 1.0\n- one\n"), @r"
        ## Unreleased

        - New line.

        ## 1.0
        - one
        ");
        insta::assert_snapshot!(
            shown("1.1 (unreleased)\n================\n\n- Nothing changed yet.\n"), @r"
        1.1 (unreleased)
        ================

        - New line.
        ");
    }
}
