//! Observation of the server during a run, and publication of the run's figures.
//!
//! Text from a plan or flags becomes an [`ObservePlan`]. Host names are not resolved here, and a
//! password is never stored.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

/// Observation of the server during a run, and publication of the run's figures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObservePlan {
    /// Whether to observe the server: settings, sizes and counters before, during and after the
    /// run.
    pub server: bool,
    /// URL of the node_exporter on the server's machine; has no user and no password.
    pub server_metrics: Option<String>,
    /// The address at which the figures are served during the run.
    pub metrics_listen: Option<ListenAddress>,
}

impl Default for ObservePlan {
    fn default() -> Self {
        ObservePlan {
            server: true,
            server_metrics: None,
            metrics_listen: None,
        }
    }
}

impl ObservePlan {
    /// Observes and publishes nothing: for runs under the name of pgbench, sysbench or hammerdbcli.
    pub fn disabled() -> Self {
        ObservePlan {
            server: false,
            ..ObservePlan::default()
        }
    }
}

/// An address at which this program accepts connections.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListenAddress {
    /// A name or an IP address, without brackets.
    pub host: String,
    /// A port; 0 for any free one.
    pub port: u16,
}

/// The error for text that is not an address to listen on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}; {hint}")]
pub struct ListenError {
    pub message: String,
    /// A correct form of the address.
    pub hint: &'static str,
}

const VALID_FORMS_HINT: &str =
    "write a port, such as 9187, or an address with one, such as 127.0.0.1:9187";

impl FromStr for ListenAddress {
    type Err = ListenError;

    /// Parses `9187` (loopback only), `127.0.0.1:9187`, `[::1]:9187`, `localhost:9187`.
    fn from_str(text: &str) -> Result<ListenAddress, ListenError> {
        // The text before an @ may be a password.
        let quoted = if text.contains('@') {
            "this text".to_owned()
        } else {
            format!("'{}'", crate::duration::shorten(text))
        };
        let error = |message: &str, hint| ListenError {
            message: format!("{quoted} {message}"),
            hint,
        };
        if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
            let too_large = |_| error("is not a port: the maximum is 65535", VALID_FORMS_HINT);
            let port = text.parse().map_err(too_large)?;
            let host = "127.0.0.1".to_owned();
            return Ok(ListenAddress { host, port });
        }
        let Some((host_text, port_text)) = text.rsplit_once(':') else {
            return Err(error("has no port", VALID_FORMS_HINT));
        };
        if port_text.is_empty() || !port_text.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(error("does not end in a port", VALID_FORMS_HINT));
        }
        let too_large = |_| {
            let message = "has an invalid port: the maximum is 65535";
            error(message, VALID_FORMS_HINT)
        };
        let port = port_text.parse().map_err(too_large)?;
        let bracketed = host_text
            .strip_prefix('[')
            .and_then(|host| host.strip_suffix(']'));
        let host = match bracketed {
            Some(host) if host.parse::<std::net::Ipv6Addr>().is_ok() => host,
            Some(_) => {
                return Err(error(
                    "has no IPv6 address in its brackets",
                    VALID_FORMS_HINT,
                ));
            }
            None if host_text.is_empty() || host_text == "*" => {
                let hint = "0.0.0.0 and [::] stand for every interface of this machine";
                return Err(error("names no host", hint));
            }
            None if host_text.contains(':') => {
                let hint = "write an IPv6 address in brackets, such as [::1]:9187";
                return Err(error("is not an address with a port", hint));
            }
            None if !host_text
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b".-_".contains(&byte)) =>
            {
                return Err(error("is not an address with a port", VALID_FORMS_HINT));
            }
            None => host_text,
        };
        let host = host.to_owned();
        Ok(ListenAddress { host, port })
    }
}

impl fmt::Display for ListenAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.host.parse() {
            Ok(IpAddr::V6(address)) => write!(f, "[{address}]:{}", self.port),
            _ => write!(f, "{}:{}", self.host, self.port),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_assertions::TextAssertions;
    use proptest::prelude::*;

    #[test]
    fn a_port_alone_means_loopback() {
        for (text, host, displayed) in [
            ("9187", "127.0.0.1", "127.0.0.1:9187"),
            ("127.0.0.1:9187", "127.0.0.1", "127.0.0.1:9187"),
            ("[::1]:9187", "::1", "[::1]:9187"),
            ("localhost:9187", "localhost", "localhost:9187"),
            ("0.0.0.0:9187", "0.0.0.0", "0.0.0.0:9187"),
        ] {
            let listen: ListenAddress = text.parse().unwrap();
            assert_eq!((listen.host.as_str(), listen.port), (host, 9187), "{text}");
            assert_eq!(listen.to_string(), displayed);
        }
    }

    #[test]
    fn invalid_addresses_are_rejected_with_a_reason() {
        for (text, expected) in [
            ("", "has no port"),
            ("127.0.0.1", "has no port"),
            ("70000", "65535"),
            ("db1:70000", "65535"),
            ("db1:", "does not end in a port"),
            ("db1:http", "does not end in a port"),
            (":9187", "names no host"),
            ("*:9187", "names no host"),
            ("::1:9187", "is not an address with a port"),
            ("[::1", "is not an address with a port"),
            ("[db1]:9187", "IPv6"),
            ("http://db1:9187", "is not an address with a port"),
            ("u:geheim@db1:9187", "is not an address with a port"),
            ("a b:9187", "is not an address with a port"),
        ] {
            let error = text.parse::<ListenAddress>().unwrap_err();
            assert!(error.to_string().contains(expected), "{text}: {error}");
            error.to_string().assert_lacks("geheim");
        }
    }

    proptest! {
        #[test]
        fn a_displayed_address_parses_as_the_same(text in "[0-9a-f.:\\[\\]x-]{0,20}|[0-9]{1,5}") {
            if let Ok(listen) = text.parse::<ListenAddress>() {
                let parsed: ListenAddress = listen.to_string().parse().unwrap();
                prop_assert_eq!(parsed.port, listen.port);
                let same = parsed.host == listen.host
                    || parsed.host.parse::<IpAddr>() == listen.host.parse::<IpAddr>();
                prop_assert!(same);
            }
        }
    }
}
