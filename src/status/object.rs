//! `status --json`: one object per slot, whose names are promised in redlease-status(1).

use serde::Serialize;

use super::row::{Row, State};
use crate::lease::Identity;
use crate::report::json;

/// Times are milliseconds since 1970 by the server's clock, spans are milliseconds; what is unknown or does not
/// apply is null.
#[derive(Serialize)]
struct Object<'a> {
    key: &'a str,
    raw_key: bool,
    slot: u8,
    slots: u8,
    /// held, cooling, broken, free, abandoned or foreign.
    state: &'static str,
    /// How long it is in this state.
    state_ms: Option<u64>,
    /// Who holds it, or held it last.
    holder: Option<Who<'a>>,
    token: Option<&'a str>,
    fence: Option<u64>,
    acquired_at_ms: Option<u64>,
    renewed_at_ms: Option<u64>,
    held_ms: Option<u64>,
    ttl_ms: Option<u64>,
    /// Until the key lapses unless it is renewed; null without a key, or for one without a time to live.
    remaining_ms: Option<u64>,
    expires_at_ms: Option<u64>,
    broken_by: Option<&'a str>,
    /// All in the queue, on the first slot: it is one for all slots. `waiters` lists the first thousand, in order.
    waiting: u64,
    waiters: Vec<Waiting<'a>>,
    last_run: Option<Last<'a>>,
    problem: Option<&'a str>,
    /// The server's clock when this was read.
    at_ms: u64,
}

#[derive(Serialize)]
struct Who<'a> {
    host: &'a str,
    pid: u32,
    user: &'a str,
    label: &'a str,
}

#[derive(Serialize)]
struct Waiting<'a> {
    host: &'a str,
    pid: u32,
    user: &'a str,
    label: &'a str,
    waited_ms: u64,
    silent: bool,
}

#[derive(Serialize)]
struct Last<'a> {
    ended_at_ms: u64,
    outcome: &'a str,
    code: Option<u8>,
    duration_ms: Option<u64>,
    host: Option<&'a str>,
}

/// One line, its newline included.
pub fn line(row: &Row) -> String {
    let ms = |us: u64| us / 1000;
    let span = |time: std::time::Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    let object = Object {
        key: &row.key,
        raw_key: row.raw,
        slot: row.slot,
        slots: row.slots,
        state: row.state.word(),
        state_ms: row.age().map(span),
        holder: row.holder.as_ref().map(who),
        token: row.token.as_deref(),
        fence: row.fence,
        acquired_at_ms: row.acquired_at_us.map(ms),
        renewed_at_ms: row.renewed_at_us.map(ms),
        held_ms: row.held().map(span),
        ttl_ms: row.ttl.map(span),
        remaining_ms: row.remaining.filter(|_| row.state.occupied()).map(span),
        expires_at_ms: row.until_us().filter(|_| row.state != State::Free).map(ms),
        broken_by: row.broken_by.as_deref(),
        waiting: row.waiting,
        waiters: row
            .waiters
            .iter()
            .map(|waiter| Waiting {
                host: &waiter.who.host,
                pid: waiter.who.pid,
                user: &waiter.who.user,
                label: &waiter.who.label,
                waited_ms: span(waiter.waited),
                silent: waiter.silent,
            })
            .collect(),
        last_run: row.last.as_ref().map(|last| Last {
            ended_at_ms: ms(last.ended_at_us),
            outcome: &last.outcome,
            code: last.code,
            duration_ms: last.duration.map(span),
            host: last.host.as_deref(),
        }),
        problem: row.problem.as_deref(),
        at_ms: ms(row.now_us),
    };
    json::line(&object)
}

fn who(who: &Identity) -> Who<'_> {
    Who {
        host: &who.host,
        pid: who.pid,
        user: &who.user,
        label: &who.label,
    }
}

#[cfg(test)]
mod tests {
    use super::super::row::Row;
    use super::super::row::tests::{NOW, names, seen};
    use super::*;
    use crate::lease::protocol::inspect::State as At;

    #[test]
    fn an_object_has_the_promised_names() {
        let row = Row::new(&names("k"), 1, 1, seen(At::Held));
        assert_eq!(NOW, 1_764_528_790_000_000);
        assert_eq!(
            line(&row),
            concat!(
                r#"{"key":"k","raw_key":false,"slot":1,"slots":1,"state":"held","state_ms":123000,"#,
                r#""holder":{"host":"web1","pid":4242,"user":"ana","label":"import.sh"},"#,
                r#""token":"3f0c6f7e-1f0a-4b1e-9d1c-0d8a5a3f2b11","fence":1764528667000000,"#,
                r#""acquired_at_ms":1764528667000,"renewed_at_ms":1764528787000,"held_ms":123000,"#,
                r#""ttl_ms":30000,"remaining_ms":27000,"expires_at_ms":1764528817000,"broken_by":null,"#,
                r#""waiting":0,"waiters":[],"last_run":null,"problem":null,"at_ms":1764528790000}"#,
                "\n"
            )
        );
    }

    #[test]
    fn hostile_text_is_escaped_and_comes_back() {
        let mut hostile = seen(At::Held);
        if let Some(holding) = &mut hostile.holding {
            holding.holder.who.label = "a\x1b[2J\u{9b}\u{202e}\"\n".to_owned();
        }
        let line = line(&Row::new(&names("k"), 1, 1, hostile));
        assert!(
            line.contains(r#""label":"a\u001b[2J\u009b\u202e\"\n""#),
            "{line}"
        );
        let back: serde_json::Value = serde_json::from_str(&line).unwrap();
        assert_eq!(back["holder"]["label"], "a\x1b[2J\u{9b}\u{202e}\"\n");
    }
}
