//! The topics that are observed on a server. Documents list those that could not be.
//!
//! Documents contain the identifiers of the enumeration, such as `database-size`; reports print
//! [`ObservedTopic::text`].

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Declares the enumeration: each value with its text in reports.
macro_rules! topics {
    ($($(#[$about:meta])* $topic:ident = $text:literal),+ $(,)?) => {
        /// A topic that is observed on a server.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "kebab-case")]
        pub enum ObservedTopic {
            $($(#[$about])* $topic,)+
            /// A topic that this version does not know.
            #[serde(other)]
            Other,
        }

        impl ObservedTopic {
            /// Every topic that this version knows.
            pub const KNOWN: &[ObservedTopic] = &[$(ObservedTopic::$topic),+];

            /// Its name in reports.
            pub fn text(self) -> &'static str {
                match self {
                    $(ObservedTopic::$topic => $text,)+
                    ObservedTopic::Other => "something else",
                }
            }
        }
    };
}

topics! {
    /// When the server was started.
    ServerStart = "start of the server",
    /// The size of the database.
    DatabaseSize = "size of the database",
    /// Extensions of PostgreSQL.
    Extensions = "extensions",
    /// Plugins of MySQL and MariaDB.
    Plugins = "plugins",
    /// Identities of the tables.
    TableIds = "ids of the tables",
    /// The largest tables, and how often they were vacuumed and analyzed.
    Tables = "tables",
    /// Tables that a crash loses.
    UnloggedTables = "tables without a log",
    /// Age of the planner's statistics.
    StatisticsAge = "age of the statistics",
    /// Which crashes a commit survives, by the server's settings.
    Durability = "durability by its settings",
    /// Connected replicas.
    Replicas = "replicas",
    /// Whether commits wait for a replica (MySQL, MariaDB).
    SemiSynchronousReplication = "semi-synchronous replication",
    /// Whether the server is itself a replica.
    IsReplica = "whether it is a replica",
    /// Lag of the replicas.
    ReplicationLag = "replication lag",
    /// The rights of the role (PostgreSQL).
    RoleRights = "rights of this role",
    /// The privileges of the user (MySQL, MariaDB).
    Privileges = "privileges",
    /// Waits that a role without `pg_read_all_stats` does not see.
    OtherRolesWaits = "waits of other roles, replication lag",
    /// Threads that a user without the privilege `PROCESS` does not see.
    OtherUsersThreads = "replicas and threads of other users",
    /// Counts of commits, and of pages found in the cache.
    CommitsAndCache = "commits and cache",
    /// Bytes of the write-ahead log.
    WriteAheadLog = "write-ahead log",
    /// Checkpoints.
    Checkpoints = "checkpoints",
    /// Sessions by state and wait event.
    SessionsAndWaits = "sessions and waits",
    /// Sessions of other clients.
    OtherSessions = "sessions of other clients",
    /// Commits confirmed by the server's counters, which a pooler delays (PostgreSQL).
    CommitsThroughPooler = "whether the server confirms the commits (a pooler delays its counts)",
    /// Vacuums, backups and similar work in progress (PostgreSQL).
    Vacuums = "vacuums",
    /// The server's clock (MySQL, MariaDB).
    ServerClock = "clock of the server",
    /// The status variables: commits, cache, log, checkpoints (MySQL, MariaDB).
    Status = "status",
    /// InnoDB's purge and deadlocks.
    PurgeAndDeadlocks = "purge and deadlocks",
    /// Time that sessions waited, by wait type (SQL Server).
    WaitTimes = "time of waits",
    /// CPU time of the server's processes, by its own count (SQL Server).
    ServerCpu = "CPU time of the server's processes",
    /// How much of its service's limits a database uses (Azure SQL Database).
    ServiceLimits = "use of the service's limits",
    /// The rate of transactions by the server's own count.
    TransactionRate = "transactions per minute by the server's count",
    /// CPU, memory and disks of the server's machine.
    ServerMachine = "the server's machine",
    /// CPU, memory and disks of the server's machine, for a part of the run.
    ServerMachinePartOfRun = "the server's machine for a part of the run",
    /// The server's state before the load.
    StateBefore = "the server's state before the load",
    /// The server's state after the load.
    StateAfter = "the server's state after the load",
    /// The server's counters during the load.
    DuringLoad = "the server during the load",
    /// The server's counters while the connection of the observer was lost.
    WhileDisconnected = "the server while its connection was lost",
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn topics_have_identifiers_in_documents_and_texts_in_reports() {
        let identifier = |topic: ObservedTopic| serde_json::to_value(topic).unwrap();
        assert_eq!(identifier(ObservedTopic::DatabaseSize), "database-size");
        let texts: std::collections::BTreeSet<&str> = ObservedTopic::KNOWN
            .iter()
            .map(|topic| topic.text())
            .collect();
        assert_eq!(texts.len(), ObservedTopic::KNOWN.len());
        let unknown: ObservedTopic = serde_json::from_str("\"moon-phase\"").unwrap();
        assert_eq!(unknown, ObservedTopic::Other);
    }
}
