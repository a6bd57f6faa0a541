//! How wide standard output is, and whether it wants colour.

use std::io::{self, IsTerminal};

use unicode_width::UnicodeWidthStr;

use crate::sys::terminal;

/// Without a terminal, and without COLUMNS.
const WIDTH: usize = 80;

#[derive(Clone, Copy, Debug)]
pub struct Style {
    /// In columns.
    pub width: usize,
    pub colour: bool,
}

impl Style {
    pub fn of_stdout() -> Style {
        let columns = || {
            std::env::var("COLUMNS")
                .ok()
                .and_then(|text| text.parse().ok())
                .filter(|columns| (20..=10_000).contains(columns))
        };
        let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
        Style {
            width: terminal::size()
                .map(|(width, _)| width)
                .or_else(columns)
                .unwrap_or(WIDTH),
            // https://no-color.org: any value but the empty one.
            colour: io::stdout().is_terminal() && !set("NO_COLOR") && !dumb,
        }
    }

    /// The text in a colour, by its SGR number.
    pub fn paint(self, text: &str, number: &str) -> String {
        if self.colour {
            format!("\x1b[{number}m{text}\x1b[0m")
        } else {
            text.to_owned()
        }
    }

    /// The words of a text in lines of at most this width, but for words that are longer.
    pub fn wrapped(self, text: &str, indent: usize) -> Vec<String> {
        let room = self.width.saturating_sub(indent).max(20);
        let mut lines = Vec::new();
        let mut line = String::new();
        for word in text.split(' ') {
            if !line.is_empty() && line.width() + 1 + word.width() > room {
                lines.push(std::mem::take(&mut line));
            }
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
        lines.push(line);
        let margin = " ".repeat(indent);
        lines.iter().map(|line| format!("{margin}{line}")).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_kept_whole() {
        let style = Style {
            width: 24,
            colour: false,
        };
        assert_eq!(
            style.wrapped("one two three four five sixteensixteensixteensixteen", 2),
            [
                "  one two three four",
                "  five",
                "  sixteensixteensixteensixteen"
            ]
        );
    }
}
