//! A private PostgreSQL, from the system's packages. It refuses to run as root, and gets its package's user then.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use nix::sys::signal::Signal;
use tempfile::TempDir;

use super::resources::{Resource, copy, output, pairs, without};
use crate::harness::process::send;
use crate::harness::{PATIENCE, wait_until};

pub struct Postgres {
    scripts: TempDir,
    folder: TempDir,
    child: Child,
}

/// Where Debian and others put the programs of a server, the newest version first.
fn programs() -> PathBuf {
    let versions = std::fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten();
    let mut found: Vec<(u32, PathBuf)> = versions
        .filter_map(|entry| {
            let path = entry.ok()?.path();
            let version = path.file_name()?.to_str()?.parse().ok()?;
            let bin = path.join("bin");
            bin.join("initdb").exists().then_some((version, bin))
        })
        .collect();
    found.sort();
    let newest = found.pop().map(|(_, bin)| bin);
    newest.expect("the tests need a real server: apt-get install postgresql")
}

/// A program of the server, as a user that it agrees to.
fn server(program: &str) -> Command {
    let program = programs().join(program);
    if !nix::unistd::geteuid().is_root() {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    command
        .args([
            "--reuid=postgres",
            "--regid=postgres",
            "--clear-groups",
            "--",
        ])
        .arg(program);
    command
}

impl Postgres {
    pub fn start() -> Postgres {
        let folder = tempfile::Builder::new()
            .prefix("rl-")
            .tempdir_in("/tmp")
            .unwrap();
        if nix::unistd::geteuid().is_root() {
            output(Command::new("chown").arg("postgres:").arg(folder.path()));
        }
        let data = folder.path().join("data");
        output(
            server("initdb")
                .current_dir("/")
                .args([
                    "--no-sync",
                    "-A",
                    "trust",
                    "-U",
                    "test",
                    "-E",
                    "UTF8",
                    "--locale=C",
                ])
                .arg("-D")
                .arg(&data),
        );
        let child = server("postgres")
            .current_dir("/")
            .arg("-D")
            .arg(&data)
            .arg("-k")
            .arg(folder.path())
            .args(["-h", "", "-F", "-c", "shared_buffers=8MB"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let scripts = copy("postgresql");
        without(scripts.path(), |script| {
            script.replace("write.sql", "unchecked.sql")
        });
        let checked = std::fs::read_to_string(scripts.path().join("write.sql")).unwrap();
        let unchecked = checked
            .lines()
            .filter(|line| !line.contains("present_fence"));
        let unchecked: String = unchecked.map(|line| format!("{line}\n")).collect();
        std::fs::write(scripts.path().join("unchecked.sql"), unchecked).unwrap();
        let postgres = Postgres {
            scripts,
            folder,
            child,
        };
        wait_until("PostgreSQL", PATIENCE, || {
            let answer = postgres.psql().args(["-c", "SELECT 1"]).output().unwrap();
            answer.status.success()
        });
        let schema = postgres.scripts.path().join("schema.sql");
        output(postgres.psql().arg("-f").arg(schema));
        postgres
    }

    fn psql(&self) -> Command {
        let mut command = Command::new("psql");
        command
            .args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1"])
            .envs(self.environment());
        command
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        // QUIT: at once, and with all of the server's own processes.
        send(self.child.id(), Signal::SIGQUIT);
        self.child.wait().expect("the server is ours to wait for");
    }
}

impl Resource for Postgres {
    fn script(&self, name: &str) -> PathBuf {
        self.scripts.path().join(name)
    }

    fn environment(&self) -> Vec<(&'static str, PathBuf)> {
        vec![
            ("PGHOST", self.folder.path().to_owned()),
            ("PGUSER", "test".into()),
            ("PGDATABASE", "postgres".into()),
        ]
    }

    fn target(&self, name: &str) -> String {
        name.to_owned()
    }

    fn current(&self, name: &str) -> String {
        let query =
            format!("SELECT value FROM totals WHERE resource = '{name}' ORDER BY id DESC LIMIT 1");
        output(self.psql().args(["-c", &query]))
    }

    fn all_current(&self) -> Vec<(String, String)> {
        let query =
            "SELECT DISTINCT ON (resource) resource, value FROM totals ORDER BY resource, id DESC";
        pairs(&output(self.psql().args(["-c", query])))
    }
}
