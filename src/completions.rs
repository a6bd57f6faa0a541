//! `redlease completions`: the scripts, and the live names that they ask for.

use std::time::Duration;

use crate::cli::completion::{self, script};
use crate::cli::connection::Connection as Typed;
use crate::cli::status::{Completions, Shell};
use crate::exit::Exit;
use crate::lease::store::Store;
use crate::plan::connection::Connection;
use crate::plan::source::Source;
use crate::report::stdout;
use crate::status::listing;
use crate::time::Moment;

/// Somebody has pressed a key and waits.
const PATIENCE: Duration = Duration::from_millis(500);

pub fn run(typed: &Completions, source: &Source) -> Exit {
    let text = match typed.shell {
        Shell::Bash => script(completion::Shell::Bash),
        Shell::Zsh => script(completion::Shell::Zsh),
        Shell::Fish => script(completion::Shell::Fish),
        Shell::Names => names(source),
    };
    match stdout(&text) {
        Ok(()) => Exit::Done,
        Err(_) => Exit::Failed,
    }
}

/// One a line; nothing at all without an answer, because a message would land in the line that is being typed.
fn names(source: &Source) -> String {
    let Ok(connection) = Connection::new(&Typed::default(), source) else {
        return String::new();
    };
    let mut store = Store::new(connection.target);
    if store.connect(Moment::now().after(PATIENCE)).is_err() {
        return String::new();
    }
    listing::keys(&mut store, &connection.prefix)
        .unwrap_or_default()
        .iter()
        .map(|name| format!("{name}\n"))
        .collect()
}
