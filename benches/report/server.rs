//! What a lease costs the server, and how long a list of many takes.

use std::thread::sleep;
use std::time::Duration;

use anyhow::Result;

use super::idle::Holders;
use super::measure::{ms, once, quantiles};
use super::peers::Place;

const HELD: usize = 100;

/// Calls and µs, in turn: all acquire, all renew, all release.
pub fn cost(place: &Place) -> Result<String> {
    let mut client = place.client()?;
    let mut text =
        "## On the server\n\n| step | calls each | µs per call |\n|---|---|---|\n".to_owned();
    let mut row = |name: &str, (calls, micros): (u64, u64), of: usize| {
        text.push_str(&format!(
            "| {name} | {:.1} | {:.0} |\n",
            calls as f64 / of as f64,
            micros as f64 / calls.max(1) as f64
        ));
    };
    client.reset()?;
    // A TTL whose first renewal comes after all have started.
    let mut holders = Holders::start(place, HELD, "60s")?;
    row("acquire", client.calls()?, HELD);
    client.reset()?;
    sleep(Duration::from_secs(25));
    let renewed = client.calls()?;
    row("renew", renewed, HELD);
    client.reset()?;
    holders.end();
    row("release", client.calls()?, HELD);
    Ok(text)
}

/// Copies of one held lease, made on the server.
const COPY: &str = "for i = tonumber(ARGV[1]), tonumber(ARGV[2]) do \
    redis.call('COPY', KEYS[1], 'redlease:{many-' .. i .. '}') \
    redis.call('COPY', KEYS[2], 'redlease:{many-' .. i .. '}:info') end";
const FOREIGN: &str =
    "for i = tonumber(ARGV[1]), tonumber(ARGV[2]) do redis.call('SET', 'session:' .. i, 'x') end";
const MANY: usize = 100_000;
const STEP: usize = 5_000;

pub fn many(place: &Place) -> Result<String> {
    let mut client = place.client()?;
    let holders = Holders::start(place, 1, "600s")?;
    let before = client.info("memory", "used_memory")?;
    let keys = ["redlease:{idle-0}", "redlease:{idle-0}:info"];
    for from in (0..MANY).step_by(STEP) {
        let (a, b) = (from.to_string(), (from + STEP - 1).to_string());
        client.ask(&["EVAL", COPY, "2", keys[0], keys[1], &a, &b])?;
    }
    let each = (client.info("memory", "used_memory")? - before) as f64 / MANY as f64;
    let mut list = place.redlease(&["status", "--json"]);
    let mut time = |rounds: usize| -> Result<Duration> {
        let walls = (0..rounds)
            .map(|_| Ok(once(&mut list)?.wall))
            .collect::<Result<Vec<Duration>>>()?;
        Ok(quantiles(&walls).0)
    };
    let alone = time(3)?;
    for from in (0..10 * MANY).step_by(STEP) {
        let (a, b) = (from.to_string(), (from + STEP - 1).to_string());
        client.ask(&["EVAL", FOREIGN, "0", &a, &b])?;
    }
    let beside = time(3)?;
    drop(holders);
    client.ask(&["FLUSHALL"])?;
    Ok(format!(
        "## Many leases\n\n{MANY} held leases: {each:.0} bytes each in Redis; `redlease status --json` lists them in \
         {} ms, and beside {} foreign keys in {} ms.\n",
        ms(alone),
        10 * MANY,
        ms(beside)
    ))
}
