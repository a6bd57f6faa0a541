//! Holders whose jobs do nothing: what they cost while they wait for the end.

use std::fs;
use std::process::{Child, Stdio};
use std::thread::sleep;
use std::time::Duration;

use anyhow::{Result, bail};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::peers::Place;

/// Holders of leases of their own, each with a sleeping job; they end with this value.
pub struct Holders {
    children: Vec<Child>,
}

impl Holders {
    pub fn start(place: &Place, count: usize, ttl: &str) -> Result<Holders> {
        let mut children = Vec::new();
        for number in 0..count {
            let key = format!("idle-{number}");
            let mut command =
                place.redlease(&["run", "--key", &key, "--ttl", ttl, "--", "sleep", "600"]);
            command.stdin(Stdio::null()).stdout(Stdio::null());
            children.push(command.spawn()?);
        }
        let holders = Holders { children };
        for _ in 0..600 {
            // P, the guard and the job of each.
            if holders.processes().len() == 2 * count {
                return Ok(holders);
            }
            sleep(Duration::from_millis(100));
        }
        bail!("the holders did not start")
    }

    /// redlease and its guard, of each holder whose job runs.
    fn processes(&self) -> Vec<u32> {
        let mut found = Vec::new();
        for child in &self.children {
            let guards = children_of(child.id());
            if let [guard] = guards[..]
                && !children_of(guard).is_empty()
            {
                found.extend([child.id(), guard]);
            }
        }
        found
    }

    /// Ends all of them, and waits.
    pub fn end(&mut self) {
        for child in &self.children {
            if let Ok(pid) = i32::try_from(child.id()) {
                // One that has ended already needs no signal.
                kill(Pid::from_raw(pid), Signal::SIGTERM).ok();
            }
        }
        for child in &mut self.children {
            drop(child.wait());
        }
        self.children.clear();
    }
}

impl Drop for Holders {
    fn drop(&mut self) {
        self.end();
    }
}

fn children_of(pid: u32) -> Vec<u32> {
    let text = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    text.split_whitespace()
        .filter_map(|word| word.parse().ok())
        .collect()
}

fn field(path: &str, name: &str) -> u64 {
    let text = fs::read_to_string(path).unwrap_or_default();
    text.lines()
        .find_map(|line| {
            line.strip_prefix(name)?
                .split_whitespace()
                .next()?
                .parse()
                .ok()
        })
        .unwrap_or(0)
}

/// Nanoseconds on a processor, and times of waking up, of all threads.
fn spent(pids: &[u32]) -> (u64, u64) {
    let (mut nanos, mut wakes) = (0, 0);
    for pid in pids {
        let Ok(tasks) = fs::read_dir(format!("/proc/{pid}/task")) else {
            continue;
        };
        for task in tasks.flatten() {
            let path = task.path();
            let stat = fs::read_to_string(path.join("schedstat")).unwrap_or_default();
            nanos += stat
                .split(' ')
                .next()
                .and_then(|word| word.parse::<u64>().ok())
                .unwrap_or(0);
            wakes += field(
                &path.join("status").display().to_string(),
                "voluntary_ctxt_switches:",
            );
        }
    }
    (nanos, wakes)
}

fn memory(pids: &[u32], name: &str) -> f64 {
    let total: u64 = pids
        .iter()
        .map(|pid| field(&format!("/proc/{pid}/smaps_rollup"), name))
        .sum();
    total as f64
}

pub fn report(place: &Place) -> Result<String> {
    let mut text = "## Idle holders\n\nTTL 30 s, redlease and guard together.\n\n\
                    | holders | PSS each, kB | private each, kB | CPU per hour each, ms | wake-ups per minute each |\n\
                    |---|---|---|---|---|\n"
        .to_owned();
    for count in [1, 10, 200] {
        let holders = Holders::start(place, count, "30s")?;
        sleep(Duration::from_secs(2));
        let pids = holders.processes();
        let before = spent(&pids);
        let window = Duration::from_secs(30);
        sleep(window);
        let after = spent(&pids);
        let each = |total: f64| total / count as f64;
        let hours = window.as_secs_f64() / 3600.0;
        text.push_str(&format!(
            "| {count} | {:.0} | {:.0} | {:.1} | {:.1} |\n",
            each(memory(&pids, "Pss:")),
            each(memory(&pids, "Private_Dirty:")),
            each(after.0.saturating_sub(before.0) as f64 / 1e6) / hours,
            each(after.1.saturating_sub(before.1) as f64) / window.as_secs_f64() * 60.0,
        ));
    }
    Ok(text)
}
