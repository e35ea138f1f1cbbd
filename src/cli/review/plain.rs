//! Prompts line by line: for simple terminals, screen readers and pipes.

use std::fmt::Write as _;
use std::io::{self, BufRead, Write};

use super::desk::{Desk, Next};
use super::keys::{Action, KEYS, action, name};
use super::why::{described, why};
use crate::cli::talk::{Talk, write_results};
use crate::review::{Group, LineKind};

/// Asks for one fix after the other; the end of the input leaves without writing.
pub(super) fn ask(desk: &mut Desk<'_>, _talk: &Talk) -> anyhow::Result<Next> {
    let mut lines = io::stdin().lock().lines();
    let mut shown = None;
    loop {
        let state = (desk.session.position(), desk.look);
        if shown != Some(state) {
            write_results(current(desk).as_bytes())?;
            shown = Some(state);
        }
        if !desk.message.is_empty() {
            write_results(format!("{}\n", desk.message).as_bytes())?;
        }
        let Some(key) = read(
            &mut lines,
            "Accept this fix [y,n,q,a,d,j,k,J,K,g,/,s,u,w,?]? ",
        )?
        else {
            return Ok(Next::Leave);
        };
        let Some(wanted) = key.chars().next().and_then(action) else {
            desk.message = "? lists all keys".to_owned();
            continue;
        };
        let open_before = desk.session.counts().open;
        let mut next = desk.act(wanted)?;
        while let Next::Ask(question) = next {
            // `/text` and `g3` need no second line.
            let rest = key.get(1..).unwrap_or_default().trim();
            let is_line = !question.is_choice() && !rest.is_empty();
            let answer = match is_line {
                true => Some(rest.to_owned()),
                false => read(&mut lines, &question.text())?,
            };
            let Some(answer) = answer else {
                return Ok(Next::Leave);
            };
            next = desk.answer(question, &answer)?;
        }
        if next == Next::Stay && open_before > 0 && desk.session.counts().open == 0 {
            write_results(format!("{}\n", desk.message).as_bytes())?;
            next = desk.act(Action::Leave)?;
            if let Next::Ask(question) = next {
                let answer = read(&mut lines, &question.text())?.unwrap_or("n".to_owned());
                next = desk.answer(question, &answer)?;
            }
        }
        match next {
            Next::Help => write_results(help().as_bytes())?,
            Next::Write { .. } | Next::Leave => return Ok(next),
            Next::Stay | Next::Ask(_) => {}
        }
    }
}

fn read(
    lines: &mut impl Iterator<Item = io::Result<String>>,
    prompt: &str,
) -> io::Result<Option<String>> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(prompt.as_bytes())?;
    stdout.flush()?;
    let line = lines.next().transpose()?;
    // Where nobody types, nobody ends the line either.
    if line.is_none() {
        stdout.write_all(b"\n")?;
    }
    Ok(line)
}

/// The fix with its reason and its diff.
fn current(desk: &Desk<'_>) -> String {
    let mut out = String::from("\n");
    let position = desk.session.position();
    let Some(group) = desk.session.current() else {
        return out;
    };
    let total = desk.session.groups().len();
    let (rule, function) = (group.finding.rule, group.finding.function.as_deref());
    let _ = writeln!(
        out,
        "[{}/{total}] {} {} {}  {}:{} {}  ({}; {})",
        position + 1,
        group.id,
        rule.code,
        rule.name,
        group.path,
        group.line,
        function.unwrap_or_default(),
        described(desk.session.decision(position)),
        desk.progress(),
    );
    out += &body(desk, group);
    out
}

/// Reason and diff of a fix.
pub(super) fn body(desk: &Desk<'_>, group: &Group<'_>) -> String {
    let mut out = String::new();
    for reason in why(desk, group) {
        let label = match reason.label {
            "" => String::new(),
            label => format!("{label}: "),
        };
        let _ = writeln!(out, "  {label}{}", reason.text);
    }
    out + &diff(desk, group)
}

/// The diff of a fix.
pub(super) fn diff(desk: &Desk<'_>, group: &Group<'_>) -> String {
    let mut out = String::new();
    for line in desk.excerpt(group) {
        let sign = match line.kind {
            LineKind::File => "=== ",
            LineKind::Hunk => "",
            LineKind::Context => " ",
            LineKind::Old => "-",
            LineKind::New => "+",
        };
        let _ = writeln!(out, "{sign}{}", line.text());
    }
    out
}

fn help() -> String {
    let line = |(key, _, text): &(char, Action, &str)| format!("{:5} {text}\n", name(*key));
    KEYS.iter().map(line).collect()
}
