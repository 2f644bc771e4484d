//! The authentication plugins.
//!
//! In: a plugin's name, the server's random bytes, a login. Out: the answer. Must never: send a
//! password in a form that others could read or that the caller did not permit.
//! Source: MySQL documentation, "Authentication Methods"; MariaDB's for `client_ed25519`.

use super::session::Login;
use super::{ed25519, rsa};
use crate::ConnectError;
use ring::digest;

/// The client's request for the server's RSA key, which each of the two plugins numbers in its own way.
const SHA256_KEY_REQUEST: u8 = 1;
const CACHING_SHA2_KEY_REQUEST: u8 = 2;

/// The server has the password's hash in its cache: the first answer was enough.
const FAST_AUTH_SUCCESS: u8 = 3;
/// The server needs the password itself.
const FULL_AUTHENTICATION: u8 = 4;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Plugin {
    Native,
    CachingSha2,
    Sha256,
    Ed25519,
    Clear,
}

impl Plugin {
    const ALL: [Plugin; 5] = [
        Plugin::Native,
        Plugin::CachingSha2,
        Plugin::Sha256,
        Plugin::Ed25519,
        Plugin::Clear,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Plugin::Native => "mysql_native_password",
            Plugin::CachingSha2 => "caching_sha2_password",
            Plugin::Sha256 => "sha256_password",
            Plugin::Ed25519 => "client_ed25519",
            Plugin::Clear => "mysql_clear_password",
        }
    }

    pub(super) fn from_name(name: &str) -> Option<Plugin> {
        Plugin::ALL.into_iter().find(|plugin| plugin.name() == name)
    }

    /// The first answer. `over_tls`: the connection is encrypted.
    pub(super) fn first_answer(
        self,
        login: &Login,
        nonce: &[u8],
        over_tls: bool,
    ) -> Result<Vec<u8>, ConnectError> {
        let password = password(login)?;
        Ok(match self {
            Plugin::Native if password.is_empty() => Vec::new(),
            Plugin::Native => scramble_sha1(password, legacy_nonce(nonce)),
            Plugin::Ed25519 => ed25519::sign(password, &nonce[..nonce.len().min(32)]).to_vec(),
            Plugin::CachingSha2 | Plugin::Sha256 if password.is_empty() => vec![0],
            Plugin::CachingSha2 => scramble_sha256(password, legacy_nonce(nonce)),
            Plugin::Sha256 if over_tls => zero_terminated(password),
            Plugin::Sha256 => match &login.options.server_public_key {
                Some(pem) => encrypt_password(pem, password, nonce)?,
                None if login.options.get_server_public_key => vec![SHA256_KEY_REQUEST],
                None => return Err(ConnectError::SecureTransportNeeded(self.name())),
            },
            Plugin::Clear if !login.options.allow_cleartext => {
                return Err(ConnectError::CleartextRefused);
            }
            Plugin::Clear if !over_tls && !login.over_unix_socket => {
                return Err(ConnectError::SecureTransportNeeded(self.name()));
            }
            Plugin::Clear => zero_terminated(password),
        })
    }

    /// The answer to a further packet; `None`: the server continues by itself.
    pub(super) fn next_answer(
        self,
        data: &[u8],
        login: &Login,
        nonce: &[u8],
        over_tls: bool,
    ) -> Result<Option<Vec<u8>>, ConnectError> {
        let password = password(login)?;
        match (self, data) {
            (Plugin::CachingSha2, [FAST_AUTH_SUCCESS]) => Ok(None),
            (Plugin::CachingSha2, [FULL_AUTHENTICATION]) => {
                if over_tls || login.over_unix_socket {
                    return Ok(Some(zero_terminated(password)));
                }
                match &login.options.server_public_key {
                    Some(pem) => encrypt_password(pem, password, nonce).map(Some),
                    None if login.options.get_server_public_key => {
                        Ok(Some(vec![CACHING_SHA2_KEY_REQUEST]))
                    }
                    None => Err(ConnectError::SecureTransportNeeded(self.name())),
                }
            }
            // A key is accepted only if it was requested.
            (Plugin::CachingSha2 | Plugin::Sha256, pem @ [b'-', ..])
                if login.options.get_server_public_key && !over_tls =>
            {
                encrypt_password(pem, password, nonce).map(Some)
            }
            _ => Err(ConnectError::NotMysql(
                "it sends an unexpected authentication packet".to_owned(),
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

fn zero_terminated(password: &[u8]) -> Vec<u8> {
    [password, &[0]].concat()
}

/// The first 20 random bytes: the older plugins use no more.
fn legacy_nonce(nonce: &[u8]) -> &[u8] {
    &nonce[..nonce.len().min(20)]
}

/// The password with its final zero, XORed with the random bytes and encrypted.
fn encrypt_password(pem: &[u8], password: &[u8], nonce: &[u8]) -> Result<Vec<u8>, ConnectError> {
    let nonce = legacy_nonce(nonce);
    if nonce.is_empty() {
        return Err(ConnectError::NotMysql("it sent no random bytes".to_owned()));
    }
    let mut message = zero_terminated(password);
    let mixed = message.iter_mut().zip(nonce.iter().cycle());
    mixed.for_each(|(byte, random)| *byte ^= random);
    rsa::encrypt(pem, &message).map_err(ConnectError::ServerKey)
}

/// `SHA1(password) XOR SHA1(nonce, SHA1(SHA1(password)))`
fn scramble_sha1(password: &[u8], nonce: &[u8]) -> Vec<u8> {
    let sha1 = |parts: &[&[u8]]| hash(&digest::SHA1_FOR_LEGACY_USE_ONLY, parts);
    let once = sha1(&[password]);
    let twice = sha1(&[&once]);
    xor(once, &sha1(&[nonce, &twice]))
}

/// `SHA256(password) XOR SHA256(SHA256(SHA256(password)), nonce)`
fn scramble_sha256(password: &[u8], nonce: &[u8]) -> Vec<u8> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Secret;

    /// The random bytes 1 to 20, and a final zero.
    const NONCE: [u8; 21] = [
        1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 0,
    ];

    fn login(password: &str) -> Login {
        Login {
            password: Some(Secret::new(password)),
            ..Login::new("ann", "")
        }
    }

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    #[test]
    fn answers_match_an_independent_implementation() {
        // Computed with Python's hashlib.
        let first = |plugin: Plugin| {
            plugin
                .first_answer(&login("secret"), &NONCE, false)
                .unwrap()
        };
        assert_eq!(
            hex(&first(Plugin::Native)),
            "b32bb3a583e1340c0a1108d58b1be49781ad8c2f"
        );
        assert_eq!(
            hex(&first(Plugin::CachingSha2)),
            "746ebe205d56a0707acb3e796e834e0dd7b1d61743b26bd5202c7a623230c7c9"
        );
        // Recorded from MariaDB's own client.
        let nonce: Vec<u8> = [
            0xecb2_815c_3afd_540e_u64,
            0xa440_4c5b_4dd7_9264,
            0x08cd_cc64_7ce3_9d81,
            0x346f_f5db_bd48_906f,
        ]
        .iter()
        .flat_map(|word| word.to_be_bytes())
        .collect();
        let answer = Plugin::Ed25519.first_answer(&login("sesame"), &nonce, false);
        assert_eq!(
            hex(&answer.unwrap()),
            "7380bbafea0ee43579b9aff3540b99083216dc418ea81d6c4b4f81cd4f1923a8\
             1e555a7e76b6102cb3af560571a4f1df376b783fb85fd2f0676a79bd18118000"
        );
    }

    #[test]
    fn an_empty_password_has_a_fixed_answer() {
        for (plugin, answer) in [
            (Plugin::Native, &b""[..]),
            (Plugin::CachingSha2, b"\0"),
            (Plugin::Sha256, b"\0"),
        ] {
            let login = Login::new("ann", "");
            assert_eq!(plugin.first_answer(&login, &NONCE, false).unwrap(), answer);
        }
    }

    #[test]
    fn a_cleartext_password_needs_permission_and_a_secure_connection() {
        let mut login = login("secret");
        let clear = |login: &Login, over_tls| Plugin::Clear.first_answer(login, &NONCE, over_tls);
        assert!(matches!(
            clear(&login, true),
            Err(ConnectError::CleartextRefused)
        ));
        login.options.allow_cleartext = true;
        let needs = |answer| matches!(answer, Err(ConnectError::SecureTransportNeeded(_)));
        assert!(needs(clear(&login, false)));
        assert_eq!(clear(&login, true).unwrap(), b"secret\0");
        assert!(needs(Plugin::Sha256.first_answer(&login, &NONCE, false)));
        assert_eq!(
            Plugin::Sha256.first_answer(&login, &NONCE, true).unwrap(),
            b"secret\0"
        );
        let full = |login: &Login, over_tls| {
            Plugin::CachingSha2.next_answer(&[4], login, &NONCE, over_tls)
        };
        assert!(full(&login, false).is_err());
        assert_eq!(full(&login, true).unwrap(), Some(b"secret\0".to_vec()));
        login.over_unix_socket = true;
        assert_eq!(full(&login, false).unwrap(), Some(b"secret\0".to_vec()));
        assert_eq!(clear(&login, false).unwrap(), b"secret\0");
        // A key that was not requested is not used.
        login.over_unix_socket = false;
        let pem = b"-----BEGIN PUBLIC KEY-----";
        assert!(
            Plugin::CachingSha2
                .next_answer(pem, &login, &NONCE, false)
                .is_err()
        );
        login.options.get_server_public_key = true;
        assert_eq!(full(&login, false).unwrap(), Some(vec![2]));
        assert!(matches!(
            Plugin::CachingSha2.next_answer(pem, &login, &NONCE, false),
            Err(ConnectError::ServerKey(_))
        ));
    }
}
