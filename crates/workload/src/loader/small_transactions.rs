//! Loads into services on PostgreSQL's protocol whose transactions may change only some rows: each INSERT is a transaction
//! of its own, tables have their keys from the start, and other indexes are built as the service does.
//!
//! In: a data set, the service's rules. Out: loaded tables. Must never: send a transaction that is larger than the service
//! allows, or repeat one that may be stored.

use super::Loader;
use super::dataset::{Dataset, ExistingTables, IndexBuild};
use super::load_state::LoadState;
use super::procedure::LoadRun;
use crate::copy::RowSource;
use crate::note::TableStage;
use crate::parallel::{self, WorkQueue};
use crate::row_format::TabSeparated;
use crate::{Error, LoadPhase, Result, TableFacts, sql};
use prony_document::{Service, SmallTransactions};
use prony_server::control::Error as ControlError;
use prony_server::{Control, Target};
use std::time::Duration;

/// How often a statement is repeated that lost to another transaction, or to a change of the schema.
const TRIES_MAX: u32 = 10;
/// The pause before the first repetition; each later one is twice as long.
const RETRY_PAUSE: Duration = Duration::from_millis(20);

#[derive(Clone, Copy, Debug)]
pub struct SmallTransactionService {
    pub service: Service,
    pub rules: &'static SmallTransactions,
}

impl SmallTransactionService {
    /// The service of a connection, if its transactions are small.
    pub fn of(control: &mut Control) -> Result<Option<SmallTransactionService>> {
        let facts = prony_server::read_server_facts(control);
        let facts = facts.map_err(|source| sql::server_error("reading the settings", source))?;
        Ok(facts.service.and_then(|service| {
            let rules = service.quirks().small_transactions.as_ref()?;
            Some(SmallTransactionService { service, rules })
        }))
    }

    /// Executes a statement, and repeats it after an error that says that it changed nothing and may succeed later.
    fn execute(&self, control: &mut Control, statement: &str) -> Result<u64, ControlError> {
        self.repeat(|| control.execute(statement))
    }

    /// Calls until nothing that the service wants repeated comes of it.
    fn repeat<T>(
        &self,
        mut call: impl FnMut() -> Result<T, ControlError>,
    ) -> Result<T, ControlError> {
        let mut pause = RETRY_PAUSE;
        for _ in 1..TRIES_MAX {
            match call() {
                Err(error) if self.may_repeat(&error) => std::thread::sleep(pause),
                result => return result,
            }
            pause *= 2;
        }
        call()
    }

    fn may_repeat(&self, error: &ControlError) -> bool {
        error
            .server_error()
            .is_some_and(|error| self.service.is_retry(error.number, error.code))
    }
}

impl<D: Dataset> LoadRun<'_, D> {
    pub(super) fn load_in_small_transactions(
        &self,
        control: &mut Control,
        existing: &ExistingTables,
        small: SmallTransactionService,
        state: &mut LoadState,
    ) -> Result<String> {
        let LoadRun { data, loader, .. } = self;
        *state = LoadState::Incomplete;
        let run = |control: &mut Control, activity: &str, statement: &str| {
            loader.check_stop()?;
            let result = small.execute(control, statement);
            result.map_err(|source| sql::server_error(activity, source))
        };
        loader.meter.enter_phase(LoadPhase::Create, "");
        // A transaction has one statement that changes the schema.
        for name in existing.obsolete.iter().chain(&existing.unfinished) {
            run(
                control,
                "dropping old tables",
                &format!("drop table {name}"),
            )?;
        }
        let indexes = data.indexes();
        for table in 0..data.table_count() {
            let create = create_with_key(
                &data.create_statement(table, TableStage::Loaded),
                &data.name(table),
                &indexes,
            )?;
            run(control, "creating the tables", &create)?;
        }
        self.insert_parts(
            &Loader::target_of_same_server(control, self.request.target),
            small,
        )?;
        for index in indexes.iter().filter(|index| index.attach.is_none()) {
            loader.meter.enter_phase(LoadPhase::Keys, "");
            let Some(build) = &index.build else { continue };
            loader.check_stop()?;
            let build = build.replacen("create index", small.rules.create_index, 1);
            let job = small.repeat(|| control.query_value(&build));
            let job = job.map_err(|source| sql::server_error("building an index", source))?;
            if let (Some(job), Some(wait)) = (job, small.rules.wait_for_index) {
                let wait = wait.replace("{job}", &job.replace('\'', "''"));
                run(control, "waiting for an index", &wait)?;
            }
        }
        *state = LoadState::Loaded;
        Ok(format!(
            "{}, INSERTs of up to {} rows, each a transaction, into tables with their keys; then indexes",
            self.request.connections_text(),
            small.rules.rows
        ))
    }

    /// Sends all rows over several connections.
    fn insert_parts(&self, target: &Target, small: SmallTransactionService) -> Result<()> {
        let LoadRun { data, loader, .. } = self;
        let parts = data.parts();
        loader.meter.set_rows_total(data.row_count(&parts));
        let queue = WorkQueue::new(&parts);
        let jobs = self.request.jobs.min(parts.len() as u32);
        parallel::run_concurrently(loader.watcher, (0..jobs).collect(), |_| {
            let mut control = loader.connect(target)?;
            while let Some(part) = queue.take_next() {
                for table in part.tables.clone() {
                    loader.meter.enter_phase(LoadPhase::Rows, data.label(table));
                    let rows = data.rows::<TabSeparated>(table, part.units.clone());
                    let (name, columns) = (data.name(table), data.columns(table));
                    self.insert(&mut control, (&name, &columns), rows, small)?;
                }
            }
            Ok(())
        })
    }

    fn insert(
        &self,
        control: &mut Control,
        (table, columns): (&str, &str),
        mut rows: impl RowSource,
        small: SmallTransactionService,
    ) -> Result<()> {
        let activity = format!("sending rows of {table}");
        let prefix = format!("insert into {table} ({columns}) values ");
        let (mut lines, mut statement) = (Vec::new(), String::new());
        while !rows.is_done() {
            self.loader.check_stop()?;
            let count = take_rows(&mut rows, &mut lines, small.rules);
            statement.clear();
            statement += &prefix;
            push_values(&mut statement, &String::from_utf8_lossy(&lines));
            let stored = small.execute(control, &statement);
            let stored = stored.map_err(|source| sql::server_error(&activity, source))?;
            super::check_all_stored(table, count, stored)?;
            self.loader.meter.add_sent(count, statement.len() as u64);
        }
        Ok(())
    }

    /// The tables with the rows that were sent: such a service does not tell their sizes.
    pub(super) fn facts_of_small_transactions(
        &self,
        small: SmallTransactionService,
    ) -> Vec<TableFacts> {
        let rows_of = |table: usize| {
            let mut parts = self.data.parts();
            parts.retain(|part| part.tables.contains(&table));
            parts
                .iter_mut()
                .for_each(|part| part.tables = table..table + 1);
            self.data.row_count(&parts)
        };
        let facts = |table| TableFacts {
            name: self.data.name(table),
            rows: rows_of(table),
            sizes_unknown: Some(format!("{} does not tell them", small.service.name())),
            ..TableFacts::default()
        };
        (0..self.data.table_count()).map(facts).collect()
    }
}

/// Takes as many rows, as lines, as a transaction may have; returns their number.
fn take_rows(rows: &mut impl RowSource, lines: &mut Vec<u8>, rules: &SmallTransactions) -> u64 {
    lines.clear();
    let mut count = 0;
    while count < u64::from(rules.rows) && lines.len() < rules.bytes && !rows.is_done() {
        let one_more = lines.len() + 1;
        count += rows.append_rows(lines, one_more);
    }
    count
}

/// Appends the lines of tab-separated text as the values of an INSERT.
fn push_values(statement: &mut String, lines: &str) {
    for (number, line) in lines.lines().enumerate() {
        *statement += if number == 0 { "(" } else { ",(" };
        for (number, field) in line.split('\t').enumerate() {
            if number > 0 {
                statement.push(',');
            }
            match field {
                "\\N" => *statement += "null",
                field => {
                    // The server gives the text the type of its column.
                    statement.push('\'');
                    *statement += &field.replace('\'', "''");
                    statement.push('\'');
                }
            }
        }
        statement.push(')');
    }
}

/// The statement that creates a table with its primary key, without the note and without options of its storage.
fn create_with_key(create: &str, table: &str, indexes: &[IndexBuild]) -> Result<String> {
    let create = create.split(';').next().unwrap_or_default();
    let create = create
        .split(" with (")
        .next()
        .unwrap_or_default()
        .trim_end();
    if create.contains(" serial") {
        return Err(Error::InvalidRequest {
            problem: format!(
                "{table} would have numbers of a sequence, which this service does not have"
            ),
            hint: "-o auto_inc=off: the clients then choose the numbers".to_owned(),
        });
    }
    let is_key = |index: &&IndexBuild| index.table == table && index.attach.is_some();
    let key = indexes.iter().find(is_key).and_then(|index| {
        let (_, columns) = index.build.as_ref()?.rsplit_once('(')?;
        Some(columns.trim_end_matches(')'))
    });
    Ok(match (key, create.strip_suffix(')')) {
        (Some(key), Some(columns)) => format!("{columns}, primary key ({key}))"),
        _ => create.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_assertions::TextAssertions;

    struct Lines(std::ops::Range<u64>, usize);

    impl RowSource for Lines {
        type Format = TabSeparated;

        fn is_done(&self) -> bool {
            self.0.is_empty()
        }

        fn append_rows(&mut self, out: &mut Vec<u8>, full_bytes: usize) -> u64 {
            let mut count = 0;
            while out.len() < full_bytes
                && let Some(number) = self.0.next()
            {
                out.extend_from_slice(format!("{number:0width$}\n", width = self.1).as_bytes());
                count += 1;
            }
            count
        }
    }

    #[test]
    fn a_transaction_has_no_more_rows_and_bytes_than_the_service_allows() {
        let rules = Service::AuroraDsql.quirks().small_transactions;
        let rules = rules.as_ref().expect("they are small");
        let counts = |mut rows: Lines| {
            let (mut lines, mut counts) = (Vec::new(), Vec::new());
            while !rows.is_done() {
                counts.push(take_rows(&mut rows, &mut lines, rules));
                assert!(lines.len() < 5 << 20);
            }
            counts
        };
        assert_eq!(counts(Lines(0..7_001, 5)), [3_000, 3_000, 1_001]);
        let wide = counts(Lines(0..300, 60_000));
        assert!(
            wide.len() > 2 && wide.iter().sum::<u64>() == 300,
            "{wide:?}"
        );
    }

    #[test]
    fn values_are_quoted_and_keys_are_part_of_the_table() {
        let mut text = String::new();
        push_values(&mut text, "1\tit's\t\\N\n2\t\t3\n");
        assert_eq!(text, "('1','it''s',null),('2','','3')");
        let indexes = [
            IndexBuild::primary_key("t", "t_pkey", "a, b"),
            IndexBuild::non_unique("t", "k", "c"),
        ];
        let create =
            "create table t (a int, b int, c int) with (fillfactor=100); comment on table t is 'x'";
        create_with_key(create, "t", &indexes)
            .unwrap()
            .assert_equals("create table t (a int, b int, c int, primary key (a, b))");
        let serial = create_with_key("create table t (id serial, c int) ", "t", &indexes);
        serial
            .unwrap_err()
            .to_string()
            .assert_contains("auto_inc=off");
    }
}
