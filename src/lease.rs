//! The words of a lease: who holds it, what a server may answer, how it can be lost.

pub mod dialog;
pub mod keeper;
pub mod names;
pub mod policy;
pub mod protocol;
pub mod reply;
pub mod store;

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use uuid::Uuid;

/// Names one holding. Whoever knows it can renew and release the lease, so that it is shown whole only where a
/// user asks for it.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Token(String);

impl Token {
    pub fn fresh() -> Token {
        Token(Uuid::new_v4().to_string())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Token({}…)", self.0.get(..8).unwrap_or_default())
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotAToken;

impl fmt::Display for NotAToken {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("it is no token: a token is a UUID, as `redlease acquire` prints it")
    }
}

impl std::error::Error for NotAToken {}

impl FromStr for Token {
    type Err = NotAToken;

    fn from_str(text: &str) -> Result<Token, NotAToken> {
        // Only the form that `fresh` makes: the key in Redis is compared byte by byte.
        let canonical = Uuid::try_parse(text).map_err(|_| NotAToken)?.to_string();
        if canonical == text {
            Ok(Token(canonical))
        } else {
            Err(NotAToken)
        }
    }
}

/// A number that grows from one holding of a key to the next, whatever its slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fence(pub u64);

impl fmt::Display for Fence {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(out)
    }
}

/// Who asks: stored in `info` for people to read. Each text is at most 64 bytes, cut at a character.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Identity {
    pub host: String,
    pub pid: u32,
    pub user: String,
    pub label: String,
}

pub const LONGEST_TEXT: usize = 64;

/// Cuts a text to `LONGEST_TEXT` bytes without breaking a character.
pub fn cut(text: &str) -> &str {
    let end = (0..=LONGEST_TEXT.min(text.len()))
        .rev()
        .find(|at| text.is_char_boundary(*at))
        .unwrap_or(0);
    &text[..end]
}

/// Who holds, as Redis tells it. `since_us` is the server's time of the acquire, in microseconds since 1970.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Holder {
    pub who: Identity,
    pub since_us: u64,
}

/// A place in the queue: how many live waiters are before us, and the ticket to come back with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    pub ahead: u32,
    pub waiting: u32,
    pub ticket: u64,
}

/// An acquire that the server granted. Times are the server's, in microseconds since 1970.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    pub slot: u8,
    pub fence: Fence,
    pub acquired_at_us: u64,
    pub expires_at_us: u64,
    /// Granted before, to an attempt whose reply was lost, and taken over now.
    pub again: bool,
}

/// An answer, not an error: why the lease was not granted. "Now" is the server's time of the answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// `holder` is None for another client's key (or lost info); `remaining` is None for a key without a TTL.
    Held {
        holder: Option<Holder>,
        held: Option<Duration>,
        remaining: Option<Duration>,
        place: Option<Place>,
    },
    /// A run ended and `--min-hold` keeps the lease; `last` is that run's holder.
    Cooling {
        last: Option<Holder>,
        remaining: Duration,
        place: Option<Place>,
    },
    /// An operator broke the holding; what it had left keeps a second job from starting beside the first.
    Broken {
        by: Option<String>,
        remaining: Duration,
        place: Option<Place>,
    },
    /// Free, but live waiters come first. `turn` is how long they have to take it; after that it is ours to take.
    Queued {
        place: Option<Place>,
        waiting: u32,
        turn: Duration,
    },
    /// `--once-per`: this slot of the clock has its successful run, by `host`; the next slot begins in `next`.
    AlreadyDone {
        host: Option<String>,
        next: Duration,
    },
    /// Callers disagree about `--limit`: the one kept in Redis.
    Limit { kept: u8 },
}

impl Refusal {
    pub fn place(&self) -> Option<Place> {
        match self {
            Refusal::Held { place, .. }
            | Refusal::Cooling { place, .. }
            | Refusal::Broken { place, .. }
            | Refusal::Queued { place, .. } => *place,
            Refusal::AlreadyDone { .. } | Refusal::Limit { .. } => None,
        }
    }
}

/// How a lease was lost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Loss {
    /// The key is gone and was not restored.
    Gone,
    /// Another holding has the key: of redlease (Some) or of a foreign client.
    Taken(Option<Holder>),
    /// An operator broke it: `who` as `break` recorded it.
    Broken { by: Option<String> },
    /// No good answer before the stop moment: the local clock alone says so.
    Expired,
}

/// How a run ended, as it is recorded in `info` by its release.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finished {
    /// completed, signalled, lost, broken, max_run: the words of `--report`.
    pub outcome: &'static str,
    /// The exit code as a shell sees it: 128+n for a signal.
    pub code: u8,
    /// What `--min-hold-on success` and `--once-per` mean: the job ended by itself with 0.
    pub success: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_a_canonical_uuid() {
        let token = Token::fresh();
        assert_eq!(token.as_str().len(), 36);
        assert_eq!(token.as_str().parse::<Token>(), Ok(token.clone()));
        assert_eq!(
            token.as_str().to_uppercase().parse::<Token>(),
            Err(NotAToken)
        );
        assert_eq!("".parse::<Token>(), Err(NotAToken));
        assert!(!format!("{token:?}").contains(token.as_str()));
    }

    #[test]
    fn texts_are_cut_at_a_character() {
        assert_eq!(cut("short"), "short");
        assert_eq!(cut(&"a".repeat(70)), "a".repeat(64));
        assert_eq!(cut(&"€".repeat(30)), "€".repeat(21));
    }
}
