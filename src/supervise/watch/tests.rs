mod walk;

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
    watch.started(at(1));
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
fn leftovers_that_are_waited_for_can_be_asked_to_end() {
    let policy = Policy {
        leftovers: Leftovers::Wait,
        ..policy()
    };
    let mut watch = running(policy);
    watch.job_ended(End::Code(0), at(2));
    assert_eq!(watch.ordered_to_forward(15, at(3)), [Act::ForwardAll(15)]);
    assert_eq!(watch.ordered_to_forward(10, at(3)), []);
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
