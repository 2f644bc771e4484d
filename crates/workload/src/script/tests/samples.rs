//! Samples: which rows are refused, and that a draw keeps a row together and depends on the seed alone.

use super::own_sql::plan;
use crate::random::Random;
use crate::script::samples::{SampleRows, read_rows};
use crate::script::{Evaluator, Script, VariableNames, transactions};
use crate::tests::mock_sqlserver::connect;
use prony_assertions::TextAssertions;
use prony_document::SqlDialect;
use prony_plan::UserError;
use prony_tds_server::{Column, Datum, Outcome, Parameter, Type};
use prony_wire::Value as WireValue;
use std::sync::Arc;

fn row(cells: &[&str]) -> Vec<Option<String>> {
    let cells = cells.iter();
    cells
        .map(|cell| Some((*cell).to_owned()).filter(|text| text != "NULL"))
        .collect()
}

#[test]
fn rows_that_are_no_sample_are_refused_in_a_sentence() {
    let problem = |rows, columns| SampleRows::new(rows, columns).err().unwrap_or_default();
    assert_eq!(problem(vec![row(&["1", "NULL"])], 2), "");
    assert_eq!(problem(Vec::new(), 0), "has no rows");
    problem(vec![row(&["1"])], 2).assert_equals("has 1 columns, and \\sample needs 2");
    problem(vec![row(&["\u{fffd}"])], 1).assert_contains("not text");
    assert_eq!(problem(vec![row(&["\u{fffd}"]), row(&["a"])], 1), "");
    problem(vec![row(&["a"]); 1_000_001], 1).assert_contains("fewer");
    let half = "x".repeat(33 << 20);
    problem(vec![row(&[&half]), row(&[&half])], 1).assert_contains("64 MiB");
}

#[test]
fn rows_beyond_a_limit_are_dropped_as_they_arrive() {
    let answer = |_: &str, _: &[Parameter]| {
        let row = vec![Datum::Bytes("seven".into())];
        vec![Outcome::Rows(
            vec![Column::new("c", Type::VarChar(40))],
            vec![row; 100],
        )]
    };
    let mut control = connect(answer);
    let mut rows = |rows_max, bytes_max| {
        let rows = control.query_at_most("SELECT c FROM t", rows_max, bytes_max);
        rows.expect("rows").map(|rows| rows.len())
    };
    assert_eq!(rows(100, 1 << 20), Some(100));
    assert_eq!(rows(99, 1 << 20), None);
    assert_eq!(rows(100, 300), None);
    // Later queries have all rows again.
    assert_eq!(control.query("SELECT c FROM t").expect("rows").len(), 100);
}

#[test]
fn the_columns_of_a_row_are_drawn_together() {
    let mut names = VariableNames::new();
    let targets = ["id", "email"].map(|name| names.intern(name));
    let names = Arc::new(names);
    let rows: Vec<_> = (0..100)
        .map(|id: i32| row(&[&id.to_string(), &format!("{id}@example.com"), "unused"]))
        .chain([row(&["100", "NULL", "unused"])])
        .collect();
    let rows = SampleRows::new(rows, 2).expect("rows");
    let draw = |seed| {
        let mut evaluator = Evaluator::new(Arc::clone(&names), Random::new(seed));
        let mut drawn = Vec::new();
        for _ in 0..2000 {
            rows.draw(&targets, &mut evaluator);
            let value = |id| evaluator.variables.parameter(id, Some(SqlDialect::MySql));
            match (value(targets[0]), value(targets[1])) {
                (WireValue::Text(id), WireValue::Text(email)) => {
                    assert_eq!(email, format!("{id}@example.com"));
                    drawn.push(id.to_owned());
                }
                other => {
                    assert_eq!(other, (WireValue::Text("100"), WireValue::Null));
                    drawn.push("100".to_owned());
                }
            }
        }
        drawn
    };
    let mut drawn = draw(7);
    assert_eq!(draw(7), drawn);
    assert_ne!(draw(8), drawn);
    drawn.sort();
    drawn.dedup();
    assert_eq!(drawn.len(), 101, "every row is drawn");
}

#[test]
fn a_query_that_the_server_refuses_may_be_in_the_sql_of_another_product() {
    let answer = |sql: &str, _: &[Parameter]| {
        if sql.contains("TABLESAMPLE") {
            vec![Outcome::Error(102, 1, 15, "Incorrect syntax".into())]
        } else {
            vec![Outcome::Done]
        }
    };
    let mut control = connect(answer);
    let text = "[[samples]]\nname = 'a'\nsql = 'SELECT id FROM t TABLESAMPLE SYSTEM (1)'\n\
                [[transactions]]\nname = 'a'\nsql = 'select 1'";
    let own_sql = transactions::read(&plan(text), SqlDialect::TransactSql);
    let own_sql = own_sql.map_err(|_| "problems").expect("valid");
    let read = read_rows(&mut control, &own_sql);
    let parts = read.err().expect("the server refuses it").parts();
    parts.problem.assert_contains("the sample \"a\": ");
    parts.problem.assert_contains("Incorrect syntax");
    parts
        .hint
        .unwrap_or_default()
        .assert_contains("another product");
}

#[test]
fn samples_are_no_part_of_pgbenchs_language() {
    let text = "\\sample users id\nselect 1;";
    let parsed = Script::parse(&mut VariableNames::new(), "a.sql", text, 18);
    let problem = parsed.expect_err("pgbench refuses it").to_string();
    problem.assert_contains("invalid command");
}

#[test]
fn the_query_of_a_sample_is_part_of_the_workloads_hash() {
    let hash = |sql: &str| {
        let text = format!(
            "[[samples]]\nname = 'a'\nsql = '{sql}'\n[[transactions]]\nname = 'a'\nsql = 'select 1'"
        );
        let own_sql = transactions::read(&plan(&text), SqlDialect::PostgreSql);
        own_sql.map_err(|_| "problems").expect("valid").settings
    };
    assert_eq!(hash("select 1"), hash("select 1"));
    assert_ne!(hash("select 1"), hash("select 2"));
}
