//! A real cluster of six nodes.

use std::collections::BTreeSet;

use crate::harness::process::Stamps;
use crate::harness::{Cluster, PATIENCE, Redlease, Value, ms, now, wait_until};

fn run(cluster: &Cluster, key: &str) -> Redlease {
    Redlease::run(key).env("REDLEASE_URL", cluster.url())
}

fn lease(key: &str) -> String {
    format!("redlease:{{{key}}}")
}

/// A key whose slot is at first on that primary.
fn key_on(cluster: &Cluster, primary: usize) -> String {
    (0..)
        .map(|n| format!("k{n}"))
        .find(|key| cluster.first_home(cluster.slot(&lease(key))) == primary)
        .expect("some key")
}

#[test]
fn keys_on_every_node_can_be_held_waited_for_and_given_back() {
    let cluster = Cluster::start(false);
    let mut homes = BTreeSet::new();
    for n in 0..9 {
        let key = format!("job:{n}");
        homes.insert(cluster.first_home(cluster.slot(&lease(&key))));
        run(&cluster, &key)
            .args(["--limit", "2", "--min-hold", "1ms"])
            .job(["true"])
            .exits(0)
            .silent();
    }
    assert_eq!(homes.len(), 3);
    for primary in 0..3 {
        let key = key_on(&cluster, primary);
        let holder = run(&cluster, &key).holds().start().up();
        run(&cluster, &key).job(["true"]).exits(75);
        let waiter = run(&cluster, &key)
            .args(["-w", "60s"])
            .sh("echo mine")
            .start();
        let queue = format!("{}:queue", lease(&key));
        wait_until("the waiter in its queue", PATIENCE, || {
            cluster.nodes[primary].cli(&["ZCARD", &queue]).int() == 1
        });
        holder.finish();
        assert_eq!(waiter.exits(0).out(), "mine\n");
    }
}

#[test]
fn the_commands_find_every_node() {
    let cluster = Cluster::start(false);
    let command = |words: &[&str]| Redlease::command(words).env("REDLEASE_URL", cluster.url());
    let mut keys: Vec<String> = (0..3).map(|primary| key_on(&cluster, primary)).collect();
    for key in &keys {
        let token = command(&["acquire", "--key", key]).exits(0).out();
        let of = |verb: &str| {
            command(&[verb, "--key", key, "--token", token.trim()])
                .exits(0)
                .silent_on_stderr();
        };
        of("check");
        of("renew");
    }
    keys.sort();
    let listed = command(&["status", "--json"]).exits(0).out();
    let seen: Vec<serde_json::Value> = listed
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let names: Vec<&str> = seen
        .iter()
        .map(|one| one["key"].as_str().unwrap())
        .collect();
    assert_eq!(names, keys);
    for key in &keys {
        command(&["status", "-q", key]).exits(0);
        command(&["break", key, "--yes", "--now"]).exits(0);
        command(&["status", "-q", key]).exits(1);
    }
}

/// The rule as the doctor prints it, typed into each node as it is.
#[test]
fn the_rights_that_the_doctor_prints_suffice_on_every_node() {
    let cluster = Cluster::start(false);
    let text = Redlease::command(["doctor"])
        .env("REDLEASE_URL", cluster.url())
        .output()
        .out();
    let rule = text
        .lines()
        .find_map(|line| line.trim().strip_prefix("ACL SETUSER redlease "))
        .expect("the rule")
        .replace("PASSWORD", "s3cret");
    let words: Vec<&str> = ["ACL", "SETUSER", "redlease"]
        .into_iter()
        .chain(rule.split(' '))
        .collect();
    for node in &cluster.nodes {
        assert_eq!(node.cli(&words), Value::Text(b"OK".to_vec()), "{rule}");
    }
    let url = cluster.url().replace("://", "://redlease:s3cret@");
    let at = |words: &[&str]| Redlease::command(words).env("REDLEASE_URL", &url);
    let mut keys: Vec<String> = (0..3).map(|primary| key_on(&cluster, primary)).collect();
    for key in &keys {
        at(&["run", "--key", key, "--", "true"]).exits(0).silent();
    }
    keys.sort();
    let listed = at(&["status"]).exits(0);
    listed.silent_on_stderr();
    let listed = listed.out();
    let names = listed.lines().skip(1).map(|line| line.split(' ').next());
    assert!(
        names.eq(keys.iter().map(|key| Some(key.as_str()))),
        "{listed}"
    );
}

#[test]
fn a_single_server_url_to_a_node_says_what_it_is() {
    let cluster = Cluster::start(false);
    let key = key_on(&cluster, 2);
    Redlease::run(&key)
        .env(
            "REDLEASE_URL",
            format!("redis://127.0.0.1:{}", cluster.ports[0]),
        )
        .job(["true"])
        .exits(78)
        .says(&["redis-cluster://"]);
}

#[test]
fn a_slot_that_moves_takes_its_leases_along() {
    let cluster = Cluster::start(false);
    let key = key_on(&cluster, 0);
    let slot = cluster.slot(&lease(&key)).to_string();
    let (from, to) = (&cluster.nodes[0], &cluster.nodes[2]);
    let (old, new) = (cluster.id(0), cluster.id(2));
    let holder = run(&cluster, &key).ttl("9s").holds().start().up();
    from.just_renewed(&lease(&key), 9_000, 500);
    to.cli(&["CLUSTER", "SETSLOT", &slot, "IMPORTING", &old]);
    from.cli(&["CLUSTER", "SETSLOT", &slot, "MIGRATING", &new]);
    let mut client = from.client();
    let port = cluster.ports[2].to_string();
    let keys = client.ask(&["CLUSTER", "GETKEYSINSLOT", &slot, "100"]);
    for key in keys.array() {
        let words = ["MIGRATE", "127.0.0.1", &port, &key.text(), "0", "5000"];
        assert_eq!(client.ask(&words), Value::Text(b"OK".to_vec()));
    }
    // The source sends every question on by ASK now. Past the moment of a renewal, and long before the stop.
    let begun = now();
    wait_until("a renewal in between", PATIENCE, || {
        now().since(begun) > ms(3_500)
    });
    for node in [to, from, &cluster.nodes[1]] {
        node.cli(&["CLUSTER", "SETSLOT", &slot, "NODE", &new]);
    }
    // And by MOVED.
    to.just_renewed(&lease(&key), 9_000, 500);
    run(&cluster, &key).job(["true"]).exits(75);
    let outcome = holder.finish();
    assert!(!outcome.stderr.contains("lost"), "{}", outcome.stderr);
    assert!(!to.exists(&lease(&key)));
}

#[test]
fn a_node_that_dies_keeps_no_waiter_for_ever() {
    let mut cluster = Cluster::start(true);
    let key = key_on(&cluster, 0);
    let folder = tempfile::tempdir().unwrap();
    let first = Stamps::named(folder.path(), "first");
    let second = Stamps::named(folder.path(), "second");
    let holder = run(&cluster, &key)
        .ttl("6s")
        .job(first.job())
        .limit(ms(90_000))
        .start();
    first.await_start();
    let waiter = run(&cluster, &key)
        .ttl("6s")
        .args(["-w", "120s"])
        .job(second.job_for(0.2, 0))
        .limit(ms(90_000))
        .start();
    let queue = format!("{}:queue", lease(&key));
    wait_until("the waiter in its queue", PATIENCE, || {
        cluster.nodes[0].cli(&["ZCARD", &queue]).int() == 1
    });
    cluster.nodes[0].just_renewed(&lease(&key), 6_000, 700);
    let mut client = cluster.nodes[0].client();
    assert_eq!(client.ask(&["WAIT", "1", "20000"]).int(), 1);
    cluster.nodes[0].kill();
    // A cluster needs longer than this lease to agree that a node is dead: the holder is stopped in time.
    wait_until("the holder's end or its renewal", ms(90_000), || {
        // Until it is the primary it sends us away.
        let left = cluster.nodes[3].cli(&["PTTL", &lease(&key)]);
        second.started() || matches!(left, Value::Int(left) if left > 5_500)
    });
    holder.signal(nix::sys::signal::Signal::SIGTERM);
    let outcome = holder.wait();
    assert!([0, 79, 143].contains(&outcome.code), "{}", outcome.stderr);
    waiter.exits(0);
    assert!(first.last() < second.first(), "two jobs at once");
}
