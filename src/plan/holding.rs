//! The commands that a script calls one by one: acquire, renew, release, check.

use std::time::Duration;

use super::connection::Connection;
use super::handed::handed;
use super::source::Source;
use super::{Refused, TTL, Voice, Wait, names, run, voice, wait};
use crate::cli::primitives::{Acquire, Check, Holding as Typed, Release, Renew};
use crate::cli::values;
use crate::lease::names::Names;
use crate::lease::{Token, cut};
use crate::time::Timing;

#[derive(Clone)]
pub struct AcquirePlan {
    pub connection: Connection,
    pub names: Names,
    pub timing: Timing,
    pub wait: Wait,
    pub limit: u8,
    pub show: Show,
    pub while_pid: Option<u32>,
    /// The typed connection as variables, for `--export`.
    pub handed: Vec<(&'static str, String)>,
    pub label: String,
    pub retain: Duration,
    pub voice: Voice,
}

/// What `acquire` prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Show {
    Token,
    Json,
    Export,
}

impl AcquirePlan {
    pub fn new(typed: &Acquire, source: &Source) -> Result<AcquirePlan, Refused> {
        let Some(key) = &typed.key else {
            return Err(Refused::usage(
                "--key is missing: it names the lease, as in `redlease acquire --key deploy`",
            ));
        };
        if typed.raw_key && typed.limit.is_some() {
            return Err(Refused::usage(
                "--raw-key and --limit contradict each other: other clients of a raw key know of no slots",
            ));
        }
        let show = match (typed.json, typed.export) {
            (true, true) => {
                return Err(Refused::usage(
                    "--json and --export contradict each other: both say what is printed",
                ));
            }
            (true, false) => Show::Json,
            (false, true) => Show::Export,
            (false, false) => Show::Token,
        };
        let connection = Connection::new(&typed.connection, source)?;
        let ttl = source
            .or(typed.ttl, "REDLEASE_TTL", values::ttl)?
            .unwrap_or(TTL);
        let label = source
            .or(typed.label.clone(), "REDLEASE_LABEL", |text| {
                Ok(text.to_owned())
            })?
            .unwrap_or_else(|| "acquire".to_owned());
        Ok(AcquirePlan {
            names: names(&connection.prefix, key, typed.raw_key, "--key")?,
            timing: run::timing(ttl, None)?,
            wait: wait(typed.nonblock, typed.wait)?,
            limit: typed.limit.unwrap_or(1),
            show,
            while_pid: typed.while_pid,
            handed: handed(&typed.connection),
            label: cut(&label).to_owned(),
            retain: run::retain(typed.retain, source)?.max(ttl),
            voice: voice(&typed.voice, source)?,
            connection,
        })
    }
}

/// One holding, known by its token.
#[derive(Clone)]
pub struct Holding {
    pub connection: Connection,
    pub names: Names,
    pub token: Token,
    pub slot: u8,
    pub retain: Duration,
    pub voice: Voice,
}

impl Holding {
    fn new(
        typed: &Typed,
        connection: &crate::cli::connection::Connection,
        spoken: &crate::cli::words::Voice,
        source: &Source,
    ) -> Result<Holding, Refused> {
        let text = |text: &str| Ok(text.to_owned());
        let key = source
            .or(typed.key.clone(), "REDLEASE_KEY", text)?
            .ok_or_else(|| missing("--key", "REDLEASE_KEY"))?;
        // Never repeated, not even when it is wrong: a token lets anyone release the lease.
        let token = match &typed.token {
            Some(token) => Some(token.clone()),
            None => source.secret("REDLEASE_TOKEN")?,
        }
        .ok_or_else(|| missing("--token", "REDLEASE_TOKEN"))?;
        let from = if typed.token.is_some() {
            "--token"
        } else {
            "REDLEASE_TOKEN"
        };
        let token = token
            .parse()
            .map_err(|why| Refused::usage(format!("{from}: {why}")))?;
        // The slot in the environment belongs to the token there.
        let slot = match (typed.slot, &typed.token) {
            (Some(slot), _) => slot,
            (None, Some(_)) => 1,
            (None, None) => source.read("REDLEASE_SLOT", values::limit)?.unwrap_or(1),
        };
        // As `acquire --export` says it of the key in the environment.
        let raw = typed.raw_key || (typed.key.is_none() && source.switch("REDLEASE_RAW_KEY")?);
        let connection = Connection::new(connection, source)?;
        Ok(Holding {
            names: names(&connection.prefix, &key, raw, "the key")?,
            connection,
            token,
            slot,
            retain: run::retain(None, source)?,
            voice: voice(spoken, source)?,
        })
    }

    pub fn of_release(typed: &Release, source: &Source) -> Result<Holding, Refused> {
        Holding::new(&typed.holding, &typed.connection, &typed.voice, source)
    }
}

fn missing(option: &str, variable: &str) -> Refused {
    Refused::usage(format!(
        "{option} is missing, and {variable} is not set: `redlease acquire --key K --export` prints what sets it"
    ))
}

#[derive(Clone)]
pub struct RenewPlan {
    pub holding: Holding,
    /// None: the one that the holding had last.
    pub ttl: Option<Duration>,
}

impl RenewPlan {
    pub fn new(typed: &Renew, source: &Source) -> Result<RenewPlan, Refused> {
        let holding = Holding::new(&typed.holding, &typed.connection, &typed.voice, source)?;
        // REDLEASE_TTL_MS is what the holding in the environment was acquired with.
        let of_holding = match typed.holding.token {
            None => source.read("REDLEASE_TTL_MS", |text| values::ttl(&format!("{text}ms")))?,
            Some(_) => None,
        };
        Ok(RenewPlan {
            holding,
            ttl: typed.ttl.or(of_holding),
        })
    }
}

#[derive(Clone)]
pub struct CheckPlan {
    pub holding: Holding,
    pub min_left: Option<Duration>,
}

impl CheckPlan {
    pub fn new(typed: &Check, source: &Source) -> Result<CheckPlan, Refused> {
        Ok(CheckPlan {
            holding: Holding::new(&typed.holding, &typed.connection, &typed.voice, source)?,
            min_left: typed.min_left,
        })
    }
}
