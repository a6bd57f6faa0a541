//! Random stories of contenders, faults and losses: the design's words on waiting came out of such a simulation.
//!
//! `PROPTEST_CASES=5000` looks further than the gate does.

mod agent;
mod fairness;
mod story;
mod world;

use std::cell::Cell;

use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use super::server::Server;
use agent::{Act, Fault};
use story::Story;

fn faults() -> impl Strategy<Value = Fault> {
    prop_oneof![
        Just(Fault::Request),
        any::<bool>().prop_map(Fault::Reply),
        (1..12_000u64, any::<bool>()).prop_map(|(delay, written)| Fault::Late(delay, written)),
    ]
}

fn acts() -> impl Strategy<Value = Vec<(u64, Act)>> {
    let act = prop_oneof![
        8 => (20..4_000u64, prop::bool::weighted(0.85)).prop_map(|(job, waits)| Act::Come(job, waits)),
        4 => (2_000..9_000u64).prop_map(|job| Act::Come(job, true)),
        2 => any::<usize>().prop_map(Act::Crash),
        1 => any::<usize>().prop_map(Act::Hang),
        5 => (any::<usize>(), faults()).prop_map(|(nth, fault)| Act::Fail(nth, fault)),
        1 => any::<usize>().prop_map(Act::Deafen),
        1 => Just(Act::Flush),
        1 => (any::<usize>(), any::<bool>()).prop_map(|(nth, now)| Act::Break(nth, now)),
    ];
    let gap = prop_oneof![0..200u64, 0..3_000u64];
    prop::collection::vec((gap, act), 1..40)
}

/// Always the same stories, so that the gate does not fail by chance.
pub fn runner(cases: u32) -> TestRunner {
    let cases = std::env::var("PROPTEST_CASES")
        .ok()
        .and_then(|cases| cases.parse().ok())
        .unwrap_or(cases);
    let config = Config {
        cases,
        failure_persistence: None,
        ..Config::default()
    };
    TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha))
}

#[test]
fn one_holds_at_a_time_and_waiters_are_served_in_order() {
    let server = Server::start();
    let served = Cell::new(0);
    let stories = (1..3u8, acts());
    let result = runner(60).run(&stories, |(limit, acts)| {
        let mut story = Story::new(&server, limit);
        story.play(&acts);
        served.set(served.get() + story.served);
        Ok(())
    });
    if let Err(failure) = result {
        panic!("{failure}");
    }
    let served = served.get();
    assert!(served > 100, "only {served} jobs ran");
}
