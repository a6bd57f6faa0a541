//! Stands in for the keeper where a job runs without a lease of its own: under an enclosing one (`--reentrant`),
//! or, if the user wants it so, without any because Redis cannot be reached (`--if-unreachable run`).

use std::time::Duration;

use crate::exit::Exit;
use crate::lease::dialog::{Command, Event, Released};
use crate::lease::keeper::{Keeper, exit_of};
use crate::lease::protocol::check::Check;
use crate::lease::store::Kind;
use crate::lease::{Fence, Grant, Loss, Token};
use crate::plan::stack::Enclosing;
use crate::report::words;
use crate::time::{Backoff, Moment};

/// Asks whether the enclosing lease still holds: a daemon or a terminal may have inherited the variables. If so,
/// the job runs under it; the run that holds it keeps it, and stops the job with its own.
pub fn under(mut keeper: Keeper, enclosing: &Enclosing) {
    let Ok(token) = enclosing.token.parse::<Token>() else {
        let text = "REDLEASE_STACK in the environment has no valid token: unset it".to_owned();
        return keeper.say(Event::Failed {
            exit: Exit::Usage,
            text,
        });
    };
    let limit = keeper.wish.timing.request_limit;
    let end = Moment::now().after(limit);
    let mut backoff = Backoff::new();
    let checked = loop {
        let question = Check {
            names: &keeper.wish.names,
            slot: enclosing.slot,
            token: &token,
        };
        let now = Moment::now();
        match keeper.store.ask(&question, now.after(limit)) {
            Ok(checked) => break checked,
            Err(trouble) if trouble.kind == Kind::Interrupted => return keeper.say(Event::Left),
            Err(trouble) => {
                let wait = backoff.next();
                if trouble.kind != Kind::Again || now.after(wait) >= end {
                    let exit = exit_of(trouble.kind);
                    return keeper.say(Event::Failed {
                        exit,
                        text: trouble.text,
                    });
                }
                std::thread::sleep(wait);
            }
        }
    };
    keeper.store.hang_up();
    match checked {
        Ok(_) => {
            let grant = Grant {
                slot: enclosing.slot,
                fence: Fence(enclosing.fence),
                acquired_at_us: enclosing.acquired_at_ms * 1000,
                expires_at_us: 0,
                again: false,
            };
            hold(&keeper, grant, token);
        }
        Err(loss) => {
            let why = match &loss {
                Loss::Expired => "it could not be asked for".to_owned(),
                other => words::loss(keeper.wish.names.key(), other),
            };
            let text = format!(
                "{why}, and this command ran under it (REDLEASE_STACK); a daemon or a terminal that inherited the variable must unset it"
            );
            keeper.say(Event::Failed {
                exit: Exit::Lost,
                text,
            });
        }
    }
}

/// No lease at all, and so no deadline: slot 0 says so.
pub fn unleased(keeper: &Keeper) {
    let now = crate::time::wall_us();
    let grant = Grant {
        slot: 0,
        fence: Fence(0),
        acquired_at_us: now,
        expires_at_us: 0,
        again: false,
    };
    hold(keeper, grant, Token::fresh());
}

fn hold(keeper: &Keeper, grant: Grant, token: Token) {
    keeper.word.arm(Moment::FAR.before(Duration::from_secs(1)));
    keeper.say(Event::Granted {
        grant,
        token,
        sent: Moment::now(),
    });
    loop {
        match keeper.next_command(Moment::FAR) {
            Some(Command::Release(_)) => return keeper.say(Event::Released(Released::Done)),
            Some(Command::Abandon) => return,
            Some(Command::Cancel | Command::Look) | None => {}
        }
    }
}
