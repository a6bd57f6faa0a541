//! What a torture came to, as a table for people.

use super::checker::Verdict;
use super::history::{MS, Ns};

fn seconds(ns: Ns) -> String {
    format!("{:.3} s", ns as f64 / 1e9)
}

pub fn table(verdict: &Verdict, seed: u64, rounds: usize) -> String {
    let numbers = &verdict.numbers;
    let count = |rule: char| verdict.count(rule).to_string();
    let listed = |what: &std::collections::BTreeMap<String, u64>| {
        let all: Vec<String> = what.iter().map(|(kind, n)| format!("{kind} {n}")).collect();
        all.join(", ")
    };
    let codes: Vec<String> = numbers
        .endings
        .iter()
        .map(|(code, n)| format!("{code}: {n}"))
        .collect();
    let tick = numbers.worst_tick.map_or("no job".to_owned(), |late| {
        let late = late / i64::try_from(MS).unwrap_or(1);
        if late <= 0 {
            format!("{} ms before it", -late)
        } else {
            format!("{late} ms after it")
        }
    });
    let bound = numbers
        .nearest_bound
        .map_or("none".to_owned(), |(bound, seen)| {
            format!("{} of {} allowed", seconds(seen), seconds(bound))
        });
    let rows = [
        ("seed, rounds", format!("{seed}, {rounds}")),
        (
            "leases granted, jobs run",
            format!("{}, {}", numbers.leases, numbers.jobs),
        ),
        ("ends of runs by exit code", codes.join(", ")),
        ("faults", listed(&numbers.faults)),
        ("declared losses", listed(&numbers.losses)),
        (
            "holdings restored after a loss",
            numbers.restored.to_string(),
        ),
        ("overlaps outside declared losses", count('a')),
        (
            "overlaps after declared losses",
            format!(
                "{}, nearest to its bound {bound}",
                numbers.declared_overlaps
            ),
        ),
        ("fence regressions", count('b')),
        ("latest work against the kill moment", tick),
        ("work past the kill moment", count('c')),
        ("orphans", count('d')),
        ("keys that stayed or came back", count('e')),
        ("ends that contradict the history", count('f')),
        ("waiters passed over, idle beyond the bound", count('g')),
        (
            "hand-overs judged for order, for idle time",
            format!("{}, {}", numbers.orders_checked, numbers.idles_checked),
        ),
        (
            "longest idle with live waiters: calm, storm",
            format!(
                "{}, {}",
                seconds(numbers.worst_idle),
                seconds(numbers.worst_idle_in_storms)
            ),
        ),
        (
            "longest starvation of the machine",
            seconds(numbers.longest_gap),
        ),
    ];
    let rows = rows.map(|(what, value)| format!("| {what} | {value} |"));
    format!("| | |\n|---|---|\n{}\n", rows.join("\n"))
}
