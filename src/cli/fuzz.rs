//! Values as people type them, and as they mistype them.

use std::time::Duration;

use proptest::prop_assert;

use super::values::{self, LONGEST, WaitFor};
use crate::fuzz::{fuzz, text};

const PIECES: &[&str] = &[
    "0",
    "1",
    "9",
    "30",
    "365",
    "366",
    "8760",
    "00",
    "18446744073709551615",
    "99999999999999999999",
    ".",
    "-",
    "+",
    "e9",
    "ms",
    "us",
    "ns",
    "s",
    "sec",
    "m",
    "M",
    "min",
    "h",
    "d",
    "w",
    "y",
    "month",
    " ",
    "@",
    "forever",
    ",",
    "١",
];

/// Refused with a word, or a duration that can be meant.
#[test]
fn durations() {
    fuzz(text(PIECES, 6), |typed| {
        for read in [values::duration, values::ttl] {
            match read(&typed) {
                Ok(value) => {
                    let whole = value.as_nanos() % 1_000_000 == 0;
                    prop_assert!(
                        whole && value > Duration::ZERO && value <= LONGEST,
                        "{:?}",
                        value
                    );
                }
                Err(why) => prop_assert!(!why.is_empty() && !why.contains('\n'), "{}", why),
            }
        }
        if let Ok(WaitFor::Limit(limit)) = values::wait(&typed) {
            prop_assert!(limit > Duration::ZERO && limit <= LONGEST);
        }
        if let Ok(period) = values::period(&typed) {
            prop_assert!(period.every >= Duration::from_secs(1) && period.offset < period.every);
        }
        Ok(())
    });
}

#[test]
fn numbers() {
    fuzz(text(PIECES, 3), |typed| {
        if let Ok(slots) = values::limit(&typed) {
            prop_assert!((1..=64).contains(&slots));
        }
        if let Ok(signal) = values::signal(&typed) {
            prop_assert!((1..=64).contains(&signal));
        }
        drop(values::exit_code(&typed));
        drop(values::replicas(&typed));
        drop(values::pid(&typed));
        drop(values::switch(&typed));
        Ok(())
    });
}
