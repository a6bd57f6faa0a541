//! The whole of `redlease run -- true`, against less.

use std::process::Command;
use std::time::Duration;

use anyhow::Result;

use super::floor;
use super::measure::{Sample, ms, once, peak, quantiles, ratio};
use super::peers::Place;

struct Runner {
    name: &'static str,
    command: Option<Command>,
    /// Slow ones take every n-th turn.
    every: usize,
    samples: Vec<Sample>,
}

fn runner(name: &'static str, command: Option<Command>, every: usize) -> Runner {
    Runner {
        name,
        command,
        every,
        samples: Vec::new(),
    }
}

pub fn report(place: &Place, rounds: usize) -> Result<String> {
    let (requests, count) = floor::record(place)?;
    let mut floor = Command::new(std::env::current_exe()?);
    floor.arg("floor").arg(place.socket()).arg(requests);
    let mut runners: [Runner; 8] = [
        runner("true", Some(Command::new("true")), 1),
        runner(
            "redlease run -- true",
            Some(place.redlease(&["run", "--key", "k", "--", "true"])),
            1,
        ),
        runner("floor: the same requests, no care", Some(floor), 1),
        runner("flock -n file true", Some(flock(place)), 1),
        runner(
            "redlease --version",
            Some(place.redlease(&["--version"])),
            1,
        ),
        runner("shell wrapper with redis-cli", place.shell_wrapper()?, 4),
        runner("redis-py lock", place.redis_py(&["true"])?, 10),
        runner("etcdctl lock", place.etcdctl(&["true"]), 4),
    ];
    for round in 0..rounds {
        // In another order each time, so that none alone pays for what a heavy one leaves in the caches. Odd steps
        // reach all of the eight.
        let step = [1, 3, 5, 7][round % 4];
        for place in 0..runners.len() {
            let one = &mut runners[(place * step + round) % 8];
            if let Some(command) = one.command.as_mut().filter(|_| round % one.every == 0) {
                one.samples.push(once(command)?);
            }
        }
    }
    let walls = |one: &Runner| -> Vec<Duration> { one.samples.iter().map(|s| s.wall).collect() };
    let flock_median = quantiles(&walls(&runners[3])).0;
    let mut text = format!(
        "## Overhead\n\n{rounds} turns; redlease sends {count} requests. Times in ms, peak resident memory in MB.\n\n\
         | command | median | p99 | x flock | CPU | peak |\n|---|---|---|---|---|---|\n"
    );
    for one in &runners {
        let Some(command) = &one.command else {
            text.push_str(&format!("| {} | not installed | | | | |\n", one.name));
            continue;
        };
        let (median, p99) = quantiles(&walls(one));
        let cpu: Vec<Duration> = one.samples.iter().map(|s| s.cpu).collect();
        text.push_str(&format!(
            "| {} | {} | {} | {} | {} | {:.1} |\n",
            one.name,
            ms(median),
            ms(p99),
            ratio(median, flock_median),
            ms(quantiles(&cpu).0),
            peak(command)? as f64 / 1024.0,
        ));
    }
    Ok(text)
}

fn flock(place: &Place) -> Command {
    let mut command = Command::new("flock");
    command.arg("-n").arg(place.at("file")).arg("true");
    command
}
