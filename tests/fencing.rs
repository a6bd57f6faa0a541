//! `examples/fencing/`: a holder is paused past its lease, another writes, the first goes on and tries to write. The
//! resource refuses it, by the fence alone: redlease itself is still paused then.

mod postgres;
mod resources;

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::harness::process::{children, gone, send};
use crate::harness::{PATIENCE, Redis, Redlease, Running, wait_until};
use resources::{Directory, Postgres, Resource, Sqlite};

const RUNS: usize = 200;

/// A run whose processes are all stopped.
struct Paused {
    run: Running,
    keepers: Vec<u32>,
    job: Vec<u32>,
}

impl Paused {
    /// It may have come to its end before.
    fn now(run: Running) -> Paused {
        let guard = children(run.pid()).into_iter().next();
        let keepers: Vec<u32> = guard.into_iter().chain([run.pid()]).collect();
        let job: Vec<u32> = run.job_processes();
        for pid in keepers.iter().chain(&job) {
            send(*pid, Signal::SIGSTOP);
        }
        Paused { run, keepers, job }
    }

    /// The job wakes before anything that could stop it, and goes on to its end.
    fn job_goes_on(&self) {
        for pid in &self.job {
            send(*pid, Signal::SIGCONT);
        }
    }

    fn job_ends(self) -> String {
        wait_until("the end of the paused job", PATIENCE, || {
            // By number: a process that is just being executed shows nobody whose it is.
            self.job.iter().copied().all(gone)
        });
        for pid in self.keepers {
            send(pid, Signal::SIGCONT);
        }
        self.run.wait().stderr
    }
}

/// Writes when it is told to.
fn gated(run: Redlease, writer: &[String], gate: &Path) -> Redlease {
    let wait = r#"echo up; while ! [ -e "$GATE" ]; do sleep 0.01; done; exec "$@""#;
    let job = ["sh", "-c", wait, "sh"].map(str::to_owned);
    run.env("GATE", gate).job(job.iter().chain(writer))
}

/// The seed of all this, with the TTL of a real lease. What readers see in the end, and what the first said.
fn paused_past_its_ttl(resource: &dyn Resource, writer: &str) -> (String, String) {
    let redis = Redis::start();
    let gate = redis.folder().join("gate");
    let run = |ttl: &str| {
        let run = Redlease::run("k").on(&redis).ttl(ttl);
        let environment = resource.environment().into_iter();
        environment.fold(run, |run, (name, value)| run.env(name, value))
    };
    let first = gated(run("2s"), &resource.writer(writer, "k", "first"), &gate);
    let first = Paused::now(first.start().up());
    fs::write(&gate, "").unwrap();
    run("30s")
        .args(["-w", "30s"])
        .job(resource.writer(writer, "k", "second"))
        .exits(0);
    assert_eq!(resource.current("k"), "second");
    first.job_goes_on();
    let said = first.job_ends();
    (resource.current("k"), said)
}

fn refuses_the_first(resource: &dyn Resource) {
    let (current, said) = paused_past_its_ttl(resource, "write.sh");
    assert_eq!(current, "second", "{said}");
    assert!(said.contains("stale fence"), "{said}");
}

/// The same script without the check does lose what the second wrote.
fn without_the_check_it_loses(resource: &dyn Resource) {
    let (current, said) = paused_past_its_ttl(resource, resource.unchecked());
    assert_eq!(current, "first", "{said}");
}

/// Pauses of any length at any moment of the first writer, and of the second. They have the fences of two holdings, and
/// nothing else keeps them apart.
fn whatever_the_interleaving(resource: &dyn Resource) {
    let refused: usize = (0..RUNS).map(|at| interleaved(resource, at)).sum();
    let current = resource.all_current();
    assert_eq!(current.len(), RUNS);
    for (key, value) in current {
        assert_eq!(value, "second", "{key}");
    }
    assert!(refused >= RUNS / 20, "{refused} late writes in {RUNS}");
}

/// How many were refused: one or none.
fn interleaved(resource: &dyn Resource, at: usize) -> usize {
    let key = format!("k{at}");
    let writer = |value: &str, fence: &str| {
        let words = resource.writer("write.sh", &key, value);
        let mut command = Command::new(&words[0]);
        command
            .args(&words[1..])
            .envs(resource.environment())
            .env("REDLEASE_FENCE", fence)
            .stderr(Stdio::piped())
            .process_group(0);
        command.spawn().unwrap()
    };
    // Spread over the time that a writer takes, the same in each run of the test. Each twentieth first writer has not
    // begun when the second is done.
    let late = at.is_multiple_of(20);
    let moment = |of: usize| Duration::from_micros(u64::try_from(at * of % 30_011).unwrap());
    let mut first = writer("first", "1700000000000001");
    if !late {
        sleep(moment(7_919));
    }
    let group = Pid::from_raw(-i32::try_from(first.id()).unwrap());
    kill(group, Signal::SIGSTOP).unwrap();
    let second = writer("second", "1700000000000002");
    let second = if late {
        Ok(second.wait_with_output().unwrap())
    } else {
        sleep(moment(3_571));
        Err(second)
    };
    wait_until("the end of the first writer", PATIENCE, || {
        // More than once: a process that is being forked can miss it.
        kill(group, Signal::SIGCONT).unwrap();
        first.try_wait().unwrap().is_some()
    });
    let wrote = second.unwrap_or_else(|second| second.wait_with_output().unwrap());
    assert!(wrote.status.success(), "{wrote:?}");
    let tried = first.wait_with_output().unwrap();
    let said = String::from_utf8(tried.stderr).unwrap();
    assert_eq!(tried.status.success(), said.is_empty(), "{said}");
    usize::from(said.contains("stale fence"))
}

#[test]
fn a_database_server_refuses_a_stale_writer() {
    let postgres = Postgres::start();
    refuses_the_first(&postgres);
}

#[test]
fn a_database_server_without_the_check_loses() {
    let postgres = Postgres::start();
    without_the_check_it_loses(&postgres);
}

#[test]
fn a_database_server_refuses_in_every_interleaving() {
    let postgres = Postgres::start();
    whatever_the_interleaving(&postgres);
}

#[test]
fn a_database_file_refuses_a_stale_writer() {
    refuses_the_first(&Sqlite::new());
    without_the_check_it_loses(&Sqlite::new());
}

#[test]
fn a_database_file_refuses_in_every_interleaving() {
    whatever_the_interleaving(&Sqlite::new());
}

#[test]
fn a_directory_refuses_a_stale_writer() {
    refuses_the_first(&Directory::new());
    without_the_check_it_loses(&Directory::new());
}

#[test]
fn a_directory_refuses_in_every_interleaving() {
    whatever_the_interleaving(&Directory::new());
}
