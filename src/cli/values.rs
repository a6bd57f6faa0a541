//! How single values are read: each refusal says what is wrong with the value and what to write instead.

use std::time::Duration;

use crate::time::SMALLEST_TTL;

/// The longest duration that is taken for meant: a year. Past it a slip (`M`, a missing unit) is likelier.
pub const LONGEST: Duration = Duration::from_secs(365 * 24 * 3600);

/// A duration of humantime (`30s`, `1h 30m`), or a bare number of seconds as in timeout(1); whole milliseconds,
/// more than 0 and at most a year.
pub fn duration(text: &str) -> Result<Duration, String> {
    let value = duration_or_zero(text)?;
    if value.is_zero() {
        return Err("zero is no duration here; leave the option out instead".to_owned());
    }
    Ok(value)
}

fn duration_or_zero(text: &str) -> Result<Duration, String> {
    let text = text.trim();
    if text.is_empty() {
        return Err("it is empty; write a duration such as 30s, 5m or 1h".to_owned());
    }
    if text == "--" {
        return Err("it is missing; write a duration such as 30s, 5m or 1h".to_owned());
    }
    if text.starts_with('-') {
        return Err("a duration cannot be negative".to_owned());
    }
    let too_long = || "it is too long: 365 days are the most".to_owned();
    let value = if text.bytes().all(|b| b.is_ascii_digit() || b == b'.') {
        seconds(text).ok_or_else(|| {
            if text.bytes().filter(|b| *b == b'.').count() > 1 {
                "it is no number of seconds".to_owned()
            } else {
                too_long()
            }
        })?
    } else {
        if let Some(unit) = calendar_unit(text) {
            return Err(format!(
                "`{unit}` would be months or years; minutes are `m`, and days are the largest unit here"
            ));
        }
        humantime::parse_duration(text).map_err(|error| match error {
            humantime::DurationError::NumberOverflow => too_long(),
            other => format!("{other}; write a duration such as 30s, 5m or 1h"),
        })?
    };
    if value > LONGEST {
        return Err(too_long());
    }
    if value.subsec_nanos() % 1_000_000 != 0 {
        return Err("it is finer than a millisecond, which is what Redis counts in".to_owned());
    }
    Ok(value)
}

/// Digits with at most one decimal point. Not by a float: 0.1 has none.
fn seconds(text: &str) -> Option<Duration> {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    if part.len() > 9 || part.contains('.') || (whole.is_empty() && part.is_empty()) {
        return None;
    }
    let whole = if whole.is_empty() {
        0
    } else {
        whole.parse().ok()?
    };
    let nanos = format!("{part:0<9}").parse().ok()?;
    Some(Duration::new(whole, nanos))
}

/// Units of humantime that no lease is counted in, among them `M`, a slip for `m`.
fn calendar_unit(text: &str) -> Option<&str> {
    text.split(|c: char| !c.is_ascii_alphabetic()).find(|word| {
        matches!(
            *word,
            "M" | "month" | "months" | "y" | "yr" | "yrs" | "year" | "years"
        )
    })
}

pub fn ttl(text: &str) -> Result<Duration, String> {
    let value = duration(text)?;
    if value < SMALLEST_TTL {
        return Err(
            "it is too short: 2s is the least, because a renewal, a stop and a kill must fit into it"
                .to_owned(),
        );
    }
    Ok(value)
}

/// `-w`: how long to wait for the lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitFor {
    Limit(Duration),
    Forever,
}

pub fn wait(text: &str) -> Result<WaitFor, String> {
    if text == "forever" {
        return Ok(WaitFor::Forever);
    }
    let value = duration_or_zero(text)?;
    if value.is_zero() {
        return Err("zero is no wait; -n does not wait".to_owned());
    }
    Ok(WaitFor::Limit(value))
}

/// `DUR[@OFFSET]`: slots of the server's clock, the first of which begins OFFSET after midnight of 1970 (UTC).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Period {
    pub every: Duration,
    pub offset: Duration,
}

pub fn period(text: &str) -> Result<Period, String> {
    let (every, offset) = text.split_once('@').unwrap_or((text, "0"));
    let every = duration(every)?;
    let offset = duration_or_zero(offset).map_err(|why| format!("the offset: {why}"))?;
    if every < Duration::from_secs(1) {
        return Err("it is too short: 1s is the least".to_owned());
    }
    if offset >= every {
        return Err("the offset must be less than the period".to_owned());
    }
    Ok(Period { every, offset })
}

/// Names as kill(1) lists them, with Linux's numbers on x86 and ARM.
const SIGNALS: &[(&str, i32)] = &[
    ("HUP", 1),
    ("INT", 2),
    ("QUIT", 3),
    ("ABRT", 6),
    ("KILL", 9),
    ("USR1", 10),
    ("USR2", 12),
    ("PIPE", 13),
    ("ALRM", 14),
    ("TERM", 15),
    ("WINCH", 28),
];

/// A signal by name, with or without SIG, or by number.
pub fn signal(text: &str) -> Result<i32, String> {
    let upper = text.to_ascii_uppercase();
    let name = upper.strip_prefix("SIG").unwrap_or(&upper);
    if matches!(
        name,
        "STOP" | "CONT" | "TSTP" | "CHLD" | "18" | "19" | "20" | "17"
    ) {
        return Err("this signal ends no process".to_owned());
    }
    if let Some((_, number)) = SIGNALS.iter().find(|(known, _)| *known == name) {
        return Ok(*number);
    }
    name.parse()
        .ok()
        .filter(|number| (1..=64).contains(number))
        .ok_or_else(|| "it is no signal; write a name such as TERM or INT, or a number".to_owned())
}

/// An exit code: 0 to 255.
pub fn exit_code(text: &str) -> Result<u8, String> {
    text.parse()
        .map_err(|_| "it is no exit code: 0 to 255".to_owned())
}

/// `--limit`: how many may hold at once.
pub fn limit(text: &str) -> Result<u8, String> {
    text.parse()
        .ok()
        .filter(|slots| (1..=crate::lease::names::MOST_SLOTS).contains(slots))
        .ok_or_else(|| "it is no number of holders: 1 to 64".to_owned())
}

/// `--replicas`: how many must have the acquire before the job starts.
pub fn replicas(text: &str) -> Result<u32, String> {
    text.parse()
        .ok()
        .filter(|count| (1..=100).contains(count))
        .ok_or_else(|| "it is no number of replicas: 1 to 100".to_owned())
}

pub fn pid(text: &str) -> Result<u32, String> {
    text.parse()
        .ok()
        .filter(|pid| (1..=4_194_304).contains(pid))
        .ok_or_else(|| "it is no process id".to_owned())
}

/// `yes` and `no` of the environment.
pub fn switch(text: &str) -> Result<bool, String> {
    match text.to_ascii_lowercase().as_str() {
        "1" | "true" | "yes" | "on" => Ok(true),
        "0" | "false" | "no" | "off" => Ok(false),
        _ => Err("write true or false".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    #[test]
    fn durations_are_humantime_or_seconds() {
        for (text, wanted) in [
            ("30", 30_000),
            ("2.5", 2_500),
            (".5", 500),
            ("2.5s", 2_500),
            ("2500ms", 2_500),
            ("5m", 300_000),
            ("1h 30m", 5_400_000),
            ("1d", 86_400_000),
        ] {
            assert_eq!(duration(text), Ok(ms(wanted)), "{text}");
        }
    }

    #[test]
    fn a_refused_duration_says_why() {
        for (text, why) in [
            ("", "empty"),
            ("0", "zero"),
            ("0s", "zero"),
            ("-1s", "negative"),
            ("--", "missing"),
            ("1M", "months"),
            ("1year", "years"),
            ("1e9h", "unknown"),
            ("12345678901234567890", "too long"),
            ("99999999999999999999", "too long"),
            ("1.2.3", "no number"),
            ("0.0001", "finer"),
            ("9000d", "too long"),
            ("soon", "such as"),
            ("ten s", "such as"),
        ] {
            let said = duration(text).unwrap_err();
            assert!(said.contains(why), "{text}: {said}");
        }
    }

    #[test]
    fn a_ttl_has_a_least_value() {
        assert!(ttl("500ms").unwrap_err().contains("too short"));
        assert!(ttl("1500ms").unwrap_err().contains("too short"));
        assert_eq!(ttl("2500ms"), Ok(ms(2_500)));
        assert_eq!(ttl("2"), Ok(ms(2_000)));
    }

    #[test]
    fn periods_have_an_offset_within_them() {
        let hour = Period {
            every: ms(3_600_000),
            offset: ms(0),
        };
        assert_eq!(period("1h"), Ok(hour));
        let offset = Period {
            offset: ms(300_000),
            ..hour
        };
        assert_eq!(period("1h@5m"), Ok(offset));
        assert!(period("1h@1h").unwrap_err().contains("less than"));
        assert!(period("1h@x").unwrap_err().contains("offset"));
        assert!(period("100ms").unwrap_err().contains("too short"));
    }

    #[test]
    fn signals_have_names_and_numbers() {
        assert_eq!(signal("TERM"), Ok(15));
        assert_eq!(signal("sigusr1"), Ok(10));
        assert_eq!(signal("9"), Ok(9));
        assert!(signal("STOP").is_err());
        assert!(signal("0").is_err());
        assert!(signal("65").is_err());
        assert!(signal("TREM").is_err());
    }

    #[test]
    fn a_wait_is_a_duration_or_forever() {
        assert_eq!(wait("forever"), Ok(WaitFor::Forever));
        assert_eq!(wait("2"), Ok(WaitFor::Limit(ms(2_000))));
        assert!(wait("0").unwrap_err().contains("-n"));
    }
}
