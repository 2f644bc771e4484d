//! Services and derived products that answer as SQL Server.

use super::{Absent, PLAIN, Quirks, Sign, TransactSql};
use crate::topic::ObservedTopic::{
    Checkpoints, Durability, Replicas, ServerCpu, Status, WaitTimes, WriteAheadLog,
};

pub(super) const AZURE_SQL: Quirks = Quirks {
    signs: &[(TransactSql, Sign::Version("(sql azure"))],
    source: "https://learn.microsoft.com/sql/t-sql/functions/serverproperty-transact-sql",
    notes: &[
        "Its service tier limits CPU, data I/O and log writes: see the use of the service's limits.",
    ],
    ..PLAIN
};

pub(super) const BABELFISH: Quirks = Quirks {
    signs: &[(TransactSql, Sign::Value("babelfish", "1"))],
    source: "https://babelfishpg.org/docs/usage/installation/",
    is_other_engine: true,
    absent: &[
        Absent {
            topics: &[Status, WriteAheadLog, Checkpoints, WaitTimes, ServerCpu],
            why: "Babelfish is PostgreSQL behind SQL Server's protocol, without its dynamic management views of performance",
        },
        Absent {
            topics: &[Durability, Replicas],
            why: "Babelfish's durability and replicas are those of its PostgreSQL, which shows them on its other port",
        },
    ],
    was_at_hand: true,
    ..PLAIN
};
