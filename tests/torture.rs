//! The torture: leases under random faults, and a checker that reads their history afterwards. A binary of its own,
//! because it wants the machine for itself: `cargo test --test torture`, or `make torture SECONDS=600 SEED=n`.

#[cfg(test)]
#[expect(
    dead_code,
    unused_imports,
    reason = "this binary uses a part of the harness"
)]
mod harness;

#[cfg(test)]
mod torture {
    pub mod checker;
    pub mod history;

    mod crowd;
    mod judged;
    mod plan;
    mod programs;
    mod random;
    mod relay;
    mod round;
    mod sentinel;
    mod sessions;
    mod summary;
    mod ticker;
    mod world;
}
