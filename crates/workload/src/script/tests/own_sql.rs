//! Own SQL: variables and statements by the quotes of each engine, the values that are bound, and the options.

use crate::Workload;
use crate::script::{SQL, Script, SqlCommand, Value, VariableNames, Variables};
use prony_assertions::cases;
use prony_document::SqlDialect::{self, MySql, PostgreSql, TransactSql};
use prony_plan::{PlanInput, QueryMode, WorkloadPlan};
use prony_wire::{StatementIds, Value as WireValue};

/// The statements of a script, with `$n` for their variables.
fn statements(text: &str, dialect: SqlDialect) -> Vec<String> {
    let script = Script::parse_sql(&mut VariableNames::new(), "t", text, dialect).expect("valid");
    let numbered = |sql: &SqlCommand| sql.numbered_text().to_string();
    script.statements().map(numbered).collect()
}

#[test]
fn quotes_and_comments_of_the_engine_hide_colons_and_semicolons() {
    let postgres = r#"
        select ':a;', ":b", :c::int /* :d */; => select ':a;', ":b", $1::int /* :d */;
        select $$ :a; $$, E'it\'s :b', :c; => select $$ :a; $$, E'it\'s :b', $1;
    "#;
    let mysql = r#"
        select 'it\'s :a;', "\":b", `:c``d`, :e; => select 'it\'s :a;', "\":b", `:c``d`, $1;
        select 5--:a # :b; it's\n + :c; => select 5--$1 # :b; it's\n + $2;
        select @x := :a -- :b\n; => select @x := $1 -- :b\n;
    "#;
    let sql_server = r"
        select [it's :a;], N':b', geometry::f(:c) -- :d\n;
            => select [it's :a;], N':b', geometry::f($1) -- :d\n;
        select '\', :a, $1; => select '\', $1, $1;
    ";
    for (dialect, texts) in [
        (PostgreSql, postgres),
        (MySql, mysql),
        (TransactSql, sql_server),
    ] {
        for [text, expected] in cases(texts) {
            assert_eq!(statements(text, dialect), [expected], "{dialect:?}");
        }
    }
    // The quotes of one engine are not those of another.
    assert_eq!(statements("select 1 # 2; select 3;", PostgreSql).len(), 2);
    assert_eq!(statements("select 1 # 2; select 3;", MySql).len(), 1);
}

#[test]
fn the_positions_of_parameters_are_exact() {
    let many: Vec<String> = (0..12).map(|number| format!(":v{number}")).collect();
    let text = format!("select $1, ':x', {}", many.join(", "));
    let mut names = VariableNames::new();
    let script = Script::parse_sql(&mut names, "t", &text, TransactSql).expect("valid");
    let sql = script.statements().next().expect("a statement");
    let numbered = sql.numbered_text().as_bytes();
    let found: Vec<&[u8]> = sql
        .numbered_positions()
        .into_iter()
        .map(|range| &numbered[range])
        .collect();
    let expected: Vec<String> = (1..=12).map(|number| format!("${number}")).collect();
    assert_eq!(
        found,
        expected
            .iter()
            .map(|text| text.as_bytes())
            .collect::<Vec<_>>()
    );
    // Text of the statement that looks like a parameter is none.
    let statement = StatementIds::new()
        .add_with_placeholders(sql.numbered_text().clone(), sql.numbered_positions());
    assert_eq!(statement.parameter_count(), 12);
    assert_eq!(
        statement.parts().next(),
        Some((&b"select $1, ':x', "[..], Some(0)))
    );
}

#[test]
fn values_have_the_types_that_the_engine_needs() {
    let mut names = VariableNames::new();
    let id = names.intern("v");
    let mut variables = Variables::new(&names);
    for (value, [pgbench, postgres, mysql]) in [
        (Value::Int(-5), [WireValue::Int(-5); 3]),
        (
            Value::Bool(true),
            [
                WireValue::Text("true"),
                WireValue::Text("true"),
                WireValue::Int(1),
            ],
        ),
        (
            Value::Double(0.5),
            [
                WireValue::Text("0.5"),
                WireValue::Text("0.5"),
                WireValue::Float(0.5),
            ],
        ),
        (
            Value::Null,
            [WireValue::Text("NULL"), WireValue::Null, WireValue::Null],
        ),
    ] {
        variables.set(id, value);
        variables.prepare_parameters(&[id]);
        assert_eq!(variables.parameter(id, None), pgbench);
        assert_eq!(variables.parameter(id, Some(PostgreSql)), postgres);
        assert_eq!(variables.parameter(id, Some(MySql)), mysql);
        assert_eq!(variables.parameter(id, Some(TransactSql)), mysql);
    }
    variables.set_text(id, "007");
    assert_eq!(variables.parameter(id, Some(MySql)), WireValue::Text("007"));
}

/// A plan with these lines under `[workload]`.
pub(super) fn plan(text: &str) -> WorkloadPlan {
    let text = text.replace("[[", "[[workload.");
    let input = PlanInput::from_toml("p.toml", &format!("[workload]\nname = 'sql'\n{text}"));
    input.expect("TOML").check().expect("valid").workload
}

/// The problems of a plan with these lines under `[workload]`.
fn problems(text: &str) -> Vec<String> {
    let problems = SQL.check_options(&plan(text), QueryMode::Prepared);
    problems.iter().map(crate::Error::problem).collect()
}

#[test]
fn each_mistake_in_the_transactions_is_reported() {
    let with = |keys: &str| format!("[[transactions]]\n{keys}\n");
    assert_eq!(problems(&with("name = 'a'\nsql = 'select 1'")), [""; 0]);
    // Valid on MySQL only: the server is not known yet.
    assert_eq!(
        problems(&with("name = 'a'\nsql = '''select 'it\\'s :a' '''")),
        [""; 0]
    );
    for [keys, expected] in cases(
        r#"
            sql = 'select 1' => transaction 1 has no name
            name = ''\nsql = 'select 1' => the name of transaction 1 is not valid
            name = 'a' => transaction "a" needs either sql or file
            name = 'a'\nsql = ''\nfile = '' => transaction "a" needs either sql or file
            name = 'a'\nsql = 'select 1'\nwheight = 2 => transaction "a" has an unknown key "wheight"
            name = 'a'\nsql = 'select 1'\nweight = -1 => the weight of transaction "a" is not valid
            name = 'a'\nsql = 'select 1'\nweight = 0 => total script weight must not be zero
            name = 'a'\nsql = '-- nothing' => empty command list for script "a"
            name = 'a'\nsql = 'select :b' => a:1: nothing sets the variable :b
            name = 'a'\nsql = '''\set b :c + 1\nselect :b''' => a:1: nothing sets the variable :c
            name = 'a'\nsql = '''select 1;\n\sett b 1''' => a:2: invalid command in command "sett"
            name = 'a'\nsql = '\shell date' => a:1: \shell is not available here: \shell date
            name = 'a'\nsql = 'select 1'\ncaptured = { time = 1 } => captured of transaction "a" is not valid
            name = 'a'\nsql = '''\sample users id\nselect :id''' => a:1: there is no sample "users"
            name = 'a'\nsql = '''\sample users\nselect 1''' => a:1: missing variable in command "sample"
            name = 'a'\nsql = '''\sample users a-b\nselect 1'''
                => a:1: invalid variable name (a-b) in command "sample"
        "#,
    ) {
        assert_eq!(problems(&with(keys)), [expected], "{keys}");
    }
    for (text, expected) in [
        ("", "the sql workload needs a transaction"),
        ("transactions = [3]", "transaction 1 is not a table"),
        (
            &(with("name = 'a'\nsql = 'select 1'") + &with("name = 'a'\nsql = 'select 2'")),
            "two transactions have the name \"a\"",
        ),
        (
            &("[[samples]]\nname = 'a b'\nsql = ''\n".to_owned()
                + &with("name = 'a'\nsql = 'select 1'")),
            "a sample needs a name of one word and sql, and nothing else",
        ),
        (
            "max_tries = 0\ntransactions = [{ name = 'a', sql = 'select 1' }]",
            "max_tries = 0 is not a valid number",
        ),
    ] {
        assert_eq!(problems(text), [expected], "{text}");
    }
}
