//! The runs that contend: how they are started, struck, and watched to their end.

use std::collections::HashMap;
use std::fs::{self, File};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::history::{Ending, Fault, Form, Key, MS, Ns, Orphan, Run};
use super::plan::{Aim, Blow, Plan};
use super::random::Random;
use crate::harness::now;
use crate::harness::process::{all, environment, gone, send};
use crate::harness::redlease::BINARY;

const MARK: &str = "TORTURE_RUN";
/// How long the guard of a killed run and the processes of its job may be seen: to kill a tree takes time.
const GONE_WITHIN: Ns = 100 * MS;

struct Live {
    run: Run,
    child: Child,
    /// One fault for redlease and its guard together: both at once is the hole that the manual admits.
    struck: bool,
    killed: bool,
    paused: Ns,
}

/// A run that ended, while processes of it are still there.
struct Lingering {
    run: u64,
    until: Ns,
    killed: bool,
}

pub struct Crowd {
    folder: PathBuf,
    job: PathBuf,
    url: String,
    /// Tells our processes from those of another round on the same machine.
    round: String,
    random: Random,
    without: &'static str,
    next: u64,
    live: Vec<Live>,
    lingering: Vec<Lingering>,
    /// Who is to get a CONT, and when.
    stopped: Vec<(Ns, u64, u32)>,
    pub runs: Vec<Run>,
    pub endings: Vec<Ending>,
    pub orphans: Vec<Orphan>,
    pub faults: Vec<Fault>,
}

impl Crowd {
    pub fn new(folder: PathBuf, url: String, plan: &Plan) -> Crowd {
        let job = super::programs::compile(&folder, "job", &[]);
        fs::create_dir(folder.join("jobs")).expect("a folder for the jobs");
        Crowd {
            job,
            url,
            round: uuid::Uuid::new_v4().simple().to_string(),
            random: Random::new(plan.seed),
            without: plan.without,
            next: 0,
            live: Vec::new(),
            lingering: Vec::new(),
            stopped: Vec::new(),
            runs: Vec::new(),
            endings: Vec::new(),
            orphans: Vec::new(),
            faults: Vec::new(),
            folder,
        }
    }

    pub fn size(&self) -> usize {
        self.live.len()
    }

    pub fn settled(&self) -> bool {
        self.live.is_empty() && self.lingering.is_empty()
    }

    pub fn mark(&self, run: u64) -> String {
        format!("{}-{run}", self.round)
    }

    pub fn program(&self) -> &Path {
        &self.job
    }

    pub fn jobs(&self) -> PathBuf {
        self.folder.join("jobs")
    }

    pub fn start(&mut self, keys: &[Key]) {
        let id = self.next;
        self.next += 1;
        let random = &mut self.random;
        let (lonely, crowded) = keys.split_last().expect("keys");
        let alone = random.percent(9);
        let key = if alone { lonely } else { random.pick(crowded) }.clone();
        let form = if key.name == "script" {
            Form::Script
        } else {
            Form::Run
        };
        let wait = random.percent(65).then(|| random.between(1_000, 6_000));
        // Some work for longer than their TTL, so that it is renewed.
        let works = match random.below(20) {
            _ if alone => random.between(800, 4_000),
            0 | 1 => random.between(2_500, 6_000),
            2..=7 => random.between(300, 1_500),
            _ => random.between(20, 300),
        };
        let code = *random.pick(&[0, 0, 0, 3, 77]);
        // What has to be killed is, where it works for long, what shows whether it is killed in time.
        let shapes = if works > 2_000 {
            ["-", "c", "d", "l", "s", "s", "cs", "ds"]
        } else {
            ["-", "-", "c", "d", "cd", "s", "cs", "l"]
        };
        let shape = *random.pick(&shapes);
        let mut run = Run {
            id,
            form,
            key: key.name.clone(),
            pid: 0,
            at: 0,
            wait: wait.map(|wait| wait * MS),
            job: works * MS,
            code,
        };
        let job = vec![
            self.job.to_string_lossy().into_owned(),
            self.jobs().to_string_lossy().into_owned(),
            works.to_string(),
            code.to_string(),
            shape.to_owned(),
        ];
        let mut command = match form {
            Form::Run => self.command(&key, wait, id, &job),
            Form::Script => script(&key, wait, &mut run, job),
        };
        let said = File::create(self.said(id)).expect("a file for stderr");
        command
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("REDLEASE_URL", &self.url)
            .env("REDLEASE_RETAIN", "10m")
            .env("REDLEASE_MUTATE", self.without)
            .env(MARK, self.mark(id))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(said)
            .process_group(0);
        run.at = now().0;
        let child = command.spawn().expect("a new process");
        run.pid = child.id();
        self.runs.push(run.clone());
        self.live.push(Live {
            run,
            child,
            struck: form == Form::Script,
            killed: false,
            paused: 0,
        });
    }

    fn command(&self, key: &Key, wait: Option<u64>, id: u64, job: &[String]) -> Command {
        let mut command = Command::new(BINARY);
        command
            .args(["run", "--key", &key.name])
            .args(["--ttl", &format!("{}ms", key.ttl / MS)])
            .arg("--report")
            .arg(self.report(id));
        if let Some(wait) = wait {
            command.args(["--wait", &format!("{wait}ms")]);
        }
        if key.limit > 1 {
            command.args(["--limit", &key.limit.to_string()]);
        }
        if key.min_hold > 0 {
            command.args(["--min-hold", &format!("{}ms", key.min_hold / MS)]);
        }
        command.arg("--").args(job);
        command
    }

    fn said(&self, id: u64) -> PathBuf {
        self.folder.join(format!("{id}.said"))
    }

    fn report(&self, id: u64) -> PathBuf {
        self.folder.join(format!("{id}.report"))
    }

    /// Strikes one of the runs that there are; nobody if the aim does not exist.
    pub fn strike(&mut self, choice: u64, aim: Aim, blow: Blow) {
        let supervisor =
            matches!(aim, Aim::Redlease | Aim::Guard | Aim::Group) && blow != Blow::Term;
        let able: Vec<usize> = (0..self.live.len())
            .filter(|at| {
                let live = &self.live[*at];
                live.run.form == Form::Run && !(supervisor && live.struck)
            })
            .collect();
        if able.is_empty() {
            return;
        }
        // Holders are few among waiters, and are what matters most.
        let holders: Vec<usize> = able
            .iter()
            .copied()
            .filter(|at| {
                children(self.live[*at].run.pid)
                    .iter()
                    .any(|g| !children(*g).is_empty())
            })
            .collect();
        let among = if choice % 10 < 8 && !holders.is_empty() {
            holders
        } else {
            able
        };
        let at = among[usize::try_from(choice >> 8).unwrap_or(0) % among.len()];
        let live = &mut self.live[at];
        let guard = children(live.run.pid).first().copied();
        let job = guard.and_then(|guard| children(guard).first().copied());
        let target = match aim {
            Aim::Redlease | Aim::Group => Some(live.run.pid),
            Aim::Guard => guard,
            Aim::Job => job,
            Aim::Child => job.and_then(|job| children(job).first().copied()),
        };
        let Some(target) = target else { return };
        live.struck |= supervisor;
        let from = now().0;
        let (signal, word, lasts) = match blow {
            Blow::Kill => (Signal::SIGKILL, "kill", 0),
            Blow::Term => (Signal::SIGTERM, "term", 0),
            Blow::Stop(lasts) => (Signal::SIGSTOP, "stop", lasts * MS),
        };
        if matches!(aim, Aim::Redlease | Aim::Group) {
            live.killed |= blow == Blow::Kill;
            live.paused += lasts;
        }
        if aim == Aim::Group {
            group(target, signal);
        } else {
            send(target, signal);
        }
        let length = if lasts > 2_000 * MS { " for long" } else { "" };
        self.faults.push(Fault {
            kind: format!("{word} {}{length}", name(aim)),
            run: Some(live.run.id),
            from,
            until: from + lasts,
        });
        if lasts > 0 {
            let who = if aim == Aim::Group { 0 } else { target };
            self.stopped.push((from + lasts, live.run.id, who));
        }
    }

    /// What is due: CONTs, ends of runs, orphans.
    pub fn turn(&mut self) {
        let at = now().0;
        let mut stopped = std::mem::take(&mut self.stopped);
        stopped.retain(|(due, run, target)| {
            if *due <= at {
                self.resume(*run, *target);
            }
            *due > at
        });
        self.stopped.append(&mut stopped);
        self.reap();
        if !self.lingering.is_empty() {
            self.look_for_orphans();
        }
    }

    pub fn resume_all(&mut self) {
        for (_, run, target) in std::mem::take(&mut self.stopped) {
            self.resume(run, target);
        }
    }

    fn resume(&self, run: u64, target: u32) {
        if target == 0 {
            if let Some(live) = self.live.iter().find(|live| live.run.id == run) {
                group(live.run.pid, Signal::SIGCONT);
            }
        } else if environment(target).contains(&format!("{MARK}={}", self.mark(run))) {
            send(target, Signal::SIGCONT);
        }
    }

    fn reap(&mut self) {
        let mut at = 0;
        while at < self.live.len() {
            let Some(status) = self.live[at].child.try_wait().expect("our own child") else {
                at += 1;
                continue;
            };
            let live = self.live.swap_remove(at);
            let seen = now().0;
            let id = live.run.id;
            let code = status
                .code()
                .unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
            let report = fs::read_to_string(self.report(id)).ok();
            self.endings.push(Ending {
                run: id,
                at: seen,
                code: u8::try_from(code).unwrap_or(255),
                killed: live.killed,
                paused: live.paused,
                report: report.and_then(|text| serde_json::from_str(&text).ok()),
                said: fs::read_to_string(self.said(id)).unwrap_or_default(),
            });
            self.lingering.push(Lingering {
                run: id,
                until: seen + GONE_WITHIN,
                killed: live.killed,
            });
        }
    }

    /// A run that ended by itself leaves nothing. One that was killed has a guard, which ends the job first and
    /// itself then; what is there without it, or for seconds, is an orphan.
    fn look_for_orphans(&mut self) {
        let at = now().0;
        let mut seen: HashMap<String, Vec<u32>> = HashMap::new();
        let prefix = format!("{MARK}={}-", self.round);
        for pid in all() {
            if let Some(entry) = environment(pid)
                .into_iter()
                .find(|entry| entry.starts_with(&prefix))
                && !gone(pid)
            {
                seen.entry(entry[prefix.len()..].to_owned())
                    .or_default()
                    .push(pid);
            }
        }
        let mut orphans = Vec::new();
        self.lingering.retain(|ended| {
            let Some(pids) = seen.get(&ended.run.to_string()) else {
                return false;
            };
            let patience = if ended.killed { 3_000 * MS } else { 0 };
            if at > ended.until + patience {
                orphans.extend(pids.iter().map(|pid| (ended.run, *pid)));
                return false;
            }
            true
        });
        for (run, pid) in orphans {
            self.orphans.push(Orphan { run, pid, at });
            send(pid, Signal::SIGKILL);
        }
    }

    /// Ends what does not end by itself; it is without an ending in the history.
    pub fn give_up(&mut self) {
        for live in &mut self.live {
            send(live.run.pid, Signal::SIGKILL);
            if let Err(error) = live.child.wait() {
                eprintln!("run {} could not be waited for: {error}", live.run.id);
            }
        }
        self.live.clear();
        let prefix = format!("{MARK}={}-", self.round);
        for pid in all() {
            if environment(pid)
                .iter()
                .any(|entry| entry.starts_with(&prefix))
            {
                send(pid, Signal::SIGKILL);
            }
        }
    }
}

impl Drop for Crowd {
    fn drop(&mut self) {
        self.give_up();
    }
}

fn name(aim: Aim) -> &'static str {
    match aim {
        Aim::Redlease => "redlease",
        Aim::Guard => "guard",
        Aim::Job => "job",
        Aim::Child => "child",
        Aim::Group => "group",
    }
}

fn group(leader: u32, signal: Signal) {
    let leader = i32::try_from(leader).expect("a process id");
    // Its processes may all have gone.
    if let Err(error) = kill(Pid::from_raw(-leader), signal) {
        assert_eq!(
            error,
            nix::errno::Errno::ESRCH,
            "{signal} to the group {leader}"
        );
    }
}

/// Children as the kernel lists them, which is quicker than a look at every process.
fn children(pid: u32) -> Vec<u32> {
    let Ok(tasks) = fs::read_dir(format!("/proc/{pid}/task")) else {
        return Vec::new();
    };
    let lists =
        tasks.filter_map(|task| fs::read_to_string(task.ok()?.path().join("children")).ok());
    lists
        .flat_map(|list| {
            list.split(' ')
                .filter_map(|child| child.trim().parse().ok())
                .collect::<Vec<_>>()
        })
        .collect()
}

/// acquire, check, job, release, as a careful script does it: it begins only with enough left for the job.
fn script(key: &Key, wait: Option<u64>, run: &mut Run, mut job: Vec<String>) -> Command {
    let works = run.job.min(1_000 * MS);
    run.job = works;
    job[2] = (works / MS).to_string();
    // A child would be nobody's to stop.
    job[4] = "-".to_owned();
    let wait = wait.map_or(String::new(), |wait| format!("--wait {wait}ms"));
    let text = format!(
        "lease=$({BINARY} acquire --key {key} --ttl {ttl}ms --export {wait}) || exit\n\
         eval \"$lease\"\n\
         {BINARY} check --min-left 2500ms || {{ {BINARY} release; exit 79; }}\n\
         \"$@\"\n\
         code=$?\n\
         {BINARY} release\n\
         exit $code",
        key = key.name,
        ttl = key.ttl / MS,
    );
    let mut command = Command::new("sh");
    command.args(["-c", &text, "sh"]).args(job);
    command
}
