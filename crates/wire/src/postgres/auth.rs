//! Authentication: the server's requests, and the answers.
//!
//! In: the bodies of Authentication messages. Out: PasswordMessage, SASLInitialResponse and
//! SASLResponse, appended to a buffer. Must never: send a password by a method that the caller
//! excluded, nor accept AuthenticationOk from a server that has not completed its own proof.

use super::codec::message;
use super::login::{ChannelBinding, Login};
use super::require_auth::{AuthMethod, RequireAuth};
use super::scram::{Binding, Scram};
use crate::ConnectError;
use crate::Secret;
use postgres_protocol::authentication::md5_hash;
use postgres_protocol::password::{md5, scram_sha_256};

// The requests of the server, by the first number of an Authentication message.
const AUTHENTICATION_OK: u32 = 0;
pub(super) const CLEARTEXT_PASSWORD: u32 = 3;
const MD5_PASSWORD: u32 = 5;
const GSS: u32 = 7;
const GSS_CONTINUE: u32 = 8;
const SSPI: u32 = 9;
const SASL: u32 = 10;
const SASL_CONTINUE: u32 = 11;
const SASL_FINAL: u32 = 12;

const SCRAM: &[u8] = b"SCRAM-SHA-256";
const SCRAM_PLUS: &[u8] = b"SCRAM-SHA-256-PLUS";

pub(super) enum Auth {
    /// The server has requested nothing yet.
    Initial,
    /// A password was sent; the server must decide.
    PasswordSent,
    /// SCRAM: the first message was sent.
    ScramStarted(Box<Scram>),
    /// SCRAM: the password is being salted.
    ScramSalting(Box<Scram>),
    ScramProofSent(Box<Scram>),
    /// SCRAM: the server has proved that it knows the password.
    ScramVerified {
        /// Whether it has also proved that it is the other end of this TLS connection.
        is_bound: bool,
    },
}

/// What the TLS layer provides for channel binding.
pub(super) struct TlsState<'a> {
    pub(super) in_use: bool,
    /// Hash of the server's certificate by RFC 5929, if there is one.
    pub(super) server_end_point: Option<&'a [u8]>,
}

impl Auth {
    /// Handles the body of one Authentication message; appends the answer to `out`.
    ///
    /// Returns true when the server declares authentication complete.
    pub(super) fn receive(
        &mut self,
        body: &[u8],
        login: &Login,
        tls: &TlsState<'_>,
        out: &mut Vec<u8>,
    ) -> Result<bool, ConnectError> {
        let Some((kind, rest)) = body.split_first_chunk::<4>() else {
            return Err(malformed());
        };
        match u32::from_be_bytes(*kind) {
            AUTHENTICATION_OK => return self.accept(login).map(|()| true),
            CLEARTEXT_PASSWORD => {
                let reason = "server requested a cleartext password";
                let password = self.begin_password(login, AuthMethod::Password, reason)?;
                put_password(password, out)?;
            }
            MD5_PASSWORD => {
                let salt = rest.try_into().map_err(|_| malformed())?;
                let reason = "server requested a hashed password";
                let password = self.begin_password(login, AuthMethod::Md5, reason)?;
                let hash = md5_hash(login.user.as_bytes(), password.as_bytes(), salt);
                put_password(&hash, out)?;
            }
            SASL => self.begin_scram(rest, login, tls, out)?,
            SASL_CONTINUE => self.receive_challenge(rest, login, out)?,
            SASL_FINAL => self.verify(rest)?,
            GSS | GSS_CONTINUE => {
                let reason = "server requested GSSAPI authentication";
                check_allowed(login, Some(AuthMethod::Gss), reason)?;
                return Err(ConnectError::AuthUnsupported("gss"));
            }
            SSPI => {
                let reason = "server requested SSPI authentication";
                check_allowed(login, Some(AuthMethod::Sspi), reason)?;
                return Err(ConnectError::AuthUnsupported("sspi"));
            }
            other => {
                let reason = "server requested an unknown authentication type";
                check_allowed(login, None, reason)?;
                return Err(ConnectError::AuthUnsupported(match other {
                    2 => "Kerberos V5",
                    6 => "SCM credentials",
                    _ => "unknown to Prony",
                }));
            }
        }
        Ok(false)
    }

    /// Begins a method that sends the password or a plain hash of it; returns the password.
    fn begin_password<'l>(
        &mut self,
        login: &'l Login,
        method: AuthMethod,
        reason: &'static str,
    ) -> Result<&'l str, ConnectError> {
        check_allowed(login, Some(method), reason)?;
        // A password, or a plain hash of it, is not bound to this TLS connection: a relay could use it.
        if login.channel_binding == ChannelBinding::Require {
            return Err(ConnectError::ChannelBinding(
                "the server requests an authentication method without it",
            ));
        }
        if !matches!(self, Auth::Initial) {
            return Err(ConnectError::Protocol(
                "it requests authentication twice".into(),
            ));
        }
        *self = Auth::PasswordSent;
        required_password(login)
    }

    fn begin_scram(
        &mut self,
        mechanisms: &[u8],
        login: &Login,
        tls: &TlsState<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), ConnectError> {
        if !matches!(self, Auth::Initial) {
            return Err(ConnectError::Protocol(
                "it requests authentication twice".into(),
            ));
        }
        let reason = "server requested SASL authentication";
        check_allowed(login, Some(AuthMethod::ScramSha256), reason)?;
        let offers = |name: &[u8]| mechanisms.split(|&byte| byte == 0).any(|item| item == name);
        let offered = OfferedMechanisms {
            plain: offers(SCRAM),
            plus: offers(SCRAM_PLUS),
        };
        if !offered.plain && !offered.plus {
            return Err(ConnectError::AuthUnsupported("SASL without SCRAM-SHA-256"));
        }
        let (mechanism, binding) = choose(offered, login, tls)?;
        required_password(login)?;
        let scram = Scram::new(binding)?;
        let first = scram.first_message();
        message(out, b'p', |out| {
            out.extend_from_slice(mechanism);
            out.push(0);
            out.extend_from_slice(&(first.len() as u32).to_be_bytes());
            out.extend_from_slice(first.as_bytes());
        });
        *self = Auth::ScramStarted(Box::new(scram));
        Ok(())
    }

    fn receive_challenge(
        &mut self,
        data: &[u8],
        login: &Login,
        out: &mut Vec<u8>,
    ) -> Result<(), ConnectError> {
        let Auth::ScramStarted(mut scram) = self.take_state() else {
            return Err(ConnectError::Scram(
                "the server's first message arrived out of sequence",
            ));
        };
        scram.receive_challenge(data, required_password(login)?, &login.keys)?;
        *self = Auth::ScramSalting(scram);
        self.continue_salting(out);
        Ok(())
    }

    /// Takes the state out; the caller sets the next one, or fails, which ends the login.
    fn take_state(&mut self) -> Auth {
        std::mem::replace(self, Auth::PasswordSent)
    }

    /// Whether the password is being salted: no message is received until [`Auth::continue_salting`] has completed that.
    pub(super) fn is_salting(&self) -> bool {
        matches!(self, Auth::ScramSalting(_))
    }

    /// Continues to salt the password, if that is in progress; appends the proof to `out` once it is complete.
    pub(super) fn continue_salting(&mut self, out: &mut Vec<u8>) {
        *self = match self.take_state() {
            Auth::ScramSalting(mut scram) => match scram.answer() {
                Some(answer) => {
                    message(out, b'p', |out| out.extend_from_slice(answer.as_bytes()));
                    Auth::ScramProofSent(scram)
                }
                None => Auth::ScramSalting(scram),
            },
            other => other,
        };
    }

    fn verify(&mut self, data: &[u8]) -> Result<(), ConnectError> {
        let Auth::ScramProofSent(mut scram) = self.take_state() else {
            return Err(ConnectError::Scram(
                "the server's last message arrived out of sequence",
            ));
        };
        scram.verify(data)?;
        *self = Auth::ScramVerified {
            is_bound: scram.is_bound(),
        };
        Ok(())
    }

    /// Checks on AuthenticationOk that the caller's requirements are met.
    fn accept(&self, login: &Login) -> Result<(), ConnectError> {
        match self {
            Auth::ScramStarted(_) | Auth::ScramSalting(_) | Auth::ScramProofSent(_) => {
                return Err(ConnectError::Scram(
                    "the server did not prove that it knows the password",
                ));
            }
            Auth::Initial => {
                let reason = "server did not complete authentication";
                check_allowed(login, Some(AuthMethod::None), reason)?;
            }
            Auth::PasswordSent | Auth::ScramVerified { .. } => {}
        }
        let is_bound = matches!(self, Auth::ScramVerified { is_bound: true });
        if login.channel_binding == ChannelBinding::Require && !is_bound {
            return Err(ConnectError::ChannelBinding(
                "the server authenticated the client without it",
            ));
        }
        Ok(())
    }
}

/// Which mechanisms the server offers: SCRAM-SHA-256 without channel binding (`plain`) and with it (`plus`).
struct OfferedMechanisms {
    plain: bool,
    plus: bool,
}

/// Chooses the mechanism and the binding to declare (RFC 5802, section 6).
fn choose(
    offered: OfferedMechanisms,
    login: &Login,
    tls: &TlsState<'_>,
) -> Result<(&'static [u8], Binding), ConnectError> {
    if offered.plus && !tls.in_use {
        // A server offers this only over TLS, so without TLS a relay must have removed it.
        return Err(ConnectError::Scram(
            "server offered SCRAM-SHA-256-PLUS authentication over a non-SSL connection",
        ));
    }
    let is_wanted = login.channel_binding != ChannelBinding::Disable;
    match tls.server_end_point.filter(|_| is_wanted) {
        Some(hash) if offered.plus => Ok((SCRAM_PLUS, Binding::ServerEndPoint(hash.to_vec()))),
        _ if login.channel_binding == ChannelBinding::Require => {
            Err(ConnectError::ChannelBinding(if !tls.in_use {
                "SSL is not in use"
            } else if offered.plus {
                "the server's certificate has no hash to bind to"
            } else {
                "the server does not offer it"
            }))
        }
        Some(_) if offered.plain => Ok((SCRAM, Binding::NotOffered)),
        _ if offered.plain => Ok((SCRAM, Binding::None)),
        _ => Err(ConnectError::AuthUnsupported(
            "SCRAM-SHA-256-PLUS without a binding",
        )),
    }
}

/// Checks that `require_auth` allows a method; `None` is one that it cannot name.
fn check_allowed(
    login: &Login,
    method: Option<AuthMethod>,
    reason: &'static str,
) -> Result<(), ConnectError> {
    let rule = &login.require_auth;
    if *rule == RequireAuth::Any || method.is_some_and(|method| rule.allows(method)) {
        return Ok(());
    }
    Err(ConnectError::AuthExcluded {
        required: rule.to_string(),
        reason,
    })
}

/// The password; an empty one is treated as none, as in libpq.
fn required_password(login: &Login) -> Result<&str, ConnectError> {
    let password = login.password.as_ref().map(|secret| secret.reveal());
    password
        .filter(|text| !text.is_empty())
        .ok_or(ConnectError::PasswordNeeded)
}

fn put_password(password: &str, out: &mut Vec<u8>) -> Result<(), ConnectError> {
    if password.contains('\0') {
        return Err(ConnectError::ZeroByte("password".into()));
    }
    message(out, b'p', |out| {
        out.extend_from_slice(password.as_bytes());
        out.push(0);
    });
    Ok(())
}

fn malformed() -> ConnectError {
    ConnectError::Protocol("malformed authentication request".into())
}

/// The form in which a server stores a role's password under this `password_encryption`. The server
/// accepts it in place of the password, so that the password appears in no statement and no log.
/// Returns `None` for an unknown encryption.
pub fn stored_password(encryption: &str, role: &str, password: &Secret) -> Option<String> {
    let password = password.reveal();
    match encryption {
        "scram-sha-256" => Some(scram_sha_256(password.as_bytes())),
        "md5" | "on" => Some(md5(password.as_bytes(), role)),
        _ => None,
    }
}
