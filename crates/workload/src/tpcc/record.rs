//! Prony's own note of a load that has not come to its end: a small table beside the nine.
//!
//! In: a scale, a seed. Out: which warehouses are there. Must never: outlive the load, or say that
//! a warehouse is there before its rows are (both are one transaction).

use super::layout::{Layout, Population};
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

const LOOKING: &str = "looking for an unfinished load";

/// Whether there is a note by now, whatever a snapshot in use says.
pub fn exists(control: &mut Control) -> Result<bool, Error> {
    let sql = format!("select to_regclass('{NAME}') is not null");
    Ok(sql::row(control, LOOKING, &sql)?.is_true(0))
}

/// The note of a load that has not come to its end; `None` where there is none.
pub fn find(control: &mut Control) -> Result<Option<Record>, Error> {
    if !exists(control)? {
        return Ok(None);
    }
    let row = sql::row(
        control,
        LOOKING,
        &format!(
            "select max(scale), max(seed)::text, (extract(epoch from max(began)) * 1000000)::bigint, \
             count(*) filter (where done and part > 0), \
             string_agg(part::text, ',' order by part) filter (where not done), \
             max(to_jsonb(n) ->> 'population'), max(to_jsonb(n) ->> 'partitions') from {NAME} n"
        ),
    )?;
    let missing = row.text(4).unwrap_or_default().split(',');
    // The notes of older versions name neither population nor partitions.
    let mut populations = Population::ALL.into_iter();
    let population = populations.find(|one| row.text(5) == Some(one.name()));
    Ok(row.int(0).map(|scale| Record {
        layout: Layout {
            scale: u32::try_from(scale).unwrap_or(0),
            seed: row.text(1).and_then(|seed| seed.parse().ok()).unwrap_or(0),
            population: population.unwrap_or(Population::Standard),
            partitions: row
                .int(6)
                .and_then(|partitions| u32::try_from(partitions).ok())
                .unwrap_or(0),
        },
        moment_micros: row.int(2).unwrap_or(EPOCH) - EPOCH,
        done: row
            .int(3)
            .and_then(|done| u32::try_from(done).ok())
            .unwrap_or(0),
        missing: missing.filter_map(|part| part.parse().ok()).collect(),
    }))
}

/// Makes the note that nothing is there yet.
pub fn create(control: &mut Control, layout: &Layout) -> Result<(), Error> {
    let Layout {
        scale,
        seed,
        partitions,
        ..
    } = layout;
    let population = layout.population.name();
    sql::run(
        control,
        "noting what is to be loaded",
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
            hint: format!(
                "`{}` continues it; `prony clean tpcc` drops what is there",
                self.layout.command()
            ),
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
