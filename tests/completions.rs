//! Completion: scripts that shells take, and live names from a server that others write to.

use crate::harness::redlease::BINARY;
use crate::harness::{PATIENCE, Redis, Redlease, ms, wait_until};

fn names(redis: &Redis) -> Redlease {
    Redlease::command(["completions", "names"]).on(redis)
}

#[test]
fn the_committed_scripts_are_the_printed_ones() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("completions");
    for (shell, file) in [
        ("bash", "redlease.bash"),
        ("zsh", "_redlease"),
        ("fish", "redlease.fish"),
    ] {
        let printed = Redlease::command(["completions", shell]).exits(0).out();
        assert_eq!(printed, std::fs::read_to_string(root.join(file)).unwrap());
    }
    Redlease::command(["completions", "csh"]).exits(64);
}

#[test]
fn names_are_those_of_leases_held_and_free() {
    let redis = Redis::start();
    assert_eq!(names(&redis).exits(0).out(), "");
    Redlease::run("done").on(&redis).job(["true"]).exits(0);
    let run = Redlease::run("held").on(&redis).holds().start().up();
    redis.cli(&["SET", "foreign", "x"]);
    // It does not wait long for an answer, which a busy machine may not give in time.
    wait_until("the names", PATIENCE, || {
        let outcome = names(&redis).exits(0);
        outcome.silent_on_stderr();
        outcome.out() == "done\nheld\n"
    });
    let other = names(&redis).env("REDLEASE_PREFIX", "other:").exits(0);
    assert_eq!(other.out(), "");
    run.finish();
}

#[test]
fn without_an_answer_it_is_quick_and_silent() {
    let mut redis = Redis::start();
    redis.pause();
    let outcome = names(&redis).exits(0);
    outcome.silent();
    assert!(outcome.took < ms(10_000), "{:?}", outcome.took);
    redis.resume();
    redis.kill();
    names(&redis).exits(0).silent();
    names(&redis)
        .env("REDLEASE_URL", "nonsense")
        .exits(0)
        .silent();
}

/// What TAB after these words offers in bash, one a line. The names of hostile leases are quoted and never run.
#[test]
fn bash_offers_live_names_and_runs_none_of_them() {
    let redis = Redis::start();
    for key in ["import-a", "import-b", "export:eu:1", "$(>ran)", "a'b;c"] {
        redis.steal(&format!("redlease:{{{key}}}"), "t", 60_000);
    }
    let bin = std::path::Path::new(BINARY).parent().unwrap().display();
    let offers = |words: &[&str]| {
        let script = r#"
            eval "$(redlease completions bash)"
            COMP_LINE="$*" COMP_POINT=${#COMP_LINE}
            # As bash splits it: at spaces and colons.
            read -r -a COMP_WORDS <<< "${COMP_LINE//:/ : }"
            COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
            _redlease_live redlease "${@: -1}" "${@: -2:1}"
            printf '%s\n' "${COMPREPLY[@]}"
        "#;
        let mut all = vec!["bash", "-c", script, "bash", "redlease"];
        all.extend(words);
        let outcome = Redlease::command([""; 0])
            .job(all)
            .env("PATH", format!("{bin}:/usr/bin:/bin"))
            .folder(redis.folder())
            .on(&redis)
            .start_directly()
            .wait();
        assert_eq!(outcome.stderr, "");
        outcome.out()
    };
    let offered = |words: &[&str], expected: &str| {
        wait_until(&format!("{expected:?}"), PATIENCE, || {
            offers(words) == expected
        });
    };
    offered(&["status", "im"], "import-a\nimport-b\n");
    offered(&["run", "--key", "import-a"], "import-a\n");
    offered(&["break", "$"], "\\$\\(\\>ran\\)\n");
    offered(&["run", "--key", "export:e"], "eu:1\n");
    offered(&["status", "export:"], "eu:1\n");
    offered(&["break", "a"], "a\\'b\\;c\n");
    assert!(offers(&["status", "--wa"]).contains("--watch"));
    assert!(!redis.folder().join("ran").exists());
}
