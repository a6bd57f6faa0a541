//! This host, this user, this terminal: words for people.

use std::io::{BufRead, BufReader};

use nix::unistd::Uid;

/// The host's name, as in uname(2).
pub fn name() -> String {
    nix::unistd::gethostname()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default()
}

/// The effective user's name from /etc/passwd, else from the environment, else the number. Not by getpwuid(3): a
/// static build would have to load NSS for it.
pub fn user() -> String {
    let uid = Uid::effective().as_raw();
    in_passwd(uid)
        .or_else(|| std::env::var("USER").ok().filter(|user| !user.is_empty()))
        .unwrap_or_else(|| format!("uid {uid}"))
}

fn in_passwd(uid: u32) -> Option<String> {
    let file = std::fs::File::open("/etc/passwd").ok()?;
    BufReader::new(file)
        .lines()
        .map_while(Result::ok)
        .find_map(|line| {
            let mut fields = line.split(':');
            let name = fields.next()?;
            let number = fields.nth(1)?;
            (number == uid.to_string()).then(|| name.to_owned())
        })
}

/// The width of the terminal on stderr, 80 where there is none.
pub fn columns() -> usize {
    rustix::termios::tcgetwinsize(std::io::stderr())
        .ok()
        .map(|size| usize::from(size.ws_col))
        .filter(|columns| *columns > 0)
        .unwrap_or(80)
}
