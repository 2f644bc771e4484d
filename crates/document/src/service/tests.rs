use super::*;
use std::collections::BTreeSet;

/// The service that a version, a setting and its value show.
fn recognize(dialect: SqlDialect, version: &str, name: &str, value: &str) -> Option<Service> {
    let settings = [
        ("basedir", "/usr/"),
        ("version_comment", "Source distribution"),
        ("wsrep_provider", "none"),
        (name, value),
    ];
    let settings = settings.map(|(name, value)| (name.to_owned(), value.to_owned()));
    Service::recognize(dialect, version, &settings[..])
}

#[test]
fn services_are_recognized_and_plain_servers_are_none() {
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
        (
            PostgreSql,
            "16.8",
            "alloydb.iam_authentication",
            "on",
            Some("AlloyDB"),
        ),
        (
            PostgreSql,
            "16.8",
            "google_columnar_engine.enabled",
            "on",
            Some("AlloyDB Omni"),
        ),
        (
            PostgreSql,
            "16",
            "sys.iam_pg_role_mappings",
            "relation",
            Some("Aurora DSQL"),
        ),
        (
            PostgreSql,
            "16.4",
            "apg_plan_mgmt.capture_plan_baselines",
            "off",
            Some("Aurora PostgreSQL"),
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
        (MySql, "8.0.33", "version_comment", "Dolt", Some("Dolt")),
        (MySql, "8.0.34-PlanetScale", "port", "3306", Some("Vitess")),
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
            "12.0.2000.8 (Babelfish)",
            "babelfish",
            "1",
            Some("Babelfish"),
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
        assert_eq!(found, service, "{version} {name}");
    }
    // The library alone is no cluster, and neither is the switch.
    let of_galera = |provider: &str, switch: &str| {
        let settings = [("wsrep_provider", provider), ("wsrep_on", switch)];
        let settings = settings.map(|(name, value)| (name.to_owned(), value.to_owned()));
        Service::recognize(MySql, "10.11.19-MariaDB", &settings)
    };
    let library = "/usr/lib/galera/libgalera_smm.so";
    assert_eq!(of_galera(library, "ON"), Some(Service::Galera));
    assert_eq!(of_galera(library, "OFF"), None);
    assert_eq!(of_galera("none", "ON"), None);
    // A setting of RDS does not make a MySQL server of another kind one.
    assert_eq!(recognize(MySql, "8.0.33", "rds.x", ""), None);
}

#[test]
fn an_entry_is_complete_and_does_not_contradict_itself() {
    for service in Service::ALL {
        let (name, quirks) = (service.name(), service.quirks());
        assert!(
            !quirks.signs.is_empty() && quirks.source.starts_with("https://"),
            "{name}"
        );
        assert_eq!(
            quirks.retries.is_empty(),
            quirks.retries_source.is_empty(),
            "{name}"
        );
        let topics: Vec<String> = service
            .absent()
            .map(|(topic, _)| format!("{topic:?}"))
            .collect();
        let distinct: BTreeSet<&String> = topics.iter().collect();
        assert_eq!(distinct.len(), topics.len(), "{name}: {topics:?}");
        // A reason stands between brackets and is no sentence of its own.
        assert!(
            quirks
                .absent
                .iter()
                .all(|absent| !absent.why.ends_with('.')),
            "{name}"
        );
        assert!(
            quirks
                .unsuited
                .iter()
                .chain(quirks.impossible)
                .all(|unsuited| unsuited.why.ends_with('.')),
            "{name}"
        );
    }
}

#[test]
fn each_service_has_its_own_errors_to_retry() {
    assert!(Service::TiDb.is_retry(9007, *b"HY000") && Service::TiDb.is_retry(8028, *b"HY000"));
    assert!(!Service::TiDb.is_retry(1062, *b"23000") && !Service::Rds.is_retry(9007, *b"HY000"));
    assert!(Service::AuroraDsql.is_retry(0, *b"OC001"));
    assert!(!Service::AuroraPostgreSql.is_retry(0, *b"OC001"));
}
