//! Fixes merged into one set of edits: sorted, disjoint, each fix in whole or not at all.

use std::collections::BTreeMap;

use super::{Edit, Fix};
use crate::lex::{TokenKind, lex};
use crate::source::{ByteSpan, FileId};

/// Position of a fix in the run order of the rules, from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FixId(pub u32);

/// Two fixes that want different things of the same bytes; the later one was left out in whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Conflict {
    /// The fix that stays. Equal to `rejected` if a fix contradicts itself.
    pub kept: FixId,
    /// The fix that was left out.
    pub rejected: FixId,
    /// The file of the clash.
    pub file: FileId,
    /// The bytes the rejected fix wanted.
    pub span: ByteSpan,
}

/// An edit and the first fix that asked for it.
#[derive(Debug, Clone)]
struct Placed {
    edit: Edit,
    owner: FixId,
}

/// Edits of all accepted fixes.
///
/// Invariant: the edits of a file are sorted by place and disjoint. Insertions at the same place
/// stand in the order in which their fixes were added.
#[derive(Debug, Clone, Default)]
pub struct EditSet {
    files: BTreeMap<FileId, Vec<Placed>>,
}

impl EditSet {
    /// Merges `fixes` in their order; of two that clash the later one is left out and reported.
    #[must_use]
    pub fn merge<'a>(fixes: impl IntoIterator<Item = (FixId, &'a Fix)>) -> (Self, Vec<Conflict>) {
        let mut set = Self::default();
        let conflicts = fixes
            .into_iter()
            .filter_map(|(id, fix)| set.add(id, fix).err())
            .collect();
        (set, conflicts)
    }

    /// Adds all edits of `fix`, or none.
    ///
    /// An edit that another fix already makes (same span, same text) is made once. Insertions of
    /// different text at one offset are all kept.
    ///
    /// # Errors
    /// The first [`Conflict`] with a fix that is already in the set; the set is unchanged.
    pub fn add(&mut self, id: FixId, fix: &Fix) -> Result<(), Conflict> {
        let own = disjoint(id, &fix.edits)?;
        let mut shared_braces = 0;
        for edit in &own {
            match self.relation(edit) {
                Relation::Free => {}
                Relation::Same => shared_braces += brace_balance(&edit.text),
                Relation::Clash(kept) => return Err(conflict(kept, id, edit)),
            }
        }
        // `if (a) if (b) s;`: braces around `s` and around the inner `if` end in the same `}`
        // but do not begin in the same `{`; sharing the end would lose a brace.
        let is_known = own.iter().all(|edit| self.made_by_other(edit, id));
        if shared_braces != 0
            && !is_known
            && let Some((kept, edit)) = self.first_shared(&own)
        {
            return Err(conflict(kept, id, edit));
        }
        for edit in own {
            if !self.made_by_other(edit, id) {
                self.place(id, edit.clone());
            }
        }
        Ok(())
    }

    /// The files that change, in order.
    pub fn files(&self) -> impl Iterator<Item = FileId> {
        self.files.keys().copied()
    }

    /// The edits of `file`: sorted, disjoint.
    pub fn edits(&self, file: FileId) -> impl Iterator<Item = &Edit> {
        self.files
            .get(&file)
            .into_iter()
            .flatten()
            .map(|placed| &placed.edit)
    }

    /// Whether nothing changes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    fn relation(&self, edit: &Edit) -> Relation {
        let mut relation = Relation::Free;
        for placed in self.around(edit) {
            if placed.edit == *edit {
                return Relation::Same;
            }
            if overlap(placed.edit.span, edit.span) || define_the_same(&placed.edit, edit) {
                relation = Relation::Clash(placed.owner);
            }
        }
        relation
    }

    /// Whether a fix other than `id` makes this edit. A fix that closes two blocks at one offset
    /// inserts `}` twice, so its own insertions do not count.
    fn made_by_other(&self, edit: &Edit, id: FixId) -> bool {
        self.around(edit)
            .any(|placed| placed.owner != id && placed.edit == *edit)
    }

    fn first_shared<'e>(&self, own: &[&'e Edit]) -> Option<(FixId, &'e Edit)> {
        own.iter().find_map(|&edit| {
            let placed = self.around(edit).find(|placed| placed.edit == *edit)?;
            Some((placed.owner, edit))
        })
    }

    /// The edits that touch or overlap `edit`.
    fn around(&self, edit: &Edit) -> impl Iterator<Item = &Placed> {
        let placed = self.files.get(&edit.file).map_or(&[][..], Vec::as_slice);
        let first = placed.partition_point(|p| p.edit.span.end() < edit.span.start());
        placed[first..]
            .iter()
            .take_while(|p| p.edit.span.start() <= edit.span.end())
    }

    fn place(&mut self, owner: FixId, edit: Edit) {
        let placed = self.files.entry(edit.file).or_default();
        let at = placed.partition_point(|p| p.edit.place() <= edit.place());
        placed.insert(at, Placed { edit, owner });
    }
}

/// How a new edit stands to those of a set.
enum Relation {
    Free,
    Same,
    Clash(FixId),
}

/// The edits of one fix by place; equal replacements once, equal insertions as often as asked for.
fn disjoint(id: FixId, edits: &[Edit]) -> Result<Vec<&Edit>, Conflict> {
    let mut own: Vec<&Edit> = edits.iter().collect();
    // Stable: insertions at one offset keep the order in which the rule made them.
    own.sort_by_key(|edit| edit.place());
    own.dedup_by(|a, b| a == b && !a.span.is_empty());
    for pair in own.windows(2) {
        if pair[0].file == pair[1].file && overlap(pair[0].span, pair[1].span) {
            return Err(conflict(id, id, pair[1]));
        }
    }
    Ok(own)
}

/// Whether both want the same bytes. An insertion at the border of a span is outside of it.
fn overlap(a: ByteSpan, b: ByteSpan) -> bool {
    a.start() < b.end() && b.start() < a.end()
}

/// Whether two insertions at one place define a function of one name, in different ways.
fn define_the_same(a: &Edit, b: &Edit) -> bool {
    a.span.is_empty() && a.span == b.span && {
        let other = defined(&b.text);
        defined(&a.text).iter().any(|name| other.contains(name))
    }
}

/// The names of the functions that an insertion defines whole.
fn defined(text: &[u8]) -> Vec<&[u8]> {
    // Most insertions are statements.
    if !text.ends_with(b"}") && !text.trim_ascii_end().ends_with(b"}") {
        return Vec::new();
    }
    let tokens = lex(text);
    let word = |at: usize| {
        tokens
            .get(at)
            .map_or(&b""[..], |token| &text[token.span.range()])
    };
    let (mut depth, mut parens, mut name, mut found) = (0, 0, None, Vec::new());
    for at in 0..tokens.len() {
        match word(at) {
            b"{" => {
                let closes = at.checked_sub(1).is_some_and(|before| word(before) == b")");
                found.extend(name.take().filter(|_| depth == 0 && closes));
                depth += 1;
            }
            b"}" => depth -= 1,
            b"(" => {
                let before = at.checked_sub(1).filter(|&before| {
                    depth == 0 && parens == 0 && tokens[before].kind == TokenKind::Ident
                });
                name = before.map(word).or(name);
                parens += 1;
            }
            b")" => parens -= 1,
            b"if" | b"while" | b"for" | b"switch" if depth == 0 => return Vec::new(),
            _ => {}
        }
        if depth > 0 {
            name = None;
        }
    }
    found
}

fn brace_balance(text: &[u8]) -> i32 {
    text.iter().fold(0, |sum, byte| match byte {
        b'{' => sum + 1,
        b'}' => sum - 1,
        _ => sum,
    })
}

fn conflict(kept: FixId, rejected: FixId, edit: &Edit) -> Conflict {
    Conflict {
        kept,
        rejected,
        file: edit.file,
        span: edit.span,
    }
}

#[cfg(test)]
mod tests {
    use super::{Conflict, EditSet, FixId};
    use crate::edit::{Edit, Fix, apply};
    use crate::source::{ByteOffset, ByteSpan, FileId};

    const FILE: FileId = FileId(0);
    const TEXT: &[u8] = b"0123456789";

    fn fix(edits: &[(u32, u32, &str)]) -> Fix {
        let mut fix = Fix::safe("test");
        for &(start, end, text) in edits {
            fix.replace(FILE, ByteSpan::new(start, end), text);
        }
        fix
    }

    fn merge(fixes: &[Fix]) -> (String, Vec<(u32, u32)>) {
        let (set, conflicts) = EditSet::merge((0..).map(FixId).zip(fixes));
        let bytes = apply(TEXT, set.edits(FILE)).bytes;
        let pairs = conflicts.iter().map(|c| (c.kept.0, c.rejected.0)).collect();
        (String::from_utf8(bytes).unwrap(), pairs)
    }

    #[test]
    fn two_functions_of_one_name_at_one_place_clash() {
        let wrapper = |body: &str| {
            let text = format!("\n\nstatic int\nf(int x)\n{{\n    {body}\n}}");
            fix(&[(2, 3, "g"), (9, 9, &text)])
        };
        let (one, two) = (wrapper("return one(x);"), wrapper("return two(x);"));
        assert_eq!(merge(&[one.clone(), two]).1, [(0, 1)]);
        assert_eq!(merge(&[one.clone(), one]).1, []);
        // Two blocks are two statements.
        let block = |body: &str| fix(&[(9, 9, &format!("if (x) {{ {body} }}"))]);
        assert_eq!(merge(&[block("f(1);"), block("f(2);")]).1, []);
    }

    #[test]
    fn edits_are_sorted_whatever_the_order_of_fixes() {
        let merged = merge(&[fix(&[(8, 9, "B")]), fix(&[(1, 2, "A"), (4, 4, "+")])]);
        assert_eq!(merged, ("0A23+4567B9".into(), vec![]));
    }

    #[test]
    fn equal_edits_merge() {
        let include = fix(&[(3, 3, "#include\n")]);
        let merged = merge(&[include.clone(), include]);
        assert_eq!(merged, ("012#include\n3456789".into(), vec![]));
        let rename = fix(&[(3, 5, "x")]);
        assert_eq!(merge(&[rename.clone(), rename]).0, "012x56789");
    }

    #[test]
    fn different_insertions_at_one_offset_keep_the_order_of_fixes() {
        let merged = merge(&[fix(&[(3, 3, "b")]), fix(&[(3, 3, "a")])]);
        assert_eq!(merged, ("012ba3456789".into(), vec![]));
    }

    #[test]
    fn what_ends_a_statement_comes_before_what_the_next_one_needs() {
        let one = |edit: Edit| {
            let mut fix = Fix::safe("test");
            fix.edits.push(edit);
            fix
        };
        let at = |text: &str| Edit::new(FILE, ByteSpan::new(5, 5), text.into());
        // `if (c) continue;` begins at 1, its body at 3.
        let outer = one(at("release;").behind(ByteOffset(1)));
        let inner = one(at("}").behind(ByteOffset(3)));
        let next = one(at("look_up;"));
        let expected = "01234}release;look_up;56789";
        for order in [[&outer, &inner, &next], [&next, &outer, &inner]] {
            assert_eq!(merge(&order.map(Clone::clone)).0, expected);
        }
        let mut joined = next;
        joined.include(&outer);
        assert_eq!(merge(&[joined, inner]).0, expected);
    }

    #[test]
    fn insertions_at_the_borders_of_a_replacement_stay() {
        let merged = merge(&[fix(&[(3, 5, "x")]), fix(&[(3, 3, "<"), (5, 5, ">")])]);
        assert_eq!(merged, ("012<x>56789".into(), vec![]));
    }

    #[test]
    fn the_later_of_two_clashing_fixes_is_rejected_in_whole() {
        let merged = merge(&[fix(&[(3, 5, "x")]), fix(&[(0, 1, "y"), (4, 6, "z")])]);
        assert_eq!(merged, ("012x56789".into(), vec![(0, 1)]));
        let inside = merge(&[fix(&[(3, 5, "x")]), fix(&[(4, 4, "z")])]);
        assert_eq!(inside, ("012x56789".into(), vec![(0, 1)]));
    }

    #[test]
    fn a_fix_with_overlapping_edits_is_rejected() {
        let own = fix(&[(3, 5, "x"), (4, 6, "z")]);
        let error = EditSet::default().add(FixId(7), &own).unwrap_err();
        let span = ByteSpan::new(4, 6);
        let wanted = Conflict {
            kept: FixId(7),
            rejected: FixId(7),
            file: FILE,
            span,
        };
        assert_eq!(error, wanted);
    }

    #[test]
    fn one_fix_may_insert_the_same_text_twice() {
        assert_eq!(merge(&[fix(&[(3, 3, "}"), (3, 3, "}")])]).0, "012}}3456789");
    }

    #[test]
    fn a_closing_brace_is_shared_only_with_its_opening_one() {
        let outer = fix(&[(2, 2, "{"), (6, 6, "}")]);
        let inner = fix(&[(4, 4, "{"), (6, 6, "}")]);
        assert_eq!(merge(&[outer.clone(), outer.clone()]).0, "01{2345}6789");
        assert_eq!(
            merge(&[outer, inner]),
            ("01{2345}6789".into(), vec![(0, 1)])
        );
    }

    #[test]
    fn a_fix_that_takes_a_brace_away_can_be_asked_for_twice() {
        let once = fix(&[(2, 3, "{"), (6, 6, "if (x)")]);
        assert_eq!(merge(&[once.clone(), once]).0, "01{345if (x)6789");
    }

    #[test]
    fn insertions_by_offset_are_empty_spans() {
        let mut fix = Fix::safe("test");
        fix.insert(FILE, ByteOffset(10), "!");
        assert_eq!(merge(&[fix]).0, "0123456789!");
    }
}
