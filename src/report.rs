//! Every line that redlease prints: its own words are single lines on stderr, `redlease: …`, or one JSON object
//! each with `--log-format json`.

pub mod json;
pub mod outcome;
pub mod screen;
pub mod waiting;
pub mod words;

use std::io::{IsTerminal, Write};

use serde::Serialize;

/// How loud a line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Only with `-v`.
    Info,
    /// Refusals and notes: unless `--quiet`.
    Warning,
    /// Why the job did not run, or was stopped: always.
    Error,
}

/// Where redlease's own lines go.
#[derive(Clone, Copy, Debug, Default)]
pub struct Log {
    pub quiet: bool,
    pub verbose: bool,
    pub json: bool,
}

#[derive(Serialize)]
struct Line<'a> {
    time: String,
    level: Level,
    message: &'a str,
}

impl Log {
    pub fn say(self, level: Level, text: &str) {
        let heard = match level {
            Level::Info => self.verbose,
            Level::Warning => !self.quiet,
            Level::Error => true,
        };
        if heard {
            self.write(level, text);
        }
    }

    fn write(self, level: Level, text: &str) {
        let text = clean(text);
        if self.json {
            let time = humantime::format_rfc3339_millis(std::time::SystemTime::now()).to_string();
            let line = Line {
                time,
                level,
                message: &text,
            };
            if let Ok(line) = serde_json::to_string(&line) {
                stderr(&format!("{line}\n"));
            }
        } else {
            stderr(&format!("redlease: {text}\n"));
        }
    }

    /// Whether a line may be redrawn in place.
    pub fn redraws(self) -> bool {
        !self.quiet && !self.json && std::io::stderr().is_terminal()
    }
}

/// One write, so that lines of several processes do not mix. A closed terminal is no reason to fail.
pub fn stderr(text: &str) {
    ignore(std::io::stderr().lock().write_all(text.as_bytes()));
}

/// Says what a user asked for. An error (a full disk, a closed pipe) is the caller's to tell.
pub fn stdout(text: &str) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

fn ignore(_unheard: std::io::Result<()>) {}

/// What comes from Redis or from other hosts never moves the cursor or forges a line: control characters, and
/// those that turn the direction of text around, are replaced.
pub fn clean(text: &str) -> String {
    text.chars()
        .map(|c| if hostile(c) { '\u{fffd}' } else { c })
        .collect()
}

fn hostile(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{2028}' | '\u{2029}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_from_outside_moves_the_cursor() {
        assert_eq!(
            clean("a\x1b[2Jb\nc\u{9b}d\u{202e}e"),
            "a\u{fffd}[2Jb\u{fffd}c\u{fffd}d\u{fffd}e"
        );
        assert_eq!(clean("héllo ☃"), "héllo ☃");
    }
}
