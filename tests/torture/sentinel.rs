//! A sentinel, which watches a primary behind the relay's first door and its replica behind the second one. It
//! decides by itself who is primary.

use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::harness::{Client, PATIENCE, wait_until};

pub struct Sentinel {
    child: Child,
    socket: std::path::PathBuf,
    port: u16,
}

impl Sentinel {
    /// With the doors of the relay as the addresses of the two servers.
    pub fn start(folder: &Path, primary: u16) -> Sentinel {
        let folder = folder.join("sentinel");
        std::fs::create_dir(&folder).expect("a folder for the sentinel");
        let free = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = free.local_addr().expect("its number").port();
        drop(free);
        let socket = folder.join("s");
        let lines = [
            format!("port {port}"),
            "bind 127.0.0.1".to_owned(),
            format!("unixsocket {}", socket.display()),
            format!("dir {}", folder.display()),
            "logfile log".to_owned(),
            format!("sentinel monitor torture 127.0.0.1 {primary} 1"),
            "sentinel down-after-milliseconds torture 1500".to_owned(),
            "sentinel failover-timeout torture 2000".to_owned(),
        ];
        let file = folder.join("conf");
        std::fs::write(&file, lines.join("\n") + "\n").expect("the sentinel's configuration");
        let child = Command::new("redis-server")
            .arg(&file)
            .arg("--sentinel")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .expect("redis-server as a sentinel");
        let sentinel = Sentinel {
            child,
            socket,
            port,
        };
        wait_until("the sentinel's knowledge of the replica", PATIENCE, || {
            sentinel
                .ask(&["SENTINEL", "REPLICAS", "torture"])
                .is_some_and(|known| !known.is_empty())
        });
        sentinel
    }

    pub fn url(&self) -> String {
        format!("redis-sentinel://127.0.0.1:{}/torture", self.port)
    }

    fn ask(&self, words: &[&str]) -> Option<Vec<crate::harness::Value>> {
        let mut client = Client::connect(&self.socket).ok()?;
        Some(client.ask(words).array().to_vec())
    }

    /// The port of the primary, as every client is told.
    pub fn primary(&self) -> u16 {
        let told = self.ask(&["SENTINEL", "GET-MASTER-ADDR-BY-NAME", "torture"]);
        let port = told.and_then(|told| told.get(1).map(|port| port.text().parse()));
        port.expect("a sentinel that answers").expect("a port")
    }
}

impl Drop for Sentinel {
    fn drop(&mut self) {
        if let Err(error) = self.child.kill().and_then(|()| self.child.wait()) {
            eprintln!("the sentinel could not be stopped: {error}");
        }
    }
}
