//! What is to happen in a round, drawn from its seed before it begins. What it meets then depends on the machine:
//! the plan is repeatable, a race is not.

use super::history::{Key, MS};
use super::random::Random;

/// What kind of server, and so what may go wrong with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum World {
    /// It keeps all it has answered: nothing excuses an overlap here.
    Kept,
    /// The same, and never calm: the order of waiters cannot be judged, and all else is put to the test more often.
    Stormy,
    /// It loses keys, one or all.
    Lossy,
    /// A primary and a replica that takes its place.
    FailOver,
    /// The same under a sentinel, which decides.
    Watched,
    /// Its clock is stepped.
    Stepped,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aim {
    Redlease,
    Guard,
    Job,
    Child,
    Group,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blow {
    Kill,
    Term,
    /// STOP, and CONT after so many milliseconds.
    Stop(u64),
}

#[derive(Clone, Debug, PartialEq)]
pub enum ServerFault {
    /// SIGKILL, and a new start after so many milliseconds.
    Restart(u64),
    RestartEmpty(u64),
    Stop(u64),
    Sleep(u64),
    CutClients,
    ScriptFlush,
    MemoryFull(u64),
    FlushAll,
    /// A key of the plan, and which part of it: the lease, info, the queue.
    Evict(usize, &'static str),
    /// The primary dies and the replica takes over after so many milliseconds.
    FailOver(u64),
    /// The primary dies, and the sentinel has to find out.
    Kill,
    /// The primary becomes the replica, with its connections open.
    Demote,
    /// Milliseconds forward, negative is back.
    Step(i64),
}

#[derive(Clone, Debug)]
pub enum Fault {
    /// The number chooses among the runs that there are then.
    Run(u64, Aim, Blow),
    Server(ServerFault),
    /// Name, percent of late and swallowed requests and of cuts, delay, and how long.
    Network(Network),
    /// So many processes burn the processors for so many milliseconds.
    Starve(u64, u64),
}

#[derive(Clone, Debug)]
pub struct Network {
    pub kind: &'static str,
    pub delay: u64,
    pub late: u64,
    pub swallowed: u64,
    pub cut: u64,
    pub closed: bool,
    pub lasts: u64,
}

#[derive(Clone, Debug)]
pub struct Plan {
    pub world: World,
    pub seed: u64,
    /// The piece of the program that is switched off, for a build that can.
    pub without: &'static str,
    /// Milliseconds in which runs are started and faults happen.
    pub length: u64,
    /// How many runs contend.
    pub crowd: usize,
    pub keys: Vec<Key>,
    /// In the order of their milliseconds.
    pub faults: Vec<(u64, Fault)>,
}

/// The order of waiters and the idle time are judged in calm weather: so much of it comes first, and again in
/// every period.
const CALM: u64 = 11_000;
const PERIOD: u64 = 42_000;
const STORM: u64 = 15_000;
/// Restoring a holding counts on one loss per renewal interval (design 3).
const BETWEEN_LOSSES: u64 = 6_000;

impl Plan {
    pub fn new(world: World, seed: u64, length: u64, crowd: usize) -> Plan {
        let mut random = Random::new(seed);
        let mut plan = Plan {
            world,
            seed,
            without: "",
            length,
            crowd,
            keys: keys(),
            faults: Vec::new(),
        };
        plan.blows(&mut random);
        plan.servers(&mut random);
        plan.networks(&mut random);
        plan.faults.sort_by_key(|(at, _)| *at);
        plan
    }

    fn storm(&self, at: u64) -> bool {
        let in_period = at % PERIOD;
        self.world != World::Kept || (in_period > CALM && in_period < CALM + STORM)
    }

    fn blows(&mut self, random: &mut Random) {
        let mut at = 500;
        while at < self.length {
            let aim = *random.pick(&[
                Aim::Redlease,
                Aim::Redlease,
                Aim::Redlease,
                Aim::Guard,
                Aim::Guard,
                Aim::Job,
                Aim::Child,
                Aim::Group,
            ]);
            let blow = match random.below(10) {
                0..=4 => Blow::Kill,
                5 => Blow::Term,
                6..=7 => Blow::Stop(random.between(50, 900)),
                _ => Blow::Stop(random.between(2_500, 5_000)),
            };
            self.faults.push((at, Fault::Run(random.next(), aim, blow)));
            at += random.between(100, 700);
            if random.percent(2) {
                let fault = Fault::Starve(random.between(4, 10), random.between(500, 1_500));
                self.faults.push((at, fault));
            }
        }
    }

    fn servers(&mut self, random: &mut Random) {
        let mut at = 1_000;
        let mut lost = 0;
        while at < self.length {
            let may_lose = at > lost + BETWEEN_LOSSES || lost == 0;
            if self.storm(at) {
                let (fault, lasts, loses) = self.server_fault(random, may_lose);
                self.faults.push((at, Fault::Server(fault)));
                at += lasts;
                if loses {
                    lost = at;
                }
            }
            at += random.between(400, 2_500);
        }
    }

    /// The fault, how long it takes, and whether it loses a key.
    fn server_fault(&self, random: &mut Random, may_lose: bool) -> (ServerFault, u64, bool) {
        if self.world == World::Watched {
            // Slowness would make the sentinel elect another primary beside a living one.
            return match random.below(4) {
                _ if may_lose => (ServerFault::Kill, 8_000, true),
                0 => (ServerFault::Sleep(random.between(50, 400)), 400, false),
                1 => (ServerFault::ScriptFlush, 0, false),
                _ => (ServerFault::CutClients, 0, false),
            };
        }
        if may_lose && !matches!(self.world, World::Kept | World::Stormy) {
            let (fault, lasts) = self.loss(random);
            return (fault, lasts, true);
        }
        let (fault, lasts) = match random.below(8) {
            0 | 1 if matches!(self.world, World::Kept | World::Stormy | World::Stepped) => {
                let down = random.below(1_500);
                (ServerFault::Restart(down), down)
            }
            0..=2 => {
                let stopped = random.between(100, 3_500);
                (ServerFault::Stop(stopped), stopped)
            }
            3 => {
                let sleeps = random.between(50, 950);
                (ServerFault::Sleep(sleeps), sleeps)
            }
            4 | 5 => (ServerFault::CutClients, 0),
            6 => (ServerFault::ScriptFlush, 0),
            _ => {
                let full = random.between(200, 2_500);
                (ServerFault::MemoryFull(full), full)
            }
        };
        (fault, lasts, false)
    }

    fn loss(&self, random: &mut Random) -> (ServerFault, u64) {
        let down = random.below(1_200);
        match self.world {
            World::FailOver if random.percent(60) => (ServerFault::FailOver(down), down),
            World::FailOver => (ServerFault::Demote, 0),
            World::Stepped => {
                let by = i64::try_from(random.between(300, 4_000)).unwrap_or(0);
                (ServerFault::Step(by), 0)
            }
            _ => match random.below(6) {
                0 => (ServerFault::RestartEmpty(down), down),
                1 | 2 => (ServerFault::FlushAll, 0),
                _ => {
                    // Where others wait a lost key is taken at once; one that is not is restored.
                    let lonely = self.keys.len() as u64 - 1;
                    let key = if random.percent(40) {
                        lonely
                    } else {
                        random.below(lonely)
                    };
                    let part = *random.pick(&["", "", "", ":info", ":queue"]);
                    let key = usize::try_from(key).unwrap_or(0);
                    (ServerFault::Evict(key, part), 0)
                }
            },
        }
    }

    fn networks(&mut self, random: &mut Random) {
        let clear = Network {
            kind: "",
            delay: 0,
            late: 0,
            swallowed: 0,
            cut: 0,
            closed: false,
            lasts: 0,
        };
        let mut at = 500;
        while at < self.length {
            if self.storm(at) {
                let lasts = random.between(400, 3_500);
                let mut network = Network {
                    lasts,
                    ..clear.clone()
                };
                match random.below(6) {
                    0 => (network.kind, network.delay) = ("delays", random.between(20, 400)),
                    1 => (network.kind, network.late) = ("late delivery", random.between(10, 40)),
                    2 => {
                        (network.kind, network.swallowed) =
                            ("swallowed replies", random.between(10, 60))
                    }
                    3 => (network.kind, network.cut) = ("cuts", random.between(10, 60)),
                    4 => (network.kind, network.closed) = ("partition", true),
                    _ => {
                        network.kind = "all of it";
                        network.delay = 60;
                        network.late = random.between(5, 20);
                        network.swallowed = random.between(5, 20);
                        network.cut = random.between(5, 20);
                    }
                }
                self.faults.push((at, Fault::Network(network)));
                at += lasts;
            }
            at += random.between(200, 1_500);
        }
    }
}

/// The last one is seldom asked for.
fn keys() -> Vec<Key> {
    let key = |name: &str, ttl: u64, limit: u8, min_hold: u64| Key {
        name: name.to_owned(),
        ttl: ttl * MS,
        limit,
        min_hold: min_hold * MS,
    };
    vec![
        key("plain", 3_000, 1, 0),
        key("short", 2_000, 1, 0),
        key("slots", 3_000, 3, 0),
        key("cooling", 3_000, 1, 700),
        key("script", 4_000, 1, 0),
        key("lonely", 2_000, 1, 0),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_draws_the_same_plan_again() {
        let plan = |seed| format!("{:?}", Plan::new(World::Lossy, seed, 30_000, 20).faults);
        assert_eq!(plan(7), plan(7));
        assert_ne!(plan(7), plan(8));
    }

    #[test]
    fn nothing_is_lost_where_all_is_kept() {
        let plan = Plan::new(World::Kept, 3, 600_000, 20);
        assert!(plan.faults.len() > 500);
        let loses = |fault: &Fault| {
            matches!(
                fault,
                Fault::Server(
                    ServerFault::RestartEmpty(_)
                        | ServerFault::FlushAll
                        | ServerFault::Evict(..)
                        | ServerFault::FailOver(_)
                        | ServerFault::Kill
                        | ServerFault::Demote
                        | ServerFault::Step(_)
                )
            )
        };
        assert!(!plan.faults.iter().any(|(_, fault)| loses(fault)));
    }
}
