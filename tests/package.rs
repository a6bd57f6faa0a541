//! What people install: the files of `make install`, and of the crate.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

const PAGES: &[&str] = &[
    "redlease-acquire.1",
    "redlease-break.1",
    "redlease-check.1",
    "redlease-completions.1",
    "redlease-doctor.1",
    "redlease-fence-check.1",
    "redlease-fence.1",
    "redlease-release.1",
    "redlease-renew.1",
    "redlease-run.1",
    "redlease-status.1",
    "redlease.1",
];

fn make(words: &[&str], destination: &Path) {
    let out = Command::new("make")
        .arg("--no-print-directory")
        .args(words)
        .arg(format!("BINARY={}", env!("CARGO_BIN_EXE_redlease")))
        .arg(format!("DESTDIR={}", destination.display()))
        .arg("PREFIX=/usr")
        // A jobserver of the make that runs the tests is not ours.
        .env_remove("MAKEFLAGS")
        .env_remove("MFLAGS")
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert!(
        out.status.success(),
        "{}",
        String::from_utf8_lossy(&out.stderr)
    );
}

fn files(root: &Path, dir: &Path, into: &mut BTreeSet<String>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(root, &path, into);
        } else {
            let name = path.strip_prefix(root).unwrap();
            into.insert(name.to_str().unwrap().to_owned());
        }
    }
}

#[test]
fn make_install_puts_files_in_their_places_and_uninstall_takes_them_away() {
    let folder = tempfile::tempdir().unwrap();
    let installed = || {
        let mut found = BTreeSet::new();
        files(folder.path(), folder.path(), &mut found);
        found
    };
    make(&["install"], folder.path());
    let mut wanted: BTreeSet<String> = PAGES
        .iter()
        .map(|page| format!("usr/share/man/man1/{page}"))
        .collect();
    wanted.extend(
        [
            "usr/bin/redlease",
            "usr/share/man/man7/redlease.7",
            "usr/share/bash-completion/completions/redlease",
            "usr/share/zsh/site-functions/_redlease",
            "usr/share/fish/vendor_completions.d/redlease.fish",
        ]
        .map(str::to_owned),
    );
    assert_eq!(installed(), wanted);
    let mode = |name: &str| {
        let path = folder.path().join(name);
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    };
    assert_eq!(mode("usr/bin/redlease"), 0o755);
    assert_eq!(mode("usr/share/man/man1/redlease.1"), 0o644);
    make(&["uninstall"], folder.path());
    assert_eq!(installed(), BTreeSet::new());
}

/// `cargo install` builds from these files alone: sources, scripts, what people read; no tests.
#[test]
fn the_crate_contains_what_it_must_and_nothing_else() {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let out = Command::new(cargo)
        .args(["package", "--list", "--allow-dirty", "--offline"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success(), "{said}");
    let listed = String::from_utf8(out.stdout).unwrap();
    let listed: BTreeSet<&str> = listed.lines().collect();
    for needed in [
        "Cargo.toml",
        "Cargo.lock",
        "README.md",
        "CHANGELOG.md",
        "LICENSE-MIT",
        "LICENSE-APACHE",
        "src/main.rs",
        "src/lease/acquire.lua",
        "man/redlease.1",
        "completions/_redlease",
        "examples/crontab",
    ] {
        assert!(listed.contains(needed), "{needed} is missing");
    }
    let places = ["src/", "man/", "completions/", "examples/"];
    let single = [
        "Cargo.toml",
        "Cargo.toml.orig",
        "Cargo.lock",
        ".cargo_vcs_info.json",
        "README.md",
        "CHANGELOG.md",
        "LICENSE-MIT",
        "LICENSE-APACHE",
        "Makefile",
        "tests/setup",
    ];
    for name in listed {
        let known = single.contains(&name) || places.iter().any(|place| name.starts_with(place));
        assert!(known, "{name} has no business in the crate");
    }
}
