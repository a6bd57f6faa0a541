//! Where the runs happen, and who runs beside redlease. A peer that is not installed is named as missing.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use super::resp::Client;

/// A folder with a Redis of its own.
pub struct Place {
    pub binary: PathBuf,
    folder: tempfile::TempDir,
    server: Child,
    etcd: Option<Etcd>,
}

impl Place {
    pub fn new(binary: &Path) -> Result<Place> {
        let folder = tempfile::Builder::new().prefix("rlb").tempdir()?;
        let server = Command::new("redis-server")
            .args(["--port", "0", "--save", "", "--appendonly", "no"])
            .arg("--unixsocket")
            .arg(folder.path().join("redis.sock"))
            .arg("--dir")
            .arg(folder.path())
            .args(["--maxclients", "2000"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .context("redis-server")?;
        let place = Place {
            binary: fs::canonicalize(binary)?,
            etcd: etcd(folder.path()),
            folder,
            server,
        };
        for _ in 0..200 {
            if Client::connect(&place.socket()).is_ok_and(|mut c| c.ask(&["PING"]).is_ok()) {
                return Ok(place);
            }
            sleep(Duration::from_millis(50));
        }
        bail!("redis-server did not start")
    }

    pub fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn socket(&self) -> PathBuf {
        self.at("redis.sock")
    }

    pub fn client(&self) -> Result<Client> {
        Client::connect(&self.socket())
    }

    pub fn redlease(&self, words: &[&str]) -> Command {
        let mut command = Command::new(&self.binary);
        command.args(words).env(
            "REDLEASE_URL",
            format!("redis+unix://{}", self.socket().display()),
        );
        command
    }

    pub fn flock(&self, words: &[&str]) -> Command {
        let mut command = Command::new("flock");
        command.arg(self.at("file")).args(words);
        command
    }

    /// `etcdctl lock`, where etcd is installed.
    pub fn etcdctl(&self, words: &[&str]) -> Option<Command> {
        let mut command = self.etcd.as_ref()?.client();
        command.args(["lock", "bench"]).args(words);
        Some(command)
    }

    /// What people write by hand: SET NX PX, the command, a script that compares.
    pub fn shell_wrapper(&self) -> Result<Option<Command>> {
        if !installed("redis-cli") {
            return Ok(None);
        }
        let script = format!(
            "#!/bin/sh\nsocket={}\ntoken=$$-$(date +%s%N)\n\
             [ \"$(redis-cli -s $socket SET wrapped $token NX PX 30000)\" = OK ] || exit 1\n\"$@\"\ncode=$?\n\
             redis-cli -s $socket EVAL \"if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', \
             KEYS[1]) end\" 1 wrapped $token >/dev/null\nexit $code\n",
            self.socket().display()
        );
        let path = self.at("wrapper");
        fs::write(&path, script)?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
        let mut command = Command::new(path);
        command.arg("true");
        Ok(Some(command))
    }

    /// The lock of redis-py, where it is installed.
    pub fn redis_py(&self, words: &[&str]) -> Result<Option<Command>> {
        let found = Command::new("python3")
            .args(["-c", "import redis"])
            .stderr(Stdio::null())
            .status();
        if !found.is_ok_and(|status| status.success()) {
            return Ok(None);
        }
        let script = format!(
            "import redis, subprocess, sys\nr = redis.Redis(unix_socket_path={:?})\nwith r.lock('py', timeout=30):\n    \
             sys.exit(subprocess.call(sys.argv[1:]))\n",
            self.socket().display().to_string()
        );
        let path = self.at("locked.py");
        fs::write(&path, script)?;
        let mut command = Command::new("python3");
        command.arg(path).args(words);
        Ok(Some(command))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        for child in [&mut self.server]
            .into_iter()
            .chain(self.etcd.as_mut().map(|etcd| &mut etcd.server))
        {
            drop(child.kill());
            drop(child.wait());
        }
    }
}

pub fn installed(program: &str) -> bool {
    let paths = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&paths).any(|dir| dir.join(program).exists())
}

/// A server of its own on free ports.
struct Etcd {
    server: Child,
    endpoint: String,
}

/// None when it is not installed, or does not become healthy.
fn etcd(folder: &Path) -> Option<Etcd> {
    if !installed("etcd") || !installed("etcdctl") {
        return None;
    }
    let [endpoint, peers] = [free_url()?, free_url()?];
    let server = Command::new("etcd")
        .arg("--data-dir")
        .arg(folder.join("etcd"))
        .args(["--listen-client-urls", &endpoint])
        .args(["--advertise-client-urls", &endpoint])
        .args(["--listen-peer-urls", &peers])
        .args(["--initial-advertise-peer-urls", &peers])
        .args(["--initial-cluster", &format!("default={peers}")])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let mut etcd = Etcd { server, endpoint };
    for _ in 0..100 {
        let mut health = etcd.client();
        health.args(["--command-timeout", "1s", "endpoint", "health"]);
        if health
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|s| s.success())
        {
            return Some(etcd);
        }
        sleep(Duration::from_millis(100));
    }
    etcd.stop();
    None
}

impl Etcd {
    fn client(&self) -> Command {
        let mut command = Command::new("etcdctl");
        command
            .args(["--endpoints", &self.endpoint])
            .env("ETCDCTL_API", "3");
        command
    }

    fn stop(&mut self) {
        drop(self.server.kill());
        drop(self.server.wait());
    }
}

fn free_url() -> Option<String> {
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).ok()?;
    Some(format!("http://{}", listener.local_addr().ok()?))
}
