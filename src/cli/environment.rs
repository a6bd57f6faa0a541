//! The variables that redlease reads. A flag beats its variable, and an empty one counts as unset.

/// A variable and what it stands for.
pub(super) struct Variable {
    pub name: &'static str,
    pub meaning: &'static str,
}

const fn of(name: &'static str, meaning: &'static str) -> Variable {
    Variable { name, meaning }
}

/// In the order of the manual.
pub(super) const READ: &[Variable] = &[
    of("REDLEASE_URL", "as --url; before REDIS_URL"),
    of("REDIS_URL", "as --url, when REDLEASE_URL is unset"),
    of("REDLEASE_URL_FILE", "as --url-file"),
    of("REDLEASE_PASSWORD_FILE", "as --password-file"),
    of("REDLEASE_TLS_CA", "as --tls-ca"),
    of("REDLEASE_TLS_CERT", "as --tls-cert"),
    of("REDLEASE_TLS_KEY", "as --tls-key"),
    of("REDLEASE_TLS_INSECURE", "as --tls-insecure: true or false"),
    of("REDLEASE_CONNECT_TIMEOUT", "as --connect-timeout"),
    of("REDLEASE_PREFIX", "as --prefix"),
    of("REDLEASE_SENTINEL_USER", "as --sentinel-user"),
    of(
        "REDLEASE_SENTINEL_PASSWORD_FILE",
        "as --sentinel-password-file",
    ),
    of("REDLEASE_TTL", "as --ttl"),
    of("REDLEASE_RETAIN", "as --retain"),
    of(
        "REDLEASE_RAW_KEY",
        "as --raw-key of renew, release and check: true or false",
    ),
    of("REDLEASE_LABEL", "as --label"),
    of("REDLEASE_QUIET", "as --quiet: true or false"),
    of("REDLEASE_VERBOSE", "as --verbose: true or false"),
    of("REDLEASE_LOG_FORMAT", "as --log-format: text or json"),
];

/// What a job finds in its environment.
pub(super) const GIVEN: &[Variable] = &[
    of("REDLEASE_HELD", "true"),
    of("REDLEASE_KEY", "the key, as typed"),
    of("REDLEASE_TOKEN", "the token of this holding"),
    of(
        "REDLEASE_FENCE",
        "a number that grows from one holding to the next",
    ),
    of("REDLEASE_SLOT", "1 to N of --limit N, else 1"),
    of("REDLEASE_TTL_MS", "the TTL in milliseconds"),
    of(
        "REDLEASE_ACQUIRED_AT_MS",
        "the server's time of the acquire, in milliseconds since 1970",
    ),
    of(
        "REDLEASE_STACK",
        "enclosing leases, so that a run inside a run for the same key is refused",
    ),
];
