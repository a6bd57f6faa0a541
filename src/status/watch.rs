//! `status --watch`: the same table again and again, drawn over the last one, until Ctrl-C.

use std::io;
use std::os::fd::AsFd;
use std::time::Duration;

use super::{read, shown};
use crate::exit::Exit;
use crate::lease::store::{Kind, Store};
use crate::plan::view::StatusPlan;
use crate::report::screen::Style;
use crate::report::{Level, Log, stdout};
use crate::sys::pause::until_readable;
use crate::sys::{Signal, signals, terminal};
use crate::time::Moment;

/// What ends it. Ctrl-C is how one leaves it, and so no failure.
const ENDING: [Signal; 3] = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP];

pub fn run(plan: &StatusPlan, every: Duration, log: Log) -> Exit {
    match watch(plan, every) {
        Ok(exit) => exit,
        Err(error) => {
            if error.kind() != io::ErrorKind::BrokenPipe {
                log.say(Level::Error, &format!("cannot go on watching: {error}"));
            }
            Exit::Failed
        }
    }
}

fn watch(plan: &StatusPlan, every: Duration) -> io::Result<Exit> {
    let heard: Vec<i32> = ENDING
        .iter()
        .map(|signal| *signal as i32)
        .filter(|number| !signals::is_ignored(*number))
        .collect();
    signals::set_mask(&signals::set_of(&heard))?;
    let incoming = signals::Incoming::new(&heard)?;
    let mut store = Store::new(plan.connection.target.clone());
    store.set_interrupt(incoming.fd().try_clone_to_owned()?);
    let mut drawn = 0;
    loop {
        let next = Moment::now().after(every);
        let frame = match read(&mut store, plan) {
            Ok(rows) => Some(shown(plan, &rows, Style::of_stdout())),
            Err(trouble) if trouble.kind == Kind::Interrupted => None,
            Err(trouble) if plan.json => {
                Log::default().say(Level::Error, &trouble.text);
                None
            }
            Err(trouble) => Some(crate::report::clean(&trouble.text) + "\n"),
        };
        if let Some(frame) = frame {
            draw(&frame, &mut drawn, plan.json)?;
        }
        if until_readable(&[incoming.fd().as_fd()], next)
            && let Some(arrived) = incoming.next()
        {
            return Ok(if arrived.number == Signal::SIGINT as i32 {
                Exit::Done
            } else {
                Exit::Signal(arrived.number)
            });
        }
    }
}

/// Over the last frame where there is a terminal, below it where there is none.
fn draw(frame: &str, drawn: &mut usize, json: bool) -> io::Result<()> {
    let Some((_, rows)) = terminal::size().filter(|_| !json) else {
        return stdout(frame);
    };
    // A frame that scrolls could not be drawn over.
    let most = rows.saturating_sub(2).max(1);
    let all: Vec<&str> = frame.lines().collect();
    let mut lines: Vec<String> = all
        .iter()
        .take(most)
        .map(|line| (*line).to_owned())
        .collect();
    if all.len() > most {
        lines.truncate(most - 1);
        lines.push(format!("… and {} more lines", all.len() - lines.len()));
    }
    let mut text = String::new();
    if *drawn > 0 {
        text.push_str(&format!("\x1b[{drawn}A\r"));
    }
    for line in &lines {
        text.push_str(line);
        text.push_str("\x1b[K\n");
    }
    text.push_str("\x1b[J");
    *drawn = lines.len();
    stdout(&text)
}
