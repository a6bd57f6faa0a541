//! Listening to one channel, on a connection of its own: in RESP2 a connection that listens cannot ask.

use super::dial::plain_round;
use super::link::Link;
use super::trouble::{Kind, Trouble};
use crate::lease::reply::Reply;
use crate::time::Moment;

#[derive(Debug)]
pub struct Subscription {
    link: Link,
}

impl Subscription {
    pub(super) fn open(
        mut link: Link,
        channel: &str,
        until: Moment,
    ) -> Result<Subscription, Trouble> {
        let reply = plain_round(&mut link, &[b"SUBSCRIBE", channel.as_bytes()], until)?;
        if kind(&reply) != Some(b"subscribe") {
            let text = format!("{} does not let anybody subscribe", link.name());
            return Err(Trouble::new(Kind::Config, text));
        }
        Ok(Subscription { link })
    }

    /// The next message; None when the time has passed without one, after which it listens on.
    pub fn wait(&mut self, until: Moment) -> Result<Option<Vec<u8>>, Trouble> {
        loop {
            match self.link.next(until)? {
                None => return Ok(None),
                Some(Err(error)) => {
                    return Err(super::trouble::refusal(&error, self.link.name()));
                }
                Some(Ok(reply)) => {
                    if kind(&reply) == Some(b"message")
                        && let Ok([_, _, Reply::Bytes(payload)]) = reply.array()
                    {
                        return Ok(Some(payload.clone()));
                    }
                }
            }
        }
    }
}

fn kind(reply: &Reply) -> Option<&[u8]> {
    match reply.array() {
        Ok([Reply::Bytes(kind), ..]) => Some(kind),
        _ => None,
    }
}
