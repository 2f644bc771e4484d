//! Prony warns if it sends a password to another host in clear text.

use std::io::{Read, Write};
use std::net::{IpAddr, TcpListener, TcpStream, UdpSocket};
use std::process::Command;

const PASSWORD: &str = "open-sesame";

/// A PostgreSQL that requests a cleartext password, admits anyone and refuses each statement. It listens on this
/// address only, so that with the loopback nobody else reaches it.
fn server(address: IpAddr) -> u16 {
    let listener = TcpListener::bind((address, 0)).expect("a port");
    let port = listener.local_addr().expect("bound").port();
    // It ends with the test's process.
    std::thread::spawn(move || {
        for connection in listener.incoming().flatten() {
            // A client may hang up at any time.
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
    let welcome = [
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
            // The parts of an extended query except its end.
            b'P' | b'B' | b'D' | b'E' => continue,
            _ => {}
        }
        connection.write_all(if is_logged_in { &refusal } else { &welcome })?;
        is_logged_in = true;
    }
}

fn check_stderr(host: IpAddr, port: u16, more: &str) -> String {
    let url = format!("host={host} port={port} user=u dbname=d sslmode=disable {more}");
    let output = Command::new(env!("CARGO_BIN_EXE_prony"))
        .args(["check", "tpcb", "--url", &url])
        .env("PGPASSWORD", PASSWORD)
        .output()
        .expect("prony starts");
    String::from_utf8(output.stderr).expect("UTF-8")
}

/// An address of this machine other than the loopback; `None` if it has no network.
fn own_address() -> Option<IpAddr> {
    let socket = UdpSocket::bind("0.0.0.0:0").ok()?;
    // No packet is sent: the kernel only picks the address.
    socket.connect("192.0.2.1:9").ok()?;
    let address = socket.local_addr().ok()?.ip();
    (!address.is_loopback() && !address.is_unspecified()).then_some(address)
}

#[test]
fn sending_a_cleartext_password_to_another_host_warns_once() {
    const WARNING: &str = "prony: warning: the password was sent to";
    let loopback = IpAddr::from([127, 0, 0, 1]);
    let here = check_stderr(loopback, server(loopback), "");
    assert!(here.contains("no statements here"), "{here}");
    assert!(!here.contains(WARNING), "{here}");
    let Some(address) = own_address() else {
        eprintln!("skipped: this machine has no address but the loopback");
        return;
    };
    let port = server(address);
    let there = check_stderr(address, port, "");
    assert!(there.contains("no statements here"), "{there}");
    assert_eq!(there.matches(WARNING).count(), 1, "{there}");
    assert!(there.contains("sslmode=require"), "{there}");
    assert!(!there.contains(PASSWORD), "{there}");
    let kept = check_stderr(address, port, "require_auth=scram-sha-256");
    let refused =
        "authentication method requirement \"scram-sha-256\" failed: server requested a cleartext";
    assert!(kept.contains(refused), "{kept}");
    assert!(!kept.contains(WARNING), "{kept}");
}
