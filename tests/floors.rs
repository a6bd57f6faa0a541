//! The layers of the source: imports go down only, and some crates, words and files have one place.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// From the top down. A file belongs to the longest name that its path begins with. It may use what is below its
/// own floor; beside it, only its own.
const FLOORS: &[&[&str]] = &[
    &["main"],
    &[
        "run",
        "status",
        "acquire",
        "holding",
        "breaking",
        "fence",
        "doctor",
        "completions",
    ],
    &["plan"],
    &["supervise", "lease::keeper"],
    &[
        "cli",
        "report",
        "lease::store",
        "lease::protocol",
        "supervise::machine",
        "supervise::ending",
        "supervise::policy",
        "supervise::wire",
    ],
    &["lease", "exit"],
    &["time", "sys", "mutate"],
];

/// Words know each other: a failure of the keeper names an exit code, and the machine speaks of policies and ends.
const TOGETHER: &[&[&str]] = &[
    &["lease", "exit"],
    &["time", "sys", "mutate"],
    &[
        "supervise::machine",
        "supervise::ending",
        "supervise::policy",
        "supervise::wire",
    ],
];

/// Crates that only these may name.
const CRATES: &[(&str, &[&str])] = &[
    ("clap", &["cli"]),
    ("clap_complete", &["cli"]),
    ("redis", &["lease::store"]),
    ("rustls", &["lease::store"]),
    ("nix", &["sys", "time", "lease::store"]),
    ("rustix", &["sys", "time", "lease::store"]),
    ("libc", &["sys"]),
];

const LONGEST_FILE: usize = 400;

struct File {
    path: PathBuf,
    /// `lease::store::link`.
    module: Vec<String>,
    /// Without comments, and without its tests.
    code: String,
    lines: usize,
}

impl File {
    fn unit(&self) -> Option<&'static str> {
        unit(&self.module)
    }

    fn complain(&self, about: &str) -> String {
        format!("{}: {about}", self.path.display())
    }
}

fn unit(module: &[String]) -> Option<&'static str> {
    let path = format!("{}::", module.join("::"));
    FLOORS
        .iter()
        .copied()
        .flatten()
        .filter(|unit| path.starts_with(&format!("{unit}::")))
        .max_by_key(|unit| unit.len())
        .copied()
}

fn floor(unit: &str) -> usize {
    FLOORS
        .iter()
        .position(|floor| floor.contains(&unit))
        .expect("a unit of the table")
}

fn sources() -> Vec<File> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut paths = Vec::new();
    collect(&root, &mut paths);
    let mut files: Vec<File> = paths.iter().map(|path| read(&root, path)).collect();
    let tests: BTreeSet<Vec<String>> = paths
        .iter()
        .flat_map(|path| test_modules(&root, path))
        .collect();
    files.retain(|file| !(1..=file.module.len()).any(|n| tests.contains(&file.module[..n])));
    assert!(files.len() > 10, "the sources were not found");
    files
}

fn collect(dir: &Path, into: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, into);
        } else if path.extension().is_some_and(|end| end == "rs") {
            into.push(path);
        }
    }
}

fn module_of(root: &Path, path: &Path) -> Vec<String> {
    path.strip_prefix(root)
        .unwrap()
        .with_extension("")
        .iter()
        .map(|part| part.to_str().unwrap().to_owned())
        .collect()
}

fn read(root: &Path, path: &Path) -> File {
    let text = fs::read_to_string(path).unwrap();
    // Inline tests are the last thing in a file.
    let end = text.find("#[cfg(test)]\nmod tests {").unwrap_or(text.len());
    let code = text[..end]
        .lines()
        .map(|line| line.split("//").next().unwrap_or_default())
        .collect::<Vec<_>>()
        .join("\n");
    File {
        path: path.strip_prefix(root).unwrap().to_owned(),
        module: module_of(root, path),
        code,
        lines: text.lines().count(),
    }
}

/// Modules that are declared below `#[cfg(test)]`: their files are tests.
fn test_modules(root: &Path, path: &Path) -> Vec<Vec<String>> {
    let text = fs::read_to_string(path).unwrap();
    let parent = module_of(root, path);
    let mut found = Vec::new();
    let mut gated = false;
    for line in text.lines().map(str::trim) {
        if line == "#[cfg(test)]" {
            gated = true;
        } else if gated && !line.starts_with("#[") {
            gated = false;
            let name = line
                .trim_start_matches("pub ")
                .strip_prefix("mod ")
                .and_then(|rest| rest.strip_suffix(';'));
            if let Some(name) = name {
                let mut module = if parent == ["main"] {
                    Vec::new()
                } else {
                    parent.clone()
                };
                module.push(name.to_owned());
                found.push(module);
            }
        }
    }
    found
}

/// All paths of the crate that a file names, as modules from the root.
fn uses(file: &File) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    for (at, start) in starts(&file.code) {
        let mut base = match start {
            "crate::" => Vec::new(),
            _ => {
                let mut parent = file.module.clone();
                parent.pop();
                parent
            }
        };
        let mut rest = &file.code[at + start.len()..];
        while let Some(up) = rest.strip_prefix("super::") {
            base.pop();
            rest = up;
        }
        expand(&base, rest, &mut found);
    }
    // `use child::Word`, relative to the file itself.
    for (at, start) in file.code.match_indices("\nuse ") {
        expand(&file.module, &file.code[at + start.len()..], &mut found);
    }
    found
}

fn starts(code: &str) -> Vec<(usize, &'static str)> {
    ["crate::", "super::"]
        .into_iter()
        .flat_map(|start| code.match_indices(start).map(move |(at, _)| (at, start)))
        .filter(|(at, _)| {
            let before = code[..*at].chars().next_back();
            !before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == ':')
        })
        .collect()
}

/// `a::{b, c::d}` after `base`.
fn expand(base: &[String], text: &str, found: &mut Vec<Vec<String>>) {
    let mut path = base.to_vec();
    let mut rest = text.trim_start();
    loop {
        if let Some(group) = rest.strip_prefix('{') {
            for item in items(group) {
                expand(&path, item, found);
            }
            return;
        }
        let end = rest
            .find(|c: char| !(c.is_alphanumeric() || c == '_'))
            .unwrap_or(rest.len());
        if end == 0 {
            break;
        }
        path.push(rest[..end].to_owned());
        match rest[end..].strip_prefix("::") {
            Some(next) => rest = next.trim_start(),
            None => break,
        }
    }
    found.push(path);
}

/// The parts between commas, up to the brace that closes the group.
fn items(group: &str) -> Vec<&str> {
    let (mut depth, mut from, mut parts) = (0_u32, 0, Vec::new());
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => {
                parts.push(&group[from..at]);
                break;
            }
            '}' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&group[from..at]);
                from = at + 1;
            }
            _ => {}
        }
    }
    parts.retain(|part| !part.trim().is_empty());
    parts
}

fn names_word(code: &str, word: &str) -> bool {
    let part = |c: char| c.is_alphanumeric() || c == '_';
    code.match_indices(word).any(|(at, _)| {
        !code[..at].chars().next_back().is_some_and(part)
            && !code[at + word.len()..].chars().next().is_some_and(part)
    })
}

fn complaints(check: impl Fn(&File) -> Vec<String>) {
    let found: Vec<String> = sources().iter().flat_map(check).collect();
    assert!(found.is_empty(), "\n{}", found.join("\n"));
}

#[test]
fn every_file_has_a_floor() {
    complaints(|file| match file.unit() {
        Some(_) => Vec::new(),
        None => vec![file.complain("it is on no floor: add it to the table, or move it")],
    });
}

#[test]
fn imports_go_down() {
    complaints(|file| {
        let Some(from) = file.unit() else {
            return Vec::new();
        };
        uses(file)
            .iter()
            .filter_map(|path| unit(path).map(|to| (path, to)))
            .filter(|(_, to)| {
                let together = TOGETHER
                    .iter()
                    .any(|set| set.contains(&from) && set.contains(to));
                *to != from && !together && floor(to) <= floor(from)
            })
            .map(|(path, to)| file.complain(&format!("{from} uses {} of {to}", path.join("::"))))
            .collect()
    });
}

#[test]
fn crates_have_one_place() {
    complaints(|file| {
        CRATES
            .iter()
            .filter(|(_, places)| !file.unit().is_some_and(|unit| places.contains(&unit)))
            .filter(|(name, _)| {
                file.code
                    .match_indices(&format!("{name}::"))
                    .any(|(at, _)| {
                        let before = file.code[..at].chars().next_back();
                        !before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == ':')
                    })
            })
            .map(|(name, places)| file.complain(&format!("{name} belongs in {places:?}")))
            .collect()
    });
}

#[test]
fn unsafe_code_is_under_sys_and_only_main_ends_the_process() {
    complaints(|file| {
        let mut found = Vec::new();
        if file.unit() != Some("sys") && names_word(&file.code, "unsafe") {
            found.push(file.complain("unsafe belongs under sys"));
        }
        if file.unit() != Some("main") && file.code.contains("process::exit") {
            found.push(file.complain("only main ends the process"));
        }
        found
    });
}

#[test]
fn files_are_short_and_have_names_that_say_something() {
    complaints(|file| {
        let mut found = Vec::new();
        if file.lines > LONGEST_FILE {
            found.push(file.complain(&format!("{} lines: it has two purposes", file.lines)));
        }
        let name = file.module.last().map(String::as_str).unwrap_or_default();
        if [
            "mod", "util", "utils", "common", "helpers", "types", "manager",
        ]
        .contains(&name)
        {
            found.push(file.complain("a name that says nothing"));
        }
        found
    });
}

/// The reader of the sources itself: an upward import would be seen.
#[test]
fn an_upward_import_is_seen() {
    let file = |module: &str, code: &str| File {
        path: module.into(),
        module: module.split("::").map(str::to_owned).collect(),
        code: code.to_owned(),
        lines: 1,
    };
    let paths = |module, code| -> Vec<String> {
        uses(&file(module, code))
            .iter()
            .map(|path| path.join("::"))
            .collect()
    };
    assert_eq!(
        paths("lease::names", "use crate::{plan::{self, run::X}, time};"),
        ["plan::self", "plan::run::X", "time"]
    );
    assert_eq!(
        paths("lease::store::link", "super::super::names::Key"),
        ["lease::names::Key"]
    );
    assert_eq!(
        paths("lease", "mod store;\nuse store::Link;"),
        ["lease::store::Link"]
    );
    assert_eq!(
        paths("plan::run", "use super::stack::Stack;"),
        ["plan::stack::Stack"]
    );
    assert_eq!(
        unit(&["lease".into(), "store".into(), "link".into()]),
        Some("lease::store")
    );
    assert!(floor("plan") < floor("lease"));
}
