//! The bytes of a connection, in the clear or through TLS.
//!
//! In: bytes from a socket, or bytes to send. Out: plain bytes, or bytes for the socket. Must never:
//! do I/O, read a clock, or depend on how the network splits or joins the bytes.

use crate::ConnectError;
use crate::login::TlsParts;
use ring::digest;
use rustls::{ClientConnection, Error as TlsError};
use std::io::{Read, Write};
use x509_cert::Certificate;
use x509_cert::der::Decode;
use x509_cert::spki::AlgorithmIdentifierRef;

/// The layer between the protocol and the socket.
#[derive(Default)]
pub enum Channel {
    /// No TLS.
    #[default]
    Plain,
    /// TLS. Boxed, because a plain connection should not pay for its size.
    Tls(Box<ClientConnection>),
}

impl Channel {
    /// Whether bytes pass unchanged, so that a caller may skip the channel altogether.
    pub fn is_plain(&self) -> bool {
        matches!(self, Channel::Plain)
    }

    /// Decodes bytes from the socket: appends their plain content to `plain`, and messages that TLS itself
    /// has to send (handshake, key update, alert) to `to_socket`.
    ///
    /// # Errors
    /// The peer broke the protocol or is not trusted. `to_socket` then holds the alert; try to
    /// send it once.
    pub fn receive(
        &mut self,
        from_socket: &[u8],
        plain: &mut Vec<u8>,
        to_socket: &mut Vec<u8>,
    ) -> Result<(), TlsError> {
        let Channel::Tls(connection) = self else {
            plain.extend_from_slice(from_socket);
            return Ok(());
        };
        let mut unread = from_socket;
        let mut result = Ok(());
        while !unread.is_empty() && result.is_ok() {
            // This reads as much as fits into the connection's buffer. After the peer has closed, it reads
            // nothing: later bytes are ignored (RFC 8446, 6.1).
            let read = connection.read_tls(&mut unread);
            result = connection.process_new_packets().map(|state| {
                take_plain(connection, state.plaintext_bytes_to_read(), plain);
            });
            if !matches!(read, Ok(1..)) {
                break;
            }
        }
        flush(connection, to_socket);
        result
    }

    /// Encodes `plain` for the peer and appends the bytes to `to_socket`.
    pub fn send(&mut self, plain: &[u8], to_socket: &mut Vec<u8>) {
        match self {
            Channel::Plain => to_socket.extend_from_slice(plain),
            Channel::Tls(connection) => {
                // Encode in pieces, to limit how much encrypted data the connection buffers.
                for piece in plain.chunks(64 * 1024) {
                    // The writer has no limit (see `Channel::start_tls`), so it takes the whole piece.
                    let _ = connection.writer().write_all(piece);
                    flush(connection, to_socket);
                }
            }
        }
    }

    /// Begins TLS; appends its first message to `to_socket`.
    pub fn start_tls(
        tls: Option<TlsParts>,
        to_socket: &mut Vec<u8>,
    ) -> Result<Channel, ConnectError> {
        let (config, name) = tls.ok_or(ConnectError::TlsNotConfigured)?;
        let mut connection = ClientConnection::new(config, name).map_err(ConnectError::Tls)?;
        connection.set_buffer_limit(None);
        flush(&mut connection, to_socket);
        Ok(Channel::Tls(Box::new(connection)))
    }

    /// Appends the closing alert of TLS; the socket may be closed once `to_socket` is sent.
    pub fn close(&mut self, to_socket: &mut Vec<u8>) {
        if let Channel::Tls(connection) = self {
            connection.send_close_notify();
            flush(connection, to_socket);
        }
    }

    /// Whether the TLS handshake is not complete, so that nothing can be sent yet.
    pub fn is_handshaking(&self) -> bool {
        matches!(self, Channel::Tls(connection) if connection.is_handshaking())
    }

    /// The application protocol that the server selected by ALPN, if it did.
    pub fn alpn(&self) -> Option<&[u8]> {
        match self {
            Channel::Plain => None,
            Channel::Tls(connection) => connection.alpn_protocol(),
        }
    }

    /// The version of TLS, once it is negotiated.
    pub(crate) fn protocol_version(&self) -> Option<rustls::ProtocolVersion> {
        match self {
            Channel::Plain => None,
            Channel::Tls(connection) => connection.protocol_version(),
        }
    }

    /// The hash of the server's certificate for channel binding (RFC 5929, `tls-server-end-point`).
    /// `None` without TLS, or if the RFC defines none.
    pub fn server_end_point(&self) -> Option<Vec<u8>> {
        match self {
            Channel::Plain => None,
            Channel::Tls(connection) => server_end_point(connection.peer_certificates()?.first()?),
        }
    }

    /// Version and cipher, such as `TLSv1.3 TLS_AES_256_GCM_SHA384`; `None` without TLS.
    pub fn description(&self) -> Option<String> {
        let Channel::Tls(connection) = self else {
            return None;
        };
        let version = format!("{:?}", connection.protocol_version()?).replace('_', ".");
        let suite = connection.negotiated_cipher_suite()?.suite();
        let suite_name = suite.as_str().unwrap_or("unknown cipher");
        let cipher = suite_name.replacen("TLS13_", "TLS_", 1);
        Some(format!("{version} {cipher}"))
    }
}

impl std::fmt::Debug for Channel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.description().as_deref().unwrap_or("plain"))
    }
}

fn take_plain(connection: &mut ClientConnection, count: usize, plain: &mut Vec<u8>) {
    let start = plain.len();
    plain.resize(start + count, 0);
    let mut filled = start;
    while filled < plain.len() {
        match connection.reader().read(&mut plain[filled..]) {
            Ok(read @ 1..) => filled += read,
            _ => break,
        }
    }
    plain.truncate(filled);
}

fn flush(connection: &mut ClientConnection, to_socket: &mut Vec<u8>) {
    while connection.wants_write() {
        // Writing into memory cannot fail.
        if !matches!(connection.write_tls(to_socket), Ok(1..)) {
            break;
        }
    }
}

/// Hashes a certificate (DER) with the hash function of its own signature, but with SHA-256 instead of MD5
/// and SHA-1 (RFC 5929, section 4.1).
pub(crate) fn server_end_point(certificate_der: &[u8]) -> Option<Vec<u8>> {
    let certificate = Certificate::from_der(certificate_der).ok()?;
    let signature = certificate.signature_algorithm();
    let parameters = signature.parameters.as_ref().map(|any| any.value());
    let algorithm = hash_of_signature(&signature.oid.to_string(), parameters)?;
    Some(digest::digest(algorithm, certificate_der).as_ref().to_vec())
}

fn hash_of_signature(oid: &str, parameters: Option<&[u8]>) -> Option<&'static digest::Algorithm> {
    Some(match oid {
        // RSA with MD5, SHA-1, SHA-256; ECDSA with SHA-1, SHA-256; DSA with SHA-256.
        "1.2.840.113549.1.1.4"
        | "1.2.840.113549.1.1.5"
        | "1.2.840.113549.1.1.11"
        | "1.2.840.10045.4.1"
        | "1.2.840.10045.4.3.2"
        | "2.16.840.1.101.3.4.3.2" => &digest::SHA256,
        "1.2.840.113549.1.1.12" | "1.2.840.10045.4.3.3" => &digest::SHA384,
        "1.2.840.113549.1.1.13" | "1.2.840.10045.4.3.4" => &digest::SHA512,
        "1.2.840.113549.1.1.10" => return hash_of_pss(parameters?),
        // Ed25519 and others have no separate hash function, so the RFC defines no binding for them.
        _ => return None,
    })
}

/// The hash function of an RSASSA-PSS signature: the first, optional field of its parameters (RFC
/// 4055).
fn hash_of_pss(parameters: &[u8]) -> Option<&'static digest::Algorithm> {
    // The field begins with context tag 0 and a short length. If it is absent, the hash function is SHA-1,
    // which SHA-256 replaces.
    let [0xa0, length @ 0..=127, rest @ ..] = parameters else {
        return Some(&digest::SHA256);
    };
    let hash = AlgorithmIdentifierRef::from_der(rest.get(..usize::from(*length))?).ok()?;
    Some(match hash.oid.to_string().as_str() {
        "1.3.14.3.2.26" | "2.16.840.1.101.3.4.2.1" => &digest::SHA256,
        "2.16.840.1.101.3.4.2.2" => &digest::SHA384,
        "2.16.840.1.101.3.4.2.3" => &digest::SHA512,
        _ => return None,
    })
}
