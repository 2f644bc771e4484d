//! Which of the tables exist, what they are, and the note that a load leaves on them.
//!
//! In: a control connection. Out: facts of the catalog; tables dropped. Must never: touch a table
//! that merely has one of the names.
//!
//! The note is the comment on each table: what was loaded, and whether the load came to its end.
//! Tables that sysbench made have none, and are taken as they are.

use super::engine::{Engine, table};
use super::options::Asked;
use crate::commands::{Size, caller};
use crate::{Error, TableFacts, sql};
use prony_server::Control;

/// Tables that are dropped in one statement: each takes several locks of the server's.
const DROPPED_AT_ONCE: usize = 100;

/// A table that exists under one of the names, first in the search path.
#[derive(Clone, Debug)]
pub struct Found {
    /// Its number, from 1.
    pub number: u32,
    /// Names of its columns, comma-separated.
    pub columns: String,
    /// Whether it has a primary key on `id`.
    pub keyed: bool,
    /// Whether an index begins with `id`, and one with `k`.
    pub indexed: [bool; 2],
    /// What a load left.
    pub note: Option<Note>,
    /// Sizes and statistics.
    pub facts: TableFacts,
}

/// How far a table is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Its rows are not all there.
    Filling,
    /// Its rows are there; the load goes on.
    Filled,
    /// The load came to its end.
    Loaded,
}

impl Stage {
    const ALL: [(Stage, &'static str); 3] = [
        (Stage::Filling, "rows are being loaded"),
        (Stage::Filled, "rows are there, the load goes on"),
        (Stage::Loaded, "loaded"),
    ];

    fn words(self) -> &'static str {
        Stage::ALL[self as usize].1
    }
}

/// What a load notes on each of its tables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// What is loaded: the same words for the same data.
    pub what: String,
    /// How far.
    pub stage: Stage,
}

impl Note {
    const PREFIX: &'static str = "prony: ";

    /// What is loaded, as asked.
    pub fn what(asked: &Asked, tables: u32, rows: u32, size: u32, seed: u64) -> String {
        let switch = |on: bool| if on { "on" } else { "off" };
        let mut words = format!(
            "tables {tables}, table_size {size}, rows {rows}, seed {seed}, auto_inc {}, \
             secondary {}, create_secondary {}",
            switch(asked.auto_inc),
            switch(asked.secondary),
            switch(asked.create_secondary),
        );
        for (name, value) in asked.named_distribution() {
            words += &format!(", {name} {value}");
        }
        // A comment of MySQL's has 2,048 characters at most, and its backslashes may be escapes.
        let options: String = asked.table_options.chars().take(1_000).collect();
        words + &format!(", options ({})", options.replace('\\', "/"))
    }

    /// Its text.
    pub fn text(&self) -> String {
        format!("{}{}; {}", Self::PREFIX, self.what, self.stage.words())
    }

    pub(super) fn parse(comment: &str) -> Option<Note> {
        let (what, words) = comment.strip_prefix(Self::PREFIX)?.rsplit_once("; ")?;
        let (stage, _) = Stage::ALL.iter().find(|(_, known)| *known == words)?;
        Some(Note {
            what: what.to_owned(),
            stage: *stage,
        })
    }

    /// A number of what was loaded: `tables`, `table_size`, `rows`, `seed`.
    pub fn number(&self, name: &str) -> Option<u64> {
        let mut words = self.what.split(", ");
        words.find_map(|word| word.strip_prefix(name)?.strip_prefix(' ')?.parse().ok())
    }

    /// Sizes for the command that continues its load.
    pub fn sizes(&self) -> Vec<Size<'static>> {
        let names = [
            ("tables", "scale"),
            ("table_size", "table_size"),
            ("seed", "seed"),
        ];
        let size = |(noted, name)| {
            let number = self.number(noted).filter(|number| *number > 0)?;
            Some((name, number.to_string()))
        };
        names.into_iter().filter_map(size).collect()
    }
}

const FIND: &str = "\
select substr(c.relname, 7)::int, \
 (select string_agg(a.attname, ',' order by a.attnum) from pg_attribute a \
   where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped), \
 exists (select from pg_index i join pg_attribute a on a.attrelid = c.oid and a.attnum = i.indkey[0] \
   where i.indrelid = c.oid and i.indisprimary and i.indisvalid and i.indnatts = 1 and a.attname = 'id'), \
 exists (select from pg_index i join pg_attribute a on a.attrelid = c.oid and a.attnum = i.indkey[0] \
   where i.indrelid = c.oid and i.indisvalid and a.attname = 'id'), \
 exists (select from pg_index i join pg_attribute a on a.attrelid = c.oid and a.attnum = i.indkey[0] \
   where i.indrelid = c.oid and i.indisvalid and a.attname = 'k'), \
 obj_description(c.oid, 'pg_class'), \
 greatest(c.reltuples, 0)::bigint, pg_table_size(c.oid), pg_indexes_size(c.oid), \
 pg_stat_get_dead_tuples(c.oid), \
 extract(epoch from clock_timestamp() - greatest(pg_stat_get_last_analyze_time(c.oid), \
  pg_stat_get_last_autoanalyze_time(c.oid))), c.relallvisible, c.relpages \
from pg_class c where c.relkind in ('r', 'p') and c.relname ~ '^sbtest[1-9][0-9]{0,4}$' \
 and pg_table_is_visible(c.oid) order by 1";

/// The tables that exist, by number.
pub fn find(control: &mut Control) -> Result<Vec<Found>, Error> {
    if Engine::of(control) == Engine::MySql {
        return super::tables_mysql::find(control);
    }
    let rows = sql::rows(control, "reading the catalog", FIND)?;
    Ok(rows.iter().filter_map(read).collect())
}

fn read(row: &sql::Row) -> Option<Found> {
    let number = u32::try_from(row.int(0)?).ok()?;
    let text = |column| row.text(column).unwrap_or_default();
    let count = |column| {
        let value = row.int(column).and_then(|value| u64::try_from(value).ok());
        value.unwrap_or(0)
    };
    let pages = count(12);
    Some(Found {
        number,
        columns: text(1).to_owned(),
        keyed: row.is_true(2),
        indexed: [row.is_true(3), row.is_true(4)],
        note: Note::parse(text(5)),
        facts: TableFacts {
            name: table(number),
            rows: count(6),
            table_bytes: count(7),
            index_bytes: count(8),
            dead_rows: count(9),
            statistics_age_s: row.float(10),
            all_visible: (pages > 0).then(|| count(11) as f64 / pages as f64),
        },
    })
}

/// # Errors
/// A table up to this number is not one of these; names the first.
pub fn refuse_foreign(found: &[Found], columns: &str, up_to: u32) -> Result<(), Error> {
    let mut found = found.iter().filter(|found| found.number <= up_to);
    let Some(foreign) = found.find(|found| found.columns != columns) else {
        return Ok(());
    };
    let drops = |data| {
        let sizes = [("scale", foreign.number.to_string())];
        format!("`{}` drops it", caller().clean(data, &sizes))
    };
    Err(Error::Data {
        problem: format!(
            "{} exists and is not a table of this workload: it has the columns ({}) instead of \
             ({columns})",
            foreign.facts.name, foreign.columns
        ),
        hint: match foreign.columns.as_str() {
            super::BULK_COLUMNS => drops("bulk_insert"),
            super::COLUMNS => drops("oltp_read_write"),
            _ => "rename it, or use another database or search_path: Prony drops only its own \
                  tables"
                .to_owned(),
        },
    })
}

/// The statements that drop these tables.
pub fn drop_all(found: &[Found]) -> Vec<String> {
    let dropped = found.chunks(DROPPED_AT_ONCE).map(|some| {
        let names: Vec<&str> = some.iter().map(|one| one.facts.name.as_str()).collect();
        format!("drop table if exists {}", names.join(", "))
    });
    dropped.collect()
}

/// Drops the tables with these columns; gives their names.
///
/// # Errors
/// One of the tables is not of these (then none is dropped), or the server refuses.
pub fn clean(control: &mut Control, columns: &str) -> Result<Vec<String>, Error> {
    let found = find(control)?;
    refuse_foreign(&found, columns, u32::MAX)?;
    for drop in drop_all(&found) {
        sql::run(control, "dropping the tables", &drop)?;
    }
    Ok(found.into_iter().map(|found| found.facts.name).collect())
}

/// The facts of many tables in one line, of a few one by one.
pub fn facts(found: Vec<Found>) -> Vec<TableFacts> {
    const APART_MAX: usize = 10;
    if found.len() <= APART_MAX {
        return found.into_iter().map(|found| found.facts).collect();
    }
    let sum = |of: fn(&TableFacts) -> u64| found.iter().map(|found| of(&found.facts)).sum();
    let oldest = |a: Option<f64>, b: Option<f64>| Some(a?.max(b?));
    let ages = found.iter().map(|found| found.facts.statistics_age_s);
    let visible = found.iter().filter_map(|found| found.facts.all_visible);
    vec![TableFacts {
        name: format!("{} tables sbtest", found.len()),
        rows: sum(|facts| facts.rows),
        table_bytes: sum(|facts| facts.table_bytes),
        index_bytes: sum(|facts| facts.index_bytes),
        dead_rows: sum(|facts| facts.dead_rows),
        statistics_age_s: ages.reduce(oldest).flatten(),
        all_visible: visible.reduce(f64::min),
    }]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::Caller;

    #[test]
    fn a_note_is_read_as_it_was_left() {
        let asked = Asked {
            table_options: "with (fillfactor = 80, x = 'y; z')".to_owned(),
            ..Asked::default()
        };
        let note = Note {
            what: Note::what(&asked, 10, 0, 25_000, 7),
            stage: Stage::Filled,
        };
        let put = Engine::Postgres.comment(3, &note.text());
        let text = put
            .strip_prefix("comment on table sbtest3 is '")
            .expect("begins so");
        let text = text.strip_suffix('\'').expect("ends so").replace("''", "'");
        assert_eq!(Note::parse(&text), Some(note.clone()));
        assert_eq!(note.number("tables"), Some(10));
        assert_eq!(note.number("table_size"), Some(25_000));
        assert_eq!(note.number("rows"), Some(0));
        assert_eq!(
            Caller::Prony.load("hot-row", &note.sizes()),
            "prony load hot-row --scale 10 -o table_size=25000 --seed 7"
        );
        for (stage, _) in Stage::ALL {
            assert_eq!(Stage::ALL[stage as usize].0, stage);
        }
        assert_eq!(Note::parse("somebody's own words; loaded"), None);
    }
}
