//! What goes wrong between us and a server, and what follows from it.

use super::wire::Stop;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The network, a limit of time, or a server that cannot just now: connect anew and ask again.
    Again,
    /// AUTH or an ACL refuses; asking again changes nothing.
    Denied,
    /// The server, its data or the connection's options cannot work; asking again changes nothing.
    Config,
    /// The bell rang.
    Interrupted,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    pub kind: Kind,
    /// One line: what failed, on which server. No secret, no control characters.
    pub text: String,
    /// The request may have been executed.
    pub sent: bool,
}

impl Trouble {
    pub fn new(kind: Kind, text: String) -> Trouble {
        Trouble {
            kind,
            text,
            sent: false,
        }
    }

    pub fn again(text: String) -> Trouble {
        Trouble::new(Kind::Again, text)
    }

    pub fn sent(self, sent: bool) -> Trouble {
        Trouble { sent, ..self }
    }

    /// A wait, a read or a write that came to nothing; `what` names it with its server.
    pub fn stopped(stop: Stop, what: &str) -> Trouble {
        match stop {
            Stop::Time => Trouble::again(format!("{what}: no answer in time")),
            Stop::Bell => Trouble::new(Kind::Interrupted, format!("{what}: interrupted")),
            Stop::Io(error) => Trouble::again(format!("{what}: {}", words(&error))),
            Stop::Tls(error) => Trouble::again(format!("{what}: {}", shown(&error.to_string()))),
        }
    }
}

/// An error of the system without the number that follows its words.
pub fn words(error: &std::io::Error) -> String {
    if error.kind() == std::io::ErrorKind::ConnectionRefused {
        return "connection refused, no server listens there".to_owned();
    }
    let text = error.to_string();
    let words = text.split(" (os error").next().unwrap_or(&text);
    let mut letters = words.chars();
    match letters.next() {
        Some(first) => shown(&(first.to_lowercase().to_string() + letters.as_str())),
        None => "input/output error".to_owned(),
    }
}

/// An error reply without what helps nobody: the echo of our own arguments, the place in the script.
fn essence(error: &str) -> String {
    // The name of the script is at the end; "ACL failure in script: …" is no name.
    let name = error
        .rfind(" script: ")
        .filter(|at| !error.get(..*at).unwrap_or_default().ends_with("failure in"));
    let end = [", with args beginning with", ", on @user_script"]
        .iter()
        .filter_map(|tail| error.find(tail))
        .chain(name)
        .min()
        .unwrap_or(error.len());
    shown(error.get(..end).unwrap_or(error))
}

/// Text of a server as it may be shown: one line without control characters, cut.
pub fn shown(text: &str) -> String {
    const LONGEST: usize = 200;
    let mut clean: String = text
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .take(LONGEST)
        .collect();
    if text.chars().count() > LONGEST {
        clean.push('…');
    }
    clean.trim().to_owned()
}

const PASSING: [&str; 10] = [
    "READONLY",
    "LOADING",
    "CLUSTERDOWN",
    "MASTERDOWN",
    "TRYAGAIN",
    "NOREPLICAS",
    "MISCONF",
    "OOM",
    "BUSY",
    "UNKILLABLE",
];

const REFUSING: [&str; 4] = ["NOAUTH", "WRONGPASS", "NOPERM", "DENIED"];

/// In the answer to a request of more than 10 words or 16 KiB before AUTH, which is cut off instead of refused by
/// NOAUTH (processMultibulkBuffer in networking.c of Redis 6.2 and later).
const UNAUTHENTICATED: &str = "unauthenticated";

// MOVED and ASK arrive here only where the URL names a single server.
const HOPELESS: [&str; 5] = ["WRONGTYPE", "CROSSSLOT", "NOPROTO", "MOVED", "ASK"];

/// The kind of an error reply, and whether what it answers may have been executed in part.
///
/// Sources of the words: error replies of Redis 6.0 to 8, Valkey 8 and 9. Up to 6.2 an error inside a script is
/// wrapped: `ERR Error running script (…): … -READONLY …`.
pub fn sort(error: &str) -> (Kind, bool) {
    let code = error.split(' ').next().unwrap_or_default();
    let wrapped = |word: &&str| {
        code == "ERR" && error.contains("unning script") && error.contains(&format!("-{word}"))
    };
    let is = |word: &&str| *word == code || wrapped(word);
    if PASSING.iter().any(is) {
        // Scripts write first what matters, so that these mean: nothing was done.
        return (Kind::Again, false);
    }
    if REFUSING.iter().any(is) {
        return (Kind::Denied, false);
    }
    if error.contains("ACL failure in script") || error.contains("user executing the script can't")
    {
        return (Kind::Denied, true);
    }
    if HOPELESS.iter().any(is) {
        return (Kind::Config, false);
    }
    let lower = error.to_ascii_lowercase();
    if lower.contains(UNAUTHENTICATED) {
        return (Kind::Denied, false);
    }
    if lower.contains("unknown command")
        || lower.contains("scripting support disabled")
        || lower.contains("invalid db index")
        || lower.contains("db index is out of range")
        || lower.contains("select is not allowed")
        || lower.contains("against a key holding the wrong kind")
        || lower.contains("cluster support disabled")
    {
        return (Kind::Config, false);
    }
    if lower.contains("max number of clients") {
        return (Kind::Again, false);
    }
    (Kind::Again, true)
}

/// What a user lacks, as far as the refusal says it.
pub fn missing_right(error: &str) -> Option<String> {
    let lower = error.to_ascii_lowercase();
    if lower.starts_with("noauth") || lower.contains(UNAUTHENTICATED) {
        return Some("a user or password is needed in the URL, or --password-file".to_owned());
    }
    if lower.starts_with("wrongpass") {
        return Some(
            "check the user and the password, in the URL or in --password-file".to_owned(),
        );
    }
    if lower.starts_with("denied") {
        return None;
    }
    if let Some(command) = error.split('\'').nth(1) {
        return Some(format!("the user lacks +{}", shown(command)));
    }
    if lower.contains("channel") {
        return Some("the user lacks the channels, &redlease:*".to_owned());
    }
    if lower.contains("key") {
        return Some("the user lacks the keys, ~redlease:* with the usual prefix".to_owned());
    }
    Some("the user lacks a command of the script".to_owned())
}

fn advice(error: &str) -> Option<&'static str> {
    if error.starts_with("MOVED ") || error.starts_with("ASK ") {
        return Some("it is a node of a cluster: write redis-cluster://");
    }
    if error.contains("unknown command") && error.to_ascii_uppercase().contains("EVAL") {
        return Some(
            "if it is a sentinel, write redis-sentinel://HOST/NAME; otherwise it runs no scripts",
        );
    }
    None
}

/// The trouble that an error reply is.
pub fn refusal(error: &str, server: &str) -> Trouble {
    let (kind, sent) = sort(error);
    let right = match kind {
        Kind::Denied => missing_right(error),
        _ => None,
    };
    let right = right.or_else(|| advice(error).map(str::to_owned));
    let text = match right {
        Some(right) => format!("{server} refuses: {}; {right}", essence(error)),
        None => format!("{server} answers: {}", essence(error)),
    };
    Trouble { kind, text, sent }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_replies_are_sorted_by_what_follows_from_them() {
        for (error, kind, sent) in [
            (
                "READONLY You can't write against a read only replica.",
                Kind::Again,
                false,
            ),
            (
                "ERR Error running script (call to f_6b1b): @user_script:1: @user_script: 1: -READONLY You can't write against a read only replica.",
                Kind::Again,
                false,
            ),
            (
                "ERR Error running script (call to f_6b1b): @user_script:1: -OOM command not allowed when used memory > 'maxmemory'.",
                Kind::Again,
                false,
            ),
            (
                "LOADING Redis is loading the dataset in memory",
                Kind::Again,
                false,
            ),
            ("ERR max number of clients reached", Kind::Again, false),
            ("ERR upstream failure", Kind::Again, true),
            ("NOAUTH Authentication required.", Kind::Denied, false),
            (
                "ERR Protocol error: unauthenticated multibulk length",
                Kind::Denied,
                false,
            ),
            (
                "NOPERM this user has no permissions to run the 'eval' command or its subcommand",
                Kind::Denied,
                false,
            ),
            (
                "ERR ACL failure in script: User ci has no permissions to run the 'publish' command",
                Kind::Denied,
                true,
            ),
            (
                "ERR Error running script (call to f_6b1b): @user_script:1: @user_script: 1: The user executing the script can't run this command or subcommand",
                Kind::Denied,
                true,
            ),
            (
                "WRONGTYPE Operation against a key holding the wrong kind of value",
                Kind::Config,
                false,
            ),
            (
                "ERR unknown command 'EVAL', with args beginning with:",
                Kind::Config,
                false,
            ),
            ("ERR DB index is out of range", Kind::Config, false),
        ] {
            assert_eq!(sort(error), (kind, sent), "{error}");
        }
    }

    #[test]
    fn a_refusal_names_the_missing_right() {
        let right = |error| missing_right(error).unwrap_or_default();
        assert_eq!(
            right("NOPERM User ci has no permissions to run the 'eval' command"),
            "the user lacks +eval"
        );
        assert!(right("NOPERM No permissions to access a key").contains("~redlease:*"));
        assert!(right("NOPERM No permissions to access a channel").contains("&redlease:*"));
        assert!(right("NOAUTH Authentication required.").contains("--password-file"));
    }

    #[test]
    fn an_error_is_shown_without_our_own_script() {
        let text = |error| refusal(error, "S").text;
        assert_eq!(
            text("READONLY You can't write. script: 6163, on @user_script:1."),
            "S answers: READONLY You can't write."
        );
        assert_eq!(
            text(
                "ERR ACL failure in script: User ci has no permissions to run the 'set' command script: 6163, on @user_script:9."
            ),
            "S refuses: ERR ACL failure in script: User ci has no permissions to run the 'set' command; the user lacks +set"
        );
        let unknown = text("ERR unknown command 'EVAL', with args beginning with: 'local now'");
        assert!(unknown.starts_with("S refuses: ERR unknown command 'EVAL'; if it is a sentinel"));
    }

    #[test]
    fn what_a_server_says_is_shown_on_one_line() {
        assert_eq!(shown("a\u{1b}[31mb\r\nc"), "a [31mb  c");
        assert_eq!(shown(&"x".repeat(300)).chars().count(), 201);
        let error = std::io::Error::from_raw_os_error(111);
        assert_eq!(words(&error), "connection refused, no server listens there");
    }
}
