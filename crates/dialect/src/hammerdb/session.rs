//! HammerDB's commands.
//!
//! In: a command's words. Out: its texts and requests to a [`World`], its result. Must never: print a
//! password; connect.

use super::dictionary::{self, DATABASES, GENERIC};
use super::print;
use super::request::{Output, Reader};
use super::settings::{Settings, shown};
use super::tcl::{Channel, Flow, Outcome};
use super::text;
use super::world::{Ended, World};

/// HammerDB's version that the texts follow.
pub const VERSION: &str = "v4.6";

/// The states that `vustatus` prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Idle,
    Success,
    Failed,
}

/// Virtual users that were created and not destroyed.
#[derive(Debug)]
pub(super) struct Users {
    pub states: Vec<State>,
    log: Option<String>,
}

/// A session: settings, and what was loaded and created.
#[derive(Debug, Default)]
pub struct Session {
    pub(super) settings: Settings,
    pub(super) is_loaded: bool,
    pub(super) users: Option<Users>,
    is_complete: bool,
    /// That settings cannot be kept is said once.
    save_failed: bool,
}

/// A line as HammerDB's putscli prints it.
pub(super) fn say(world: &mut dyn World, line: &str) {
    world.put(Channel::Out, &text::terminal(line));
}

/// A line as Tcl's puts prints it.
pub(super) fn puts(world: &mut dyn World, line: &str) {
    world.put(Channel::Out, &format!("{line}\n"));
}

const VUSET_USAGE: &str =
    "Usage: vuset [vu|delay|repeat|iterations|showoutput|logtotemp|unique|nobuff|timestamps] value";

/// The options of vuset: word, key, name in complaints, value after a bad one, whether 0 or 1.
const VUSET: [(&str, &str, &str, &str, bool); 9] = [
    (
        "vu",
        "virtual_users",
        "The number of virtual users",
        "1",
        false,
    ),
    ("delay", "user_delay", "User Delay(ms)", "500", false),
    ("repeat", "repeat_delay", "Repeat Delay(ms)", "500", false),
    ("iterations", "iterations", "Iterations", "1", false),
    ("showoutput", "show_output", "Show Output", "1", true),
    ("logtotemp", "log_to_temp", "Log Output", "0", true),
    ("unique", "unique_log_name", "Unique Log Name", "0", true),
    ("nobuff", "no_log_buffer", "No Log Buffer", "0", true),
    ("timestamps", "log_timestamps", "Log timestamps", "0", true),
];

impl Session {
    /// A session that starts with kept settings.
    pub fn new(settings: Settings) -> Self {
        Self {
            settings,
            ..Self::default()
        }
    }

    /// The settings as they are now.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Runs one of HammerDB's commands; none if there is no such command.
    pub fn command(
        &mut self,
        world: &mut dyn World,
        name: &str,
        args: &[String],
    ) -> Option<Outcome> {
        let words: Vec<&str> = args.iter().map(String::as_str).collect();
        match (name, words.as_slice()) {
            ("dbset", words) => self.dbset(world, words),
            ("diset", words) => self.diset(world, words),
            ("giset", words) => self.giset(world, words),
            ("vuset", words) => self.vuset(world, words),
            ("print", words) => return Some(Ok(self.print(world, words))),
            ("loadscript", []) => {
                self.is_loaded = true;
                say(world, "Script loaded, Type \"print script\" to view");
            }
            ("clearscript", []) => self.clear_script(world),
            ("buildschema", []) => self.build(world),
            ("checkschema", []) => return Some(Ok(self.check(world))),
            ("deleteschema", []) => return Some(Ok(self.delete(world))),
            ("vucreate", []) => self.create(world),
            ("vurun", []) => return Some(Ok(self.run(world))),
            ("vudestroy", []) => self.destroy(world),
            ("vustatus", []) => print::status(world, self.users.as_ref()),
            ("vucomplete", []) => return Some(Ok(self.is_complete.to_string())),
            ("waittocomplete" | "runtimer", _) => say(
                world,
                &format!(
                    "{name} command has been deprecated and is not required for version {VERSION}"
                ),
            ),
            // All commands wait for their end, so that there is nothing left to wait for.
            ("vwait" | "keepalive", _) => {}
            ("jobs", _) => match world.jobs(args) {
                Ok(text) => puts(world, &text),
                Err(complaint) => say(world, &complaint),
            },
            ("numberOfCPUs", []) => return Some(Ok(world.processors().to_string())),
            ("numberOfWHs", []) => {
                let key = format!("{}_count_ware", self.settings.database);
                let value = self.settings.value(&self.settings.database, "tpcc", &key);
                return Some(Ok(value.unwrap_or("1").to_owned()));
            }
            ("help", words) => print::help(world, words.first().copied()),
            ("quit", []) => {
                puts(world, "Shutting down HammerDB CLI");
                return Some(Err(Flow::Exit(0)));
            }
            (name, _) if print::COMMANDS.iter().any(|(known, _)| *known == name) => {
                return Some(Err(Flow::Error(format!(
                    "wrong # args: should be \"{name}\""
                ))));
            }
            (name, _) if NOT_OFFERED.contains(&name) => {
                return Some(Err(Flow::Error(format!(
                    "Prony's hammerdbcli does not offer {name}"
                ))));
            }
            _ => return None,
        }
        Some(Ok(String::new()))
    }

    fn save(&mut self, world: &mut dyn World) {
        if let Err(reason) = world.save(&self.settings)
            && !self.save_failed
        {
            self.save_failed = true;
            let text = format!("hammerdbcli: the settings cannot be kept: {reason}\n");
            world.put(Channel::Error, &text);
        }
    }

    pub(super) fn database_name(&self) -> &'static str {
        dictionary::name(&self.settings.database)
    }

    fn dbset(&mut self, world: &mut dyn World, words: &[&str]) {
        match words {
            ["db", prefix] => {
                let prefixes = DATABASES.map(|(_, prefix)| prefix).join(" ");
                if !DATABASES.iter().any(|(_, known)| known == prefix) {
                    say(
                        world,
                        &format!("Unknown prefix {prefix}, choose one from {prefixes}"),
                    );
                    return;
                }
                let name = dictionary::name(prefix);
                if dictionary::sections(prefix).is_none() {
                    let complaint = format!(
                        "Error: Prony's hammerdbcli does not offer {name}, choose one from mysql pg maria"
                    );
                    say(world, &complaint);
                    return;
                }
                (*prefix).clone_into(&mut self.settings.database);
                self.settings.set(GENERIC, "benchmark", "rdbms", name);
                say(world, &format!("Database set to {name}"));
                self.save(world);
            }
            ["bm", benchmark] => {
                let upper = benchmark.to_uppercase();
                match upper.as_str() {
                    "TPC-C" | "TPROC-C" => {
                        self.settings.set(GENERIC, "benchmark", "bm", "TPC-C");
                        let name = self.database_name();
                        say(world, &format!("Benchmark set to {upper} for {name}"));
                        self.save(world);
                    }
                    "TPC-H" | "TPROC-H" => say(
                        world,
                        "Error: Prony's hammerdbcli does not offer TPROC-H, only TPROC-C",
                    ),
                    _ => say(
                        world,
                        &format!(
                            "Unknown benchmark {upper}, choose one from TPROC-C TPROC-H (or compatible names TPC-C TPC-H)"
                        ),
                    ),
                }
            }
            [_, _] => {
                say(world, "Error: invalid option");
                say(world, "Usage: dbset [db|bm] value");
            }
            _ => say(world, "Usage: dbset [db|bm] value"),
        }
    }

    fn diset(&mut self, world: &mut dyn World, words: &[&str]) {
        let prefix = self.settings.database.clone();
        let name = self.database_name();
        let hint = format!("Type \"print dict\" for valid dictionaries and keys for {name}");
        let [section, key, value] = words else {
            say(
                world,
                "Error: Invalid number of arguments\nUsage: diset dict key value",
            );
            say(world, &hint);
            return;
        };
        let sections = dictionary::sections(&prefix).unwrap_or(&[]);
        if !sections.iter().any(|(known, _)| known == section) {
            say(world, "Usage: diset dict key value");
            say(
                world,
                &format!("Dictionary \"{section}\" for {name} does not exist"),
            );
            say(world, &hint);
            return;
        }
        let value = value.trim();
        let Some(old) = self
            .settings
            .value(&prefix, section, key)
            .map(str::to_owned)
        else {
            let elsewhere = (sections.iter())
                .find(|(_, keys)| keys.iter().any(|(known, _)| known == key))
                .map_or_else(
                    || format!("cannot be found in any {name} dictionary"),
                    |(other, _)| format!("is in the \"{other}\" dictionary"),
                );
            let complaint = format!(
                "Dictionary \"{section}\" for {name} exists but key \"{key}\" doesn't, key \"{key}\" {elsewhere}"
            );
            say(world, &complaint);
            say(world, &hint);
            return;
        };
        let (before, after) = (shown(key, &old), shown(key, value));
        if old == value {
            let line = format!(
                "Value {after} for {section}:{key} is the same as existing value {before}, no change made"
            );
            say(world, &line);
            return;
        }
        if key.ends_with("driver") {
            say(
                world,
                "Clearing Script, reload script to activate new setting",
            );
            self.clear_script(world);
            if value != "test" && value != "timed" {
                say(
                    world,
                    "Error: Driver script must be either \"test\" or \"timed\"",
                );
                return;
            }
        }
        self.settings.set(&prefix, section, key, value);
        say(
            world,
            &format!("Changed {section}:{key} from {before} to {after} for {name}"),
        );
        self.save(world);
    }

    fn giset(&mut self, world: &mut dyn World, words: &[&str]) {
        let hint = "Type \"print generic\" for valid dictionaries and keys";
        let [section, key, value] = words else {
            say(
                world,
                "Error: Invalid number of arguments\nUsage: giset dict key value",
            );
            say(world, hint);
            return;
        };
        let sections = dictionary::sections(GENERIC).unwrap_or(&[]);
        if !sections.iter().any(|(known, _)| known == section) {
            say(world, "Usage: giset dict key value");
            say(world, hint);
            return;
        }
        let value = value.trim();
        match self
            .settings
            .value(GENERIC, section, key)
            .map(str::to_owned)
        {
            None => {
                let complaint =
                    format!("Dictionary \"{section}\" exists but key \"{key}\" doesn't");
                say(world, &complaint);
                say(world, hint);
            }
            Some(old) if old == value => say(
                world,
                &format!(
                    "Value {value} for {section}:{key} is the same as existing value {old}, no change made"
                ),
            ),
            Some(old) => {
                self.settings.set(GENERIC, section, key, value);
                let line = format!("Changed {section}:{key} from {old} to {value} for generic");
                say(world, &line);
                self.save(world);
            }
        }
    }

    fn vuset(&mut self, world: &mut dyn World, words: &[&str]) {
        let [option, value] = words else {
            puts(world, VUSET_USAGE);
            return;
        };
        let found = VUSET.iter().find(|(word, ..)| word == option);
        let Some((word, key, name, fallback, is_switch)) = found else {
            puts(world, "Error: invalid option");
            puts(world, VUSET_USAGE);
            return;
        };
        let number: Option<i64> = value.parse().ok();
        // `vuset vu vcpu` takes as many as there are processors, as of HammerDB 4.10.
        let value = match (*word, *value) {
            ("vu", "vcpu") => world.processors().to_string(),
            (_, value) => value.to_owned(),
        };
        let is_count = *word == "vu" && *words[1] == *"vcpu";
        let complaint = match (number, is_switch) {
            _ if is_count => None,
            (Some(0 | 1), true) => None,
            (_, true) => Some("must be 0 or 1"),
            (None, false) => Some("must be an integer"),
            (Some(number), false) if number < 1 => Some("must be 1 or greater"),
            (Some(_), false) => None,
        };
        let value = match complaint {
            None => value,
            Some(complaint) => {
                say(world, &format!("{name} {complaint}"));
                world.put(Channel::Out, "setting to value: ");
                (*fallback).to_owned()
            }
        };
        self.settings
            .set(GENERIC, "virtual_user_options", key, &value);
        self.save(world);
    }

    fn clear_script(&mut self, world: &mut dyn World) {
        self.is_loaded = false;
        say(world, "Script cleared");
    }

    fn temp(world: &dyn World) -> String {
        let found = ["TMP", "TMPDIR", "TEMP"]
            .iter()
            .find_map(|name| world.variable(name));
        let folder = found.filter(|folder| !folder.is_empty());
        let folder = folder.unwrap_or_else(|| "/tmp".to_owned());
        folder.trim_end_matches('/').to_owned()
    }

    fn log_path(&self, world: &mut dyn World) -> Option<String> {
        if self.settings.option("log_to_temp") == 0 {
            return None;
        }
        let folder = Self::temp(world);
        Some(if self.settings.option("unique_log_name") == 1 {
            format!("{folder}/hammerdb_{}.log", world.job_id())
        } else {
            format!("{folder}/hammerdb.log")
        })
    }

    fn output(&self) -> Output {
        Output {
            shown: self.settings.option("show_output") == 1,
            log: self.users.as_ref().and_then(|users| users.log.clone()),
            timestamps: self.settings.option("log_timestamps") == 1,
        }
    }

    /// Whether the database is one that Prony's hammerdbcli builds and runs: the place where MySQL's
    /// and MariaDB's requests will begin.
    fn is_offered(&self, world: &mut dyn World) -> bool {
        let offered = self.settings.database == "pg";
        if !offered {
            let name = self.database_name();
            let complaint =
                format!("Error: Prony's hammerdbcli builds and runs PostgreSQL only, not {name}");
            puts(world, &complaint);
        }
        offered
    }

    /// Makes virtual users and says so.
    fn make_users(&mut self, world: &mut dyn World, count: u32, has_monitor: bool) {
        for number in 1..=count {
            let monitor = if has_monitor && number == 1 {
                " MONITOR"
            } else {
                ""
            };
            say(
                world,
                &format!("Vuser {number} created{monitor} - WAIT IDLE"),
            );
        }
        let log = self.log_path(world);
        if let Some(path) = &log {
            say(world, &format!("Logging activated\nto {path}"));
        }
        self.is_complete = false;
        self.users = Some(Users {
            states: vec![State::Idle; count as usize],
            log,
        });
    }

    /// Takes note of how virtual users ended.
    fn end(&mut self, world: &mut dyn World, outcome: Result<Ended, String>) {
        let failed = match outcome {
            Ok(ended) => ended.failed,
            Err(reason) => {
                say(world, &text::failure(1, &reason));
                say(world, &text::finished(1, false));
                let all = self.users.as_ref().map_or(0, |users| users.states.len());
                (1..=u32::try_from(all).unwrap_or(u32::MAX)).collect()
            }
        };
        if let Some(users) = &mut self.users {
            for (index, state) in users.states.iter_mut().enumerate() {
                let is_failed = failed.iter().any(|number| *number as usize == index + 1);
                *state = if is_failed {
                    State::Failed
                } else {
                    State::Success
                };
            }
        }
        self.is_complete = true;
        say(world, "ALL VIRTUAL USERS COMPLETE");
    }

    /// Whether virtual users stand in the way of work on the schema.
    fn is_busy(&self, world: &mut dyn World, what: &str) -> bool {
        let busy = self.users.is_some();
        if busy {
            let complaint = format!(
                "Error: Cannot {what} schema with Virtual Users active, destroy Virtual Users first"
            );
            puts(world, &complaint);
        }
        busy
    }

    fn build(&mut self, world: &mut dyn World) {
        if self.is_busy(world, "build") || !self.is_offered(world) {
            return;
        }
        let job = world.job_id();
        let mut reader = Reader::new(&self.settings);
        let mut request = reader.build(self.output(), job);
        if complain(world, &reader.complaints) {
            return;
        }
        let (warehouses, vusers) = (request.warehouses, request.vusers);
        if u64::from(vusers) > warehouses {
            puts(
                world,
                "Error:Build virtual users must be less than or equal to number of warehouses",
            );
            let line = format!("You have {vusers} virtual users building {warehouses} warehouses");
            puts(world, &line);
            return;
        }
        self.clear_script(world);
        let all = if vusers == 1 { 1 } else { vusers + 1 };
        puts(
            world,
            &if vusers == 1 {
                format!("Building {warehouses} Warehouses(s) with 1 Virtual User")
            } else {
                format!(
                    "Building {warehouses} Warehouses with {all} Virtual Users, {vusers} active + 1 Monitor VU(dict value pg_num_vu is set to {vusers})"
                )
            },
        );
        let owner = &request.owner;
        let question = format!(
            "Ready to create a {warehouses} Warehouse PostgreSQL TPROC-C schema\nin host {}:{} sslmode {} under user {} in database {}?",
            owner.host.to_uppercase(),
            owner.port,
            owner.ssl_mode.to_uppercase(),
            owner.user.to_uppercase(),
            owner.database.to_uppercase()
        );
        confirm(world, &question);
        self.make_users(world, all, false);
        request.output = self.output();
        let outcome = world.build(&request);
        self.end(world, outcome);
    }

    fn check(&mut self, world: &mut dyn World) -> String {
        self.on_schema(world, "check", "Check", |world, request| {
            world.check(request)
        })
    }

    fn delete(&mut self, world: &mut dyn World) -> String {
        self.on_schema(world, "delete", "Delet", |world, request| {
            world.delete(request)
        })
    }

    fn on_schema(
        &mut self,
        world: &mut dyn World,
        verb: &str,
        stem: &str,
        act: impl Fn(&mut dyn World, &super::request::SchemaRequest) -> Result<Ended, String>,
    ) -> String {
        if self.is_busy(world, verb) || !self.is_offered(world) {
            return String::new();
        }
        let job = world.job_id();
        let mut reader = Reader::new(&self.settings);
        let mut request = reader.schema(self.output(), job);
        if complain(world, &reader.complaints) {
            return String::new();
        }
        self.clear_script(world);
        puts(world, &format!("{stem}ing schema with 1 Virtual User"));
        let (owner, role) = (&request.owner, request.owner.user.to_uppercase());
        let (and_role, asker) = if verb == "delete" {
            (
                format!(" and role {role}"),
                request.superuser.user.to_uppercase(),
            )
        } else {
            (String::new(), role)
        };
        let question = format!(
            "Do you want to {verb} the {} TPROC-C schema{and_role}\n in host {}:{} under user {asker}?",
            owner.database.to_uppercase(),
            owner.host.to_uppercase(),
            owner.port
        );
        confirm(world, &question);
        self.make_users(world, 1, false);
        request.output = self.output();
        let outcome = act(world, &request);
        self.end(world, outcome);
        String::new()
    }

    fn is_timed(&self) -> bool {
        let key = format!("{}_driver", self.settings.database);
        let driver = self.settings.value(&self.settings.database, "tpcc", &key);
        driver != Some("test")
    }

    fn create(&mut self, world: &mut dyn World) {
        if !self.is_loaded {
            self.is_loaded = true;
            say(world, "Script loaded, Type \"print script\" to view");
        }
        if self.users.is_some() {
            say(
                world,
                "Error: Virtual Users exist, destroy with vudestroy before creating",
            );
            return;
        }
        let drivers = u32::try_from(self.settings.option("virtual_users")).unwrap_or(1);
        let (all, how) = if self.is_timed() {
            (drivers.saturating_add(1), " with Monitor VU")
        } else {
            (drivers, "")
        };
        self.make_users(world, all, self.is_timed());
        say(world, &format!("{all} Virtual Users Created{how}"));
    }

    fn run(&mut self, world: &mut dyn World) -> String {
        if !self.is_offered(world) {
            return String::new();
        }
        let job = world.job_id();
        let folder = Self::temp(world);
        let profile = if self.settings.generic("timeprofile", "xt_unique_log_name") == "1" {
            format!("{folder}/hdbxtprofile_{job}.log")
        } else {
            format!("{folder}/hdbxtprofile.log")
        };
        let mut reader = Reader::new(&self.settings);
        let mut request = reader.run(self.output(), job.clone(), profile);
        if complain(world, &reader.complaints) {
            return String::new();
        }
        if self.users.is_none() {
            self.create(world);
        }
        if !self.is_loaded {
            say(
                world,
                "Error: There is no workload to run because the Script is empty",
            );
            return String::new();
        }
        // The users that were created run, whatever was set since.
        let created = self.users.as_ref().map_or(0, |users| users.states.len());
        let monitor = u32::from(self.is_timed());
        request.vusers = u32::try_from(created)
            .unwrap_or(u32::MAX)
            .saturating_sub(monitor);
        request.output = self.output();
        let outcome = world.run(&request);
        self.end(world, outcome);
        format!("jobid={job}")
    }

    fn destroy(&mut self, world: &mut dyn World) {
        if self.users.take().is_some() {
            say(world, "vudestroy success");
        } else {
            say(world, "No Virtual Users found to destroy");
        }
        self.is_complete = false;
    }
}

/// Commands of HammerDB that have no meaning here, or not yet.
const NOT_OFFERED: [&str; 24] = [
    "customscript",
    "custommonitor",
    "datagenrun",
    "dgset",
    "distributescript",
    "librarycheck",
    "metset",
    "metstart",
    "metstatus",
    "metstop",
    "savescript",
    "steprun",
    "switchmode",
    "tcset",
    "tcstart",
    "tcstatus",
    "tcstop",
    "wsport",
    "wsstart",
    "wsstatus",
    "wsstop",
    "pipe",
    "pipes",
    "cilisten",
];

/// Prints complaints; whether there were any.
fn complain(world: &mut dyn World, complaints: &[String]) -> bool {
    let mut said: Vec<&String> = Vec::new();
    for complaint in complaints {
        if !said.contains(&complaint) {
            puts(world, complaint);
            said.push(complaint);
        }
    }
    !complaints.is_empty()
}

/// A question, and HammerDB's answer to itself.
fn confirm(world: &mut dyn World, question: &str) {
    say(world, question);
    say(world, "Enter yes or no: replied yes");
}
