//! The server's reply to LOGIN7.
//!
//! In: the whole message. Out: the session's settings, a route to another server, or an error. Must
//! never: take a refusal for a login.

use super::super::error;
use super::super::packet::{PACKET_MAX, PACKET_SIZE_INITIAL, PACKET_SIZE_MIN, Reader};
use super::super::token::{self, EnvChange, env_change, kind};
use super::super::utf16;
use super::not_tds;
use crate::{ConnectError, Parameters, ServerError};

/// TDS 7.2: SQL Server 2005. Older servers count rows in four bytes.
const OLDEST_VERSION: u32 = 0x7200_0000;
/// Most messages of the login that are kept.
const NOTICES_MAX: usize = 16;
/// "Changed database context" and "Changed language setting": every login has them.
const USUAL: [u32; 2] = [5701, 5703];

/// The content of a reply that accepts the login.
pub(super) struct Answer {
    /// `server_version`, `server_program` and `database`.
    pub parameters: Parameters,
    pub notices: Vec<ServerError>,
    /// Size of packets in bytes, with their headers.
    pub packet_size: u16,
    pub collation: [u8; 5],
    /// Host and port to log in at instead.
    pub route: Option<(String, u16)>,
}

/// Reads the reply.
///
/// # Errors
/// The server refuses the login, requests something else than a password, or sends what is not a reply.
pub(super) fn parse(message: &[u8]) -> Result<Answer, ConnectError> {
    let mut answer = Answer {
        parameters: Parameters::default(),
        notices: Vec::new(),
        packet_size: PACKET_SIZE_INITIAL as u16,
        collation: [0; 5],
        route: None,
    };
    let (mut accepted, mut done) = (false, false);
    let mut reader = Reader(message);
    while let Some(kind) = reader.byte() {
        let body = token::body(kind, &mut reader)
            .ok_or_else(|| not_tds("it sends an unknown token during the login"))?
            .ok_or_else(|| not_tds("its reply to the login is truncated"))?;
        match kind {
            kind::ERROR => return Err(error::parse(body).into()),
            kind::INFO => {
                let notice = error::parse(body);
                if answer.notices.len() < NOTICES_MAX && !USUAL.contains(&notice.number) {
                    answer.notices.push(notice);
                }
            }
            kind::ENV_CHANGE => answer.set(body)?,
            kind::LOGIN_ACK => {
                answer.acknowledge(body)?;
                accepted = true;
            }
            kind::SSPI => return Err(ConnectError::SqlLoginNeeded("Windows")),
            kind::FEDERATED_INFO => return Err(ConnectError::SqlLoginNeeded("Microsoft Entra")),
            kind::DONE => done = true,
            kind::FEATURE_ACK | kind::SESSION_STATE | kind::ORDER => {}
            _ => return Err(not_tds("it sends rows during the login")),
        }
    }
    match accepted && done {
        true => Ok(answer),
        false => Err(not_tds("it does not acknowledge the login")),
    }
}

impl Answer {
    fn set(&mut self, body: &[u8]) -> Result<(), ConnectError> {
        let change = env_change(body).ok_or_else(|| not_tds("invalid ENVCHANGE"))?;
        match change {
            EnvChange::Database(name) => self.parameters.set("database", &utf16::text(name)),
            EnvChange::PacketSize(digits) => {
                let size = utf16::text(digits).parse::<u16>().ok();
                let allowed = PACKET_SIZE_MIN..PACKET_MAX;
                self.packet_size = size
                    .filter(|size| allowed.contains(&usize::from(*size)))
                    .ok_or_else(|| not_tds("it chooses an impossible packet size"))?;
            }
            EnvChange::Collation(collation) => self.collation = collation,
            EnvChange::Routing(port, host) => self.route = Some((utf16::text(host), port)),
            EnvChange::Begun(_) | EnvChange::Ended | EnvChange::Other => {}
        }
        Ok(())
    }

    /// Reads LOGINACK: interface, version of the protocol, name and version of the program.
    fn acknowledge(&mut self, body: &[u8]) -> Result<(), ConnectError> {
        let mut reader = Reader(body);
        let parsed = (|| {
            reader.byte()?;
            let version = u32::from_be_bytes(reader.array()?);
            Some((version, reader.short_text()?, reader.array::<4>()?))
        })();
        let (version, program, [major, minor, build_high, build_low]) =
            parsed.ok_or_else(|| not_tds("invalid LOGINACK"))?;
        if version < OLDEST_VERSION && version != super::super::login7::VERSION_8_0 {
            return Err(not_tds("SQL Server 2005 or later is needed"));
        }
        let build = u16::from_be_bytes([build_high, build_low]);
        let version = format!("{major}.{minor}.{build}");
        self.parameters.set("server_version", &version);
        let program = utf16::text(program);
        self.parameters
            .set("server_program", program.trim_end_matches('\0'));
        Ok(())
    }
}
