//! Which server to talk to: the one of the URL, the primary that sentinels name, or the node of a cluster that has
//! the slot.

use super::Store;
use super::dial::{Dialer, plain_round, share};
use super::link::{Answer, Link};
use super::target::{Host, Shape};
use super::trouble::{Kind, Trouble, shown};
use crate::lease::reply::Reply;
use crate::time::Moment;

impl Store {
    /// A connection to a server that can be written to, as far as can be known before it is asked.
    pub(super) fn dial(&self, until: Moment) -> Result<Link, Trouble> {
        match &self.target.shape {
            Shape::One(host) => self.dialer()?.tcp(host, until),
            Shape::Unix(path) => self.dialer()?.unix(path, until),
            Shape::Sentinel(hosts, name) => self.by_sentinel(hosts, name, until),
            Shape::Cluster(seeds) => self.by_seed(seeds, until),
        }
    }

    pub(super) fn dialer(&self) -> Result<Dialer<'_>, Trouble> {
        Ok(Dialer {
            login: &self.target.login,
            db: self.target.db,
            bell: &self.bell,
            tls: self.tls()?,
            what: "Redis",
        })
    }

    fn by_sentinel(&self, hosts: &[Host], name: &str, until: Moment) -> Result<Link, Trouble> {
        let sentinels = Dialer {
            login: &self.target.sentinel,
            db: 0,
            what: "the sentinel",
            ..self.dialer()?
        };
        let primary = self.first(hosts, share_but_one(until, hosts.len()), |host, until| {
            let mut link = sentinels.tcp(host, until)?;
            named_primary(&mut link, name, until)
        });
        // One that was started anew may know nothing yet, so that only all of them are believed.
        let primary = match primary {
            Err(mut troubles) if troubles.iter().all(|trouble| trouble.kind == Kind::Config) => {
                return Err(last(&mut troubles));
            }
            Err(mut troubles) => {
                let trouble = last(&mut troubles);
                let kind = match trouble.kind {
                    Kind::Config => Kind::Again,
                    kind => kind,
                };
                return Err(Trouble { kind, ..trouble });
            }
            Ok(primary) => primary,
        };
        let mut link = self.dialer()?.tcp(&primary, until)?;
        match plain_round(&mut link, &[b"ROLE"], until) {
            Ok(reply) if is_primary(&reply) => Ok(link),
            Ok(_) => Err(Trouble::again(format!(
                "{} is named by the sentinels and is not the primary",
                link.name()
            ))),
            // The user may not ask for it; then the first write tells.
            Err(trouble) if trouble.kind == Kind::Denied => Ok(link),
            Err(trouble) => Err(trouble),
        }
    }

    fn by_seed(&self, seeds: &[Host], until: Moment) -> Result<Link, Trouble> {
        let dialer = self.dialer()?;
        if let Some(home) = &self.home {
            let limit = if self.pinned { until } else { share(until, 2) };
            match dialer.tcp(home, limit) {
                Err(trouble) if trouble.kind == Kind::Again && !self.pinned => {}
                other => return other,
            }
        }
        self.first(seeds, until, |seed, until| dialer.tcp(seed, until))
            .map_err(|mut troubles| last(&mut troubles))
    }

    /// The first host for which `ask` succeeds, each within its share of the time. After a failure another one is
    /// begun with: a host that accepts and is silent must not be the first for ever.
    fn first<T>(
        &self,
        hosts: &[Host],
        until: Moment,
        ask: impl Fn(&Host, Moment) -> Result<T, Trouble>,
    ) -> Result<T, Vec<Trouble>> {
        let mut troubles = Vec::new();
        let turn = self.turn % hosts.len().max(1);
        let order = hosts.iter().cycle().skip(turn).take(hosts.len());
        for (index, host) in order.enumerate() {
            match ask(host, share(until, hosts.len() - index)) {
                Ok(found) => return Ok(found),
                Err(trouble) => {
                    let ends = matches!(trouble.kind, Kind::Interrupted | Kind::Denied);
                    troubles.push(trouble);
                    if ends {
                        break;
                    }
                }
            }
        }
        Err(troubles)
    }

    /// Sends a request where a node of a cluster has sent us. None: it was the new home, and is connected to now.
    pub(super) fn follow(
        &mut self,
        to: &Redirect,
        request: &[u8],
        until: Moment,
    ) -> Result<Option<Answer>, Trouble> {
        let dialed = self.dialer()?.tcp(&to.host, until);
        let mut link = match dialed {
            Ok(link) => link,
            Err(trouble) => {
                // The cluster may not know yet that the node is dead: the seeds are asked again.
                self.home = None;
                self.part();
                return Err(trouble);
            }
        };
        self.attempts += 1;
        if !to.ask && !self.pinned {
            self.home = Some(to.host.clone());
            self.link = Some(link);
            return Ok(None);
        }
        if to.ask {
            plain_round(&mut link, &[b"ASKING"], until)?;
        }
        match link.round(request, until) {
            Ok(answer) => Ok(Some(answer)),
            Err(trouble) => {
                self.part();
                self.abandoned = Some(link);
                Err(trouble)
            }
        }
    }

    /// A store for each server that holds a part of the keys: for `command`s that see one server only, as SCAN.
    /// The connection of this one goes to the first of them.
    pub fn primaries(&mut self, until: Moment) -> Result<Vec<Store>, Trouble> {
        self.connect(until)?;
        if !self.target.is_cluster() {
            return Ok(vec![Store {
                link: self.link.take(),
                attempts: 1,
                ..self.fresh()
            }]);
        }
        let reply = self.command(&[b"CLUSTER", b"SLOTS"], until)?;
        let from = self.link.as_ref().and_then(|link| link.peer().cloned());
        let mut hosts = slots(&reply, from.as_ref());
        hosts.sort();
        hosts.dedup();
        if hosts.is_empty() {
            let text = format!("{} names no node with slots", self.server());
            return Err(Trouble::again(text));
        }
        let store = |host| Store {
            home: Some(host),
            pinned: true,
            ..self.fresh()
        };
        Ok(hosts.into_iter().map(store).collect())
    }

    fn fresh(&self) -> Store {
        Store {
            bell: self.bell.clone(),
            tls: self.tls.clone(),
            ..Store::new(self.target.clone())
        }
    }
}

fn last(troubles: &mut Vec<Trouble>) -> Trouble {
    troubles
        .pop()
        .unwrap_or_else(|| Trouble::again("no host is known".to_owned()))
}

/// All but one of `count + 1` shares: what comes after the hosts needs its time too.
fn share_but_one(until: Moment, count: usize) -> Moment {
    let now = Moment::now();
    let one = share(until, count + 1).remaining(now);
    until.before(one)
}

fn named_primary(link: &mut Link, name: &str, until: Moment) -> Result<Host, Trouble> {
    let ask: [&[u8]; 3] = [b"SENTINEL", b"GET-MASTER-ADDR-BY-NAME", name.as_bytes()];
    let reply = plain_round(link, &ask, until)?;
    if reply.is_nil() {
        return Err(Trouble::new(
            Kind::Config,
            format!("{} knows no primary named {}", link.name(), shown(name)),
        ));
    }
    let host = match reply.array() {
        Ok([host, port]) => address(host, port, None),
        _ => None,
    };
    host.ok_or_else(|| Trouble::again(format!("{} names no address", link.name())))
}

fn is_primary(role: &Reply) -> bool {
    matches!(role.array(), Ok([Reply::Bytes(word), ..]) if word == b"master")
}

/// A host and a port of a reply; an empty host, or `?`, is the one that said it.
fn address(host: &Reply, port: &Reply, from: Option<&Host>) -> Option<Host> {
    let port = u16::try_from(port.int().ok()?)
        .ok()
        .filter(|port| *port > 0)?;
    let name = host.text().unwrap_or_default();
    let name = match name.as_str() {
        "" | "?" => from?.name.clone(),
        _ => name,
    };
    Some(Host { name, port })
}

/// The primaries in a reply to CLUSTER SLOTS: from, to, the primary, its replicas.
fn slots(reply: &Reply, from: Option<&Host>) -> Vec<Host> {
    let ranges = reply.array().unwrap_or_default();
    ranges
        .iter()
        .filter_map(|range| match range.array() {
            Ok([_, _, primary, ..]) => match primary.array() {
                Ok([host, port, ..]) => address(host, port, from),
                _ => None,
            },
            _ => None,
        })
        .collect()
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Redirect {
    ask: bool,
    host: Host,
}

/// `MOVED slot host:port` or `ASK slot host:port`.
pub(super) fn redirect(error: &str, from: Option<&Host>) -> Option<Redirect> {
    let mut words = error.split(' ');
    let ask = match words.next()? {
        "MOVED" => false,
        "ASK" => true,
        _ => return None,
    };
    let (name, port) = words.nth(1)?.rsplit_once(':')?;
    let bytes = |text: &str| Reply::Bytes(text.as_bytes().to_vec());
    let host = address(&bytes(name), &bytes(port), from)?;
    Some(Redirect { ask, host })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(name: &str, port: u16) -> Host {
        Host {
            name: name.to_owned(),
            port,
        }
    }

    #[test]
    fn a_redirect_names_its_node() {
        let from = host("h", 1);
        for (error, ask, to) in [
            ("MOVED 3999 127.0.0.1:6381", false, host("127.0.0.1", 6381)),
            ("ASK 3999 n.example:6381", true, host("n.example", 6381)),
            ("MOVED 3999 ::1:6381", false, host("::1", 6381)),
            ("MOVED 3999 :6381", false, host("h", 6381)),
            ("MOVED 3999 ?:6381", false, host("h", 6381)),
        ] {
            let redirect = redirect(error, Some(&from));
            assert_eq!(redirect, Some(Redirect { ask, host: to }), "{error}");
        }
        for error in [
            "MOVED",
            "MOVED 1",
            "MOVED 1 h",
            "MOVED 1 h:0",
            "MOVED 1 h:x",
            "ERR x",
        ] {
            assert_eq!(redirect(error, Some(&from)), None, "{error}");
        }
        assert_eq!(redirect("MOVED 3999 :6381", None), None);
    }
}
