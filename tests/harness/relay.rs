//! Between redlease and a server: a relay that does what networks do.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// What becomes of what the server answers; requests always pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weather {
    Fair,
    /// Each answer comes this much later.
    Slow(Duration),
    /// Nothing arrives, and nobody says so.
    Silence,
    /// Only the first bytes of an answer arrive, and then the end.
    Truncate(usize),
    /// Connections are accepted and closed at once.
    Cut,
    /// Something else arrives.
    Garbage,
    /// One byte at a time, each after a while.
    Drip(Duration),
}

pub struct Relay {
    port: u16,
    weather: Arc<Mutex<Weather>>,
}

impl Relay {
    /// To the server's unix socket.
    pub fn to(socket: &Path) -> Relay {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port for the relay");
        let port = listener.local_addr().expect("its number").port();
        let weather = Arc::new(Mutex::new(Weather::Fair));
        let (shared, socket) = (weather.clone(), socket.to_owned());
        // Its threads end with the connections, and the listener's with the tests: it holds nothing but a port.
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                accept(stream, &socket, &shared);
            }
        });
        Relay { port, weather }
    }

    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    /// From now on, for open connections too.
    pub fn set(&self, weather: Weather) {
        *self.weather.lock().expect("no relay panics") = weather;
    }
}

fn accept(client: TcpStream, socket: &PathBuf, weather: &Arc<Mutex<Weather>>) {
    if *weather.lock().expect("no relay panics") == Weather::Cut {
        return;
    }
    let Ok(server) = UnixStream::connect(socket) else {
        return;
    };
    let (Ok(mut from), Ok(mut to)) = (client.try_clone(), server.try_clone()) else {
        return;
    };
    std::thread::spawn(move || {
        drop(std::io::copy(&mut from, &mut to));
        drop(to.shutdown(Shutdown::Both));
    });
    let weather = weather.clone();
    std::thread::spawn(move || {
        answers(server, &client, &weather);
        drop(client.shutdown(Shutdown::Both));
    });
}

/// Passes answers on until the connection ends, or the weather ends it.
fn answers(mut server: UnixStream, mut client: &TcpStream, weather: &Mutex<Weather>) {
    let mut bytes = [0; 16384];
    loop {
        let count = server.read(&mut bytes).unwrap_or(0);
        if count == 0 {
            return;
        }
        let answer = &bytes[..count];
        let weather = *weather.lock().expect("no relay panics");
        let sent = match weather {
            Weather::Fair => client.write_all(answer),
            Weather::Slow(wait) => {
                std::thread::sleep(wait);
                client.write_all(answer)
            }
            Weather::Silence => Ok(()),
            Weather::Truncate(most) => {
                drop(client.write_all(&answer[..most.min(count)]));
                return;
            }
            Weather::Cut => return,
            Weather::Garbage => client.write_all(b"HTTP/1.1 502 Bad Gateway\r\n\r\n<html>\r\n"),
            Weather::Drip(wait) => answer.iter().try_for_each(|byte| {
                std::thread::sleep(wait);
                client.write_all(&[*byte])
            }),
        };
        if sent.is_err() {
            return;
        }
    }
}
