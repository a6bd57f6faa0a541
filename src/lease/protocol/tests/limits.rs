//! Slots, `--min-hold`, `--once-per`, and an operator who breaks a holding.

use super::*;
use crate::lease::protocol::breaking::{Break, Broke};

const KEY: &str = "redlease:{k}";

fn breaking(contender: &Contender) -> Break<'_> {
    Break {
        names: &contender.names,
        slot: 1,
        limit: contender.limit,
        token: None,
        who: "root@db9",
        now: false,
        retain: RETAIN,
    }
}

#[test]
fn as_many_hold_as_there_are_slots() {
    let server = Server::start();
    let mut on = server.connect();
    let all: Vec<Contender> = (0..4).map(|_| contender("db1").limit(3)).collect();
    let mut last = Fence(0);
    let mut grants = Vec::new();
    for (one, slot) in all.iter().zip([1, 2, 3]) {
        let grant = one.acquire(&mut on).unwrap();
        assert_eq!(grant.slot, slot);
        assert!(grant.fence > last);
        last = grant.fence;
        grants.push(grant);
    }
    // The one that ends first is the one described.
    on.command(&["PEXPIRE", "redlease:{k}:2", "9000"]);
    let Err(Refusal::Held { remaining, .. }) = all[3].acquire(&mut on) else {
        panic!("four of three");
    };
    assert!(remaining.unwrap() <= ms(9000));
    assert_eq!(all[1].see(&mut on, 2).fence, Some(last));
    assert_eq!(
        all[1].see(&mut on, 2).holding.unwrap().fence,
        Some(grants[1].fence)
    );

    all[1].renew(&mut on, &grants[1]).unwrap();
    all[1].finish(&mut on, &grants[1], 0).unwrap();
    let grant = all[3].acquire(&mut on).unwrap();
    assert_eq!(grant.slot, 2);
    assert!(grant.fence > last);
    // Each slot is a lease of its own.
    assert!(all[1].renew(&mut on, &grants[1]).is_err());
    assert!(all[0].renew(&mut on, &grants[0]).is_ok());
    assert!(all[2].renew(&mut on, &grants[2]).is_ok());
    assert_eq!(all[3].check(&mut on, 2).unwrap().fence, Some(grant.fence));
}

#[test]
fn callers_that_disagree_on_the_limit_are_refused_while_anything_is_held() {
    let server = Server::start();
    let mut on = server.connect();
    let all: Vec<Contender> = (0..3).map(|_| contender("db1").limit(3)).collect();
    let grants: Vec<Grant> = all
        .iter()
        .map(|one| one.acquire(&mut on).unwrap())
        .collect();
    let kept = Err(Refusal::Limit { kept: 3 });
    assert_eq!(contender("db2").limit(2).acquire(&mut on), kept);
    assert_eq!(contender("db2").limit(4).acquire(&mut on), kept);
    all[0].release(&mut on, &grants[0]).unwrap();
    all[1].release(&mut on, &grants[1]).unwrap();
    // Only slot 3 is held, which is not among the keys of a caller with two.
    assert_eq!(contender("db2").limit(2).acquire(&mut on), kept);
    all[2].release(&mut on, &grants[2]).unwrap();
    assert!(contender("db2").limit(2).acquire(&mut on).is_ok());
    assert_eq!(all[0].see(&mut on, 1).limit, Some(2));
}

#[test]
fn callers_that_disagree_on_the_limit_are_refused_while_anyone_is_queued() {
    let server = Server::start();
    let mut on = server.connect();
    let (ann, bob) = (contender("db1"), contender("db2"));
    let grant = ann.acquire(&mut on).unwrap();
    assert!(bob.wait(&mut on, "bob", None).is_err());
    on.command(&["DEL", KEY]);
    let two = contender("db3").limit(2);
    assert_eq!(two.acquire(&mut on), Err(Refusal::Limit { kept: 1 }));
    assert!(bob.wait(&mut on, "bob", None).is_ok());
    assert!(ann.renew(&mut on, &grant).is_err());
}

#[test]
fn a_short_run_keeps_others_out_for_its_min_hold() {
    let server = Server::start();
    let mut on = server.connect();
    let ann = contender("db1");
    let grant = ann.acquire(&mut on).unwrap();
    let keep = Release {
        keep_until_us: Some(grant.acquired_at_us + 60_000_000),
        ..ann.giving_back(&grant)
    };
    assert_eq!(on.ask(&keep), Ok(()));
    assert_eq!(
        on.text(&["GET", KEY]),
        format!("cooling:{}", ann.token.as_str())
    );
    let left = on.int(&["PTTL", KEY]);
    assert!(left > 40_000 && left <= 60_000, "{left}");
    let Err(Refusal::Cooling {
        last, remaining, ..
    }) = contender("db2").acquire(&mut on)
    else {
        panic!("it is not cooling");
    };
    assert_eq!(last.unwrap().who.host, "db1");
    assert!(remaining > ms(40_000) && remaining <= ms(60_000));
    assert_eq!(ann.see(&mut on, 1).state, State::Cooling);
    // Released again, it cools on; it is lost to a renewal and a strict release.
    assert_eq!(on.ask(&keep), Ok(()));
    assert_eq!(ann.release(&mut on, &grant), Ok(()));
    assert_eq!(ann.renew(&mut on, &grant), Err(Loss::Gone));
    assert_eq!(ann.check(&mut on, 1), Err(Loss::Gone));
    assert!(on.int(&["PTTL", KEY]) > 40_000);
}

#[test]
fn a_long_run_has_nothing_to_keep() {
    let server = Server::start();
    let mut on = server.connect();
    let ann = contender("db1");
    let grant = ann.acquire(&mut on).unwrap();
    let over = Release {
        keep_until_us: Some(grant.acquired_at_us),
        ..ann.giving_back(&grant)
    };
    assert_eq!(on.ask(&over), Ok(()));
    assert_eq!(on.int(&["EXISTS", KEY]), 0);
}

#[test]
fn one_success_per_period() {
    let server = Server::start();
    let mut on = server.connect();
    let year = ms(365 * 24 * 3600 * 1000);
    let runs = || contender("db1").once_per(year);
    // A failure, and a success of a run without --once-per, do not count.
    let one = runs();
    let grant = one.acquire(&mut on).unwrap();
    one.finish(&mut on, &grant, 1).unwrap();
    let other = contender("db1");
    let grant = other.acquire(&mut on).unwrap();
    other.finish(&mut on, &grant, 0).unwrap();
    let one = runs();
    let grant = one.acquire(&mut on).unwrap();
    let waits = runs();
    assert!(waits.wait(&mut on, "w", None).is_err());
    one.finish(&mut on, &grant, 0).unwrap();

    // So a waiter is refused when the run that it waited for succeeded, and leaves the queue.
    let Err(Refusal::AlreadyDone { host, next }) = waits.wait(&mut on, "w", None) else {
        panic!("it ran twice");
    };
    assert_eq!(host.as_deref(), Some("db1"));
    assert!(next <= year);
    assert_eq!(on.int(&["EXISTS", "redlease:{k}:queue"]), 0);
    assert_eq!(
        one.see(&mut on, 1).done,
        Some((grant.acquired_at_us, Some("db1".to_owned())))
    );
    // Who does not ask for it is not refused.
    assert!(contender("db2").acquire(&mut on).is_ok());
}

#[test]
fn a_period_begins_at_its_offset() {
    let server = Server::start();
    let mut on = server.connect();
    on.command(&["ACL", "SETUSER", "default", "-time"]);
    let hour = 3_600_000_000;
    let run = |offset: u64| {
        let mut one = contender("db1");
        one.once_per = Some(OncePer {
            period: Duration::from_micros(hour),
            offset: Duration::from_micros(offset),
        });
        one
    };
    let base = 1_700_000_000_000_000 / hour * hour;
    on.clock = Some(base + 100);
    let one = run(0);
    let grant = one.acquire(&mut on).unwrap();
    // It ends in the next hour, and counts for the one that it began in.
    on.clock = Some(base + hour + 5);
    one.finish(&mut on, &grant, 0).unwrap();
    assert!(run(0).acquire(&mut on).is_ok());
    on.command(&["DEL", KEY]);
    on.clock = Some(base + hour - 300);
    assert_eq!(
        run(0).acquire(&mut on),
        Err(Refusal::AlreadyDone {
            host: Some("db1".to_owned()),
            next: Duration::from_micros(300)
        })
    );
    // With periods that begin at the 10th minute the run at the full hour belongs to the one before.
    on.clock = Some(base + hour / 6 + 1);
    assert!(run(hour / 6).acquire(&mut on).is_ok());
    // A success from the future, after the clock stepped back, counts as now.
    on.command(&["DEL", KEY]);
    on.clock = Some(base - 10 * hour);
    assert!(matches!(
        run(0).acquire(&mut on),
        Err(Refusal::AlreadyDone { .. })
    ));
}

#[test]
fn a_broken_holding_keeps_its_time_and_is_lost() {
    let server = Server::start();
    let mut on = server.connect();
    let (ann, bob) = (contender("db1"), contender("db2"));
    assert_eq!(on.ask(&breaking(&ann)), Broke::Free);
    let grant = ann.acquire(&mut on).unwrap();
    let other = Break {
        token: Some(bob.token.as_str()),
        ..breaking(&ann)
    };
    assert_eq!(on.ask(&other), Broke::Other);
    let Broke::Done {
        remaining,
        cooling,
        holder,
    } = on.ask(&breaking(&ann))
    else {
        panic!("it was not broken");
    };
    assert!(remaining > ms(10_000) && remaining <= TTL);
    assert!(!cooling);
    assert_eq!(holder.unwrap().who, ann.identity);
    let Err(Refusal::Broken { by, remaining, .. }) = bob.acquire(&mut on) else {
        panic!("a second job beside the first");
    };
    assert_eq!(by.as_deref(), Some("root@db9"));
    assert!(remaining > ms(10_000) && remaining <= TTL);
    assert!(matches!(on.ask(&breaking(&ann)), Broke::Already { .. }));

    let broken = Loss::Broken {
        by: Some("root@db9".to_owned()),
    };
    assert_eq!(ann.renew(&mut on, &grant), Err(broken.clone()));
    assert_eq!(ann.restore(&mut on, &grant), Err(broken.clone()));
    assert_eq!(ann.check(&mut on, 1), Err(broken.clone()));
    assert_eq!(ann.finish(&mut on, &grant, 143), Err(broken.clone()));
    assert_eq!(on.int(&["EXISTS", KEY]), 0);
    let seen = ann.see(&mut on, 1);
    assert_eq!(seen.breaks, 1);
    assert_eq!(
        seen.broken,
        Some((ann.token.as_str().to_owned(), Some("root@db9".to_owned())))
    );
    let run = seen.last_run.unwrap();
    assert_eq!((run.outcome.as_str(), run.code), ("broken", Some(143)));
    assert!(bob.acquire(&mut on).unwrap().fence > grant.fence);
    assert_eq!(ann.renew(&mut on, &grant), Err(broken));
}

#[test]
fn break_now_frees_at_once_and_cannot_be_undone() {
    let server = Server::start();
    let mut on = server.connect();
    let ann = contender("db1");
    let grant = ann.acquire(&mut on).unwrap();
    let now = Break {
        now: true,
        token: Some(ann.token.as_str()),
        ..breaking(&ann)
    };
    // With `info` lost too, the holder could have itself restored: a new fence forbids it.
    on.command(&["DEL", "redlease:{k}:info"]);
    assert!(matches!(
        on.ask(&now),
        Broke::Done { remaining, holder: None, .. } if remaining.is_zero()
    ));
    assert_eq!(on.int(&["EXISTS", KEY]), 0);
    assert!(ann.see(&mut on, 1).fence.unwrap() > grant.fence);
    assert!(ann.restore(&mut on, &grant).is_err());
    assert!(ann.release(&mut on, &grant).is_err());
    assert!(contender("db2").acquire(&mut on).is_ok());
}

#[test]
fn nothing_runs_under_a_cooling_lease() {
    let server = Server::start();
    let mut on = server.connect();
    let ann = contender("db1");
    let grant = ann.acquire(&mut on).unwrap();
    let keep = Release {
        keep_until_us: Some(grant.acquired_at_us + 60_000_000),
        ..ann.giving_back(&grant)
    };
    on.ask(&keep).unwrap();
    assert!(matches!(
        on.ask(&breaking(&ann)),
        Broke::Done { cooling: true, remaining, .. } if remaining.is_zero()
    ));
    assert!(contender("db2").acquire(&mut on).is_ok());
}
