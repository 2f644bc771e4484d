//! Certificates of servers whose TLS handshake is inside of TDS packets.

use super::*;
use prony_assertions::TextAssertions;

/// A server with a certificate for the name `db.example`, which is in this folder.
fn start_server(folder: &TestFolder) -> (u16, Arc<Mutex<Received>>, std::path::PathBuf) {
    let certificate = TestCertificate::new("db.example");
    let mut config = mock(Encryption::Required);
    config.tls = Some(certificate.server_config(&[&rustls::version::TLS12], false));
    let file = folder.write("ca.pem", certificate.pem());
    let (port, received) = start(config);
    (port, received, file)
}

#[test]
fn a_pinned_certificate_is_accepted_whatever_its_name() {
    let folder = TestFolder::create();
    let (port, received, file) = start_server(&folder);
    let url = format!(
        "sqlserver://sa:Sesame1@127.0.0.1:{port}?ServerCertificate={}",
        file.display()
    );
    let target = target(&url);
    let mut control = Control::connect(&target).expect("the certificate is the pinned one");
    assert_eq!(
        control.query_value("select n").unwrap().as_deref(),
        Some("7")
    );
    let plan = plan_with(QueryMode::Prepared, engines()[0], 2);
    assert_all_committed(&drive(&counter_program(), &plan, &target), 2, "pinned");
    let logins = &received.lock().unwrap().logins;
    assert!(logins.len() == 1 + CLIENTS as usize && logins.iter().all(|login| login.is_over_tls));
}

#[test]
fn a_trusted_certificate_must_have_the_name_of_the_host_or_the_one_that_the_user_gives() {
    let folder = TestFolder::create();
    let (port, received, file) = start_server(&folder);
    let url = format!(
        "sqlserver://sa:Sesame1@127.0.0.1:{port}?certificate={}",
        file.display()
    );
    let error = Control::connect(&target(&url)).err().expect("another name");
    let text = error.to_string();
    text.assert_contains("certificate").assert_lacks("Sesame1");
    assert!(
        received.lock().unwrap().logins.is_empty(),
        "no password was sent"
    );
    let named = format!("{url}&HostNameInCertificate=db.example");
    Control::connect(&target(&named)).expect("the name in the certificate");
}
