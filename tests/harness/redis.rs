//! A private redis-server for one test: on a unix socket in a folder with a short path (a socket's path has at
//! most 107 bytes), without persistence unless asked for, and with real faults.

use std::ffi::OsString;
use std::io::ErrorKind;
use std::net::TcpListener;
use std::os::unix::fs::symlink;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use nix::sys::signal::Signal;
use tempfile::TempDir;

use super::process::{Moment, now, send, wait_until};
use super::{Client, PATIENCE, Value, ms};

/// What a server is started with.
#[derive(Default)]
pub struct Options {
    lines: Vec<String>,
    tcp: bool,
    stock: bool,
    debug: bool,
    password: Option<String>,
    environment: Vec<(String, OsString)>,
}

impl Options {
    /// A line of redis.conf.
    pub fn line(mut self, line: &str) -> Options {
        self.lines.push(line.to_owned());
        self
    }

    /// Listens on a free port of 127.0.0.1 too.
    pub fn tcp(mut self) -> Options {
        self.tcp = true;
        self
    }

    /// The distribution's server, whatever other one the suite runs on: for what not every build knows.
    pub fn stock(mut self) -> Options {
        self.stock = true;
        self
    }

    /// Allows DEBUG, which servers before 7.0 always do.
    pub fn debug(mut self) -> Options {
        self.debug = true;
        self
    }

    /// Asks every client for this password; the test's own clients give it.
    pub fn password(mut self, password: &str) -> Options {
        self.password = Some(password.to_owned());
        self
    }

    /// A variable of the server's environment.
    #[allow(
        dead_code,
        reason = "the torture, a binary of its own, steps a server's clock by it"
    )]
    pub fn env(mut self, name: &str, value: impl Into<OsString>) -> Options {
        self.environment.push((name.to_owned(), value.into()));
        self
    }

    /// Every write is on the disk before its reply: a restart loses nothing.
    pub fn persistent(self) -> Options {
        self.line("appendonly yes").line("appendfsync always")
    }

    pub fn start(self) -> Redis {
        let folder = tempfile::Builder::new()
            .prefix("rl-")
            .rand_bytes(6)
            .tempdir_in("/tmp")
            .expect("a folder for the server");
        let other = std::env::var_os("REDLEASE_TEST_SERVER").filter(|_| !self.stock);
        let binary = other.unwrap_or_else(|| OsString::from("redis-server"));
        // Under a name of its own: whoever ends servers by name does not end ours.
        let program = folder.path().join("rl-server");
        symlink(find(&binary), &program).expect("a link to the server");
        let mut options = self;
        if options.debug && !is_old(&program) {
            options = options.line("enable-debug-command yes");
        }
        let mut redis = Redis {
            folder,
            program,
            options,
            port: 0,
            child: None,
            loads_slowly: false,
        };
        redis.restart();
        redis
    }
}

/// `Redis server v=6.2.14 …`
fn is_old(program: &Path) -> bool {
    let output = Command::new(program).arg("--version").output();
    let version = output.map(|output| output.stdout).unwrap_or_default();
    String::from_utf8_lossy(&version).contains("v=6.")
}

fn find(binary: &OsString) -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path)
        .chain([PathBuf::from("/usr/bin"), PathBuf::from("/usr/sbin")])
        .map(|folder| folder.join(binary))
        .find(|file| file.is_file());
    found.unwrap_or_else(|| {
        panic!(
            "no {binary:?} on PATH, and the tests need a real server: apt-get install redis-server"
        )
    })
}

pub struct Redis {
    folder: TempDir,
    program: PathBuf,
    options: Options,
    port: u16,
    child: Option<Child>,
    loads_slowly: bool,
}

/// A server answers LOADING while it reads what it has kept; that is up enough only for the test of it.
fn up(reply: &Value, slow: bool) -> bool {
    slow || !matches!(reply, Value::Error(text) if text.starts_with("LOADING"))
}

impl Redis {
    pub fn start() -> Redis {
        Redis::options().start()
    }

    pub fn options() -> Options {
        Options::default()
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub fn socket(&self) -> PathBuf {
        self.folder().join("s")
    }

    /// The URL of the unix socket, without a password.
    pub fn url(&self) -> String {
        format!("unix://{}", self.socket().display())
    }

    /// The port on 127.0.0.1, of a server that was started with `tcp`.
    pub fn port(&self) -> u16 {
        assert!(self.options.tcp, "this server was started without tcp()");
        self.port
    }

    /// The server's program, under the name that is ours.
    pub fn program(&self) -> &Path {
        &self.program
    }

    pub fn pid(&self) -> u32 {
        self.child.as_ref().expect("the server runs").id()
    }

    pub fn client(&self) -> Client {
        self.try_client()
            .unwrap_or_else(|error| panic!("no connection to {}: {error}", self.url()))
    }

    fn try_client(&self) -> std::io::Result<Client> {
        let mut client = Client::connect(&self.socket())?;
        if let Some(password) = &self.options.password {
            client.try_ask(&[b"AUTH", password.as_bytes()])?;
        }
        Ok(client)
    }

    /// One command on a connection of its own. An error reply is a `Value::Error`.
    pub fn cli(&self, words: &[&str]) -> Value {
        self.client().ask(words)
    }

    /// As `cli`, for a server that may hang up meanwhile, as those do whose sentinels or cluster change their role.
    pub fn try_cli(&self, words: &[&str]) -> Option<Value> {
        let words: Vec<&[u8]> = words.iter().map(|word| word.as_bytes()).collect();
        self.try_client().ok()?.try_ask(&words).ok()
    }

    pub fn get(&self, key: &str) -> Option<String> {
        match self.cli(&["GET", key]) {
            Value::Nil => None,
            value => Some(value.text()),
        }
    }

    pub fn exists(&self, key: &str) -> bool {
        self.cli(&["EXISTS", key]).int() == 1
    }

    /// Milliseconds; -1 without a TTL, -2 without the key.
    pub fn pttl(&self, key: &str) -> i64 {
        self.cli(&["PTTL", key]).int()
    }

    pub fn hget(&self, key: &str, field: &str) -> String {
        self.cli(&["HGET", key, field]).text()
    }

    /// Waits for a renewal (or the acquire) that is not older than `age`, and tells the moment at which the server
    /// will drop the key if no other renewal follows: never later than the truth.
    pub fn just_renewed(&self, key: &str, ttl_ms: i64, age_ms: i64) -> Moment {
        let mut end = None;
        wait_until(&format!("a renewal of {key}"), PATIENCE, || {
            let before = now();
            let left = self.pttl(key);
            end = u64::try_from(left).ok().map(|left| before.after(ms(left)));
            left > ttl_ms - age_ms
        });
        end.expect("a key with a TTL")
    }

    /// Stops the server as a hanging machine would: connections stay open and nothing is answered.
    pub fn pause(&self) {
        send(self.pid(), Signal::SIGSTOP);
    }

    pub fn resume(&self) {
        send(self.pid(), Signal::SIGCONT);
    }

    /// SIGKILL: what is not on the disk is gone.
    pub fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().expect("the server is ours to kill");
            child.wait().expect("the server is ours to wait for");
        }
    }

    /// Starts the server on the same socket and files, after killing it where it still runs.
    pub fn restart(&mut self) {
        self.kill();
        for _ in 0..20 {
            self.choose_port();
            self.write_configuration();
            if self.try_start() {
                return;
            }
        }
        panic!("the server does not start:\n{}", self.log());
    }

    /// Starts the server again so that it takes a second for each key that it reads, and answers LOADING until it
    /// has read them. Its keys must be in a snapshot or in the append-only files.
    pub fn restart_slowly(&mut self) {
        self.options.lines.push("key-load-delay 1000000".to_owned());
        self.options
            .lines
            .push("loading-process-events-interval-bytes 1024".to_owned());
        self.loads_slowly = true;
        self.restart();
    }

    /// A server that has lost everything.
    pub fn restart_empty(&mut self) {
        self.kill();
        for entry in std::fs::read_dir(self.folder()).expect("the server's folder") {
            let path = entry.expect("an entry of the server's folder").path();
            let name = path.file_name().unwrap_or_default().to_owned();
            if path.is_dir() && name == "appendonlydir" {
                std::fs::remove_dir_all(&path).expect("the server's append-only files");
            } else if path.extension().is_some_and(|extension| extension == "rdb") {
                std::fs::remove_file(&path).expect("the server's snapshot");
            }
        }
        self.restart();
    }

    /// Cuts every connection but our own.
    pub fn kill_clients(&self) {
        let reply = self.cli(&["CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"]);
        assert!(matches!(reply, Value::Int(_)), "CLIENT KILL: {reply:?}");
    }

    /// Another client takes the key, as an operator or a tool that does not compare would.
    pub fn steal(&self, key: &str, token: &str, ttl_ms: u64) {
        let reply = self.cli(&["SET", key, token, "PX", &ttl_ms.to_string()]);
        assert_eq!(reply, Value::Text(b"OK".to_vec()));
    }

    pub fn log(&self) -> String {
        std::fs::read_to_string(self.folder().join("log")).unwrap_or_default()
    }

    fn choose_port(&mut self) {
        // A port that was free a moment ago; if somebody was faster the server does not start, and the next is
        // tried. A restart keeps the port, so that a client finds the server again.
        if self.options.tcp && self.port == 0 {
            let free = TcpListener::bind("127.0.0.1:0").expect("a free port");
            self.port = free.local_addr().expect("its number").port();
        }
    }

    fn write_configuration(&self) {
        let mut lines = vec![
            format!("port {}", self.port),
            "bind 127.0.0.1".to_owned(),
            format!("unixsocket {}", self.socket().display()),
            "unixsocketperm 700".to_owned(),
            "save \"\"".to_owned(),
            "appendonly no".to_owned(),
            "daemonize no".to_owned(),
            format!("dir {}", self.folder().display()),
            "logfile log".to_owned(),
        ];
        if let Some(password) = &self.options.password {
            lines.push(format!("requirepass {password}"));
        }
        lines.extend(self.options.lines.iter().cloned());
        std::fs::write(self.folder().join("conf"), lines.join("\n") + "\n")
            .expect("the server's configuration");
    }

    /// True once the server is up; false where it ended instead.
    fn try_start(&mut self) -> bool {
        match std::fs::remove_file(self.socket()) {
            Err(error) if error.kind() != ErrorKind::NotFound => panic!("the old socket: {error}"),
            _ => {}
        }
        let child = Command::new(&self.program)
            .arg(self.folder().join("conf"))
            .envs(self.options.environment.iter().cloned())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap_or_else(|error| panic!("{}: {error}", self.program.display()));
        self.child = Some(child);
        let mut ended = false;
        let slow = self.loads_slowly;
        wait_until("the server's first answer", PATIENCE, || {
            let child = self.child.as_mut().expect("just started");
            ended = child.try_wait().expect("the server is ours").is_some();
            ended
                || self
                    .try_client()
                    .and_then(|mut client| client.try_ask(&[b"PING"]))
                    .is_ok_and(|reply| up(&reply, slow))
        });
        if ended {
            self.child = None;
            self.port = 0;
        }
        !ended
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let died = child.try_wait().ok().flatten();
            // SIGKILL ends a stopped process too.
            let stopped = child.kill().and_then(|()| child.wait());
            if std::thread::panicking() {
                if let Some(status) = died {
                    eprintln!("--- the server had ended: signal {:?}", status.signal());
                }
                if let Err(error) = stopped {
                    eprintln!("--- the server could not be stopped: {error}");
                }
            }
        }
        if std::thread::panicking() {
            eprintln!("--- log of the server {}:\n{}", self.url(), self.log());
        }
    }
}
