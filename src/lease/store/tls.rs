//! TLS over a `Wire`. Nothing of it is read or built unless the URL asks for it.

use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{
    AlertDescription, CertificateError, ClientConfig, ClientConnection, DigitallySignedStruct,
    Error, RootCertStore, SignatureScheme,
};

use super::target::TlsOptions;
use super::trouble::{Kind, Trouble, shown, words};
use super::wire::{Stop, Wire};
use crate::time::Moment;

/// Where systems keep the certificates that they trust, in one file.
const BUNDLES: [&str; 6] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/pki/tls/cacert.pem",
    "/etc/ssl/cert.pem",
];

pub fn config(options: &TlsOptions) -> Result<Arc<ClientConfig>, Trouble> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .map_err(|error| unusable(format!("TLS cannot be used: {error}")))?;
    let builder = if options.insecure {
        builder
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(AnyCertificate(provider)))
    } else {
        builder.with_root_certificates(roots(options.ca.as_deref())?)
    };
    let config = match (&options.cert, &options.key) {
        (None, None) => builder.with_no_client_auth(),
        (Some(cert), Some(key)) => {
            let chain = certificates(cert, &read(cert)?)?;
            let secret = PrivateKeyDer::from_pem_slice(&read(key)?).map_err(|_| {
                unusable(format!("{} contains no private key in PEM", key.display()))
            })?;
            builder
                .with_client_auth_cert(chain, secret)
                .map_err(|error| {
                    unusable(format!(
                        "{} and {} do not go together: {error}",
                        cert.display(),
                        key.display()
                    ))
                })?
        }
        _ => {
            return Err(unusable("--tls-cert and --tls-key go together".to_owned()));
        }
    };
    Ok(Arc::new(config))
}

fn roots(ca: Option<&Path>) -> Result<RootCertStore, Trouble> {
    let mut roots = RootCertStore::empty();
    if let Some(path) = ca {
        for certificate in certificates(path, &read(path)?)? {
            roots.add(certificate).map_err(|error| {
                unusable(format!(
                    "{} has a certificate that cannot be trusted: {error}",
                    path.display()
                ))
            })?;
        }
        return Ok(roots);
    }
    let path = system_bundle()?;
    // A system's bundle may hold some that are of no use here; one good one is enough.
    let (good, _) = roots.add_parsable_certificates(certificates(&path, &read(&path)?)?);
    if good == 0 {
        let text = format!("{} contains no usable certificate", path.display());
        return Err(unusable(text));
    }
    Ok(roots)
}

fn system_bundle() -> Result<PathBuf, Trouble> {
    if let Some(path) = std::env::var_os("SSL_CERT_FILE") {
        return Ok(PathBuf::from(path));
    }
    BUNDLES
        .iter()
        .map(PathBuf::from)
        .find(|path| path.exists())
        .ok_or_else(|| {
            unusable(
                "this system has no certificates to trust: name a file with --tls-ca or SSL_CERT_FILE"
                    .to_owned(),
            )
        })
}

fn read(path: &Path) -> Result<Vec<u8>, Trouble> {
    std::fs::read(path)
        .map_err(|error| unusable(format!("cannot read {}: {}", path.display(), words(&error))))
}

/// Junk would give an empty list, and much later an "unknown issuer".
fn certificates(path: &Path, pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, Trouble> {
    let found: Vec<_> = CertificateDer::pem_slice_iter(pem)
        .collect::<Result<_, _>>()
        .unwrap_or_default();
    if found.is_empty() {
        let text = format!("{} contains no certificate in PEM", path.display());
        return Err(unusable(text));
    }
    Ok(found)
}

fn unusable(text: String) -> Trouble {
    Trouble::new(Kind::Config, text)
}

#[derive(Debug)]
pub struct Tls {
    wire: Wire,
    session: ClientConnection,
    /// Received and not yet taken by the session, which takes no more than it has room for.
    pending: Vec<u8>,
}

impl Tls {
    /// The whole handshake: whatever is wrong with it is known before a request leaves.
    pub fn open(
        wire: Wire,
        config: &Arc<ClientConfig>,
        host: &str,
        server: &str,
        until: Moment,
    ) -> Result<Tls, Trouble> {
        let name = ServerName::try_from(host.to_owned())
            .map_err(|_| unusable(format!("{server} has a name that TLS cannot check")))?;
        let session = ClientConnection::new(config.clone(), name)
            .map_err(|error| unusable(format!("TLS cannot be used: {error}")))?;
        let mut tls = Tls {
            wire,
            session,
            pending: Vec::new(),
        };
        match tls.handshake(until) {
            Ok(()) => Ok(tls),
            Err(Stop::Time) => Err(Trouble::again(format!(
                "no answer to TLS from {server} in time; if that is a plain port, write redis://"
            ))),
            Err(Stop::Io(_)) => Err(Trouble::again(format!(
                "{server} ended the TLS handshake; if that is a plain port, write redis://"
            ))),
            Err(stop) => Err(stopped(stop, server)),
        }
    }

    fn handshake(&mut self, until: Moment) -> Result<(), Stop> {
        let mut begun = false;
        while self.session.is_handshaking() {
            self.flush(until, &mut begun)?;
            if self.session.is_handshaking() && !self.take(until)? {
                return Err(Stop::Io(io::ErrorKind::UnexpectedEof.into()));
            }
        }
        self.flush(until, &mut begun)
    }

    fn flush(&mut self, until: Moment, begun: &mut bool) -> Result<(), Stop> {
        while self.session.wants_write() {
            let mut records = Vec::new();
            self.session.write_tls(&mut records)?;
            self.wire.send(&records, until, begun)?;
        }
        Ok(())
    }

    /// Receives some and decrypts it; false at the end of the stream.
    fn take(&mut self, until: Moment) -> Result<bool, Stop> {
        if self.pending.is_empty() {
            let mut chunk = [0; 4096];
            let count = self.wire.receive(&mut chunk, until)?;
            if count == 0 {
                return Ok(false);
            }
            self.pending
                .extend_from_slice(chunk.get(..count).unwrap_or_default());
        }
        let mut rest = self.pending.as_slice();
        self.session.read_tls(&mut rest)?;
        let taken = self.pending.len() - rest.len();
        self.pending.drain(..taken);
        let processed = self.session.process_new_packets();
        if let Err(error) = processed {
            // The alert that tells the server why: best effort.
            let mut records = Vec::new();
            if self.session.write_tls(&mut records).is_ok() {
                drop(self.wire.push(&records));
            }
            return Err(Stop::Tls(Box::new(error)));
        }
        Ok(true)
    }

    pub fn send(&mut self, bytes: &[u8], until: Moment, begun: &mut bool) -> Result<(), Stop> {
        let mut rest = bytes;
        while !rest.is_empty() {
            let taken = self.session.writer().write(rest)?;
            rest = rest.get(taken..).unwrap_or_default();
            self.flush(until, begun)?;
        }
        Ok(())
    }

    pub fn receive(&mut self, into: &mut [u8], until: Moment) -> Result<usize, Stop> {
        loop {
            match self.session.reader().read(into) {
                Ok(count) => return Ok(count),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error.into()),
            }
            if !self.take(until)? {
                return Ok(0);
            }
            self.flush(until, &mut false)?;
        }
    }

    pub fn push(&mut self, bytes: &[u8]) {
        let mut records = Vec::new();
        if self.session.writer().write_all(bytes).is_ok() {
            while self.session.wants_write() && self.session.write_tls(&mut records).is_ok() {}
            drop(self.wire.push(&records));
        }
    }
}

/// What a broken handshake or session means to a user.
pub fn stopped(stop: Stop, server: &str) -> Trouble {
    let Stop::Tls(error) = stop else {
        return Trouble::stopped(stop, server);
    };
    match *error {
        Error::InvalidMessage(_) => Trouble::again(format!(
            "{server} does not speak TLS; if that is a plain port, write redis://"
        )),
        Error::InvalidCertificate(reason) => unusable(format!(
            "TLS: the certificate of {server} is not trusted: {}",
            distrust(&reason)
        )),
        Error::AlertReceived(AlertDescription::CertificateRequired) => unusable(format!(
            "TLS: {server} wants a client certificate: --tls-cert and --tls-key"
        )),
        Error::AlertReceived(alert) => unusable(format!(
            "TLS: {server} refuses the handshake ({alert:?}); it may want another client certificate (--tls-cert, --tls-key)"
        )),
        error => Trouble::again(format!("TLS: {server}: {}", shown(&error.to_string()))),
    }
}

fn distrust(reason: &CertificateError) -> String {
    match reason {
        CertificateError::UnknownIssuer => {
            "its issuer is unknown; --tls-ca names the file of one to trust".to_owned()
        }
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            "it has expired".to_owned()
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            "it is not valid yet".to_owned()
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            "it is for another name than the host in the URL".to_owned()
        }
        other => shown(&other.to_string()),
    }
}

/// `--tls-insecure`: encrypted, but with whoever answers. Signatures are checked still, so that at least one and
/// the same peer is talked to.
#[derive(Debug)]
struct AnyCertificate(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls12_signature(message, cert, dss, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls13_signature(message, cert, dss, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
