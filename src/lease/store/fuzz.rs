//! What a server sends, and what a user types as its address.

use proptest::collection::vec;
use proptest::prelude::{Strategy, any};
use proptest::{prop_assert, prop_assert_eq};

use super::frame::{Frame, LONGEST_REPLY, read};
use super::target::{Shape, Target};
use crate::fuzz::{fuzz, reply, text};
use crate::lease::reply::Reply;

fn encode(reply: &Reply, into: &mut Vec<u8>) {
    let mut line = |text: String| into.extend(text.into_bytes());
    match reply {
        Reply::Nil => line("$-1\r\n".to_owned()),
        Reply::Int(number) => line(format!(":{number}\r\n")),
        Reply::Bytes(bytes) => {
            line(format!("${}\r\n", bytes.len()));
            into.extend([bytes, b"\r\n".as_slice()].concat());
        }
        Reply::Error(text) => line(format!("-ERR {}\r\n", text.replace(['\r', '\n'], " "))),
        Reply::Array(items) => {
            line(format!("*{}\r\n", items.len()));
            for item in items {
                encode(item, into);
            }
        }
    }
}

/// What is found in one look is found when the bytes come one by one, and it never claims more than there is.
#[test]
fn replies() {
    let damage = vec((any::<usize>(), any::<u8>()), 0..4);
    fuzz((reply(), damage, 1_usize..40), |(reply, damage, step)| {
        let mut bytes = Vec::new();
        encode(&reply, &mut bytes);
        let whole = bytes.clone();
        for (at, byte) in damage {
            let at = at % bytes.len();
            bytes[at] = byte;
        }
        let at_once = Frame::default().end(&bytes);
        let mut frame = Frame::default();
        let mut piecemeal = Ok(None);
        let mut seen = 0;
        while seen < bytes.len() && piecemeal == Ok(None) {
            seen = (seen + step).min(bytes.len());
            piecemeal = frame.end(&bytes[..seen]);
        }
        prop_assert_eq!(at_once, piecemeal);
        if let Ok(Some(length)) = at_once {
            prop_assert!(length <= bytes.len() && length <= 2 * LONGEST_REPLY);
            // Understood or not, but no panic.
            let understood = read(&bytes[..length]);
            if bytes == whole && !matches!(reply, Reply::Error(_)) {
                prop_assert_eq!(length, whole.len());
                prop_assert!(matches!(understood, Ok(Ok(_))), "{:?}", understood);
            }
        } else {
            prop_assert!(bytes != whole, "{:?}", at_once);
        }
        Ok(())
    });
}

#[test]
fn bytes() {
    fuzz(vec(any::<u8>(), 0..300), |bytes| {
        if let Ok(Some(length)) = Frame::default().end(&bytes) {
            drop(read(&bytes[..length]));
        }
        Ok(())
    });
}

const SCHEMES: &[&str] = &[
    "redis://",
    "rediss://",
    "unix://",
    "redis+unix://",
    "valkey://",
    "valkeys://",
    "redis-sentinel://",
    "redis-cluster://",
    "http://",
    "REDIS://",
    "redis:/",
    "://",
    "",
];
const PIECES: &[&str] = &[
    "host",
    "127.0.0.1",
    "[::1]",
    "[",
    "]",
    ":",
    "6379",
    ":6379",
    "0",
    "65536",
    "-1",
    "/",
    "/0",
    "/15",
    "/x",
    "//",
    "@",
    "@host",
    "?",
    "&",
    "db=3",
    "user=ana",
    "#",
    ",",
    ";",
    "%",
    "%40",
    "%2F",
    "%00",
    "%zz",
    "%ff",
    "=",
    "\\",
    " ",
    "é",
    "name",
    "protocol=3",
    "\u{0}",
    "\r\n",
    "/run/s.sock",
];

/// A URL is read or refused; either way the password is in nothing that is shown.
#[test]
fn urls() {
    let schemes = proptest::sample::select(SCHEMES);
    let inputs = (
        schemes,
        text(PIECES, 4),
        text(PIECES, 3),
        text(PIECES, 3),
        text(PIECES, 8),
    );
    fuzz(inputs, |(scheme, user, before, after, rest)| {
        let url = format!("{scheme}{user}:{before}s3cr3t{after}@{rest}");
        match Target::parse(&url) {
            Ok(target) => {
                let shown = format!("{target:?} {} {}", target.describe(), target.place());
                // Where there is no password it can be a path or a name, and then it is no secret.
                prop_assert!(
                    !target.has_password() || !shown.contains("s3cr3t"),
                    "{}",
                    shown
                );
            }
            Err(bad) => prop_assert!(!bad.0.contains("s3cr3t"), "{}: {}", url, bad),
        }
        Ok(())
    });
}

#[test]
fn urls_without_a_secret() {
    let inputs = (proptest::sample::select(SCHEMES), text(PIECES, 12));
    fuzz(
        inputs.prop_map(|(scheme, rest)| format!("{scheme}{rest}")),
        |url| {
            // A path, and a name of a primary, are shown as they are.
            let hosts = |target: &Target| matches!(target.shape, Shape::One(_) | Shape::Cluster(_));
            if let Some(target) = Target::parse(&url).ok().filter(|target| hosts(target)) {
                // What is shown as the place means the same place.
                let again = Target::parse(&target.describe());
                let same = again.as_ref().map(Target::place);
                prop_assert_eq!(same, Ok(target.place()), "{}", target.describe());
            }
            Ok(())
        },
    );
}
