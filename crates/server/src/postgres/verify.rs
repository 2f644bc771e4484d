//! Verifies a server's certificate.
//!
//! Must never: skip the check that the server has the certificate's private key; without it, channel
//! binding would be meaningless.
//!
//! rustls verifies chains. OpenSSL, and so libpq, also accepts three kinds of certificates that rustls
//! rejects and that the instructions in PostgreSQL's manual ("Creating Certificates") produce: a
//! server certificate that is itself the trusted root, a certificate of X.509 version 1, and one whose
//! host name is in the subject's common name instead of a subject alternative name.

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{
    CryptoProvider, WebPkiSupportedAlgorithms, verify_tls13_signature_with_raw_key,
};
use rustls::pki_types::{CertificateDer, ServerName, SubjectPublicKeyInfoDer, UnixTime};
use rustls::{CertificateError, DigitallySignedStruct, Error, SignatureScheme};
use std::sync::Arc;
use x509_cert::certificate::{Certificate, Version};
use x509_cert::der::asn1::{Ia5StringRef, PrintableStringRef, UintRef, Utf8StringRef};
use x509_cert::der::oid::AssociatedOid;
use x509_cert::der::oid::db::rfc4519::COMMON_NAME;
use x509_cert::der::oid::db::rfc5280::ID_KP_SERVER_AUTH;
use x509_cert::der::oid::db::rfc5912::RSA_ENCRYPTION;
use x509_cert::der::{Decode, Encode, Tag, Tagged};
use x509_cert::ext::pkix::constraints::name::NameConstraints;
use x509_cert::ext::pkix::name::GeneralName;
use x509_cert::ext::pkix::{BasicConstraints, ExtendedKeyUsage, KeyUsage, SubjectAltName};

/// The verifier for the TLS options of one target.
#[derive(Debug)]
pub(crate) struct Verifier {
    accepted: Accepted,
    algorithms: WebPkiSupportedAlgorithms,
}

/// The certificates that are accepted.
#[derive(Debug)]
pub(crate) enum Accepted {
    Any,
    /// Only this one, whatever its names and dates.
    Pinned(CertificateDer<'static>),
    Issued {
        chain: Arc<WebPkiServerVerifier>,
        /// The roots, for certificates that `chain` cannot verify.
        roots: Vec<CertificateDer<'static>>,
        /// Whether the certificate must name the host.
        checks_name: bool,
    },
}

impl Verifier {
    pub fn new(accepted: Accepted, provider: &CryptoProvider) -> Self {
        Verifier {
            accepted,
            algorithms: provider.signature_verification_algorithms,
        }
    }

    /// Whether one of the roots signed this certificate directly and both are valid now.
    ///
    /// Used only for certificates that rustls cannot process: those of version 1, and a root that is
    /// itself the server's certificate.
    fn is_signed_by_root(
        &self,
        roots: &[CertificateDer<'_>],
        der: &CertificateDer<'_>,
        now: UnixTime,
    ) -> bool {
        let Ok(leaf) = Certificate::from_der(der) else {
            return false;
        };
        let tbs = leaf.tbs_certificate();
        let purpose = tbs.get_extension::<ExtendedKeyUsage>();
        let is_for_servers = match purpose {
            Ok(Some((_, usage))) => usage.0.contains(&ID_KP_SERVER_AUTH),
            Ok(None) => true,
            Err(_) => false,
        };
        if !is_for_servers || !is_valid_at(&leaf, now) || !has_only_known_restrictions(&leaf) {
            return false;
        }
        roots.iter().any(|root_der| {
            let Ok(root) = Certificate::from_der(root_der) else {
                return false;
            };
            let is_root = root_der.as_ref() == der.as_ref();
            let is_v1 = tbs.version() == Version::V1;
            root.tbs_certificate().subject() == tbs.issuer()
                && (is_root || (is_v1 && is_valid_at(&root, now) && is_authority(&root)))
                && self.has_signed(&root, &leaf)
        })
    }

    /// Whether the key of `issuer` made the signature on `cert`.
    fn has_signed(&self, issuer: &Certificate, cert: &Certificate) -> bool {
        let key = issuer.tbs_certificate().subject_public_key_info();
        let (Ok(message), Ok(signature_algorithm), Ok(key_algorithm)) = (
            cert.tbs_certificate().to_der(),
            algorithm_id(cert.signature_algorithm()),
            algorithm_id(&key.algorithm),
        ) else {
            return false;
        };
        let (Some(key), Some(signature)) = (
            key.subject_public_key.as_bytes(),
            cert.signature().as_bytes(),
        ) else {
            return false;
        };
        self.algorithms.all.iter().any(|algorithm| {
            algorithm.signature_alg_id().as_ref() == signature_algorithm
                && algorithm.public_key_alg_id().as_ref() == key_algorithm
                && algorithm.verify_signature(key, &message, signature).is_ok()
        })
    }
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        refuse_short_key(end_entity)?;
        let (chain, roots, checks_name) = match &self.accepted {
            Accepted::Any => return Ok(ServerCertVerified::assertion()),
            Accepted::Pinned(pinned) if end_entity.as_ref() == pinned.as_ref() => {
                return Ok(ServerCertVerified::assertion());
            }
            Accepted::Pinned(_) => {
                return Err(CertificateError::ApplicationVerificationFailure.into());
            }
            Accepted::Issued {
                chain,
                roots,
                checks_name,
            } => (chain, roots, checks_name),
        };
        // rustls checks the name last: an error about the name means that the chain is valid.
        let name_error = match chain.verify_server_cert(
            end_entity,
            intermediates,
            server_name,
            ocsp_response,
            now,
        ) {
            Ok(verified) => return Ok(verified),
            Err(Error::InvalidCertificate(
                error @ (CertificateError::NotValidForName
                | CertificateError::NotValidForNameContext { .. }),
            )) => error,
            Err(Error::InvalidCertificate(
                CertificateError::Other(_) | CertificateError::BadEncoding,
            )) if self.is_signed_by_root(roots, end_entity, now) => {
                CertificateError::NotValidForName
            }
            Err(error) => return Err(error),
        };
        if !checks_name || names_host(end_entity, server_name) {
            return Ok(ServerCertVerified::assertion());
        }
        Err(Error::InvalidCertificate(name_error))
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let bad_signature = Error::InvalidCertificate(CertificateError::BadSignature);
        let parsed = parse(cert)?;
        let key = parsed.tbs_certificate().subject_public_key_info();
        let key_algorithm = algorithm_id(&key.algorithm).map_err(|_| bad_signature.clone())?;
        let key_bits = key
            .subject_public_key
            .as_bytes()
            .ok_or(bad_signature.clone())?;
        let is_valid = self
            .algorithms
            .mapping
            .iter()
            .filter(|(scheme, _)| *scheme == dss.scheme)
            .flat_map(|(_, algorithms)| algorithms.iter())
            .filter(|algorithm| algorithm.public_key_alg_id().as_ref() == key_algorithm)
            .any(|algorithm| {
                algorithm
                    .verify_signature(key_bits, message, dss.signature())
                    .is_ok()
            });
        if is_valid { Ok(HandshakeSignatureValid::assertion()) } else { Err(bad_signature) }
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let bad_encoding = |_| Error::InvalidCertificate(CertificateError::BadEncoding);
        let key = parse(cert)?
            .tbs_certificate()
            .subject_public_key_info()
            .to_der();
        let key = SubjectPublicKeyInfoDer::from(key.map_err(bad_encoding)?);
        verify_tls13_signature_with_raw_key(message, &key, dss, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

/// Refuses a certificate whose RSA key is shorter than what the TLS library can use: it would report an invalid signature,
/// as if the issuer were wrong. Old versions of SQL Server generate such keys.
fn refuse_short_key(der: &CertificateDer<'_>) -> Result<(), Error> {
    const BITS_MIN: usize = 2048;
    let modulus_bits = || {
        let cert = Certificate::from_der(der).ok()?;
        let key = cert.tbs_certificate().subject_public_key_info();
        let bytes = key.subject_public_key.as_bytes()?;
        let is_rsa = key.algorithm.oid == RSA_ENCRYPTION;
        let numbers = is_rsa.then(|| Vec::<UintRef<'_>>::from_der(bytes).ok())??;
        Some(numbers.first()?.as_bytes().len() * 8)
    };
    match modulus_bits() {
        Some(bits) if bits < BITS_MIN => Err(Error::General(format!(
            "the server's certificate has an RSA key of {bits} bits, which is too short for this program's TLS, even if the \
             certificate is trusted or pinned: give the server a certificate with a key of {BITS_MIN} bits or more"
        ))),
        _ => Ok(()),
    }
}

fn parse(der: &CertificateDer<'_>) -> Result<Certificate, Error> {
    Certificate::from_der(der).map_err(|_| Error::InvalidCertificate(CertificateError::BadEncoding))
}

/// An algorithm identifier without its outer tag and length, the form that webpki compares.
fn algorithm_id(algorithm: &impl Encode) -> x509_cert::der::Result<Vec<u8>> {
    let der = algorithm.to_der()?;
    let any = x509_cert::der::asn1::AnyRef::from_der(&der)?;
    Ok(any.value().to_vec())
}

fn is_valid_at(cert: &Certificate, now: UnixTime) -> bool {
    let validity = cert.tbs_certificate().validity();
    let (start, end) = (validity.not_before, validity.not_after);
    (start.to_unix_duration().as_secs()..=end.to_unix_duration().as_secs()).contains(&now.as_secs())
}

/// Whether a root may sign other certificates. A root without extensions (version 1) may.
fn is_authority(cert: &Certificate) -> bool {
    let tbs = cert.tbs_certificate();
    let (Ok(constraints), Ok(usage)) = (
        tbs.get_extension::<BasicConstraints>(),
        tbs.get_extension::<KeyUsage>(),
    ) else {
        return false;
    };
    has_only_known_restrictions(cert)
        && constraints.is_none_or(|(_, constraints)| constraints.ca)
        && usage.is_none_or(|(_, usage)| usage.key_cert_sign())
}

/// Whether this module checks every restriction in the certificate's extensions.
fn has_only_known_restrictions(cert: &Certificate) -> bool {
    let known = [
        BasicConstraints::OID,
        KeyUsage::OID,
        ExtendedKeyUsage::OID,
        SubjectAltName::OID,
    ];
    cert.tbs_certificate()
        .extensions()
        .into_iter()
        .flatten()
        .all(|extension| {
            let id = extension.extn_id;
            known.contains(&id) || (!extension.critical && id != NameConstraints::OID)
        })
}

/// Whether the certificate names the host, by libpq's rules: one of the alternative names of the
/// host's kind (DNS name or address) or, if there are none of that kind, the common name.
fn names_host(der: &CertificateDer<'_>, host: &ServerName<'_>) -> bool {
    let Ok(cert) = Certificate::from_der(der) else {
        return false;
    };
    let Ok(alternatives) = cert.tbs_certificate().get_extension::<SubjectAltName>() else {
        return false;
    };
    let mut has_name_of_this_kind = false;
    for name in alternatives.iter().flat_map(|(_, names)| names.0.iter()) {
        match (name, host) {
            (GeneralName::DnsName(pattern), ServerName::DnsName(host)) => {
                has_name_of_this_kind = true;
                if matches_host(pattern.as_str(), host.as_ref()) {
                    return true;
                }
            }
            (GeneralName::IpAddress(bytes), ServerName::IpAddress(ip)) => {
                has_name_of_this_kind = true;
                let ip = std::net::IpAddr::from(*ip);
                let is_same = match ip {
                    std::net::IpAddr::V4(v4) => bytes.as_bytes() == v4.octets(),
                    std::net::IpAddr::V6(v6) => bytes.as_bytes() == v6.octets(),
                };
                if is_same {
                    return true;
                }
            }
            _ => {}
        }
    }
    !has_name_of_this_kind
        && common_name(&cert).is_some_and(|name| matches_host(&name, &host.to_str()))
}

/// Whether a host matches a name from a certificate, in which a first label `*` matches exactly one
/// label.
fn matches_host(pattern: &str, host: &str) -> bool {
    if pattern.eq_ignore_ascii_case(host) {
        return true;
    }
    match (pattern.strip_prefix("*."), host.split_once('.')) {
        (Some(suffix), Some((first_label, domain))) => {
            !first_label.is_empty() && suffix.contains('.') && suffix.eq_ignore_ascii_case(domain)
        }
        _ => false,
    }
}

fn common_name(cert: &Certificate) -> Option<String> {
    let attribute = cert
        .tbs_certificate()
        .subject()
        .iter()
        .find(|a| a.oid == COMMON_NAME)?;
    let value = &attribute.value;
    match value.tag() {
        Tag::Utf8String => value
            .decode_as::<Utf8StringRef<'_>>()
            .ok()
            .map(|s| s.to_string()),
        Tag::PrintableString => value
            .decode_as::<PrintableStringRef<'_>>()
            .ok()
            .map(|s| s.to_string()),
        Tag::Ia5String => value
            .decode_as::<Ia5StringRef<'_>>()
            .ok()
            .map(|s| s.to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_assertions::TextAssertions;
    use rustls::pki_types::pem::PemObject;

    /// A certificate as SQL Server 2012 generates it: `openssl req -x509 -newkey rsa:1024`.
    const RSA_1024: &[u8] = b"-----BEGIN CERTIFICATE-----
MIICHzCCAYigAwIBAgIUV56C7XLnXXPkRj25ooD67wa1DgAwDQYJKoZIhvcNAQEL
BQAwIzEhMB8GA1UEAwwYU1NMX1NlbGZfU2lnbmVkX0ZhbGxiYWNrMB4XDTI2MTEy
ODExNTM0OVoXDTM2MTEyNTExNTM0OVowIzEhMB8GA1UEAwwYU1NMX1NlbGZfU2ln
bmVkX0ZhbGxiYWNrMIGfMA0GCSqGSIb3DQEBAQUAA4GNADCBiQKBgQCaWYkhZ2tE
eEintwJW/U8RXLYtTY+1YKG1h1FC6OgZGph7+/rPvYGYmRuPoXuc7SBsMQ2SArGw
oz/iMup1XtnpB7UrawKOtKN1jC9GXJYO0bRQvT2Tz48mSHVDmIzLFStkI1r6/HNh
IoG4w+CvmN4EYduoLQ0/q4c/s977w/vpjwIDAQABo1AwTjAdBgNVHQ4EFgQUqX81
/ts/g9qBZcQn+8hW59D4so4wHwYDVR0jBBgwFoAUqX81/ts/g9qBZcQn+8hW59D4
so4wDAYDVR0TAQH/BAIwADANBgkqhkiG9w0BAQsFAAOBgQAW76uH4HXUWxLb+eMV
UoodySfraA+gYKnfK9VVBVVahVbrfLwEPrqeQ54C/eebBKCArN4W8ft/M41el2TN
YYzNb2p9Ws10fb3T4TYdWpy9Aiza2LrDuNW7KQ7FE3OC+0Mxn1IMbc7rTeOL6nqq
JB5VuPwoeabCurLBNXUwrlbv+g==
-----END CERTIFICATE-----";

    #[test]
    fn a_short_rsa_key_is_named_even_if_every_certificate_is_accepted() {
        let certificate = CertificateDer::from_pem_slice(RSA_1024).expect("a certificate");
        let verifier = Verifier::new(Accepted::Any, &rustls::crypto::ring::default_provider());
        let name = ServerName::try_from("localhost").expect("a name");
        let verified = verifier.verify_server_cert(&certificate, &[], &name, &[], UnixTime::now());
        let error = prony_wire::describe_tls_error(&verified.expect_err("refused"));
        error.assert_starts_with("the server's certificate has ");
        error.assert_contains("an RSA key of 1024 bits");
        error.assert_contains("pinned");
    }
}
