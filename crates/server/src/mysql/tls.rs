//! The TLS options and their files, turned into one rustls configuration.
//!
//! In: `ssl-*` options, certificates, keys. Out: [`Tls`], built once. Must never: weaken what a mode
//! promises. A connection uses no session tickets: nothing is shared and locked.
//! Source: MySQL documentation, "Command Options for Encrypted Connections".

use super::bad_value;
use super::options::Options;
use crate::error::Error;
use crate::postgres::tls::{certificates, read};
use crate::postgres::{identity, verify::Verifier};
use crate::target::{SslMode, Tls};
use rustls::client::{Resumption, WebPkiServerVerifier};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::{ClientConfig, InconsistentKeys, RootCertStore, SupportedProtocolVersion};
use std::path::Path;
use std::sync::Arc;

/// Reads all options about TLS, and the files that they name.
///
/// # Errors
/// Options that contradict each other, files that are missing or unreadable.
pub(super) fn build(options: &Options) -> Result<Tls, Error> {
    let mode = mode(options)?;
    let tls = |config| Tls {
        mode,
        config,
        direct: false,
    };
    if mode == SslMode::Disable {
        return Ok(tls(None));
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier = match mode {
        SslMode::VerifyCa | SslMode::VerifyFull => {
            let roots = roots(options)?;
            let mut store = RootCertStore::empty();
            store.add_parsable_certificates(roots.iter().cloned());
            let chain =
                WebPkiServerVerifier::builder_with_provider(Arc::new(store), provider.clone())
                    .build()
                    .map_err(|e| Error::tls(e.to_string(), "check ssl-ca"))?;
            Verifier::of_chain(chain, roots, mode == SslMode::VerifyFull, &provider)
        }
        _ => Verifier::of_nothing(&provider),
    };
    let builder = ClientConfig::builder_with_provider(provider.clone())
        .with_protocol_versions(&versions(options)?)
        .map_err(|e| Error::tls(e.to_string(), "check tls-version"))?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier));
    let mut config = match (options.non_empty("ssl-cert"), options.non_empty("ssl-key")) {
        (Some(cert), Some(key)) => {
            let chain = certificates(Path::new(cert), "client certificate file")?;
            let key = identity::unguarded_key(Path::new(key))?;
            let identity = identity_of(chain, key, &provider).map_err(|e| Error::File {
                what: "client certificate",
                path: cert.into(),
                problem: e.to_string(),
                hint: "ssl-cert and ssl-key must belong together".into(),
            })?;
            builder.with_client_cert_resolver(Arc::new(identity))
        }
        (None, None) => builder.with_no_client_auth(),
        _ => {
            return Err(Error::tls(
                "ssl-cert and ssl-key go together, and one is missing",
                "name both, or neither",
            ));
        }
    };
    config.resumption = Resumption::disabled();
    Ok(tls(Some(Arc::new(config))))
}

/// A certificate with its key. One of X.509 version 1, as the steps of MySQL's manual make it, cannot be
/// looked into here: the server decides.
fn identity_of(
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

/// `ssl-mode`; where it is not said, what the other options mean.
fn mode(options: &Options) -> Result<SslMode, Error> {
    let Some(name) = options.non_empty("ssl-mode") else {
        // MariaDB's ways to say so.
        if options.flag("ssl-verify-server-cert")? {
            return Ok(SslMode::VerifyFull);
        }
        let is_set = |name| options.get(name).is_some();
        return Ok(match options.flag("ssl")? {
            false if is_set("ssl") => SslMode::Disable,
            _ if is_set("ssl-ca") || is_set("ssl-capath") => SslMode::VerifyCa,
            true => SslMode::Require,
            false => SslMode::Prefer,
        });
    };
    let modes = [
        ("DISABLED", SslMode::Disable),
        ("PREFERRED", SslMode::Prefer),
        ("REQUIRED", SslMode::Require),
        ("VERIFY_CA", SslMode::VerifyCa),
        ("VERIFY_IDENTITY", SslMode::VerifyFull),
    ];
    let found = modes
        .iter()
        .find(|(known, _)| known.eq_ignore_ascii_case(name));
    let hint = "use DISABLED, PREFERRED, REQUIRED, VERIFY_CA or VERIFY_IDENTITY";
    found
        .map(|(_, mode)| *mode)
        .ok_or_else(|| bad_value(options, "ssl-mode", hint))
}

/// The authorities of `ssl-ca` and of the files in `ssl-capath`.
fn roots(options: &Options) -> Result<Vec<CertificateDer<'static>>, Error> {
    let what = "file of certificate authorities";
    let mut roots = Vec::new();
    if let Some(file) = options.non_empty("ssl-ca") {
        roots.extend(certificates(Path::new(file), what)?);
    }
    if let Some(folder) = options.non_empty("ssl-capath") {
        let entries = std::fs::read_dir(folder).map_err(|e| Error::File {
            what: "folder of certificate authorities",
            path: folder.into(),
            problem: e.to_string(),
            hint: "check ssl-capath".into(),
        })?;
        for path in entries.flatten().map(|entry| entry.path()) {
            if path.is_file() {
                roots.extend(certificates(&path, what).unwrap_or_default());
            }
        }
    }
    match roots.is_empty() {
        false => Ok(roots),
        true => Err(Error::tls(
            "ssl-mode asks for the server's certificate to be verified, and no authority is named",
            "name the file of its authority with ssl-ca, or use ssl-mode=REQUIRED",
        )),
    }
}

/// The TLS versions in `tls-version`, a list; all that are safe unless said otherwise.
fn versions(options: &Options) -> Result<Vec<&'static SupportedProtocolVersion>, Error> {
    let all = [
        ("TLSv1.2", &rustls::version::TLS12),
        ("TLSv1.3", &rustls::version::TLS13),
    ];
    let list = options.non_empty("tls-version");
    let named = |name: &str| {
        let mut names = list.into_iter().flat_map(|list| list.split(','));
        list.is_none() || names.any(|one| one.trim().eq_ignore_ascii_case(name))
    };
    let found: Vec<_> = all
        .into_iter()
        .filter(|(name, _)| named(name))
        .map(|(_, version)| version)
        .collect();
    match found.is_empty() {
        false => Ok(found),
        true => Err(bad_value(
            options,
            "tls-version",
            "use TLSv1.2, TLSv1.3 or both",
        )),
    }
}

/// Reads the server's public key; whether it is one shows when it is used.
pub(super) fn public_key(path: &Path) -> Result<Vec<u8>, Error> {
    read(path, "file with the server's public key")
}
