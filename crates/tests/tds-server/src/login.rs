//! Reads PRELOGIN and LOGIN7, and writes the server's replies. Panics if a message is malformed.

use crate::config::{Config, Encryption};
use crate::packet::{Fields, decode_utf16, encode_utf16};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoginRecord {
    /// TDS version, such as 0x74000004.
    pub version: u32,
    /// Requested packet size in bytes.
    pub packet_size: u32,
    pub client_pid: u32,
    /// The four bytes of flags.
    pub flags: [u8; 4],
    pub host: String,
    pub user: String,
    /// Password, decoded.
    pub password: String,
    pub application: String,
    pub server: String,
    pub library: String,
    pub language: String,
    pub database: String,
    /// Extensions: type and data.
    pub features: Vec<(u8, Vec<u8>)>,
    /// Whether the message came through TLS.
    pub is_over_tls: bool,
}

/// Reads the client's PRELOGIN; returns its options ENCRYPTION and MARS.
pub(crate) fn read_prelogin(message: &[u8]) -> (u8, u8) {
    let mut fields = Fields(message);
    let (mut encryption, mut mars, mut is_first) = (None, 0, true);
    loop {
        let name = fields.byte();
        if name == 0xff {
            break;
        }
        assert_eq!(is_first, name == 0, "the version is the first option");
        is_first = false;
        let mut read_u16_be = || {
            let bytes = fields.take(2);
            usize::from(u16::from_be_bytes([bytes[0], bytes[1]]))
        };
        let (offset, length) = (read_u16_be(), read_u16_be());
        let data = &message[offset..offset + length];
        match name {
            0 => assert_eq!(length, 6),
            1 => encryption = Some(data[0]),
            4 => mars = data[0],
            _ => {}
        }
    }
    (encryption.expect("encryption"), mars)
}

/// The server's PRELOGIN, and whether a TLS handshake follows. `client` is the client's ENCRYPTION option.
pub(crate) fn answer_prelogin(config: &Config, client: u8) -> (Vec<u8>, bool) {
    // MS-TDS 2.2.6.5: the server's option depends on the client's.
    let (encryption, starts_tls) = match (config.encryption, client) {
        (Encryption::Strict, _) => (2, false),
        (Encryption::NotSupported, _) => (2, false),
        (Encryption::Available, 0) => (0, true),
        (Encryption::Available, 1 | 3) => (1, true),
        (Encryption::Available, _) => (2, false),
        (Encryption::Required, 1) => (1, true),
        (Encryption::Required, _) => (3, client != 2),
    };
    let mut options: Vec<(u8, Vec<u8>)> = vec![
        (0, vec![16, 0, 0x10, 0x27, 0, 0]),
        (1, vec![encryption]),
        (2, vec![0]),
        (3, vec![]),
        (4, vec![config.mars]),
    ];
    if config.announces_entra {
        options.push((6, vec![1]));
    }
    let mut offset = options.len() as u16 * 5 + 1;
    let (mut out, mut data) = (Vec::new(), Vec::new());
    for (name, content) in options {
        out.push(name);
        out.extend_from_slice(&offset.to_be_bytes());
        out.extend_from_slice(&(content.len() as u16).to_be_bytes());
        offset += content.len() as u16;
        data.extend_from_slice(&content);
    }
    out.push(0xff);
    out.extend_from_slice(&data);
    (out, starts_tls)
}

/// Reads LOGIN7.
pub(crate) fn read_login(message: &[u8]) -> LoginRecord {
    let mut fields = Fields(message);
    assert_eq!(fields.u32() as usize, message.len(), "the length of LOGIN7");
    let mut login = LoginRecord {
        version: fields.u32(),
        packet_size: fields.u32(),
        ..LoginRecord::default()
    };
    fields.u32();
    login.client_pid = fields.u32();
    assert_eq!(fields.u32(), 0, "the connection id");
    login.flags.copy_from_slice(fields.take(4));
    fields.take(8);
    let text = |index: usize| {
        let mut entry = Fields(&message[36 + index * 4..]);
        let (offset, length) = (usize::from(entry.u16()), usize::from(entry.u16()));
        assert!(offset >= 94, "a text inside the fixed part");
        message[offset..offset + 2 * length].to_vec()
    };
    login.host = decode_utf16(&text(0));
    login.user = decode_utf16(&text(1));
    let mut password = text(2);
    for byte in &mut password {
        *byte = (*byte ^ 0xa5).rotate_left(4);
    }
    login.password = decode_utf16(&password);
    login.application = decode_utf16(&text(3));
    login.server = decode_utf16(&text(4));
    login.library = decode_utf16(&text(6));
    login.language = decode_utf16(&text(7));
    login.database = decode_utf16(&text(8));
    if login.flags[3] & 0x10 != 0 {
        let mut entry = Fields(&message[56..]);
        let (offset, length) = (usize::from(entry.u16()), entry.u16());
        assert_eq!(length, 4);
        let list_offset = Fields(&message[offset..]).u32() as usize;
        let mut extensions = Fields(&message[list_offset..]);
        loop {
            let name = extensions.byte();
            if name == 0xff {
                break;
            }
            let length = extensions.u32() as usize;
            login
                .features
                .push((name, extensions.take(length).to_vec()));
        }
    }
    login
}

pub(crate) fn login_ack_tokens(config: &Config, login: &LoginRecord, packet_size: u32) -> Vec<u8> {
    let mut reply = crate::reply::ReplyWriter::new(config.collation);
    let database = match login.database.as_str() {
        "" => "master",
        database => database,
    };
    reply.env_change_text(1, database, "master");
    reply.info(
        5701,
        0,
        &format!("Changed database context to '{database}'."),
    );
    reply.env_change_bytes(7, &config.collation, &[]);
    reply.env_change_text(2, "us_english", "");
    reply.info(5703, 0, "Changed language setting to us_english.");
    let name = encode_utf16("Microsoft SQL Server\0\0");
    let mut ack = vec![1];
    ack.extend_from_slice(&login.version.to_be_bytes());
    ack.push((name.len() / 2) as u8);
    ack.extend_from_slice(&name);
    ack.extend_from_slice(&config.program_version);
    ack.extend_from_slice(&[0x10, 0x27]);
    reply.token(0xad, &ack);
    reply.env_change_text(4, &packet_size.to_string(), "4096");
    if login.features.iter().any(|(name, _)| *name == 10) {
        reply.raw_tokens(&[0xae, 10, 1, 0, 0, 0, 1, 0xff]);
    }
    if let Some((host, port)) = &config.route {
        let name = encode_utf16(host);
        let mut value = vec![0];
        value.extend_from_slice(&port.to_le_bytes());
        value.extend_from_slice(&(name.len() as u16 / 2).to_le_bytes());
        value.extend_from_slice(&name);
        let mut body = vec![20];
        body.extend_from_slice(&(value.len() as u16).to_le_bytes());
        body.extend_from_slice(&value);
        body.extend_from_slice(&[0, 0]);
        reply.token(0xe3, &body);
    }
    reply.done(0xfd, 0, 0, 0);
    reply.finish()
}
