//! What a script asks for, as plain data.
//!
//! In: settings. Out: requests, or every complaint about them. Must never: connect.

use prony_wire::Secret;

use super::settings::Settings;

/// Where the server is and who asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Login {
    /// Host name or address (`pg_host`).
    pub host: String,
    /// Port (`pg_port`).
    pub port: u16,
    /// libpq's `sslmode` (`pg_sslmode`).
    pub ssl_mode: String,
    /// The role.
    pub user: String,
    /// Its password.
    pub password: Secret,
    /// The database.
    pub database: String,
}

/// Where the lines of virtual users go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// To the terminal (`vuset showoutput`); RUNNING and FINISHED lines go there in any case.
    pub shown: bool,
    /// The log file's path (`vuset logtotemp`).
    pub log: Option<String>,
    /// A line with the time before each line of the log (`vuset timestamps`).
    pub timestamps: bool,
}

/// What `tcstart` asks of a run: transactions a minute, at intervals.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counter {
    /// Seconds between two counts.
    pub refresh_s: u64,
    /// The log file's path.
    pub log: Option<String>,
    /// A line with the time before each count in the log.
    pub timestamps: bool,
}

/// `buildschema`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BuildRequest {
    /// The superuser, in the default database.
    pub superuser: Login,
    /// The role that will own the schema, in the database to be made.
    pub owner: Login,
    /// Tablespace (`pg_tspace`).
    pub tablespace: String,
    /// Warehouses.
    pub warehouses: u64,
    /// Virtual users that load; above one, a monitor is added.
    pub vusers: u32,
    /// Procedures in place of functions.
    pub stored_procedures: bool,
    /// `order_line` in parts, from 200 warehouses on.
    pub partition: bool,
    /// Where lines go.
    pub output: Output,
    /// The job's identifier.
    pub job: String,
}

/// `checkschema` and `deleteschema`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaRequest {
    /// The superuser, in the default database.
    pub superuser: Login,
    /// The schema's owner, in its database.
    pub owner: Login,
    /// The warehouses that are expected.
    pub warehouses: u64,
    /// Where lines go.
    pub output: Output,
    /// The job's identifier.
    pub job: String,
}

/// How a run ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Driver {
    /// By time, with a monitor as virtual user 1.
    Timed {
        /// Minutes before counting begins.
        rampup_min: u64,
        /// Minutes that count.
        duration_min: u64,
        /// A checkpoint and a vacuum at the end.
        vacuum: bool,
    },
    /// After the iterations; each transaction is printed.
    Test,
}

/// `vurun`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunRequest {
    /// The role that runs.
    pub login: Login,
    /// The superuser, in the schema's database: for what is done after the run.
    pub superuser: Login,
    /// How the run ends.
    pub driver: Driver,
    /// Virtual users that drive; the monitor not counted.
    pub vusers: u32,
    /// Transactions a virtual user makes at most (`pg_total_iterations`).
    pub iterations: u64,
    /// A failed transaction ends its virtual user.
    pub raise_error: bool,
    /// Keying and think times.
    pub key_and_think: bool,
    /// Each virtual user takes its share of all warehouses.
    pub all_warehouses: bool,
    /// Procedures are called, not functions.
    pub stored_procedures: bool,
    /// Where the time profile goes, if there shall be one.
    pub time_profile: Option<String>,
    /// Milliseconds between the starts of virtual users.
    pub user_delay_ms: u64,
    /// Transactions a minute, as the run goes.
    pub counter: Option<Counter>,
    /// TPM stands before NOPM in the result.
    pub tpm_first: bool,
    /// Where lines go.
    pub output: Output,
    /// The job's identifier.
    pub job: String,
}

/// Reads settings and gathers what is wrong with them.
pub(super) struct Reader<'a> {
    settings: &'a Settings,
    pub complaints: Vec<String>,
}

impl<'a> Reader<'a> {
    pub fn new(settings: &'a Settings) -> Self {
        Self {
            settings,
            complaints: Vec::new(),
        }
    }

    fn text(&self, section: &str, key: &str) -> String {
        let value = self.settings.value("pg", section, key);
        value.unwrap_or_default().to_owned()
    }

    fn flag(&mut self, key: &str) -> bool {
        let value = self.text("tpcc", key);
        match value.to_ascii_lowercase().as_str() {
            "true" | "1" | "yes" | "on" => true,
            "false" | "0" | "no" | "off" => false,
            _ => {
                let complaint = format!("Error: {key} must be true or false, not \"{value}\"");
                self.complaints.push(complaint);
                false
            }
        }
    }

    /// A choice that Prony does not offer.
    fn must_be_off(&mut self, key: &str) {
        if self.flag(key) {
            let complaint = format!("Error: Prony does not offer {key}: diset tpcc {key} false");
            self.complaints.push(complaint);
        }
    }

    fn number(&mut self, section: &str, key: &str, least: u64, most: u64) -> u64 {
        let value = self.text(section, key);
        match value.parse() {
            Ok(number) if (least..=most).contains(&number) => number,
            _ => {
                let most = if most == u64::MAX {
                    " or greater".to_owned()
                } else {
                    format!(" to {most}")
                };
                let complaint =
                    format!("Error: {key} must be an integer of {least}{most}, not \"{value}\"");
                self.complaints.push(complaint);
                least
            }
        }
    }

    fn login(&mut self, user: &str, password: &str, database: &str) -> Login {
        Login {
            host: self.text("connection", "pg_host"),
            port: self.number("connection", "pg_port", 1, 65_535) as u16,
            ssl_mode: self.text("connection", "pg_sslmode"),
            user: self.text("tpcc", user),
            password: Secret::new(self.text("tpcc", password)),
            database: self.text("tpcc", database),
        }
    }

    fn superuser(&mut self) -> Login {
        self.login("pg_superuser", "pg_superuserpass", "pg_defaultdbase")
    }

    fn owner(&mut self) -> Login {
        self.login("pg_user", "pg_pass", "pg_dbase")
    }

    /// Schemas that Prony neither makes nor runs on.
    fn refuse_other_schemas(&mut self) {
        for key in ["pg_oracompat", "pg_cituscompat"] {
            self.must_be_off(key);
        }
    }

    pub fn build(&mut self, output: Output, job: String) -> BuildRequest {
        self.refuse_other_schemas();
        BuildRequest {
            superuser: self.superuser(),
            owner: self.owner(),
            tablespace: self.text("tpcc", "pg_tspace"),
            warehouses: self.number("tpcc", "pg_count_ware", 1, u64::MAX),
            vusers: self.number("tpcc", "pg_num_vu", 1, 1024) as u32,
            stored_procedures: self.flag("pg_storedprocs"),
            partition: self.flag("pg_partition"),
            output,
            job,
        }
    }

    pub fn schema(&mut self, output: Output, job: String) -> SchemaRequest {
        SchemaRequest {
            superuser: self.superuser(),
            owner: self.owner(),
            warehouses: self.number("tpcc", "pg_count_ware", 1, u64::MAX),
            output,
            job,
        }
    }

    pub fn run(&mut self, output: Output, job: String, profile_path: String) -> RunRequest {
        for key in ["pg_async_scale", "pg_connect_pool", "pg_dritasnap"] {
            self.must_be_off(key);
        }
        self.refuse_other_schemas();
        let driver = if self.text("tpcc", "pg_driver") == "test" {
            Driver::Test
        } else {
            Driver::Timed {
                rampup_min: self.number("tpcc", "pg_rampup", 0, 1_000_000),
                duration_min: self.number("tpcc", "pg_duration", 1, 1_000_000),
                vacuum: self.flag("pg_vacuum"),
            }
        };
        RunRequest {
            login: self.owner(),
            superuser: self.login("pg_superuser", "pg_superuserpass", "pg_dbase"),
            driver,
            vusers: u32::try_from(self.settings.option("virtual_users")).unwrap_or(u32::MAX),
            iterations: self.number("tpcc", "pg_total_iterations", 1, u64::MAX),
            raise_error: self.flag("pg_raiseerror"),
            key_and_think: self.flag("pg_keyandthink"),
            all_warehouses: self.flag("pg_allwarehouse"),
            stored_procedures: self.flag("pg_storedprocs"),
            time_profile: self.flag("pg_timeprofile").then_some(profile_path),
            user_delay_ms: self.settings.option("user_delay"),
            counter: None,
            tpm_first: self.settings.generic("benchmark", "first_result") == "TPM",
            output,
            job,
        }
    }
}
