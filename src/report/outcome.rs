//! `--report FILE`: how a run went, as one JSON object that tells the job's codes from redlease's own.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use serde::Serialize;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    Completed,
    Signalled,
    Lost,
    Broken,
    MaxRun,
    Refused,
    AlreadyDone,
    Unavailable,
    NotStarted,
}

impl Outcome {
    /// By its word in the record of the last run.
    pub fn of(word: &str) -> Outcome {
        match word {
            "completed" => Outcome::Completed,
            "signalled" => Outcome::Signalled,
            "lost" => Outcome::Lost,
            "broken" => Outcome::Broken,
            "max_run" => Outcome::MaxRun,
            "refused" => Outcome::Refused,
            "already_done" => Outcome::AlreadyDone,
            "unavailable" => Outcome::Unavailable,
            _ => Outcome::NotStarted,
        }
    }
}

/// Names are promised: see redlease-run(1). Numbers that do not apply are null.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    pub outcome: Outcome,
    /// The exit code of redlease, as a shell sees it.
    pub exit_code: u8,
    /// The job's own code, if it exited.
    pub job_code: Option<u8>,
    /// The signal that ended the job.
    pub job_signal: Option<i32>,
    pub key: String,
    pub slot: Option<u8>,
    pub fence: Option<u64>,
    pub waited_ms: u64,
    pub held_ms: Option<u64>,
    pub renewals: u64,
    pub restored: u64,
    /// Why the job did not run, was stopped, or the release is unsure.
    pub message: Option<String>,
}

/// A file that can be written is looked for before anything is asked of Redis.
pub fn writable(path: &Path) -> io::Result<()> {
    if descriptor(path) && !standard_error(path) {
        return Err(io::Error::new(
            io::ErrorKind::Unsupported,
            "standard output and the other open descriptors are the job's alone: use /dev/stderr or a file",
        ));
    }
    if fs::metadata(path).is_ok_and(|meta| meta.file_type().is_fifo()) {
        // Its reader would take the end of this look for the end of the report.
        return Ok(());
    }
    if special(path) {
        return fs::OpenOptions::new().append(true).open(path).map(|_| ());
    }
    let (beside, _) = beside(path)?;
    create(&beside)?;
    fs::remove_file(beside)
}

/// Written beside and renamed, so that no reader sees half an object; a device such as /dev/stderr is written to.
pub fn write(path: &Path, report: &Report) -> io::Result<()> {
    let mut text = serde_json::to_string(report)?;
    text.push('\n');
    if special(path) {
        return fs::OpenOptions::new()
            .append(true)
            .open(path)?
            .write_all(text.as_bytes());
    }
    let (beside, target) = beside(path)?;
    let mut file = create(&beside)?;
    let written = file
        .write_all(text.as_bytes())
        .and_then(|()| fs::rename(&beside, target));
    if written.is_err() {
        return fs::remove_file(&beside).and(written);
    }
    written
}

/// A file that is not ours to replace: a device, a pipe, or a name for an open descriptor such as /dev/stderr,
/// which may lead to an ordinary file that others write to as well.
fn special(path: &Path) -> bool {
    descriptor(path) || fs::metadata(path).is_ok_and(|meta| !meta.is_file() && !meta.is_dir())
}

fn descriptor(path: &Path) -> bool {
    ["/proc", "/dev/fd", "/dev/stdout", "/dev/stderr"]
        .iter()
        .any(|top| path.starts_with(top))
}

fn standard_error(path: &Path) -> bool {
    ["/dev/stderr", "/dev/fd/2", "/proc/self/fd/2"]
        .iter()
        .any(|name| path == Path::new(name))
}

/// Through a link, so that the link stays.
fn beside(path: &Path) -> io::Result<(PathBuf, PathBuf)> {
    let path = &fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let name = path
        .file_name()
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "not a file name"))?;
    if path.is_dir() {
        return Err(io::Error::new(
            io::ErrorKind::IsADirectory,
            "it is a directory",
        ));
    }
    let mut own = name.to_owned();
    own.push(format!(".{}", std::process::id()));
    Ok((path.with_file_name(own), path.clone()))
}

fn create(path: &Path) -> io::Result<fs::File> {
    fs::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o644)
        .open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_report_has_the_promised_names() {
        let report = Report {
            outcome: Outcome::MaxRun,
            exit_code: 124,
            job_code: None,
            job_signal: Some(15),
            key: "k".into(),
            slot: Some(1),
            fence: Some(1_700_000_000_000_000),
            waited_ms: 3,
            held_ms: Some(1000),
            renewals: 2,
            restored: 0,
            message: None,
        };
        assert_eq!(
            serde_json::to_string(&report).unwrap(),
            r#"{"outcome":"max_run","exit_code":124,"job_code":null,"job_signal":15,"key":"k","slot":1,"fence":1700000000000000,"waited_ms":3,"held_ms":1000,"renewals":2,"restored":0,"message":null}"#
        );
    }
}
