//! The commands that need a server: schema commands and virtual users.
//!
//! In: settings. Out: requests to a [`Backend`], with HammerDB's lines around them. Must never: pass on a
//! request with invalid settings.

use super::backend::{Backend, VuserOutcome};
use super::request::{OutputOptions, RequestBuilder, SchemaRequest};
use super::session::{Session, VirtualUsers, VuserState};
use super::text;
use prony_document::SqlDialect;
use prony_plan::MAX_CLIENTS;

impl Session {
    /// The path of the log of the virtual users; `None` if they have no log.
    fn log_path(&self, backend: &mut dyn Backend) -> Option<String> {
        let options = &self.settings;
        (options.vuser_option("log_to_temp") != 0).then(|| {
            let is_unique = options.vuser_option("unique_log_name") == 1;
            let id = is_unique.then(|| backend.new_job_id());
            temp_log_path(backend, "hammerdb", id.as_deref())
        })
    }

    pub(super) fn output_options(&self) -> OutputOptions {
        OutputOptions {
            show_output: self.settings.vuser_option("show_output") == 1,
            log_path: self.users.as_ref().and_then(|users| users.log_path.clone()),
            logs_timestamps: self.settings.vuser_option("log_timestamps") == 1,
        }
    }

    /// Creates virtual users and prints HammerDB's lines about them. `has_monitor`: whether the first one is the monitor of a
    /// timed driver.
    pub(super) fn create_users(
        &mut self,
        backend: &mut dyn Backend,
        count: u32,
        has_monitor: bool,
    ) {
        for number in 1..=count {
            let monitor = if has_monitor && number == 1 { " MONITOR" } else { "" };
            backend.putscli(&format!("Vuser {number} created{monitor} - WAIT IDLE"));
        }
        let log_path = self.log_path(backend);
        if let Some(path) = &log_path {
            backend.putscli(&format!("Logging activated\nto {path}"));
        }
        self.are_users_complete = false;
        self.users = Some(VirtualUsers {
            states: vec![VuserState::Idle; count as usize],
            log_path,
            has_monitor,
        });
    }

    /// Records and prints the outcome of the virtual users.
    pub(super) fn record_outcome(
        &mut self,
        backend: &mut dyn Backend,
        outcome: Result<VuserOutcome, String>,
    ) {
        let failed_vusers = match outcome {
            Ok(outcome) => outcome.failed_vusers,
            Err(reason) => {
                backend.putscli(&text::failure_line(1, &reason));
                backend.putscli(&text::finished_line(1, false));
                let count = self.users.as_ref().map_or(0, |users| users.states.len());
                (1..=u32::try_from(count).unwrap_or(u32::MAX)).collect()
            }
        };
        if let Some(users) = &mut self.users {
            for (index, state) in users.states.iter_mut().enumerate() {
                let is_failed = failed_vusers.contains(&(index as u32 + 1));
                *state = if is_failed { VuserState::Failed } else { VuserState::Success };
            }
        }
        self.are_users_complete = true;
        backend.putscli("ALL VIRTUAL USERS COMPLETE");
    }

    /// Prints an error if virtual users exist, because HammerDB then does not change the schema. Returns
    /// whether virtual users exist.
    pub(super) fn refuse_while_users_exist(&self, backend: &mut dyn Backend, verb: &str) -> bool {
        let users_exist = self.users.is_some();
        if users_exist {
            let problem = "schema with Virtual Users active, destroy Virtual Users first";
            backend.puts(&format!("Error: Cannot {verb} {problem}"));
        }
        users_exist
    }

    pub(super) fn build_schema(&mut self, backend: &mut dyn Backend) {
        if self.refuse_while_users_exist(backend, "build") {
            return;
        }
        let job = backend.new_job_id();
        let mut builder = RequestBuilder::new(&self.settings);
        let mut request = builder.build_request(self.output_options(), job);
        if print_problems(backend, &builder.problems) {
            return;
        }
        let (warehouses, vusers) = (request.warehouses, request.vusers);
        if u64::from(vusers) > warehouses {
            let problem =
                "Error:Build virtual users must be less than or equal to number of warehouses";
            backend.puts(problem);
            let line = format!("You have {vusers} virtual users building {warehouses} warehouses");
            backend.puts(&line);
            return;
        }
        self.clear_script(backend);
        let total = if vusers == 1 { 1 } else { vusers + 1 };
        let line = if vusers == 1 {
            format!("Building {warehouses} Warehouses(s) with 1 Virtual User")
        } else {
            let key = request.owner.key("num_vu");
            format!(
                "Building {warehouses} Warehouses with {total} Virtual Users, {vusers} active + 1 Monitor VU\
                 (dict value {key} is set to {vusers})"
            )
        };
        backend.puts(&line);
        let owner = &request.owner;
        let [address, user, database] =
            [&owner.address(), &owner.user, &owner.database].map(|text| text.to_uppercase());
        let (mode, storage) = match owner.product.dialect {
            SqlDialect::PostgreSql => {
                let mode = owner.ssl_mode.to_uppercase();
                (format!(" sslmode {mode}"), "")
            }
            SqlDialect::MySql => (String::new(), " with storage engine INNODB"),
            SqlDialect::TransactSql => (String::new(), ""),
        };
        let question = format!(
            "Ready to create a {warehouses} Warehouse {} TPROC-C schema\nin host {address}{mode} under user {user} in database {database}{storage}?",
            owner.product.name
        );
        confirm(backend, &question);
        self.create_users(backend, total, false);
        request.output = self.output_options();
        let outcome = backend.build_schema(&request);
        self.record_outcome(backend, outcome);
    }

    pub(super) fn check_schema(&mut self, backend: &mut dyn Backend) {
        self.run_schema_command(backend, "check", "Check", |backend, request| {
            backend.check_schema(request)
        });
    }

    pub(super) fn delete_schema(&mut self, backend: &mut dyn Backend) {
        self.run_schema_command(backend, "delete", "Delet", |backend, request| {
            backend.delete_schema(request)
        });
    }

    /// Runs `checkschema` or `deleteschema`. `stem`: the verb in HammerDB's text, without `ing`.
    pub(super) fn run_schema_command(
        &mut self,
        backend: &mut dyn Backend,
        verb: &str,
        stem: &str,
        execute: impl Fn(&mut dyn Backend, &SchemaRequest) -> Result<VuserOutcome, String>,
    ) {
        if self.refuse_while_users_exist(backend, verb) {
            return;
        }
        let job = backend.new_job_id();
        let mut builder = RequestBuilder::new(&self.settings);
        let mut request = builder.schema_request(self.output_options(), job);
        if print_problems(backend, &builder.problems) {
            return;
        }
        self.clear_script(backend);
        backend.puts(&format!("{stem}ing schema with 1 Virtual User"));
        let owner = &request.owner;
        let role = owner.user.to_uppercase();
        let (and_role, user) = match (owner.product.dialect, verb) {
            (SqlDialect::PostgreSql, "delete") => (
                format!(" and role {role}"),
                request.superuser.user.to_uppercase(),
            ),
            (SqlDialect::PostgreSql | SqlDialect::MySql | SqlDialect::TransactSql, _) => {
                (String::new(), role)
            }
        };
        let question = format!(
            "Do you want to {verb} the {} TPROC-C schema{and_role}\n in host {} under user {user}?",
            owner.database.to_uppercase(),
            owner.address().to_uppercase(),
        );
        confirm(backend, &question);
        self.create_users(backend, 1, false);
        request.output = self.output_options();
        let outcome = execute(backend, &request);
        self.record_outcome(backend, outcome);
    }

    /// Whether runs end by time, with a monitor; otherwise they use the test driver.
    pub(super) fn has_timed_driver(&self) -> bool {
        let key = format!("{}_driver", self.settings.database);
        let driver = self.settings.value(&self.settings.database, "tpcc", &key);
        driver != Some("test")
    }

    /// `vucreate`: creates the configured number of virtual users, and a monitor for the timed driver.
    pub(super) fn create_configured_users(&mut self, backend: &mut dyn Backend) {
        if !self.is_script_loaded {
            self.is_script_loaded = true;
            backend.putscli("Script loaded, Type \"print script\" to view");
        }
        if self.users.is_some() {
            backend.putscli("Error: Virtual Users exist, destroy with vudestroy before creating");
            return;
        }
        let virtual_users = u32::try_from(self.settings.vuser_option("virtual_users"));
        let Ok(active_users @ ..=MAX_CLIENTS) = virtual_users else {
            let problem = format!("Error: at most {MAX_CLIENTS} Virtual Users can be created");
            return backend.putscli(&problem);
        };
        let (total, suffix) = if self.has_timed_driver() {
            (active_users.saturating_add(1), " with Monitor VU")
        } else {
            (active_users, "")
        };
        self.create_users(backend, total, self.has_timed_driver());
        backend.putscli(&format!("{total} Virtual Users Created{suffix}"));
    }

    /// `vurun`: runs the workload; returns the identifier of the job, empty if it did not run.
    pub(super) fn run_users(&mut self, backend: &mut dyn Backend) -> String {
        let job = backend.new_job_id();
        let unique = self
            .settings
            .generic_value("timeprofile", "xt_unique_log_name");
        let id = (unique == "1").then_some(job.as_str());
        let profile = temp_log_path(backend, "hdbxtprofile", id);
        let mut builder = RequestBuilder::new(&self.settings);
        let mut request = builder.run_request(self.output_options(), job.clone(), profile);
        if print_problems(backend, &builder.problems) {
            return String::new();
        }
        if self.users.is_none() {
            self.create_configured_users(backend);
            if self.users.is_none() {
                return String::new();
            }
        }
        if !self.is_script_loaded {
            backend.putscli("Error: There is no workload to run because the Script is empty");
            return String::new();
        }
        // Run the existing virtual users, even if the settings have changed since they were created; but
        // users that were created for a build or for a different driver cannot run.
        let created = self.users.as_ref();
        if created.is_some_and(|users| users.has_monitor != self.has_timed_driver()) {
            backend.putscli("Error: Virtual Users exist, destroy with vudestroy before creating");
            return String::new();
        }
        let total = created.map_or(0, |users| users.states.len());
        let monitor = u32::from(self.has_timed_driver());
        request.vusers = u32::try_from(total)
            .unwrap_or(u32::MAX)
            .saturating_sub(monitor);
        request.output = self.output_options();
        request.counter.clone_from(&self.counter);
        let outcome = backend.run_workload(&request);
        self.record_outcome(backend, outcome);
        format!("jobid={job}")
    }

    pub(super) fn destroy_users(&mut self, backend: &mut dyn Backend) {
        if self.users.take().is_some() {
            backend.putscli("vudestroy success");
        } else {
            backend.putscli("No Virtual Users found to destroy");
        }
        self.are_users_complete = false;
    }
}

/// The path of a log in the folder for temporary files. `id`: makes the name unique.
pub(super) fn temp_log_path(backend: &dyn Backend, name: &str, id: Option<&str>) -> String {
    let variable = ["TMP", "TMPDIR", "TEMP"]
        .iter()
        .find_map(|name| backend.system().env_var(name));
    let folder = variable.filter(|folder| !folder.is_empty());
    let folder = folder.unwrap_or_else(|| "/tmp".to_owned());
    let folder = folder.trim_end_matches('/');
    match id {
        Some(id) => format!("{folder}/{name}_{id}.log"),
        None => format!("{folder}/{name}.log"),
    }
}

/// Prints each problem once; returns whether there is one.
fn print_problems(backend: &mut dyn Backend, problems: &[String]) -> bool {
    let mut printed: Vec<&String> = Vec::new();
    for problem in problems {
        if !printed.contains(&problem) {
            backend.puts(problem);
            printed.push(problem);
        }
    }
    !problems.is_empty()
}

/// Prints a question and the answer yes, which hammerdbcli gives itself.
fn confirm(backend: &mut dyn Backend, question: &str) {
    backend.putscli(question);
    backend.putscli("Enter yes or no: replied yes");
}
