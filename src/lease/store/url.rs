//! What a URL means: from its text to a `Target`. Whatever a URL parser would take in silence and mean otherwise is
//! refused here.

use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use super::target::{BadUrl, Credentials, Host, Secret, Shape, Target, TlsOptions};

const PORT: u16 = 6379;
const SENTINEL_PORT: u16 = 26379;
// What Redis takes as the index of a database is an int of C.
const LAST_DB: u32 = i32::MAX.unsigned_abs();

const ENCODE: &str = "the URL cannot be read: in a user or password each of : / ? # [ ] @ % and = must be percent-encoded (@ is %40, / is %2F, # is %23, : is %3A, % is %25)";

enum Kind {
    One,
    Unix,
    Sentinel,
    Cluster,
}

impl Target {
    /// What a URL means. A user without a password is refused: such a URL sends no AUTH at all.
    pub fn parse(text: &str) -> Result<Target, BadUrl> {
        Target::parse_with(text, None)
    }

    /// As `parse`, with a password from elsewhere, which takes the place of the URL's.
    pub fn parse_with(text: &str, password: Option<Secret>) -> Result<Target, BadUrl> {
        let mut target = parse(text)?;
        if password.is_some() {
            target.login.password = password;
        }
        if target.login.user.is_some() && target.login.password.is_none() {
            return Err(BadUrl(
                "the URL has a user without a password: write USER:PASSWORD@, or :PASSWORD@ for a password alone, or give --password-file"
                    .to_owned(),
            ));
        }
        Ok(target)
    }
}

fn parse(text: &str) -> Result<Target, BadUrl> {
    let Some((scheme, rest)) = text.split_once("://") else {
        return bad(
            "the URL has no scheme: write redis://HOST:PORT, rediss://, redis+unix:///PATH, redis-sentinel:// or redis-cluster://",
        );
    };
    let (kind, tls) = match scheme.to_ascii_lowercase().as_str() {
        "redis" | "valkey" => (Kind::One, false),
        "rediss" | "valkeys" => (Kind::One, true),
        "unix" | "redis+unix" | "valkey+unix" => (Kind::Unix, false),
        "redis-sentinel" | "valkey-sentinel" => (Kind::Sentinel, false),
        "rediss-sentinel" | "valkeys-sentinel" => (Kind::Sentinel, true),
        "redis-cluster" | "valkey-cluster" => (Kind::Cluster, false),
        "rediss-cluster" | "valkeys-cluster" => (Kind::Cluster, true),
        _ => {
            return bad(
                "the scheme of the URL is unknown: redis, rediss, redis+unix, unix, valkey, valkeys, redis-sentinel, rediss-sentinel, redis-cluster and rediss-cluster are known",
            );
        }
    };
    if rest.chars().any(|c| c.is_control() || c == ' ') {
        return bad("the URL contains a space or a control character");
    }
    match kind {
        Kind::Unix => unix(rest),
        _ => network(&kind, tls, rest),
    }
}

fn unix(rest: &str) -> Result<Target, BadUrl> {
    if rest.contains('#') {
        return bad("the URL has a fragment: a # in a path or password is written %23");
    }
    let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
    if !path.starts_with('/') || path.ends_with('/') {
        return bad("the path of a Unix socket is absolute: unix:///run/redis/redis.sock");
    }
    let mut login = Credentials::default();
    let mut db = 0;
    let mut seen = Vec::new();
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        if seen.contains(&key) {
            return Err(BadUrl(format!("the URL says {} twice", name(key))));
        }
        seen.push(key);
        match key {
            "db" => db = database(value)?,
            "user" => login.user = Some(filled(text(value)?)?),
            "pass" => login.password = Some(Secret::new(filled(text(value)?)?)),
            _ => {
                return Err(BadUrl(format!(
                    "the URL has {} in its query, and only db, user and pass are known",
                    name(key)
                )));
            }
        }
    }
    Ok(Target {
        shape: Shape::Unix(PathBuf::from(std::ffi::OsString::from_vec(decode(path)?))),
        login,
        sentinel: Credentials::default(),
        db,
        tls: false,
        options: TlsOptions::default(),
        assumed: false,
    })
}

fn network(kind: &Kind, tls: bool, rest: &str) -> Result<Target, BadUrl> {
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, tail) = rest.split_at(end);
    // An @ further on: what ended the authority was a raw character of a password. Nobody's host is tried then.
    if tail.contains('@') {
        return bad(ENCODE);
    }
    let (login, hosts) = match authority.split_once('@') {
        Some((login, hosts)) if !hosts.contains('@') => (credentials(login)?, hosts),
        Some(_) => return bad(ENCODE),
        None => (Credentials::default(), authority),
    };
    let (tail, fragment) = tail.split_once('#').unwrap_or((tail, ""));
    if fragment == "insecure" {
        return bad("the URL has #insecure: write --tls-insecure");
    }
    if !fragment.is_empty() || rest.ends_with('#') {
        return bad("the URL has a fragment: a # in a password is written %23");
    }
    let (path, query) = tail.split_once('?').unwrap_or((tail, ""));
    if let Some(pair) = query.split('&').find(|pair| !pair.is_empty()) {
        let key = pair.split('=').next().unwrap_or_default();
        return Err(BadUrl(match key {
            "db" => {
                "the URL has db in its query: write the number as the path, redis://HOST:PORT/4"
                    .to_owned()
            }
            _ => format!(
                "the URL has {} in its query, where nothing is known",
                name(key)
            ),
        }));
    }
    let port = match kind {
        Kind::Sentinel => SENTINEL_PORT,
        _ => PORT,
    };
    let mut hosts = hosts
        .split(',')
        .map(|text| host(text, port))
        .collect::<Result<Vec<_>, _>>()?;
    let mut steps = path.strip_prefix('/').unwrap_or(path).split('/');
    let mut step = || steps.next().filter(|step| !step.is_empty());
    let shape = match kind {
        Kind::Sentinel => {
            let Some(primary) = step() else {
                return bad(
                    "the URL lacks the name of the primary: redis-sentinel://HOST:26379,HOST/NAME",
                );
            };
            Shape::Sentinel(hosts, filled(text(primary)?)?)
        }
        Kind::Cluster => Shape::Cluster(hosts),
        Kind::One | Kind::Unix => {
            let first = hosts.pop();
            match first {
                Some(host) if hosts.is_empty() => Shape::One(host),
                _ => {
                    return bad(
                        "the URL has several hosts: they need redis-sentinel:// or redis-cluster://",
                    );
                }
            }
        }
    };
    let db = step().map_or(Ok(0), database)?;
    if step().is_some() {
        return bad("the path of the URL has more than the number of a database");
    }
    if matches!(shape, Shape::Cluster(_)) && db != 0 {
        return bad("a cluster has database 0 only");
    }
    Ok(Target {
        shape,
        login,
        sentinel: Credentials::default(),
        db,
        tls,
        options: TlsOptions::default(),
        assumed: false,
    })
}

fn credentials(login: &str) -> Result<Credentials, BadUrl> {
    if login.contains(['[', ']']) {
        return bad(ENCODE);
    }
    let (user, password) = match login.split_once(':') {
        Some((user, password)) => (user, Some(password)),
        None => (login, None),
    };
    let password = password
        .map(|password| filled(text(password)?).map(Secret::new))
        .transpose()?;
    let user = text(user)?;
    if user.is_empty() && password.is_none() {
        return bad("the URL has an empty user and no password before the @");
    }
    Ok(Credentials {
        user: Some(user).filter(|user| !user.is_empty()),
        password,
    })
}

fn host(text: &str, port: u16) -> Result<Host, BadUrl> {
    let (name, rest) = match text.strip_prefix('[') {
        Some(inner) => {
            let Some((name, rest)) = inner.split_once(']') else {
                return bad("the URL has a [ without its ]");
            };
            if name.parse::<std::net::Ipv6Addr>().is_err() {
                return bad("what the URL has in brackets is no IPv6 address");
            }
            (name, rest)
        }
        None => text.split_at(text.find(':').unwrap_or(text.len())),
    };
    let known = |c: char| c.is_ascii_alphanumeric() || "-_.:".contains(c) || !c.is_ascii();
    if name.is_empty() || !name.chars().all(known) {
        return bad(
            "the URL has no host, or one with characters that no host has (an IPv6 address stands in brackets)",
        );
    }
    let port = match rest.strip_prefix(':') {
        None if rest.is_empty() => port,
        // Only digits: `+1` is a number for a parser, and nobody's port.
        Some(digits) if digits.bytes().all(|byte| byte.is_ascii_digit()) => {
            match digits.parse::<u16>() {
                Ok(port) if port > 0 => port,
                _ => return bad("the port in the URL is not a number from 1 to 65535"),
            }
        }
        _ => {
            return bad(
                "the port in the URL is not a number from 1 to 65535 (an IPv6 address stands in brackets; in a password : @ / # are percent-encoded)",
            );
        }
    };
    Ok(Host {
        name: name.to_owned(),
        port,
    })
}

fn database(text: &str) -> Result<u32, BadUrl> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    match text.parse::<u32>() {
        Ok(db) if digits && db <= LAST_DB => Ok(db),
        _ => bad("the database in the URL is not a number"),
    }
}

fn filled(text: String) -> Result<String, BadUrl> {
    if text.is_empty() {
        return bad("the URL has an empty user, password or name");
    }
    Ok(text)
}

fn text(encoded: &str) -> Result<String, BadUrl> {
    String::from_utf8(decode(encoded)?)
        .map_err(|_| BadUrl("the URL has percent-encoded bytes that are no UTF-8".to_owned()))
}

fn decode(encoded: &str) -> Result<Vec<u8>, BadUrl> {
    let digit = |byte: Option<u8>| byte.and_then(|byte| char::from(byte).to_digit(16));
    let mut bytes = encoded.bytes();
    let mut decoded = Vec::with_capacity(encoded.len());
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            decoded.push(byte);
            continue;
        }
        match (digit(bytes.next()), digit(bytes.next())) {
            (Some(high), Some(low)) => decoded.push(u8::try_from(high * 16 + low).unwrap_or(0)),
            _ => return bad(ENCODE),
        }
    }
    if decoded.contains(&0) {
        return bad("the URL has an encoded zero byte");
    }
    Ok(decoded)
}

/// What other clients know in a query.
const NAMED: &[&str] = &[
    "client_name",
    "db",
    "decode_responses",
    "family",
    "health_check_interval",
    "idle_timeout",
    "max_connections",
    "pass",
    "password",
    "protocol",
    "retry_on_timeout",
    "socket_connect_timeout",
    "socket_timeout",
    "ssl",
    "ssl_ca_certs",
    "ssl_cert_reqs",
    "ssl_check_hostname",
    "timeout",
    "tls",
    "user",
    "username",
    "virtual_host",
];

/// A query key as it may be shown. Any other can be the rest of a password with an unencoded ? or & in it.
fn name(key: &str) -> String {
    if NAMED.contains(&key) {
        format!("`{key}`")
    } else {
        "something".to_owned()
    }
}

fn bad<T>(text: &str) -> Result<T, BadUrl> {
    Err(BadUrl(text.to_owned()))
}

#[cfg(test)]
mod tests;
