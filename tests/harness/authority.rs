//! A certificate authority for one test, and a server that has its certificate.

use std::path::{Path, PathBuf};

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, date_time_ymd};

use super::{Redis, ports};

pub struct Authority {
    folder: tempfile::TempDir,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    pub fn new() -> Authority {
        let folder = tempfile::tempdir().expect("a folder for certificates");
        let key = KeyPair::generate().expect("a key");
        let mut params = CertificateParams::new(Vec::new()).expect("an authority");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params
            .distinguished_name
            .push(DnType::CommonName, uuid::Uuid::new_v4().to_string());
        let certificate = params.self_signed(&key).expect("an authority");
        std::fs::write(folder.path().join("ca.pem"), certificate.pem()).expect("its file");
        Authority {
            folder,
            issuer: Issuer::new(params, key),
        }
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The file that clients trust.
    pub fn certificate(&self) -> PathBuf {
        self.folder.path().join("ca.pem")
    }

    /// Signs a certificate for the host and returns its file and that of its key.
    pub fn sign(&self, host: &str, expired: bool) -> (PathBuf, PathBuf) {
        let key = KeyPair::generate().expect("a key");
        let mut params = CertificateParams::new(vec![host.to_owned()]).expect("a certificate");
        if expired {
            params.not_before = date_time_ymd(2020, 1, 1);
            params.not_after = date_time_ymd(2020, 12, 31);
        }
        let certificate = params.signed_by(&key, &self.issuer).expect("a certificate");
        let file = |end: &str| self.folder.path().join(format!("{host}-{expired}.{end}"));
        std::fs::write(file("pem"), certificate.pem()).expect("its file");
        std::fs::write(file("key"), key.serialize_pem()).expect("its key");
        let private = std::os::unix::fs::PermissionsExt::from_mode(0o600);
        std::fs::set_permissions(file("key"), private).expect("its key");
        (file("pem"), file("key"))
    }

    /// A server that speaks TLS on the port, and plain on its unix socket. Only the distribution's server surely
    /// knows TLS, whatever other server the suite runs on.
    pub fn serve(&self, host: &str, expired: bool, ask_clients: bool) -> (Redis, u16) {
        let (certificate, key) = self.sign(host, expired);
        let port = ports::pick();
        let redis = Redis::options()
            .stock()
            .line(&format!("tls-port {port}"))
            .line(&format!("tls-cert-file {}", certificate.display()))
            .line(&format!("tls-key-file {}", key.display()))
            .line(&format!(
                "tls-ca-cert-file {}",
                self.certificate().display()
            ))
            .line(&format!(
                "tls-auth-clients {}",
                if ask_clients { "yes" } else { "no" }
            ))
            .start();
        (redis, port)
    }
}
