//! The checker finds each kind of breach in a history that has just this one, and none in one without.

use super::checker::{Verdict, judge};
use super::history::{
    Answer, Ask, Ending, Fault, Form, Gap, History, Key, Left, Loss, MS, Ns, Orphan, Process,
    Report, Run,
};

/// Times are in milliseconds here; the TTL is 3 s, so that the kill moment is 2750 ms after a request.
fn history() -> History {
    History {
        keys: vec![Key {
            name: "k".to_owned(),
            ttl: 3_000 * MS,
            limit: 1,
            min_hold: 0,
        }],
        ..History::default()
    }
}

fn token(run: u64) -> String {
    format!("token-{run}")
}

impl History {
    /// A run that asked at `from`, worked until `until`, and gave back.
    fn whole(mut self, run: u64, fence: u64, from: Ns, until: Ns) -> History {
        self.started(run, from);
        self.worked(run, fence, from + 3, until);
        self.granted(run, fence, from + 1);
        self.released(run, until + 1);
        self.ended(run, until + 5);
        self
    }

    fn started(&mut self, run: u64, at: Ns) {
        self.runs.push(Run {
            id: run,
            form: Form::Run,
            key: "k".to_owned(),
            pid: u32::try_from(run).unwrap(),
            at: at * MS,
            wait: None,
            job: 1_000 * MS,
            code: 0,
        });
    }

    fn worked(&mut self, run: u64, fence: u64, first: Ns, last: Ns) {
        self.processes.push(Process {
            run,
            pid: 100,
            top: true,
            token: token(run),
            slot: 1,
            fence,
            first: first * MS,
            last: last * MS,
            end: Some(0),
        });
    }

    fn asked(&mut self, run: u64, script: &str, at: Ns, answer: Answer) {
        let at = at * MS;
        self.asks.push(Ask {
            pid: u32::try_from(run).unwrap(),
            script: script.to_owned(),
            key: "k".to_owned(),
            token: token(run),
            waiter: String::new(),
            arrived: at,
            forwarded: at,
            replied: at + MS / 2,
            delivered: at + MS / 2,
            answer,
        });
    }

    fn granted(&mut self, run: u64, fence: u64, at: Ns) {
        let answer = Answer::Granted {
            slot: 1,
            fence,
            again: false,
        };
        self.asked(run, "acquire", at, answer);
    }

    fn renewed(&mut self, run: u64, at: Ns, restored: bool) {
        self.asked(run, "renew", at, Answer::Renewed { restored });
    }

    fn released(&mut self, run: u64, at: Ns) {
        self.asked(run, "release", at, Answer::Released);
    }

    fn queued(&mut self, run: u64, ticket: u64, at: Ns) {
        let word = "held".to_owned();
        self.asked(run, "acquire", at, Answer::Refused { word, ticket });
        self.last_ask().waiter = format!("waiter-{run}");
    }

    fn last_ask(&mut self) -> &mut Ask {
        self.asks.last_mut().unwrap()
    }

    fn ended(&mut self, run: u64, at: Ns) {
        let fence = self
            .processes
            .iter()
            .find(|p| p.run == run)
            .map(|p| p.fence);
        self.endings.push(Ending {
            run,
            at: at * MS,
            code: 0,
            killed: false,
            paused: 0,
            report: Some(Report {
                outcome: "completed".to_owned(),
                exit_code: 0,
                job_code: Some(0),
                job_signal: None,
                slot: fence.map(|_| 1),
                fence,
                restored: 0,
                message: None,
            }),
            said: String::new(),
        });
    }

    fn last_ending(&mut self) -> &mut Ending {
        self.endings.last_mut().unwrap()
    }

    fn report(&mut self) -> &mut Report {
        self.last_ending().report.as_mut().unwrap()
    }

    fn lost(&mut self, key: Option<&str>, at: Ns) {
        self.losses.push(Loss {
            kind: "FLUSHALL".to_owned(),
            key: key.map(str::to_owned),
            from: at * MS,
            until: (at + 1) * MS,
        });
    }

    fn fault(&mut self, run: Option<u64>, from: Ns, until: Ns) {
        self.faults.push(Fault {
            kind: "a fault".to_owned(),
            run,
            from: from * MS,
            until: until * MS,
        });
    }
}

#[track_caller]
fn clean(history: &History) -> Verdict {
    let verdict = judge(history);
    assert_eq!(verdict.breaches, []);
    verdict
}

#[track_caller]
fn breaks(rule: char, part: &str, history: &History) {
    let verdict = judge(history);
    let texts: Vec<&str> = verdict.breaches.iter().map(|b| b.text.as_str()).collect();
    let only = verdict.breaches.iter().all(|b| b.rule == rule);
    assert!(
        only && texts.iter().any(|t| t.contains(part)),
        "{:?}",
        verdict.breaches
    );
}

#[test]
fn two_runs_after_each_other_break_nothing() {
    let history = history().whole(1, 10, 100, 900).whole(2, 11, 1_000, 1_800);
    let verdict = clean(&history);
    assert_eq!((verdict.numbers.leases, verdict.numbers.jobs), (2, 2));
    assert_eq!(
        clean(&History::from_json(&history.to_json()).unwrap())
            .numbers
            .jobs,
        2
    );
}

#[test]
fn a_overlapping_jobs() {
    let history = history().whole(1, 10, 100, 900).whole(2, 11, 800, 1_800);
    breaks(
        'a',
        "runs 1 and 2 worked at the same time for 0.097 s",
        &history,
    );
}

#[test]
fn a_overlap_after_a_declared_loss_is_counted_and_bounded() {
    let mut lossy = history();
    lossy.started(1, 100);
    lossy.worked(1, 10, 103, 2_000);
    lossy.granted(1, 10, 101);
    lossy.ended(1, 2_010);
    let mut lossy = lossy.whole(2, 11, 800, 2_800);
    let mut elsewhere = lossy.clone();
    lossy.lost(Some("k"), 700);
    let verdict = clean(&lossy);
    assert_eq!(verdict.numbers.declared_overlaps, 1);
    assert_eq!(verdict.numbers.worst_declared_overlap, 1_197 * MS);
    // From the loss, which was over at 701 ms, to a kill moment 2750 ms later.
    assert_eq!(
        verdict.numbers.nearest_bound,
        Some((2_648 * MS, 1_197 * MS))
    );

    elsewhere.keys.push(Key {
        name: "other".to_owned(),
        ..elsewhere.keys[0].clone()
    });
    elsewhere.lost(Some("other"), 700);
    breaks('a', "runs 1 and 2", &elsewhere);
    elsewhere.losses.clear();
    // After both had been granted it explains nothing.
    elsewhere.lost(None, 1_500);
    breaks('a', "runs 1 and 2", &elsewhere);
}

#[test]
fn a_overlap_past_the_bound_of_a_loss() {
    let mut history = history();
    history.started(1, 100);
    history.worked(1, 10, 103, 4_000);
    history.granted(1, 10, 101);
    history.renewed(1, 1_500, false);
    history.ended(1, 4_010);
    let mut history = history.whole(2, 11, 800, 4_100);
    history.renewed(2, 1_700, false);
    history.lost(None, 700);
    // 701 + 2750 = 3451, and both work until 4000.
    breaks('a', "until 0.549 s past the bound", &history);
}

#[test]
fn a_grants_inside_the_min_hold() {
    let mut cooling = history().whole(1, 10, 100, 300).whole(2, 11, 900, 1_000);
    cooling.keys[0].min_hold = 790 * MS;
    clean(&cooling);
    cooling.keys[0].min_hold = 810 * MS;
    breaks('a', "after 0.800 s of its min-hold", &cooling);
    cooling.lost(None, 500);
    clean(&cooling);
}

#[test]
fn b_fences_that_do_not_grow() {
    breaks(
        'b',
        "fence 10 after 11",
        &history().whole(1, 11, 100, 900).whole(2, 10, 1_000, 1_800),
    );
    breaks(
        'b',
        "got the fence 11",
        &history().whole(1, 11, 100, 900).whole(2, 11, 1_000, 1_800),
    );
}

#[test]
fn c_work_past_the_kill_moment() {
    let mut late = history();
    late.started(1, 100);
    late.worked(1, 10, 103, 3_000);
    late.granted(1, 10, 101);
    late.ended(1, 3_010);
    // 101 + 2750 = 2851.
    breaks('c', "0.149 s past its kill moment", &late);
    let mut starved = late.clone();
    starved.gaps.push(Gap {
        from: 2_900 * MS,
        until: 2_950 * MS,
    });
    assert_eq!(clean(&starved).numbers.worst_tick, Some(149_000_000));
    // A renewal whose reply never came moves nothing.
    late.renewed(1, 1_000, false);
    late.last_ask().delivered = 0;
    breaks('c', "past its kill moment", &late);
    late.last_ask().delivered = 1_001 * MS;
    clean(&late);
}

#[test]
fn d_processes_that_live_on() {
    let mut orphan = history().whole(1, 10, 100, 900);
    orphan.orphans.push(Orphan {
        run: 1,
        pid: 101,
        at: 950 * MS,
    });
    breaks('d', "process 101", &orphan);
    let mut child = history().whole(1, 10, 100, 900);
    child.worked(1, 10, 200, 920);
    breaks('d', "after redlease had ended", &child);
}

#[test]
fn e_keys_that_stay() {
    let left = |key: &str, pttl: i64, again: bool| {
        let mut history = history().whole(1, 10, 100, 900);
        history.left.push(Left {
            key: key.to_owned(),
            value: "token-9".to_owned(),
            pttl,
            again,
        });
        history
    };
    clean(&left("redlease:{k}", 2_000, false));
    clean(&left("redlease:{k}:info", 500_000, true));
    breaks('e', "lives for -1 ms", &left("redlease:{k}", -1, false));
    breaks(
        'e',
        "lives for 3001 ms",
        &left("redlease:{k}", 3_001, false),
    );
    breaks('e', "still held", &left("redlease:{k}", 100, true));
    breaks(
        'e',
        "lives for 20001 ms",
        &left("redlease:{k}:waiters", 20_001, false),
    );
    breaks('e', "lives for -1 ms", &left("redlease:{k}:info", -1, true));
    breaks('e', "nobody asked", &left("redlease:{other}:info", 5, true));
    let mut released = left("redlease:{k}", 2_000, false);
    released.left[0].value = token(1);
    breaks('e', "after its release", &released);
}

#[test]
fn e_holdings_that_come_back() {
    let mut released = history().whole(1, 10, 100, 900);
    released.renewed(1, 1_500, true);
    breaks('e', "came back after its release", &released);
    let mut lapsed = history();
    lapsed.started(1, 100);
    lapsed.worked(1, 10, 103, 500);
    lapsed.granted(1, 10, 101);
    lapsed.ended(1, 510);
    lapsed.renewed(1, 3_500, true);
    breaks('e', "0.398 s after its TTL", &lapsed);
    lapsed.last_ask().answer = Answer::Renewed { restored: false };
    clean(&lapsed);
}

#[test]
fn f_endings_that_contradict_the_history() {
    let with = |change: &dyn Fn(&mut History)| {
        let mut history = history().whole(1, 10, 100, 900);
        change(&mut history);
        history
    };
    breaks('f', "never ended", &with(&|h| h.endings.clear()));
    breaks(
        'f',
        "ended with 125",
        &with(&|h| {
            h.last_ending().code = 125;
            h.report().exit_code = 125;
        }),
    );
    breaks(
        'f',
        "reports the code 0 and ended with 79",
        &with(&|h| h.last_ending().code = 79),
    );
    breaks('f', "no report", &with(&|h| h.last_ending().report = None));
    breaks(
        'f',
        "had the fence 10",
        &with(&|h| h.report().fence = Some(9)),
    );
    breaks(
        'f',
        "its job worked",
        &with(&|h| h.report().outcome = "unavailable".to_owned()),
    );
    breaks(
        'f',
        "lost, and ended with 0",
        &with(&|h| h.report().outcome = "lost".to_owned()),
    );
    let signalled = with(&|h| {
        h.processes[0].end = None;
        h.last_ending().code = 143;
        h.report().exit_code = 143;
        h.report().outcome = "signalled".to_owned();
        h.report().job_signal = Some(15);
    });
    breaks('f', "signalled by nobody", &signalled);
    breaks(
        'f',
        "and its job with None",
        &with(&|h| h.processes[0].end = None),
    );
    breaks(
        'f',
        "took 22.100 s",
        &with(&|h| h.last_ending().at = 22_200 * MS),
    );
    breaks(
        'f',
        "refused after 0.805 s",
        &with(&|h| {
            h.runs[0].wait = Some(2_000 * MS);
            h.processes.clear();
            h.last_ending().code = 75;
            *h.report() = Report {
                outcome: "refused".to_owned(),
                exit_code: 75,
                ..h.report().clone()
            };
        }),
    );
}

/// Run 1 holds until 3200; run 2 and run 3 wait since 2000 and 2100; run 3 is served first.
fn inverted() -> History {
    let mut history = history();
    history.started(1, 1_000);
    history.granted(1, 10, 1_001);
    history.worked(1, 10, 1_003, 3_190);
    history.renewed(1, 2_000, false);
    history.started(2, 2_000);
    history.queued(2, 2_000, 2_005);
    history.started(3, 2_100);
    history.queued(3, 2_100, 2_105);
    history.released(1, 3_200);
    history.ended(1, 3_205);
    history.granted(3, 11, 3_210);
    history.last_ask().waiter = "waiter-3".to_owned();
    history.worked(3, 11, 3_215, 3_300);
    history.released(3, 3_301);
    history.ended(3, 3_305);
    history.granted(2, 12, 3_310);
    history.last_ask().waiter = "waiter-2".to_owned();
    history.worked(2, 12, 3_315, 3_400);
    history.released(2, 3_401);
    history.ended(2, 3_405);
    history
}

#[test]
fn g_a_waiter_that_is_passed_over() {
    breaks('g', "was served before run 2", &inverted());
    let mut stopped = inverted();
    stopped.fault(Some(2), 2_500, 3_000);
    clean(&stopped);
    let mut stormy = inverted();
    stormy.fault(None, 100, 200);
    clean(&stormy);
    // Half a second after the release the next in line may take its turn.
    let mut patient = inverted();
    for ask in &mut patient.asks {
        if ask.token == token(1) && ask.script == "release" {
            ask.forwarded = 2_700 * MS;
            ask.replied = ask.forwarded + MS;
        }
    }
    patient.processes[0].last = 2_690 * MS;
    clean(&patient);
}

#[test]
fn g_a_lease_that_is_idle() {
    let late = |later: Ns| {
        let mut history = history().whole(1, 10, 1_000, 1_990);
        history.started(2, 1_500);
        history.queued(2, 2_000, 1_505);
        history.granted(2, 11, 1_995 + later);
        history.last_ask().waiter = "waiter-2".to_owned();
        history.worked(2, 11, 2_000 + later, 2_100 + later);
        history.released(2, 2_101 + later);
        history.ended(2, 2_105 + later);
        history
    };
    assert_eq!(clean(&late(1_000)).numbers.idles_checked, 1);
    breaks('g', "idle for 1.", &late(1_900));
    let mut starved = late(1_900);
    starved.gaps.push(Gap {
        from: 2_000 * MS,
        until: 2_300 * MS,
    });
    clean(&starved);
}

#[test]
fn g_a_run_refused_because_of_its_own_attempt() {
    let mut history = history();
    history.started(1, 100);
    history.granted(1, 10, 110);
    history.last_ask().token = "an earlier attempt".to_owned();
    history.last_ask().delivered = 0;
    history.queued(1, 0, 200);
    history.ended(1, 300);
    history.last_ending().code = 75;
    *history.report() = Report {
        outcome: "refused".to_owned(),
        exit_code: 75,
        ..history.report().clone()
    };
    breaks('g', "its own earlier attempt", &history);
}
