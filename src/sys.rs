//! The kernel, with types: memory and descriptors shared by redlease's processes, signals, forks, waits, and
//! the tree of a job's descendants. Mechanism only; who is signalled when is decided in `supervise`.

#![allow(
    unsafe_code,
    reason = "fork, exec, dispositions and raw waits have no safe form; outside this folder there is none"
)]

pub mod abilities;
pub mod any;
pub mod caller;
pub mod channel;
pub mod descriptors;
pub mod entry;
pub mod host;
pub mod job;
pub mod memory;
pub mod pause;
pub mod process;
pub mod signals;
pub mod terminal;
pub mod timer;
pub mod tree;
pub mod wake;
pub mod watched;
pub mod word;

pub use nix::sys::signal::Signal;
