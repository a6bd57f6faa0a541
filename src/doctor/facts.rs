//! What the server says of itself. Whatever it refuses to say is unknown, and no check guesses it.

use std::collections::HashMap;
use std::time::Duration;

use crate::lease::reply::Reply;
use crate::lease::store::{Batch, Store, Trouble};
use crate::plan::connection::Connection;
use crate::time::{Moment, wall_us};

#[derive(Debug, Default)]
pub struct Facts {
    pub(super) info: HashMap<String, String>,
    pub(super) config: HashMap<String, String>,
    /// Why INFO or CONFIG GET was refused.
    pub info_refused: Option<String>,
    pub config_refused: Option<String>,
    /// Round trips, in the order they were made.
    pub latencies: Vec<Duration>,
    /// How far the server's clock is ahead of this machine's; None where it refuses TIME.
    pub clock_ahead: Option<Ahead>,
    pub cluster_target: bool,
    pub password: bool,
    /// In the open, and to another machine.
    pub readable_on_the_way: bool,
}

/// A signed difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ahead {
    pub by: Duration,
    pub server_is_ahead: bool,
}

const ROUNDS: usize = 10;
const CONFIG: [&str; 10] = [
    "maxmemory",
    "maxmemory-policy",
    "save",
    "appendfsync",
    "min-replicas-to-write",
    "timeout",
    "protected-mode",
    "bind",
    "port",
    "stop-writes-on-bgsave-error",
];

impl Facts {
    pub fn ask(store: &mut Store, connection: &Connection) -> Result<Facts, Trouble> {
        let limit = || Moment::now().after(connection.connect_timeout);
        let mut latencies = Vec::new();
        for _ in 0..ROUNDS {
            let sent = Moment::now();
            match store.command(&[b"PING"], limit()) {
                Ok(_) => latencies.push(Moment::now().since(sent)),
                // A refused PING took a round trip all the same; a lost connection is told by what follows.
                Err(trouble) if !store.is_connected() || stranger(&trouble) => return Err(trouble),
                Err(_) => latencies.push(Moment::now().since(sent)),
            }
        }
        let mut batch = Batch::default();
        batch.add(&[b"INFO"]);
        for name in CONFIG {
            batch.add(&[b"CONFIG", b"GET", name.as_bytes()]);
        }
        let before = wall_us();
        batch.add(&[b"TIME"]);
        let mut replies = store.batch(&batch, limit())?;
        let time = replies.pop();
        let after = wall_us();
        let mut facts = Facts {
            latencies,
            clock_ahead: time
                .and_then(Result::ok)
                .and_then(|reply| server_time(&reply))
                .map(|server| ahead(server, before, after)),
            cluster_target: connection.target.is_cluster(),
            password: connection.target.has_password(),
            readable_on_the_way: !connection.target.is_tls()
                && !local(&connection.target.describe()),
            ..Facts::default()
        };
        facts.read(replies);
        Ok(facts)
    }

    fn read(&mut self, replies: Vec<Result<Reply, String>>) {
        let mut replies = replies.into_iter();
        match replies.next() {
            Some(Ok(reply)) => self.info = info(&reply.text().unwrap_or_default()),
            Some(Err(error)) => self.info_refused = Some(error),
            None => {}
        }
        for (name, reply) in CONFIG.iter().zip(replies) {
            match reply {
                Ok(reply) => {
                    if let Ok([_, value]) = reply.array()
                        && let Ok(value) = value.text()
                    {
                        self.config.insert((*name).to_owned(), value);
                    }
                }
                Err(error) => self.config_refused = Some(error),
            }
        }
    }

    pub fn info(&self, name: &str) -> Option<&str> {
        self.info.get(name).map(String::as_str)
    }

    pub fn config(&self, name: &str) -> Option<&str> {
        self.config.get(name).map(String::as_str)
    }

    pub fn number(&self, name: &str) -> Option<u64> {
        let text = self.info(name).or_else(|| self.config(name))?;
        text.parse().ok()
    }

    #[cfg(test)]
    pub fn of(info_text: &str, config: &[(&str, &str)]) -> Facts {
        Facts {
            info: info(info_text),
            config: config
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect(),
            ..Facts::default()
        }
    }
}

/// Not a missing right of a user, but no user at all: nothing else would be answered either.
fn stranger(trouble: &Trouble) -> bool {
    ["NOAUTH", "DENIED"]
        .iter()
        .any(|word| trouble.text.contains(word))
}

fn info(text: &str) -> HashMap<String, String> {
    text.lines()
        .filter_map(|line| line.trim_end().split_once(':'))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

fn server_time(reply: &Reply) -> Option<u64> {
    let [seconds, micros] = reply.array().ok()? else {
        return None;
    };
    let seconds = seconds.unsigned().ok().filter(|seconds| *seconds > 0)?;
    Some(seconds * 1_000_000 + micros.unsigned().ok()?)
}

/// What is left of the difference when the time of the round trip is given to whoever it makes look better.
fn ahead(server: u64, before: u64, after: u64) -> Ahead {
    let us = Duration::from_micros;
    if server > after {
        Ahead {
            by: us(server - after),
            server_is_ahead: true,
        }
    } else {
        Ahead {
            by: us(before.saturating_sub(server)),
            server_is_ahead: false,
        }
    }
}

fn local(target: &str) -> bool {
    target.starts_with("unix:")
        || ["://127.", "://localhost", "://[::1]"]
            .iter()
            .any(|part| target.contains(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_is_off_by_no_more_than_is_sure() {
        let second = |n: u64| n * 1_000_000;
        let off = |server, before, after| ahead(second(server), second(before), second(after));
        assert_eq!(off(105, 100, 110).by, Duration::ZERO);
        assert_eq!(
            off(120, 100, 110),
            Ahead {
                by: Duration::from_secs(10),
                server_is_ahead: true
            }
        );
        assert_eq!(
            off(90, 100, 110),
            Ahead {
                by: Duration::from_secs(10),
                server_is_ahead: false
            }
        );
    }

    #[test]
    fn what_is_on_this_machine_is_not_on_the_way() {
        assert!(local("unix:///run/redis.sock"));
        assert!(local("redis://127.0.0.1:6379/0"));
        assert!(!local("redis://cache.example:6379/0"));
    }
}
