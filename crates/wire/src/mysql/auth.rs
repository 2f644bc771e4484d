//! The authentication plugins.
//!
//! In: a plugin's name, the server's random bytes, a log-in. Out: the answer. Must never: send a
//! password that others could read, or that the caller did not allow to be sent.
//! Source: MySQL documentation, "Authentication Methods"; MariaDB's for `client_ed25519`.

use super::session::Login;
use super::{ed25519, rsa};
use crate::ConnectError;
use ring::digest;

/// A way of authentication.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Plugin {
    Native,
    CachingSha2,
    Sha256,
    Ed25519,
    Clear,
}

/// What the server is to be told next.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// These bytes.
    Send(Vec<u8>),
    /// Nothing: it goes on by itself.
    Wait,
}

impl Plugin {
    const ALL: [Plugin; 5] = [
        Plugin::Native,
        Plugin::CachingSha2,
        Plugin::Sha256,
        Plugin::Ed25519,
        Plugin::Clear,
    ];

    /// As the server names it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Plugin::Native => "mysql_native_password",
            Plugin::CachingSha2 => "caching_sha2_password",
            Plugin::Sha256 => "sha256_password",
            Plugin::Ed25519 => "client_ed25519",
            Plugin::Clear => "mysql_clear_password",
        }
    }

    pub(super) fn named(name: &str) -> Option<Plugin> {
        Plugin::ALL.into_iter().find(|plugin| plugin.name() == name)
    }

    /// The first answer. `over_tls`: the connection is encrypted.
    pub(super) fn first(
        self,
        login: &Login,
        nonce: &[u8],
        over_tls: bool,
    ) -> Result<Vec<u8>, ConnectError> {
        let password = password(login)?;
        Ok(match self {
            Plugin::Native if password.is_empty() => Vec::new(),
            Plugin::Native => native(password, scramble(nonce)),
            Plugin::Ed25519 => ed25519::sign(password, nonce).to_vec(),
            Plugin::CachingSha2 | Plugin::Sha256 if password.is_empty() => vec![0],
            Plugin::CachingSha2 => sha2(password, scramble(nonce)),
            Plugin::Sha256 if over_tls => terminated(password),
            Plugin::Sha256 => match &login.server_public_key {
                Some(pem) => sealed(pem, password, nonce)?,
                None if login.get_server_public_key => vec![1],
                None => return Err(ConnectError::SecureTransportNeeded(self.name())),
            },
            Plugin::Clear if !login.cleartext => return Err(ConnectError::CleartextRefused),
            Plugin::Clear if !over_tls && !login.over_unix_socket => {
                return Err(ConnectError::SecureTransportNeeded(self.name()));
            }
            Plugin::Clear => terminated(password),
        })
    }

    /// The answer to what the server sends of its own for this plugin.
    pub(super) fn more(
        self,
        data: &[u8],
        login: &Login,
        nonce: &[u8],
        over_tls: bool,
    ) -> Result<Answer, ConnectError> {
        let password = password(login)?;
        match (self, data) {
            // The server knew the hash.
            (Plugin::CachingSha2, [3]) => Ok(Answer::Wait),
            (Plugin::CachingSha2, [4]) => {
                if over_tls || login.over_unix_socket {
                    return Ok(Answer::Send(terminated(password)));
                }
                match &login.server_public_key {
                    Some(pem) => sealed(pem, password, nonce).map(Answer::Send),
                    None if login.get_server_public_key => Ok(Answer::Send(vec![2])),
                    None => Err(ConnectError::SecureTransportNeeded(self.name())),
                }
            }
            // The key that was asked for, and only if it was.
            (Plugin::CachingSha2 | Plugin::Sha256, pem @ [b'-', ..])
                if login.get_server_public_key && !over_tls =>
            {
                sealed(pem, password, nonce).map(Answer::Send)
            }
            _ => Err(ConnectError::NotMysql(
                "its authentication goes on in an unknown way".to_owned(),
            )),
        }
    }
}

fn password(login: &Login) -> Result<&[u8], ConnectError> {
    let password = login.password.as_ref().map_or("", |secret| secret.reveal());
    if password.contains('\0') {
        return Err(ConnectError::ZeroByte("password".to_owned()));
    }
    Ok(password.as_bytes())
}

fn terminated(password: &[u8]) -> Vec<u8> {
    [password, &[0]].concat()
}

/// The random bytes that the older plugins use: 20 of them.
fn scramble(nonce: &[u8]) -> &[u8] {
    &nonce[..nonce.len().min(20)]
}

/// Password and zero, mixed with the random bytes and encrypted.
fn sealed(pem: &[u8], password: &[u8], nonce: &[u8]) -> Result<Vec<u8>, ConnectError> {
    let nonce = scramble(nonce);
    if nonce.is_empty() {
        return Err(ConnectError::NotMysql("it sent no random bytes".to_owned()));
    }
    let mut message = terminated(password);
    let mixed = message.iter_mut().zip(nonce.iter().cycle());
    mixed.for_each(|(byte, random)| *byte ^= random);
    rsa::encrypt(pem, &message).map_err(ConnectError::ServerKey)
}

/// `SHA1(password) XOR SHA1(nonce, SHA1(SHA1(password)))`
fn native(password: &[u8], nonce: &[u8]) -> Vec<u8> {
    let sha1 = |parts: &[&[u8]]| hash(&digest::SHA1_FOR_LEGACY_USE_ONLY, parts);
    let once = sha1(&[password]);
    let twice = sha1(&[&once]);
    xor(once, &sha1(&[nonce, &twice]))
}

/// `SHA256(password) XOR SHA256(SHA256(SHA256(password)), nonce)`
fn sha2(password: &[u8], nonce: &[u8]) -> Vec<u8> {
    let sha256 = |parts: &[&[u8]]| hash(&digest::SHA256, parts);
    let once = sha256(&[password]);
    let twice = sha256(&[&once]);
    xor(once, &sha256(&[&twice, nonce]))
}

fn hash(algorithm: &'static digest::Algorithm, parts: &[&[u8]]) -> Vec<u8> {
    let mut context = digest::Context::new(algorithm);
    parts.iter().for_each(|part| context.update(part));
    context.finish().as_ref().to_vec()
}

fn xor(mut left: Vec<u8>, right: &[u8]) -> Vec<u8> {
    left.iter_mut().zip(right).for_each(|(a, b)| *a ^= b);
    left
}
