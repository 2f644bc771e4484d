//! `encrypt=strict`: TLS precedes everything, and the certificate is verified (TDS 8.0).

use super::*;
use prony_assertions::TextAssertions;

/// A server with TDS 8.0, the options that trust its certificate, and what it received.
struct StrictServer {
    port: u16,
    received: Arc<Mutex<Received>>,
    options: String,
}

impl StrictServer {
    /// `option` names the option that holds the file of the certificate.
    fn start(
        folder: &TestFolder,
        option: &str,
        configure: impl FnOnce(&mut Config),
    ) -> StrictServer {
        let certificate = TestCertificate::new("127.0.0.1");
        let mut config = mock(Encryption::Strict);
        let versions = [&rustls::version::TLS12, &rustls::version::TLS13];
        config.tls = Some(certificate.server_config(&versions, true));
        configure(&mut config);
        let (port, received) = start(config);
        let file = folder.write(format!("{port}.pem"), certificate.pem());
        StrictServer {
            port,
            received,
            options: format!("encrypt=strict&{option}={}", file.display()),
        }
    }

    fn url(&self, options: &str) -> String {
        format!("sqlserver://sa:Sesame1@127.0.0.1:{}?{options}", self.port)
    }
}

#[test]
fn a_strict_connection_carries_control_load_and_every_mode() {
    let folder = TestFolder::create();
    for option in ["certificate", "ServerCertificate"] {
        let server = StrictServer::start(&folder, option, |_| {});
        let target = target(&server.url(&server.options));
        let mut control = Control::connect(&target).expect("connects");
        assert_eq!(
            control.query_value("select n").unwrap().as_deref(),
            Some("7")
        );
        let tls = control.tls().expect("TLS");
        assert!(tls.starts_with("TLSv1.3"), "strict allows TLS 1.3: {tls}");
        for mode in MODES {
            for io in engines() {
                let plan = plan_with(mode, io, 3);
                let driven = drive(&counter_program(), &plan, &target);
                assert_all_committed(&driven, 3, &format!("{option} {mode:?} {io:?}"));
            }
        }
        let received = server.received.lock().unwrap();
        assert_eq!(
            received.logins.len(),
            1 + 3 * engines().len() * CLIENTS as usize
        );
        assert!(received.logins.iter().all(|login| login.is_over_tls));
    }
}

/// In strict mode no option makes Prony accept a certificate that it cannot verify.
#[test]
fn a_strict_connection_verifies_the_certificate_in_any_case() {
    let folder = TestFolder::create();
    let server = StrictServer::start(&folder, "certificate", |_| {});
    let other = StrictServer::start(&folder, "certificate", |_| {});
    for options in [
        // The certificate of another server.
        format!("{}&TrustServerCertificate=true", other.options),
        other.options.replace("certificate=", "ServerCertificate="),
        // The right one, for another name.
        format!("{}&HostNameInCertificate=db.example", server.options),
    ] {
        let error = Control::connect(&target(&server.url(&options))).err();
        let text = error.expect("refused").to_string();
        assert!(text.contains("certificate"), "{options}: {text}");
        text.assert_lacks("Sesame1");
    }
    assert!(server.received.lock().unwrap().logins.is_empty());
}

/// A server that does not choose `tds/8.0` is not one with TDS 8.0: the password is not sent to it.
#[test]
fn a_server_without_tds_8_does_not_get_the_password() {
    let folder = TestFolder::create();
    // It speaks TLS first, but its ALPN has no such protocol.
    let without_alpn = StrictServer::start(&folder, "certificate", |config| {
        let tls = config.tls.take().expect("TLS");
        let mut tls = (*tls).clone();
        tls.alpn_protocols = vec![b"http/1.1".to_vec()];
        config.tls = Some(Arc::new(tls));
    });
    // It waits for PRELOGIN, like servers before 2022.
    let old = StrictServer::start(&folder, "certificate", |config| {
        config.encryption = Encryption::NotSupported;
    });
    for server in [&without_alpn, &old] {
        let options = format!("{}&connection+timeout=5", server.options);
        let error = Control::connect(&target(&server.url(&options))).err();
        let text = error.expect("refused").to_string();
        let names_the_option = text.contains("as encrypt=strict (TDS 8.0) requires");
        assert_eq!(names_the_option, server.port == old.port, "{text}");
        assert!(server.received.lock().unwrap().logins.is_empty());
    }
}

#[test]
fn a_strict_login_is_routed_to_a_strict_server() {
    let folder = TestFolder::create();
    let other = StrictServer::start(&folder, "certificate", |_| {});
    let first = StrictServer::start(&folder, "certificate", |config| {
        config.route = Some(("127.0.0.1\\sales".to_owned(), other.port));
    });
    // Trust both.
    let file = |server: &StrictServer| folder.join(format!("{}.pem", server.port));
    let both = [&first, &other].map(|server| std::fs::read_to_string(file(server)).unwrap());
    std::fs::write(file(&first), both.concat()).unwrap();
    let target = target(&first.url(&format!("{}&ApplicationIntent=ReadOnly", first.options)));
    let mut control = Control::connect(&target).expect("routed");
    assert_eq!(
        control.query_value("select n").unwrap().as_deref(),
        Some("7")
    );
    let plan = plan_with(QueryMode::Prepared, engines()[0], 2);
    assert_all_committed(&drive(&counter_program(), &plan, &target), 2, "routed");
    assert!(first.received.lock().unwrap().requests.is_empty());
    let received = other.received.lock().unwrap();
    assert_eq!(received.logins.len(), 1 + CLIENTS as usize);
    assert!(
        received
            .logins
            .iter()
            .all(|login| login.is_over_tls && login.server == "127.0.0.1\\sales")
    );
}
