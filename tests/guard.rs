//! redlease and its guard watch each other: whatever happens to either, nothing of the job outlives its lease.
//! Each job here is a tree of processes that ignore TERM and have left their parents in every way there is.

use std::fs;
use std::time::Duration;

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

use crate::harness::process::{gone, send, stopped};
use crate::harness::{PATIENCE, Redis, Redlease, Running, Tree, ms, now, wait_until};

const LEASE: &str = "redlease:{k}";
/// "At once" on a machine that is busy with other tests; a few milliseconds on a quiet one.
const AT_ONCE: Duration = Duration::from_secs(1);

fn started(redis: &Redis, ttl: &str) -> (Running, Tree) {
    let tree = Tree::in_folder(redis.folder());
    let run = Redlease::run("k").on(redis).ttl(ttl).job(tree.job());
    let run = run.start_in_own_group();
    tree.await_start();
    (run, tree)
}

/// Nothing of the job nor of redlease is left.
#[track_caller]
fn all_gone(run: &Running) {
    wait_until("the end of every process", PATIENCE, || {
        run.processes().is_empty()
    });
}

#[test]
fn redlease_killed() {
    let redis = Redis::start();
    let (run, tree) = started(&redis, "4s");
    let fault = now();
    run.signal(Signal::SIGKILL);
    all_gone(&run);
    assert!(tree.last() < fault.after(AT_ONCE));
    run.exits(137);
    // Nobody gave the lease back; its TTL does.
    assert!(redis.exists(LEASE));
    wait_until("the lease to lapse", PATIENCE, || !redis.exists(LEASE));
}

#[test]
fn the_guard_killed() {
    let redis = Redis::start();
    let (run, tree) = started(&redis, "30s");
    let fault = now();
    send(run.guard(), Signal::SIGKILL);
    let processes = run.pid();
    let outcome = run.exits(79);
    assert!(tree.last() < fault.after(AT_ONCE));
    assert!(!redis.exists(LEASE));
    outcome.says(&["guard"]);
    assert!(gone(processes));
}

#[test]
fn the_whole_group_of_redlease_killed() {
    let redis = Redis::start();
    let (run, tree) = started(&redis, "30s");
    let fault = now();
    let group = i32::try_from(run.pid()).unwrap();
    killpg(Pid::from_raw(group), Signal::SIGKILL).unwrap();
    all_gone(&run);
    assert!(tree.last() < fault.after(AT_ONCE));
    run.exits(137);
}

/// What nobody can prevent: with both gone, only the job's first process is known to anybody.
#[test]
fn both_killed_in_the_same_instant_take_the_jobs_first_process_along() {
    let redis = Redis::start();
    let run = Redlease::run("k").on(&redis).holds().start().up();
    let (job, both) = (run.job(), [run.pid(), run.guard()]);
    // Stopped first, so that neither sees the other's end.
    for signal in [Signal::SIGSTOP, Signal::SIGKILL] {
        for pid in both {
            send(pid, signal);
        }
    }
    wait_until("the job's end", PATIENCE, || gone(job));
    run.exits(137);
    assert!(redis.exists(LEASE));
}

#[test]
fn redlease_stopped_for_longer_than_the_ttl() {
    let redis = Redis::start();
    let (run, tree) = started(&redis, "10s");
    let end = redis.just_renewed(LEASE, 10_000, 600);
    run.signal(Signal::SIGSTOP);
    wait_until("the lease to lapse", PATIENCE, || !redis.exists(LEASE));
    assert!(tree.last() < end, "{:?} late", tree.last().since(end));
    redis.steal(LEASE, "another", 60_000);
    run.signal(Signal::SIGCONT);
    run.exits(79);
    assert_eq!(redis.get(LEASE).as_deref(), Some("another"));
}

#[test]
fn the_guard_stopped_while_renewals_go_on() {
    let redis = Redis::start();
    let (run, tree) = started(&redis, "4s");
    let guard = run.guard();
    send(guard, Signal::SIGSTOP);
    wait_until("the stop", PATIENCE, || stopped(guard));
    let outcome = run.exits(79);
    // No lease was ever out of hand, and now it is given back.
    assert!(!redis.exists(LEASE));
    outcome.says(&["guard"]);
    let count = tree.count();
    std::thread::sleep(ms(50));
    assert_eq!(tree.count(), count);
}

#[test]
fn the_guard_stopped_and_the_server_gone() {
    let redis = Redis::start();
    let (run, tree) = started(&redis, "10s");
    let end = redis.just_renewed(LEASE, 10_000, 600);
    send(run.guard(), Signal::SIGSTOP);
    redis.pause();
    run.exits(79);
    assert!(tree.last() < end, "{:?} late", tree.last().since(end));
}

#[test]
fn redlease_killed_at_any_moment_of_its_start() {
    let redis = Redis::start();
    for round in 0..40_u64 {
        let key = format!("k{round}");
        let tree = Tree::named(redis.folder(), &key);
        let run = Redlease::run(&key).on(&redis).job(tree.job()).start();
        std::thread::sleep(Duration::from_micros(round * 700));
        run.signal(Signal::SIGKILL);
        all_gone(&run);
        run.exits(137);
    }
}

#[test]
fn the_guard_killed_at_any_moment_of_its_start() {
    let redis = Redis::start();
    for round in 0..40_u64 {
        let key = format!("k{round}");
        let tree = Tree::named(redis.folder(), &key);
        let run = Redlease::run(&key).on(&redis).job(tree.job()).start();
        let guard = run.guard();
        std::thread::sleep(Duration::from_micros(round * 500));
        send(guard, Signal::SIGKILL);
        let outcome = run.wait();
        // Before the job's start it is a failure of redlease, later the job was stopped.
        assert!([79, 125].contains(&outcome.code), "{outcome:?}");
        // What was asked for and not waited for is given back behind the question, by the server's own pace.
        let lease = format!("redlease:{{{key}}}");
        wait_until("the release", PATIENCE, || !redis.exists(&lease));
    }
}

#[test]
fn a_run_inside_a_run_ends_with_whoever_is_killed() {
    for victim in 0..4 {
        let redis = Redis::start();
        let tree = Tree::in_folder(redis.folder());
        let inner = Redlease::run("inner").ttl("30s").job(tree.job()).words();
        let outer = Redlease::run("outer").on(&redis).job(inner).start();
        tree.await_start();
        let inside = outer.job();
        let inside_guard = crate::harness::process::children(inside)[0];
        let fault = now();
        let pid = [outer.pid(), outer.guard(), inside, inside_guard][victim];
        send(pid, Signal::SIGKILL);
        all_gone(&outer);
        assert!(tree.last() < fault.after(AT_ONCE), "victim {victim}");
        outer.wait();
    }
}

#[test]
fn the_guard_goes_by_another_name() {
    let redis = Redis::start();
    let run = Redlease::run("k").on(&redis).holds().start().up();
    let guard = run.guard();
    let name = fs::read_to_string(format!("/proc/{guard}/comm")).unwrap();
    assert_eq!(name, "leaseguard\n");
    let line = fs::read_to_string(format!("/proc/{guard}/cmdline")).unwrap();
    assert_eq!(line.trim_end_matches('\0'), "leaseguard");
    run.finish();
}

fn number_after(text: &str, label: &str) -> u64 {
    let line = text.lines().find_map(|line| line.strip_prefix(label));
    let field = line.and_then(|rest| rest.split_whitespace().next());
    field.and_then(|field| field.parse().ok()).unwrap()
}

#[test]
fn the_guard_costs_little() {
    let redis = Redis::start();
    let run = Redlease::run("k").on(&redis).ttl("2s").holds().start().up();
    let guard = run.guard();
    let status = || fs::read_to_string(format!("/proc/{guard}/status")).unwrap();
    assert_eq!(number_after(&status(), "Threads:"), 1);
    let memory = fs::read_to_string(format!("/proc/{guard}/smaps_rollup")).unwrap();
    let private = number_after(&memory, "Private_Dirty:") + number_after(&memory, "Private_Clean:");
    assert!(private <= 1024, "{private} kB");
    let woken = || number_after(&status(), "voluntary_ctxt_switches:");
    let (before, start) = (woken(), now());
    std::thread::sleep(ms(6_000));
    let ttls = now().since(start).as_secs() / 2 + 1;
    assert!(
        woken() - before <= ttls + 1,
        "{} in {ttls} TTLs",
        woken() - before
    );
    run.finish();
}
