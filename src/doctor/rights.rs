//! The least that an ACL has to allow.

use crate::lease::names::Prefix;
use crate::lease::protocol;

/// What is asked beside the scripts: wake-ups of those who wait; lists; confirmations of replicas. DBSIZE, INFO,
/// CONFIG GET and PING are only good for a progress line and for the doctor, and so are no part of it.
const BESIDE: [&str; 4] = ["subscribe", "scan", "getrange", "wait"];

/// As it is typed into redis-cli. `reset` alone would allow every channel on Redis 6.2 and none on 7.
/// Lists of a cluster begin with its nodes.
pub fn rule(prefix: &Prefix, cluster: bool) -> String {
    let names = literal(prefix.as_str());
    let commands: Vec<String> = protocol::COMMANDS
        .iter()
        .chain(&BESIDE)
        .chain(cluster.then_some(&"cluster|slots"))
        .map(|command| format!("+{command}"))
        .collect();
    format!(
        "ACL SETUSER redlease reset on >PASSWORD ~{names}* resetchannels &{names}* {}",
        commands.join(" ")
    )
}

fn literal(prefix: &str) -> String {
    let mut pattern = String::new();
    for c in prefix.chars() {
        if matches!(c, '*' | '?' | '[' | ']' | '\\') {
            pattern.push('\\');
        }
        pattern.push(c);
    }
    pattern
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rule_is_the_documented_one() {
        assert_eq!(
            rule(&Prefix::default(), false),
            "ACL SETUSER redlease reset on >PASSWORD ~redlease:* resetchannels &redlease:* +eval +time +get +set +del \
             +exists +pttl +pexpire +hmget +hset +hdel +hincrby +zadd +zrem +zrange +zrank +zscore +zcard +publish \
             +subscribe +scan +getrange +wait"
        );
        assert!(rule(&Prefix::default(), true).ends_with(" +wait +cluster|slots"));
    }
}
