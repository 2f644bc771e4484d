//! The client side of SCRAM-SHA-256 and SCRAM-SHA-256-PLUS (RFC 5802, 7677, 5929).
//!
//! In: a password, the server's messages. Out: the client's messages, and the proof that the server
//! knows the password too. Must never: keep a password longer than the exchange, or accept an
//! iteration count without bound.
//!
//! It replaces the implementation of postgres-protocol, because salting a password costs milliseconds by
//! design: ten thousand connections with one password must salt it only once.

use crate::ConnectError;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::rand::{SecureRandom, SystemRandom};
use ring::{digest, hmac, pbkdf2};
use std::num::NonZeroU32;
use std::sync::Mutex;

/// Maximum number of salting iterations that a server may request: about two seconds of one CPU, which no time limit
/// interrupts. PostgreSQL's default is 4096.
const MAX_ITERATIONS: u32 = 1_000_000;

/// The keys derived from a password and one salt: enough to log in, so they are as secret as the password.
#[derive(Clone)]
struct Keys {
    client_key: [u8; 32],
    server_key: hmac::Key,
}

/// The keys of the last exchange, cached for later connections.
///
/// A server has one salt for each role, so one entry is enough.
#[derive(Default)]
pub(super) struct KeyCache(Mutex<Option<(Vec<u8>, u32, Keys)>>);

impl std::fmt::Debug for KeyCache {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("KeyCache(***)")
    }
}

impl KeyCache {
    fn keys(&self, password: &str, salt: &[u8], iterations: NonZeroU32) -> Keys {
        // A poisoned lock holds a complete value or none: nothing is computed while it is held.
        let lock = || {
            self.0
                .lock()
                .unwrap_or_else(std::sync::PoisonError::into_inner)
        };
        if let Some((cached_salt, cached_iterations, keys)) = &*lock()
            && cached_salt == salt
            && *cached_iterations == iterations.get()
        {
            return keys.clone();
        }
        let keys = derive(password, salt, iterations);
        *lock() = Some((salt.to_vec(), iterations.get(), keys.clone()));
        keys
    }
}

fn derive(password: &str, salt: &[u8], iterations: NonZeroU32) -> Keys {
    // PostgreSQL does not require text that SASLprep accepts: otherwise the bytes are used unchanged.
    let prepared = stringprep::saslprep(password).unwrap_or(password.into());
    let mut salted = [0; 32];
    pbkdf2::derive(
        pbkdf2::PBKDF2_HMAC_SHA256,
        iterations,
        salt,
        prepared.as_bytes(),
        &mut salted,
    );
    let salted = hmac::Key::new(hmac::HMAC_SHA256, &salted);
    let server_key = hmac::sign(&salted, b"Server Key");
    Keys {
        client_key: bytes32(hmac::sign(&salted, b"Client Key").as_ref()),
        server_key: hmac::Key::new(hmac::HMAC_SHA256, server_key.as_ref()),
    }
}

fn bytes32(bytes: &[u8]) -> [u8; 32] {
    let mut out = [0; 32];
    out.copy_from_slice(bytes);
    out
}

/// What the client declares about channel binding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Binding {
    /// `n`: the client does not support it, or does not want it.
    None,
    /// `y`: the client supports it, and believes that the server does not. A server that does support
    /// it then knows that a third party removed its offer.
    NotOffered,
    /// `p`: the hash of the server's certificate.
    ServerEndPoint(Vec<u8>),
}

impl Binding {
    fn gs2_header(&self) -> &'static str {
        match self {
            Binding::None => "n,,",
            Binding::NotOffered => "y,,",
            Binding::ServerEndPoint(_) => "p=tls-server-end-point,,",
        }
    }
}

/// An exchange in progress.
pub(super) struct Scram {
    binding: Binding,
    nonce: String,
    /// The server's expected proof; known after its first message.
    expected: Option<(hmac::Key, String)>,
}

impl Scram {
    /// Begins an exchange with a new nonce.
    pub(super) fn new(binding: Binding) -> Result<Scram, ConnectError> {
        let mut random = [0; 18];
        SystemRandom::new()
            .fill(&mut random)
            .map_err(|_| ConnectError::Scram("the system provided no random numbers"))?;
        Ok(Scram::with_nonce(binding, STANDARD.encode(random)))
    }

    fn with_nonce(binding: Binding, nonce: String) -> Scram {
        Scram {
            binding,
            nonce,
            expected: None,
        }
    }

    /// Whether the exchange is bound to the TLS connection.
    pub(super) fn is_bound(&self) -> bool {
        matches!(self.binding, Binding::ServerEndPoint(_))
    }

    /// The client's first message. The user name stays empty: PostgreSQL uses the one of the startup
    /// message.
    pub(super) fn first_message(&self) -> String {
        format!("{}n=,r={}", self.binding.gs2_header(), self.nonce)
    }

    /// Answers the server's first message.
    pub(super) fn answer(
        &mut self,
        server_first: &[u8],
        password: &str,
        cache: &KeyCache,
    ) -> Result<String, ConnectError> {
        let server_first = std::str::from_utf8(server_first)
            .map_err(|_| ConnectError::Scram("the server's first message is not text"))?;
        let challenge = Challenge::parse(server_first, &self.nonce)?;
        let keys = cache.keys(password, &challenge.salt, challenge.iterations);

        let mut binding = self.binding.gs2_header().as_bytes().to_vec();
        if let Binding::ServerEndPoint(hash) = &self.binding {
            binding.extend_from_slice(hash);
        }
        let without_proof = format!("c={},r={}", STANDARD.encode(binding), challenge.nonce);
        let auth_message = format!("n=,r={},{server_first},{without_proof}", self.nonce);

        let stored_key = digest::digest(&digest::SHA256, &keys.client_key);
        let stored_key = hmac::Key::new(hmac::HMAC_SHA256, stored_key.as_ref());
        let signature = hmac::sign(&stored_key, auth_message.as_bytes());
        let mut proof = keys.client_key;
        for (proof, signature) in proof.iter_mut().zip(signature.as_ref()) {
            *proof ^= signature;
        }
        self.expected = Some((keys.server_key, auth_message));
        Ok(format!("{without_proof},p={}", STANDARD.encode(proof)))
    }

    /// Checks the server's last message: it must prove that the server knows the password.
    pub(super) fn verify(&mut self, server_final: &[u8]) -> Result<(), ConnectError> {
        let (server_key, auth_message) = self.expected.take().ok_or(ConnectError::Scram(
            "the server's last message arrived too early",
        ))?;
        if server_final.starts_with(b"e=") {
            return Err(ConnectError::Scram(
                "the server reports an error in the exchange",
            ));
        }
        let encoded = server_final
            .strip_prefix(b"v=")
            .and_then(|fields| fields.split(|&byte| byte == b',').next())
            .ok_or(ConnectError::Scram(
                "the server's last message is malformed",
            ))?;
        let signature = STANDARD
            .decode(encoded)
            .map_err(|_| ConnectError::Scram("the server's signature is malformed"))?;
        hmac::verify(&server_key, auth_message.as_bytes(), &signature)
            .map_err(|_| ConnectError::Scram("incorrect server signature"))
    }
}

/// The server's first message, parsed.
struct Challenge<'a> {
    nonce: &'a str,
    salt: Vec<u8>,
    iterations: NonZeroU32,
}

impl<'a> Challenge<'a> {
    fn parse(message: &'a str, client_nonce: &str) -> Result<Self, ConnectError> {
        const MALFORMED: ConnectError =
            ConnectError::Scram("the server's first message is malformed");
        // Fields after these three are extensions; a mandatory one (`m=`) would come first, and so
        // fails here as RFC 5802 requires.
        let mut fields = message.split(',');
        let mut field = |name: &str| {
            fields
                .next()
                .and_then(|field| field.strip_prefix(name))
                .ok_or(MALFORMED)
        };
        let nonce = field("r=")?;
        let salt = STANDARD.decode(field("s=")?).map_err(|_| MALFORMED)?;
        let iterations: u32 = field("i=")?.parse().map_err(|_| MALFORMED)?;

        let own_part = nonce.strip_prefix(client_nonce);
        if own_part.is_none_or(str::is_empty) || !nonce.bytes().all(|byte| byte.is_ascii_graphic())
        {
            return Err(ConnectError::Scram("the server sent an invalid nonce"));
        }
        if iterations > MAX_ITERATIONS {
            return Err(ConnectError::Scram(
                "the server requests more than 1,000,000 iterations for the password (scram_iterations; its default \
                 is 4096), which is too many",
            ));
        }
        let iterations = NonZeroU32::new(iterations).ok_or(MALFORMED)?;
        Ok(Challenge {
            nonce,
            salt,
            iterations,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The exchange of RFC 7677, section 3, with an empty user name as in PostgreSQL; the expected
    /// values were computed with Python's hashlib.
    const NONCE: &str = "rOprNGfwEbeRWgbNEkqO";
    const SERVER_FIRST: &[u8] =
        b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096";

    #[test]
    fn the_exchange_of_rfc_7677_succeeds() {
        let mut scram = Scram::with_nonce(Binding::None, NONCE.into());
        assert_eq!(scram.first_message(), "n,,n=,r=rOprNGfwEbeRWgbNEkqO");
        let cache = KeyCache::default();
        let answer = scram.answer(SERVER_FIRST, "pencil", &cache).unwrap();
        assert_eq!(
            answer,
            include_str!("testdata/scram_client_final.txt").trim_end()
        );
        let verifier = include_str!("testdata/scram_server_final.txt").trim_end();
        scram.verify(verifier.as_bytes()).unwrap();

        // A second connection finds the salted password in the cache and sends the same answer.
        let mut second = Scram::with_nonce(Binding::None, NONCE.into());
        assert_eq!(
            second.answer(SERVER_FIRST, "unused", &cache).unwrap(),
            answer
        );
        let forged = verifier.replace("v=", "v=AAAA");
        assert!(second.verify(forged.as_bytes()).is_err());
    }

    #[test]
    fn malformed_challenges_are_refused() {
        let bad: [&[u8]; 10] = [
            b"",
            b"\xff",
            b"r=other,s=AAAA,i=4096",
            b"r=rOprNGfwEbeRWgbNEkqO,s=AAAA,i=4096",
            b"m=x,r=rOprNGfwEbeRWgbNEkqOx,s=AAAA,i=4096",
            b"r=rOprNGfwEbeRWgbNEkqOx,s=?,i=4096",
            b"r=rOprNGfwEbeRWgbNEkqOx,s=AAAA,i=0",
            b"r=rOprNGfwEbeRWgbNEkqOx,s=AAAA,i=-1",
            b"r=rOprNGfwEbeRWgbNEkqOx,s=AAAA,i=1000001",
            b"r=rOprNGfwEbeRWgbNEkqOx,s=AAAA,i=4000000000",
        ];
        for message in bad {
            let mut scram = Scram::with_nonce(Binding::None, NONCE.into());
            let answer = scram.answer(message, "pencil", &KeyCache::default());
            assert!(matches!(answer, Err(ConnectError::Scram(_))), "{message:?}");
        }
        let mut scram = Scram::with_nonce(Binding::None, NONCE.into());
        assert!(
            scram.verify(b"v=AAAA").is_err(),
            "a proof before the challenge"
        );
    }

    #[test]
    fn the_client_sends_the_channel_binding() {
        let mut scram = Scram::with_nonce(Binding::ServerEndPoint(vec![1, 2, 3]), NONCE.into());
        assert!(
            scram
                .first_message()
                .starts_with("p=tls-server-end-point,,n=,")
        );
        let answer = scram
            .answer(SERVER_FIRST, "pencil", &KeyCache::default())
            .unwrap();
        let bound = STANDARD.encode(b"p=tls-server-end-point,,\x01\x02\x03");
        assert!(answer.starts_with(&format!("c={bound},r=")));
    }
}
