//! One timer on the clock of the leases. The timeout of poll(2) would not do: it stands still during suspend.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};

use crate::time::Moment;

pub struct Timer {
    timer: TimerFd,
    set_to: Option<Moment>,
}

impl Timer {
    /// # Errors
    /// No descriptor is left, or the kernel lacks timers on CLOCK_BOOTTIME (before Linux 3.15).
    pub fn new() -> io::Result<Timer> {
        let flags = TimerFlags::TFD_CLOEXEC | TimerFlags::TFD_NONBLOCK;
        let timer = TimerFd::new(ClockId::CLOCK_BOOTTIME, flags)?;
        Ok(Timer {
            timer,
            set_to: None,
        })
    }

    /// Wakes whoever polls at this moment, at once if it has passed; None or a moment that never comes: not at all.
    ///
    /// # Errors
    /// None that the kernel documents for a valid timer.
    pub fn set(&mut self, at: Option<Moment>) -> io::Result<()> {
        let at = at.filter(|moment| *moment < Moment::FAR);
        if at == self.set_to {
            return Ok(());
        }
        match at {
            Some(Moment(nanos)) => {
                // Zero would switch the timer off.
                let spec = TimeSpec::from_duration(Duration::from_nanos(nanos.max(1)));
                self.timer.set(
                    Expiration::OneShot(spec),
                    TimerSetTimeFlags::TFD_TIMER_ABSTIME,
                )?;
            }
            None => self.timer.unset()?,
        }
        self.set_to = at;
        Ok(())
    }

    /// After a wake-up: forgets that it has rung.
    pub fn drain(&mut self) {
        let mut count = [0; 8];
        if nix::unistd::read(self.timer.as_fd(), &mut count).is_ok() {
            self.set_to = None;
        }
    }

    pub fn fd(&self) -> BorrowedFd<'_> {
        self.timer.as_fd()
    }
}
