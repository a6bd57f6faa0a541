//! Forks, waits, and what a process can say about itself.

use std::io;

use nix::errno::Errno;
use nix::libc;
use nix::sched::CloneFlags;
use nix::sys::wait::{Id, WaitPidFlag, waitid};

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    Code(u8),
    Signal(i32),
}

impl End {
    pub fn from_status(status: i32) -> End {
        if libc::WIFSIGNALED(status) {
            End::Signal(libc::WTERMSIG(status))
        } else {
            End::Code(u8::try_from(libc::WEXITSTATUS(status)).unwrap_or(u8::MAX))
        }
    }
}

pub enum Side {
    Parent { child: i32 },
    Child,
}

/// # Errors
/// There is more than one thread (the child's memory could not be trusted), or the limit of processes is reached.
pub fn fork() -> io::Result<Side> {
    // It changes nothing and is refused to a process of several threads, by unshare(2). A filter may refuse it too.
    let alone = nix::sched::unshare(CloneFlags::CLONE_THREAD).is_ok();
    let threads = if alone { 1 } else { threads()? };
    if threads != 1 {
        let text = format!("{threads} threads exist where a process must have one to be copied");
        return Err(io::Error::other(text));
    }
    // SAFETY: there is one thread, so the child may do all that this process may.
    match Errno::result(unsafe { libc::fork() })? {
        0 => Ok(Side::Child),
        child => Ok(Side::Parent { child }),
    }
}

fn threads() -> io::Result<u64> {
    use std::os::linux::fs::MetadataExt;
    // A folder has a link from each folder inside it, and two more: one thread makes three.
    let links = std::fs::metadata("/proc/self/task")
        .map_err(needs_proc)?
        .st_nlink();
    Ok(links.saturating_sub(2))
}

/// # Errors
/// /proc is missing: the processes of a job could not be found.
pub fn proc_is_there() -> io::Result<()> {
    std::fs::symlink_metadata("/proc/self").map_err(needs_proc)?;
    Ok(())
}

fn needs_proc(why: io::Error) -> io::Error {
    io::Error::new(why.kind(), format!("/proc is needed: {why}"))
}

/// Lets whoever is waiting for this processor go first.
pub fn give_way() {
    // SAFETY: reads and writes nothing of this process.
    unsafe { libc::sched_yield() };
}

/// Ends this process without running what redlease has to do at its end.
pub fn leave(code: i32) -> ! {
    // SAFETY: runs no code of this process.
    unsafe { libc::_exit(code) }
}

/// From now on the orphans among this process' descendants become its children.
///
/// # Errors
/// Linux before 3.4.
pub fn adopt_orphans() -> io::Result<()> {
    Ok(nix::sys::prctl::set_child_subreaper(true)?)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reaped {
    Child {
        pid: i32,
        end: End,
    },
    /// There are children, and none has ended.
    Nothing,
    /// The proof that no descendant is left.
    NoChildren,
}

/// Takes note of one child that has ended, whichever it is, without waiting.
pub fn reap() -> Reaped {
    loop {
        let mut status = 0;
        // SAFETY: writes the status only.
        let answer = unsafe { libc::waitpid(-1, &raw mut status, libc::WNOHANG | libc::__WALL) };
        match Errno::result(answer) {
            Ok(0) => return Reaped::Nothing,
            Ok(pid) => {
                let end = End::from_status(status);
                return Reaped::Child { pid, end };
            }
            Err(Errno::EINTR) => {}
            Err(_) => return Reaped::NoChildren,
        }
    }
}

/// Whether this process has children, one that has ended and was not reaped included.
pub fn has_children() -> bool {
    let look =
        WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT | WaitPidFlag::__WALL;
    waitid(Id::All, look) != Err(Errno::ECHILD)
}

/// Waits for one child to end.
pub fn await_child(pid: i32) {
    let mut status = 0;
    // SAFETY: writes the status only.
    while Errno::result(unsafe { libc::waitpid(pid, &raw mut status, libc::__WALL) })
        == Err(Errno::EINTR)
    {}
}

pub fn leads_session() -> bool {
    nix::unistd::getsid(None).is_ok_and(|session| session == nix::unistd::getpid())
}

/// Leaves the caller's session, group and terminal.
///
/// # Errors
/// This process leads a group already, which the child of a fork does not.
pub fn leave_session() -> io::Result<()> {
    nix::unistd::setsid()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_of_several_threads_is_not_copied() {
        // The test's own thread is beside that of the harness already.
        let another = std::thread::spawn(std::thread::park);
        assert!(nix::sched::unshare(CloneFlags::CLONE_THREAD).is_err());
        let refused = fork().err().unwrap().to_string();
        assert!(refused.contains("threads exist where"), "{refused}");
        another.thread().unpark();
        another.join().unwrap();
    }

    #[test]
    fn a_child_that_has_ended_is_one_until_it_is_reaped() {
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let pid = nix::unistd::Pid::from_raw(child.id().cast_signed());
        waitid(Id::Pid(pid), WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT).unwrap();
        assert!(has_children());
        child.wait().unwrap();
    }
}
