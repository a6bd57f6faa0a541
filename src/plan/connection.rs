//! Which server, as whom: from options, the environment and files.

use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::Refused;
use super::source::Source;
use crate::cli::connection::Connection as Typed;
use crate::cli::values;
use crate::lease::names::Prefix;
use crate::lease::store::target::{BadUrl, Secret, Target, TlsOptions};

const DEFAULT_URL: &str = "redis://127.0.0.1:6379";
const ASSUMED: &str = "the default";
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Enough for any URL, password or certificate; a file past it is another file than was meant.
const LARGEST: u64 = 1 << 20;

/// Where to ask, and for how long at first.
#[derive(Clone)]
pub struct Connection {
    pub target: Target,
    pub connect_timeout: Duration,
    pub prefix: Prefix,
    /// Lines for stderr, without `redlease: ` before them.
    pub warnings: Vec<String>,
}

impl Connection {
    pub fn new(typed: &Typed, source: &Source) -> Result<Connection, Refused> {
        let mut files = Files::default();
        let (url, from) = url(typed, source, &mut files)?;
        // What is typed beats what is set: a file of the environment is no match for a password in a typed URL.
        let complete = (typed.url.is_some() || typed.url_file.is_some())
            && typed.password_file.is_none()
            && Target::parse(&url).is_ok_and(|target| target.has_password());
        let password = if complete {
            None
        } else {
            files.secret(
                &typed.password_file,
                source,
                "--password-file",
                "REDLEASE_PASSWORD_FILE",
            )?
        };
        let mut target = Target::parse_with(&url, password).map_err(|why| bad_url(from, &why))?;
        if from == ASSUMED {
            target.set_assumed();
        }
        let sentinel_user = source.or(
            typed.sentinel_user.clone(),
            "REDLEASE_SENTINEL_USER",
            |text| Ok(text.to_owned()),
        )?;
        let sentinel_password = files.secret(
            &typed.sentinel_password_file,
            source,
            "--sentinel-password-file",
            "REDLEASE_SENTINEL_PASSWORD_FILE",
        )?;
        match (sentinel_user, sentinel_password) {
            // Such a user would send no AUTH at all.
            (Some(_), None) => {
                return Err(Refused::usage(
                    "--sentinel-user needs --sentinel-password-file",
                ));
            }
            (user, Some(password)) => target.set_sentinel_login(user, password),
            (None, None) => {}
        }
        let options = tls(typed, source, &mut files)?;
        agree(typed, &target)?;
        if target.is_tls() && options.insecure {
            files.warnings.push(
                "--tls-insecure: the server's certificate is not checked, so anyone on the way can be it"
                    .to_owned(),
            );
        }
        target.set_tls(options);
        Ok(Connection {
            target,
            connect_timeout: source
                .or(
                    typed.connect_timeout,
                    "REDLEASE_CONNECT_TIMEOUT",
                    values::duration,
                )?
                .unwrap_or(CONNECT_TIMEOUT),
            prefix: source
                .or(typed.prefix.clone(), "REDLEASE_PREFIX", |text| {
                    text.parse::<Prefix>().map_err(|why| why.to_string())
                })?
                .unwrap_or_default(),
            warnings: files.warnings,
        })
    }
}

/// A typed URL is usage, and so is a variable; a file is configuration.
fn bad_url(from: &str, why: &BadUrl) -> Refused {
    let text = format!("{from}: {why}");
    if from.ends_with("file") || from.ends_with("FILE") {
        Refused::config(text)
    } else {
        Refused::usage(text)
    }
}

/// The URL and where it came from. What is typed beats what is set; two places of the same rank contradict.
fn url(
    typed: &Typed,
    source: &Source,
    files: &mut Files,
) -> Result<(String, &'static str), Refused> {
    match (&typed.url, &typed.url_file) {
        (Some(_), Some(_)) => {
            return Err(Refused::usage(
                "--url and --url-file contradict each other: both say which server",
            ));
        }
        (Some(url), None) => return Ok((url.clone(), "--url")),
        (None, Some(path)) => return Ok((files.text(path, "--url-file")?, "--url-file")),
        (None, None) => {}
    }
    let set = source.secret("REDLEASE_URL")?;
    let file = source.raw("REDLEASE_URL_FILE").map(PathBuf::from);
    match (set, file) {
        (Some(_), Some(_)) => Err(Refused::config(
            "REDLEASE_URL and REDLEASE_URL_FILE are both set: unset one, or type --url",
        )),
        (Some(url), None) => Ok((url, "REDLEASE_URL")),
        (None, Some(path)) => Ok((files.text(&path, "REDLEASE_URL_FILE")?, "REDLEASE_URL_FILE")),
        (None, None) => Ok(source
            .secret("REDIS_URL")?
            .map_or((DEFAULT_URL.to_owned(), ASSUMED), |url| (url, "REDIS_URL"))),
    }
}

fn tls(typed: &Typed, source: &Source, files: &mut Files) -> Result<TlsOptions, Refused> {
    let pem = |path: &Option<PathBuf>, option, variable| {
        path_of(path, source, option, variable)
            .map(|(path, from)| files.bytes(&path, from).map(|_| path))
            .transpose()
    };
    let ca = pem(&typed.tls_ca, "--tls-ca", "REDLEASE_TLS_CA")?;
    let cert = pem(&typed.tls_cert, "--tls-cert", "REDLEASE_TLS_CERT")?;
    let key = pem(&typed.tls_key, "--tls-key", "REDLEASE_TLS_KEY")?;
    if cert.is_some() != key.is_some() {
        return Err(Refused::usage(
            "--tls-cert and --tls-key belong together: the certificate, and the key that proves it",
        ));
    }
    if let Some(path) = &key {
        files.warn_if_open(path, "--tls-key");
    }
    Ok(TlsOptions {
        ca,
        cert,
        key,
        insecure: typed.tls_insecure || source.switch("REDLEASE_TLS_INSECURE")?,
    })
}

/// TLS that was typed and would not be used. What the environment says for a whole machine is no contradiction.
fn agree(typed: &Typed, target: &Target) -> Result<(), Refused> {
    let options = [
        ("--tls-insecure", typed.tls_insecure),
        ("--tls-ca", typed.tls_ca.is_some()),
        ("--tls-cert", typed.tls_cert.is_some()),
        ("--tls-key", typed.tls_key.is_some()),
    ];
    match options.into_iter().find(|(_, given)| *given) {
        Some((option, _)) if !target.is_tls() => Err(Refused::usage(format!(
            "{option} says how to use TLS, and the URL asks for none: write rediss://"
        ))),
        Some(_) if typed.tls_insecure && typed.tls_ca.is_some() => Err(Refused::usage(
            "--tls-insecure and --tls-ca contradict each other: one trusts anybody, the other an authority",
        )),
        _ => Ok(()),
    }
}

/// A path and how it was given.
fn path_of(
    typed: &Option<PathBuf>,
    source: &Source,
    option: &'static str,
    variable: &'static str,
) -> Option<(PathBuf, &'static str)> {
    match typed {
        Some(path) => Some((path.clone(), option)),
        None => source.raw(variable).map(|path| (path.into(), variable)),
    }
}

#[derive(Default)]
struct Files {
    warnings: Vec<String>,
}

impl Files {
    fn secret(
        &mut self,
        typed: &Option<PathBuf>,
        source: &Source,
        option: &'static str,
        variable: &'static str,
    ) -> Result<Option<Secret>, Refused> {
        path_of(typed, source, option, variable)
            .map(|(path, from)| self.text(&path, from).map(Secret::new))
            .transpose()
    }

    /// A secret on one line: a trailing newline is an editor's, not a part of it.
    fn text(&mut self, path: &Path, from: &str) -> Result<String, Refused> {
        let bytes = self.bytes(path, from)?;
        self.warn_if_open(path, from);
        let shown = path.display();
        let mut text = String::from_utf8(bytes)
            .map_err(|_| Refused::config(format!("{from} {shown}: it is not valid UTF-8")))?;
        if text.ends_with('\n') {
            text.pop();
            if text.ends_with('\r') {
                text.pop();
            }
        }
        if text.is_empty() {
            return Err(Refused::config(format!("{from} {shown}: it is empty")));
        }
        Ok(text)
    }

    fn bytes(&self, path: &Path, from: &str) -> Result<Vec<u8>, Refused> {
        let shown = path.display();
        let mut bytes = Vec::new();
        std::fs::File::open(path)
            .and_then(|file| file.take(LARGEST + 1).read_to_end(&mut bytes))
            .map_err(|error| Refused::config(format!("cannot read {from} {shown}: {error}")))?;
        if bytes.len() as u64 > LARGEST {
            return Err(Refused::config(format!(
                "{from} {shown}: it is larger than 1 MB"
            )));
        }
        Ok(bytes)
    }

    /// Group-readable is how systems hand secrets to services, so that only "others" are warned of.
    fn warn_if_open(&mut self, path: &Path, from: &str) {
        let open = std::fs::metadata(path)
            .is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o004 != 0);
        if open {
            let shown = path.display();
            self.warnings.push(format!(
                "{from} {shown}: every user of this machine can read it; `chmod o-r` it"
            ));
        }
    }
}
