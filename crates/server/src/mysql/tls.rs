//! Builds one rustls configuration from the TLS options and their files.
//!
//! Must never: verify less than the mode requires. Session tickets are disabled, so that connections
//! share no lock. Source: MySQL documentation, "Command Options for Encrypted Connections".

use super::options;
use crate::error::Error;
use crate::option_values::OptionValues;
use crate::postgres::tls::{read_certificates, read_file};
use crate::postgres::{
    identity,
    verify::{Accepted, Verifier},
};
use crate::target::{SslMode, Tls};
use rustls::client::{Resumption, WebPkiServerVerifier};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::{ClientConfig, InconsistentKeys, RootCertStore, SupportedProtocolVersion};
use std::path::Path;
use std::sync::Arc;

pub(super) fn build(options: &OptionValues) -> Result<Tls, Error> {
    let mode = mode(options)?;
    let with_config = |config| Tls { mode, config };
    if mode == SslMode::Disable {
        return Ok(with_config(None));
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let accepted = match mode {
        SslMode::VerifyCa | SslMode::VerifyFull => {
            let roots = roots(options)?;
            let mut store = RootCertStore::empty();
            store.add_parsable_certificates(roots.iter().cloned());
            let chain =
                WebPkiServerVerifier::builder_with_provider(Arc::new(store), provider.clone())
                    .build()
                    .map_err(|e| Error::tls(e.to_string(), "check ssl-ca"))?;
            Accepted::Issued {
                chain,
                roots,
                checks_name: mode == SslMode::VerifyFull,
            }
        }
        _ => Accepted::Any,
    };
    let verifier = Verifier::new(accepted, &provider);
    let builder = ClientConfig::builder_with_provider(provider.clone())
        .with_protocol_versions(&versions(options)?)
        .map_err(|e| Error::tls(e.to_string(), "check tls-version"))?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier));
    let mut config = match (options.non_empty("ssl-cert"), options.non_empty("ssl-key")) {
        (Some(cert), Some(key)) => {
            let chain = read_certificates(Path::new(cert), "client certificate file")?;
            let key = identity::read_unchecked_key(Path::new(key))?;
            let identity =
                certificate_with_key(chain, key, &provider).map_err(|e| Error::File {
                    purpose: "client certificate",
                    path: cert.into(),
                    problem: e.to_string(),
                    hint: "ssl-cert and ssl-key must belong together".into(),
                })?;
            builder.with_client_cert_resolver(Arc::new(identity))
        }
        (None, None) => builder.with_no_client_auth(),
        _ => {
            return Err(Error::tls(
                "only one of ssl-cert and ssl-key is given",
                "give both or neither",
            ));
        }
    };
    config.resumption = Resumption::disabled();
    Ok(with_config(Some(Arc::new(config))))
}

/// Combines a certificate with its key. Only a known mismatch is an error: rustls cannot parse a
/// certificate of X.509 version 1, which the instructions in MySQL's manual create. For such a certificate
/// the server checks whether the key matches.
fn certificate_with_key(
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
    provider: &CryptoProvider,
) -> Result<SingleCertAndKey, rustls::Error> {
    let key = provider.key_provider.load_private_key(key)?;
    let identity = CertifiedKey::new(chain, key);
    match identity.keys_match() {
        Err(error @ rustls::Error::InconsistentKeys(InconsistentKeys::KeyMismatch)) => Err(error),
        _ => Ok(SingleCertAndKey::from(identity)),
    }
}

/// `ssl-mode`; if it is not set, the mode that the other options imply.
fn mode(options: &OptionValues) -> Result<SslMode, Error> {
    let Some(name) = options.non_empty("ssl-mode") else {
        // MariaDB has these options instead.
        if options::is_on(options, "ssl-verify-server-cert")? {
            return Ok(SslMode::VerifyFull);
        }
        let is_set = |name| options.get(name).is_some();
        let is_on = options::is_on(options, "ssl")?;
        return Ok(if is_set("ssl") && !is_on {
            SslMode::Disable
        } else if is_set("ssl-ca") || is_set("ssl-capath") {
            SslMode::VerifyCa
        } else if is_on {
            SslMode::Require
        } else {
            SslMode::Prefer
        });
    };
    let modes = [
        ("DISABLED", SslMode::Disable),
        ("PREFERRED", SslMode::Prefer),
        ("REQUIRED", SslMode::Require),
        ("VERIFY_CA", SslMode::VerifyCa),
        ("VERIFY_IDENTITY", SslMode::VerifyFull),
    ];
    let known_mode = modes
        .iter()
        .find(|(known, _)| known.eq_ignore_ascii_case(name));
    let hint = "use DISABLED, PREFERRED, REQUIRED, VERIFY_CA or VERIFY_IDENTITY";
    known_mode
        .map(|(_, mode)| *mode)
        .ok_or_else(|| options.invalid_value("ssl-mode", hint))
}

/// The authorities of `ssl-ca` and of the files in `ssl-capath`.
fn roots(options: &OptionValues) -> Result<Vec<CertificateDer<'static>>, Error> {
    let purpose = "file of certificate authorities";
    let mut roots = Vec::new();
    if let Some(file) = options.non_empty("ssl-ca") {
        roots.extend(read_certificates(Path::new(file), purpose)?);
    }
    if let Some(folder) = options.non_empty("ssl-capath") {
        let entries = std::fs::read_dir(folder).map_err(|e| Error::File {
            purpose: "folder of certificate authorities",
            path: folder.into(),
            problem: e.to_string(),
            hint: "check ssl-capath".into(),
        })?;
        for path in entries.flatten().map(|entry| entry.path()) {
            if path.is_file() {
                roots.extend(read_certificates(&path, purpose).unwrap_or_default());
            }
        }
    }
    if roots.is_empty() {
        Err(Error::tls(
            "ssl-mode verifies the server's certificate, but no certificate authority is given",
            "name the authority's file with ssl-ca, or use ssl-mode=REQUIRED",
        ))
    } else {
        Ok(roots)
    }
}

/// The TLS versions listed in `tls-version`; by default 1.2 and 1.3.
fn versions(options: &OptionValues) -> Result<Vec<&'static SupportedProtocolVersion>, Error> {
    let supported = [
        ("TLSv1.2", &rustls::version::TLS12),
        ("TLSv1.3", &rustls::version::TLS13),
    ];
    let list = options.non_empty("tls-version");
    let is_listed = |name: &str| {
        let mut names = list.into_iter().flat_map(|list| list.split(','));
        list.is_none() || names.any(|part| part.trim().eq_ignore_ascii_case(name))
    };
    let versions: Vec<_> = supported
        .into_iter()
        .filter(|(name, _)| is_listed(name))
        .map(|(_, version)| version)
        .collect();
    if versions.is_empty() {
        Err(options.invalid_value("tls-version", "use TLSv1.2, TLSv1.3 or both"))
    } else {
        Ok(versions)
    }
}

/// Reads the file with the server's public key, without parsing it.
pub(super) fn read_public_key(path: &Path) -> Result<Vec<u8>, Error> {
    read_file(path, "file with the server's public key")
}
