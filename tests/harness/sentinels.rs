//! A primary with two replicas, and three real sentinels that watch it.

use std::process::{Child, Command, Stdio};
use std::time::Duration;

use super::{Redis, Value, ports, wait_until};

/// How long sentinels may take to agree on a busy machine: one that was not given a turn for 2 s trusts its own
/// clock only after 30 s more.
pub const AGREEMENT: Duration = Duration::from_secs(90);

pub struct Sentinels {
    pub servers: Vec<Redis>,
    pub ports: Vec<u16>,
    sentinels: Vec<Child>,
    sentinel_ports: Vec<u16>,
    folder: tempfile::TempDir,
}

impl Sentinels {
    /// `password` is that of the sentinels themselves.
    pub fn start(password: Option<&str>) -> Sentinels {
        let ports: Vec<u16> = (0..3).map(|_| ports::pick()).collect();
        let server = |index: usize| {
            let options = Redis::options()
                .line(&format!("port {}", ports[index]))
                .line("repl-diskless-sync-delay 0");
            match index {
                0 => options.start(),
                _ => options
                    .line(&format!("replicaof 127.0.0.1 {}", ports[0]))
                    .start(),
            }
        };
        let servers: Vec<Redis> = (0..3).map(server).collect();
        let folder = tempfile::Builder::new()
            .prefix("rl-")
            .tempdir_in("/tmp")
            .expect("a folder for sentinels");
        let mut trio = Sentinels {
            servers,
            ports,
            sentinels: Vec::new(),
            sentinel_ports: (0..3).map(|_| ports::pick()).collect(),
            folder,
        };
        for index in [1, 2] {
            trio.await_replica(index);
        }
        for index in 0..3 {
            trio.start_sentinel(index, password);
        }
        wait_until("sentinels that know each other", AGREEMENT, || {
            (0..3).all(|index| {
                let info = trio.ask_sentinel(index, password);
                info.contains("slaves=2,sentinels=3") && info.contains("status=ok")
            })
        });
        trio
    }

    fn start_sentinel(&mut self, index: usize, password: Option<&str>) {
        let folder = self.folder.path().join(index.to_string());
        std::fs::create_dir(&folder).expect("a folder for a sentinel");
        let mut lines = vec![
            format!("port {}", self.sentinel_ports[index]),
            format!("unixsocket {}", folder.join("s").display()),
            "bind 127.0.0.1".to_owned(),
            format!("dir {}", folder.display()),
            "logfile log".to_owned(),
            format!("sentinel monitor main 127.0.0.1 {} 2", self.ports[0]),
            "sentinel down-after-milliseconds main 1500".to_owned(),
            "sentinel failover-timeout main 5000".to_owned(),
            "sentinel parallel-syncs main 2".to_owned(),
        ];
        if let Some(password) = password {
            lines.push(format!("requirepass {password}"));
            lines.push(format!("sentinel sentinel-pass {password}"));
        }
        std::fs::write(folder.join("conf"), lines.join("\n") + "\n").expect("its configuration");
        let child = Command::new(self.servers[0].program())
            .arg(folder.join("conf"))
            .arg("--sentinel")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("a sentinel");
        self.sentinels.push(child);
    }

    fn ask_sentinel(&self, index: usize, password: Option<&str>) -> String {
        let socket = self.folder.path().join(index.to_string()).join("s");
        let Ok(mut client) = super::Client::connect(&socket) else {
            return String::new();
        };
        if let Some(password) = password {
            drop(client.try_ask(&[b"AUTH", password.as_bytes()]));
        }
        match client.try_ask(&[b"INFO", b"sentinel"]) {
            Ok(Value::Text(text)) => String::from_utf8_lossy(&text).into_owned(),
            _ => String::new(),
        }
    }

    /// The URL without credentials: `redis-sentinel://H,H,H/main`.
    pub fn url(&self) -> String {
        format!("redis-sentinel://{}/main", self.hosts())
    }

    pub fn hosts(&self) -> String {
        let hosts: Vec<String> = self
            .sentinel_ports
            .iter()
            .map(|port| format!("127.0.0.1:{port}"))
            .collect();
        hosts.join(",")
    }

    /// Ends one of the sentinels.
    pub fn kill_sentinel(&mut self, index: usize) {
        let child = &mut self.sentinels[index];
        child.kill().expect("a sentinel is ours to kill");
        child.wait().expect("a sentinel is ours to wait for");
    }

    pub fn await_replica(&self, index: usize) {
        wait_until("a replica that follows", AGREEMENT, || {
            let info = self.replication(index);
            info.contains("role:slave") && info.contains("master_link_status:up")
        });
    }

    pub fn is_primary(&self, index: usize) -> bool {
        self.replication(index).contains("role:master")
    }

    fn replication(&self, index: usize) -> String {
        let info = self.servers[index].try_cli(&["INFO", "replication"]);
        info.map(|info| info.text()).unwrap_or_default()
    }

    /// Waits until one of the other servers is the primary, after `old` was killed.
    pub fn new_primary(&self, old: usize) -> usize {
        let mut found = None;
        wait_until("a new primary", AGREEMENT, || {
            found = (0..3).find(|index| *index != old && self.is_primary(*index));
            found.is_some()
        });
        found.expect("just found")
    }

    /// Starts a killed server again, as a replica of the primary, and waits until it and the other one follow and
    /// all sentinels know.
    pub fn rejoin(&mut self, old: usize, primary: usize) {
        self.servers[old].restart();
        let port = self.ports[primary].to_string();
        self.servers[old].try_cli(&["REPLICAOF", "127.0.0.1", &port]);
        for index in 0..3 {
            if index != primary {
                wait_until("a replica of the new primary", AGREEMENT, || {
                    let info = self.replication(index);
                    info.contains(&format!("master_port:{port}\r"))
                        && info.contains("master_link_status:up")
                });
            }
        }
        let address = format!("address=127.0.0.1:{port},");
        wait_until("sentinels that agree", AGREEMENT, || {
            (0..3).all(|index| {
                let info = self.ask_sentinel(index, None);
                info.contains(&address) && info.contains("status=ok")
            })
        });
    }
}

impl Drop for Sentinels {
    fn drop(&mut self) {
        for child in &mut self.sentinels {
            drop(child.kill().and_then(|()| child.wait()));
        }
    }
}
