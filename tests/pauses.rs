//! The timeline of the honest chapter: all of a run is paused for longer than its TTL, another holder takes over,
//! and the first one wakes.

use nix::sys::signal::Signal;

use crate::harness::process::{Stamps, gone, send, stopped};
use crate::harness::{PATIENCE, Redis, Redlease, Running, ms, now, wait_until};

const LEASE: &str = "redlease:{k}";

struct Paused {
    run: Running,
    stamps: Stamps,
    job: u32,
    processes: Vec<u32>,
    next: Running,
}

/// A run that was stopped with all its processes until its lease lapsed, and the next holder, at work.
fn taken_over(redis: &Redis) -> Paused {
    let stamps = Stamps::in_folder(redis.folder());
    let run = Redlease::run("k")
        .on(redis)
        .ttl("2s")
        .job(stamps.stubborn_job())
        .start();
    stamps.await_start();
    let (job, guard) = (run.job(), run.guard());
    let processes = vec![run.pid(), guard, job];
    for pid in &processes {
        send(*pid, Signal::SIGSTOP);
    }
    wait_until("the stop", PATIENCE, || {
        processes.iter().all(|pid| stopped(*pid))
    });
    wait_until("the lease to lapse", PATIENCE, || !redis.exists(LEASE));
    let next = Redlease::run("k").on(redis).holds().start().up();
    Paused {
        run,
        stamps,
        job,
        processes,
        next,
    }
}

impl Paused {
    fn ends(self, redis: &Redis) {
        let token = redis.get(LEASE);
        let outcome = self.run.exits(79);
        outcome.says(&["k"]);
        assert!(token.is_some());
        assert_eq!(redis.get(LEASE), token);
        self.next.finish();
    }
}

#[test]
fn a_job_that_wakes_after_its_supervisors_does_not_work_at_all() {
    let redis = Redis::start();
    let paused = taken_over(&redis);
    let count = paused.stamps.all().len();
    for pid in &paused.processes[..2] {
        send(*pid, Signal::SIGCONT);
    }
    // Still stopped, and killed all the same.
    wait_until("the job's end", PATIENCE, || gone(paused.job));
    assert_eq!(paused.stamps.all().len(), count);
    paused.ends(&redis);
}

#[test]
fn a_job_that_wakes_with_its_guard_is_killed_at_once() {
    let redis = Redis::start();
    let paused = taken_over(&redis);
    let woken = now();
    for pid in paused.processes[1..].iter().rev() {
        send(*pid, Signal::SIGCONT);
    }
    wait_until("the job's end", PATIENCE, || gone(paused.job));
    assert!(paused.stamps.last() < woken.after(ms(1_000)));
    send(paused.run.pid(), Signal::SIGCONT);
    paused.ends(&redis);
}

#[test]
fn a_guard_that_was_paused_with_redlease_is_not_taken_for_dead() {
    let redis = Redis::start();
    let run = Redlease::run("k")
        .on(&redis)
        .ttl("12s")
        .holds()
        .start()
        .up();
    let (guard, redlease) = (run.guard(), run.pid());
    // Past two renewals, so that the guard's next look, which it promised at the start, lies far before the
    // deadline.
    for _ in 0..2 {
        let renewed = redis.hget("redlease:{k}:info", "renewed_at");
        wait_until("a renewal", PATIENCE, || {
            redis.hget("redlease:{k}:info", "renewed_at") != renewed
        });
    }
    for pid in [redlease, guard] {
        send(pid, Signal::SIGSTOP);
    }
    std::thread::sleep(ms(3_000));
    for pid in [redlease, guard] {
        send(pid, Signal::SIGCONT);
    }
    run.finish().silent_on_stderr();
}

#[test]
fn a_grant_that_was_slept_through_starts_no_job() {
    let redis = Redis::start();
    let stamps = Stamps::in_folder(redis.folder());
    redis.pause();
    let run = Redlease::run("k")
        .on(&redis)
        .ttl("2s")
        .job(stamps.job_for(0.2, 0))
        .start();
    // Connected, asked, and waiting for the reply of a server that hangs.
    let guard = run.guard();
    std::thread::sleep(ms(100));
    run.signal(Signal::SIGSTOP);
    wait_until("the stop", PATIENCE, || stopped(run.pid()));
    redis.resume();
    wait_until("the grant or its end", PATIENCE, || redis.pttl(LEASE) < 500);
    std::thread::sleep(ms(600));
    let another = Redlease::run("k").on(&redis).holds().start().up();
    run.signal(Signal::SIGCONT);
    let outcome = run.wait();
    assert!([69, 75].contains(&outcome.code), "{outcome:?}");
    assert!(!stamps.started());
    assert!(gone(guard));
    another.finish();
}
