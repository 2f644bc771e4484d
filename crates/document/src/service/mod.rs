//! The services and derived products that answer as a product of another name: each is an entry with what
//! distinguishes it, which the rest of the code asks.
//!
//! In: the server's version and settings. Out: its entry; `None` if nothing shows one. Must never: guess from an
//! address; hold what only one version, or the configuration of one server, determines.

mod mysql;
mod postgresql;
mod sqlserver;

use crate::SqlDialect;
use crate::topic::ObservedTopic;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

named_values! {
    /// A service or a derived product that answers as another product. The order is that of recognition: those that
    /// have the signs of another come before it.
    Service {
        /// CockroachDB.
        Cockroach = "CockroachDB",
        /// YugabyteDB.
        Yugabyte = "YugabyteDB",
        /// AlloyDB.
        AlloyDb = "AlloyDB",
        /// AlloyDB Omni.
        AlloyDbOmni = "AlloyDB Omni",
        /// Cloud SQL.
        CloudSql = "Cloud SQL",
        /// Aurora DSQL.
        AuroraDsql = "Aurora DSQL",
        /// Aurora PostgreSQL.
        AuroraPostgreSql = "Aurora PostgreSQL",
        /// Aurora MySQL.
        AuroraMySql = "Aurora MySQL",
        /// Amazon RDS.
        Rds = "Amazon RDS",
        /// Azure Database, flexible server.
        AzureDatabase = "Azure Database",
        /// Neon.
        Neon = "Neon",
        /// Supabase.
        Supabase = "Supabase",
        /// TiDB.
        TiDb = "TiDB",
        /// Vitess, or PlanetScale.
        Vitess = "Vitess",
        /// Percona XtraDB Cluster.
        PerconaCluster = "Percona XtraDB Cluster",
        /// Percona Server.
        Percona = "Percona Server",
        /// MariaDB with Galera.
        Galera = "Galera Cluster",
        /// SingleStore.
        SingleStore = "SingleStore",
        /// Dolt, or another server on its engine, go-mysql-server.
        Dolt = "Dolt",
        /// Azure SQL Database, or a managed instance.
        AzureSql = "Azure SQL",
        /// Babelfish for PostgreSQL.
        Babelfish = "Babelfish",
    }
}

/// What distinguishes a service from the product as which it answers.
#[derive(Debug)]
pub struct Quirks {
    /// What shows it, each for the dialect that it answers.
    pub signs: &'static [(SqlDialect, Sign)],
    /// Where its provider documents these signs.
    pub source: &'static str,
    /// Whether its engine is another than that of the product as which it answers.
    pub is_other_engine: bool,
    /// What it does not have.
    pub absent: &'static [Absent],
    /// Errors after which the whole transaction may be repeated, beyond those of the product as which it answers.
    pub retries: &'static [Retry],
    /// Where its provider documents these errors; empty if there are none.
    pub retries_source: &'static str,
    /// Workloads that do badly on it.
    pub unsuited: &'static [Unsuited],
    /// Workloads that it cannot execute.
    pub impossible: &'static [Unsuited],
    /// How tables are loaded where a transaction may change only some rows.
    pub small_transactions: Option<SmallTransactions>,
    /// What else a reader of its figures should know.
    pub notes: &'static [&'static str],
    /// Whether Prony was run on the product itself or its engine, and not only on a server of the tests that gives its
    /// documented answers.
    pub was_at_hand: bool,
}

/// How tables are loaded where a transaction may change only some rows, and has one statement that changes the schema.
#[derive(Clone, Copy, Debug)]
pub struct SmallTransactions {
    /// The largest number of rows that a transaction may change.
    pub rows: u32,
    /// Bytes of rows from which no further row is added to one; below the service's limit by a row.
    pub bytes: usize,
    /// What begins a statement that builds an index, in place of `create index`.
    pub create_index: &'static str,
    /// The statement that waits until an index is built, whose `{job}` that statement returned; `None` if it waits itself.
    pub wait_for_index: Option<&'static str>,
}

/// What shows a service.
#[derive(Clone, Copy, Debug)]
pub enum Sign {
    /// A part of the version's text, in lower case.
    Version(&'static str),
    /// A setting whose name begins so.
    Setting(&'static str),
    /// A part of a setting's value, in lower case.
    Value(&'static str, &'static str),
    /// Parts of the values of several settings, in lower case.
    Values(&'static [(&'static str, &'static str)]),
}

/// What a service does not have.
#[derive(Debug)]
pub struct Absent {
    /// The topics.
    pub topics: &'static [ObservedTopic],
    /// Why, in words that begin with the service or a part of it.
    pub why: &'static str,
}

/// An error after which the whole transaction may be repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retry {
    /// The error.
    pub code: RetryCode,
    /// What it means.
    pub meaning: &'static str,
}

/// What identifies an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RetryCode {
    /// The number of a protocol that has numbers.
    Number(u32),
    /// An SQLSTATE, of a protocol that has no numbers.
    SqlState([u8; 5]),
}

/// A workload that does badly on a service, or not at all.
#[derive(Debug)]
pub struct Unsuited {
    /// Its name, such as `tpcb`.
    pub workload: &'static str,
    /// Why, as a sentence.
    pub why: &'static str,
}

use SqlDialect::{MySql, PostgreSql, TransactSql};

/// A service that is like its product in everything that Prony reads.
const PLAIN: Quirks = Quirks {
    signs: &[],
    source: "",
    is_other_engine: false,
    absent: &[],
    retries: &[],
    retries_source: "",
    unsuited: &[],
    impossible: &[],
    small_transactions: None,
    notes: &[],
    was_at_hand: false,
};

impl Service {
    /// Why it cannot execute a workload, as a sentence; `None` if it can.
    pub fn refusal(self, workload: &str) -> Option<&'static str> {
        let mut impossible = self.quirks().impossible.iter();
        let found = impossible.find(|impossible| impossible.workload == workload);
        found.map(|found| found.why)
    }

    /// The service that these texts show.
    pub fn recognize(
        dialect: SqlDialect,
        version: &str,
        settings: &[(String, String)],
    ) -> Option<Service> {
        let version = version.to_ascii_lowercase();
        let has = |(setting, part): &(&str, &str)| {
            let mut settings = settings.iter();
            settings
                .any(|(name, value)| name == setting && value.to_ascii_lowercase().contains(part))
        };
        let shows = |sign: &Sign| match sign {
            Sign::Version(part) => version.contains(part),
            Sign::Setting(start) => settings.iter().any(|(name, _)| name.starts_with(start)),
            Sign::Value(setting, part) => has(&(setting, part)),
            Sign::Values(values) => values.iter().all(has),
        };
        let is_shown = |service: &&Service| {
            let mut signs = service.quirks().signs.iter();
            signs.any(|(of, sign)| *of == dialect && shows(sign))
        };
        Service::ALL.iter().find(is_shown).copied()
    }

    /// Its entry.
    pub fn quirks(self) -> &'static Quirks {
        match self {
            Service::Cockroach => &postgresql::COCKROACH,
            Service::Yugabyte => &postgresql::YUGABYTE,
            Service::AlloyDb => &postgresql::ALLOYDB,
            Service::AlloyDbOmni => &postgresql::ALLOYDB_OMNI,
            Service::CloudSql => &postgresql::CLOUD_SQL,
            Service::AuroraDsql => &postgresql::AURORA_DSQL,
            Service::AuroraPostgreSql => &postgresql::AURORA,
            Service::AuroraMySql => &mysql::AURORA,
            Service::Rds => &postgresql::RDS,
            Service::AzureDatabase => &postgresql::AZURE_DATABASE,
            Service::Neon => &postgresql::NEON,
            Service::Supabase => &postgresql::SUPABASE,
            Service::TiDb => &mysql::TIDB,
            Service::Vitess => &mysql::VITESS,
            Service::PerconaCluster => &mysql::PERCONA_CLUSTER,
            Service::Percona => &mysql::PERCONA,
            Service::Galera => &mysql::GALERA,
            Service::SingleStore => &mysql::SINGLE_STORE,
            Service::Dolt => &mysql::DOLT,
            Service::AzureSql => &sqlserver::AZURE_SQL,
            Service::Babelfish => &sqlserver::BABELFISH,
        }
    }

    /// The topics that it does not have, each with the reason.
    pub fn absent(self) -> impl Iterator<Item = (ObservedTopic, &'static str)> {
        let absent = self.quirks().absent.iter();
        absent.flat_map(|absent| absent.topics.iter().map(|topic| (*topic, absent.why)))
    }

    /// Whether the whole transaction may be repeated after this error, which has a number only in protocols that have
    /// numbers, for a reason that the product as which it answers does not have.
    pub fn is_retry(self, number: u32, sqlstate: [u8; 5]) -> bool {
        self.quirks().retries.iter().any(|retry| match retry.code {
            RetryCode::Number(of) => of == number,
            RetryCode::SqlState(of) => number == 0 && of == sqlstate,
        })
    }
}

#[cfg(test)]
mod tests;
