//! `redlease status`: who holds, since when, how long still, and who waits.

#[cfg(test)]
mod fuzz;
mod glance;
pub mod listing;
mod object;
pub mod row;
mod table;
mod watch;

use std::io::{self, ErrorKind, IsTerminal};
use std::time::Duration;

use crate::exit::Exit;
use crate::lease::keeper::exit_of;
use crate::lease::store::{Progress, Store, Trouble};
use crate::plan::view::{StatusPlan, Wanted};
use crate::report::screen::Style;
use crate::report::{Level, Log, stderr, stdout};
use crate::time::Moment;
use row::Row;

pub fn run(plan: &StatusPlan) -> Exit {
    let log = Log {
        quiet: plan.quiet,
        ..Log::default()
    };
    for warning in &plan.connection.warnings {
        log.say(Level::Warning, warning);
    }
    if let Some(every) = plan.watch {
        return watch::run(plan, every, log);
    }
    let mut store = Store::new(plan.connection.target.clone());
    match read(&mut store, plan) {
        // Whatever keeps the answer away, it is not known who holds.
        Err(_) if plan.quiet => Exit::Unavailable,
        Err(trouble) => {
            log.say(Level::Error, &trouble.text);
            exit_of(trouble.kind)
        }
        Ok(rows) if plan.quiet => {
            if listing::occupied(&rows) {
                Exit::Done
            } else {
                Exit::Code(1)
            }
        }
        Ok(rows) => {
            if rows.is_empty() && !plan.json {
                log.say(Level::Warning, nothing(plan));
            }
            written(stdout(&shown(plan, &rows, Style::of_stdout())), log)
        }
    }
}

fn nothing(plan: &StatusPlan) -> &'static str {
    if plan.wanted.is_empty() {
        "there is no lease under this prefix"
    } else {
        "no lease matches"
    }
}

/// A reader that has seen enough is no failure to speak of.
fn written(result: io::Result<()>, log: Log) -> Exit {
    match result {
        Ok(()) => Exit::Done,
        Err(error) => {
            if error.kind() != ErrorKind::BrokenPipe {
                log.say(Level::Error, &format!("cannot write the table: {error}"));
            }
            Exit::Failed
        }
    }
}

fn read(store: &mut Store, plan: &StatusPlan) -> Result<Vec<Row>, Trouble> {
    store.connect(Moment::now().after(plan.connection.connect_timeout))?;
    let prefix = &plan.connection.prefix;
    let mut progress = Line::new(plan);
    let mut rows = Vec::new();
    for wanted in &plan.wanted {
        match wanted {
            Wanted::One(names) => rows.extend(listing::one(store, prefix, names)?),
            Wanted::Pattern(pattern) => rows.extend(listing::all(
                store,
                prefix,
                pattern,
                &mut |seen, leases| progress.show(seen, leases),
            )?),
        }
    }
    if plan.wanted.is_empty() {
        rows = listing::all(store, prefix, "*", &mut |seen, leases| {
            progress.show(seen, leases)
        })?;
    }
    progress.clear();
    Ok(rows)
}

fn shown(plan: &StatusPlan, rows: &[Row], style: Style) -> String {
    if plan.json {
        return rows.iter().map(object::line).collect();
    }
    if rows.is_empty() {
        return String::new();
    }
    let named = plan
        .wanted
        .iter()
        .all(|wanted| matches!(wanted, Wanted::One(_)));
    let details = named && !plan.wanted.is_empty();
    table::lines(rows, style, details)
        .iter()
        .map(|line| format!("{line}\n"))
        .collect()
}

/// What a long look at many keys shows on a terminal, from half a second on.
struct Line {
    begun: Moment,
    last: Moment,
    wanted: bool,
    drawn: bool,
}

impl Line {
    fn new(plan: &StatusPlan) -> Line {
        let now = Moment::now();
        Line {
            begun: now,
            last: now,
            wanted: !plan.quiet && plan.watch.is_none() && io::stderr().is_terminal(),
            drawn: false,
        }
    }

    fn show(&mut self, seen: Progress, leases: usize) {
        let now = Moment::now();
        let early = now < self.begun.after(Duration::from_millis(500));
        if !self.wanted || early || now < self.last.after(Duration::from_millis(100)) {
            return;
        }
        self.last = now;
        self.drawn = true;
        let of = seen.of.map(|of| {
            let percent = seen.keys.saturating_mul(100) / of.max(1);
            format!(", {}% of {of}", percent.min(99))
        });
        stderr(&format!(
            "\r\x1b[2Kredlease: looked at {} keys{}, {} leases so far",
            seen.keys,
            of.unwrap_or_default(),
            leases
        ));
    }

    fn clear(&mut self) {
        if std::mem::take(&mut self.drawn) {
            stderr("\r\x1b[2K");
        }
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.clear();
    }
}
