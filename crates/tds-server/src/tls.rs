//! TLS of the server: around everything, or inside packets until the handshake is over.

use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{
    ClientConfig, RootCertStore, ServerConfig, ServerConnection, SupportedProtocolVersion,
};
use std::io::{Read, Write};
use std::sync::Arc;

/// A certificate that signs itself, and its key.
pub struct TestCertificate {
    certificate: CertificateDer<'static>,
    key: Vec<u8>,
}

impl TestCertificate {
    /// A certificate for a host.
    pub fn new(host: &str) -> TestCertificate {
        let made = rcgen::generate_simple_self_signed([host.to_owned()]).expect("a certificate");
        TestCertificate {
            certificate: made.cert.der().clone(),
            key: made.signing_key.serialize_der(),
        }
    }

    /// The configuration of a server. `strict`: it offers `tds/8.0`.
    pub fn server(
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

/// The configuration of a client that trusts a certificate, or none. `strict`: it requests `tds/8.0`.
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

/// TLS of one connection.
pub(crate) struct Tls(pub ServerConnection);

impl Tls {
    pub fn new(config: Arc<ServerConfig>) -> Tls {
        let mut connection = ServerConnection::new(config).expect("a TLS connection");
        connection.set_buffer_limit(None);
        Tls(connection)
    }

    /// Takes bytes of the client; returns their plain content, or why TLS ends.
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

    /// Bytes that the client must get.
    pub fn pending(&mut self) -> Vec<u8> {
        let mut out = Vec::new();
        while self.0.wants_write() {
            self.0.write_tls(&mut out).expect("memory");
        }
        out
    }

    pub fn send(&mut self, plain: &[u8]) -> Vec<u8> {
        self.0.writer().write_all(plain).expect("memory");
        self.pending()
    }
}
