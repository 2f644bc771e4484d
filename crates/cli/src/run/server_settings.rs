//! The server's settings of a run: set before it, verified, and put back after it.
//!
//! In: a plan, its server, the user's command that restarts it. Out: the server, whose sessions have the settings, and what
//! puts it back when it is dropped: at the end, after an error, after a signal. Must never: restart a server without a
//! command of the user, or keep silent about a setting that it could not put back.

use super::left_settings;
use crate::command::reproduce::{fail_if_interrupted, run_restart_command, wait_until_it_answers};
use crate::command::{output, server};
use crate::exit::{Exit, Failure};
use prony_plan::{Plan, Spread, UserError};
use prony_runner::{RunServer, Signals};
use prony_server::control::Error as ControlError;
use prony_server::settings::{
    self, Reach, SettingChange, SettingError, SettingsLock, WantedSetting, change_server,
    find_reach, lock_settings, set_in_sessions, verify,
};
use prony_server::{Control, Target};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// How long a running server may take until new sessions have a changed setting.
const RELOAD_TIMEOUT: Duration = Duration::from_secs(10);
const RETRY_PAUSE: Duration = Duration::from_millis(50);

/// Settings of whole servers that a run has changed. Dropping it puts them back.
pub struct ChangedServer {
    hosts: Vec<ChangedHost>,
    restart: Option<String>,
}

struct ChangedHost {
    /// The server without the settings of the sessions; a signal does not end waits for it.
    target: Target,
    /// How messages name it, if there are several.
    name: String,
    changes: Vec<SettingChange>,
    /// While this connection is open, no other run changes the server. It is closed after the settings are put back.
    lock: Option<Box<Control>>,
}

/// The servers that the clients of a run use: those of a list for the case that the first does not answer are left alone.
fn used_hosts(target: &Target) -> Vec<Target> {
    let groups = [Some(target), target.read_target.as_deref()];
    let used = groups.into_iter().flatten().flat_map(|group| {
        let is_spread = group.spread != Spread::First || !group.additional_targets.is_empty();
        let hosts = if is_spread { group.targets_of_hosts() } else { vec![group.clone()] };
        hosts.into_iter()
    });
    used.collect()
}

/// Gives the server of a run the settings that its plan asks for. `restart`: the user's command.
///
/// # Errors
/// If it does not have them afterwards; what was changed is put back.
pub fn set(
    plan: &Plan,
    run_server: &mut RunServer,
    restart: Option<&str>,
    signals: &Signals,
) -> Result<ChangedServer, Failure> {
    let mut changed = ChangedServer {
        hosts: Vec::new(),
        restart: restart.map(str::to_owned),
    };
    let mut hosts = used_hosts(&run_server.target);
    for target in &mut hosts {
        target.wait_options.stop = Default::default();
    }
    if !run_server.is_embedded() {
        hosts.iter().for_each(left_settings::put_back);
    }
    if plan.settings.is_empty() {
        return Ok(changed);
    }
    let is_only = hosts.len() == 1;
    changed
        .hosts
        .extend(hosts.into_iter().map(|target| ChangedHost {
            name: if is_only { "the server".to_owned() } else { target.describe() },
            target,
            changes: Vec::new(),
            lock: None,
        }));
    let mut control = server::connect(&run_server.target)?;
    let wanted = find_reach(&mut control, &plan.settings).map_err(|error| failure(&error))?;
    drop(control);
    changed.require_restart_command(&wanted)?;
    changed.change(&wanted, signals)?;
    let main = std::iter::once(&mut run_server.target);
    for target in main.chain(&mut run_server.tcp_target) {
        set_in_sessions(target, &wanted);
        if let Some(reads) = &mut target.read_target {
            set_in_sessions(reads, &wanted);
        }
    }
    for host in used_hosts(&run_server.target) {
        wait_until_set(&host, &wanted, signals)?;
    }
    Ok(changed)
}

fn failure(error: &SettingError) -> Failure {
    let exit = match error {
        SettingError::Unknown { .. } | SettingError::Fixed { .. } => Exit::Usage,
        SettingError::Refused { .. } | SettingError::Different { .. } => Exit::Connect,
    };
    Failure::of(exit, error)
}

/// Waits until a new session has the settings: a server takes a moment to read them again.
fn wait_until_set(
    target: &Target,
    wanted: &[WantedSetting],
    signals: &Signals,
) -> Result<(), Failure> {
    let waiting_since = Instant::now();
    let is_changed = wanted.iter().any(|setting| setting.reach != Reach::Session);
    loop {
        let verified = verify(&mut connect_with_settings(target)?, wanted);
        let is_over = !is_changed || waiting_since.elapsed() > RELOAD_TIMEOUT;
        fail_if_interrupted(signals)?;
        match verified {
            Ok(()) => return Ok(()),
            Err(error) if is_over => return Err(failure(&error)),
            Err(_) => sleep(RETRY_PAUSE),
        }
    }
}

/// `protocol_violation`: how a pooler refuses a parameter of the log-in that it does not know.
const REFUSED_PARAMETER: &str = "08P01";

fn connect_with_settings(target: &Target) -> Result<Control, Failure> {
    Control::connect(target).map_err(|error| {
        let mut failure = Failure::of(Exit::Connect, &error);
        if error.sqlstate() == Some(REFUSED_PARAMETER) {
            let hint = "a pooler may refuse settings in the log-in: name the server itself, or vary the setting at the server \
                        by the command of `between` in [experiment] of a plan file";
            failure.problems[0].hint = Some(hint.to_owned());
        }
        failure
    })
}

impl ChangedServer {
    fn require_restart_command(&self, wanted: &[WantedSetting]) -> Result<(), Failure> {
        let needs = |setting: &&WantedSetting| setting.reach == Reach::Restart;
        match wanted.iter().find(needs) {
            Some(setting) if self.restart.is_none() => {
                let message = format!(
                    "the server reads the setting {} only when it starts",
                    setting.name
                );
                let hint = "name the command that restarts it in a plan file, restart = \"...\" under [experiment], and run \
                            that: prony run PLAN.toml; no flag names it";
                Err(Failure::usage(message, hint))
            }
            _ => Ok(()),
        }
    }

    /// Changes what only the whole server has, at each of them.
    fn change(&mut self, wanted: &[WantedSetting], signals: &Signals) -> Result<(), Failure> {
        let is_of_server = |setting: &&WantedSetting| setting.reach != Reach::Session;
        let of_server: Vec<&WantedSetting> = wanted.iter().filter(is_of_server).collect();
        if of_server.is_empty() {
            return Ok(());
        }
        for host in &mut self.hosts {
            host.change(&of_server)?;
        }
        if self.needs_restart() {
            self.restart(signals)?;
            for host in &mut self.hosts {
                // A server that was not restarted would call this run another one.
                host.lock = None;
                host.lock()?;
            }
        }
        Ok(())
    }

    fn needs_restart(&self) -> bool {
        let mut changes = self.hosts.iter().flat_map(|host| &host.changes);
        changes.any(|change| change.reach == Reach::Restart)
    }

    fn restart(&self, signals: &Signals) -> Result<(), Failure> {
        let Some(command) = &self.restart else {
            return Ok(());
        };
        run_restart_command(command, "the output of the command is above", signals)?;
        let mut hosts = self.hosts.iter();
        hosts.try_for_each(|host| wait_until_it_answers(&host.target, signals).map(drop))
    }
}

impl ChangedHost {
    fn change(&mut self, wanted: &[&WantedSetting]) -> Result<(), Failure> {
        self.lock()?;
        let mut control = server::connect(&self.target)?;
        for setting in wanted {
            let change = change_server(&mut control, setting).map_err(|error| failure(&error))?;
            let Some(change) = change else {
                output::notice(&format!(
                    "prony: {} is a replica, whose {} is that of its primary",
                    self.name, setting.name
                ));
                continue;
            };
            output::notice(&format!(
                "prony: {} of {} is {} for the run; before, it was {}",
                change.name, self.name, setting.value, change.before
            ));
            self.changes.push(change);
            left_settings::record(&self.target, &self.changes);
        }
        Ok(())
    }

    /// Keeps other runs from changing the server's settings. A restart ends this.
    fn lock(&mut self) -> Result<(), Failure> {
        match lock_settings(&self.target) {
            Ok(SettingsLock::Held(control)) => self.lock = Some(control),
            Ok(SettingsLock::HeldByOther(holder)) => {
                let holder = holder.map_or_else(String::new, |holder| format!(" ({holder})"));
                let message = format!(
                    "another run has changed the settings of {}{holder}",
                    self.name
                );
                let hint = "wait until it has ended and put them back";
                return Err(Failure::new(Exit::Connect, message, hint));
            }
            Ok(SettingsLock::Absent) => output::notice(&format!(
                "prony: {} has no lock that keeps other runs from its settings: start no other run that changes them",
                self.name
            )),
            Err(error) => return Err(server::connect_failure(&error)),
        }
        Ok(())
    }

    fn names(&self) -> String {
        let names =
            (self.changes.iter()).map(|change| format!("{} = {}", change.name, change.before));
        names.collect::<Vec<_>>().join(", ")
    }

    /// The statements that put everything back.
    fn undo(&self) -> String {
        let latest_first = self.changes.iter().rev();
        let statements: Vec<&str> = latest_first
            .flat_map(|change| change.undo())
            .map(String::as_str)
            .collect();
        statements.join("; ")
    }

    fn put_back(&self) -> Result<(), ControlError> {
        let mut control = Control::connect(&self.target)?;
        self.changes
            .iter()
            .rev()
            .try_for_each(|change| settings::put_back(&mut control, change))
    }
}

impl Drop for ChangedServer {
    fn drop(&mut self) {
        let changed = self.hosts.iter().filter(|host| !host.changes.is_empty());
        let mut put_back = Vec::new();
        for host in changed {
            let (name, names) = (&host.name, host.names());
            match host.put_back() {
                Ok(()) => {
                    left_settings::forget(&host.target);
                    put_back.push(format!("prony: put back on {name}: {names}"));
                }
                Err(error) => output::notice(&format!(
                    "prony: the settings of {name} could not be put back: {}; before, they were {names}: the next run on \
                     this server puts them back, or do it with {}",
                    error.parts().problem,
                    host.undo()
                )),
            }
        }
        // A signal has ended the run, but not what is left to do.
        let restarted = if self.needs_restart() && !put_back.is_empty() {
            self.restart(&Signals::default())
        } else {
            Ok(())
        };
        let then = match restarted {
            Ok(()) => "",
            Err(_) => "; it has to be restarted, and the command for that failed",
        };
        for notice in put_back {
            output::notice(&(notice + then));
        }
    }
}
