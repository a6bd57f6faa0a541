//! Stories in a random order, in a world that checks what is done.

use proptest::prelude::*;

use super::*;

fn keeper_events() -> impl Strategy<Value = Event> {
    let refusal = Refusal::Limit { kept: 3 };
    prop_oneof![
        3 => Just(granted()),
        1 => Just(Event::Refused(refusal.clone())),
        1 => Just(Event::Waiting(refusal)),
        1 => Just(Event::Failed { exit: Exit::Denied, text: String::new() }),
        1 => Just(Event::Renewed { sent: at(1) }),
        1 => Just(Event::Restored),
        1 => Just(Event::Unleased { text: String::new() }),
        1 => Just(Event::Lost(Loss::Gone)),
        1 => Just(Event::Released(Released::Done)),
        1 => Just(Event::Released(Released::Lost(Loss::Gone))),
        1 => Just(Event::Left),
    ]
}

fn inputs() -> impl Strategy<Value = Input> {
    prop_oneof![
        3 => Just(Input::Started),
        1 => Just(Input::Guard(Report::TooLate)),
        1 => Just(Input::Guard(Report::NotStarted(11))),
        1 => Just(Input::Guard(Report::NotExecuted(2))),
        2 => Just(Input::Guard(Report::Ended(End::Code(0)))),
        1 => Just(Input::Guard(Report::Stopping)),
        1 => Just(Input::Guard(Report::MaxRun)),
        1 => Just(Input::Guard(Report::Expired)),
        1 => Just(Input::Guard(Report::Leftovers(vec![]))),
        1 => Just(Input::Guard(Report::Unkillable(vec![Survivor { pid: 9, uid: 0 }]))),
        2 => Just(Input::Guard(Report::Empty)),
        1 => Just(Input::GuardGone),
        1 => Just(Input::KeeperGone),
        1 => Just(Input::NotSent),
        1 => Just(by_hand(15)),
        1 => Just(by_key(2)),
        1 => Just(by_hand(18)),
    ]
}

#[derive(Clone, Debug)]
enum Step {
    Keeper(Event),
    See(Input),
    Look(u64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        keeper_events().prop_map(Step::Keeper),
        inputs().prop_map(Step::See),
        (0_u64..30).prop_map(Step::Look),
    ];
    proptest::collection::vec(step, 0..40)
}

/// The loop in little: knows whether something of a job may be alive, and checks what is done.
#[derive(Default)]
struct World {
    now: u64,
    granted: bool,
    alive: bool,
    starts: u32,
}

impl World {
    fn perform(&mut self, machine: &mut Machine, acts: Vec<Act>) {
        for act in acts {
            match act {
                Act::Start { .. } => {
                    assert!(self.granted, "a job without a lease");
                    self.starts += 1;
                    assert_eq!(self.starts, 1, "two jobs");
                    self.alive = true;
                }
                Act::Tell(Command::Release(_)) => {
                    assert!(self.granted && !self.alive, "released beside a job");
                }
                Act::Forward(_) | Act::Stop => assert!(self.starts == 1, "a signal to nobody"),
                Act::TakeOver => {
                    self.alive = false;
                    let acts = machine.see(Input::TakenOver(vec![]), at(self.now));
                    self.perform(machine, acts);
                }
                Act::Tell(_) | Act::Say(_) => {}
            }
        }
    }

    fn take(&mut self, machine: &mut Machine, step: Step) {
        let over = machine.phase == Phase::Over;
        let now = at(self.now);
        let acts = match step {
            Step::Keeper(event) => {
                self.granted |= matches!(event, Event::Granted { .. });
                machine.hear_keeper(event, WORD, now)
            }
            Step::See(input) => {
                let last_words = [
                    Input::Guard(Report::TooLate),
                    Input::Guard(Report::NotStarted(11)),
                    Input::Guard(Report::Empty),
                ];
                // Only a guard that has started, or refused to, says so.
                let silent = matches!(input, Input::Guard(_) | Input::Started) && self.starts == 0;
                if silent {
                    return;
                }
                self.alive &= !last_words.contains(&input);
                machine.see(input, now)
            }
            Step::Look(seconds) => {
                self.now += seconds;
                machine.look(WORD, Moment::FAR, at(self.now))
            }
        };
        assert!(!over || acts.is_empty(), "{acts:?} after the end");
        self.perform(machine, acts);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_story_ends_and_nothing_is_released_beside_a_job(
        steps in steps(),
        warn in any::<bool>(),
    ) {
        let on_lost = if warn { OnLost::Warn } else { OnLost::Stop };
        let mut machine = Machine::new(Policy { on_lost, ..policy() }, false);
        let mut world = World::default();
        for step in steps {
            world.take(&mut machine, step);
        }
        // Everybody dies, and a minute passes.
        world.take(&mut machine, Step::See(Input::KeeperGone));
        if machine.phase != Phase::Over {
            world.take(&mut machine, Step::See(Input::GuardGone));
        }
        world.take(&mut machine, Step::Look(60));
        prop_assert!(machine.ending().is_some());
    }
}
