//! Where a reply ends, found before anything of it is built: a hostile or broken server costs at most the bytes
//! that it really sends, up to a cap, whatever lengths it announces.

use crate::lease::reply::Reply;

/// The longest reply that is read. The largest honest ones, of SCAN and INFO, have some tens of kilobytes.
pub const LONGEST_REPLY: usize = 1 << 20;
/// Values in one reply: each costs about 100 bytes when it is built.
const MOST_VALUES: usize = 1 << 16;
const DEEPEST: usize = 16;
const LONGEST_LINE: usize = 1 << 16;

/// It is no reply of a Redis server, or one that is too large: what is wrong with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotAReply(pub &'static str);

/// How far the look at a growing buffer has come.
#[derive(Debug, Default)]
pub struct Frame {
    at: usize,
    /// What each open array still lacks.
    open: Vec<usize>,
    values: usize,
}

impl Frame {
    /// The length of the reply that `bytes` begin with, once it is whole. Call again with more bytes appended.
    pub fn end(&mut self, bytes: &[u8]) -> Result<Option<usize>, NotAReply> {
        loop {
            let rest = bytes.get(self.at..).unwrap_or_default();
            let Some(kind) = rest.first() else {
                return Ok(None);
            };
            if !b"+-:$*".contains(kind) {
                return Err(NotAReply("it does not speak Redis"));
            }
            let Some(line) = line(rest)? else {
                return Ok(None);
            };
            let body = line.get(1..).unwrap_or_default();
            let mut length = line.len() + 2;
            let mut opened = 0;
            match kind {
                b':' => drop(number(body)?),
                b'$' => {
                    if let Some(size) = size(body, LONGEST_REPLY)? {
                        let tail = rest.get(length + size..length + size + 2);
                        match tail {
                            None => return Ok(None),
                            Some(b"\r\n") => length += size + 2,
                            Some(_) => return Err(NotAReply("a string is longer than it said")),
                        }
                    }
                }
                b'*' => opened = size(body, MOST_VALUES)?.unwrap_or(0),
                _ => {}
            }
            self.at += length;
            self.values += 1;
            if self.values > MOST_VALUES {
                return Err(NotAReply("its answer has too many values"));
            }
            if opened > 0 {
                if self.open.len() >= DEEPEST {
                    return Err(NotAReply("its answer is nested too deeply"));
                }
                self.open.push(opened);
                continue;
            }
            while let Some(lacking) = self.open.last_mut() {
                *lacking -= 1;
                if *lacking > 0 {
                    break;
                }
                self.open.pop();
            }
            if self.open.is_empty() {
                return Ok(Some(self.at));
            }
        }
    }
}

/// The first line without its end, or None while the end is missing.
fn line(bytes: &[u8]) -> Result<Option<&[u8]>, NotAReply> {
    let end = bytes
        .iter()
        .take(LONGEST_LINE)
        .position(|byte| *byte == b'\n');
    match end {
        Some(end) if end > 0 && bytes[end - 1] == b'\r' => Ok(Some(&bytes[..end - 1])),
        Some(_) => Err(NotAReply("a line of its answer ends wrongly")),
        None if bytes.len() >= LONGEST_LINE => Err(NotAReply("a line of its answer never ends")),
        None => Ok(None),
    }
}

fn number(text: &[u8]) -> Result<i64, NotAReply> {
    std::str::from_utf8(text)
        .ok()
        .and_then(|text| text.parse().ok())
        .ok_or(NotAReply("its answer contains a broken number"))
}

/// A length: None for the -1 of nil.
fn size(text: &[u8], most: usize) -> Result<Option<usize>, NotAReply> {
    match number(text)? {
        -1 => Ok(None),
        length => usize::try_from(length)
            .ok()
            .filter(|length| *length <= most)
            .map(Some)
            .ok_or(NotAReply("its answer is too long")),
    }
}

/// The reply that `bytes` are, exactly, as `Frame` has found. An error at the top is told apart by `Err`: its text.
pub fn read(bytes: &[u8]) -> Result<Result<Reply, String>, NotAReply> {
    if let Some(error) = bytes.strip_prefix(b"-") {
        return Ok(Err(String::from_utf8_lossy(error).trim_end().to_owned()));
    }
    let mut rest = bytes;
    value(&mut rest).map(Ok)
}

/// One value, which `rest` begins with. Written by hand because a list of leases has millions of them, and `Frame`
/// has found them well-formed and not too deep.
fn value(rest: &mut &[u8]) -> Result<Reply, NotAReply> {
    const CUT: NotAReply = NotAReply("its answer cannot be understood");
    let line = line(rest)?.ok_or(CUT)?;
    let (kind, body) = line.split_first().ok_or(CUT)?;
    *rest = rest.get(line.len() + 2..).ok_or(CUT)?;
    Ok(match kind {
        b':' => Reply::Int(number(body)?),
        b'+' => Reply::Bytes(body.to_vec()),
        b'-' => Reply::Error(String::from_utf8_lossy(body).into_owned()),
        b'$' => match size(body, LONGEST_REPLY)? {
            None => Reply::Nil,
            Some(length) => {
                let bytes = rest.get(..length).ok_or(CUT)?;
                *rest = rest.get(length + 2..).ok_or(CUT)?;
                Reply::Bytes(bytes.to_vec())
            }
        },
        b'*' => match size(body, MOST_VALUES)? {
            None => Reply::Nil,
            Some(count) => {
                let items: Result<Vec<Reply>, NotAReply> =
                    (0..count).map(|_| value(rest)).collect();
                Reply::Array(items?)
            }
        },
        // The other kinds belong to RESP3, which is never asked for.
        _ => return Err(CUT),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(bytes: &[u8]) -> Result<Option<usize>, NotAReply> {
        Frame::default().end(bytes)
    }

    #[test]
    fn the_end_of_a_reply_is_found_at_every_split() {
        let bytes = b"*4\r\n$2\r\na\n\r\n:7\r\n*2\r\n$-1\r\n+OK\r\n*0\r\n+next";
        let end = bytes.len() - 5;
        for split in 0..end {
            let mut frame = Frame::default();
            assert_eq!(frame.end(&bytes[..split]), Ok(None), "{split}");
            assert_eq!(frame.end(bytes), Ok(Some(end)), "{split}");
        }
        let reply = read(&bytes[..end]).unwrap().unwrap();
        assert_eq!(
            reply,
            Reply::Array(vec![
                Reply::Bytes(b"a\n".to_vec()),
                Reply::Int(7),
                Reply::Array(vec![Reply::Nil, Reply::Bytes(b"OK".to_vec())]),
                Reply::Array(vec![]),
            ])
        );
    }

    #[test]
    fn what_is_no_reply_is_refused_at_once() {
        for bytes in [
            &b"HTTP/1.1 400 Bad Request\r\n"[..],
            b"\x15\x03\x03\x00\x02",
            b"$99999999999999999999\r\n",
            b"$1048577\r\n",
            b"$-2\r\n",
            b"*1000000000\r\n",
            b":\r\n",
            b":1x\r\n",
            b"$1\r\nab\r\n",
            b"+OK\n",
            b"%1\r\n",
        ] {
            assert!(
                whole(bytes).is_err(),
                "{:?}",
                String::from_utf8_lossy(bytes)
            );
        }
        assert!(whole(&b"*1\r\n".repeat(17)).is_err());
        assert!(whole(&[b'+'; LONGEST_LINE]).is_err());
        let many = [&b"*65536\r\n"[..], &b"*1\r\n:1\r\n".repeat(40_000)].concat();
        assert!(whole(&many).is_err());
    }

    #[test]
    fn an_error_keeps_its_words() {
        let text = "READONLY You can't write against a read only replica.";
        assert_eq!(
            read(format!("-{text}\r\n").as_bytes()),
            Ok(Err(text.to_owned()))
        );
        assert_eq!(
            read(b"*1\r\n-WRONGTYPE no\r\n"),
            Ok(Ok(Reply::Array(vec![Reply::Error("WRONGTYPE no".into())])))
        );
    }
}
