//! Asks the SQL Browser of a host for the port of a named instance.
//!
//! In: addresses, a name. Out: a port. Must never: wait long, or use anything but the port in an answer.
//! Anyone on the network can forge an answer; the server's certificate then shows whether the port was right.
//! Source: MC-SQLR 2.2.3 (CLNT_UCAST_INST), 2.2.5 (SVR_RESP).

use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

const BROWSER_PORT: u16 = 1434;
/// First byte of a request for one instance.
const INSTANCE_REQUEST_TYPE: u8 = 4;
/// First byte of an answer.
const ANSWER_TYPE: u8 = 5;
/// How long to wait for an answer before the request is repeated: UDP may lose the request or the answer.
const ATTEMPT_TIMEOUT: Duration = Duration::from_millis(700);
const MAX_ATTEMPTS: u32 = 3;
/// Most bytes of an answer about one instance.
const ANSWER_BYTES_MAX: usize = 3 + 1024;
/// Most bytes of an instance's name.
const NAME_BYTES_MAX: usize = 32;

pub(super) fn find_port(addresses: &[IpAddr], instance: &str) -> Result<u16, String> {
    let endpoints: Vec<SocketAddr> = addresses
        .iter()
        .map(|ip| SocketAddr::new(*ip, BROWSER_PORT))
        .collect();
    find_port_at(&endpoints, instance)
}

fn find_port_at(endpoints: &[SocketAddr], instance: &str) -> Result<u16, String> {
    if instance.len() > NAME_BYTES_MAX || !instance.is_ascii() || instance.contains(['\0', ';']) {
        return Err("the instance name is not valid".to_owned());
    }
    let mut problem = "the host has no address".to_owned();
    for endpoint in endpoints {
        for _ in 0..MAX_ATTEMPTS {
            match request_port(*endpoint, instance) {
                Ok(Some(port)) => return Ok(port),
                Ok(None) => problem = "SQL Browser reports no TCP port for the instance".to_owned(),
                Err(error) if is_timeout(&error) => {
                    problem = "SQL Browser does not answer".to_owned();
                    continue;
                }
                Err(error) => problem = format!("SQL Browser cannot be reached: {error}"),
            }
            break;
        }
    }
    Err(problem)
}

fn is_timeout(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut
    )
}

/// Sends one request and waits for the answer. `None`: the answer has no port for this instance.
fn request_port(endpoint: SocketAddr, instance: &str) -> io::Result<Option<u16>> {
    let unspecified: IpAddr = match endpoint.ip() {
        IpAddr::V4(_) => std::net::Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => std::net::Ipv6Addr::UNSPECIFIED.into(),
    };
    let socket = UdpSocket::bind((unspecified, 0))?;
    // Receive packets from this endpoint only.
    socket.connect(endpoint)?;
    let mut request = vec![INSTANCE_REQUEST_TYPE];
    request.extend_from_slice(instance.as_bytes());
    request.push(0);
    socket.send(&request)?;
    let deadline = Instant::now() + ATTEMPT_TIMEOUT;
    let mut answer = [0; ANSWER_BYTES_MAX + 1];
    loop {
        let remaining = deadline.saturating_duration_since(Instant::now());
        if remaining.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        socket.set_read_timeout(Some(remaining))?;
        let length = socket.recv(&mut answer)?;
        // Ignore a packet that is not an answer.
        if let Some(text) = answer_text(&answer[..length]) {
            return Ok(parse_tcp_port(text, instance));
        }
    }
}

/// The text of an answer; `None` if it is malformed.
fn answer_text(answer: &[u8]) -> Option<&str> {
    let [ANSWER_TYPE, low, high, text @ ..] = answer else {
        return None;
    };
    let length = usize::from(u16::from_le_bytes([*low, *high]));
    if length != text.len() || answer.len() > ANSWER_BYTES_MAX {
        return None;
    }
    std::str::from_utf8(text).ok()
}

/// The port in `ServerName;H;InstanceName;I;IsClustered;No;Version;16.0.1000.6;tcp;1433;;`.
fn parse_tcp_port(text: &str, instance: &str) -> Option<u16> {
    let text = text.split(";;").next()?;
    let mut fields = text.split(';');
    let (mut is_wanted, mut port) = (false, None);
    while let (Some(name), Some(value)) = (fields.next(), fields.next()) {
        match name {
            "InstanceName" => is_wanted = value.eq_ignore_ascii_case(instance),
            "tcp" => port = value.parse::<u16>().ok().filter(|port| *port > 0),
            _ => {}
        }
    }
    port.filter(|_| is_wanted)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::ToSocketAddrs;

    const ANSWER_TEXT: &str = "ServerName;DB1;InstanceName;SALES;IsClustered;No;Version;16.0.1000.6;tcp;51433;np;\\\\DB1\\pipe;;";

    fn answer_packet(text: &str) -> Vec<u8> {
        let mut bytes = vec![ANSWER_TYPE];
        bytes.extend_from_slice(&(text.len() as u16).to_le_bytes());
        bytes.extend_from_slice(text.as_bytes());
        bytes
    }

    /// A browser that sends these packets for each request.
    fn start_browser(address: &str, packets: Vec<Vec<u8>>) -> Option<SocketAddr> {
        let socket = UdpSocket::bind(address.to_socket_addrs().ok()?.next()?).ok()?;
        let endpoint = socket.local_addr().ok()?;
        std::thread::spawn(move || {
            let mut request = [0; 64];
            while let Ok((length, client)) = socket.recv_from(&mut request) {
                assert_eq!(request[..length], *b"\x04sales\0");
                for packet in &packets {
                    socket.send_to(packet, client).unwrap();
                }
            }
        });
        Some(endpoint)
    }

    #[test]
    fn the_port_of_the_instance_is_found_over_ipv4_and_ipv6() {
        let packets = vec![b"noise".to_vec(), answer_packet(ANSWER_TEXT)];
        let endpoint = start_browser("127.0.0.1:0", packets.clone()).expect("a port");
        assert_eq!(find_port_at(&[endpoint], "sales"), Ok(51433));
        // A machine without IPv6 cannot bind this address.
        if let Some(endpoint) = start_browser("[::1]:0", packets) {
            assert_eq!(find_port_at(&[endpoint], "sales"), Ok(51433));
        }
    }

    #[test]
    fn addresses_without_a_browser_are_skipped_and_reported_if_none_is_left() {
        let silent = UdpSocket::bind("127.0.0.1:0").unwrap();
        let silent_endpoint = silent.local_addr().unwrap();
        let endpoint =
            start_browser("127.0.0.1:0", vec![answer_packet(ANSWER_TEXT)]).expect("a port");
        assert_eq!(
            find_port_at(&[silent_endpoint, endpoint], "sales"),
            Ok(51433)
        );
        let started = Instant::now();
        let problem = find_port_at(&[silent_endpoint], "sales").unwrap_err();
        assert_eq!(problem, "SQL Browser does not answer");
        assert!(started.elapsed() >= ATTEMPT_TIMEOUT * MAX_ATTEMPTS);
    }

    #[test]
    fn malformed_and_foreign_answers_have_no_port() {
        assert_eq!(parse_tcp_port(ANSWER_TEXT, "sales"), Some(51433));
        assert_eq!(parse_tcp_port(ANSWER_TEXT, "other"), None);
        assert_eq!(parse_tcp_port("InstanceName;SALES;tcp;0;;", "sales"), None);
        assert_eq!(
            parse_tcp_port("InstanceName;SALES;tcp;99999;;", "sales"),
            None
        );
        assert_eq!(parse_tcp_port("InstanceName;SALES;tcp", "sales"), None);
        // A second instance in the answer does not replace the first.
        let two_instances = format!("{ANSWER_TEXT}ServerName;DB1;InstanceName;SALES;tcp;1;;");
        assert_eq!(parse_tcp_port(&two_instances, "sales"), Some(51433));
        assert_eq!(answer_text(&answer_packet(ANSWER_TEXT)[1..]), None);
        assert_eq!(answer_text(&answer_packet(ANSWER_TEXT)[..20]), None);
        assert_eq!(answer_text(&answer_packet(&"x".repeat(1025))), None);
        assert_eq!(answer_text(&[ANSWER_TYPE, 1, 0, 0xff]), None);
        assert!(find_port_at(&[], "a;b").is_err());
    }
}
