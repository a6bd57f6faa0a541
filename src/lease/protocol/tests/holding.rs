//! One slot, one holder after the other.

use super::*;

#[test]
fn a_free_lease_is_granted_and_described() {
    let server = Server::start();
    let mut on = server.connect();
    let ann = contender("db1");
    let grant = ann.acquire(&mut on).unwrap();
    assert_eq!(grant.slot, 1);
    assert!(!grant.again);
    assert_eq!(grant.fence, Fence(grant.acquired_at_us));
    assert_eq!(grant.expires_at_us, grant.acquired_at_us + 30_000_000);
    assert_eq!(on.text(&["GET", "redlease:{k}"]), ann.token.as_str());
    let left = on.int(&["PTTL", "redlease:{k}"]);
    assert!(left > 20_000 && left <= 30_000, "{left}");

    let seen = ann.see(&mut on, 1);
    assert_eq!(seen.state, State::Held);
    assert_eq!(seen.fence, Some(grant.fence));
    assert_eq!(seen.limit, Some(1));
    assert_eq!(seen.grants, 1);
    let holding = seen.holding.unwrap();
    assert_eq!(holding.token, ann.token.as_str());
    assert_eq!(holding.fence, Some(grant.fence));
    assert_eq!(holding.holder.who, ann.identity);
    assert_eq!(holding.ttl, TTL);
    assert_eq!(holding.expires_at_us, grant.expires_at_us);
    assert!(!holding.ended);
}

#[test]
fn another_is_refused_with_the_holder() {
    let server = Server::start();
    let mut on = server.connect();
    let ann = contender("db1");
    let grant = ann.acquire(&mut on).unwrap();
    let Err(Refusal::Held {
        holder,
        held,
        remaining,
        place,
    }) = contender("db2").acquire(&mut on)
    else {
        panic!("it was granted twice");
    };
    let holder = holder.unwrap();
    assert_eq!(holder.who, ann.identity);
    assert_eq!(holder.since_us, grant.acquired_at_us);
    assert!(held.unwrap() < ms(20_000));
    assert!(remaining.unwrap() > ms(10_000) && remaining.unwrap() <= TTL);
    assert_eq!(place, None);
    assert_eq!(on.int(&["EXISTS", "redlease:{k}:queue"]), 0);
}

#[test]
fn renewing_gives_the_whole_ttl_again() {
    let server = Server::start();
    let mut on = server.connect();
    let ann = contender("db1");
    let grant = ann.acquire(&mut on).unwrap();
    on.command(&["PEXPIRE", "redlease:{k}", "5000"]);
    let renewed = ann.renew(&mut on, &grant).unwrap();
    assert!(!renewed.restored);
    assert!(renewed.expires_at_us > grant.expires_at_us);
    assert!(on.int(&["PTTL", "redlease:{k}"]) > 20_000);
    assert_eq!(
        ann.see(&mut on, 1).holding.unwrap().expires_at_us,
        renewed.expires_at_us
    );
}

#[test]
fn a_wrong_token_changes_nothing() {
    let server = Server::start();
    let mut on = server.connect();
    let (ann, bob) = (contender("db1"), contender("db2"));
    let grant = ann.acquire(&mut on).unwrap();
    on.command(&["PEXPIRE", "redlease:{k}", "20000"]);
    let before = on.command(&["HGETALL", "redlease:{k}:info"]);
    let taken = |loss: Loss| matches!(loss, Loss::Taken(Some(holder)) if holder.who.host == "db1");
    assert!(taken(bob.renew(&mut on, &grant).unwrap_err()));
    assert!(taken(bob.restore(&mut on, &grant).unwrap_err()));
    assert!(taken(bob.release(&mut on, &grant).unwrap_err()));
    assert!(taken(bob.check(&mut on, 1).unwrap_err()));
    assert_eq!(on.text(&["GET", "redlease:{k}"]), ann.token.as_str());
    assert!(on.int(&["PTTL", "redlease:{k}"]) <= 20_000);
    assert_eq!(on.command(&["HGETALL", "redlease:{k}:info"]), before);
}

#[test]
fn a_missing_key_is_lost() {
    let server = Server::start();
    let mut on = server.connect();
    let ann = contender("db1");
    let grant = ann.acquire(&mut on).unwrap();
    on.command(&["DEL", "redlease:{k}"]);
    assert_eq!(ann.renew(&mut on, &grant), Err(Loss::Gone));
    assert_eq!(ann.check(&mut on, 1), Err(Loss::Gone));
    assert_eq!(on.int(&["EXISTS", "redlease:{k}"]), 0);
    let strict = Release {
        strict: true,
        ..ann.giving_back(&grant)
    };
    assert_eq!(on.ask(&strict), Err(Loss::Gone));
    // Nobody has held it since, so that the run that ends has lost nothing.
    assert_eq!(ann.release(&mut on, &grant), Ok(()));
}

#[test]
fn a_holding_ends_once() {
    let server = Server::start();
    let mut on = server.connect();
    let (ann, bob) = (contender("db1"), contender("db2"));
    let grant = ann.acquire(&mut on).unwrap();
    assert_eq!(ann.finish(&mut on, &grant, 3), Ok(()));
    assert_eq!(on.int(&["EXISTS", "redlease:{k}"]), 0);
    let run = ann.see(&mut on, 1).last_run.unwrap();
    assert_eq!(
        (run.outcome.as_str(), run.code, run.duration),
        ("completed", Some(3), Some(ms(1234)))
    );
    assert_eq!(run.host.as_deref(), Some("db1"));
    // Released again, renewed late, restored late: nothing.
    assert_eq!(ann.release(&mut on, &grant), Ok(()));
    assert_eq!(ann.renew(&mut on, &grant), Err(Loss::Gone));
    assert_eq!(ann.restore(&mut on, &grant), Err(Loss::Gone));
    assert_eq!(on.int(&["EXISTS", "redlease:{k}"]), 0);

    // Another holds it now: the first release is still done, and a strict one is lost unless it is a resend.
    let next = bob.acquire(&mut on).unwrap();
    assert!(next.fence > grant.fence);
    assert_eq!(ann.release(&mut on, &grant), Ok(()));
    let strict = Release {
        strict: true,
        ..ann.giving_back(&grant)
    };
    assert!(matches!(on.ask(&strict), Err(Loss::Taken(Some(_)))));
    let resend = Release {
        resend: true,
        ..strict
    };
    assert_eq!(on.ask(&resend), Ok(()));
    assert_eq!(on.text(&["GET", "redlease:{k}"]), bob.token.as_str());
}

#[test]
fn a_lost_grant_is_taken_over_by_the_next_attempt() {
    let server = Server::start();
    let mut on = server.connect();
    let first = contender("db1");
    let lost = first.acquire(&mut on).unwrap();
    on.command(&["PEXPIRE", "redlease:{k}", "5000"]);
    let mut again = contender("db1");
    again.replaces = vec![Token::fresh(), first.token.clone()];
    let grant = again.acquire(&mut on).unwrap();
    assert!(grant.again);
    assert_eq!(grant.fence, lost.fence);
    assert_eq!(grant.acquired_at_us, lost.acquired_at_us);
    assert!(grant.expires_at_us > lost.expires_at_us);
    assert!(on.int(&["PTTL", "redlease:{k}"]) > 20_000);
    assert_eq!(on.text(&["GET", "redlease:{k}"]), again.token.as_str());
    // The release that was written behind the lost attempt, executed late.
    assert!(first.release(&mut on, &lost).is_err());
    assert_eq!(on.text(&["GET", "redlease:{k}"]), again.token.as_str());
    assert_eq!(again.renew(&mut on, &grant).map(|r| r.restored), Ok(false));
}

#[test]
fn what_the_server_lost_is_restored_while_nobody_held_it() {
    let server = Server::start();
    let mut on = server.connect();
    let ann = contender("db1");
    let grant = ann.acquire(&mut on).unwrap();
    for loss in [&["FLUSHALL"][..], &["DEL", "redlease:{k}"]] {
        on.command(loss);
        assert_eq!(ann.renew(&mut on, &grant), Err(Loss::Gone));
        assert!(ann.restore(&mut on, &grant).unwrap().restored);
        assert_eq!(on.text(&["GET", "redlease:{k}"]), ann.token.as_str());
        let seen = ann.see(&mut on, 1);
        assert_eq!(seen.state, State::Held);
        assert_eq!(seen.fence, Some(grant.fence));
        let holding = seen.holding.unwrap();
        assert_eq!(holding.holder.who, ann.identity);
        assert_eq!(holding.holder.since_us, grant.acquired_at_us);
    }
    assert_eq!(ann.see(&mut on, 1).restores, 2);
}

#[test]
fn what_another_held_since_is_lost() {
    let server = Server::start();
    let mut on = server.connect();
    let (ann, bob) = (contender("db1"), contender("db2"));
    let grant = ann.acquire(&mut on).unwrap();
    on.command(&["FLUSHALL"]);
    let other = bob.acquire(&mut on).unwrap();
    assert!(other.fence > grant.fence);
    assert!(matches!(
        ann.restore(&mut on, &grant),
        Err(Loss::Taken(Some(_)))
    ));
    bob.release(&mut on, &other).unwrap();
    assert_eq!(ann.restore(&mut on, &grant), Err(Loss::Gone));
    assert_eq!(ann.release(&mut on, &grant), Err(Loss::Gone));
    assert_eq!(on.int(&["EXISTS", "redlease:{k}"]), 0);
}

#[test]
fn a_restore_comes_too_late_after_the_ttl() {
    let server = Server::start();
    let mut on = server.connect();
    let ann = contender("db1");
    let grant = ann.acquire(&mut on).unwrap();
    on.command(&["FLUSHALL"]);
    let late = Renew {
        only_longer: false,
        restore_until_us: Some(grant.acquired_at_us),
        ..ann.renewal(&grant)
    };
    assert_eq!(on.ask(&late), Err(Loss::Gone));
    let ended = Release {
        unlost_until_us: Some(grant.acquired_at_us),
        ..ann.giving_back(&grant)
    };
    assert_eq!(on.ask(&ended), Err(Loss::Gone));
    let in_time = Release {
        unlost_until_us: Some(grant.expires_at_us),
        ..ended
    };
    assert_eq!(on.ask(&in_time), Ok(()));
}

#[test]
fn a_thousand_holdings_have_growing_fences() {
    let mut server = Server::start();
    let mut on = server.connect();
    let mut last = Fence(0);
    for round in 0..1000 {
        let ann = contender("db1");
        let grant = ann.acquire(&mut on).unwrap();
        assert!(grant.fence > last, "{} after {last}", grant.fence);
        last = grant.fence;
        match round {
            300 => drop(on.command(&["FLUSHALL"])),
            600 => {
                server.restart_empty();
                on = server.connect();
            }
            _ => ann.release(&mut on, &grant).unwrap(),
        }
    }
}

#[test]
fn a_held_lease_takes_at_most_700_bytes() {
    let server = Server::start();
    let mut on = server.connect();
    let ann = contender("worker-17.eu-central-1.example.com");
    let mut used = 0;
    for _ in 0..2 {
        let grant = ann.acquire(&mut on).unwrap();
        ann.renew(&mut on, &grant).unwrap();
        used = on.int(&["MEMORY", "USAGE", "redlease:{k}"])
            + on.int(&["MEMORY", "USAGE", "redlease:{k}:info"]);
        // Redis 6 has ziplists.
        let compact = on.text(&["OBJECT", "ENCODING", "redlease:{k}:info"]);
        assert!(
            ["listpack", "ziplist"].contains(&compact.as_str()),
            "{compact}"
        );
        ann.finish(&mut on, &grant, 0).unwrap();
    }
    assert!(used <= 700, "{used} bytes");
}
