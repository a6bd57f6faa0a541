//! Reading: one lease by its script, or all under a prefix by bounded steps of SCAN.

use std::cell::RefCell;
use std::collections::HashMap;
use std::time::Duration;

use super::glance;
use super::row::{Row, State};
use crate::lease::names::{MOST_SLOTS, Names, Prefix, RawKey};
use crate::lease::protocol::inspect::{self, Inspect, Seen};
use crate::lease::reply::Reply;
use crate::lease::store::trouble::refusal;
use crate::lease::store::{Batch, Progress, Store, Trouble};
use crate::time::{Moment, wall_us};

/// For one request. A server that is slower is as good as away to somebody who looks.
const LIMIT: Duration = Duration::from_secs(5);
const BATCH: usize = 200;

fn soon() -> Moment {
    Moment::now().after(LIMIT)
}

/// The slots of one lease.
pub fn one(store: &mut Store, prefix: &Prefix, names: &Names) -> Result<Vec<Row>, Trouble> {
    let first = ask(store, names, 1)?;
    let slots = slots(&first);
    let mut rows = vec![row(store, prefix, names, (1, slots), first)];
    for slot in 2..=slots {
        let seen = ask(store, names, slot)?;
        rows.push(row(store, prefix, names, (slot, slots), seen));
    }
    Ok(rows)
}

fn ask(store: &mut Store, names: &Names, slot: u8) -> Result<Seen, Trouble> {
    store.ask(&Inspect { names, slot }, soon())
}

fn slots(seen: &Seen) -> u8 {
    seen.limit.unwrap_or(1).clamp(1, MOST_SLOTS)
}

/// A holding whose key is gone before its time may be one of `--raw-key`: its key is elsewhere, and its side keys
/// do not tell.
fn row(store: &mut Store, prefix: &Prefix, names: &Names, of: (u8, u8), seen: Seen) -> Row {
    let (slot, slots) = of;
    let early = seen.state == inspect::State::Free
        && seen
            .holding
            .as_ref()
            .is_some_and(|held| !held.ended && held.expires_at_us > seen.now_us);
    if early
        && !names.is_raw()
        && let Ok(key) = names.key().parse::<RawKey>()
    {
        let raw = Names::raw(prefix, &key);
        if let Ok(seen) = ask(store, &raw, 1)
            && seen.state == inspect::State::Held
        {
            return Row::new(&raw, 1, 1, seen);
        }
    }
    Row::new(names, slot, slots, seen)
}

/// All leases whose key matches, sorted by key and slot; `show` hears how far it is and how many were found.
pub fn all(
    store: &mut Store,
    prefix: &Prefix,
    pattern: &str,
    show: &mut dyn FnMut(Progress, usize),
) -> Result<Vec<Row>, Trouble> {
    let mut rows = Vec::new();
    for mut node in store.primaries(soon())? {
        let found = find(&mut node, prefix, pattern, show)?;
        read(&mut node, prefix, found, &mut rows)?;
    }
    rows.sort_by(|a, b| (&a.key, a.raw, a.slot).cmp(&(&b.key, b.raw, b.slot)));
    Ok(rows)
}

/// Names with the highest slot that has keys.
type Found = Vec<(Names, u8)>;

fn find(
    node: &mut Store,
    prefix: &Prefix,
    pattern: &str,
    show: &mut dyn FnMut(Progress, usize),
) -> Result<Found, Trouble> {
    let found: RefCell<HashMap<Names, u8>> = RefCell::default();
    node.scan(
        &Names::pattern(prefix, pattern),
        Moment::FAR,
        &mut |key| {
            if let Some((names, slot)) = Names::of(prefix, key) {
                let mut found = found.borrow_mut();
                let highest = found.entry(names).or_insert(1);
                *highest = slot.max(*highest);
            }
        },
        &mut |progress| show(progress, found.borrow().len()),
    )?;
    Ok(found.into_inner().into_iter().collect())
}

fn read(
    node: &mut Store,
    prefix: &Prefix,
    found: Found,
    rows: &mut Vec<Row>,
) -> Result<(), Trouble> {
    let mut others: Vec<(&Names, u8, u8)> = Vec::new();
    for some in found.chunks(BATCH) {
        let wanted: Vec<(&Names, u8)> = some.iter().map(|(names, _)| (names, 1)).collect();
        for (seen, (names, highest)) in glimpse(node, &wanted)?.into_iter().zip(some) {
            let slots = slots(&seen).max(*highest);
            others.extend((2..=slots).map(|slot| (names, slot, slots)));
            rows.push(settled(node, prefix, names, (1, slots), seen)?);
        }
    }
    for some in others.chunks(BATCH) {
        let wanted: Vec<(&Names, u8)> = some
            .iter()
            .map(|(names, slot, _)| (*names, *slot))
            .collect();
        for (seen, (names, slot, slots)) in glimpse(node, &wanted)?.into_iter().zip(some) {
            rows.push(settled(node, prefix, names, (*slot, *slots), seen)?);
        }
    }
    Ok(())
}

fn glimpse(node: &mut Store, wanted: &[(&Names, u8)]) -> Result<Vec<Seen>, Trouble> {
    let mut batch = Batch::default();
    batch.add(&[b"TIME"]);
    for (names, slot) in wanted {
        glance::add(&mut batch, names, *slot);
    }
    // A reply that is too long for a lease breaks the connection for all of them: the script cuts what it reads.
    let Ok(replies) = node.batch(&batch, soon()) else {
        return wanted
            .iter()
            .map(|(names, slot)| ask(node, names, *slot))
            .collect();
    };
    let (time, replies) = replies.split_first().unzip();
    let now_us = time.and_then(server_time).unwrap_or_else(wall_us);
    replies
        .unwrap_or_default()
        .chunks(glance::COMMANDS)
        .zip(wanted)
        .map(|(replies, (names, slot))| {
            glance::decode(names, *slot, now_us, replies)
                .map_err(|error| refusal(&error, &node.target().describe()))
        })
        .collect()
}

fn server_time(reply: &Result<Reply, String>) -> Option<u64> {
    let [seconds, micros] = reply.as_ref().ok()?.array().ok()? else {
        return None;
    };
    let seconds = seconds.unsigned().ok().filter(|seconds| *seconds > 0)?;
    Some(seconds * 1_000_000 + micros.unsigned().ok()?)
}

/// A glance is no atomic step, and tells no waiters: what looks odd in it is asked again.
fn settled(
    node: &mut Store,
    prefix: &Prefix,
    names: &Names,
    of: (u8, u8),
    seen: Seen,
) -> Result<Row, Trouble> {
    let queued = of.0 == 1 && seen.waiting > 0;
    let odd = queued
        || matches!(seen.state, inspect::State::Foreign { .. })
        || (seen.state == inspect::State::Free && seen.holding.as_ref().is_some_and(|h| !h.ended));
    let seen = if odd { ask(node, names, of.0)? } else { seen };
    Ok(row(node, prefix, names, of, seen))
}

/// Whether anybody holds or keeps any of them.
pub fn occupied(rows: &[Row]) -> bool {
    rows.iter().any(|row| State::occupied(row.state))
}
