//! The connection to Redis: bounded by our own clock, in doubt about nothing but the last request.
//!
//! Only this module and its parts know the library that packs requests and reads replies. Its own connections are
//! not used: their limits are per read(2), DNS has none, a signal breaks them, and nothing else can end a wait.

mod dial;
mod frame;
mod link;
mod resolve;
mod stream;
mod subscription;
pub mod target;
pub mod trouble;
mod url;
mod wire;

use std::os::fd::OwnedFd;
use std::sync::Arc;

pub use subscription::Subscription;
pub use target::{BadUrl, Secret, Target, TlsOptions};
pub use trouble::{Kind, Trouble};

use crate::lease::reply::{Reply, Script};
use crate::time::Moment;
use dial::{Dialer, pack};
use link::Link;
use target::Shape;
use wire::Bell;

/// At most one connection to the server that can be written to, made when it is needed.
#[derive(Debug)]
pub struct Store {
    target: Target,
    bell: Bell,
    link: Option<Link>,
    /// A connection whose last request has no reply: only good for `write_behind`.
    abandoned: Option<Link>,
    attempts: u64,
}

impl Store {
    pub fn new(target: Target) -> Store {
        Store {
            target,
            bell: None,
            link: None,
            abandoned: None,
            attempts: 0,
        }
    }

    /// From now on a wait ends with `Kind::Interrupted` as soon as `fd` is readable; it is not read here. The
    /// connection is dropped then, since the reply would come later.
    pub fn set_interrupt(&mut self, fd: OwnedFd) {
        self.hang_up();
        self.bell = Some(Arc::new(fd));
    }

    pub fn target(&self) -> &Target {
        &self.target
    }

    /// How many connections there have been: it grows with each new one.
    pub fn attempt(&self) -> u64 {
        self.attempts
    }

    pub fn is_connected(&self) -> bool {
        self.link.is_some()
    }

    /// Connects, unless it is connected, by way of every address of the server, with AUTH and SELECT.
    pub fn connect(&mut self, until: Moment) -> Result<(), Trouble> {
        if self.link.is_none() {
            self.abandoned = None;
            self.link = Some(self.dial(until)?);
            self.attempts += 1;
        }
        Ok(())
    }

    fn dial(&self, until: Moment) -> Result<Link, Trouble> {
        let dialer = Dialer {
            login: &self.target.login,
            db: self.target.db,
            bell: &self.bell,
            what: "Redis",
        };
        match &self.target.shape {
            Shape::One(host) => dialer.tcp(host, until),
            Shape::Unix(path) => dialer.unix(path, until),
            Shape::Sentinel(..) | Shape::Cluster(_) => Err(Trouble::new(
                Kind::Config,
                format!("{} is not supported yet", self.target.describe()),
            )),
        }
    }

    /// Runs a script: one request, one reply. Connects when needed.
    ///
    /// # Errors
    /// `sent` tells whether the script may have been executed although there is no answer.
    pub fn ask<S: Script>(&mut self, script: &S, until: Moment) -> Result<S::Answer, Trouble> {
        let reply = self.exchange(&eval(script), until)?;
        script.decode(&reply).map_err(|garbled| {
            let server = self.server();
            self.hang_up();
            Trouble::again(format!(
                "{server} gave an answer without sense: {} was expected",
                garbled.0
            ))
            .sent(true)
        })
    }

    /// Runs a command that is no script.
    pub fn command(&mut self, parts: &[&[u8]], until: Moment) -> Result<Reply, Trouble> {
        self.exchange(&pack(parts), until)
    }

    fn exchange(&mut self, request: &[u8], until: Moment) -> Result<Reply, Trouble> {
        self.connect(until)?;
        let Some(link) = self.link.as_mut() else {
            return Err(Trouble::again("no connection".to_owned()));
        };
        match link.round(request, until) {
            Ok(Ok(reply)) => Ok(reply),
            Ok(Err(error)) => {
                let trouble = trouble::refusal(&error, link.name());
                // The next attempt resolves again: READONLY means that the primary is elsewhere by now.
                if trouble.kind == Kind::Again {
                    self.hang_up();
                }
                Err(trouble)
            }
            Err(trouble) => {
                // Its reply may still come, so that nothing can be asked on it any more.
                self.abandoned = self.link.take();
                Err(trouble)
            }
        }
    }

    /// Writes a request behind the one whose reply did not come, without waiting for anything, and closes that
    /// connection: so a grant that is still under way is followed by its release. Best effort.
    pub fn write_behind<S: Script>(&mut self, script: &S) {
        let request = eval(script);
        for link in [self.abandoned.take(), self.link.take()]
            .into_iter()
            .flatten()
        {
            link.write_behind(&request);
        }
    }

    pub fn hang_up(&mut self) {
        self.link = None;
        self.abandoned = None;
    }

    /// Listens to a channel on a connection of its own.
    ///
    /// # Errors
    /// `Denied` or `Config` where the server lets nobody listen: then heartbeats have to do.
    pub fn subscribe(&self, channel: &str, until: Moment) -> Result<Subscription, Trouble> {
        Subscription::open(self.dial(until)?, channel, until)
    }

    /// A store for each server that holds a part of the keys: for `command`s that see one server only, as SCAN.
    pub fn primaries(&mut self, until: Moment) -> Result<Vec<Store>, Trouble> {
        self.connect(until)?;
        Ok(vec![Store {
            target: self.target.clone(),
            bell: self.bell.clone(),
            link: self.link.take(),
            abandoned: None,
            attempts: 1,
        }])
    }

    fn server(&self) -> String {
        self.link
            .as_ref()
            .map_or_else(|| self.target.describe(), |link| link.name().to_owned())
    }
}

fn eval<S: Script>(script: &S) -> Vec<u8> {
    let keys = script.keys();
    let mut command = redis::cmd("EVAL");
    command.arg(script.source()).arg(keys.len()).arg(keys);
    for arg in script.args() {
        command.arg(arg);
    }
    command.get_packed_command()
}

#[cfg(test)]
mod tests;
