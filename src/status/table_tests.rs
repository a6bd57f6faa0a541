use super::super::row::tests::{NOW, names, seen};
use super::super::row::{Row, Waiter};
use super::*;
use crate::lease::Identity;
use crate::lease::protocol::inspect::{LastRun as Ended, State as At};

const PLAIN: Style = Style {
    width: 80,
    colour: false,
};

fn held(key: &str) -> Row {
    Row::new(&names(key), 1, 1, seen(At::Held))
}

fn free(key: &str) -> Row {
    let mut free = seen(At::Free);
    free.remaining = None;
    free.holding = None;
    free.last_run = Some(Ended {
        ended_at_us: NOW - 7_200_000_000,
        outcome: "completed".to_owned(),
        code: Some(0),
        duration: Some(Duration::from_secs(252)),
        host: Some("web2".to_owned()),
    });
    Row::new(&names(key), 1, 1, free)
}

#[test]
fn eighty_columns_hold_key_state_holder_and_times() {
    assert_eq!(
        lines(&[held("nightly-import"), free("x")], PLAIN, false),
        [
            "KEY             STATE  HOLDER                            FOR  LEFT  LAST RUN",
            "nightly-import  held   ana@web1 (pid 4242, import.sh)  2m 3s   27s",
            "x               free                                      2h        ok, 2h ago",
        ]
    );
}

#[test]
fn a_wide_terminal_shows_fence_and_last_run() {
    let wide = Style {
        width: 120,
        colour: false,
    };
    let shown = lines(&[held("a"), free("b")], wide, false);
    assert!(shown[0].contains("FENCE"), "{shown:?}");
    assert!(shown[1].contains("1764528667000000"), "{shown:?}");
    assert!(shown[2].ends_with("ok, 2h ago"), "{shown:?}");
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    let mut long = held(&"k".repeat(200));
    long.waiting = 12;
    for width in [40, 60, 80, 100, 200] {
        let style = Style {
            width,
            colour: false,
        };
        for line in lines(&[long.clone(), free("日本語")], style, true) {
            assert!(line.width() <= width, "{width}: {line}");
        }
    }
}

#[test]
fn colour_is_only_there_when_asked_for() {
    let style = Style {
        width: 80,
        colour: true,
    };
    let shown = lines(&[held("k")], style, false).join("\n");
    assert!(shown.contains("\x1b[32mheld\x1b[0m"), "{shown}");
    assert!(!lines(&[held("k")], PLAIN, true).join("\n").contains('\x1b'));
}

#[test]
fn details_name_waiters_in_order_and_the_last_run() {
    let mut row = held("k");
    row.last = free("k").last;
    row.waiting = 1;
    row.waiters = vec![Waiter {
        who: Identity {
            host: "ci2".to_owned(),
            pid: 77,
            user: "bob".to_owned(),
            label: "make".to_owned(),
        },
        waited: Duration::from_secs(12),
        silent: false,
    }];
    let shown = lines(&[row], PLAIN, true);
    assert_eq!(
        shown[2..],
        [
            "  acquired 2025-11-30T18:51:07Z, fence 1764528667000000, ttl 30s",
            "  1. bob@ci2 (pid 77, make) has waited for 12s",
            "  last run: ok after 4m 12s on web2, ended 2h ago",
        ]
    );
}

#[test]
fn a_cooling_lease_says_until_when() {
    let shown = lines(
        &[Row::new(&names("k"), 1, 1, seen(At::Cooling))],
        PLAIN,
        true,
    );
    assert_eq!(
        shown[2],
        "  cooling until 2025-11-30T18:53:37Z (--min-hold)"
    );
}

#[test]
fn hostile_text_stays_on_its_line() {
    let mut hostile = seen(At::Held);
    if let Some(holding) = &mut hostile.holding {
        holding.holder.who.label = "a\x1b[2J\n\u{202e}b".to_owned();
    }
    let shown = lines(&[Row::new(&names("k"), 1, 1, hostile)], PLAIN, true);
    for line in &shown {
        assert!(!line.chars().any(char::is_control), "{line:?}");
        assert!(!line.contains('\u{202e}'), "{line:?}");
    }
    assert_eq!(shown.len(), 3);
}
