//! The smallest client of a Redis server, so that a test sees the bytes that the server sends and not what a
//! library makes of them.

use std::fmt;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

#[derive(Clone, PartialEq, Eq)]
pub enum Value {
    Nil,
    Int(i64),
    Text(Vec<u8>),
    Array(Vec<Value>),
    Error(String),
}

impl fmt::Debug for Value {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Nil => out.write_str("nil"),
            Value::Int(n) => write!(out, "{n}"),
            Value::Text(text) => write!(out, "{:?}", String::from_utf8_lossy(text)),
            Value::Array(items) => out.debug_list().entries(items).finish(),
            Value::Error(text) => write!(out, "error {text:?}"),
        }
    }
}

impl Value {
    /// A string, or a number as text; empty for nil. Anything else fails the test.
    pub fn text(&self) -> String {
        match self {
            Value::Nil => String::new(),
            Value::Int(n) => n.to_string(),
            Value::Text(text) => String::from_utf8_lossy(text).into_owned(),
            other => panic!("not a string: {other:?}"),
        }
    }

    pub fn int(&self) -> i64 {
        match self {
            Value::Int(n) => *n,
            Value::Text(text) => String::from_utf8_lossy(text)
                .parse()
                .unwrap_or_else(|_| panic!("not a number: {self:?}")),
            other => panic!("not a number: {other:?}"),
        }
    }

    pub fn array(&self) -> &[Value] {
        match self {
            Value::Array(items) => items,
            other => panic!("not an array: {other:?}"),
        }
    }
}

pub struct Client(BufReader<UnixStream>);

impl Client {
    pub fn connect(socket: &Path) -> std::io::Result<Client> {
        let stream = UnixStream::connect(socket)?;
        stream.set_read_timeout(Some(Duration::from_secs(20)))?;
        Ok(Client(BufReader::new(stream)))
    }

    pub fn send(&mut self, words: &[&[u8]]) -> std::io::Result<()> {
        let mut request = format!("*{}\r\n", words.len()).into_bytes();
        for word in words {
            request.extend_from_slice(format!("${}\r\n", word.len()).as_bytes());
            request.extend_from_slice(word);
            request.extend_from_slice(b"\r\n");
        }
        self.0.get_mut().write_all(&request)
    }

    pub fn receive(&mut self) -> std::io::Result<Value> {
        let line = self.line()?;
        let (kind, rest) = line.split_at(1);
        let number = || rest.parse::<i64>().map_err(|_| garbled(&line));
        match kind {
            "+" => Ok(Value::Text(rest.as_bytes().to_vec())),
            "-" => Ok(Value::Error(rest.to_owned())),
            ":" => number().map(Value::Int),
            "$" => match usize::try_from(number()?) {
                Err(_) => Ok(Value::Nil),
                Ok(length) => {
                    let mut text = vec![0; length + 2];
                    self.0.read_exact(&mut text)?;
                    text.truncate(length);
                    Ok(Value::Text(text))
                }
            },
            "*" => match usize::try_from(number()?) {
                Err(_) => Ok(Value::Nil),
                Ok(count) => {
                    let items: std::io::Result<Vec<Value>> =
                        (0..count).map(|_| self.receive()).collect();
                    items.map(Value::Array)
                }
            },
            _ => Err(garbled(&line)),
        }
    }

    pub fn try_ask(&mut self, words: &[&[u8]]) -> std::io::Result<Value> {
        self.send(words)?;
        self.receive()
    }

    /// One command and its reply; an error reply is a `Value::Error`.
    pub fn ask(&mut self, words: &[&str]) -> Value {
        let bytes: Vec<&[u8]> = words.iter().map(|word| word.as_bytes()).collect();
        self.try_ask(&bytes)
            .unwrap_or_else(|error| panic!("{words:?}: {error}"))
    }

    fn line(&mut self) -> std::io::Result<String> {
        let mut line = String::new();
        self.0.read_line(&mut line)?;
        if !line.ends_with("\r\n") || line.len() < 3 {
            return Err(garbled(&line));
        }
        line.truncate(line.len() - 2);
        Ok(line)
    }
}

fn garbled(line: &str) -> std::io::Error {
    std::io::Error::other(format!("the server closed the connection or sent {line:?}"))
}
