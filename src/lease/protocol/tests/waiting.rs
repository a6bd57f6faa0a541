//! The queue: first come, first served, among those who answer. The clock is the one that the tests send.

use super::*;
use crate::lease::protocol::acquire::Leave;
use crate::lease::reply::Reply;

const KEY: &str = "redlease:{k}";
const START: u64 = 1_700_000_000_000_000;

/// A server that refuses TIME, so that the test's clock counts.
fn clocked(server: &Server) -> Connection {
    let mut on = server.connect();
    on.command(&["ACL", "SETUSER", "default", "-time"]);
    on.clock = Some(START);
    on
}

fn pass(on: &mut Connection, millis: u64) {
    on.clock = on.clock.map(|clock| clock + millis * 1000);
}

/// Hears what is published to a waiter.
fn listener(server: &Server, id: &str) -> Connection {
    let mut ear = server.connect();
    ear.command(&["SUBSCRIBE", &format!("redlease:{{k}}:wake:{id}")]);
    ear
}

fn heard(ear: &mut Connection) -> String {
    let Reply::Array(parts) = ear.read() else {
        panic!("no message");
    };
    parts[2].text().unwrap()
}

fn queue(on: &mut Connection) -> Vec<String> {
    let Reply::Array(ids) = on.command(&["ZRANGE", "redlease:{k}:queue", "0", "-1"]) else {
        panic!("no queue");
    };
    ids.iter().map(|id| id.text().unwrap()).collect()
}

fn ahead(answer: &Result<Grant, Refusal>) -> u32 {
    answer.as_ref().unwrap_err().place().unwrap().ahead
}

fn leave(on: &mut Connection, who: &Contender, id: &str) -> u64 {
    on.ask(&Leave {
        names: &who.names,
        limit: who.limit,
        waiter: Some(id),
        tokens: std::slice::from_ref(&who.token),
    })
}

#[test]
fn nobody_queues_for_a_free_lease() {
    let server = Server::start();
    let mut on = clocked(&server);
    assert!(contender("db1").wait(&mut on, "a", None).is_ok());
    assert_eq!(on.int(&["EXISTS", "redlease:{k}:queue"]), 0);
    assert_eq!(on.int(&["EXISTS", "redlease:{k}:waiters"]), 0);
}

#[test]
fn the_first_of_the_queue_is_next() {
    let server = Server::start();
    let mut on = clocked(&server);
    let holder = contender("db0");
    let grant = holder.acquire(&mut on).unwrap();
    let (a, b) = (contender("db1"), contender("db2"));
    let first = a.wait(&mut on, "a", None);
    assert_eq!(
        first.unwrap_err().place(),
        Some(crate::lease::Place {
            ahead: 0,
            waiting: 1,
            ticket: START
        })
    );
    // In the same microsecond: the ticket is one more.
    let second = b.wait(&mut on, "b", None);
    assert_eq!(
        second.unwrap_err().place(),
        Some(crate::lease::Place {
            ahead: 1,
            waiting: 2,
            ticket: START + 1
        })
    );
    let (mut ear_a, mut ear_b) = (listener(&server, "a"), listener(&server, "b"));
    pass(&mut on, 100);
    holder.release(&mut on, &grant).unwrap();
    assert_eq!(heard(&mut ear_a), "0");
    assert_eq!(heard(&mut ear_b), "1");

    // Neither the second nor one who does not wait goes first.
    pass(&mut on, 100);
    assert_eq!(
        b.wait(&mut on, "b", None),
        Err(Refusal::Queued {
            place: Some(crate::lease::Place {
                ahead: 1,
                waiting: 2,
                ticket: START + 1
            }),
            waiting: 2,
            turn: ms(400)
        })
    );
    assert_eq!(
        contender("db3").acquire(&mut on),
        Err(Refusal::Queued {
            place: None,
            waiting: 2,
            turn: ms(900)
        })
    );
    let next = a.wait(&mut on, "a", None).unwrap();
    assert!(next.fence > grant.fence);
    assert_eq!(queue(&mut on), ["b"]);
}

#[test]
fn one_who_does_not_answer_costs_half_a_second() {
    let server = Server::start();
    let mut on = clocked(&server);
    let holder = contender("db0");
    let grant = holder.acquire(&mut on).unwrap();
    let all: Vec<Contender> = ["a", "b", "c"].into_iter().map(contender).collect();
    let ears: Vec<Connection> = all
        .iter()
        .map(|one| {
            let id = one.identity.host.as_str();
            assert!(one.wait(&mut on, id, None).is_err());
            listener(&server, id)
        })
        .collect();
    holder.release(&mut on, &grant).unwrap();
    // All three hear it, and the first two hang.
    pass(&mut on, 999);
    let answer = all[2].wait(&mut on, "c", None);
    assert_eq!(ahead(&answer), 2);
    assert!(matches!(answer, Err(Refusal::Queued { turn, .. }) if turn == ms(1)));
    pass(&mut on, 1);
    assert!(all[2].wait(&mut on, "c", None).is_ok());
    drop(ears);
}

#[test]
fn one_who_is_gone_costs_nothing() {
    let server = Server::start();
    let mut on = clocked(&server);
    let holder = contender("db0");
    let grant = holder.acquire(&mut on).unwrap();
    for id in ["a", "b", "c"] {
        assert!(contender(id).wait(&mut on, id, None).is_err());
    }
    let mut ear = listener(&server, "c");
    holder.release(&mut on, &grant).unwrap();
    assert_eq!(heard(&mut ear), "0");
    assert_eq!(queue(&mut on), ["c"]);
}

#[test]
fn one_who_is_silent_is_dropped_by_whoever_looks() {
    let server = Server::start();
    let mut on = clocked(&server);
    let holder = contender("db0");
    holder.acquire(&mut on).unwrap();
    let (a, b) = (contender("a"), contender("b"));
    assert!(a.wait(&mut on, "a", None).is_err());
    assert_eq!(ahead(&b.wait(&mut on, "b", None)), 1);
    pass(&mut on, 5_999);
    assert_eq!(ahead(&b.wait(&mut on, "b", None)), 1);
    assert!(!holder.see(&mut on, 1).waiters[0].silent);
    pass(&mut on, 1);
    assert!(holder.see(&mut on, 1).waiters[0].silent);
    assert_eq!(ahead(&b.wait(&mut on, "b", None)), 0);
    assert_eq!(queue(&mut on), ["b"]);
}

#[test]
fn a_ticket_brings_a_waiter_back_to_its_place() {
    let server = Server::start();
    let mut on = clocked(&server);
    let holder = contender("db0");
    let grant = holder.acquire(&mut on).unwrap();
    let (a, b, c) = (contender("a"), contender("b"), contender("c"));
    assert!(a.wait(&mut on, "a", None).is_err());
    pass(&mut on, 10);
    assert!(b.wait(&mut on, "b", None).is_err());
    on.command(&["FLUSHALL"]);
    assert!(holder.restore(&mut on, &grant).unwrap().restored);
    pass(&mut on, 10);
    assert_eq!(ahead(&c.wait(&mut on, "c", None)), 0);
    assert_eq!(ahead(&b.wait(&mut on, "b", Some(START + 10_000))), 0);
    assert_eq!(ahead(&a.wait(&mut on, "a", Some(START))), 0);
    assert_eq!(queue(&mut on), ["a", "b", "c"]);
}

#[test]
fn a_holder_that_dies_leaves_it_to_the_first() {
    let server = Server::start();
    let mut on = clocked(&server);
    contender("db0").acquire(&mut on).unwrap();
    let (a, b) = (contender("a"), contender("b"));
    assert!(a.wait(&mut on, "a", None).is_err());
    assert!(b.wait(&mut on, "b", None).is_err());
    pass(&mut on, 30_000);
    on.command(&["DEL", KEY]);
    // `a` is silent for more than 6 s, so that `b` is the first by now.
    assert_eq!(b.wait(&mut on, "b", None).unwrap().slot, 1);
    // The lapse was at expires_at, and the queue's idle time counts from there.
    assert!(a.wait(&mut on, "a", Some(START)).is_err());
}

#[test]
fn a_waiter_that_leaves_wakes_who_moved_up() {
    let server = Server::start();
    let mut on = clocked(&server);
    let holder = contender("db0");
    let grant = holder.acquire(&mut on).unwrap();
    let all: Vec<Contender> = ["a", "b", "c", "d"].into_iter().map(contender).collect();
    let mut ears: Vec<Connection> = Vec::new();
    for one in &all {
        let id = one.identity.host.as_str();
        assert!(one.wait(&mut on, id, None).is_err());
        ears.push(listener(&server, id));
    }
    holder.release(&mut on, &grant).unwrap();
    for (ear, rank) in ears.iter_mut().zip(["0", "1", "2"]) {
        assert_eq!(heard(ear), rank);
    }
    assert_eq!(leave(&mut on, &all[0], "a"), 0);
    for (ear, rank) in ears[1..].iter_mut().zip(["0", "1", "2"]) {
        assert_eq!(heard(ear), rank);
    }
    assert!(all[1].wait(&mut on, "b", None).is_ok());
}

#[test]
fn leaving_gives_back_what_a_lost_reply_had_granted() {
    let server = Server::start();
    let mut on = clocked(&server);
    let ann = contender("a").limit(2);
    ann.acquire(&mut on).unwrap();
    let bob = contender("b").limit(2);
    assert_eq!(bob.acquire(&mut on).unwrap().slot, 2);
    assert_eq!(leave(&mut on, &bob, "b"), 1);
    assert_eq!(on.int(&["EXISTS", "redlease:{k}:2"]), 0);
    assert_eq!(on.int(&["EXISTS", KEY]), 1);
    assert_eq!(leave(&mut on, &bob, "b"), 0);
    assert!(ann.see(&mut on, 2).last_run.is_none());
}

#[test]
fn with_two_free_slots_the_first_two_may_take() {
    let server = Server::start();
    let mut on = clocked(&server);
    let holders: Vec<Contender> = (0..2).map(|_| contender("h").limit(2)).collect();
    let grants: Vec<Grant> = holders
        .iter()
        .map(|one| one.acquire(&mut on).unwrap())
        .collect();
    let all: Vec<Contender> = ["a", "b", "c"]
        .into_iter()
        .map(|id| contender(id).limit(2))
        .collect();
    let mut ears = Vec::new();
    for one in &all {
        let id = one.identity.host.as_str();
        assert!(one.wait(&mut on, id, None).is_err());
        ears.push(listener(&server, id));
    }
    for (holder, grant) in holders.iter().zip(&grants) {
        holder.release(&mut on, grant).unwrap();
    }
    assert!(all[2].wait(&mut on, "c", None).is_err());
    assert!(all[1].wait(&mut on, "b", None).is_ok());
    assert!(all[2].wait(&mut on, "c", None).is_err());
    assert!(all[0].wait(&mut on, "a", None).is_ok());
    assert_eq!(queue(&mut on), ["c"]);
}

#[test]
fn the_keys_of_the_queue_go_when_nobody_asks() {
    let server = Server::start();
    let mut on = clocked(&server);
    contender("db0").acquire(&mut on).unwrap();
    assert!(contender("a").wait(&mut on, "a", None).is_err());
    for key in ["redlease:{k}:queue", "redlease:{k}:waiters"] {
        on.command(&["PEXPIRE", key, "1000"]);
    }
    assert!(contender("a").wait(&mut on, "a", None).is_err());
    for key in ["redlease:{k}:queue", "redlease:{k}:waiters"] {
        let left = on.int(&["PTTL", key]);
        assert!(left > 10_000 && left <= 20_000, "{key} {left}");
    }
    let seen = contender("a").see(&mut on, 1);
    assert_eq!(seen.waiting, 1);
    assert_eq!(seen.waiters[0].id, "a");
    assert_eq!(seen.waiters[0].ticket, START);
    assert_eq!(seen.waiters[0].since_us, START);
    assert_eq!(seen.waiters[0].who, contender("a").identity);
}

#[test]
fn a_clock_that_steps_back_delays_nobody() {
    let server = Server::start();
    let mut on = clocked(&server);
    let holder = contender("db0");
    let grant = holder.acquire(&mut on).unwrap();
    let (a, b) = (contender("a"), contender("b"));
    assert!(a.wait(&mut on, "a", None).is_err());
    assert!(b.wait(&mut on, "b", None).is_err());
    on.clock = Some(START - 3_600_000_000);
    // The server kept the key by its old clock: what an hour's step leaves is set back to the TTL.
    on.command(&["PEXPIRE", KEY, "3630000"]);
    assert!(b.wait(&mut on, "b", None).is_err());
    assert!(on.int(&["PTTL", KEY]) <= 30_000);
    // `a` counts as heard now, and as silent 6 s later.
    pass(&mut on, 5_000);
    assert_eq!(ahead(&b.wait(&mut on, "b", None)), 1);
    pass(&mut on, 2_000);
    assert_eq!(ahead(&b.wait(&mut on, "b", None)), 0);
    holder.release(&mut on, &grant).unwrap();
    let next = b.wait(&mut on, "b", None).unwrap();
    assert_eq!(next.fence, Fence(grant.fence.0 + 1));
}

/// A random story found it: the third took its turn together with the second.
#[test]
fn who_moves_up_while_it_is_free_keeps_the_time_of_its_place() {
    let server = Server::start();
    let mut on = clocked(&server);
    let holder = contender("db0");
    let grant = holder.acquire(&mut on).unwrap();
    let all: Vec<Contender> = ["a", "b", "c"].into_iter().map(contender).collect();
    let mut ears: Vec<Connection> = Vec::new();
    for one in &all {
        let id = one.identity.host.as_str();
        assert!(one.wait(&mut on, id, None).is_err());
        ears.push(listener(&server, id));
    }
    pass(&mut on, 5_700);
    assert!(all[1].wait(&mut on, "b", None).is_err());
    assert!(all[2].wait(&mut on, "c", None).is_err());
    pass(&mut on, 100);
    holder.release(&mut on, &grant).unwrap();
    assert_eq!(heard(&mut ears[1]), "1");
    // `a` has hung since it came, and is dropped by the look of `c`, whose second is not over.
    pass(&mut on, 490);
    let answer = all[2].wait(&mut on, "c", None);
    assert_eq!(ahead(&answer), 1);
    assert!(matches!(answer, Err(Refusal::Queued { turn, .. }) if turn == ms(510)));
    // `b` is told that it is the first now.
    assert_eq!(heard(&mut ears[1]), "0");
    assert!(all[1].wait(&mut on, "b", None).is_ok());
}

#[test]
fn the_slot_that_is_free_for_longer_is_taken_first() {
    let server = Server::start();
    let mut on = clocked(&server);
    let holders: Vec<Contender> = (0..2).map(|_| contender("h").limit(2)).collect();
    let grants: Vec<Grant> = holders
        .iter()
        .map(|one| one.acquire(&mut on).unwrap())
        .collect();
    let a = contender("a").limit(2);
    assert!(a.wait(&mut on, "a", None).is_err());
    let _ear = listener(&server, "a");
    holders[1].release(&mut on, &grants[1]).unwrap();
    pass(&mut on, 100);
    holders[0].release(&mut on, &grants[0]).unwrap();
    assert_eq!(a.wait(&mut on, "a", None).unwrap().slot, 2);
}
