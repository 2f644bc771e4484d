//! Determines which crashes a committed transaction survives.
//!
//! Must never: report a class if one of its settings could not be read.
//!
//! | class | meaning |
//! | --- | --- |
//! | D0 | a crash of the server or the machine may destroy data that was committed long before |
//! | D1 | a crash of the server process may lose the last commits |
//! | D2 | a crash of the machine may lose the last commits, or those in its binary log |
//! | D3 | a crash of the server or the machine loses no commit |
//! | D4 | the loss of the machine loses no commit: another machine has received each one first |
//!
//! PostgreSQL: `fsync` and `full_page_writes` (documentation, 19.5), `synchronous_commit`; unlogged
//! tables are emptied after a crash. InnoDB: `innodb_flush_log_at_trx_commit` (0: once per second; 2:
//! left to the operating system at each commit), `innodb_doublewrite` against torn pages,
//! `sync_binlog` with `log_bin`; tables of engines without a log. SQL Server: page verification (torn pages
//! are never repaired, and without it not even found), delayed durability, tables that keep only their schema;
//! a commit waits for synchronous replicas, and fails without them only if their number is required.

use super::ServerFacts;
use prony_document::Durability;
use prony_document::DurabilityClass::{self, D0, D1, D2, D3, D4};

/// The highest class that a setting or table allows, and its text.
type Weakness = (DurabilityClass, String);

/// The lowest class of all weaknesses, including that of tables without a log. `d4_reason`: why the class
/// is D4 if there is no weakness. `unlogged`: the tables without a log; `None` if not known.
fn lowest_class(
    mut weaknesses: Vec<Weakness>,
    d4_reason: Option<String>,
    unlogged: Option<&[String]>,
) -> Durability {
    let without_log = unlogged.filter(|tables| !tables.is_empty());
    let weakness = |tables: &[String]| (D0, format!("tables without a log: {}", tables.join(", ")));
    weaknesses.extend(without_log.map(weakness));
    let class = weaknesses.iter().map(|(class, _)| *class).min();
    let (class, because) = match (class, d4_reason) {
        (None, Some(reason)) => (D4, vec![reason]),
        (None, None) => (D3, Vec::new()),
        (Some(class), _) => (
            class,
            weaknesses.into_iter().map(|(_, reason)| reason).collect(),
        ),
    };
    Durability {
        class,
        because,
        tables_unknown: unlogged.is_none(),
    }
}

/// The class of a PostgreSQL server. `sync_replicas`: the number of replicas that a commit waits
/// for. `unlogged`: the tables without a log; `None` if not known.
pub(super) fn postgres(
    facts: &ServerFacts,
    sync_replicas: usize,
    unlogged: Option<&[String]>,
) -> Option<Durability> {
    let commit = facts.setting("synchronous_commit")?;
    let mut weaknesses = Vec::new();
    for name in ["fsync", "full_page_writes"] {
        if facts.setting(name)? == "off" {
            weaknesses.push((D0, format!("{name} off")));
        }
    }
    if commit == "off" {
        weaknesses.push((D1, format!("synchronous_commit {commit}")));
    }
    let waits_for_replica =
        matches!(commit, "on" | "remote_apply" | "remote_write") && sync_replicas > 0;
    let d4_reason = waits_for_replica
        .then(|| format!("{sync_replicas} synchronous, synchronous_commit {commit}"));
    Some(lowest_class(weaknesses, d4_reason, unlogged))
}

/// The class of a MySQL or MariaDB server. `in_other_machines`: why these have each commit
/// before the client is told; `None` if they may not.
/// `unlogged`: as for [`postgres`].
pub(super) fn mysql(
    facts: &ServerFacts,
    in_other_machines: Option<String>,
    unlogged: Option<&[String]>,
) -> Option<Durability> {
    let flush = facts.setting("innodb_flush_log_at_trx_commit")?;
    let mut weaknesses = Vec::new();
    let doublewrite = facts.setting("innodb_doublewrite").unwrap_or("ON");
    if matches!(doublewrite, "OFF" | "0" | "DETECT_ONLY") {
        weaknesses.push((D0, format!("innodb_doublewrite {doublewrite}")));
    }
    match flush {
        "1" | "3" => {}
        "0" => weaknesses.push((D1, format!("innodb_flush_log_at_trx_commit {flush}"))),
        _ => weaknesses.push((D2, format!("innodb_flush_log_at_trx_commit {flush}"))),
    }
    let has_binlog = facts
        .setting("log_bin")
        .is_some_and(|value| value == "ON" || value == "1");
    if let Some(sync) = facts
        .setting("sync_binlog")
        .filter(|sync| has_binlog && *sync != "1")
    {
        weaknesses.push((D2, format!("sync_binlog {sync} with log_bin")));
    }
    Some(lowest_class(weaknesses, in_other_machines, unlogged))
}

/// The class of a SQL Server database. `required_replicas`: the number of synchronized replicas without
/// which no transaction commits. `unlogged`: the tables that keep only their schema; `None` if not known.
pub(super) fn sql_server(
    facts: &ServerFacts,
    required_replicas: u32,
    unlogged: Option<&[String]>,
) -> Option<Durability> {
    let page_verify = facts.setting("database.page_verify_option_desc")?;
    // Before SQL Server 2014 durability is never delayed.
    let delayed = facts
        .setting("database.delayed_durability_desc")
        .unwrap_or("DISABLED");
    let mut weaknesses = Vec::new();
    if page_verify == "NONE" {
        weaknesses.push((D0, format!("page_verify {page_verify}")));
    }
    // ALLOWED concerns only transactions that request it, and Prony's do not.
    if delayed == "FORCED" {
        weaknesses.push((D1, format!("delayed_durability {delayed}")));
    }
    let d4_reason = (required_replicas > 0).then(|| {
        format!("required_synchronized_secondaries_to_commit {required_replicas}, synchronized")
    });
    Some(lowest_class(weaknesses, d4_reason, unlogged))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(changed: &[(&str, &str)], defaults: &[(&str, &str)]) -> ServerFacts {
        let settings = changed.iter().chain(defaults);
        let settings = settings.map(|(n, v)| ((*n).to_owned(), (*v).to_owned()));
        ServerFacts {
            settings: settings.collect(),
            ..ServerFacts::default()
        }
    }

    #[test]
    fn durability_classes_of_postgres() {
        let defaults = [
            ("fsync", "on"),
            ("full_page_writes", "on"),
            ("synchronous_commit", "on"),
        ];
        let class = |changed: &[(&str, &str)], replicas, tables: &[String]| {
            postgres(&facts(changed, &defaults), replicas, Some(tables))
                .unwrap()
                .class
        };
        assert_eq!(class(&[], 0, &[]), D3);
        assert_eq!(class(&[("fsync", "off")], 1, &[]), D0);
        assert_eq!(class(&[("full_page_writes", "off")], 0, &[]), D0);
        assert_eq!(class(&[("synchronous_commit", "off")], 2, &[]), D1);
        assert_eq!(class(&[("synchronous_commit", "local")], 2, &[]), D3);
        assert_eq!(class(&[], 1, &[]), D4);
        assert_eq!(class(&[], 1, &["t".to_owned()]), D0);
        assert_eq!(
            postgres(&facts(&[], &defaults[..1]), 0, Some(&[])),
            None,
            "a setting is not known"
        );
        let both_off = [("fsync", "off"), ("synchronous_commit", "off")];
        let reasons = postgres(&facts(&both_off, &defaults), 0, Some(&[]))
            .unwrap()
            .because;
        assert_eq!(reasons, ["fsync off", "synchronous_commit off"]);
        let unknown = postgres(&facts(&[], &defaults), 0, None).unwrap();
        assert_eq!((unknown.class, unknown.tables_unknown), (D3, true));
    }

    #[test]
    fn durability_classes_of_sql_server() {
        let defaults = [
            ("database.page_verify_option_desc", "CHECKSUM"),
            ("database.delayed_durability_desc", "DISABLED"),
        ];
        let class = |changed: &[(&str, &str)], required, tables: &[String]| {
            sql_server(&facts(changed, &defaults), required, Some(tables))
                .unwrap()
                .class
        };
        let delayed = "database.delayed_durability_desc";
        assert_eq!(class(&[], 0, &[]), D3);
        assert_eq!(class(&[], 1, &[]), D4);
        assert_eq!(class(&[(delayed, "FORCED")], 1, &[]), D1);
        assert_eq!(class(&[(delayed, "ALLOWED")], 0, &[]), D3);
        assert_eq!(
            class(&[("database.page_verify_option_desc", "NONE")], 1, &[]),
            D0
        );
        assert_eq!(class(&[], 1, &["t".to_owned()]), D0);
        assert_eq!(
            sql_server(&facts(&[], &[]), 0, Some(&[])),
            None,
            "not known"
        );
    }

    #[test]
    fn durability_classes_of_innodb() {
        let defaults = [
            ("innodb_flush_log_at_trx_commit", "1"),
            ("sync_binlog", "0"),
        ];
        let class = |changed: &[(&str, &str)], semi_sync: bool, tables: &[String]| {
            let reason = semi_sync.then(|| "semi-synchronous replication".to_owned());
            mysql(&facts(changed, &defaults), reason, Some(tables))
                .unwrap()
                .class
        };
        assert_eq!(
            class(&[], false, &[]),
            D3,
            "sync_binlog has no effect without log_bin"
        );
        assert_eq!(class(&[("log_bin", "ON")], false, &[]), D2);
        assert_eq!(
            class(&[("log_bin", "ON"), ("sync_binlog", "1")], true, &[]),
            D4
        );
        assert_eq!(
            class(&[("innodb_flush_log_at_trx_commit", "0")], true, &[]),
            D1
        );
        assert_eq!(
            class(&[("innodb_flush_log_at_trx_commit", "2")], false, &[]),
            D2
        );
        assert_eq!(class(&[("innodb_doublewrite", "OFF")], false, &[]), D0);
        assert_eq!(class(&[], false, &["m (MyISAM)".to_owned()]), D0);
        assert_eq!(
            mysql(&facts(&[], &[]), None, Some(&[])),
            None,
            "a setting is not known"
        );
    }
}
