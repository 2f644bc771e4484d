//! A password for the server's eyes alone: RSA-OAEP with SHA-1, as MySQL's `sha256_password` and
//! `caching_sha2_password` want it where there is no TLS.
//!
//! In: a public key in PEM, a short message. Out: the message encrypted. Must never: encrypt twice
//! with the same random bytes.
//! Source: RFC 8017, sections 7.1.1 and B.2.1. One modular power with a public exponent is all the
//! arithmetic there is, hence `num-bigint` and not a whole RSA library; `ring` only verifies.

use num_bigint::BigUint;
use ring::digest;
use ring::rand::{SecureRandom, SystemRandom};
use rustls::pki_types::SubjectPublicKeyInfoDer;
use rustls::pki_types::pem::PemObject;
use x509_cert::der::asn1::UintRef;
use x509_cert::der::{Decode, Reader, SliceReader};
use x509_cert::spki::SubjectPublicKeyInfoRef;

/// Length of a SHA-1 hash, in bytes.
const HASH: usize = 20;

/// Encrypts `message` for the holder of the key.
///
/// # Errors
/// In words, what is wrong with the key, or that the message is too long for it.
pub(super) fn encrypt(pem: &[u8], message: &[u8]) -> Result<Vec<u8>, &'static str> {
    let mut seed = [0; HASH];
    SystemRandom::new()
        .fill(&mut seed)
        .map_err(|_| "the system has no random bytes")?;
    encrypt_with(pem, message, seed)
}

fn encrypt_with(pem: &[u8], message: &[u8], seed: [u8; HASH]) -> Result<Vec<u8>, &'static str> {
    let bad = "the server's RSA key cannot be read";
    let der = SubjectPublicKeyInfoDer::from_pem_slice(pem).map_err(|_| bad)?;
    let (modulus, exponent) = public_key(&der).ok_or(bad)?;
    let length = (modulus.bits() as usize).div_ceil(8);
    // Below 1024 bits it is no key; a hostile one must not keep us busy either.
    if !(128..=2048).contains(&length) || exponent.bits() > 64 {
        return Err("the server's RSA key is of an unusual size");
    }
    if message.len() + 2 * HASH + 2 > length {
        return Err("the password is too long for the server's RSA key");
    }
    let mut block = vec![0; length];
    let (head, data) = block.split_at_mut(1 + HASH);
    head[1..].copy_from_slice(&seed);
    let empty = digest::digest(&digest::SHA1_FOR_LEGACY_USE_ONLY, b"");
    data[..HASH].copy_from_slice(empty.as_ref());
    let start = data.len() - message.len();
    data[start - 1] = 1;
    data[start..].copy_from_slice(message);
    mask(data, &head[1..]);
    mask(&mut head[1..], data);
    let sealed = BigUint::from_bytes_be(&block)
        .modpow(&exponent, &modulus)
        .to_bytes_be();
    let mut out = vec![0; length - sealed.len()];
    out.extend_from_slice(&sealed);
    Ok(out)
}

fn public_key(der: &[u8]) -> Option<(BigUint, BigUint)> {
    let info = SubjectPublicKeyInfoRef::from_der(der).ok()?;
    let bits = info.subject_public_key.as_bytes()?;
    let mut reader = SliceReader::new(bits).ok()?;
    let number = |uint: UintRef<'_>| BigUint::from_bytes_be(uint.as_bytes());
    reader
        .sequence(|inner| -> x509_cert::der::Result<_> {
            Ok((number(inner.decode()?), number(inner.decode()?)))
        })
        .ok()
}

/// Adds the mask that MGF1 makes of `seed`.
fn mask(data: &mut [u8], seed: &[u8]) {
    for (number, part) in data.chunks_mut(HASH).enumerate() {
        let mut context = digest::Context::new(&digest::SHA1_FOR_LEGACY_USE_ONLY);
        context.update(seed);
        context.update(&(number as u32).to_be_bytes());
        let hash = context.finish();
        part.iter_mut()
            .zip(hash.as_ref())
            .for_each(|(byte, mask)| *byte ^= mask);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Made by OpenSSL for this test.
    const KEY: &str = "\
-----BEGIN PUBLIC KEY-----\n\
MIGfMA0GCSqGSIb3DQEBAQUAA4GNADCBiQKBgQCjoXPesHSXyXgkC4fe4ScB/37o\n\
mJF7IhhfZhBLIRTzSdf2KlG3z/1BdW9kqApaFxbIrcPtfZDJT1h6xFY5DXBMVE7y\n\
7j4t+jo5h9oj0xOW6kXAh+t+JMnvKk7lVqy3ivdiq4so1niv4O0cE3tgUVnTqQyq\n\
x58d+hUfW/is4+KNgQIDAQAB\n\
-----END PUBLIC KEY-----\n\
";

    #[test]
    fn the_result_is_that_of_an_independent_computation() {
        let seed: [u8; HASH] = std::array::from_fn(|place| place as u8);
        let sealed = encrypt_with(KEY.as_bytes(), b"secret\0", seed).unwrap();
        assert_eq!(sealed.len(), 128);
        // By Python's integers and hashlib; OpenSSL decrypts it with the private key.
        let hash = digest::digest(&digest::SHA256, &sealed);
        let hex: String = hash.as_ref().iter().map(|b| format!("{b:02x}")).collect();
        assert_eq!(
            hex,
            "310636464d23e91d11018d814c23e83ee618d473281bae752d3996d691726b7c"
        );
        let (one, two) = (encrypt(KEY.as_bytes(), b"x"), encrypt(KEY.as_bytes(), b"x"));
        assert_ne!(one.unwrap(), two.unwrap());
    }

    #[test]
    fn bad_keys_and_long_passwords_are_refused() {
        let refused = |pem: &[u8], length| encrypt(pem, &vec![b'x'; length]).unwrap_err();
        assert!(refused(b"", 1).contains("cannot be read"));
        assert!(
            refused(
                b"-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n",
                1
            )
            .contains("cannot be read")
        );
        assert!(refused(KEY.as_bytes(), 87).contains("too long"));
        assert!(encrypt(KEY.as_bytes(), &[b'x'; 86]).is_ok());
        for end in 0..KEY.len() {
            let _ = encrypt(&KEY.as_bytes()[..end], b"x");
        }
    }
}
