//! The whole of `redlease run -- true`, against less.

use std::process::Command;
use std::time::Duration;

use anyhow::Result;

use super::floor;
use super::measure::{Sample, instructions, ms, once, peak, quantiles, ratio};
use super::peers::Place;

struct Runner {
    name: &'static str,
    command: Option<Command>,
    samples: Vec<Sample>,
}

fn runner(name: &'static str, command: Option<Command>) -> Runner {
    Runner {
        name,
        command,
        samples: Vec::new(),
    }
}

pub fn report(place: &Place, rounds: usize) -> Result<String> {
    let (requests, count) = floor::record(place)?;
    let mut floor = Command::new(std::env::current_exe()?);
    floor.arg("floor").arg(place.socket()).arg(requests);
    let run = || Some(place.redlease(&["run", "--key", "k", "--", "true"]));
    let local = vec![
        runner("flock -n file true", Some(flock(place))),
        runner("redlease run -- true", run()),
        runner("true", Some(Command::new("true"))),
        runner("floor: the same requests, no care", Some(floor)),
        runner("redlease --version", Some(place.redlease(&["--version"]))),
    ];
    // Apart from the others: what an interpreter leaves in the caches is paid for by whoever comes next.
    let network = vec![
        runner("flock -n file true", Some(flock(place))),
        runner("redlease run -- true", run()),
        runner("etcdctl lock", place.etcdctl(&["true"])),
        runner("shell wrapper with redis-cli", place.shell_wrapper()?),
        runner("redis-py lock", place.redis_py(&["true"])?),
    ];
    Ok(format!(
        "## Overhead\n\n{rounds} turns; redlease sends {count} requests. Times in ms, instructions in millions, memory in MB.\n\n\
         {}\n{} turns beside other lockers over a network:\n\n{}",
        measured(local, rounds)?,
        rounds / 8,
        measured(network, rounds / 8)?,
    ))
}

/// All take turns, in another order each time; the first of them is what the others are compared with.
fn measured(mut runners: Vec<Runner>, rounds: usize) -> Result<String> {
    let count = runners.len();
    for round in 0..rounds {
        // Five is a prime: each step reaches all.
        let step = 1 + round % (count - 1);
        for place in 0..count {
            let one = &mut runners[(place * step + round) % count];
            if let Some(command) = one.command.as_mut() {
                one.samples.push(once(command)?);
            }
        }
    }
    let walls = |one: &Runner| -> Vec<Duration> { one.samples.iter().map(|s| s.wall).collect() };
    let first = quantiles(&walls(&runners[0])).0;
    let mut text =
        "| command | median | p99 | x flock | CPU | instructions | peak |\n|---|---|---|---|---|---|---|\n".to_owned();
    for one in &runners {
        let Some(command) = &one.command else {
            text.push_str(&format!("| {} | not installed | | | | | |\n", one.name));
            continue;
        };
        let (median, p99) = quantiles(&walls(one));
        let cpu: Vec<Duration> = one.samples.iter().map(|s| s.cpu).collect();
        text.push_str(&format!(
            "| {} | {} | {} | {} | {} | {} | {:.1} |\n",
            one.name,
            ms(median),
            ms(p99),
            ratio(median, first),
            ms(quantiles(&cpu).0),
            instructions(command).map_or("not counted here".to_owned(), |millions| format!(
                "{millions:.2}"
            )),
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
