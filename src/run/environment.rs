//! What the job is told: `REDLEASE_…`, set last, so that an inherited value never stands.

use std::ffi::OsString;

use crate::lease::{Grant, Token};
use crate::plan::run::RunPlan;
use crate::plan::stack::{Enclosing, Stack};

pub struct Environment {
    key: String,
    lease: Box<dyn Fn(u8) -> String>,
    server: String,
    ttl_ms: u64,
    stack: Stack,
    enclosing: Option<Enclosing>,
}

impl Environment {
    pub fn new(plan: &RunPlan) -> Environment {
        let names = plan.names.clone();
        Environment {
            key: plan.names.key().to_owned(),
            lease: Box::new(move |slot| names.lease(slot)),
            server: plan.connection.target.place(),
            ttl_ms: u64::try_from(plan.timing.ttl.as_millis()).unwrap_or(u64::MAX),
            stack: plan.stack.clone(),
            enclosing: plan.enclosing.clone(),
        }
    }

    /// Slot 0 is the stand-in's: the job runs without a lease (`--if-unreachable run`), and an empty text keeps
    /// what was inherited from telling otherwise.
    pub fn of(&self, grant: &Grant, token: &Token) -> Vec<(OsString, OsString)> {
        let held = grant.slot > 0;
        let only = |text: String| if held { text } else { String::new() };
        let ttl_ms = self
            .enclosing
            .as_ref()
            .map_or(self.ttl_ms, |enclosing| enclosing.ttl_ms);
        let acquired_at_ms = grant.acquired_at_us / 1000;
        let mut set = vec![
            ("REDLEASE_HELD", only("true".to_owned())),
            ("REDLEASE_KEY", only(self.key.clone())),
            ("REDLEASE_TOKEN", only(token.as_str().to_owned())),
            ("REDLEASE_FENCE", only(grant.fence.to_string())),
            ("REDLEASE_SLOT", only(grant.slot.to_string())),
            ("REDLEASE_TTL_MS", only(ttl_ms.to_string())),
            ("REDLEASE_ACQUIRED_AT_MS", only(acquired_at_ms.to_string())),
        ];
        if held && self.enclosing.is_none() {
            let stack = self.stack.with(Enclosing {
                server: self.server.clone(),
                lease: (self.lease)(1),
                token: token.as_str().to_owned(),
                fence: grant.fence.0,
                slot: grant.slot,
                ttl_ms,
                acquired_at_ms,
            });
            set.push(("REDLEASE_STACK", stack));
        }
        set.into_iter()
            .map(|(name, value)| (name.into(), value.into()))
            .collect()
    }
}
