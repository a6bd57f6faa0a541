//! `REDLEASE_STACK`: the leases that a run is inside of, so that it does not wait for itself.

use serde::{Deserialize, Serialize};

use super::Refused;
use super::source::Source;

/// One enclosing lease. Its token is in the job's environment anyway.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Enclosing {
    /// Server and db, without user and password.
    pub server: String,
    /// The lease key in Redis, prefix included.
    pub lease: String,
    pub token: String,
    pub fence: u64,
    pub slot: u8,
    pub ttl_ms: u64,
    pub acquired_at_ms: u64,
}

/// From the outermost to the innermost.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Stack(Vec<Enclosing>);

impl Stack {
    pub fn read(source: &Source) -> Result<Stack, Refused> {
        let Some(text) = source.secret("REDLEASE_STACK")? else {
            return Ok(Stack::default());
        };
        serde_json::from_str(&text).map(Stack).map_err(|_| {
            Refused::usage(
                "REDLEASE_STACK in the environment is not what redlease writes there: unset it",
            )
        })
    }

    pub fn find(&self, server: &str, lease: &str) -> Option<&Enclosing> {
        self.0
            .iter()
            .rev()
            .find(|one| one.server == server && one.lease == lease)
    }

    /// The value for a job that runs inside one more lease.
    pub fn with(&self, inner: Enclosing) -> String {
        let mut stack = self.0.clone();
        stack.push(inner);
        // Numbers and strings always serialize.
        serde_json::to_string(&stack).unwrap_or_default()
    }
}
