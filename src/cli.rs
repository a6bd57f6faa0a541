//! The command line: its words, its help, and how single values are read. What they mean together is `plan`'s.

pub mod completion;
pub mod connection;
#[cfg(test)]
mod environment;
#[cfg(test)]
mod fuzz;
#[cfg(test)]
mod generated;
mod mistakes;
pub mod primitives;
pub mod run;
pub mod status;
pub mod values;
pub mod words;

use std::ffi::OsString;

use clap::error::ErrorKind;
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};

/// Run a command in one place at a time, under a lease in Redis
#[derive(Parser)]
#[command(
    name = "redlease",
    version,
    subcommand_required = true,
    disable_help_subcommand = true,
    max_term_width = 100,
    after_help = OVERVIEW
)]
pub struct Cli {
    #[command(subcommand)]
    pub verb: Verb,
}

#[derive(Subcommand)]
pub enum Verb {
    #[command(after_help = run::EXAMPLES)]
    Run(Box<run::Run>),
    #[command(after_help = status::STATUS_EXAMPLES)]
    Status(Box<status::Status>),
    #[command(after_help = primitives::ACQUIRE_EXAMPLES)]
    Acquire(Box<primitives::Acquire>),
    #[command(after_help = primitives::RENEW_EXAMPLES)]
    Renew(Box<primitives::Renew>),
    #[command(after_help = primitives::RELEASE_EXAMPLES)]
    Release(Box<primitives::Release>),
    #[command(after_help = primitives::CHECK_EXAMPLES)]
    Check(Box<primitives::Check>),
    #[command(after_help = status::BREAK_EXAMPLES)]
    Break(Box<status::Break>),
    Fence(Box<status::Fence>),
    #[command(after_help = status::DOCTOR_EXAMPLES)]
    Doctor(Box<status::Doctor>),
    #[command(after_help = status::COMPLETIONS_EXAMPLES)]
    Completions(status::Completions),
}

const OVERVIEW: &str = "\
Examples:
  redlease run --key nightly-import -- ./import.sh
  redlease run --key deploy --wait 10m -- make deploy
  redlease status

The server is redis://127.0.0.1:6379 unless --url, REDLEASE_URL or REDIS_URL says otherwise.
`redlease COMMAND --help` lists the options of a command.";

/// Why there is nothing to do.
#[derive(Debug, PartialEq, Eq)]
pub enum Stopped {
    /// --help or --version: for stdout, and 0.
    Asked(String),
    /// No command at all: the help, for stderr, and 64.
    Lost(String),
    /// One line for stderr, without `redlease: ` before it, and 64.
    Usage(String),
}

/// Reads the command line; `words` begins with the program's name.
pub fn read(words: impl IntoIterator<Item = OsString>) -> Result<Verb, Stopped> {
    let mut words: Vec<OsString> = words.into_iter().collect();
    // `redlease help run`, as so many programs have it.
    if words.get(1).is_some_and(|word| word == "help") {
        words.remove(1);
        words.push("--help".into());
    }
    if words.len() < 2 {
        return Err(Stopped::Lost(Cli::command().render_help().to_string()));
    }
    let parsed = if words[1] == "run" {
        run_alone(&words[1..])
    } else {
        Cli::try_parse_from(&words).map(|cli| cli.verb)
    };
    parsed.map_err(|error| match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            Stopped::Asked(error.render().to_string())
        }
        _ => Stopped::Usage(mistakes::one_line(&error, &words)),
    })
}

/// `redlease run`, which stands in front of short jobs, without building the words of all other commands: a fifth
/// of the instructions of a whole run.
fn run_alone(words: &[OsString]) -> Result<Verb, clap::Error> {
    let mut command = run::Run::augment_args(clap::Command::new("run"))
        .bin_name("redlease run")
        .max_term_width(100)
        .after_help(run::EXAMPLES);
    let matches = command.try_get_matches_from_mut(words)?;
    run::Run::from_arg_matches(&matches)
        .map(|run| Verb::Run(Box::new(run)))
        .map_err(|error| error.format(&mut command))
}

/// Whether the words ask for the output of `acquire --export`, however wrong the rest of them is.
pub fn exports(words: impl IntoIterator<Item = OsString>) -> bool {
    let words: Vec<OsString> = words.into_iter().skip(1).collect();
    words.first().is_some_and(|word| word == "acquire")
        && words.iter().any(|word| word == "--export")
}

#[cfg(test)]
#[path = "cli/tests.rs"]
mod tests;
