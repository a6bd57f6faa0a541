//! All keys of one server that match a pattern, in bounded steps: the server is never kept from others.

use std::time::Duration;

use super::{Store, Trouble};
use crate::lease::reply::{Garbled, Reply};
use crate::time::Moment;

/// Keys that the server looks at in one step: some hundred microseconds of its time.
const STEP: u64 = 1000;

/// How far a look at all keys has come: an estimate, since SCAN counts buckets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    pub keys: u64,
    /// Of how many, where the server tells.
    pub of: Option<u64>,
}

impl Store {
    /// Hands each key to `each`, some of them twice, until `end`. It sees one server: see `primaries`.
    pub fn scan(
        &mut self,
        pattern: &str,
        end: Moment,
        each: &mut dyn FnMut(&[u8]),
        progress: &mut dyn FnMut(Progress),
    ) -> Result<(), Trouble> {
        let mut seen = Progress::default();
        // Refused by some ACLs, and only good for the progress.
        if let Ok(size) = self.command(&[b"DBSIZE"], step_end(end)) {
            seen.of = size.unsigned().ok();
        }
        let count = STEP.to_string();
        let mut cursor = b"0".to_vec();
        loop {
            let command: [&[u8]; 6] = [
                b"SCAN",
                &cursor,
                b"MATCH",
                pattern.as_bytes(),
                b"COUNT",
                count.as_bytes(),
            ];
            let reply = self.command(&command, step_end(end))?;
            cursor = step(&reply, each).map_err(|garbled| {
                Trouble::again(format!(
                    "{} gave an answer without sense: {} was expected",
                    self.target().describe(),
                    garbled.0
                ))
            })?;
            seen.keys += STEP;
            progress(seen);
            if cursor == b"0" {
                return Ok(());
            }
        }
    }
}

fn step(reply: &Reply, each: &mut dyn FnMut(&[u8])) -> Result<Vec<u8>, Garbled> {
    let [cursor, keys] = reply.array()? else {
        return Err(Garbled("a cursor and keys"));
    };
    for key in keys.array()? {
        each(key.bytes()?);
    }
    Ok(cursor.bytes()?.to_vec())
}

/// A server that does not answer one step in this time will not answer the others either.
fn step_end(end: Moment) -> Moment {
    Moment::now().after(Duration::from_secs(5)).min(end)
}
