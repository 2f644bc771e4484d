//! Parses the server's reply to LOGIN7.
//!
//! In: the whole message. Out: the session's settings, a route to another server, or an error. Must
//! never: mistake a refused login for an accepted one.

use super::super::error;
use super::super::packet::{PACKET_SIZE_INITIAL, PACKET_SIZE_MAX, PACKET_SIZE_MIN, Reader};
use super::super::token::{self, EnvChange, parse_env_change, token_type};
use super::super::utf16;
use super::not_tds_error;
use crate::{ConnectError, Parameters, ServerError};

/// Oldest accepted version: TDS 7.2, of SQL Server 2005. Older versions encode row counts in four bytes.
const VERSION_MIN: u32 = 0x7200_0000;
/// First number of the oldest accepted program version: SQL Server 2012, the first with sequences and `concat`.
const PROGRAM_MIN: u8 = 11;
/// Maximum number of the login's notices that are stored.
const STORED_NOTICES_MAX: usize = 16;
/// Notices that are not stored, because every login has them: "Changed database context", "Changed language
/// setting".
const USUAL_NOTICES: [u32; 2] = [5701, 5703];

/// The content of a reply that accepts the login or routes it.
pub(super) struct LoginReply {
    /// `server_version`, `server_program` and `database`.
    pub parameters: Parameters,
    pub notices: Vec<ServerError>,
    /// Packet size in bytes, headers included.
    pub packet_size: u16,
    pub collation: [u8; 5],
    /// Host and port of the server to log in to instead.
    pub route: Option<(String, u16)>,
}

pub(super) fn parse(message: &[u8]) -> Result<LoginReply, ConnectError> {
    let mut reply = LoginReply {
        parameters: Parameters::default(),
        notices: Vec::new(),
        packet_size: PACKET_SIZE_INITIAL as u16,
        collation: [0; 5],
        route: None,
    };
    let (mut is_accepted, mut is_done) = (false, false);
    let mut reader = Reader(message);
    while let Some(token_type) = reader.byte() {
        let body = token::take_body(token_type, &mut reader)
            .ok_or_else(|| not_tds_error("it sends an unknown token during the login"))?
            .ok_or_else(|| not_tds_error("its reply to the login is truncated"))?;
        match token_type {
            token_type::ERROR => return Err(error::parse(body).into()),
            token_type::INFO => {
                let notice = error::parse(body);
                if reply.notices.len() < STORED_NOTICES_MAX
                    && !USUAL_NOTICES.contains(&notice.number)
                {
                    reply.notices.push(notice);
                }
            }
            token_type::ENV_CHANGE => reply.apply_env_change(body)?,
            token_type::LOGIN_ACK => {
                reply.apply_login_ack(body)?;
                is_accepted = true;
            }
            token_type::SSPI => return Err(ConnectError::SqlLoginNeeded("Windows")),
            token_type::FEDERATED_INFO => {
                return Err(ConnectError::SqlLoginNeeded("Microsoft Entra"));
            }
            token_type::DONE | token_type::DONE_PROC => is_done = true,
            // Such as what a trigger on logins returns.
            _ => {}
        }
    }
    if is_accepted && is_done {
        Ok(reply)
    } else {
        Err(not_tds_error("it does not acknowledge the login"))
    }
}

impl LoginReply {
    fn apply_env_change(&mut self, body: &[u8]) -> Result<(), ConnectError> {
        let change = parse_env_change(body).ok_or_else(|| not_tds_error("invalid ENVCHANGE"))?;
        match change {
            EnvChange::Database(name) => {
                self.parameters.set("database", &utf16::display_text(name))
            }
            EnvChange::PacketSize(digits) => {
                let size = utf16::display_text(digits).parse::<u16>().ok();
                let allowed = PACKET_SIZE_MIN..PACKET_SIZE_MAX;
                self.packet_size = size
                    .filter(|size| allowed.contains(&usize::from(*size)))
                    .ok_or_else(|| not_tds_error("it chooses an impossible packet size"))?;
            }
            EnvChange::Collation(collation) => self.collation = collation,
            EnvChange::Routing(port, host) => self.route = Some((utf16::display_text(host), port)),
            EnvChange::TransactionBegun(_) | EnvChange::TransactionEnded | EnvChange::Other => {}
        }
        Ok(())
    }

    /// Parses LOGINACK: interface, version of the protocol, name and version of the server program.
    fn apply_login_ack(&mut self, body: &[u8]) -> Result<(), ConnectError> {
        let mut reader = Reader(body);
        let parsed = (|| {
            reader.byte()?;
            let version = u32::from_be_bytes(reader.array()?);
            Some((version, reader.short_text()?, reader.array::<4>()?))
        })();
        let (version, program, [major, minor, build_high, build_low]) =
            parsed.ok_or_else(|| not_tds_error("invalid LOGINACK"))?;
        if version < VERSION_MIN && version != super::super::login7::VERSION_8_0 {
            return Err(not_tds_error("SQL Server 2005 or later is needed"));
        }
        let build = u16::from_be_bytes([build_high, build_low]);
        let version = format!("{major}.{minor}.{build}");
        if major < PROGRAM_MIN {
            return Err(ConnectError::SqlServerTooOld(version));
        }
        self.parameters.set("server_version", &version);
        let program = utf16::display_text(program);
        self.parameters
            .set("server_program", program.trim_end_matches('\0'));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_of_procedures_do_not_disturb_a_login() {
        let mut message = vec![
            token_type::LOGIN_ACK,
            12,
            0,
            1,
            0x74,
            0,
            0,
            4,
            1,
            b'M',
            0,
            16,
            0,
            0x10,
            0x27,
        ];
        message.extend([token_type::RETURN_STATUS, 0, 0, 0, 0]);
        message.extend([token_type::TABLE_NAME, 1, 0, 7]);
        message.extend([[token_type::DONE_IN_PROC, 1].as_slice(), &[0; 11]].concat());
        message.extend([[token_type::DONE_PROC].as_slice(), &[0; 12]].concat());
        let reply = parse(&message).map_err(|error| error.to_string());
        let parameters = reply.expect("accepted").parameters;
        assert_eq!(parameters.get("server_version"), Some("16.0.4135"));
    }
}
