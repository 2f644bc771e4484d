//! LOGIN7: the message that logs in.
//!
//! In: a [`Login`]. Out: the message. Must never: show a password, or truncate a name.
//! Source: MS-TDS 2.2.6.4.

use super::session::Login;
use super::utf16::put_utf16;
use crate::ConnectError;

/// TDS 7.4, of SQL Server 2012 and later.
pub(super) const VERSION_7_4: u32 = 0x7400_0004;
/// TDS 8.0, of SQL Server 2022 and later; used when TLS comes first.
pub(super) const VERSION_8_0: u32 = 0x0800_0000;

/// Longest text of a field, in UTF-16 units. With this limit the message fits into one packet. It has to:
/// if TLS is only for the login, only the first packet of the message is encrypted.
const FIELD_UNITS_MAX: usize = 128;
/// Length of the part before the texts, in bytes.
const FIXED_BYTES: usize = 94;
/// Offset of the table of fields, whose entries are an offset and a length, each a u16.
const FIELDS_OFFSET: usize = 36;

/// Indexes in the table of fields.
const PASSWORD_FIELD: usize = 2;
const EXTENSIONS_FIELD: usize = 5;
const LIBRARY_FIELD: usize = 6;

/// OptionFlags1: report the change of database (0x20), refuse the login if the database is missing (0x40),
/// report the change of language (0x80).
const OPTION_FLAGS_1: u8 = 0xe0;
/// OptionFlags2: the language must exist (1); ANSI settings as for ODBC (2).
const OPTION_FLAGS_2: u8 = 0x03;
/// Bit of TypeFlags: the session only reads.
const TYPE_FLAG_READ_ONLY: u8 = 0x20;
/// OptionFlags3: the message has a list of extensions.
const OPTION_FLAGS_3: u8 = 0x10;
/// Extension without data: the client understands UTF-8 collations.
const EXTENSION_UTF8_SUPPORT: u8 = 0x0a;
const EXTENSIONS_END: u8 = 0xff;

/// Appends the message. `version` is [`VERSION_7_4`] or [`VERSION_8_0`].
pub(super) fn put_login(
    login: &Login,
    version: u32,
    out: &mut Vec<u8>,
) -> Result<(), ConnectError> {
    let start = out.len();
    out.resize(start + FIXED_BYTES, 0);
    // Length of the message (set at the end), version, packet size, version of the program, process, connection.
    let header_words = [
        0,
        version,
        u32::from(login.packet_size),
        0,
        login.client_pid,
        0,
    ];
    for (index, word) in header_words.into_iter().enumerate() {
        let at = start + index * 4;
        out[at..at + 4].copy_from_slice(&word.to_le_bytes());
    }
    let type_flags = if login.read_only { TYPE_FLAG_READ_ONLY } else { 0 };
    out[start + 24..start + 28].copy_from_slice(&[
        OPTION_FLAGS_1,
        OPTION_FLAGS_2,
        type_flags,
        OPTION_FLAGS_3,
    ]);
    let texts = [
        (0, "name of this host", login.host.as_str()),
        (1, "user name", login.user.as_str()),
        (PASSWORD_FIELD, "password", login.password.reveal()),
        (3, "application name", login.application.as_str()),
        (4, "server name", login.server.as_str()),
        (LIBRARY_FIELD, "library name", "Prony"),
        (7, "language", ""),
        (8, "database name", login.database.as_str()),
    ];
    let mut pointer_at = 0;
    for (field, name, text) in texts {
        if field == LIBRARY_FIELD {
            // The field for extensions points to an offset, which points to the list of extensions. Some
            // servers read the fields in order, so the offset must come before the next text.
            pointer_at = out.len();
            out.extend_from_slice(&[0; 4]);
            put_field(out, start, EXTENSIONS_FIELD, pointer_at, 4);
        }
        let at = out.len();
        put_utf16(text, out);
        let units = (out.len() - at) / 2;
        if units > FIELD_UNITS_MAX {
            return Err(ConnectError::NameTooLong(name));
        }
        if field == PASSWORD_FIELD {
            obfuscate_password(&mut out[at..]);
        }
        put_field(out, start, field, at, units);
    }
    let list_offset = (out.len() - start) as u32;
    out[pointer_at..pointer_at + 4].copy_from_slice(&list_offset.to_le_bytes());
    out.extend_from_slice(&[EXTENSION_UTF8_SUPPORT, 0, 0, 0, 0, EXTENSIONS_END]);
    // Empty fields after the six bytes of ClientID: data of Windows logins, file to attach, new password.
    let end = out.len();
    for field_at in [78, 82, 86] {
        let offset = ((end - start) as u16).to_le_bytes();
        out[start + field_at..start + field_at + 2].copy_from_slice(&offset);
    }
    let length = ((end - start) as u32).to_le_bytes();
    out[start..start + 4].copy_from_slice(&length);
    Ok(())
}

/// Writes the entry of one field: the offset of its text or data `at`, and its length.
fn put_field(out: &mut [u8], start: usize, field: usize, at: usize, length: usize) {
    let entry = start + FIELDS_OFFSET + field * 4;
    out[entry..entry + 2].copy_from_slice(&((at - start) as u16).to_le_bytes());
    out[entry + 2..entry + 4].copy_from_slice(&(length as u16).to_le_bytes());
}

/// Swaps the halves of each byte and inverts every second bit, as the protocol requires; this is not
/// encryption.
fn obfuscate_password(bytes: &mut [u8]) {
    for byte in bytes {
        *byte = byte.rotate_left(4) ^ 0xa5;
    }
}
