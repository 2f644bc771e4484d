//! Builds one rustls configuration from the TLS options and their files.
//!
//! Must never: verify less than the mode requires. Session tickets are disabled, so that connections
//! share no lock, which would distort measurements; libpq does not resume sessions either.

use super::environment::Environment;
use super::hosts::{HostKind, HostSpec};
use super::identity::client_certificate;
use super::values::parse_choice;
use super::verify::{Accepted, Verifier};
use crate::error::Error;
use crate::option_values::OptionValues;
use crate::target::{SslMode, Tls};
use rustls::client::{Resumption, WebPkiServerVerifier};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, CertificateRevocationListDer};
use rustls::{ClientConfig, RootCertStore, SupportedProtocolVersion};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// PostgreSQL's ALPN protocol name. Since version 17 servers require it for direct negotiation, and
/// libpq always offers it.
const ALPN: &[u8] = b"postgresql";

/// Reads all TLS options, and their files if a TCP endpoint may use them.
pub(crate) fn build(
    options: &OptionValues,
    env: &Environment,
    mode: SslMode,
    specs: &[HostSpec],
    warnings: &mut Vec<String>,
) -> Result<Tls, Error> {
    let requires_direct = requires_direct_tls(options)?;
    let mode_name = options.get("sslmode").unwrap_or("prefer");
    if requires_direct && mode < SslMode::Require {
        return Err(Error::tls(
            format!("weak sslmode \"{mode_name}\" may not be used with sslnegotiation=direct"),
            "use sslmode=require, verify-ca or verify-full",
        ));
    }
    let has_system_roots = options.get("sslrootcert") == Some("system");
    if has_system_roots && mode != SslMode::VerifyFull {
        return Err(Error::tls(
            format!("weak sslmode \"{mode_name}\" may not be used with sslrootcert=system"),
            "use sslmode=verify-full",
        ));
    }
    let versions = versions(options)?;
    let is_tls_unused =
        mode == SslMode::Disable || specs.iter().all(|s| matches!(s.kind, HostKind::Unix(_)));
    if is_tls_unused {
        return Ok(Tls { mode, config: None });
    }
    if mode == SslMode::VerifyFull
        && specs
            .iter()
            .any(|s| matches!(s.kind, HostKind::Addr) && s.host.is_empty())
    {
        return Err(Error::tls(
            "sslmode=verify-full needs a host name to verify, but only hostaddr is given",
            "add host= with the name in the server's certificate",
        ));
    }

    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier = build_verifier(options, env, mode, &provider, warnings)?;
    let builder = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&versions)
        .map_err(|e| Error::tls(e.to_string(), "check ssl_min_protocol_version"))?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier));
    let mut config = match client_certificate(options, env, mode, warnings)? {
        Some((chain, key, path)) => {
            builder
                .with_client_auth_cert(chain, key)
                .map_err(|e| Error::File {
                    purpose: "client certificate",
                    path,
                    problem: e.to_string(),
                    hint: "sslcert and sslkey must belong together".into(),
                })?
        }
        None => builder.with_no_client_auth(),
    };
    config.alpn_protocols = vec![ALPN.to_vec()];
    config.resumption = Resumption::disabled();
    // This concerns host names only: rustls never sends an IP address as a server name.
    config.enable_sni = options
        .get("sslsni")
        .is_none_or(|value| value.starts_with('1'));
    Ok(Tls {
        mode,
        config: Some(Arc::new(config)),
    })
}

/// Whether `sslnegotiation=direct` is set.
pub(crate) fn requires_direct_tls(options: &OptionValues) -> Result<bool, Error> {
    let negotiation = [("postgres", false), ("direct", true)];
    parse_choice(options, "sslnegotiation", false, &negotiation)
}

/// The TLS versions between the two limits.
fn versions(options: &OptionValues) -> Result<Vec<&'static SupportedProtocolVersion>, Error> {
    let version_limit = |option: &'static str, default: u8| -> Result<u8, Error> {
        let Some(value) = options.non_empty(option) else {
            return Ok(default);
        };
        let names = [
            ("tlsv1", 10),
            ("tlsv1.1", 11),
            ("tlsv1.2", 12),
            ("tlsv1.3", 13),
        ];
        let known = names
            .iter()
            .find(|(name, _)| value.eq_ignore_ascii_case(name));
        known
            .map(|(_, number)| *number)
            .ok_or_else(|| options.invalid_value(option, "use TLSv1.2 or TLSv1.3"))
    };
    let min = version_limit("ssl_min_protocol_version", 12)?;
    let max = version_limit("ssl_max_protocol_version", 13)?;
    // As in libpq, an empty range is an error.
    if min > max && options.non_empty("ssl_min_protocol_version").is_some() {
        return Err(Error::tls(
            "invalid SSL protocol version range",
            "ssl_min_protocol_version must not be above ssl_max_protocol_version",
        ));
    }
    if max < 12 {
        return Err(Error::Unsupported {
            feature: "TLS below 1.2 (ssl_max_protocol_version)".into(),
            hint: "use TLSv1.2 or TLSv1.3".into(),
        });
    }
    let supported = [(12, &rustls::version::TLS12), (13, &rustls::version::TLS13)];
    Ok(supported
        .into_iter()
        .filter(|(n, _)| (min..=max).contains(n))
        .map(|(_, v)| v)
        .collect())
}

/// Selects how the server's certificate is verified, and against which roots.
///
/// This differs from libpq in one case. With a root file and `allow` or `prefer`, libpq verifies
/// and retries without TLS if that fails. Prony keeps such a connection on TLS, unverified, which
/// is no less safe and saves a second connection attempt.
pub(super) fn build_verifier(
    options: &OptionValues,
    env: &Environment,
    mode: SslMode,
    provider: &Arc<CryptoProvider>,
    warnings: &mut Vec<String>,
) -> Result<Verifier, Error> {
    if mode < SslMode::Require {
        return Ok(Verifier::new(Accepted::Any, provider));
    }
    let explicit = options.non_empty("sslrootcert");
    let roots = if explicit == Some("system") {
        system_roots()?
    } else {
        let path = explicit
            .map(PathBuf::from)
            .or_else(|| env.in_home(".postgresql/root.crt"));
        match path.filter(|path| path.exists()) {
            Some(path) => read_certificates(&path, "root certificate file")?,
            None if mode == SslMode::Require => {
                if let Some(path) = explicit {
                    warnings.push(format!(
                        "root certificate file \"{path}\" does not exist: with \
                         sslmode=require the server's certificate is not verified"
                    ));
                }
                return Ok(Verifier::new(Accepted::Any, provider));
            }
            None => return Err(missing_root_file_error(explicit, env)),
        }
    };
    let mut store = RootCertStore::empty();
    let (added, _) = store.add_parsable_certificates(roots.iter().cloned());
    if added == 0 {
        return Err(Error::tls(
            "no usable root certificate",
            "check sslrootcert",
        ));
    }
    let crls = read_revocation_lists(options, env, warnings)?;
    let has_crls = !crls.is_empty();
    let chain_verifier =
        WebPkiServerVerifier::builder_with_provider(Arc::new(store), provider.clone())
            .with_crls(crls)
            .enforce_revocation_expiration()
            .build()
            .map_err(|e| Error::tls(e.to_string(), "check sslrootcert and sslcrl"))?;
    // The verifier's exceptions for unusual certificates are not needed for the system's roots. With
    // revocation lists they are not allowed, because only rustls checks these lists.
    let exception_roots = if explicit == Some("system") || has_crls { Vec::new() } else { roots };
    let accepted = Accepted::Issued {
        chain: chain_verifier,
        roots: exception_roots,
        checks_name: mode == SslMode::VerifyFull,
    };
    Ok(Verifier::new(accepted, provider))
}

/// The error for a mode that verifies when there is no root certificate file.
fn missing_root_file_error(explicit: Option<&str>, env: &Environment) -> Error {
    let path = explicit
        .map(PathBuf::from)
        .or_else(|| env.in_home(".postgresql/root.crt"));
    Error::File {
        purpose: "root certificate file",
        path: path.unwrap_or_else(|| PathBuf::from("~/.postgresql/root.crt")),
        problem: "does not exist".into(),
        hint: "provide the file, use the system's trusted roots with sslrootcert=system, or \
               change sslmode to disable server certificate verification"
            .into(),
    }
}

pub(crate) fn system_roots() -> Result<Vec<CertificateDer<'static>>, Error> {
    let native = rustls_native_certs::load_native_certs();
    if native.certs.is_empty() {
        let reason = native
            .errors
            .first()
            .map_or("none found".to_owned(), ToString::to_string);
        return Err(Error::tls(
            format!("the system's root certificates cannot be loaded: {reason}"),
            "install the package ca-certificates, or name a file with sslrootcert",
        ));
    }
    Ok(native.certs)
}

/// Reads a file; `purpose` names it in the error.
pub(crate) fn read_file(path: &Path, purpose: &'static str) -> Result<Vec<u8>, Error> {
    std::fs::read(path).map_err(|e| Error::File {
        purpose,
        path: path.to_owned(),
        problem: e.to_string(),
        hint: "check the path and its permissions".into(),
    })
}

/// Reads the certificates of a PEM file; never empty.
pub(crate) fn read_certificates(
    path: &Path,
    purpose: &'static str,
) -> Result<Vec<CertificateDer<'static>>, Error> {
    let bytes = read_file(path, purpose)?;
    let parsed: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&bytes).collect();
    let problem = match parsed {
        Ok(list) if !list.is_empty() => return Ok(list),
        Ok(_) => "contains no certificate".to_owned(),
        Err(e) => e.to_string(),
    };
    let hint = "it must be a PEM file with -----BEGIN CERTIFICATE-----".into();
    Err(Error::File {
        purpose,
        path: path.to_owned(),
        problem,
        hint,
    })
}

/// Reads `sslcrl`, `sslcrldir` or `~/.postgresql/root.crl`. As with libpq a missing file is not an
/// error; it is a warning if the user named it.
fn read_revocation_lists(
    options: &OptionValues,
    env: &Environment,
    warnings: &mut Vec<String>,
) -> Result<Vec<CertificateRevocationListDer<'static>>, Error> {
    let file = options.non_empty("sslcrl").map(PathBuf::from);
    let dir = options.non_empty("sslcrldir").map(PathBuf::from);
    let mut paths = Vec::new();
    for path in [&file, &dir]
        .into_iter()
        .flatten()
        .filter(|path| !path.exists())
    {
        warnings.push(format!(
            "revocation list \"{}\" does not exist: ignored",
            path.display()
        ));
    }
    if let Some(entries) = dir.as_ref().and_then(|dir| std::fs::read_dir(dir).ok()) {
        paths.extend(
            entries
                .flatten()
                .map(|entry| entry.path())
                .filter(|path| path.is_file()),
        );
    }
    if file.is_none() && dir.is_none() {
        paths.extend(env.in_home(".postgresql/root.crl"));
    }
    paths.extend(file);
    let mut lists = Vec::new();
    for path in paths.iter().filter(|path| path.exists()) {
        let purpose = "certificate revocation list";
        let bytes = read_file(path, purpose)?;
        for list in CertificateRevocationListDer::pem_slice_iter(&bytes) {
            lists.push(list.map_err(|e| Error::File {
                purpose,
                path: path.clone(),
                problem: e.to_string(),
                hint: "it must be a PEM file with -----BEGIN X509 CRL-----".into(),
            })?);
        }
    }
    Ok(lists)
}
