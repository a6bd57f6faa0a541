//! What `acquire` prints: a token, an object, or lines for a shell to eval.

use serde::Serialize;

use crate::exit::Exit;
use crate::lease::keeper::Holding;
use crate::plan::holding::{AcquirePlan, Show};
use crate::report::json;

#[derive(Serialize)]
struct Object<'a> {
    key: &'a str,
    token: &'a str,
    fence: u64,
    slot: u8,
    ttl_ms: u64,
    /// By the server's clock, as `expires_at_ms`.
    acquired_at_ms: u64,
    expires_at_ms: u64,
}

pub fn granted(plan: &AcquirePlan, holding: &Holding) -> String {
    let ttl_ms = u64::try_from(plan.timing.ttl.as_millis()).unwrap_or(u64::MAX);
    let grant = &holding.grant;
    match plan.show {
        Show::Token => format!("{}\n", holding.token.as_str()),
        Show::Json => json::line(&Object {
            key: plan.names.key(),
            token: holding.token.as_str(),
            fence: grant.fence.0,
            slot: grant.slot,
            ttl_ms,
            acquired_at_ms: grant.acquired_at_us / 1000,
            expires_at_ms: holding.expires_at_us / 1000,
        }),
        Show::Export => {
            let raw = if plan.names.is_raw() { "true" } else { "" };
            let mut set = vec![
                ("REDLEASE_HELD", "true".to_owned()),
                ("REDLEASE_KEY", plan.names.key().to_owned()),
                ("REDLEASE_RAW_KEY", raw.to_owned()),
                ("REDLEASE_TOKEN", holding.token.as_str().to_owned()),
                ("REDLEASE_FENCE", grant.fence.to_string()),
                ("REDLEASE_SLOT", grant.slot.to_string()),
                ("REDLEASE_TTL_MS", ttl_ms.to_string()),
                (
                    "REDLEASE_ACQUIRED_AT_MS",
                    (grant.acquired_at_us / 1000).to_string(),
                ),
            ];
            set.extend(plan.handed.iter().cloned());
            set.iter()
                .map(|(name, value)| format!("export {name}={}\n", quoted(value)))
                .collect()
        }
    }
}

/// What makes `eval "$(redlease acquire … --export)" || exit` end with the code: eval of nothing would succeed.
pub fn failed(show: Show, exit: Exit) -> String {
    match show {
        Show::Export => format!("(exit {})\n", exit.code()),
        Show::Token | Show::Json => String::new(),
    }
}

/// For a POSIX shell. Between single quotes nothing but the quote itself means anything.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_gets_back_what_was_quoted() {
        assert_eq!(quoted("k"), "'k'");
        assert_eq!(quoted("$(x)'y\"`z`\\"), r#"'$(x)'\''y"`z`\'"#);
    }

    #[test]
    fn a_failure_fails_an_eval() {
        assert_eq!(failed(Show::Export, Exit::NotAcquired), "(exit 75)\n");
        assert_eq!(failed(Show::Token, Exit::NotAcquired), "");
    }
}
