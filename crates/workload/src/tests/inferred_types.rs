//! Test support: compares the declared types of parameters with those that PostgreSQL infers.

use prony_server::{Control, Environment};
use prony_wire::Statement;

pub fn new_database(name: &str) -> Control {
    let connect = |name: &str| {
        let url = prony_test_servers::shared_postgres().url_for(name);
        let target = prony_server::resolve(&url, &Environment::without_home("postgres"));
        Control::connect(&target.expect("a good URL")).expect("connects")
    };
    let create = format!("create database {name}");
    connect("postgres")
        .execute(&create)
        .expect("a new database");
    let mut control = connect(name);
    // With these settings, plans use the indexes that they can use, although the tables are empty.
    let settings = "set plan_cache_mode = force_generic_plan; set enable_seqscan = off";
    control.execute(settings).expect("sets");
    control
}

/// Asserts that each parameter has the type that the server infers without a declaration, and that
/// the plans are the same. At least one type of each statement must be declared.
pub fn assert_declared_as_inferred<'a>(
    control: &mut Control,
    statements: impl IntoIterator<Item = &'a Statement>,
) {
    for statement in statements {
        let sql = statement.sql();
        if statement.parameter_count() == 0 {
            continue;
        }
        let declared_types: Vec<String> = statement
            .types()
            .iter()
            .map(|declared| declared.map_or("unknown".to_owned(), |name| name.to_string()))
            .collect();
        assert!(!declared_types.is_empty(), "no declared type: {sql}");
        let nulls = vec!["null"; declared_types.len()].join(", ");
        let mut prepare = |types: &str| {
            let prepare = format!("prepare p{types} as {sql}");
            control.execute(&prepare).expect("prepares");
            let types = "select parameter_types::text from pg_prepared_statements";
            let types = control.query_value(types).expect("its types");
            let explain = format!("explain (verbose, costs off) execute p({nulls})");
            let plan = control.query(&explain).expect("its plan");
            control.execute("deallocate p").expect("deallocates");
            (types, plan)
        };
        let inferred = prepare("");
        assert_eq!(
            prepare(&format!("({})", declared_types.join(", "))),
            inferred,
            "{sql}"
        );
    }
}
