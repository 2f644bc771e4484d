//! The layout of a load: number of warehouses, population and partitions, read from a plan's options or
//! detected in existing tables.

use super::options::{self, TpccOptions};
use super::schema::{Index, Table};
use crate::loader::dataset::IndexBuild;
use crate::names::named_enum;
use crate::note::{LoadNote, TableStage};
use crate::remedy::{LoadOption, LoadSpec};
use crate::{Error, Result, sql};
use prony_document::SqlDialect;
use prony_plan::WorkloadPlan;
use prony_server::Control;

/// Maximum number of partitions of order_line: each is a file that every connection may open.
pub const PARTITIONS_MAX: u32 = 1_024;

named_enum! {
    /// The rules that the rows follow, as far as they affect the cost of a transaction.
    ///
    /// HammerDB's rows differ in other values too (taxes and discounts of two digits, amounts of delivered
    /// lines, "original" in lower case, repeats among o_c_id). They do not affect the cost of a statement, so
    /// both populations follow the specification in them. Their names are also those of the profiles for these rows.
    pub enum Population {
        /// The specification's: a tenth of the customers have bad credit [4.3.3.1].
        Standard = "standard",
        /// HammerDB's: half of the customers have bad credit. A payment of such a customer rewrites 500
        /// characters.
        HammerDb = "hammerdb",
    }
}

impl Population {
    /// Customers with bad credit, per hundred customers of a district.
    pub fn bad_credit_percent(self) -> u32 {
        match self {
            Population::Standard => 10,
            Population::HammerDb => 50,
        }
    }
}

/// The parameters of a load. An unfinished load can be continued by a load of the same layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    pub scale: u32,
    pub seed: u64,
    /// The rules that the rows follow.
    pub population: Population,
    /// Hash partitions of order_line by its warehouse; 0 for a plain table.
    pub partitions: u32,
    /// Whether history has an invisible primary key. Only on MySQL and MariaDB.
    pub has_history_key: bool,
}

/// The start of the columns of a history with a key, which statements that do not name it never see. Old servers
/// hide no columns: for them, it is a syntax error.
const HISTORY_KEY_COLUMN: &str =
    "( h_id bigint unsigned not null auto_increment invisible primary key,";

impl Layout {
    pub fn of(plan: &WorkloadPlan, seed: u64) -> Result<Layout> {
        let options: TpccOptions = options::read(plan)?;
        Ok(Layout {
            scale: plan.scale.unwrap_or(1),
            seed,
            population: options.profile.population,
            partitions: options.partitions.unwrap_or(0),
            has_history_key: options.adds_history_key,
        })
    }

    pub fn load_spec(&self) -> LoadSpec {
        let mut options: Vec<LoadOption> = vec![("scale", self.scale.to_string())];
        if self.seed != 0 {
            options.push(("seed", self.seed.to_string()));
        }
        if self.population != Population::Standard {
            options.push(("profile", self.population.name().to_owned()));
        }
        if self.partitions != 0 {
            options.push(("partitions", self.partitions.to_string()));
        }
        if self.has_history_key {
            options.push(("history_key", "always".to_owned()));
        }
        LoadSpec::of("tpcc", options)
    }

    /// A description that fits after `a load of`: `10 warehouses (seed 7)`.
    pub fn description(&self) -> String {
        let mut details = format!("seed {}", self.seed);
        if self.population != Population::Standard {
            details += &format!(", profile {}", self.population.name());
        }
        if self.partitions != 0 {
            details += &format!(", {} partitions", self.partitions);
        }
        if self.has_history_key {
            details += ", a key of history";
        }
        format!("{} warehouses ({details})", self.scale)
    }

    /// The statement that creates a table, with its partitions and the key of history.
    pub fn create(&self, table: Table, dialect: SqlDialect) -> String {
        let mut create = table.create(dialect, self.population);
        let count = self.partitions;
        if table == Table::History && self.has_history_key && dialect == SqlDialect::MySql {
            create = create.replacen('(', HISTORY_KEY_COLUMN, 1);
        }
        if table != Table::OrderLine || count == 0 {
            return create;
        }
        let partitioned = format!("{create} partition by hash (ol_w_id)");
        match dialect {
            SqlDialect::PostgreSql => {
                let parts = (0..count).map(|part| {
                    format!(
                        "; create table {} partition of order_line for values with \
                         (modulus {count}, remainder {part})",
                        partition_name(part)
                    )
                });
                partitioned + &parts.collect::<String>()
            }
            SqlDialect::MySql => format!("{partitioned} partitions {count}"),
            // SQL Server has no hash partitions; a load refuses them.
            SqlDialect::TransactSql => create,
        }
    }

    /// The note of a load that started at this time, in seconds since 1970, and has reached this stage.
    pub fn note(&self, start_s: i64, stage: TableStage) -> LoadNote {
        let Layout {
            scale,
            seed,
            population,
            partitions,
            has_history_key,
        } = self;
        let profile = population.name();
        let history_key = if *has_history_key { "history_key 1, " } else { "" };
        LoadNote {
            description: format!(
                "warehouses {scale}, seed {seed}, profile {profile}, partitions {partitions}, \
                 {history_key}begun {start_s}"
            ),
            stage,
        }
    }

    /// The layout and the start time, in seconds since 1970, that a note records; `None` if it is the note of a different
    /// workload.
    pub fn from_note(note: &LoadNote) -> Option<(Layout, i64)> {
        let number = |name| u32::try_from(note.number(name)?).ok();
        let mut populations = Population::ALL.into_iter();
        let layout = Layout {
            scale: number("warehouses")?,
            seed: note.number("seed")?,
            population: populations
                .find(|population| Some(population.name()) == note.value("profile"))?,
            partitions: number("partitions")?,
            has_history_key: note.number("history_key") == Some(1),
        };
        Some((layout, i64::try_from(note.number("begun")?).ok()?))
    }

    /// All indexes to build, the slowest first. The primary key of a partitioned order_line is made of
    /// those of its partitions, so it comes after them.
    pub fn index_builds(&self) -> Vec<IndexBuild> {
        let unpartitioned = |index: Index| {
            let (table, name) = (index.table.name(), index.name);
            if index.primary {
                IndexBuild::primary_key(table, name, &index.columns.join(", "))
            } else {
                IndexBuild::of_statement(table, name, index.build())
            }
        };
        let mut builds = Vec::new();
        for index in Index::all() {
            if index.table == Table::OrderLine && self.partitions > 0 {
                builds.extend((0..self.partitions).map(|part| partition_index(&index, part)));
                let (name, columns) = (index.name, index.columns.join(", "));
                builds.push(IndexBuild {
                    table: index.table.name().to_owned(),
                    name: name.to_owned(),
                    build: None,
                    attach: Some(format!(
                        "alter table order_line add constraint {name} primary key ({columns})"
                    )),
                });
            } else {
                builds.push(unpartitioned(index));
            }
        }
        builds
    }
}

fn partition_name(part: u32) -> String {
    format!("ol_{part}")
}

fn partition_index(index: &Index, part: u32) -> IndexBuild {
    let table = partition_name(part);
    IndexBuild::primary_key(&table, &format!("{table}_i1"), &index.columns.join(", "))
}

/// The part of a load's layout that its tables show.
pub struct DetectedLayout {
    pub population: Population,
    /// Hash partitions of order_line.
    pub partitions: u32,
    pub has_history_key: bool,
}

/// Reads the layout from the tables, whoever loaded them.
pub fn detect(control: &mut Control) -> Result<DetectedLayout> {
    // A key that the server has generated may be hidden from its catalog.
    if control.has_since(control.product().generated_key_since) {
        let show = "set session show_gipk_in_create_table_and_information_schema = on";
        sql::execute(control, "showing generated primary keys", show)?;
    }
    let (partition_count, history_key_columns) = match control.dialect() {
        SqlDialect::PostgreSql => (
            "select count(*) from pg_inherits where inhparent = to_regclass('order_line')",
            "select 0",
        ),
        SqlDialect::TransactSql => ("select 0", "select 0"),
        SqlDialect::MySql => (
            "select count(*) from information_schema.partitions where table_schema = database() \
             and table_name = 'order_line' and partition_name is not null",
            "select count(*) from information_schema.statistics where table_schema = database() \
             and table_name = 'history' and index_name = 'PRIMARY'",
        ),
    };
    // Prony gives an exact share of each district's customers bad credit; HammerDB decides at
    // random for each customer.
    let row = sql::query_row(
        control,
        "detecting the population of the customers",
        &format!(
            "select count(*), sum(case when c_credit = 'BC' then 1 else 0 end), ({partition_count}), \
             ({history_key_columns}) from customer where c_w_id = 1 and c_d_id = 1"
        ),
    )?;
    let [customers, bad_credit, partitions, key_columns] =
        [0, 1, 2, 3].map(|column| row.int(column).unwrap_or(0));
    let percent = bad_credit as f64 / customers.max(1) as f64 * 100.0;
    let distance = |population: &Population| {
        (percent - f64::from(population.bad_credit_percent())).abs() as u32
    };
    let nearest = Population::ALL.into_iter().min_by_key(distance);
    Ok(DetectedLayout {
        population: nearest.unwrap_or(Population::Standard),
        partitions: u32::try_from(partitions).unwrap_or(0),
        has_history_key: key_columns > 0,
    })
}

/// Checks the requested number of partitions, if any.
pub fn check_partitions(requested: Option<u32>, actual: u32) -> Result<()> {
    match requested {
        Some(requested) if requested != actual => Err(Error::Data {
            problem: format!("order_line has {actual} partitions, but {requested} were requested"),
            remedy: format!(
                "omit the option partitions to run on the existing data, or load again with \
                 --partitions {requested}"
            )
            .into(),
        }),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::remedy::Remedy;
    use prony_assertions::TextAssertions;

    const PLAIN: Layout = Layout {
        scale: 10,
        seed: 0,
        population: Population::Standard,
        partitions: 0,
        has_history_key: false,
    };

    #[test]
    fn the_command_omits_defaults() {
        let command = |layout: Layout| Remedy::Load(layout.load_spec()).to_string();
        assert_eq!(command(PLAIN), "prony load tpcc --scale 10");
        assert_eq!(PLAIN.description(), "10 warehouses (seed 0)");
        let customized = Layout {
            seed: 7,
            population: Population::HammerDb,
            partitions: 4,
            has_history_key: true,
            ..PLAIN
        };
        let expected = "prony load tpcc --scale 10 --seed 7 --profile hammerdb --partitions 4 \
                        --history_key always";
        assert_eq!(command(customized), expected);
        let expected = "10 warehouses (seed 7, profile hammerdb, 4 partitions, a key of history)";
        assert_eq!(customized.description(), expected);
    }

    #[test]
    fn only_order_line_is_partitioned() {
        let parts = Layout {
            partitions: 2,
            ..PLAIN
        };
        let (postgres, mysql) = (SqlDialect::PostgreSql, SqlDialect::MySql);
        for table in Table::ALL {
            for dialect in [postgres, mysql] {
                let plain = table.create(dialect, Population::Standard);
                assert_eq!(PLAIN.create(table, dialect), plain);
                let same = parts.create(table, dialect) == plain;
                assert_eq!(same, table != Table::OrderLine);
            }
        }
        let created = parts.create(Table::OrderLine, postgres);
        let expected = ") partition by hash (ol_w_id); create table ol_0 partition of order_line for \
                     values with (modulus 2, remainder 0); create table ol_1 ";
        created.assert_contains(expected);
        let created = parts.create(Table::OrderLine, mysql);
        created.assert_ends_with("latin1_bin partition by hash (ol_w_id) partitions 2");
        let builds = parts.index_builds();
        assert_eq!(builds.len(), PLAIN.index_builds().len() + 2);
        assert_eq!(builds[1].name, "ol_1_i1");
        assert!(
            PLAIN
                .index_builds()
                .iter()
                .all(|index| index.build.is_some())
        );
        // After those of its partitions.
        assert_eq!(
            (builds[2].name.as_str(), &builds[2].build),
            ("order_line_i1", &None)
        );
    }

    #[test]
    fn a_note_records_the_layout() {
        let layout = Layout {
            seed: u64::MAX,
            population: Population::HammerDb,
            partitions: 3,
            ..PLAIN
        };
        let note = layout.note(1_795_213_070, TableStage::Filling);
        let read = LoadNote::parse(&note.text()).expect("a note");
        assert_eq!(Layout::from_note(&read), Some((layout, 1_795_213_070)));
    }
}
