//! The services and derived products that answer as a product of another name: each is an entry with what
//! distinguishes it, which the rest of the code queries.
//!
//! In: the server's version and settings. Out: its entry; `None` if nothing shows one. Must never: guess from an
//! address; hold what only one version, or the configuration of one server, determines.

mod mysql;
mod postgresql;
mod sqlserver;

use crate::SqlDialect::{self, MySql, PostgreSql, TransactSql};
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
    /// What shows it, any one of them; each on servers of one dialect.
    pub signs: &'static [(SqlDialect, Sign)],
    /// Where its provider documents these signs.
    pub source: &'static str,
    /// Whether it has another engine than the product as which it answers.
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
    /// A transaction with this many bytes of rows gets no further row; below the service's limit by more than a row.
    pub bytes: usize,
    /// What begins the statement that builds an index, in place of `create index`.
    pub create_index: &'static str,
    /// The statement that waits until an index is built, with the `{job}` that [`SmallTransactions::create_index`] returned;
    /// `None` if that statement waits.
    pub wait_for_index: Option<&'static str>,
}

/// What shows a service.
#[derive(Clone, Copy, Debug)]
pub enum Sign {
    /// A part of the version's text, in lower case.
    Version(&'static str),
    /// A setting whose name begins so.
    Setting(&'static str),
    /// A setting, and a part of its value in lower case.
    Value(&'static str, &'static str),
    /// Several settings, each with a part of its value in lower case; the service has all.
    Values(&'static [(&'static str, &'static str)]),
}

impl Sign {
    /// Whether a server has this sign. `version` is in lower case.
    fn is_in(&self, version: &str, settings: &[(String, String)]) -> bool {
        let has_value = |setting: &str, part: &str| {
            let mut values = settings.iter().filter(|(name, _)| name == setting);
            values.any(|(_, value)| value.to_ascii_lowercase().contains(part))
        };
        match self {
            Sign::Version(part) => version.contains(part),
            Sign::Setting(start) => settings.iter().any(|(name, _)| name.starts_with(start)),
            Sign::Value(setting, part) => has_value(setting, part),
            Sign::Values(values) => values.iter().all(|(name, part)| has_value(name, part)),
        }
    }
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

    /// The service that a server's version and settings show; `None` if they show none.
    pub fn recognize(
        dialect: SqlDialect,
        version: &str,
        settings: &[(String, String)],
    ) -> Option<Service> {
        let version = version.to_ascii_lowercase();
        Service::ALL.iter().copied().find(|service| {
            let mut signs = service.quirks().signs.iter();
            signs.any(|(of, sign)| *of == dialect && sign.is_in(&version, settings))
        })
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

    /// Whether the whole transaction may be repeated after this error, although it may not on the product as which the service
    /// answers. `number` is 0 in protocols whose errors have no numbers.
    pub fn is_retry(self, number: u32, sqlstate: [u8; 5]) -> bool {
        self.quirks().retries.iter().any(|retry| match retry.code {
            RetryCode::Number(expected) => expected == number,
            RetryCode::SqlState(expected) => number == 0 && expected == sqlstate,
        })
    }
}

#[cfg(test)]
mod tests;
