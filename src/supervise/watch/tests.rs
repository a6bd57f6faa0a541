use proptest::prelude::*;

use super::*;

fn s(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn at(seconds: u64) -> Moment {
    Moment(0).after(s(seconds))
}

/// Stop at 20, kill at 25.
const WORD: Option<Moment> = Some(Moment(25_000_000_000));

fn policy() -> Policy {
    Policy {
        kill_after: s(5),
        kill_after_typed: false,
        signal: Signal::SIGTERM,
        on_lost: OnLost::Stop,
        leftovers: Leftovers::Stop,
        max_run: None,
    }
}

fn running(policy: Policy) -> Watch {
    let mut watch = Watch::new(policy);
    assert_eq!(watch.ordered_to_start(WORD, at(1)), [Act::Start]);
    assert_eq!(watch.started(at(1)), [Act::Report(Report::Started)]);
    watch
}

fn member() -> Member {
    Member {
        pid: 7,
        name: "sleep".to_owned(),
    }
}

#[test]
fn nothing_starts_after_the_stop_moment() {
    for (word, now) in [(WORD, at(20)), (None, at(1))] {
        let mut watch = Watch::new(policy());
        let acts = watch.ordered_to_start(word, now);
        assert_eq!(acts, [Act::Report(Report::TooLate), Act::Leave]);
        assert_eq!(watch.ordered_to_start(WORD, at(1)), []);
    }
}

#[test]
fn the_clock_alone_stops_and_kills() {
    let mut watch = running(policy());
    assert_eq!(watch.next_look(WORD), Some(at(20)));
    assert_eq!(watch.look(WORD, at(19)), []);
    let acts = watch.look(WORD, at(20));
    assert_eq!(acts, [Act::Report(Report::Stopping), Act::StopAll]);
    assert_eq!(watch.next_look(WORD), Some(at(25)));
    assert_eq!(watch.look(WORD, at(25)), [Act::Expire(at(25))]);
    assert_eq!(watch.expired(), [Act::Report(Report::Expired)]);
    assert_eq!(watch.phase(), Phase::Killing);
}

#[test]
fn a_renewal_moves_the_stop_but_not_one_that_has_begun() {
    let mut watch = running(policy());
    let later = Some(at(35));
    assert_eq!(watch.look(later, at(20)), []);
    assert_eq!(watch.next_look(later), Some(at(30)));
    watch.look(later, at(30));
    assert_eq!(watch.next_look(Some(at(45))), Some(at(35)));
    watch.look(Some(at(45)), at(35));
    assert_eq!(watch.phase(), Phase::Killing);
}

#[test]
fn a_loss_stops_at_once_and_never_outlasts_the_kill_moment() {
    let mut watch = running(policy());
    assert_eq!(watch.ordered_to_stop(at(3)), [Act::StopAll]);
    assert_eq!(watch.phase(), Phase::Stopping { kill_at: at(8) });
    let mut watch = running(policy());
    watch.ordered_to_stop(at(22));
    assert_eq!(watch.next_look(WORD), Some(at(25)));
}

#[test]
fn on_lost_kill_has_no_grace() {
    let policy = Policy {
        on_lost: OnLost::Kill,
        ..policy()
    };
    let mut watch = running(policy.clone());
    assert_eq!(watch.next_look(WORD), Some(at(25)));
    watch.ordered_to_stop(at(3));
    assert_eq!(watch.phase(), Phase::Killing);
}

#[test]
fn on_lost_warn_disarms_the_deadline_but_not_redleases_death() {
    let policy = Policy {
        on_lost: OnLost::Warn,
        ..policy()
    };
    let mut watch = running(policy);
    assert_eq!(watch.next_look(WORD), None);
    assert_eq!(watch.look(WORD, at(99)), []);
    assert_eq!(watch.listener_gone(), [Act::ExpireNow]);
    assert_eq!(watch.phase(), Phase::Killing);
}

#[test]
fn redleases_death_kills_and_the_guard_stays_to_the_end() {
    let mut watch = running(policy());
    assert_eq!(watch.listener_gone(), [Act::ExpireNow]);
    assert_eq!(watch.phase(), Phase::Killing);
    assert!(!watch.has_listener());
    let acts = watch.no_children();
    assert_eq!(acts, [Act::Report(Report::Empty), Act::Leave]);
    assert_eq!(Watch::new(policy()).listener_gone(), [Act::Leave]);
}

#[test]
fn a_word_that_redlease_ended_kills() {
    let mut watch = running(policy());
    assert_eq!(watch.look(None, at(2)), []);
    assert_eq!(watch.phase(), Phase::Killing);
}

#[test]
fn leftovers_have_a_moment_and_are_then_named_and_stopped() {
    let mut watch = running(policy());
    let end = End::Code(3);
    assert_eq!(
        watch.job_ended(end, at(2)),
        [Act::Report(Report::Ended(end))]
    );
    assert_eq!(watch.look(WORD, at(2)), []);
    assert_eq!(watch.look(WORD, at(3)), [Act::ListLeftovers]);
    let acts = watch.leftovers(vec![member()], at(3));
    let named = Act::Report(Report::Leftovers(vec![member()]));
    assert_eq!(acts, [named, Act::StopAll]);
    assert_eq!(watch.phase(), Phase::Stopping { kill_at: at(8) });
}

#[test]
fn descendants_that_end_with_the_job_are_no_leftovers() {
    let mut watch = running(policy());
    watch.job_ended(End::Code(0), at(2));
    let acts = watch.no_children();
    assert_eq!(acts, [Act::Report(Report::Empty), Act::Leave]);
}

#[test]
fn leftovers_wait_until_the_kernel_says_none() {
    let policy = Policy {
        leftovers: Leftovers::Wait,
        ..policy()
    };
    let mut watch = running(policy);
    watch.job_ended(End::Code(0), at(2));
    assert_eq!(watch.phase(), Phase::Running);
    let acts = watch.look(WORD, at(20));
    assert_eq!(acts, [Act::Report(Report::Stopping), Act::StopAll]);
}

#[test]
fn leftovers_leave_ends_at_once_but_not_after_a_deadline() {
    let policy = Policy {
        leftovers: Leftovers::Leave,
        ..policy()
    };
    let mut watch = running(policy.clone());
    let acts = watch.job_ended(End::Code(0), at(2));
    assert_eq!(acts[1..], [Act::Report(Report::Empty), Act::Leave]);
    let mut watch = running(policy);
    watch.look(WORD, at(20));
    let acts = watch.job_ended(End::Signal(15), at(21));
    assert_eq!(acts, [Act::Report(Report::Ended(End::Signal(15)))]);
}

#[test]
fn a_forwarded_signal_starts_a_timer_only_with_k() {
    let mut watch = running(policy());
    assert_eq!(watch.ordered_to_forward(15, at(2)), [Act::Forward(15)]);
    assert_eq!(watch.next_look(WORD), Some(at(20)));
    let typed = Policy {
        kill_after_typed: true,
        ..policy()
    };
    let mut watch = running(typed);
    watch.ordered_to_forward(2, at(2));
    assert_eq!(watch.next_look(WORD), Some(at(20)));
    watch.ordered_to_forward(15, at(2));
    watch.ordered_to_forward(15, at(4));
    assert_eq!(watch.next_look(WORD), Some(at(7)));
    watch.look(WORD, at(7));
    assert_eq!(watch.phase(), Phase::Killing);
}

#[test]
fn a_signal_that_the_guard_got_too_is_not_sent_again() {
    let mut watch = running(policy());
    watch.witness(15, at(2));
    assert_eq!(watch.ordered_to_forward(15, at(2)), []);
    assert_eq!(watch.ordered_to_forward(15, at(2)), [Act::Forward(15)]);
    watch.witness(15, at(3));
    assert_eq!(watch.ordered_to_forward(15, at(9)), [Act::Forward(15)]);
}

#[test]
fn max_run_counts_from_the_start() {
    let policy = Policy {
        max_run: Some(s(4)),
        ..policy()
    };
    let mut watch = running(policy);
    assert_eq!(watch.next_look(WORD), Some(at(5)));
    let acts = watch.look(WORD, at(5));
    assert_eq!(acts, [Act::Report(Report::MaxRun), Act::StopAll]);
    assert_eq!(watch.phase(), Phase::Stopping { kill_at: at(10) });
}

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
                    self.watch.started(at(self.now))
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
