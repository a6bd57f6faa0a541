//! Just enough of the Redis protocol: commands out, replies in.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;

use anyhow::{Result, bail};

pub struct Client {
    reader: BufReader<UnixStream>,
}

impl Client {
    pub fn connect(socket: &Path) -> Result<Client> {
        Ok(Client {
            reader: BufReader::new(UnixStream::connect(socket)?),
        })
    }

    /// The reply as text: nested values on lines of their own.
    pub fn ask(&mut self, words: &[&str]) -> Result<String> {
        let mut request = format!("*{}\r\n", words.len());
        for word in words {
            request.push_str(&format!("${}\r\n{word}\r\n", word.len()));
        }
        self.send(request.as_bytes())
    }

    pub fn send(&mut self, request: &[u8]) -> Result<String> {
        self.reader.get_mut().write_all(request)?;
        self.reply()
    }

    fn reply(&mut self) -> Result<String> {
        let mut line = String::new();
        if self.reader.read_line(&mut line)? == 0 {
            bail!("the server hung up");
        }
        let rest = line.get(1..).unwrap_or_default().trim_end();
        match line.as_bytes().first() {
            Some(b'-') => bail!("{rest}"),
            Some(b'$') if rest != "-1" => {
                let mut bytes = vec![0; rest.parse::<usize>()? + 2];
                self.reader.read_exact(&mut bytes)?;
                bytes.truncate(bytes.len() - 2);
                Ok(String::from_utf8_lossy(&bytes).into_owned())
            }
            Some(b'*') if rest != "-1" => {
                let mut parts = Vec::new();
                for _ in 0..rest.parse::<usize>()? {
                    parts.push(self.reply()?);
                }
                Ok(parts.join("\n"))
            }
            _ => Ok(rest.to_owned()),
        }
    }

    /// A number of `INFO section`: `used_memory`.
    pub fn info(&mut self, section: &str, field: &str) -> Result<u64> {
        let text = self.ask(&["INFO", section])?;
        let start = format!("{field}:");
        let value = text.lines().find_map(|line| line.strip_prefix(&start));
        match value {
            Some(value) => Ok(value.trim().parse()?),
            None => bail!("the server tells no {field}"),
        }
    }

    /// Calls of all commands but INFO and CONFIG since the last reset, and their µs on the server.
    pub fn calls(&mut self) -> Result<(u64, u64)> {
        let text = self.ask(&["INFO", "commandstats"])?;
        let (mut calls, mut micros) = (0, 0);
        for line in text.lines() {
            let ours = line.starts_with("cmdstat_eval") || line.starts_with("cmdstat_subscribe");
            let others = [
                "cmdstat_select",
                "cmdstat_auth",
                "cmdstat_ping",
                "cmdstat_unsubscribe",
            ];
            if ours || others.iter().any(|name| line.starts_with(name)) {
                calls += number(line, "calls=");
                micros += number(line, "usec=");
            }
        }
        Ok((calls, micros))
    }

    pub fn reset(&mut self) -> Result<()> {
        self.ask(&["CONFIG", "RESETSTAT"]).map(drop)
    }
}

fn number(line: &str, name: &str) -> u64 {
    line.split([':', ','])
        .find_map(|part| part.trim().strip_prefix(name)?.parse().ok())
        .unwrap_or(0)
}
