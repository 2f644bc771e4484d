//! From a script's connection settings to a server.
//!
//! In: a login, the environment. Out: a target, a control connection. Must never: show a password.

use prony_dialect::hammerdb::Login;
use prony_server::control::Error;
use prony_server::{Control, Environment, Target};

/// Where to connect. What the settings do not say (certificates, time-outs) comes from the customary
/// environment, as for every program that uses libpq.
///
/// # Errors
/// What is wrong with the settings.
pub fn target(login: &Login) -> Result<Target, String> {
    let port = login.port.to_string();
    let before = [
        ("host", login.host.as_str()),
        ("port", &port),
        ("sslmode", &login.ssl_mode),
        ("user", &login.user),
        ("password", login.password.reveal()),
        ("dbname", &login.database),
    ];
    let target = prony_server::resolve_over(&before, "", &Environment::from_process())
        // The settings are a script's.
        .map_err(|error| error.to_string().replace(" (from the command line)", ""))?;
    for warning in &target.warnings {
        super::complain(&format!("hammerdbcli: {warning}\n"));
    }
    Ok(target)
}

/// Connects for everything but the load, for as long as it takes.
///
/// # Errors
/// libpq's words.
pub fn connect(target: &Target) -> Result<Control, String> {
    let failed = |error: Error| {
        format!(
            "Connection to database {} as {} failed\n{}",
            target.database,
            target.user,
            words(&error)
        )
    };
    let mut control = Control::connect(target).map_err(failed)?;
    // Time-outs of a role or database are meant for applications.
    control
        .execute("set statement_timeout = 0; set idle_in_transaction_session_timeout = 0")
        .map_err(failed)?;
    if control.server_version() >= 140_000 {
        control
            .execute("set idle_session_timeout = 0")
            .map_err(failed)?;
    }
    Ok(control)
}

/// What the server or the system said. Hints about URLs and password files are left out: a script
/// names neither.
pub fn words(error: &Error) -> String {
    let said = match error {
        Error::Connect(failures) => {
            let said: Vec<String> = failures.iter().map(ToString::to_string).collect();
            said.join("\n")
        }
        other => other.to_string(),
    };
    // Invalid password: HammerDB keeps those of earlier calls, and scripts may count on that.
    if error.sqlstate() == Some("28P01") {
        return said + "\nPasswords are not kept from call to call: set them with diset tpcc";
    }
    said
}

/// A login's target and a connection to it.
///
/// # Errors
/// As for the two.
pub fn open(login: &Login) -> Result<(Target, Control), String> {
    let target = target(login)?;
    let control = connect(&target)?;
    Ok((target, control))
}
