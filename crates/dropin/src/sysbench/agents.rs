//! A run of a bundled test that agents drive, and what it has in common with that of a script.
//!
//! In: the test's options. Out: the same program on each agent; its errors and each thread's events, here. Must never:
//! continue a run after an error that ends it.

use super::bench::EventCounts;
use super::errors::{FatalError, SysbenchErrorPolicy, fatal_error};
use super::native::BULK_INSERT;
use crate::agents::{Coordinator, decode, encode};
use prony_dialect::sysbench::{Driver, IgnoredErrors};
use prony_document::SqlDialect;
use prony_fleet::{
    ToolCoordinator, ToolListening, ToolOutput, ToolProgram, ToolRequest, ToolServer,
};
use prony_plan::{ErrorParts, UserError};
use prony_workload::ReadyWorkload;
use prony_workload::oltp::policy::{ErrorAction, ErrorPolicy, OltpPolicy, StatementFailure};
use prony_workload::oltp::{self, OltpProgram};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

pub const TOOL: &str = "sysbench";

/// What an agent's program is made of, besides the workload.
#[derive(Serialize, Deserialize)]
struct SentProgram {
    driver: Driver,
    ignored: IgnoredErrors,
}

/// What an agent sends to the coordinator.
#[derive(Serialize, Deserialize)]
enum SentMessage {
    Fatal(FatalError),
    Events(SentEvents),
}

/// Events and the nanoseconds spent in them, of each thread that has any.
#[derive(Serialize, Deserialize)]
pub struct SentEvents(Vec<(u32, u64, u64)>);

impl SentEvents {
    pub fn of(counts: &EventCounts) -> SentEvents {
        let threads = (0..).zip(counts.snapshot());
        let threads = threads.filter(|(_, (events, _))| *events > 0);
        let threads = threads.map(|(thread, (events, busy_ns))| (thread, events, busy_ns));
        SentEvents(threads.collect())
    }

    pub fn set_in(&self, counts: &EventCounts) {
        for (thread, events, busy_ns) in &self.0 {
            counts.set(*thread, *events, *busy_ns);
        }
    }
}

/// sysbench's side at the coordinator.
pub fn coordinator(
    driver: Driver,
    ignored: &IgnoredErrors,
    server: ToolServer,
    errors: Arc<SysbenchErrorPolicy>,
    event_counts: Arc<EventCounts>,
) -> impl ToolCoordinator + use<> {
    let program = SentProgram {
        driver,
        ignored: ignored.clone(),
    };
    Coordinator::new(TOOL, &program, server, move |_, message| {
        match message {
            SentMessage::Fatal(error) => errors.end_run(&error),
            SentMessage::Events(events) => events.set_in(&event_counts),
        }
        Ok(())
    })
}

/// Handles errors of all users of an agent.
struct AgentErrors {
    driver: Driver,
    ignored: IgnoredErrors,
    is_bulk: bool,
    output: ToolOutput,
}

impl ErrorPolicy for AgentErrors {
    fn action(&self, failure: &StatementFailure<'_>) -> ErrorAction {
        if self.ignored.restarts_event(self.driver, failure.error) {
            return ErrorAction::Retry;
        }
        let error = fatal_error(self.driver, self.is_bulk, failure);
        let reason = error.reason.clone();
        self.output.say(encode(&SentMessage::Fatal(error)));
        ErrorAction::EndUser(reason)
    }
}

/// The program at an agent.
///
/// # Errors
/// The test is not one of this build, or its tables cannot be read.
pub fn make_program(request: ToolRequest<'_>) -> Result<ToolProgram, ErrorParts> {
    let SentProgram { driver, ignored } = decode(request.program).map_err(ErrorParts::new)?;
    let name = &request.workload.name;
    let workload = oltp::find(name)
        .ok_or_else(|| ErrorParts::new(format!("{name} is not a test of this build")))?;
    let program = OltpProgram::for_unchecked_tables(request.control, request.workload, workload)
        .map_err(|error| error.parts())?;
    let scale = program.table_count();
    let program = program.with_policy(OltpPolicy {
        errors: Some(Arc::new(AgentErrors {
            driver,
            ignored,
            is_bulk: workload.name == BULK_INSERT,
            output: request.output,
        })),
        counts_rows_as_events: true,
    });
    let counts = Arc::new(EventCounts::new(request.drive.clients));
    let listened = Arc::clone(&counts);
    let report = move || encode(&SentMessage::Events(SentEvents::of(&counts)));
    Ok(ToolProgram {
        ready: ReadyWorkload::new(Arc::new(program), scale),
        listening: ToolListening {
            new_sample_listener: Some(Box::new(move |_| listened.new_listener())),
            report: Some(Box::new(report)),
            ..ToolListening::default()
        },
    })
}

/// How an agent finds a server of these options.
pub fn server(
    driver: Driver,
    options: &[(&str, &str)],
    target: &prony_server::Target,
) -> ToolServer {
    let dialect = match driver {
        Driver::Mysql => SqlDialect::MySql,
        Driver::Pgsql => SqlDialect::PostgreSql,
    };
    ToolServer {
        // sysbench ignores MySQL's option files.
        reads_environment: driver == Driver::Pgsql,
        ..ToolServer::new(dialect, options, target)
    }
}
