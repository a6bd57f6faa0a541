//! All descendants of this process, found by walking down from its children.
//!
//! The lists in /proc may miss a process while others end, so a walk is a hint and is repeated; ECHILD is the
//! proof. A child of this process keeps its pid until it is reaped here, so that a signal to it cannot hit another
//! process; deeper ones are held by a pidfd, and their descent is checked after it was opened.

use std::collections::{HashSet, VecDeque};
use std::io::Read;
use std::os::fd::{AsFd, OwnedFd};
use std::os::linux::fs::MetadataExt;
use std::path::Path;
use std::rc::Rc;

use nix::errno::Errno;
use rustix::process::{Pid, PidfdFlags, Signal as PidfdSignal, pidfd_open, pidfd_send_signal};

use super::descriptors::wait_for;
use super::signals;

/// A process that may not be signalled: it runs as another user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Survivor {
    pub pid: i32,
    pub uid: u32,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    pub pid: i32,
    pub name: String,
}

/// Rounds of killing before the tree is stopped first.
const PLAIN_ROUNDS: u32 = 2;
const CROWD: usize = 50;

struct Found {
    pid: i32,
    parent: i32,
    /// The parent, held; None for a child of this process.
    held_parent: Option<Rc<OwnedFd>>,
}

pub struct Tree {
    me: i32,
    /// Children that are not the job's: they and their descendants are left alone.
    except: Vec<i32>,
    rounds: u32,
    /// How many the last walk came by.
    met: usize,
}

impl Tree {
    pub fn new(except: Vec<i32>) -> Tree {
        let me = std::process::id().cast_signed();
        Tree {
            me,
            except,
            rounds: 0,
            met: 0,
        }
    }

    /// The children that matter.
    pub fn children(&self) -> Vec<i32> {
        children_of(self.me)
            .into_iter()
            .filter(|pid| !self.except.contains(pid))
            .collect()
    }

    /// A child that was to be left alone has ended and was reaped: its pid may come back as anybody's.
    pub fn forget(&mut self, pid: i32) {
        self.except.retain(|other| *other != pid);
    }

    pub fn spares_any(&self) -> bool {
        !self.except.is_empty()
    }

    /// Kills what is there now. It has to be repeated until ECHILD: others may be born meanwhile.
    ///
    /// A tree that did not fall in the first rounds, or is a crowd, may fork faster than it is killed. It is stopped
    /// first.
    pub fn kill(&mut self) -> Vec<Survivor> {
        if self.rounds >= PLAIN_ROUNDS || self.met > CROWD {
            self.signal(&[signals::STOP]);
        }
        self.rounds = self.rounds.saturating_add(1);
        self.signal(&[signals::KILL])
    }

    /// How often it was killed.
    pub fn rounds(&self) -> u32 {
        self.rounds
    }

    /// Sends each of the signals to each descendant, parents first; says who may not be signalled.
    pub fn signal(&mut self, numbers: &[i32]) -> Vec<Survivor> {
        let mut denied = Vec::new();
        let mut met = 0;
        self.walk(|found| {
            met += 1;
            let (held, answer) = self.deliver(found, numbers);
            if answer == Err(Errno::EPERM) {
                denied.push(Survivor {
                    pid: found.pid,
                    uid: uid_of(found.pid),
                });
            }
            held
        });
        self.met = met;
        denied
    }

    /// Who is there, apart from those that have ended and were not reaped.
    pub fn members(&self) -> Vec<Member> {
        let mut members = Vec::new();
        self.walk(|found| {
            if let Some(stat) = Stat::of(found.pid)
                && !stat.ended
            {
                members.push(Member {
                    pid: found.pid,
                    name: stat.name,
                });
            }
            None
        });
        members
    }

    fn walk(&self, mut visit: impl FnMut(&Found) -> Option<OwnedFd>) {
        let mut seen = HashSet::new();
        let own = self.children().into_iter().map(|pid| Found {
            pid,
            parent: self.me,
            held_parent: None,
        });
        let mut queue: VecDeque<Found> = own.collect();
        while let Some(found) = queue.pop_front() {
            if !seen.insert(found.pid) {
                continue;
            }
            // Listed before the visit, which may end it and move its children elsewhere.
            let children = children_of(found.pid);
            let held = visit(&found).map(Rc::new);
            queue.extend(children.into_iter().map(|pid| Found {
                pid,
                parent: found.pid,
                held_parent: held.clone(),
            }));
        }
    }

    fn deliver(&self, found: &Found, numbers: &[i32]) -> (Option<OwnedFd>, Result<(), Errno>) {
        if found.parent == self.me {
            let sent = numbers
                .iter()
                .try_for_each(|n| signals::send(found.pid, *n));
            return (None, sent);
        }
        let held =
            Pid::from_raw(found.pid).and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
        if !self.descends(found) {
            return (None, Ok(()));
        }
        let sent = numbers.iter().try_for_each(|number| match &held {
            Some(pidfd) => match PidfdSignal::from_named_raw(*number) {
                Some(signal) => pidfd_send_signal(pidfd, signal)
                    .map_err(|why| Errno::from_raw(why.raw_os_error())),
                None => signals::send(found.pid, *number),
            },
            // Before Linux 5.3, forbidden by a filter, or no descriptor left: the check above is all there is.
            None => signals::send(found.pid, *number),
        });
        (held, sent)
    }

    /// Whether what was found is still what it was: the child of the same process, or an orphan adopted here.
    fn descends(&self, found: &Found) -> bool {
        let Some(stat) = Stat::of(found.pid) else {
            return false;
        };
        if stat.parent == self.me {
            return !self.except.contains(&found.pid);
        }
        let parent_lives = found
            .held_parent
            .as_ref()
            .is_none_or(|pidfd| !wait_for(&[pidfd.as_fd()], Some(0)).contains(&true));
        stat.parent == found.parent && parent_lives
    }
}

/// The children of a process, of all its threads.
pub fn children_of(pid: i32) -> Vec<i32> {
    let folder = format!("/proc/{pid}/task");
    // A folder has a link from each folder inside it, and two more. Most processes have one thread, and in a
    // crowd every system call counts.
    let Ok(about) = std::fs::metadata(&folder) else {
        return Vec::new();
    };
    let threads: Vec<i32> = if about.st_nlink() == 3 {
        vec![pid]
    } else {
        let entries = std::fs::read_dir(&folder).into_iter().flatten().flatten();
        entries
            .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
            .collect()
    };
    let mut children = Vec::new();
    for thread in threads {
        match read(&format!("{folder}/{thread}/children")) {
            Some(list) => {
                let pids = list.split(|byte| *byte == b' ');
                children
                    .extend(pids.filter_map(|pid| str::from_utf8(pid).ok()?.parse::<i32>().ok()));
            }
            None if Path::new(&format!("{folder}/{thread}/stat")).exists() => {
                return children_by_scan(pid);
            }
            None => {}
        }
    }
    children
}

/// A file of /proc, without asking for its size first, which is always zero.
fn read(path: &str) -> Option<Vec<u8>> {
    let mut file = std::fs::File::open(path).ok()?;
    let mut text = Vec::new();
    let mut piece = [0; 4096];
    loop {
        let length = file.read(&mut piece).ok()?;
        text.extend_from_slice(piece.get(..length)?);
        if length < piece.len() / 2 {
            return Some(text);
        }
    }
}

/// For kernels built without the lists of children.
fn children_by_scan(parent: i32) -> Vec<i32> {
    std::fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok())
        .filter(|pid| Stat::of(*pid).is_some_and(|stat| stat.parent == parent))
        .collect()
}

struct Stat {
    name: String,
    parent: i32,
    ended: bool,
}

impl Stat {
    fn of(pid: i32) -> Option<Stat> {
        let text = read(&format!("/proc/{pid}/stat"))?;
        Stat::parse(&String::from_utf8_lossy(&text))
    }

    /// `pid (name) state ppid …`, where the name may hold anything, parentheses too (proc_pid_stat(5)).
    fn parse(text: &str) -> Option<Stat> {
        let (open, close) = (text.find('(')?, text.rfind(')')?);
        let name = text.get(open + 1..close)?.to_owned();
        let mut fields = text.get(close + 1..)?.split_whitespace();
        let state = fields.next()?;
        Some(Stat {
            name,
            parent: fields.next()?.parse().ok()?,
            ended: matches!(state, "Z" | "X"),
        })
    }
}

/// The effective user of a process; what cannot be read is root's.
fn uid_of(pid: i32) -> u32 {
    std::fs::read_to_string(format!("/proc/{pid}/status"))
        .ok()
        .and_then(|text| {
            let line = text.lines().find_map(|line| line.strip_prefix("Uid:"))?;
            line.split_whitespace().nth(1)?.parse().ok()
        })
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scan_finds_the_children_that_the_list_names() {
        let mut child = std::process::Command::new("sleep")
            .arg("60")
            .spawn()
            .unwrap();
        let me = std::process::id().cast_signed();
        let pid = child.id().cast_signed();
        assert!(children_of(me).contains(&pid));
        assert!(children_by_scan(me).contains(&pid));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!children_by_scan(me).contains(&pid));
    }

    #[test]
    fn a_name_may_look_like_the_fields_behind_it() {
        let stat = Stat::parse("12 (a) Z 1 (b)) S 7 12 12 0").unwrap();
        assert_eq!(
            (stat.name.as_str(), stat.parent, stat.ended),
            ("a) Z 1 (b)", 7, false)
        );
        assert!(Stat::parse("12 (sh) Z 7 12").unwrap().ended);
        assert!(Stat::parse("12 (sh").is_none());
    }
}
