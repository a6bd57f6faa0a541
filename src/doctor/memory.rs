//! What a server forgets: by eviction, by a restart, by a fail-over.

use super::facts::Facts;
use super::finding::Finding;

pub fn eviction(facts: &Facts) -> Option<Finding> {
    let check = "eviction";
    let limit = facts.number("maxmemory")?;
    let policy = facts
        .info("maxmemory_policy")
        .or_else(|| facts.config("maxmemory-policy"))?;
    if limit == 0 {
        return Some(Finding::ok(
            check,
            "no maxmemory, so that nothing is evicted",
        ));
    }
    if policy != "noeviction" {
        return Some(Finding::fail(
            check,
            format!(
                "maxmemory-policy {policy} with a maxmemory of {}",
                size(limit)
            ),
            "the server may throw away a lease that is held, and a second job starts beside the first: each lease \
             has a TTL, and so is among the first to go",
            "CONFIG SET maxmemory-policy noeviction, or a server of its own for leases",
        ));
    }
    let used = facts.number("used_memory").unwrap_or(0);
    if used.saturating_mul(10) >= limit.saturating_mul(9) {
        return Some(Finding::warn(
            check,
            format!("{} of {} are used (noeviction)", size(used), size(limit)),
            "with the memory full nothing can be acquired; held leases are still renewed and released",
            "raise maxmemory, or find what fills it: MEMORY DOCTOR",
        ));
    }
    Some(Finding::ok(
        check,
        format!("noeviction, {} of {} used", size(used), size(limit)),
    ))
}

fn size(bytes: u64) -> String {
    match bytes {
        0..1024 => format!("{bytes} B"),
        1024..1_048_576 => format!("{} kB", bytes / 1024),
        _ => format!("{} MB", bytes / 1_048_576),
    }
}

pub fn persistence(facts: &Facts) -> Option<Finding> {
    let check = "persistence";
    let append = facts.info("aof_enabled")? == "1";
    let snapshots = facts.config("save").is_none_or(|save| !save.is_empty());
    let failing = (append && facts.info("aof_last_write_status") == Some("err"))
        || (snapshots
            && facts.info("rdb_last_bgsave_status") == Some("err")
            && facts.config("stop-writes-on-bgsave-error") != Some("no"));
    if failing {
        return Some(Finding::fail(
            check,
            "the server cannot write to its disk",
            "it refuses every write (MISCONF): nothing can be acquired, and held leases are lost when their TTL ends",
            "look at the server's log and disk: full, read-only, or no right to write",
        ));
    }
    let restart = "a restart within the TTL of a held lease forgets it until its next renewal writes it again; what \
                   --min-hold and --once-per remember is lost";
    Some(match (append, facts.config("appendfsync"), snapshots) {
        (true, Some("no"), _) => Finding::warn(
            check,
            "append-only file, written when the system likes (appendfsync no)",
            "a crash of the machine forgets the leases of up to half a minute",
            "CONFIG SET appendfsync everysec",
        ),
        (true, _, _) => Finding::ok(check, "append-only file"),
        (false, _, true) => Finding::warn(
            check,
            "snapshots only",
            restart,
            "appendonly yes in redis.conf, with appendfsync everysec",
        ),
        (false, _, false) => Finding::warn(
            check,
            "nothing is kept on disk",
            restart,
            "appendonly yes in redis.conf, with appendfsync everysec",
        ),
    })
}

pub fn replication(facts: &Facts) -> Option<Finding> {
    let role = facts.info("role")?;
    if role == "slave" {
        let primary = match (facts.info("master_host"), facts.info("master_port")) {
            (Some(host), Some(port)) => format!(" of {host}:{port}"),
            _ => String::new(),
        };
        return Some(Finding::fail(
            "role",
            format!("this is a replica{primary}"),
            "a replica refuses writes, and what it answers may be old: nothing can be acquired here",
            "give the URL of the primary, or redis-sentinel://…/NAME, which finds it after each fail-over",
        ));
    }
    let replicas = facts.number("connected_slaves").unwrap_or(0);
    let wanted = facts
        .config("min-replicas-to-write")
        .and_then(|text| text.parse().ok())
        .unwrap_or(0);
    let good = facts.number("min_slaves_good_slaves");
    if let Some(good) = good
        && good < wanted
    {
        return Some(Finding::fail(
            "replicas",
            format!("min-replicas-to-write is {wanted}, and {good} are connected and fresh"),
            "the server refuses every write (NOREPLICAS): nothing can be acquired, renewed or released",
            "bring the replicas back, or lower min-replicas-to-write",
        ));
    }
    Some(if replicas > 0 && wanted == 0 {
        Finding::warn(
            "replicas",
            format!("{replicas} replicas, and none of them has to confirm a write"),
            "a fail-over may forget the last leases, and a second job may start beside the first: the fence tells them \
             apart",
            "run with --replicas 1 waits for one; min-replicas-to-write 1 stops a primary that was cut off",
        )
    } else if replicas > 0 {
        Finding::ok(
            "replicas",
            format!("{replicas} replicas, of which {wanted} must be fresh"),
        )
    } else {
        Finding::ok("replicas", "none, so that no fail-over loses a lease")
    })
}
