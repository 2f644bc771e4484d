//! The commands by which a user names agents.
//!
//! In: the text of a command or an address. Out: what to start, and names for messages. Must never: show a password.

use crate::error::Error;
use prony_plan::shell_word;
use prony_server::secrets;
use std::path::Path;

pub const AGENTS_VARIABLE: &str = "PRONY_AGENTS";

/// The agents that the environment names, separated by semicolons or line feeds.
pub fn agents_of_environment() -> Vec<String> {
    let text = std::env::var(AGENTS_VARIABLE).unwrap_or_default();
    let agents = text.split([';', '\n']).map(str::trim);
    let agents = agents.filter(|agent| !agent.is_empty());
    agents.map(str::to_owned).collect()
}

/// Whether an agent is reached over NATS rather than by a command.
pub fn is_nats(agent: &str) -> bool {
    let agent = agent.trim_start();
    agent.starts_with("nats://") || agent.starts_with("tls://")
}

/// `agent 2 (ssh vm2)`.
pub(crate) fn agent_name(index: usize, command: &str) -> String {
    format!(
        "agent {} ({})",
        index + 1,
        secrets::redact_argument(command.trim())
    )
}

/// `weight=3 ssh vm1`: the machine counts as 3 CPUs.
///
/// # Errors
/// The weight is not a number above 0 before a command.
pub(crate) fn split_weight(command: &str) -> Result<(Option<u32>, &str), Error> {
    let command = command.trim();
    let Some(weighted) = command.strip_prefix("weight=") else {
        return Ok((None, command));
    };
    let split = || {
        let (number, rest) = weighted.split_once(' ')?;
        let weight = number.parse().ok().filter(|weight| *weight > 0)?;
        let rest = rest.trim_start();
        (!rest.starts_with("weight=")).then_some((Some(weight), rest))
    };
    split().ok_or_else(|| Error::WrongWeight {
        agent: command.to_owned(),
    })
}

/// The command with the program appended: this one for an agent on this machine, which `env` starts.
pub(crate) fn shell_command(command: &str, program: &Path) -> String {
    let is_local = command.split_whitespace().next() == Some("env");
    let program = match program.to_str() {
        Some(path) if is_local => shell_word(path),
        _ => "prony".to_owned(),
    };
    format!("{command} {program} agent --stdio")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_of_this_machine_is_this_program_and_others_the_one_in_the_path() {
        let program = Path::new("/opt/it's/prony");
        assert_eq!(
            shell_command("env A=1", program),
            r"env A=1 '/opt/it'\''s/prony' agent --stdio"
        );
        assert_eq!(
            shell_command("ssh vm1", program),
            "ssh vm1 prony agent --stdio"
        );
        assert_eq!(
            agent_name(0, "x password=geheim"),
            "agent 1 (x password=***)"
        );
    }

    #[test]
    fn a_weight_stands_before_the_command() {
        let split = |command| split_weight(command).ok();
        assert_eq!(split("weight=3 ssh vm1"), Some((Some(3), "ssh vm1")));
        assert_eq!(split(" ssh vm1 "), Some((None, "ssh vm1")));
        for wrong in [
            "weight=0 ssh vm1",
            "weight=x ssh vm1",
            "weight=3",
            "weight=3 weight=2 ssh vm1",
        ] {
            let error = split_weight(wrong);
            assert!(matches!(error, Err(Error::WrongWeight { agent }) if agent == wrong));
        }
    }
}
