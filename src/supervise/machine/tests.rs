mod walk;

use super::*;
use crate::lease::dialog::{Event, Released};
use crate::lease::policy::Leftovers;
use crate::lease::{Fence, Refusal};
use crate::sys::Signal;
use crate::sys::process::End;

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

fn token() -> Token {
    "6f2c1a52-3d0c-4c1e-9d53-0a4a4d3a1f10".parse().unwrap()
}

fn grant() -> Grant {
    Grant {
        slot: 1,
        fence: Fence(7),
        acquired_at_us: 1,
        expires_at_us: 2,
        again: false,
    }
}

fn granted() -> Event {
    Event::Granted {
        grant: grant(),
        token: token(),
        sent: at(1),
    }
}

fn start() -> Act {
    Act::Start {
        grant: grant(),
        token: token(),
    }
}

fn release(outcome: &'static str, code: u8, success: bool) -> Act {
    Act::Tell(Command::Release(crate::lease::Finished {
        outcome,
        code,
        success,
    }))
}

fn by_hand(number: i32) -> Input {
    Input::Signal(Arrived {
        number,
        from_kernel: false,
    })
}

fn by_key(number: i32) -> Input {
    Input::Signal(Arrived {
        number,
        from_kernel: true,
    })
}

fn running(policy: Policy) -> Machine {
    let mut machine = Machine::new(policy, false);
    assert_eq!(machine.hear_keeper(granted(), WORD, at(1)), [start()]);
    assert_eq!(machine.see(Input::Started, at(1)), []);
    machine
}

fn ended(machine: &mut Machine, end: End) -> Vec<Act> {
    assert_eq!(machine.see(Input::Guard(Report::Ended(end)), at(2)), []);
    machine.see(Input::Guard(Report::Empty), at(2))
}

fn exit_after_release(machine: &mut Machine) -> Exit {
    machine.hear_keeper(Event::Released(Released::Done), WORD, at(3));
    machine.ending().expect("over").exit
}

#[test]
fn a_job_runs_and_its_code_is_kept() {
    let mut machine = running(policy());
    let acts = ended(&mut machine, End::Code(0));
    assert_eq!(acts, [release("completed", 0, true)]);
    assert_eq!(exit_after_release(&mut machine), Exit::Code(0));
    let mut machine = running(policy());
    let acts = ended(&mut machine, End::Signal(9));
    assert_eq!(acts, [release("signalled", 137, false)]);
    assert_eq!(exit_after_release(&mut machine), Exit::Signal(9));
}

#[test]
fn nothing_is_released_when_the_job_alone_has_ended() {
    let mut machine = running(policy());
    let end = Input::Guard(Report::Ended(End::Code(0)));
    assert_eq!(machine.see(end, at(2)), []);
    assert_eq!(machine.phase, Phase::Running);
}

#[test]
fn a_refusal_is_the_end() {
    let refusal = Refusal::AlreadyDone {
        host: None,
        next: s(9),
    };
    let mut machine = Machine::new(policy(), false);
    machine.hear_keeper(Event::Refused(refusal.clone()), WORD, at(1));
    let ending = machine.ending().unwrap();
    assert_eq!(
        (ending.exit, ending.refused),
        (Exit::NotAcquired, Some(refusal))
    );
    let mut machine = Machine::new(policy(), false);
    let limit = Refusal::Limit { kept: 3 };
    machine.hear_keeper(Event::Refused(limit), WORD, at(1));
    assert_eq!(machine.ending().unwrap().exit, Exit::Config);
}

#[test]
fn a_grant_that_comes_too_late_is_given_back() {
    let mut machine = Machine::new(policy(), false);
    let acts = machine.hear_keeper(granted(), WORD, at(20));
    assert_eq!(acts, [release("unavailable", 69, false)]);
    assert_eq!(exit_after_release(&mut machine), Exit::Unavailable);
    let mut machine = Machine::new(policy(), false);
    machine.hear_keeper(granted(), WORD, at(1));
    let acts = machine.see(Input::Guard(Report::TooLate), at(21));
    assert_eq!(acts, [release("unavailable", 69, false)]);
}

#[test]
fn a_signal_while_waiting_leaves_and_a_late_grant_starts_nothing() {
    let mut machine = Machine::new(policy(), false);
    let acts = machine.see(by_key(2), at(1));
    assert_eq!(acts, [Act::Tell(Command::Cancel)]);
    let acts = machine.hear_keeper(granted(), WORD, at(1));
    assert_eq!(acts, [release("not_started", 130, false)]);
    assert_eq!(exit_after_release(&mut machine), Exit::Signal(2));
    let mut machine = Machine::new(policy(), false);
    assert_eq!(machine.see(by_hand(10), at(1)), []);
    machine.see(by_hand(15), at(1));
    assert_eq!(machine.next_look(WORD, Moment::FAR), Some(at(3)));
    machine.look(WORD, Moment::FAR, at(3));
    assert_eq!(machine.ending().unwrap().exit, Exit::Signal(15));
}

#[test]
fn a_second_signal_while_waiting_ends_at_once() {
    let mut machine = Machine::new(policy(), false);
    machine.see(by_key(2), at(1));
    machine.see(by_key(2), at(1));
    assert_eq!(machine.ending().unwrap().exit, Exit::Signal(2));
}

#[test]
fn each_signal_reaches_the_job_once() {
    let mut machine = running(policy());
    assert_eq!(machine.see(by_hand(2), at(2)), [Act::Forward(2)]);
    assert_eq!(machine.see(by_key(2), at(2)), []);
    assert_eq!(machine.see(by_key(28), at(2)), []);
    assert_eq!(machine.see(by_key(1), at(2)), []);
    assert_eq!(machine.see(by_key(14), at(2)), [Act::Forward(14)]);
    assert_eq!(machine.see(by_hand(40), at(2)), [Act::Forward(40)]);
    let look = Act::Tell(Command::Look);
    assert_eq!(machine.see(by_hand(18), at(2)), [look, Act::Forward(18)]);
}

#[test]
fn the_leader_of_a_session_passes_a_hangup_on() {
    let mut machine = Machine::new(policy(), true);
    machine.hear_keeper(granted(), WORD, at(1));
    assert_eq!(machine.see(by_key(1), at(2)), [Act::Forward(1)]);
    assert_eq!(machine.see(by_key(2), at(2)), []);
}

#[test]
fn a_lost_lease_stops_the_job_and_wins_over_its_code() {
    let mut machine = running(policy());
    let lost = Act::Say(Notice::Lost(Loss::Gone));
    let acts = machine.hear_keeper(Event::Lost(Loss::Gone), WORD, at(2));
    assert_eq!(acts, [lost, Act::Stop]);
    let acts = machine.hear_keeper(Event::Lost(Loss::Expired), WORD, at(2));
    assert_eq!(acts, []);
    let acts = ended(&mut machine, End::Code(0));
    assert_eq!(
        acts,
        [Act::Say(Notice::Stopped), release("lost", 79, false)]
    );
    assert_eq!(exit_after_release(&mut machine), Exit::Lost);
}

#[test]
fn on_lost_warn_keeps_the_jobs_code() {
    let mut machine = running(Policy {
        on_lost: OnLost::Warn,
        ..policy()
    });
    let lost = Act::Say(Notice::Lost(Loss::Gone));
    let acts = machine.hear_keeper(Event::Lost(Loss::Gone), WORD, at(2));
    assert_eq!(acts, [lost]);
    let acts = ended(&mut machine, End::Code(4));
    assert_eq!(acts, [release("lost", 4, false)]);
    assert_eq!(exit_after_release(&mut machine), Exit::Code(4));
}

#[test]
fn the_guards_clock_counts_as_a_loss() {
    let mut machine = running(policy());
    let lost = Act::Say(Notice::Lost(Loss::Expired));
    assert_eq!(machine.see(Input::Guard(Report::Stopping), at(20)), [lost]);
    assert_eq!(machine.see(Input::Guard(Report::Expired), at(25)), []);
    ended(&mut machine, End::Signal(9));
    assert_eq!(exit_after_release(&mut machine), Exit::Lost);
}

#[test]
fn max_run_is_124() {
    let mut machine = running(policy());
    let acts = machine.see(Input::Guard(Report::MaxRun), at(2));
    assert_eq!(acts, [Act::Say(Notice::MaxRun)]);
    let acts = ended(&mut machine, End::Code(0));
    assert_eq!(acts[1], release("max_run", 124, false));
    assert_eq!(exit_after_release(&mut machine), Exit::MaxRun);
}

#[test]
fn what_cannot_be_executed_gives_the_lease_back() {
    for (errno, exit, code) in [(2, Exit::NotFound, 127), (13, Exit::CannotExecute, 126)] {
        let mut machine = running(policy());
        machine.see(Input::Guard(Report::NotExecuted(errno)), at(1));
        let acts = ended(&mut machine, End::Code(127));
        assert_eq!(acts, [release("not_started", code, false)]);
        assert_eq!(exit_after_release(&mut machine), exit);
        let ending = machine.ending().unwrap();
        assert_eq!((ending.job, ending.started), (None, false));
    }
    let mut machine = Machine::new(policy(), false);
    machine.hear_keeper(granted(), WORD, at(1));
    let acts = machine.see(Input::Guard(Report::NotStarted(11)), at(1));
    assert_eq!(acts, [release("not_started", 125, false)]);
}

#[test]
fn a_guard_that_dies_or_hangs_is_replaced() {
    let mut machine = running(policy());
    let acts = machine.see(Input::GuardGone, at(2));
    assert_eq!(acts, [Act::Say(Notice::GuardDied), Act::TakeOver]);
    let acts = machine.see(Input::TakenOver(vec![]), at(2));
    assert_eq!(
        acts,
        [Act::Say(Notice::Stopped), release("lost", 79, false)]
    );
    assert_eq!(exit_after_release(&mut machine), Exit::Lost);
    let hung = [Act::Say(Notice::GuardHung), Act::TakeOver];
    let mut machine = running(policy());
    assert_eq!(machine.look(WORD, at(20), at(24)), []);
    let lost = Act::Say(Notice::Lost(Loss::Expired));
    assert_eq!(machine.look(WORD, at(20), at(26)), [lost, Act::TakeOver]);
    let renewed = Some(at(99));
    let mut machine = running(policy());
    let late = at(20).after(Duration::from_millis(20));
    assert_eq!(machine.next_look(renewed, at(20)), Some(late));
    // All may have been paused: the guard gets time from the moment at which this is noticed.
    assert_eq!(machine.look(renewed, at(20), at(40)), []);
    assert_eq!(machine.next_look(renewed, at(20)), Some(at(45)));
    assert_eq!(machine.look(renewed, at(50), at(45)), []);
    assert_eq!(machine.look(renewed, at(50), at(51)), []);
    assert_eq!(machine.look(renewed, at(50), at(56)), hung);
}

#[test]
fn a_guard_that_died_while_waiting_is_a_failure_of_redlease() {
    let mut machine = Machine::new(policy(), false);
    let acts = machine.see(Input::GuardGone, at(1));
    assert_eq!(acts, [Act::Tell(Command::Cancel)]);
    machine.hear_keeper(Event::Left, WORD, at(1));
    assert_eq!(machine.ending().unwrap().exit, Exit::Failed);
}

#[test]
fn survivors_keep_the_lease_from_being_given_back() {
    let mut machine = running(policy());
    let survivors = vec![Survivor { pid: 9, uid: 0 }];
    let report = Report::Unkillable(survivors.clone());
    let acts = machine.see(Input::Guard(report), at(2));
    let said = Act::Say(Notice::Unkillable(survivors));
    assert_eq!(acts, [Act::Tell(Command::Abandon), said]);
    assert_eq!(machine.ending().unwrap().exit, Exit::Lost);
}

#[test]
fn a_release_that_finds_anothers_token_is_a_loss() {
    let mut machine = running(policy());
    ended(&mut machine, End::Code(0));
    let released = Event::Released(Released::Lost(Loss::Taken(None)));
    machine.hear_keeper(released, WORD, at(3));
    assert_eq!(machine.ending().unwrap().exit, Exit::Lost);
}

#[test]
fn a_keeper_that_does_not_answer_a_release_is_left() {
    let mut machine = running(policy());
    ended(&mut machine, End::Code(5));
    assert_eq!(machine.next_look(WORD, Moment::FAR), Some(at(17)));
    machine.see(by_hand(15), at(4));
    assert_eq!(machine.next_look(WORD, Moment::FAR), Some(at(6)));
    machine.look(WORD, Moment::FAR, at(6));
    let ending = machine.ending().unwrap();
    assert_eq!((ending.exit, ending.released), (Exit::Code(5), None));
}
