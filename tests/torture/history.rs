//! What happened in one round, as the machine saw it: the jobs' own time stamps, every request that passed the
//! relay, every fault. All times are CLOCK_BOOTTIME in nanoseconds; one machine, so one clock, and overlap is
//! decidable exactly. Written as JSON, so that a history can be kept and judged again.

use serde::{Deserialize, Serialize};

pub type Ns = u64;

pub const MS: Ns = 1_000_000;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct History {
    pub keys: Vec<Key>,
    pub runs: Vec<Run>,
    pub processes: Vec<Process>,
    pub asks: Vec<Ask>,
    pub faults: Vec<Fault>,
    pub losses: Vec<Loss>,
    pub endings: Vec<Ending>,
    pub orphans: Vec<Orphan>,
    pub left: Vec<Left>,
    pub gaps: Vec<Gap>,
}

/// What all runs of a key agree about.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Key {
    pub name: String,
    pub ttl: Ns,
    pub limit: u8,
    pub min_hold: Ns,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Form {
    /// `redlease run`
    Run,
    /// acquire, check, job, release in a shell script: nobody renews, and the job minds its own time.
    Script,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    pub id: u64,
    pub form: Form,
    pub key: String,
    pub pid: u32,
    /// The instant before it was started.
    pub at: Ns,
    pub wait: Option<Ns>,
    /// How long its job works, if nothing stops it, and the code that it ends with.
    pub job: Ns,
    pub code: u8,
}

/// One process of a job, as it told itself. Only its first and last time stamps matter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Process {
    pub run: u64,
    pub pid: u32,
    /// The process that redlease started, not a child of it.
    pub top: bool,
    pub token: String,
    pub slot: u8,
    pub fence: u64,
    pub first: Ns,
    pub last: Ns,
    /// The code, if it came to its own end.
    pub end: Option<u8>,
}

/// A request that passed the relay. The client sent it before `arrived`; the server executed it between
/// `forwarded` and `replied`; zero is never.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Ask {
    pub pid: u32,
    pub script: String,
    pub key: String,
    pub token: String,
    pub waiter: String,
    pub arrived: Ns,
    pub forwarded: Ns,
    pub replied: Ns,
    pub delivered: Ns,
    pub answer: Answer,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub enum Answer {
    #[default]
    None,
    Granted {
        slot: u8,
        fence: u64,
        again: bool,
    },
    /// Held, queued, cooling and so on; the ticket is 0 without a place in the queue.
    Refused {
        word: String,
        ticket: u64,
    },
    Renewed {
        restored: bool,
    },
    Released,
    /// gone, broken, taken, an error: the word that it began with.
    Other(String),
}

/// A fault while it lasts: of one run, or of the server or the network for all.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Fault {
    pub kind: String,
    pub run: Option<u64>,
    pub from: Ns,
    pub until: Ns,
}

/// The server lost keys between these moments: one of them, or all.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Loss {
    pub kind: String,
    pub key: Option<String>,
    pub from: Ns,
    pub until: Ns,
}

/// How redlease, or the script around it, ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ending {
    pub run: u64,
    /// When it was seen to have ended.
    pub at: Ns,
    /// As a shell shows it.
    pub code: u8,
    /// By a SIGKILL of ours, so that it could say nothing.
    pub killed: bool,
    /// How long it was stopped by us.
    pub paused: Ns,
    pub report: Option<Report>,
    pub said: String,
}

/// The part of `--report` that can be compared.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    pub outcome: String,
    pub exit_code: u8,
    pub job_code: Option<u8>,
    pub job_signal: Option<i32>,
    pub slot: Option<u8>,
    pub fence: Option<u64>,
    #[serde(default)]
    pub restored: u64,
    #[serde(default)]
    pub message: Option<String>,
}

/// A process of a job that lived on after the redlease processes of its run were gone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Orphan {
    pub run: u64,
    pub pid: u32,
    pub at: Ns,
}

/// A key that the server still had at the end. `again` marks the second look, when every lease must have lapsed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Left {
    pub key: String,
    pub value: String,
    /// Milliseconds, -1 for ever.
    pub pttl: i64,
    pub again: bool,
}

/// A watcher that wanted to wake up got the processor so much later: the whole machine was starved.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Gap {
    pub from: Ns,
    pub until: Ns,
}

impl History {
    /// How long the machine was starved between two moments, in sum.
    pub fn starved(&self, from: Ns, until: Ns) -> Ns {
        self.gaps
            .iter()
            .map(|gap| gap.until.min(until).saturating_sub(gap.from.max(from)))
            .sum()
    }

    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("plain values")
    }

    pub fn from_json(text: &str) -> serde_json::Result<History> {
        serde_json::from_str(text)
    }
}
