//! Peers that do what no real server does on request: silence, drops, half replies.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::thread::JoinHandle;
use std::time::Duration;

use super::*;

/// One that accepts once, and then does `what`.
fn peer(what: impl FnOnce(TcpStream) + Send + 'static) -> (SocketAddr, JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let thread = std::thread::spawn(move || what(listener.accept().unwrap().0));
    (address, thread)
}

fn store(address: SocketAddr) -> Store {
    Store::new(Target::parse(&format!("redis://{address}")).unwrap())
}

fn soon(millis: u64) -> Moment {
    Moment::now().after(Duration::from_millis(millis))
}

fn heard(stream: &mut TcpStream) -> String {
    let mut buffer = [0; 1024];
    let count = stream.read(&mut buffer).unwrap();
    String::from_utf8_lossy(&buffer[..count]).into_owned()
}

struct Ping;

impl Script for Ping {
    type Answer = i64;
    fn source(&self) -> &'static str {
        "return 1"
    }
    fn keys(&self) -> Vec<String> {
        vec!["k".to_owned()]
    }
    fn args(&self) -> Vec<Vec<u8>> {
        vec![b"a".to_vec()]
    }
    fn decode(&self, reply: &Reply) -> Result<i64, crate::lease::reply::Garbled> {
        reply.int()
    }
}

#[test]
fn a_script_is_one_request_and_one_reply() {
    let (address, thread) = peer(|mut stream| {
        assert_eq!(
            heard(&mut stream),
            "*5\r\n$4\r\nEVAL\r\n$8\r\nreturn 1\r\n$1\r\n1\r\n$1\r\nk\r\n$1\r\na\r\n"
        );
        stream.write_all(b":7\r\n").unwrap();
    });
    let mut store = store(address);
    assert_eq!(store.ask(&Ping, soon(10_000)), Ok(7));
    assert_eq!(store.attempt(), 1);
    thread.join().unwrap();
}

#[test]
fn the_whole_reply_is_bounded_however_it_drips() {
    let (address, thread) = peer(|mut stream| {
        heard(&mut stream);
        while stream.write_all(b"$").is_ok() && stream.write_all(b"1").is_ok() {
            std::thread::sleep(Duration::from_millis(20));
        }
    });
    let mut store = store(address);
    let begun = Moment::now();
    let trouble = store.ask(&Ping, soon(300)).unwrap_err();
    let took = Moment::now().remaining(begun);
    assert_eq!(trouble.kind, Kind::Again);
    assert!(trouble.sent);
    assert!(took < Duration::from_secs(5), "{took:?}");
    store.hang_up();
    thread.join().unwrap();
}

#[test]
fn silence_ends_at_the_limit_and_a_release_goes_behind_the_request() {
    let (address, thread) = peer(|mut stream| {
        let mut all = Vec::new();
        stream.read_to_end(&mut all).unwrap();
        let text = String::from_utf8(all).unwrap();
        assert_eq!(text.matches("EVAL").count(), 2, "{text}");
    });
    let mut store = store(address);
    let trouble = store.ask(&Ping, soon(100)).unwrap_err();
    assert_eq!((trouble.kind, trouble.sent), (Kind::Again, true));
    assert!(trouble.text.contains("in time"), "{}", trouble.text);
    assert!(store.link.is_none());
    store.write_behind(&Ping);
    thread.join().unwrap();
}

#[test]
fn another_descriptor_ends_a_wait() {
    let (address, thread) = peer(|mut stream| {
        let mut all = Vec::new();
        stream.read_to_end(&mut all).unwrap();
    });
    let (mut ring, bell) = UnixStream::pair().unwrap();
    let mut store = store(address);
    store.set_interrupt(OwnedFd::from(bell));
    ring.write_all(b"!").unwrap();
    let trouble = store.ask(&Ping, soon(60_000)).unwrap_err();
    assert_eq!(trouble.kind, Kind::Interrupted);
    store.hang_up();
    thread.join().unwrap();
}

#[test]
fn what_is_not_redis_is_named() {
    for (answer, word) in [
        (&b"HTTP/1.1 400 Bad Request\r\n\r\n"[..], "HTTP/1.1 400"),
        (b"\x15\x03\x01\x00\x02\x02\x46", "rediss://"),
        (b"", "rediss://"),
        (b"$1\r\nx\r\n", "a number was expected"),
        (b"*1000000000\r\n", "too long"),
    ] {
        let (address, thread) = peer(move |mut stream| {
            heard(&mut stream);
            stream.write_all(answer).unwrap();
        });
        let trouble = store(address).ask(&Ping, soon(10_000)).unwrap_err();
        assert!(trouble.text.contains(word), "{}", trouble.text);
        assert_eq!((trouble.kind, trouble.sent), (Kind::Again, true));
        thread.join().unwrap();
    }
}

#[test]
fn nobody_there_is_said_at_once() {
    // A port that no test is given by the system.
    let address = SocketAddr::from(([127, 0, 0, 1], 1));
    let trouble = store(address).connect(soon(10_000)).unwrap_err();
    assert_eq!(
        trouble,
        Trouble::again(format!(
            "no connection to Redis at {address}: connection refused, no server listens there"
        ))
    );
}

#[test]
fn a_server_that_nobody_named_may_be_another_than_was_meant() {
    let mut target = Target::parse("redis://127.0.0.1:1").unwrap();
    target.set_assumed();
    let trouble = Store::new(target).connect(soon(10_000)).unwrap_err();
    assert_eq!(
        trouble.text,
        "no connection to Redis at 127.0.0.1:1: connection refused, no server listens there (the default: \
         --url, REDLEASE_URL or REDIS_URL names another)"
    );
}

#[test]
fn a_password_is_sent_alone_and_never_repeated() {
    let (address, thread) = peer(|mut stream| {
        assert_eq!(
            heard(&mut stream),
            "*3\r\n$4\r\nAUTH\r\n$2\r\nci\r\n$6\r\nhunter\r\n"
        );
        stream.write_all(b"-WRONGPASS who is hunter?\r\n").unwrap();
        assert_eq!(heard(&mut stream), "");
    });
    let target = Target::parse(&format!("redis://ci:hunter@{address}")).unwrap();
    let trouble = Store::new(target).ask(&Ping, soon(10_000)).unwrap_err();
    assert_eq!((trouble.kind, trouble.sent), (Kind::Denied, false));
    assert!(!trouble.text.contains("hunter"), "{}", trouble.text);
    assert!(trouble.text.contains("WRONGPASS"), "{}", trouble.text);
    thread.join().unwrap();
}
