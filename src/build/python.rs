//! Python with byte ranges.

use tree_sitter::{Node, Parser, Tree};

/// The syntax tree of a Python file.
#[derive(Debug)]
pub struct Python {
    tree: Tree,
}

impl Python {
    /// Parses `bytes`, of Python 3 or 2.
    ///
    /// # Errors
    /// Where the file is no Python: lower case, no full stop.
    pub fn parse(bytes: &[u8]) -> Result<Self, String> {
        let mut parser = Parser::new();
        let language = tree_sitter_python::LANGUAGE.into();
        parser
            .set_language(&language)
            .map_err(|error| error.to_string())?;
        let tree = parser.parse(bytes, None).ok_or("it cannot be parsed")?;
        let python = Self { tree };
        if !python.root().has_error() {
            return Ok(python);
        }
        let wrong = python
            .nodes()
            .find(|node| node.is_error() || node.is_missing());
        let line = wrong.map_or(0, |node| node.start_position().row) + 1;
        Err(format!("line {line} is not valid Python"))
    }

    /// The whole file.
    #[must_use]
    pub fn root(&self) -> Node<'_> {
        self.tree.root_node()
    }

    /// All nodes, each before those in it.
    pub fn nodes(&self) -> impl Iterator<Item = Node<'_>> {
        Self::within(self.root())
    }

    /// `node` and all nodes in it, each before those in it.
    pub fn within(node: Node<'_>) -> impl Iterator<Item = Node<'_>> {
        let mut cursor = node.walk();
        let mut next = Some(node);
        std::iter::from_fn(move || {
            let current = next?;
            let more = cursor.goto_first_child() || {
                loop {
                    if cursor.goto_next_sibling() {
                        break true;
                    }
                    // A cursor does not leave the node it began with.
                    if !cursor.goto_parent() {
                        break false;
                    }
                }
            };
            next = more.then(|| cursor.node());
            Some(current)
        })
    }

    /// The nodes around `node`, the nearest first.
    pub fn around(node: Node<'_>) -> impl Iterator<Item = Node<'_>> {
        std::iter::successors(node.parent(), |node| node.parent())
    }

    /// The statements of the module, in order.
    #[must_use]
    pub fn statements(&self) -> Vec<Node<'_>> {
        let root = self.root();
        let mut cursor = root.walk();
        root.named_children(&mut cursor).collect()
    }

    /// The text of a string literal without quotes; `None` if `node` is none, or has parts that
    /// are computed.
    #[must_use]
    pub fn string<'b>(node: Node<'_>, bytes: &'b [u8]) -> Option<&'b str> {
        if node.kind() != "string" {
            return None;
        }
        let mut cursor = node.walk();
        let mut parts = node.named_children(&mut cursor);
        let computed = |part: Node<'_>| part.kind() == "interpolation";
        if parts.any(computed) {
            return None;
        }
        let text = node.utf8_text(bytes).ok()?;
        let text = text.trim_start_matches(|c: char| c.is_ascii_alphabetic());
        let quotes = if text.starts_with("\"\"\"") || text.starts_with("'''") {
            3
        } else {
            1
        };
        text.get(quotes..text.len() - quotes)
    }
}

#[cfg(test)]
mod tests {
    use super::Python;

    #[test]
    fn both_pythons_parse_and_other_text_says_where_it_does_not() {
        assert!(Python::parse(b"print('a')\n").is_ok());
        assert!(Python::parse(b"print 'a'\n").is_ok());
        let error = Python::parse(b"import os\nsetup(\n").unwrap_err();
        assert!(error.ends_with("is not valid Python"), "{error}");
    }

    #[test]
    fn strings_lose_prefix_and_quotes() {
        let text = b"f(r'a', \"b\", '''c''', f'{d}', 1)\n";
        let python = Python::parse(text).unwrap();
        let strings: Vec<_> = python
            .nodes()
            .filter_map(|node| Python::string(node, text))
            .collect();
        assert_eq!(strings, ["a", "b", "c"]);
    }

    #[test]
    fn a_walk_stays_in_its_node() {
        let text = b"a = 1\nb = f(2)\nc = 3\n";
        let python = Python::parse(text).unwrap();
        let second = python.statements()[1];
        let numbers = Python::within(second).filter(|node| node.kind() == "integer");
        assert_eq!(numbers.count(), 1);
    }
}
