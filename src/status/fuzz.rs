//! What stands in Redis, from there to the table on a screen.

use proptest::collection::vec;
use proptest::prelude::Strategy;
use proptest::prop_assert;
use unicode_width::UnicodeWidthStr;

use super::row::Row;
use super::table::lines;
use crate::fuzz::{fuzz, text};
use crate::lease::names::{Names, Prefix};
use crate::lease::protocol::inspect::Inspect;
use crate::lease::reply::{Reply, Script};
use crate::report::screen::Style;

const FIELDS: &[&str] = &[
    "0",
    "1",
    "42",
    "-1",
    "1764528667000000",
    "1764528669000000",
    "18446744073709551615",
    "99999999999999999999",
    "web1",
    "ana",
    "import.sh",
    "日本語",
    "é",
    "\u{1b}[2J",
    "\r",
    "\n",
    "\u{202e}",
    "\u{200b}",
    "\u{301}",
    "👩\u{200d}🔬",
    "completed",
    "lost",
    "cooling:",
    "broken:",
    "token",
    " ",
    "a-host-whose-name-is-as-long-as-a-name-of-a-host-can-be-63-bytes",
];

fn field() -> impl Strategy<Value = Reply> {
    text(FIELDS, 3).prop_map(|text| Reply::Bytes(text.into_bytes()))
}

/// No line is wider than the terminal, and nothing from outside moves the cursor.
#[test]
fn tables() {
    let slot = vec(field(), 19..20).prop_map(Reply::Array);
    let shared = vec(field(), 7..8).prop_map(Reply::Array);
    let waiters = vec(field(), 0..7).prop_map(Reply::Array);
    let head = (field(), field(), -3_i64..100_000, 0_i64..2_000);
    let inputs = (head, slot, shared, waiters, 30_usize..200);
    let names = Names::new(&Prefix::default(), &"nightly-import".parse().unwrap());
    let inspect = Inspect {
        names: &names,
        slot: 1,
    };
    fuzz(
        inputs,
        |((wrong, value, left, waiting), slot, shared, waiters, width)| {
            let now = Reply::Bytes(b"1764528668000000".to_vec());
            let left = Reply::Int(left);
            let waiting = Reply::Int(waiting);
            let empty = Reply::Bytes(Vec::new());
            let wrong = if width % 2 == 0 { empty } else { wrong };
            let items = vec![now, wrong, value, left, slot, shared, waiting, waiters];
            let Ok(seen) = inspect.decode(&Reply::Array(items)) else {
                return Ok(());
            };
            let row = Row::new(&names, 1, 3, seen);
            let style = Style {
                width,
                colour: false,
            };
            for line in lines(&[row], style, true) {
                prop_assert!(
                    line.width() <= width,
                    "{} > {}: {:?}",
                    line.width(),
                    width,
                    line
                );
                let moves = line
                    .chars()
                    .any(|c| c.is_control() || ('\u{202a}'..='\u{202e}').contains(&c));
                prop_assert!(!moves, "{:?}", line);
            }
            Ok(())
        },
    );
}
