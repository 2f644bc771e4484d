//! Prony's own note of a load that has not come to its end: a small table beside the nine.
//!
//! In: a scale, a seed. Out: which warehouses are there. Must never: outlive the load, or say that
//! a warehouse is there before its rows are (both are one transaction).

use super::layout::{Layout, Population};
use crate::oltp::engine::Engine;
use crate::{Error, sql};
use prony_server::Control;

/// Name of the table.
pub const NAME: &str = "prony_tpcc_load";

/// Microseconds from 1970 to 2000, where PostgreSQL's time begins.
const EPOCH: i64 = 946_684_800_000_000;

/// What the note says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// What was asked for.
    pub layout: Layout,
    /// When the load began, in microseconds since 2000-01-01 00:00 UTC; whole seconds.
    pub moment_micros: i64,
    /// Warehouses whose rows are there.
    pub done: u32,
    /// Parts whose rows are missing: 0 for the items, else a warehouse.
    pub missing: Vec<u32>,
}

/// Rows of the note in one statement.
const ROWS_AT_ONCE: usize = 10_000;

const LOOKING: &str = "looking for an unfinished load";

/// Whether there is a note by now, whatever a snapshot in use says.
pub fn exists(control: &mut Control) -> Result<bool, Error> {
    let sql = match Engine::of(control) {
        Engine::Postgres => {
            format!("select case when to_regclass('{NAME}') is not null then 1 end")
        }
        Engine::MySql => format!(
            "select max(1) from information_schema.tables \
             where table_schema = database() and table_name = '{NAME}'"
        ),
    };
    Ok(sql::row(control, LOOKING, &sql)?.int(0).is_some())
}

/// The note of a load that has not come to its end; `None` where there is none.
pub fn find(control: &mut Control) -> Result<Option<Record>, Error> {
    if !exists(control)? {
        return Ok(None);
    }
    let what = match Engine::of(control) {
        // The notes of older versions name neither population nor partitions.
        Engine::Postgres => {
            "max(scale), max(seed)::text, (extract(epoch from max(began)) * 1000000)::bigint, \
             max(to_jsonb(n) ->> 'population'), max(to_jsonb(n) ->> 'partitions')"
        }
        // A time there has no zone: it is taken for one of UTC, and written as it was read.
        Engine::MySql => {
            "max(scale), max(seed), timestampdiff(microsecond, '1970-01-01', max(began)), \
             max(population), max(partitions)"
        }
    };
    let row = sql::row(control, LOOKING, &format!("select {what} from {NAME} n"))?;
    let Some(scale) = row.int(0) else {
        return Ok(None);
    };
    let parts = format!("select part from {NAME} where not done order by part");
    let parts = sql::rows(control, LOOKING, &parts)?;
    let number = |row: &sql::Row, column| row.int(column).and_then(|n| u32::try_from(n).ok());
    let missing: Vec<u32> = parts.iter().filter_map(|row| number(row, 0)).collect();
    let mut populations = Population::ALL.into_iter();
    let population = populations.find(|one| row.text(3) == Some(one.name()));
    let scale = u32::try_from(scale).unwrap_or(0);
    let warehouses = missing.iter().filter(|part| **part > 0).count() as u32;
    Ok(Some(Record {
        layout: Layout {
            scale,
            seed: row.text(1).and_then(|seed| seed.parse().ok()).unwrap_or(0),
            population: population.unwrap_or(Population::Standard),
            partitions: number(&row, 4).unwrap_or(0),
        },
        moment_micros: row.int(2).unwrap_or(EPOCH) - EPOCH,
        done: scale.saturating_sub(warehouses),
        missing,
    }))
}

/// Makes the note that nothing is there yet.
pub fn create(control: &mut Control, layout: &Layout) -> Result<(), Error> {
    const DOING: &str = "noting what is to be loaded";
    let Layout {
        scale,
        seed,
        partitions,
        ..
    } = layout;
    let population = layout.population.name();
    if Engine::of(control) == Engine::MySql {
        let create = format!(
            "drop table if exists {NAME}; \
             create table {NAME} (part int primary key, done bool not null, scale int not null, \
             seed bigint unsigned not null, population varchar(20) not null, \
             partitions int not null, began datetime not null) engine = innodb"
        );
        sql::run(control, DOING, &create)?;
        // Creating a table is a transaction of its own there: a note without rows is none.
        sql::run(control, DOING, "begin")?;
        let began = sql::row(control, DOING, "select now()")?;
        let began = began.text(0).unwrap_or_default();
        let rest = format!("false, {scale}, {seed}, '{population}', {partitions}, '{began}'");
        let parts: Vec<u32> = (0..=*scale).collect();
        for some in parts.chunks(ROWS_AT_ONCE) {
            let rows: Vec<String> = some
                .iter()
                .map(|part| format!("({part}, {rest})"))
                .collect();
            let insert = format!("insert into {NAME} values {}", rows.join(", "));
            sql::run(control, DOING, &insert)?;
        }
        return sql::run(control, DOING, "commit");
    }
    sql::run(
        control,
        DOING,
        &format!(
            "drop table if exists {NAME}; \
             create table {NAME} (part int primary key, done bool not null, scale int not null, \
             seed numeric not null, population text not null, partitions int not null, \
             began timestamptz not null); \
             insert into {NAME} select part, false, {scale}, {seed}, '{population}', {partitions}, \
             date_trunc('second', now()) \
             from generate_series(0, {scale}) part"
        ),
    )
}

/// Notes a part as there, or all; tells whether it was not yet. Another load that has the same part
/// under way is waited for.
pub fn note(control: &mut Control, part: Option<u32>) -> Result<bool, Error> {
    let which = part.map_or(String::new(), |part| format!(" and part = {part}"));
    let sql = format!("update {NAME} set done = true where not done{which}");
    let noted = control.execute(&sql);
    noted
        .map(|rows| rows > 0)
        .map_err(|source| sql::server("noting what was loaded", source))
}

/// The statement that takes the note away.
pub fn remove() -> String {
    format!("drop table if exists {NAME}")
}

impl Record {
    /// What is there, in words: `a load of 10 warehouses did not come to its end: ...`
    pub fn words(&self) -> String {
        let rows = if self.missing.is_empty() {
            "all rows are there, but not all keys and statistics".to_owned()
        } else {
            format!("the rows of {} of them are there", self.done)
        };
        let what = self.layout.words();
        format!("a load of {what} is under way or was broken off: {rows}")
    }

    /// # Errors
    /// Something else is asked for than the load that can be continued.
    pub fn accept(&self, asked: &Layout) -> Result<(), Error> {
        if *asked == self.layout {
            return Ok(());
        }
        Err(Error::Data {
            problem: format!("{}; {} are asked for now", self.words(), asked.words()),
            hint: self.layout.continued(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_same_load_is_continued() {
        let layout = Layout {
            scale: 10,
            seed: 7,
            population: Population::Standard,
            partitions: 0,
        };
        let record = Record {
            layout,
            moment_micros: 0,
            done: 3,
            missing: vec![2, 5],
        };
        assert!(record.accept(&layout).is_ok());
        let [mut scale, mut seed, mut population, mut partitions] = [layout; 4];
        scale.scale = 11;
        seed.seed = 8;
        population.population = Population::HammerDb;
        partitions.partitions = 2;
        for other in [scale, seed, population, partitions] {
            let refused = record.accept(&other);
            let message = refused.expect_err("another load").to_string();
            assert!(
                message.contains("`prony load tpcc --scale 10 --seed 7` continues it"),
                "{message}"
            );
            assert!(message.contains("the rows of 3 of them"), "{message}");
        }
    }
}
