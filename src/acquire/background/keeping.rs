//! The keeper's life after the token is out. Nobody hears it any more: all that it can say is TERM.

use std::time::Duration;

use crate::lease::keeper::{Holding, Wish, give_back, renewal};
use crate::lease::protocol::inspect::Inspect;
use crate::lease::store::Store;
use crate::sys::pause::until_readable;
use crate::sys::signals::Incoming;
use crate::sys::watched::Watched;
use crate::time::{Backoff, Moment};

/// How long a release is tried.
const RELEASE_LIMIT: Duration = Duration::from_secs(30);

pub fn keep(
    store: &mut Store,
    wish: &Wish,
    mut holding: Holding,
    watched: &Watched,
    incoming: &Incoming,
) {
    let timing = wish.timing;
    let mut backoff = Backoff::new();
    let mut next = timing.renew_at(holding.sent);
    loop {
        let stop = timing.stop_at(holding.sent);
        if until_readable(&[watched.fd(), incoming.fd()], next.min(stop)) {
            // The process has ended, or somebody ends the keeper: both are no loss.
            return release(store, wish, &holding);
        }
        if stop.passed(Moment::now()) {
            return lost_by_the_clock(store, wish, &holding, watched);
        }
        let sent = Moment::now();
        let until = sent.after(timing.request_limit).min(stop);
        match store.ask(&renewal(wish, &holding, true), until) {
            Ok(Ok(renewed)) => {
                holding.sent = sent;
                holding.expires_at_us = renewed.expires_at_us;
                backoff = Backoff::new();
                next = timing.renew_at(sent);
            }
            Ok(Err(_)) => {
                // A script that released its lease by hand has not lost it.
                if !released(store, wish, &holding) {
                    terminate(watched);
                }
                return;
            }
            Err(_) => next = Moment::now().after(backoff.next()),
        }
    }
}

/// No answer until the moment at which work must end.
fn lost_by_the_clock(store: &mut Store, wish: &Wish, holding: &Holding, watched: &Watched) {
    terminate(watched);
    let end = holding.sent.after(wish.timing.ttl);
    if until_readable(&[watched.fd()], end) {
        release(store, wish, holding);
    }
}

fn terminate(watched: &Watched) {
    // One that has ended, or that this user may not signal, hears nothing.
    let _heard = watched.terminate();
}

fn release(store: &mut Store, wish: &Wish, holding: &Holding) {
    let end = Moment::now().after(RELEASE_LIMIT);
    // What cannot be given back lapses by itself.
    let _lapses = give_back(store, wish, holding, None, end, &|| true);
}

/// Whether the holding ended by its own token, and nobody broke it.
fn released(store: &mut Store, wish: &Wish, holding: &Holding) -> bool {
    let inspect = Inspect {
        names: &wish.names,
        slot: holding.grant.slot,
    };
    let until = Moment::now().after(wish.timing.request_limit);
    let token = Some(holding.token.as_str());
    store.ask(&inspect, until).is_ok_and(|seen| {
        let broken = seen.broken.as_ref().map(|(token, _)| token.as_str());
        seen.ended.as_deref() == token && broken != token
    })
}
