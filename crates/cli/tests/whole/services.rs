//! Runs on canned servers that answer as services do, by their documentation: each is named, what it does not have is said
//! to be absent, and its misleading values are not judged.

use crate::common::*;
use prony_store::{ObservedTopic, ServerSecond, Service, SqlDialect};
use prony_test_servers::canned::{Answer, CannedError, CannedProtocol, Conversation, Row, start};

/// What a canned server refuses; an observation that asks for what is absent would report it.
const REFUSAL: &str = "this canned server does not answer that";

pub struct Mock {
    service: Service,
    protocol: CannedProtocol,
    version: &'static str,
    /// Its settings, beyond those of a server whose settings would lose commits.
    settings: Vec<(&'static str, &'static str)>,
    /// Number and SQLSTATE of the error that some transactions fail with.
    conflict: Option<(u16, &'static str)>,
}

use CannedProtocol::{MySql, PostgreSql, Tds};
use Service::*;

/// Service, protocol, version, settings, and number and SQLSTATE of the error of a conflict, if a transaction may fail with
/// one.
const MOCKS: &str = "\
Cockroach        | PostgreSql | 13.0.0 | crdb_version=CockroachDB CCL v24.1.0 | 0 40001
Yugabyte         | PostgreSql | 11.2-YB-2.20.1.3-b0 | | 0 40001
AlloyDb          | PostgreSql | 16.8 | alloydb.iam_authentication=on |
AlloyDbOmni      | PostgreSql | 16.8 | google_columnar_engine.enabled=on |
CloudSql         | PostgreSql | 16.8 | cloudsql.iam_authentication=on |
AuroraDsql       | PostgreSql | 16.5 | | 0 OC000
AuroraPostgreSql | PostgreSql | 16.4 | \
                   apg_plan_mgmt.unapproved_plan_execution_threshold=0 + rds.extensions= |
AuroraMySql      | MySql | 8.0.32 | aurora_version=3.05.2 + basedir=/rdsdbbin/oscar-8.0.mysql_aurora.3.05.2/ |
Rds              | MySql | 8.0.35 | basedir=/rdsdbbin/mysql-8.0.35.R2/ |
AzureDatabase    | PostgreSql | 16.4 | azure.extensions= |
Neon             | PostgreSql | 17.2 | neon.tenant_id=0123 |
Supabase         | PostgreSql | 15.8 | supautils.privileged_role=postgres |
TiDb             | MySql | 8.0.11-TiDB-v8.1.0 | version=8.0.11-TiDB-v8.1.0 | 9007 HY000
Vitess           | MySql | 8.0.30-Vitess | |
PerconaCluster   | MySql | 8.0.36-28.1 | version_comment=Percona XtraDB Cluster (GPL), Release rel28 + \
                   wsrep_provider=/usr/lib64/galera4/libgalera_smm.so |
Percona          | MySql | 8.0.36-28 | version_comment=Percona Server (GPL), Release 28 |
Galera           | MySql | 10.11.6-MariaDB | \
                   wsrep_provider=/usr/lib/galera/libgalera_smm.so + wsrep_on=ON + version=10.11.6-MariaDB |
SingleStore      | MySql | 5.7.32 | \
                   version_comment=SingleStoreDB source distribution (compatible; MySQL Enterprise & Commercial) |
Dolt             | MySql | 8.0.33 | version_comment=Dolt | 1213 40001
AzureSql         | Tds | 12.0.2000.8 | Edition=SQL Azure |
Babelfish        | Tds | 12.0.2000.8 | babelfish=1 |
Rds              | PostgreSql | 15.4 | rds.extensions=address_standardizer |
Rds              | Tds | 15.0.4345.5 | Edition=Web Edition (64-bit) + rdsadmin=1 |
CloudSql         | MySql | 8.0.31-google | |
CloudSql         | Tds | 16.0.4085.2 | CustomerDbRootRole=1 |
AzureDatabase    | MySql | 8.0.37-azure | |";

fn mocks() -> impl Iterator<Item = Mock> {
    MOCKS.lines().map(|line| {
        let fields: Vec<&str> = line.split('|').map(str::trim).collect();
        let [service, protocol, version, settings, conflict] = fields[..] else {
            panic!("{line}");
        };
        let mut services = Service::ALL.iter();
        let settings = settings
            .split(" + ")
            .filter_map(|text| text.split_once('='));
        Mock {
            service: *services
                .find(|it| format!("{it:?}") == service)
                .expect(line),
            protocol: match protocol {
                "PostgreSql" => PostgreSql,
                "MySql" => MySql,
                _ => Tds,
            },
            version,
            settings: settings.collect(),
            conflict: conflict
                .split_once(' ')
                .map(|(number, sqlstate)| (number.parse().expect(line), sqlstate)),
        }
    })
}

pub fn mock_of(service: Service) -> Mock {
    let mut mocks = mocks();
    let mock = mocks.find(|mock| mock.service == service);
    mock.expect("its conversation")
}

fn cells(texts: &[&str]) -> Row {
    texts.iter().map(|text| Some((*text).to_owned())).collect()
}

fn one_row(texts: &[&str]) -> Answer {
    Answer::Rows(vec![cells(texts)])
}

fn rows(pairs: &[(&str, &str)]) -> Vec<Row> {
    let pairs = pairs.iter();
    pairs.map(|(name, value)| cells(&[name, value])).collect()
}

fn refused(number: u16, sqlstate: &'static str) -> Answer {
    Answer::Error(CannedError {
        number,
        sqlstate,
        message: REFUSAL.to_owned(),
    })
}

impl Mock {
    /// The answers, with settings that would lose commits on the product as which it answers where the service has a
    /// durability of its own.
    pub fn conversation(&self) -> Conversation {
        let load = self
            .conflict_error()
            .map_or(Answer::Usual, |error| Answer::ErrorEvery(500, error));
        let mut answers = vec![
            ("update sbtest1", load),
            // The catalog of sysbench's tables on PostgreSQL.
            ("select t.name, c.relkind in", Answer::Usual),
            ("max(", one_row(&["1000"])),
        ];
        match self.protocol {
            PostgreSql => answers.extend(self.postgres_answers()),
            MySql => answers.extend(self.mysql_answers()),
            Tds => answers.extend(self.tds_answers()),
        }
        let answers = answers.into_iter();
        let answers = answers.map(|(part, answer)| (part.to_owned(), answer));
        Conversation::new(self.version, answers.collect())
    }

    fn conflict_error(&self) -> Option<CannedError> {
        self.conflict.map(|(number, sqlstate)| CannedError {
            number,
            sqlstate,
            message: "a conflict with another transaction".to_owned(),
        })
    }

    fn setting(&self, name: &str) -> Option<String> {
        let mut settings = self.settings.iter();
        let found = settings.find(|(setting, _)| *setting == name);
        found.map(|(_, value)| (*value).to_owned())
    }

    fn has_own_durability(&self) -> bool {
        self.service
            .absent()
            .any(|(topic, _)| topic == ObservedTopic::Durability)
    }

    fn postgres_answers(&self) -> Vec<(&'static str, Answer)> {
        let fsync = ["on", "off"][usize::from(self.has_own_durability())];
        let mut settings = rows(&self.settings);
        settings.extend(rows(&[
            ("fsync", fsync),
            ("full_page_writes", fsync),
            ("synchronous_commit", "on"),
            ("shared_buffers", "1GB"),
        ]));
        let relation: &[(&str, &str)] = match self.service {
            AuroraDsql => &[("sys.iam_pg_role_mappings", "relation")],
            _ => &[],
        };
        vec![
            ("from pg_settings", Answer::Rows(settings)),
            ("iam_pg_role_mappings", Answer::Rows(rows(relation))),
            ("pg_db_role_setting", Answer::Rows(Vec::new())),
            ("relpersistence = 'u'", Answer::Rows(Vec::new())),
            ("pg_", refused(0, "42501")),
        ]
    }

    /// Its status has zeros, and its uptime does not grow.
    fn mysql_answers(&self) -> Vec<(&'static str, Answer)> {
        let flush = if self.has_own_durability() { "0" } else { "1" };
        let mut variables = rows(&self.settings);
        variables.extend(rows(&[
            ("innodb_flush_log_at_trx_commit", flush),
            ("sync_binlog", "1"),
            ("log_bin", "OFF"),
        ]));
        let mut status = vec![
            ("Handler_commit", "0"),
            ("Innodb_buffer_pool_read_requests", "0"),
            ("Innodb_buffer_pool_reads", "0"),
            ("Innodb_os_log_written", "0"),
            ("Innodb_redo_log_current_lsn", "0"),
            ("Innodb_redo_log_checkpoint_lsn", "0"),
            ("Threads_connected", "3"),
            ("Uptime", "1"),
        ];
        if self.setting("wsrep_provider").is_some() {
            status.extend([
                ("wsrep_cluster_size", "3"),
                ("wsrep_cluster_status", "Primary"),
                ("wsrep_local_state_comment", "Synced"),
            ]);
        }
        let columns = ["id", "k", "c", "pad"]
            .map(|column| cells(&["sbtest1", column, ""]))
            .to_vec();
        let indexes = [("id", "PRIMARY"), ("k", "k_1")]
            .map(|(column, index)| cells(&["sbtest1", column, index, "1"]))
            .to_vec();
        vec![
            ("show global variables", Answer::Rows(variables)),
            ("show session variables", Answer::Rows(Vec::new())),
            ("like 'uptime'", one_row(&["Uptime", "1"])),
            (
                "show global status where variable_name in ('rpl",
                Answer::Rows(Vec::new()),
            ),
            ("show global status", Answer::Rows(rows(&status))),
            ("unix_timestamp", Answer::UnixTime),
            ("select connection_id()", one_row(&["1"])),
            (
                "show grants",
                one_row(&["GRANT ALL PRIVILEGES ON *.* TO `u`@`%`"]),
            ),
            ("not in ('innodb'", Answer::Rows(Vec::new())),
            (
                "select table_name, table_type",
                one_row(&["sbtest1", "BASE TABLE", "1000", "8192", "8192", ""]),
            ),
            (
                "select table_name, column_name, column_comment",
                Answer::Rows(columns),
            ),
            (
                "select table_name, column_name, index_name",
                Answer::Rows(indexes),
            ),
            ("information_schema", refused(1142, "42000")),
            ("performance_schema", refused(1142, "42000")),
            ("mysql.", refused(1142, "42000")),
            ("show ", refused(1142, "42000")),
        ]
    }

    fn tds_answers(&self) -> Vec<(&'static str, Answer)> {
        let value = |name: &str| self.setting(name);
        let edition = value("Edition").or_else(|| Some("Developer Edition".to_owned()));
        // Its fourth column is page_verify_option_desc, its twelfth delayed_durability_desc.
        let delayed = ["DISABLED", "FORCED"][usize::from(self.has_own_durability())];
        let mut database: Row = vec![None; 14];
        (database[3], database[11]) = (Some("CHECKSUM".to_owned()), Some(delayed.to_owned()));
        let mut properties = vec![Some(self.version.to_owned()), None, None, edition];
        properties.extend([None, None, None, None, None, value("babelfish")]);
        properties.extend(["rdsadmin", "CustomerDbRootRole"].map(value));
        vec![
            (
                "serverproperty('productversion')",
                Answer::Rows(vec![properties]),
            ),
            ("from sys.databases", Answer::Rows(vec![database])),
            ("schema_only", Answer::Rows(Vec::new())),
            ("'sbtest", Answer::Usual),
            ("sys.", refused(208, "HY000")),
        ]
    }

    fn url(&self, port: u16) -> String {
        match self.protocol {
            PostgreSql => format!("postgres://u@127.0.0.1:{port}/bench"),
            MySql => format!("mysql://u@127.0.0.1:{port}/bench"),
            Tds => format!("sqlserver://u:p@127.0.0.1:{port}/bench?encrypt=false"),
        }
    }
}

/// Runs a load on a canned server; returns the run, and its texts on the terminal and on the page.
pub fn run_on(name: &str, mock: &Mock, conversation: Conversation) -> (Run, String, String) {
    let port = start(mock.protocol, conversation).expect("a port");
    let home = TestFolder::create();
    let prony = |arguments: &str| {
        let output = prony_command(arguments, &home).output().expect("it starts");
        // A busy machine makes a run invalid, which its exit code says.
        let is_run = arguments.starts_with("run");
        assert!(
            output.status.success() || is_run,
            "{name}: {}",
            stderr_text(&output)
        );
        String::from_utf8(output.stdout).expect("UTF-8")
    };
    let json = prony(&format!(
        "run oltp_update_index --clients 2 --duration 1s --protocol simple --json --url {}",
        mock.url(port)
    ));
    let run = serde_json::from_str(&json).expect("a document");
    let terminal = prony("show last --full");
    let page = home.join("page.html");
    prony(&format!("report last --output {}", page.display()));
    let page = std::fs::read_to_string(&page).expect("a page");
    (run, terminal, page)
}

fn check(mock: &Mock) {
    let name = mock.service.name();
    let (run, terminal, page) = run_on(name, mock, mock.conversation());
    assert_eq!(run.server.service, Some(mock.service), "{name}");
    terminal.assert_contains(name);
    let observed = run.observed.as_ref().expect("an observation");
    let before = observed.before.as_ref().expect("a state before");
    for (topic, why) in mock.service.absent() {
        let mut missing = observed.missing.iter();
        let missing = missing.find(|missing| missing.what == topic);
        let missing = missing.unwrap_or_else(|| panic!("{name}: {topic:?}"));
        let found = (missing.absent, &*missing.why);
        assert_eq!(found, (true, why), "{name}: {topic:?}");
    }
    let says_absent = format!("{name} does not have: ");
    let has_absent = mock.service.absent().next().is_some();
    for text in [&terminal, &page] {
        assert_eq!(
            text.contains(&says_absent),
            has_absent,
            "{name}: {terminal}"
        );
    }
    let has_none = before.durability.is_none();
    assert_eq!(has_none, mock.has_own_durability(), "{name}: {before:?}");
    let absent = |topic| observed.is_absent(topic);
    let has = |read: fn(&ServerSecond) -> Option<u64>| {
        observed.series.iter().any(|it| read(it).is_some())
    };
    for (is_read, topic) in [
        (has(|second| second.log_bytes), ObservedTopic::WriteAheadLog),
        (has(|second| second.commits), ObservedTopic::CommitsAndCache),
        (before.started_unix_s.is_some(), ObservedTopic::ServerStart),
    ] {
        assert!(!is_read || !absent(topic), "{name}: {topic:?}");
    }
    for check in &run.checks {
        let misjudged = ["durability", "server-commits", "checkpoint"].contains(&&*check.id)
            || (check.id == "restart" && absent(ObservedTopic::ServerStart));
        assert!(!misjudged, "{name}: {check:?}");
    }
    if mock.conflict.is_some() {
        let all = run.measured.all_kinds().expect("figures");
        assert!(
            all.retries > 0 && all.failed == 0,
            "{name}: {:?}",
            run.measured.errors
        );
    }
}

fn check_all(protocol: CannedProtocol) {
    let mocks = mocks().filter(|mock| mock.protocol == protocol);
    mocks.for_each(|mock| check(&mock));
}

#[test]
fn services_on_postgresqls_protocol_are_named_and_not_misjudged() {
    check_all(PostgreSql);
}

#[test]
fn services_on_mysqls_protocol_are_named_and_not_misjudged() {
    check_all(MySql);
}

#[test]
fn services_on_sql_servers_protocol_are_named_and_not_misjudged() {
    check_all(Tds);
}

#[test]
fn every_service_has_a_mocked_conversation_for_each_product_as_which_it_answers() {
    for &service in Service::ALL {
        for (dialect, sign) in service.quirks().signs {
            let protocol = match dialect {
                SqlDialect::PostgreSql => PostgreSql,
                SqlDialect::MySql => MySql,
                SqlDialect::TransactSql => Tds,
            };
            let mut mocks = mocks();
            let has = mocks.any(|mock| (mock.service, mock.protocol) == (service, protocol));
            assert!(has, "{}: {sign:?}", service.name());
        }
    }
}

#[test]
fn a_load_keeps_to_what_aurora_dsql_can_do_and_repeats_what_lost_a_conflict() {
    let mock = mock_of(AuroraDsql);
    let load = |workload: &str| {
        let mut conversation = mock.conversation();
        let conflict = Answer::ErrorEvery(3, mock.conflict_error().expect("a conflict"));
        let mut answers = vec![
            ("create index async".to_owned(), Answer::Usual),
            ("insert into sbtest".to_owned(), conflict),
        ];
        let absent = [
            "create index",
            "create unique index",
            "alter table",
            "fillfactor",
            "serial",
            "truncate",
            "vacuum",
            "copy ",
            "comment on",
            "advisory",
        ];
        answers.extend(absent.map(|part| (part.to_owned(), refused(0, "0A000"))));
        answers.append(&mut conversation.answers);
        conversation.answers = answers;
        let port = start(mock.protocol, conversation).expect("a port");
        let arguments = format!("load {workload} --url {}", mock.url(port));
        let output = prony_command(&arguments, &std::env::temp_dir()).output();
        output.expect("it starts")
    };
    // A canned server says of each change that it was one of one row.
    let oltp = "oltp_update_index --scale 6 -o table_size=1";
    let loaded = load(&format!("{oltp} -o auto_inc=off"));
    let text = ok_stdout(&loaded);
    text.assert_contains("INSERTs of up to 3000 rows, each a transaction");
    let output = load(oltp);
    assert!(!output.status.success());
    stderr_text(&output).assert_contains("-o auto_inc=off");
}

/// A PostgreSQL with Aurora DSQL's sign: what its rules for loads leave in the tables.
#[test]
fn ycsb_is_loaded_as_aurora_dsql_allows_and_tpcc_is_refused_by_name() {
    let bench = TestBench::new("dsql");
    let mut control = connect(&bench.url);
    control.run("create schema sys");
    control.run("create table sys.iam_pg_role_mappings (role text)");
    let loaded = bench.ok("load ycsb --scale 7");
    loaded.assert_contains("INSERTs of up to 3000 rows, each a transaction");
    let whole =
        "select count(*) from usertable where length(field0) = 100 and length(field9) = 100";
    assert_eq!(query_number(&mut control, whole), 7_000);
    let run = bench.run("run ycsb --scale 7 --clients 2 --transactions 50");
    assert_eq!(run.server.service, Some(AuroraDsql));
    assert_eq!(run.measured.all_kinds().expect("figures").failed, 0);
    // Loaded by other means.
    control.run("alter schema sys rename to other");
    bench.ok("load tpcc --scale 1 --jobs 2");
    control.run("alter schema other rename to sys");
    for arguments in ["load tpcc --scale 1", "run tpcc --clients 1 --duration 1s"] {
        let output = bench.prony(arguments);
        assert!(!output.status.success(), "{arguments}");
        stderr_text(&output).assert_contains("tpcc cannot run on Aurora DSQL. Its delivery locks");
    }
}
