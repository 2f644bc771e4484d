//! PRELOGIN: the first message in each direction, which decides about encryption.
//!
//! In: what the client wants; the server's answer. Out: the message; what the server said. Must never:
//! trust an offset.
//! Source: MS-TDS 2.2.6.5.

use super::packet::Reader;

/// Version of the network library: that of SQL Server 2005, which FreeTDS sends too.
const VERSION: [u8; 6] = [9, 0, 0, 0, 0, 0];

/// Names of options.
mod option {
    pub const VERSION: u8 = 0;
    pub const ENCRYPTION: u8 = 1;
    pub const MARS: u8 = 4;
    pub const FEDERATED: u8 = 6;
    pub const END: u8 = 0xff;
}

/// What one side says about encryption.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Encryption {
    /// Possible, but only for the login.
    Off = 0,
    /// For everything.
    On = 1,
    /// Not possible.
    NotSupported = 2,
    /// Only sent by servers: for everything, or no connection.
    Required = 3,
}

/// What the server answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Answer {
    pub encryption: Encryption,
    /// Whether it wants several active results on the connection.
    pub mars: bool,
    /// Whether it only accepts accounts of Microsoft Entra.
    pub federated: bool,
}

/// Appends the client's message.
pub(super) fn put_request(encryption: Encryption, out: &mut Vec<u8>) {
    let options: [(u8, &[u8]); 3] = [
        (option::VERSION, &VERSION),
        (option::ENCRYPTION, &[encryption as u8]),
        (option::MARS, &[0]),
    ];
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

/// Reads the server's message; `None` if it is malformed. An answer without encryption has none.
pub(super) fn parse(message: &[u8]) -> Option<Answer> {
    let mut answer = Answer {
        encryption: Encryption::NotSupported,
        mars: false,
        federated: false,
    };
    let mut reader = Reader(message);
    if message.first() != Some(&option::VERSION) {
        return None;
    }
    loop {
        let name = reader.byte()?;
        if name == option::END {
            return Some(answer);
        }
        let offset = usize::from(u16::from_be_bytes(reader.array()?));
        let length = usize::from(u16::from_be_bytes(reader.array()?));
        let data = message.get(offset..offset + length)?;
        match name {
            option::ENCRYPTION => {
                answer.encryption = match data.first()? {
                    0 => Encryption::Off,
                    1 => Encryption::On,
                    2 => Encryption::NotSupported,
                    3 => Encryption::Required,
                    _ => return None,
                }
            }
            option::MARS => answer.mars = data.first() == Some(&1),
            option::FEDERATED => answer.federated = data.first() == Some(&1),
            _ => {}
        }
    }
}
