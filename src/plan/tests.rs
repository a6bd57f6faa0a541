use std::io::Write;

use super::holding::{AcquirePlan, CheckPlan, Holding, RenewPlan, Show};
use super::run::RunPlan;
use super::stack::{Enclosing, Stack};
use super::view::{FencePlan, StatusPlan, Wanted};
use super::*;
use crate::cli::{self, Verb};
use crate::lease::Token;

fn verb(line: &[&str]) -> Verb {
    let words = std::iter::once("redlease").chain(line.iter().copied());
    match cli::read(words.map(Into::into)) {
        Ok(verb) => verb,
        Err(stopped) => panic!("{stopped:?}"),
    }
}

fn run_in(variables: &[(&str, &str)], options: &[&str]) -> Result<RunPlan, Refused> {
    let mut line = vec!["run"];
    line.extend(options);
    match verb(&line) {
        Verb::Run(typed) => RunPlan::new(&typed, &Source::of(variables)),
        _ => panic!("another command"),
    }
}

fn run(options: &[&str]) -> Result<RunPlan, Refused> {
    run_in(&[], options)
}

fn refusal(result: Result<RunPlan, Refused>) -> (u8, String) {
    match result {
        Ok(_) => panic!("accepted"),
        Err(refused) => (refused.exit.code(), refused.text),
    }
}

#[test]
fn defaults() {
    let plan = run(&["--key", "k", "--", "/usr/bin/true", "a"]).unwrap();
    assert_eq!(plan.names.lease(1), "redlease:{k}");
    assert_eq!(plan.timing.ttl, Duration::from_secs(30));
    assert_eq!(plan.wait, Wait::No);
    assert_eq!((plan.conflict.code, plan.conflict.quiet), (75, false));
    assert_eq!((plan.limit, plan.signal), (1, 15));
    assert_eq!(plan.label, "true");
    assert_eq!(plan.retain, Duration::from_secs(30 * 86_400));
    assert_eq!(plan.connection.target.place(), "127.0.0.1:6379/0");
    assert_eq!(plan.connection.connect_timeout, Duration::from_secs(5));
    assert!(plan.connection.warnings.is_empty());
}

#[test]
fn contradictions_are_refused_with_their_reason() {
    let job = ["--", "true"];
    for (options, reason) in [
        (vec!["-n", "-w", "5"], "-n does not wait"),
        (vec!["-E", "3", "--skip-ok"], "-E 0"),
        (vec!["-c", "true"], "both say what to run"),
        (
            vec!["--url", "redis://a", "--url-file", "f"],
            "both say which server",
        ),
        (vec!["--min-hold-on", "success"], "no --min-hold"),
        (vec!["--raw-key", "--limit", "2"], "no slots"),
        (
            vec!["--if-unreachable", "run", "--min-hold", "5"],
            "nobody knows",
        ),
        (
            vec!["--if-unreachable", "run", "--once-per", "1h"],
            "nobody knows",
        ),
        (vec!["--reentrant", "--limit", "2"], "would take another"),
        (vec!["--reentrant", "-w", "5"], "nothing to wait for"),
        (vec!["-q", "-v"], "says less"),
        (vec!["--tls-cert", "/dev/null"], "belong together"),
        (vec!["--tls-insecure"], "write rediss://"),
        (
            vec!["--tls-ca", "/dev/null", "--url", "redis://a"],
            "write rediss://",
        ),
        (
            vec![
                "--tls-ca",
                "/dev/null",
                "--tls-insecure",
                "-u",
                "rediss://a",
            ],
            "trusts anybody",
        ),
        (
            vec!["--sentinel-user", "u", "-u", "redis-sentinel://a/n"],
            "needs --sentinel-password-file",
        ),
        (vec!["--timeout", "5"], "--max-run"),
        (vec!["--timeout=5"], "--ttl is how long"),
        (vec!["--ttl", "10s", "-k", "5s"], "leaves no room"),
    ] {
        let mut line = vec!["--key", "k"];
        line.extend(&options);
        line.extend(job);
        let (code, text) = refusal(run(&line));
        assert_eq!(code, 64, "{options:?}: {text}");
        assert!(text.contains(reason), "{options:?}: {text}");
    }
}

#[test]
fn a_ttl_without_room_shows_its_sum() {
    let (_, text) = refusal(run(&[
        "--key", "k", "--ttl", "12s", "-k", "6s", "--", "true",
    ]));
    assert!(
        text.contains("until 6s") && text.contains("stopped at 5s 400ms"),
        "{text}"
    );
}

#[test]
fn what_is_missing_is_named() {
    assert!(refusal(run(&["--", "true"])).1.contains("--key is missing"));
    assert!(refusal(run(&["--key", "k"])).1.contains("nothing to run"));
    let (code, text) = refusal(run(&["--key", "a b", "--", "true"]));
    assert_eq!(code, 64);
    assert!(text.contains("' '"), "{text}");
}

#[test]
fn a_flag_beats_the_environment_and_an_empty_variable_is_unset() {
    let set = [
        ("REDLEASE_TTL", "1m"),
        ("REDLEASE_PREFIX", "p:"),
        ("REDLEASE_URL", ""),
        ("REDIS_URL", "redis://one"),
        ("REDLEASE_LABEL", "nightly"),
        ("REDLEASE_QUIET", "yes"),
    ];
    let plan = run_in(&set, &["--key", "k", "--", "true"]).unwrap();
    assert_eq!(plan.timing.ttl, Duration::from_secs(60));
    assert_eq!(plan.names.lease(1), "p:{k}");
    assert_eq!(plan.connection.target.place(), "one:6379/0");
    assert_eq!(plan.label, "nightly");
    assert!(plan.voice.quiet && plan.conflict.quiet);
    let typed = [
        "--key",
        "k",
        "--ttl",
        "40",
        "-v",
        "--url",
        "redis://two",
        "--",
        "true",
    ];
    let plan = run_in(&set, &typed).unwrap();
    assert_eq!(plan.timing.ttl, Duration::from_secs(40));
    assert_eq!(plan.connection.target.place(), "two:6379/0");
    assert!(plan.voice.verbose && !plan.voice.quiet);
}

#[test]
fn a_wrong_variable_is_named() {
    for (name, value) in [
        ("REDLEASE_TTL", "500ms"),
        ("REDLEASE_PREFIX", "a b"),
        ("REDLEASE_CONNECT_TIMEOUT", "0"),
        ("REDLEASE_LOG_FORMAT", "xml"),
        ("REDLEASE_QUIET", "maybe"),
        ("REDLEASE_STACK", "no json"),
        ("REDIS_URL", "localhost"),
    ] {
        let (code, text) = refusal(run_in(&[(name, value)], &["--key", "k", "--", "true"]));
        assert_eq!(code, 64, "{name}: {text}");
        assert!(text.contains(name), "{name}: {text}");
    }
}

#[test]
fn secrets_come_from_files_without_their_newline() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("password");
    let mut file = std::fs::File::create(&path).unwrap();
    file.write_all(b"p w\n").unwrap();
    let path = path.to_str().unwrap();
    let open = nix::sys::stat::Mode::from_bits_truncate(0o644);
    nix::sys::stat::fchmod(&file, open).unwrap();
    let line = ["--key", "k", "--password-file", path, "--", "true"];
    let plan = run(&line).unwrap();
    assert!(plan.connection.target.has_password());
    assert!(plan.connection.warnings[0].contains("every user of this machine"));
    nix::sys::stat::fchmod(&file, nix::sys::stat::Mode::from_bits_truncate(0o640)).unwrap();
    assert!(run(&line).unwrap().connection.warnings.is_empty());
    let (code, text) = refusal(run(&["--key", "k", "--url-file", "/no/such", "--", "true"]));
    assert_eq!(code, 78);
    assert!(text.contains("--url-file /no/such"), "{text}");
}

#[test]
fn a_password_file_of_the_environment_is_no_match_for_a_typed_password() {
    let set = [("REDLEASE_PASSWORD_FILE", "/no/such/file")];
    let typed = ["--key", "k", "-u", "redis://:p@host", "--", "true"];
    assert!(run_in(&set, &typed).is_ok());
    let typed = ["--key", "k", "-u", "redis://host", "--", "true"];
    assert_eq!(refusal(run_in(&set, &typed)).0, 78);
}

#[test]
fn two_places_in_the_environment_contradict() {
    let set = [("REDLEASE_URL", "redis://a"), ("REDLEASE_URL_FILE", "/f")];
    assert_eq!(refusal(run_in(&set, &["--key", "k", "--", "true"])).0, 78);
    assert!(run_in(&set, &["--key", "k", "-u", "redis://b", "--", "true"]).is_ok());
}

#[test]
fn a_run_inside_itself_is_refused_unless_reentrant() {
    let outer = Enclosing {
        server: "127.0.0.1:6379/0".to_owned(),
        lease: "redlease:{k}".to_owned(),
        token: Token::fresh().as_str().to_owned(),
        fence: 7,
        slot: 1,
        ttl_ms: 30_000,
        acquired_at_ms: 1,
    };
    let stack = Stack::default().with(outer);
    let set = [("REDLEASE_STACK", stack.as_str())];
    let (code, text) = refusal(run_in(&set, &["--key", "k", "--", "true"]));
    assert_eq!(code, 64);
    assert!(text.contains("wait for itself"), "{text}");
    let inside = run_in(&set, &["--key", "k", "--reentrant", "--", "true"]).unwrap();
    assert_eq!(inside.enclosing.map(|one| one.fence), Some(7));
    assert!(
        run_in(&set, &["--key", "other", "--", "true"])
            .unwrap()
            .enclosing
            .is_none()
    );
}

#[test]
fn the_record_outlives_what_it_must_remember() {
    let plan = run(&[
        "--key",
        "k",
        "--retain",
        "1m",
        "--once-per",
        "1d",
        "--min-hold",
        "1h",
        "--",
        "true",
    ])
    .unwrap();
    assert_eq!(plan.retain, Duration::from_secs(30 + 3_600 + 2 * 86_400));
}

#[test]
fn a_shell_only_where_it_was_asked_for() {
    let plan = run(&["--key", "k", "-c", "echo $HOME"]).unwrap();
    assert_eq!(plan.argv, ["/bin/sh", "-c", "echo $HOME"]);
    assert_eq!(plan.label, "sh");
}

#[test]
fn a_holding_comes_from_flags_or_the_environment() {
    let token = Token::fresh();
    let set = [
        ("REDLEASE_KEY", "k"),
        ("REDLEASE_TOKEN", token.as_str()),
        ("REDLEASE_SLOT", "3"),
        ("REDLEASE_TTL_MS", "60000"),
    ];
    let source = Source::of(&set);
    let Verb::Renew(typed) = verb(&["renew"]) else {
        panic!()
    };
    let plan = RenewPlan::new(&typed, &source).unwrap();
    assert_eq!((plan.holding.names.key(), plan.holding.slot), ("k", 3));
    assert_eq!(plan.ttl, Some(Duration::from_secs(60)));
    let Verb::Check(typed) = verb(&["check", "--min-left", "10"]) else {
        panic!()
    };
    assert_eq!(
        CheckPlan::new(&typed, &source).unwrap().min_left,
        Some(Duration::from_secs(10))
    );
    let Verb::Release(typed) = verb(&["release"]) else {
        panic!()
    };
    let refused = Holding::of_release(&typed, &Source::of(&[("REDLEASE_KEY", "k")]))
        .err()
        .unwrap();
    assert!(
        refused.text.contains("REDLEASE_TOKEN is not set"),
        "{refused}"
    );
    let wrong = [("REDLEASE_KEY", "k"), ("REDLEASE_TOKEN", "s3cret")];
    let refused = Holding::of_release(&typed, &Source::of(&wrong))
        .err()
        .unwrap();
    assert!(refused.text.starts_with("REDLEASE_TOKEN") && !refused.text.contains("s3cret"));
}

#[test]
fn the_other_commands() {
    let none = Source::of(&[]);
    let Verb::Acquire(typed) = verb(&["acquire", "--key", "k", "--export", "-w", "forever"]) else {
        panic!()
    };
    let plan = AcquirePlan::new(&typed, &none).unwrap();
    assert_eq!((plan.show, plan.wait), (Show::Export, Wait::Forever));
    let Verb::Status(typed) = verb(&["status", "a", "b-*", "--watch"]) else {
        panic!()
    };
    let plan = StatusPlan::new(&typed, &none).unwrap();
    assert_eq!(plan.watch, Some(Duration::from_secs(2)));
    assert!(matches!(&plan.wanted[..], [Wanted::One(_), Wanted::Pattern(p)] if p == "b-*"));
    let Verb::Fence(typed) = verb(&["fence", "check", "--resource", "db"]) else {
        panic!()
    };
    let cli::status::FenceVerb::Check(typed) = typed.verb;
    assert!(FencePlan::new(&typed, &none).is_err());
    let plan = FencePlan::new(&typed, &Source::of(&[("REDLEASE_FENCE", "12")])).unwrap();
    assert_eq!(plan.fence.0, 12);
}
