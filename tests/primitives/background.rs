//! `acquire --while-pid`: a keeper in the background.

use nix::sys::signal::Signal;

use super::{KEY, acquire, of};
use crate::harness::process::{gone, marked, send, stat};
use crate::harness::{PATIENCE, Redis, Redlease, Running, wait_until};

/// A process to keep a lease for, which tells on stdout that TERM came, and ends by it.
fn script() -> Running {
    let script = Redlease::command([""; 0])
        .perl("$SIG{TERM} = sub { print qq(told\n); exit 3 }; print qq(up\n); sleep 1 while 1")
        .start_directly();
    script.line("up");
    script
}

/// The keeper of a script, ended with the test.
struct Keeper {
    token: String,
    pid: u32,
}

impl Keeper {
    #[track_caller]
    fn gone(&self) {
        wait_until("the end of the keeper", PATIENCE, || gone(self.pid));
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        if !gone(self.pid) {
            send(self.pid, Signal::SIGKILL);
        }
    }
}

/// Acquires for the script. Not by a run of the harness, which ends all that a run leaves.
#[track_caller]
fn keep(redis: &Redis, script: &Running, ttl: &str) -> Keeper {
    let mark = uuid::Uuid::new_v4().to_string();
    let pid = script.pid().to_string();
    let command = acquire(redis, &["--ttl", ttl, "--while-pid", &pid]);
    // It returns when nobody can write to these streams any more, the keeper included.
    let output = command.prepared(&command.words(), &mark).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert!(output.stderr.is_empty(), "{output:?}");
    let keepers = marked(&format!("TEST_RUN={mark}"));
    assert_eq!(keepers.len(), 1, "{keepers:?}");
    Keeper {
        token: String::from_utf8(output.stdout)
            .unwrap()
            .trim_end()
            .to_owned(),
        pid: keepers[0],
    }
}

#[test]
fn it_renews_until_the_process_ends_and_then_releases() {
    let redis = Redis::start();
    let script = script();
    let keeper = keep(&redis, &script, "3s");
    assert_eq!(redis.get(KEY), Some(keeper.token.clone()));
    assert_eq!(
        redis.hget("redlease:{k}:info", "pid"),
        script.pid().to_string()
    );
    // Longer than its TTL, and never without its key.
    for _ in 0..3 {
        redis.just_renewed(KEY, 3000, 300);
        wait_until("some of the TTL to pass", PATIENCE, || {
            redis.pttl(KEY) < 2700
        });
        assert_eq!(redis.get(KEY), Some(keeper.token.clone()));
    }
    script.signal(Signal::SIGKILL);
    assert_eq!(script.wait().code, 137);
    keeper.gone();
    assert!(!redis.exists(KEY));
    assert_eq!(redis.hget("redlease:{k}:info", "ended"), keeper.token);
}

/// A caller that reads its output to the end must not wait for the keeper; and no terminal's signal reaches it.
#[test]
fn it_holds_no_stream_and_has_a_session_of_its_own() {
    let redis = Redis::start();
    let script = script();
    let keeper = keep(&redis, &script, "30s");
    let fields = stat(keeper.pid).unwrap();
    let (group, session) = (&fields[2], &fields[3]);
    assert_eq!(group, session);
    assert_ne!(session, &keeper.pid.to_string());
    assert_ne!(session, &stat(std::process::id()).unwrap()[3]);
    for fd in 0..3 {
        let target = std::fs::read_link(format!("/proc/{}/fd/{fd}", keeper.pid)).unwrap();
        assert_eq!(target.to_string_lossy(), "/dev/null");
    }
    drop(script);
    keeper.gone();
}

#[test]
fn a_loss_is_told_by_term() {
    let redis = Redis::start();
    let script = script();
    let keeper = keep(&redis, &script, "3s");
    redis.steal(KEY, "another", 60_000);
    script.line("told");
    assert_eq!(script.wait().code, 3);
    keeper.gone();
    assert_eq!(redis.get(KEY), Some("another".to_owned()));
}

#[test]
fn a_server_that_does_not_answer_is_a_loss_before_the_ttl_ends() {
    let redis = Redis::start();
    let script = script();
    let keeper = keep(&redis, &script, "8s");
    let end = redis.just_renewed(KEY, 8000, 1000);
    redis.pause();
    script.line("told");
    assert!(crate::harness::now() < end);
    redis.resume();
    drop(script);
    keeper.gone();
}

#[test]
fn a_lost_key_is_written_again_with_the_same_fence() {
    let redis = Redis::start();
    let script = script();
    let keeper = keep(&redis, &script, "3s");
    let fence = redis.hget("redlease:{k}:info", "fence");
    redis.cli(&["FLUSHALL"]);
    wait_until("the key", PATIENCE, || {
        redis.get(KEY).as_ref() == Some(&keeper.token)
    });
    assert_eq!(redis.hget("redlease:{k}:info", "fence"), fence);
    script.signal(Signal::SIGTERM);
    script.exits(3);
    keeper.gone();
}

#[test]
fn a_release_by_hand_is_no_loss() {
    let redis = Redis::start();
    let mut script = script();
    let keeper = keep(&redis, &script, "3s");
    of(&redis, "release", &keeper.token).exits(0);
    let next = acquire(&redis, &["--ttl", "60s"]).exits(0);
    keeper.gone();
    assert!(!script.ended());
    assert_eq!(redis.get(KEY).as_deref(), Some(next.out().trim_end()));
    script.signal(Signal::SIGTERM);
    script.exits(3);
}

#[test]
fn a_wait_is_left_with_the_foreground() {
    let redis = Redis::start();
    let script = script();
    let run = Redlease::run("k").on(&redis).holds().start().up();
    let pid = script.pid().to_string();
    for signal in [Signal::SIGTERM, Signal::SIGKILL] {
        let waiting = acquire(&redis, &["--wait", "60s", "--while-pid", &pid]).start();
        wait_until("its place", PATIENCE, || {
            redis.cli(&["ZCARD", "redlease:{k}:queue"]).int() == 1
        });
        let processes = waiting.processes();
        assert_eq!(processes.len(), 2, "{processes:?}");
        waiting.signal(signal);
        wait_until("an empty queue", PATIENCE, || {
            redis.cli(&["ZCARD", "redlease:{k}:queue"]).int() == 0
        });
        assert_eq!(waiting.wait().code, 128 + signal as i32);
        wait_until("the end of both", PATIENCE, || {
            processes.iter().all(|pid| gone(*pid))
        });
    }
    run.finish();
    assert!(!redis.exists(KEY));
}

#[test]
fn a_keeper_that_is_ended_gives_the_lease_back() {
    let redis = Redis::start();
    let mut script = script();
    let keeper = keep(&redis, &script, "30s");
    send(keeper.pid, Signal::SIGTERM);
    keeper.gone();
    assert!(!redis.exists(KEY));
    assert!(!script.ended());
}

#[test]
fn a_refusal_has_the_code_of_one() {
    let redis = Redis::start();
    redis.steal(KEY, "t", 60_000);
    let pid = std::process::id().to_string();
    acquire(&redis, &["--while-pid", &pid])
        .exits(75)
        .says(&["k is held by another client"]);
}
