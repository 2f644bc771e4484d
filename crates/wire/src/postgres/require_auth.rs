//! libpq's `require_auth`: which authentication methods a server may use.

use std::fmt;

/// The methods that a login accepts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum RequireAuth {
    #[default]
    Any,
    OneOf(Vec<AuthMethod>),
    /// All methods but these.
    NoneOf(Vec<AuthMethod>),
}

impl RequireAuth {
    /// Whether the server may use this method: checked before a request is answered, and for [`AuthMethod::None`] when the
    /// server accepts the client without a request.
    pub fn allows(&self, method: AuthMethod) -> bool {
        match self {
            RequireAuth::Any => true,
            RequireAuth::OneOf(methods) => methods.contains(&method),
            RequireAuth::NoneOf(methods) => !methods.contains(&method),
        }
    }
}

impl fmt::Display for RequireAuth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (mark, methods) = match self {
            RequireAuth::Any => return Ok(()),
            RequireAuth::OneOf(methods) => ("", methods),
            RequireAuth::NoneOf(methods) => ("!", methods),
        };
        let name_of = |method| AuthMethod::NAMES.iter().find(|(_, known)| known == method);
        let names = methods.iter().filter_map(name_of);
        let texts: Vec<String> = names.map(|(name, _)| format!("{mark}{name}")).collect();
        f.write_str(&texts.join(","))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AuthMethod {
    /// No authentication request: `trust`, `peer`, or only a certificate.
    None,
    /// The password itself.
    Password,
    /// The password hashed with MD5.
    Md5,
    /// SCRAM-SHA-256, with channel binding or without.
    ScramSha256,
    /// Kerberos, which Prony does not support.
    Gss,
    /// Windows authentication, which Prony does not support.
    Sspi,
    /// A bearer token, which Prony does not support.
    OAuth,
}

impl AuthMethod {
    /// All methods, with their names in `require_auth`.
    pub const NAMES: [(&'static str, AuthMethod); 7] = [
        ("none", AuthMethod::None),
        ("password", AuthMethod::Password),
        ("md5", AuthMethod::Md5),
        ("scram-sha-256", AuthMethod::ScramSha256),
        ("gss", AuthMethod::Gss),
        ("sspi", AuthMethod::Sspi),
        ("oauth", AuthMethod::OAuth),
    ];
}
