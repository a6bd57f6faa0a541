//! The one integration binary: the real program, a private redis-server for each test, real processes and real
//! faults. Numbers and texts are written out by hand here, never imported from the program.

/// Servers, runs and processes, as the tests speak of them.
#[cfg(test)]
mod harness;

/// Ending somebody else's holding.
#[cfg(test)]
mod breaking;
/// Completion.
#[cfg(test)]
mod completions;
/// What endangers a lease.
#[cfg(test)]
mod doctor;
/// The harness itself does what the tests lean on.
#[cfg(test)]
mod foundation;

/// Trouble that costs nothing.
#[cfg(test)]
mod blips;
/// URLs, TLS, sentinels, clusters, weak networks, hostile servers.
#[cfg(test)]
mod connection;
/// What timers need.
#[cfg(test)]
mod cron;
/// What was typed is what it is.
#[cfg(test)]
mod durations;
/// What the job is told.
#[cfg(test)]
mod environment;
/// 0 to 255, signals, and redlease's own.
#[cfg(test)]
mod exit_codes;
/// Resources that compare the fence.
#[cfg(test)]
mod fencing;
/// The layers of the source.
#[cfg(test)]
mod floors;

/// The job ends before its lease does.
#[cfg(test)]
mod loss;
/// What people install.
#[cfg(test)]
mod package;
/// For scripts: acquire, renew, release, check.
#[cfg(test)]
mod primitives;
/// Runs inside runs.
#[cfg(test)]
mod reentrant;
/// No lease, no job.
#[cfg(test)]
mod refusal;
/// Giving back.
#[cfg(test)]
mod release;
/// What CI reads.
#[cfg(test)]
mod reports;
/// To the job, once.
#[cfg(test)]
mod signals;
/// Several holders.
#[cfg(test)]
mod slots;
/// Who holds, and who waits.
#[cfg(test)]
mod status;
/// Input, output and arguments.
#[cfg(test)]
mod streams;
/// One line, kept up to date.
#[cfg(test)]
mod terminal_waiting;
/// As if redlease were not there.
#[cfg(test)]
mod transparency;
/// Servers that do not or will not answer.
#[cfg(test)]
mod unreachable;
/// For how long, and how it ends.
#[cfg(test)]
mod waiting;
/// Who is next.
#[cfg(test)]
mod waiting_order;

/// Two processes that watch each other.
#[cfg(test)]
mod guard;

/// All that a job starts.
#[cfg(test)]
mod descendants;

/// All of a run paused, and woken in any order.
#[cfg(test)]
mod pauses;

/// A real terminal, driven by keys.
#[cfg(test)]
mod terminal;

/// The first process of a container; a unit.
#[cfg(test)]
mod containers;

/// What a user decides about the end.
#[cfg(test)]
mod policies;

/// Fences of resources that can store nothing.
#[cfg(test)]
mod fence_check;

/// A lease that replicas have too.
#[cfg(test)]
mod replicas;

/// The files in `examples/`.
#[cfg(test)]
mod recipes;

/// README, manual and program say the same.
#[cfg(test)]
mod docs;

/// Nothing left of what the machine has.
#[cfg(test)]
mod limits;
/// A slow program, a filter of system calls.
#[cfg(test)]
mod narrow;
