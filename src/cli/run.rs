//! The options of `redlease run`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgAction, Args, ValueHint};

use super::connection::Connection;
use super::values::{self, Period, WaitFor};
use super::words::{IfUnreachableWord, LeftoversWord, MinHoldOn, OnLostWord, Voice};

pub const EXAMPLES: &str = "\
Examples:
  redlease run --key nightly-import -- ./import.sh --all
  redlease run --key deploy --wait 10m -- make deploy
  redlease run --key report --skip-ok --min-hold 60s -- ./report.py
  redlease run --key backup --once-per 1d@3h --max-run 2h -- ./backup
  redlease run --key gpu --limit 2 -w forever -- ./train

The job gets REDLEASE_FENCE, a number that grows from one holding to the next: give it to
what the job writes to. Exit codes: redlease(1), EXIT STATUS.";

/// Run a command while holding a lease, in one place at a time
#[derive(Args, Clone)]
#[command(override_usage = "redlease run [OPTIONS] --key <KEY> [--] <CMD>...")]
pub struct Run {
    /// Name of the lease: 1 to 200 bytes without white space or braces
    #[arg(long, value_name = "KEY")]
    pub key: Option<String>,

    /// How long the lease lives without a renewal; it is renewed every third of this [env: REDLEASE_TTL]
    /// [default: 30s]
    #[arg(long, value_name = "DUR", value_parser = values::ttl, allow_hyphen_values = true)]
    pub ttl: Option<Duration>,

    /// Do not wait for the lease: exit with 75 when it is held (the default)
    #[arg(short, long)]
    pub nonblock: bool,

    /// Wait for the lease, first come, first served, for this long or `forever`
    #[arg(short, long, value_name = "DUR|forever", value_parser = values::wait, allow_hyphen_values = true)]
    pub wait: Option<WaitFor>,

    /// Exit with this code instead of 75 when the lease is not acquired
    #[arg(short = 'E', long, value_name = "N", value_parser = values::exit_code, allow_hyphen_values = true)]
    pub conflict_exit_code: Option<u8>,

    /// Exit with 0, and say nothing, when the lease is not acquired: -E 0, for cron
    #[arg(long)]
    pub skip_ok: bool,

    /// Let this many hold at once, 1 to 64; the job's place is in REDLEASE_SLOT
    #[arg(long, value_name = "N", value_parser = values::limit, allow_hyphen_values = true)]
    pub limit: Option<u8>,

    /// Keep others out for this long after the acquire, even when the job ends sooner
    #[arg(long, value_name = "DUR", value_parser = values::duration, allow_hyphen_values = true)]
    pub min_hold: Option<Duration>,

    /// After which runs --min-hold applies [default: always]
    #[arg(long, value_name = "WHEN")]
    pub min_hold_on: Option<MinHoldOn>,

    /// At most one successful run per slot of the server's clock (UTC), such as 1h or 1d@3h
    #[arg(long, value_name = "DUR[@OFFSET]", value_parser = values::period, allow_hyphen_values = true)]
    pub once_per: Option<Period>,

    /// Stop the job after this long, and exit with 124
    #[arg(long, value_name = "DUR", value_parser = values::duration, allow_hyphen_values = true)]
    pub max_run: Option<Duration>,

    /// From a stop (or a TERM that was passed on) to KILL [default: a sixth of the TTL, at most 5s]
    #[arg(short, long, value_name = "DUR", value_parser = values::duration, allow_hyphen_values = true)]
    pub kill_after: Option<Duration>,

    /// Signal that stops the job [default: TERM]
    #[arg(long, value_name = "SIG", value_parser = values::signal, allow_hyphen_values = true)]
    pub signal: Option<i32>,

    /// What happens to the job when the lease is lost [default: stop]
    #[arg(long, value_name = "WHAT")]
    pub on_lost: Option<OnLostWord>,

    /// What to do without an answer from Redis [default: fail]
    #[arg(long, value_name = "WHAT")]
    pub if_unreachable: Option<IfUnreachableWord>,

    /// Sleep for a random time up to this before asking, so that many hosts do not ask at once
    #[arg(long, value_name = "DUR", value_parser = values::duration, allow_hyphen_values = true)]
    pub splay: Option<Duration>,

    /// Start the job only after this many replicas have the acquire
    #[arg(long, value_name = "N", value_parser = values::replicas, allow_hyphen_values = true)]
    pub replicas: Option<u32>,

    /// How long to wait for the replicas, before the lease is given back [default: a sixth of the TTL, at most 5s]
    #[arg(long, value_name = "DUR", value_parser = values::duration, allow_hyphen_values = true)]
    pub replica_timeout: Option<Duration>,

    /// What others see as the holder's purpose [env: REDLEASE_LABEL] [default: the program's name]
    #[arg(long, value_name = "TEXT")]
    pub label: Option<String>,

    /// Write one JSON object about the run to this file, or to /dev/stderr
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub report: Option<PathBuf>,

    /// Run under the lease of an enclosing `redlease run` with the same key
    #[arg(long)]
    pub reentrant: bool,

    /// What happens to background processes that the job leaves [default: stop]
    #[arg(long, value_name = "WHAT")]
    pub leftovers: Option<LeftoversWord>,

    /// Use KEY itself as the key in Redis, shared with clients that do SET KEY token NX PX
    #[arg(long)]
    pub raw_key: bool,

    /// How long the record of the last run is kept [env: REDLEASE_RETAIN] [default: 30d]
    #[arg(long, value_name = "DUR", value_parser = values::duration, allow_hyphen_values = true)]
    pub retain: Option<Duration>,

    /// Run this text by /bin/sh -c, instead of CMD
    #[arg(short, long, value_name = "STR", allow_hyphen_values = true)]
    pub command: Option<OsString>,

    #[command(flatten)]
    pub voice: Voice,

    // Known only to be refused with a better word than "unexpected argument".
    #[arg(long, hide = true, num_args = 0..=1, allow_hyphen_values = true, action = ArgAction::Append)]
    pub timeout: Option<Vec<OsString>>,

    #[command(flatten)]
    pub connection: Connection,

    /// The job: a program and its arguments, which reach it unchanged
    #[arg(value_name = "CMD", trailing_var_arg = true, value_hint = ValueHint::CommandWithArguments)]
    pub argv: Vec<OsString>,
}
