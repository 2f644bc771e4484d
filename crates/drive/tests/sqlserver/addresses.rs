//! `MultiSubnetFailover`: all addresses of a server are tried at once.

use super::*;
use prony_assertions::TextAssertions;
use prony_server::Endpoint;
use prony_server::target::Address;
use std::net::{SocketAddr, TcpStream};
use std::os::fd::OwnedFd;

/// An address that never answers: a listener whose queue of connections is full.
struct SilentAddress {
    address: SocketAddr,
    /// The listener, and the connections that fill its queue.
    _sockets: (OwnedFd, Vec<TcpStream>),
}

impl SilentAddress {
    fn new(ip: [u8; 4]) -> SilentAddress {
        use rustix::net::{AddressFamily, SocketType, bind, getsockname, listen, socket};
        let listener = socket(AddressFamily::INET, SocketType::STREAM, None).expect("a socket");
        bind(&listener, &SocketAddr::from((ip, 0))).expect("a free port");
        listen(&listener, 0).expect("listens");
        let address = getsockname(&listener).expect("its address");
        let address = SocketAddr::try_from(address).expect("of TCP");
        let mut connections = Vec::new();
        let limit = std::time::Duration::from_millis(200);
        while let Ok(connection) = TcpStream::connect_timeout(&address, limit) {
            connections.push(connection);
            assert!(connections.len() < 100, "the queue is never full");
        }
        SilentAddress {
            address,
            _sockets: (listener, connections),
        }
    }
}

/// A target with these addresses in addition to that of the URL, which comes last.
fn target_with(addresses: &[SocketAddr], url: &str) -> Target {
    let mut target = target(url);
    let endpoint = target.endpoints[0].clone();
    let endpoints = addresses.iter().map(|address| Endpoint {
        address: Address::Tcp(*address),
        port: address.port(),
        ..endpoint.clone()
    });
    target.endpoints.splice(0..0, endpoints);
    target
}

fn refused() -> SocketAddr {
    // Nothing listens on the port once the listener is dropped.
    let listener = std::net::TcpListener::bind("127.0.0.3:0").expect("a free port");
    listener.local_addr().expect("its address")
}

/// Without a time limit, an attempt at the silent address alone would not end during the test.
const OPTIONS: &str = "encrypt=disable&connection+timeout=0&MultiSubnetFailover=true";

#[test]
fn a_silent_address_does_not_delay_the_one_that_answers() {
    let silent = SilentAddress::new([127, 0, 0, 2]);
    let (port, received) = start(mock(Encryption::NotSupported));
    let url = format!("sqlserver://sa:Sesame1@127.0.0.1:{port}?{OPTIONS}");
    let target = target_with(&[silent.address, refused()], &url);
    let mut control = Control::connect(&target).expect("the last address answers");
    assert_eq!(
        control.query_value("select n").unwrap().as_deref(),
        Some("7")
    );
    for io in engines() {
        let plan = plan_with(QueryMode::Prepared, io, 2);
        let driven = drive(&counter_program(), &plan, &target);
        assert_all_committed(&driven, 2, &format!("{io:?}"));
    }
    let logins = received.lock().unwrap().logins.len();
    assert_eq!(logins, 1 + engines().len() * CLIENTS as usize);
}

/// The clients of a load find the address themselves, as after a failover.
#[test]
fn a_load_finds_the_address_that_answers() {
    let silent = SilentAddress::new([127, 0, 0, 2]);
    let (port, received) = start(mock(Encryption::NotSupported));
    let url = format!("sqlserver://sa:Sesame1@127.0.0.1:{port}?{OPTIONS}");
    for io in engines() {
        let target = target_with(&[silent.address, refused()], &url);
        let plan = plan_with(QueryMode::Prepared, io, 2);
        let driven = drive(&counter_program(), &plan, &target);
        assert_all_committed(&driven, 2, &format!("{io:?}"));
    }
    let logins = received.lock().unwrap().logins.len();
    assert_eq!(logins, engines().len() * CLIENTS as usize);
}

#[test]
fn the_failure_of_every_address_is_reported() {
    let addresses = [refused(), refused()];
    let url = format!(
        "sqlserver://sa:geheim@127.0.0.1:{}?{OPTIONS}",
        refused().port()
    );
    let error = Control::connect(&target_with(&addresses, &url)).err();
    let text = error.expect("no address answers").to_string();
    for address in addresses {
        let port = format!("({}), port {}", address.ip(), address.port());
        text.assert_contains(&port);
    }
    text.assert_contains("refused").assert_lacks("geheim");
    // An answer ends the search: the password is not sent to a second server.
    let (port, received) = start(mock(Encryption::NotSupported));
    let (second_port, second) = start(mock(Encryption::NotSupported));
    let url = format!("sqlserver://sa:geheim@127.0.0.1:{port}?{OPTIONS}");
    let other = SocketAddr::from(([127, 0, 0, 1], second_port));
    let error = Control::connect(&target_with(&[other], &url)).err();
    error
        .expect("a wrong password")
        .to_string()
        .assert_contains("Login failed");
    let logins = |received: &Mutex<Received>| received.lock().unwrap().logins.len();
    assert_eq!(logins(&received) + logins(&second), 1);
}
