//! The table: one line per slot that fits the width there is, and what a line has no room for below it.

use std::time::{Duration, SystemTime};

use unicode_width::UnicodeWidthStr;

use super::row::{LastRun, Row, State, between};
use crate::report::clean;
use crate::report::screen::Style;
use crate::report::waiting::fit;
use crate::report::words::{span, who};

/// What a column is called, and how it is filled.
struct Column {
    title: &'static str,
    cells: Vec<String>,
    width: usize,
    /// It may be cut down to this.
    least: usize,
    right: bool,
}

const GAP: usize = 2;

/// Columns of a text. Nearly all are plain, and there may be a hundred thousand.
fn columns(text: &str) -> usize {
    if text.is_ascii() {
        text.len()
    } else {
        text.width()
    }
}

impl Column {
    fn new(title: &'static str, rows: &[Row], cell: impl Fn(&Row) -> String) -> Column {
        let cells: Vec<String> = rows.iter().map(|row| clean(&cell(row))).collect();
        let widest = cells.iter().map(|cell| columns(cell)).max().unwrap_or(0);
        let width = widest.max(title.width());
        Column {
            title,
            cells,
            width,
            least: width,
            right: false,
        }
    }

    fn at_least(mut self, least: usize) -> Column {
        self.least = least.max(self.title.width()).min(self.width);
        self
    }

    fn right(mut self) -> Column {
        self.right = true;
        self
    }
}

/// The table as lines without their newlines; `details` adds what is known beside it below each row.
pub fn lines(rows: &[Row], style: Style, details: bool) -> Vec<String> {
    let columns = fitted(rows, style.width);
    let mut lines = Vec::with_capacity(rows.len() + 1);
    let titles: Vec<&str> = columns.iter().map(|column| column.title).collect();
    lines.push(line(&columns, &titles, style, None));
    for (at, row) in rows.iter().enumerate() {
        let cells: Vec<&str> = columns
            .iter()
            .map(|column| column.cells.get(at).map_or("", String::as_str))
            .collect();
        lines.push(line(&columns, &cells, style, Some(row.state)));
        if details {
            let below = below(row).into_iter();
            lines.extend(below.map(|text| fit_or_cut(&clean(&format!("  {text}")), style.width)));
        }
    }
    lines
}

/// The columns that fit: first the last ones go, then holder and key are cut.
fn fitted(rows: &[Row], width: usize) -> Vec<Column> {
    let mut columns = vec![
        Column::new("KEY", rows, key).at_least(12),
        Column::new("STATE", rows, |row| row.state.word().to_owned()),
        Column::new("HOLDER", rows, holder).at_least(10),
        Column::new("FOR", rows, |row| time(row.age())).right(),
        Column::new("LEFT", rows, |row| {
            time(row.remaining.filter(|_| row.state.occupied()))
        })
        .right(),
    ];
    if rows.iter().any(|row| row.waiting > 0) {
        let waiting = |row: &Row| match row.waiting {
            0 => String::new(),
            some => some.to_string(),
        };
        columns.push(Column::new("WAITING", rows, waiting).right());
    }
    for (title, cell) in [
        ("FENCE", fence as fn(&Row) -> String),
        ("LAST RUN", last_in_short),
    ] {
        if total(&columns) + GAP + title.len() > width {
            continue;
        }
        let column = Column::new(title, rows, cell);
        if column.cells.iter().any(|cell| !cell.is_empty())
            && total(&columns) + GAP + column.width <= width
        {
            columns.push(column);
        }
    }
    for title in ["HOLDER", "KEY"] {
        let excess = total(&columns).saturating_sub(width);
        if let Some(column) = columns.iter_mut().find(|column| column.title == title) {
            column.width = column.width.saturating_sub(excess).max(column.least);
        }
    }
    // A terminal narrower than all this is left to its own folding, but for what can be missed.
    for title in ["WAITING", "HOLDER", "FOR"] {
        if total(&columns) > width {
            columns.retain(|column| column.title != title);
        }
    }
    columns
}

fn total(columns: &[Column]) -> usize {
    let widths: usize = columns.iter().map(|column| column.width).sum();
    widths + GAP * columns.len().saturating_sub(1)
}

fn line(columns: &[Column], cells: &[&str], style: Style, state: Option<State>) -> String {
    let mut line = String::new();
    for (at, (column, cell)) in columns.iter().zip(cells).enumerate() {
        if at > 0 {
            line.push_str("  ");
        }
        let text = fit_or_cut(cell, column.width);
        let room = " ".repeat(column.width.saturating_sub(self::columns(&text)));
        let text = match state {
            Some(state) if column.title == "STATE" => style.paint(&text, colour(state)),
            None => style.paint(&text, "1"),
            Some(_) => text,
        };
        if column.right {
            line.push_str(&room);
            line.push_str(&text);
        } else {
            line.push_str(&text);
            line.push_str(&room);
        }
    }
    line.trim_end().to_owned()
}

fn colour(state: State) -> &'static str {
    match state {
        State::Held => "32",
        State::Cooling | State::Broken => "33",
        State::Free => "2",
        State::Abandoned => "31",
        State::Foreign => "35",
    }
}

/// Cut with a sign that it was.
fn fit_or_cut(text: &str, width: usize) -> String {
    if columns(text) <= width {
        return text.to_owned();
    }
    format!("{}…", fit(text, width.saturating_sub(1)))
}

fn key(row: &Row) -> String {
    if row.slots > 1 {
        format!("{} [{}/{}]", row.key, row.slot, row.slots)
    } else if row.raw {
        format!("{} (raw)", row.key)
    } else {
        row.key.clone()
    }
}

fn holder(row: &Row) -> String {
    match (&row.holder, row.state) {
        (Some(holder), State::Held | State::Broken | State::Cooling | State::Abandoned) => {
            who(holder)
        }
        (_, State::Foreign) => "another client".to_owned(),
        (_, State::Held | State::Broken | State::Cooling | State::Abandoned) => {
            "unknown".to_owned()
        }
        (_, State::Free) => String::new(),
    }
}

fn fence(row: &Row) -> String {
    row.fence.map(|fence| fence.to_string()).unwrap_or_default()
}

fn time(time: Option<Duration>) -> String {
    time.map(span).unwrap_or_default()
}

fn last_in_short(row: &Row) -> String {
    row.last
        .as_ref()
        .map(|last| {
            let ago = span(between(last.ended_at_us, row.now_us));
            format!("{}, {ago} ago", ended(last))
        })
        .unwrap_or_default()
}

fn ended(last: &LastRun) -> String {
    match (last.outcome.as_str(), last.code) {
        ("completed", Some(0)) => "ok".to_owned(),
        ("completed", Some(code)) => format!("exit code {code}"),
        (outcome, Some(code)) if outcome != "broken" => format!("{outcome} ({code})"),
        (outcome, _) => outcome.to_owned(),
    }
}

/// What a row has no room for.
fn below(row: &Row) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(problem) = &row.problem {
        lines.push(problem.clone());
    }
    match row.state {
        State::Cooling => {
            if let Some(until) = row.until_us() {
                lines.push(format!("cooling until {} (--min-hold)", date(until)));
            }
        }
        State::Broken => {
            let by = row.broken_by.as_deref().unwrap_or("an operator");
            let until = row
                .until_us()
                .map(|until| format!("; keeps others out until {}", date(until)))
                .unwrap_or_default();
            lines.push(format!("broken by {by}{until}"));
        }
        State::Abandoned => {
            let since = row
                .since_us
                .filter(|since| *since <= row.now_us)
                .map(|since| format!(" at {}", date(since)))
                .unwrap_or_default();
            lines.push(format!(
                "lapsed{since} without a release: the holder died or was cut off; it can be acquired"
            ));
        }
        State::Held | State::Free | State::Foreign => {}
    }
    if row.state != State::Free {
        lines.extend(holding(row));
    }
    for (at, waiter) in row.waiters.iter().enumerate() {
        let silent = if waiter.silent { ", silent" } else { "" };
        lines.push(format!(
            "{}. {} has waited for {}{silent}",
            at + 1,
            who(&waiter.who),
            span(waiter.waited)
        ));
    }
    if let Some(last) = &row.last {
        lines.push(last_run(last, row.now_us));
    }
    lines
}

fn holding(row: &Row) -> Option<String> {
    let mut parts = Vec::new();
    if let Some(at) = row.acquired_at_us {
        parts.push(format!("acquired {}", date(at)));
    }
    if let Some(fence) = row.fence {
        parts.push(format!("fence {fence}"));
    }
    if let Some(ttl) = row.ttl {
        parts.push(format!("ttl {}", span(ttl)));
    }
    (!parts.is_empty()).then(|| parts.join(", "))
}

fn last_run(last: &LastRun, now_us: u64) -> String {
    let took = last
        .duration
        .map(|took| format!(" after {}", span(took)))
        .unwrap_or_default();
    let host = last
        .host
        .as_ref()
        .map(|host| format!(" on {host}"))
        .unwrap_or_default();
    format!(
        "last run: {}{took}{host}, ended {} ago",
        ended(last),
        span(between(last.ended_at_us, now_us))
    )
}

/// `2026-11-30T18:53:10Z`
fn date(us: u64) -> String {
    let time = SystemTime::UNIX_EPOCH + Duration::from_micros(us);
    // Past the year 9999 there is no such text, and a stored number can be anything.
    if us > 253_402_300_799_000_000 {
        return "an unknown time".to_owned();
    }
    humantime::format_rfc3339_seconds(time).to_string()
}

#[cfg(test)]
#[path = "table_tests.rs"]
mod tests;
