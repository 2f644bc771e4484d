//! The server's greeting.
//!
//! In: the first packet of a connection. Out: the server's capabilities. Must never: panic on hostile
//! bytes.
//! Source: MySQL documentation, "Protocol::HandshakeV10".

use super::flags;
use super::packet::Reader;

/// The first packet of a server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Greeting {
    /// The server's version, without the prefix that MariaDB adds for old replicas.
    pub(super) version: String,
    pub(super) connection_id: u32,
    pub(super) capabilities: u32,
    /// Random bytes for the authentication, perhaps followed by a zero.
    pub(super) nonce: Vec<u8>,
    pub(super) plugin: String,
}

/// Parses a greeting.
pub(super) fn parse(payload: &[u8]) -> Result<Greeting, String> {
    let mut reader = Reader(payload);
    match reader.byte() {
        Some(10) => {}
        Some(9) => return Err("it uses protocol version 9, which predates MySQL 4.1".to_owned()),
        _ => return Err("it sends no MySQL greeting".to_owned()),
    }
    let greeting = read(reader).ok_or("its greeting is truncated")?;
    if greeting.capabilities & flags::PROTOCOL_41 == 0 {
        return Err("it is older than MySQL 4.1".to_owned());
    }
    Ok(greeting)
}

fn read(mut reader: Reader<'_>) -> Option<Greeting> {
    let full_version = String::from_utf8_lossy(reader.zero_terminated_text());
    let version = full_version.strip_prefix("5.5.5-").unwrap_or(&full_version);
    let connection_id = reader.u32()?;
    let mut nonce = reader.take(8)?.to_vec();
    // A zero.
    reader.byte()?;
    let mut capabilities = u32::from(reader.u16()?);
    let (mut nonce_bytes, mut plugin) = (0, String::new());
    if !reader.0.is_empty() {
        // Character set and status.
        reader.take(3)?;
        capabilities |= u32::from(reader.u16()?) << 16;
        nonce_bytes = usize::from(reader.byte()?);
        // Skip reserved bytes. They include MariaDB's extended capabilities, none of which is requested.
        reader.take(10)?;
    }
    if capabilities & flags::SECURE_CONNECTION != 0 {
        let more = nonce_bytes.saturating_sub(8).max(13);
        let second_part = reader.take(more.min(reader.0.len()))?;
        nonce.extend_from_slice(second_part);
    }
    if capabilities & flags::PLUGIN_AUTH != 0 {
        plugin = String::from_utf8_lossy(reader.zero_terminated_text()).into_owned();
    }
    Some(Greeting {
        version: version.to_owned(),
        connection_id,
        capabilities,
        nonce,
        plugin,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_assertions::TextAssertions;

    #[test]
    fn greetings_of_other_servers_are_refused() {
        assert!(parse(b"SSH-2.0-OpenSSH").is_err());
        assert!(parse(b"").is_err());
        parse(b"\x095.0\0")
            .unwrap_err()
            .assert_contains("version 9");
        parse(b"\x0a8.0.31\0")
            .unwrap_err()
            .assert_contains("truncated");
    }
}
