//! What a user decides about the end of a lease and of a job: plain words for those who carry it out.

/// `--on-lost`: what happens to the job when the lease is lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnLost {
    /// The signal of `--signal`, then KILL after `--kill-after`.
    #[default]
    Stop,
    /// KILL at once.
    Kill,
    /// Nothing: the job runs on without a lease, and the report says so.
    Warn,
}

/// `--leftovers`: what happens to background processes that a job leaves when it ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Leftovers {
    /// They are stopped, and named in one line.
    #[default]
    Stop,
    /// The lease is renewed until they end.
    Wait,
    /// They work on without a lease.
    Leave,
}

/// `--if-unreachable`: what a run does without an answer from Redis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IfUnreachable {
    /// 69, and the job does not run.
    #[default]
    Fail,
    /// The job runs without a lease.
    Run,
    /// 0, and the job does not run.
    Skip,
}

/// `--wait`: how long to wait for a lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    No,
    For(std::time::Duration),
    Forever,
}
