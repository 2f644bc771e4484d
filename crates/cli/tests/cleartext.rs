//! Prony warns if it sends a cleartext password to another host.

use prony_assertions::TextAssertions;
use std::io::{Read, Write};
use std::net::{IpAddr, TcpListener, TcpStream, UdpSocket};
use std::process::Command;

const PASSWORD: &str = "open-sesame";

/// Starts a PostgreSQL server that requests a cleartext password and refuses each statement, on this address
/// only; returns its port.
fn start_server(address: IpAddr) -> u16 {
    let listener = TcpListener::bind((address, 0)).expect("a port");
    let port = listener.local_addr().expect("bound").port();
    // The thread ends with the process of the test.
    std::thread::spawn(move || {
        for connection in listener.incoming().flatten() {
            // A client may disconnect at any time.
            let _ = serve(connection);
        }
    });
    port
}

fn message(tag: u8, body: &[u8]) -> Vec<u8> {
    let length = (body.len() as u32 + 4).to_be_bytes();
    [&[tag], &length[..], body].concat()
}

fn serve(mut connection: TcpStream) -> std::io::Result<()> {
    let mut length = [0; 4];
    connection.read_exact(&mut length)?;
    let mut body = vec![0; u32::from_be_bytes(length) as usize - 4];
    connection.read_exact(&mut body)?;
    connection.write_all(&message(b'R', &3_u32.to_be_bytes()))?;
    let login_replies = [
        message(b'R', &0_u32.to_be_bytes()),
        message(b'S', b"server_version\x0015.0\0"),
        message(b'Z', b"I"),
    ]
    .concat();
    let refusal = [
        message(b'E', b"SERROR\0VERROR\0C0A000\0Mno statements here\0\0"),
        message(b'Z', b"I"),
    ]
    .concat();
    let mut is_logged_in = false;
    loop {
        let mut head = [0; 5];
        connection.read_exact(&mut head)?;
        let length = [head[1], head[2], head[3], head[4]];
        let mut body = vec![0; u32::from_be_bytes(length) as usize - 4];
        connection.read_exact(&mut body)?;
        match head[0] {
            b'X' => return Ok(()),
            b'p' => assert_eq!(body, format!("{PASSWORD}\0").as_bytes()),
            // Messages of an extended query before Sync.
            b'P' | b'B' | b'D' | b'E' => continue,
            _ => {}
        }
        connection.write_all(if is_logged_in { &refusal } else { &login_replies })?;
        is_logged_in = true;
    }
}

/// Runs `prony check` with additional connection options; returns its stderr.
fn stderr_of_check(host: IpAddr, port: u16, options: &str) -> String {
    let url = format!("host={host} port={port} user=u dbname=d sslmode=disable {options}");
    let output = Command::new(env!("CARGO_BIN_EXE_prony"))
        .args(["check", "tpcb", "--url", &url])
        .env("PGPASSWORD", PASSWORD)
        .output()
        .expect("prony starts");
    String::from_utf8(output.stderr).expect("UTF-8")
}

/// Returns an address of this machine other than the loopback; `None` without a network.
fn own_address() -> Option<IpAddr> {
    let socket = UdpSocket::bind("0.0.0.0:0").ok()?;
    // No packet is sent: the kernel only picks the address.
    socket.connect("192.0.2.1:9").ok()?;
    let address = socket.local_addr().ok()?.ip();
    (!address.is_loopback() && !address.is_unspecified()).then_some(address)
}

#[test]
fn a_cleartext_password_to_another_host_warns_once() {
    const WARNING: &str = "prony: warning: the password was sent to";
    let loopback = IpAddr::from([127, 0, 0, 1]);
    let loopback_stderr = stderr_of_check(loopback, start_server(loopback), "");
    loopback_stderr.assert_contains("no statements here");
    loopback_stderr.assert_lacks(WARNING);
    let Some(address) = own_address() else {
        eprintln!("skipped: this machine has no address but the loopback");
        return;
    };
    let port = start_server(address);
    let remote_stderr = stderr_of_check(address, port, "");
    remote_stderr.assert_contains("no statements here");
    assert_eq!(remote_stderr.matches(WARNING).count(), 1, "{remote_stderr}");
    remote_stderr.assert_contains("sslmode=require");
    remote_stderr.assert_lacks(PASSWORD);
    let refused_stderr = stderr_of_check(address, port, "require_auth=scram-sha-256");
    let reason =
        "authentication method requirement \"scram-sha-256\" failed: server requested a cleartext";
    refused_stderr.assert_contains(reason);
    refused_stderr.assert_lacks(WARNING);
}
