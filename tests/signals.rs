//! A signal to redlease is a signal to the job, once. The jobs are perl, since a shell that waits for a command
//! can lose a signal or answer it late.

use nix::sys::signal::Signal;

use crate::harness::process::gone;
use crate::harness::{PATIENCE, Redis, Redlease, now, wait_until};

/// Counts one signal for half a second after the first of its kind.
fn counter(name: &str) -> String {
    format!(
        "use Time::HiRes qw(time sleep); $SIG{{{name}}} = sub {{ $count++; $first ||= time }}; print qq(up\\n); \
         sleep(0.02) until $first; sleep(0.02) while time < $first + 0.5; print qq(total $count\\n)"
    )
}

#[test]
fn each_signal_reaches_the_job_once() {
    let redis = Redis::start();
    let signals = [
        (Signal::SIGTERM, "TERM"),
        (Signal::SIGINT, "INT"),
        (Signal::SIGHUP, "HUP"),
        (Signal::SIGQUIT, "QUIT"),
        (Signal::SIGUSR1, "USR1"),
        (Signal::SIGUSR2, "USR2"),
        (Signal::SIGWINCH, "WINCH"),
        (Signal::SIGCONT, "CONT"),
    ];
    let runs: Vec<_> = signals
        .into_iter()
        .map(|(signal, name)| {
            let run = Redlease::run(name).on(&redis).perl(&counter(name)).start();
            (signal, run)
        })
        .collect();
    for (signal, run) in runs {
        let run = run.up();
        run.signal(signal);
        assert_eq!(run.exits(0).out(), "up\ntotal 1\n", "{signal}");
    }
}

#[test]
fn a_forwarded_signal_starts_no_timer_and_the_lease_is_kept_while_the_job_drains() {
    let redis = Redis::start();
    // Longer than the TTL, and far longer than the time between the TERM and the KILL of a lost lease.
    let run = Redlease::run("k")
        .on(&redis)
        .ttl("3s")
        .perl(
            "$SIG{TERM} = sub { print qq(draining\\n); $end = time + 6 }; print qq(up\\n); \
             sleep 1 until $end; sleep 1 while time < $end; exit 3",
        )
        .start()
        .up();
    let token = redis.get("redlease:{k}");
    run.signal(Signal::SIGTERM);
    run.line("draining");
    let start = now();
    wait_until("four seconds of draining", PATIENCE, || {
        assert_eq!(redis.get("redlease:{k}"), token);
        now().since(start).as_secs() >= 4
    });
    run.exits(3);
}

#[test]
fn term_starts_a_timer_where_kill_after_was_typed() {
    let redis = Redis::start();
    let run = Redlease::run("k")
        .on(&redis)
        .args(["--kill-after", "300ms"])
        .perl("$SIG{TERM} = 'IGNORE'; print qq(up\\n); sleep 1 while 1")
        .start()
        .up();
    run.signal(Signal::SIGTERM);
    run.exits(137);
    assert!(!redis.exists("redlease:{k}"));
}

#[test]
fn a_job_that_dies_of_the_signal_gives_the_lease_back() {
    let redis = Redis::start();
    for (signal, code) in [
        (Signal::SIGTERM, 143),
        (Signal::SIGINT, 130),
        (Signal::SIGHUP, 129),
    ] {
        let run = Redlease::run("k")
            .on(&redis)
            .perl("print qq(up\\n); sleep 1 while 1")
            .start()
            .up();
        let job = run.job();
        run.signal(signal);
        run.exits(code);
        assert!(gone(job));
        assert!(!redis.exists("redlease:{k}"), "{signal}");
    }
}

#[test]
fn a_signal_that_the_caller_ignores_stays_ignored() {
    let redis = Redis::start();
    let run = Redlease::run("k")
        .on(&redis)
        .after_perl("$SIG{HUP} = 'IGNORE'")
        .perl("$SIG{USR1} = sub { print qq(HUP is ignored\\n) if $SIG{HUP} eq 'IGNORE'; exit 4 }; print qq(up\\n); sleep 1 while 1")
        .start()
        .up();
    run.signal(Signal::SIGHUP);
    // Behind the HUP on the same way.
    run.signal(Signal::SIGUSR1);
    assert_eq!(run.exits(4).out(), "up\nHUP is ignored\n");
}

#[test]
fn the_signal_of_a_stop_can_be_chosen() {
    let redis = Redis::start();
    let outcome = Redlease::run("k")
        .on(&redis)
        .args(["--max-run", "1s", "--signal", "USR2", "-k", "10s"])
        .perl("$SIG{USR2} = sub { print qq(USR2\\n); exit 0 }; sleep 1 while 1")
        .exits(124);
    assert_eq!(outcome.out(), "USR2\n");
}
