//! The checks: each is a pure function of what the server said, and silent where that is not known.

use std::time::Duration;

use super::facts::Facts;
use super::finding::Finding;
use super::memory::{eviction, persistence, replication};
use crate::lease::store::{Kind, Trouble};
use crate::report::words::span;

pub fn all(facts: &Facts) -> Vec<Finding> {
    let mut findings = vec![
        version(facts),
        replication(facts),
        clock(facts),
        latency(facts),
        eviction(facts),
        persistence(facts),
        timeout(facts),
        clients(facts),
        cluster(facts),
        access(facts),
        encryption(facts),
    ]
    .into_iter()
    .flatten()
    .collect::<Vec<Finding>>();
    findings.extend(unknown(facts));
    findings
}

pub fn unreachable(trouble: &Trouble) -> Finding {
    let text = &trouble.text;
    let lower = text.to_lowercase();
    let remedy = if lower.contains("protected mode") {
        "the server only talks to its own machine, because it has no password: set one (requirepass or ACL), and give \
         it in the URL or by --password-file"
    } else if trouble.kind == Kind::Denied {
        "check user and password in the URL, or --password-file; the rule below is what a user needs"
    } else if trouble.kind == Kind::Config {
        "check the URL: its scheme, database and TLS options must be those of the server"
    } else {
        "check host, port and firewall, and that the server runs: redis-cli -u URL PING"
    };
    Finding::fail(
        "connection",
        text.clone(),
        "without Redis nothing can be acquired: a run exits with 69, 77 or 78 and its job does not start",
        remedy,
    )
}

fn version(facts: &Facts) -> Option<Finding> {
    let check = "version";
    if let Some(valkey) = facts.info("valkey_version") {
        return Some(Finding::ok(check, format!("Valkey {valkey}")));
    }
    let version = facts.info("redis_version")?;
    let major: Option<u32> = version.split('.').next().and_then(|n| n.parse().ok());
    Some(match major {
        Some(6..) => Finding::ok(check, format!("Redis {version}")),
        Some(_) => Finding::fail(
            check,
            format!("Redis {version}"),
            "its scripts may not ask for the time and write after it: nothing can be acquired",
            "Redis 6.0 or later, or any Valkey",
        ),
        None => Finding::warn(
            check,
            format!("it calls itself {version:?}"),
            "redlease is tested with Redis 6.0 to 8 and Valkey 8 to 9",
            "see below whether the probe of a lease went well",
        ),
    })
}

fn clock(facts: &Facts) -> Option<Finding> {
    let check = "clock";
    let Some(ahead) = facts.clock_ahead else {
        return Some(Finding::warn(
            check,
            "the server does not tell its time",
            "the clocks of the clients stand in for it: --once-per and the fence after a loss of data are only as good \
             as they are",
            "allow TIME (+time)",
        ));
    };
    let way = if ahead.server_is_ahead {
        "ahead of"
    } else {
        "behind"
    };
    Some(if ahead.by < Duration::from_secs(5) {
        Finding::ok(check, "the server's and this machine's agree within 5 s")
    } else {
        Finding::warn(
            check,
            format!("the server's is {} {way} this machine's", span(ahead.by)),
            "no lease depends on it: TTLs are counted and not compared; --once-per goes by the server's clock, and logs \
             of both are hard to compare",
            "let both follow NTP",
        )
    })
}

fn latency(facts: &Facts) -> Option<Finding> {
    let check = "latency";
    let worst = *facts.latencies.iter().max()?;
    let mut sorted = facts.latencies.clone();
    sorted.sort_unstable();
    let middle = sorted[sorted.len() / 2];
    let shown = |time: Duration| format!("{:.1} ms", time.as_secs_f64() * 1000.0);
    let finding = format!("{} in the middle, {} at worst", shown(middle), shown(worst));
    // A request may take a sixth of the TTL; half of that is left for what was not seen here.
    let least = span(worst * 12);
    // One slow answer may be this machine's; most of them are not.
    Some(if middle >= Duration::from_secs(1) {
        Finding::fail(
            check,
            finding,
            format!(
                "a renewal must be answered within a sixth of the TTL: below --ttl {least} a slow answer stops the job"
            ),
            "find what keeps the server or the network busy: SLOWLOG GET, LATENCY DOCTOR",
        )
    } else if worst >= Duration::from_millis(100) {
        Finding::warn(
            check,
            finding,
            format!(
                "a renewal must be answered within a sixth of the TTL: use --ttl {least} or more"
            ),
            "a server nearer by, or see what keeps it busy: SLOWLOG GET, LATENCY DOCTOR",
        )
    } else {
        Finding::ok(check, finding)
    })
}

fn timeout(facts: &Facts) -> Option<Finding> {
    let check = "timeout";
    let seconds: u64 = facts.config("timeout")?.parse().ok()?;
    Some(match seconds {
        0 => Finding::ok(check, "idle connections are kept"),
        // A third of the usual TTL of 30 s.
        1..=10 => Finding::warn(
            check,
            format!("idle connections are cut after {seconds} s"),
            "between two renewals the connection is cut, so that each renewal connects anew: more time, and more that \
             can fail",
            "CONFIG SET timeout 0, and tcp-keepalive for dead peers",
        ),
        _ => Finding::ok(check, format!("idle connections are cut after {seconds} s")),
    })
}

fn clients(facts: &Facts) -> Option<Finding> {
    let check = "clients";
    let most = facts.number("maxclients")?;
    let now = facts.number("connected_clients")?;
    Some(if now * 10 >= most * 9 {
        Finding::warn(
            check,
            format!("{now} of {most} clients are connected"),
            "at the limit no run can connect, and one that lost its connection cannot renew: its job is stopped",
            "raise maxclients, or find who keeps them: CLIENT LIST",
        )
    } else {
        Finding::ok(check, format!("{now} of {most} are connected"))
    })
}

fn cluster(facts: &Facts) -> Option<Finding> {
    let on = facts.info("cluster_enabled")? == "1";
    (on && !facts.cluster_target).then(|| {
        Finding::fail(
            "cluster",
            "this server is a node of a cluster",
            "it answers for its own slots only: leases whose keys are elsewhere cannot be acquired",
            "write redis-cluster:// in the URL instead of redis://",
        )
    })
}

fn access(facts: &Facts) -> Option<Finding> {
    let check = "access";
    if facts.password {
        return Some(Finding::ok(check, "a password is asked for"));
    }
    let protected = facts.config("protected-mode")? == "yes";
    let no_port = facts.config("port") == Some("0");
    let only_here = no_port
        || facts.config("bind").is_some_and(|bind| {
            !bind.is_empty()
                && bind
                    .split_whitespace()
                    .map(|address| address.trim_start_matches('-'))
                    .all(|address| address.starts_with("127.") || address == "::1")
        });
    Some(if only_here {
        Finding::ok(check, "no password, and reached from its own machine only")
    } else if protected {
        Finding::warn(
            check,
            "protected mode is on, and there is no password",
            "other machines are refused (DENIED), so that only jobs of this one can exclude each other",
            "set a password (requirepass or ACL), and give it by --password-file",
        )
    } else {
        Finding::warn(
            check,
            "no password, and protected mode is off",
            "anybody who reaches the server can take, break or forge a lease",
            "set a password (requirepass or ACL), and give it by --password-file",
        )
    })
}

fn encryption(facts: &Facts) -> Option<Finding> {
    facts.readable_on_the_way.then(|| {
        Finding::warn(
            "encryption",
            "the connection is not encrypted",
            "whoever is on the way can read tokens and the password, and take or break a lease with them",
            "TLS (rediss://), unless the network is trusted",
        )
    })
}

/// What could not be looked at is said once, and is no failure.
fn unknown(facts: &Facts) -> Vec<Finding> {
    let refused = [
        ("INFO", "+info", &facts.info_refused),
        ("CONFIG GET", "+config|get", &facts.config_refused),
    ];
    refused
        .into_iter()
        .filter_map(|(command, right, why)| {
            let why = why.as_ref()?;
            Some(Finding::warn(
                "unknown",
                format!("{command} is refused: {why}"),
                "what it would tell was not checked; a lease does not need it",
                format!("give {right} to the user that the doctor comes as"),
            ))
        })
        .collect()
}

#[cfg(test)]
#[path = "checks_tests.rs"]
mod tests;
