//! Loads, checks, prepares and cleans each workload on a server that speaks SQL Server's protocol and remembers tables
//! and keys; it refuses a text that is no T-SQL.

use crate::describe::Growth;
use crate::growth::GrowthStart;
use crate::tpcc::layout::Population;
use crate::tpcc::sqlserver::indexes::builds;
use crate::{LoadDivision, LoadRequest, Workload, registry};
use prony_document::SqlDialect;
use prony_plan::WorkloadPlan;
use prony_server::{Control, Environment};
use prony_tds_server::{Column, Config, Datum, Listener, Outcome, Request, Type};
use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

#[derive(Default)]
struct MockTable {
    columns: Vec<String>,
    key: Vec<String>,
    note: String,
}

/// Parts of queries, and their rows: a warehouse is complete.
const ANSWERS: [(&str, [&str; 5]); 5] = [
    (
        "(select count(*) from district)",
        ["1", "1", "1", "10", "100000"],
    ),
    (
        "from customer where c_w_id = 1 and c_d_id = 10",
        ["3000"; 5],
    ),
    ("from stock where s_w_id = 1 and s_i_id in", ["2"; 5]),
    (
        "from orders where o_w_id = 1 and o_d_id = 10 and o_id in",
        ["2"; 5],
    ),
    ("from district where d_w_id % ", ["0"; 5]),
];

#[derive(Default)]
struct Catalog {
    tables: BTreeMap<String, MockTable>,
}

/// The names in the parentheses at the beginning of a text, or the first words of its definitions.
fn first_words(text: &str) -> Vec<String> {
    let (mut depth, mut definitions) = (0, vec![String::new()]);
    for char in text.trim_start().chars() {
        depth += i32::from(char == '(') - i32::from(char == ')');
        match char {
            _ if depth == 0 => break,
            ',' if depth == 1 => definitions.push(String::new()),
            _ => definitions.last_mut().expect("one").push(char),
        }
    }
    let word = |text: &String| {
        text.trim_start_matches('(')
            .split_whitespace()
            .next()
            .map(str::to_owned)
    };
    definitions.iter().filter_map(word).collect()
}

impl Catalog {
    /// Remembers what a statement creates or drops.
    fn apply(&mut self, sql: &str) {
        if let Some((_, create)) = sql.split_once("create table ") {
            let (name, definitions) = create.split_once(' ').expect("columns");
            let table = self.tables.entry(name.to_owned()).or_default();
            table.columns = first_words(definitions);
        }
        if let Some((_, alter)) = sql.split_once("alter table ")
            && let Some((_, key)) = alter.split_once("primary key clustered ")
        {
            let (name, _) = alter.split_once(' ').expect("a name");
            self.tables.get_mut(name).expect("a table").key = first_words(key);
        }
        if let Some((_, property)) = sql.split_once("sp_addextendedproperty ") {
            let parts: Vec<&str> = property.split('\'').collect();
            let table = self.tables.get_mut(parts[parts.len() - 2]);
            parts[3].clone_into(&mut table.expect("a table").note);
        }
        let is_dropped = |name: &str| sql.contains(&format!("drop table {name}"));
        self.tables.retain(|name, _| !is_dropped(name));
    }

    fn rows(&self, sql: &str) -> Vec<Vec<String>> {
        let mut rows = Vec::new();
        for (name, table) in &self.tables {
            let mut push =
                |cells: &[&str]| rows.push(cells.iter().map(|cell| (*cell).to_owned()).collect());
            if sql.contains("'BASE TABLE'") {
                push(&[name, "BASE TABLE", "1", "0", "0", &table.note]);
            } else if sql.contains("k.key_ordinal") {
                for (index, column) in table.key.iter().enumerate() {
                    push(&[name, column, "PRIMARY", &(index + 1).to_string()]);
                }
            } else if sql.contains("join sys.columns c") {
                table
                    .columns
                    .iter()
                    .for_each(|column| push(&[name, column, ""]));
            } else if sql.contains(&format!(
                "object_id = object_id('{name}') order by c.column_id"
            )) {
                for column in &table.columns {
                    let is_text = ["c", "pad", "field", "ycsb_key"]
                        .iter()
                        .any(|text| column.starts_with(text));
                    let (type_name, length) =
                        if is_text { ("varchar", "200") } else { ("int", "4") };
                    push(&[column, type_name, length, "10", "0", "1"]);
                }
            }
        }
        rows
    }

    fn answer(&mut self, sql: &str) -> Vec<Outcome> {
        self.apply(sql);
        let mut rows = self.rows(sql);
        let is_catalog = [
            "'BASE TABLE'",
            "join sys.columns c",
            "sys.sql_modules",
            "allocation_units",
            "join sys.types t",
            "has_perms_by_name",
        ];
        if !is_catalog.iter().any(|text| sql.contains(text)) {
            let answer = ANSWERS.iter().find(|(part, _)| sql.contains(part));
            let cells = answer.map_or(["1"; 5], |(_, cells)| *cells);
            rows.push(cells.map(str::to_owned).into());
        }
        let width = rows.first().map_or(1, Vec::len);
        let cell = |cell: String| {
            if cell.is_empty() { Datum::Null } else { Datum::Bytes(cell.into_bytes()) }
        };
        let rows = rows
            .into_iter()
            .map(|row| row.into_iter().map(cell).collect());
        vec![Outcome::Rows(
            vec![Column::new("c", Type::VarChar(8000)); width],
            rows.collect(),
        )]
    }
}

/// As if the rows were loaded, which takes long for tpcc: builds its indexes in both layouts, and notes that it is done.
fn finish_tpcc(control: &mut Control, catalog: &Mutex<Catalog>) {
    for population in Population::ALL {
        for build in builds(population) {
            control
                .execute(&build.build.expect("a statement"))
                .expect("it builds");
        }
    }
    for table in catalog.lock().expect("no panic").tables.values_mut() {
        let stages = ("rows are being loaded", "loaded");
        table.note = table.note.replace(stages.0, stages.1);
    }
}

#[test]
fn statements_of_every_workload_are_t_sql() {
    // A workload without a unit of scale has no statements of its own.
    let is_supported = |workload: &&&dyn Workload| {
        workload.dialects().contains(&SqlDialect::TransactSql) && workload.scale_unit().is_some()
    };
    for workload in registry::list().iter().filter(is_supported) {
        let name = workload.name();
        let catalog = Arc::new(Mutex::new(Catalog::default()));
        let of_server = Arc::clone(&catalog);
        let config = Config::new(move |sql, _| of_server.lock().expect("no panic").answer(sql));
        let received = Arc::clone(&config.received);
        let port = Listener::start(config).address().port();
        let url = format!("sqlserver://sa:Sesame1@127.0.0.1:{port}/db?encrypt=disable");
        let environment = Environment::without_home("tester");
        let target = prony_server::resolve(&url, &environment).expect("a good URL");
        let plan = WorkloadPlan {
            name: name.to_owned(),
            scale: Some(1),
            options: Default::default(),
        };
        let request = LoadRequest {
            target: &target,
            plan: &plan,
            jobs: 1,
            seed: 0,
            division: LoadDivision::Undivided,
            progress: &(),
            stop: &AtomicBool::new(false),
        };
        let loaded = workload.load(&request);
        let mut control = Control::connect(&target).expect("connects");
        match name {
            "tpcc" => finish_tpcc(&mut control, &catalog),
            _ => drop(loaded.expect(name)),
        }
        workload.check(&mut control).expect(name);
        workload.program(&mut control, &plan).map(drop).expect(name);
        if let Growth::Counted(counted) = workload.growth(&plan, 1) {
            for growth in counted {
                drop(GrowthStart::read(&mut control, growth.counter));
            }
        }
        // This server does not know the conditional transaction that drops a table of oltp with its sequence.
        drop(workload.clean(&mut control));
        let requests = &received.lock().expect("no panic").requests;
        let texts: Vec<&str> = requests.iter().filter_map(text_of).collect();
        assert!(
            texts.iter().any(|text| text.contains("drop table ")),
            "{name}"
        );
    }
}

fn text_of(request: &Request) -> Option<&str> {
    match request {
        Request::Batch { text, .. } => Some(text),
        _ => None,
    }
}
