//! `redlease fence check`: a high-water mark for a resource that can store nothing itself. It narrows the window in
//! which a stale holder can write, and does not close it: time passes between this answer and the write.

use std::time::Duration;

use crate::exit::Exit;
use crate::lease::keeper::exit_of;
use crate::lease::names::fence_mark;
use crate::lease::protocol::check::{FenceCheck, Marked};
use crate::lease::store::{Store, Trouble};
use crate::plan::view::FencePlan;
use crate::report::{Level, Log};
use crate::time::Moment;

/// For the request.
const LIMIT: Duration = Duration::from_secs(5);

pub fn run(plan: &FencePlan) -> Exit {
    let log = Log::default();
    for warning in &plan.connection.warnings {
        log.say(Level::Warning, warning);
    }
    match ask(plan) {
        Ok(Marked::Accepted) => Exit::Done,
        Ok(Marked::Stale { mark }) => {
            let text = format!(
                "stale: {} has seen fence {mark}, and {} is older; do not write",
                plan.resource, plan.fence
            );
            log.say(Level::Error, &text);
            Exit::Lost
        }
        Err(trouble) => {
            log.say(Level::Error, &trouble.text);
            exit_of(trouble.kind)
        }
    }
}

fn ask(plan: &FencePlan) -> Result<Marked, Trouble> {
    let mut store = Store::new(plan.connection.target.clone());
    store.connect(Moment::now().after(plan.connection.connect_timeout))?;
    let question = FenceCheck {
        mark: &fence_mark(&plan.connection.prefix, &plan.resource),
        fence: plan.fence,
    };
    store.ask(&question, Moment::now().after(LIMIT))
}
