//! What is checked of a server's certificate.
//!
//! In: a certificate chain and a name. Out: yes or no. Must never: skip the check that the server
//! holds the certificate's key; without it, channel binding would mean nothing.
//!
//! Chains are rustls's business. OpenSSL, and so libpq, accept three things that rustls does not,
//! and that the procedure in PostgreSQL's own manual ("Creating Certificates") produces: a server
//! certificate that is itself the trusted root, one of X.509 version 1, and a host name in the
//! subject's common name instead of a subject alternative name.

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{
    CryptoProvider, WebPkiSupportedAlgorithms, verify_tls13_signature_with_raw_key,
};
use rustls::pki_types::{CertificateDer, ServerName, SubjectPublicKeyInfoDer, UnixTime};
use rustls::{CertificateError, DigitallySignedStruct, Error, SignatureScheme};
use std::sync::Arc;
use x509_cert::certificate::{Certificate, Version};
use x509_cert::der::asn1::{Ia5StringRef, PrintableStringRef, Utf8StringRef};
use x509_cert::der::oid::AssociatedOid;
use x509_cert::der::oid::db::rfc4519::COMMON_NAME;
use x509_cert::der::oid::db::rfc5280::ID_KP_SERVER_AUTH;
use x509_cert::der::{Decode, Encode, Tag, Tagged};
use x509_cert::ext::pkix::constraints::name::NameConstraints;
use x509_cert::ext::pkix::name::GeneralName;
use x509_cert::ext::pkix::{BasicConstraints, ExtendedKeyUsage, KeyUsage, SubjectAltName};

/// The verifier for one `sslmode`.
#[derive(Debug)]
pub(crate) struct Verifier {
    /// Checks chains; `None`: any certificate is good.
    chain: Option<Arc<WebPkiServerVerifier>>,
    /// The roots, for what `chain` cannot judge.
    roots: Vec<CertificateDer<'static>>,
    /// Whether the name counts.
    name: bool,
    algorithms: WebPkiSupportedAlgorithms,
}

impl Verifier {
    /// Takes any certificate.
    pub fn of_nothing(provider: &CryptoProvider) -> Self {
        let algorithms = provider.signature_verification_algorithms;
        Verifier {
            chain: None,
            roots: Vec::new(),
            name: false,
            algorithms,
        }
    }

    /// Wants a chain to a root, and the host's name if `name` says so.
    pub fn of_chain(
        chain: Arc<WebPkiServerVerifier>,
        roots: Vec<CertificateDer<'static>>,
        name: bool,
        provider: &CryptoProvider,
    ) -> Self {
        let algorithms = provider.signature_verification_algorithms;
        Verifier {
            chain: Some(chain),
            roots,
            name,
            algorithms,
        }
    }

    /// Whether a trusted root itself signed this certificate, both being valid now.
    ///
    /// For the two kinds that rustls refuses to look at, and no other: version 1, and a root that
    /// itself serves.
    fn signed_by_root(&self, der: &CertificateDer<'_>, now: UnixTime) -> bool {
        let Ok(leaf) = Certificate::from_der(der) else {
            return false;
        };
        let tbs = leaf.tbs_certificate();
        let purpose = tbs.get_extension::<ExtendedKeyUsage>();
        let serves = match purpose {
            Ok(Some((_, usage))) => usage.0.contains(&ID_KP_SERVER_AUTH),
            Ok(None) => true,
            Err(_) => false,
        };
        if !serves || !valid(&leaf, now) || !understood(&leaf) {
            return false;
        }
        self.roots.iter().any(|root_der| {
            let Ok(root) = Certificate::from_der(root_der) else {
                return false;
            };
            let itself = root_der.as_ref() == der.as_ref();
            let old = tbs.version() == Version::V1;
            root.tbs_certificate().subject() == tbs.issuer()
                && (itself || (old && valid(&root, now) && is_authority(&root)))
                && self.signature_holds(&leaf, &root)
        })
    }

    /// Whether the key of `issuer` made the signature on `cert`.
    fn signature_holds(&self, cert: &Certificate, issuer: &Certificate) -> bool {
        let key = issuer.tbs_certificate().subject_public_key_info();
        let (Ok(message), Ok(signed_with), Ok(key_kind)) = (
            cert.tbs_certificate().to_der(),
            contents(cert.signature_algorithm()),
            contents(&key.algorithm),
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
            algorithm.signature_alg_id().as_ref() == signed_with
                && algorithm.public_key_alg_id().as_ref() == key_kind
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
        let Some(chain) = &self.chain else {
            return Ok(ServerCertVerified::assertion());
        };
        // rustls looks at the name last: an error about the name says that the chain is good.
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
            )) if self.signed_by_root(end_entity, now) => CertificateError::NotValidForName,
            Err(error) => return Err(error),
        };
        if !self.name || names(end_entity, server_name) {
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
        let bad = Error::InvalidCertificate(CertificateError::BadSignature);
        let parsed = parse(cert)?;
        let key = parsed.tbs_certificate().subject_public_key_info();
        let kind = contents(&key.algorithm).map_err(|_| bad.clone())?;
        let bits = key.subject_public_key.as_bytes().ok_or(bad.clone())?;
        let holds = self
            .algorithms
            .mapping
            .iter()
            .filter(|(scheme, _)| *scheme == dss.scheme)
            .flat_map(|(_, algorithms)| algorithms.iter())
            .filter(|algorithm| algorithm.public_key_alg_id().as_ref() == kind)
            .any(|algorithm| {
                algorithm
                    .verify_signature(bits, message, dss.signature())
                    .is_ok()
            });
        if holds {
            Ok(HandshakeSignatureValid::assertion())
        } else {
            Err(bad)
        }
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let encoding = |_| Error::InvalidCertificate(CertificateError::BadEncoding);
        let key = parse(cert)?
            .tbs_certificate()
            .subject_public_key_info()
            .to_der();
        let key = SubjectPublicKeyInfoDer::from(key.map_err(encoding)?);
        verify_tls13_signature_with_raw_key(message, &key, dss, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

fn parse(der: &CertificateDer<'_>) -> Result<Certificate, Error> {
    Certificate::from_der(der).map_err(|_| Error::InvalidCertificate(CertificateError::BadEncoding))
}

/// An algorithm identifier without its outer tag and length, the form that webpki compares.
fn contents(algorithm: &impl Encode) -> x509_cert::der::Result<Vec<u8>> {
    let der = algorithm.to_der()?;
    let any = x509_cert::der::asn1::AnyRef::from_der(&der)?;
    Ok(any.value().to_vec())
}

fn valid(cert: &Certificate, now: UnixTime) -> bool {
    let validity = cert.tbs_certificate().validity();
    let (start, end) = (validity.not_before, validity.not_after);
    (start.to_unix_duration().as_secs()..=end.to_unix_duration().as_secs()).contains(&now.as_secs())
}

/// Whether a root may sign others; without extensions (version 1) it may.
fn is_authority(cert: &Certificate) -> bool {
    let tbs = cert.tbs_certificate();
    let (Ok(constraints), Ok(usage)) = (
        tbs.get_extension::<BasicConstraints>(),
        tbs.get_extension::<KeyUsage>(),
    ) else {
        return false;
    };
    understood(cert)
        && constraints.is_none_or(|(_, constraints)| constraints.ca)
        && usage.is_none_or(|(_, usage)| usage.key_cert_sign())
}

/// Whether nothing in a certificate restricts it in a way that this module does not check.
fn understood(cert: &Certificate) -> bool {
    let checked = [
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
            checked.contains(&id) || (!extension.critical && id != NameConstraints::OID)
        })
}

/// Whether the certificate names the host, by libpq's rules: alternative names of the host's kind
/// first, and the common name only when there is none.
fn names(der: &CertificateDer<'_>, host: &ServerName<'_>) -> bool {
    let Ok(cert) = Certificate::from_der(der) else {
        return false;
    };
    let Ok(alternatives) = cert.tbs_certificate().get_extension::<SubjectAltName>() else {
        return false;
    };
    let mut same_kind = false;
    for name in alternatives.iter().flat_map(|(_, names)| names.0.iter()) {
        match (name, host) {
            (GeneralName::DnsName(pattern), ServerName::DnsName(host)) => {
                same_kind = true;
                if covers(pattern.as_str(), host.as_ref()) {
                    return true;
                }
            }
            (GeneralName::IpAddress(bytes), ServerName::IpAddress(ip)) => {
                same_kind = true;
                let ip = std::net::IpAddr::from(*ip);
                let same = match ip {
                    std::net::IpAddr::V4(v4) => bytes.as_bytes() == v4.octets(),
                    std::net::IpAddr::V6(v6) => bytes.as_bytes() == v6.octets(),
                };
                if same {
                    return true;
                }
            }
            _ => {}
        }
    }
    !same_kind && common_name(&cert).is_some_and(|name| covers(&name, &host.to_str()))
}

/// A name without wildcard, or one whose first label is `*` and stands for exactly one label.
fn covers(pattern: &str, host: &str) -> bool {
    if pattern.eq_ignore_ascii_case(host) {
        return true;
    }
    match (pattern.strip_prefix("*."), host.split_once('.')) {
        (Some(rest), Some((first, domain))) => {
            !first.is_empty() && rest.contains('.') && rest.eq_ignore_ascii_case(domain)
        }
        _ => false,
    }
}

/// The subject's first common name.
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
