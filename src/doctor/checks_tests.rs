use super::super::facts::Ahead;
use super::super::finding::Level;
use super::*;

fn level(finding: Option<Finding>) -> Option<Level> {
    finding.map(|finding| finding.level)
}

#[test]
fn eviction_endangers_a_lease_only_with_a_limit() {
    let with = |limit: &str, policy: &str, used: &str| {
        let text =
            format!("maxmemory:{limit}\r\nmaxmemory_policy:{policy}\r\nused_memory:{used}\r\n");
        level(eviction(&Facts::of(&text, &[])))
    };
    assert_eq!(with("0", "allkeys-lru", "5"), Some(Level::Ok));
    assert_eq!(with("100000000", "allkeys-lru", "5"), Some(Level::Fail));
    assert_eq!(with("100000000", "volatile-ttl", "5"), Some(Level::Fail));
    assert_eq!(with("100000000", "noeviction", "5"), Some(Level::Ok));
    assert_eq!(with("100", "noeviction", "90"), Some(Level::Warn));
    assert_eq!(level(eviction(&Facts::default())), None);
}

#[test]
fn a_clock_that_is_off_is_told_with_its_direction() {
    let facts = Facts {
        clock_ahead: Some(Ahead {
            by: Duration::from_secs(90),
            server_is_ahead: false,
        }),
        ..Facts::default()
    };
    let found = clock(&facts).unwrap();
    assert_eq!(found.level, Level::Warn);
    assert_eq!(
        found.finding,
        "the server's is 1m 30s behind this machine's"
    );
    assert_eq!(level(clock(&Facts::default())), Some(Level::Warn));
}

#[test]
fn latency_is_judged_by_its_worst() {
    let with = |worst: u64| {
        let facts = Facts {
            latencies: vec![Duration::from_millis(1), Duration::from_millis(worst)],
            ..Facts::default()
        };
        latency(&facts).unwrap()
    };
    assert_eq!(with(50).level, Level::Ok);
    assert_eq!(with(250).level, Level::Warn);
    assert!(with(250).meaning.contains("--ttl 3s"), "{:?}", with(250));
    assert_eq!(with(1500).level, Level::Fail);
}

#[test]
fn a_version_is_a_number_or_a_name() {
    let of = |text: &str| level(version(&Facts::of(text, &[])));
    assert_eq!(of("redis_version:5.0.14\r\n"), Some(Level::Fail));
    assert_eq!(of("redis_version:6.0.16\r\n"), Some(Level::Ok));
    assert_eq!(
        of("redis_version:7.2.4\r\nvalkey_version:8.1.8\r\n"),
        Some(Level::Ok)
    );
    assert_eq!(of("redis_version:unknown\r\n"), Some(Level::Warn));
}

#[test]
fn persistence_is_as_good_as_its_weakest_part() {
    let of = |info: &str, config: &[(&str, &str)]| level(persistence(&Facts::of(info, config)));
    let append = "aof_enabled:1\r\naof_last_write_status:ok\r\n";
    assert_eq!(of(append, &[("appendfsync", "everysec")]), Some(Level::Ok));
    assert_eq!(of(append, &[("appendfsync", "no")]), Some(Level::Warn));
    assert_eq!(of("aof_enabled:0\r\n", &[("save", "")]), Some(Level::Warn));
    let failing = "aof_enabled:0\r\nrdb_last_bgsave_status:err\r\n";
    assert_eq!(of(failing, &[("save", "3600 1")]), Some(Level::Fail));
    assert_eq!(
        of(
            failing,
            &[("save", "3600 1"), ("stop-writes-on-bgsave-error", "no")]
        ),
        Some(Level::Warn)
    );
}

#[test]
fn who_can_reach_the_server_is_told_apart() {
    let of = |protected: &str, bind: &str| {
        let config = [("protected-mode", protected), ("bind", bind)];
        access(&Facts::of("", &config)).unwrap()
    };
    assert_eq!(of("yes", "127.0.0.1 -::1").level, Level::Ok);
    assert!(
        of("yes", "* -::*")
            .finding
            .starts_with("protected mode is on")
    );
    assert!(of("no", "").finding.ends_with("protected mode is off"));
}
