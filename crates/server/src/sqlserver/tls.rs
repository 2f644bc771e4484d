//! Builds one rustls configuration from the options for encryption.
//!
//! Must never: verify less than the options require. Session tickets are disabled, so that connections share
//! no lock. Source: Microsoft's documentation of `Encrypt`, `TrustServerCertificate`, `ServerCertificate`;
//! MS-TDS 2.2.6.5; MS-TDS 3.2.5.1 (TDS 8.0).

use super::options;
use crate::error::Error;
use crate::option_values::OptionValues;
use crate::postgres::tls::{read_certificates, system_roots};
use crate::postgres::verify::{Verifier, refuse_short_key};
use crate::target::{SslMode, Tls};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{Resumption, WebPkiServerVerifier};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme,
};
use std::path::Path;
use std::sync::Arc;

const TDS8_ALPN_PROTOCOL: &[u8] = b"tds/8.0";

/// What the option `encrypt` requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Encrypt {
    /// No TLS; the login fails if the server requires it. The password is readable on the network.
    Disable,
    /// TLS for the login if the server has it, and for everything if the server requires it.
    Optional,
    /// TLS for everything.
    Mandatory,
    /// TDS 8.0: the TLS handshake precedes all TDS packets.
    Strict,
}

impl Encrypt {
    /// The value of the option; mandatory by default, as in Microsoft's clients of today.
    pub(super) fn from_options(options: &OptionValues) -> Result<Encrypt, Error> {
        let value = options.non_empty("encrypt").map(str::to_ascii_lowercase);
        Ok(match value.as_deref() {
            Some("disable" | "disabled") => Encrypt::Disable,
            Some("optional" | "no" | "false" | "0") => Encrypt::Optional,
            None | Some("mandatory" | "yes" | "true" | "1") => Encrypt::Mandatory,
            Some("strict") => Encrypt::Strict,
            Some(_) => {
                let hint = "use mandatory (true), strict, optional (false) or disable";
                return Err(options.invalid_value("encrypt", hint));
            }
        })
    }
}

/// Reads the options and the files that they name.
pub(super) fn build_tls(
    options: &OptionValues,
    encrypt: Encrypt,
    warnings: &mut Vec<String>,
) -> Result<Tls, Error> {
    let trust_any_certificate = options::is_on(options, "TrustServerCertificate")?;
    if encrypt == Encrypt::Disable {
        let mode = SslMode::Disable;
        return Ok(Tls { mode, config: None });
    }
    let is_strict = encrypt == Encrypt::Strict;
    if is_strict && trust_any_certificate {
        warnings.push(
            "TrustServerCertificate has no effect with encrypt=strict: the certificate is verified"
                .to_owned(),
        );
    }
    let verify_chain = is_strict || (encrypt == Encrypt::Mandatory && !trust_any_certificate);
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier: Arc<dyn ServerCertVerifier> = match options.non_empty("ServerCertificate") {
        Some(path) => {
            let file_role = "file with the server's certificate";
            let pinned = read_certificates(Path::new(path), file_role)?.swap_remove(0);
            Arc::new(PinnedCertificate {
                pinned,
                provider: provider.clone(),
            })
        }
        None if verify_chain => Arc::new(chain_verifier(options, &provider)?),
        None => Arc::new(Verifier::accept_any(&provider)),
    };
    // Before TDS 8.0, the TLS handshake travels inside TDS packets, which is only possible up to TLS 1.2.
    let versions: &[&rustls::SupportedProtocolVersion] = if is_strict {
        &[&rustls::version::TLS12, &rustls::version::TLS13]
    } else {
        &[&rustls::version::TLS12]
    };
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(versions)
        .map_err(|error| Error::tls(error.to_string(), "check encrypt"))?
        .dangerous()
        .with_custom_certificate_verifier(verifier)
        .with_no_client_auth();
    if is_strict {
        config.alpn_protocols = vec![TDS8_ALPN_PROTOCOL.to_vec()];
    }
    config.resumption = Resumption::disabled();
    Ok(Tls {
        mode: match encrypt {
            Encrypt::Disable | Encrypt::Optional => SslMode::Prefer,
            Encrypt::Mandatory | Encrypt::Strict if verify_chain => SslMode::VerifyFull,
            Encrypt::Mandatory | Encrypt::Strict => SslMode::Require,
        },
        config: Some(Arc::new(config)),
    })
}

/// Requires a certificate for the host's name, issued by an authority in the file `certificate`, or by one
/// that the system trusts if the option is missing.
fn chain_verifier(
    options: &OptionValues,
    provider: &Arc<CryptoProvider>,
) -> Result<Verifier, Error> {
    let file = options.non_empty("certificate");
    let roots = match file {
        Some(path) => read_certificates(Path::new(path), "file of certificate authorities")?,
        None => system_roots().map_err(|error| match error {
            Error::Tls { problem, .. } => Error::tls(
                problem,
                "install the package ca-certificates, name a file with certificate=, or accept any certificate with \
                 TrustServerCertificate=true",
            ),
            other => other,
        })?,
    };
    let mut store = RootCertStore::empty();
    store.add_parsable_certificates(roots.iter().cloned());
    let chain = WebPkiServerVerifier::builder_with_provider(Arc::new(store), provider.clone())
        .build()
        .map_err(|error| Error::tls(error.to_string(), "check certificate="))?;
    // The file may contain certificates that webpki rejects and OpenSSL accepts, so `Verifier` also compares
    // certificates with these. The system's roots do not need that.
    let exceptions = if file.is_some() { roots } else { Vec::new() };
    Ok(Verifier::new(chain, exceptions, true, provider))
}

/// Accepts one certificate only, whatever its names and dates.
#[derive(Debug)]
struct PinnedCertificate {
    pinned: CertificateDer<'static>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for PinnedCertificate {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        refuse_short_key(end_entity)?;
        if end_entity.as_ref() == self.pinned.as_ref() {
            Ok(ServerCertVerified::assertion())
        } else {
            Err(CertificateError::ApplicationVerificationFailure.into())
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider
            .signature_verification_algorithms
            .supported_schemes()
    }
}
