//! Everything that a test starts is stopped by its process id when the test ends, also when it fails; what
//! failed is shown with the command, its streams and the server's log. Nothing is ever skipped.

pub mod authority;
pub mod client;
pub mod cluster;
pub mod ports;
pub mod process;
pub mod redis;
pub mod redlease;
pub mod relay;
pub mod sentinels;
pub mod terminal;
pub mod tree;

pub use authority::Authority;
pub use client::{Client, Value};
pub use cluster::Cluster;
pub use process::{now, wait_until};
pub use redis::Redis;
pub use redlease::{Outcome, Redlease, Running};
pub use relay::{Relay, Weather};
pub use sentinels::Sentinels;
pub use tree::Tree;

use std::time::Duration;

/// How long a test waits for what should happen at once, on a machine that is busy with other tests.
pub const PATIENCE: Duration = Duration::from_secs(20);

pub fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}
