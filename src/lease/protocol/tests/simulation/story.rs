//! The contenders' side: what keepers do, in small, and what must be true at every step.

use std::time::Duration;

use super::agent::{Act, Agent, Fault, State};
use super::fairness::{in_order, in_time};
use super::world::{MILLI, SECOND, START, World};
use crate::lease::protocol::acquire::{Leave, Waiting};
use crate::lease::protocol::breaking::Break;
use crate::lease::protocol::renew::Renew;
use crate::lease::protocol::tests::server::{Server, request};
use crate::lease::protocol::tests::{Contender, RETAIN, contender};
use crate::lease::reply::Script;
use crate::lease::{Grant, Refusal, Token};

const HEARTBEAT: u64 = 2 * SECOND;
/// How late a waiter may be that had a fault: it finds out at its heartbeat, after a retry.
const RECOVERS: u64 = HEARTBEAT + 200 * MILLI;

pub struct Story<'a> {
    server: &'a Server,
    world: World,
    limit: u8,
    agents: Vec<Agent>,
    pub served: usize,
}

/// Sends a request, which the fault may keep from being executed or answered.
fn ask<S: Script>(
    world: &mut World,
    fault: Option<Fault>,
    script: &S,
    behind: Option<&Leave<'_>>,
) -> Option<S::Answer> {
    let parts = request(script);
    let release = behind.map(request);
    match fault {
        Some(Fault::Request) => None,
        Some(Fault::Late(delay, written)) => {
            let mut all = vec![parts];
            all.extend(release.filter(|_| written));
            world.late.push((world.clock + delay * MILLI, all));
            None
        }
        Some(Fault::Reply(written)) => {
            world.execute(&parts, false);
            if let Some(release) = release.filter(|_| written) {
                world.execute(&release, false);
            }
            None
        }
        None => {
            let reply = world.execute(&parts, false);
            Some(script.decode(&reply).unwrap())
        }
    }
}

impl<'a> Story<'a> {
    pub fn new(server: &'a Server, limit: u8) -> Story<'a> {
        Story {
            server,
            world: World::new(server, limit),
            limit,
            agents: Vec::new(),
            served: 0,
        }
    }

    /// All acts, each so many ms after the one before, and then until the last contender is gone.
    pub fn play(&mut self, acts: &[(u64, Act)]) {
        let mut at = START;
        for (wait, act) in acts {
            at += wait * MILLI;
            self.until(at);
            self.act(*act);
            self.hear();
        }
        self.until(at + 3600 * SECOND);
        for agent in &self.agents {
            assert!(
                agent.hung || matches!(agent.state, State::Gone),
                "{} waits for ever",
                agent.id()
            );
        }
        // What the dead have left lapses, and then nobody is in the way.
        self.world.clock += 60 * SECOND;
        self.world.tick();
        let last = contender("last").limit(self.limit);
        let parts = request(&last.request(None));
        let reply = self.world.execute(&parts, false);
        assert!(last.request(None).decode(&reply).unwrap().is_ok());
        for key in [self.world.names.queue(), self.world.names.waiters()] {
            assert_eq!(self.world.command(&["EXISTS", &key]).int(), Ok(0));
        }
    }

    fn until(&mut self, limit: u64) {
        loop {
            let due = |agent: &Agent| !agent.hung && !matches!(agent.state, State::Gone);
            let agent = (0..self.agents.len())
                .filter(|at| due(&self.agents[*at]))
                .min_by_key(|at| self.agents[*at].next);
            let late = (0..self.world.late.len()).min_by_key(|at| self.world.late[*at].0);
            let agent_at = agent.map_or(u64::MAX, |at| self.agents[at].next);
            let late_at = late.map_or(u64::MAX, |at| self.world.late[at].0);
            if agent_at.min(late_at) > limit {
                self.world.clock = self.world.clock.max(limit.min(START + 3000 * SECOND));
                return;
            }
            self.world.clock = self.world.clock.max(agent_at.min(late_at));
            self.world.tick();
            if late_at < agent_at {
                let (_, parts) = self.world.late.remove(late.unwrap());
                for part in parts {
                    self.world.execute(&part, false);
                }
            } else {
                self.step(agent.unwrap());
            }
            self.hear();
        }
    }

    /// Wake-ups that have arrived: 0 for "take it", n for "if nobody does for n half seconds".
    fn hear(&mut self) {
        for agent in &mut self.agents {
            let asking = agent.asking();
            let Some(ear) = &mut agent.ear else { continue };
            while let Some(message) = ear.heard() {
                let rank: u64 = message.array().unwrap()[2].text().unwrap().parse().unwrap();
                if agent.deaf {
                    agent.deaf = false;
                    agent.excused = self.world.clock + RECOVERS;
                } else if asking {
                    let wait = 1 + rank * 500;
                    agent.next = agent.next.min(self.world.clock + wait * MILLI);
                }
            }
        }
    }

    fn step(&mut self, at: usize) {
        match self.agents[at].state {
            State::Asking => self.acquire(at),
            State::Holding => self.hold(at),
            State::Releasing => self.release(at),
            State::Gone => {}
        }
    }

    fn acquire(&mut self, at: usize) {
        let free_before = self.world.free();
        let idle = self.world.slots.iter().filter(|slot| slot.value.is_none());
        let idle = idle.min_by_key(|slot| slot.free_since).cloned();
        let agent = &self.agents[at];
        let waiting = agent.waits.then_some(Waiting {
            id: agent.id(),
            ticket: agent.ticket,
        });
        let behind = Leave {
            names: &self.world.names.clone(),
            limit: self.limit,
            waiter: None,
            tokens: std::slice::from_ref(&agent.who.token),
        };
        let fault = agent.fault;
        let script = agent.who.request(waiting);
        let answer = ask(&mut self.world, fault, &script, Some(&behind));
        let now = self.world.clock;
        match answer {
            None => {
                let agent = &mut self.agents[at];
                agent.late |= matches!(fault, Some(Fault::Late(..)));
                agent.asked = match fault {
                    Some(Fault::Request) | None => agent.asked,
                    Some(Fault::Reply(_)) => agent.asked.max(now),
                    Some(Fault::Late(delay, _)) => agent.asked.max(now + delay * MILLI),
                };
                agent.fault = None;
                agent.excused = now + RECOVERS;
                let given_up = std::mem::replace(&mut agent.who.token, Token::fresh());
                agent.who.replaces.push(given_up);
                agent.next = now + 50 * MILLI;
            }
            Some(Ok(grant)) => {
                if !grant.again {
                    in_order(&self.agents, at, now, free_before);
                    in_time(&self.agents, at, now, &idle.unwrap());
                }
                self.start(at, grant);
            }
            Some(Err(refusal)) => self.refused(at, &refusal),
        }
    }

    fn refused(&mut self, at: usize, refusal: &Refusal) {
        let now = self.world.clock;
        let ends = self.world.slots.iter().map(|slot| slot.end).min();
        let agent = &mut self.agents[at];
        let Some(place) = refusal.place() else {
            assert!(!agent.waits, "{refusal:?}");
            agent.state = State::Gone;
            return;
        };
        // The first one told is what order means, whatever was lost since.
        agent.ticket = agent.ticket.or(Some(place.ticket));
        agent.asked = agent.asked.max(now);
        let lapse = match refusal {
            Refusal::Queued { turn, .. } => now + u64::try_from(turn.as_micros()).unwrap(),
            _ => ends.unwrap_or(u64::MAX) + 2 * MILLI,
        };
        agent.next = lapse.min(now + HEARTBEAT);
        if agent.ear.is_none() {
            let mut ear = self.server.connect();
            ear.command(&["SUBSCRIBE", &format!("redlease:{{k}}:wake:{}", agent.id())]);
            agent.ear = Some(ear);
            agent.next = now + MILLI;
        } else if agent.settled == 0 {
            agent.settled = now;
        }
    }

    fn start(&mut self, at: usize, grant: Grant) {
        let now = self.world.clock;
        for other in &self.agents {
            assert!(
                !other.running(grant.slot) || other.doubt,
                "{} starts beside {}",
                self.agents[at].id(),
                other.id()
            );
        }
        self.served += 1;
        let agent = &mut self.agents[at];
        agent.state = State::Holding;
        agent.ear = None;
        agent.expires = grant.expires_at_us;
        agent.kill_at = now + 5_700 * MILLI;
        agent.renew_at = now + 2_000 * MILLI;
        agent.end_at = now + agent.job;
        agent.grants = self.world.slots[usize::from(grant.slot) - 1].grants;
        agent.grant = Some(grant);
        agent.plan();
    }

    fn hold(&mut self, at: usize) {
        let now = self.world.clock;
        let agent = &self.agents[at];
        let grant = agent.grant.clone().unwrap();
        if now >= agent.kill_at || now >= agent.end_at {
            let agent = &mut self.agents[at];
            agent.state = State::Releasing;
            agent.next = now + MILLI;
            return;
        }
        let fault = agent.fault;
        let script = Renew {
            restore_until_us: Some(agent.expires),
            ..agent.who.renewal(&grant)
        };
        let answer = ask(&mut self.world, fault, &script, None);
        let others = self.agents.iter().enumerate();
        let beside = others
            .filter(|(i, other)| *i != at && other.running(grant.slot) && !other.doubt)
            .count();
        let grants = self.world.slots[usize::from(grant.slot) - 1].grants;
        let agent = &mut self.agents[at];
        agent.fault = None;
        match answer {
            None => agent.renew_at = now + 50 * MILLI,
            Some(Ok(renewed)) => {
                assert_eq!(beside, 0, "{} was renewed beside another", agent.id());
                assert_eq!(grants, agent.grants, "{} goes on after another", agent.id());
                agent.expires = renewed.expires_at_us;
                agent.kill_at = now + 5_700 * MILLI;
                agent.renew_at = now + 2_000 * MILLI;
                agent.doubt = false;
            }
            Some(Err(loss)) => {
                assert!(agent.doubt, "{} lost its lease: {loss:?}", agent.id());
                agent.state = State::Releasing;
            }
        }
        agent.plan();
    }

    fn release(&mut self, at: usize) {
        let agent = &self.agents[at];
        let grant = agent.grant.clone().unwrap();
        let fault = agent.fault;
        let script = crate::lease::protocol::release::Release {
            resend: agent.resend,
            unlost_until_us: Some(agent.expires),
            ..agent.who.giving_back(&grant)
        };
        let answer = ask(&mut self.world, fault, &script, None);
        let agent = &mut self.agents[at];
        agent.fault = None;
        match answer {
            None => {
                agent.resend = true;
                agent.next = self.world.clock + 50 * MILLI;
            }
            Some(answer) => {
                let fine = answer.is_ok() || agent.doubt || self.world.clock > agent.expires;
                assert!(fine, "{} released: {answer:?}", agent.id());
                self.world.ended.insert(agent.who.token.as_str().to_owned());
                agent.state = State::Gone;
            }
        }
    }

    fn living(&self, nth: usize) -> Option<usize> {
        let alive = |at: &usize| !matches!(self.agents[*at].state, State::Gone);
        let all: Vec<usize> = (0..self.agents.len()).filter(alive).collect();
        (!all.is_empty()).then(|| all[nth % all.len()])
    }

    fn act(&mut self, act: Act) {
        self.world.tick();
        match act {
            Act::Come(job, waits) => self.come(job, waits),
            Act::Flush => self.flush(),
            Act::Crash(nth) | Act::Hang(nth) | Act::Deafen(nth) | Act::Fail(nth, _) => {
                let Some(at) = self.living(nth) else { return };
                let agent = &mut self.agents[at];
                match act {
                    Act::Crash(_) => {
                        agent.left = agent.asking().then_some(self.world.clock);
                        agent.state = State::Gone;
                        agent.ear = None;
                        // The server has seen the end of the connection once it answers this.
                        self.world.command(&["PING"]);
                    }
                    Act::Hang(_) if agent.asking() => {
                        agent.hung = true;
                        agent.left = Some(self.world.clock);
                    }
                    Act::Deafen(_) => agent.deaf = true,
                    Act::Fail(_, fault) => agent.fault = Some(fault),
                    _ => {}
                }
            }
            Act::Break(nth, now) => self.break_slot(nth, now),
        }
    }

    fn come(&mut self, job: u64, waits: bool) {
        let id = format!("c{}", self.agents.len());
        let who = Contender {
            ttl: Duration::from_secs(6),
            ..contender(&id).limit(self.limit)
        };
        self.agents
            .push(Agent::new(who, job * MILLI, waits, self.world.clock));
    }

    /// At most one loss of data per renewal interval: that is what the restore assumes.
    fn flush(&mut self) {
        if self.agents.iter().any(|agent| agent.doubt) {
            return;
        }
        self.world.flush();
        let now = self.world.clock;
        for agent in &mut self.agents {
            agent.doubt = agent.grant.is_some();
            agent.excused = now + RECOVERS;
        }
    }

    fn break_slot(&mut self, nth: usize, now: bool) {
        let slot = u8::try_from(nth % usize::from(self.limit) + 1).unwrap();
        let about = &self.world.slots[usize::from(slot) - 1];
        if about.value.is_some() && about.end < self.world.clock + SECOND {
            // The script goes by what the key has left, which a slow machine would let lapse by the real clock.
            return;
        }
        let names = self.world.names.clone();
        let parts = request(&Break {
            names: &names,
            slot,
            limit: self.limit,
            token: None,
            who: "root",
            now,
            retain: RETAIN,
        });
        self.world.execute(&parts, true);
        for agent in &mut self.agents {
            if agent.grant.as_ref().is_some_and(|grant| grant.slot == slot) {
                agent.doubt = true;
            }
        }
    }
}
