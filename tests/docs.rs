//! README, manual and program say the same.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn redlease() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_redlease"))
}

fn help_of(command: &[&str]) -> String {
    let out = Command::new(redlease())
        .args(command)
        .arg("--help")
        .output()
        .unwrap();
    assert_eq!(out.status.code(), Some(0), "{command:?}");
    String::from_utf8(out.stdout).unwrap()
}

const COMMANDS: &[&[&str]] = &[
    &["run"],
    &["status"],
    &["acquire"],
    &["renew"],
    &["release"],
    &["check"],
    &["break"],
    &["fence", "check"],
    &["doctor"],
    &["completions"],
];

/// Long options at the beginning of a line of help.
fn options(help: &str) -> Vec<String> {
    help.lines()
        .filter_map(|line| {
            let words = line.trim_start();
            let long = words.find("--")?;
            let short = &words[..long];
            let leads = short.is_empty() || (short.len() == 4 && short.starts_with('-'));
            let name = words[long..].split([' ', '<', '[', '=', ',']).next()?;
            (leads && name.len() > 2).then(|| name.to_owned())
        })
        .collect()
}

#[test]
fn every_option_of_the_help_is_in_the_manual() {
    for command in COMMANDS {
        let page = format!("man/redlease-{}.1", command.join("-"));
        let text = fs::read_to_string(root().join(&page)).unwrap();
        let found = options(&help_of(command));
        assert!(!found.is_empty(), "{command:?}");
        for option in found {
            let roff = option.replace('-', "\\-");
            assert!(text.contains(&roff), "{page} lacks {option}");
        }
    }
}

/// The commands of README's `sh` blocks, and of its table of other tools.
fn commands(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut shell = false;
    for line in text.lines() {
        if line.starts_with("```") {
            shell = line == "```sh";
        } else if shell && line.starts_with("redlease ") {
            found.push(line.to_owned());
        } else if line.starts_with("| ") {
            let line = line.replace("\\|", "|");
            let quoted = line.split('`').skip(1).step_by(2);
            found.extend(
                quoted
                    .filter(|part| {
                        part.starts_with("redlease run --") && !part.starts_with("redlease run -- ")
                    })
                    .map(str::to_owned),
            );
        }
    }
    found
}

const TOKEN: &str = "3f0c6f7e-1f0a-4b1e-9d1c-0d8a5a3f2b11";

/// In an empty folder and without a server: the line is understood, and nothing runs.
fn understood(line: &str) -> Output {
    let dir = tempfile::tempdir().unwrap();
    Command::new("sh")
        .args(["-c", line])
        .current_dir(dir.path())
        .env_clear()
        .env(
            "PATH",
            format!("{}:/usr/bin:/bin", redlease().parent().unwrap().display()),
        )
        .env(
            "REDLEASE_URL",
            format!("redis+unix://{}/none", dir.path().display()),
        )
        .env("REDLEASE_CONNECT_TIMEOUT", "200ms")
        .env("REDLEASE_KEY", "k")
        .env("REDLEASE_TOKEN", TOKEN)
        .env("REDLEASE_FENCE", "1")
        .env("TOKEN", TOKEN)
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

#[test]
fn every_command_of_the_readme_is_understood() {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let lines = commands(&readme);
    assert!(lines.len() > 15, "{lines:?}");
    for line in lines {
        // There is no terminal to ask on.
        let line = line.replace("redlease break", "redlease break --yes");
        let out = understood(&line);
        let said = String::from_utf8_lossy(&out.stderr);
        assert_eq!(out.status.code(), Some(69), "{line}\n{said}");
    }
}

#[test]
fn every_example_of_the_help_is_understood() {
    for command in COMMANDS {
        let help = help_of(command);
        let examples = help.split("Examples:\n").nth(1).unwrap_or_default();
        for line in examples
            .lines()
            .filter(|line| line.starts_with("  redlease "))
        {
            // It goes on until Ctrl-C.
            if line.contains("--watch") {
                continue;
            }
            // What follows is not about redlease, and would not find its programs.
            let line = line.split(" && ").next().unwrap_or_default();
            let line = line.replace("import --yes", "import");
            let line = line.replace("break nightly-import", "break nightly-import --yes");
            let line = line.split(" > ").next().unwrap_or_default().trim();
            let out = understood(line);
            let said = String::from_utf8_lossy(&out.stderr);
            let code = out.status.code();
            assert!(
                code == Some(69) || code == Some(0),
                "{line}\n{code:?} {said}"
            );
        }
    }
}

#[test]
fn completions_are_sound_shell() {
    for (shell, file) in [
        ("bash", "redlease.bash"),
        ("zsh", "_redlease"),
        ("fish", "redlease.fish"),
    ] {
        let path = root().join("completions").join(file);
        let check = Command::new(shell).arg("-n").arg(&path).output();
        match check {
            Ok(out) => assert!(
                out.status.success(),
                "{}",
                String::from_utf8_lossy(&out.stderr)
            ),
            // bash is everywhere that the tests run; the others where they are installed.
            Err(error) => assert!(shell != "bash", "{error}"),
        }
        let printed = Command::new(redlease())
            .args(["completions", shell])
            .output()
            .unwrap();
        assert_eq!(printed.status.code(), Some(0));
        assert_eq!(printed.stdout, fs::read(&path).unwrap(), "{shell}");
    }
}
