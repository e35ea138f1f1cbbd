//! One picture of the review.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Clear, Paragraph, Wrap};

use super::text::{diff_line, printable};
use super::{Mode, Screen};
use crate::cli::review::batch::level;
use crate::cli::review::desk::Desk;
use crate::cli::review::keys::{KEYS, name};
use crate::cli::review::why::{Reason, described, why};
use crate::edit::Confidence;
use crate::review::{Counts, Group};

/// From this width on the reason stands beside the diff; below it, under it.
const WIDE: u16 = 100;
/// Below this width the reason is shown only when asked for, in place of the diff.
const NARROW: u16 = 60;

/// Rows that a message may take from the diff.
const MAX_MESSAGE: u16 = 6;

/// Keys that are always in sight.
const FOOTER: [&str; 14] = [
    "y accept",
    "n reject",
    "? all keys",
    "w write",
    "q leave",
    "u undo",
    "j/k next/previous",
    "e edit",
    "o alternative",
    "i why",
    "z function",
    "a rest of file",
    "R rule",
    "v old/new",
];

/// How kinds of text look. Without colours the signs and the weight tell them apart.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Palette {
    pub(super) file: Style,
    pub(super) hunk: Style,
    pub(super) old: Style,
    pub(super) new: Style,
    pub(super) differs: Style,
    safe: Style,
    risky: Style,
    label: Style,
}

impl Palette {
    pub(super) fn new(colored: bool) -> Self {
        let color = |color| {
            if colored {
                Style::new().fg(color)
            } else {
                Style::new()
            }
        };
        Self {
            file: Style::new().add_modifier(Modifier::BOLD),
            hunk: color(Color::Cyan),
            old: color(Color::Red),
            new: color(Color::Green),
            differs: Style::new().add_modifier(Modifier::REVERSED),
            safe: color(Color::Green),
            risky: color(Color::Yellow).add_modifier(Modifier::BOLD),
            label: color(Color::Cyan).add_modifier(Modifier::BOLD),
        }
    }
}

/// Draws the whole screen.
pub(super) fn screen(frame: &mut Frame<'_>, desk: &Desk<'_>, screen: &mut Screen) {
    let Some(group) = desk.session.current() else {
        return;
    };
    let said = said(desk, screen);
    let said_lines = rows(&said, frame.area().width);
    let said = Paragraph::new(said).wrap(Wrap { trim: false });
    let [head, body, message, keys] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Min(3),
        Constraint::Length(said_lines),
        Constraint::Length(1),
    ])
    .areas(frame.area());
    frame.render_widget(header(desk, group, screen.palette, head.width), head);
    let (diff_area, why_area) = panes(body, desk.look.why);
    diff(frame, diff_area, desk, group, screen);
    reason(frame, why_area, desk, group, screen);
    frame.render_widget(said, message);
    frame.render_widget(footer(keys.width), keys);
    if matches!(screen.mode, Mode::Help) {
        help(frame, body);
    }
}

/// Rows that a message takes, up to a limit.
fn rows(text: &str, width: u16) -> u16 {
    let width = usize::from(width.max(1));
    let rows = text
        .lines()
        .map(|line| line.chars().count().div_ceil(width).max(1))
        .sum::<usize>();
    u16::try_from(rows)
        .unwrap_or(u16::MAX)
        .clamp(1, MAX_MESSAGE)
}

/// Where diff and reason go; an empty area hides one. `toggled` turns the reason off where there
/// is room for both, and on where there is not.
fn panes(body: Rect, toggled: bool) -> (Rect, Rect) {
    let hidden = Rect::default();
    if body.width < NARROW {
        return if toggled {
            (hidden, body)
        } else {
            (body, hidden)
        };
    }
    if toggled {
        return (body, hidden);
    }
    let parts = [Constraint::Percentage(62), Constraint::Percentage(38)];
    let layout = if body.width < WIDE {
        Layout::vertical(parts)
    } else {
        Layout::horizontal(parts)
    };
    let [diff, why] = layout.areas(body);
    (diff, why)
}

fn header(desk: &Desk<'_>, group: &Group<'_>, palette: Palette, width: u16) -> Line<'static> {
    let position = desk.session.position();
    let Counts {
        accepted,
        rejected,
        open,
    } = desk.session.counts();
    let progress = match width {
        ..WIDE => format!("{accepted} ✓  {rejected} ✗  {open} ?"),
        _ => format!("{accepted} accepted {rejected} rejected {open} open"),
    };
    let confidence = desk.shown(group).confidence;
    let level_style = match confidence {
        Confidence::Safe => palette.safe,
        Confidence::Review => palette.risky,
    };
    let rule = group.finding.rule;
    Line::from(vec![
        Span::raw(format!(
            " {}/{}  ",
            position + 1,
            desk.session.groups().len()
        )),
        Span::styled(format!("{}  ", group.id), palette.label),
        Span::raw(format!("{} ", rule.code)),
        Span::styled(level(confidence), level_style),
        Span::raw(format!("  {}", described(desk.session.decision(position)))),
        // What a narrow screen cuts off comes last.
        Span::raw(format!("  | {progress}")),
        Span::raw(format!("  {}", rule.name)),
    ])
}

fn diff(
    frame: &mut Frame<'_>,
    area: Rect,
    desk: &Desk<'_>,
    group: &Group<'_>,
    screen: &mut Screen,
) {
    if area.is_empty() {
        return;
    }
    let function = group
        .finding
        .function
        .as_deref()
        .map_or(String::new(), |f| format!(" {f}()"));
    let title = format!(" {}:{}{function} ", group.path, group.line);
    let block = Block::bordered().title(title);
    let lines = desk.excerpt(group);
    let inner = block.inner(area).height;
    let beyond = u16::try_from(lines.len())
        .unwrap_or(u16::MAX)
        .saturating_sub(inner);
    screen.scroll = screen.scroll.min(beyond);
    let visible = lines.iter().skip(screen.scroll.into()).take(inner.into());
    let visible: Vec<_> = visible
        .map(|line| diff_line(line, screen.palette))
        .collect();
    let block = match beyond - screen.scroll {
        0 => block,
        more => block.title_bottom(format!(" {more} more lines, Down or PgDn ")),
    };
    frame.render_widget(Paragraph::new(visible).block(block), area);
}

fn reason(frame: &mut Frame<'_>, area: Rect, desk: &Desk<'_>, group: &Group<'_>, screen: &Screen) {
    let line = |reason: Reason| {
        let mut spans = Vec::new();
        if !reason.label.is_empty() {
            spans.push(Span::styled(
                format!("{:8}", reason.label),
                screen.palette.label,
            ));
        }
        spans.push(Span::raw(printable(&reason.text, &mut 0)));
        Line::from(spans)
    };
    let lines: Vec<_> = why(desk, group).into_iter().map(line).collect();
    // In place of the diff it has the arrow keys.
    let is_alone = area.width < NARROW;
    let scroll = if is_alone { screen.scroll } else { 0 };
    let text = Paragraph::new(lines)
        .wrap(Wrap { trim: false })
        .scroll((scroll, 0));
    frame.render_widget(text.block(Block::bordered().title(" why ")), area);
}

fn said(desk: &Desk<'_>, screen: &Screen) -> String {
    match &screen.mode {
        Mode::Ask(question, typed) => format!(" {}{typed}_", question.text()),
        Mode::Fix | Mode::Help => match desk.message.as_str() {
            "" => String::new(),
            message => format!(" {message}"),
        },
    }
}

/// The keys that fit, the most important ones first.
fn footer(width: u16) -> String {
    let mut line = String::new();
    for key in FOOTER {
        if line.len() + key.len() + 2 > usize::from(width) {
            break;
        }
        line.push_str(if line.is_empty() { " " } else { "  " });
        line.push_str(key);
    }
    line
}

fn help(frame: &mut Frame<'_>, body: Rect) {
    let entry = |key: char, text: &str| format!(" {:5} {text}", name(key));
    let entries: Vec<_> = KEYS
        .iter()
        .map(|(key, _, text)| entry(*key, text))
        .collect();
    // Two columns where one does not fit.
    let rows = usize::from(body.height.saturating_sub(2)).max(1);
    let columns: Vec<_> = entries
        .chunks(rows)
        .map(|column| column.join("\n"))
        .collect();
    frame.render_widget(Clear, body);
    let block = Block::bordered().title(" keys; any key closes this ");
    let inner = block.inner(body);
    frame.render_widget(block, body);
    let parts = columns.iter().map(|_| Constraint::Fill(1));
    for (area, column) in Layout::horizontal(parts).split(inner).iter().zip(columns) {
        frame.render_widget(Paragraph::new(column), *area);
    }
}
