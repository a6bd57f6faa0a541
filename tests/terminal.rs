//! Under a terminal redlease is not there: keys, job control, prompts and hangups do what they do without it.
//!
//! What is typed is echoed, so that the words to wait for are never typed.

use nix::sys::signal::Signal;

use crate::harness::process::{Stamps, gone, send, stopped};
use crate::harness::terminal::Terminal;
use crate::harness::{PATIENCE, Redis, Redlease, ms, wait_until};

const LEASE: &str = "redlease:{k}";

/// A script for bash; `run` in it is `redlease run --key k`.
fn script(redis: &Redis, ttl: &str, text: &str) -> Terminal {
    let text = format!("run() {{ \"$REDLEASE\" run --key k --ttl {ttl} \"$@\"; }}\n{text}");
    let words = stamps(redis).job();
    let run = Redlease::run("unused")
        .on(redis)
        .env("STAMP", &words[2])
        .env("STAMPS", &words[3]);
    Terminal::start_shell(run, &text)
}

fn stamps(redis: &Redis) -> Stamps {
    Stamps::in_folder(redis.folder())
}

/// The command in a script.
const STAMP: &str = r#"perl -e "$STAMP" "$STAMPS""#;

#[test]
fn ctrl_c_reaches_job_and_script_once() {
    let redis = Redis::start();
    let counts = "$SIG{INT} = sub { $n++ }; print qq(up\\n); sleep 1 while !$n; sleep 1; print qq(ints: $n\\n); exit 4";
    let text =
        format!("trap 'echo trapped' INT; run -- perl -e '$| = 1; {counts}'; echo code $?; exit 6");
    let mut terminal = script(&redis, "30s", &text);
    terminal.shows("up");
    terminal.type_in("\x03");
    terminal.shows("ints: 1");
    terminal.shows("code 4");
    terminal.exits(6);
    assert_eq!(terminal.screen.text().matches("trapped").count(), 1);
}

#[test]
fn ctrl_c_ends_a_loop_of_runs() {
    let redis = Redis::start();
    let text = "while :; do run -- sh -c 'echo up; exec sleep 301'; echo again; done";
    let mut terminal = script(&redis, "30s", text);
    terminal.shows("up");
    terminal.type_in("\x03");
    terminal.exits(130);
    assert!(!terminal.screen.text().contains("again"));
    assert!(!redis.exists(LEASE));
}

#[test]
fn ctrl_backslash_quits_the_job_and_the_lease_is_free() {
    let redis = Redis::start();
    let text = "run -- sh -c 'echo up; ulimit -c 0; exec sleep 302'; echo code $?";
    let mut terminal = script(&redis, "30s", text);
    terminal.shows("up");
    terminal.type_in("\x1c");
    terminal.shows("code 131");
    terminal.exits(0);
    assert!(!redis.exists(LEASE));
}

#[test]
fn ctrl_z_stops_and_fg_resumes() {
    let redis = Redis::start();
    let stamps = stamps(&redis);
    let text = format!("set -m; run -- {STAMP}; echo stopped $?; fg; echo not reached");
    let mut terminal = script(&redis, "60s", &text);
    stamps.await_start();
    terminal.type_in("\x1a");
    terminal.shows("stopped 148");
    let count = stamps.all().len();
    wait_until("more stamps", PATIENCE, || stamps.all().len() > count + 5);
    terminal.type_in("\x03");
    // A shell whose foreground job died of Ctrl-C ends with it.
    terminal.exits(130);
}

#[test]
fn a_job_that_was_suspended_for_longer_than_its_lease_is_killed() {
    let redis = Redis::start();
    let stamps = stamps(&redis);
    let text =
        format!("set -m; run -- {STAMP}; echo stopped $?; read x; fg >/dev/null; echo code $?");
    let mut terminal = script(&redis, "2s", &text);
    stamps.await_start();
    terminal.type_in("\x1a");
    terminal.shows("stopped 148");
    let count = stamps.all().len();
    wait_until("the lease to lapse", PATIENCE, || !redis.exists(LEASE));
    redis.steal(LEASE, "another", 60_000);
    terminal.type_in("\n");
    terminal.shows("code 79");
    terminal.exits(0);
    assert_eq!(stamps.all().len(), count);
    assert_eq!(redis.get(LEASE).as_deref(), Some("another"));
}

#[test]
fn a_background_job_that_reads_the_terminal_stops_until_fg() {
    let redis = Redis::start();
    let text = "set -m; run -- sh -c 'read x; echo \"got <$x>\"; exit 5' & \
                until jobs -s | grep -q run; do sleep 0.05; done; echo waits; fg >/dev/null; echo code $?";
    let mut terminal = script(&redis, "60s", text);
    terminal.shows("waits");
    terminal.type_in("hello\n");
    terminal.shows("got <hello>");
    terminal.shows("code 5");
    terminal.exits(0);
}

#[test]
fn a_background_job_that_may_not_write_stops_until_fg() {
    let redis = Redis::start();
    let text = "set -m; stty tostop; run -- sh -c 'echo \"job: writes\"; exit 5' & \
                until jobs -s | grep -q run; do sleep 0.05; done; echo waits; fg >/dev/null; echo code $?";
    let mut terminal = script(&redis, "60s", text);
    terminal.shows("job: writes");
    terminal.shows("code 5");
    terminal.exits(0);
}

#[test]
fn redleases_own_words_do_not_stop_it_in_the_background() {
    let redis = Redis::start();
    let stamps = stamps(&redis);
    let text = format!("set -m; stty tostop; run -- {STAMP} & wait $!; echo code $?");
    let mut terminal = script(&redis, "4s", &text);
    stamps.await_start();
    redis.steal(LEASE, "another", 60_000);
    terminal.shows("code 79");
    terminal.exits(0);
}

#[test]
fn the_terminal_is_the_jobs_in_the_middle_of_a_script() {
    let redis = Redis::start();
    let text = "echo first; read a; run -- sh -c 'echo second; read b; echo \"b is $b.\"'; \
                echo third; read c; echo \"c is $c.\"";
    let mut terminal = script(&redis, "30s", text);
    for (question, typed) in [("first", "1\n"), ("second", "2\n"), ("third", "3\n")] {
        terminal.shows(question);
        terminal.type_in(typed);
    }
    terminal.shows("b is 2.");
    terminal.shows("c is 3.");
    terminal.exits(0);
}

#[test]
fn a_prompt_for_a_password_works_and_does_not_show_it() {
    let redis = Redis::start();
    let text = "run -- sh -c 'stty -echo </dev/tty; printf \"Password: \" >/dev/tty; \
                read p </dev/tty; stty echo </dev/tty; echo \"length ${#p}\"' </dev/null";
    let mut terminal = script(&redis, "30s", text);
    terminal.shows("Password: ");
    terminal.type_in("secret\n");
    terminal.shows("length 6");
    terminal.exits(0);
    assert!(!terminal.screen.text().contains("secret"));
}

#[test]
fn an_interactive_shell_inside_has_its_own_job_control() {
    let redis = Redis::start();
    let text = "run -- env PS1='inside> ' bash --norc --noprofile -i; echo code $?";
    let mut terminal = script(&redis, "30s", text);
    terminal.shows("inside> ");
    terminal.type_in("sh -c 'echo u''p; exec sleep 303'\n");
    terminal.shows("up");
    terminal.type_in("\x1a");
    terminal.shows("Stopped");
    terminal.type_in("kill %1; exit $((3 + 4))\n");
    wait_until("the shell's end", PATIENCE, || {
        if !terminal.screen.text().contains("code 7") {
            // "There are stopped jobs" until the killed one is reaped.
            terminal.type_in("exit 7\n");
            std::thread::sleep(ms(200));
        }
        terminal.screen.text().contains("code 7")
    });
    terminal.exits(0);
}

#[test]
fn a_new_size_of_the_window_is_told_once() {
    let redis = Redis::start();
    let counts = "$SIG{WINCH} = sub { $n++ }; print qq(up\\n); sleep 1 while !$n; sleep 1; print qq(told: $n\\n)";
    let mut terminal = script(&redis, "30s", &format!("run -- perl -e '$| = 1; {counts}'"));
    terminal.shows("up");
    terminal.resize(100);
    terminal.shows("told: 1");
    terminal.exits(0);
}

#[test]
fn a_hangup_ends_the_job_and_gives_the_lease_back() {
    let redis = Redis::start();
    let stamps = stamps(&redis);
    let terminal = script(&redis, "60s", &format!("run -- {STAMP}; :"));
    stamps.await_start();
    // The leader of the session dies: the kernel hangs up for all that is in the foreground.
    send(terminal.pid(), Signal::SIGKILL);
    wait_until("the release", PATIENCE, || !redis.exists(LEASE));
    wait_until("the end of every process", PATIENCE, || {
        terminal.processes().is_empty()
    });
}

#[test]
fn a_hangup_reaches_the_job_of_a_redlease_that_leads_the_session() {
    let redis = Redis::start();
    let run = Redlease::run("k")
        .on(&redis)
        .perl("$SIG{HUP} = sub { print qq(hung up\n); exit 7 }; print qq(up\n); sleep 1 while 1");
    let mut terminal = Terminal::start(run);
    terminal.shows("up");
    let redlease = terminal.pid();
    assert!(!stopped(redlease) && !gone(redlease));
    // As the kernel does when the line is cut: to the leader alone.
    send(redlease, Signal::SIGHUP);
    terminal.shows("hung up");
    terminal.exits(7);
}
