//! Whatever happens to the server, the fences of a key grow from one holding to the next.
//!
//! The one assumption: a server that has forgotten the highest fence has a clock that is ahead of it. While the
//! counter survives, the clock may be anything.

use proptest::prelude::*;

use super::simulation::runner;
use super::*;
use crate::lease::protocol::breaking::Break;
use crate::lease::reply::Reply;

#[derive(Clone, Copy, Debug)]
enum Act {
    Acquire(usize, bool),
    Release(usize),
    /// The TTL ends; the holder does not know.
    Expire(usize),
    Renew(usize),
    Break(usize, bool),
    Flush,
    /// One key of a lease alone is evicted.
    ForgetInfo(usize),
    Save,
    /// Killed, and started with what was saved last: a lagging replica that takes over has as much.
    Restart,
    RestartEmpty,
    /// By so many seconds, back or forth.
    Step(i64),
}

fn either(losing: bool) -> impl Strategy<Value = Act> {
    let any_of = || any::<usize>();
    let calm = prop_oneof![
        6 => (any_of(), any::<bool>()).prop_map(|(key, retry)| Act::Acquire(key, retry)),
        3 => any_of().prop_map(Act::Release),
        2 => any_of().prop_map(Act::Expire),
        2 => any_of().prop_map(Act::Renew),
        1 => (any_of(), any::<bool>()).prop_map(|(key, now)| Act::Break(key, now)),
    ];
    let rough = if losing {
        prop_oneof![
            2 => Just(Act::Flush),
            2 => any_of().prop_map(Act::ForgetInfo),
            2 => Just(Act::Save),
            1 => Just(Act::Restart),
            1 => Just(Act::RestartEmpty),
        ]
        .boxed()
    } else {
        (-100_000..100_000i64).prop_map(Act::Step).boxed()
    };
    prop_oneof![5 => calm, 1 => rough]
}

/// Two keys, the second with two slots.
struct Keys {
    names: [Names; 2],
    fences: [Fence; 2],
    held: Vec<(usize, Contender, Grant)>,
}

impl Keys {
    fn new() -> Keys {
        let names = |key: &str| Names::new(&Prefix::default(), &key.parse().unwrap());
        Keys {
            names: [names("one"), names("two")],
            fences: [Fence(0); 2],
            held: Vec::new(),
        }
    }

    fn acquire(&mut self, on: &mut Connection, key: usize, retry: bool) {
        let limit = if key == 0 { 1 } else { 2 };
        let mut run = contender("db1").limit(limit);
        run.names = self.names[key].clone();
        let Ok(mut grant) = run.acquire(on) else {
            return;
        };
        if retry {
            // Its reply was lost: the same fence under another token, for the same job.
            let lost = std::mem::replace(&mut run.token, Token::fresh());
            run.replaces.push(lost);
            let first = grant.fence;
            grant = run.acquire(on).unwrap();
            assert_eq!(grant.fence, first);
        }
        assert!(
            grant.fence > self.fences[key],
            "{} after {}",
            grant.fence,
            self.fences[key]
        );
        self.fences[key] = grant.fence;
        self.held.push((key, run, grant));
    }

    fn act(&mut self, server: &mut Server, on: &mut Connection, act: Act) {
        let pick = |nth: usize| (!self.held.is_empty()).then(|| nth % self.held.len());
        match act {
            Act::Acquire(key, retry) => self.acquire(on, key % 2, retry),
            Act::Release(nth) => {
                if let Some(at) = pick(nth) {
                    let (_, run, grant) = self.held.remove(at);
                    // Lost or not: it must not matter to the next.
                    drop(run.finish(on, &grant, 0));
                }
            }
            Act::Expire(nth) => {
                let slot = u8::try_from(nth / 2 % 2 + 1).unwrap();
                on.command(&["DEL", &self.names[nth % 2].lease(slot)]);
            }
            Act::Renew(nth) => {
                if let Some(at) = pick(nth) {
                    let (_, run, grant) = &self.held[at];
                    if run.restore(on, grant).is_err() {
                        self.held.remove(at);
                    }
                }
            }
            Act::Break(nth, now) => {
                let key = nth % 2;
                on.ask(&Break {
                    names: &self.names[key],
                    slot: 1,
                    limit: if key == 0 { 1 } else { 2 },
                    token: None,
                    who: "root",
                    now,
                    retain: RETAIN,
                });
            }
            Act::Flush => drop(on.command(&["FLUSHALL"])),
            Act::ForgetInfo(nth) => drop(on.command(&["DEL", &self.names[nth % 2].info(1)])),
            Act::Save => drop(on.command(&["SAVE"])),
            Act::Restart => {
                server.restart();
                *on = server.connect();
            }
            Act::RestartEmpty => {
                server.restart_empty();
                *on = server.connect();
            }
            Act::Step(seconds) => {
                let clock = on.clock.unwrap();
                on.clock = clock.checked_add_signed(seconds * 1_000_000);
            }
        }
        // Time passes, also by a clock of our own.
        on.clock = on.clock.map(|clock| clock + 1);
    }
}

#[test]
fn fences_grow_whatever_the_server_loses() {
    in_every_story(25, 50, true, |_| {});
}

#[test]
fn fences_grow_whatever_the_clock_does_while_the_counter_survives() {
    in_every_story(60, 60, false, |on| {
        on.command(&["ACL", "SETUSER", "default", "-time"]);
        on.clock = Some(1_700_000_000_000_000);
    });
}

/// So many stories of less than so many acts each, from an empty server on.
fn in_every_story(cases: u32, acts: usize, losses: bool, begin: impl Fn(&mut Connection)) {
    let server = std::cell::RefCell::new(Server::start());
    let stories = prop::collection::vec(either(losses), 1..acts);
    let result = runner(cases).run(&stories, |acts| {
        let mut server = server.borrow_mut();
        let mut on = server.connect();
        on.command(&["FLUSHALL"]);
        begin(&mut on);
        let mut keys = Keys::new();
        for act in acts {
            keys.act(&mut server, &mut on, act);
        }
        Ok(())
    });
    if let Err(failure) = result {
        panic!("{failure}");
    }
}

/// What the assumption is for: counter and clock lost together.
#[test]
fn a_counter_lost_with_a_clock_that_steps_back_is_the_one_gap() {
    let server = Server::start();
    let mut on = server.connect();
    on.command(&["ACL", "SETUSER", "default", "-time"]);
    on.clock = Some(1_700_000_000_000_000);
    let first = contender("db1").acquire(&mut on).unwrap().fence;
    on.command(&["FLUSHALL"]);
    on.clock = Some(1_600_000_000_000_000);
    let second = contender("db1").acquire(&mut on).unwrap().fence;
    assert!(second < first);
    on.command(&["FLUSHALL"]);
    on.clock = Some(1_700_000_000_000_001);
    assert!(contender("db1").acquire(&mut on).unwrap().fence > first);
}

#[test]
fn fences_grow_over_a_fail_over_to_a_lagging_replica() {
    let (primary, port) = Server::with_port();
    let replica = Server::start();
    let mut old = primary.connect();
    let mut new = replica.connect();
    new.command(&["REPLICAOF", "127.0.0.1", &port.to_string()]);
    let first = contender("db1");
    let grant = first.acquire(&mut old).unwrap();
    let limit = std::time::Instant::now() + Duration::from_secs(20);
    while new.command(&["GET", "redlease:{k}"]) == Reply::Nil {
        assert!(std::time::Instant::now() < limit, "nothing is replicated");
        std::thread::sleep(ms(10));
    }
    // From now on the replica lags, and takes over with what it had.
    assert_eq!(new.text(&["REPLICAOF", "NO", "ONE"]), "OK");
    let mut last = grant.fence;
    let mut holding = (first, grant);
    for _ in 0..20 {
        holding.0.release(&mut old, &holding.1).unwrap();
        let next = contender("db2");
        let grant = next.acquire(&mut old).unwrap();
        assert!(grant.fence > last);
        last = grant.fence;
        holding = (next, grant);
    }
    drop(primary);
    // The last holder's lease is not known there: the old one's is, which has ended.
    assert!(holding.0.renew(&mut new, &holding.1).is_err());
    assert!(contender("db3").acquire(&mut new).is_err());
    new.command(&["DEL", "redlease:{k}"]);
    let grant = contender("db3").acquire(&mut new).unwrap();
    assert!(grant.fence > last, "{} after {last}", grant.fence);
    assert!(new.int(&["DBSIZE"]) > 0);
}
