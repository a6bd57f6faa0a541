//! `make bench`: what redlease costs, beside its peers, in one report. Ratios come from runs that take turns, so that
//! a busy machine slows all of them; absolute numbers belong to the machine that is named.
//!
//! `cargo bench --bench report -- overhead idle` makes those parts alone: overhead, handover, cost, idle, many.
//!
//! REDLEASE   the program to measure (the Makefile names the one that people install)
//! ROUNDS     how many turns of each (200)

mod floor;
mod handover;
mod idle;
mod machine;
mod measure;
mod overhead;
mod peers;
mod resp;
mod server;

use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};

use peers::Place;

fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        // What this program is to itself: a client without a lease's cares, a job, a witness of memory.
        ["floor", socket, requests] => floor::run(socket, requests),
        ["job", file] => handover::job(file),
        ["peak", command @ ..] => measure::print_peak(command),
        // `cargo bench` adds a flag of its own.
        parts => report(parts),
    }
}

fn report(words: &[&str]) -> Result<()> {
    let binary = std::env::var_os("REDLEASE")
        .map(PathBuf::from)
        .context("REDLEASE names the program to measure: use `make bench`")?;
    if !binary.exists() {
        bail!("{} is not there: `make build`", binary.display());
    }
    let rounds = match std::env::var("ROUNDS") {
        Ok(text) => text.parse().context("ROUNDS")?,
        Err(_) => 200,
    };
    let place = Place::new(&binary)?;
    say(&machine::describe(&place)?);
    let named: Vec<&str> = words
        .iter()
        .copied()
        .filter(|word| !word.starts_with('-'))
        .collect();
    let wanted = |part: &str| named.is_empty() || named.contains(&part);
    if wanted("overhead") {
        say(&overhead::report(&place, rounds)?);
    }
    if wanted("handover") {
        say(&handover::report(&place)?);
    }
    if wanted("cost") {
        say(&server::cost(&place)?);
    }
    if wanted("idle") {
        say(&idle::report(&place)?);
    }
    if wanted("many") {
        say(&server::many(&place)?);
    }
    Ok(())
}

/// A closed pipe is no reason to fail.
fn say(text: &str) {
    let mut out = std::io::stdout().lock();
    drop(writeln!(out, "{text}"));
    drop(out.flush());
}
