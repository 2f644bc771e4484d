//! Logins of clients under load: TLS with verified certificates, SCRAM with channel binding, md5 and
//! plain passwords.

use crate::common::*;
use prony_server::embedded;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};

/// Roles are named after their login method. They can log in only over TLS, so a successful run has used TLS.
const HBA_LINES: [&str; 5] = [
    "hostssl all scram_user all scram-sha-256",
    "hostssl all md5_user all md5",
    "hostssl all clear_user all password",
    "hostnossl all scram_user,md5_user,clear_user all reject",
    "host all postgres all scram-sha-256",
];

const ROLES_SQL: &str = "
SET password_encryption = 'md5';
CREATE ROLE md5_user LOGIN PASSWORD 'sesame-0815';
SET password_encryption = 'scram-sha-256';
CREATE ROLE clear_user LOGIN PASSWORD 'sesame-0815';
CREATE ROLE scram_user LOGIN PASSWORD 'sesame-0815';
";
const PASSWORD: &str = "sesame-0815";

/// A loaded database on a server that requires TLS.
struct TlsServer {
    bench: TestBench,
    /// The CA that signed the server's certificate.
    ca: PathBuf,
    /// A CA with the same name that did not sign the certificate.
    same_name_ca: PathBuf,
    /// An unrelated CA.
    other_ca: PathBuf,
    server: embedded::EmbeddedPostgres,
}

impl TlsServer {
    fn start() -> TlsServer {
        let [ca, certificate, key] = create_certificates("Authority of the tests");
        let [same_name_ca, ..] = create_certificates("Authority of the tests");
        let [other_ca, ..] = create_certificates("Another authority");
        let options = EmbeddedOptions {
            shared_buffers_mib: 16,
            hba_lines: HBA_LINES.map(str::to_owned).to_vec(),
            files: vec![
                ("server.crt".into(), certificate.into_bytes()),
                ("server.key".into(), key.into_bytes()),
            ],
            ..EmbeddedOptions::default()
        }
        .set("ssl", "on");
        let installation = embedded::find().expect("PostgreSQL's programs");
        let server = embedded::EmbeddedPostgres::start(&installation, &options).expect("it starts");
        let bench = TestBench::on(&server, "logins");
        connect(&server.url()).run(ROLES_SQL);
        bench.ok("load tpcb --scale 1");
        let grant = "GRANT ALL ON ALL TABLES IN SCHEMA public TO public";
        bench.control().run(grant);
        let file = |name: &str, text: String| bench.home.write(name, text);
        TlsServer {
            ca: file("ca.pem", ca),
            same_name_ca: file("same-name-ca.pem", same_name_ca),
            other_ca: file("other-ca.pem", other_ca),
            bench,
            server,
        }
    }

    /// Runs a command as a role; `options` are appended to the connection string.
    fn prony(&self, arguments: &str, user: &str, authority: &Path, options: &str) -> Output {
        let url = format!(
            "host=localhost hostaddr=127.0.0.1 port={} dbname=logins user={user} \
             sslmode=verify-full sslrootcert='{}' {options}",
            self.server.port(),
            authority.display(),
        );
        let mut command = self.bench.command(arguments);
        command.args(["--url", &url]).env("PGPASSWORD", PASSWORD);
        let output = command.output().expect("it starts");
        assert_hidden(PASSWORD, &output, &self.bench.home);
        output
    }
}

/// Creates a CA of this name and a certificate for `localhost` signed by it. Returns the CA's certificate, the
/// certificate and its key, all in PEM.
pub fn create_certificates(name: &str) -> [String; 3] {
    let mut params = CertificateParams::new(Vec::<String>::new()).expect("no names");
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().expect("a key");
    let issuer = CertifiedIssuer::self_signed(params, key).expect("signs");
    let key = KeyPair::generate().expect("a key");
    let params = CertificateParams::new(vec!["localhost".to_owned()]).expect("a name");
    let certificate = params.signed_by(&key, &issuer).expect("signs");
    [issuer.pem(), certificate.pem(), key.serialize_pem()]
}

/// One test for all logins, so that only one server is started.
#[test]
fn clients_support_every_login_method() {
    let server = TlsServer::start();
    let engines = io_engines(&server.bench);
    let rows = || {
        query_number(
            &mut server.bench.control(),
            "SELECT count(*) FROM pgbench_history",
        )
    };
    let mut expected = rows();
    for engine in &engines {
        for (user, options, reconnect) in [
            ("scram_user", "channel_binding=require", ""),
            (
                "scram_user",
                "channel_binding=require",
                "--connect-per-transaction",
            ),
            ("scram_user", "ssl_max_protocol_version=TLSv1.2", ""),
            ("md5_user", "", ""),
            ("clear_user", "", ""),
        ] {
            let arguments = format!(
                "run tpcb --io {engine} --clients 4 --threads 2 --transactions 10 --json {reconnect}"
            );
            let output = server.prony(&arguments, user, &server.ca, options);
            let run = parse_run(&output);
            assert_eq!(
                total_figures(&run.measured).committed,
                40,
                "{user} {options}"
            );
            assert_eq!(run.measured.errors, []);
            expected += 40;
            assert_eq!(rows(), expected, "{user} {options}: by the server's count");
            let tls = run.server.tls.as_deref().expect("it was TLS");
            let version = if options.contains("TLSv1.2") { "TLSv1.2" } else { "TLSv1.3" };
            tls.assert_starts_with(version);
            assert_eq!((&*run.drive.io, &*run.server.user), (*engine, user));
        }
    }
    assert_logins_refused(&server);
}

/// Asserts the exit code and message of logins that must fail.
fn assert_logins_refused(server: &TlsServer) {
    let arguments = "run tpcb --clients 2 --transactions 1";
    let ca = &server.ca;
    let untrusted = "sslrootcert=FILE";
    for (user, authority, options, expected) in [
        ("scram_user", &server.same_name_ca, "", untrusted),
        ("scram_user", &server.other_ca, "", untrusted),
        ("scram_user", ca, "host=127.0.0.1", "127.0.0.1"),
        ("md5_user", ca, "channel_binding=require", "channel binding"),
        ("scram_user", ca, "sslmode=disable", "pg_hba.conf"),
        ("no_user", ca, "", "no_user"),
    ] {
        let output = server.prony(arguments, user, authority, options);
        let stderr = stderr_text(&output);
        assert_eq!(output.status.code(), Some(3), "{user} {options}: {stderr}");
        assert!(stderr.contains(expected), "{user} {options}: {stderr}");
        assert!(output.stdout.is_empty());
    }
}
