//! TLS of the server: around everything (TDS 8.0), or with a handshake inside packets.

use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{
    ClientConfig, RootCertStore, ServerConfig, ServerConnection, SupportedProtocolVersion,
};
use std::io::{Read, Write};
use std::sync::Arc;

/// A self-signed certificate and its key.
pub struct TestCertificate {
    certificate: CertificateDer<'static>,
    pem: String,
    key: Vec<u8>,
}

impl TestCertificate {
    pub fn new(host: &str) -> TestCertificate {
        let generated =
            rcgen::generate_simple_self_signed([host.to_owned()]).expect("a certificate");
        TestCertificate {
            certificate: generated.cert.der().clone(),
            pem: generated.cert.pem(),
            key: generated.signing_key.serialize_der(),
        }
    }

    pub fn pem(&self) -> &str {
        &self.pem
    }

    /// The configuration of a server with this certificate. `strict`: offer the ALPN protocol `tds/8.0`.
    pub fn server_config(
        &self,
        versions: &[&'static SupportedProtocolVersion],
        strict: bool,
    ) -> Arc<ServerConfig> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let key = PrivateKeyDer::try_from(self.key.clone()).expect("a key");
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(versions)
            .expect("versions")
            .with_no_client_auth()
            .with_single_cert(vec![self.certificate.clone()], key)
            .expect("a certificate");
        if strict {
            config.alpn_protocols = vec![b"tds/8.0".to_vec()];
        }
        Arc::new(config)
    }
}

/// The configuration of a client that trusts the given certificate or none. `strict`: request the ALPN
/// protocol `tds/8.0`.
pub fn client_config(
    trusted: Option<&TestCertificate>,
    versions: &[&'static SupportedProtocolVersion],
    strict: bool,
) -> Arc<ClientConfig> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut roots = RootCertStore::empty();
    if let Some(trusted) = trusted {
        roots.add(trusted.certificate.clone()).expect("a root");
    }
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(versions)
        .expect("versions")
        .with_root_certificates(roots)
        .with_no_client_auth();
    if strict {
        config.alpn_protocols = vec![b"tds/8.0".to_vec()];
    }
    Arc::new(config)
}

pub(crate) struct Tls(pub ServerConnection);

impl Tls {
    pub fn new(config: Arc<ServerConfig>) -> Tls {
        let mut connection = ServerConnection::new(config).expect("a TLS connection");
        connection.set_buffer_limit(None);
        Tls(connection)
    }

    /// Decrypts bytes of the client; returns the plain bytes, or why TLS failed.
    pub fn receive(&mut self, mut bytes: &[u8]) -> Result<Vec<u8>, String> {
        let mut plain = Vec::new();
        while !bytes.is_empty() {
            self.0.read_tls(&mut bytes).expect("memory");
            self.0
                .process_new_packets()
                .map_err(|error| error.to_string())?;
            let _ = self.0.reader().read_to_end(&mut plain);
        }
        Ok(plain)
    }

    /// Takes the bytes that TLS has to send to the client.
    pub fn take_outgoing(&mut self) -> Vec<u8> {
        let mut out = Vec::new();
        while self.0.wants_write() {
            self.0.write_tls(&mut out).expect("memory");
        }
        out
    }

    /// Encrypts bytes for the client.
    pub fn send(&mut self, plain: &[u8]) -> Vec<u8> {
        self.0.writer().write_all(plain).expect("memory");
        self.take_outgoing()
    }
}
