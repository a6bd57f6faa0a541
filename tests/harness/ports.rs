//! Ports for servers that must know theirs before they start, or that need the one 10000 above it too.

use std::net::TcpListener;
use std::sync::atomic::{AtomicU16, Ordering};

/// Below those that the system gives to clients, so that no connection of another test takes it meanwhile.
const FIRST: u16 = 12_000;
const COUNT: u16 = 10_000;

pub fn pick() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    // Two test binaries at the same time begin at different places.
    let start = u16::try_from(std::process::id() * 37 % u32::from(COUNT)).expect("below COUNT");
    for _ in 0..COUNT {
        let step = NEXT.fetch_add(1, Ordering::Relaxed);
        let port = FIRST + (start + step % COUNT) % COUNT;
        let free = |port| TcpListener::bind(("127.0.0.1", port)).is_ok();
        if free(port) && free(port + 10_000) {
            return port;
        }
    }
    panic!("no free port");
}
