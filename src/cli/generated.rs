//! Man pages and completions are rendered here and compared with the committed files, so that no tool is needed to
//! build a package. `make generate` rewrites them.

use std::fs;
use std::path::Path;

use clap::{Command, CommandFactory};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};

use super::Cli;
use super::completion::{Shell, script};
use super::environment::{GIVEN, READ, Variable};
use crate::exit::TABLE;

/// What reaches the job: the same words in `redlease(1)` and `redlease-run(1)`.
const SIGNALS: &[(&str, &str)] = &[
    (
        "TERM, INT, HUP, QUIT, USR1, USR2, ALRM, WINCH, CONT",
        "sent to redlease, they reach the job once each. What the terminal already sent to the job is not sent again. \
         None of them ends redlease while the job runs: the lease is renewed until the job has ended, however long it \
         takes. With -k typed, TERM starts a timer, and at its end the job is killed.",
    ),
    (
        "TSTP, STOP",
        "a stopped job cannot do harm, and a stopped redlease cannot renew: after Ctrl-Z for longer than the lease \
         lives, the job is killed, and `fg` shows 79.",
    ),
    (
        "KILL",
        "sent to redlease, it kills the job and all its descendants at once. The lease lapses after its TTL.",
    ),
    (
        "INT, TERM, HUP while waiting",
        "the queue is left, and redlease ends by the same signal.",
    ),
];

/// The names of `--json`, by page.
const JSON: &[(&str, &[(&str, &str)])] = &[
    (
        "redlease-status",
        &[
            (
                "key, raw_key",
                "as typed, and whether it is one of --raw-key",
            ),
            ("slot, slots", "which holder of how many (--limit)"),
            (
                "state",
                "held; cooling (--min-hold); broken (by an operator); free; abandoned (its time ran out without a \
                 release: the holder died or was cut off); foreign (something that redlease cannot describe stands \
                 at the key)",
            ),
            ("state_ms", "how long it is in this state"),
            (
                "holder",
                "an object of host, pid, user, label: who holds it, or held it last",
            ),
            ("token, fence", "of that holding"),
            (
                "acquired_at_ms, renewed_at_ms, held_ms, ttl_ms",
                "of that holding",
            ),
            (
                "remaining_ms, expires_at_ms",
                "until the key lapses unless it is renewed; null for a key without a time to live",
            ),
            ("broken_by", "user and host of the operator"),
            (
                "waiting, waiters",
                "how many wait, and the first thousand in their order: host, pid, user, label, waited_ms, and silent \
                 for one that is about to be dropped; on the first slot, since the queue is one for all",
            ),
            (
                "last_run",
                "an object of ended_at_ms, outcome (completed, signalled, lost, broken, max_run), code, duration_ms, \
                 host",
            ),
            ("problem", "what is odd, in a sentence"),
            ("at_ms", "when this was read"),
        ],
    ),
    (
        "redlease-acquire",
        &[
            ("key, token, fence, slot", "of the holding"),
            ("ttl_ms, acquired_at_ms, expires_at_ms", "its times"),
        ],
    ),
    (
        "redlease-doctor",
        &[
            (
                "check",
                "machine, version, role, replicas, clock, latency, eviction, persistence, timeout, clients, cluster, \
                 access, encryption, unknown, lease, rights, wake-ups, list, connection, acl-rule",
            ),
            ("level", "ok, warn or fail"),
            (
                "finding, meaning, remedy",
                "what was seen, what it means for a lease, and what to do about it",
            ),
        ],
    ),
];

#[test]
fn man_pages_and_completions_are_current() {
    let mut files = vec![
        ("completions/redlease.bash".to_owned(), script(Shell::Bash)),
        ("completions/_redlease".to_owned(), script(Shell::Zsh)),
        ("completions/redlease.fish".to_owned(), script(Shell::Fish)),
    ];
    let mut tree = Cli::command();
    tree.build();
    pages(&tree, &mut files);
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let bless = std::env::var_os("REDLEASE_BLESS").is_some();
    let mut stale = Vec::new();
    for (name, text) in &files {
        let path = root.join(name);
        if fs::read_to_string(&path).is_ok_and(|found| found == *text) {
            continue;
        }
        stale.push(name.as_str());
        if bless {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, text).unwrap();
        }
    }
    assert!(
        stale.is_empty(),
        "not current{}: {stale:?}; `make generate` rewrites them",
        if bless { ", and rewritten now" } else { "" }
    );
}

#[test]
fn completions_ask_for_live_names() {
    assert!(script(Shell::Zsh).contains(":KEY:_redlease_names"));
    assert!(script(Shell::Bash).contains("completions names"));
    assert!(script(Shell::Fish).contains("completions names"));
}

fn pages(command: &Command, files: &mut Vec<(String, String)>) {
    let name = command
        .get_display_name()
        .unwrap_or_else(|| command.get_name())
        .to_owned();
    files.push((format!("man/{name}.1"), page(command, &name)));
    for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set()) {
        pages(sub, files);
    }
}

fn page(command: &Command, name: &str) -> String {
    // Examples become a section of their own.
    let help = command
        .get_after_help()
        .map(ToString::to_string)
        .unwrap_or_default();
    let man = Man::new(
        command
            .clone()
            .after_help(None::<&str>)
            .after_long_help(None::<&str>),
    )
    .title(name)
    .section("1")
    .source(format!("redlease {}", env!("CARGO_PKG_VERSION")))
    .manual("User Commands");
    let mut out = Vec::new();
    man.render_title(&mut out).unwrap();
    man.render_name_section(&mut out).unwrap();
    man.render_synopsis_section(&mut out).unwrap();
    man.render_description_section(&mut out).unwrap();
    if command.get_arguments().any(|arg| !arg.is_hide_set()) {
        man.render_options_section(&mut out).unwrap();
    }
    if command.has_subcommands() {
        man.render_subcommands_section(&mut out).unwrap();
    }
    let mut roff = Roff::new();
    if name == "redlease" || name == "redlease-run" {
        exit_status(&mut roff);
        list(&mut roff, "SIGNALS", SIGNALS.iter().copied());
    }
    if name == "redlease" {
        let pair = |one: &'static Variable| (one.name, one.meaning);
        list(&mut roff, "ENVIRONMENT", READ.iter().map(pair));
        paragraph(
            &mut roff,
            "A flag beats its variable; an empty variable counts as unset. The job finds:",
        );
        for one in GIVEN {
            item(&mut roff, one.name, one.meaning);
        }
    }
    if let Some((_, names)) = JSON.iter().find(|(page, _)| *page == name) {
        list(&mut roff, "JSON", names.iter().copied());
        paragraph(
            &mut roff,
            "These names stay; more may come. What is unknown or does not apply is null. Times (_at_ms) are \
             milliseconds since 1970 by the server's clock, spans (_ms) are milliseconds.",
        );
    }
    examples(&mut roff, &help);
    roff.control("SH", ["SEE ALSO"]);
    roff.text([roman(see_also(name))]);
    roff.to_writer(&mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn see_also(name: &str) -> &'static str {
    match name {
        "redlease" => {
            "redlease-run(1), redlease-status(1), redlease-acquire(1), redlease-doctor(1), redlease(7), flock(1), \
             timeout(1)"
        }
        _ => "redlease(1), redlease(7)",
    }
}

fn exit_status(roff: &mut Roff) {
    roff.control("SH", ["EXIT STATUS"]);
    item(
        roff,
        "0-255",
        "the job's own, with the lease held to its end",
    );
    item(
        roff,
        "128+n",
        "the job died of signal n (redlease then dies of it too), or redlease was told to end while it waited",
    );
    for (exit, meaning) in TABLE {
        item(roff, &exit.code().to_string(), meaning);
    }
    paragraph(
        roff,
        "Any of these can also be the job's own code; --report tells them apart.",
    );
}

fn list<'a>(roff: &mut Roff, title: &str, items: impl Iterator<Item = (&'a str, &'a str)>) {
    roff.control("SH", [title]);
    for (name, meaning) in items {
        item(roff, name, meaning);
    }
}

fn item(roff: &mut Roff, name: &str, meaning: &str) {
    roff.control("TP", []);
    roff.text([bold(name)]);
    roff.text([roman(meaning)]);
}

fn paragraph(roff: &mut Roff, text: &str) {
    roff.control("PP", []);
    roff.text([roman(text)]);
}

/// Indented lines are commands, the others prose.
fn examples(roff: &mut Roff, help: &str) {
    if help.is_empty() {
        return;
    }
    roff.control("SH", ["EXAMPLES"]);
    let mut shown = false;
    for line in help.lines().filter(|line| *line != "Examples:") {
        let command = line.starts_with("  ");
        if command != shown {
            roff.control(if command { "nf" } else { "fi" }, []);
            shown = command;
        }
        if line.is_empty() {
            roff.control("PP", []);
        } else {
            roff.text([roman(line)]);
        }
    }
    if shown {
        roff.control("fi", []);
    }
}

#[test]
fn the_readme_shows_every_exit_code() {
    let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md");
    let readme = fs::read_to_string(readme).unwrap();
    for (exit, meaning) in TABLE {
        let row = format!("| {} | {meaning} |", exit.code());
        assert!(readme.lines().any(|line| line == row), "{row}");
    }
    for one in GIVEN {
        let row = format!("| `{}` |", one.name);
        assert!(readme.contains(&row), "{row}");
    }
}

/// Every variable of a `[env: …]` in the help is in the manual's list, and the other way round.
#[test]
fn the_manual_knows_every_variable() {
    let mut tree = Cli::command();
    tree.build();
    let mut in_help = Vec::new();
    variables(&tree, &mut in_help);
    for one in READ {
        assert!(in_help.iter().any(|name| name == one.name), "{}", one.name);
    }
    for name in &in_help {
        let known = READ.iter().chain(GIVEN).any(|one| one.name == name);
        assert!(known, "{name}");
    }
}

fn variables(command: &Command, found: &mut Vec<String>) {
    for arg in command.get_arguments() {
        let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
        let words = help.split(|c: char| !(c.is_ascii_uppercase() || c == '_'));
        found.extend(
            words
                .filter(|word| word.starts_with("REDLEASE_") || *word == "REDIS_URL")
                .map(str::to_owned),
        );
    }
    for sub in command.get_subcommands() {
        variables(sub, found);
    }
}
