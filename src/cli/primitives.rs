//! The options of the commands that a script calls one by one: acquire, renew, release, check.

use std::time::Duration;

use clap::Args;

use super::connection::Connection;
use super::values::{self, WaitFor};
use super::words::Voice;

pub const ACQUIRE_EXAMPLES: &str = "\
Examples:
  lease=$(redlease acquire --key deploy --ttl 10m --export) || exit
  eval \"$lease\"; trap 'redlease release' EXIT
  TOKEN=$(redlease acquire --key deploy --wait 5m)
  redlease acquire --key deploy --while-pid $$

Without --while-pid nobody renews: the TTL must cover the work, or the script calls `redlease renew`.";

/// Acquire a lease and print its token
#[derive(Args, Clone)]
#[command(override_usage = "redlease acquire [OPTIONS] --key <KEY>")]
pub struct Acquire {
    /// Name of the lease: 1 to 200 bytes without white space or braces
    #[arg(long, value_name = "KEY")]
    pub key: Option<String>,

    /// How long the lease lives without a renewal [env: REDLEASE_TTL] [default: 30s]
    #[arg(long, value_name = "DUR", value_parser = values::ttl, allow_hyphen_values = true)]
    pub ttl: Option<Duration>,

    /// Do not wait for the lease: exit with 75 when it is held (the default)
    #[arg(short, long)]
    pub nonblock: bool,

    /// Wait for the lease, first come, first served, for this long or `forever`
    #[arg(short, long, value_name = "DUR|forever", value_parser = values::wait, allow_hyphen_values = true)]
    pub wait: Option<WaitFor>,

    /// Let this many hold at once, 1 to 64
    #[arg(long, value_name = "N", value_parser = values::limit, allow_hyphen_values = true)]
    pub limit: Option<u8>,

    /// Print one JSON object instead of the token
    #[arg(long)]
    pub json: bool,

    /// Print `export` lines for eval: REDLEASE_KEY, REDLEASE_TOKEN and so on
    #[arg(long)]
    pub export: bool,

    /// Renew in the background until this process ends, then release; on a loss, send it TERM
    #[arg(long, value_name = "PID", value_parser = values::pid, allow_hyphen_values = true)]
    pub while_pid: Option<u32>,

    /// What others see as the holder's purpose [env: REDLEASE_LABEL] [default: acquire]
    #[arg(long, value_name = "TEXT")]
    pub label: Option<String>,

    /// Use KEY itself as the key in Redis, shared with clients that do SET KEY token NX PX
    #[arg(long)]
    pub raw_key: bool,

    /// How long the record of the last run is kept [env: REDLEASE_RETAIN] [default: 30d]
    #[arg(long, value_name = "DUR", value_parser = values::duration, allow_hyphen_values = true)]
    pub retain: Option<Duration>,

    #[command(flatten)]
    pub voice: Voice,

    #[command(flatten)]
    pub connection: Connection,
}

/// Which holding is meant.
#[derive(Args, Clone, Default)]
pub struct Holding {
    /// Name of the lease [env: REDLEASE_KEY]
    #[arg(long, value_name = "KEY")]
    pub key: Option<String>,

    /// The holding's token, as `acquire` printed it [env: REDLEASE_TOKEN]
    #[arg(long, value_name = "TOKEN")]
    pub token: Option<String>,

    /// Which holder of a lease with --limit [env: REDLEASE_SLOT] [default: 1]
    #[arg(long, value_name = "N", value_parser = values::limit, allow_hyphen_values = true)]
    pub slot: Option<u8>,

    /// KEY is the key in Redis itself, as for `acquire --raw-key` [env: REDLEASE_RAW_KEY]
    #[arg(long)]
    pub raw_key: bool,
}

pub const RENEW_EXAMPLES: &str = "\
Examples:
  redlease renew
  redlease renew --key deploy --token \"$TOKEN\" --ttl 10m

Exit codes: 0 renewed, 79 the token is stale.";

/// Give a lease its full TTL again
#[derive(Args, Clone)]
pub struct Renew {
    #[command(flatten)]
    pub holding: Holding,

    /// The new TTL; never shortens what is left [env: REDLEASE_TTL_MS] [default: as before]
    #[arg(long, value_name = "DUR", value_parser = values::ttl, allow_hyphen_values = true)]
    pub ttl: Option<Duration>,

    #[command(flatten)]
    pub voice: Voice,

    #[command(flatten)]
    pub connection: Connection,
}

pub const RELEASE_EXAMPLES: &str = "\
Examples:
  redlease release
  redlease release --key deploy --token \"$TOKEN\"

Exit codes: 0 released, 79 the token is stale.";

/// Give a lease back
#[derive(Args, Clone)]
pub struct Release {
    #[command(flatten)]
    pub holding: Holding,

    #[command(flatten)]
    pub voice: Voice,

    #[command(flatten)]
    pub connection: Connection,
}

pub const CHECK_EXAMPLES: &str = "\
Examples:
  redlease check --min-left 10s && ./switch-traffic

Exit codes: 0 held, 79 the token is stale or too little is left.";

/// Tell whether a lease is still held, and for long enough
#[derive(Args, Clone)]
pub struct Check {
    #[command(flatten)]
    pub holding: Holding,

    /// Fail unless the lease lives at least this long without a renewal
    #[arg(long, value_name = "DUR", value_parser = values::duration, allow_hyphen_values = true)]
    pub min_left: Option<Duration>,

    #[command(flatten)]
    pub voice: Voice,

    #[command(flatten)]
    pub connection: Connection,
}
