//! `redlease completions`: a script for a shell, and the live names that the script asks for.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::cli::completion::{Shell, script};
use crate::cli::connection::Connection as Typed;
use crate::cli::status::{Completions, Shell as Wanted};
use crate::exit::Exit;
use crate::lease::names::Names;
use crate::lease::store::{Store, Trouble};
use crate::plan::connection::Connection;
use crate::plan::source::Source;
use crate::report::{Level, Log, clean, stdout};
use crate::time::Moment;

/// How long somebody who pressed TAB is kept: what was found until then is shown.
const PATIENCE: Duration = Duration::from_millis(700);

pub fn run(typed: &Completions, source: &Source) -> Exit {
    let shell = match typed.shell {
        Wanted::Bash => Shell::Bash,
        Wanted::Zsh => Shell::Zsh,
        Wanted::Fish => Shell::Fish,
        Wanted::Names => {
            // Nobody reads an error in the middle of a command line.
            let _silent = names(source);
            return Exit::Done;
        }
    };
    match stdout(&script(shell)) {
        Ok(()) => Exit::Done,
        Err(error) => {
            let text = format!("cannot write the completion script: {error}");
            Log::default().say(Level::Error, &text);
            Exit::Failed
        }
    }
}

/// The names of all leases under the prefix, one on a line, of the server that the environment names.
fn names(source: &Source) -> Option<()> {
    let end = Moment::now().after(PATIENCE);
    let connection = Connection::new(&Typed::default(), source).ok()?;
    let mut store = Store::new(connection.target.clone());
    let mut found = BTreeSet::new();
    // A look that took too long has found something all the same.
    let _partly = look(&mut store, &connection, end, &mut found);
    stdout(&found.into_iter().collect::<String>()).ok()
}

fn look(
    store: &mut Store,
    connection: &Connection,
    end: Moment,
    found: &mut BTreeSet<String>,
) -> Result<(), Trouble> {
    let prefix = &connection.prefix;
    store.connect(end)?;
    for mut node in store.primaries(end)? {
        node.scan(
            &Names::pattern(prefix, "*"),
            end,
            &mut |key| {
                let name = Names::of(prefix, key).map(|(names, _)| names.key().to_owned());
                found.extend(
                    name.filter(|name| clean(name) == *name)
                        .map(|name| name + "\n"),
                );
            },
            &mut |_| {},
        )?;
    }
    Ok(())
}
