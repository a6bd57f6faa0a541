//! From a fork to the job's first instruction.

use std::borrow::Cow;
use std::ffi::{CStr, CString};
use std::io;

use nix::errno::Errno;
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
    pub environment: &'a [Cow<'static, CStr>],
    pub caller: &'a Caller,
}

/// Starts the job as a child of this process; with `bound`, only if its lease has not ended by `word` when it is
/// about to begin. Why it could not be executed is in `word` when that child has ended. Nothing waits for exec, which
/// can take long on a network's file system.
///
/// # Errors
/// No process is left.
pub fn start(program: &Program<'_>, word: Word, bound: bool) -> io::Result<i32> {
    let parent = nix::unistd::getpid();
    match process::fork()? {
        Side::Parent { child } => Ok(child),
        Side::Child => {
            let why = become_job(program, bound.then_some(word), parent);
            word.note_not_executed(why);
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
