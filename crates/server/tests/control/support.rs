//! Throw-away servers with a role for each login method, and TLS with a private authority.

use prony_server::control::{Control, Error};
use prony_server::embedded::{self, EmbeddedOptions};
use prony_server::{Environment, PostgresOptions, ProtocolOptions, Target, resolve};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, Weak};

/// Roles are named after their login method; those with a password have `sesame`.
const HBA_LINES: &str = "
local all clear_user password
local all md5_user md5
local all scram_user scram-sha-256
hostssl all tls_only all trust
hostnossl all tls_only all reject
hostnossl all plain_only all trust
hostssl all plain_only all reject
host all postgres all trust
host all scram_user all scram-sha-256
";

const CREATE_ROLES: &str = "
SET password_encryption = 'md5';
CREATE ROLE md5_user LOGIN PASSWORD 'sesame';
SET password_encryption = 'scram-sha-256';
CREATE ROLE clear_user LOGIN PASSWORD 'sesame';
CREATE ROLE scram_user LOGIN PASSWORD 'sesame';
CREATE ROLE tls_only LOGIN;
CREATE ROLE plain_only LOGIN;
";

pub struct Server {
    pub embedded: embedded::EmbeddedPostgres,
    /// File of the CA that signed the server's certificate.
    pub authority: PathBuf,
}

static SHARED: Mutex<Weak<Server>> = Mutex::new(Weak::new());

impl Server {
    /// One server for all tests that run at the same time; stopped when the last reference is
    /// dropped.
    pub fn shared() -> Arc<Server> {
        let mut shared = SHARED
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        shared.upgrade().unwrap_or_else(|| {
            let server = Arc::new(Server::start(&[]));
            *shared = Arc::downgrade(&server);
            server
        })
    }

    pub fn start(settings: &[(&str, &str)]) -> Server {
        let (authority, certificate, key) = create_certificate("Authority of the tests");
        let mut options = EmbeddedOptions {
            shared_buffers_mib: 16,
            hba_lines: HBA_LINES.lines().map(str::to_owned).collect(),
            files: vec![
                ("server.crt".into(), certificate.into_bytes()),
                ("server.key".into(), key.into_bytes()),
            ],
            ..EmbeddedOptions::default()
        }
        .set("ssl", "on");
        for (name, value) in settings {
            options = options.set(*name, *value);
        }
        let installation = embedded::find().expect("PostgreSQL's server programs");
        let embedded = embedded::EmbeddedPostgres::start(&installation, &options).unwrap();
        let path = embedded.directory().join("authority.pem");
        std::fs::write(&path, authority).unwrap();
        let server = Server {
            embedded,
            authority: path,
        };
        Control::connect(&server.unix("postgres"))
            .unwrap()
            .execute(CREATE_ROLES)
            .unwrap();
        server
    }

    pub fn unix(&self, user: &str) -> Target {
        target(&format!(
            "host='{}' port={} user={user} dbname=postgres",
            self.embedded.socket_dir().display(),
            self.embedded.port(),
        ))
    }

    /// A target over TCP with this host name and sslmode, which trusts this server's authority.
    pub fn tcp(&self, user: &str, host: &str, mode: &str) -> Target {
        self.tcp_trusting(user, host, mode, &self.authority)
    }

    pub fn tcp_trusting(&self, user: &str, host: &str, mode: &str, authority: &Path) -> Target {
        target(&format!(
            "host={host} hostaddr=127.0.0.1 port={} user={user} dbname=postgres sslmode={mode} \
             sslrootcert='{}'",
            self.embedded.port(),
            authority.display(),
        ))
    }
}

/// Resolves a connection string without the test's environment.
pub fn target(conninfo: &str) -> Target {
    let conninfo = format!("{conninfo} connect_timeout=60");
    resolve(&conninfo, &Environment::without_home("tester")).unwrap()
}

pub fn postgres_options(target: &mut Target) -> &mut PostgresOptions {
    match &mut target.protocol {
        ProtocolOptions::PostgreSql(options) => options,
        ProtocolOptions::MySql(_) | ProtocolOptions::SqlServer(_) => {
            panic!("not PostgreSQL's protocol")
        }
    }
}

/// Sets the password of a target.
pub fn with_password(mut target: Target, password: &str) -> Target {
    for endpoint in &mut target.endpoints {
        endpoint.password = Some(prony_wire::Secret::new(password));
    }
    target
}

/// Creates an authority with this name, and a certificate for `localhost` with its key, all in PEM.
pub fn create_certificate(name: &str) -> (String, String, String) {
    let mut params = CertificateParams::new(Vec::<String>::new()).unwrap();
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    let certificate = params.signed_by(&key, &issuer).unwrap();
    (issuer.pem(), certificate.pem(), key.serialize_pem())
}

/// The error message of a failed attempt to connect.
pub fn connect_error(result: Result<Control, Error>) -> String {
    match result {
        Ok(_) => panic!("connected"),
        Err(error) => error.to_string(),
    }
}
