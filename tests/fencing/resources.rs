//! The resources of the examples, each with what its writers need and what its readers see.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

pub use super::postgres::Postgres;

pub trait Resource {
    /// The folder with the scripts of the example, and of its copy without the check.
    fn script(&self, name: &str) -> PathBuf;
    /// The name of the script without the check.
    fn unchecked(&self) -> &str {
        "unchecked.sh"
    }
    fn environment(&self) -> Vec<(&'static str, PathBuf)>;
    /// What the script's first argument names.
    fn target(&self, name: &str) -> String;
    /// What a reader finds.
    fn current(&self, name: &str) -> String;
    /// All names, and what a reader finds for each.
    fn all_current(&self) -> Vec<(String, String)>;

    fn writer(&self, script: &str, name: &str, value: &str) -> Vec<String> {
        let script = self.script(script).display().to_string();
        vec![script, self.target(name), value.to_owned()]
    }
}

/// Lines of `name|value`.
pub fn pairs(lines: &str) -> Vec<(String, String)> {
    let pair = |line: &str| {
        let (name, value) = line.split_once('|').unwrap();
        (name.to_owned(), value.to_owned())
    };
    lines.lines().map(pair).collect()
}

/// A copy of an example's folder, to which a script without its check is added.
pub fn copy(name: &str) -> TempDir {
    let from = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("examples/fencing")
        .join(name);
    let folder = tempfile::tempdir().unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        fs::copy(&path, folder.path().join(path.file_name().unwrap())).unwrap();
    }
    folder
}

/// `unchecked.sh` is `write.sh` but for what `change` does to it.
pub fn without(folder: &Path, change: impl Fn(&str) -> String) {
    let script = fs::read_to_string(folder.join("write.sh")).unwrap();
    let changed = change(&script);
    assert_ne!(changed, script);
    // A copy, so that it can be executed as its model.
    fs::copy(folder.join("write.sh"), folder.join("unchecked.sh")).unwrap();
    fs::write(folder.join("unchecked.sh"), changed).unwrap();
}

pub fn output(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

pub struct Sqlite(TempDir);

impl Sqlite {
    pub fn new() -> Sqlite {
        let folder = copy("sqlite");
        let schema = folder.path().join("schema.sql");
        output(
            Command::new("sqlite3")
                .arg(folder.path().join("totals.db"))
                .stdin(fs::File::open(schema).unwrap()),
        );
        without(folder.path(), |script| {
            let kept = script.lines().filter(|line| {
                !line.contains("INTO fences") && !line.trim_start().starts_with("ON CONFLICT")
            });
            kept.map(|line| format!("{line}\n")).collect()
        });
        Sqlite(folder)
    }

    fn query(&self, query: &str) -> String {
        output(
            Command::new("sqlite3")
                .args(["-cmd", ".timeout 10000"])
                .arg(self.0.path().join("totals.db"))
                .arg(query),
        )
    }
}

impl Resource for Sqlite {
    fn script(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn environment(&self) -> Vec<(&'static str, PathBuf)> {
        vec![("TOTALS", self.0.path().join("totals.db"))]
    }

    fn target(&self, name: &str) -> String {
        name.to_owned()
    }

    fn current(&self, name: &str) -> String {
        self.query(&format!(
            "SELECT value FROM totals WHERE resource = '{name}' ORDER BY id DESC LIMIT 1"
        ))
    }

    fn all_current(&self) -> Vec<(String, String)> {
        pairs(&self.query(
            "SELECT resource, value FROM totals WHERE id IN (SELECT max(id) FROM totals GROUP BY resource)",
        ))
    }
}

pub struct Directory(TempDir);

impl Directory {
    pub fn new() -> Directory {
        let folder = copy("directory");
        without(folder.path(), |script| {
            script.replace("\"$REDLEASE_FENCE\")", "1)")
        });
        Directory(folder)
    }
}

impl Resource for Directory {
    fn script(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn environment(&self) -> Vec<(&'static str, PathBuf)> {
        Vec::new()
    }

    fn target(&self, name: &str) -> String {
        let folder = self.0.path().join("totals").join(name);
        fs::create_dir_all(&folder).unwrap();
        folder.display().to_string()
    }

    fn current(&self, name: &str) -> String {
        let folder = self.target(name);
        let newest = output(Command::new(self.script("newest.sh")).arg(&folder));
        let value = fs::read_to_string(Path::new(&folder).join(newest)).unwrap();
        value.trim().to_owned()
    }

    fn all_current(&self) -> Vec<(String, String)> {
        let named = |entry: std::io::Result<fs::DirEntry>| {
            let name = entry.unwrap().file_name().into_string().unwrap();
            let folder = self.0.path().join("totals").join(&name);
            let files = fs::read_dir(folder)
                .unwrap()
                .map(|file| file.unwrap().path());
            let newest = files.max().unwrap();
            (name, fs::read_to_string(newest).unwrap().trim().to_owned())
        };
        fs::read_dir(self.0.path().join("totals"))
            .unwrap()
            .map(named)
            .collect()
    }
}
