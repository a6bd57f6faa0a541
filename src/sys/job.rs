//! From a fork to the job's first instruction.

use std::ffi::CString;
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::libc;
use nix::sys::signal::Signal;

use super::caller::Caller;
use super::process::{self, Side};
use super::signals;
use super::word::Word;
use crate::time::Moment;

/// What the job's process says when its lease has ended before it could begin.
pub const TOO_LATE: Errno = Errno::ETIME;

pub struct Program<'a> {
    pub argv: &'a [CString],
    pub environment: &'a [CString],
    pub caller: &'a Caller,
}

/// The job's process; exec has not happened yet, and can take long on a network's file system.
pub struct Started {
    pub pid: i32,
    outcome: OwnedFd,
}

pub enum Exec {
    Done,
    Failed(Errno),
}

impl Started {
    /// Readable when exec has happened or failed.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.outcome.as_fd()
    }

    /// To be asked once `fd` is readable: it waits otherwise.
    pub fn outcome(self) -> Exec {
        let mut number = [0; 4];
        match std::fs::File::from(self.outcome).read_exact(&mut number) {
            Ok(()) => Exec::Failed(Errno::from_raw(i32::from_ne_bytes(number))),
            // The pipe was closed by exec, or by the process' end.
            Err(_) => Exec::Done,
        }
    }
}

/// Starts the job as a child of this process, unless its lease has ended by `word` when it is about to begin.
///
/// # Errors
/// No process or descriptor is left.
pub fn start(program: &Program<'_>, word: Option<Word>) -> io::Result<Started> {
    let (outcome, report) = nix::unistd::pipe2(OFlag::O_CLOEXEC)?;
    let parent = nix::unistd::getpid();
    match process::fork()? {
        Side::Parent { child } => Ok(Started {
            pid: child,
            outcome,
        }),
        Side::Child => {
            drop(outcome);
            let why = become_job(program, word, parent);
            let _told = nix::unistd::write(&report, &(why as i32).to_ne_bytes());
            process::leave(127)
        }
    }
}

fn become_job(program: &Program<'_>, word: Option<Word>, parent: nix::unistd::Pid) -> Errno {
    if let Err(why) = nix::sys::prctl::set_pdeathsig(Signal::SIGKILL) {
        return why;
    }
    // A parent that died before the line above sends nothing any more.
    if nix::unistd::getppid() != parent {
        process::leave(127);
    }
    let over = |word: Word| {
        word.get()
            .is_none_or(|kill_at| kill_at.passed(Moment::now()))
    };
    if word.is_some_and(over) {
        return TOO_LATE;
    }
    if !program.caller.pipe_ignored {
        signals::set_default(libc::SIGPIPE);
    }
    if program.caller.child_ignored {
        signals::set_ignored(libc::SIGCHLD);
    }
    if signals::set_mask(&program.caller.mask).is_err() {
        return Errno::EINVAL;
    }
    let Some(name) = program.argv.first() else {
        return Errno::ENOENT;
    };
    match nix::unistd::execvpe(name, program.argv, program.environment) {
        Ok(never) => match never {},
        Err(why) => why,
    }
}
