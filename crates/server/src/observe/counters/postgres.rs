//! Counter queries of PostgreSQL.
//!
//! Must never: read `pg_locks`, which locks all partitions of the lock table at once;
//! `pg_stat_activity` shows who waits for a lock.

use super::super::{Reader, cell, first_cell, number, tally};
use super::{
    Activity, ActivityKind, Checkpoint, CounterQuery, Counters, is_active, read_session_groups,
    read_waits,
};
use crate::control::{Error, TextRow};
use prony_document::ObservedTopic;

const DATABASE_QUERY: &str = "select extract(epoch from clock_timestamp()), \
     extract(epoch from pg_postmaster_start_time()), pg_is_in_recovery(), xact_commit, \
     xact_rollback, blks_hit, blks_read, temp_bytes, deadlocks, \
     others.commits, others.rollbacks from pg_stat_database, (select sum(xact_commit) as commits, \
     sum(xact_rollback) as rollbacks from pg_stat_database where datname <> current_database()) as others \
     where datname = current_database()";
const LOG_QUERY: &str = "select pg_wal_lsn_diff(case when pg_is_in_recovery() \
     then pg_last_wal_replay_lsn() else pg_current_wal_insert_lsn() end, '0/0')";
/// `checkpoint_time` is the start of the checkpoint. The control file describes the last complete one,
/// because the server writes it at the end of a checkpoint.
const CHECKPOINT_QUERY: &str = "select pg_wal_lsn_diff(redo_lsn, '0/0'), \
     extract(epoch from checkpoint_time) from pg_control_checkpoint()";
/// A role that is not a member of `pg_read_all_stats` sees no `backend_type` of other roles' sessions, only that they
/// exist; processes of the server itself have no user or no database.
const SESSIONS_QUERY: &str = "select state, wait_event_type, wait_event, count(*), \
     count(*) filter (where application_name = 'pg_dump') from pg_stat_activity \
     where (backend_type = 'client backend' \
     or backend_type is null and usesysid is not null and datid is not null) \
     and pid <> pg_backend_pid() group by 1, 2, 3";
/// The sessions of clients by who they are. A session that waits for its client, sleeps or waits for a notification
/// uses nothing, but one whose statement ended in the last 20 ms is busy: clients with short statements are rarely seen
/// in one. A dump is reported as a backup.
const SESSION_GROUPS_QUERY: &str = "select coalesce(datname, ''), coalesce(usename, ''), \
     coalesce(application_name, ''), coalesce(datname = current_database() and usename = session_user \
     and application_name = current_setting('application_name'), false), \
     count(*) filter (where state = 'active' or state_change > clock_timestamp() - interval '1 s'), \
     count(*) filter (where application_name <> 'pg_dump' and case state when 'active' \
     then coalesce(wait_event_type, '') not in ('Activity', 'Client', 'Extension', 'Timeout') \
     else state_change > clock_timestamp() - interval '20 ms' end) \
     from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid() group by 1, 2, 3, 4";
/// A client that only receives the log, such as pg_receivewal, has no `replay_lsn`; its `flush_lsn` counts.
const REPLICAS_QUERY: &str = "select max(pg_wal_lsn_diff(case when pg_is_in_recovery() \
     then pg_last_wal_receive_lsn() else pg_current_wal_lsn() end, \
     coalesce(replay_lsn, flush_lsn))), \
     max(extract(epoch from replay_lag)) from pg_stat_replication";
const SEES_ALL_STATS_QUERY: &str =
    "select pg_has_role(current_user, 'pg_read_all_stats', 'member')";

/// A view of the progress of an activity.
struct ProgressView {
    name: &'static str,
    /// The first version of the server that has it.
    since: u32,
    activity: ActivityKind,
    concerns_table: bool,
}

impl ProgressView {
    const fn of_table(name: &'static str, since: u32, activity: ActivityKind) -> ProgressView {
        ProgressView {
            name,
            since,
            activity,
            concerns_table: true,
        }
    }

    /// The query for its rows: its name, and what each row is about.
    fn query(&self) -> String {
        let view = self.name;
        if !self.concerns_table {
            return format!("select '{view}', 'base backup' from {view}");
        }
        format!(
            "select '{view}', coalesce(c.relname::text, p.datname || ' ' || p.relid) from {view} p \
             left join pg_class c on c.oid = p.relid and p.datname = current_database()"
        )
    }
}

const PROGRESS_VIEWS: [ProgressView; 5] = [
    ProgressView::of_table("pg_stat_progress_vacuum", 90_600, ActivityKind::Vacuum),
    ProgressView::of_table(
        "pg_stat_progress_create_index",
        120_000,
        ActivityKind::IndexBuild,
    ),
    ProgressView::of_table(
        "pg_stat_progress_cluster",
        120_000,
        ActivityKind::TableRebuild,
    ),
    ProgressView::of_table("pg_stat_progress_analyze", 130_000, ActivityKind::Analyze),
    ProgressView {
        name: "pg_stat_progress_basebackup",
        since: 130_000,
        activity: ActivityKind::Backup,
        concerns_table: false,
    },
];

fn progress_query(version: u32) -> String {
    let existing = PROGRESS_VIEWS.iter().filter(|view| version >= view.since);
    existing
        .map(ProgressView::query)
        .collect::<Vec<_>>()
        .join(" union all ")
}

/// The counter queries. Lists the values that this role may not see as missing.
pub(super) fn counter_queries(reader: &mut Reader<'_>) -> Result<Vec<CounterQuery>, Error> {
    let sees_all_stats =
        reader.first(ObservedTopic::RoleRights, SEES_ALL_STATS_QUERY, first_cell)?;
    if sees_all_stats.as_deref() != Some("t") {
        let reason = "this role is not a member of pg_read_all_stats, so the waits of other roles and the lag of replicas are hidden; run GRANT pg_monitor TO the role";
        reader.miss(ObservedTopic::OtherRolesWaits, reason);
    }
    Ok(vec![
        CounterQuery::new(
            ObservedTopic::CommitsAndCache,
            DATABASE_QUERY,
            read_database,
        ),
        CounterQuery::new(ObservedTopic::WriteAheadLog, LOG_QUERY, |rows, counters| {
            counters.log_bytes = rows.first().and_then(|row| tally(row, 0));
        }),
        CounterQuery::new(
            ObservedTopic::Checkpoints,
            CHECKPOINT_QUERY,
            read_checkpoint,
        ),
        CounterQuery::new(
            ObservedTopic::SessionsAndWaits,
            SESSIONS_QUERY,
            read_sessions,
        ),
        CounterQuery::new(
            ObservedTopic::OtherSessions,
            SESSION_GROUPS_QUERY,
            read_session_groups,
        ),
        CounterQuery::new(
            ObservedTopic::Vacuums,
            progress_query(reader.control.server_version()),
            read_progress,
        ),
        CounterQuery::new(
            ObservedTopic::ReplicationLag,
            REPLICAS_QUERY,
            |rows, counters| {
                let row = rows.first();
                counters.replication_lag_bytes = row.and_then(|row| tally(row, 0));
                counters.replication_lag_s = row.and_then(|row| number(row, 1));
            },
        ),
    ])
}

fn read_database(rows: &[TextRow], counters: &mut Counters) {
    let Some(row) = rows.first() else { return };
    counters.clock_unix_s = number(row, 0);
    counters.started_unix_s = number(row, 1);
    counters.is_replica = cell(row, 2).map(|value| value == "t");
    counters.commits = tally(row, 3);
    counters.rollbacks = tally(row, 4);
    counters.cache_hits = tally(row, 5);
    counters.cache_reads = tally(row, 6);
    counters.temp_bytes = tally(row, 7);
    counters.deadlocks = tally(row, 8);
    counters.other_commits = tally(row, 9);
    counters.other_rollbacks = tally(row, 10);
}

fn read_checkpoint(rows: &[TextRow], counters: &mut Counters) {
    let read = |row: &TextRow| {
        Some(Checkpoint::Complete {
            redo_lsn: tally(row, 0)?,
            began_unix_s: number(row, 1)?,
        })
    };
    counters.checkpoint = rows.first().and_then(read);
}

fn read_sessions(rows: &[TextRow], counters: &mut Counters) {
    read_waits(rows, counters, |row| match (cell(row, 1), cell(row, 2)) {
        (Some(class), Some(event)) => format!("{class}/{event}"),
        _ => "CPU".to_owned(),
    });
    let active = rows.iter().filter(|row| is_active(row));
    let dumps = active.filter_map(|row| number::<u32>(row, 4)).sum::<u32>();
    if dumps > 0 {
        counters.activities.get_or_insert_default().push(Activity {
            kind: ActivityKind::Backup,
            detail: "pg_dump".to_owned(),
        });
    }
}

fn read_progress(rows: &[TextRow], counters: &mut Counters) {
    let activities = counters.activities.get_or_insert_default();
    for row in rows {
        let (Some(view), Some(detail)) = (cell(row, 0), cell(row, 1)) else {
            continue;
        };
        let known = PROGRESS_VIEWS.iter().find(|known| known.name == view);
        activities.extend(known.map(|known| Activity {
            kind: known.activity,
            detail: detail.to_owned(),
        }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_assertions::TextAssertions;

    fn row(cells: &[Option<&str>]) -> TextRow {
        cells.iter().map(|cell| cell.map(str::to_owned)).collect()
    }

    #[test]
    fn sessions_are_counted_by_wait_event() {
        let mut counters = Counters::default();
        let active =
            |class, event, count| row(&[Some("active"), class, event, Some(count), Some("0")]);
        let rows = [
            active(None, None, "3"),
            active(Some("Lock"), Some("tuple"), "4"),
            active(Some("IO"), Some("WALSync"), "2"),
            row(&[
                Some("idle"),
                Some("Client"),
                Some("ClientRead"),
                Some("5"),
                Some("1"),
            ]),
        ];
        read_sessions(&rows, &mut counters);
        assert_eq!(counters.connections, Some(14));
        assert_eq!((counters.active, counters.lock_waits), (Some(9), Some(4)));
        let waits: Vec<_> = counters
            .waits
            .iter()
            .map(|(k, v)| (k.as_str(), *v))
            .collect();
        assert_eq!(waits, [("CPU", 3), ("IO/WALSync", 2), ("Lock/tuple", 4)]);
        assert_eq!(counters.activities, None, "the dump was idle");
        let dump = [row(&[Some("active"), None, None, Some("1"), Some("1")])];
        read_sessions(&dump, &mut counters);
        assert_eq!(counters.activities.unwrap()[0].detail, "pg_dump");
    }

    #[test]
    fn the_view_determines_the_kind_of_activity() {
        let mut counters = Counters::default();
        let rows = [
            row(&[Some("pg_stat_progress_create_index"), Some("t")]),
            row(&[Some("pg_stat_progress_basebackup"), Some("base backup")]),
            row(&[Some("pg_stat_progress_copy"), Some("t")]),
        ];
        read_progress(&rows, &mut counters);
        let kinds: Vec<ActivityKind> = counters
            .activities
            .unwrap()
            .iter()
            .map(|activity| activity.kind)
            .collect();
        assert_eq!(kinds, [ActivityKind::IndexBuild, ActivityKind::Backup]);
        for view in &PROGRESS_VIEWS {
            progress_query(190_000).assert_contains(&format!("select '{}', ", view.name));
        }
    }

    #[test]
    fn older_versions_are_not_queried_for_newer_views() {
        progress_query(110_000).assert_lacks("analyze");
        progress_query(110_000).assert_contains("vacuum");
        assert_eq!(progress_query(150_000).matches("union all").count(), 4);
    }
}
