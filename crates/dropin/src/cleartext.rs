//! Warns about a password that was sent in clear text: once per process, on stderr.
//!
//! Must never: print the password.

use crate::output::eprint;
use prony_server::{Control, Target, control};
use std::sync::Once;

static WARNED: Once = Once::new();

/// Opens a control connection, and warns if the log-in sent the password unencrypted to another host.
pub(crate) fn connect(target: &Target) -> Result<Control, control::Error> {
    let control = Control::connect(target)?;
    warn_if_password_exposed(&control);
    Ok(control)
}

/// Warns if the log-in of this connection sent the password unencrypted to another host.
pub fn warn_if_password_exposed(control: &Control) {
    if control.exposed_password() {
        WARNED.call_once(|| eprint(&warning_text(&control.endpoint().to_string())));
    }
}

fn warning_text(server: &str) -> String {
    format!(
        "prony: warning: the password was sent to {server} in clear text, without TLS: the server asks for \
         the method \"password\"\n  hint: sslmode=require encrypts the connection; \
         require_auth=scram-sha-256 never sends the password itself\n"
    )
}
