//! A MariaDB with an account for each login method, and TLS with a private authority.

use prony_server::control::{Control, Error};
use prony_server::{Environment, Target, resolve};
use prony_test_servers::{MariaDb, MariaDbOptions, TestControl, shared_mariadb};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, Weak};

pub fn target(url: &str) -> Target {
    let environment = Environment::without_home("tester");
    resolve(url, &environment).expect("a valid URL")
}

pub fn connect(url: &str) -> Result<Control, Error> {
    Control::connect(&target(url))
}

pub fn database(name: &str) -> Control {
    let server = shared_mariadb();
    let mut control = connect(&server.url()).unwrap();
    control.run(format!("CREATE DATABASE IF NOT EXISTS {name}"));
    control.run(format!("USE {name}"));
    control
}

/// A server with TLS and accounts; the password of each is `sesame`.
pub struct Accounts {
    pub server: MariaDb,
    /// Certificate file of the authority that signed the server's certificate.
    pub authority: PathBuf,
}

const CREATE_ACCOUNTS: [&str; 6] = [
    "CREATE USER IF NOT EXISTS native@'%' IDENTIFIED VIA mysql_native_password USING PASSWORD('sesame');",
    "CREATE USER IF NOT EXISTS edward@'%' IDENTIFIED VIA ed25519 USING PASSWORD('sesame');",
    "CREATE USER IF NOT EXISTS empty@'%';",
    "CREATE USER IF NOT EXISTS safe@'%' IDENTIFIED BY 'sesame' REQUIRE SSL;",
    "CREATE USER IF NOT EXISTS expired@'%' IDENTIFIED BY 'sesame' PASSWORD EXPIRE;",
    "CREATE USER IF NOT EXISTS locked@'%' IDENTIFIED BY 'sesame' ACCOUNT LOCK;",
];

/// One server for all tests that run at the same time.
pub fn shared_accounts() -> Arc<Accounts> {
    static SHARED: Mutex<Weak<Accounts>> = Mutex::new(Weak::new());
    let mut shared = SHARED.lock().unwrap_or_else(|poison| poison.into_inner());
    if let Some(accounts) = shared.upgrade() {
        return accounts;
    }
    let accounts = Arc::new(start_with_accounts());
    *shared = Arc::downgrade(&accounts);
    accounts
}

fn start_with_accounts() -> Accounts {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params
        .distinguished_name
        .push(DnType::CommonName, "Prony test authority");
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let key = KeyPair::generate().unwrap();
    let leaf = CertificateParams::new(vec!["db.test".to_owned()])
        .unwrap()
        .signed_by(&key, &authority)
        .unwrap();
    let file = std::env::temp_dir().join(format!("prony-my-ca-{}.pem", std::process::id()));
    std::fs::write(&file, authority.pem()).unwrap();
    let server = MariaDb::start(MariaDbOptions {
        arguments: vec!["--plugin-load-add=auth_ed25519".to_owned()],
        files: vec![
            ("ssl-cert".to_owned(), leaf.pem().into_bytes()),
            ("ssl-key".to_owned(), key.serialize_pem().into_bytes()),
            ("ssl-ca".to_owned(), authority.pem().into_bytes()),
        ],
        statements: CREATE_ACCOUNTS.map(str::to_owned).into(),
        ..MariaDbOptions::default()
    });
    Accounts {
        server: server.unwrap_or_else(|problem| panic!("{problem}")),
        authority: file,
    }
}

impl Drop for Accounts {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.authority);
    }
}

impl Accounts {
    pub fn url(&self, account: &str, options: &str) -> String {
        let port = self.server.port();
        format!("mysql://{account}:sesame@127.0.0.1:{port}/?{options}")
    }
}
