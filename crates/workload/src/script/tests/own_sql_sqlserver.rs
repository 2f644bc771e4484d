//! Own SQL on a server that speaks SQL Server's protocol: what users send in each mode, and what is found before the load.

use crate::Workload;
use crate::script::own_sql::{SQL, program_of};
use crate::script::server_types::infer_types;
use crate::script::transactions;
use crate::tests::mock_sqlserver::{calls, execute, record_requests, value_types};
use prony_assertions::TextAssertions;
use prony_document::SqlDialect::TransactSql;
use prony_plan::{PlanInput, QueryMode, WorkloadPlan};
use prony_server::{Control, Environment};
use prony_tds_server::{
    Column, Config, Datum, Listener, Outcome, Parameter, Procedure, Request, Type,
};

const PAY: &str = "\\set id random(7, 7)
\\set amount 10.0 / 4
\\set is_large :amount > 2
BEGIN TRANSACTION;
UPDATE accounts SET [it's :x] = 5 - :amount WHERE id = :id AND large = :is_large;
SELECT id FROM accounts WHERE name = N'it''s :id;' AND id = :id \\gset
COMMIT;
EXEC dbo.note :c, :days;
";

fn plan(sql: &str) -> WorkloadPlan {
    let text = format!(
        "[workload]\nname = 'sql'\ndefine = {{ days = 7 }}\n\
         [[workload.transactions]]\nname = 'pay'\nsql = '''\n{sql}'''"
    );
    let input = PlanInput::from_toml("p.toml", &text).expect("TOML");
    input.check().expect("valid").workload
}

fn requests(mode: QueryMode) -> Vec<Request> {
    let own_sql = transactions::read(&plan(PAY), TransactSql).map_err(|_| "problems");
    let program = program_of(own_sql.expect("valid"), 1, TransactSql);
    record_requests(&program, mode, 2).swap_remove(1)
}

#[test]
fn variables_are_parameters_with_the_type_of_their_value() {
    let requests = requests(QueryMode::Prepared);
    let calls = calls(&requests);
    // BEGIN and COMMIT are texts; the procedure is called by its name.
    let procedures: Vec<&Procedure> = calls.iter().map(|call| &call.procedure).collect();
    let note = Procedure::Name("dbo.note".to_owned());
    assert_eq!(procedures, [&Procedure::Id(12), &Procedure::Id(12), &note]);
    assert_eq!(requests.len(), 5);
    let types: Vec<Vec<Type>> = calls.iter().map(|call| value_types(call)).collect();
    assert_eq!(types[0], [Type::Float(8), Type::Int(8), Type::Int(8)]);
    assert_eq!(types[2], [Type::NVarChar(4000), Type::Int(8)]);
}

#[test]
fn values_are_literals_in_the_simple_protocol() {
    let requests = requests(QueryMode::Simple);
    let texts: Vec<&str> = requests
        .iter()
        .map(|request| match request {
            Request::Batch { text, .. } => text.as_str(),
            request => panic!("{request:?} is no text"),
        })
        .collect();
    texts[1]
        .assert_equals("UPDATE accounts SET [it's :x] = 5 - (2.5e0) WHERE id = 7 AND large = 1");
    assert_eq!(texts[4], "EXEC dbo.note '7', 7");
}

fn connect(config: Config) -> Control {
    let port = Listener::start(config).address().port();
    let url = format!("sqlserver://sa:Sesame1@127.0.0.1:{port}/db?encrypt=disable");
    let target = prony_server::resolve(&url, &Environment::without_home("tester"));
    Control::connect(&target.expect("a good URL")).expect("connects")
}

#[test]
fn parameters_have_the_types_that_the_server_suggests() {
    let described = |text: &str, parameters: &[Parameter]| {
        if text != "sp_describe_undeclared_parameters" {
            return execute(text, parameters);
        }
        let Datum::Text(sql) = &parameters[0].value else {
            panic!("{parameters:?}");
        };
        if !sql.starts_with("UPDATE accounts SET amount = @P1 WHERE name = @P2") {
            let refusal = "The metadata could not be determined.".to_owned();
            return vec![Outcome::Error(11526, 1, 16, refusal)];
        }
        let column = Column::new("c", Type::VarChar(40));
        let row = |cells: [&str; 4]| cells.map(|cell| Datum::Bytes(cell.into())).to_vec();
        let rows = [
            row(["1", "@P1", "106", "decimal(10,2)"]),
            row(["2", "@P2", "167", "varchar(20)"]),
        ];
        vec![Outcome::Rows(vec![column; 4], rows.to_vec())]
    };
    let mut control = connect(Config::new(described));
    let sql = "\\set amount 10.0 / 4\n\\set id 7\n\
               SELECT name FROM #own WHERE id = :id \\gset\n\
               UPDATE accounts SET amount = :amount WHERE name = :c;";
    let own_sql = transactions::read(&plan(sql), TransactSql).map_err(|_| "problems");
    let mut own_sql = own_sql.expect("valid");
    infer_types(&mut control, &mut own_sql.set.scripts);
    let program = program_of(own_sql, 1, TransactSql);
    let requests = record_requests(&program, QueryMode::Prepared, 2);
    let first_calls = calls(&requests[0]);
    let declarations: Vec<&Datum> = first_calls
        .iter()
        .map(|call| &call.parameters[1].value)
        .collect();
    let text = |text: &str| Datum::Text(text.to_owned());
    assert_eq!(
        declarations,
        [
            &text("@P1 bigint"),
            &text("@P1 decimal(10,2),@P2 varchar(8000)")
        ]
    );
    // The server converts a value of another type.
    let types = value_types(calls(&requests[1])[1]);
    assert_eq!(types, [Type::Float(8), Type::VarChar(8000)]);
}

#[test]
fn a_refused_statement_is_found_before_the_load() {
    let mut config = Config::new(execute);
    config.refused_preparations = vec![(
        "FROM accounts".to_owned(),
        208,
        "Invalid object name 'accounts'.".to_owned(),
    )];
    let mut control = connect(config);
    let mut try_statements = |sql: &str| {
        let tried = SQL.try_statements(&mut control, &plan(sql), QueryMode::Prepared);
        tried.map_err(|error| error.problem())
    };
    let expected =
        "the server refuses transaction \"pay\", line 6: Invalid object name 'accounts'. (42S02)";
    assert_eq!(try_statements(PAY), Err(expected.to_owned()));
    assert_eq!(
        try_statements("BEGIN TRANSACTION;\nSELECT 1;\nCOMMIT;"),
        Ok(())
    );
    let creates = "SELECT 1 AS id INTO accounts;\nSELECT * FROM accounts;";
    assert_eq!(try_statements(creates), Ok(()));
}
