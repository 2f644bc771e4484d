//! The options: how large the tables are, what an event is made of, how numbers are drawn.
//!
//! In: a plan's options. Out: what was asked, or every problem with it. Must never: ask a server.
//!
//! Names and defaults are those of sysbench 1.0, so that figures of both mean the same.

use super::Oltp;
use super::distribution::Distribution;
use super::event::{Event, Part, Sql};
use super::reader::Reader;
use crate::Error;
use prony_plan::WorkloadPlan;

/// Most tables: each has up to nine statements, and a connection knows 65,535.
pub const TABLES_MAX: u32 = 7_000;
/// Most rows of a table: keys are `integer`.
pub const ROWS_MAX: u32 = i32::MAX as u32;
/// Most statements of one sort in an event, and most values in one statement.
const MANY: u32 = 10_000;
/// Most values in a statement of random points or ranges.
const VALUES_MAX: u32 = 1_000;

/// The keys that all workloads of this family know.
pub const KEYS: &[&str] = &[
    "auto_inc",
    "create_secondary",
    "create_table_options",
    "delete_inserts",
    "delta",
    "distinct_ranges",
    "hint",
    "index_updates",
    "mysql_storage_engine",
    "non_index_updates",
    "number_of_ranges",
    "order_ranges",
    "point_selects",
    "rand_pareto_h",
    "rand_spec_iter",
    "rand_spec_pct",
    "rand_spec_res",
    "rand_type",
    "rand_zipfian_exp",
    "random_points",
    "range_selects",
    "range_size",
    "row",
    "secondary",
    "simple_ranges",
    "skip_trx",
    "sum_ranges",
    "table_size",
    "tables",
];

/// What was asked.
#[derive(Clone, Debug, PartialEq)]
pub struct Asked {
    /// Tables; absent: 1 where they are loaded, all that are there where they are run on.
    pub tables: Option<u32>,
    /// Rows of a table; absent: the workload's default, or as many as were loaded.
    pub table_size: Option<u32>,
    /// Rows of a range.
    pub range_size: u32,
    /// Selects of one row.
    pub point_selects: u32,
    /// Whether any ranges are selected.
    pub range_selects: bool,
    /// Ranges as they are.
    pub simple_ranges: u32,
    /// Sums of ranges.
    pub sum_ranges: u32,
    /// Sorted ranges.
    pub order_ranges: u32,
    /// Sorted ranges without what is there twice.
    pub distinct_ranges: u32,
    /// Updates of the column that has an index.
    pub index_updates: u32,
    /// Updates of one that has none.
    pub non_index_updates: u32,
    /// Rows deleted and put back.
    pub delete_inserts: u32,
    /// Values in a statement of `select_random_points`.
    pub random_points: u32,
    /// Ranges in a statement of `select_random_ranges`.
    pub number_of_ranges: u32,
    /// From the first to the last value of such a range.
    pub delta: u32,
    /// The row of `hot-row`.
    pub row: u32,
    /// Whether `hot-row` sends ApsaraDB's hint.
    pub hint: bool,
    /// Without `BEGIN` and `COMMIT`.
    pub skip_trx: bool,
    /// The server numbers rows.
    pub auto_inc: bool,
    /// An index on the key that is not unique, in place of the primary key.
    pub secondary: bool,
    /// With an index on `k`.
    pub create_secondary: bool,
    /// Engine of the tables on MySQL and MariaDB.
    pub storage_engine: String,
    /// Appended to `CREATE TABLE`.
    pub table_options: String,
    /// How numbers are drawn.
    pub distribution: Distribution,
}

impl Default for Asked {
    fn default() -> Self {
        Asked {
            tables: None,
            table_size: None,
            range_size: 100,
            point_selects: 10,
            range_selects: true,
            simple_ranges: 1,
            sum_ranges: 1,
            order_ranges: 1,
            distinct_ranges: 1,
            index_updates: 1,
            non_index_updates: 1,
            delete_inserts: 1,
            random_points: 10,
            number_of_ranges: 10,
            delta: 5,
            row: 100,
            hint: false,
            skip_trx: false,
            auto_inc: true,
            secondary: false,
            create_secondary: true,
            storage_engine: "innodb".to_owned(),
            table_options: String::new(),
            distribution: Distribution::Special {
                iterations: 12,
                part_pct: 1,
                share_pct: 75,
            },
        }
    }
}

impl Asked {
    /// How often a part is done.
    pub fn count(&self, part: Part) -> u32 {
        let range = |count| if self.range_selects { count } else { 0 };
        match part {
            Part::Each(Sql::PointSelect) => self.point_selects,
            Part::Each(Sql::SimpleRange) => range(self.simple_ranges),
            Part::Each(Sql::SumRange) => range(self.sum_ranges),
            Part::Each(Sql::OrderRange) => range(self.order_ranges),
            Part::Each(Sql::DistinctRange) => range(self.distinct_ranges),
            Part::Each(Sql::IndexUpdate) => self.index_updates,
            Part::Each(Sql::NonIndexUpdate) => self.non_index_updates,
            Part::DeleteInserts => self.delete_inserts,
            Part::Each(_) | Part::TextInsert => 1,
        }
    }

    /// What decides what figures of this workload mean, on so many tables of such a size.
    pub fn named(&self, workload: &Oltp, tables: u32, size: u32) -> Vec<(&'static str, String)> {
        let switch = |on: bool| if on { "on" } else { "off" }.to_owned();
        let mut named = vec![("tables", tables.to_string())];
        let Event::Parts {
            parts, in_block, ..
        } = workload.event
        else {
            return named;
        };
        named.push(("table_size", size.to_string()));
        if !parts.contains(&Part::Each(Sql::HotUpdate)) {
            named.extend(self.named_distribution());
        }
        for (part, count) in workload.event.parts(self) {
            named.extend(match part {
                Part::Each(Sql::PointSelect) => vec![("point_selects", count.to_string())],
                Part::Each(Sql::SimpleRange) => vec![
                    ("range_size", self.range_size.to_string()),
                    ("simple_ranges", count.to_string()),
                ],
                Part::Each(Sql::SumRange) => vec![("sum_ranges", count.to_string())],
                Part::Each(Sql::OrderRange) => vec![("order_ranges", count.to_string())],
                Part::Each(Sql::DistinctRange) => vec![("distinct_ranges", count.to_string())],
                Part::Each(Sql::IndexUpdate) => vec![("index_updates", count.to_string())],
                Part::Each(Sql::NonIndexUpdate) => vec![("non_index_updates", count.to_string())],
                Part::DeleteInserts => vec![("delete_inserts", count.to_string())],
                Part::TextInsert => vec![("auto_inc", switch(self.auto_inc))],
                Part::Each(Sql::RandomPoints) => {
                    vec![("random_points", self.random_points.to_string())]
                }
                Part::Each(Sql::RandomRanges) => vec![
                    ("number_of_ranges", self.number_of_ranges.to_string()),
                    ("delta", self.delta.to_string()),
                ],
                Part::Each(Sql::HotUpdate) => {
                    vec![("row", self.row.to_string()), ("hint", switch(self.hint))]
                }
                Part::Each(Sql::Delete | Sql::Insert) => Vec::new(),
            });
        }
        if in_block {
            named.push(("skip_trx", switch(self.skip_trx)));
        }
        named
    }

    /// The distribution and its parameters.
    pub fn named_distribution(&self) -> Vec<(&'static str, String)> {
        let mut named = vec![("rand_type", self.distribution.name().to_owned())];
        match self.distribution {
            Distribution::Uniform => {}
            Distribution::Gaussian { iterations } => {
                named.push(("rand_spec_iter", iterations.to_string()));
            }
            Distribution::Special {
                iterations,
                part_pct,
                share_pct,
            } => named.extend([
                ("rand_spec_iter", iterations.to_string()),
                ("rand_spec_pct", part_pct.to_string()),
                ("rand_spec_res", share_pct.to_string()),
            ]),
            Distribution::Pareto { h } => named.push(("rand_pareto_h", h.to_string())),
            Distribution::Zipfian { exponent } => {
                named.push(("rand_zipfian_exp", exponent.to_string()));
            }
        }
        named
    }
}

/// Reads them all.
///
/// # Errors
/// Every problem.
pub fn read(plan: &WorkloadPlan, workload: &Oltp) -> Result<Asked, Vec<Error>> {
    let mut reader = Reader::new(plan);
    let asked = values(&mut reader);
    let asked = Asked {
        tables: tables(&mut reader, plan),
        distribution: distribution(&mut reader),
        ..asked
    };
    fit(&mut reader, &asked, workload);
    if reader.problems.is_empty() {
        Ok(asked)
    } else {
        Err(reader.problems)
    }
}

fn values(reader: &mut Reader<'_>) -> Asked {
    let asked = Asked::default();
    let mut many = |key, default| reader.number(key, default, 0..=MANY);
    Asked {
        point_selects: many("point_selects", asked.point_selects),
        simple_ranges: many("simple_ranges", asked.simple_ranges),
        sum_ranges: many("sum_ranges", asked.sum_ranges),
        order_ranges: many("order_ranges", asked.order_ranges),
        distinct_ranges: many("distinct_ranges", asked.distinct_ranges),
        index_updates: many("index_updates", asked.index_updates),
        non_index_updates: many("non_index_updates", asked.non_index_updates),
        delete_inserts: many("delete_inserts", asked.delete_inserts),
        table_size: reader.given("table_size", 1..=ROWS_MAX),
        range_size: reader.number("range_size", asked.range_size, 1..=ROWS_MAX),
        random_points: reader.number("random_points", asked.random_points, 1..=VALUES_MAX),
        number_of_ranges: reader.number("number_of_ranges", asked.number_of_ranges, 1..=VALUES_MAX),
        delta: reader.number("delta", asked.delta, 0..=ROWS_MAX),
        row: reader.number("row", asked.row, 1..=ROWS_MAX),
        hint: reader.flag("hint", asked.hint),
        range_selects: reader.flag("range_selects", asked.range_selects),
        skip_trx: reader.flag("skip_trx", asked.skip_trx),
        auto_inc: reader.flag("auto_inc", asked.auto_inc),
        secondary: reader.flag("secondary", asked.secondary),
        create_secondary: reader.flag("create_secondary", asked.create_secondary),
        storage_engine: reader.words("mysql_storage_engine", &asked.storage_engine),
        table_options: reader.words("create_table_options", &asked.table_options),
        ..asked
    }
}

/// Their number is the scale too.
fn tables(reader: &mut Reader<'_>, plan: &WorkloadPlan) -> Option<u32> {
    let option = reader.given("tables", 1..=TABLES_MAX);
    if let Some(scale) = plan.scale.filter(|scale| !(1..=TABLES_MAX).contains(scale)) {
        let problem = format!("a scale of {scale} tables is not possible");
        reader.wrong(problem, format!("1 to {TABLES_MAX}"));
    }
    if let (Some(tables), Some(scale)) = (option, plan.scale)
        && tables != scale
    {
        let problem = format!("{tables} tables and a scale of {scale} contradict each other");
        reader.wrong(
            problem,
            "the scale is the number of tables: give one of them",
        );
    }
    option.or(plan.scale)
}

fn distribution(reader: &mut Reader<'_>) -> Distribution {
    let iterations = reader.number("rand_spec_iter", 12, 1..=1_000);
    let part_pct = reader.number("rand_spec_pct", 1, 1..=100);
    let share_pct = reader.number("rand_spec_res", 75, 0..=100);
    let h = reader.real("rand_pareto_h", 0.2, 0.0, 1.0);
    let exponent = reader.real("rand_zipfian_exp", 0.8, 0.0, 100.0);
    match reader.word("rand_type", 2, &Distribution::NAMES) {
        0 => Distribution::Uniform,
        1 => Distribution::Gaussian { iterations },
        3 => Distribution::Pareto { h },
        4 => Distribution::Zipfian { exponent },
        _ => Distribution::Special {
            iterations,
            part_pct,
            share_pct,
        },
    }
}

/// What is wrong with them together.
fn fit(reader: &mut Reader<'_>, asked: &Asked, workload: &Oltp) {
    let name = workload.name;
    let has = |part: Part| match workload.event {
        Event::Parts { parts, .. } => parts.contains(&part),
        Event::Bulk => false,
    };
    if workload.event.queries(asked).all() == 0 {
        let problem = format!("with these options an event of {name} has no statement");
        reader.wrong(problem, "let one of its counts be above 0");
    }
    let slices = has(Part::Each(Sql::RandomPoints)) || has(Part::Each(Sql::RandomRanges));
    if slices && asked.tables.is_some_and(|tables| tables > 1) {
        let problem = format!("{name} runs on one table");
        reader.wrong(problem, "leave out tables and the scale, or let them be 1");
    }
    if has(Part::Each(Sql::HotUpdate))
        && let Some(size) = asked.table_size.filter(|size| *size < asked.row)
    {
        let problem = format!("row {} is not in a table of {size} rows", asked.row);
        reader.wrong(problem, "a smaller row, or a larger table_size");
    }
    for (key, text) in [
        ("mysql_storage_engine", &asked.storage_engine),
        ("create_table_options", &asked.table_options),
    ] {
        if text.contains([';', '\0', '\n']) {
            let problem = format!("{key} = {text} is more than a part of a statement");
            reader.wrong(problem, "leave out semicolons and new lines");
        }
    }
}
