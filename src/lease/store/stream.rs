//! Bytes to and from a server, in the open or by TLS.

use super::wire::{Stop, Wire};
use crate::time::Moment;

#[derive(Debug)]
pub enum Stream {
    Tcp(Wire),
    Unix(Wire),
}

impl Stream {
    pub fn is_tls(&self) -> bool {
        false
    }

    pub fn is_local(&self) -> bool {
        matches!(self, Stream::Unix(_))
    }

    pub fn send(&mut self, bytes: &[u8], until: Moment, begun: &mut bool) -> Result<(), Stop> {
        match self {
            Stream::Tcp(wire) | Stream::Unix(wire) => wire.send(bytes, until, begun),
        }
    }

    pub fn receive(&mut self, into: &mut [u8], until: Moment) -> Result<usize, Stop> {
        match self {
            Stream::Tcp(wire) | Stream::Unix(wire) => wire.receive(into, until),
        }
    }

    /// Best effort, without waiting.
    pub fn push(&mut self, bytes: &[u8]) {
        match self {
            Stream::Tcp(wire) | Stream::Unix(wire) => drop(wire.push(bytes)),
        }
    }
}
