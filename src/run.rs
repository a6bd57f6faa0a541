//! `redlease run`: a command under a lease.

mod ending;
mod environment;
mod stand_in;

use std::cell::{Cell, RefCell};
use std::sync::mpsc;
use std::thread;

use crate::exit::Exit;
use crate::lease::dialog::{Command, Event};
use crate::lease::keeper::{Keeper, Wish};
use crate::lease::policy::IfUnreachable;
use crate::lease::protocol::acquire::OncePer;
use crate::lease::store::Store;
use crate::lease::{Grant, Identity, Token};
use crate::plan::run::RunPlan;
use crate::report::outcome;
use crate::report::waiting::WaitingLine;
use crate::report::{Level, Log};
use crate::supervise::{Job, Notice, Policy, Supervisor};
use crate::sys::wake::Wake;
use crate::sys::{Signal, host, memory};

use crate::time::Moment;
use ending::Story;
use environment::Environment;

pub fn run(plan: RunPlan) -> Exit {
    let log = plan.voice.log();
    for warning in &plan.connection.warnings {
        log.say(Level::Warning, warning);
    }
    if let Some(path) = &plan.report
        && let Err(error) = outcome::writable(path)
    {
        let path = path.display();
        log.say(
            Level::Error,
            &format!("cannot write --report {path}: {error}; the job was not started"),
        );
        return Exit::Config;
    }
    match supervised(&plan, log) {
        Ok(story) => {
            story.tell(log);
            story.write_report(log);
            story.exit()
        }
        Err(error) => {
            log.say(Level::Error, &format!("{error:#}; the job was not started"));
            Exit::Failed
        }
    }
}

/// The processes first, while there is one thread and no connection; then the keeper; then the job.
fn supervised(plan: &RunPlan, log: Log) -> anyhow::Result<Story> {
    memory::one_arena();
    let columns = host::columns();
    let identity = Identity {
        host: host::name(),
        pid: std::process::id(),
        user: host::user(),
        label: plan.label.clone(),
    };
    let job = Job {
        argv: plan.argv.clone(),
    };
    let supervisor = crate::supervise::prepare(job, policy(plan))?;
    let environment = Environment::new(plan);
    let began = Moment::now();
    // Taken away when the environment is asked for, which is the last moment before the job can write.
    let line = RefCell::new(WaitingLine::new(log, plan.names.key(), columns));
    let mut story = Story::new(plan.clone(), began);
    let ending = {
        let (tell, events) = keep(plan, identity, &supervisor)?;
        let held = Cell::new(false);
        let say = |notice: Notice| story.hear(&notice, held.get(), &mut line.borrow_mut(), log);
        let env = |grant: &Grant, token: &Token| {
            held.set(true);
            line.borrow_mut().clear();
            log.say(Level::Info, &ending::acquired(plan, grant));
            environment.of(grant, token)
        };
        let ending = supervisor.run(events, tell, env, say);
        line.borrow_mut().clear();
        ending
    };
    story.end(ending);
    Ok(story)
}

fn policy(plan: &RunPlan) -> Policy {
    Policy {
        kill_after: plan.timing.kill_after,
        kill_after_typed: plan.kill_after_typed,
        signal: Signal::try_from(plan.signal).unwrap_or(Signal::SIGTERM),
        on_lost: plan.on_lost,
        leftovers: plan.leftovers,
        max_run: plan.max_run,
    }
}

/// Starts the thread that talks to Redis, or the one that stands in for it where no lease is asked for.
fn keep(
    plan: &RunPlan,
    identity: Identity,
    supervisor: &Supervisor,
) -> anyhow::Result<(impl FnMut(Command) + use<>, mpsc::Receiver<Event>)> {
    let (to_supervisor, events) = mpsc::channel();
    let (to_keeper, commands) = mpsc::channel();
    let called = Wake::new()?;
    let mut store = Store::new(plan.connection.target.clone());
    store.set_interrupt(called.fd().try_clone_to_owned()?);
    let wish = Wish {
        names: plan.names.clone(),
        identity,
        timing: plan.timing,
        wait: plan.wait,
        limit: plan.limit,
        min_hold: plan.min_hold,
        min_hold_on_success: plan.min_hold_on_success,
        once_per: plan.once_per.map(|period| OncePer {
            period: period.every,
            offset: period.offset,
        }),
        replicas: plan
            .replicas
            .map(|replicas| (replicas.count, replicas.timeout)),
        retain: plan.retain,
        connect_limit: plan.connection.connect_timeout,
        splay: plan.splay,
    };
    let keeper = Keeper::new(
        store,
        wish,
        supervisor.word(),
        (to_supervisor, supervisor.wake()),
        (commands, called.clone()),
    );
    let enclosing = plan.enclosing.clone();
    let unleased = plan.if_unreachable == IfUnreachable::Run;
    thread::Builder::new()
        .name("keeper".to_owned())
        .spawn(move || match enclosing {
            Some(enclosing) => stand_in::under(keeper, &enclosing),
            None => keeper.run(unleased.then_some(stand_in::unleased)),
        })?;
    let tell = move |command| {
        // A keeper that is gone has said its last word already.
        if to_keeper.send(command).is_ok() {
            called.notify();
        }
    };
    Ok((tell, events))
}
