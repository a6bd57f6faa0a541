//! The options that say which Redis to ask: the same for every command.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueHint};

use super::values;
use crate::lease::names::Prefix;

/// What the command line says; `plan` adds the environment. URLs and passwords are text here, so that a message
/// about one never repeats it.
#[derive(Args, Clone, Default)]
#[command(next_help_heading = "Connection")]
pub struct Connection {
    // Not a doc comment: its brackets would be links there.
    #[arg(
        short,
        long,
        value_name = "URL",
        help = "Server: redis://[user:password@]host[:port][/db], rediss://, redis+unix:///path, \
                redis-sentinel://, redis-cluster:// [env: REDLEASE_URL, then REDIS_URL] \
                [default: redis://127.0.0.1:6379]"
    )]
    pub url: Option<String>,

    /// Read the URL from this file [env: REDLEASE_URL_FILE]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub url_file: Option<PathBuf>,

    /// Read the password from this file [env: REDLEASE_PASSWORD_FILE]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub password_file: Option<PathBuf>,

    /// Trust the certificates in this PEM file, and no others [env: REDLEASE_TLS_CA]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub tls_ca: Option<PathBuf>,

    /// Show this certificate (PEM) to the server [env: REDLEASE_TLS_CERT]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub tls_cert: Option<PathBuf>,

    /// The key (PEM) of --tls-cert [env: REDLEASE_TLS_KEY]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub tls_key: Option<PathBuf>,

    /// Do not check the server's certificate; says so on stderr [env: REDLEASE_TLS_INSECURE]
    #[arg(long)]
    pub tls_insecure: bool,

    /// Limit for the first connection [env: REDLEASE_CONNECT_TIMEOUT] [default: 5s]
    #[arg(long, value_name = "DUR", value_parser = values::duration, allow_hyphen_values = true)]
    pub connect_timeout: Option<Duration>,

    /// What redlease's keys in Redis begin with [env: REDLEASE_PREFIX] [default: redlease:]
    #[arg(long, value_name = "TEXT")]
    pub prefix: Option<Prefix>,

    /// User at the sentinels [env: REDLEASE_SENTINEL_USER]
    #[arg(long, value_name = "NAME")]
    pub sentinel_user: Option<String>,

    /// Read the password for the sentinels from this file [env: REDLEASE_SENTINEL_PASSWORD_FILE]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub sentinel_password_file: Option<PathBuf>,
}
