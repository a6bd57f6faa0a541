//! The commands that look and steer: status, break, fence, doctor.

use std::time::Duration;

use super::connection::Connection;
use super::source::Source;
use super::{Refused, names};
use crate::cli::status::{Break, Doctor, FenceCheck, Status};
use crate::lease::names::{Key, Names};
use crate::lease::{Fence, Token};

#[derive(Clone)]
pub struct StatusPlan {
    pub connection: Connection,
    /// Empty: all under the prefix.
    pub wanted: Vec<Wanted>,
    pub json: bool,
    pub quiet: bool,
    pub watch: Option<Duration>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wanted {
    One(Names),
    /// A pattern of SCAN for the part of a key that a user types.
    Pattern(String),
}

impl StatusPlan {
    pub fn new(typed: &Status, source: &Source) -> Result<StatusPlan, Refused> {
        let rules: &[(bool, &str)] = &[
            (
                typed.quiet && typed.json,
                "-q and --json contradict each other: -q prints nothing",
            ),
            (
                typed.quiet && typed.watch.is_some(),
                "-q and --watch contradict each other: -q answers once, by its exit code",
            ),
            (
                typed.raw_key && typed.patterns.is_empty(),
                "--raw-key needs KEY: raw keys cannot be told from foreign ones in a list",
            ),
        ];
        if let Some((_, reason)) = rules.iter().find(|(broken, _)| *broken) {
            return Err(Refused::usage(*reason));
        }
        let connection = Connection::new(&typed.connection, source)?;
        let wanted = typed
            .patterns
            .iter()
            .map(|text| {
                let names = names(&connection.prefix, text, typed.raw_key, "KEY")?;
                if text.contains(['*', '?', '[']) && !typed.raw_key {
                    Ok(Wanted::Pattern(text.clone()))
                } else {
                    Ok(Wanted::One(names))
                }
            })
            .collect::<Result<_, Refused>>()?;
        Ok(StatusPlan {
            connection,
            wanted,
            json: typed.json,
            quiet: typed.quiet,
            watch: typed.watch,
        })
    }
}

#[derive(Clone)]
pub struct BreakPlan {
    pub connection: Connection,
    pub names: Names,
    pub slot: u8,
    pub token: Option<Token>,
    pub now: bool,
    pub yes: bool,
}

impl BreakPlan {
    pub fn new(typed: &Break, source: &Source) -> Result<BreakPlan, Refused> {
        let connection = Connection::new(&typed.connection, source)?;
        Ok(BreakPlan {
            names: names(&connection.prefix, &typed.key, typed.raw_key, "KEY")?,
            connection,
            slot: typed.slot.unwrap_or(1),
            token: typed
                .token
                .as_deref()
                .map(str::parse)
                .transpose()
                .map_err(|why| Refused::usage(format!("--token: {why}")))?,
            now: typed.now,
            yes: typed.yes,
        })
    }
}

#[derive(Clone)]
pub struct FencePlan {
    pub connection: Connection,
    pub resource: Key,
    pub fence: Fence,
}

/// Numbers in scripts are doubles, exact up to here.
const LARGEST_FENCE: u64 = 1 << 53;

impl FencePlan {
    pub fn new(typed: &FenceCheck, source: &Source) -> Result<FencePlan, Refused> {
        let fence = source
            .or(typed.fence, "REDLEASE_FENCE", |text| {
                text.parse().map_err(|_| "it is no fence".to_owned())
            })?
            .ok_or_else(|| {
                Refused::usage(
                    "--fence is missing, and REDLEASE_FENCE is not set: `redlease run` gives it to its job",
                )
            })?;
        if fence == 0 || fence > LARGEST_FENCE {
            return Err(Refused::usage(format!("{fence} is no fence of a lease")));
        }
        let resource = typed.resource.parse().map_err(|why| {
            Refused::usage(format!("--resource {:?} is no name: {why}", typed.resource))
        })?;
        Ok(FencePlan {
            connection: Connection::new(&typed.connection, source)?,
            resource,
            fence: Fence(fence),
        })
    }
}

#[derive(Clone)]
pub struct DoctorPlan {
    pub connection: Connection,
    pub json: bool,
}

impl DoctorPlan {
    pub fn new(typed: &Doctor, source: &Source) -> Result<DoctorPlan, Refused> {
        Ok(DoctorPlan {
            connection: Connection::new(&typed.connection, source)?,
            json: typed.json,
        })
    }
}
