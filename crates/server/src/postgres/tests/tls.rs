//! TLS options, verification in each mode, and in-memory handshakes.
//!
//! `tests/data/tls/make.sh` creates the certificates. Chains are verified at a fixed time, so that
//! these tests do not depend on the date.

use super::super::tls::build_verifier;
use super::super::{Environment, collect_options, resolve as resolve_with_env, values};
use super::{Folder, data_path, error_text, postgres_options, resolve};
use prony_assertions::TextAssertions;
use rustls::client::danger::ServerCertVerifier;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls::{ClientConfig, ClientConnection, ServerConfig, ServerConnection};
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;
use std::time::Duration;

fn tls_file(name: &str) -> Vec<u8> {
    std::fs::read(data_path(&format!("tls/{name}"))).unwrap()
}

fn certificate(name: &str) -> CertificateDer<'static> {
    CertificateDer::from_pem_slice(&tls_file(name)).unwrap()
}

/// Verifies `cert` for `host` in 2040, with these options; the error is that of the verifier.
fn verify(options: &str, cert: &str, host: &str) -> Result<(), String> {
    let folder = Folder::new();
    let options = collect_options(&[], "the command line", options, &folder.env()).unwrap();
    let mode = values::ssl_mode(&options).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier = build_verifier(&options, &folder.env(), mode, &provider, &mut Vec::new())
        .map_err(|e| e.to_string())?;
    let host = ServerName::try_from(host.to_owned()).unwrap();
    let time = UnixTime::since_unix_epoch(Duration::from_secs(2_208_988_800));
    let verdict = verifier.verify_server_cert(&certificate(cert), &[], &host, &[], time);
    verdict.map(|_| ()).map_err(|e| e.to_string())
}

fn sslrootcert(name: &str) -> String {
    format!(
        "sslrootcert='{}'",
        data_path(&format!("tls/{name}")).display()
    )
}

#[test]
fn each_mode_checks_what_libpq_checks() {
    let (ca, other, self_signed) = (
        sslrootcert("ca.crt"),
        sslrootcert("other.crt"),
        sslrootcert("self.crt"),
    );
    // Mode, option for the root file, certificate of the server, host, whether it is accepted.
    let table = [
        ("sslmode=prefer", &other, "server.crt", "db.example", true),
        ("sslmode=allow", &other, "expired.crt", "x", true),
        ("sslmode=require", &String::new(), "server.crt", "x", true),
        // A root file turns require into verify-ca.
        ("sslmode=require", &ca, "server.crt", "x", true),
        ("sslmode=require", &other, "server.crt", "db.example", false),
        ("sslmode=verify-ca", &ca, "server.crt", "x", true),
        (
            "sslmode=verify-ca",
            &other,
            "server.crt",
            "db.example",
            false,
        ),
        ("sslmode=verify-ca", &ca, "expired.crt", "db.example", false),
        (
            "sslmode=verify-ca",
            &ca,
            "wronguse.crt",
            "db.example",
            false,
        ),
        ("sslmode=verify-ca", &ca, "self.crt", "db.example", false),
        ("sslmode=verify-full", &ca, "server.crt", "db.example", true),
        ("sslmode=verify-full", &ca, "server.crt", "DB.example", true),
        (
            "sslmode=verify-full",
            &ca,
            "server.crt",
            "a.wild.example",
            true,
        ),
        (
            "sslmode=verify-full",
            &ca,
            "server.crt",
            "a.b.wild.example",
            false,
        ),
        (
            "sslmode=verify-full",
            &ca,
            "server.crt",
            "wild.example",
            false,
        ),
        ("sslmode=verify-full", &ca, "server.crt", "127.0.0.1", true),
        ("sslmode=verify-full", &ca, "server.crt", "127.0.0.2", false),
        ("sslmode=verify-full", &ca, "server.crt", "x", false),
        // The common name counts only without an alternative name of the same kind.
        (
            "sslmode=verify-full",
            &ca,
            "server.crt",
            "not.the.name",
            false,
        ),
        ("sslmode=verify-full", &ca, "plain.crt", "db.example", true),
        (
            "sslmode=verify-full",
            &ca,
            "plain.crt",
            "db.example.org",
            false,
        ),
        (
            "sslmode=verify-full",
            &other,
            "plain.crt",
            "db.example",
            false,
        ),
        // A certificate of X.509 version 1.
        ("sslmode=verify-full", &ca, "v1.crt", "db.example", true),
        ("sslmode=verify-full", &ca, "v1.crt", "x", false),
        ("sslmode=verify-ca", &ca, "v1.crt", "x", true),
        ("sslmode=verify-ca", &other, "v1.crt", "db.example", false),
        // A server that is its own authority.
        (
            "sslmode=verify-full",
            &self_signed,
            "self.crt",
            "db.example",
            true,
        ),
        ("sslmode=verify-full", &self_signed, "self.crt", "x", false),
        ("sslmode=verify-ca", &self_signed, "self.crt", "x", true),
        (
            "sslmode=verify-ca",
            &self_signed,
            "rsa.crt",
            "db.example",
            false,
        ),
        (
            "sslmode=verify-full",
            &sslrootcert("rsa.crt"),
            "rsa.crt",
            "db.example",
            true,
        ),
    ];
    for (mode, root, cert, host, expected) in table {
        let verdict = verify(&format!("{mode} {root}"), cert, host);
        assert_eq!(
            verdict.is_ok(),
            expected,
            "{mode} {root} {cert} {host}: {verdict:?}"
        );
    }
}

#[test]
fn certificates_are_refused_outside_their_validity_period() {
    let options = collect_options(
        &[],
        "the command line",
        &format!("sslmode=verify-ca {}", sslrootcert("self.crt")),
        &Folder::new().env(),
    );
    let options = options.unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let env = Environment::default();
    let mode = values::ssl_mode(&options).unwrap();
    let verifier = build_verifier(&options, &env, mode, &provider, &mut Vec::new()).unwrap();
    let host = ServerName::try_from("db.example").unwrap();
    for (unix_s, is_valid) in [
        (946_684_800, false),
        (2_208_988_800, true),
        (9_999_999_999, false),
    ] {
        let time = UnixTime::since_unix_epoch(Duration::from_secs(unix_s));
        let verdict = verifier.verify_server_cert(&certificate("self.crt"), &[], &host, &[], time);
        assert_eq!(verdict.is_ok(), is_valid, "{unix_s}: {verdict:?}");
    }
}

#[test]
fn a_revoked_certificate_is_refused() {
    let options_with = |crl: &str| {
        let crl = data_path(&format!("tls/{crl}"));
        format!(
            "sslmode=verify-ca {} sslcrl='{}'",
            sslrootcert("ca.crt"),
            crl.display()
        )
    };
    verify(&options_with("empty.crl"), "server.crt", "x").unwrap();
    let error = verify(&options_with("revoked.crl"), "server.crt", "x").unwrap_err();
    error.assert_contains("Revoked");
    verify(&options_with("revoked.crl"), "plain.crt", "x").unwrap();
    // With a revocation list, certificates that rustls cannot check are refused.
    verify(&options_with("empty.crl"), "v1.crt", "x").unwrap_err();
    // As with libpq, a missing list is not an error, only a warning.
    let url = format!("host=127.0.0.1 {}", options_with("missing.crl"));
    resolve(&url).unwrap().warnings[0].assert_contains("missing.crl");
}

#[test]
fn options_that_contradict_each_other_are_refused() {
    let table = [
        (
            "sslmode=prefer sslnegotiation=direct",
            "weak sslmode \"prefer\"",
        ),
        (
            "sslmode=require sslrootcert=system",
            "weak sslmode \"require\"",
        ),
        (
            "ssl_min_protocol_version=TLSv9",
            "invalid ssl_min_protocol_version value: \"TLSv9\"",
        ),
        (
            "ssl_min_protocol_version=TLSv1.3 ssl_max_protocol_version=TLSv1.2",
            "range",
        ),
        ("ssl_max_protocol_version=TLSv1.1", "TLS below 1.2"),
        (
            "hostaddr=127.0.0.1 sslmode=verify-full",
            "needs a host name to verify",
        ),
        ("host=127.0.0.1 sslmode=verify-ca", ".postgresql/root.crt"),
        (
            "host=127.0.0.1 sslmode=verify-full sslrootcert=/none",
            "\"/none\": does not exist",
        ),
        (
            "host=127.0.0.1 sslmode=require sslcertmode=require",
            "no client certificate",
        ),
    ];
    for (url, expected) in table {
        let error = error_text(url);
        assert!(error.contains(expected), "{url}: {error}");
    }
}

#[test]
fn a_configuration_is_built_only_if_tls_may_be_used() {
    let tls = |url: &str| resolve(url).unwrap().tls;
    assert!(tls("host=127.0.0.1 sslmode=disable").config.is_none());
    assert!(
        tls("host=/tmp sslmode=verify-full").config.is_none(),
        "unix sockets never use TLS"
    );
    let config = tls("host=/tmp,127.0.0.1").config.unwrap();
    assert_eq!(config.alpn_protocols, [b"postgresql"]);
    assert!(config.enable_sni);
    assert!(!tls("host=127.0.0.1 sslsni=0").config.unwrap().enable_sni);
    let direct = resolve("host=127.0.0.1 sslmode=require sslnegotiation=direct").unwrap();
    assert!(postgres_options(&direct).direct_tls && direct.tls.config.is_some());
    let warnings = resolve("host=127.0.0.1 sslmode=require sslrootcert=/none")
        .unwrap()
        .warnings;
    warnings[0].assert_contains("not verified");
}

#[test]
fn the_systems_roots_imply_verify_full() {
    match resolve("host=127.0.0.1 sslrootcert=system") {
        Ok(target) => {
            assert_eq!(target.tls.mode, crate::SslMode::VerifyFull);
            assert!(verify("sslrootcert=system", "server.crt", "db.example").is_err());
        }
        // A machine without system roots gets the hint to install them.
        Err(error) => assert!(error.to_string().contains("ca-certificates"), "{error}"),
    }
}

#[test]
fn the_servers_name_is_the_host_or_the_address() {
    let name = |url: &str| {
        let target = resolve(url).unwrap();
        target.endpoints[0]
            .server_name()
            .map(|name| name.to_str().into_owned())
    };
    assert_eq!(
        name("host=db.example hostaddr=127.0.0.1").as_deref(),
        Some("db.example")
    );
    assert_eq!(name("hostaddr=127.0.0.1").as_deref(), Some("127.0.0.1"));
    assert_eq!(name("host=::1").as_deref(), Some("::1"));
    assert_eq!(
        name("host='bad name' hostaddr=127.0.0.1").as_deref(),
        Some("127.0.0.1")
    );
    assert_eq!(name("host=/tmp"), None);
}

#[test]
fn client_certificates_and_keys_are_checked() {
    let folder = Folder::new();
    let url = "host=127.0.0.1 sslmode=require";
    let resolve = |url: &str| resolve_with_env(url, &folder.env());
    let has_certificate = |url: &str| {
        resolve(url)
            .unwrap()
            .tls
            .config
            .unwrap()
            .client_auth_cert_resolver
            .has_certs()
    };
    assert!(!has_certificate(url));

    folder.write(".postgresql/postgresql.crt", tls_file("client.crt"));
    let error = resolve(url).unwrap_err().to_string();
    error.assert_contains("private key file is not");
    let target = resolve("host=127.0.0.1").unwrap();
    target.warnings[0].assert_contains("no client certificate is sent");

    let key = folder.write(".postgresql/postgresql.key", tls_file("client.key"));
    assert!(has_certificate(url));
    assert!(!has_certificate(&format!("{url} sslcertmode=disable")));

    std::fs::set_permissions(&key, Permissions::from_mode(0o644)).unwrap();
    let error = resolve(url).unwrap_err().to_string();
    error.assert_contains("group or world access");
    error.assert_contains("0600");

    let encrypted = folder.write("enc.key", tls_file("client-encrypted.key"));
    let error = resolve(&format!("{url} sslkey='{}'", encrypted.display()))
        .unwrap_err()
        .to_string();
    error.assert_contains("encrypted");
    error.assert_contains("openssl pkey");

    let server_key = folder.write("wrong.key", tls_file("server.key"));
    let error = resolve(&format!("{url} sslkey='{}'", server_key.display()))
        .unwrap_err()
        .to_string();
    error.assert_contains("belong together");

    let der = PrivateKeyDer::from_pem_slice(&tls_file("client.key")).unwrap();
    let der = folder.write("der.key", der.secret_der());
    assert!(has_certificate(&format!(
        "{url} sslkey='{}'",
        der.display()
    )));

    let garbage = folder.write("garbage", "no certificate");
    let error = resolve(&format!("{url} sslcert='{}'", garbage.display()))
        .unwrap_err()
        .to_string();
    error.assert_contains("contains no certificate");
}

/// A resolver that always presents the same certificate.
#[derive(Debug)]
struct FixedCertificate(Arc<CertifiedKey>);

impl ResolvesServerCert for FixedCertificate {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.0.clone())
    }
}

fn server_config(cert: &str, key: &str) -> Arc<ServerConfig> {
    let key = PrivateKeyDer::from_pem_slice(&tls_file(key)).unwrap();
    let key = rustls::crypto::ring::sign::any_supported_type(&key).unwrap();
    let certified = CertifiedKey::new(vec![certificate(cert)], key);
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(FixedCertificate(Arc::new(certified))));
    config.alpn_protocols = vec![b"postgresql".to_vec()];
    Arc::new(config)
}

/// Runs a handshake in memory; returns the negotiated version.
fn handshake(
    client: Arc<ClientConfig>,
    server: Arc<ServerConfig>,
) -> Result<String, rustls::Error> {
    let name = ServerName::try_from("db.example").unwrap();
    let mut client = ClientConnection::new(client, name)?;
    let mut server = ServerConnection::new(server)?;
    for _ in 0..10 {
        let mut wire = Vec::new();
        while client.wants_write() {
            client.write_tls(&mut wire).unwrap();
        }
        let mut remaining = wire.as_slice();
        while !remaining.is_empty() {
            server.read_tls(&mut remaining).unwrap();
            server.process_new_packets()?;
        }
        let mut wire = Vec::new();
        while server.wants_write() {
            server.write_tls(&mut wire).unwrap();
        }
        let mut remaining = wire.as_slice();
        while !remaining.is_empty() {
            client.read_tls(&mut remaining).unwrap();
            client.process_new_packets()?;
        }
        if !client.is_handshaking() && !server.is_handshaking() {
            assert_eq!(client.alpn_protocol(), Some(&b"postgresql"[..]));
            return Ok(format!("{:?}", client.protocol_version().unwrap()));
        }
    }
    Err(rustls::Error::HandshakeNotComplete)
}

#[test]
fn handshakes_succeed_in_both_versions_with_every_kind_of_certificate() {
    for cert in ["server", "v1", "self", "rsa"] {
        let server = server_config(&format!("{cert}.crt"), &format!("{cert}.key"));
        for (limit, expected) in [("TLSv1.2", "TLSv1_2"), ("tlsv1.3", "TLSv1_3")] {
            let url = format!("host=127.0.0.1 sslmode=require ssl_max_protocol_version={limit}");
            let client = resolve(&url).unwrap().tls.config.unwrap();
            assert_eq!(
                handshake(client, server.clone()).as_deref(),
                Ok(expected),
                "{cert}"
            );
        }
    }
}

#[test]
fn a_server_must_hold_its_certificates_key_even_without_verification() {
    for limit in ["TLSv1.2", "TLSv1.3"] {
        let url = format!("host=127.0.0.1 sslmode=require ssl_max_protocol_version={limit}");
        let client = resolve(&url).unwrap().tls.config.unwrap();
        let error = handshake(client, server_config("server.crt", "v1.key")).unwrap_err();
        error.to_string().assert_contains("BadSignature");
    }
}

#[test]
fn a_version_limit_is_respected() {
    let client = resolve("host=127.0.0.1 ssl_min_protocol_version=TLSv1.3")
        .unwrap()
        .tls
        .config;
    assert_eq!(
        handshake(client.unwrap(), server_config("server.crt", "server.key")).as_deref(),
        Ok("TLSv1_3")
    );
}
