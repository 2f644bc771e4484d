//! Builds one rustls configuration from the options for encryption.
//!
//! Must never: verify less than the options require. Session tickets are disabled, so that connections share
//! no lock. Source: Microsoft's documentation of `Encrypt`, `TrustServerCertificate`, `ServerCertificate`;
//! MS-TDS 2.2.6.5; MS-TDS 3.2.5.1 (TDS 8.0).

use super::options;
use crate::error::Error;
use crate::option_values::OptionValues;
use crate::postgres::tls::{read_certificates, system_roots};
use crate::postgres::verify::{Accepted, Verifier};
use crate::target::{SslMode, Tls};
use rustls::client::{Resumption, WebPkiServerVerifier};
use rustls::crypto::CryptoProvider;
use rustls::{ClientConfig, RootCertStore};
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
    let accepted = match options.non_empty("ServerCertificate") {
        Some(path) => {
            let file_role = "file with the server's certificate";
            Accepted::Pinned(read_certificates(Path::new(path), file_role)?.swap_remove(0))
        }
        None if verify_chain => issued_certificates(options, &provider)?,
        None => Accepted::Any,
    };
    let verifier = Verifier::new(accepted, &provider);
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
        .with_custom_certificate_verifier(Arc::new(verifier))
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
fn issued_certificates(
    options: &OptionValues,
    provider: &Arc<CryptoProvider>,
) -> Result<Accepted, Error> {
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
    Ok(Accepted::Issued {
        chain,
        roots: if file.is_some() { roots } else { Vec::new() },
        checks_name: true,
    })
}
