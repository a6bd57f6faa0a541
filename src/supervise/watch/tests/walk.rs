//! Stories in a random order, in a world that performs what the machine asks.

use proptest::prelude::*;

use super::*;

#[derive(Clone, Copy, Debug)]
enum Step {
    Look,
    Renew,
    Start,
    Stop,
    Forward(i32),
    Witness(i32),
    ListenerGone,
    JobEnded,
    Leftovers,
    NoChildren,
    WordEnded,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => Just(Step::Look),
        2 => Just(Step::Renew),
        2 => Just(Step::Start),
        1 => Just(Step::Stop),
        1 => Just(Step::Forward(15)),
        1 => Just(Step::Forward(2)),
        1 => Just(Step::Witness(15)),
        1 => Just(Step::ListenerGone),
        1 => Just(Step::JobEnded),
        1 => Just(Step::Leftovers),
        1 => Just(Step::NoChildren),
        1 => Just(Step::WordEnded),
    ]
}

fn any_policy() -> impl Strategy<Value = Policy> {
    let lost = prop_oneof![Just(OnLost::Stop), Just(OnLost::Kill), Just(OnLost::Warn)];
    let leftovers = prop_oneof![
        Just(Leftovers::Stop),
        Just(Leftovers::Wait),
        Just(Leftovers::Leave)
    ];
    let max_run = proptest::option::of((1_u64..30).prop_map(s));
    (lost, leftovers, max_run, any::<bool>(), 0_u64..7).prop_map(
        |(on_lost, leftovers, max_run, kill_after_typed, grace)| Policy {
            kill_after: s(grace),
            on_lost,
            leftovers,
            max_run,
            kill_after_typed,
            ..policy()
        },
    )
}

/// The guard's loop in little: it performs what the machine asks, in a world where a step takes a second.
struct World {
    watch: Watch,
    word: Option<Moment>,
    now: u64,
    job: bool,
    any: bool,
    starts: u32,
    left: bool,
}

impl World {
    fn take(&mut self, step: Step) {
        if self.left {
            return;
        }
        self.now += 1;
        let now = at(self.now);
        let acts = match step {
            Step::Look => vec![],
            Step::Renew => {
                self.word = self.word.map(|_| at(self.now + 25));
                vec![]
            }
            Step::Start => self.watch.ordered_to_start(self.word, now),
            Step::Stop => self.watch.ordered_to_stop(now),
            Step::Forward(number) => self.watch.ordered_to_forward(number, now),
            Step::Witness(number) => {
                self.watch.witness(number, now);
                vec![]
            }
            Step::ListenerGone => self.watch.listener_gone(),
            Step::JobEnded if self.job => {
                self.job = false;
                self.watch.job_ended(End::Code(0), now)
            }
            Step::Leftovers => self.watch.leftovers(vec![member()], now),
            Step::NoChildren if self.any && !self.job => {
                self.any = false;
                self.watch.no_children()
            }
            Step::WordEnded => {
                self.word = None;
                vec![]
            }
            Step::JobEnded | Step::NoChildren => vec![],
        };
        self.perform(acts);
        let acts = self.watch.look(self.word, now);
        self.perform(acts);
    }

    fn perform(&mut self, acts: Vec<Act>) {
        assert!(acts.is_empty() || !self.left, "{acts:?} after the end");
        for act in acts {
            let more = match act {
                Act::Start => {
                    self.starts += 1;
                    assert_eq!(self.starts, 1, "two jobs");
                    assert!(self.word.is_some_and(|at| at.0 > self.now), "no lease");
                    (self.job, self.any) = (true, true);
                    self.watch.started(at(self.now));
                    vec![]
                }
                Act::Forward(_) => {
                    assert!(self.job, "a signal to nobody");
                    vec![]
                }
                Act::Expire(moment) => {
                    assert_eq!(self.word, Some(moment));
                    self.word = None;
                    self.watch.expired()
                }
                Act::ExpireNow => {
                    self.word = None;
                    vec![]
                }
                Act::Report(Report::Empty) => {
                    let left_alone = self.watch.policy.leftovers == Leftovers::Leave;
                    assert!(!self.any || (left_alone && !self.job), "not empty");
                    vec![]
                }
                Act::Leave => {
                    self.left = true;
                    vec![]
                }
                Act::ForwardAll(_) => {
                    assert!(self.any && !self.job, "a signal to nobody");
                    vec![]
                }
                Act::StopAll | Act::ListLeftovers | Act::Report(_) => vec![],
            };
            self.perform(more);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_happens_the_job_ends_by_the_kill_moment(
        policy in any_policy(),
        steps in proptest::collection::vec(step(), 0..40),
    ) {
        let watch = Watch::new(policy.clone());
        let word = Some(at(25));
        let mut world = World { watch, word, now: 0, job: false, any: false, starts: 0, left: false };
        for step in steps {
            world.take(step);
            if world.any && !world.left && policy.on_lost != OnLost::Warn {
                let over = world.word.is_none_or(|at| at.0 <= Moment(0).after(s(world.now)).0);
                prop_assert!(!over || world.watch.phase() == Phase::Killing);
            }
        }
        // From here on nobody renews, and redlease dies at the end: the guard has a way out of every state.
        for _ in 0..60 {
            world.take(Step::Look);
        }
        world.take(Step::ListenerGone);
        world.take(Step::Look);
        if world.any && !world.left {
            prop_assert_eq!(world.watch.phase(), Phase::Killing);
            world.take(Step::JobEnded);
            world.take(Step::NoChildren);
        }
        prop_assert!(world.left);
    }
}
