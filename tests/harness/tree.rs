//! A job of many processes, each of which stamps the time every 10 ms, ignores TERM and has its own way to leave
//! its parent: a child in the background, one with a session of its own, a daemon that forked twice, and one
//! more that only the shell waits for.

use std::path::Path;

use super::process::{Moment, Stamps};

pub struct Tree(Vec<Stamps>);

const SHELL: &str = r#"
    stamp=$1; shift
    perl -e "$stamp" "$1" &
    setsid perl -e "$stamp" "$2" &
    (setsid sh -c 'perl -e "$0" "$1" & perl -e "$0" "$2" &' "$stamp" "$3" "$4" &)
    perl -e "$stamp" "$5"
    :
"#;

impl Tree {
    pub fn in_folder(folder: &Path) -> Tree {
        Tree::named(folder, "tree")
    }

    pub fn named(folder: &Path, name: &str) -> Tree {
        let stamps = |n: u8| Stamps::named(folder, &format!("{name}-{n}"));
        Tree((1..=5).map(stamps).collect())
    }

    pub fn job(&self) -> Vec<String> {
        let one = self.0[0].stubborn_job();
        let mut job = vec!["sh", "-c", SHELL, "sh", &one[2]]
            .into_iter()
            .map(str::to_owned)
            .collect::<Vec<String>>();
        job.extend(self.0.iter().map(|stamps| stamps.job()[3].clone()));
        job
    }

    #[track_caller]
    pub fn await_start(&self) {
        for stamps in &self.0 {
            stamps.await_start();
        }
    }

    /// The last sign of life of any of them.
    pub fn last(&self) -> Moment {
        self.0.iter().map(Stamps::last).max().expect("five files")
    }

    /// How many stamps there are in all.
    pub fn count(&self) -> usize {
        self.0.iter().map(|stamps| stamps.all().len()).sum()
    }
}
