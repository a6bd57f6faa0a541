//! What redlease, its guard and the job's process before exec share in memory: the kill moment, and how far the job
//! has come, which nobody needs to be woken for.
//!
//! Renewals move it later; whoever finds it passed exchanges it for `EXPIRED`, which nothing changes any more.
//! That one exchange settles the race between a renewal's reply and the deadline, for both processes.

use std::io;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};

use nix::errno::Errno;
use nix::sys::mman::{MapFlags, ProtFlags, mmap_anonymous};

use crate::time::Moment;

const EXPIRED: u64 = 0;

/// The words of the page.
#[repr(C)]
struct Page {
    kill_at: AtomicU64,
    /// When the guard has promised to look at the clock again.
    guard_looks_at: AtomicU64,
    job_started: AtomicBool,
    /// Why the job could not be executed: an errno, or zero.
    not_executed: AtomicI32,
}

/// Never unmapped: it lives as long as the processes that share it.
#[derive(Clone, Copy)]
pub struct Word(&'static Page);

impl Word {
    /// A word that is not armed: the moment that never comes.
    ///
    /// # Errors
    /// No memory.
    pub fn new() -> io::Result<Word> {
        let size = NonZeroUsize::MIN.saturating_add(size_of::<Page>() - 1);
        let rights = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
        // SAFETY: a fresh mapping at an address of the kernel's choice overlaps nothing.
        let page = unsafe { mmap_anonymous(None, size, rights, MapFlags::MAP_SHARED) }?;
        // SAFETY: the mapping is page-aligned, zeroed, large enough, never unmapped, and zero is a valid atomic.
        let page: &'static Page = unsafe { page.cast::<Page>().as_ref() };
        page.kill_at.store(Moment::FAR.0, Ordering::SeqCst);
        page.guard_looks_at.store(Moment::FAR.0, Ordering::SeqCst);
        Ok(Word(page))
    }

    /// The kill moment of a grant, before any job exists.
    pub fn arm(&self, kill_at: Moment) {
        self.replace(kill_at, |_| true);
    }

    /// Moves the kill moment later, never earlier. False: the lease has ended here, and the renewal came too late.
    #[must_use]
    pub fn extend(&self, kill_at: Moment) -> bool {
        self.replace(kill_at, |current| current < kill_at.0)
    }

    fn replace(&self, kill_at: Moment, wanted: impl Fn(u64) -> bool) -> bool {
        let update = |current| (current != EXPIRED && wanted(current)).then_some(kill_at.0);
        match self
            .0
            .kill_at
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, update)
        {
            Ok(_) => true,
            Err(current) => current != EXPIRED,
        }
    }

    /// Ends the lease here, unless a renewal has moved the moment away from `kill_at` meanwhile.
    #[must_use]
    pub fn expire_if(&self, kill_at: Moment) -> bool {
        self.0
            .kill_at
            .compare_exchange(kill_at.0, EXPIRED, Ordering::SeqCst, Ordering::SeqCst)
            .is_ok()
    }

    pub fn expire(&self) {
        self.0.kill_at.store(EXPIRED, Ordering::SeqCst);
    }

    /// None once the lease has ended here.
    pub fn get(&self) -> Option<Moment> {
        match self.0.kill_at.load(Ordering::SeqCst) {
            EXPIRED => None,
            moment => Some(Moment(moment)),
        }
    }

    /// The guard's promise, by which redlease can tell a guard that hangs from one that sleeps.
    pub fn promise_look(&self, at: Moment) {
        self.0.guard_looks_at.store(at.0, Ordering::SeqCst);
    }

    /// The guard has made the job's process.
    pub fn note_start(&self) {
        self.0.job_started.store(true, Ordering::SeqCst);
    }

    pub fn has_started(&self) -> bool {
        self.0.job_started.load(Ordering::SeqCst)
    }

    /// The last word of a process that could not become the job.
    pub fn note_not_executed(&self, why: Errno) {
        self.0.not_executed.store(why as i32, Ordering::SeqCst);
    }

    /// To be asked when that process has ended.
    pub fn not_executed(&self) -> Option<Errno> {
        match self.0.not_executed.load(Ordering::SeqCst) {
            0 => None,
            why => Some(Errno::from_raw(why)),
        }
    }

    pub fn guard_looks_at(&self) -> Moment {
        Moment(self.0.guard_looks_at.load(Ordering::SeqCst))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_moment_moves_later_only() {
        let word = Word::new().unwrap();
        assert_eq!(word.get(), Some(Moment::FAR));
        word.arm(Moment(100));
        assert!(word.extend(Moment(200)));
        assert!(word.extend(Moment(150)));
        assert_eq!(word.get(), Some(Moment(200)));
    }

    #[test]
    fn expiry_is_final() {
        let word = Word::new().unwrap();
        word.arm(Moment(100));
        assert!(!word.expire_if(Moment(99)));
        assert!(word.expire_if(Moment(100)));
        assert!(!word.expire_if(Moment(100)));
        assert!(!word.extend(Moment(200)));
        word.arm(Moment(300));
        assert_eq!(word.get(), None);
    }

    #[test]
    fn a_renewal_and_the_deadline_cannot_both_win() {
        for round in 0..2_000_u64 {
            let word = Word::new().unwrap();
            word.arm(Moment(100));
            let renewal = std::thread::spawn(move || word.extend(Moment(200 + round)));
            let expired = word.expire_if(Moment(100));
            assert_ne!(renewal.join().unwrap(), expired, "round {round}");
            assert_eq!(word.get().is_none(), expired);
        }
    }
}
