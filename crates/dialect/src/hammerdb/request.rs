//! What a script asks for, as plain data.
//!
//! In: settings. Out: requests, or every complaint about them. Must never: connect.

use prony_wire::Secret;

use super::dictionary;
use super::settings::Settings;

/// Which database is built, checked and run: one that Prony's hammerdbcli offers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Product {
    /// `pg`.
    PostgreSql,
    /// `mysql`.
    MySql,
    /// `maria`.
    MariaDb,
}

impl Product {
    const ALL: [Product; 3] = [Product::PostgreSql, Product::MySql, Product::MariaDb];

    /// That with this prefix.
    pub fn find(prefix: &str) -> Option<Product> {
        let mut all = Product::ALL.into_iter();
        all.find(|product| product.prefix() == prefix)
    }

    /// With what its settings begin.
    pub fn prefix(self) -> &'static str {
        match self {
            Product::PostgreSql => "pg",
            Product::MySql => "mysql",
            Product::MariaDb => "maria",
        }
    }

    /// As results call it.
    pub fn name(self) -> &'static str {
        dictionary::name(self.prefix())
    }

    /// A setting's whole key: `pg_host` of `host`.
    pub fn key(self, name: &str) -> String {
        format!("{}_{name}", self.prefix())
    }
}

/// How a connection to MySQL or MariaDB is encrypted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ssl {
    /// The authority's certificate (`mysql_ssl_ca`).
    pub ca: String,
    /// The client's own certificate and key (`mysql_ssl_two_way`).
    pub own: Option<(String, String)>,
}

/// Where the server is and who asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Login {
    /// Which database.
    pub product: Product,
    /// Host name or address (`pg_host`).
    pub host: String,
    /// Port (`pg_port`).
    pub port: u16,
    /// libpq's `sslmode` (`pg_sslmode`); empty for the others.
    pub ssl_mode: String,
    /// The socket's path, where MySQL or MariaDB is reached by one: on this host, unless it is `null`.
    pub socket: Option<String>,
    /// MySQL's and MariaDB's encryption, where it is asked for.
    pub ssl: Option<Ssl>,
    /// The role.
    pub user: String,
    /// Its password.
    pub password: Secret,
    /// The database.
    pub database: String,
}

impl Login {
    /// Host and port, or host and socket.
    pub fn place(&self) -> String {
        match &self.socket {
            Some(socket) => format!("{}:{socket}", self.host),
            None => format!("{}:{}", self.host, self.port),
        }
    }
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
    /// The superuser, in the default database; on MySQL and MariaDB the role itself, in none.
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
    /// The superuser, in the default database; on MySQL and MariaDB the role itself, in none.
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
    product: Product,
    pub complaints: Vec<String>,
}

impl<'a> Reader<'a> {
    pub fn new(settings: &'a Settings) -> Self {
        let found = Product::find(&settings.database);
        Self {
            settings,
            product: found.unwrap_or(Product::PostgreSql),
            complaints: found
                .is_none()
                .then(|| not_offered(settings))
                .into_iter()
                .collect(),
        }
    }

    fn is_postgres(&self) -> bool {
        self.product == Product::PostgreSql
    }

    /// A value, by its key without the prefix.
    fn text(&self, section: &str, name: &str) -> String {
        let (prefix, key) = (self.product.prefix(), self.product.key(name));
        let value = self.settings.value(prefix, section, &key);
        value.unwrap_or_default().to_owned()
    }

    fn flag(&mut self, name: &str) -> bool {
        self.switch("tpcc", name)
    }

    fn switch(&mut self, section: &str, name: &str) -> bool {
        let value = self.text(section, name);
        match value.to_ascii_lowercase().as_str() {
            "true" | "1" | "yes" | "on" => true,
            "false" | "0" | "no" | "off" => false,
            _ => {
                let key = self.product.key(name);
                let complaint = format!("Error: {key} must be true or false, not \"{value}\"");
                self.complaints.push(complaint);
                false
            }
        }
    }

    /// A choice that Prony does not offer.
    fn must_be_off(&mut self, name: &str) {
        if self.flag(name) {
            let key = self.product.key(name);
            let complaint = format!("Error: Prony does not offer {key}: diset tpcc {key} false");
            self.complaints.push(complaint);
        }
    }

    /// A setting with one value that Prony offers.
    fn must_be(&mut self, section: &str, name: &str, only: &str) {
        let value = self.text(section, name);
        if !value.eq_ignore_ascii_case(only) {
            let key = self.product.key(name);
            let complaint =
                format!("Error: Prony does not offer {key} {value}: diset {section} {key} {only}");
            self.complaints.push(complaint);
        }
    }

    fn number(&mut self, section: &str, name: &str, least: u64, most: u64) -> u64 {
        let value = self.text(section, name);
        match value.parse() {
            Ok(number) if (least..=most).contains(&number) => number,
            _ => {
                let most = if most == u64::MAX {
                    " or greater".to_owned()
                } else {
                    format!(" to {most}")
                };
                let key = self.product.key(name);
                let complaint =
                    format!("Error: {key} must be an integer of {least}{most}, not \"{value}\"");
                self.complaints.push(complaint);
                least
            }
        }
    }

    fn login(&mut self, user: &str, password: &str, database: &str) -> Login {
        let port = self.number("connection", "port", 1, 65_535) as u16;
        let (socket, ssl) = match self.is_postgres() {
            true => (None, None),
            false => (self.socket(), self.ssl()),
        };
        Login {
            product: self.product,
            host: self.text("connection", "host"),
            port,
            ssl_mode: self.text("connection", "sslmode"),
            socket,
            ssl,
            user: self.text("tpcc", user),
            password: Secret::new(self.text("tpcc", password)),
            database: self.text("tpcc", database),
        }
    }

    fn socket(&self) -> Option<String> {
        let host = self.text("connection", "host").to_ascii_lowercase();
        let socket = self.text("connection", "socket");
        let is_local = host == "localhost" || host == "127.0.0.1";
        (is_local && !socket.eq_ignore_ascii_case("null")).then_some(socket)
    }

    fn ssl(&mut self) -> Option<Ssl> {
        if !self.switch("connection", "ssl") {
            return None;
        }
        self.must_be("connection", "ssl_cipher", "server");
        let folder = self.text("connection", "ssl_linux_capath");
        let path = |reader: &Self, name: &str| {
            let file = reader.text("connection", name);
            match file.starts_with('/') {
                true => file,
                false => format!("{}/{file}", folder.trim_end_matches('/')),
            }
        };
        let two_way = self.switch("connection", "ssl_two_way");
        Some(Ssl {
            ca: path(self, "ssl_ca"),
            own: two_way.then(|| (path(self, "ssl_cert"), path(self, "ssl_key"))),
        })
    }

    fn superuser(&mut self) -> Login {
        match self.is_postgres() {
            true => self.login("superuser", "superuserpass", "defaultdbase"),
            false => Login {
                database: String::new(),
                ..self.owner()
            },
        }
    }

    fn owner(&mut self) -> Login {
        self.login("user", "pass", "dbase")
    }

    /// Schemas that Prony neither makes nor runs on.
    fn refuse_other_schemas(&mut self) {
        if self.is_postgres() {
            self.must_be_off("oracompat");
            self.must_be_off("cituscompat");
        } else {
            self.must_be("tpcc", "storage_engine", "innodb");
        }
    }

    pub fn build(&mut self, output: Output, job: String) -> BuildRequest {
        self.refuse_other_schemas();
        let is_postgres = self.is_postgres();
        BuildRequest {
            superuser: self.superuser(),
            owner: self.owner(),
            tablespace: self.text("tpcc", "tspace"),
            warehouses: self.number("tpcc", "count_ware", 1, u64::MAX),
            vusers: self.number("tpcc", "num_vu", 1, 1024) as u32,
            stored_procedures: !is_postgres || self.flag("storedprocs"),
            partition: self.flag("partition"),
            output,
            job,
        }
    }

    pub fn schema(&mut self, output: Output, job: String) -> SchemaRequest {
        SchemaRequest {
            superuser: self.superuser(),
            owner: self.owner(),
            warehouses: self.number("tpcc", "count_ware", 1, u64::MAX),
            output,
            job,
        }
    }

    pub fn run(&mut self, output: Output, job: String, profile_path: String) -> RunRequest {
        let is_postgres = self.is_postgres();
        for name in ["async_scale", "connect_pool"] {
            self.must_be_off(name);
        }
        if is_postgres {
            self.must_be_off("dritasnap");
        } else {
            // Its calls are prepared in any case, but a value that is none is told.
            self.flag("prepared");
        }
        self.refuse_other_schemas();
        let driver = if self.text("tpcc", "driver") == "test" {
            Driver::Test
        } else {
            Driver::Timed {
                rampup_min: self.number("tpcc", "rampup", 0, 1_000_000),
                duration_min: self.number("tpcc", "duration", 1, 1_000_000),
                vacuum: is_postgres && self.flag("vacuum"),
            }
        };
        RunRequest {
            login: self.owner(),
            superuser: match is_postgres {
                true => self.login("superuser", "superuserpass", "dbase"),
                false => self.owner(),
            },
            driver,
            vusers: u32::try_from(self.settings.option("virtual_users")).unwrap_or(u32::MAX),
            iterations: self.number("tpcc", "total_iterations", 1, u64::MAX),
            raise_error: self.flag("raiseerror"),
            key_and_think: self.flag("keyandthink"),
            all_warehouses: self.flag("allwarehouse"),
            stored_procedures: is_postgres && self.flag("storedprocs"),
            time_profile: self.flag("timeprofile").then_some(profile_path),
            user_delay_ms: self.settings.option("user_delay"),
            counter: None,
            tpm_first: self.settings.generic("benchmark", "first_result") == "TPM",
            output,
            job,
        }
    }
}

fn not_offered(settings: &Settings) -> String {
    let name = dictionary::name(&settings.database);
    format!("Error: Prony's hammerdbcli does not offer {name}, choose one from mysql pg maria")
}
