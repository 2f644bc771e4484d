//! What of a committed transaction survives what.
//!
//! In: settings, replicas, tables. Out: a [`Durability`]. Must never: call a server safe whose settings
//! were not all readable.
//!
//! | class | a crash of |
//! | --- | --- |
//! | D0 | the server or the machine may destroy data that was committed long before |
//! | D1 | the server process may lose the last commits |
//! | D2 | the machine may lose the last commits, or those of its binary log |
//! | D3 | neither loses a commit |
//! | D4 | nor does the loss of the machine: another one has each commit first |
//!
//! PostgreSQL: `fsync` and `full_page_writes` (documentation, 19.5), `synchronous_commit`; unlogged
//! tables are emptied after a crash. InnoDB: `innodb_flush_log_at_trx_commit` (0: once a second; 2:
//! left to the operating system at each commit), `innodb_doublewrite` against torn pages,
//! `sync_binlog` with `log_bin`; tables of engines without a log.

use super::Facts;

/// What of a committed transaction survives what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Durability {
    /// `D0` to `D4`.
    pub class: &'static str,
    /// The settings and tables that make it so; empty for D3.
    pub because: Vec<String>,
    /// Whether there are tables without a log could not be read: the class is that of the settings.
    pub tables_unknown: bool,
}

const CLASSES: [&str; 5] = ["D0", "D1", "D2", "D3", "D4"];

/// What is weak, and the class that it allows at most.
type Weakness = (usize, String);

/// `tables` are those without a log; absent where they are not known.
fn worst(
    mut weak: Vec<Weakness>,
    stronger: Option<String>,
    tables: Option<&[String]>,
) -> Durability {
    weak.extend(tables.and_then(unlogged));
    let class = weak.iter().map(|(class, _)| *class).min();
    let (class, because) = match (class, stronger) {
        (None, Some(why)) => (4, vec![why]),
        (None, None) => (3, Vec::new()),
        (Some(class), _) => (class, weak.into_iter().map(|(_, why)| why).collect()),
    };
    Durability {
        class: CLASSES[class],
        because,
        tables_unknown: tables.is_none(),
    }
}

fn unlogged(tables: &[String]) -> Option<Weakness> {
    (!tables.is_empty()).then(|| (0, format!("tables without a log: {}", tables.join(", "))))
}

/// PostgreSQL's; `sync_replicas` are those that a commit waits for, `tables` those without a log, absent
/// where they are not known.
pub(super) fn postgres(
    facts: &Facts,
    sync_replicas: usize,
    tables: Option<&[String]>,
) -> Option<Durability> {
    let commit = facts.setting("synchronous_commit")?;
    let mut weak = Vec::new();
    for name in ["fsync", "full_page_writes"] {
        if facts.setting(name)? == "off" {
            weak.push((0, format!("{name} off")));
        }
    }
    if commit == "off" {
        weak.push((1, format!("synchronous_commit {commit}")));
    }
    let waits = matches!(commit, "on" | "remote_apply" | "remote_write") && sync_replicas > 0;
    let stronger =
        waits.then(|| format!("{sync_replicas} synchronous, synchronous_commit {commit}"));
    Some(worst(weak, stronger, tables))
}

/// MySQL's and MariaDB's; `semi_sync` whether a commit waits for a replica now, `tables` as for [`postgres`].
pub(super) fn mysql(
    facts: &Facts,
    semi_sync: bool,
    tables: Option<&[String]>,
) -> Option<Durability> {
    let flush = facts.setting("innodb_flush_log_at_trx_commit")?;
    let mut weak = Vec::new();
    let doublewrite = facts.setting("innodb_doublewrite").unwrap_or("ON");
    if matches!(doublewrite, "OFF" | "0" | "DETECT_ONLY") {
        weak.push((0, format!("innodb_doublewrite {doublewrite}")));
    }
    match flush {
        "1" | "3" => {}
        "0" => weak.push((1, format!("innodb_flush_log_at_trx_commit {flush}"))),
        _ => weak.push((2, format!("innodb_flush_log_at_trx_commit {flush}"))),
    }
    let logs = facts
        .setting("log_bin")
        .is_some_and(|value| value == "ON" || value == "1");
    if let Some(sync) = facts
        .setting("sync_binlog")
        .filter(|sync| logs && *sync != "1")
    {
        weak.push((2, format!("sync_binlog {sync} with log_bin")));
    }
    let stronger = semi_sync.then(|| "semi-synchronous replication".to_owned());
    Some(worst(weak, stronger, tables))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(changed: &[(&str, &str)], usual: &[(&str, &str)]) -> Facts {
        let all = changed.iter().chain(usual);
        let settings = all.map(|(n, v)| ((*n).to_owned(), (*v).to_owned()));
        Facts {
            version: String::new(),
            settings: settings.collect(),
        }
    }

    #[test]
    fn of_postgres() {
        let usual = [
            ("fsync", "on"),
            ("full_page_writes", "on"),
            ("synchronous_commit", "on"),
        ];
        let class = |changed: &[(&str, &str)], replicas, tables: &[String]| {
            postgres(&facts(changed, &usual), replicas, Some(tables))
                .unwrap()
                .class
        };
        assert_eq!(class(&[], 0, &[]), "D3");
        assert_eq!(class(&[("fsync", "off")], 1, &[]), "D0");
        assert_eq!(class(&[("full_page_writes", "off")], 0, &[]), "D0");
        assert_eq!(class(&[("synchronous_commit", "off")], 2, &[]), "D1");
        assert_eq!(class(&[("synchronous_commit", "local")], 2, &[]), "D3");
        assert_eq!(class(&[], 1, &[]), "D4");
        assert_eq!(class(&[], 1, &["t".to_owned()]), "D0");
        assert_eq!(
            postgres(&facts(&[], &usual[..1]), 0, Some(&[])),
            None,
            "not known"
        );
        let both = [("fsync", "off"), ("synchronous_commit", "off")];
        let because = postgres(&facts(&both, &usual), 0, Some(&[]))
            .unwrap()
            .because;
        assert_eq!(because, ["fsync off", "synchronous_commit off"]);
        let unseen = postgres(&facts(&[], &usual), 0, None).unwrap();
        assert_eq!((unseen.class, unseen.tables_unknown), ("D3", true));
    }

    #[test]
    fn of_innodb() {
        let usual = [
            ("innodb_flush_log_at_trx_commit", "1"),
            ("sync_binlog", "0"),
        ];
        let class = |changed: &[(&str, &str)], semi_sync, tables: &[String]| {
            mysql(&facts(changed, &usual), semi_sync, Some(tables))
                .unwrap()
                .class
        };
        assert_eq!(
            class(&[], false, &[]),
            "D3",
            "sync_binlog is of no matter without log_bin"
        );
        assert_eq!(class(&[("log_bin", "ON")], false, &[]), "D2");
        assert_eq!(
            class(&[("log_bin", "ON"), ("sync_binlog", "1")], true, &[]),
            "D4"
        );
        assert_eq!(
            class(&[("innodb_flush_log_at_trx_commit", "0")], true, &[]),
            "D1"
        );
        assert_eq!(
            class(&[("innodb_flush_log_at_trx_commit", "2")], false, &[]),
            "D2"
        );
        assert_eq!(class(&[("innodb_doublewrite", "OFF")], false, &[]), "D0");
        assert_eq!(class(&[], false, &["m (MyISAM)".to_owned()]), "D0");
        assert_eq!(mysql(&facts(&[], &[]), false, Some(&[])), None, "not known");
    }
}
