//! Signals by number, real-time ones included, which the enumeration of nix lacks.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd};

use nix::errno::Errno;
use nix::libc;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::sys::signal::{SigSet, SigmaskHow, sigprocmask};
use nix::sys::signalfd::{SfdFlags, SignalFd};

pub const CHILD: i32 = libc::SIGCHLD;
pub const CONTINUE: i32 = libc::SIGCONT;
pub const HANGUP: i32 = libc::SIGHUP;
pub const INTERRUPT: i32 = libc::SIGINT;
pub const QUIT: i32 = libc::SIGQUIT;
pub const RESIZE: i32 = libc::SIGWINCH;
pub const TERMINATE: i32 = libc::SIGTERM;
pub const KILL: i32 = libc::SIGKILL;
pub const STOP: i32 = libc::SIGSTOP;

/// What a person or a service manager sends to end a program.
pub const ASKS_TO_END: [i32; 4] = [HANGUP, INTERRUPT, QUIT, TERMINATE];

/// Read by redlease and passed on to the job. Never among them: TSTP, TTIN and TTOU, which stop redlease together
/// with its group, and those that a fault of its own raises.
pub fn forwarded() -> Vec<i32> {
    let mut numbers = vec![
        libc::SIGHUP,
        libc::SIGINT,
        libc::SIGQUIT,
        libc::SIGTERM,
        libc::SIGUSR1,
        libc::SIGUSR2,
        libc::SIGALRM,
        libc::SIGCONT,
        libc::SIGWINCH,
    ];
    numbers.extend(libc::SIGRTMIN()..=libc::SIGRTMAX());
    numbers
}

pub fn is_ignored(number: i32) -> bool {
    let mut old = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: without a new action this only writes the old one.
    let answer = unsafe { libc::sigaction(number, std::ptr::null(), old.as_mut_ptr()) };
    // SAFETY: zeroed memory is a valid sigaction, and the kernel has written over it.
    let old = unsafe { old.assume_init() };
    answer == 0 && old.sa_sigaction == libc::SIG_IGN
}

pub fn set_default(number: i32) {
    // SAFETY: SIG_DFL runs no code of ours.
    unsafe { libc::signal(number, libc::SIG_DFL) };
}

pub fn set_ignored(number: i32) {
    // SAFETY: SIG_IGN runs no code of ours.
    unsafe { libc::signal(number, libc::SIG_IGN) };
}

pub fn set_of(numbers: &[i32]) -> SigSet {
    joined(&SigSet::empty(), numbers)
}

/// The signals of `mask`, and `more`. The iterators of nix would lose the real-time ones.
pub fn joined(mask: &SigSet, more: &[i32]) -> SigSet {
    let mut raw = *mask.as_ref();
    for number in more {
        // SAFETY: `raw` is an initialised set; a number out of range is refused.
        unsafe { libc::sigaddset(&raw mut raw, *number) };
    }
    // SAFETY: made by sigemptyset and sigaddset.
    unsafe { SigSet::from_sigset_t_unchecked(raw) }
}

pub fn every() -> SigSet {
    SigSet::all()
}

/// Sets the mask of this thread and gives the one before.
///
/// # Errors
/// None that the kernel documents for valid arguments.
pub fn set_mask(mask: &SigSet) -> io::Result<SigSet> {
    let mut before = SigSet::empty();
    sigprocmask(SigmaskHow::SIG_SETMASK, Some(mask), Some(&mut before))?;
    Ok(before)
}

/// # Errors
/// `ESRCH` and `EPERM`, as kill(2) says.
pub fn send(pid: i32, number: i32) -> Result<(), Errno> {
    // SAFETY: a signal to another process touches no memory of ours.
    Errno::result(unsafe { libc::kill(pid, number) }).map(drop)
}

/// Until it is dropped, writing to the terminal from the background does not stop this process.
pub struct Undisturbed(Option<SigSet>);

pub fn undisturbed() -> Undisturbed {
    let mut before = SigSet::empty();
    let blocked = sigprocmask(
        SigmaskHow::SIG_BLOCK,
        Some(&set_of(&[libc::SIGTTOU])),
        Some(&mut before),
    );
    Undisturbed(blocked.is_ok().then_some(before))
}

impl Drop for Undisturbed {
    fn drop(&mut self) {
        if let Some(before) = &self.0 {
            let _kept = set_mask(before);
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrived {
    pub number: i32,
    /// Sent by the kernel: a key of the terminal, or its hangup.
    pub from_kernel: bool,
}

/// Blocked signals, read one after the other.
pub struct Incoming(SignalFd);

impl Incoming {
    /// # Errors
    /// No descriptor is left.
    pub fn new(numbers: &[i32]) -> io::Result<Incoming> {
        let flags = SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK;
        Ok(Incoming(SignalFd::with_flags(&set_of(numbers), flags)?))
    }

    pub fn next(&self) -> Option<Arrived> {
        let info = self.0.read_signal().ok().flatten()?;
        Some(Arrived {
            number: i32::try_from(info.ssi_signo).ok()?,
            from_kernel: info.ssi_code == libc::SI_KERNEL,
        })
    }

    pub fn fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Dies of the signal that the job died of, so that the caller sees the truth, without a second core file.
/// It returns where that cannot be: the process is PID 1, or the signal does not end a process.
pub fn repeat_death(number: i32) {
    if let Ok((_, hard)) = getrlimit(Resource::RLIMIT_CORE) {
        let _kept = setrlimit(Resource::RLIMIT_CORE, 0, hard);
    }
    let _dumpable = nix::sys::prctl::set_dumpable(false);
    set_default(number);
    let _sent = send(std::process::id().cast_signed(), number);
    let _blocked = sigprocmask(SigmaskHow::SIG_UNBLOCK, Some(&set_of(&[number])), None);
}
