//! A private redis-server on a unix socket, and a connection that speaks just enough of its protocol.

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener};
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::lease::reply::{Reply, Script};

pub struct Server {
    folder: TempDir,
    child: Child,
    port: u16,
}

impl Server {
    pub fn start() -> Server {
        Server::on(0)
    }

    /// With a port on 127.0.0.1, for a replica, which knows no other way.
    pub fn with_port() -> (Server, u16) {
        let free = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = free.local_addr().unwrap().port();
        drop(free);
        (Server::on(port), port)
    }

    fn on(port: u16) -> Server {
        let folder = tempfile::Builder::new()
            .prefix("rl-")
            .tempdir_in("/tmp")
            .unwrap();
        let program = std::env::var_os("REDLEASE_TEST_SERVER")
            .map(PathBuf::from)
            .into_iter()
            .chain(["/usr/bin/redis-server", "/usr/local/bin/redis-server"].map(PathBuf::from))
            .find(|file| file.exists())
            .expect("the tests need a real server: apt-get install redis-server");
        // Under a name of its own: whoever ends servers by name does not end ours.
        symlink(program, folder.path().join("rl-server")).unwrap();
        let child = launch(&folder, port);
        let server = Server {
            folder,
            child,
            port,
        };
        server.ready();
        server
    }

    /// Killed and started again: it has nothing but what was saved.
    pub fn restart(&mut self) {
        self.stop();
        self.child = launch(&self.folder, self.port);
        self.ready();
    }

    /// Killed and started again: all is gone.
    pub fn restart_empty(&mut self) {
        match std::fs::remove_file(self.folder.path().join("dump.rdb")) {
            Err(error) if error.kind() != ErrorKind::NotFound => panic!("{error}"),
            _ => self.restart(),
        }
    }

    fn stop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    fn ready(&self) {
        let limit = Instant::now() + Duration::from_secs(20);
        loop {
            if UnixStream::connect(self.folder.path().join("s")).is_ok() {
                let up = self.connect().command(&["EXISTS", "k"]);
                if up == Reply::Int(0) || up == Reply::Int(1) {
                    return;
                }
            }
            assert!(Instant::now() < limit, "the server does not start");
            sleep(Duration::from_millis(5));
        }
    }

    pub fn connect(&self) -> Connection {
        let stream = UnixStream::connect(self.folder.path().join("s")).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(20)))
            .unwrap();
        Connection {
            stream: BufReader::new(stream),
            clock: None,
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}

fn launch(folder: &TempDir, port: u16) -> Child {
    Command::new(folder.path().join("rl-server"))
        .current_dir(folder.path())
        .args(["--port", &port.to_string(), "--bind", "127.0.0.1"])
        .args(["--unixsocket", "s", "--save", ""])
        .args(["--repl-diskless-sync-delay", "0"])
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

pub struct Connection {
    stream: BufReader<UnixStream>,
    /// What is sent as the client's wall clock, in microseconds: the clock of a server that refuses TIME.
    pub clock: Option<u64>,
}

impl Drop for Connection {
    fn drop(&mut self) {
        // Closing is not enough: a process that another test is just about to start holds a copy until its exec. The
        // server may be gone already.
        drop(self.stream.get_ref().shutdown(Shutdown::Both));
    }
}

impl Connection {
    /// Asks a script that is expected to answer.
    pub fn ask<S: Script>(&mut self, script: &S) -> S::Answer {
        let reply = self.raw(script);
        script
            .decode(&reply)
            .unwrap_or_else(|wrong| panic!("{wrong:?} in {reply:?}"))
    }

    pub fn raw<S: Script>(&mut self, script: &S) -> Reply {
        let request = request(script);
        self.execute(&[], &request, &[])
    }

    /// Executes a request, which may have been made long ago, at the present time of the clock, with the commands
    /// before and after it in the same breath.
    pub fn execute(
        &mut self,
        before: &[Vec<String>],
        request: &[Vec<u8>],
        after: &[Vec<String>],
    ) -> Reply {
        let mut parts = request.to_vec();
        if let Some(clock) = self.clock {
            let keys: usize = std::str::from_utf8(&parts[2]).unwrap().parse().unwrap();
            parts[3 + keys] = clock.to_string().into_bytes();
        }
        let mut all: Vec<u8> = before
            .iter()
            .flat_map(|words| packed_words(words))
            .collect();
        all.extend(packed(&parts));
        all.extend(after.iter().flat_map(|words| packed_words(words)));
        self.stream.get_mut().write_all(&all).unwrap();
        for _ in before {
            self.read();
        }
        let reply = self.read();
        for _ in after {
            self.read();
        }
        reply
    }

    /// Many commands in one go.
    pub fn commands(&mut self, all: &[Vec<String>]) -> Vec<Reply> {
        let packed: Vec<u8> = all.iter().flat_map(|words| packed_words(words)).collect();
        self.stream.get_mut().write_all(&packed).unwrap();
        all.iter().map(|_| self.read()).collect()
    }

    /// What has come without being asked for, if anything has.
    pub fn heard(&mut self) -> Option<Reply> {
        self.stream.get_ref().set_nonblocking(true).unwrap();
        let any = self.stream.fill_buf().is_ok_and(|bytes| !bytes.is_empty());
        self.stream.get_ref().set_nonblocking(false).unwrap();
        any.then(|| self.read())
    }

    pub fn command(&mut self, words: &[&str]) -> Reply {
        let parts: Vec<Vec<u8>> = words.iter().map(|word| word.as_bytes().to_vec()).collect();
        self.stream.get_mut().write_all(&packed(&parts)).unwrap();
        self.read()
    }

    pub fn text(&mut self, words: &[&str]) -> String {
        match self.command(words) {
            Reply::Bytes(bytes) => String::from_utf8(bytes).unwrap(),
            other => panic!("{words:?}: {other:?}"),
        }
    }

    pub fn int(&mut self, words: &[&str]) -> i64 {
        self.command(words).int().unwrap()
    }

    pub fn read(&mut self) -> Reply {
        let mut line = String::new();
        self.stream.read_line(&mut line).unwrap();
        let rest = line[1..].trim_end();
        match line.as_bytes()[0] {
            b'+' => Reply::Bytes(rest.as_bytes().to_vec()),
            b'-' => Reply::Error(rest.to_owned()),
            b':' => Reply::Int(rest.parse().unwrap()),
            b'$' => {
                let Ok(length) = rest.parse::<usize>() else {
                    return Reply::Nil;
                };
                let mut bytes = vec![0; length + 2];
                self.stream.read_exact(&mut bytes).unwrap();
                bytes.truncate(length);
                Reply::Bytes(bytes)
            }
            b'*' => match rest.parse::<usize>() {
                Ok(length) => Reply::Array((0..length).map(|_| self.read()).collect()),
                Err(_) => Reply::Nil,
            },
            _ => panic!("{line:?}"),
        }
    }
}

/// A script's request as it goes over the wire.
pub fn request<S: Script>(script: &S) -> Vec<Vec<u8>> {
    let keys = script.keys();
    let mut parts = vec![
        b"EVAL".to_vec(),
        script.source().as_bytes().to_vec(),
        keys.len().to_string().into_bytes(),
    ];
    parts.extend(keys.into_iter().map(String::into_bytes));
    parts.extend(script.args());
    parts
}

fn packed(parts: &[Vec<u8>]) -> Vec<u8> {
    let mut request = format!("*{}\r\n", parts.len()).into_bytes();
    for part in parts {
        request.extend(format!("${}\r\n", part.len()).into_bytes());
        request.extend(part);
        request.extend(b"\r\n");
    }
    request
}

fn packed_words(words: &[String]) -> Vec<u8> {
    let parts: Vec<Vec<u8>> = words.iter().map(|word| word.clone().into_bytes()).collect();
    packed(&parts)
}
