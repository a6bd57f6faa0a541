//! TLS over a `Wire`. Nothing of it is read or built unless the URL asks for it.

pub mod trust;

use std::io::{self, Read, Write};
use std::sync::Arc;

use rustls::pki_types::ServerName;
use rustls::{AlertDescription, CertificateError, ClientConfig, ClientConnection, Error};

use super::trouble::{Kind, Trouble, shown};
use super::wire::{Stop, Wire};
use crate::time::Moment;

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
        // Another authority of the same name, as after it was made anew.
        CertificateError::BadSignature => {
            "its signature is not by the issuer that is trusted; --tls-ca names another".to_owned()
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

pub(super) fn unusable(text: String) -> Trouble {
    Trouble::new(Kind::Config, text)
}
