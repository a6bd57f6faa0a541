//! The files in `examples/` do what they say: each is read as cron, systemd or a CI system reads it, and run.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

use crate::harness::{PATIENCE, Redis, wait_until};

/// A host: a folder of programs, among them redlease and stand-ins for the jobs, and a Redis.
struct Host {
    redis: Redis,
    folder: TempDir,
}

impl Host {
    fn with_programs(names: &[&str]) -> Host {
        let host = Host {
            redis: Redis::start(),
            folder: tempfile::tempdir().unwrap(),
        };
        fs::create_dir(host.at("bin")).unwrap();
        symlink(env!("CARGO_BIN_EXE_redlease"), host.at("bin/redlease")).unwrap();
        for name in names {
            host.program(name, "");
        }
        fs::write(host.at("url"), format!("{}\n", host.redis.url())).unwrap();
        fs::set_permissions(host.at("url"), fs::Permissions::from_mode(0o600)).unwrap();
        host
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A program that notes its arguments, and then does `more`. A name with a slash is in the working folder.
    fn program(&self, name: &str, more: &str) {
        let path = match name.strip_prefix("./") {
            Some(name) => self.at(name),
            None => self.at("bin").join(name),
        };
        let log = self.at("log");
        let text = format!(
            "#!/bin/sh\necho \"{name} $*\" >> {}\n{more}\n",
            log.display()
        );
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn path(&self) -> String {
        format!("{}:/usr/bin:/bin", self.at("bin").display())
    }

    /// What cron, a unit or a runner starts a command with: almost nothing.
    fn command(&self, program: impl AsRef<Path>) -> Command {
        let mut command = Command::new(program.as_ref());
        command
            .env_clear()
            .env("PATH", self.path())
            .current_dir(self.folder.path())
            .stdin(Stdio::null());
        command
    }

    fn log(&self) -> Vec<String> {
        fs::read_to_string(self.at("log"))
            .unwrap_or_default()
            .lines()
            .map(str::to_owned)
            .collect()
    }

    fn free(&self, key: &str) -> bool {
        !self.redis.exists(&format!("redlease:{{{key}}}"))
    }
}

fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("examples")
        .join(name)
}

fn text_of(name: &str) -> String {
    fs::read_to_string(example(name)).unwrap()
}

/// 0, and nothing for anybody to read: cron mails every line.
fn quiet_success(out: &Output, what: &str) {
    let said = format!(
        "{}{}",
        String::from_utf8_lossy(&out.stdout),
        String::from_utf8_lossy(&out.stderr)
    );
    assert_eq!(out.status.code(), Some(0), "{what}: {said}");
    assert_eq!(said, "", "{what}");
}

/// The commands of a crontab as cron(8) makes them: `\%` is `%`, and a bare `%` would begin the input.
fn cron_commands(text: &str) -> Vec<String> {
    text.lines()
        .filter(|line| line.starts_with(|c: char| c == '*' || c.is_ascii_digit()))
        .map(|line| {
            let command = line.splitn(6, ' ').nth(5).unwrap();
            let command = command.replace("\\%", "\u{1}");
            assert!(!command.contains('%'), "cron would cut {line:?}");
            command.replace('\u{1}', "%")
        })
        .collect()
}

#[test]
fn the_crontab_runs_each_job_once_and_sends_no_mail() {
    let text = text_of("crontab");
    assert!(text.contains("REDLEASE_URL_FILE="));
    let host = Host::with_programs(&["import-orders", "backup-to", "vacuum-db"]);
    let commands = cron_commands(&text);
    assert_eq!(commands.len(), 3);
    for command in &commands {
        // Twice: another host's cron, a moment later.
        for _ in 0..2 {
            let out = host
                .command("/bin/sh")
                .args(["-c", command])
                .env("REDLEASE_URL_FILE", host.at("url"))
                .output()
                .unwrap();
            quiet_success(&out, command);
        }
    }
    let log = host.log();
    let runs = |name: &str| log.iter().filter(|line| line.starts_with(name)).count();
    assert_eq!(runs("import-orders --since 15m"), 1, "{log:?}");
    assert_eq!(runs("backup-to /srv/backup/2"), 1, "{log:?}");
    // It has ended before the second one asks: nothing keeps that one out.
    assert_eq!(runs("vacuum-db"), 2, "{log:?}");
}

#[test]
fn the_unit_runs_its_job_under_a_lease() {
    let host = Host::with_programs(&["import-orders"]);
    let unit = text_of("systemd/redlease-import.service");
    let line = unit
        .lines()
        .find_map(|line| line.strip_prefix("ExecStart="))
        .unwrap();
    assert!(unit.contains("LoadCredential=redis-url:"));
    symlink(host.at("url"), host.at("redis-url")).unwrap();
    let line = line
        .replace("/usr/local/bin", host.at("bin").to_str().unwrap())
        .replace("%d", host.folder.path().to_str().unwrap())
        .replace("%n", "redlease-import.service");
    assert!(!line.contains('%'), "{line}");
    let words: Vec<&str> = line.split(' ').collect();
    let out = host.command(words[0]).args(&words[1..]).output().unwrap();
    quiet_success(&out, &line);
    let job = host.at("bin/import-orders");
    assert_eq!(host.log().len(), 1, "{}", job.display());
    assert!(host.free("import"));
    let timer = text_of("systemd/redlease-import.timer");
    assert!(timer.contains("OnCalendar=hourly"));
}

/// The `run: |` blocks of a job of a workflow, in order.
fn workflow_steps(text: &str, job: &str) -> Vec<String> {
    let mut steps = Vec::new();
    let (mut inside, mut block) = (false, None::<String>);
    for line in text.lines() {
        let indent = line.len() - line.trim_start().len();
        if indent <= 2 && !line.trim().is_empty() {
            inside = line.trim() == format!("{job}:");
        }
        if let Some(open) = &mut block {
            if indent >= 10 {
                open.push_str(line.trim_start());
                open.push('\n');
                continue;
            }
            steps.extend(block.take());
        }
        if inside && line.trim() == "run: |" {
            block = Some(String::new());
        }
    }
    steps.extend(block);
    steps
}

/// Runs the steps as a runner does: a shell each, with what earlier ones wrote to GITHUB_ENV.
fn run_steps(host: &Host, job: &str) -> Vec<String> {
    let steps = workflow_steps(&text_of("github-actions.yml"), job);
    let mut said = Vec::new();
    for step in &steps {
        let mut command = host.command("/bin/bash");
        command
            .args(["--noprofile", "--norc", "-eo", "pipefail", "-c", step])
            .env("REDLEASE_URL", host.redis.url())
            .env("REDLEASE_LABEL", "owner/repository 17")
            .env("GITHUB_ENV", host.at("github-env"));
        if job == "several-steps" {
            command.env("REDLEASE_KEY", "deploy");
        }
        let kept = fs::read_to_string(host.at("github-env")).unwrap_or_default();
        for (name, value) in kept.lines().filter_map(|line| line.split_once('=')) {
            command.env(name, value);
        }
        let out = command.output().unwrap();
        let errors = String::from_utf8_lossy(&out.stderr).into_owned();
        assert_eq!(out.status.code(), Some(0), "{step}\n{errors}");
        said.push(String::from_utf8_lossy(&out.stdout).into_owned());
    }
    said
}

#[test]
fn one_step_of_a_workflow_holds_the_lease_and_reports() {
    let host = Host::with_programs(&["./deploy.sh"]);
    let said = run_steps(&host, "one-step");
    assert_eq!(said.len(), 2);
    assert_eq!(host.log().len(), 1);
    assert!(said[1].contains("\"completed\""), "{}", said[1]);
    assert!(host.free("deploy"));
}

#[test]
fn steps_of_a_workflow_hand_a_token_on() {
    let host = Host::with_programs(&["./deploy.sh"]);
    let said = run_steps(&host, "several-steps");
    assert_eq!(said.len(), 4);
    assert!(said[0].starts_with("::add-mask::"));
    assert_eq!(host.log(), ["./deploy.sh ", "./deploy.sh --switch"]);
    assert!(host.free("deploy"));
}

#[test]
fn a_pipeline_runs_its_scripts_and_may_find_the_lease_held() {
    let host = Host::with_programs(&["./deploy.sh", "./housekeeping.sh"]);
    let text = text_of("gitlab-ci.yml");
    let lines: Vec<&str> = text
        .lines()
        .filter_map(|line| line.trim().strip_prefix("- redlease "))
        .collect();
    assert_eq!(lines.len(), 2);
    let run = |line: &str| {
        host.command("/bin/sh")
            .args(["-c", &format!("redlease {line}")])
            .env("REDLEASE_URL", host.redis.url())
            .output()
            .unwrap()
    };
    for line in &lines {
        assert_eq!(run(line).status.code(), Some(0), "{line}");
    }
    assert_eq!(host.log().len(), 2);
    assert!(host.at("redlease.json").exists());
    // What `allow_failure` names.
    host.redis
        .steal("redlease:{housekeeping}", "another", 60_000);
    assert_eq!(run(lines[1]).status.code(), Some(75));
}

#[test]
fn a_script_restarts_itself_under_a_lease() {
    let host = Host::with_programs(&[]);
    let run = || {
        host.command(example("one-at-a-time.sh"))
            .args(["a b", "c"])
            .env("REDLEASE_URL", host.redis.url())
            .output()
            .unwrap()
    };
    let out = run();
    let said = String::from_utf8_lossy(&out.stdout).into_owned();
    assert_eq!(out.status.code(), Some(0), "{said}");
    assert!(
        said.starts_with("fence ") && said.ends_with(": working on a b c\n"),
        "{said}"
    );
    host.redis
        .steal("redlease:{one-at-a-time}", "another", 60_000);
    assert_eq!(run().status.code(), Some(75));
}

#[test]
fn the_middle_of_a_script_is_under_a_lease() {
    let host = Host::with_programs(&[]);
    let out = host
        .command(example("middle-of-a-script.sh"))
        .env("REDLEASE_URL", host.redis.url())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&out.stdout).into_owned();
    let errors = String::from_utf8_lossy(&out.stderr).into_owned();
    assert_eq!(out.status.code(), Some(0), "{said}{errors}");
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(lines.len(), 3, "{said}");
    assert!(lines[1].starts_with("switching with fence "), "{said}");
    assert_eq!(lines[2], "switched");
    wait_until("the release", PATIENCE, || host.free("switch"));
}

/// The demo itself, with the program under test in the place of a build.
#[test]
fn the_demo_shows_what_it_promises() {
    let out = Command::new(example("demo.sh"))
        .env("REDLEASE", env!("CARGO_BIN_EXE_redlease"))
        // The jobs overlap on a busy machine too.
        .env("STEP", "1")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&out.stdout).into_owned();
    let errors = String::from_utf8_lossy(&out.stderr).into_owned();
    assert_eq!(out.status.code(), Some(0), "{said}\n{errors}");
    for part in [
        "[host-a] import is done",
        "host-b came second, and ended with 75",
        "[host-c] import is done",
        "sleepy woke, and ended with 79",
        "kills the job; A ends with 79",
        "is REFUSED",
        "rows in the resource: A B",
    ] {
        assert!(said.contains(part), "{part}: {said}\n{errors}");
    }
}
