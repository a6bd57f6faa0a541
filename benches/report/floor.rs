//! The floor: a client that does the same requests and nothing else: no guard, no clock, no signals.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use super::peers::Place;
use super::resp::Client;

/// `floor SOCKET REQUESTS`: connects, sends the first request, runs `true`, sends the others.
pub fn run(socket: &str, requests: &str) -> Result<()> {
    let all = fs::read(requests)?;
    let mut parts = Vec::new();
    let mut rest = all.as_slice();
    while let Some((size, after)) = rest.split_first_chunk::<8>() {
        let size = usize::try_from(u64::from_le_bytes(*size))?;
        let (request, after) = after.split_at_checked(size).context("requests")?;
        parts.push(request);
        rest = after;
    }
    let (acquire, others) = parts.split_first().context("no requests")?;
    let mut client = Client::connect(Path::new(socket))?;
    client.send(acquire)?;
    let status = Command::new("true").status()?;
    if !status.success() {
        bail!("true: {status}");
    }
    for request in others {
        client.send(request)?;
    }
    Ok(())
}

/// What one run of redlease sends, recorded on the way by a relay: a file for `floor`, and the number of requests.
pub fn record(place: &Place) -> Result<(PathBuf, usize)> {
    let relay = place.at("relay.sock");
    let listener = UnixListener::bind(&relay)?;
    let server = place.socket();
    let recorder = thread::spawn(move || -> Result<Vec<Vec<u8>>> {
        let (client, _) = listener.accept()?;
        relay_until_closed(client, UnixStream::connect(server)?)
    });
    let status = Command::new(&place.binary)
        .args(["run", "--key", "floor", "--", "true"])
        .env("REDLEASE_URL", format!("redis+unix://{}", relay.display()))
        .status()?;
    if !status.success() {
        bail!("redlease over a relay: {status}");
    }
    let requests = match recorder.join() {
        Ok(requests) => requests?,
        Err(_) => bail!("the relay failed"),
    };
    let file = place.at("requests");
    let mut bytes = Vec::new();
    for request in &requests {
        bytes.extend((request.len() as u64).to_le_bytes());
        bytes.extend(request);
    }
    fs::write(&file, bytes)?;
    Ok((file, requests.len()))
}

/// A request is what came before the server's next reply.
fn relay_until_closed(mut client: UnixStream, mut server: UnixStream) -> Result<Vec<Vec<u8>>> {
    client.set_read_timeout(Some(Duration::from_secs(20)))?;
    let mut requests = Vec::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        let size = client.read(&mut buffer)?;
        if size == 0 {
            return Ok(requests);
        }
        // Larger requests than a socket buffer do not occur: a script and its arguments are a few kB.
        requests.push(buffer[..size].to_vec());
        server.write_all(&buffer[..size])?;
        let size = server.read(&mut buffer)?;
        client.write_all(&buffer[..size])?;
    }
}
