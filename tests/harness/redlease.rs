//! One run of redlease: what is typed, what it is given, and what became of it.

use std::ffi::{OsStr, OsString};
use std::io::{Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;

use super::process::{children, environment, gone, marked, send, wait_until};
use super::{PATIENCE, Redis};

pub const BINARY: &str = env!("CARGO_BIN_EXE_redlease");
/// Finds every process of a run, whatever group, session or parent it took.
const MARKER: &str = "TEST_RUN";

/// A command line in the making. The environment is empty but for PATH, the server's URL and a marker.
pub struct Redlease {
    before: Vec<OsString>,
    words: Vec<OsString>,
    job: Vec<OsString>,
    environment: Vec<(OsString, OsString)>,
    folder: Option<std::path::PathBuf>,
    input: Option<Vec<u8>>,
    limit: Duration,
}

impl Redlease {
    /// `redlease WORDS…`
    pub fn command<I, S>(words: I) -> Redlease
    where
        I: IntoIterator<Item = S>,
        S: AsRef<OsStr>,
    {
        Redlease {
            before: Vec::new(),
            words: words.into_iter().map(|w| w.as_ref().to_owned()).collect(),
            job: Vec::new(),
            environment: Vec::new(),
            folder: None,
            input: None,
            limit: Duration::from_secs(40),
        }
    }

    /// `redlease run --key KEY`, with a TTL of 30 s unless `ttl` says another.
    pub fn run(key: &str) -> Redlease {
        Redlease::command(["run", "--key", key])
    }

    pub fn on(self, redis: &Redis) -> Redlease {
        let url = redis.url();
        self.env("REDLEASE_URL", &url)
    }

    pub fn ttl(self, ttl: &str) -> Redlease {
        self.arg("--ttl").arg(ttl)
    }

    pub fn arg(mut self, word: impl AsRef<OsStr>) -> Redlease {
        self.words.push(word.as_ref().to_owned());
        self
    }

    pub fn args<I, S>(mut self, words: I) -> Redlease
    where
        I: IntoIterator<Item = S>,
        S: AsRef<OsStr>,
    {
        self.words
            .extend(words.into_iter().map(|w| w.as_ref().to_owned()));
        self
    }

    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Redlease {
        self.environment
            .push((name.as_ref().to_owned(), value.as_ref().to_owned()));
        self
    }

    /// What comes after `--`.
    pub fn job<I, S>(mut self, words: I) -> Redlease
    where
        I: IntoIterator<Item = S>,
        S: AsRef<OsStr>,
    {
        self.job = words.into_iter().map(|w| w.as_ref().to_owned()).collect();
        self
    }

    pub fn sh(self, script: &str) -> Redlease {
        self.job(["sh", "-c", script])
    }

    /// Signals between two commands of a shell can be lost by it; a perl script loses none.
    pub fn perl(self, script: &str) -> Redlease {
        self.job(["perl", "-e", &format!("$| = 1; {script}")])
    }

    /// A job that says "up" and then holds the lease until TERM, which it answers with 0.
    pub fn holds(self) -> Redlease {
        self.perl("$SIG{TERM} = sub { exit 0 }; print qq(up\n); sleep 1 while 1")
    }

    /// A program that arranges things and then becomes redlease by exec: `BEFORE… redlease WORDS…`.
    pub fn under<I, S>(mut self, before: I) -> Redlease
    where
        I: IntoIterator<Item = S>,
        S: AsRef<OsStr>,
    {
        self.before = before.into_iter().map(|w| w.as_ref().to_owned()).collect();
        self
    }

    /// Perl statements before redlease takes the place of the script.
    pub fn after_perl(self, statements: &str) -> Redlease {
        let script = format!("{statements}; exec {{ $ARGV[0] }} @ARGV or die $!");
        self.under(["perl", "-e", &script])
    }

    pub fn input(mut self, bytes: &[u8]) -> Redlease {
        self.input = Some(bytes.to_vec());
        self
    }

    pub fn folder(mut self, folder: &std::path::Path) -> Redlease {
        self.folder = Some(folder.to_owned());
        self
    }

    /// How long `wait` waits for the end.
    pub fn limit(mut self, limit: Duration) -> Redlease {
        self.limit = limit;
        self
    }

    pub fn words(&self) -> Vec<OsString> {
        let mut words = self.before.clone();
        words.push(BINARY.into());
        words.extend(self.words.iter().cloned());
        if !self.job.is_empty() {
            words.push("--".into());
            words.extend(self.job.iter().cloned());
        }
        words
    }

    /// The job as it runs without redlease: same environment, same arrangements.
    pub fn start_directly(self) -> Running {
        let mut words = self.before.clone();
        words.extend(self.job.iter().cloned());
        self.start_words(words, None)
    }

    pub fn start(self) -> Running {
        let words = self.words();
        self.start_words(words, None)
    }

    /// In a process group of its own, as a shell with job control starts it.
    pub fn start_in_own_group(self) -> Running {
        let words = self.words();
        self.start_words(words, Some(0))
    }

    fn start_words(self, words: Vec<OsString>, group: Option<i32>) -> Running {
        let marker = uuid::Uuid::new_v4().to_string();
        let mut command = self.prepared(&words, &marker);
        command
            .stdin(if self.input.is_some() {
                Stdio::piped()
            } else {
                Stdio::null()
            })
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        if let Some(group) = group {
            std::os::unix::process::CommandExt::process_group(&mut command, group);
        }
        let mut child = command
            .spawn()
            .unwrap_or_else(|error| panic!("{words:?}: {error}"));
        if let (Some(bytes), Some(mut pipe)) = (self.input, child.stdin.take()) {
            // From a thread: a job that reads nothing must not hold the test.
            std::thread::spawn(move || pipe.write_all(&bytes));
        }
        let stdout = Stream::read(child.stdout.take().expect("a pipe"));
        let stderr = Stream::read(child.stderr.take().expect("a pipe"));
        Running {
            shown: format!("{words:?}"),
            marker: format!("{MARKER}={marker}"),
            started: Instant::now(),
            child,
            stdout,
            stderr,
            limit: self.limit,
            done: false,
        }
    }

    /// The command with its environment; `marker` goes into it.
    pub fn prepared(&self, words: &[OsString], marker: &str) -> Command {
        // A caller that runs the tests in the background of a script ignores INT and QUIT, and all would inherit it.
        let mut command = Command::new("/usr/bin/env");
        command
            .arg("--default-signal")
            .args(words)
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env(MARKER, marker)
            .envs(self.environment.iter().cloned());
        if let Some(folder) = &self.folder {
            command.current_dir(folder);
        }
        command
    }

    pub fn output(self) -> Outcome {
        self.start().wait()
    }

    #[track_caller]
    pub fn exits(self, code: i32) -> Outcome {
        self.start().exits(code)
    }
}

/// What a process writes, read by a thread as it comes.
#[derive(Clone, Default)]
pub struct Stream(Arc<Shared>);

#[derive(Default)]
struct Shared {
    held: Mutex<Held>,
    grown: Condvar,
}

#[derive(Default)]
struct Held {
    bytes: Vec<u8>,
    closed: bool,
}

impl Stream {
    pub fn read(mut pipe: impl Read + Send + 'static) -> Stream {
        let stream = Stream::default();
        let shared = stream.0.clone();
        std::thread::spawn(move || {
            let mut bytes = [0; 65536];
            loop {
                let read = pipe.read(&mut bytes).unwrap_or(0);
                let mut held = shared.held.lock().expect("no reader panics");
                held.bytes.extend_from_slice(&bytes[..read]);
                held.closed = read == 0;
                shared.grown.notify_all();
                if read == 0 {
                    return;
                }
            }
        });
        stream
    }

    pub fn bytes(&self) -> Vec<u8> {
        self.0.held.lock().expect("no reader panics").bytes.clone()
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes()).into_owned()
    }

    /// Waits until nobody can write any more.
    pub fn closed(&self, limit: Duration) -> bool {
        let held = self.0.held.lock().expect("no reader panics");
        let (held, _) = self
            .0
            .grown
            .wait_timeout_while(held, limit, |held| !held.closed)
            .expect("no reader panics");
        held.closed
    }
}

pub struct Running {
    shown: String,
    marker: String,
    started: Instant,
    child: Child,
    pub stdout: Stream,
    pub stderr: Stream,
    limit: Duration,
    done: bool,
}

/// How a run ended. `code` is what a shell shows: 128+n for a death by signal n.
#[derive(Debug)]
pub struct Outcome {
    pub code: i32,
    pub status: ExitStatus,
    pub stdout: Vec<u8>,
    pub stderr: String,
    pub took: Duration,
}

impl Outcome {
    pub fn out(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }

    /// Nothing on stdout, and on stderr one line of redlease's own with all of these parts.
    #[track_caller]
    pub fn says(&self, parts: &[&str]) {
        assert_eq!(self.out(), "");
        let lines: Vec<&str> = self.stderr.lines().collect();
        assert_eq!(lines.len(), 1, "{}", self.stderr);
        assert!(lines[0].starts_with("redlease: "), "{}", self.stderr);
        for part in parts {
            assert!(lines[0].contains(part), "no {part:?} in {:?}", lines[0]);
        }
    }

    #[track_caller]
    pub fn silent_on_stderr(&self) {
        assert_eq!(self.stderr, "");
    }

    #[track_caller]
    pub fn silent(&self) {
        assert_eq!((self.out().as_str(), self.stderr.as_str()), ("", ""));
    }
}

impl Running {
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    #[track_caller]
    pub fn line(&self, line: &str) {
        wait_until(
            &format!("{line:?} on stdout of {}", self.shown),
            PATIENCE,
            || self.stdout.text().lines().any(|seen| seen == line),
        );
    }

    /// The job of `holds` runs.
    #[track_caller]
    pub fn up(self) -> Running {
        self.line("up");
        self
    }

    /// Ends the job of `holds`.
    #[track_caller]
    pub fn finish(self) -> Outcome {
        self.signal(Signal::SIGTERM);
        self.exits(0)
    }

    #[track_caller]
    pub fn complains(&self, part: &str) {
        wait_until(
            &format!("{part:?} on stderr of {}", self.shown),
            PATIENCE,
            || self.stderr.text().contains(part),
        );
    }

    /// To redlease alone.
    pub fn signal(&self, signal: Signal) {
        send(self.pid(), signal);
    }

    pub fn ended(&mut self) -> bool {
        self.child.try_wait().expect("our own child").is_some()
    }

    /// Living processes of the run: redlease and the guard included.
    pub fn processes(&self) -> Vec<u32> {
        marked(&self.marker)
    }

    /// Living processes of the job: those that were given a lease.
    pub fn job_processes(&self) -> Vec<u32> {
        let mut found = self.processes();
        found.retain(|pid| {
            environment(*pid)
                .iter()
                .any(|entry| entry == "REDLEASE_HELD=true")
        });
        found
    }

    /// The guard: redlease's child, which is the job's parent.
    #[track_caller]
    pub fn guard(&self) -> u32 {
        let mut found = None;
        wait_until("the guard", PATIENCE, || {
            found = children(self.pid()).first().copied();
            found.is_some()
        });
        found.expect("just found")
    }

    /// The job's first process.
    #[track_caller]
    pub fn job(&self) -> u32 {
        let guard = self.guard();
        let mut found = None;
        wait_until("the job", PATIENCE, || {
            found = self
                .job_processes()
                .into_iter()
                .find(|pid| children(guard).contains(pid));
            found.is_some()
        });
        found.expect("just found")
    }

    #[track_caller]
    pub fn wait(mut self) -> Outcome {
        let mut status = None;
        let limit = self.limit;
        wait_until(&format!("the end of {}", self.shown), limit, || {
            status = self.child.try_wait().expect("our own child");
            status.is_some()
        });
        let status = status.expect("just seen");
        let took = self.started.elapsed();
        self.done = true;
        // A process that outlives the run may keep a stream open; what it writes later is not the run's.
        let closed = self.stdout.closed(PATIENCE) && self.stderr.closed(PATIENCE);
        assert!(closed, "somebody still holds the streams of {}", self.shown);
        Outcome {
            code: status
                .code()
                .unwrap_or_else(|| 128 + status.signal().expect("a code or a signal")),
            status,
            stdout: self.stdout.bytes(),
            stderr: self.stderr.text(),
            took,
        }
    }

    #[track_caller]
    pub fn exits(self, code: i32) -> Outcome {
        let shown = self.shown.clone();
        let outcome = self.wait();
        assert_eq!(
            outcome.code,
            code,
            "{shown}\n--- stdout:\n{}--- stderr:\n{}",
            outcome.out(),
            outcome.stderr
        );
        outcome
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if std::thread::panicking() && !self.done {
            eprintln!(
                "--- {}\n--- stdout:\n{}--- stderr:\n{}",
                self.shown,
                self.stdout.text(),
                self.stderr.text()
            );
        }
        if !self.done {
            send(self.pid(), Signal::SIGKILL);
            if self.child.wait().is_err() {
                eprintln!("--- {} could not be waited for", self.shown);
            }
        }
        // What a failed guard may have left. Never ourselves: the marker is in no environment but the run's.
        let start = Instant::now();
        loop {
            let left: Vec<u32> = self
                .processes()
                .into_iter()
                .filter(|pid| !gone(*pid))
                .collect();
            if left.is_empty() || start.elapsed() > Duration::from_secs(5) {
                return;
            }
            for pid in left {
                send(pid, Signal::SIGKILL);
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}
