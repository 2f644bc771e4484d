//! PRELOGIN: the first message in each direction, by which client and server agree on encryption.
//!
//! In: the client's encryption option; the server's message. Out: the client's message; the server's
//! options. Must never: trust an offset of the server.
//! Source: MS-TDS 2.2.6.5.

use super::packet::Reader;

/// Version of the client's network library: that of SQL Server 2005, which FreeTDS sends too.
const VERSION: [u8; 6] = [9, 0, 0, 0, 0, 0];

mod option {
    pub const VERSION: u8 = 0;
    pub const ENCRYPTION: u8 = 1;
    pub const MARS: u8 = 4;
    pub const FEDERATED_LOGIN: u8 = 6;
    pub const END: u8 = 0xff;
}

/// The ENCRYPTION option: what one side offers or requires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Encryption {
    /// TLS is available, and is used only for the login.
    Off = 0,
    /// TLS for everything.
    On = 1,
    /// TLS is not available.
    NotSupported = 2,
    /// Sent only by servers: TLS for everything, or no connection.
    Required = 3,
}

/// The options of the server's message that matter to the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ServerPrelogin {
    pub encryption: Encryption,
    /// Whether the server enables MARS, several active results on the connection.
    pub mars: bool,
    /// Whether the server says that it needs an account of Microsoft Entra.
    pub announces_entra: bool,
}

/// Appends the client's message.
pub(super) fn put_request(encryption: Encryption, out: &mut Vec<u8>) {
    let options: [(u8, &[u8]); 3] = [
        (option::VERSION, &VERSION),
        (option::ENCRYPTION, &[encryption as u8]),
        (option::MARS, &[0]),
    ];
    // The data follow the list, which has five bytes for each option (its name, offset and length) and an end.
    let mut offset = options.len() as u16 * 5 + 1;
    for (name, data) in options {
        let length = data.len() as u16;
        out.push(name);
        out.extend_from_slice(&offset.to_be_bytes());
        out.extend_from_slice(&length.to_be_bytes());
        offset += length;
    }
    out.push(option::END);
    for (_, data) in options {
        out.extend_from_slice(data);
    }
}

/// Parses the server's message; `None` if it is malformed. Without an ENCRYPTION option, TLS is not
/// supported.
pub(super) fn parse(message: &[u8]) -> Option<ServerPrelogin> {
    let mut prelogin = ServerPrelogin {
        encryption: Encryption::NotSupported,
        mars: false,
        announces_entra: false,
    };
    let mut reader = Reader(message);
    if message.first() != Some(&option::VERSION) {
        return None;
    }
    loop {
        let name = reader.byte()?;
        if name == option::END {
            return Some(prelogin);
        }
        let offset = usize::from(u16::from_be_bytes(reader.array()?));
        let length = usize::from(u16::from_be_bytes(reader.array()?));
        let data = message.get(offset..offset + length)?;
        match name {
            option::ENCRYPTION => {
                prelogin.encryption = match data.first()? {
                    0 => Encryption::Off,
                    1 => Encryption::On,
                    2 => Encryption::NotSupported,
                    3 => Encryption::Required,
                    _ => return None,
                }
            }
            option::MARS => prelogin.mars = data.first() == Some(&1),
            option::FEDERATED_LOGIN => prelogin.announces_entra = data.first() == Some(&1),
            _ => {}
        }
    }
}
