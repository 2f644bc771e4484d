//! Prony's client of SQL Server against `mssql-mock-tds`, the mock server with which Microsoft tests its own driver.
//!
//! Its PRELOGIN says that it demands Entra (FEDAUTHREQUIRED is 1), and its log-in takes passwords all the same: drivers
//! leave the decision to the server. It has only integers, so it cannot take the place of `tds-server`. Must never: reach
//! another machine.
#![cfg(test)]

use mssql_mock_tds::{
    ColumnDefinition, ColumnValue, ConnectionInfo, ConnectionStore, MockTdsServer, QueryResponse,
    Row, SqlDataType, TerminalError, create_test_identity,
};
use prony_server::{Control, resolve};
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Runtime;
use tokio::sync::Mutex;

const LOOPBACK: &str = "127.0.0.1:0";

/// A running mock, which ends with its runtime.
struct Mock {
    port: u16,
    connections: Arc<Mutex<ConnectionStore>>,
    runtime: Runtime,
}

impl Mock {
    fn start(build: impl AsyncFnOnce() -> std::io::Result<MockTdsServer>) -> Mock {
        let runtime = Runtime::new().unwrap();
        let server = runtime.block_on(build()).unwrap();
        let (port, connections) = (server.local_addr().port(), server.connection_store());
        runtime.block_on(register_answers(&server));
        runtime.spawn(server.run());
        Mock {
            port,
            connections,
            runtime,
        }
    }

    fn connect(&self, parameters: &str) -> Result<Control, prony_server::control::Error> {
        let url = format!(
            "sqlserver://ann:secret@127.0.0.1:{}?database=shop&trustServerCertificate=true&{parameters}",
            self.port
        );
        Control::connect(&resolve(&url, &Default::default()).unwrap())
    }

    fn ended_connections(&self) -> Vec<ConnectionInfo> {
        let store = self.runtime.block_on(self.connections.lock());
        store.all().values().cloned().collect()
    }

    /// It records a connection when it has noticed its end.
    fn wait_for_the_end_of_a_connection(&self) -> ConnectionInfo {
        loop {
            if let Some(connection) = self.ended_connections().pop() {
                return connection;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

async fn register_answers(server: &MockTdsServer) {
    let registry = server.query_registry();
    let mut answers = registry.lock().await;
    let columns = [
        ("small", SqlDataType::SmallInt),
        ("large", SqlDataType::BigInt),
        ("missing", SqlDataType::Int),
    ];
    let columns = columns.map(|(name, of)| ColumnDefinition::new(name, of));
    let row = vec![
        ColumnValue::SmallInt(-7),
        ColumnValue::BigInt(1 << 40),
        ColumnValue::Null,
    ];
    let rows = QueryResponse::new(columns.to_vec(), vec![Row::new(row)]);
    answers.register("select small, large, missing from t", rows);
    let refusal = TerminalError::new(208, 16, "Invalid object name 'absent'.");
    answers.register("select n from absent", QueryResponse::error_only(refusal));
}

/// Queries a connection, so that a wrong state of the session shows.
fn query_rows_and_an_error(control: &mut Control) {
    for _ in 0..2 {
        let rows = control
            .query("select small, large, missing from t")
            .unwrap();
        let expected = ["-7", "1099511627776"].map(|cell| Some(cell.to_owned()));
        assert_eq!(rows, [[&expected[..], &[None]].concat()]);
        let error = control
            .query("select n from absent")
            .unwrap_err()
            .to_string();
        assert!(error.contains("Invalid object name 'absent'."), "{error}");
    }
}

/// A certificate of its own, as a server generates that has none: with its key, and as PEM.
fn certificate() -> (native_tls::Identity, String) {
    let signed = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    let (certificate, key) = (signed.cert.pem(), signed.signing_key.serialize_pem());
    let identity = create_test_identity(certificate.as_bytes(), key.as_bytes()).unwrap();
    (identity, certificate)
}

#[test]
fn queries_and_errors_are_read_with_every_kind_of_encryption() {
    let plain = Mock::start(async || MockTdsServer::new(LOOPBACK).await);
    let (identity, _) = certificate();
    let optional =
        Mock::start(async || MockTdsServer::new_with_tls(LOOPBACK, Some(identity)).await);
    let (identity, pem) = certificate();
    let strict = Mock::start(async || MockTdsServer::new_with_strict_tls(LOOPBACK, identity).await);
    let error = strict.connect("encrypt=strict").err().unwrap();
    assert!(
        error.to_string().contains("certificate"),
        "strict trusts no certificate unseen: {error}"
    );

    let file =
        std::env::temp_dir().join(format!("prony-microsoft-mock-{}.pem", std::process::id()));
    std::fs::write(&file, pem).unwrap();
    let pinned = format!("encrypt=strict&serverCertificate={}", file.display());
    for (mock, encryption, is_encrypted) in [
        (&plain, "encrypt=no", false),
        (&optional, "encrypt=yes", true),
        (&strict, &pinned, true),
    ] {
        let mut control = mock.connect(encryption).unwrap();
        assert_eq!(control.tls().is_some(), is_encrypted, "{encryption}");
        query_rows_and_an_error(&mut control);
    }
    std::fs::remove_file(file).unwrap();
}

#[test]
fn a_server_without_tls_is_not_asked_for_the_password() {
    let plain = Mock::start(async || MockTdsServer::new(LOOPBACK).await);
    for encrypt in ["encrypt=yes", "encrypt=strict"] {
        let error = plain.connect(encrypt).err().unwrap().to_string();
        assert!(!error.contains("secret"), "{error}");
    }
    let ended = plain.ended_connections();
    assert!(ended.iter().all(|connection| !connection.authenticated));
}

#[test]
fn a_routed_log_in_ends_at_the_other_server() {
    let server = Mock::start(async || MockTdsServer::new(LOOPBACK).await);
    let port = server.port;
    let gateway = Mock::start(async || {
        MockTdsServer::new_with_redirection(LOOPBACK, "127.0.0.1", port).await
    });
    let mut control = gateway.connect("encrypt=no").unwrap();
    query_rows_and_an_error(&mut control);
    drop(control);
    let connection = server.wait_for_the_end_of_a_connection();
    assert_eq!(connection.received_database.as_deref(), Some("shop"));
    assert!(connection.authenticated);
}

#[test]
fn requests_outside_a_transaction_announce_one_outstanding_request() {
    let mock = Mock::start(async || MockTdsServer::new(LOOPBACK).await);
    let mut control = mock.connect("encrypt=no").unwrap();
    query_rows_and_an_error(&mut control);
    drop(control);
    let headers = mock
        .wait_for_the_end_of_a_connection()
        .transaction_descriptor_headers;
    assert!(!headers.is_empty());
    assert!(
        headers.iter().all(|header| *header == (0, 1)),
        "{headers:?}"
    );
}
