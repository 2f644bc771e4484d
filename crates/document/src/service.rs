//! The services and derived products that answer as a product of another name.
//!
//! In: the server's version and settings. Out: its name; `None` if nothing shows one. Must never: guess from an address.
//!
//! Sources: the products' documentation of their settings and version texts. Which of them Prony ran on stands in
//! docs/src/explanation/engines.md.

use crate::SqlDialect;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

named_values! {
    /// A service or a derived product that answers as another product.
    Service {
        /// AlloyDB, or AlloyDB Omni.
        AlloyDb = "AlloyDB",
        /// Amazon Aurora.
        Aurora = "Amazon Aurora",
        /// Amazon RDS.
        Rds = "Amazon RDS",
        /// Azure Database.
        AzureDatabase = "Azure Database",
        /// Azure SQL Database, or a managed instance.
        AzureSql = "Azure SQL",
        /// Cloud SQL.
        CloudSql = "Cloud SQL",
        /// CockroachDB.
        Cockroach = "CockroachDB",
        /// Dolt.
        Dolt = "Dolt",
        /// Neon.
        Neon = "Neon",
        /// Percona Server.
        Percona = "Percona Server",
        /// Percona XtraDB Cluster.
        PerconaCluster = "Percona XtraDB Cluster",
        /// SingleStore.
        SingleStore = "SingleStore",
        /// Supabase.
        Supabase = "Supabase",
        /// TiDB.
        TiDb = "TiDB",
        /// Vitess, or PlanetScale.
        Vitess = "Vitess",
        /// YugabyteDB.
        Yugabyte = "YugabyteDB",
    }
}

/// What shows a service.
enum Sign {
    /// A part of the version's text, in lower case.
    Version(&'static str),
    /// A setting whose name begins so.
    Setting(&'static str),
    /// A part of a setting's value, in lower case.
    Value(&'static str, &'static str),
}

use Sign::{Setting, Value, Version};
use SqlDialect::{MySql, PostgreSql, TransactSql};

/// The signs, those of a service before those of one on which it is built.
const SIGNS: [(SqlDialect, Service, Sign); 23] = [
    (PostgreSql, Service::Cockroach, Setting("crdb_version")),
    (PostgreSql, Service::Cockroach, Version("cockroachdb")),
    (PostgreSql, Service::Yugabyte, Version("-yb-")),
    (PostgreSql, Service::AlloyDb, Setting("alloydb.")),
    (
        PostgreSql,
        Service::AlloyDb,
        Setting("google_columnar_engine."),
    ),
    (PostgreSql, Service::CloudSql, Setting("cloudsql.")),
    (PostgreSql, Service::Aurora, Setting("apg_")),
    (PostgreSql, Service::Rds, Setting("rds.")),
    (PostgreSql, Service::AzureDatabase, Setting("azure.")),
    (PostgreSql, Service::Neon, Setting("neon.")),
    (PostgreSql, Service::Supabase, Setting("supautils.")),
    (MySql, Service::TiDb, Version("tidb")),
    (MySql, Service::Vitess, Version("vitess")),
    (MySql, Service::Vitess, Version("planetscale")),
    (MySql, Service::Aurora, Setting("aurora_version")),
    (MySql, Service::Rds, Value("basedir", "/rdsdbbin")),
    (MySql, Service::CloudSql, Version("-google")),
    (
        MySql,
        Service::PerconaCluster,
        Value("version_comment", "percona xtradb cluster"),
    ),
    (
        MySql,
        Service::Percona,
        Value("version_comment", "percona server"),
    ),
    (
        MySql,
        Service::SingleStore,
        Value("version_comment", "singlestore"),
    ),
    (
        MySql,
        Service::SingleStore,
        Value("version_comment", "memsql"),
    ),
    (MySql, Service::Dolt, Value("version_comment", "dolt")),
    (TransactSql, Service::AzureSql, Version("(sql azure")),
];

impl Service {
    /// The service that these texts show.
    pub fn recognize(
        dialect: SqlDialect,
        version: &str,
        settings: &[(String, String)],
    ) -> Option<Service> {
        let version = version.to_ascii_lowercase();
        let shows = |sign: &Sign| match sign {
            Version(part) => version.contains(part),
            Setting(start) => settings.iter().any(|(name, _)| name.starts_with(start)),
            Value(setting, part) => settings
                .iter()
                .any(|(name, value)| name == setting && value.to_ascii_lowercase().contains(part)),
        };
        let mut signs = SIGNS.iter();
        let found = signs.find(|(of, _, sign)| *of == dialect && shows(sign))?;
        Some(found.1)
    }

    /// Whether its engine is another than that of the product as which it answers.
    pub fn is_other_engine(self) -> bool {
        use Service::*;
        match self {
            Cockroach | Dolt | SingleStore | TiDb | Vitess | Yugabyte => true,
            AlloyDb | Aurora | Rds | AzureDatabase | AzureSql | CloudSql | Neon | Percona
            | PerconaCluster | Supabase => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn services_are_recognized_and_plain_servers_are_none() {
        let recognize = |dialect, version: &str, name: &str, value: &str| {
            let settings = [
                ("basedir", "/usr/"),
                ("version_comment", "Source distribution"),
                (name, value),
            ];
            let settings = settings.map(|(name, value)| (name.to_owned(), value.to_owned()));
            Service::recognize(dialect, version, &settings[..])
        };
        for (dialect, version, name, value, service) in [
            (
                PostgreSql,
                "15.18 (Debian 15.18-0+deb12u1)",
                "fsync",
                "on",
                None,
            ),
            (PostgreSql, "15.4", "rds.extensions", "", Some("Amazon RDS")),
            (
                PostgreSql,
                "13.0.0",
                "crdb_version",
                "CockroachDB CCL v23.2.0",
                Some("CockroachDB"),
            ),
            (
                PostgreSql,
                "11.2-YB-2.18.0.0-b0",
                "fsync",
                "on",
                Some("YugabyteDB"),
            ),
            (MySql, "8.0.33", "sync_binlog", "1", None),
            (MySql, "8.0.11-TiDB-v7.5.0", "port", "4000", Some("TiDB")),
            (MySql, "8.0.31-google", "port", "3306", Some("Cloud SQL")),
            (
                MySql,
                "8.0.35-27",
                "version_comment",
                "Percona Server (GPL), Release 27",
                Some("Percona Server"),
            ),
            (
                MySql,
                "10.11.19-MariaDB",
                "version_comment",
                "Debian 12",
                None,
            ),
            (
                TransactSql,
                "12.0.2000.8 (SQL Azure)",
                "name",
                "",
                Some("Azure SQL"),
            ),
            (
                TransactSql,
                "16.0.4105.2 (Developer Edition (64-bit))",
                "name",
                "",
                None,
            ),
        ] {
            let found = recognize(dialect, version, name, value).map(Service::name);
            assert_eq!(found, service, "{version}");
        }
        // A setting of RDS does not make a MySQL server of another kind one.
        assert_eq!(recognize(MySql, "8.0.33", "rds.x", ""), None);
    }
}
