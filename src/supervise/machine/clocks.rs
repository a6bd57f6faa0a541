//! The wall clock beside the clock of the leases. A virtual machine that was paused shows it in neither
//! CLOCK_BOOTTIME nor CLOCK_MONOTONIC, but its wall clock leaps ahead when it is set right again.

use std::time::Duration;

use crate::time::Moment;

/// Both clocks at one instant.
#[derive(Clone, Copy, Debug)]
pub struct Clocks {
    boot: Moment,
    wall_us: u64,
    margin: Duration,
}

impl Clocks {
    /// `usable` is the part of the TTL before the kill moment. The rest, the margin, is 5 % of the TTL within
    /// its bounds, so that what lies before it is 19 times as much.
    pub fn new(usable: Duration, boot: Moment, wall_us: u64) -> Clocks {
        let margin = (usable / 19).clamp(Duration::from_millis(250), Duration::from_secs(3));
        Clocks {
            boot,
            wall_us,
            margin,
        }
    }

    pub fn set(&mut self, boot: Moment, wall_us: u64) {
        self.boot = boot;
        self.wall_us = wall_us;
    }

    /// Whether the wall clock has grown more than the margin ahead since it was set; says so once.
    pub fn leapt(&mut self, boot: Moment, wall_us: u64) -> bool {
        let by_wall = Duration::from_micros(wall_us.saturating_sub(self.wall_us));
        let lead = by_wall.saturating_sub(boot.remaining(self.boot));
        let leapt = lead > self.margin;
        if leapt {
            self.set(boot, wall_us);
        }
        leapt
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn the_margin_is_that_of_the_ttl() {
        let margin = |ms| Clocks::new(Duration::from_millis(ms), Moment(0), 0).margin;
        assert_eq!(margin(1_750), Duration::from_millis(250));
        assert_eq!(margin(28_500), Duration::from_millis(1_500));
        assert_eq!(margin(297_000), Duration::from_secs(3));
    }

    #[test]
    fn a_leap_ahead_is_told_once_and_a_step_back_never() {
        let mut clocks = Clocks::new(Duration::from_millis(1_750), Moment(SECOND), 1_000_000);
        assert!(!clocks.leapt(Moment(2 * SECOND), 2_240_000));
        assert!(clocks.leapt(Moment(2 * SECOND), 2_260_000));
        assert!(!clocks.leapt(Moment(2 * SECOND), 2_260_000));
        assert!(!clocks.leapt(Moment(3 * SECOND), 1_000_000));
    }
}
