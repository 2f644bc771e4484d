//! What a load is to make: how many warehouses, by whose rules, in how many parts.
//!
//! In: a plan's options, or a database. Out: the same in both. Must never: be decided by the tables'
//! rows where the tables themselves tell it.

use super::options::{self, Asked};
use super::schema::{Index, Table};
use crate::commands::{Size, caller};
use crate::oltp::engine::Engine;
use crate::{Error, sql};
use prony_plan::WorkloadPlan;
use prony_server::Control;

/// Most partitions of order_line: each is a file that every connection may open.
pub const PARTITIONS_MAX: u32 = 1_024;

/// Whose rules the rows follow, where they differ in what a transaction costs.
///
/// HammerDB's rows differ in other values too (taxes and discounts of two digits, amounts of
/// delivered lines, "original" in lower case, repeats among o_c_id); those change no statement's
/// work, and are made by the specification for all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Population {
    /// The specification's: a tenth of the customers has bad credit [4.3.3.1].
    Standard,
    /// HammerDB's: half of them. A payment of such a customer rewrites 500 letters.
    HammerDb,
}

impl Population {
    /// Both.
    pub const ALL: [Population; 2] = [Population::Standard, Population::HammerDb];

    /// As it is named to users, and as a profile that means it.
    pub fn name(self) -> &'static str {
        match self {
            Population::Standard => "standard",
            Population::HammerDb => "hammerdb",
        }
    }

    /// Of a hundred customers of a district, those with bad credit.
    pub fn bad_credit_percent(self) -> u32 {
        match self {
            Population::Standard => 10,
            Population::HammerDb => 50,
        }
    }
}

/// What is loaded; a load of the same can be continued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Warehouses.
    pub scale: u32,
    /// Seed of the rows.
    pub seed: u64,
    /// Whose rules they follow.
    pub population: Population,
    /// Hash partitions of order_line by its warehouse; 0 for a plain table.
    pub partitions: u32,
}

impl Layout {
    /// What a plan asks for.
    ///
    /// # Errors
    /// The first of its options that is wrong.
    pub fn of(plan: &WorkloadPlan, seed: u64) -> Result<Layout, Error> {
        let asked: Asked = options::read(plan).map_err(|mut all| all.swap_remove(0))?;
        Ok(Layout {
            scale: plan.scale.unwrap_or(1),
            seed,
            population: asked.profile.population,
            partitions: asked.partitions.unwrap_or(0),
        })
    }

    /// What to do about a load of it that did not come to its end.
    pub fn continued(&self) -> String {
        caller().unfinished("tpcc", "tpcc", &self.sizes(), "")
    }

    /// Sizes for the command that loads it.
    fn sizes(&self) -> Vec<Size<'static>> {
        let mut sizes = vec![("scale", self.scale.to_string())];
        if self.seed != 0 {
            sizes.push(("seed", self.seed.to_string()));
        }
        if self.population != Population::Standard {
            sizes.push(("profile", self.population.name().to_owned()));
        }
        if self.partitions != 0 {
            sizes.push(("partitions", self.partitions.to_string()));
        }
        sizes
    }

    /// In words, after `a load of`: `10 warehouses (seed 7)`.
    pub fn words(&self) -> String {
        let mut rest = format!("seed {}", self.seed);
        if self.population != Population::Standard {
            rest += &format!(", profile {}", self.population.name());
        }
        if self.partitions != 0 {
            rest += &format!(", {} partitions", self.partitions);
        }
        format!("{} warehouses ({rest})", self.scale)
    }

    /// The statements that create a table on PostgreSQL, without its key.
    pub fn create(&self, table: Table) -> String {
        let plain = table.create();
        if table != Table::OrderLine || self.partitions == 0 {
            return plain;
        }
        let mut statements = vec![format!("{plain} partition by hash (ol_w_id)")];
        statements.extend((0..self.partitions).map(|part| {
            format!(
                "create table {} partition of order_line for values with (modulus {}, remainder {part})",
                partition(part),
                self.partitions
            )
        }));
        statements.join("; ")
    }

    /// All indexes to build, those that take longest first.
    pub fn builds(&self) -> Vec<Build> {
        let plain = |index: Index| Build {
            statement: index.build(),
            attach: index.attach(),
            name: index.name.to_owned(),
        };
        let mut builds = Vec::new();
        for index in Index::all() {
            if index.table == Table::OrderLine && self.partitions > 0 {
                builds.extend((0..self.partitions).map(|part| in_part(&index, part)));
            } else {
                builds.push(plain(index));
            }
        }
        builds
    }

    /// The primary key of a partitioned order_line, which takes over those of its partitions; it
    /// comes after all others. Its index has this name.
    pub fn last_key(&self) -> Option<(&'static str, String)> {
        let mut all = Index::all().into_iter();
        let key = all.find(|index| index.table == Table::OrderLine && self.partitions > 0)?;
        let (name, columns) = (key.name, key.columns.join(", "));
        let sql = format!("alter table order_line add constraint {name} primary key ({columns})");
        Some((name, sql))
    }
}

/// HammerDB's names.
fn partition(part: u32) -> String {
    format!("ol_{part}")
}

fn in_part(index: &Index, part: u32) -> Build {
    let (table, columns) = (partition(part), index.columns.join(", "));
    let name = format!("{table}_i1");
    Build {
        statement: format!("create unique index {name} on {table} ({columns})"),
        attach: Some(format!(
            "alter table {table} add constraint {name} primary key using index {name}"
        )),
        name,
    }
}

/// An index to build.
#[derive(Clone, Debug)]
pub struct Build {
    /// Its name.
    pub name: String,
    /// What builds it.
    pub statement: String,
    /// What makes a primary key of it, in no time; `None` for another one.
    pub attach: Option<String>,
}

/// What the tables of a database tell of themselves, when they are all there and loaded.
pub fn found(control: &mut Control) -> Result<(Population, u32), Error> {
    let parts = match Engine::of(control) {
        Engine::Postgres => {
            "select count(*) from pg_inherits where inhparent = to_regclass('order_line')"
        }
        Engine::MySql => {
            "select count(*) from information_schema.partitions where table_schema = database() \
             and table_name = 'order_line' and partition_name is not null"
        }
    };
    // The load marks an exact share of each district, and HammerDB draws each customer.
    let row = sql::row(
        control,
        "looking by whose rules the customers were made",
        &format!(
            "select count(*), sum(case when c_credit = 'BC' then 1 else 0 end), ({parts}) \
             from customer where c_w_id = 1 and c_d_id = 1"
        ),
    )?;
    let of = |column| row.int(column).unwrap_or(0);
    let percent = of(1) as f64 / of(0).max(1) as f64 * 100.0;
    let away = |population: &Population| {
        (percent - f64::from(population.bad_credit_percent())).abs() as u32
    };
    let nearest = Population::ALL.into_iter().min_by_key(away);
    let partitions = u32::try_from(of(2)).unwrap_or(0);
    Ok((nearest.unwrap_or(Population::Standard), partitions))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::Caller;

    const PLAIN: Layout = Layout {
        scale: 10,
        seed: 0,
        population: Population::Standard,
        partitions: 0,
    };

    #[test]
    fn the_command_names_what_is_not_usual() {
        let command = |layout: Layout| Caller::Prony.load("tpcc", &layout.sizes());
        assert_eq!(command(PLAIN), "prony load tpcc --scale 10");
        assert_eq!(PLAIN.words(), "10 warehouses (seed 0)");
        let other = Layout {
            seed: 7,
            population: Population::HammerDb,
            partitions: 4,
            ..PLAIN
        };
        let told = "prony load tpcc --scale 10 --seed 7 --profile hammerdb --partitions 4";
        assert_eq!(command(other), told);
        let words = "10 warehouses (seed 7, profile hammerdb, 4 partitions)";
        assert_eq!(other.words(), words);
    }

    #[test]
    fn only_order_line_is_partitioned() {
        let parts = Layout {
            partitions: 2,
            ..PLAIN
        };
        for table in Table::ALL {
            assert_eq!(PLAIN.create(table), table.create());
            let same = parts.create(table) == table.create();
            assert_eq!(same, table != Table::OrderLine);
        }
        let created = parts.create(Table::OrderLine);
        let words = ") partition by hash (ol_w_id); create table ol_0 partition of order_line for \
                     values with (modulus 2, remainder 0); create table ol_1 ";
        assert!(created.contains(words), "{created}");
        assert_eq!(parts.builds().len(), PLAIN.builds().len() + 1);
        assert_eq!(parts.builds()[1].name, "ol_1_i1");
        assert!(PLAIN.last_key().is_none());
        assert_eq!(parts.last_key().expect("one").0, "order_line_i1");
    }
}
