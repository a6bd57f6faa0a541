//! What is said of a wrong command line: one line that names the word, and the next step.

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, Error};

use super::Cli;

/// More than two slips of the finger are another word.
const SLIPS: usize = 2;

/// The library's message without its paragraphs, on one line: what is wrong, a hint, where to read on.
pub fn one_line(error: &Error, typed: &[OsString]) -> String {
    let mut line = if error.kind() == ErrorKind::InvalidUtf8 {
        no_text(typed)
    } else {
        without_paragraphs(error)
    };
    let words = words_of(error);
    if error.kind() == ErrorKind::UnknownArgument
        && !line.contains("tip: ")
        && let Some(meant) = meant(error, &words)
    {
        line.push_str(&format!("; tip: a similar argument exists: '--{meant}'"));
    }
    line.push_str(&format!("; see `{} --help`", words.join(" ")));
    line
}

fn without_paragraphs(error: &Error) -> String {
    let mut line = String::new();
    let text = error.render().to_string();
    for part in text.lines().map(str::trim).filter(|part| !part.is_empty()) {
        if part.starts_with("Usage:") || part.starts_with("For more information") {
            break;
        }
        // A slip of the finger is what nearly all of these are, and no value.
        if part.starts_with("tip: to pass") {
            continue;
        }
        let part = part.strip_prefix("error: ").unwrap_or(part);
        if !line.is_empty() {
            line.push_str(if line.ends_with(':') { " " } else { "; " });
        }
        line.push_str(part);
    }
    line
}

/// The library does not say which word it cannot read. What belongs to an option is not shown: it can be a secret.
fn no_text(typed: &[OsString]) -> String {
    let Some(at) = typed.iter().position(|word| word.to_str().is_none()) else {
        return "an argument is not UTF-8".to_owned();
    };
    let shown: Vec<String> = typed
        .iter()
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    let (before, word) = (&shown[at.saturating_sub(1)], &shown[at]);
    let option = if word.starts_with("--") {
        word.split('=').next()
    } else if word.starts_with('-') {
        word.get(..2)
    } else {
        Some(before.as_str()).filter(|before| before.starts_with('-') && *before != "--")
    };
    match option {
        Some(option) => format!("the value of {option} is not UTF-8"),
        None => format!("{word:?} is not UTF-8"),
    }
}

/// The command that the message is about, from the usage line that the library adds: `redlease run`.
fn words_of(error: &Error) -> Vec<String> {
    let usage = match error.get(ContextKind::Usage) {
        Some(ContextValue::StyledStr(text)) => text.to_string(),
        _ => String::new(),
    };
    let words: Vec<String> = usage
        .split_whitespace()
        .skip(1)
        .take_while(|word| word.bytes().all(|b| b.is_ascii_lowercase()))
        .map(str::to_owned)
        .collect();
    if words.is_empty() {
        vec!["redlease".to_owned()]
    } else {
        words
    }
}

/// The nearest option of the command. The library compares short words by what they begin with, and finds no `--key`
/// in `--kye`.
fn meant(error: &Error, words: &[String]) -> Option<String> {
    let Some(ContextValue::String(typed)) = error.get(ContextKind::InvalidArg) else {
        return None;
    };
    let typed = typed.strip_prefix("--")?.split('=').next()?;
    let mut command = &Cli::command();
    for word in words.iter().skip(1) {
        command = command.find_subcommand(word)?;
    }
    command
        .get_arguments()
        .filter_map(|argument| argument.get_long())
        .map(|long| (strsim::damerau_levenshtein(typed, long), long))
        .filter(|(slips, long)| *slips <= SLIPS && *slips < long.len())
        .min()
        .map(|(_, long)| long.to_owned())
}
