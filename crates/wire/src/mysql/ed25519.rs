//! MariaDB's `ed25519`: a signature of the server's random bytes, with a key derived from the
//! password.
//!
//! In: password and nonce. Out: 64 bytes. Must never: keep the key.
//! Source: MariaDB documentation, "Authentication Plugin - ed25519". The method is Ed25519 (RFC 8032), except
//! that the secret key is the hash of the password, which has any length, and not of a 32-byte seed.
//! Signature libraries accept only seeds, so this module uses the curve arithmetic of `curve25519-dalek`.

use curve25519_dalek::edwards::EdwardsPoint;
use curve25519_dalek::scalar::{Scalar, clamp_integer};
use ring::digest;

/// Signs `nonce` with the key that belongs to `password`.
pub(super) fn sign(password: &[u8], nonce: &[u8]) -> [u8; 64] {
    let hash = sha512(&[password]);
    let (secret_half, prefix) = hash.split_at(32);
    let mut secret_bytes = [0; 32];
    secret_bytes.copy_from_slice(secret_half);
    let secret = Scalar::from_bytes_mod_order(clamp_integer(secret_bytes));
    let public = EdwardsPoint::mul_base(&secret).compress();
    let random = Scalar::from_bytes_mod_order_wide(&sha512(&[prefix, nonce]));
    let point = EdwardsPoint::mul_base(&random).compress();
    let challenge = sha512(&[point.as_bytes(), public.as_bytes(), nonce]);
    let proof = Scalar::from_bytes_mod_order_wide(&challenge) * secret + random;
    let mut signature = [0; 64];
    signature[..32].copy_from_slice(point.as_bytes());
    signature[32..].copy_from_slice(proof.as_bytes());
    signature
}

fn sha512(parts: &[&[u8]]) -> [u8; 64] {
    let mut context = digest::Context::new(&digest::SHA512);
    parts.iter().for_each(|part| context.update(part));
    let mut hash = [0; 64];
    hash.copy_from_slice(context.finish().as_ref());
    hash
}

#[cfg(test)]
mod tests {
    use super::*;
    use ring::signature::{Ed25519KeyPair, KeyPair};

    #[test]
    fn a_password_of_32_bytes_signs_like_an_ed25519_seed() {
        let seed = *b"a password of just as many bytes";
        let pair = Ed25519KeyPair::from_seed_unchecked(&seed).unwrap();
        let nonce = [7; 32];
        assert_eq!(sign(&seed, &nonce)[..], *pair.sign(&nonce).as_ref());
        assert_eq!(pair.public_key().as_ref().len(), 32);
    }

    #[test]
    fn passwords_of_any_length_sign() {
        // Ed25519 is deterministic: the same password gives the same signature, another one does not.
        assert_eq!(sign(b"secret", b"n"), sign(b"secret", b"n"));
        assert_ne!(sign(b"secret", b"n"), sign(b"Secret", b"n"));
        assert_ne!(sign(b"secret", b"n"), sign(b"secret", b"m"));
    }
}
