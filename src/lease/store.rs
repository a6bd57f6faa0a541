//! The connection to Redis: bounded by our own clock, in doubt about nothing but the last request.
//!
//! Only this module and its parts know the library that packs requests and reads replies. Its own connections are
//! not used: their limits are per read(2), DNS has none, a signal breaks them, and nothing else can end a wait.

mod batch;
mod dial;
mod frame;
#[cfg(test)]
mod fuzz;
mod link;
mod resolve;
mod route;
mod scan;
mod stream;
mod subscription;
pub mod target;
mod tls;
pub mod trouble;
mod url;
mod wire;

use std::cell::OnceCell;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use rustls::ClientConfig;

pub use batch::Batch;
pub use scan::Progress;
pub use subscription::Subscription;
pub use target::Target;
pub use trouble::{Kind, Trouble};

use crate::lease::reply::{Reply, Script};
use crate::time::Moment;
use dial::pack;
use link::Link;
use target::Host;
use wire::Bell;

/// At most one connection to the server that can be written to, made when it is needed.
#[derive(Debug)]
pub struct Store {
    target: Target,
    bell: Bell,
    /// Made at the first connection, and only for TLS.
    tls: OnceCell<Arc<ClientConfig>>,
    link: Option<Link>,
    /// A connection whose last request has no reply: only good for `write_behind`.
    abandoned: Option<Link>,
    attempts: u64,
    /// How often a connection came to nothing: with which host to begin next.
    turn: usize,
    /// The node of a cluster that had the slot last.
    home: Option<Host>,
    /// Only `home` is talked to.
    pinned: bool,
}

impl Store {
    pub fn new(target: Target) -> Store {
        Store {
            target,
            bell: None,
            tls: OnceCell::new(),
            link: None,
            abandoned: None,
            attempts: 0,
            turn: 0,
            home: None,
            pinned: false,
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
        if self.link.as_mut().is_some_and(Link::hung_up) {
            self.hang_up();
        }
        if self.link.is_none() {
            self.abandoned = None;
            match self.dial(until) {
                Ok(link) => self.link = Some(link),
                Err(mut trouble) => {
                    self.part();
                    if self.target.assumed {
                        trouble.text.push_str(
                            " (the default: --url, REDLEASE_URL or REDIS_URL names another)",
                        );
                    }
                    return Err(trouble);
                }
            }
            self.attempts += 1;
        }
        Ok(())
    }

    /// The connection is of no use any more, and the next one begins with another host.
    fn part(&mut self) {
        self.hang_up();
        self.turn = self.turn.wrapping_add(1);
    }

    fn tls(&self) -> Result<Option<&Arc<ClientConfig>>, Trouble> {
        if self.target.tls && self.tls.get().is_none() {
            let config = tls::trust::config(&self.target.options)?;
            return Ok(Some(self.tls.get_or_init(|| config)));
        }
        Ok(self.tls.get())
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
        // A cluster that moves its slots may send us on more than once; more often than this is a circle.
        for _ in 0..5 {
            self.connect(until)?;
            let Some(link) = self.link.as_mut() else {
                break;
            };
            let error = match link.round(request, until) {
                Ok(Ok(reply)) => return Ok(reply),
                Ok(Err(error)) => error,
                Err(trouble) => {
                    // Its reply may still come, so that nothing can be asked on it any more.
                    let link = self.link.take();
                    self.part();
                    self.abandoned = link;
                    return Err(trouble);
                }
            };
            let redirect = route::redirect(&error, link.peer());
            let name = link.name().to_owned();
            match redirect {
                Some(to) if self.target.is_cluster() => match self.follow(&to, request, until)? {
                    None => {}
                    Some(Ok(reply)) => return Ok(reply),
                    Some(Err(error)) => return Err(self.refused(&error, &name)),
                },
                _ => return Err(self.refused(&error, &name)),
            }
        }
        self.part();
        let text = "the nodes of the cluster send us in a circle".to_owned();
        Err(Trouble::again(text))
    }

    fn refused(&mut self, error: &str, server: &str) -> Trouble {
        let trouble = trouble::refusal(error, server);
        // The next attempt resolves again: READONLY means that the primary is elsewhere by now.
        if trouble.kind == Kind::Again {
            self.part();
        }
        trouble
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

    fn server(&self) -> String {
        self.link
            .as_ref()
            .map_or_else(|| self.target.describe(), |link| link.name().to_owned())
    }
}

fn eval<S: Script>(script: &S) -> Vec<u8> {
    let (source, keys, args) = (script.source(), script.keys(), script.args());
    #[cfg(feature = "mutate")]
    let source = crate::mutate::script(source);
    // A source that outgrows one buffer after the other costs more than the rest of the request.
    let size = source.len() + 64 * (keys.len() + args.len());
    let mut command = redis::Cmd::with_capacity(3 + keys.len() + args.len(), size);
    command.arg("EVAL").arg(source).arg(keys.len()).arg(keys);
    for arg in args {
        command.arg(arg);
    }
    command.get_packed_command()
}

#[cfg(test)]
mod tests;
