//! redlease runs a command in one place at a time, under a lease in Redis.

#![cfg_attr(not(test), no_main)]

mod acquire;
mod breaking;
mod cli;
mod completions;
mod doctor;
mod exit;
mod fence;
#[cfg(test)]
mod fuzz;
mod holding;
mod lease;
#[cfg(feature = "mutate")]
mod mutate;
mod plan;
mod report;
mod run;
mod status;
mod supervise;
mod sys;
mod time;

use cli::status::FenceVerb;
use cli::{Stopped, Verb};
use exit::Exit;
use plan::Refused;
use plan::holding::{AcquirePlan, CheckPlan, Holding, RenewPlan};
use plan::run::RunPlan;
use plan::source::Source;
use plan::view::{BreakPlan, DoctorPlan, FencePlan, StatusPlan};
use report::{Level, Log};

sys::entry::entry!(redlease);

/// The whole program; the answer is its exit code.
fn redlease() -> u8 {
    sys::memory::populate_heap();
    let exit = match cli::read(std::env::args_os()) {
        Ok(verb) => act(verb),
        Err(Stopped::Asked(text)) => shown(&text),
        Err(Stopped::Lost(help)) => {
            report::stderr(&help);
            Exit::Usage
        }
        Err(Stopped::Usage(text)) => {
            let why = Refused::usage(text);
            acquire::refused(cli::exports(std::env::args_os()), &why);
            refused(&why)
        }
    };
    if let Exit::Signal(signal) = exit {
        // As process 1 it cannot die of a signal, and goes on to the number.
        sys::signals::repeat_death(signal);
    }
    exit.code()
}

fn act(verb: Verb) -> Exit {
    let source = Source::process();
    match verb {
        Verb::Run(typed) => {
            RunPlan::new(&typed, &source).map_or_else(|why| refused(&why), run::run)
        }
        Verb::Status(typed) => StatusPlan::new(&typed, &source)
            .map_or_else(|why| refused(&why), |plan| status::run(&plan)),
        Verb::Acquire(typed) => AcquirePlan::new(&typed, &source).map_or_else(
            |why| {
                acquire::refused(typed.export, &why);
                refused(&why)
            },
            |plan| acquire::run(&plan),
        ),
        Verb::Renew(typed) => RenewPlan::new(&typed, &source)
            .map_or_else(|why| refused(&why), |plan| holding::renew(&plan)),
        Verb::Release(typed) => Holding::of_release(&typed, &source)
            .map_or_else(|why| refused(&why), |plan| holding::release(&plan)),
        Verb::Check(typed) => CheckPlan::new(&typed, &source)
            .map_or_else(|why| refused(&why), |plan| holding::check(&plan)),
        Verb::Doctor(typed) => DoctorPlan::new(&typed, &source)
            .map_or_else(|why| refused(&why), |plan| doctor::run(&plan)),
        Verb::Completions(typed) => completions::run(&typed, &source),
        Verb::Break(typed) => BreakPlan::new(&typed, &source)
            .map_or_else(|why| refused(&why), |plan| breaking::run(&plan)),
        Verb::Fence(typed) => {
            let FenceVerb::Check(typed) = &typed.verb;
            FencePlan::new(typed, &source)
                .map_or_else(|why| refused(&why), |plan| fence::run(&plan))
        }
    }
}

fn refused(why: &Refused) -> Exit {
    Log::default().say(Level::Error, &why.text);
    why.exit
}

fn shown(text: &str) -> Exit {
    if report::stdout(text).is_ok() {
        Exit::Done
    } else {
        Exit::Failed
    }
}
