//! Where the kernel is slow or says no: a program that cannot be read yet, system calls that a filter refuses.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use nix::sys::signal::Signal;

use crate::harness::process::{children, gone, send};
use crate::harness::redlease::Stream;
use crate::harness::{PATIENCE, Redis, Redlease, Running, Tree, ms, now, wait_until};

const LEASE: &str = "redlease:{k}";
const AT_ONCE: Duration = Duration::from_secs(1);

/// A script that notes that it ran, and whose first open(2) blocks for as long as somebody holds a file lease on it
/// (fcntl(2), F_SETLEASE), as one on a network's file system does whose server is gone.
struct Unreadable {
    script: PathBuf,
    ran: PathBuf,
    holder: Child,
}

impl Unreadable {
    fn new(redis: &Redis) -> Unreadable {
        let (script, ran) = (redis.folder().join("job"), redis.folder().join("ran"));
        fs::write(&script, format!("#!/bin/sh\n: > {}\n", ran.display())).unwrap();
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
        let hold = "$SIG{IO} = 'IGNORE'; open(F, '<', $ARGV[0]) or die; fcntl(F, 1024, 1) or die qq(lease: $!); \
                    $| = 1; print qq(up\\n); sleep 1 while 1";
        let mut holder = Command::new("perl")
            .args(["-e", hold])
            .arg(&script)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let out = Stream::read(holder.stdout.take().unwrap());
        wait_until("the lease on the file", PATIENCE, || out.text() == "up\n");
        Unreadable {
            script,
            ran,
            holder,
        }
    }

    /// The run whose job's process waits for its program.
    fn run(&self, redis: &Redis, ttl: &str) -> Running {
        let run = Redlease::run("k").on(redis).ttl(ttl).job([&self.script]);
        let run = run.start();
        wait_until("the job's process", PATIENCE, || run.processes().len() == 3);
        run
    }

    /// From now on the program can be read.
    fn let_go(&mut self) {
        self.holder.kill().unwrap();
        self.holder.wait().unwrap();
    }
}

impl Drop for Unreadable {
    fn drop(&mut self) {
        drop(self.holder.kill());
        drop(self.holder.wait());
    }
}

#[test]
fn a_program_that_takes_its_time_is_run_all_the_same() {
    let redis = Redis::start();
    let mut job = Unreadable::new(&redis);
    let run = job.run(&redis, "2s");
    let held = redis.get(LEASE);
    std::thread::sleep(ms(2_500));
    // Renewed meanwhile.
    assert!(held.is_some() && redis.get(LEASE) == held);
    job.let_go();
    run.exits(0);
    assert!(job.ran.exists() && !redis.exists(LEASE));
}

#[test]
fn a_program_that_cannot_be_read_does_not_outlive_redlease() {
    let redis = Redis::start();
    let mut job = Unreadable::new(&redis);
    let run = job.run(&redis, "30s");
    let fault = now();
    run.signal(Signal::SIGKILL);
    wait_until("the end of every process", PATIENCE, || {
        run.processes().is_empty()
    });
    assert!(now() < fault.after(AT_ONCE));
    job.let_go();
    run.exits(137);
    assert!(!job.ran.exists());
}

#[test]
fn a_program_that_cannot_be_read_is_not_run_after_the_lease() {
    let redis = Redis::start();
    let mut job = Unreadable::new(&redis);
    let run = job.run(&redis, "4s");
    let end = redis.just_renewed(LEASE, 4_000, 600);
    let process = children(run.guard())[0];
    redis.pause();
    wait_until("the end of the job's process", PATIENCE, || gone(process));
    assert!(now() < end);
    run.exits(79);
    job.let_go();
    assert!(!job.ran.exists());
}

/// pidfd_open, unshare and close_range answer EPERM, as in old containers.
fn refusing() -> String {
    let (prctl, unshare) = if cfg!(target_arch = "x86_64") {
        (157, 272)
    } else {
        (167, 97)
    };
    format!(
        "my @f = ([32, 0, 0, 0], [21, 3, 0, 434], [21, 2, 0, {unshare}], [21, 1, 0, 436], [6, 0, 0, 0x7fff0000], \
         [6, 0, 0, 0x50001]); my $code = join '', map {{ pack 'SCCL', @$_ }} @f; \
         my $program = pack 'S x![P] P', scalar @f, $code; \
         syscall({prctl}, 38, 1, 0, 0, 0) == 0 or die $!; syscall({prctl}, 22, 2, $program) == 0 or die $!;"
    )
}

fn refused(redis: &Redis) -> (Running, Tree) {
    let tree = Tree::in_folder(redis.folder());
    let run = Redlease::run("k").on(redis).job(tree.job());
    let run = run.after_perl(&refusing()).start();
    tree.await_start();
    (run, tree)
}

#[test]
fn without_pidfd_nothing_outlives_redlease() {
    let redis = Redis::start();
    let (run, tree) = refused(&redis);
    let fault = now();
    run.signal(Signal::SIGKILL);
    wait_until("the end of every process", PATIENCE, || {
        run.processes().is_empty()
    });
    assert!(tree.last() < fault.after(AT_ONCE));
    run.exits(137);
}

#[test]
fn without_pidfd_nothing_outlives_the_guard() {
    let redis = Redis::start();
    let (run, tree) = refused(&redis);
    let fault = now();
    send(run.guard(), Signal::SIGKILL);
    run.exits(79);
    assert!(tree.last() < fault.after(AT_ONCE));
    assert!(!redis.exists(LEASE));
}
