//! What can fail is made before a lease is asked for: where the machine has nothing left, no lease is taken.

use crate::harness::{PATIENCE, Redis, Redlease, wait_until};

const LEASE: &str = "redlease:{k}";

#[test]
fn with_few_descriptors_it_works_or_takes_no_lease() {
    let redis = Redis::start();
    let mut worked = false;
    for limit in 4..=24 {
        let before = format!("ulimit -n {limit}; exec \"$0\" \"$@\"");
        let outcome = Redlease::run("k")
            .on(&redis)
            .under(["sh", "-c", &before])
            .job(["true"])
            .start()
            .wait();
        match outcome.code {
            0 => worked = true,
            code => {
                assert!(!worked, "{limit} descriptors: {outcome:?}");
                assert!(
                    [69, 125].contains(&code),
                    "{limit} descriptors: {outcome:?}"
                );
                outcome.says(&[]);
            }
        }
        wait_until("the release", PATIENCE, || !redis.exists(LEASE));
    }
    assert!(worked);
}
