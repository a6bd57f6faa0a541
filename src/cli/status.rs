//! The options of the commands that look and steer: status, break, fence, doctor, completions.

use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};

use super::connection::Connection;
use super::values;

pub const STATUS_EXAMPLES: &str = "\
Examples:
  redlease status
  redlease status nightly-import
  redlease status 'import-*' --json
  redlease status -q deploy && echo held
  redlease status --watch 1s

Exit codes with -q: 0 held (or kept from others: cooling, broken), 1 free, 69 cannot tell.";

/// Show who holds a lease, how long, and who waits for it
#[derive(Args, Clone)]
pub struct Status {
    /// Keys, or patterns with * ? [ ]; without one, all leases under the prefix
    #[arg(value_name = "KEY|PATTERN")]
    pub patterns: Vec<String>,

    /// One JSON object per lease
    #[arg(long)]
    pub json: bool,

    /// Print nothing; exit with 0 held, 1 free, 69 cannot tell
    #[arg(short, long)]
    pub quiet: bool,

    /// Show again and again, every DUR (2s unless given), until Ctrl-C
    #[arg(long, value_name = "DUR", num_args = 0..=1, default_missing_value = "2s",
          value_parser = values::duration)]
    pub watch: Option<Duration>,

    /// KEY is the key in Redis itself, as for `run --raw-key`
    #[arg(long)]
    pub raw_key: bool,

    #[command(flatten)]
    pub connection: Connection,
}

pub const BREAK_EXAMPLES: &str = "\
Examples:
  redlease break nightly-import
  redlease break nightly-import --yes
  redlease break deploy --token 3f0c6f7e-1f0a-4b1e-9d1c-0d8a5a3f2b11 --yes

The holder's job is stopped at its next renewal; until it has ended, or the broken holding's time is over, nobody else
may acquire.

Exit codes: 0 broken, 1 nothing to break or answered no, 79 another holding than --token.";

/// Take a lease away from its holder, whose job is then stopped
#[derive(Args, Clone)]
pub struct Break {
    /// Name of the lease
    #[arg(value_name = "KEY")]
    pub key: String,

    /// Only this holding, as `status --json` or `acquire` names it
    #[arg(long, value_name = "TOKEN")]
    pub token: Option<String>,

    /// Free the lease at once: until the broken holder notices, two jobs may run
    #[arg(long)]
    pub now: bool,

    /// Do not ask
    #[arg(short, long)]
    pub yes: bool,

    /// Which holder of a lease with --limit [default: 1]
    #[arg(long, value_name = "N", value_parser = values::limit)]
    pub slot: Option<u8>,

    /// KEY is the key in Redis itself, as for `run --raw-key`
    #[arg(long)]
    pub raw_key: bool,

    #[command(flatten)]
    pub connection: Connection,
}

/// Compare fences, for resources that cannot do it themselves
#[derive(Args, Clone)]
#[command(subcommand_required = true)]
pub struct Fence {
    #[command(subcommand)]
    pub verb: FenceVerb,
}

#[derive(Subcommand, Clone)]
pub enum FenceVerb {
    #[command(after_help = FENCE_EXAMPLES)]
    Check(FenceCheck),
}

pub const FENCE_EXAMPLES: &str = "\
Examples:
  redlease fence check --resource orders-db && ./write-orders
  redlease fence check --resource bucket --fence \"$REDLEASE_FENCE\"

Exit codes: 0 no higher fence was seen, 79 a higher one was. It narrows the window between check and write and does
not close it: a resource that compares the fence in the write itself does.";

/// Fail if a higher fence was seen for this resource, else remember this one
#[derive(Args, Clone)]
pub struct FenceCheck {
    /// What is written to: any name that all writers agree on
    #[arg(long, value_name = "NAME")]
    pub resource: String,

    /// The fence of the writer's lease [env: REDLEASE_FENCE]
    #[arg(long, value_name = "N")]
    pub fence: Option<u64>,

    #[command(flatten)]
    pub connection: Connection,
}

pub const DOCTOR_EXAMPLES: &str = "\
Examples:
  redlease doctor
  redlease doctor --json --url redis://cache.example:6379/2

It acquires a lease of its own for a moment and writes nothing else. The least rights that a user of Redis needs are
printed at the end; with the usual prefix they are:

  ACL SETUSER redlease reset on >PASSWORD ~redlease:* resetchannels &redlease:* +eval +time +get +set +del +exists
  +pttl +pexpire +hmget +hset +hdel +hincrby +zadd +zrem +zrange +zrank +zscore +zcard +publish +subscribe +scan
  +getrange +wait

On a cluster, lists need +cluster|slots too. Raw keys (--raw-key) need a pattern of their own, such as ~deploy-*. The
doctor sees more with +info and +config|get.

Exit codes: 0 without a `fail`, 1 with one; 69, 77 or 78 when the server cannot be asked.";

/// Check what in this server, its configuration and this machine endangers a lease
#[derive(Args, Clone)]
pub struct Doctor {
    /// One JSON object per check
    #[arg(long)]
    pub json: bool,

    #[command(flatten)]
    pub connection: Connection,
}

pub const COMPLETIONS_EXAMPLES: &str = "\
Examples:
  redlease completions bash > /etc/bash_completion.d/redlease
  redlease completions zsh > \"${fpath[1]}/_redlease\"
  redlease completions fish > ~/.config/fish/completions/redlease.fish";

/// Print a completion script for a shell
#[derive(Args, Clone)]
pub struct Completions {
    #[arg(value_name = "SHELL")]
    pub shell: Shell,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Shell {
    Bash,
    Zsh,
    Fish,
    /// What the scripts call: the live names, one a line, silent without an answer from Redis.
    #[value(hide = true)]
    Names,
}
