//! Small programs in C, compiled where they are needed: where a Rust program can be linked there is a `cc`.

use std::path::{Path, PathBuf};
use std::process::Command;

pub fn compile(folder: &Path, name: &str, flags: &[&str]) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/programs/{name}.c"));
    let program = folder.join(name.to_owned() + ".bin");
    let status = Command::new("cc")
        .args(["-O1", "-o"])
        .args([&program, &source])
        .args(flags)
        .status()
        .expect("cc, which links Rust programs too");
    assert!(status.success(), "{} does not compile", source.display());
    program
}
