//! The caller sees the job's own end, and can tell it from redlease's.

use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;

use crate::harness::{Redis, Redlease};

#[test]
fn every_code_of_a_job_passes_through() {
    let redis = Redis::start();
    std::thread::scope(|scope| {
        for part in 0..4 {
            let redis = &redis;
            scope.spawn(move || {
                for code in (part * 64)..(part * 64 + 64) {
                    Redlease::run(&format!("k{part}"))
                        .on(redis)
                        .sh(&format!("exit {code}"))
                        .exits(code)
                        .silent();
                }
            });
        }
    });
}

#[test]
fn death_by_a_signal_is_repeated_and_the_lease_released() {
    let redis = Redis::start();
    for (name, number) in [
        ("TERM", 15),
        ("KILL", 9),
        ("SEGV", 11),
        ("INT", 2),
        ("PIPE", 13),
    ] {
        let outcome = Redlease::run("k")
            .on(&redis)
            .perl(&format!("kill '{name}', $$; sleep 60"))
            .exits(128 + number);
        assert_eq!(outcome.status.signal(), Some(number), "{name}");
        outcome.silent();
        assert!(!redis.exists("redlease:{k}"), "{name}");
    }
}

#[test]
fn a_program_that_is_not_found_is_127_and_the_lease_is_given_back() {
    let redis = Redis::start();
    let outcome = Redlease::run("k")
        .on(&redis)
        .job(["no-such-program-anywhere", "x"])
        .exits(127);
    outcome.says(&["no-such-program-anywhere"]);
    assert!(!redis.exists("redlease:{k}"));
}

#[test]
fn a_file_that_cannot_be_executed_is_126_and_the_lease_is_given_back() {
    let redis = Redis::start();
    let file = redis.folder().join("data");
    std::fs::write(&file, "no program").unwrap();
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o644)).unwrap();
    let outcome = Redlease::run("k").on(&redis).job([&file]).exits(126);
    outcome.says(&["data"]);
    assert!(!redis.exists("redlease:{k}"));
}

#[test]
fn a_script_without_an_interpreter_line_runs_as_from_a_shell() {
    let redis = Redis::start();
    let file = redis.folder().join("script");
    std::fs::write(&file, "echo \"$1\"; exit 9\n").unwrap();
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o755)).unwrap();
    let outcome = Redlease::run("k")
        .on(&redis)
        .job([file.as_os_str(), "a b".as_ref()])
        .exits(9);
    assert_eq!(outcome.out(), "a b\n");
}

#[test]
fn a_report_tells_codes_of_the_job_from_those_of_redlease() {
    let redis = Redis::start();
    let file = redis.folder().join("report");
    let run = |code: i32| {
        Redlease::run("k")
            .on(&redis)
            .arg("--report")
            .arg(&file)
            .sh(&format!("exit {code}"))
    };
    let report =
        || -> serde_json::Value { serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap() };
    for code in [0, 1, 2, 75, 77, 79, 124, 125, 126, 127, 255] {
        run(code).exits(code).silent();
        assert_eq!(report()["outcome"], "completed", "{code}");
        assert_eq!(report()["job_code"], code);
    }

    let holder = Redlease::run("k").on(&redis).holds().start().up();
    run(75).exits(75);
    assert_eq!(report()["outcome"], "refused");
    holder.finish();
}

#[test]
fn a_job_that_runs_too_long_is_stopped_with_124() {
    let redis = Redis::start();
    let outcome = Redlease::run("k")
        .on(&redis)
        .args(["--max-run", "1s"])
        .job(["sleep", "60"])
        .exits(124);
    outcome.says(&["--max-run"]);
    assert!(!redis.exists("redlease:{k}"));
}

#[test]
fn a_job_that_ignores_the_stop_of_max_run_is_killed() {
    let redis = Redis::start();
    Redlease::run("k")
        .on(&redis)
        .args(["--max-run", "1s", "-k", "200ms"])
        .perl("$SIG{TERM} = 'IGNORE'; sleep 1 while 1")
        .exits(124);
    assert!(!redis.exists("redlease:{k}"));
}
