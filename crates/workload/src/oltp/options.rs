//! The options: size of the tables, contents of an event, distribution of the numbers.
//!
//! Reads the options of a plan; returns their values or every problem with them. Must never query a
//! server.
//!
//! Names and defaults are those of sysbench 1.0, so that figures of both have the same meaning.

use super::Oltp;
use super::distribution::Distribution;
use super::event::{Event, EventPart, StatementKind};
use crate::Error;
use crate::describe::OptionKind::{Choice, Float, Integer, Switch, Text};
use crate::option_reader::{OptionReader, options};
use prony_plan::WorkloadPlan;

/// Maximum number of tables: each needs up to nine prepared statements, and a connection can have
/// 65,535.
pub const TABLES_MAX: u32 = 7_000;
/// Maximum number of rows of a table: keys are `integer`.
pub const ROWS_MAX: u32 = i32::MAX as u32;
/// Maximum number of statements of one kind in an event.
const STATEMENTS_MAX: u32 = 10_000;
/// Maximum number of values in a statement of random points or ranges.
const VALUES_MAX: u32 = 1_000;

options! {
    #[derive(Clone, Debug, PartialEq)]
    OltpOptions {
        auto_inc: bool, Switch, Some("on"), "Let the server assign the row ids";
        create_secondary: bool, Switch, Some("on"), "Create an index on k";
        create_table_options: String, Text, Some(""), "Appended to CREATE TABLE";
        delete_inserts: u32, Integer(0, STATEMENTS_MAX), Some("1"), "Rows that are deleted and inserted again";
        delta: u32, Integer(0, ROWS_MAX), Some("5"), "Size of a range of select_random_ranges";
        distinct_ranges: u32, Integer(0, STATEMENTS_MAX), Some("1"), "SELECT DISTINCT ... ORDER BY over a range";
        hint: bool, Switch, Some("off"), "hot-row: send ApsaraDB's hint for hot rows";
        index_updates: u32, Integer(0, STATEMENTS_MAX), Some("1"), "Updates of the indexed column k";
        mysql_storage_engine: String, Text, Some("innodb"), "Storage engine on MySQL and MariaDB";
        non_index_updates: u32, Integer(0, STATEMENTS_MAX), Some("1"), "Updates of the column c, which has no index";
        number_of_ranges: u32, Integer(1, VALUES_MAX), Some("10"), "Ranges per statement of select_random_ranges";
        order_ranges: u32, Integer(0, STATEMENTS_MAX), Some("1"), "SELECT ... ORDER BY over a range";
        point_selects: u32, Integer(0, STATEMENTS_MAX), Some("10"), "Rows selected by primary key";
        rand_pareto_h: f64, Float(0.0, 1.0), Some("0.2"), "Shape of the Pareto distribution";
        rand_spec_iter: u32, Integer(1, 1_000), Some("12"), "Uniform numbers averaged for gaussian and special";
        rand_spec_pct: u32, Integer(1, 100), Some("1"), "special: percentage of rows that are hot";
        rand_spec_res: u32, Integer(0, 100), Some("75"), "special: percentage of draws that hit hot rows";
        rand_type: usize, Choice(&Distribution::NAMES), Some("special"), "Distribution of row numbers";
        rand_zipfian_exp: f64, Float(0.0, 100.0), Some("0.8"), "Exponent of the Zipfian distribution";
        random_points: u32, Integer(1, VALUES_MAX), Some("10"), "Values per statement of select_random_points";
        range_selects: bool, Switch, Some("on"), "Run the range queries";
        range_size: u32, Integer(1, ROWS_MAX), Some("100"), "Rows of a range";
        row: u32, Integer(1, ROWS_MAX), Some("100"), "hot-row: the row that is updated";
        secondary: bool, Switch, Some("off"), "Create a plain index on id instead of the primary key";
        simple_ranges: u32, Integer(0, STATEMENTS_MAX), Some("1"), "SELECT over a range";
        skip_trx: bool, Switch, Some("off"), "Leave out BEGIN and COMMIT";
        sum_ranges: u32, Integer(0, STATEMENTS_MAX), Some("1"), "SELECT SUM(k) over a range";
        table_size: Option<u32>, Integer(1, ROWS_MAX), None,
            "Rows per table; default: 10000 (hot-row 100) for a load, else as loaded";
        tables: Option<u32>, Integer(1, TABLES_MAX), None,
            "Tables, same as --scale; default: 1 for a load, else the existing tables";
    }
}

impl OltpOptions {
    /// Whether the user's table options set a comment.
    pub fn has_table_comment(&self) -> bool {
        self.create_table_options
            .to_ascii_lowercase()
            .contains("comment")
    }

    pub fn distribution(&self) -> Distribution {
        match Distribution::NAMES[self.rand_type] {
            "uniform" => Distribution::Uniform,
            "gaussian" => Distribution::Gaussian {
                iterations: self.rand_spec_iter,
            },
            "pareto" => Distribution::Pareto {
                h: self.rand_pareto_h,
            },
            "zipfian" => Distribution::Zipfian {
                exponent: self.rand_zipfian_exp,
            },
            _ => Distribution::Special {
                iterations: self.rand_spec_iter,
                spec_pct: self.rand_spec_pct,
                spec_res: self.rand_spec_res,
            },
        }
    }

    /// How often an event executes a part, unless it executes each part once.
    pub fn repetitions(&self, part: EventPart) -> u32 {
        let if_ranges = |count| if self.range_selects { count } else { 0 };
        match part {
            EventPart::Statement(StatementKind::PointSelect) => self.point_selects,
            EventPart::Statement(StatementKind::SimpleRange) => if_ranges(self.simple_ranges),
            EventPart::Statement(StatementKind::SumRange) => if_ranges(self.sum_ranges),
            EventPart::Statement(StatementKind::OrderRange) => if_ranges(self.order_ranges),
            EventPart::Statement(StatementKind::DistinctRange) => if_ranges(self.distinct_ranges),
            EventPart::Statement(StatementKind::IndexUpdate) => self.index_updates,
            EventPart::Statement(StatementKind::NonIndexUpdate) => self.non_index_updates,
            EventPart::DeleteInserts => self.delete_inserts,
            EventPart::Statement(_) | EventPart::TextInsert => 1,
        }
    }

    /// The options that affect this workload, with their values, for a run on `tables` tables of `size` rows.
    pub fn settings(&self, workload: &Oltp, tables: u32, size: u32) -> Vec<(&'static str, String)> {
        let switch = |on: bool| if on { "on" } else { "off" };
        let mut settings = vec![("tables", tables.to_string())];
        let Event::Parts { in_block, .. } = workload.event else {
            return settings;
        };
        settings.push(("table_size", size.to_string()));
        if !workload.is_hot() {
            settings.extend(self.distribution_settings());
        }
        for (part, count) in workload.event.parts(self) {
            let mut push = |name, value: &dyn ToString| settings.push((name, value.to_string()));
            match part {
                EventPart::Statement(StatementKind::PointSelect) => push("point_selects", &count),
                EventPart::Statement(StatementKind::SimpleRange) => {
                    push("range_size", &self.range_size);
                    push("simple_ranges", &count);
                }
                EventPart::Statement(StatementKind::SumRange) => push("sum_ranges", &count),
                EventPart::Statement(StatementKind::OrderRange) => push("order_ranges", &count),
                EventPart::Statement(StatementKind::DistinctRange) => {
                    push("distinct_ranges", &count)
                }
                EventPart::Statement(StatementKind::IndexUpdate) => push("index_updates", &count),
                EventPart::Statement(StatementKind::NonIndexUpdate) => {
                    push("non_index_updates", &count)
                }
                EventPart::DeleteInserts => push("delete_inserts", &count),
                EventPart::TextInsert => push("auto_inc", &switch(self.auto_inc)),
                EventPart::Statement(StatementKind::RandomPoints) => {
                    push("random_points", &self.random_points);
                }
                EventPart::Statement(StatementKind::RandomRanges) => {
                    push("number_of_ranges", &self.number_of_ranges);
                    push("delta", &self.delta);
                }
                EventPart::Statement(StatementKind::HotUpdate) => {
                    push("row", &self.row);
                    push("hint", &switch(self.hint));
                }
                EventPart::Statement(StatementKind::Delete | StatementKind::Insert) => {}
            }
        }
        if in_block {
            settings.push(("skip_trx", switch(self.skip_trx).to_owned()));
        }
        settings
    }

    pub fn distribution_settings(&self) -> Vec<(&'static str, String)> {
        let distribution = self.distribution();
        let mut settings = vec![("rand_type", distribution.name().to_owned())];
        let mut push = |name, value: &dyn ToString| settings.push((name, value.to_string()));
        match distribution {
            Distribution::Uniform => {}
            Distribution::Gaussian { iterations } => push("rand_spec_iter", &iterations),
            Distribution::Special {
                iterations,
                spec_pct,
                spec_res,
            } => {
                push("rand_spec_iter", &iterations);
                push("rand_spec_pct", &spec_pct);
                push("rand_spec_res", &spec_res);
            }
            Distribution::Pareto { h } => push("rand_pareto_h", &h),
            Distribution::Zipfian { exponent } => push("rand_zipfian_exp", &exponent),
        }
        settings
    }
}

/// Reads the options of a plan; the error contains all problems.
pub fn read(plan: &WorkloadPlan, workload: &Oltp) -> Result<OltpOptions, Vec<Error>> {
    let mut reader = OptionReader::new(plan, OPTIONS);
    let mut options = OltpOptions::read_all(&mut reader);
    options.tables = table_count(&mut reader, plan, options.tables);
    check_combinations(&mut reader, &options, workload);
    reader.finish(options)
}

/// The requested number of tables, from the option `tables` or the scale; `None` if neither is set.
fn table_count(
    reader: &mut OptionReader<'_>,
    plan: &WorkloadPlan,
    option: Option<u32>,
) -> Option<u32> {
    if let Some(scale) = plan.scale.filter(|scale| !(1..=TABLES_MAX).contains(scale)) {
        let problem = format!("a scale of {scale} tables is not possible");
        reader.add_problem(problem, format!("1 to {TABLES_MAX}"));
    }
    if let (Some(tables), Some(scale)) = (option, plan.scale)
        && tables != scale
    {
        let problem = format!("{tables} tables and a scale of {scale} contradict each other");
        reader.add_problem(
            problem,
            "the scale is the number of tables: set only one of them",
        );
    }
    option.or(plan.scale)
}

fn check_combinations(reader: &mut OptionReader<'_>, options: &OltpOptions, workload: &Oltp) {
    let name = workload.name;
    if workload.event.queries(options).all() == 0 {
        let problem = format!("with these options an event of {name} has no statement");
        reader.add_problem(problem, "set one of its counts above 0");
    }
    // The tables of hot-row may be several, of which it uses the first.
    let must_have_one_table = workload.uses_one_table() && !workload.is_hot();
    if must_have_one_table && options.tables.is_some_and(|tables| tables > 1) {
        let problem = format!("{name} runs on one table");
        reader.add_problem(problem, "omit tables and the scale, or set them to 1");
    }
    if workload.is_hot()
        && let Some(size) = options.table_size.filter(|size| *size < options.row)
    {
        let problem = format!("row {} is not in a table of {size} rows", options.row);
        reader.add_problem(problem, "use a smaller row, or a larger table_size");
    }
    for (key, text) in [
        ("mysql_storage_engine", &options.mysql_storage_engine),
        ("create_table_options", &options.create_table_options),
    ] {
        if text.contains([';', '\0', '\n']) {
            reader.problems.push(Error::Value {
                key: key.to_owned(),
                value: text.clone(),
                expected: "a part of one statement",
                hint: "remove semicolons and line breaks".to_owned(),
            });
        }
    }
}
