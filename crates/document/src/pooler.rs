//! Poolers and proxies that share a server's sessions between clients: which one, and by what it is recognized.
//!
//! In: texts of a server or of what stands before it. Out: a name. Must never: name one that no sign shows.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

named_values! {
    /// A product that shares a server's sessions between clients.
    Pooler {
        /// PgBouncer.
        PgBouncer = "PgBouncer",
        /// Odyssey.
        Odyssey = "Odyssey",
        /// pgcat.
        PgCat = "pgcat",
        /// ProxySQL.
        ProxySql = "ProxySQL",
        /// MaxScale.
        MaxScale = "MaxScale",
        /// Amazon RDS Proxy.
        RdsProxy = "RDS Proxy",
    }
}

/// What only one of them says: a part of a version, a comment or an error, in lower case. Sources: PgBouncer's
/// `client.c` and `admin.c` (1.18 was also tried), Odyssey's `frontend.c`, pgcat's `client.rs`, ProxySQL's
/// `MySQL_Session.cpp`, MaxScale's `version_string` and `session.cc`, and the messages in the guide of RDS Proxy.
const SIGNS: [(Pooler, &str); 12] = [
    (Pooler::PgBouncer, "unsupported startup parameter"),
    (Pooler::PgBouncer, "bouncer config error"),
    (Pooler::PgBouncer, "no such database: "),
    (Pooler::PgBouncer, "/bouncer"),
    (Pooler::PgBouncer, "pgbouncer"),
    (Pooler::Odyssey, "odyssey: "),
    (Pooler::PgCat, "no pool configured for database"),
    (Pooler::ProxySql, "proxysql"),
    (Pooler::MaxScale, "-maxscale"),
    (Pooler::MaxScale, "unknown maxscale user variable"),
    (Pooler::RdsProxy, "rds proxy"),
    (Pooler::RdsProxy, "rds supports only iam"),
];

impl Pooler {
    /// The pooler whose sign is in this text; `None` if the text has no sign.
    pub fn recognize(text: &str) -> Option<Pooler> {
        let text = text.to_ascii_lowercase();
        let mut signs = SIGNS.iter();
        let (pooler, _) = signs.find(|(_, sign)| text.contains(sign))?;
        Some(*pooler)
    }
}

/// A pooler between the clients and the server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct FoundPooler {
    /// Which one; absent if it gave no sign of that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub product: Option<Pooler>,
    /// What shows it, as a sentence.
    pub sign: String,
    /// Whether one session of the server was seen to serve several connections, as with transaction pooling; false if it
    /// was not seen.
    pub shares_sessions: bool,
}

impl FoundPooler {
    /// Its name in reports.
    pub fn name(&self) -> &'static str {
        self.product.map_or("a pooler", Pooler::name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn poolers_are_recognized_by_what_they_say_and_servers_are_none() {
        for (text, expected) in [
            (
                "unsupported startup parameter: prony.probe",
                Some(Pooler::PgBouncer),
            ),
            ("bouncer config error", Some(Pooler::PgBouncer)),
            ("no such database: prony_probe", Some(Pooler::PgBouncer)),
            ("1.24.1/bouncer", Some(Pooler::PgBouncer)),
            (
                "odyssey: c3ba1a4a3ff5c: route for 'prony_probe.ann' is not found",
                Some(Pooler::Odyssey),
            ),
            (
                "No pool configured for database: \"prony_probe\", user: \"ann\"",
                Some(Pooler::PgCat),
            ),
            ("(ProxySQL)", Some(Pooler::ProxySql)),
            ("5.5.5-10.2.12 2.5.0-maxscale", Some(Pooler::MaxScale)),
            (
                "Attempt to set unknown MaxScale user variable @maxscale.prony",
                Some(Pooler::MaxScale),
            ),
            (
                "You have an error in your SQL syntax near 'maxscale.prony = 1'",
                None,
            ),
            (
                "This RDS proxy has no credentials for the role ann. Check the credentials for this role and try again.",
                Some(Pooler::RdsProxy),
            ),
            ("database \"prony_probe\" does not exist", None),
            ("unrecognized configuration parameter \"prony\"", None),
            ("15.18 (Debian 15.18-0+deb12u1)", None),
            ("10.11.19-MariaDB", None),
            ("Unknown database 'prony_probe'", None),
        ] {
            assert_eq!(Pooler::recognize(text), expected, "{text}");
        }
    }
}
