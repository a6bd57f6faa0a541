//! Random input for everything that reads what others wrote. A short round of fixed seeds is among the tests;
//! `make fuzz SECONDS=600` goes on with new ones for so long, each target in turn.

use std::fmt::Debug;
use std::time::{Duration, Instant};

use proptest::collection::vec;
use proptest::prelude::{BoxedStrategy, Strategy, any};
use proptest::sample::select;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};

use crate::lease::names::{BadName, Key, Prefix, RawKey};
use crate::lease::reply::Reply;

pub type Checked = Result<(), TestCaseError>;

/// The check against inputs drawn from one seed after the other, until the time is over; what fails is shown as
/// the smallest input that does, with its seed.
pub fn fuzz<S: Strategy>(inputs: S, check: impl Fn(S::Value) -> Checked)
where
    S::Value: Debug,
{
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let end = Instant::now() + Duration::from_secs(number("FUZZ_SECONDS").unwrap_or(0));
    let mut seed: u64 = number("FUZZ_SEED").unwrap_or(1);
    loop {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&seed.to_le_bytes());
        let config = Config {
            cases: 200,
            failure_persistence: None,
            ..Config::default()
        };
        let random = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
        let mut runner = TestRunner::new_with_rng(config, random);
        if let Err(failure) = runner.run(&inputs, &check) {
            panic!("FUZZ_SEED={seed}: {failure}");
        }
        if Instant::now() >= end {
            println!("seeds to {seed}, 200 inputs each");
            return;
        }
        seed += 1;
    }
}

/// Pieces that mean something to a parser, mixed with anything.
pub fn text(pieces: &'static [&'static str], most: usize) -> BoxedStrategy<String> {
    let piece = proptest::prop_oneof![
        6 => select(pieces).prop_map(str::to_owned),
        1 => any::<char>().prop_map(String::from),
    ];
    vec(piece, 0..most).prop_map(|all| all.concat()).boxed()
}

/// Replies of any shape, of words that scripts answer and of what they would never say.
pub fn reply() -> BoxedStrategy<Reply> {
    const WORDS: &[&str] = &[
        "granted",
        "held",
        "queued",
        "cooling",
        "broken",
        "done",
        "limit",
        "renewed",
        "gone",
        "taken",
        "released",
        "0",
        "1",
        "-1",
        "64",
        "65",
        "1764528667000000",
        "18446744073709551615",
        "-9223372036854775808",
        "",
        "a token",
        "\u{1b}[2J",
        "1\n2\n3\n4\n5\n6",
    ];
    let leaf = proptest::prop_oneof![
        1 => proptest::prelude::Just(Reply::Nil),
        2 => any::<i64>().prop_map(Reply::Int),
        2 => (-2_i64..70).prop_map(Reply::Int),
        6 => select(WORDS).prop_map(|word| Reply::Bytes(word.as_bytes().to_vec())),
        1 => vec(any::<u8>(), 0..20).prop_map(Reply::Bytes),
        1 => any::<String>().prop_map(Reply::Error),
    ];
    leaf.prop_recursive(2, 40, 20, |inner| vec(inner, 0..20).prop_map(Reply::Array))
        .boxed()
}

const NAME: &[&str] = &[
    "a",
    "nightly",
    "é",
    "{",
    "}",
    " ",
    "\t",
    "\n",
    "\0",
    "\u{2028}",
    "\u{a0}",
    ":",
    "/",
    "*",
    "日本",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
];

/// 1 to 200 bytes without white space and control characters; braces only in a raw key.
fn allowed(name: &str, braces: bool) -> bool {
    let good =
        |c: char| !c.is_whitespace() && !c.is_control() && (braces || !['{', '}'].contains(&c));
    (1..=200).contains(&name.len()) && name.chars().all(good)
}

#[test]
fn names() {
    fuzz(text(NAME, 12), |name| {
        let key: Result<Key, BadName> = name.parse();
        proptest::prop_assert_eq!(key.is_ok(), allowed(&name, false));
        proptest::prop_assert_eq!(name.parse::<Prefix>().is_ok(), key.is_ok());
        proptest::prop_assert_eq!(name.parse::<RawKey>().is_ok(), allowed(&name, true));
        if let Ok(key) = key {
            proptest::prop_assert_eq!(key.to_string(), name);
        }
        Ok(())
    });
}
