//! What redlease and its guard say to each other, as bytes. Both are the same program in the same version, so
//! that a message that cannot be read means that the other process is broken: it counts as its end.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use crate::sys::process::End;
use crate::sys::tree::{Member, Survivor};

/// To the guard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Order {
    /// Start the job, with these additions to its environment.
    Start(Vec<(OsString, OsString)>),
    /// The lease is lost: stop the job as the policy says.
    Stop,
    /// A signal that the job has not got yet.
    Forward(i32),
}

/// From the guard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Report {
    /// The stop moment had passed: nothing was started.
    TooLate,
    /// No process could be made, by this errno.
    NotStarted(i32),
    /// The program could not be executed, by this errno.
    NotExecuted(i32),
    /// The job itself ended; descendants may live.
    Ended(End),
    /// The stop moment has passed: the job is told to end.
    Stopping,
    /// `--max-run` is over: the job is told to end.
    MaxRun,
    /// The kill moment has passed, and the word says so.
    Expired,
    /// The job ended and left these, which are told to end.
    Leftovers(Vec<Member>),
    /// These cannot be killed; the guard goes on trying.
    Unkillable(Vec<Survivor>),
    /// No descendant is left, or the job's are left alone on purpose.
    Empty,
}

struct Writer(Vec<u8>);

impl Writer {
    fn new(tag: u8) -> Writer {
        Writer(vec![tag])
    }

    fn number(mut self, number: u32) -> Writer {
        self.0.extend(number.to_le_bytes());
        self
    }

    fn bytes(self, bytes: &[u8]) -> Writer {
        let mut out = self.number(u32::try_from(bytes.len()).unwrap_or(u32::MAX));
        out.0.extend(bytes);
        out
    }
}

struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn number(&mut self) -> Option<u32> {
        let (number, rest) = self.0.split_first_chunk::<4>()?;
        self.0 = rest;
        Some(u32::from_le_bytes(*number))
    }

    fn signed(&mut self) -> Option<i32> {
        self.number().map(u32::cast_signed)
    }

    fn bytes(&mut self) -> Option<Vec<u8>> {
        let length = usize::try_from(self.number()?).ok()?;
        let (bytes, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(bytes.to_vec())
    }

    fn all<T>(&mut self, mut item: impl FnMut(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let mut items = Vec::new();
        while !self.0.is_empty() {
            items.push(item(self)?);
        }
        Some(items)
    }
}

impl Order {
    pub fn encode(&self) -> Vec<u8> {
        match self {
            Order::Start(additions) => {
                additions
                    .iter()
                    .fold(Writer::new(b's'), |out, (name, value)| {
                        out.bytes(name.as_bytes()).bytes(value.as_bytes())
                    })
                    .0
            }
            Order::Stop => Writer::new(b'x').0,
            Order::Forward(number) => Writer::new(b'f').number(number.cast_unsigned()).0,
        }
    }

    pub fn decode(message: &[u8]) -> Option<Order> {
        let (tag, rest) = message.split_first()?;
        let mut rest = Reader(rest);
        match tag {
            b's' => {
                let pair = |r: &mut Reader<'_>| {
                    let name = OsString::from_vec(r.bytes()?);
                    Some((name, OsString::from_vec(r.bytes()?)))
                };
                rest.all(pair).map(Order::Start)
            }
            b'x' => Some(Order::Stop),
            b'f' => rest.signed().map(Order::Forward),
            _ => None,
        }
    }
}

impl Report {
    pub fn encode(&self) -> Vec<u8> {
        match self {
            Report::TooLate => Writer::new(b'l').0,
            Report::NotStarted(errno) => Writer::new(b'n').number(errno.cast_unsigned()).0,
            Report::NotExecuted(errno) => Writer::new(b'e').number(errno.cast_unsigned()).0,
            Report::Ended(End::Code(code)) => Writer::new(b'c').number(u32::from(*code)).0,
            Report::Ended(End::Signal(number)) => {
                Writer::new(b'g').number(number.cast_unsigned()).0
            }
            Report::Stopping => Writer::new(b't').0,
            Report::MaxRun => Writer::new(b'm').0,
            Report::Expired => Writer::new(b'x').0,
            Report::Leftovers(members) => {
                members
                    .iter()
                    .fold(Writer::new(b'o'), |out, member| {
                        out.number(member.pid.cast_unsigned())
                            .bytes(member.name.as_bytes())
                    })
                    .0
            }
            Report::Unkillable(survivors) => {
                survivors
                    .iter()
                    .fold(Writer::new(b'u'), |out, survivor| {
                        out.number(survivor.pid.cast_unsigned())
                            .number(survivor.uid)
                    })
                    .0
            }
            Report::Empty => Writer::new(b'0').0,
        }
    }

    pub fn decode(message: &[u8]) -> Option<Report> {
        let (tag, rest) = message.split_first()?;
        let mut rest = Reader(rest);
        Some(match tag {
            b'l' => Report::TooLate,
            b'n' => Report::NotStarted(rest.signed()?),
            b'e' => Report::NotExecuted(rest.signed()?),
            b'c' => Report::Ended(End::Code(u8::try_from(rest.number()?).ok()?)),
            b'g' => Report::Ended(End::Signal(rest.signed()?)),
            b't' => Report::Stopping,
            b'm' => Report::MaxRun,
            b'x' => Report::Expired,
            b'o' => Report::Leftovers(rest.all(|r| {
                Some(Member {
                    pid: r.signed()?,
                    name: String::from_utf8_lossy(&r.bytes()?).into_owned(),
                })
            })?),
            b'u' => Report::Unkillable(rest.all(|r| {
                Some(Survivor {
                    pid: r.signed()?,
                    uid: r.number()?,
                })
            })?),
            b'0' => Report::Empty,
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_arrive_as_they_were_sent() {
        let odd = OsString::from_vec(vec![0xff, b'=', b'\n']);
        let orders = [
            Order::Start(vec![]),
            Order::Start(vec![("A".into(), odd), ("B".into(), "".into())]),
            Order::Stop,
            Order::Forward(64),
        ];
        for order in orders {
            assert_eq!(Order::decode(&order.encode()), Some(order));
        }
    }

    #[test]
    fn reports_arrive_as_they_were_sent() {
        let member = |pid, name: &str| Member {
            pid,
            name: name.to_owned(),
        };
        let reports = [
            Report::TooLate,
            Report::NotStarted(11),
            Report::NotExecuted(2),
            Report::Ended(End::Code(255)),
            Report::Ended(End::Signal(9)),
            Report::Stopping,
            Report::MaxRun,
            Report::Expired,
            Report::Leftovers(vec![member(1, "sleep"), member(70_000, "a b")]),
            Report::Unkillable(vec![Survivor { pid: 9, uid: 0 }]),
            Report::Empty,
        ];
        for report in reports {
            assert_eq!(Report::decode(&report.encode()), Some(report));
        }
    }

    #[test]
    fn what_cannot_be_read_is_nothing() {
        assert_eq!(Order::decode(b""), None);
        assert_eq!(Order::decode(b"f\x01"), None);
        assert_eq!(Order::decode(b"s\xff\xff\xff\xffA"), None);
        assert_eq!(Report::decode(b"?"), None);
        assert_eq!(Report::decode(b"c\x00\x01\x00\x00"), None);
    }
}
