//! What was typed, and what it means: the environment, rules across options, defaults. Nothing here asks Redis.

pub mod connection;
mod handed;
pub mod holding;
pub mod run;
pub mod source;
pub mod stack;
pub mod view;

use std::fmt;
use std::time::Duration;

use crate::cli::values::WaitFor;
use crate::cli::words::{LogFormat, Voice as TypedVoice};
use crate::exit::Exit;
use crate::lease::names::{Key, Names, Prefix, RawKey};
pub use crate::lease::policy::Wait;
use crate::report::Log;
use source::Source;

/// Why a command does not begin: 64 for what was typed (or a variable says), 78 for a file.
#[derive(Debug, PartialEq, Eq)]
pub struct Refused {
    pub exit: Exit,
    /// One line for stderr, without `redlease: ` before it.
    pub text: String,
}

impl Refused {
    pub fn usage(text: impl Into<String>) -> Refused {
        Refused {
            exit: Exit::Usage,
            text: text.into(),
        }
    }

    pub fn config(text: impl Into<String>) -> Refused {
        Refused {
            exit: Exit::Config,
            text: text.into(),
        }
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.text)
    }
}

impl std::error::Error for Refused {}

/// How redlease's own lines look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Voice {
    pub quiet: bool,
    pub verbose: bool,
    pub json: bool,
}

impl Voice {
    pub fn log(self) -> Log {
        Log {
            quiet: self.quiet,
            verbose: self.verbose,
            json: self.json,
        }
    }
}

/// How long the record of the last run is kept.
pub const RETAIN: Duration = Duration::from_secs(30 * 24 * 3600);
pub const TTL: Duration = Duration::from_secs(30);

fn voice(typed: &TypedVoice, source: &Source) -> Result<Voice, Refused> {
    if typed.quiet && typed.verbose {
        return Err(Refused::usage(
            "-q and -v contradict each other: one says less, the other more",
        ));
    }
    let quiet = typed.quiet || (!typed.verbose && source.switch("REDLEASE_QUIET")?);
    let verbose = typed.verbose || (!typed.quiet && source.switch("REDLEASE_VERBOSE")?);
    let format = source.or(typed.log_format, "REDLEASE_LOG_FORMAT", |text| match text {
        "text" => Ok(LogFormat::Text),
        "json" => Ok(LogFormat::Json),
        _ => Err("write text or json".to_owned()),
    })?;
    Ok(Voice {
        quiet,
        verbose: verbose && !quiet,
        json: format == Some(LogFormat::Json),
    })
}

fn wait(nonblock: bool, wait: Option<WaitFor>) -> Result<Wait, Refused> {
    match wait {
        Some(_) if nonblock => Err(Refused::usage(
            "-n and -w contradict each other: -n does not wait, -w waits",
        )),
        Some(WaitFor::Limit(limit)) => Ok(Wait::For(limit)),
        Some(WaitFor::Forever) => Ok(Wait::Forever),
        None => Ok(Wait::No),
    }
}

/// The keys in Redis of what was typed; `option` is how it was given.
fn names(prefix: &Prefix, key: &str, raw: bool, option: &str) -> Result<Names, Refused> {
    let bad = |why: &dyn fmt::Display| {
        let shown: String = key.chars().take(80).collect();
        Refused::usage(format!("{option} {shown:?} is no name of a lease: {why}"))
    };
    if raw {
        let key: RawKey = key.parse().map_err(|why| bad(&why))?;
        Ok(Names::raw(prefix, &key))
    } else {
        let key: Key = key.parse().map_err(|why| bad(&why))?;
        Ok(Names::new(prefix, &key))
    }
}

/// A duration as people write it.
fn shown(duration: Duration) -> String {
    humantime::format_duration(Duration::from_millis(
        u64::try_from(duration.as_millis()).unwrap_or(u64::MAX),
    ))
    .to_string()
}

#[cfg(test)]
#[path = "plan/tests.rs"]
mod tests;
