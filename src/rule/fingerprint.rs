//! Names of findings that stay the same when other lines change.

use std::collections::BTreeMap;

use sha1::{Digest, Sha1};

use super::Finding;
use crate::diff::slashed;
use crate::source::FileSet;

/// Names `findings`: 16 hex digits each, unique among them, in their order.
///
/// A name is made of the rule, the path of the file, the function, and the first line of the place
/// without its blanks; of findings that are equal in all of this, also of their number by place.
/// So it survives edits elsewhere, also in the same function, and new layout of its own line.
#[must_use]
pub fn fingerprints(files: &FileSet, findings: &[&Finding]) -> Vec<String> {
    let mut by_place: Vec<usize> = (0..findings.len()).collect();
    by_place.sort_by_key(|&at| (findings[at].file, findings[at].span));
    let mut names = vec![String::new(); findings.len()];
    let mut ordinals = BTreeMap::<[u8; 20], u32>::new();
    for at in by_place {
        let common = common_hash(files, findings[at]);
        let ordinal = ordinals.entry(common).or_default();
        let own = Sha1::digest([&common[..], &ordinal.to_le_bytes()].concat());
        *ordinal += 1;
        names[at] = own[..8].iter().map(|byte| format!("{byte:02x}")).collect();
    }
    names
}

fn common_hash(files: &FileSet, finding: &Finding) -> [u8; 20] {
    let file = files.get(finding.file);
    let line = file.position(finding.span.start()).line;
    let line = file.slice(file.lines().span(line)).iter().copied();
    let parts = [
        finding.rule.code.as_bytes(),
        &slashed(file.path()),
        finding.function.as_deref().unwrap_or_default().as_bytes(),
        &line
            .filter(|byte| !byte.is_ascii_whitespace())
            .collect::<Vec<u8>>(),
    ];
    Sha1::digest(parts.join(&0)).into()
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::fingerprints;
    use crate::rule::{Check, Finding, Outcome, Rule, Severity};
    use crate::source::{ByteSpan, FileId, FileSet, SourceFile};

    static RULE: Rule = Rule {
        code: "UG101",
        name: "rule",
        summary: "",
        severity: Severity::Memory,
        docs: "",
        since: "0.1.0",
        best: None,
        triggers: &[],
        check: Check::Code(|_, _| {}),
    };

    /// The names of findings at each `x` in `text`, the last one first.
    fn names(text: &str) -> Vec<String> {
        let mut files = FileSet::default();
        files.add(SourceFile::new(PathBuf::from("src/m.c"), text.into()));
        let places = text.rmatch_indices('x').map(|(at, _)| {
            let at = u32::try_from(at).unwrap();
            ByteSpan::new(at, at + 1)
        });
        let finding = |span| Finding {
            rule: &RULE,
            file: FileId(0),
            span,
            function: Some("f".into()),
            api: None,
            message: String::new(),
            notes: Vec::new(),
            outcome: Outcome::Manual(String::new()),
        };
        let findings: Vec<Finding> = places.map(finding).collect();
        fingerprints(&files, &findings.iter().collect::<Vec<_>>())
    }

    #[test]
    fn names_survive_edits_elsewhere_and_layout() {
        let before = names("x();\na = x();\n");
        assert_eq!(names("b();\n  x();\r\nc();\na=x();\n"), before);
        assert_ne!(names("x();\nb = x();\n")[0], before[0]);
        assert_eq!(names("x();\nb = x();\n")[1], before[1]);
    }

    #[test]
    fn equal_lines_have_names_of_their_own_by_place() {
        let [last, first] = &names("x();\nx();\n")[..] else {
            panic!("two findings")
        };
        assert_ne!(first, last);
        assert_eq!(names("x();\n"), std::slice::from_ref(first));
    }
}
