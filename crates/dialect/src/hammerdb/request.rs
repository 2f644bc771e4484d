//! The commands of a hammerdbcli script that connect, such as `buildschema` and `vurun`, as plain data.
//!
//! In: settings. Out: a request, or all problems of its settings. Must never: connect.

mod sql_server;

use prony_document::{Product, SqlDialect};
use prony_wire::Secret;

use super::dictionary;
use super::settings::Settings;

/// How a connection to MySQL or MariaDB is encrypted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ssl {
    /// The certificate of the authority (`mysql_ssl_ca`).
    pub ca: String,
    /// The client's certificate and key (`mysql_ssl_two_way`).
    pub client_cert: Option<(String, String)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SqlServerConnection {
    /// Whether the port applies (`mssqls_tcp`); otherwise the host determines it: it may name an instance or
    /// a port, and the default is 1433.
    pub uses_port: bool,
    /// Whether TLS is required (`mssqls_encrypt_connection`).
    pub encrypts: bool,
    /// Whether the server's certificate is not verified (`mssqls_trust_server_cert`).
    pub trusts_certificate: bool,
    /// Whether the server is an Azure SQL Database (`mssqls_azure`), whose database must exist.
    pub azure: bool,
}

/// A server, and who connects to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Login {
    pub product: Product,
    /// Host name or address (`pg_host`).
    pub host: String,
    /// Port (`pg_port`).
    pub port: u16,
    /// libpq's `sslmode` (`pg_sslmode`); empty for the other engines.
    pub ssl_mode: String,
    /// The path of the unix socket of MySQL or MariaDB; used if the host is local and the path is not
    /// `null`.
    pub socket: Option<String>,
    /// TLS settings of MySQL and MariaDB; none without encryption.
    pub ssl: Option<Ssl>,
    /// Settings of connections to SQL Server; `None` for the other engines.
    pub sql_server: Option<SqlServerConnection>,
    pub user: String,
    pub password: Secret,
    pub database: String,
}

impl Login {
    /// Host and port, or host and socket; on SQL Server the name of the server, as its clients write it.
    pub fn address(&self) -> String {
        match (&self.socket, &self.sql_server) {
            (_, Some(options)) if options.uses_port => format!("tcp:{},{}", self.host, self.port),
            (_, Some(_)) => self.host.clone(),
            (Some(socket), None) => format!("{}:{socket}", self.host),
            (None, None) => format!("{}:{}", self.host, self.port),
        }
    }

    /// The name of the database in time profiles and counts: that of `print db`.
    pub fn database_name(&self) -> &'static str {
        dictionary::database_name(dictionary::database_prefix(self.product))
    }

    /// The section of the dictionary with the password.
    pub fn password_section(&self) -> &'static str {
        match self.product.dialect {
            SqlDialect::PostgreSql | SqlDialect::MySql => "tpcc",
            SqlDialect::TransactSql => sql_server::LOGIN_SECTION,
        }
    }

    /// The full key of a setting of this database, such as `pg_host` for `host`.
    pub fn key(&self, setting: &str) -> String {
        key(self.product, setting)
    }
}

/// The full key of a database's setting, such as `pg_host` for `host`.
fn key(product: Product, setting: &str) -> String {
    format!("{}_{setting}", dictionary::database_prefix(product))
}

/// Where the lines of virtual users are printed and logged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputOptions {
    /// Whether lines are printed on the terminal (`vuset showoutput`); RUNNING and FINISHED lines always are.
    pub show_output: bool,
    /// The log file's path (`vuset logtotemp`).
    pub log_path: Option<String>,
    /// Whether a line with the time precedes each line of the log (`vuset timestamps`).
    pub logs_timestamps: bool,
}

/// The options of `tcstart`, which prints transactions per minute at intervals.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransactionCounter {
    /// Seconds between two counts.
    pub refresh_s: u64,
    pub log_path: Option<String>,
    pub logs_timestamps: bool,
}

/// The request of `buildschema`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BuildRequest {
    /// The superuser's login to the default database; on MySQL and MariaDB, the owner's login without a
    /// database; on SQL Server, the owner's login to `master`.
    pub superuser: Login,
    /// The role that will own the schema, in the database that the build creates.
    pub owner: Login,
    /// Tablespace (`pg_tspace`).
    pub tablespace: String,
    pub warehouses: u64,
    /// Virtual users that load; if more than one, a monitor is added.
    pub vusers: u32,
    pub stored_procedures: bool,
    /// Whether to partition `order_line`, which needs at least 200 warehouses.
    pub partitions_order_line: bool,
    pub has_history_key: bool,
    /// Where to print and log lines.
    pub output: OutputOptions,
    pub job_id: String,
}

impl BuildRequest {
    /// The schema's name in HammerDB's texts: the owner's name on PostgreSQL, elsewhere the database's.
    pub fn schema_name(&self) -> String {
        match self.owner.product.dialect {
            SqlDialect::PostgreSql => self.owner.user.clone(),
            SqlDialect::MySql | SqlDialect::TransactSql => self.owner.database.clone(),
        }
    }
}

/// The request of `checkschema` and `deleteschema`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaRequest {
    /// The superuser's login to the default database; on MySQL and MariaDB, the owner's login without a
    /// database; on SQL Server, the owner's login to `master`.
    pub superuser: Login,
    /// The schema's owner, in its database.
    pub owner: Login,
    pub warehouses: u64,
    /// Where to print and log lines.
    pub output: OutputOptions,
    pub job_id: String,
}

/// HammerDB's driver script (`pg_driver`), which decides when the virtual users end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Driver {
    /// `timed`: after ramp-up and window. Virtual user 1 is a monitor.
    Timed {
        /// Minutes before the window.
        rampup_min: u64,
        /// Minutes of the window.
        duration_min: u64,
        /// Whether to run a checkpoint at the end (`mssqls_checkpoint`), on PostgreSQL with a vacuum
        /// (`pg_vacuum`).
        checkpoint: bool,
    },
    /// `test`: after all iterations. Each transaction is printed.
    Test,
}

/// The request of `vurun`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunRequest {
    pub login: Login,
    /// The superuser, in the schema's database, for the checkpoint and the vacuum after the run.
    pub superuser: Login,
    pub driver: Driver,
    /// Virtual users that run transactions; the monitor is not counted.
    pub vusers: u32,
    /// The maximum number of transactions per virtual user (`pg_total_iterations`).
    pub iterations: u64,
    /// Whether a failed transaction ends its virtual user.
    pub raise_error: bool,
    /// Whether users wait for keying and think times (`pg_keyandthink`).
    pub key_and_think: bool,
    /// Whether the virtual users divide all warehouses among themselves.
    pub all_warehouses: bool,
    /// Whether to call procedures instead of functions.
    pub stored_procedures: bool,
    pub time_profile_path: Option<String>,
    /// The time between the starts of two virtual users, in milliseconds.
    pub user_delay_ms: u64,
    pub counter: Option<TransactionCounter>,
    /// Whether the result prints TPM before NOPM.
    pub tpm_first: bool,
    /// Where to print and log lines.
    pub output: OutputOptions,
    pub job_id: String,
}

/// Builds requests from settings, and collects problems of the settings.
pub(super) struct RequestBuilder<'a> {
    settings: &'a Settings,
    product: Product,
    pub problems: Vec<String>,
}

impl<'a> RequestBuilder<'a> {
    pub fn new(settings: &'a Settings) -> Self {
        let prefix = settings.database.as_str();
        let product = dictionary::database_product(prefix);
        let problems = match product {
            Some(_) => Vec::new(),
            None => vec![dictionary::unsupported_message(prefix)],
        };
        Self {
            settings,
            // Only to find further problems: with one of them, no request is sent.
            product: product.unwrap_or(Product::POSTGRESQL),
            problems,
        }
    }

    /// The value of a key, which is given without the database's prefix.
    fn setting_text(&self, section: &str, name: &str) -> String {
        let prefix = dictionary::database_prefix(self.product);
        let key = key(self.product, name);
        let value = self.settings.value(prefix, section, &key);
        value.unwrap_or_default().to_owned()
    }

    /// A switch of the section `tpcc`.
    fn tpcc_switch(&mut self, name: &str) -> bool {
        self.switch("tpcc", name)
    }

    /// A switch that only PostgreSQL's dictionary has; false on the other engines.
    fn postgres_switch(&mut self, name: &str) -> bool {
        match self.product.dialect {
            SqlDialect::PostgreSql => self.tpcc_switch(name),
            SqlDialect::MySql | SqlDialect::TransactSql => false,
        }
    }

    /// A setting that is true or false; reports a problem if its value is neither.
    fn switch(&mut self, section: &str, name: &str) -> bool {
        let value = self.setting_text(section, name);
        match value.to_ascii_lowercase().as_str() {
            "true" | "1" | "yes" | "on" => true,
            "false" | "0" | "no" | "off" => false,
            _ => {
                let key = key(self.product, name);
                let problem = format!("Error: {key} must be true or false, not \"{value}\"");
                self.problems.push(problem);
                false
            }
        }
    }

    /// Reports a problem if an option that Prony does not support is on.
    fn require_off(&mut self, name: &str) {
        if self.tpcc_switch(name) {
            let key = key(self.product, name);
            let problem = format!("Error: Prony does not support {key}: diset tpcc {key} false");
            self.problems.push(problem);
        }
    }

    /// Reports a problem if a setting differs from the only value that Prony supports.
    fn require_value(&mut self, section: &str, name: &str, supported: &str) {
        let value = self.setting_text(section, name);
        if !value.eq_ignore_ascii_case(supported) {
            let key = key(self.product, name);
            let problem = format!(
                "Error: Prony does not support {key} {value}: diset {section} {key} {supported}"
            );
            self.problems.push(problem);
        }
    }

    /// A setting that is a number from `min` to `max`; reports a problem if it is not.
    fn setting_number(&mut self, section: &str, name: &str, min: u64, max: u64) -> u64 {
        let value = self.setting_text(section, name);
        match value.parse() {
            Ok(number) if (min..=max).contains(&number) => number,
            _ => {
                let range_end =
                    if max == u64::MAX { " or greater".to_owned() } else { format!(" to {max}") };
                let key = key(self.product, name);
                let problem =
                    format!("Error: {key} must be an integer of {min}{range_end}, not \"{value}\"");
                self.problems.push(problem);
                min
            }
        }
    }

    /// The login whose user, password and database the settings with these names have.
    fn login(&mut self, user_key: &str, password_key: &str, database_key: &str) -> Login {
        let port = self.setting_number("connection", "port", 1, 65_535) as u16;
        let (socket, ssl) = match self.product.dialect {
            SqlDialect::PostgreSql | SqlDialect::TransactSql => (None, None),
            SqlDialect::MySql => (self.socket(), self.ssl()),
        };
        Login {
            product: self.product,
            host: self.setting_text("connection", "host"),
            port,
            ssl_mode: self.setting_text("connection", "sslmode"),
            socket,
            ssl,
            sql_server: None,
            user: self.setting_text("tpcc", user_key),
            password: Secret::new(self.password(password_key)),
            database: self.setting_text("tpcc", database_key),
        }
    }

    /// The password. On MariaDB, HammerDB writes `null` for an empty password.
    fn password(&self, key: &str) -> String {
        let password = self.setting_text("tpcc", key);
        if self.product == Product::MARIADB && password.eq_ignore_ascii_case("null") {
            String::new()
        } else {
            password
        }
    }

    /// The path of the socket of MySQL or MariaDB; `None` if the connection is over TCP.
    fn socket(&self) -> Option<String> {
        let host = self.setting_text("connection", "host").to_ascii_lowercase();
        let socket = self.setting_text("connection", "socket");
        let is_local = host == "localhost" || host == "127.0.0.1";
        (is_local && !socket.eq_ignore_ascii_case("null")).then_some(socket)
    }

    fn ssl(&mut self) -> Option<Ssl> {
        if !self.switch("connection", "ssl") {
            return None;
        }
        self.require_value("connection", "ssl_cipher", "server");
        let folder = self.setting_text("connection", "ssl_linux_capath");
        let path = |builder: &Self, name: &str| {
            let file = builder.setting_text("connection", name);
            if file.starts_with('/') {
                file
            } else {
                format!("{}/{file}", folder.trim_end_matches('/'))
            }
        };
        let two_way = self.switch("connection", "ssl_two_way");
        Some(Ssl {
            ca: path(self, "ssl_ca"),
            client_cert: two_way.then(|| (path(self, "ssl_cert"), path(self, "ssl_key"))),
        })
    }

    fn superuser(&mut self) -> Login {
        match self.product.dialect {
            SqlDialect::PostgreSql => self.login("superuser", "superuserpass", "defaultdbase"),
            SqlDialect::MySql => Login {
                database: String::new(),
                ..self.owner()
            },
            SqlDialect::TransactSql => self.sql_server_administrator(),
        }
    }

    fn owner(&mut self) -> Login {
        match self.product.dialect {
            SqlDialect::PostgreSql | SqlDialect::MySql => self.login("user", "pass", "dbase"),
            SqlDialect::TransactSql => self.sql_server_login(),
        }
    }

    /// Reports a problem about a schema that Prony can neither build nor run on.
    fn refuse_unsupported_schemas(&mut self) {
        match self.product.dialect {
            SqlDialect::PostgreSql => {
                self.require_off("oracompat");
                self.require_off("cituscompat");
            }
            SqlDialect::MySql => {
                self.require_value("tpcc", "storage_engine", "innodb");
            }
            SqlDialect::TransactSql => self.refuse_memory_optimized_tables(),
        }
    }

    pub fn build_request(&mut self, output: OutputOptions, job_id: String) -> BuildRequest {
        self.refuse_unsupported_schemas();
        BuildRequest {
            superuser: self.superuser(),
            owner: self.owner(),
            tablespace: self.setting_text("tpcc", "tspace"),
            warehouses: self.setting_number("tpcc", "count_ware", 1, u64::MAX),
            vusers: self.setting_number("tpcc", "num_vu", 1, 1024) as u32,
            stored_procedures: self.product.dialect != SqlDialect::PostgreSql
                || self.tpcc_switch("storedprocs"),
            has_history_key: matches!(self.product.dialect, SqlDialect::MySql)
                && self.tpcc_switch("history_pk"),
            partitions_order_line: self.product.dialect != SqlDialect::TransactSql
                && self.tpcc_switch("partition"),
            output,
            job_id,
        }
    }

    pub fn schema_request(&mut self, output: OutputOptions, job_id: String) -> SchemaRequest {
        SchemaRequest {
            superuser: self.superuser(),
            owner: self.owner(),
            warehouses: self.setting_number("tpcc", "count_ware", 1, u64::MAX),
            output,
            job_id,
        }
    }

    pub fn run_request(
        &mut self,
        output: OutputOptions,
        job_id: String,
        profile_path: String,
    ) -> RunRequest {
        for name in ["async_scale", "connect_pool"] {
            self.require_off(name);
        }
        match self.product.dialect {
            SqlDialect::PostgreSql => self.require_off("dritasnap"),
            // HammerDB always prepares these calls; read the switch only to report an invalid value.
            SqlDialect::MySql => {
                self.tpcc_switch("prepared");
            }
            SqlDialect::TransactSql => {}
        }
        self.refuse_unsupported_schemas();
        let driver = if self.setting_text("tpcc", "driver") == "test" {
            Driver::Test
        } else {
            Driver::Timed {
                rampup_min: self.setting_number("tpcc", "rampup", 0, 1_000_000),
                duration_min: self.setting_number("tpcc", "duration", 1, 1_000_000),
                checkpoint: match self.product.dialect {
                    SqlDialect::PostgreSql => self.tpcc_switch("vacuum"),
                    SqlDialect::MySql => false,
                    SqlDialect::TransactSql => self.tpcc_switch("checkpoint"),
                },
            }
        };
        RunRequest {
            login: self.owner(),
            superuser: match self.product.dialect {
                SqlDialect::PostgreSql => self.login("superuser", "superuserpass", "dbase"),
                SqlDialect::MySql | SqlDialect::TransactSql => self.owner(),
            },
            driver,
            vusers: u32::try_from(self.settings.vuser_option("virtual_users")).unwrap_or(u32::MAX),
            iterations: self.setting_number("tpcc", "total_iterations", 1, u64::MAX),
            raise_error: self.tpcc_switch("raiseerror"),
            key_and_think: self.tpcc_switch("keyandthink"),
            all_warehouses: self.tpcc_switch("allwarehouse"),
            stored_procedures: self.postgres_switch("storedprocs"),
            time_profile_path: self.tpcc_switch("timeprofile").then_some(profile_path),
            user_delay_ms: self.settings.vuser_option("user_delay"),
            counter: None,
            tpm_first: self.settings.generic_value("benchmark", "first_result") == "TPM",
            output,
            job_id,
        }
    }
}
