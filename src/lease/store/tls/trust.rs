//! Whom TLS trusts, and who it says we are: from files, once, at the first connection.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};

use super::super::target::TlsOptions;
use super::super::trouble::{Trouble, words};
use super::unusable;

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
