//! Stands between redlease and the server: a network that delays, cuts, swallows and delivers late, and the witness
//! of what was asked and answered. One thread, so that what it notes has an order.

mod connection;
mod wire;

use std::net::TcpListener;
use std::os::fd::AsFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use self::connection::{Connection, Stream};
use super::history::{Ask, MS, Ns};
use super::random::Random;
use crate::harness::now;

/// What happens to requests and replies. Chances are in percent, delays in milliseconds.
#[derive(Clone, Debug, Default)]
pub struct Weather {
    pub delay: u64,
    /// The request waits so long that the client has gone, and is delivered all the same.
    pub late: u64,
    pub late_for: u64,
    /// The request is executed and nobody hears of it.
    pub swallowed: u64,
    /// The connection breaks before the request, or after it and before its reply.
    pub cut: u64,
    /// Nothing passes before this moment.
    pub closed_until: Ns,
}

pub struct Relay {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<Vec<Ask>>>,
    socket: PathBuf,
    /// Of the doors on TCP.
    ports: [u16; 2],
}

struct Shared {
    weather: Mutex<Weather>,
    /// Where each door leads: the socket's, and those on TCP.
    servers: Mutex<[PathBuf; 3]>,
    cut: AtomicBool,
    over: AtomicBool,
}

impl Relay {
    pub fn start(folder: &Path, seed: u64) -> Relay {
        let socket = folder.join("relay");
        let unix = UnixListener::bind(&socket).expect("a socket for the relay");
        unix.set_nonblocking(true)
            .expect("a socket that does not block");
        let tcp = [(); 2].map(|()| {
            let listener = TcpListener::bind("127.0.0.1:0").expect("a port for the relay");
            listener
                .set_nonblocking(true)
                .expect("a socket that does not block");
            listener
        });
        let port = |listener: &TcpListener| listener.local_addr().expect("its number").port();
        let ports = [port(&tcp[0]), port(&tcp[1])];
        let shared = Arc::new(Shared {
            weather: Mutex::default(),
            servers: Mutex::default(),
            cut: AtomicBool::new(false),
            over: AtomicBool::new(false),
        });
        let inner = shared.clone();
        let thread = std::thread::spawn(move || {
            let mut loops = Loop {
                shared: inner,
                unix,
                tcp,
                connections: Vec::new(),
                asks: Vec::new(),
                random: Random::new(seed),
            };
            while !loops.shared.over.load(Ordering::Relaxed) {
                loops.turn();
            }
            loops.asks
        });
        Relay {
            shared,
            thread: Some(thread),
            socket,
            ports,
        }
    }

    pub fn ports(&self) -> [u16; 2] {
        self.ports
    }

    pub fn socket(&self) -> &Path {
        &self.socket
    }

    pub fn weather(&self, weather: Weather) {
        *self.shared.weather.lock().expect("nobody panics with it") = weather;
    }

    /// New connections at the socket go to this server.
    pub fn lead_to(&self, server: &Path) {
        self.lead(0, server);
    }

    /// Those at the first or second port go to this one.
    pub fn lead_port_to(&self, port: usize, server: &Path) {
        self.lead(1 + port, server);
    }

    fn lead(&self, door: usize, server: &Path) {
        let mut servers = self.shared.servers.lock().expect("nobody panics with it");
        server.clone_into(&mut servers[door]);
    }

    pub fn cut_all(&self) {
        self.shared.cut.store(true, Ordering::Relaxed);
    }

    /// Ends it, and tells what passed.
    pub fn end(mut self) -> Vec<Ask> {
        self.shared.over.store(true, Ordering::Relaxed);
        let thread = self.thread.take().expect("it ends once");
        thread.join().expect("the relay does not panic")
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.shared.over.store(true, Ordering::Relaxed);
    }
}

struct Loop {
    shared: Arc<Shared>,
    unix: UnixListener,
    tcp: [TcpListener; 2],
    connections: Vec<Connection>,
    asks: Vec<Ask>,
    random: Random,
}

impl Loop {
    fn turn(&mut self) {
        self.wait();
        let weather = self
            .shared
            .weather
            .lock()
            .expect("nobody panics with it")
            .clone();
        self.accept();
        if self.shared.cut.swap(false, Ordering::Relaxed) {
            self.connections.clear();
        }
        for connection in &mut self.connections {
            connection.turn(&weather, &mut self.random, &mut self.asks);
        }
        self.connections.retain(|connection| !connection.over());
    }

    /// Until something can be read or written, or a delayed request is due.
    fn wait(&self) {
        let at = now().0;
        let doors = [self.unix.as_fd(), self.tcp[0].as_fd(), self.tcp[1].as_fd()];
        let mut fds: Vec<PollFd> = doors
            .into_iter()
            .map(|door| PollFd::new(door, PollFlags::POLLIN))
            .collect();
        let mut wake = at + 20 * MS;
        for connection in &self.connections {
            connection.watch(at, &mut fds);
            wake = connection.due().map_or(wake, |due| wake.min(due));
        }
        let rest = wake.saturating_sub(at).div_ceil(MS);
        let timeout =
            PollTimeout::try_from(u32::try_from(rest).unwrap_or(20)).unwrap_or(PollTimeout::ZERO);
        // Interrupted is as good as a timeout.
        poll(&mut fds, timeout).unwrap_or_default();
    }

    fn accept(&mut self) {
        let servers = self
            .shared
            .servers
            .lock()
            .expect("nobody panics with it")
            .clone();
        let mut arrived: Vec<(Box<dyn Stream>, &Path)> = Vec::new();
        while let Ok((client, _)) = self.unix.accept() {
            if client.set_nonblocking(true).is_ok() {
                arrived.push((Box::new(client), &servers[0]));
            }
        }
        for (listener, server) in self.tcp.iter().zip(&servers[1..]) {
            while let Ok((client, _)) = listener.accept() {
                if client
                    .set_nonblocking(true)
                    .and(client.set_nodelay(true))
                    .is_ok()
                {
                    arrived.push((Box::new(client), server));
                }
            }
        }
        for (client, server) in arrived {
            // A server that is down closes the connection, as a refused one.
            if let Ok(server) = UnixStream::connect(server)
                && server.set_nonblocking(true).is_ok()
            {
                self.connections.push(Connection::new(client, server));
            }
        }
    }
}
