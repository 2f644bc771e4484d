//! Services and derived products that answer as MySQL or MariaDB.

use super::{Absent, MySql, PLAIN, Quirks, Retry, RetryCode, Sign, Unsuited};
use crate::topic::ObservedTopic;
use crate::topic::ObservedTopic::{
    Checkpoints, CommitsAndCache, Durability, IsReplica, OtherSessions, PurgeAndDeadlocks,
    Replicas, ReplicationLag, SemiSynchronousReplication, ServerStart, StatisticsAge, Status,
    UnloggedTables, WriteAheadLog,
};

/// What a server without InnoDB does not have.
const INNODB: &[ObservedTopic] = &[
    Checkpoints,
    WriteAheadLog,
    CommitsAndCache,
    PurgeAndDeadlocks,
];

pub(super) const AURORA: Quirks = Quirks {
    signs: &[(MySql, Sign::Setting("aurora_version"))],
    source: "https://docs.aws.amazon.com/AmazonRDS/latest/AuroraUserGuide/AuroraMySQL.Updates.Versions.html",
    absent: &[
        Absent {
            topics: &[WriteAheadLog, Checkpoints],
            why: "Aurora sends its log to its storage, which writes the pages: the instance has no redo log of its own, and no checkpoints",
        },
        Absent {
            topics: &[Durability],
            why: "Aurora's commits are on four of the six copies in its storage, which has no torn pages, whatever innodb_doublewrite says",
        },
    ],
    notes: &[
        "Its storage keeps six copies in three zones; what a replica adds does not show over SQL: declare it (high_availability).",
    ],
    ..PLAIN
};

pub(super) const TIDB: Quirks = Quirks {
    signs: &[(MySql, Sign::Version("tidb"))],
    source: "https://docs.pingcap.com/tidb/stable/system-variables",
    is_other_engine: true,
    absent: &[
        Absent {
            topics: INNODB,
            why: "TiDB keeps its data in TiKV: there is no InnoDB, with its log, buffer pool, purge and checkpoints",
        },
        Absent {
            topics: &[Durability, UnloggedTables, SemiSynchronousReplication],
            why: "TiDB's commits are on a majority of a region's replicas; it accepts InnoDB's settings without an effect",
        },
        Absent {
            topics: &[Replicas, ReplicationLag, IsReplica],
            why: "TiDB replicates by Raft, without a binary log's replicas",
        },
        Absent {
            topics: &[ServerStart],
            why: "TiDB's uptime is that of one of its stateless servers, and its restart loses no cache of the data",
        },
    ],
    retries: &[
        Retry {
            code: RetryCode::Number(9007),
            meaning: "write conflict in TiKV",
        },
        Retry {
            code: RetryCode::Number(8002),
            meaning: "a transaction with SELECT FOR UPDATE met a conflict at its commit",
        },
        Retry {
            code: RetryCode::Number(8005),
            meaning: "write conflict in TiDB",
        },
        Retry {
            code: RetryCode::Number(8022),
            meaning: "the commit failed, and the transaction was rolled back",
        },
        Retry {
            code: RetryCode::Number(8028),
            meaning: "the schema changed during the transaction",
        },
    ],
    retries_source: "https://docs.pingcap.com/tidb/stable/error-codes",
    unsuited: &[Unsuited {
        workload: "tpcb",
        why: "Transactions that update the same branch at a time wait for one another's locks in TiKV, over the network.",
    }],
    ..PLAIN
};

pub(super) const VITESS: Quirks = Quirks {
    signs: &[
        (MySql, Sign::Version("vitess")),
        (MySql, Sign::Version("planetscale")),
    ],
    source: "https://vitess.io/docs/reference/programs/vtgate/",
    is_other_engine: true,
    absent: &[
        Absent {
            topics: &[
                ServerStart,
                Status,
                CommitsAndCache,
                WriteAheadLog,
                Checkpoints,
                PurgeAndDeadlocks,
            ],
            why: "VTGate routes statements to the MySQL servers of its shards: the status that it passes on is that of one of them",
        },
        Absent {
            topics: &[
                Durability,
                UnloggedTables,
                Replicas,
                ReplicationLag,
                IsReplica,
                SemiSynchronousReplication,
            ],
            why: "VTGate has no data; durability and replication are those of its shards, which it does not show",
        },
        Absent {
            topics: &[OtherSessions],
            why: "VTGate pools the sessions of its clients",
        },
    ],
    notes: &[
        "Transactions over several shards commit in each of them, by default without atomicity.",
    ],
    ..PLAIN
};

pub(super) const PERCONA_CLUSTER: Quirks = Quirks {
    signs: &[(
        MySql,
        Sign::Value("version_comment", "percona xtradb cluster"),
    )],
    source: "https://docs.percona.com/percona-xtradb-cluster/8.0/",
    unsuited: GALERA.unsuited,
    ..PLAIN
};

pub(super) const PERCONA: Quirks = Quirks {
    signs: &[(MySql, Sign::Value("version_comment", "percona server"))],
    source: "https://docs.percona.com/percona-server/8.0/",
    ..PLAIN
};

pub(super) const GALERA: Quirks = Quirks {
    // Packages set the provider of servers that are in no cluster, for which it is not loaded; on MySQL, wsrep_on is on
    // without a provider.
    signs: &[(
        MySql,
        Sign::Values(&[("wsrep_provider", "galera"), ("wsrep_on", "on")]),
    )],
    source: "https://mariadb.com/kb/en/galera-cluster-system-variables/",
    unsuited: &[Unsuited {
        workload: "tpcb",
        why: "If clients write to several nodes, transactions that update the same branch at a time fail at their commit \
              with 1213.",
    }],
    was_at_hand: true,
    ..PLAIN
};

pub(super) const SINGLE_STORE: Quirks = Quirks {
    signs: &[
        (MySql, Sign::Value("version_comment", "singlestore")),
        (MySql, Sign::Value("version_comment", "memsql")),
        (MySql, Sign::Setting("memsql_version")),
    ],
    source: "https://docs.singlestore.com/cloud/reference/configuration-reference/engine-variables/",
    is_other_engine: true,
    absent: &[
        Absent {
            topics: INNODB,
            why: "SingleStore has rowstores and columnstores: there is no InnoDB, with its log, buffer pool, purge and checkpoints",
        },
        Absent {
            topics: &[
                Durability,
                UnloggedTables,
                SemiSynchronousReplication,
                StatisticsAge,
            ],
            why: "SingleStore decides by database whether commits wait for its log and its replicas, and not by InnoDB's settings",
        },
        Absent {
            topics: &[Replicas, ReplicationLag, IsReplica],
            why: "SingleStore replicates its partitions between leaves, without a binary log's replicas",
        },
    ],
    ..PLAIN
};

pub(super) const DOLT: Quirks = Quirks {
    signs: &[
        (MySql, Sign::Value("version_comment", "dolt")),
        (MySql, Sign::Setting("dolt_")),
        (MySql, Sign::Version("dolt")),
    ],
    source: "https://docs.dolthub.com/sql-reference/version-control/dolt-sysvars",
    is_other_engine: true,
    absent: &[
        Absent {
            topics: &[ServerStart],
            why: "Dolt's Uptime is a constant: its start is unknown",
        },
        Absent {
            topics: &[
                Status,
                CommitsAndCache,
                WriteAheadLog,
                Checkpoints,
                PurgeAndDeadlocks,
            ],
            why: "Dolt has no InnoDB: it reports its status variables, and does not count in most of them",
        },
        Absent {
            topics: &[
                Durability,
                UnloggedTables,
                SemiSynchronousReplication,
                StatisticsAge,
            ],
            why: "Dolt writes its commits to a journal of its own; InnoDB's settings have no effect",
        },
    ],
    notes: &["A transaction that conflicts with a committed one fails at its commit with 1213."],
    was_at_hand: true,
    ..PLAIN
};
