//! What this machine lacks for stopping a job with all its descendants.

use super::finding::Finding;
use crate::sys::abilities;

pub fn look() -> Vec<Finding> {
    let check = "machine";
    let has = abilities::look();
    let mut findings = Vec::new();
    if !has.proc {
        findings.push(Finding::fail(
            check,
            "/proc is not mounted",
            "redlease cannot see the descendants of a job, and so does not start one",
            "mount it: mount -t proc proc /proc",
        ));
    }
    if !has.subreaper {
        findings.push(Finding::fail(
            check,
            "processes cannot be adopted (PR_SET_CHILD_SUBREAPER)",
            "a daemon of the job would outlive its lease, and so no job is started",
            "Linux 3.4 or later, and a container that does not filter prctl(2)",
        ));
    }
    if !has.pidfd {
        findings.push(Finding::warn(
            check,
            "there are no process descriptors (pidfd_open)",
            "descendants are signalled by number, with a look at their parent first; --while-pid does not work",
            "Linux 5.3 or later, and a container that does not filter pidfd_open(2)",
        ));
    }
    if !has.boottime {
        findings.push(Finding::warn(
            check,
            "there is no clock that counts suspends (CLOCK_BOOTTIME)",
            "a machine that slept through its lease goes on for a moment before it asks",
            "Linux 3.15 or later",
        ));
    }
    if findings.is_empty() {
        findings.push(Finding::ok(
            check,
            "/proc, adoption of orphans, process descriptors and a clock that counts suspends",
        ));
    }
    findings
}
