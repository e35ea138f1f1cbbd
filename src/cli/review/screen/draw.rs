//! One picture of the review.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Paragraph};

use super::text::{diff_line, printable, wrapped};
use super::{Mode, Screen};
use crate::cli::review::batch::level;
use crate::cli::review::desk::Desk;
use crate::cli::review::keys::{KEYS, name};
use crate::cli::review::look::Panes;
use crate::cli::review::why::{Reason, described, why};
use crate::edit::Confidence;
use crate::review::{Counts, Group, beginning};

/// From this width on the reason stands beside the diff; below it, under it.
const WIDE: u16 = 100;
/// Below this width the reason is shown only when asked for, in place of the diff.
const NARROW: u16 = 60;

/// Rows that a message may take from the diff.
const MAX_MESSAGE: u16 = 6;

/// Below this height the terminal has no rows for keys, or for a message that is not there.
const LOW: u16 = 8;
/// Below this height two panes cannot stand one above the other.
const LOW_BODY: u16 = 10;
/// The keys that lead to what is below.
const SCROLLS: &str = "Down or PgDn";
/// Below this height a pane has no frame.
const LOW_FRAME: u16 = 4;

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
    let width = frame.area().width;
    let said = said(desk, screen);
    let said: Vec<_> = said
        .lines()
        .flat_map(|line| wrapped(line, width.into(), 1))
        .collect();
    let [head, body, message, keys] = areas(frame.area(), said.len());
    // The end of a question says what can be answered.
    let hidden = said.len().saturating_sub(message.height.into());
    let said: Vec<_> = said.into_iter().skip(hidden).map(Line::raw).collect();
    frame.render_widget(header(desk, group, screen.palette, width), head);
    if let Mode::Help(scroll) = &mut screen.mode {
        help(frame, body, scroll);
    } else {
        screen.is_small = is_small(body);
        let (diff_area, why_area) = panes(body, desk.look.panes);
        if !diff_area.is_empty() {
            diff(frame, diff_area, desk, group, screen);
        }
        if !why_area.is_empty() {
            reason(frame, why_area, desk, group, screen);
        }
    }
    frame.render_widget(Paragraph::new(said), message);
    frame.render_widget(Line::raw(footer(width)), keys);
}

/// The rows of header, body, message and keys. On a terminal of a few rows the message, which may
/// be a question, comes first, then the body.
fn areas(area: Rect, said: usize) -> [Rect; 4] {
    let is_low = area.height < LOW;
    let said = u16::try_from(said).unwrap_or(u16::MAX);
    let most = MAX_MESSAGE.min((area.height / 2).max(1));
    let message = said.clamp(u16::from(!is_low), most);
    let head = u16::from(area.height >= message + 2);
    let keys = u16::from(!is_low);
    let rows = [
        head,
        area.height.saturating_sub(head + message + keys),
        message,
        keys,
    ];
    Layout::vertical(rows.map(Constraint::Length)).areas(area)
}

/// Whether there is no room for the diff and the reason at once.
fn is_small(body: Rect) -> bool {
    body.width < NARROW || body.width < WIDE && body.height < LOW_BODY
}

/// Where diff and reason go; an empty area hides one.
fn panes(body: Rect, wanted: Panes) -> (Rect, Rect) {
    let hidden = Rect::default();
    match wanted {
        Panes::Both if !is_small(body) => {}
        Panes::Reason => return (hidden, body),
        Panes::Both | Panes::Diff => return (body, hidden),
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

/// A frame with a title, unless it would take all of the room.
fn framed(area: Rect, title: String) -> Block<'static> {
    if area.height < LOW_FRAME {
        return Block::new();
    }
    Block::bordered().title(title)
}

/// How much of a text is above and below what is in sight; nothing if all is.
fn beyond(above: usize, below: usize, key: &str) -> String {
    match (above, below) {
        (0, 0) => String::new(),
        (0, below) => format!(" {below} more lines, {key} "),
        (above, 0) => format!(" {above} lines above "),
        (above, below) => format!(" {above} lines above, {below} below "),
    }
}

/// Draws the part of `lines` that begins with `wanted`, or earlier if the end leaves room; `key` leads
/// to what is below. Gives the first line that is in sight.
fn part(
    frame: &mut Frame<'_>,
    area: Rect,
    (title, key): (String, &str),
    lines: Vec<Line<'_>>,
    wanted: usize,
) -> usize {
    let mut block = framed(area, title);
    let height = usize::from(block.inner(area).height);
    let first = wanted.min(lines.len().saturating_sub(height));
    let below = lines.len().saturating_sub(first + height);
    if area.height >= LOW_FRAME {
        block = block.title_bottom(beyond(first, below, key));
    }
    let visible: Vec<_> = lines.into_iter().skip(first).take(height).collect();
    frame.render_widget(Paragraph::new(visible).block(block), area);
    first
}

/// The room within a frame.
fn within(area: Rect) -> Rect {
    framed(area, String::new()).inner(area)
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
    let function = group
        .finding
        .function
        .as_deref()
        .map_or(String::new(), |f| format!(" {f}()"));
    let title = format!(" {}:{}{function} ", group.path, group.line);
    let lines = desk.excerpt(group);
    let wanted = screen.scroll.unwrap_or_else(|| beginning(&lines, group));
    let lines = lines
        .iter()
        .map(|line| diff_line(line, screen.palette))
        .collect();
    let first = part(frame, area, (title, SCROLLS), lines, wanted);
    screen.scroll = Some(first);
}

fn reason(
    frame: &mut Frame<'_>,
    area: Rect,
    desk: &Desk<'_>,
    group: &Group<'_>,
    screen: &mut Screen,
) {
    let width = within(area).width.into();
    let lines = why(desk, group)
        .iter()
        .flat_map(|reason| reason_lines(reason, width, screen.palette))
        .collect();
    // Beside the diff, which has the arrow keys, it shows its beginning.
    let is_alone = desk.look.panes == Panes::Reason;
    let wanted = screen.scroll.filter(|_| is_alone).unwrap_or(0);
    let key = if is_alone { SCROLLS } else { "i" };
    let first = part(frame, area, (" why ".to_owned(), key), lines, wanted);
    if is_alone {
        screen.scroll = Some(first);
    }
}

fn reason_lines(reason: &Reason, width: usize, palette: Palette) -> Vec<Line<'static>> {
    let label = match reason.label {
        "" => String::new(),
        label => format!("{label:8}"),
    };
    let text = format!("{label}{}", printable(&reason.text, &mut 0));
    let mut lines: Vec<Line<'static>> = wrapped(&text, width, 0)
        .into_iter()
        .map(Line::raw)
        .collect();
    let first: String = lines[0].spans.iter().map(|span| &*span.content).collect();
    if !label.is_empty() {
        let (label, text) = first.split_at(label.len().min(first.len()));
        lines[0] = Line::from(vec![
            Span::styled(label.to_owned(), palette.label),
            Span::raw(text.to_owned()),
        ]);
    }
    lines
}

fn said(desk: &Desk<'_>, screen: &Screen) -> String {
    match &screen.mode {
        Mode::Ask(question, typed) => format!(" {}{typed}_", question.text()),
        Mode::Fix | Mode::Help(_) => match desk.message.as_str() {
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

/// All keys, in as many columns as fit without cutting the text.
fn help(frame: &mut Frame<'_>, body: Rect, scroll: &mut usize) {
    let entry = |key: char, text: &str| format!(" {:5} {text}", name(key));
    let entries: Vec<_> = KEYS
        .iter()
        .map(|(key, _, text)| entry(*key, text))
        .collect();
    let inner = within(body);
    let (width, height) = (usize::from(inner.width), usize::from(inner.height));
    let longest = entries.iter().map(|it| it.chars().count() + 1).max();
    let columns = (width / longest.unwrap_or(1)).max(1);
    let (rows, wide) = (entries.len().div_ceil(columns), width / columns);
    let lines: Vec<String> = match columns {
        1 => entries
            .iter()
            .flat_map(|entry| wrapped(entry, width, 7))
            .collect(),
        _ => (0..rows)
            .map(|row| {
                let of_row = entries[row..].iter().step_by(rows);
                of_row.map(|entry| format!("{entry:<wide$}")).collect()
            })
            .collect(),
    };
    let title = match lines.len() > height {
        true => " keys; arrow keys scroll, any other key closes this ",
        false => " keys; any key closes this ",
    };
    let lines = lines.into_iter().map(Line::raw).collect();
    *scroll = part(frame, body, (title.to_owned(), SCROLLS), lines, *scroll);
}
