//! One round: servers, a relay and a crowd are started, struck according to the plan, watched to their end, and what
//! happened is written down.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use super::crowd::Crowd;
use super::history::{Fault as Noted, History, MS, Ns, Process};
use super::plan::{Fault, Network, Plan};
use super::relay::{Relay, Weather};
use super::ticker::Ticker;
use super::world::Servers;
use crate::harness::{ms, now};

/// How long a late request is on its way: longer than any request limit and than some TTLs.
const LATE: u64 = 4_000;
/// From the last start of a run to the end of all: their waits, jobs and TTLs, on a slow machine.
const DRAIN: Ns = 40_000 * MS;

struct Stage<'a> {
    plan: &'a Plan,
    servers: Servers,
    relay: Relay,
    crowd: Crowd,
    hogs: Hogs,
    faults: Vec<Noted>,
    clear_at: Ns,
}

pub fn play(plan: &Plan) -> History {
    let folder = tempfile::Builder::new()
        .prefix("rlt-")
        .rand_bytes(5)
        .tempdir_in("/tmp")
        .expect("a folder for the round");
    let ticker = Ticker::start();
    let relay = Relay::start(folder.path(), plan.seed);
    let servers = Servers::start(plan.world, folder.path(), &relay);
    let socket = || format!("unix://{}", relay.socket().display());
    let url = servers.url().unwrap_or_else(socket);
    let crowd = Crowd::new(folder.path().to_owned(), url, plan);
    let mut stage = Stage {
        plan,
        servers,
        relay,
        crowd,
        hogs: Hogs(Vec::new()),
        faults: Vec::new(),
        clear_at: 0,
    };
    stage.act();
    stage.drain();
    let mut left = stage.servers.left(false);
    let longest = left
        .iter()
        .filter(|left| !left.value.is_empty())
        .map(|left| left.pttl)
        .max();
    std::thread::sleep(ms(u64::try_from(longest.unwrap_or(0)).unwrap_or(0) + 100));
    left.extend(stage.servers.left(true));
    let processes = processes(&stage.crowd);
    let Stage {
        servers,
        relay,
        mut crowd,
        mut faults,
        ..
    } = stage;
    faults.extend(servers.faults.iter().cloned());
    faults.append(&mut crowd.faults);
    History {
        keys: plan.keys.clone(),
        runs: std::mem::take(&mut crowd.runs),
        processes,
        asks: relay.end(),
        faults,
        losses: servers.losses.clone(),
        endings: std::mem::take(&mut crowd.endings),
        orphans: std::mem::take(&mut crowd.orphans),
        left,
        gaps: ticker.end(),
    }
}

impl Stage<'_> {
    fn act(&mut self) {
        let start = now().0;
        let mut faults = self.plan.faults.iter().peekable();
        let mut next_run = start;
        while now().0 < start + self.plan.length * MS {
            let at = now().0;
            while let Some((_, fault)) = faults.next_if(|(due, _)| start + due * MS <= at) {
                self.befall(fault);
            }
            self.turn();
            if self.crowd.size() < self.plan.crowd && at >= next_run {
                self.crowd.start(&self.plan.keys);
                // About fourteen a second: what two processors can start and still be on time.
                next_run = at + 70 * MS;
            }
            std::thread::sleep(ms(3));
        }
    }

    fn turn(&mut self) {
        self.servers.turn(&self.relay);
        self.crowd.turn();
        if self.clear_at > 0 && now().0 >= self.clear_at {
            self.clear_at = 0;
            self.relay.weather(Weather::default());
        }
        self.hogs
            .0
            .retain_mut(|hog| !matches!(hog.try_wait(), Ok(Some(_))));
    }

    fn befall(&mut self, fault: &Fault) {
        match fault {
            Fault::Run(choice, aim, blow) => self.crowd.strike(*choice, *aim, *blow),
            // One after the other: a server that is stopped cannot be told to sleep.
            Fault::Server(_) if self.servers.busy() => {}
            Fault::Server(fault) => self.servers.befall(fault, &self.plan.keys, &self.relay),
            Fault::Network(network) => self.blow(network),
            Fault::Starve(count, lasts) => self.starve(*count, *lasts),
        }
    }

    fn blow(&mut self, network: &Network) {
        let from = now().0;
        self.clear_at = from + network.lasts * MS;
        self.relay.weather(Weather {
            delay: network.delay,
            late: network.late,
            late_for: LATE,
            swallowed: network.swallowed,
            cut: network.cut,
            closed_until: if network.closed { self.clear_at } else { 0 },
        });
        // What is late still comes after the weather has cleared.
        let tail = if network.late > 0 { LATE * MS } else { 0 };
        self.faults.push(Noted {
            kind: format!("network: {}", network.kind),
            run: None,
            from,
            until: self.clear_at + tail,
        });
    }

    fn starve(&mut self, count: u64, lasts: u64) {
        let from = now().0;
        for _ in 0..count {
            let mut command = Command::new(self.crowd.program());
            command
                .args(["-", &lasts.to_string(), "0", "-"])
                .stdin(Stdio::null());
            self.hogs.0.push(command.spawn().expect("a new process"));
        }
        self.faults.push(Noted {
            kind: "starvation".to_owned(),
            // Of no run, and of no server either: the rules allow for it by what it cost.
            run: Some(u64::MAX),
            from,
            until: from + lasts * MS,
        });
    }

    /// No more faults and no more runs: those that there are come to their end.
    fn drain(&mut self) {
        self.relay.weather(Weather::default());
        while self.servers.electing() {
            self.turn();
        }
        self.servers.heal(&self.relay);
        self.crowd.resume_all();
        let from = now().0;
        while now().0 < from + DRAIN && !(self.crowd.settled() && now().0 > from + LATE * MS) {
            self.turn();
            std::thread::sleep(ms(5));
        }
        self.crowd.give_up();
    }
}

/// Processes that burn time.
struct Hogs(Vec<Child>);

impl Drop for Hogs {
    fn drop(&mut self) {
        for hog in &mut self.0 {
            if let Err(error) = hog.kill().and_then(|()| hog.wait()) {
                eprintln!("a process that burns time could not be stopped: {error}");
            }
        }
    }
}

/// What the jobs told, each process in a file of its own.
fn processes(crowd: &Crowd) -> Vec<Process> {
    let prefix = crowd.mark(0).trim_end_matches('0').to_owned();
    let entries = fs::read_dir(crowd.jobs()).expect("the folder of the jobs");
    entries
        .filter_map(|entry| {
            let path = entry.expect("an entry of the folder").path();
            process(&path, &prefix)
        })
        .collect()
}

/// None for a file that a process had no time to write to.
fn process(path: &Path, prefix: &str) -> Option<Process> {
    let name = path.file_name()?.to_str()?;
    let (run, pid) = name.strip_prefix(prefix)?.split_once('.')?;
    let text = fs::read_to_string(path).ok()?;
    let words: Vec<&str> = text.split_whitespace().collect();
    let [top, token, slot, fence, first, last, end] = words[..] else {
        return None;
    };
    Some(Process {
        run: run.parse().ok()?,
        pid: pid.parse().ok()?,
        top: top == "1",
        token: token.to_owned(),
        slot: slot.parse().ok()?,
        fence: fence.parse().ok()?,
        first: first.parse().ok()?,
        last: last.parse().ok()?,
        end: end.parse().ok(),
    })
}
