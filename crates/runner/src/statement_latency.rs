//! The latencies of the workload's statements, for the document.

use prony_drive::DriveResult;
use prony_session::Program;
use prony_store::StatementLatency;

/// The latencies of the program's statements, in the order of its table; `None` if the run did not measure them.
pub(crate) fn statement_latencies(
    drive_result: &DriveResult,
    program: &dyn Program,
) -> Option<Vec<StatementLatency>> {
    let round_trips = drive_result.round_trips.as_ref()?;
    let table = program.statement_table();
    let service_ns = round_trips.service_ns;
    let entries = round_trips.entries().filter_map(|entry| {
        let statement = table.statements().get(entry.first_statement)?;
        Some(StatementLatency {
            name: statement.name.clone(),
            statements: entry.statements,
            text: statement.text.clone(),
            recorded: statement.recorded,
            latency: prony_store::latency(entry.times),
            service_time_share: (service_ns > 0)
                .then(|| entry.times.sum_ns as f64 / service_ns as f64),
        })
    });
    Some(entries.collect())
}
