//! Many leases, and many keys that are none.

use super::{objects, status};
use crate::harness::Redis;
use crate::harness::terminal::Terminal;

fn lease(redis: &Redis, key: &str) {
    redis.steal(&format!("redlease:{{{key}}}"), "t", 60_000);
}

#[test]
fn patterns_choose_and_keys_are_sorted() {
    let redis = Redis::start();
    for key in ["import-b", "import-a", "export-a", "import", "x*y", "xzy"] {
        lease(&redis, key);
    }
    let keys = |words: &[&str]| -> Vec<String> {
        objects(&redis, words)
            .iter()
            .map(|seen| seen["key"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(keys(&["import-*"]), ["import-a", "import-b"]);
    assert_eq!(keys(&["?mport"]), ["import"]);
    assert_eq!(
        keys(&["import-[ab]", "export-a"]),
        ["import-a", "import-b", "export-a"]
    );
    assert_eq!(keys(&[r"x\*y"]), ["x*y"]);
    assert_eq!(keys(&["nothing-*"]), Vec::<String>::new());
    assert_eq!(keys(&[]).len(), 6);
    assert_eq!(keys(&["--prefix", "other:"]).len(), 0);
}

/// The server is never kept busy: bounded steps, and no command that looks at everything at once.
#[test]
fn a_list_beside_many_foreign_keys_stalls_nobody() {
    let redis = Redis::options()
        .debug()
        // A step takes well under a millisecond; a busy machine may stretch it, KEYS would take longer still.
        .line("slowlog-log-slower-than 200000")
        .start();
    redis.cli(&["DEBUG", "POPULATE", "300000", "foreign"]);
    redis.cli(&["CONFIG", "RESETSTAT"]);
    redis.cli(&["SLOWLOG", "RESET"]);
    for at in 0..500 {
        lease(&redis, &format!("job-{at:03}"));
    }
    let seen = objects(&redis, &[]);
    assert_eq!(seen.len(), 500);
    assert_eq!(seen[499]["key"], "job-499");
    assert_eq!(redis.cli(&["SLOWLOG", "LEN"]).int(), 0);
    let used = redis.cli(&["INFO", "commandstats"]).text();
    assert!(!used.contains("cmdstat_keys:"), "{used}");
    assert!(used.contains("cmdstat_scan:"), "{used}");
}

#[test]
fn a_long_look_shows_how_far_it_is_on_a_terminal() {
    let redis = Redis::options().debug().start();
    redis.cli(&["DEBUG", "POPULATE", "300000", "foreign"]);
    lease(&redis, "k");
    // Paused, the server makes any look a long one.
    redis.pause();
    let mut terminal = Terminal::start(status(&redis, &[]));
    std::thread::sleep(crate::harness::ms(2500));
    redis.resume();
    terminal.shows("redlease: looked at ");
    terminal.shows("foreign");
    terminal.exits(0);
}
