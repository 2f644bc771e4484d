//! Named instances, by the SQL Browser of their host, from the URL to the address.

use super::*;
use prony_assertions::TextAssertions;
use prony_plan::UserError;
use std::net::UdpSocket;

/// A browser on port 1434 of a loopback address that no other test uses; it knows the instance SALES.
fn start_browser(ip: &str) {
    let socket = UdpSocket::bind((ip, 1434)).expect("nothing else uses this address");
    std::thread::spawn(move || {
        let mut request = [0; 64];
        while let Ok((length, client)) = socket.recv_from(&mut request) {
            let name = &request[1..length - 1];
            let text = if name.eq_ignore_ascii_case(b"sales") {
                "ServerName;DB1;InstanceName;SALES;IsClustered;No;Version;16.0.1000.6;tcp;51433;;"
            } else {
                continue;
            };
            let mut packet = vec![5];
            packet.extend_from_slice(&(text.len() as u16).to_le_bytes());
            packet.extend_from_slice(text.as_bytes());
            socket.send_to(&packet, client).expect("sent");
        }
    });
}

#[test]
fn the_port_of_an_instance_comes_from_its_hosts_browser_in_every_form() {
    start_browser("127.0.0.71");
    for text in [
        "sqlserver://u@127.0.0.71/sales?encrypt=disable",
        "sqlserver://u@127.0.0.71?instance=Sales&encrypt=disable",
        "jdbc:sqlserver://127.0.0.71\\SALES;user=u;encrypt=disable",
        "Server=127.0.0.71\\sales;User Id=u;Encrypt=disable",
    ] {
        let target = target(text);
        assert_eq!(
            target.endpoints[0].to_string(),
            "tcp:127.0.0.71:51433",
            "{text}"
        );
    }
    // A port wins, and the default instance needs no browser.
    for (text, address) in [
        (
            "Server=127.0.0.71\\sales,1500;UID=u;Encrypt=disable",
            "tcp:127.0.0.71:1500",
        ),
        (
            "Server=127.0.0.71\\MSSQLSERVER;UID=u;Encrypt=disable",
            "tcp:127.0.0.71:1433",
        ),
    ] {
        assert_eq!(target(text).endpoints[0].to_string(), address, "{text}");
    }
}

#[test]
fn an_instance_without_a_port_is_an_error_that_says_what_to_do() {
    start_browser("127.0.0.72");
    for (text, part) in [
        // It ignores names that it does not know, as SQL Browser does.
        (
            "sqlserver://u:geheim@127.0.0.72/other?encrypt=disable",
            "does not answer",
        ),
        (
            "sqlserver://u:geheim@127.0.0.73/sales?encrypt=disable",
            "cannot be reached",
        ),
    ] {
        let error = crate::resolve(text, &env()).unwrap_err();
        let problem = error.to_string();
        problem.assert_contains("the port of the instance");
        problem.assert_contains(part);
        problem.assert_lacks("geheim");
        let hint = format!("{:?}", error.parts().hint);
        hint.assert_contains("1434");
    }
}
