//! Decisions, undo, scopes and ways through the list.

use super::{Decided, Scope, Session};
use crate::edit::Fix;
use crate::review::testing::{RISKY, SAFE, Sample};
use crate::review::{Counts, Decision, Direction, Edited, Ledger, NotFound, Record};
use crate::rule::Outcome;
use crate::source::{ByteSpan, FileId};

/// Four safe renames in two functions.
const TEXT: &str = "int a(void) { x(1); x(2); }\nint b(void) {\n  x(3);\n  x(4); }\n";

fn words(session: &Session<'_>) -> Vec<&'static str> {
    let decision = |at| session.decision(at).word();
    (0..session.groups().len()).map(decision).collect()
}

fn accept_here(session: &mut Session<'_>) -> Decided {
    session.accept(&session.scope(Scope::This))
}

#[test]
fn decisions_are_counted_and_advance_goes_round() {
    let sample = Sample::renames(TEXT, "x", "y");
    let mut session = sample.session(Ledger::default());
    assert_eq!(accept_here(&mut session).changed, 1);
    session.advance().unwrap();
    session.decline(&[1], Decision::Skipped);
    session.advance().unwrap();
    session.decline(&[2], Decision::Rejected("why".into()));
    session.advance().unwrap();
    assert_eq!(session.position(), 3);
    accept_here(&mut session);
    // The skipped one comes last.
    session.advance().unwrap();
    assert_eq!(session.position(), 1);
    assert_eq!(
        words(&session),
        ["accepted", "skipped", "rejected", "accepted"]
    );
    let counts = Counts {
        accepted: 2,
        rejected: 1,
        open: 1,
    };
    assert_eq!(session.counts(), counts);
    assert_eq!(session.advance(), Err(NotFound::Open));
}

#[test]
fn the_same_decision_again_is_no_step() {
    let sample = Sample::renames(TEXT, "x", "y");
    let mut session = sample.session(Ledger::default());
    assert!(accept_here(&mut session).record.is_some());
    assert_eq!(accept_here(&mut session), Decided::default());
}

#[test]
fn scopes_leave_decided_ones_alone() {
    let sample = Sample::renames(TEXT, "x", "y");
    let mut session = sample.session(Ledger::default());
    session.decline(&[3], Decision::Rejected(String::new()));
    session.go_to("3").unwrap();
    assert_eq!(session.scope(Scope::Function), [2]);
    assert_eq!(session.scope(Scope::RestOfFile), [2]);
    assert_eq!(session.scope(Scope::Rule), [0, 1, 2]);
    assert_eq!(session.scope(Scope::Everything), [0, 1, 2]);
    session.go_to("2").unwrap();
    assert_eq!(session.scope(Scope::Function), [0, 1]);
}

#[test]
fn undo_goes_to_what_it_changes_and_redo_comes_back() {
    let sample = Sample::renames(TEXT, "x", "y");
    let mut session = sample.session(Ledger::default());
    session.accept(&[0, 1]);
    session.decline(&[3], Decision::Skipped);
    session.go_to("3").unwrap();
    assert_eq!(session.undo(), [Record::Undo]);
    assert_eq!(session.position(), 3);
    session.undo();
    assert_eq!((session.position(), session.counts().open), (0, 4));
    assert_eq!(session.undo(), []);
    assert_eq!(session.redo(), [Record::Redo]);
    assert_eq!(words(&session)[..2], ["accepted", "accepted"]);
}

#[test]
fn decisions_come_back_and_those_of_changed_functions_are_stale() {
    let sample = Sample::renames(TEXT, "x", "y");
    let mut session = sample.session(Ledger::default());
    let records: Vec<_> = [
        session.accept(&[0]),
        session.decline(&[3], Decision::Rejected("no".into())),
    ]
    .into_iter()
    .filter_map(|decided| decided.record)
    .collect();

    let text = format!("\n\n{}", TEXT.replace("x(3);", "other();"));
    let changed = Sample::renames(&text, "x", "y");
    let mut session = changed.session(Ledger::replay(records));
    assert_eq!(words(&session), ["accepted", "undecided", "undecided"]);
    assert_eq!(session.position(), 1);
    let stale: Vec<_> = session.stale().collect();
    assert_eq!(stale[0].0.function, "b");
    assert_eq!(*stale[0].1, Decision::Rejected("no".into()));
    assert_eq!(stale.len(), 1);
    // The step about the lost fix is taken back on the way to one that can be seen.
    assert_eq!(session.undo(), [Record::Undo, Record::Undo]);
    assert_eq!(words(&session)[0], "undecided");
}

#[test]
fn clashing_fixes_are_not_accepted_together() {
    let mut sample = Sample::renames("int f(void) { x(); }\n", "x()", "y()");
    let mut other = Fix::safe("drop");
    other.assume("nobody needs it");
    other.replace(FileId(0), ByteSpan::new(14, 18), "");
    sample.add(&RISKY, ByteSpan::new(14, 18), other);
    let mut session = sample.session(Ledger::default());
    let decided = session.accept(&[0, 1]);
    let id = |at: usize| session.groups()[at].id.clone();
    assert_eq!(decided.clashes, [(id(1), id(0))]);
    assert_eq!(words(&session), ["accepted", "undecided"]);
    session.decline(&[0], Decision::Rejected(String::new()));
    assert_eq!(session.accept(&[1]).changed, 1);
    assert_eq!(session.accept(&[0]).clashes.len(), 1);
    assert_eq!(session.groups()[0].finding.rule.code, SAFE.code);
}

#[test]
fn undo_can_not_bring_clashing_fixes_together() {
    let mut sample = Sample::renames("int f(void) { x(); }\n", "x()", "y()");
    let mut other = Fix::safe("drop");
    other.replace(FileId(0), ByteSpan::new(14, 18), "");
    sample.add(&RISKY, ByteSpan::new(14, 18), other);
    let mut session = sample.session(Ledger::default());
    session.accept(&[0]);
    session.decline(&[0], Decision::Undecided);
    session.accept(&[1]);
    // Steps come back in their order only, so the state is one that was there before.
    for expected in [["undecided", "undecided"], ["accepted", "undecided"]] {
        session.undo();
        assert_eq!(words(&session), expected);
    }
}

#[test]
fn names_and_texts_are_found() {
    let sample = Sample::renames(TEXT, "x", "yVonne");
    let mut session = sample.session(Ledger::default());
    let id = session.groups()[2].id.0.clone();
    for (name, position) in [
        ("4", 3),
        (id.as_str(), 2),
        ("m.c", 0),
        ("src/m.c:3", 2),
        ("m.c:99", 3),
    ] {
        session.go_to(name).unwrap();
        assert_eq!(session.position(), position, "{name}");
    }
    for name in ["", "0", "5", ".c", "n.c", ":3"] {
        assert!(session.go_to(name).is_err(), "{name}");
    }
    for (text, position) in [("^b$", 2), ("^b$", 3), ("yvonne", 0), ("UG901", 1)] {
        session.search(text).unwrap();
        assert_eq!(session.position(), position, "{text}");
    }
    for text in ["YVONNE", "nowhere", "("] {
        assert_eq!(session.search(text), Err(NotFound::Text(text.into())));
    }
}

#[test]
fn neighbours_are_reached_in_both_directions() {
    let sample = Sample::renames(TEXT, "x", "y");
    let mut session = sample.session(Ledger::default());
    assert_eq!(session.go_any(Direction::Backward), Err(NotFound::End));
    session.accept(&[1, 3]);
    session.go_open(Direction::Forward).unwrap();
    assert_eq!(session.position(), 2);
    session.go_open(Direction::Forward).unwrap();
    assert_eq!(session.position(), 0);
    session.go_open(Direction::Backward).unwrap();
    assert_eq!(session.position(), 2);
    session.go_any(Direction::Forward).unwrap();
    assert_eq!(session.go_any(Direction::Forward), Err(NotFound::End));
}

#[test]
fn a_review_of_nothing_has_nothing_to_do() {
    let sample = Sample::new("");
    let mut session = sample.session(Ledger::default());
    assert!(session.current().is_none());
    assert_eq!(accept_here(&mut session), Decided::default());
    assert!(session.advance().is_err() && session.go_any(Direction::Forward).is_err());
    assert!(session.undo().is_empty() && session.go_to("1").is_err());
}

#[test]
fn ten_thousand_fixes_are_decided_one_by_one() {
    let text = "int a(void) { x(1); x(2); }\n".repeat(5_000);
    let sample = Sample::renames(&text, "x", "y");
    let mut session = sample.session(Ledger::default());
    let mut steps = 0;
    loop {
        steps += accept_here(&mut session).changed;
        if session.advance().is_err() {
            break;
        }
    }
    assert_eq!((steps, session.counts().accepted), (10_000, 10_000));
    for _ in 0..steps {
        assert_eq!(session.undo().len(), 1);
    }
    assert_eq!(session.counts().open, 10_000);
}

#[test]
fn an_edited_fix_clashes_with_what_changes_the_same_text() {
    let sample = Sample::renames("int f(void) { x(1); x(2); x(3); }\n", "x", "y");
    let mut session = sample.session(Ledger::default());
    session.accept(&[2]);
    let mut edited = Edited::of(&sample.files, &session.groups()[0]).unwrap();
    let own = edited.text.clone();
    let id = |session: &Session<'_>, at: usize| session.groups()[at].id.clone();
    // The third call is that of the accepted fix.
    edited.text = own.replace("x(3)", "z(3)");
    let decided = session.accept_as(0, Decision::Edited(edited.clone()));
    assert_eq!(decided.clashes, [(id(&session, 0), id(&session, 2))]);
    // The second one is still free, until the edit has taken it.
    edited.text = own.replace("x(2)", "z(2)");
    assert_eq!(session.accept_as(0, Decision::Edited(edited)).changed, 1);
    assert_eq!(words(&session), ["edited", "undecided", "accepted"]);
    let decided = session.accept(&[0, 1]);
    assert_eq!(decided.clashes, [(id(&session, 1), id(&session, 0))]);
    assert_eq!(words(&session), ["edited", "undecided", "accepted"]);
    session.undo();
    assert_eq!(session.accept(&[1]).changed, 1);
}

#[test]
fn an_alternative_is_a_decision_until_it_is_gone() {
    let mut sample = Sample::renames("int f(void) { x(1); }\n", "x", "y");
    let mut other = Fix::safe("rename to z");
    other.replace(FileId(0), ByteSpan::new(14, 15), "z");
    let Outcome::Fix(fix) = &mut sample.findings[0].outcome else {
        panic!()
    };
    fix.alternatives.push(other.clone());
    let choice = Decision::Alternative("rename to z".into());
    let mut session = sample.session(Ledger::default());
    let record = session.accept_as(0, choice.clone()).record.unwrap();
    assert_eq!(*session.fix(0), other);
    assert_eq!(session.counts().accepted, 1);
    session.accept_as(0, Decision::Accepted);
    assert_eq!(session.fix(0).title, "rename");
    session.undo();
    assert_eq!(*session.decision(0), choice);

    let gone = Sample::renames("int f(void) { x(1); }\n", "x", "y");
    let session = gone.session(Ledger::replay([record]));
    assert_eq!(words(&session), ["undecided"]);
    assert_eq!(session.stale().count(), 1);
}
