//! What a lease is called: the key that a user types, and the keys in Redis that follow from it.

use std::fmt;
use std::str::FromStr;

/// A name as a user types it: 1 to 200 bytes of UTF-8 without white space, control characters or braces, which
/// would break the hash tag that keeps all keys of a lease on one node of a cluster.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key(String);

/// The prefix of all keys: the same rule as for a key.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Prefix(String);

/// A lease key that other clients share: as a key, with braces allowed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RawKey(String);

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BadName {
    Empty,
    TooLong(usize),
    Character(char),
}

pub const LONGEST: usize = 200;
pub const DEFAULT_PREFIX: &str = "redlease:";
/// Slots of `--limit`.
pub const MOST_SLOTS: u8 = 64;

impl fmt::Display for BadName {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BadName::Empty => write!(out, "it is empty"),
            BadName::TooLong(bytes) => {
                write!(out, "it has {bytes} bytes, and {LONGEST} are the most")
            }
            BadName::Character(bad) => write!(
                out,
                "it contains {bad:?}; white space, control characters, '{{' and '}}' are not allowed"
            ),
        }
    }
}

impl std::error::Error for BadName {}

fn check(text: &str, braces: bool) -> Result<(), BadName> {
    if text.is_empty() {
        return Err(BadName::Empty);
    }
    if text.len() > LONGEST {
        return Err(BadName::TooLong(text.len()));
    }
    let bad =
        |c: &char| c.is_whitespace() || c.is_control() || (!braces && (*c == '{' || *c == '}'));
    text.chars()
        .find(bad)
        .map_or(Ok(()), |c| Err(BadName::Character(c)))
}

macro_rules! name {
    ($type:ident, $braces:expr) => {
        impl FromStr for $type {
            type Err = BadName;

            fn from_str(text: &str) -> Result<$type, BadName> {
                check(text, $braces).map(|()| $type(text.to_owned()))
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str(&self.0)
            }
        }
    };
}

name!(Key, false);
name!(Prefix, false);
name!(RawKey, true);

impl Prefix {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Default for Prefix {
    fn default() -> Prefix {
        Prefix(DEFAULT_PREFIX.to_owned())
    }
}

/// The keys in Redis of one lease. All share the hash tag `{K}`, so that each script runs in one slot.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Names {
    /// What the user typed.
    key: String,
    /// Slot 1: the lease itself.
    lease: String,
    /// What the side keys begin with.
    side: String,
    raw: bool,
}

impl Names {
    pub fn new(prefix: &Prefix, key: &Key) -> Names {
        let lease = format!("{prefix}{{{key}}}");
        Names {
            key: key.0.clone(),
            side: lease.clone(),
            lease,
            raw: false,
        }
    }

    /// A lease key that other clients share; side keys stay with redlease. A raw key with a hash tag of its own
    /// hashes by that tag, and so must its side keys.
    pub fn raw(prefix: &Prefix, key: &RawKey) -> Names {
        let tag = hash_tag(&key.0);
        let side = if tag == key.0 {
            format!("{prefix}{{{key}}}")
        } else {
            // `{tag}` first, so that it is the tag of the side keys too; the whole key after it keeps two raw
            // keys with the same tag apart.
            format!("{prefix}{{{tag}}}:raw:{key}")
        };
        Names {
            key: key.0.clone(),
            lease: key.0.clone(),
            side,
            raw: true,
        }
    }

    /// Which lease a key in Redis belongs to, and to which of its slots; None for keys that no lease has. A raw
    /// lease is only told by side keys with `:raw:`.
    pub fn of(prefix: &Prefix, key: &[u8]) -> Option<(Names, u8)> {
        let key = std::str::from_utf8(key).ok()?;
        let (tag, rest) = key
            .strip_prefix(prefix.as_str())?
            .strip_prefix('{')?
            .split_once('}')?;
        if let Some(raw) = rest.strip_prefix(":raw:") {
            let (raw, last) = raw.rsplit_once(':')?;
            let names = Names::raw(prefix, &raw.parse::<RawKey>().ok()?);
            return matches!(last, "info" | "queue" | "waiters").then_some((names, 1));
        }
        let names = Names::new(prefix, &tag.parse::<Key>().ok()?);
        if matches!(rest, "" | ":info" | ":queue" | ":waiters") {
            return Some((names, 1));
        }
        let number = rest.strip_prefix(':')?;
        let slot: u8 = number
            .strip_suffix(":info")
            .unwrap_or(number)
            .parse()
            .ok()?;
        (2..=MOST_SLOTS).contains(&slot).then_some((names, slot))
    }

    /// The keys in Redis of all leases under a prefix whose key matches, as a pattern of SCAN.
    pub fn pattern(prefix: &Prefix, key: &str) -> String {
        let mut pattern = String::new();
        for c in prefix.as_str().chars() {
            if matches!(c, '*' | '?' | '[' | ']' | '\\' | '^' | '-') {
                pattern.push('\\');
            }
            pattern.push(c);
        }
        format!("{pattern}{{{key}}}*")
    }

    pub fn key(&self) -> &str {
        &self.key
    }

    pub fn is_raw(&self) -> bool {
        self.raw
    }

    /// The lease key of a slot, which counts from 1.
    pub fn lease(&self, slot: u8) -> String {
        if slot <= 1 {
            self.lease.clone()
        } else {
            format!("{}:{slot}", self.side)
        }
    }

    pub fn info(&self, slot: u8) -> String {
        if slot <= 1 {
            format!("{}:info", self.side)
        } else {
            format!("{}:{slot}:info", self.side)
        }
    }

    pub fn queue(&self) -> String {
        format!("{}:queue", self.side)
    }

    pub fn waiters(&self) -> String {
        format!("{}:waiters", self.side)
    }

    /// The channels of a lease are this followed by the id of a waiter.
    pub fn wake(&self) -> String {
        format!("{}:wake:", self.side)
    }
}

/// The high-water mark of a resource (`redlease fence check`).
pub fn fence_mark(prefix: &Prefix, resource: &Key) -> String {
    format!("{prefix}{{{resource}}}:fence")
}

/// The part of a key that a cluster hashes (Redis Cluster specification, "Hash tags").
fn hash_tag(key: &str) -> &str {
    key.find('{')
        .and_then(|open| {
            let rest = &key[open + 1..];
            rest.find('}')
                .filter(|close| *close > 0)
                .map(|close| &rest[..close])
        })
        .unwrap_or(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_names_what_is_wrong_with_it() {
        assert_eq!("".parse::<Key>(), Err(BadName::Empty));
        assert_eq!("a b".parse::<Key>(), Err(BadName::Character(' ')));
        assert_eq!("a\u{7}".parse::<Key>(), Err(BadName::Character('\u{7}')));
        assert_eq!("{a}".parse::<Key>(), Err(BadName::Character('{')));
        assert_eq!("ä".repeat(101).parse::<Key>(), Err(BadName::TooLong(202)));
        assert!("ä".repeat(100).parse::<Key>().is_ok());
        assert!("nightly/import:eu-1".parse::<Key>().is_ok());
    }

    #[test]
    fn keys_share_the_hash_tag() {
        let names = Names::new(&Prefix::default(), &"k".parse().unwrap());
        assert_eq!(names.lease(1), "redlease:{k}");
        assert_eq!(names.info(1), "redlease:{k}:info");
        assert_eq!(names.lease(2), "redlease:{k}:2");
        assert_eq!(names.info(2), "redlease:{k}:2:info");
        assert_eq!(names.queue(), "redlease:{k}:queue");
        assert_eq!(names.waiters(), "redlease:{k}:waiters");
        assert_eq!(names.wake(), "redlease:{k}:wake:");
    }

    #[test]
    fn a_raw_key_is_left_as_it_is() {
        let raw = |key: &str| Names::raw(&Prefix::default(), &key.parse().unwrap());
        assert_eq!(raw("job:1").lease(1), "job:1");
        assert_eq!(raw("job:1").info(1), "redlease:{job:1}:info");
        assert_eq!(raw("a{b}c").lease(1), "a{b}c");
        assert_eq!(raw("a{b}c").info(1), "redlease:{b}:raw:a{b}c:info");
    }
    #[test]
    fn keys_of_a_lease_are_told_from_others() {
        let prefix = Prefix::default();
        let found = |key: &str| {
            Names::of(&prefix, key.as_bytes()).map(|(names, slot)| (names.lease(1), slot))
        };
        let k = |slot| Some(("redlease:{k}".to_owned(), slot));
        assert_eq!(found("redlease:{k}"), k(1));
        assert_eq!(found("redlease:{k}:info"), k(1));
        assert_eq!(found("redlease:{k}:queue"), k(1));
        assert_eq!(found("redlease:{k}:7"), k(7));
        assert_eq!(found("redlease:{k}:7:info"), k(7));
        assert_eq!(
            found("redlease:{b}:raw:a{b}c:info"),
            Some(("a{b}c".to_owned(), 1))
        );
        for other in [
            "redlease:{k}:65",
            "redlease:{k}:1",
            "redlease:{k}:x",
            "redlease:{a b}",
            "redlease:{}",
            "redlease:fence:x",
            "other:{k}",
        ] {
            assert_eq!(found(other), None, "{other}");
        }
        assert!(Names::of(&prefix, b"redlease:{\xff}").is_none());
    }

    #[test]
    fn a_prefix_matches_only_itself() {
        let prefix = "a*b[c]:".parse().unwrap();
        assert_eq!(Names::pattern(&prefix, "x*"), r"a\*b\[c\]:{x*}*");
    }
}
