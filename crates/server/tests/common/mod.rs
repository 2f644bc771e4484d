//! A PostgreSQL of the tests' own: private folder, free port, TLS by a private authority.

use prony_server::control::Control;
use prony_server::{Address, ChannelBinding, Endpoint, SessionAttrs, SslMode, Target, Tls};
use prony_wire::Secret;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::{ClientConfig, RootCertStore};
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

/// Roles named after how they log in; the password of each is `sesame` where it has one.
const HBA: &str = "
local all postgres trust
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

const ROLES: &str = "
SET password_encryption = 'md5';
CREATE ROLE md5_user LOGIN PASSWORD 'sesame';
SET password_encryption = 'scram-sha-256';
CREATE ROLE clear_user LOGIN PASSWORD 'sesame';
CREATE ROLE scram_user LOGIN PASSWORD 'sesame';
CREATE ROLE tls_only LOGIN;
CREATE ROLE plain_only LOGIN;
";

pub struct Server {
    child: Child,
    folder: PathBuf,
    port: u16,
    authority: rustls::pki_types::CertificateDer<'static>,
}

static SHARED: Mutex<Weak<Server>> = Mutex::new(Weak::new());
static COUNT: AtomicU32 = AtomicU32::new(0);

impl Server {
    /// One for all tests that run at the same time; the last to let go stops it.
    pub fn shared() -> Arc<Server> {
        let mut shared = SHARED.lock().unwrap_or_else(|poison| poison.into_inner());
        shared.upgrade().unwrap_or_else(|| {
            let server = Arc::new(Server::start(""));
            *shared = Arc::downgrade(&server);
            server
        })
    }

    pub fn start(settings: &str) -> Server {
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("prony-control-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir(&folder).unwrap();
        give(&folder, 0o700);
        let data = folder.join("data");
        run(program("initdb").arg("-D").arg(&data).args([
            "-U",
            "postgres",
            "-A",
            "trust",
            "-N",
            "-E",
            "UTF8",
            "--locale=C",
        ]));

        let port = TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap()
            .port();
        let authority = certify(&data);
        write(&data.join("pg_hba.conf"), HBA.as_bytes());
        let mut conf = std::fs::read_to_string(data.join("postgresql.conf")).unwrap();
        conf.push_str(&format!(
            "\nlisten_addresses='127.0.0.1'\nport={port}\nunix_socket_directories='{}'\n\
             fsync=off\nssl=on\nmax_connections=40\nshared_buffers=16MB\n{settings}\n",
            folder.display()
        ));
        write(&data.join("postgresql.conf"), conf.as_bytes());

        let log = std::fs::File::create(folder.join("log")).unwrap();
        let child = program("postgres")
            .arg("-D")
            .arg(&data)
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .unwrap();
        let server = Server {
            child,
            folder,
            port,
            authority,
        };
        server.wait_until_ready().execute(ROLES).unwrap();
        server
    }

    fn wait_until_ready(&self) -> Control {
        for _ in 0..600 {
            match Control::connect(&self.unix("postgres")) {
                Ok(control) => return control,
                Err(_) => std::thread::sleep(Duration::from_millis(100)),
            }
        }
        panic!(
            "{}",
            std::fs::read_to_string(self.folder.join("log")).unwrap_or_default()
        );
    }

    /// Over the unix socket.
    pub fn unix(&self, user: &str) -> Target {
        let path = self.folder.join(format!(".s.PGSQL.{}", self.port));
        let host = self.folder.display().to_string();
        self.target(user, Address::Unix(path), &host, SslMode::Prefer)
    }

    /// Over TCP, under this name.
    pub fn tcp(&self, user: &str, host: &str, mode: SslMode) -> Target {
        let address = Address::Tcp(([127, 0, 0, 1], self.port).into());
        self.target(user, address, host, mode)
    }

    fn target(&self, user: &str, address: Address, host: &str, mode: SslMode) -> Target {
        let endpoint = Endpoint {
            address,
            host: host.into(),
            port: self.port,
            password: None,
        };
        let config = (mode != SslMode::Disable).then(|| self.client_config());
        Target {
            endpoints: vec![endpoint],
            user: user.into(),
            database: "postgres".into(),
            parameters: vec![("application_name".into(), "prony".into())],
            tls: Tls {
                mode,
                config,
                direct: false,
            },
            channel_binding: ChannelBinding::Prefer,
            session: SessionAttrs::Any,
            connect_timeout: Some(Duration::from_secs(60)),
        }
    }

    /// Trusts this server's authority and no other.
    fn client_config(&self) -> Arc<ClientConfig> {
        let mut roots = RootCertStore::empty();
        roots.add(self.authority.clone()).unwrap();
        client_config(roots)
    }

    /// Kills the server process as a crash would.
    pub fn crash(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let pid = rustix::process::Pid::from_child(&self.child);
        // SIGINT: disconnect everybody, shut down.
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::INT);
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

pub fn client_config(roots: RootCertStore) -> Arc<ClientConfig> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    Arc::new(config)
}

/// The same with a password.
pub fn with_password(mut target: Target, password: &str) -> Target {
    for endpoint in &mut target.endpoints {
        endpoint.password = Some(Secret::new(password));
    }
    target
}

/// Makes an authority and a certificate for `localhost`; gives the authority's.
fn certify(data: &Path) -> rustls::pki_types::CertificateDer<'static> {
    let mut params = CertificateParams::new(Vec::<String>::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    let certificate = params.signed_by(&key, &issuer).unwrap();
    write(&data.join("server.crt"), certificate.pem().as_bytes());
    write(&data.join("server.key"), key.serialize_pem().as_bytes());
    issuer.der().clone()
}

fn write(path: &Path, bytes: &[u8]) {
    std::fs::write(path, bytes).unwrap();
    give(path, 0o600);
}

/// Gives a file to the user whom the server runs as.
fn give(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    if let Some((uid, gid)) = unprivileged() {
        chown(path, Some(uid), Some(gid)).unwrap();
    }
}

/// The postgres user, when the test runs as root; a server refuses to.
fn unprivileged() -> Option<(u32, u32)> {
    if !rustix::process::geteuid().is_root() {
        return None;
    }
    let passwd = std::fs::read_to_string("/etc/passwd").unwrap();
    let line = passwd
        .lines()
        .find(|line| line.starts_with("postgres:"))
        .expect("user postgres");
    let fields: Vec<&str> = line.split(':').collect();
    Some((fields[2].parse().unwrap(), fields[3].parse().unwrap()))
}

fn program(name: &str) -> Command {
    let newest = (9..30)
        .rev()
        .map(|major| PathBuf::from(format!("/usr/lib/postgresql/{major}/bin")))
        .find(|folder| folder.join(name).exists())
        .expect("PostgreSQL's server programs in /usr/lib/postgresql");
    let mut command = Command::new(newest.join(name));
    command.current_dir("/").env("LC_ALL", "C");
    if let Some((uid, gid)) = unprivileged() {
        command.uid(uid).gid(gid);
    }
    command
}

fn run(command: &mut Command) {
    let output = command.output().unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}
