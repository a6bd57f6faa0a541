//! Which machine, and which program.

use std::fs;
use std::process::Command;

use anyhow::Result;

use super::peers::Place;

pub fn describe(place: &Place) -> Result<String> {
    let cpu = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpu
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split(':').nth(1))
        .unwrap_or("an unnamed processor")
        .trim();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load = load.split(' ').next().unwrap_or_default();
    let redis = place.client()?.ask(&["INFO", "server"])?;
    let redis = redis
        .lines()
        .find_map(|line| line.strip_prefix("redis_version:"))
        .unwrap_or_default();
    let size = fs::metadata(&place.binary)?.len();
    let linked = Command::new("ldd").arg(&place.binary).output();
    let linked = linked.map_or("?", |out| {
        if String::from_utf8_lossy(&out.stdout).contains("libc.so") {
            "dynamic"
        } else {
            "static"
        }
    });
    let tree = Command::new("cargo")
        .args([
            "tree",
            "--offline",
            "--edges",
            "normal",
            "--prefix",
            "none",
            "--format",
            "{p}",
        ])
        .output();
    let crates = tree.map_or(0, |out| {
        let text = String::from_utf8_lossy(&out.stdout).into_owned();
        let mut names: Vec<&str> = text
            .lines()
            .filter(|line| !line.contains("(proc-macro)"))
            .filter_map(|line| line.strip_suffix(" (*)").or(Some(line)))
            .collect();
        names.sort_unstable();
        names.dedup();
        names.len()
    });
    Ok(format!(
        "# redlease, measured\n\n\
         {cores} x {model}, Linux {}, load {load} at the start, Redis {redis} on a unix socket.\n\
         The program: {linked}, {size} bytes, {crates} crates linked.\n",
        kernel.trim()
    ))
}
