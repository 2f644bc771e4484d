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
use ring::{digest, hmac};
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Maximum number of salting iterations that a server may request: about two seconds of one CPU. PostgreSQL's default is
/// 4096.
const MAX_ITERATIONS: u32 = 1_000_000;

/// How many iterations are computed at once: some ten milliseconds of one CPU, after which the caller looks at time limits
/// and signals. It is more than PostgreSQL's default, so that most logins need one call.
const PIECE_ITERATIONS: u32 = 16_384;

/// The keys derived from a password and one salt: enough to log in, so they are as secret as the password.
#[derive(Clone)]
struct Keys {
    client_key: [u8; 32],
    server_key: hmac::Key,
}

/// The salting of a password, which connections share: each continues it, and none repeats it.
struct Salting {
    salt: Vec<u8>,
    iterations: NonZeroU32,
    state: Mutex<SaltingState>,
}

enum SaltingState {
    /// PBKDF2 with HMAC-SHA-256, for one block (RFC 8018, 5.2).
    Computing {
        password: hmac::Key,
        last: hmac::Tag,
        sum: [u8; 32],
        remaining: u32,
    },
    Done(Keys),
}

impl Salting {
    fn begin(password: &str, salt: &[u8], iterations: NonZeroU32) -> Salting {
        // PostgreSQL does not require text that SASLprep accepts: otherwise the bytes are used unchanged.
        let prepared = stringprep::saslprep(password).unwrap_or(password.into());
        let password = hmac::Key::new(hmac::HMAC_SHA256, prepared.as_bytes());
        let last = hmac::sign(&password, &[salt, &1_u32.to_be_bytes()].concat());
        Salting {
            salt: salt.to_vec(),
            iterations,
            state: Mutex::new(SaltingState::Computing {
                password,
                sum: bytes32(last.as_ref()),
                last,
                remaining: iterations.get() - 1,
            }),
        }
    }

    /// Computes one piece, unless another connection has computed the last one. Returns the keys if they are complete.
    fn advance(&self) -> Option<Keys> {
        let mut state = lock(&self.state);
        if let SaltingState::Computing {
            password,
            last,
            sum,
            remaining,
        } = &mut *state
        {
            let piece = PIECE_ITERATIONS.min(*remaining);
            for _ in 0..piece {
                *last = hmac::sign(password, last.as_ref());
                xor(sum, last.as_ref());
            }
            *remaining -= piece;
            if *remaining > 0 {
                return None;
            }
            *state = SaltingState::Done(Keys::of_salted_password(sum));
        }
        match &*state {
            SaltingState::Done(keys) => Some(keys.clone()),
            SaltingState::Computing { .. } => None,
        }
    }
}

/// Locks a mutex. It is never poisoned, because nothing panics while it is held.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The last salting, cached for later connections.
///
/// A server has one salt for each role, so one entry is enough.
#[derive(Default)]
pub(super) struct KeyCache(Mutex<Option<Arc<Salting>>>);

/// A copy belongs to another log-in, which computes its own.
impl Clone for KeyCache {
    fn clone(&self) -> KeyCache {
        KeyCache::default()
    }
}

impl std::fmt::Debug for KeyCache {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("KeyCache(***)")
    }
}

impl KeyCache {
    fn salting(&self, password: &str, salt: &[u8], iterations: NonZeroU32) -> Arc<Salting> {
        let mut cached = lock(&self.0);
        match &*cached {
            Some(salting) if salting.salt == salt && salting.iterations == iterations => {
                Arc::clone(salting)
            }
            _ => {
                let salting = Arc::new(Salting::begin(password, salt, iterations));
                Arc::clone(cached.insert(salting))
            }
        }
    }
}

impl Keys {
    fn of_salted_password(salted: &[u8]) -> Keys {
        let salted_key = hmac::Key::new(hmac::HMAC_SHA256, salted);
        let server_key = hmac::sign(&salted_key, b"Server Key");
        Keys {
            client_key: bytes32(hmac::sign(&salted_key, b"Client Key").as_ref()),
            server_key: hmac::Key::new(hmac::HMAC_SHA256, server_key.as_ref()),
        }
    }
}

fn xor(bytes: &mut [u8; 32], others: &[u8]) {
    for (byte, other) in bytes.iter_mut().zip(others) {
        *byte ^= other;
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

pub(super) struct Scram {
    binding: Binding,
    nonce: String,
    /// The server's first message, once it has arrived.
    challenge: Option<Challenge>,
    /// The server's expected proof; known once the answer is complete.
    expected: Option<ExpectedProof>,
}

/// The proof that the server knows the password: its signature of the messages.
struct ExpectedProof {
    server_key: hmac::Key,
    auth_message: String,
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
            challenge: None,
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

    /// Receives the server's first message; [`Scram::answer`] answers it.
    pub(super) fn receive_challenge(
        &mut self,
        server_first: &[u8],
        password: &str,
        cache: &KeyCache,
    ) -> Result<(), ConnectError> {
        let message = std::str::from_utf8(server_first)
            .map_err(|_| ConnectError::Scram("the server's first message is not text"))?;
        let challenge = Challenge::parse(message, &self.nonce, password, cache)?;
        self.challenge = Some(challenge);
        Ok(())
    }

    /// Continues to salt the password, for some ten milliseconds. Returns the answer once that is complete.
    pub(super) fn answer(&mut self) -> Option<String> {
        let keys = self.challenge.as_ref()?.salting.advance()?;
        let challenge = self.challenge.take()?;
        let server_first = &challenge.message;
        let mut binding = self.binding.gs2_header().as_bytes().to_vec();
        if let Binding::ServerEndPoint(hash) = &self.binding {
            binding.extend_from_slice(hash);
        }
        let without_proof = format!("c={},r={}", STANDARD.encode(binding), challenge.nonce);
        let auth_message = format!("n=,r={},{server_first},{without_proof}", self.nonce);

        let stored_key = digest::digest(&digest::SHA256, &keys.client_key);
        let signing_key = hmac::Key::new(hmac::HMAC_SHA256, stored_key.as_ref());
        let signature = hmac::sign(&signing_key, auth_message.as_bytes());
        let mut proof = keys.client_key;
        xor(&mut proof, signature.as_ref());
        self.expected = Some(ExpectedProof {
            server_key: keys.server_key,
            auth_message,
        });
        Some(format!("{without_proof},p={}", STANDARD.encode(proof)))
    }

    /// Checks the server's last message: it must prove that the server knows the password.
    pub(super) fn verify(&mut self, server_final: &[u8]) -> Result<(), ConnectError> {
        let expected = self.expected.take().ok_or(ConnectError::Scram(
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
        hmac::verify(
            &expected.server_key,
            expected.auth_message.as_bytes(),
            &signature,
        )
        .map_err(|_| ConnectError::Scram("incorrect server signature"))
    }
}

/// The server's first message, parsed.
struct Challenge {
    message: String,
    nonce: String,
    salting: Arc<Salting>,
}

impl Challenge {
    fn parse(
        message: &str,
        client_nonce: &str,
        password: &str,
        cache: &KeyCache,
    ) -> Result<Self, ConnectError> {
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

        let server_part = nonce.strip_prefix(client_nonce);
        if server_part.is_none_or(str::is_empty)
            || !nonce.bytes().all(|byte| byte.is_ascii_graphic())
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
            message: message.to_owned(),
            nonce: nonce.to_owned(),
            salting: cache.salting(password, &salt, iterations),
        })
    }
}

#[cfg(test)]
mod tests;
