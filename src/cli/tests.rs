use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use super::*;

fn words(line: &[&str]) -> Vec<OsString> {
    std::iter::once("redlease")
        .chain(line.iter().copied())
        .map(OsString::from)
        .collect()
}

fn argv(line: &[&str]) -> Vec<OsString> {
    match read(words(line)) {
        Ok(Verb::Run(run)) => run.argv,
        Ok(_) => panic!("another command"),
        Err(stopped) => panic!("{stopped:?}"),
    }
}

fn refusal(line: &[&str]) -> String {
    match read(words(line)) {
        Err(Stopped::Usage(text)) => text,
        Err(other) => panic!("{other:?}"),
        Ok(_) => panic!("accepted"),
    }
}

#[test]
fn the_command_tree_is_sound() {
    Cli::command().debug_assert();
}

#[test]
fn run_says_the_same_alone_as_among_the_others() {
    for line in [
        &["run", "--help"][..],
        &["run", "-h"],
        &["run"],
        &["run", "--tll"],
        &["run", "--on-lost", "weep"],
        &["run", "--key", "k", "--ttl", "0", "--", "true"],
    ] {
        let alone = run_alone(&words(line)[1..]).err();
        let among = Cli::try_parse_from(words(line)).err();
        assert_eq!(
            alone.map(|error| error.to_string()),
            among.map(|error| error.to_string()),
            "{line:?}"
        );
    }
}

#[test]
fn arguments_of_the_job_arrive_as_they_are() {
    let job = [
        "printf", "<%s>", "a b", "", "*", "$HOME", "-v", "--help", "--", "--key", "x",
    ];
    let mut line = vec!["run", "--key", "k", "--"];
    line.extend(job);
    assert_eq!(argv(&line), job);
    let mut line = vec!["run", "--key", "k"];
    line.extend(job);
    assert_eq!(argv(&line), job);
    let mut odd = words(&["run", "--key", "k", "--", "echo"]);
    odd.push(OsStr::from_bytes(b"\xff\xfe").to_owned());
    match read(odd) {
        Ok(Verb::Run(run)) => assert_eq!(run.argv[1].as_bytes(), b"\xff\xfe"),
        _ => panic!("refused"),
    }
}

#[test]
fn a_wrong_word_is_one_line_that_names_it_and_the_next_step() {
    assert_eq!(
        refusal(&["run", "--key", "k", "--tll", "5s", "--", "true"]),
        "unexpected argument '--tll' found; tip: a similar argument exists: '--ttl'; see `redlease run --help`"
    );
    let text = refusal(&["run", "--key", "k", "--ttl", "1500ms", "--", "true"]);
    assert!(
        text.contains("'1500ms' for '--ttl <DUR>': it is too short"),
        "{text}"
    );
    let text = refusal(&["run", "--key", "k", "--ttl", "-1s", "--", "true"]);
    assert!(
        text.contains("'-1s'") && text.contains("negative"),
        "{text}"
    );
    let text = refusal(&["run", "--key", "k", "--ttl", "", "--", "true"]);
    assert!(text.contains("--ttl") && !text.contains('\n'), "{text}");
    assert_eq!(
        refusal(&["run", "--kye", "k", "--", "true"]),
        "unexpected argument '--kye' found; tip: a similar argument exists: '--key'; see `redlease run --help`"
    );
    assert_eq!(
        refusal(&["status", "--frobnicate"]),
        "unexpected argument '--frobnicate' found; see `redlease status --help`"
    );
    assert_eq!(
        refusal(&["break"]),
        "the following required arguments were not provided: <KEY>; see `redlease break --help`"
    );
    assert_eq!(
        refusal(&["rum"]),
        "unrecognized subcommand 'rum'; tip: a similar subcommand exists: 'run'; see `redlease --help`"
    );
}

#[test]
fn a_word_that_is_no_text_is_named_and_no_secret_shown() {
    for (line, word, wanted) in [
        (
            &["run", "--key"][..],
            "x",
            "the value of --key is not UTF-8",
        ),
        (
            &["status"],
            "--url=redis://:s3cret",
            "the value of --url is not UTF-8",
        ),
        (
            &["status"],
            "-uredis://:s3cret",
            "the value of -u is not UTF-8",
        ),
        (&["break"], "x", "\"x\u{fffd}\" is not UTF-8"),
    ] {
        let mut odd = word.as_bytes().to_vec();
        odd.push(0xff);
        let mut words = words(line);
        words.push(OsStr::from_bytes(&odd).to_owned());
        match read(words) {
            Err(Stopped::Usage(text)) => {
                assert_eq!(text, format!("{wanted}; see `redlease {} --help`", line[0]));
            }
            _ => panic!("no refusal"),
        }
    }
}

#[test]
fn help_and_version_are_asked_for() {
    assert_eq!(
        read(words(&["--version"])).err(),
        Some(Stopped::Asked("redlease 0.1.0\n".to_owned()))
    );
    assert!(matches!(
        read(words(&["run", "--help"])),
        Err(Stopped::Asked(_))
    ));
    assert_eq!(
        read(words(&["help", "run"])).err(),
        read(words(&["run", "--help"])).err()
    );
    assert!(matches!(read(words(&["help"])), Err(Stopped::Asked(_))));
    assert!(matches!(read(words(&[])), Err(Stopped::Lost(_))));
}
