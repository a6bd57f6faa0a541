//! TLS behind sentinels and in a cluster, and addresses of IPv6.

use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};

use crate::harness::redis::Options;
use crate::harness::{Authority, PATIENCE, Redis, Redlease, Value, ports, wait_until};

/// TLS and nothing else on this port, to peers too.
fn lines(authority: &Authority, port: u16) -> Vec<String> {
    let (certificate, key) = authority.sign("127.0.0.1", false);
    vec![
        "port 0".to_owned(),
        format!("tls-port {port}"),
        format!("tls-cert-file {}", certificate.display()),
        format!("tls-key-file {}", key.display()),
        format!("tls-ca-cert-file {}", authority.certificate().display()),
        "tls-auth-clients no".to_owned(),
        "tls-replication yes".to_owned(),
        "tls-cluster yes".to_owned(),
    ]
}

fn server(authority: &Authority, port: u16) -> Options {
    let stock = Redis::options().stock();
    let lines = lines(authority, port);
    lines.iter().fold(stock, |options, line| options.line(line))
}

struct Sentinel(Child);

impl Sentinel {
    fn start(authority: &Authority, port: u16, primary: &Redis, primary_port: u16) -> Sentinel {
        let file = primary.folder().join("sentinel");
        let watched = format!("sentinel monitor main 127.0.0.1 {primary_port} 1");
        let conf = lines(authority, port).join("\n");
        std::fs::write(&file, format!("{conf}\nbind 127.0.0.1\n{watched}\n")).unwrap();
        let child = Command::new(primary.program())
            .arg(&file)
            .arg("--sentinel")
            .current_dir(primary.folder())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let sentinel = Sentinel(child.unwrap());
        wait_until("the sentinel's port", PATIENCE, || {
            TcpStream::connect(("127.0.0.1", port)).is_ok()
        });
        sentinel
    }
}

impl Drop for Sentinel {
    fn drop(&mut self) {
        drop(self.0.kill().and_then(|()| self.0.wait()));
    }
}

fn run(authority: &Authority, key: &str, url: &str) -> Redlease {
    Redlease::run(key)
        .env("REDLEASE_URL", url)
        .arg("--tls-ca")
        .arg(authority.certificate())
}

fn ok(redis: &Redis, words: &[&str]) {
    assert_eq!(redis.cli(words), Value::Text(b"OK".to_vec()), "{words:?}");
}

#[test]
fn sentinels_and_their_primary_are_asked_in_tls() {
    let authority = Authority::new();
    let (primary_port, port) = (ports::pick(), ports::pick());
    let primary = server(&authority, primary_port).start();
    let _sentinel = Sentinel::start(&authority, port, &primary, primary_port);
    let url = format!("rediss-sentinel://127.0.0.1:{port}/main");
    let holder = run(&authority, "k", &url).holds().start().up();
    assert!(primary.exists("redlease:{k}"));
    run(&authority, "k", &url).job(["true"]).exits(75);
    holder.finish().silent_on_stderr();
    assert!(!primary.exists("redlease:{k}"));
    // Another authority's word is not enough for either of them.
    let other = Authority::new();
    run(&other, "k", &url)
        .args(["--connect-timeout", "20s"])
        .job(["true"])
        .exits(78)
        .says(&["TLS"]);
}

#[test]
fn nodes_of_a_cluster_are_found_and_asked_in_tls() {
    let authority = Authority::new();
    let ports = [ports::pick(), ports::pick()];
    let nodes = ports.map(|port| server(&authority, port).line("cluster-enabled yes").start());
    for (node, slots, epoch) in [(0, 0..8192, "1"), (1, 8192..16384, "2")] {
        ok(&nodes[node], &["CLUSTER", "SET-CONFIG-EPOCH", epoch]);
        let slots: Vec<String> = slots.map(|slot: u16| slot.to_string()).collect();
        let mut words = vec!["CLUSTER", "ADDSLOTS"];
        words.extend(slots.iter().map(String::as_str));
        ok(&nodes[node], &words);
    }
    let second = ports[1].to_string();
    ok(&nodes[0], &["CLUSTER", "MEET", "127.0.0.1", &second]);
    wait_until("an agreement of the nodes", PATIENCE, || {
        nodes.iter().all(|node| {
            let info = node.cli(&["CLUSTER", "INFO"]).text();
            info.contains("cluster_state:ok") && info.contains("cluster_slots_assigned:16384")
        })
    });
    let url = format!("rediss-cluster://127.0.0.1:{}", ports[0]);
    let mut homes = [false, false];
    for key in (0..20).map(|n| format!("k{n}")) {
        let lease = format!("redlease:{{{key}}}");
        let home = usize::from(nodes[0].cli(&["CLUSTER", "KEYSLOT", &lease]).int() >= 8192);
        if std::mem::replace(&mut homes[home], true) {
            continue;
        }
        let holder = run(&authority, &key, &url).holds().start().up();
        assert!(nodes[home].exists(&lease));
        run(&authority, &key, &url).job(["true"]).exits(75);
        holder.finish().silent_on_stderr();
        assert!(!nodes[home].exists(&lease));
    }
    assert_eq!(homes, [true, true]);
}

/// A machine without IPv6 says so, with the address as it was typed.
#[test]
fn an_address_of_ipv6_is_connected_to() {
    let there = TcpListener::bind("[::1]:0").is_ok();
    let redis = Redis::options().tcp().line("bind 127.0.0.1 -::1").start();
    let url = format!("redis://[::1]:{}/1", redis.port());
    let outcome = Redlease::run("k")
        .env("REDLEASE_URL", url)
        .args(["--connect-timeout", "10s"])
        .sh("echo ran")
        .output();
    if there {
        assert_eq!(outcome.out(), "ran\n", "{}", outcome.stderr);
    } else {
        assert_eq!(outcome.code, 69, "{}", outcome.stderr);
        outcome.says(&["[::1]:"]);
    }
}
