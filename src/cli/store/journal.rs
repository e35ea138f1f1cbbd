//! The decisions of a review as JSON lines, each on the disk before the next key is read.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::review::Record;

/// An open journal.
#[derive(Debug)]
pub(in crate::cli) struct Journal {
    file: File,
    path: PathBuf,
}

/// What an existing journal holds.
#[derive(Debug, Default)]
pub(in crate::cli) struct Kept {
    /// Its records, in order.
    pub(in crate::cli) records: Vec<Record>,
    /// Numbers of whole lines that are no records, from 1.
    pub(in crate::cli) unreadable: Vec<usize>,
}

impl Journal {
    /// Opens the journal at `path`, and makes it where there is none. A last line without its end
    /// was cut off by a crash and is dropped.
    ///
    /// # Errors
    /// What the system says.
    pub(in crate::cli) fn open(path: &Path) -> anyhow::Result<(Self, Kept)> {
        let context = || format!("cannot open the journal `{}`", path.display());
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)
            .with_context(context)?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).with_context(context)?;
        let whole = whole(&bytes);
        let cut = |file: &mut File| -> io::Result<()> {
            file.set_len(whole as u64)?;
            file.seek(SeekFrom::Start(whole as u64)).map(drop)
        };
        cut(&mut file).with_context(context)?;
        let journal = Self {
            file,
            path: path.to_path_buf(),
        };
        Ok((journal, parse(&bytes[..whole])))
    }

    /// What the journal at `path` holds so far; it stays as it is, also while another process
    /// writes it.
    ///
    /// # Errors
    /// What the system says.
    pub(in crate::cli) fn read(path: &Path) -> anyhow::Result<Kept> {
        let bytes = match fs::read(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            read => {
                read.with_context(|| format!("cannot read the journal `{}`", path.display()))?
            }
        };
        Ok(parse(&bytes[..whole(&bytes)]))
    }

    /// Adds records; they are on the disk when this returns.
    ///
    /// # Errors
    /// What the system says.
    pub(in crate::cli) fn append(&mut self, records: &[Record]) -> anyhow::Result<()> {
        if records.is_empty() {
            return Ok(());
        }
        let mut lines = Vec::new();
        for record in records {
            serde_json::to_writer(&mut lines, record).expect("strings always serialise");
            lines.push(b'\n');
        }
        self.file
            .write_all(&lines)
            .and_then(|()| self.file.sync_data())
            .with_context(|| format!("cannot write the journal `{}`", self.path.display()))
    }
}

/// How many of `bytes` are whole lines.
fn whole(bytes: &[u8]) -> usize {
    let last = bytes.iter().rposition(|&byte| byte == b'\n');
    last.map_or(0, |at| at + 1)
}

fn parse(bytes: &[u8]) -> Kept {
    let mut kept = Kept::default();
    for (number, line) in (1..).zip(bytes.split_inclusive(|&byte| byte == b'\n')) {
        match serde_json::from_slice(line) {
            Ok(record) => kept.records.push(record),
            Err(_) => kept.unreadable.push(number),
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::Journal;
    use crate::review::Record;

    #[test]
    fn records_come_back_whatever_the_crash_left() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("review.jsonl");
        let (mut journal, kept) = Journal::open(&path).unwrap();
        assert!(kept.records.is_empty());
        journal.append(&[Record::Undo, Record::Redo]).unwrap();
        drop(journal);
        let whole = fs::read(&path).unwrap();
        // A kill can come between any two bytes.
        for length in 0..=whole.len() {
            fs::write(&path, &whole[..length]).unwrap();
            let read = Journal::read(&path).unwrap();
            assert_eq!(fs::read(&path).unwrap(), whole[..length]);
            let (mut journal, kept) = Journal::open(&path).unwrap();
            let lines = whole[..length]
                .iter()
                .filter(|&&byte| byte == b'\n')
                .count();
            assert_eq!(kept.records, [Record::Undo, Record::Redo][..lines]);
            assert_eq!(read.records, kept.records);
            journal.append(&[Record::Redo]).unwrap();
            let (_, kept) = Journal::open(&path).unwrap();
            assert_eq!((kept.records.len(), kept.unreadable.len()), (lines + 1, 0));
        }
    }

    #[test]
    fn a_line_of_another_kind_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("review.jsonl");
        fs::write(
            &path,
            "{\"do\":\"undo\"}\n{\"do\":\"dance\"}\n\n{\"do\":\"redo\"}\n",
        )
        .unwrap();
        let (_, kept) = Journal::open(&path).unwrap();
        assert_eq!(kept.records, [Record::Undo, Record::Redo]);
        assert_eq!(kept.unreadable, [2, 3]);
    }
}
