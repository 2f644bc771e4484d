//! Statements that are prepared on a real server.

use super::*;
use crate::tests::inferred_types::{assert_declared_as_inferred, new_database};
use prony_document::SqlDialect;

#[test]
fn parameters_have_the_types_that_postgresql_infers() {
    const DIALECT: SqlDialect = SqlDialect::PostgreSql;
    let layout = Layout {
        records: 10,
        field_count: 3,
        field_length: 5,
        seed: 7,
    };
    let mut control = new_database("ycsb_types");
    let create = engine::create_statement(DIALECT, layout.field_count, "");
    control.execute(&create).expect("creates");
    let key = "alter table usertable add primary key (ycsb_key)";
    control.execute(key).expect("adds the key");
    for all_fields in [true, false] {
        let options = YcsbOptions {
            readallfields: all_fields,
            writeallfields: all_fields,
            ..YcsbOptions::default()
        };
        let program = YcsbProgram::new(options, layout, DIALECT);
        let run = &program.shared;
        let statements = run.read.iter().chain(&run.update).chain(&run.scan);
        let statements: Vec<&Statement> = statements.chain([&run.insert, &run.exists]).collect();
        assert_eq!(statements.len(), if all_fields { 5 } else { 11 });
        assert_declared_as_inferred(&mut control, statements);
    }
}
