//! Servers that refuse, forget or hold something else.

use super::*;
use crate::lease::names::{Key, RawKey, fence_mark};
use crate::lease::protocol::COMMANDS;
use crate::lease::protocol::breaking::Break;
use crate::lease::protocol::check::{FenceCheck, Marked};
use crate::lease::reply::{Reply, Script};

const KEY: &str = "redlease:{k}";

fn error<S: Script>(on: &mut Connection, script: &S) -> String {
    match on.raw(script) {
        Reply::Error(text) => text,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_key_of_another_type_is_refused_and_left_alone() {
    let server = Server::start();
    let mut on = server.connect();
    let ann = contender("db1");
    let grant = ann.acquire(&mut on).unwrap();
    for key in [
        KEY,
        "redlease:{k}:info",
        "redlease:{k}:queue",
        "redlease:{k}:waiters",
    ] {
        on.command(&["FLUSHALL"]);
        on.command(&["RPUSH", key, "x"]);
        let refused = error(&mut on, &ann.request(None));
        assert!(
            refused.starts_with(&format!("WRONGTYPE redlease: the key {key} holds")),
            "{refused}"
        );
        assert_eq!(on.text(&["LINDEX", key, "0"]), "x");
    }
    on.command(&["FLUSHALL"]);
    on.command(&["RPUSH", KEY, "x"]);
    assert!(error(&mut on, &ann.renewal(&grant)).starts_with("WRONGTYPE redlease: "));
    assert!(error(&mut on, &ann.giving_back(&grant)).starts_with("WRONGTYPE redlease: "));
    let state = ann.see(&mut on, 1).state;
    assert_eq!(
        state,
        State::WrongType {
            key: KEY.to_owned()
        }
    );
    assert_eq!(on.int(&["LLEN", KEY]), 1);
}

#[test]
fn renewing_and_giving_back_need_no_memory() {
    let server = Server::start();
    let mut on = server.connect();
    let (ann, bob) = (contender("db1"), contender("db2"));
    let grant = ann.acquire(&mut on).unwrap();
    on.command(&["PEXPIRE", KEY, "5000"]);
    on.command(&["CONFIG", "SET", "maxmemory", "1"]);
    assert!(!ann.renew(&mut on, &grant).unwrap().restored);
    assert!(on.int(&["PTTL", KEY]) > 20_000);
    assert!(ann.see(&mut on, 1).holding.unwrap().expires_at_us > grant.expires_at_us);
    let keep = Release {
        keep_until_us: Some(grant.acquired_at_us + 60_000_000),
        ..ann.giving_back(&grant)
    };
    assert_eq!(on.ask(&keep), Ok(()));
    assert_eq!(
        on.text(&["GET", KEY]),
        format!("cooling:{}", ann.token.as_str())
    );
    on.command(&["DEL", KEY]);
    let refused = error(&mut on, &bob.request(None));
    assert!(refused.contains("OOM"), "{refused}");
    assert_eq!(on.int(&["EXISTS", KEY]), 0);

    on.command(&["CONFIG", "SET", "maxmemory", "0"]);
    let grant = bob.acquire(&mut on).unwrap();
    on.command(&["CONFIG", "SET", "maxmemory", "1"]);
    assert_eq!(bob.finish(&mut on, &grant, 0), Ok(()));
    assert_eq!(on.int(&["EXISTS", KEY]), 0);
    assert_eq!(bob.see(&mut on, 1).last_run.unwrap().outcome, "completed");
}

#[test]
fn a_break_needs_no_memory() {
    let server = Server::start();
    let mut on = server.connect();
    let ann = contender("db1");
    let grant = ann.acquire(&mut on).unwrap();
    on.command(&["CONFIG", "SET", "maxmemory", "1"]);
    let broken = Break {
        names: &ann.names,
        slot: 1,
        limit: 1,
        token: None,
        who: "root",
        now: false,
        retain: RETAIN,
    };
    on.ask(&broken);
    assert_eq!(ann.see(&mut on, 1).state, State::Broken);
    assert!(matches!(
        ann.renew(&mut on, &grant),
        Err(Loss::Broken { .. })
    ));
}

#[test]
fn the_listed_commands_are_enough() {
    let server = Server::start();
    let mut on = server.connect();
    let mut rule = vec![
        "ACL".to_owned(),
        "SETUSER".to_owned(),
        "least".to_owned(),
        "on".to_owned(),
        ">pw".to_owned(),
        "~redlease:*".to_owned(),
        "resetchannels".to_owned(),
        "&redlease:*".to_owned(),
        "-@all".to_owned(),
    ];
    rule.extend(COMMANDS.iter().map(|command| format!("+{command}")));
    let words: Vec<&str> = rule.iter().map(String::as_str).collect();
    assert_eq!(on.text(&words), "OK");
    assert_eq!(on.text(&["AUTH", "least", "pw"]), "OK");
    let (ann, bob) = (contender("db1"), contender("db2"));
    let grant = ann.acquire(&mut on).unwrap();
    assert!(bob.wait(&mut on, "bob", None).is_err());
    assert!(contender("db3").acquire(&mut on).is_err());
    ann.renew(&mut on, &grant).unwrap();
    ann.check(&mut on, 1).unwrap();
    assert!(bob.check(&mut on, 1).is_err());
    assert_eq!(ann.see(&mut on, 1).waiting, 1);
    ann.finish(&mut on, &grant, 0).unwrap();
    assert!(bob.wait(&mut on, "bob", None).is_ok());
    on.ask(&Break {
        names: &bob.names,
        slot: 1,
        limit: 1,
        token: None,
        who: "root",
        now: true,
        retain: RETAIN,
    });
    assert_eq!(ann.see(&mut on, 1).state, State::Free);
}

#[test]
fn a_server_that_refuses_publish_frees_the_lease_all_the_same() {
    let server = Server::start();
    let mut on = server.connect();
    let (ann, bob) = (contender("db1"), contender("db2"));
    let grant = ann.acquire(&mut on).unwrap();
    assert!(bob.wait(&mut on, "bob", None).is_err());
    on.command(&["ACL", "SETUSER", "default", "-publish"]);
    assert_eq!(ann.finish(&mut on, &grant, 0), Ok(()));
    assert_eq!(on.int(&["EXISTS", KEY]), 0);
    assert!(bob.wait(&mut on, "bob", None).is_ok());
}

#[test]
fn a_missing_right_is_named() {
    let server = Server::start();
    let mut on = server.connect();
    for command in ["hset", "set", "get", "hmget", "zcard"] {
        on.command(&["ACL", "SETUSER", "default", &format!("-{command}")]);
        let refused = error(&mut on, &contender("db1").request(None));
        assert!(
            refused.contains("ACL failure in script") && refused.contains(&format!("'{command}'")),
            "{refused}"
        );
        on.command(&["ACL", "SETUSER", "default", &format!("+{command}")]);
        assert_eq!(on.int(&["EXISTS", KEY]), 0);
    }
    assert!(contender("db1").acquire(&mut on).is_ok());
}

#[test]
fn a_replica_proves_nothing() {
    let server = Server::start();
    let mut on = server.connect();
    let ann = contender("db1");
    let grant = ann.acquire(&mut on).unwrap();
    on.command(&["REPLICAOF", "127.0.0.1", "1"]);
    let bob = contender("db2");
    for refused in [
        error(&mut on, &bob.request(None)),
        error(&mut on, &bob.renewal(&grant)),
        error(&mut on, &bob.giving_back(&grant)),
        error(&mut on, &ann.renewal(&grant)),
        error(&mut on, &ann.giving_back(&grant)),
    ] {
        assert!(refused.contains("READONLY"), "{refused}");
    }
}

/// The torture found it: a script that waited for a dead waiter to go from the queue hung the server for ever.
#[test]
fn a_dead_waiter_on_a_server_that_refuses_writes_hangs_nothing() {
    let server = Server::start();
    let mut on = server.connect();
    contender("db1").acquire(&mut on).unwrap();
    on.command(&["ZADD", "redlease:{k}:queue", "1", "dead"]);
    on.command(&["REPLICAOF", "127.0.0.1", "1"]);
    for _ in 0..2 {
        let refused = error(&mut on, &contender("db2").request(None));
        assert!(refused.contains("READONLY"), "{refused}");
    }
    on.command(&["REPLICAOF", "NO", "ONE"]);
    // As a full disk does, and a user who may not take from a queue.
    on.command(&["CONFIG", "SET", "min-replicas-to-write", "1"]);
    let refused = error(&mut on, &contender("db2").request(None));
    assert!(refused.contains("NOREPLICAS"), "{refused}");
    on.command(&["CONFIG", "SET", "min-replicas-to-write", "0"]);
    on.command(&["ACL", "SETUSER", "default", "-zrem"]);
    assert!(contender("db2").acquire(&mut on).is_err());
    on.command(&["ACL", "SETUSER", "default", "+zrem"]);
    assert!(contender("db2").acquire(&mut on).is_err());
    assert_eq!(on.int(&["ZCARD", "redlease:{k}:queue"]), 0);
}

#[test]
fn a_raw_key_is_shared_with_other_clients() {
    let server = Server::start();
    let mut on = server.connect();
    let mut ann = contender("db1");
    let raw: RawKey = "job:1".parse().unwrap();
    ann.names = Names::raw(&Prefix::default(), &raw);
    on.command(&["SET", "job:1", "theirs", "PX", "9000"]);
    let Err(Refusal::Held {
        holder: None,
        remaining,
        ..
    }) = ann.acquire(&mut on)
    else {
        panic!("two clients hold it");
    };
    assert!(remaining.unwrap() <= ms(9000));
    on.command(&["PERSIST", "job:1"]);
    assert!(matches!(
        ann.acquire(&mut on),
        Err(Refusal::Held {
            remaining: None,
            ..
        })
    ));
    assert_eq!(
        ann.see(&mut on, 1).state,
        State::Foreign {
            token: "theirs".to_owned()
        }
    );
    on.command(&["DEL", "job:1"]);
    let grant = ann.acquire(&mut on).unwrap();
    assert_eq!(
        on.command(&["SET", "job:1", "theirs", "NX", "PX", "9000"]),
        Reply::Nil
    );
    // Others do not know of restoring.
    on.command(&["DEL", "job:1"]);
    assert_eq!(ann.restore(&mut on, &grant), Err(Loss::Gone));
}

#[test]
fn a_resource_sees_no_fence_below_its_mark() {
    let server = Server::start();
    let mut on = server.connect();
    let resource: Key = "bucket".parse().unwrap();
    let mark = fence_mark(&Prefix::default(), &resource);
    assert_eq!(mark, "redlease:{bucket}:fence");
    let mut check = |fence: u64| {
        on.ask(&FenceCheck {
            mark: &mark,
            fence: Fence(fence),
        })
    };
    assert_eq!(check(9), Marked::Accepted);
    assert_eq!(check(9), Marked::Accepted);
    assert_eq!(check(10), Marked::Accepted);
    assert_eq!(check(9), Marked::Stale { mark: Fence(10) });
    // Past 2^53, where a Lua number is not exact any more.
    assert_eq!(check(9_007_199_254_740_993), Marked::Accepted);
    assert_eq!(
        check(9_007_199_254_740_992),
        Marked::Stale {
            mark: Fence(9_007_199_254_740_993)
        }
    );
    on.command(&["SET", &mark, "abc"]);
    let check = FenceCheck {
        mark: &mark,
        fence: Fence(1),
    };
    assert!(error(&mut on, &check).starts_with("WRONGTYPE redlease: "));
}

#[test]
fn nonsense_is_an_error_and_no_panic() {
    let ann = contender("db1");
    let grant = Grant {
        slot: 1,
        fence: Fence(1),
        acquired_at_us: 1,
        expires_at_us: 2,
        again: false,
    };
    let text = |text: &str| Reply::Bytes(text.as_bytes().to_vec());
    let nonsense = [
        Reply::Nil,
        Reply::Int(7),
        text("granted"),
        Reply::Array(Vec::new()),
        Reply::Array(vec![text("granted"), text("x")]),
        Reply::Array(vec![text("granted"), Reply::Int(300)]),
        Reply::Array(vec![text("held"), Reply::Nil]),
        Reply::Array(vec![text("taken"), Reply::Int(1)]),
        Reply::Array(vec![text("renewed"), Reply::Int(-1)]),
        Reply::Error("ERR".to_owned()),
    ];
    for reply in nonsense {
        assert!(ann.request(None).decode(&reply).is_err(), "{reply:?}");
        assert!(ann.renewal(&grant).decode(&reply).is_err(), "{reply:?}");
        assert!(ann.giving_back(&grant).decode(&reply).is_err(), "{reply:?}");
        let see = Inspect {
            names: &ann.names,
            slot: 1,
        };
        assert!(see.decode(&reply).is_err(), "{reply:?}");
    }
}
