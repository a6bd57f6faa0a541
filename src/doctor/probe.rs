//! A lease of the doctor's own, through its whole life: rights and refusals show here as they would in a run.

use std::time::Duration;

use super::finding::Finding;
use super::rights;
use crate::lease::names::{Key, Names};
use crate::lease::protocol::acquire::{Acquire, Leave, Waiting};
use crate::lease::protocol::check::Check;
use crate::lease::protocol::inspect::Inspect;
use crate::lease::protocol::release::Release;
use crate::lease::protocol::renew::Renew;
use crate::lease::store::{Kind, Store, Subscription, Trouble};
use crate::lease::{Fence, Identity, Token};
use crate::plan::connection::Connection;
use crate::sys::host;
use crate::time::Moment;

/// It is over in a moment; should the doctor die in the middle, nothing is left after this.
const TTL: Duration = Duration::from_secs(10);

struct Probe<'a> {
    store: &'a mut Store,
    connection: &'a Connection,
    names: Names,
    token: Token,
    identity: Identity,
}

pub fn all(store: &mut Store, connection: &Connection) -> Vec<Finding> {
    let token = Token::fresh();
    let Ok(key) = format!("doctor-{}", token.as_str()).parse::<Key>() else {
        return Vec::new();
    };
    let mut probe = Probe {
        names: Names::new(&connection.prefix, &key),
        store,
        connection,
        token,
        identity: Identity {
            host: host::name(),
            pid: std::process::id(),
            user: host::user(),
            label: "doctor".to_owned(),
        },
    };
    let mut findings = vec![match probe.life() {
        Ok(woken) => {
            probe.clear();
            vec![
                Finding::ok("lease", "acquired, renewed, checked, shown and released"),
                woken,
            ]
        }
        Err(trouble) => vec![refused(connection, &trouble)],
    }];
    findings.push(vec![probe.list()]);
    findings.concat()
}

impl Probe<'_> {
    fn soon(&self) -> Moment {
        Moment::now().after(self.connection.connect_timeout)
    }

    fn acquire(&mut self, token: &Token, waiting: Option<Waiting<'_>>) -> Result<Fence, Trouble> {
        let until = self.soon();
        let request = Acquire {
            names: &self.names,
            identity: &self.identity,
            token,
            replaces: &[],
            ttl: TTL,
            limit: 1,
            waiting,
            once_per: None,
            retain: TTL,
        };
        let asked = self.store.ask(&request, until)?;
        Ok(asked.map_or(Fence(0), |grant| grant.fence))
    }

    /// Everything that a run and those who wait for it ask. The answer is how the wake-up went.
    fn life(&mut self) -> Result<Finding, Trouble> {
        let token = self.token.clone();
        let fence = self.acquire(&token, None)?;
        let waiter = Token::fresh();
        let id = waiter.as_str().to_owned();
        let channel = format!("{}{id}", self.names.wake());
        let listening = self.store.subscribe(&channel, self.soon());
        self.acquire(
            &waiter,
            Some(Waiting {
                id: &id,
                ticket: None,
            }),
        )?;
        let until = self.soon();
        let renewal = Renew {
            names: &self.names,
            slot: 1,
            limit: 1,
            token: &token,
            fence,
            ttl: TTL,
            retain: TTL,
            restore_until_us: None,
            only_longer: false,
            acquired_at_us: 0,
            identity: &self.identity,
        };
        let _held = self.store.ask(&renewal, until)?;
        let (names, slot) = (&self.names, 1);
        let _held = self.store.ask(
            &Check {
                names,
                slot,
                token: &token,
            },
            until,
        )?;
        self.store.ask(&Inspect { names, slot }, until)?;
        let _freed = self.store.ask(
            &Release {
                names,
                slot,
                limit: 1,
                token: &token,
                fence,
                retain: TTL,
                resend: false,
                strict: false,
                keep_until_us: None,
                unlost_until_us: None,
                run: None,
            },
            until,
        )?;
        let woken = woken(listening);
        self.store.ask(
            &Leave {
                names,
                waiter: Some(&id),
                tokens: &[],
                limit: 1,
            },
            until,
        )?;
        Ok(woken)
    }

    /// Nothing of it stays, where DEL is allowed; else it lapses.
    fn clear(&mut self) {
        let keys = [self.names.info(1), self.names.queue(), self.names.waiters()];
        for key in keys {
            let until = self.soon();
            let _lapses = self.store.command(&[b"DEL", key.as_bytes()], until);
        }
    }

    fn list(&mut self) -> Finding {
        let until = self.soon();
        let pattern = Names::pattern(&self.connection.prefix, "*");
        let command: [&[u8]; 4] = [b"SCAN", b"0", b"MATCH", pattern.as_bytes()];
        match self.store.command(&command, until) {
            Ok(_) => Finding::ok("list", "leases can be listed"),
            Err(trouble) => Finding::warn(
                "list",
                trouble.text,
                "`redlease status` without a key, and completion of keys, do not work; leases do",
                "give +scan to the user",
            ),
        }
    }
}

fn woken(listening: Result<Subscription, Trouble>) -> Finding {
    let check = "wake-ups";
    let slow = "who waits for a lease is not woken, and asks every 2 s instead: it starts later, and others may be \
                faster";
    let heard =
        listening.and_then(|mut channel| channel.wait(Moment::now().after(Duration::from_secs(3))));
    match heard {
        Ok(Some(_)) => Finding::ok(check, "who waits is woken"),
        Ok(None) => Finding::warn(
            check,
            "the message of a release did not arrive",
            slow,
            "give +publish, +subscribe and the channels to the user",
        ),
        Err(trouble) => Finding::warn(
            check,
            trouble.text,
            slow,
            "give +publish, +subscribe and the channels to the user",
        ),
    }
}

fn refused(connection: &Connection, trouble: &Trouble) -> Finding {
    let meaning = "no lease can be acquired, kept or given back: a run does not start its job";
    match trouble.kind {
        Kind::Denied => Finding::fail(
            "rights",
            trouble.text.clone(),
            meaning,
            format!(
                "give the user its rights: {}",
                rights::rule(&connection.prefix, connection.target.is_cluster())
            ),
        ),
        Kind::Config => Finding::fail(
            "lease",
            trouble.text.clone(),
            meaning,
            "a server that runs scripts (EVAL): Redis 6.0 or later, or any Valkey",
        ),
        Kind::Again | Kind::Interrupted => Finding::fail(
            "lease",
            trouble.text.clone(),
            meaning,
            "the server's answer says what keeps it from writing; its log says more",
        ),
    }
}
