//! What a waiting run shows: on a terminal one line that is kept up to date, elsewhere one line at the start and
//! one per change of holder.

use unicode_width::UnicodeWidthChar;

use super::{Level, Log, clean, stderr, words};
use crate::lease::{Holder, Refusal};

pub struct WaitingLine {
    log: Log,
    key: String,
    redraws: bool,
    columns: usize,
    drawn: bool,
    last: Option<Option<Holder>>,
}

impl WaitingLine {
    pub fn new(log: Log, key: &str, columns: usize) -> WaitingLine {
        WaitingLine {
            log,
            key: key.to_owned(),
            redraws: log.redraws(),
            columns: columns.max(20),
            drawn: false,
            last: None,
        }
    }

    pub fn show(&mut self, refusal: &Refusal) {
        let text = sentence(&self.key, refusal);
        if self.redraws {
            // Room for the ^C that a terminal echoes behind it: what wraps is not taken away.
            let line = fit(&clean(&format!("redlease: {text}")), self.columns - 3);
            stderr(&format!("\r\x1b[2K{line}"));
            self.drawn = true;
            return;
        }
        if self.last.is_some() && matches!(refusal, Refusal::Queued { .. }) {
            // Between two holders; the next one is named when it holds.
            return;
        }
        let by = match refusal {
            Refusal::Held { holder, .. } => holder.clone(),
            Refusal::Cooling { last, .. } => last.clone(),
            _ => None,
        };
        if self.last.as_ref() != Some(&by) {
            self.log.say(Level::Warning, &text);
            self.last = Some(by);
        }
    }

    /// Takes the line away before the job, or another line, writes to the terminal.
    pub fn clear(&mut self) {
        if std::mem::take(&mut self.drawn) {
            stderr("\r\x1b[2K");
        }
    }
}

fn sentence(key: &str, refusal: &Refusal) -> String {
    let place = refusal.place().map(|place| {
        format!(
            "waiting, {} of {}: ",
            place.ahead + 1,
            place.waiting.max(place.ahead + 1)
        )
    });
    let why = match refusal {
        Refusal::Queued { .. } => format!("{key} is free, and others come first"),
        other => words::refusal(key, other),
    };
    format!("{}{why}", place.unwrap_or_else(|| "waiting: ".to_owned()))
}

/// Cut to a number of columns, so that a redrawn line never wraps.
pub fn fit(text: &str, columns: usize) -> String {
    let mut used = 0;
    let mut fitted = String::new();
    for c in text.chars() {
        used += c.width().unwrap_or(0);
        if used > columns {
            break;
        }
        fitted.push(c);
    }
    fitted
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::lease::{Identity, Place};

    #[test]
    fn the_line_begins_with_the_place() {
        let refusal = Refusal::Held {
            holder: Some(Holder {
                who: Identity {
                    host: "h".into(),
                    pid: 1,
                    user: "u".into(),
                    label: "l".into(),
                },
                since_us: 0,
            }),
            held: Some(Duration::from_secs(10)),
            remaining: Some(Duration::from_secs(20)),
            place: Some(Place {
                ahead: 1,
                waiting: 3,
                ticket: 7,
            }),
        };
        assert_eq!(
            sentence("k", &refusal),
            "waiting, 2 of 3: k is held by u@h (pid 1, l) for 10s; 20s left unless renewed"
        );
    }

    #[test]
    fn wide_characters_count_twice() {
        assert_eq!(fit("日本語", 5), "日本");
        assert_eq!(fit("abc", 5), "abc");
    }
}
