//! What this kernel, or the container on it, allows.

use nix::time::{ClockId, clock_gettime};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Abilities {
    pub proc: bool,
    pub subreaper: bool,
    pub pidfd: bool,
    pub boottime: bool,
}

pub fn look() -> Abilities {
    let pid = i32::try_from(std::process::id())
        .ok()
        .and_then(Pid::from_raw);
    Abilities {
        proc: std::fs::metadata("/proc/self/task").is_ok(),
        // Asked, and not set: the answer to one tells of the other.
        subreaper: nix::sys::prctl::get_child_subreaper().is_ok(),
        pidfd: pid.is_some_and(|pid| pidfd_open(pid, PidfdFlags::empty()).is_ok()),
        boottime: clock_gettime(ClockId::CLOCK_BOOTTIME).is_ok(),
    }
}
