//! The scripts on a real server: what is asked and what is answered, with expected values written by hand.

mod faults;
mod holding;
mod limits;
mod monotonic;
mod server;
mod simulation;
mod waiting;

use std::time::Duration;

use server::{Connection, Server};

use super::acquire::{Acquire, OncePer, Waiting};
use super::check::{Check, Checked};
use super::inspect::{Inspect, Seen, State};
use super::release::{Release, Run};
use super::renew::{Renew, Renewed};
use crate::lease::names::{Names, Prefix};
use crate::lease::{Fence, Finished, Grant, Identity, Loss, Refusal, Token};

const TTL: Duration = Duration::from_secs(30);
const RETAIN: Duration = Duration::from_secs(3600);

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// One contender: what `run` knows of itself.
struct Contender {
    names: Names,
    token: Token,
    identity: Identity,
    limit: u8,
    ttl: Duration,
    replaces: Vec<Token>,
    once_per: Option<OncePer>,
}

fn contender(host: &str) -> Contender {
    Contender {
        names: Names::new(&Prefix::default(), &"k".parse().unwrap()),
        token: Token::fresh(),
        identity: Identity {
            host: host.to_owned(),
            pid: 4711,
            user: "ann".to_owned(),
            label: "import".to_owned(),
        },
        limit: 1,
        ttl: TTL,
        replaces: Vec::new(),
        once_per: None,
    }
}

impl Contender {
    fn limit(mut self, limit: u8) -> Contender {
        self.limit = limit;
        self
    }

    fn once_per(mut self, period: Duration) -> Contender {
        self.once_per = Some(OncePer {
            period,
            offset: Duration::ZERO,
        });
        self
    }

    fn request<'a>(&'a self, waiting: Option<Waiting<'a>>) -> Acquire<'a> {
        Acquire {
            names: &self.names,
            identity: &self.identity,
            token: &self.token,
            replaces: &self.replaces,
            ttl: self.ttl,
            limit: self.limit,
            waiting,
            once_per: self.once_per,
            retain: RETAIN,
        }
    }

    fn acquire(&self, on: &mut Connection) -> Result<Grant, Refusal> {
        on.ask(&self.request(None))
    }

    fn wait(&self, on: &mut Connection, id: &str, ticket: Option<u64>) -> Result<Grant, Refusal> {
        on.ask(&self.request(Some(Waiting { id, ticket })))
    }

    fn renewal<'a>(&'a self, grant: &Grant) -> Renew<'a> {
        Renew {
            names: &self.names,
            slot: grant.slot,
            limit: self.limit,
            token: &self.token,
            fence: grant.fence,
            ttl: self.ttl,
            retain: RETAIN,
            only_longer: false,
            restore_until_us: None,
            acquired_at_us: grant.acquired_at_us,
            identity: &self.identity,
        }
    }

    fn renew(&self, on: &mut Connection, grant: &Grant) -> Result<Renewed, Loss> {
        on.ask(&self.renewal(grant))
    }

    fn restore(&self, on: &mut Connection, grant: &Grant) -> Result<Renewed, Loss> {
        on.ask(&Renew {
            only_longer: false,
            restore_until_us: Some(grant.expires_at_us),
            ..self.renewal(grant)
        })
    }

    fn giving_back<'a>(&'a self, grant: &Grant) -> Release<'a> {
        Release {
            names: &self.names,
            slot: grant.slot,
            limit: self.limit,
            token: &self.token,
            fence: grant.fence,
            retain: RETAIN,
            resend: false,
            strict: false,
            keep_until_us: None,
            unlost_until_us: None,
            run: None,
        }
    }

    fn release(&self, on: &mut Connection, grant: &Grant) -> Result<(), Loss> {
        on.ask(&self.giving_back(grant))
    }

    fn finish(&self, on: &mut Connection, grant: &Grant, code: u8) -> Result<(), Loss> {
        on.ask(&Release {
            run: Some(Run {
                finished: &Finished {
                    outcome: "completed",
                    code,
                    success: code == 0,
                },
                duration: ms(1234),
                host: &self.identity.host,
                acquired_at_us: grant.acquired_at_us,
                once_per: self.once_per.is_some(),
            }),
            ..self.giving_back(grant)
        })
    }

    fn check(&self, on: &mut Connection, slot: u8) -> Result<Checked, Loss> {
        on.ask(&Check {
            names: &self.names,
            slot,
            token: &self.token,
        })
    }

    fn see(&self, on: &mut Connection, slot: u8) -> Seen {
        on.ask(&Inspect {
            names: &self.names,
            slot,
        })
    }
}
