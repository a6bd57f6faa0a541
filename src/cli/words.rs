//! Words that options take, and how redlease speaks.

use clap::{Args, ValueEnum};

use crate::lease::policy::{IfUnreachable, Leftovers, OnLost};

/// How redlease's own lines look.
#[derive(Args, Clone, Default)]
pub struct Voice {
    /// Only errors on stderr: no refusals, no notes [env: REDLEASE_QUIET]
    #[arg(short, long)]
    pub quiet: bool,

    /// Say what happens on stderr [env: REDLEASE_VERBOSE]
    #[arg(short, long)]
    pub verbose: bool,

    /// Form of redlease's own lines on stderr [env: REDLEASE_LOG_FORMAT] [default: text]
    #[arg(long, value_name = "FORM")]
    pub log_format: Option<LogFormat>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum MinHoldOn {
    /// After every run that ended
    Always,
    /// Only after a run whose job exited with 0
    Success,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum OnLostWord {
    /// The signal of --signal, then KILL
    Stop,
    /// KILL at once
    Kill,
    /// Say so, and let it run on without a lease
    Warn,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum IfUnreachableWord {
    /// Exit with 69
    Fail,
    /// Run the job without a lease, and say so
    Run,
    /// Exit with 0, and say so
    Skip,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LeftoversWord {
    /// Stopped, and named in one line
    Stop,
    /// The lease is held until they end
    Wait,
    /// They work on without a lease
    Leave,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    #[default]
    Text,
    Json,
}

impl From<OnLostWord> for OnLost {
    fn from(word: OnLostWord) -> OnLost {
        match word {
            OnLostWord::Stop => OnLost::Stop,
            OnLostWord::Kill => OnLost::Kill,
            OnLostWord::Warn => OnLost::Warn,
        }
    }
}

impl From<IfUnreachableWord> for IfUnreachable {
    fn from(word: IfUnreachableWord) -> IfUnreachable {
        match word {
            IfUnreachableWord::Fail => IfUnreachable::Fail,
            IfUnreachableWord::Run => IfUnreachable::Run,
            IfUnreachableWord::Skip => IfUnreachable::Skip,
        }
    }
}

impl From<LeftoversWord> for Leftovers {
    fn from(word: LeftoversWord) -> Leftovers {
        match word {
            LeftoversWord::Stop => Leftovers::Stop,
            LeftoversWord::Wait => Leftovers::Wait,
            LeftoversWord::Leave => Leftovers::Leave,
        }
    }
}
