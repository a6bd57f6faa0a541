//! `redlease break`: an operator ends somebody else's holding, and knows whose before.

use std::io::{self, IsTerminal};
use std::time::Duration;

use crate::exit::Exit;
use crate::lease::keeper::exit_of;
use crate::lease::protocol::breaking::{Break, Broke};
use crate::lease::protocol::inspect::{Holding, Inspect, Seen, State};
use crate::lease::store::{Store, Trouble};
use crate::plan::RETAIN;
use crate::plan::view::BreakPlan;
use crate::report::words::{span, who};
use crate::report::{Level, Log, clean, stderr, stdout};
use crate::sys::host;
use crate::time::Moment;

/// For one request.
const LIMIT: Duration = Duration::from_secs(5);

/// The codes of `break` that are its own: nobody holds it, or the operator thought better of it.
const NOTHING: Exit = Exit::Code(1);

pub fn run(plan: &BreakPlan) -> Exit {
    let log = Log::default();
    for warning in &plan.connection.warnings {
        log.say(Level::Warning, warning);
    }
    let terminal = io::stdin().is_terminal() && io::stderr().is_terminal();
    if !plan.yes && !terminal {
        log.say(
            Level::Error,
            "break asks before it acts, and there is no terminal to ask on: give --yes, and --token to break only \
             the holding that you saw",
        );
        return Exit::Usage;
    }
    attempt(plan, log).unwrap_or_else(|trouble| {
        let doubt = if trouble.sent {
            "; it may be broken nevertheless: `redlease status` tells"
        } else {
            ""
        };
        log.say(Level::Error, &format!("{}{doubt}", trouble.text));
        exit_of(trouble.kind)
    })
}

fn attempt(plan: &BreakPlan, log: Log) -> Result<Exit, Trouble> {
    let mut store = Store::new(plan.connection.target.clone());
    store.connect(Moment::now().after(plan.connection.connect_timeout))?;
    let seen = look(&mut store, plan, plan.slot)?;
    if let State::WrongType { key } = &seen.state {
        let text = format!("the key {key} holds something else than a lease; nothing was broken");
        log.say(Level::Error, &text);
        return Ok(Exit::Config);
    }
    if seen.state == State::Free {
        log.say(Level::Warning, &free(&mut store, plan, &seen)?);
        return Ok(NOTHING);
    }
    let shown = at_the_key(&seen);
    let token = match &plan.token {
        Some(token) => Some(token.as_str().to_owned()),
        // What was shown is what is broken, and nothing that came after it.
        None if !plan.yes => shown.clone(),
        None => None,
    };
    if plan.token.is_some() && token != shown {
        return Ok(other(plan, log));
    }
    if !plan.yes && !agreed(plan, &seen) {
        log.say(Level::Warning, "nothing was broken");
        return Ok(NOTHING);
    }
    // Thinking about it may have taken longer than a server keeps an idle connection.
    if !plan.yes {
        store.hang_up();
    }
    // Another --retain, or a long --once-per, may keep the record for longer.
    let info = plan.names.info(plan.slot);
    let kept = store.command(&[b"PTTL", info.as_bytes()], soon())?;
    let kept = Duration::from_millis(kept.unsigned().unwrap_or(0));
    let operator = format!("{}@{}", host::user(), host::name());
    let request = Break {
        names: &plan.names,
        slot: plan.slot,
        limit: limit(&seen).max(plan.slot),
        token: token.as_deref(),
        who: &operator,
        now: plan.now,
        retain: RETAIN.max(kept),
    };
    let broke = store.ask(&request, soon())?;
    Ok(told(plan, &seen, &broke, log))
}

fn soon() -> Moment {
    Moment::now().after(LIMIT)
}

fn look(store: &mut Store, plan: &BreakPlan, slot: u8) -> Result<Seen, Trouble> {
    let names = &plan.names;
    store.ask(&Inspect { names, slot }, soon())
}

fn limit(seen: &Seen) -> u8 {
    seen.limit.unwrap_or(1)
}

/// The token at the key; None where it is longer than any, or no text, and so cannot be named.
fn at_the_key(seen: &Seen) -> Option<String> {
    match &seen.state {
        State::Foreign { token } => Some(token)
            .filter(|token| token.len() <= 200 && !token.contains('\u{fffd}'))
            .cloned(),
        _ => described(seen).map(|held| held.token.clone()),
    }
}

fn described(seen: &Seen) -> Option<&Holding> {
    match seen.state {
        State::Foreign { .. } => None,
        _ => seen.holding.as_ref(),
    }
}

fn holder(seen: &Seen) -> String {
    described(seen).map_or_else(|| "another client".to_owned(), |held| who(&held.holder.who))
}

/// Nothing to break: who had it last, or which slot may have been meant.
fn free(store: &mut Store, plan: &BreakPlan, seen: &Seen) -> Result<String, Trouble> {
    let key = plan.names.key();
    for slot in (1..=limit(seen)).filter(|slot| *slot != plan.slot) {
        let other = look(store, plan, slot)?;
        if other.state != State::Free {
            return Ok(format!(
                "slot {} of {key} is free, nothing to break; slot {slot} is held by {}: --slot {slot}",
                plan.slot,
                holder(&other)
            ));
        }
    }
    let abandoned = seen
        .holding
        .as_ref()
        .filter(|held| !held.ended)
        .map(|held| {
            let ago = seen.now_us.saturating_sub(held.expires_at_us);
            format!(
                "; {} had it and did not release it, and it lapsed {} ago",
                who(&held.holder.who),
                span(Duration::from_micros(ago))
            )
        });
    Ok(format!(
        "nobody holds {key}, nothing to break{}",
        abandoned.unwrap_or_default()
    ))
}

fn other(plan: &BreakPlan, log: Log) -> Exit {
    let text = format!(
        "{} is held by another holding than the one named; nothing was broken",
        plan.names.key()
    );
    log.say(Level::Error, &text);
    Exit::Lost
}

/// Shows what would be broken, and asks. Anything but a yes is a no.
fn agreed(plan: &BreakPlan, seen: &Seen) -> bool {
    let key = plan.names.key();
    let left = seen.remaining.map_or("no time to live".to_owned(), |left| {
        format!("{} left", span(left))
    });
    let state = match &seen.state {
        State::Cooling => format!("is cooling after the run of {}", holder(seen)),
        State::Broken => format!("was broken before, from {}", holder(seen)),
        _ => {
            let age = described(seen).map(|held| {
                let age = seen.now_us.saturating_sub(held.holder.since_us);
                format!(" for {}", span(Duration::from_micros(age)))
            });
            format!("is held by {}{}", holder(seen), age.unwrap_or_default())
        }
    };
    let waiting = match seen.waiting {
        0 => String::new(),
        1 => "; 1 waits for it".to_owned(),
        many => format!("; {many} wait for it"),
    };
    let then = match (&seen.state, plan.now) {
        (State::Cooling, _) => "It will be free at once.",
        (_, true) => "It will be free at once, and two jobs may run until the holder notices.",
        (_, false) => "Its job will be stopped at its next renewal.",
    };
    let text = clean(&format!("{key} {state}, {left}{waiting}. {then}"));
    stderr(&format!("{text}\nBreak it? [y/N] "));
    let mut answer = String::new();
    io::stdin().read_line(&mut answer).is_ok()
        && matches!(answer.trim().to_lowercase().as_str(), "y" | "yes")
}

fn told(plan: &BreakPlan, seen: &Seen, broke: &Broke, log: Log) -> Exit {
    let key = plan.names.key();
    match broke {
        Broke::Free => {
            log.say(
                Level::Warning,
                &format!("nobody holds {key}, nothing to break"),
            );
            NOTHING
        }
        Broke::Other => other(plan, log),
        Broke::Already { remaining } => {
            let text = format!(
                "{key} was broken before, and is free in {} at the latest; --now frees it at once",
                span(*remaining)
            );
            log.say(Level::Warning, &text);
            NOTHING
        }
        Broke::Done {
            remaining,
            cooling,
            holder,
        } => {
            let by = holder
                .as_ref()
                .map_or_else(|| "another client".to_owned(), |holder| who(&holder.who));
            let text = match (cooling, plan.now) {
                (true, _) => format!("{key} no longer cools, and is free"),
                (false, true) => format!(
                    "{key} is free; the job of {by} may still run until it notices, at most {}",
                    span(seen.remaining.unwrap_or_default())
                ),
                (false, false) => format!(
                    "broke the lease of {by} on {key}; its job is stopped at its next renewal, and {key} is free when \
                     it has ended, in {} at the latest",
                    span(*remaining)
                ),
            };
            // It is done, whoever hears of it.
            let _heard = stdout(&(clean(&text) + "\n"));
            Exit::Done
        }
    }
}
