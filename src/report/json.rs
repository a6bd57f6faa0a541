//! Objects for programs, one on a line, that do a terminal no harm either.

use std::fmt::Write;

use serde::Serialize;

use super::hostile;

/// The object and a newline. Characters that could move a cursor or turn text around are written as JSON writes
/// control characters, so that a reader gets them back and a terminal does not.
pub fn line(value: &impl Serialize) -> String {
    // Texts and numbers always serialize.
    let text = serde_json::to_string(value).unwrap_or_default();
    let mut safe = String::with_capacity(text.len() + 1);
    for c in text.chars() {
        if hostile(c) {
            let mut units = [0; 2];
            for unit in c.encode_utf16(&mut units) {
                // Writing to a String cannot fail.
                let _written = write!(safe, "\\u{unit:04x}");
            }
        } else {
            safe.push(c);
        }
    }
    safe.push('\n');
    safe
}
