//! Services and derived products that answer as PostgreSQL, among them those that are also sold with another product, such as
//! Amazon RDS: each of these has one entry, here.

use super::{
    Absent, MySql, PLAIN, PostgreSql, Quirks, Retry, RetryCode, Sign, SmallTransactions,
    TransactSql, Unsuited,
};
use crate::topic::ObservedTopic::{
    Checkpoints, CommitsAndCache, DatabaseSize, Durability, Extensions, OtherSessions, Replicas,
    ReplicationLag, SessionsAndWaits, StatisticsAge, Tables, UnloggedTables, Vacuums,
    WriteAheadLog,
};

pub(super) const COCKROACH: Quirks = Quirks {
    signs: &[
        (PostgreSql, Sign::Setting("crdb_version")),
        (PostgreSql, Sign::Version("cockroachdb")),
    ],
    source: "https://www.cockroachlabs.com/docs/stable/show-vars",
    is_other_engine: true,
    absent: &[
        Absent {
            topics: &[WriteAheadLog, Checkpoints],
            why: "CockroachDB's nodes keep their data in an LSM tree, with no write-ahead log or checkpoint of PostgreSQL",
        },
        Absent {
            topics: &[Vacuums],
            why: "CockroachDB removes old versions by garbage collection of ranges, without vacuums",
        },
        Absent {
            topics: &[CommitsAndCache],
            why: "CockroachDB's pg_stat_database counts nothing",
        },
        Absent {
            topics: &[Replicas, ReplicationLag],
            why: "CockroachDB replicates each range by Raft; pg_stat_replication shows no replica",
        },
        Absent {
            topics: &[Durability, UnloggedTables],
            why: "CockroachDB's commits are on a majority of a range's replicas, which PostgreSQL's settings do not change",
        },
    ],
    retries: &[Retry {
        code: RetryCode::SqlState(*b"40001"),
        meaning: "a conflict with another transaction, which the server could not resolve by itself",
    }],
    retries_source: "https://www.cockroachlabs.com/docs/stable/transaction-retry-error-reference",
    unsuited: &[Unsuited {
        workload: "tpcb",
        why: "Its transactions are serializable: of those that update the same branch at a time, all but one wait or \
              fail with 40001.",
    }],
    notes: &[
        "Transactions are serializable unless the cluster allows and the session asks for less.",
    ],
    ..PLAIN
};

pub(super) const YUGABYTE: Quirks = Quirks {
    signs: &[(PostgreSql, Sign::Version("-yb-"))],
    source: "https://docs.yugabyte.com/stable/faq/compatibility/",
    is_other_engine: true,
    absent: &[
        Absent {
            topics: &[WriteAheadLog, Checkpoints],
            why: "YugabyteDB keeps its data in DocDB; PostgreSQL's write-ahead log and checkpoints have no part in it",
        },
        Absent {
            topics: &[Vacuums],
            why: "YugabyteDB removes old versions by compactions of DocDB, without vacuums",
        },
        Absent {
            topics: &[Replicas, ReplicationLag],
            why: "YugabyteDB replicates each tablet by Raft; pg_stat_replication shows no replica",
        },
        Absent {
            topics: &[Durability, UnloggedTables],
            why: "YugabyteDB's commits are on a majority of a tablet's replicas, which PostgreSQL's settings do not change",
        },
    ],
    retries: &[
        Retry {
            code: RetryCode::SqlState(*b"40001"),
            meaning: "a conflict with another transaction, or a read restart",
        },
        Retry {
            code: RetryCode::SqlState(*b"40P01"),
            meaning: "a deadlock",
        },
    ],
    retries_source: "https://docs.yugabyte.com/stable/develop/learn/transactions/transactions-retries-ysql/",
    unsuited: &[Unsuited {
        workload: "tpcb",
        why: "Transactions that update the same branch at a time wait for one another over the network, or fail with \
              40001.",
    }],
    ..PLAIN
};

pub(super) const ALLOYDB: Quirks = Quirks {
    signs: &[(PostgreSql, Sign::Setting("alloydb.iam_authentication"))],
    source: "https://cloud.google.com/alloydb/docs/reference/alloydb-flags",
    absent: &[Absent {
        topics: &[Checkpoints],
        why: "AlloyDB's storage applies the log and writes the pages: the instance has no checkpoint that a load would wait for",
    }],
    notes: &[
        "The standby of a highly available instance does not show over SQL: declare it (high_availability).",
    ],
    ..PLAIN
};

pub(super) const ALLOYDB_OMNI: Quirks = Quirks {
    signs: &[
        (PostgreSql, Sign::Setting("alloydb.")),
        (PostgreSql, Sign::Setting("google_columnar_engine.")),
    ],
    source: "https://cloud.google.com/alloydb/omni/docs/configure-database-flags",
    notes: &[
        "It is told from AlloyDB by the flag for Google Cloud's identities, which only AlloyDB has.",
        "It keeps its data on the machine's own disks, as PostgreSQL does: its log and checkpoints are those of PostgreSQL.",
    ],
    ..PLAIN
};

pub(super) const CLOUD_SQL: Quirks = Quirks {
    signs: &[
        (PostgreSql, Sign::Setting("cloudsql.")),
        (MySql, Sign::Version("-google")),
        (TransactSql, Sign::Setting("CustomerDbRootRole")),
    ],
    source: "https://cloud.google.com/sql/docs/postgres/flags",
    notes: &[
        "The standby of a highly available instance shares a regional disk, and does not show over SQL: declare it (high_availability).",
    ],
    ..PLAIN
};

pub(super) const AURORA: Quirks = Quirks {
    signs: &[
        (PostgreSql, Sign::Setting("apg_")),
        (PostgreSql, Sign::Setting("aurora_")),
    ],
    source: "https://docs.aws.amazon.com/AmazonRDS/latest/AuroraUserGuide/AuroraPostgreSQL.Reference.ParameterGroups.html",
    absent: &[
        Absent {
            topics: &[WriteAheadLog, Checkpoints],
            why: "Aurora sends its log to its storage, which writes the pages: the instance has no WAL of its own, and no checkpoints",
        },
        Absent {
            topics: &[Durability],
            why: "Aurora's commits are on four of the six copies in its storage, whatever fsync and full_page_writes say",
        },
    ],
    notes: &[
        "Its storage keeps six copies in three zones; what a replica adds does not show over SQL: declare it (high_availability).",
    ],
    ..PLAIN
};

pub(super) const AURORA_DSQL: Quirks = Quirks {
    signs: &[(PostgreSql, Sign::Setting("sys.iam_pg_role_mappings"))],
    source: "https://docs.aws.amazon.com/aurora-dsql/latest/userguide/working-with-systems-tables.html",
    is_other_engine: true,
    absent: &[
        Absent {
            topics: &[WriteAheadLog, Checkpoints, Vacuums],
            why: "Aurora DSQL separates query processors, journal and storage: no server has a write-ahead log, checkpoints or vacuums",
        },
        Absent {
            topics: &[CommitsAndCache, SessionsAndWaits, OtherSessions],
            why: "Aurora DSQL gives each session a query processor of its own, and has none of PostgreSQL's statistics of a server",
        },
        Absent {
            topics: &[Replicas, ReplicationLag, Durability, UnloggedTables],
            why: "Aurora DSQL's commits are in several zones; PostgreSQL's replication and settings have no part in it",
        },
        Absent {
            topics: &[Extensions, DatabaseSize, Tables, StatisticsAge],
            why: "Aurora DSQL has no extensions and one database, whose sizes its catalog does not tell",
        },
    ],
    retries: &[
        Retry {
            code: RetryCode::SqlState(*b"40001"),
            meaning: "OC000 or OC001, which the message names",
        },
        Retry {
            code: RetryCode::SqlState(*b"OC000"),
            meaning: "another transaction changed the same row and committed first",
        },
        Retry {
            code: RetryCode::SqlState(*b"OC001"),
            meaning: "another transaction changed the schema",
        },
    ],
    retries_source: "https://docs.aws.amazon.com/aurora-dsql/latest/userguide/working-with-concurrency-control.html",
    unsuited: &[Unsuited {
        workload: "tpcb",
        why: "Conflicts are found at the commit: of the transactions that update the same branch at a time, all but one \
              fail with 40001 (OC000), and did their work for nothing.",
    }],
    // https://docs.aws.amazon.com/aurora-dsql/latest/userguide/working-with-postgresql-compatibility-supported-sql-features.html
    impossible: &[Unsuited {
        workload: "tpcc",
        why: "Its delivery locks the oldest order of a district, but FOR UPDATE needs the value of each column of the \
              primary key there; its routines are in PL/pgSQL, which Aurora DSQL does not have.",
    }],
    small_transactions: Some(SmallTransactions {
        rows: 3_000,
        bytes: 4 << 20,
        create_index: "create index async",
        wait_for_index: Some("call sys.wait_for_job('{job}')"),
    }),
    notes: &[
        "A transaction changes 3,000 rows and 10 MiB at most, and lasts five minutes; a connection ends after an hour.",
        "Indexes are built by CREATE INDEX ASYNC; there are no foreign keys, sequences need a cache, and TRUNCATE is missing.",
    ],
    ..PLAIN
};

pub(super) const RDS: Quirks = Quirks {
    signs: &[
        (PostgreSql, Sign::Setting("rds.")),
        (MySql, Sign::Value("basedir", "/rdsdbbin")),
        (TransactSql, Sign::Setting("rdsadmin")),
    ],
    source: "https://docs.aws.amazon.com/AmazonRDS/latest/UserGuide/Appendix.PostgreSQL.CommonDBATasks.Parameters.html",
    notes: &[
        "The standby of a Multi-AZ instance is replicated below SQL, and does not show: declare it (high_availability).",
    ],
    ..PLAIN
};

pub(super) const AZURE_DATABASE: Quirks = Quirks {
    signs: &[
        (PostgreSql, Sign::Setting("azure.")),
        (MySql, Sign::Version("-azure")),
    ],
    source: "https://learn.microsoft.com/azure/postgresql/flexible-server/concepts-server-parameters",
    notes: &[
        "The standby of a zone-redundant server does not show over SQL: declare it (high_availability).",
    ],
    ..PLAIN
};

pub(super) const NEON: Quirks = Quirks {
    signs: &[(PostgreSql, Sign::Setting("neon."))],
    source: "https://neon.com/docs/reference/compatibility",
    absent: &[
        Absent {
            topics: &[Checkpoints],
            why: "Neon's page servers write the pages: a compute has no checkpoint that a load would wait for",
        },
        Absent {
            topics: &[Durability],
            why: "Neon's commits are on a majority of its safekeepers, whatever the fsync of a compute says, which keeps no data",
        },
    ],
    notes: &["A compute that was idle is stopped, and starts with a cold cache."],
    ..PLAIN
};

pub(super) const SUPABASE: Quirks = Quirks {
    signs: &[(PostgreSql, Sign::Setting("supautils."))],
    source: "https://github.com/supabase/supautils",
    notes: &[
        "Its small machines have burst credits for CPU and disk: a short run may measure the burst.",
    ],
    ..PLAIN
};
