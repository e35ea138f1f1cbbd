//! Colours for a patch on a terminal.

use anstyle::{AnsiColor, Style};

/// The patch with the colours that git uses.
pub(super) fn diff(patch: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(patch.len() * 2);
    for line in patch.split_inclusive(|&byte| byte == b'\n') {
        let text = line.strip_suffix(b"\n").unwrap_or(line);
        let style = style(text);
        out.extend(format!("{style}").into_bytes());
        out.extend(text);
        out.extend(format!("{style:#}").into_bytes());
        out.extend(&line[text.len()..]);
    }
    out
}

fn style(line: &[u8]) -> Style {
    let color = |color: AnsiColor| Style::new().fg_color(Some(color.into()));
    let header: [&[u8]; 5] = [b"diff ", b"index ", b"--- ", b"+++ ", b"new file "];
    if header.iter().any(|start| line.starts_with(start)) {
        return Style::new().bold();
    }
    match line.first() {
        Some(b'+') => color(AnsiColor::Green),
        Some(b'-') => color(AnsiColor::Red),
        Some(b'@') => color(AnsiColor::Cyan),
        _ => Style::new(),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn only_styles_are_added() {
        let patch = b"--- a/x\n+++ b/x\n@@ -1 +1 @@\n-\xe9\n+b\n c";
        let painted = super::diff(patch);
        assert_ne!(painted, patch);
        let plain = String::from_utf8_lossy(&painted);
        let plain = anstream::adapter::strip_str(&plain).to_string();
        assert_eq!(plain, String::from_utf8_lossy(patch));
    }
}
