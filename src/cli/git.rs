//! Questions to git.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Who a letter is from if git does not know the user.
const NOBODY: &str = "ungil <ungil@localhost>";

/// What git prints when it is run in `folder` with `arguments`.
///
/// # Errors
/// What git, or the system in its place, says.
pub(super) fn output<A: AsRef<OsStr>>(
    folder: &Path,
    arguments: impl IntoIterator<Item = A>,
) -> Result<Vec<u8>, String> {
    let output = Command::new("git")
        .arg("--no-optional-locks")
        .args(arguments)
        .current_dir(folder)
        .output()
        .map_err(|error| format!("cannot run git: {error}"))?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).trim().to_owned());
    }
    Ok(output.stdout)
}

/// Name and address of the user, as git has them.
pub(super) fn author(folder: &Path) -> String {
    let identity = output(folder, ["var", "GIT_AUTHOR_IDENT"]).unwrap_or_default();
    let identity = String::from_utf8_lossy(&identity);
    // `Name <address> 1700000000 +0100`
    match identity.rsplit_once('>') {
        Some((who, _)) => format!("{who}>"),
        None => NOBODY.to_owned(),
    }
}

/// Where a forge shows the files of the repository at `root` as they are at HEAD, with a `/` at the
/// end; empty if none is known.
pub(super) fn sources(root: &Path) -> String {
    let text = |arguments: &[&str]| {
        let text = output(root, arguments).ok()?;
        Some(String::from_utf8(text).ok()?.trim().to_owned())
    };
    let remote = text(&["remote", "get-url", "origin"]);
    let pages = remote.and_then(|remote| pages(&remote));
    let commit = text(&["rev-parse", "HEAD"]);
    match pages.zip(commit) {
        Some((pages, commit)) => format!("{pages}/blob/{commit}/"),
        None => String::new(),
    }
}

/// The page of a repository on GitHub or GitLab, whichever way it is fetched from there.
fn pages(remote: &str) -> Option<String> {
    let rest = remote
        .strip_prefix("https://")
        .or_else(|| remote.strip_prefix("git@"));
    let rest = rest.or_else(|| remote.strip_prefix("ssh://git@"))?;
    // Some write a password in front of the host.
    let rest = rest.rsplit('@').next()?;
    let (host, path) = rest.split_once(['/', ':'])?;
    let path = path
        .strip_suffix(".git")
        .unwrap_or(path)
        .trim_end_matches('/');
    let is_plain =
        |byte: u8| matches!(byte, b'-' | b'_' | b'.' | b'/') || byte.is_ascii_alphanumeric();
    let is_known = matches!(host, "github.com" | "gitlab.com") && path.bytes().all(is_plain);
    is_known.then(|| format!("https://{host}/{path}"))
}

/// A path as git prints it with `-z`.
pub(super) fn path(bytes: &[u8]) -> PathBuf {
    PathBuf::from(os_string(bytes))
}

#[cfg(unix)]
fn os_string(bytes: &[u8]) -> OsString {
    use std::os::unix::ffi::OsStrExt;
    OsStr::from_bytes(bytes).to_owned()
}

#[cfg(not(unix))]
fn os_string(bytes: &[u8]) -> OsString {
    String::from_utf8_lossy(bytes).as_ref().into()
}

#[cfg(test)]
mod tests {
    use super::pages;

    #[test]
    fn a_repository_has_its_page_on_a_forge() {
        let page = Some("https://github.com/a/b".to_owned());
        for remote in [
            "https://github.com/a/b.git",
            "https://user:secret@github.com/a/b/",
            "git@github.com:a/b.git",
            "ssh://git@github.com/a/b",
        ] {
            assert_eq!(pages(remote), page, "{remote}");
        }
        for remote in [
            "/srv/b.git",
            "https://example.org/a/b",
            "git@github.com:a/\"b",
        ] {
            assert_eq!(pages(remote), None, "{remote}");
        }
    }
}
