//! From the end of one job to the start of the next waiting one.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use nix::time::{ClockId, clock_gettime};

use super::measure::{ms, quantiles, ratio};
use super::peers::Place;

/// `job FILE`: notes when it began and ended, in one write.
pub fn job(file: &str) -> Result<()> {
    let now = || -> Result<u128> {
        Ok(Duration::from(clock_gettime(ClockId::CLOCK_BOOTTIME)?).as_nanos())
    };
    let mut out = OpenOptions::new().append(true).create(true).open(file)?;
    let began = now()?;
    let line = format!("{began} {}\n", now()?);
    out.write_all(line.as_bytes())?;
    Ok(())
}

type Make<'a> = dyn Fn(&[&str]) -> Option<Command> + 'a;
type Queued<'a> = dyn Fn(usize) -> Result<bool> + 'a;

struct Round {
    gaps: Vec<Duration>,
    total: Duration,
}

/// `count` contenders wait for one holder, which then ends.
fn round(place: &Place, count: usize, make: &Make, queued: &Queued) -> Result<Option<Round>> {
    let stamps = place.at("stamps");
    let gate = place.at("gate");
    drop(fs::remove_file(&stamps));
    drop(fs::remove_file(&gate));
    let hold = format!("while [ ! -e {} ]; do sleep 0.02; done", gate.display());
    let Some(mut holder) = make(&["sh", "-c", &hold]) else {
        return Ok(None);
    };
    let mut holder = quiet(&mut holder).spawn()?;
    sleep(Duration::from_millis(300));
    let me = std::env::current_exe()?.display().to_string();
    let file = stamps.display().to_string();
    let mut waiters: Vec<Child> = Vec::new();
    for _ in 0..count {
        if let Some(mut command) = make(&[&me, "job", &file]) {
            waiters.push(quiet(&mut command).spawn()?);
        }
    }
    let limit = Instant::now() + Duration::from_secs(60);
    while !queued(count)? {
        if Instant::now() > limit {
            bail!("the contenders did not queue");
        }
        sleep(Duration::from_millis(50));
    }
    sleep(Duration::from_millis(500));
    fs::write(&gate, "")?;
    holder.wait()?;
    for mut waiter in waiters {
        waiter.wait()?;
    }
    let text = fs::read_to_string(&stamps)?;
    let mut spans: Vec<(u64, u64)> = text
        .lines()
        .filter_map(|line| line.split_once(' '))
        .filter_map(|(a, b)| Some((a.parse().ok()?, b.parse().ok()?)))
        .collect();
    spans.sort_unstable();
    if spans.len() != count {
        bail!("{} of {count} jobs ran", spans.len());
    }
    let gaps = spans
        .windows(2)
        .map(|pair| Duration::from_nanos(pair[1].0.saturating_sub(pair[0].1)))
        .collect();
    // By the jobs' own clock: a holder that takes its time to exit has let others in before.
    let total = match (spans.first(), spans.last()) {
        (Some(first), Some(last)) => Duration::from_nanos(last.1.saturating_sub(first.0)),
        _ => Duration::ZERO,
    };
    Ok(Some(Round { gaps, total }))
}

fn quiet(command: &mut Command) -> &mut Command {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
}

const CONTENDERS: usize = 32;
const ROUNDS: usize = 7;

pub fn report(place: &Place) -> Result<String> {
    let redlease = |words: &[&str]| {
        let mut all = vec!["run", "--key", "queue", "-w", "forever", "--"];
        all.extend(words);
        Some(place.redlease(&all))
    };
    let flock = |words: &[&str]| Some(place.flock(words));
    let etcd = |words: &[&str]| place.etcdctl(words);
    let python = |words: &[&str]| place.redis_py(words).ok().flatten();
    let in_queue = |count: usize| -> Result<bool> {
        let size = place.client()?.ask(&["ZCARD", "redlease:{queue}:queue"])?;
        Ok(size.parse::<usize>()? == count)
    };
    // Peers show nobody who waits: time enough to start.
    let started = |_: usize| -> Result<bool> {
        sleep(Duration::from_secs(3));
        Ok(true)
    };
    let mut text = format!(
        "## Hand-over\n\nFrom the end of one job to the start of the next, {CONTENDERS} contenders, ms.\n\n\
         | command | median | p99 | x flock | all {CONTENDERS} | x flock |\n|---|---|---|---|---|---|\n"
    );
    let peers: [(&str, &Make, &Queued, usize); 4] = [
        ("flock file", &flock, &started, ROUNDS),
        ("redlease run -w forever", &redlease, &in_queue, ROUNDS),
        ("etcdctl lock", &etcd, &started, 2),
        ("redis-py lock", &python, &started, 1),
    ];
    let mut first = None;
    for (name, make, queued, rounds) in peers {
        let (mut gaps, mut totals) = (Vec::new(), Vec::new());
        for _ in 0..rounds {
            if let Some(round) = round(place, CONTENDERS, make, queued)? {
                gaps.extend(round.gaps);
                totals.push(round.total);
            }
        }
        if gaps.is_empty() {
            text.push_str(&format!("| {name} | not installed | | | | |\n"));
            continue;
        }
        let (median, p99) = quantiles(&gaps);
        let total = quantiles(&totals).0;
        let (flock, all) = *first.get_or_insert((median, total));
        text.push_str(&format!(
            "| {name} | {} | {} | {} | {} | {} |\n",
            ms(median),
            ms(p99),
            ratio(median, flock),
            ms(total),
            ratio(total, all),
        ));
    }
    text.push_str("\n| waiters | server calls each | server µs per call |\n|---|---|---|\n");
    for count in [2, 32, 256] {
        let mut client = place.client()?;
        client.reset()?;
        round(place, count, &redlease, &in_queue)?;
        let (calls, micros) = client.calls()?;
        text.push_str(&format!(
            "| {count} | {:.1} | {:.0} |\n",
            calls as f64 / (count + 1) as f64,
            micros as f64 / calls.max(1) as f64,
        ));
    }
    Ok(text)
}
