//! The clock of every decision, and the moments that follow from a lease's TTL.
//!
//! `CLOCK_BOOTTIME` counts while the machine is suspended, as the TTL in Redis does; `std::time::Instant` does
//! not (see clock_gettime(2)), and the wall clock can be set. So neither of them decides anything here.

use std::time::Duration;

use nix::time::{ClockId, clock_gettime};

/// An instant of `CLOCK_BOOTTIME`, in nanoseconds. Zero is the machine's start, which no lease has seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment(pub u64);

impl Moment {
    pub const FAR: Moment = Moment(u64::MAX);

    pub fn now() -> Moment {
        // CLOCK_BOOTTIME exists since Linux 2.6.39; without it no deadline can be kept, and MONOTONIC is the
        // nearest clock that cannot be set.
        let time = clock_gettime(ClockId::CLOCK_BOOTTIME)
            .or_else(|_| clock_gettime(ClockId::CLOCK_MONOTONIC))
            .map(Duration::from)
            .unwrap_or_default();
        Moment(nanos(time))
    }

    pub fn after(self, wait: Duration) -> Moment {
        Moment(self.0.saturating_add(nanos(wait)))
    }

    pub fn before(self, lead: Duration) -> Moment {
        Moment(self.0.saturating_sub(nanos(lead)))
    }

    /// How long from `now` until this moment: zero once it has passed.
    pub fn remaining(self, now: Moment) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(now.0))
    }

    /// How long ago `earlier` was.
    pub fn since(self, earlier: Moment) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }

    pub fn passed(self, now: Moment) -> bool {
        now >= self
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// The wall clock, in microseconds since 1970: for people, for records, and as the stand-in that scripts use
/// where a server refuses TIME. It decides nothing else.
pub fn wall_us() -> u64 {
    std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .map_or(0, |age| u64::try_from(age.as_micros()).unwrap_or(u64::MAX))
}

/// The moments of a lease, each counted from `sent`: the instant before the last good request was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    pub ttl: Duration,
    /// From one renewal to the next: a third of the TTL.
    pub renew_every: Duration,
    /// For one request, connect and whole reply: a sixth of the TTL, at most 5 s.
    pub request_limit: Duration,
    /// What is kept free before the TTL's end: 5 %, at least 250 ms, at most 3 s.
    pub margin: Duration,
    /// Between TERM and KILL: a sixth of the TTL, at most 5 s, or what was typed.
    pub kill_after: Duration,
}

pub const SMALLEST_TTL: Duration = Duration::from_secs(2);

/// The TTL leaves no room for a renewal before the job would have to be stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoRoom {
    pub renew_at: Duration,
    pub stop_at: Duration,
}

impl Timing {
    pub fn new(ttl: Duration, kill_after: Option<Duration>) -> Result<Timing, NoRoom> {
        let timing = Timing {
            ttl,
            renew_every: ttl / 3,
            request_limit: (ttl / 6).min(Duration::from_secs(5)),
            margin: (ttl / 20).clamp(Duration::from_millis(250), Duration::from_secs(3)),
            kill_after: kill_after.unwrap_or((ttl / 6).min(Duration::from_secs(5))),
        };
        #[cfg(feature = "mutate")]
        let timing = Timing {
            margin: if crate::mutate::without("margin") {
                Duration::ZERO
            } else {
                timing.margin
            },
            ..timing
        };
        let renew_at = timing.renew_every + timing.request_limit;
        let stop_at = ttl
            .saturating_sub(timing.margin)
            .saturating_sub(timing.kill_after);
        if ttl < SMALLEST_TTL || renew_at >= stop_at {
            return Err(NoRoom { renew_at, stop_at });
        }
        Ok(timing)
    }

    pub fn renew_at(&self, sent: Moment) -> Moment {
        sent.after(self.renew_every)
    }

    pub fn stop_at(&self, sent: Moment) -> Moment {
        self.kill_at(sent).before(self.kill_after)
    }

    pub fn kill_at(&self, sent: Moment) -> Moment {
        sent.after(self.ttl).before(self.margin)
    }
}

/// Waits between attempts: 50 ms, doubled each time, at most 1 s.
#[derive(Clone, Copy, Debug)]
pub struct Backoff(Duration);

impl Backoff {
    pub fn new() -> Backoff {
        Backoff(Duration::from_millis(50))
    }

    pub fn next(&mut self) -> Duration {
        let wait = self.0;
        self.0 = (wait * 2).min(Duration::from_secs(1));
        wait
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    #[test]
    fn moments_of_thirty_seconds() {
        let timing = Timing::new(ms(30_000), None).unwrap();
        let sent = Moment(0);
        assert_eq!(timing.renew_at(sent), Moment(0).after(ms(10_000)));
        assert_eq!(timing.request_limit, ms(5_000));
        assert_eq!(timing.stop_at(sent), Moment(0).after(ms(23_500)));
        assert_eq!(timing.kill_at(sent), Moment(0).after(ms(28_500)));
    }

    #[test]
    fn moments_of_two_seconds() {
        let timing = Timing::new(ms(2_000), None).unwrap();
        assert_eq!(timing.margin, ms(250));
        assert_eq!(timing.kill_at(Moment(0)), Moment(0).after(ms(1_750)));
        let stop = timing.stop_at(Moment(0)).remaining(Moment(0));
        assert!(stop > ms(1_416) && stop < ms(1_418), "{stop:?}");
    }

    #[test]
    fn a_ttl_without_room_is_refused_with_its_sum() {
        assert!(Timing::new(ms(1_999), None).is_err());
        let refused = Timing::new(ms(10_000), Some(ms(5_000))).unwrap_err();
        assert_eq!(refused.stop_at, ms(4_500));
        assert!(refused.renew_at > ms(4_999));
    }

    #[test]
    fn waits_between_attempts_grow_to_a_second() {
        let mut backoff = Backoff::new();
        let waits: Vec<u64> = (0..7)
            .map(|_| u64::try_from(backoff.next().as_millis()).unwrap())
            .collect();
        assert_eq!(waits, [50, 100, 200, 400, 800, 1000, 1000]);
    }
}
