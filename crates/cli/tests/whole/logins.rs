//! Logins of the loop itself: TLS with verified certificates, SCRAM with channel binding, md5 and
//! plain passwords.

use crate::common::{Bench, control, document, engines, number, ok, stderr_text};
use prony_server::embedded::{self, EmbeddedOptions};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use std::path::{Path, PathBuf};
use std::process::Output;

/// Roles are named after their login method. They are admitted over TLS only, so that a run of
/// theirs that succeeds has used it.
const HBA: [&str; 5] = [
    "hostssl all scram_user all scram-sha-256",
    "hostssl all md5_user all md5",
    "hostssl all clear_user all password",
    "hostnossl all scram_user,md5_user,clear_user all reject",
    "host all postgres all scram-sha-256",
];

const ROLES: &str = "
SET password_encryption = 'md5';
CREATE ROLE md5_user LOGIN PASSWORD 'sesame-0815';
SET password_encryption = 'scram-sha-256';
CREATE ROLE clear_user LOGIN PASSWORD 'sesame-0815';
CREATE ROLE scram_user LOGIN PASSWORD 'sesame-0815';
";
const PASSWORD: &str = "sesame-0815";

/// A loaded database on a server that requires TLS.
struct Secured {
    bench: Bench,
    /// The CA that signed the server's certificate.
    right: PathBuf,
    /// A CA of the same name that did not sign it, and one of another name.
    namesake: PathBuf,
    stranger: PathBuf,
    server: embedded::EmbeddedPostgres,
}

impl Secured {
    fn start() -> Secured {
        let (right, certificate, key) = certify("Authority of the tests");
        let (namesake, _, _) = certify("Authority of the tests");
        let (stranger, _, _) = certify("Another authority");
        let options = EmbeddedOptions {
            shared_buffers_mib: 16,
            hba: HBA.map(str::to_owned).to_vec(),
            files: vec![
                ("server.crt".into(), certificate.into_bytes()),
                ("server.key".into(), key.into_bytes()),
            ],
            ..EmbeddedOptions::default()
        }
        .set("ssl", "on");
        let installation = embedded::find().expect("PostgreSQL's programs");
        let server = embedded::EmbeddedPostgres::start(&installation, &options).expect("it starts");
        let bench = Bench::on(&server, "logins");
        control(&server.url()).execute(ROLES).expect("roles");
        ok(&bench.prony("load tpcb --scale 1"));
        let grant = "GRANT ALL ON ALL TABLES IN SCHEMA public TO public";
        bench.control().execute(grant).expect("grants");
        let file = |name: &str, text: String| {
            let path = bench.home.join(name);
            std::fs::write(&path, text).expect("a file");
            path
        };
        Secured {
            right: file("right.pem", right),
            namesake: file("namesake.pem", namesake),
            stranger: file("stranger.pem", stranger),
            bench,
            server,
        }
    }

    /// Runs a command as a role, over a connection string with `options` appended.
    fn prony(&self, words: &str, user: &str, authority: &Path, options: &str) -> Output {
        let url = format!(
            "host=localhost hostaddr=127.0.0.1 port={} dbname=logins user={user} \
             sslmode=verify-full sslrootcert='{}' {options}",
            self.server.port(),
            authority.display(),
        );
        let mut command = self.bench.command(words);
        command.args(["--url", &url]).env("PGPASSWORD", PASSWORD);
        let output = command.output().expect("it starts");
        crate::common::assert_hidden(PASSWORD, &output, &self.bench.home);
        output
    }
}

/// A CA of this name, and a certificate for `localhost` signed by it with its key; all PEM.
fn certify(name: &str) -> (String, String, String) {
    let mut params = CertificateParams::new(Vec::<String>::new()).expect("no names");
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().expect("a key");
    let issuer = CertifiedIssuer::self_signed(params, key).expect("signs");
    let key = KeyPair::generate().expect("a key");
    let params = CertificateParams::new(vec!["localhost".to_owned()]).expect("a name");
    let certificate = params.signed_by(&key, &issuer).expect("signs");
    (issuer.pem(), certificate.pem(), key.serialize_pem())
}

/// One test, because its parts share a server that ends with it.
#[test]
fn the_loop_supports_every_login_method() {
    let secured = Secured::start();
    let engines = engines(&secured.bench);
    let rows = || {
        number(
            &mut secured.bench.control(),
            "SELECT count(*) FROM pgbench_history",
        )
    };
    let mut expected = rows();
    for engine in &engines {
        for (user, options, connects) in [
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
            let words = format!(
                "run tpcb --io {engine} --clients 4 --threads 2 --transactions 10 --json {connects}"
            );
            let output = secured.prony(&words, user, &secured.right, options);
            let run = document(&output);
            assert_eq!(run.measured.kinds[0].committed, 40, "{user} {options}");
            assert_eq!(run.measured.errors, []);
            expected += 40;
            assert_eq!(rows(), expected, "{user} {options}: by the server's count");
            let tls = run.server.tls.as_deref().expect("it was TLS");
            let version = match options.contains("TLSv1.2") {
                true => "TLSv1.2",
                false => "TLSv1.3",
            };
            assert!(tls.starts_with(version), "{tls}");
            assert_eq!((&*run.drive.io, &*run.server.user), (*engine, user));
        }
    }
    refusals(&secured);
}

/// Logins that must fail do so, with the right exit code and message.
fn refusals(secured: &Secured) {
    let words = "run tpcb --clients 2 --transactions 1";
    let right = &secured.right;
    let untrusted = "sslrootcert=FILE";
    for (user, authority, options, expected) in [
        ("scram_user", &secured.namesake, "", untrusted),
        ("scram_user", &secured.stranger, "", untrusted),
        ("scram_user", right, "host=127.0.0.1", "127.0.0.1"),
        (
            "md5_user",
            right,
            "channel_binding=require",
            "channel binding",
        ),
        ("scram_user", right, "sslmode=disable", "pg_hba.conf"),
        ("no_user", right, "", "no_user"),
    ] {
        let output = secured.prony(words, user, authority, options);
        let stderr = stderr_text(&output);
        assert_eq!(output.status.code(), Some(3), "{user} {options}: {stderr}");
        assert!(stderr.contains(expected), "{user} {options}: {stderr}");
        assert!(output.stdout.is_empty());
    }
}
