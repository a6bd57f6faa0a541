//! The exit codes that users' scripts rely on.

/// How redlease ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// The job's own code, or a code that a user chose by `-E`.
    Code(u8),
    /// The job died of this signal, or redlease was told to by one while it waited: death by it is repeated.
    Signal(i32),
    Done,
    Usage,
    Unavailable,
    NotAcquired,
    Denied,
    Config,
    Lost,
    MaxRun,
    Failed,
    CannotExecute,
    NotFound,
}

/// The numbers of redlease's own, with what they mean in one line: README and the manual show this table.
#[cfg(test)]
pub const TABLE: &[(Exit, &str)] = &[
    (
        Exit::Usage,
        "usage: an argument is wrong, or two contradict each other; the job did not start",
    ),
    (
        Exit::Unavailable,
        "no usable answer from Redis in time; the job did not start",
    ),
    (
        Exit::NotAcquired,
        "not acquired: held, cooling, already done, or the wait ended; the job did not start",
    ),
    (
        Exit::Denied,
        "refused by AUTH or ACL; the job did not start",
    ),
    (
        Exit::Config,
        "unreadable or contradictory configuration; the job did not start",
    ),
    (
        Exit::Lost,
        "lease lost while the job ran, and the job was stopped; in renew, release, check: token stale",
    ),
    (Exit::MaxRun, "--max-run reached, and the job was stopped"),
    (Exit::Failed, "redlease itself failed"),
    (
        Exit::CannotExecute,
        "the job cannot be executed; the lease was given back",
    ),
    (
        Exit::NotFound,
        "the job's program was not found; the lease was given back",
    ),
];

impl Exit {
    pub fn code(self) -> u8 {
        match self {
            Exit::Code(code) => code,
            Exit::Signal(signal) => u8::try_from(128 + signal).unwrap_or(255),
            Exit::Done => 0,
            Exit::Usage => 64,
            Exit::Unavailable => 69,
            Exit::NotAcquired => 75,
            Exit::Denied => 77,
            Exit::Config => 78,
            Exit::Lost => 79,
            Exit::MaxRun => 124,
            Exit::Failed => 125,
            Exit::CannotExecute => 126,
            Exit::NotFound => 127,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_the_contract() {
        let numbers: Vec<u8> = TABLE.iter().map(|(exit, _)| exit.code()).collect();
        assert_eq!(numbers, [64, 69, 75, 77, 78, 79, 124, 125, 126, 127]);
        assert_eq!(Exit::Signal(15).code(), 143);
        assert_eq!(Exit::Code(255).code(), 255);
    }
}
