//! Processes as the kernel shows them, and waiting for what they do.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::time::{ClockId, clock_gettime};
use nix::unistd::Pid;

use super::PATIENCE;

/// An instant of CLOCK_BOOTTIME in nanoseconds: the clock of the job's own time stamps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment(pub u64);

impl Moment {
    pub fn after(self, wait: Duration) -> Moment {
        Moment(self.0 + u64::try_from(wait.as_nanos()).expect("a wait of a test"))
    }

    /// How long after `earlier`: zero if it was not.
    pub fn since(self, earlier: Moment) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

pub fn now() -> Moment {
    let time = clock_gettime(ClockId::CLOCK_BOOTTIME).expect("CLOCK_BOOTTIME");
    Moment(u64::try_from(Duration::from(time).as_nanos()).expect("a clock of this age"))
}

/// Looks every few milliseconds until the condition holds, and fails the test after the limit.
#[track_caller]
pub fn wait_until(what: &str, limit: Duration, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < limit, "waited {limit:?} for {what}");
        std::thread::sleep(Duration::from_millis(4));
    }
}

/// A signal to a process that the test knows by id. One that is gone already is no failure here.
pub fn send(pid: u32, signal: Signal) {
    let pid = i32::try_from(pid).expect("a process id");
    match kill(Pid::from_raw(pid), signal) {
        Ok(()) | Err(Errno::ESRCH) => {}
        Err(error) => panic!("{signal} to {pid}: {error}"),
    }
}

/// The fields of /proc/PID/stat after the program's name: state, parent, group, session, …
pub fn stat(pid: u32) -> Option<Vec<String>> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, rest) = text.rsplit_once(')')?;
    Some(rest.split_whitespace().map(str::to_owned).collect())
}

/// No such process, or only its entry for the parent that has not looked yet.
pub fn gone(pid: u32) -> bool {
    stat(pid).is_none_or(|fields| fields[0] == "Z" || fields[0] == "X")
}

pub fn stopped(pid: u32) -> bool {
    stat(pid).is_some_and(|fields| fields[0] == "T")
}

pub fn parent(pid: u32) -> Option<u32> {
    stat(pid).and_then(|fields| fields[1].parse().ok())
}

pub fn all() -> Vec<u32> {
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .collect()
}

/// The living children of a process, whatever thread of it forked them.
pub fn children(pid: u32) -> Vec<u32> {
    all()
        .into_iter()
        .filter(|child| parent(*child) == Some(pid) && !gone(*child))
        .collect()
}

/// Living processes that were started with `NAME=value` in their environment, in any group or session.
pub fn marked(entry: &str) -> Vec<u32> {
    all()
        .into_iter()
        .filter(|pid| environment(*pid).iter().any(|held| held == entry) && !gone(*pid))
        .collect()
}

pub fn environment(pid: u32) -> Vec<String> {
    let bytes = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    bytes
        .split(|byte| *byte == 0)
        .filter(|entry| !entry.is_empty())
        .map(|entry| String::from_utf8_lossy(entry).into_owned())
        .collect()
}

/// A job that appends the time to a file every 10 ms, for as long as it lives: what it did last is known however
/// it was ended.
pub struct Stamps(PathBuf);

impl Stamps {
    pub fn in_folder(folder: &Path) -> Stamps {
        Stamps(folder.join("stamps"))
    }

    pub fn named(folder: &Path, name: &str) -> Stamps {
        Stamps(folder.join(name))
    }

    /// The job's argv; it dies of TERM as usual.
    pub fn job(&self) -> Vec<String> {
        self.perl("")
    }

    /// A job that only KILL ends.
    pub fn stubborn_job(&self) -> Vec<String> {
        self.perl("$SIG{$_} = 'IGNORE' for qw(TERM HUP INT QUIT);")
    }

    /// A job that ends with the code, some time after its start.
    pub fn job_for(&self, seconds: f64, code: u8) -> Vec<String> {
        self.perl(&format!(
            "$end = clock_gettime(7) + {seconds}; $code = {code};"
        ))
    }

    fn perl(&self, first: &str) -> Vec<String> {
        // 7 is CLOCK_BOOTTIME, which older versions of Time::HiRes know by number only.
        let script = format!(
            "use Time::HiRes qw(clock_gettime sleep); {first} open(F, '>>', $ARGV[0]) or die; \
             while (1) {{ my $now = clock_gettime(7); syswrite(F, sprintf(\"%.0f\\n\", $now * 1e9)); \
             exit($code) if defined($end) && $now > $end; sleep(0.01); }}"
        );
        ["perl", "-e", &script, &self.0.to_string_lossy()]
            .map(str::to_owned)
            .to_vec()
    }

    pub fn all(&self) -> Vec<Moment> {
        let text = fs::read_to_string(&self.0).unwrap_or_default();
        // A line that is being written is not one yet.
        text.split_inclusive('\n')
            .filter_map(|line| line.strip_suffix('\n')?.parse().ok().map(Moment))
            .collect()
    }

    pub fn last(&self) -> Moment {
        *self.all().last().expect("the job made no time stamp")
    }

    pub fn first(&self) -> Moment {
        *self.all().first().expect("the job made no time stamp")
    }

    pub fn started(&self) -> bool {
        !self.all().is_empty()
    }

    #[track_caller]
    pub fn await_start(&self) {
        wait_until("the job's first time stamp", PATIENCE, || self.started());
    }
}
