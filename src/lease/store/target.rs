//! Which Redis, and as whom.

use std::fmt;
use std::path::PathBuf;

/// A text that is never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    pub fn new(text: String) -> Secret {
        Secret(text)
    }

    /// For the wire alone.
    pub(super) fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Secret(…)")
    }
}

/// Why a URL is refused. It quotes nothing of the URL but the names of query keys: what looks like a host or a
/// port can be part of a password.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadUrl(pub String);

impl fmt::Display for BadUrl {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl std::error::Error for BadUrl {}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Host {
    /// Without the brackets of IPv6.
    pub name: String,
    pub port: u16,
}

impl fmt::Display for Host {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.name.contains(':') {
            write!(out, "[{}]:{}", self.name, self.port)
        } else {
            write!(out, "{}:{}", self.name, self.port)
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shape {
    One(Host),
    Unix(PathBuf),
    /// The sentinels, and the name of the primary that they watch.
    Sentinel(Vec<Host>, String),
    /// The seeds.
    Cluster(Vec<Host>),
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TlsOptions {
    /// Trusted instead of the system's certificates.
    pub ca: Option<PathBuf>,
    pub cert: Option<PathBuf>,
    pub key: Option<PathBuf>,
    /// Any certificate of the server is taken.
    pub insecure: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Credentials {
    pub user: Option<String>,
    pub password: Option<Secret>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    pub(super) shape: Shape,
    pub(super) login: Credentials,
    pub(super) sentinel: Credentials,
    pub(super) db: u32,
    pub(super) tls: bool,
    pub(super) options: TlsOptions,
    /// Nobody named it: a server that is not there may be another than was meant.
    pub(super) assumed: bool,
}

impl Target {
    pub fn has_password(&self) -> bool {
        self.login.password.is_some()
    }

    /// As whom to ask the sentinels: the URL's user is for the servers.
    pub fn set_sentinel_login(&mut self, user: Option<String>, password: Secret) {
        self.sentinel = Credentials {
            user,
            password: Some(password),
        };
    }

    pub fn set_tls(&mut self, options: TlsOptions) {
        self.options = options;
    }

    pub fn set_assumed(&mut self) {
        self.assumed = true;
    }

    /// Whether the URL asks for TLS: without it, TLS options contradict it.
    pub fn is_tls(&self) -> bool {
        self.tls
    }

    pub fn is_cluster(&self) -> bool {
        matches!(self.shape, Shape::Cluster(_))
    }

    /// For people: no user, no secret.
    pub fn describe(&self) -> String {
        let s = if self.tls { "s" } else { "" };
        match &self.shape {
            Shape::One(host) => format!("redis{s}://{host}/{}", self.db),
            Shape::Unix(path) if self.db == 0 => format!("unix://{}", path.display()),
            Shape::Unix(path) => format!("unix://{}?db={}", path.display(), self.db),
            Shape::Sentinel(hosts, name) => {
                format!("redis{s}-sentinel://{}/{name}/{}", list(hosts), self.db)
            }
            Shape::Cluster(hosts) => format!("redis{s}-cluster://{}", list(hosts)),
        }
    }

    /// The same text for the same server and database, whatever the order and the case of the hosts.
    pub fn place(&self) -> String {
        let sorted = |hosts: &[Host]| {
            let mut hosts = hosts.to_vec();
            for host in &mut hosts {
                host.name.make_ascii_lowercase();
            }
            hosts.sort();
            hosts.dedup();
            list(&hosts)
        };
        match &self.shape {
            Shape::One(host) => format!("{}/{}", sorted(std::slice::from_ref(host)), self.db),
            Shape::Unix(path) => format!("unix:{}/{}", path.display(), self.db),
            Shape::Sentinel(hosts, name) => format!("{}/{name}/{}", sorted(hosts), self.db),
            Shape::Cluster(hosts) => format!("{}/{}", sorted(hosts), self.db),
        }
    }
}

fn list(hosts: &[Host]) -> String {
    hosts
        .iter()
        .map(Host::to_string)
        .collect::<Vec<_>>()
        .join(",")
}
