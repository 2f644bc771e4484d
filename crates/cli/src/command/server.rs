//! Connects to the server of a URL, and maps errors to exit codes.
//!
//! Builds a target and a control connection from `--url` and the environment, and converts errors of other crates to
//! failures with their exit codes. A URL is never printed unredacted.

use crate::args::TimeoutArgs;
use crate::exit::{Exit, Failure};
use prony_dropin::cleartext;
use prony_plan::{Plan, ServerPlan};
use prony_runner::signals::{self, Signals};
use prony_server::control::{
    ConnectFailure, Error as ControlError, FailureCause, is_about_privileges,
};
use prony_server::target::Address;
use prony_server::{Control, Environment, Target};
use prony_workload::remedy::PronyCommands;
use prony_workload::{Error, Workload};
use std::io::ErrorKind;

pub fn find_workload(name: &str) -> Result<&'static dyn Workload, Failure> {
    prony_workload::find(name).map_err(|error| Failure::of(Exit::Usage, &error))
}

/// The target that a URL, if any, and the usual environment variables describe.
pub fn resolve_target(url: Option<&str>) -> Result<Target, Failure> {
    let mut target = prony_server::resolve(url.unwrap_or_default(), &Environment::from_process())
        .map_err(|error| Failure::of(resolve_exit(&error), &error))?;
    target.has_own_statements = true;
    signals::interrupt_waits_of(&mut target);
    Ok(target)
}

/// Like [`resolve_target`], with the requested timeout for a server that does not respond.
pub fn target_with_timeout(url: Option<&str>, timeout: &TimeoutArgs) -> Result<Target, Failure> {
    let mut target = resolve_target(url)?;
    target.wait_options.io_timeout = Some(timeout.io_timeout).filter(|limit| !limit.is_zero());
    Ok(target)
}

/// A failed name lookup counts as an unreachable server; other errors are usage errors.
fn resolve_exit(error: &prony_server::Error) -> Exit {
    match error {
        prony_server::Error::NoAddress { .. } => Exit::Connect,
        _ => Exit::Usage,
    }
}

pub fn connect(target: &Target) -> Result<Control, Failure> {
    let control = Control::connect(target).map_err(|error| connect_failure(&error))?;
    cleartext::warn_if_password_exposed(&control);
    Ok(control)
}

pub fn connect_failure(error: &ControlError) -> Failure {
    let mut failure = Failure::of(Exit::Connect, error);
    if let ControlError::Connect(attempts) = error
        && attempts.iter().all(is_missing_socket)
    {
        // Most often, the URL was forgotten.
        let hint =
            "Does it run here, with this socket? If not: --url postgres://USER@HOST:PORT/DATABASE.";
        failure.problems[0].hint = Some(hint.to_owned());
    }
    failure
}

/// Whether no server listens on the unix socket of this attempt.
fn is_missing_socket(attempt: &ConnectFailure) -> bool {
    matches!(attempt.endpoint.address, Address::Unix(_))
        && matches!(&attempt.cause, FailureCause::Io(error) if error.kind() == ErrorKind::NotFound)
}

/// Checks that a workload runs on an engine of the URL's protocol, before a connection.
pub fn require_protocol(target: &Target, workload: &dyn Workload) -> Result<(), Failure> {
    prony_workload::require_protocol(target, workload.dialects())
        .map_err(|error| workload_failure(&error, None, None))
}

/// Checks that a workload runs on the engine of the server, before anything is said to begin.
pub fn require_engine(control: &Control, workload: &dyn Workload) -> Result<(), Failure> {
    prony_workload::require_engine(control, workload.dialects())
        .map_err(|error| workload_failure(&error, None, None))
}

/// The URL of the plan's server; `None` if the environment names the server, or Prony starts it.
pub fn url_of(plan: &Plan) -> Option<&str> {
    match &plan.server {
        ServerPlan::Url(url) => Some(url.as_str()).filter(|url| !url.is_empty()),
        ServerPlan::Embedded => None,
    }
}

/// The server of a plan in documents and messages.
pub fn shown_name(plan: &Plan) -> String {
    match &plan.server {
        ServerPlan::Url(url) => prony_server::redact(url),
        ServerPlan::Embedded => "embedded".to_owned(),
    }
}

/// Converts the error of a workload's load, check, clean or program on the server of this URL, if any. If a signal
/// stopped a load, `signals` gives the exit code.
pub fn workload_failure(error: &Error, url: Option<&str>, signals: Option<&Signals>) -> Failure {
    let signal_exit = || {
        signals
            .and_then(Signals::received)
            .map_or(Exit::Interrupted, Exit::from)
    };
    let exit = match error {
        Error::UnknownWorkload { .. }
        | Error::InvalidRequest { .. }
        | Error::UnknownOption { .. }
        | Error::Value { .. } => Exit::Usage,
        Error::Data { .. } => Exit::Data,
        // A run whose statements are refused for lack of a privilege ends with the same code.
        Error::Server { source, .. } if source.server_error().is_some_and(is_about_privileges) => {
            Exit::Data
        }
        Error::Server { .. } => Exit::Connect,
        Error::LoadFailed { .. } => Exit::LoadOrClean,
        Error::Stopped { .. } => signal_exit(),
    };
    Failure::of_parts(exit, error.parts_with(&PronyCommands::for_url(url)))
}

/// Like [`workload_failure`], of a load or a clean on a server to which it has connected.
pub fn load_or_clean_failure(
    error: &Error,
    url: Option<&str>,
    signals: Option<&Signals>,
) -> Failure {
    let mut failure = workload_failure(error, url, signals);
    if matches!(error, Error::Server { .. }) {
        failure.exit = Exit::LoadOrClean;
    }
    failure
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_assertions::TextAssertions;
    use prony_wire::{Protocol, ServerError};

    #[test]
    fn an_unresolvable_host_is_an_unreachable_server() {
        // RFC 6761: names under .invalid never resolve.
        let failure = resolve_target(Some("postgres://u@host.invalid/d")).unwrap_err();
        assert_eq!(failure.exit, Exit::Connect, "{failure:?}");
        let failure = resolve_target(Some("host=a,b hostaddr=127.0.0.1 user=u")).unwrap_err();
        assert_eq!(failure.exit, Exit::Usage, "{failure:?}");
    }

    #[test]
    fn a_missing_right_has_one_exit_code_in_a_run_and_another_in_a_load() {
        let refused = |code: &[u8; 5]| {
            let text = "permission denied for table t".to_owned();
            let refusal = ServerError::new(Protocol::PostgreSql, 0, *code, text);
            Error::Server {
                activity: "reading t".to_owned(),
                source: ControlError::Statement(Box::new(refusal)),
            }
        };
        let denied = refused(b"42501");
        assert_eq!(workload_failure(&denied, None, None).exit, Exit::Data);
        let other = refused(b"XX000");
        assert_eq!(workload_failure(&other, None, None).exit, Exit::Connect);
        for error in [denied, other] {
            let failure = load_or_clean_failure(&error, None, None);
            assert_eq!(failure.exit, Exit::LoadOrClean);
        }
    }

    #[test]
    fn a_semicolon_in_a_message_does_not_begin_the_hint() {
        let failure = resolve_target(Some("host=a.invalid,b.invalid user=u")).unwrap_err();
        let problem = &failure.problems[0];
        problem.problem.assert_contains("a.invalid");
        problem.problem.assert_contains("; ");
        problem.problem.assert_contains("b.invalid");
        problem
            .hint
            .as_deref()
            .unwrap()
            .assert_starts_with("check the host");

        let failure = resolve_target(Some("host=h user=u sslmode='a; b'")).unwrap_err();
        let problem = &failure.problems[0];
        problem.problem.assert_contains("\"a; b\"");
    }
}
