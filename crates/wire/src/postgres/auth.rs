//! Authentication: what the server asks for, and the answer.
//!
//! In: the bodies of Authentication messages. Out: PasswordMessage, SASLInitialResponse and
//! SASLResponse, appended to a buffer. Must never: send a password where the caller excluded that
//! way, nor take "you are in" from a server that has not finished its own proof.

use super::scram::{Binding, Scram};
use super::session::{ChannelBinding, Login};
use crate::ConnectError;
use crate::Secret;
use postgres_protocol::authentication::md5_hash;
use postgres_protocol::password::{md5, scram_sha_256};

const SCRAM: &[u8] = b"SCRAM-SHA-256";
const SCRAM_PLUS: &[u8] = b"SCRAM-SHA-256-PLUS";

/// Ways of authentication, as libpq's `require_auth` names them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AuthMethods(u8);

impl AuthMethods {
    /// The password in the clear.
    pub const PASSWORD: AuthMethods = AuthMethods(1);
    /// The password hashed by MD5.
    pub const MD5: AuthMethods = AuthMethods(2);
    /// SCRAM-SHA-256, with or without channel binding.
    pub const SCRAM_SHA_256: AuthMethods = AuthMethods(4);
    /// No authentication at all.
    pub const NONE: AuthMethods = AuthMethods(8);
    /// Whatever the server asks for: the default.
    pub const ANY: AuthMethods = AuthMethods(15);

    /// None of them, not even to be let in without a question; a start for a list.
    pub const EMPTY: AuthMethods = AuthMethods(0);

    /// These and those.
    pub const fn and(self, other: AuthMethods) -> AuthMethods {
        AuthMethods(self.0 | other.0)
    }

    /// Whether all of `other` is admitted.
    pub fn admits(self, other: AuthMethods) -> bool {
        self.0 & other.0 == other.0
    }
}

impl Default for AuthMethods {
    fn default() -> Self {
        AuthMethods::ANY
    }
}

/// How far an authentication has come.
pub(super) enum Auth {
    /// Nothing was asked yet.
    Unasked,
    /// A password was sent; the server has to decide.
    Sent,
    /// SCRAM: the first message was sent.
    Begun(Box<Scram>),
    /// SCRAM: the proof was sent.
    Answered(Box<Scram>),
    /// SCRAM: the server has proved itself.
    Verified {
        /// ... as the one at the other end of this TLS connection.
        bound: bool,
    },
}

/// What the TLS layer knows, for channel binding.
pub(super) struct TlsFacts<'a> {
    pub(super) in_use: bool,
    /// Hash of the server's certificate after RFC 5929, where there is one.
    pub(super) server_end_point: Option<&'a [u8]>,
}

impl Auth {
    /// Takes the body of one Authentication message; appends the answer to `out`.
    ///
    /// Returns true when the server declares authentication complete.
    pub(super) fn receive(
        &mut self,
        body: &[u8],
        login: &Login,
        tls: &TlsFacts<'_>,
        out: &mut Vec<u8>,
    ) -> Result<bool, ConnectError> {
        let Some((kind, rest)) = body.split_first_chunk::<4>() else {
            return Err(malformed());
        };
        match u32::from_be_bytes(*kind) {
            0 => return self.accept(login).map(|()| true),
            3 => {
                let password =
                    self.password(login, AuthMethods::PASSWORD, "a cleartext password")?;
                put_password(password, out)?;
            }
            5 => {
                let salt = rest.try_into().map_err(|_| malformed())?;
                let password = self.password(login, AuthMethods::MD5, "an MD5 password hash")?;
                let hash = md5_hash(login.user.as_bytes(), password.as_bytes(), salt);
                put_password(&hash, out)?;
            }
            10 => self.begin(rest, login, tls, out)?,
            11 => self.answer(rest, login, out)?,
            12 => self.verify(rest)?,
            2 => return Err(ConnectError::AuthUnsupported("Kerberos V5")),
            6 => return Err(ConnectError::AuthUnsupported("SCM credentials")),
            7 | 8 => return Err(ConnectError::AuthUnsupported("gss")),
            9 => return Err(ConnectError::AuthUnsupported("sspi")),
            _ => return Err(ConnectError::AuthUnsupported("unknown to Prony")),
        }
        Ok(false)
    }

    /// The password for a way that sends it or a plain hash of it.
    fn password<'l>(
        &mut self,
        login: &'l Login,
        method: AuthMethods,
        asked: &'static str,
    ) -> Result<&'l str, ConnectError> {
        if !login.auth_methods.admits(method) {
            return Err(ConnectError::AuthExcluded(asked));
        }
        // Such an answer binds to nothing: a relay could use it.
        if login.channel_binding == ChannelBinding::Require {
            return Err(ConnectError::ChannelBinding(
                "the server asks for a way of authentication without it",
            ));
        }
        if !matches!(self, Auth::Unasked) {
            return Err(ConnectError::Protocol(
                "it asks for authentication twice".into(),
            ));
        }
        *self = Auth::Sent;
        required_password(login)
    }

    fn begin(
        &mut self,
        mechanisms: &[u8],
        login: &Login,
        tls: &TlsFacts<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), ConnectError> {
        if !matches!(self, Auth::Unasked) {
            return Err(ConnectError::Protocol(
                "it asks for authentication twice".into(),
            ));
        }
        let offers = |name: &[u8]| mechanisms.split(|&byte| byte == 0).any(|item| item == name);
        if !offers(SCRAM) && !offers(SCRAM_PLUS) {
            return Err(ConnectError::AuthUnsupported("SASL without SCRAM-SHA-256"));
        }
        if !login.auth_methods.admits(AuthMethods::SCRAM_SHA_256) {
            return Err(ConnectError::AuthExcluded("SASL authentication"));
        }
        let (mechanism, binding) = choose(offers(SCRAM), offers(SCRAM_PLUS), login, tls)?;
        required_password(login)?;
        let scram = Scram::new(binding)?;
        let first = scram.first_message();
        message(b'p', out, |out| {
            out.extend_from_slice(mechanism);
            out.push(0);
            out.extend_from_slice(&(first.len() as u32).to_be_bytes());
            out.extend_from_slice(first.as_bytes());
        });
        *self = Auth::Begun(Box::new(scram));
        Ok(())
    }

    fn answer(
        &mut self,
        data: &[u8],
        login: &Login,
        out: &mut Vec<u8>,
    ) -> Result<(), ConnectError> {
        let Auth::Begun(mut scram) = std::mem::replace(self, Auth::Sent) else {
            return Err(ConnectError::Scram(
                "the server's first message came out of turn",
            ));
        };
        let answer = scram.answer(data, required_password(login)?, &login.keys)?;
        message(b'p', out, |out| out.extend_from_slice(answer.as_bytes()));
        *self = Auth::Answered(scram);
        Ok(())
    }

    fn verify(&mut self, data: &[u8]) -> Result<(), ConnectError> {
        let Auth::Answered(mut scram) = std::mem::replace(self, Auth::Sent) else {
            return Err(ConnectError::Scram(
                "the server's last message came out of turn",
            ));
        };
        scram.verify(data)?;
        *self = Auth::Verified {
            bound: scram.is_bound(),
        };
        Ok(())
    }

    /// AuthenticationOk: is it enough for what the caller asked?
    fn accept(&self, login: &Login) -> Result<(), ConnectError> {
        match self {
            Auth::Begun(_) | Auth::Answered(_) => {
                return Err(ConnectError::Scram("the server skipped its own proof"));
            }
            Auth::Unasked if !login.auth_methods.admits(AuthMethods::NONE) => {
                return Err(ConnectError::AuthExcluded("no authentication"));
            }
            Auth::Unasked | Auth::Sent | Auth::Verified { .. } => {}
        }
        let bound = matches!(self, Auth::Verified { bound: true });
        if login.channel_binding == ChannelBinding::Require && !bound {
            return Err(ConnectError::ChannelBinding(
                "the server authenticated the client without it",
            ));
        }
        Ok(())
    }
}

/// Which mechanism to use, and what to say about binding (RFC 5802, section 6).
fn choose(
    plain: bool,
    plus: bool,
    login: &Login,
    tls: &TlsFacts<'_>,
) -> Result<(&'static [u8], Binding), ConnectError> {
    if plus && !tls.in_use {
        // Only a relay that removed the TLS could make a server say this.
        return Err(ConnectError::Scram(
            "server offered SCRAM-SHA-256-PLUS authentication over a non-SSL connection",
        ));
    }
    let wanted = login.channel_binding != ChannelBinding::Disable;
    match tls.server_end_point.filter(|_| wanted) {
        Some(hash) if plus => Ok((SCRAM_PLUS, Binding::ServerEndPoint(hash.to_vec()))),
        _ if login.channel_binding == ChannelBinding::Require => {
            Err(ConnectError::ChannelBinding(match (tls.in_use, plus) {
                (false, _) => "SSL is not in use",
                (true, true) => "the server's certificate has no hash to bind to",
                (true, false) => "the server does not offer it",
            }))
        }
        Some(_) if plain => Ok((SCRAM, Binding::NotOffered)),
        _ if plain => Ok((SCRAM, Binding::None)),
        _ => Err(ConnectError::AuthUnsupported(
            "SCRAM-SHA-256-PLUS without a binding",
        )),
    }
}

/// The password; an empty one counts as none, as in libpq.
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
    message(b'p', out, |out| {
        out.extend_from_slice(password.as_bytes());
        out.push(0);
    });
    Ok(())
}

/// Appends a message: its tag, the length of what `body` writes, and that.
fn message(tag: u8, out: &mut Vec<u8>, body: impl FnOnce(&mut Vec<u8>)) {
    out.push(tag);
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    body(out);
    let length = (out.len() - start) as u32;
    out[start..start + 4].copy_from_slice(&length.to_be_bytes());
}

fn malformed() -> ConnectError {
    ConnectError::Protocol("malformed authentication request".into())
}
/// What a server keeps of a role's password by this `password_encryption`: it is taken in place of
/// the password, which then is in no statement and no log. `None`: an encryption that is not known.
pub fn stored_password(encryption: &str, role: &str, password: &Secret) -> Option<String> {
    let password = password.reveal();
    match encryption {
        "scram-sha-256" => Some(scram_sha_256(password.as_bytes())),
        "md5" | "on" => Some(md5(password.as_bytes(), role)),
        _ => None,
    }
}
