//! From a host to a connection that is ready for requests: every address in turn, TLS, AUTH, SELECT.

use std::path::Path;
use std::sync::Arc;

use rustls::ClientConfig;

use super::link::Link;
use super::resolve::resolve;
use super::stream::Stream;
use super::target::{Credentials, Host};
use super::tls::Tls;
use super::trouble::{Kind, Trouble, refusal};
use super::wire::{Bell, Stop, Wire};
use crate::lease::reply::Reply;
use crate::time::Moment;

pub struct Dialer<'a> {
    pub login: &'a Credentials,
    pub db: u32,
    pub bell: &'a Bell,
    pub tls: Option<&'a Arc<ClientConfig>>,
    /// What is at the other end, for people: "Redis" or "sentinel".
    pub what: &'a str,
}

impl Dialer<'_> {
    pub fn unix(&self, path: &Path, until: Moment) -> Result<Link, Trouble> {
        let name = format!("{} at {}", self.what, path.display());
        let wire = Wire::unix(path, until, self.bell).map_err(|stop| unreached(stop, &name))?;
        self.greet(Stream::Unix(wire), name, None, until)
    }

    pub fn tcp(&self, host: &Host, until: Moment) -> Result<Link, Trouble> {
        let name = format!("{} at {host}", self.what);
        let addresses = resolve(host, until, self.bell).map_err(|stop| unreached(stop, &name))?;
        let mut last = Stop::Time;
        for (index, address) in addresses.iter().enumerate() {
            // One that swallows packets must leave time for the others.
            let limit = share(until, addresses.len() - index);
            match Wire::tcp(*address, limit, self.bell) {
                Ok(wire) => {
                    let stream = match self.tls {
                        Some(config) => Stream::Tls(Box::new(Tls::open(
                            wire, config, &host.name, &name, until,
                        )?)),
                        None => Stream::Tcp(wire),
                    };
                    return self.greet(stream, name, Some(host), until);
                }
                Err(Stop::Bell) => return Err(unreached(Stop::Bell, &name)),
                Err(stop) => last = stop,
            }
        }
        Err(unreached(last, &name))
    }

    /// AUTH and SELECT on their own, before anything else: pipelined with a request, that would run as the default
    /// user after a failed AUTH.
    fn greet(
        &self,
        stream: Stream,
        name: String,
        peer: Option<&Host>,
        until: Moment,
    ) -> Result<Link, Trouble> {
        let secrets = self.login.password.iter().cloned().collect();
        let mut link = Link::new(stream, name, peer.cloned(), secrets);
        if let Some(password) = &self.login.password {
            let mut auth = redis::cmd("AUTH");
            if let Some(user) = &self.login.user {
                auth.arg(user);
            }
            auth.arg(password.reveal());
            if let Err(error) = link.round(&auth.get_packed_command(), until)? {
                let mut trouble = refusal(&error, link.name());
                let lower = error.to_ascii_lowercase();
                // Before Redis 6, and when no password is set at all, the code is a mere ERR.
                if trouble.kind == Kind::Again
                    && (lower.contains("password") || lower.contains("auth"))
                {
                    trouble.kind = Kind::Denied;
                }
                return Err(trouble.sent(false));
            }
        }
        if self.db != 0 {
            let mut select = redis::cmd("SELECT");
            select.arg(self.db);
            if let Err(error) = link.round(&select.get_packed_command(), until)? {
                return Err(refusal(&error, link.name()).sent(false));
            }
        }
        Ok(link)
    }
}

/// An error reply to a request of our own that carries nothing of a lease.
pub fn plain_round(link: &mut Link, parts: &[&[u8]], until: Moment) -> Result<Reply, Trouble> {
    let answer = link
        .round(&pack(parts), until)
        .map_err(|trouble| trouble.sent(false))?;
    answer.map_err(|error| refusal(&error, link.name()).sent(false))
}

pub fn pack(parts: &[&[u8]]) -> Vec<u8> {
    let mut command = redis::Cmd::new();
    for part in parts {
        command.arg(*part);
    }
    command.get_packed_command()
}

/// The end of the first of `count` equal shares of what is left.
pub fn share(until: Moment, count: usize) -> Moment {
    let now = Moment::now();
    let count = u32::try_from(count).unwrap_or(u32::MAX).max(1);
    now.after(until.remaining(now) / count)
}

fn unreached(stop: Stop, name: &str) -> Trouble {
    Trouble::stopped(stop, &format!("no connection to {name}"))
}
