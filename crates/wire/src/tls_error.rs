//! Describes errors of the TLS library.
//!
//! In: an error of rustls, whose own text contains names of its types. Out: a sentence for a person.
//! Must never: show such a name.

use rustls::{CertificateError, Error};

/// The text of an error, such as `certificate verify failed: it is not signed by a trusted authority`.
pub fn describe_tls_error(error: &Error) -> String {
    match error {
        Error::InvalidCertificate(reason) => {
            format!("certificate verify failed: {}", certificate_error(reason))
        }
        // Without rustls's "unexpected error": the text is this program's.
        Error::General(text) => text.clone(),
        // Other texts, such as that of a CertRevocationListError, contain type names.
        error => split_type_names(&error.to_string()),
    }
}

fn certificate_error(reason: &CertificateError) -> String {
    use CertificateError as E;
    let description = match reason {
        E::BadEncoding => "its encoding is invalid",
        E::Expired => "it has expired",
        E::NotValidYet => "it is not valid yet",
        E::Revoked => "it has been revoked",
        E::UnhandledCriticalExtension => "it has a critical extension that is not supported",
        E::UnknownIssuer => "it is not signed by a trusted authority",
        E::UnknownRevocationStatus => "no revocation list covers it",
        E::ExpiredRevocationList | E::ExpiredRevocationListContext { .. } => {
            "the revocation list has expired"
        }
        E::BadSignature => "its signature does not match its issuer's key",
        E::UnsupportedSignatureAlgorithmContext { .. }
        | E::UnsupportedSignatureAlgorithmForPublicKeyContext { .. } => {
            "its signature algorithm is not supported"
        }
        E::NotValidForName => "it is for another host name",
        E::InvalidPurpose | E::InvalidPurposeContext { .. } => "it is not a server certificate",
        E::Other(inner) => return webpki_error(&inner.0.to_string()),
        // rustls describes the other errors in readable sentences.
        other => return split_type_names(&other.to_string()),
    };
    description.to_owned()
}

/// Describes errors of webpki that rustls has no variant for.
fn webpki_error(inner: &str) -> String {
    match inner {
        "CaUsedAsEndEntity" => {
            "it is a CA certificate (CA:TRUE), not a server certificate".to_owned()
        }
        other => split_type_names(other),
    }
}

/// Splits type names into words: in `received fatal alert: HandshakeFailure`, the last one becomes `handshake
/// failure`. Quoted text is unchanged, because it is a name from the certificate or the user.
fn split_type_names(text: &str) -> String {
    let mut words: Vec<String> = Vec::new();
    let (mut is_quoted, mut is_escaped) = (false, false);
    for word in text.split_inclusive(|c: char| !c.is_ascii_alphanumeric()) {
        let was_quoted = is_quoted;
        if word.ends_with('"') && !(is_escaped && word == "\"") {
            is_quoted = !is_quoted;
        }
        is_escaped = was_quoted && word.ends_with('\\') && !(is_escaped && word == "\\");
        let is_name = |pair: &[u8]| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase();
        if was_quoted || !word.as_bytes().windows(2).any(is_name) {
            words.push(word.to_owned());
            continue;
        }
        let mut split = String::new();
        for c in word.chars() {
            if c.is_ascii_uppercase() && !split.is_empty() {
                split.push(' ');
            }
            split.push(c.to_ascii_lowercase());
        }
        words.push(split);
    }
    words.concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_assertions::TextAssertions;
    use rustls::{AlertDescription, OtherError, PeerIncompatible};
    use std::sync::Arc;

    #[test]
    fn quoted_names_are_unchanged() {
        for (text, expected) in [
            (
                "valid for DnsName(\"MyHost.example\") or DnsName(\"myHost\")",
                "valid for dns name(\"MyHost.example\") or dns name(\"myHost\")",
            ),
            (
                r#"DnsName("a\"MyHost") and BadName"#,
                r#"dns name("a\"MyHost") and bad name"#,
            ),
            (
                r#"DnsName("a\\") and BadName"#,
                r#"dns name("a\\") and bad name"#,
            ),
        ] {
            assert_eq!(split_type_names(text), expected);
        }
        let expected = rustls::pki_types::ServerName::try_from("myHost").expect("a name");
        let error = Error::InvalidCertificate(CertificateError::NotValidForNameContext {
            expected,
            presented: vec!["DnsName(\"MyHost\")".to_owned()],
        });
        let description = describe_tls_error(&error);
        description.assert_contains("\"MyHost\"");
        description.assert_contains("\"myHost\"");
    }

    #[test]
    fn type_names_are_split_into_words() {
        let other = |text: &str| {
            let inner: Arc<dyn std::error::Error + Send + Sync> =
                Arc::from(Box::<dyn std::error::Error + Send + Sync>::from(text));
            Error::InvalidCertificate(CertificateError::Other(OtherError(inner)))
        };
        for (error, expected) in [
            (
                other("CaUsedAsEndEntity"),
                "certificate verify failed: it is a CA certificate (CA:TRUE), not a server certificate",
            ),
            (
                other("MaximumSignatureChecksExceeded"),
                "certificate verify failed: maximum signature checks exceeded",
            ),
            (
                Error::InvalidCertificate(CertificateError::UnknownIssuer),
                "certificate verify failed: it is not signed by a trusted authority",
            ),
            (
                Error::AlertReceived(AlertDescription::HandshakeFailure),
                "received fatal alert: handshake failure",
            ),
            (
                Error::PeerIncompatible(PeerIncompatible::NoCipherSuitesInCommon),
                "peer is incompatible: no cipher suites in common",
            ),
        ] {
            assert_eq!(describe_tls_error(&error), expected);
        }
    }
}
