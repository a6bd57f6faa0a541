//! `redlease acquire`: a lease for a script, which renews and releases it by its token.

mod background;
mod printed;

use std::cell::Cell;
use std::os::fd::BorrowedFd;
use std::time::Duration;

use anyhow::Context;

use crate::exit::Exit;
use crate::lease::dialog::Event;
use crate::lease::keeper::{Answer, Asking, Holding, Wish, give_back};
use crate::lease::store::Store;
use crate::lease::{Identity, Refusal};
use crate::plan::Refused;
use crate::plan::holding::{AcquirePlan, Show};
use crate::report::waiting::WaitingLine;
use crate::report::{Level, Log, stdout, words};
use crate::sys::signals::{self, Incoming};
use crate::sys::wake::Wake;
use crate::sys::{Signal, caller, host};
use crate::time::Moment;

/// How long a lease that nobody was told of is given back for.
const RELEASE_LIMIT: Duration = Duration::from_secs(5);

/// What ends a wait. The others keep what they do by default.
const ENDING: [Signal; 3] = [Signal::SIGHUP, Signal::SIGINT, Signal::SIGTERM];

pub fn run(plan: &AcquirePlan) -> Exit {
    let log = plan.voice.log();
    for warning in &plan.connection.warnings {
        log.say(Level::Warning, warning);
    }
    if caller::output_closed() {
        log.say(
            Level::Error,
            "standard output is closed, so that nobody would get the token; nothing was acquired",
        );
        return Exit::Failed;
    }
    let acquired = match plan.while_pid {
        Some(pid) => background::run(plan, pid, log),
        None => foreground(plan, log),
    };
    let exit = acquired.unwrap_or_else(|error| {
        log.say(Level::Error, &format!("{error:#}"));
        Exit::Failed
    });
    if exit != Exit::Done {
        say_failed(plan.show, exit);
    }
    exit
}

/// For a usage error: what an `eval` of the output would otherwise take for success.
pub fn refused(export: bool, why: &Refused) {
    if export {
        say_failed(Show::Export, why.exit);
    }
}

fn say_failed(show: Show, exit: Exit) {
    // With nobody to read it, nobody evaluates it.
    let _heard = stdout(&printed::failed(show, exit));
}

fn foreground(plan: &AcquirePlan, log: Log) -> anyhow::Result<Exit> {
    let incoming = listen()?;
    let mut store = Store::new(plan.connection.target.clone());
    store.set_interrupt(incoming.fd().try_clone_to_owned()?);
    let wish = wish(plan);
    let signal = Cell::new(None);
    let mut cancelled = || {
        if let Some(arrived) = incoming.next() {
            signal.set(Some(arrived.number));
        }
        signal.get().is_some()
    };
    let answer = ask(
        plan,
        &mut store,
        &wish,
        (incoming.fd(), &mut cancelled),
        log,
    );
    let holding = match answer {
        Answer::Granted(holding) => holding,
        other => return Ok(told(plan, other, signal.get(), log)),
    };
    // From here on nothing may interrupt: the token gets out, or the lease goes back.
    store.set_interrupt(Wake::new()?.fd().try_clone_to_owned()?);
    let Err(error) = stdout(&printed::granted(plan, &holding)) else {
        return Ok(Exit::Done);
    };
    undo(&mut store, &wish, &holding, log);
    Err(error).context("cannot print the token, so that the lease was given back")
}

/// Blocks the signals that end a wait, but for those that the caller ignores.
fn listen() -> anyhow::Result<Incoming> {
    let heard: Vec<i32> = ENDING
        .iter()
        .map(|signal| *signal as i32)
        .filter(|number| !signals::is_ignored(*number))
        .collect();
    signals::set_mask(&signals::set_of(&heard))?;
    Ok(Incoming::new(&heard)?)
}

fn wish(plan: &AcquirePlan) -> Wish {
    Wish {
        names: plan.names.clone(),
        identity: Identity {
            host: host::name(),
            // The script's own number tells people more than that of a redlease that is gone.
            pid: plan
                .while_pid
                .unwrap_or_else(std::os::unix::process::parent_id),
            user: host::user(),
            label: plan.label.clone(),
        },
        timing: plan.timing,
        wait: plan.wait,
        limit: plan.limit,
        min_hold: None,
        min_hold_on_success: false,
        once_per: None,
        replicas: None,
        retain: plan.retain,
        connect_limit: plan.connection.connect_timeout,
        splay: None,
    }
}

/// Asks, and shows on stderr whom it waits for.
fn ask(
    plan: &AcquirePlan,
    store: &mut Store,
    wish: &Wish,
    interrupt: (BorrowedFd<'_>, &mut dyn FnMut() -> bool),
    log: Log,
) -> Answer {
    let mut line = WaitingLine::new(log, plan.names.key(), host::columns());
    let mut silent = false;
    let answer = Asking::new(
        store,
        wish,
        interrupt.0,
        interrupt.1,
        &mut |event| match event {
            Event::Waiting(refusal) => {
                silent = false;
                line.show(&refusal);
            }
            Event::Retrying { text } => {
                line.clear();
                let first = !std::mem::replace(&mut silent, true);
                let level = if first { Level::Warning } else { Level::Info };
                log.say(level, &format!("{text}; trying again"));
            }
            _ => {}
        },
    )
    .run();
    line.clear();
    answer
}

/// No lease: why, and the code.
fn told(plan: &AcquirePlan, answer: Answer, signal: Option<i32>, log: Log) -> Exit {
    let key = plan.names.key();
    match answer {
        // Whoever was granted one is told so elsewhere.
        Answer::Granted(_) => Exit::Done,
        Answer::Refused(Refusal::Limit { kept }) => {
            log.say(Level::Error, &words::limit(key, plan.limit, kept));
            Exit::Config
        }
        Answer::Refused(refusal) => {
            log.say(Level::Warning, &words::refusal(key, &refusal));
            Exit::NotAcquired
        }
        Answer::Failed { exit, text } => {
            log.say(Level::Error, &text);
            exit
        }
        Answer::Cancelled => signal.map_or(Exit::Failed, Exit::Signal),
    }
}

/// Gives back what nobody was told of.
fn undo(store: &mut Store, wish: &Wish, holding: &Holding, log: Log) {
    let end = Moment::now().after(RELEASE_LIMIT);
    if let Err(trouble) = give_back(store, wish, holding, None, end, &|| true) {
        log.say(
            Level::Warning,
            &words::not_given_back(
                wish.names.key(),
                &trouble.text,
                holding.sent.after(wish.timing.ttl).remaining(Moment::now()),
            ),
        );
    }
}
