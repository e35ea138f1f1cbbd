//! Prompts line by line: for simple terminals, screen readers and pipes.

use std::fmt::Write as _;
use std::io::{self, BufRead};

use super::desk::{Desk, Next};
use super::keys::{Action, KEYS, action, name};
use super::why::{described, why};
use crate::cli::talk::{Talk, write_results};
use crate::review::{Group, LineKind};

const PROMPT: &str = "Accept this fix [y,n,q,a,c,d,e,j,k,J,K,g,/,o,s,u,w,?]? ";

/// Asks for one fix after the other; the end of the input leaves without writing.
pub(super) fn ask(desk: &mut Desk<'_>, _talk: &Talk) -> anyhow::Result<Next> {
    let mut shown = None;
    loop {
        let position = desk.session.position();
        let edited = desk.session.decision(position).is_edited();
        let state = (position, desk.look, edited, desk.form());
        if shown != Some(state) {
            write_results(current(desk).as_bytes())?;
            shown = Some(state);
        }
        say(desk)?;
        let Some(line) = read(PROMPT)? else {
            return Ok(Next::Leave);
        };
        let open_before = desk.session.counts().open;
        let mut next = obey(desk, &line)?;
        // As in git the last decision ends the review.
        if next == Next::Stay && open_before > 0 && desk.session.counts().open == 0 {
            say(desk)?;
            next = obey(desk, "q")?;
        }
        match next {
            Next::Help => write_results(help().as_bytes())?,
            Next::Write { .. } | Next::Confirm(_) | Next::Retract(_) | Next::Leave => {
                return Ok(next);
            }
            Next::Stay | Next::Ask(_) | Next::Edit => {}
        }
    }
}

/// Does what a line asks for, and asks what it leaves open.
fn obey(desk: &mut Desk<'_>, line: &str) -> anyhow::Result<Next> {
    let mut chars = line.chars();
    let Some(wanted) = chars.next().and_then(action) else {
        desk.message = "? lists all keys".to_owned();
        return Ok(Next::Stay);
    };
    let mut next = desk.act(wanted)?;
    // `/text` and `g3` need no second line.
    let mut rest = chars.as_str().trim();
    loop {
        next = match next {
            Next::Edit => desk.edit()?,
            Next::Ask(question) => {
                let answer = match question.is_choice() || rest.is_empty() {
                    true => read(&question.text())?,
                    false => Some(std::mem::take(&mut rest).to_owned()),
                };
                match answer {
                    Some(answer) => desk.answer(question, &answer)?,
                    None => return Ok(Next::Leave),
                }
            }
            other => return Ok(other),
        }
    }
}

fn say(desk: &Desk<'_>) -> io::Result<()> {
    match desk.message.as_str() {
        "" => Ok(()),
        message => write_results(format!("{message}\n").as_bytes()),
    }
}

/// The line that is typed at `prompt`, without its end; `None` at the end of the input.
fn read(prompt: &str) -> io::Result<Option<String>> {
    write_results(prompt.as_bytes())?;
    let mut line = Vec::new();
    if io::stdin().lock().read_until(b'\n', &mut line)? == 0 {
        // Where nobody types, nobody ends the line either.
        write_results(b"\n")?;
        return Ok(None);
    }
    let line = String::from_utf8_lossy(&line);
    Ok(Some(line.trim_end_matches(['\n', '\r']).to_owned()))
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
