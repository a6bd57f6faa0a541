//! Reading: one lease by its script, or all under a prefix by bounded steps of SCAN.

use std::cell::RefCell;
use std::collections::HashMap;
use std::time::Duration;

use super::glance::Wanted;
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
        read(&mut node, prefix, &found, &mut rows)?;
    }
    rows.sort_by(|a, b| (&a.key, a.raw, a.slot).cmp(&(&b.key, b.raw, b.slot)));
    Ok(rows)
}

/// What SCAN saw of one lease.
#[derive(Clone, Copy, Debug, Default)]
struct Traces {
    /// The highest slot that has keys.
    highest: u8,
    queued: bool,
}

fn find(
    node: &mut Store,
    prefix: &Prefix,
    pattern: &str,
    show: &mut dyn FnMut(Progress, usize),
) -> Result<Vec<(Names, Traces)>, Trouble> {
    let found: RefCell<HashMap<Names, Traces>> = RefCell::default();
    node.scan(
        &Names::pattern(prefix, pattern),
        Moment::FAR,
        &mut |key| {
            if let Some((names, slot)) = Names::of(prefix, key) {
                let mut found = found.borrow_mut();
                let traces = found.entry(names).or_default();
                traces.highest = slot.max(traces.highest);
                traces.queued |= key.ends_with(b":queue");
            }
        },
        &mut |progress| show(progress, found.borrow().len()),
    )?;
    let mut found: Vec<(Names, Traces)> = found.into_inner().into_iter().collect();
    // Here, where they are small: the rows that follow need little sorting then.
    found.sort_by(|(a, _), (b, _)| a.key().cmp(b.key()));
    Ok(found)
}

fn read(
    node: &mut Store,
    prefix: &Prefix,
    found: &[(Names, Traces)],
    rows: &mut Vec<Row>,
) -> Result<(), Trouble> {
    let first: Vec<Wanted<'_>> = found
        .iter()
        .map(|(names, traces)| Wanted {
            names,
            slot: 1,
            queued: traces.queued,
        })
        .collect();
    let mut others: Vec<(Wanted<'_>, u8)> = Vec::new();
    let seen = glimpse(node, &first)?;
    for ((seen, wanted), (_, traces)) in seen.into_iter().zip(first).zip(found) {
        let seen = settled(node, wanted, seen)?;
        let slots = slots(&seen).max(traces.highest);
        others.extend((2..=slots).map(|slot| {
            let queued = false;
            (
                Wanted {
                    slot,
                    queued,
                    ..wanted
                },
                slots,
            )
        }));
        rows.push(row(node, prefix, wanted.names, (1, slots), seen));
    }
    let wanted: Vec<Wanted<'_>> = others.iter().map(|(wanted, _)| *wanted).collect();
    let seen = glimpse(node, &wanted)?;
    for (seen, (wanted, slots)) in seen.into_iter().zip(others) {
        let seen = settled(node, wanted, seen)?;
        rows.push(row(node, prefix, wanted.names, (wanted.slot, slots), seen));
    }
    Ok(())
}

/// A look at each. None: it has to be asked for by the script, which cuts what it reads, because a reply was too
/// long for a lease.
fn glimpse(node: &mut Store, wanted: &[Wanted<'_>]) -> Result<Vec<Option<Seen>>, Trouble> {
    let mut all = Vec::with_capacity(wanted.len());
    let mut under_way: Option<(Batch, &[Wanted<'_>])> = None;
    for some in wanted.chunks(BATCH) {
        let mut batch = Batch::default();
        batch.add(&[b"TIME"]);
        for one in some {
            one.add(&mut batch);
        }
        let posted = node.post(&batch, soon());
        let well = match under_way.take() {
            Some((batch, some)) => gather(node, &batch, some, &mut all)?,
            None => true,
        };
        // With a connection goes what was posted on it.
        if posted.is_ok() && well {
            under_way = Some((batch, some));
        } else {
            node.hang_up();
            all.extend(some.iter().map(|_| None));
        }
    }
    if let Some((batch, some)) = under_way {
        gather(node, &batch, some, &mut all)?;
    }
    Ok(all)
}

/// False: the connection is lost, and these have to be asked for again.
fn gather(
    node: &mut Store,
    batch: &Batch,
    wanted: &[Wanted<'_>],
    all: &mut Vec<Option<Seen>>,
) -> Result<bool, Trouble> {
    let Ok(replies) = node.gather(batch, soon()) else {
        all.extend(wanted.iter().map(|_| None));
        return Ok(false);
    };
    let mut replies = replies.into_iter();
    let now_us = replies
        .next()
        .and_then(|time| server_time(&time))
        .unwrap_or_else(wall_us);
    for one in wanted {
        let seen = one
            .decode(now_us, &mut replies)
            .map_err(|error| refusal(&error, &node.target().describe()))?;
        all.push(Some(seen));
    }
    Ok(true)
}

fn server_time(reply: &Result<Reply, String>) -> Option<u64> {
    let [seconds, micros] = reply.as_ref().ok()?.array().ok()? else {
        return None;
    };
    let seconds = seconds.unsigned().ok().filter(|seconds| *seconds > 0)?;
    Some(seconds * 1_000_000 + micros.unsigned().ok()?)
}

/// A glance is no atomic step, and tells no waiters: what looks odd in it is asked again.
fn settled(node: &mut Store, wanted: Wanted<'_>, seen: Option<Seen>) -> Result<Seen, Trouble> {
    match seen {
        Some(seen) if !odd(&seen) => Ok(seen),
        _ => ask(node, wanted.names, wanted.slot),
    }
}

fn odd(seen: &Seen) -> bool {
    match &seen.state {
        inspect::State::Foreign { .. } => true,
        inspect::State::Free => seen.holding.as_ref().is_some_and(|held| !held.ended),
        _ => seen.waiting > 0,
    }
}

/// Whether anybody holds or keeps any of them.
pub fn occupied(rows: &[Row]) -> bool {
    rows.iter().any(|row| State::occupied(row.state))
}
