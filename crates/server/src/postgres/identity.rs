//! The client's certificate and private key.
//!
//! Must never: use a PostgreSQL key that other users can read.

use super::environment::Environment;
use super::tls::{read_certificates, read_file};
use crate::error::Error;
use crate::option_values::OptionValues;
use crate::target::SslMode;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// A certificate chain, its key, and the file of the chain.
pub(super) type Identity = (
    Vec<CertificateDer<'static>>,
    PrivateKeyDer<'static>,
    PathBuf,
);

/// Reads `sslcert` and `sslkey`, or their default files. In modes that allow a connection without
/// TLS, a problem with these files is only a warning, because libpq would continue without TLS.
pub(super) fn client_certificate(
    options: &OptionValues,
    env: &Environment,
    mode: SslMode,
    warnings: &mut Vec<String>,
) -> Result<Option<Identity>, Error> {
    match read_identity(options, env) {
        Err(error) if mode < SslMode::Require => {
            warnings.push(format!("no client certificate is sent: {error}"));
            Ok(None)
        }
        Ok(None) if options.get("sslcertmode") == Some("require") => Err(Error::tls(
            "sslcertmode=require, but there is no client certificate",
            "name one with sslcert",
        )),
        outcome => outcome,
    }
}

/// Reads the client's certificate and key; `None` if there is no certificate.
fn read_identity(options: &OptionValues, env: &Environment) -> Result<Option<Identity>, Error> {
    if options.get("sslcertmode") == Some("disable") {
        return Ok(None);
    }
    let path = |option: &str, default: &str| {
        options
            .non_empty(option)
            .map(PathBuf::from)
            .or_else(|| env.in_home(default))
    };
    let Some(cert) = path("sslcert", ".postgresql/postgresql.crt").filter(|p| p.exists()) else {
        return Ok(None);
    };
    let chain = read_certificates(&cert, "client certificate file")?;
    let Some(key) = path("sslkey", ".postgresql/postgresql.key").filter(|p| p.exists()) else {
        return Err(Error::File {
            purpose: "client certificate file",
            path: cert,
            problem: "is present, but its private key file is not".into(),
            hint: "name the key with sslkey".into(),
        });
    };
    Ok(Some((chain, read_private_key(&key)?, cert)))
}

/// What the key file is for, in messages.
const KEY_FILE_PURPOSE: &str = "private key file";

fn key_error(path: &Path, problem: &str, hint: &str) -> Error {
    Error::File {
        purpose: KEY_FILE_PURPOSE,
        path: path.to_owned(),
        problem: problem.to_owned(),
        hint: hint.to_owned(),
    }
}

/// Reads a private key; refuses a key that other users can read.
pub(crate) fn read_private_key(path: &Path) -> Result<PrivateKeyDer<'static>, Error> {
    let fail = |problem: &str, hint: &str| key_error(path, problem, hint);
    let check_hint = "check the path and its permissions";
    let meta = std::fs::metadata(path).map_err(|e| fail(&e.to_string(), check_hint))?;
    if !meta.is_file() {
        return Err(fail("is not a regular file", check_hint));
    }
    // As in libpq: a key that root owns may be readable by its group, such as Debian's "ssl-cert".
    let forbidden = if meta.uid() == 0 { 0o037 } else { 0o077 };
    if meta.permissions().mode() & forbidden != 0 {
        return Err(fail(
            "has group or world access",
            "it must have permissions u=rw (0600) or less if owned by the current user, or \
             u=rw,g=r (0640) or less if owned by root",
        ));
    }
    read_unchecked_key(path)
}

/// Reads a private key without checking its permissions, as MySQL's clients do.
pub(crate) fn read_unchecked_key(path: &Path) -> Result<PrivateKeyDer<'static>, Error> {
    let fail = |problem: &str, hint: &str| key_error(path, problem, hint);
    let bytes = read_file(path, KEY_FILE_PURPOSE)?;
    let text = String::from_utf8_lossy(&bytes);
    if text.contains("BEGIN ENCRYPTED PRIVATE KEY") || text.contains("Proc-Type: 4,ENCRYPTED") {
        return Err(fail(
            "is encrypted, which Prony does not support",
            "decrypt a copy with: openssl pkey -in KEY -out COPY, and chmod 0600 it",
        ));
    }
    if text.contains("-----BEGIN") {
        return PrivateKeyDer::from_pem_slice(&bytes).map_err(|e| {
            fail(
                &e.to_string(),
                "it must contain a PKCS#8, PKCS#1 or SEC1 key",
            )
        });
    }
    PrivateKeyDer::try_from(bytes).map_err(|e| fail(e, "it must be in PEM or DER form"))
}
