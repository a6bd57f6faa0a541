//! `redlease run`: every rule that joins two of its options, with its reason.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::connection::Connection;
use super::source::Source;
use super::stack::{Enclosing, Stack};
use super::{RETAIN, Refused, TTL, Voice, Wait, names, shown, voice, wait};
use crate::cli::run::Run;
use crate::cli::values::{self, Period};
use crate::cli::words::MinHoldOn;
use crate::lease::cut;
use crate::lease::names::Names;
use crate::lease::policy::{IfUnreachable, Leftovers, OnLost};
use crate::time::{NoRoom, Timing};

/// Everything that a run needs to know. No Debug: it holds secrets.
#[derive(Clone)]
pub struct RunPlan {
    pub connection: Connection,
    pub names: Names,
    pub timing: Timing,
    pub wait: Wait,
    pub conflict: Conflict,
    /// None: one holder, and the lease's kept limit is not compared.
    pub limit: u8,
    pub min_hold: Option<Duration>,
    pub min_hold_on_success: bool,
    pub once_per: Option<Period>,
    pub max_run: Option<Duration>,
    /// Only a typed `-k` lets a TERM that was passed on start a timer.
    pub kill_after_typed: bool,
    pub signal: i32,
    pub on_lost: OnLost,
    pub if_unreachable: IfUnreachable,
    pub splay: Option<Duration>,
    pub replicas: Option<Replicas>,
    /// At most 64 bytes.
    pub label: String,
    pub report: Option<PathBuf>,
    pub leftovers: Leftovers,
    /// Never empty.
    pub argv: Vec<OsString>,
    pub voice: Voice,
    pub retain: Duration,
    pub stack: Stack,
    /// The enclosing lease with the same key, only with `--reentrant`: to be checked on the server, then run under.
    pub enclosing: Option<Enclosing>,
}

/// What happens when the lease is not acquired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Conflict {
    pub code: u8,
    pub quiet: bool,
}

/// How many replicas must have the acquire, and for how long they are waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Replicas {
    pub count: u32,
    pub timeout: Duration,
}

impl RunPlan {
    pub fn new(typed: &Run, source: &Source) -> Result<RunPlan, Refused> {
        contradictions(typed)?;
        let Some(key) = &typed.key else {
            return Err(Refused::usage(
                "--key is missing: it names the lease, as in `redlease run --key nightly -- ./job`",
            ));
        };
        let argv = argv(typed)?;
        let voice = voice(&typed.voice, source)?;
        let connection = Connection::new(&typed.connection, source)?;
        let names = names(&connection.prefix, key, typed.raw_key, "--key")?;
        let ttl = source
            .or(typed.ttl, "REDLEASE_TTL", values::ttl)?
            .unwrap_or(TTL);
        let timing = timing(ttl, typed.kill_after)?;
        let label = source
            .or(typed.label.clone(), "REDLEASE_LABEL", |text| {
                Ok(text.to_owned())
            })?
            .unwrap_or_else(|| base_name(&argv));
        if let Some(wait) = typed.replica_timeout.filter(|wait| *wait > ttl / 2) {
            return Err(Refused::usage(format!(
                "--replica-timeout {} leaves the job too little of its lease: at most half the TTL, which is {}",
                humantime::format_duration(wait),
                humantime::format_duration(ttl / 2)
            )));
        }
        let stack = Stack::read(source)?;
        let enclosing = stack
            .find(&connection.target.place(), &names.lease(1))
            .cloned();
        if enclosing.is_some() && !typed.reentrant {
            return Err(Refused::usage(format!(
                "this command already runs under the lease {key:?}, and would wait for itself (a deadlock); --reentrant \
                 runs under that lease (REDLEASE_STACK says so: unset it in a daemon or a terminal that inherited it)",
            )));
        }
        let kept = ttl
            + typed.min_hold.unwrap_or_default()
            + typed
                .once_per
                .map_or(Duration::ZERO, |period| period.every * 2);
        Ok(RunPlan {
            names,
            timing,
            wait: wait(typed.nonblock, typed.wait)?,
            conflict: Conflict {
                code: typed
                    .conflict_exit_code
                    .unwrap_or(if typed.skip_ok { 0 } else { 75 }),
                quiet: typed.skip_ok || voice.quiet,
            },
            limit: typed.limit.unwrap_or(1),
            min_hold: typed.min_hold,
            min_hold_on_success: typed.min_hold_on == Some(MinHoldOn::Success),
            once_per: typed.once_per,
            max_run: typed.max_run,
            kill_after_typed: typed.kill_after.is_some(),
            signal: typed.signal.unwrap_or(15),
            on_lost: typed.on_lost.map(OnLost::from).unwrap_or_default(),
            if_unreachable: typed
                .if_unreachable
                .map(IfUnreachable::from)
                .unwrap_or_default(),
            splay: typed.splay,
            replicas: typed.replicas.map(|count| Replicas {
                count,
                timeout: typed.replica_timeout.unwrap_or(timing.request_limit),
            }),
            label: cut(&label).to_owned(),
            report: typed.report.clone(),
            leftovers: typed.leftovers.map(Leftovers::from).unwrap_or_default(),
            argv,
            voice,
            retain: retain(typed.retain, source)?.max(kept),
            stack,
            enclosing,
            connection,
        })
    }
}

fn contradictions(typed: &Run) -> Result<(), Refused> {
    let rules: &[(bool, &str)] = &[
        (
            typed.timeout.is_some(),
            "there is no --timeout: --ttl is how long the lease lives without a renewal, --wait how long to wait \
             for it, --max-run how long the job may take",
        ),
        (
            typed.nonblock && typed.wait.is_some(),
            "-n and -w contradict each other: -n does not wait, -w waits",
        ),
        (
            typed.conflict_exit_code.is_some() && typed.skip_ok,
            "-E and --skip-ok contradict each other: --skip-ok is -E 0, and quiet",
        ),
        (
            typed.command.is_some() && !typed.argv.is_empty(),
            "-c and CMD contradict each other: both say what to run; arguments for -c go into its text",
        ),
        (
            typed.min_hold_on.is_some() && typed.min_hold.is_none(),
            "--min-hold-on says when --min-hold applies, and there is no --min-hold",
        ),
        (
            typed.raw_key && typed.limit.is_some(),
            "--raw-key and --limit contradict each other: other clients of a raw key know of no slots",
        ),
        (
            typed.if_unreachable == Some(crate::cli::words::IfUnreachableWord::Run)
                && (typed.min_hold.is_some() || typed.once_per.is_some()),
            "--if-unreachable run would break --min-hold and --once-per: without Redis nobody knows of the last run",
        ),
        (
            typed.replica_timeout.is_some() && typed.replicas.is_none(),
            "--replica-timeout says how long to wait for --replicas, and there is no --replicas",
        ),
        (
            typed.reentrant && typed.limit.is_some(),
            "--reentrant and --limit contradict each other: a run inside one slot would take another",
        ),
        (
            typed.reentrant && typed.wait.is_some(),
            "--reentrant and -w contradict each other: a run under an enclosing lease has nothing to wait for",
        ),
    ];
    match rules.iter().find(|(broken, _)| *broken) {
        Some((_, reason)) => Err(Refused::usage(*reason)),
        None => Ok(()),
    }
}

/// The job, by a shell only where `-c` says so.
fn argv(typed: &Run) -> Result<Vec<OsString>, Refused> {
    match &typed.command {
        Some(text) => Ok(vec!["/bin/sh".into(), "-c".into(), text.clone()]),
        None if typed.argv.is_empty() => Err(Refused::usage(
            "there is nothing to run: write the command after `--`, as in `redlease run --key nightly -- ./job`",
        )),
        None => Ok(typed.argv.clone()),
    }
}

/// Not the arguments: they can hold secrets, and the label is shown to everyone who can read the server.
fn base_name(argv: &[OsString]) -> String {
    argv.first()
        .map(Path::new)
        .and_then(Path::file_name)
        .map(OsStr::to_string_lossy)
        .unwrap_or_default()
        .into_owned()
}

/// The moments of a TTL, or the sum that does not fit.
pub fn timing(ttl: Duration, kill_after: Option<Duration>) -> Result<Timing, Refused> {
    Timing::new(ttl, kill_after).map_err(|NoRoom { renew_at, stop_at }| {
        let typed = kill_after.map_or(String::new(), |k| format!(" with --kill-after {}", shown(k)));
        Refused::usage(format!(
            "--ttl {}{typed} leaves no room: a renewal may last until {}, a third of the TTL and its limit, and the \
             job would have to be stopped at {}; take a longer --ttl{}",
            shown(ttl),
            shown(renew_at),
            shown(stop_at),
            if kill_after.is_some() { " or a shorter --kill-after" } else { "" },
        ))
    })
}

pub fn retain(typed: Option<Duration>, source: &Source) -> Result<Duration, Refused> {
    Ok(source
        .or(typed, "REDLEASE_RETAIN", values::duration)?
        .unwrap_or(RETAIN))
}
