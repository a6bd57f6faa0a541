//! Bytes to and from a server, in the open or by TLS.

use super::tls::Tls;
use super::wire::{Stop, Wire};
use crate::time::Moment;

#[derive(Debug)]
pub enum Stream {
    Tcp(Wire),
    Unix(Wire),
    Tls(Box<Tls>),
}

impl Stream {
    pub fn is_plain_tcp(&self) -> bool {
        matches!(self, Stream::Tcp(_))
    }

    pub fn send(&mut self, bytes: &[u8], until: Moment, begun: &mut bool) -> Result<(), Stop> {
        match self {
            Stream::Tcp(wire) | Stream::Unix(wire) => wire.send(bytes, until, begun),
            Stream::Tls(tls) => tls.send(bytes, until, begun),
        }
    }

    /// Waits for something; zero is the end of the stream.
    pub fn receive(&mut self, into: &mut [u8], until: Moment) -> Result<usize, Stop> {
        match self {
            Stream::Tcp(wire) | Stream::Unix(wire) => wire.receive(into, until),
            Stream::Tls(tls) => tls.receive(into, until),
        }
    }

    /// Best effort, without waiting.
    pub fn push(&mut self, bytes: &[u8]) {
        match self {
            Stream::Tcp(wire) | Stream::Unix(wire) => drop(wire.push(bytes)),
            Stream::Tls(tls) => tls.push(bytes),
        }
    }
}
