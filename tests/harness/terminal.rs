//! A terminal of the test's own: what is typed goes through the line discipline of the kernel, so Ctrl-C is a
//! real one.

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::fd::OwnedFd;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Stdio};

use nix::fcntl::OFlag;
use nix::pty::{grantpt, posix_openpt, ptsname_r, unlockpt};
use nix::sys::signal::Signal;

use super::process::{marked, send, wait_until};
use super::redlease::Stream;
use super::{PATIENCE, Redlease};

pub struct Terminal {
    child: Child,
    keyboard: File,
    pub screen: Stream,
    marker: String,
}

impl Terminal {
    /// Starts the run as the leader of a session whose terminal is new, 80 columns wide.
    pub fn start(redlease: Redlease) -> Terminal {
        let words = redlease.words();
        Terminal::start_words(&redlease, words)
    }

    /// An interactive-like shell (`bash -c SCRIPT` with job control) with `$REDLEASE` at hand.
    pub fn start_shell(redlease: Redlease, script: &str) -> Terminal {
        let words = ["bash", "-c", script].map(OsString::from).to_vec();
        Terminal::start_words(&redlease.env("REDLEASE", super::redlease::BINARY), words)
    }

    fn start_words(redlease: &Redlease, words: Vec<OsString>) -> Terminal {
        // Closed on exec from the first moment on: another test may start a process right now, and openpty(3)
        // cannot do that.
        let keyboard =
            posix_openpt(OFlag::O_RDWR | OFlag::O_NOCTTY | OFlag::O_CLOEXEC).expect("a terminal");
        grantpt(&keyboard).expect("the terminal is ours");
        unlockpt(&keyboard).expect("the terminal is ours");
        let name = ptsname_r(&keyboard).expect("the terminal's name");
        let keyboard = File::from(OwnedFd::from(keyboard));
        let line = OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(OFlag::O_NOCTTY.bits())
            .open(name)
            .expect("the terminal's other side");
        let size = rustix::termios::Winsize {
            ws_row: 24,
            ws_col: 80,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        rustix::termios::tcsetwinsize(&line, size).expect("the terminal's size");
        let marker = uuid::Uuid::new_v4().to_string();
        // setsid(1) makes the terminal on its stdin the controlling one, and becomes the command.
        let mut all: Vec<OsString> = vec!["setsid".into(), "--ctty".into()];
        all.extend(words);
        let mut command = redlease.prepared(&all, &marker);
        let side = || Stdio::from(line.try_clone().expect("a descriptor"));
        command
            .env("TERM", "xterm")
            .stdin(side())
            .stdout(side())
            .stderr(side());
        let child = command
            .spawn()
            .unwrap_or_else(|error| panic!("{all:?}: {error}"));
        drop(command);
        drop(line);
        let screen = Stream::read(keyboard.try_clone().expect("a descriptor"));
        Terminal {
            child,
            keyboard,
            screen,
            marker: format!("TEST_RUN={marker}"),
        }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Types characters; "\x03" is Ctrl-C, "\x1a" Ctrl-Z, "\x1c" Ctrl-\.
    pub fn type_in(&mut self, text: &str) {
        self.keyboard
            .write_all(text.as_bytes())
            .expect("the terminal takes what is typed");
    }

    /// The window of the terminal gets another size: the kernel sends WINCH to the foreground.
    pub fn resize(&self, columns: u16) {
        let size = rustix::termios::Winsize {
            ws_row: 24,
            ws_col: columns,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        rustix::termios::tcsetwinsize(&self.keyboard, size).expect("the terminal's size");
    }

    #[track_caller]
    pub fn shows(&self, part: &str) {
        wait_until(&format!("{part:?} on the screen"), PATIENCE, || {
            self.screen.text().contains(part)
        });
    }

    pub fn processes(&self) -> Vec<u32> {
        marked(&self.marker)
    }

    /// The code as a shell shows it, 128+n for a signal.
    #[track_caller]
    pub fn exits(&mut self, code: i32) {
        let mut status = None;
        wait_until("the end of the session", PATIENCE, || {
            status = self.child.try_wait().expect("our own child");
            status.is_some()
        });
        let status = status.expect("just seen");
        let seen = status
            .code()
            .unwrap_or_else(|| 128 + status.signal().expect("a code or a signal"));
        assert_eq!(seen, code);
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("--- the screen:\n{}", self.screen.text());
        }
        send(self.pid(), Signal::SIGKILL);
        if self.child.wait().is_err() {
            eprintln!("--- the session could not be waited for");
        }
        for pid in self.processes() {
            send(pid, Signal::SIGKILL);
        }
    }
}
