//! Answers of scripts that no script of ours gave: another version's, a proxy's, a hostile server's.

use std::time::Duration;

use proptest::collection::vec;
use proptest::prelude::Strategy;
use proptest::prop_assert;

use super::acquire::Acquire;
use super::check::Check;
use super::inspect::Inspect;
use super::release::Release;
use super::renew::Renew;
use crate::fuzz::{fuzz, reply};
use crate::lease::names::{Names, Prefix};
use crate::lease::reply::{Reply, Script};
use crate::lease::{Fence, Identity, Token};

const TTL: Duration = Duration::from_secs(30);

fn ask<'a>(names: &'a Names, token: &'a Token, identity: &'a Identity) -> Acquire<'a> {
    Acquire {
        names,
        identity,
        token,
        replaces: &[],
        ttl: TTL,
        limit: 3,
        waiting: None,
        once_per: None,
        retain: TTL,
    }
}

/// A slot past the limit, and slot 0 or fence 0, came from such servers once.
#[test]
fn a_grant_that_nobody_asked_for_is_none() {
    let names = Names::new(&Prefix::default(), &"k".parse().unwrap());
    let (token, identity) = (Token::fresh(), Identity::default());
    let acquire = ask(&names, &token, &identity);
    let granted = |slot, fence| {
        let mut items = vec![Reply::Bytes(b"granted".to_vec())];
        items.extend([slot, fence, 1, 2, 0].map(Reply::Int));
        acquire.decode(&Reply::Array(items)).is_ok()
    };
    assert!(granted(1, 7) && granted(3, 7));
    assert!(!granted(0, 7) && !granted(4, 7) && !granted(1, 0));
}

/// Read or refused, and a grant is one of a slot that was asked for.
#[test]
fn answers() {
    let names = Names::new(&Prefix::default(), &"k".parse().unwrap());
    let (token, identity) = (Token::fresh(), Identity::default());
    let acquire = ask(&names, &token, &identity);
    let renew = Renew {
        names: &names,
        slot: 1,
        limit: 3,
        token: &token,
        fence: Fence(1),
        ttl: TTL,
        retain: TTL,
        restore_until_us: None,
        only_longer: false,
        acquired_at_us: 1,
        identity: &identity,
    };
    let release = Release {
        names: &names,
        slot: 1,
        limit: 3,
        token: &token,
        fence: Fence(1),
        retain: TTL,
        resend: false,
        strict: false,
        keep_until_us: None,
        unlost_until_us: None,
        run: None,
    };
    let check = Check {
        names: &names,
        slot: 1,
        token: &token,
    };
    let inspect = Inspect {
        names: &names,
        slot: 1,
    };
    let inputs = proptest::prop_oneof![vec(reply(), 0..16).prop_map(Reply::Array), reply(),];
    fuzz(inputs, |reply| {
        if let Ok(Ok(grant)) = acquire.decode(&reply) {
            prop_assert!((1..=3).contains(&grant.slot), "{:?}", grant);
            prop_assert!(grant.fence.0 > 0, "{:?}", grant);
        }
        drop(renew.decode(&reply));
        drop(release.decode(&reply));
        drop(check.decode(&reply));
        drop(inspect.decode(&reply));
        Ok(())
    });
}
