//! The sentences: what was refused, lost, broken or stopped, with what to do about it.

use std::time::Duration;

use crate::lease::{Holder, Identity, Loss, Refusal};

/// A time as people say it: two units at most, milliseconds below ten seconds.
pub fn span(time: Duration) -> String {
    let rounded = if time < Duration::from_secs(10) {
        Duration::from_millis(u64::try_from(time.as_millis()).unwrap_or(u64::MAX))
    } else {
        Duration::from_secs(time.as_secs())
    };
    if rounded.is_zero() {
        return "0s".to_owned();
    }
    if rounded < Duration::from_secs(10) && rounded.subsec_millis() > 0 {
        let tenths = rounded.as_millis().div_ceil(100);
        return format!("{}.{}s", tenths / 10, tenths % 10);
    }
    let whole = humantime::format_duration(rounded).to_string();
    whole.split(' ').take(2).collect::<Vec<_>>().join(" ")
}

/// `ana@web1 (pid 4242, import.sh)`.
pub fn who(who: &Identity) -> String {
    let name = match (who.user.as_str(), who.host.as_str()) {
        ("", "") => "an unknown host".to_owned(),
        ("", host) => host.to_owned(),
        (user, host) => format!("{user}@{host}"),
    };
    match who.label.as_str() {
        "" => format!("{name} (pid {})", who.pid),
        label => format!("{name} (pid {}, {label})", who.pid),
    }
}

fn holder(holder: Option<&Holder>) -> String {
    holder.map_or_else(|| "another client".to_owned(), |holder| who(&holder.who))
}

/// Why the lease was not granted: one line.
pub fn refusal(key: &str, refusal: &Refusal) -> String {
    match refusal {
        Refusal::Held {
            holder: by,
            held,
            remaining,
            ..
        } => {
            let age = held
                .map(|age| format!(" for {}", span(age)))
                .unwrap_or_default();
            let left = remaining.map_or_else(
                || "its key has no TTL and will not lapse by itself".to_owned(),
                |left| format!("{} left unless renewed", span(left)),
            );
            format!("{key} is held by {}{age}; {left}", holder(by.as_ref()))
        }
        Refusal::Cooling {
            last, remaining, ..
        } => {
            let by = last
                .as_ref()
                .map(|last| format!(" after the run of {}", who(&last.who)))
                .unwrap_or_default();
            format!(
                "{key} is cooling{by} (--min-hold); free in {}",
                span(*remaining)
            )
        }
        Refusal::Broken { by, remaining, .. } => format!(
            "{key} was broken{}; kept free of a second job for {} until the first is surely stopped",
            by.as_ref()
                .map(|by| format!(" by {by}"))
                .unwrap_or_default(),
            span(*remaining)
        ),
        Refusal::Queued { waiting, .. } => format!(
            "{key} is free, and {waiting} {} first; use --wait to queue",
            if *waiting == 1 {
                "waiter comes"
            } else {
                "waiters come"
            }
        ),
        Refusal::AlreadyDone { host, next } => format!(
            "{key} was already done in this period{}; the next begins in {} (--once-per)",
            host.as_ref()
                .filter(|host| !host.is_empty())
                .map(|host| format!(" by {host}"))
                .unwrap_or_default(),
            span(*next)
        ),
        Refusal::Limit { .. } => format!("{key} is in use with another --limit"),
    }
}

/// `--limit`: callers must agree while anything is held or queued.
pub fn limit(key: &str, asked: u8, kept: u8) -> String {
    format!(
        "{key} is in use with --limit {kept}, and {asked} was asked for; give all its users the same limit, or wait until nobody holds it or waits"
    )
}

/// A release that Redis could not be told of.
pub fn not_given_back(key: &str, why: &str, lapses_in: Duration) -> String {
    let then = if lapses_in.is_zero() {
        "it has lapsed by now".to_owned()
    } else {
        format!("it lapses in {}", span(lapses_in))
    };
    format!("the lease on {key} could not be given back ({why}); {then}")
}

/// How the lease was lost, as the reason why a job is stopped.
pub fn loss(key: &str, loss: &Loss) -> String {
    match loss {
        Loss::Gone => format!("the lease on {key} was lost: Redis no longer has its key"),
        Loss::Taken(by) => format!(
            "the lease on {key} was lost: it is now held by {}",
            holder(by.as_ref())
        ),
        Loss::Broken { by } => format!(
            "the lease on {key} was broken by {}",
            by.as_deref()
                .filter(|by| !by.is_empty())
                .unwrap_or("an operator")
        ),
        Loss::Expired => format!("the lease on {key} could not be renewed in time"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lease::Place;

    fn ana() -> Holder {
        let who = Identity {
            host: "web1".into(),
            pid: 4242,
            user: "ana".into(),
            label: "import.sh".into(),
        };
        Holder { who, since_us: 0 }
    }

    #[test]
    fn times_have_two_units_at_most() {
        assert_eq!(span(Duration::from_millis(0)), "0s");
        assert_eq!(span(Duration::from_millis(1234)), "1.3s");
        assert_eq!(span(Duration::from_secs(9)), "9s");
        assert_eq!(span(Duration::from_millis(27_900)), "27s");
        assert_eq!(span(Duration::from_secs(3725)), "1h 2m");
    }

    #[test]
    fn a_refusal_names_holder_age_and_time_left() {
        let held = Refusal::Held {
            holder: Some(ana()),
            held: Some(Duration::from_secs(123)),
            remaining: Some(Duration::from_secs(27)),
            place: Some(Place {
                ahead: 0,
                waiting: 1,
                ticket: 1,
            }),
        };
        assert_eq!(
            refusal("k", &held),
            "k is held by ana@web1 (pid 4242, import.sh) for 2m 3s; 27s left unless renewed"
        );
        let foreign = Refusal::Held {
            holder: None,
            held: None,
            remaining: None,
            place: None,
        };
        assert_eq!(
            refusal("k", &foreign),
            "k is held by another client; its key has no TTL and will not lapse by itself"
        );
    }

    #[test]
    fn a_lease_that_was_not_given_back_lapses() {
        assert_eq!(
            not_given_back("k", "no answer", Duration::from_secs(27)),
            "the lease on k could not be given back (no answer); it lapses in 27s"
        );
        assert_eq!(
            not_given_back("k", "no answer", Duration::ZERO),
            "the lease on k could not be given back (no answer); it has lapsed by now"
        );
    }

    #[test]
    fn a_loss_names_who_has_it_now() {
        assert_eq!(
            loss("k", &Loss::Taken(Some(ana()))),
            "the lease on k was lost: it is now held by ana@web1 (pid 4242, import.sh)"
        );
        assert_eq!(
            loss(
                "k",
                &Loss::Broken {
                    by: Some("eve@ops".into())
                }
            ),
            "the lease on k was broken by eve@ops"
        );
    }
}
