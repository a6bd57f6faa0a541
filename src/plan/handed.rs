//! What was typed about the connection, as variables: for a script that goes on where an acquire left off.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::cli::connection::Connection as Typed;

/// Names and values in a fixed order. Relative paths are made absolute, since a script may change its folder; a
/// typed place takes the other of the same rank away.
pub fn handed(typed: &Typed) -> Vec<(&'static str, String)> {
    let path = |path: &Option<PathBuf>| {
        path.as_deref().map(|path: &Path| {
            let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
            absolute.to_string_lossy().into_owned()
        })
    };
    let mut set: Vec<(&'static str, String)> = Vec::new();
    if let Some(url) = &typed.url {
        set.push(("REDLEASE_URL", url.clone()));
        set.push(("REDLEASE_URL_FILE", String::new()));
    }
    if let Some(file) = path(&typed.url_file) {
        set.push(("REDLEASE_URL", String::new()));
        set.push(("REDLEASE_URL_FILE", file));
    }
    let others = [
        ("REDLEASE_PASSWORD_FILE", path(&typed.password_file)),
        ("REDLEASE_TLS_CA", path(&typed.tls_ca)),
        ("REDLEASE_TLS_CERT", path(&typed.tls_cert)),
        ("REDLEASE_TLS_KEY", path(&typed.tls_key)),
        (
            "REDLEASE_TLS_INSECURE",
            typed.tls_insecure.then(|| "true".to_owned()),
        ),
        (
            "REDLEASE_CONNECT_TIMEOUT",
            typed
                .connect_timeout
                .map(|limit: Duration| format!("{}ms", limit.as_millis())),
        ),
        (
            "REDLEASE_PREFIX",
            typed.prefix.as_ref().map(ToString::to_string),
        ),
        ("REDLEASE_SENTINEL_USER", typed.sentinel_user.clone()),
        (
            "REDLEASE_SENTINEL_PASSWORD_FILE",
            path(&typed.sentinel_password_file),
        ),
    ];
    set.extend(
        others
            .into_iter()
            .filter_map(|(name, value)| Some((name, value?))),
    );
    set
}
