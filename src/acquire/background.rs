//! `acquire --while-pid`: a keeper in the background, which renews until a process ends and releases then.
//!
//! The keeper asks for the lease itself, because it is forked before there is any connection or thread. It tells
//! the foreground over a socket how that went, and goes on only when the foreground has printed the token.

mod keeping;

use std::cell::Cell;
use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::net::UnixStream;

use anyhow::{Context, bail};

use super::{ask, listen, printed, told, undo, wish};
use crate::exit::Exit;
use crate::lease::keeper::Answer;
use crate::lease::store::Store;
use crate::plan::holding::AcquirePlan;
use crate::report::{Level, Log, stdout};
use crate::sys::any::any;
use crate::sys::descriptors::{keep_only, silence, wait_for};
use crate::sys::process::{self, Side};
use crate::sys::wake::Wake;
use crate::sys::watched::Watched;

/// The foreground has printed what it was given.
const PRINTED: u8 = b'p';

pub fn run(plan: &AcquirePlan, pid: u32, log: Log) -> anyhow::Result<Exit> {
    let watched = Watched::open(pid).with_context(|| format!("--while-pid {pid}"))?;
    let Some(watched) = watched else {
        let text = format!("--while-pid {pid}: there is no such process");
        log.say(Level::Error, &text);
        return Ok(Exit::Usage);
    };
    let (ours, theirs) = UnixStream::pair()?;
    match process::fork().context("cannot start the keeper")? {
        Side::Parent { child } => {
            drop((theirs, watched));
            process::await_child(child);
            foreground(ours)
        }
        Side::Child => {
            drop(ours);
            // A session of its own, and then a process that does not lead it: no terminal ever becomes its own.
            if process::leave_session().is_ok()
                && let Ok(Side::Child) = process::fork()
            {
                let _ended = keeper(plan, &watched, theirs, log);
            }
            process::leave(0)
        }
    }
}

/// Waits for the keeper's word, prints it, and says so. A signal ends the wait.
fn foreground(mut socket: UnixStream) -> anyhow::Result<Exit> {
    let incoming = listen()?;
    let mut signal = None;
    while !wait_for(&[socket.as_fd(), incoming.fd()], None)[0] {
        if let Some(arrived) = incoming.next() {
            // The keeper leaves the queue, and says so.
            signal = Some(arrived.number);
            socket.shutdown(Shutdown::Write)?;
        }
    }
    let mut head = [0; 5];
    if socket.read_exact(&mut head).is_err() {
        bail!("the keeper died; what it may have acquired lapses after its TTL");
    }
    let [code, length @ ..] = head;
    let mut text = vec![0; usize::try_from(u32::from_le_bytes(length))?];
    socket.read_exact(&mut text)?;
    if code != 0 {
        return Ok(match signal {
            Some(number) if code == CANCELLED => Exit::Signal(number),
            _ => Exit::Code(code),
        });
    }
    if let Err(error) = stdout(&String::from_utf8_lossy(&text)) {
        socket.shutdown(Shutdown::Write)?;
        // Until it has given the lease back.
        let _end = socket.read(&mut head);
        return Err(error).context("cannot print the token, so that the lease was given back");
    }
    socket.write_all(&[PRINTED])?;
    Ok(Exit::Done)
}

/// The code by which the keeper says that it was told to give up.
const CANCELLED: u8 = 255;

/// The background process.
fn keeper(
    plan: &AcquirePlan,
    watched: &Watched,
    mut socket: UnixStream,
    log: Log,
) -> anyhow::Result<()> {
    keep_only(&[socket.as_raw_fd(), watched.fd().as_raw_fd()])?;
    let incoming = listen()?;
    let calls = [socket.as_fd(), watched.fd(), incoming.fd()];
    let interrupt = any(&calls)?;
    let mut store = Store::new(plan.connection.target.clone());
    store.set_interrupt(interrupt.as_fd().try_clone_to_owned()?);
    let wish = wish(plan);
    let given_up = Cell::new(false);
    let mut cancelled = || {
        let called = wait_for(&calls, Some(0)).contains(&true);
        given_up.set(given_up.get() || called);
        given_up.get()
    };
    let answer = ask(
        plan,
        &mut store,
        &wish,
        (interrupt.as_fd(), &mut cancelled),
        log,
    );
    let holding = match answer {
        Answer::Granted(holding) => holding,
        Answer::Cancelled => return Ok(send(&mut socket, CANCELLED, "")?),
        other => {
            let exit = told(plan, other, None, log);
            return Ok(send(&mut socket, exit.code(), "")?);
        }
    };
    store.set_interrupt(Wake::new()?.fd().try_clone_to_owned()?);
    let mut answer = [0];
    let printed = send(&mut socket, 0, &printed::granted(plan, &holding)).is_ok()
        && matches!(socket.read(&mut answer), Ok(1))
        && answer[0] == PRINTED;
    if !printed {
        undo(&mut store, &wish, &holding, log);
        return Ok(());
    }
    drop(socket);
    silence()?;
    keeping::keep(&mut store, &wish, holding, watched, &incoming);
    Ok(())
}

fn send(socket: &mut UnixStream, code: u8, text: &str) -> io::Result<()> {
    let length = u32::try_from(text.len()).map_err(io::Error::other)?;
    let mut message = vec![code];
    message.extend(length.to_le_bytes());
    message.extend(text.as_bytes());
    socket.write_all(&message)
}
