//! The one integration binary: the real program, a private redis-server for each test, real processes and real
//! faults. Numbers and texts are written out by hand here, never imported from the program.

/// Servers, runs and processes, as the tests speak of them.
#[cfg(test)]
mod harness;

/// The harness itself does what the tests lean on.
#[cfg(test)]
mod foundation;

/// The layers of the source.
#[cfg(test)]
mod floors;

/// What people install.
#[cfg(test)]
mod package;
