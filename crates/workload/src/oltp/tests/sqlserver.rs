//! Tests what the workloads send to SQL Server.

use crate::oltp::options::OltpOptions;
use crate::oltp::table_check::RunTables;
use crate::oltp::{self, Oltp, OltpProgram};
use crate::tests::mock_sqlserver::{calls, record_requests, value_types};
use prony_document::SqlDialect;
use prony_tds_server::{Procedure, Request, Type};
use prony_wire::QueryMode;

fn program(workload: &Oltp) -> OltpProgram {
    let highest_ids = match workload.name {
        "bulk_insert" => vec![0; 2],
        _ => Vec::new(),
    };
    let options = OltpOptions::default();
    OltpProgram::new(
        *workload,
        options,
        SqlDialect::TransactSql,
        RunTables {
            table_count: 2,
            table_size: 1_000,
        },
        highest_ids,
    )
}

#[test]
fn parameters_have_the_types_of_the_columns() {
    for workload in oltp::ALL {
        let program = program(workload);
        for mode in [QueryMode::Extended, QueryMode::Prepared] {
            for requests in record_requests(&program, mode, 20) {
                for call in calls(&requests) {
                    for kind in value_types(call) {
                        assert!(
                            matches!(kind, Type::Int(4) | Type::VarChar(60 | 120)),
                            "{} {kind:?}",
                            workload.name
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn a_transaction_has_a_round_trip_for_each_statement() {
    let program = program(&oltp::OLTP_READ_WRITE);
    let requests_by_transaction = record_requests(&program, QueryMode::Prepared, 50);
    let ids = |requests: &[Request]| {
        let calls = calls(requests);
        let ids = calls.iter().map(|call| match call.procedure {
            Procedure::Id(id) => id,
            Procedure::Name(_) => 0,
        });
        ids.collect::<Vec<_>>()
    };
    for requests in &requests_by_transaction {
        assert_eq!(requests.len(), 20);
        let texts = [&requests[0], &requests[19]].map(|request| match request {
            Request::Batch { text, .. } => text.as_str(),
            other => panic!("{other:?}"),
        });
        assert_eq!(texts, ["BEGIN TRANSACTION", "COMMIT"]);
    }
    // A statement is prepared with its first execution (13), and executed by its handle (12) from then on.
    assert!(ids(&requests_by_transaction[0]).contains(&13));
    assert_eq!(ids(&requests_by_transaction[49]), [12; 18]);
}

#[test]
fn a_packet_has_at_most_1000_rows() {
    let program = program(&oltp::BULK_INSERT);
    for requests in record_requests(&program, QueryMode::Prepared, 3) {
        let [Request::Batch { text, .. }] = &requests[..] else {
            panic!("{} requests", requests.len());
        };
        assert_eq!(text.matches('(').count(), 1_000);
    }
}
