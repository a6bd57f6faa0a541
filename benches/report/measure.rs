//! One run of a command, and many of them as numbers.

use std::ffi::OsStr;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use nix::sys::resource::{Usage, UsageWho, getrusage};
use nix::sys::time::TimeValLike;

/// What one run took.
#[derive(Clone, Copy)]
pub struct Sample {
    pub wall: Duration,
    /// User and system, of the run and all that it waited for.
    pub cpu: Duration,
}

fn cpu(usage: &Usage) -> Duration {
    let micros = usage.user_time().num_microseconds() + usage.system_time().num_microseconds();
    Duration::from_micros(u64::try_from(micros).unwrap_or(0))
}

pub fn once(command: &mut Command) -> Result<Sample> {
    command.stdin(Stdio::null()).stdout(Stdio::null());
    let before = cpu(&getrusage(UsageWho::RUSAGE_CHILDREN)?);
    let start = Instant::now();
    let status = command.status().with_context(|| format!("{command:?}"))?;
    let wall = start.elapsed();
    if !status.success() {
        bail!("{command:?}: {status}");
    }
    let after = cpu(&getrusage(UsageWho::RUSAGE_CHILDREN)?);
    Ok(Sample {
        wall,
        cpu: after.saturating_sub(before),
    })
}

/// Instructions of a whole run, in millions: where perf(1) is installed and this kernel counts them.
pub fn instructions(command: &Command) -> Option<f64> {
    let out = Command::new("perf")
        .args(["stat", "-x,", "-e", "instructions", "--"])
        .arg(command.get_program())
        .args(command.get_args())
        .envs(set(command))
        .stdin(Stdio::null())
        .output()
        .ok()?;
    // `1234567,,instructions,…`, or words in the place of the number.
    let counted = String::from_utf8_lossy(&out.stderr)
        .lines()
        .filter(|line| line.contains("instructions"))
        .find_map(|line| line.split(',').next()?.parse::<f64>().ok())?;
    Some(counted / 1e6)
}

fn set(command: &Command) -> impl Iterator<Item = (&OsStr, &OsStr)> {
    command
        .get_envs()
        .filter_map(|(name, value)| Some((name, value?)))
}

/// The largest resident set of any process of a command, in kB: asked of a process that has no other children.
pub fn peak(command: &Command) -> Result<u64> {
    let out = Command::new(std::env::current_exe()?)
        .arg("peak")
        .arg(command.get_program())
        .args(command.get_args())
        .envs(set(command))
        .output()?;
    String::from_utf8_lossy(&out.stdout)
        .trim()
        .parse()
        .context("the peak of a command")
}

pub fn print_peak(command: &[&str]) -> Result<()> {
    let (program, args) = command.split_first().context("a command")?;
    once(Command::new(program).args(args))?;
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    super::say(&usage.max_rss().to_string());
    Ok(())
}

/// The middle, and the value that one in a hundred exceeds.
pub fn quantiles(values: &[Duration]) -> (Duration, Duration) {
    let mut sorted = values.to_vec();
    sorted.sort();
    let at = |share: f64| {
        // Never past the end, and exact for the sizes that occur here.
        let index = (sorted.len().saturating_sub(1)) as f64 * share;
        sorted
            .get(index.round() as usize)
            .copied()
            .unwrap_or_default()
    };
    (at(0.5), at(0.99))
}

pub fn ms(time: Duration) -> String {
    format!("{:.2}", time.as_secs_f64() * 1000.0)
}

pub fn ratio(a: Duration, b: Duration) -> String {
    if b.is_zero() {
        "-".to_owned()
    } else {
        format!("{:.2}", a.as_secs_f64() / b.as_secs_f64())
    }
}
