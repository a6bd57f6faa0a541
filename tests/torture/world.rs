//! The servers of a round, and what befalls them.

use std::fs;
use std::path::{Path, PathBuf};

use super::history::{Fault, Key, Left, Loss, MS, Ns};
use super::plan::{ServerFault, World};
use super::relay::Relay;
use super::sentinel::Sentinel;
use crate::harness::redis::Options;
use crate::harness::{PATIENCE, Redis, Value, now, wait_until};

/// What ends a fault that lasts.
enum Then {
    Restart,
    RestartEmpty(Ns),
    Resume,
    MemoryBack,
    TakeOver(Ns),
    /// The sentinel finds out by itself.
    Elected(Ns),
}

/// A sentinel needs 1.5 s to notice, and some more to decide.
const ELECTION: Ns = 30_000 * MS;

pub struct Servers {
    servers: Vec<Redis>,
    primary: usize,
    clock: Option<PathBuf>,
    /// The sentinel, when it was asked last, and the doors of the servers.
    sentinel: Option<(Sentinel, Ns, [u16; 2])>,
    /// How far the server's clock is ahead, in milliseconds.
    ahead: i64,
    then: Option<(Ns, Then)>,
    pub faults: Vec<Fault>,
    pub losses: Vec<Loss>,
}

impl Servers {
    pub fn start(world: World, folder: &Path, relay: &Relay) -> Servers {
        // A replica is fed at once, and not after the usual 5 s.
        let options = || Redis::options().debug().line("repl-diskless-sync-delay 0");
        let clock = (world == World::Stepped).then(|| folder.join("clock"));
        let servers = match world {
            World::Kept | World::Stormy => vec![options().persistent().start()],
            World::Lossy => vec![options().start()],
            World::FailOver => vec![options().tcp().start(), options().tcp().start()],
            World::Watched => relay
                .ports()
                .iter()
                .map(|port| {
                    let announced = format!("replica-announce-port {port}");
                    let options = options().tcp().line("replica-announce-ip 127.0.0.1");
                    options.line(&announced).start()
                })
                .collect(),
            World::Stepped => vec![stepped(options(), folder, clock.as_deref())],
        };
        let mut servers = Servers {
            servers,
            primary: 0,
            clock,
            sentinel: None,
            ahead: 0,
            then: None,
            faults: Vec::new(),
            losses: Vec::new(),
        };
        if servers.servers.len() > 1 {
            servers.follow(1, 0);
        }
        relay.lead_to(&servers.socket());
        if world == World::Watched {
            for (at, server) in servers.servers.iter().enumerate() {
                relay.lead_port_to(at, &server.socket());
            }
            let sentinel = Sentinel::start(folder, relay.ports()[0]);
            servers.sentinel = Some((sentinel, 0, relay.ports()));
        }
        servers
    }

    /// What redlease is told, if it is not the relay's socket.
    pub fn url(&self) -> Option<String> {
        self.sentinel.as_ref().map(|(sentinel, ..)| sentinel.url())
    }

    fn socket(&self) -> PathBuf {
        self.primary().socket()
    }

    fn primary(&self) -> &Redis {
        &self.servers[self.primary]
    }

    fn follow(&self, replica: usize, primary: usize) {
        let port = match &self.sentinel {
            Some((_, _, doors)) => doors[primary],
            None => self.servers[primary].port(),
        };
        self.servers[replica].cli(&["REPLICAOF", "127.0.0.1", &port.to_string()]);
        wait_until("the replica", PATIENCE, || {
            let text = self.servers[replica].cli(&["INFO", "replication"]).text();
            text.contains("master_link_status:up")
        });
    }

    /// The next fault has to wait for the end of the last one.
    pub fn busy(&self) -> bool {
        self.then.is_some()
    }

    /// An election takes as long as it takes.
    pub fn electing(&self) -> bool {
        matches!(self.then, Some((_, Then::Elected(_))))
    }

    pub fn befall(&mut self, fault: &ServerFault, keys: &[Key], relay: &Relay) {
        let from = now().0;
        let until = |millis: &u64| from + millis * MS;
        let noted = self.faults.len();
        let kind = match fault {
            ServerFault::Restart(down) => {
                self.servers[self.primary].kill();
                self.then = Some((until(down), Then::Restart));
                "server killed, data kept"
            }
            ServerFault::RestartEmpty(down) => {
                self.servers[self.primary].kill();
                self.then = Some((until(down), Then::RestartEmpty(from)));
                "server killed, data lost"
            }
            ServerFault::Stop(stopped) => {
                self.primary().pause();
                self.then = Some((until(stopped), Then::Resume));
                "server stopped"
            }
            ServerFault::Sleep(sleeps) => {
                let seconds = format!("0.{sleeps:03}");
                let words = ["DEBUG", "SLEEP", &seconds].map(str::as_bytes);
                // Its reply comes when it has slept; nobody waits for it.
                self.primary()
                    .client()
                    .send(&words)
                    .expect("a server that listens");
                "DEBUG SLEEP"
            }
            ServerFault::CutClients => {
                self.primary().kill_clients();
                "CLIENT KILL"
            }
            ServerFault::ScriptFlush => {
                self.primary().cli(&["SCRIPT", "FLUSH"]);
                "SCRIPT FLUSH"
            }
            ServerFault::MemoryFull(full) => {
                self.primary().cli(&["CONFIG", "SET", "maxmemory", "1"]);
                self.then = Some((until(full), Then::MemoryBack));
                "memory full"
            }
            ServerFault::FlushAll => {
                self.primary().cli(&["FLUSHALL"]);
                self.lost("FLUSHALL", None, from);
                "FLUSHALL"
            }
            ServerFault::Evict(key, part) => self.evict(&keys[*key].name, part, from),
            ServerFault::FailOver(down) => {
                self.servers[self.primary].kill();
                relay.cut_all();
                self.then = Some((until(down), Then::TakeOver(from)));
                "fail-over"
            }
            ServerFault::Kill => {
                self.servers[self.primary].kill();
                relay.cut_all();
                self.then = Some((from + ELECTION, Then::Elected(from)));
                "fail-over by the sentinel"
            }
            ServerFault::Demote => {
                self.demote(from, relay);
                "demoted"
            }
            ServerFault::Step(by) => self.step(*by, from),
        };
        let until = self.then.as_ref().map_or_else(|| now().0, |(at, _)| *at);
        self.faults.insert(
            noted,
            Fault {
                kind: kind.to_owned(),
                run: None,
                from,
                until,
            },
        );
    }

    fn lost(&mut self, kind: &str, key: Option<&str>, from: Ns) {
        self.losses.push(Loss {
            kind: kind.to_owned(),
            key: key.map(str::to_owned),
            from,
            until: now().0,
        });
    }

    fn evict(&mut self, key: &str, part: &str, from: Ns) -> &'static str {
        self.primary()
            .cli(&["DEL", &format!("redlease:{{{key}}}{part}")]);
        if part == ":queue" {
            self.primary()
                .cli(&["DEL", &format!("redlease:{{{key}}}:waiters")]);
        }
        self.lost("an evicted key", Some(key), from);
        match part {
            "" => "lease evicted",
            ":info" => "info evicted",
            _ => "queue evicted",
        }
    }

    fn demote(&mut self, from: Ns, relay: &Relay) {
        let (old, new) = (self.primary, 1 - self.primary);
        self.servers[new].cli(&["REPLICAOF", "NO", "ONE"]);
        self.primary = new;
        relay.lead_to(&self.socket());
        let port = self.servers[new].port().to_string();
        self.servers[old].cli(&["REPLICAOF", "127.0.0.1", &port]);
        self.lost("a demotion", None, from);
        self.follow(old, new);
    }

    /// Forward by what was asked for, or back to the true time.
    fn step(&mut self, by: i64, from: Ns) -> &'static str {
        let back = self.ahead > 0;
        self.ahead = if back { 0 } else { by };
        let clock = self.clock.as_ref().expect("a world with a clock");
        set(clock, self.ahead);
        if back {
            return "clock back";
        }
        self.lost("a clock step", None, from);
        "clock forward"
    }

    /// Another primary, if the sentinel names one.
    fn elected(&mut self) -> Option<usize> {
        let (sentinel, asked, doors) = self.sentinel.as_mut()?;
        if now().0 < *asked + 100 * MS {
            return None;
        }
        *asked = now().0;
        let named = sentinel.primary();
        let elected = doors.iter().position(|door| *door == named)?;
        (elected != self.primary).then_some(elected)
    }

    /// Ends what is due.
    pub fn turn(&mut self, relay: &Relay) {
        if let Some(elected) = self.elected() {
            let old = std::mem::replace(&mut self.primary, elected);
            let ordered = match self.then.take() {
                Some((_, Then::Elected(from))) => Some(from),
                other => {
                    self.then = other;
                    None
                }
            };
            // Unordered it was slow for the sentinel, which began to doubt some time before it decided.
            let from = ordered.unwrap_or(now().0.saturating_sub(5_000 * MS));
            self.lost("a fail-over", None, from);
            if ordered.is_some() {
                self.servers[old].restart_empty();
                self.follow(old, elected);
            }
        }
        if self.then.as_ref().is_some_and(|(at, _)| *at <= now().0) {
            self.heal(relay);
        }
    }

    /// Ends what lasts, now.
    pub fn heal(&mut self, relay: &Relay) {
        match self.then.take().map(|(_, then)| then) {
            None => {}
            Some(Then::Restart) => self.servers[self.primary].restart(),
            Some(Then::RestartEmpty(from)) => {
                self.servers[self.primary].restart_empty();
                self.lost("a restart without data", None, from);
            }
            Some(Then::Elected(_)) => panic!("the sentinel elected nobody"),
            Some(Then::Resume) => self.primary().resume(),
            Some(Then::MemoryBack) => {
                self.primary().cli(&["CONFIG", "SET", "maxmemory", "0"]);
            }
            Some(Then::TakeOver(from)) => {
                let (old, new) = (self.primary, 1 - self.primary);
                self.servers[new].cli(&["REPLICAOF", "NO", "ONE"]);
                self.primary = new;
                relay.lead_to(&self.socket());
                self.lost("a fail-over", None, from);
                self.servers[old].restart_empty();
                self.follow(old, new);
            }
        }
    }

    /// All keys with their values and what is left of their lives.
    pub fn left(&self, again: bool) -> Vec<Left> {
        let mut client = self.primary().client();
        let keys = client.ask(&["KEYS", "*"]);
        let mut found = Vec::new();
        for key in keys.array() {
            let key = key.text();
            let pttl = client.ask(&["PTTL", &key]).int();
            let value = match client.ask(&["GET", &key]) {
                Value::Text(text) => String::from_utf8_lossy(&text).into_owned(),
                _ => String::new(),
            };
            // It may have lapsed between the two questions.
            if pttl != -2 {
                found.push(Left {
                    key,
                    value,
                    pttl,
                    again,
                });
            }
        }
        found
    }
}

fn stepped(options: Options, folder: &Path, clock: Option<&Path>) -> Redis {
    let clock = clock.expect("a world with a clock");
    set(clock, 0);
    let library = super::programs::compile(folder, "clock", &["-shared", "-fPIC"]);
    options
        .persistent()
        .env("LD_PRELOAD", library)
        .env("STEPPED_CLOCK", clock)
        .start()
}

/// In place, because the server has the file's first page in its memory.
fn set(clock: &Path, ahead: i64) {
    use std::io::Write;
    let mut file = fs::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .open(clock)
        .expect("the file of the clock");
    file.write_all(&(ahead * 1_000_000).to_ne_bytes())
        .expect("the file of the clock");
}
