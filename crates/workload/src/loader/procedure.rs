//! The steps of every load: replaces existing tables, sends the rows in one transaction or in parts, builds
//! the indexes, and sets the note.
//!
//! Takes a data set, which knows its tables and rows; produces loaded tables and a report. A load must
//! never leave a half-loaded database that looks complete, resend a part that is stored, or continue after
//! a stop request.
//!
//! A note (`note`) in a table's comment records the loaded data, and whether the load has finished. On
//! PostgreSQL, a single loader with little data does everything in one transaction, which leaves the old
//! tables intact if it fails; old and new tables must therefore fit on the disk together. COPY may freeze
//! rows of a table only in the transaction that created or truncated it. Otherwise the rows are loaded in
//! parts, each in its own transaction, so that the first row of a part proves that all of it is stored; as
//! many loaders as there are jobs take parts from a queue. If a load is restarted with the same options and
//! seed, it sends only the missing parts. On PostgreSQL keys come last, as unique indexes that become primary
//! keys in the transaction that sets the final note. MySQL's tables have their keys from the start, because
//! InnoDB stores the rows in the primary key.

use super::dataset::{Dataset, ExistingTables, LoadPart};
use super::load_state::{LoadState, LoadSubject};
use super::small_transactions::SmallTransactionService;
use super::{Loader, RowTransfer, check_jobs};
use crate::note::TableStage;
use crate::ownership::require_ownership;
use crate::parallel::{self, WorkQueue};
use crate::progress::ProgressMeter;
use crate::row_format::{CopyBinary, InsertValues, TabSeparated};
use crate::{
    Error, LoadDivision, LoadPhase, LoadReport, LoadRequest, PartSelection, Result, require_service,
};
use crate::{sql, stop};
use prony_document::SqlDialect;
use prony_server::{Control, Target};
use std::ops::Range;

/// Statements per transaction: each table that they change takes several of the server's locks.
const STATEMENTS_PER_BATCH: usize = 200;

/// Loads a data set. `prepare` creates it once the server is connected and other loads are locked out.
pub fn load<D: Dataset>(
    request: &LoadRequest<'_>,
    subject: &LoadSubject,
    prepare: impl FnOnce(&mut Control) -> Result<D>,
) -> Result<LoadReport> {
    check_jobs(request.jobs)?;
    let meter = ProgressMeter::start(request.progress, 0);
    let mut state = LoadState::Untouched;
    let selection = match request.division {
        LoadDivision::Parts(selection) => Some(selection),
        LoadDivision::Undivided | LoadDivision::Others(_) => None,
    };
    let outcome = stop::with_stop_watcher(request.stop, |watcher| {
        let loader = Loader {
            meter: &meter,
            watcher,
        };
        let mut control = loader.connect(request.target)?;
        let small = SmallTransactionService::of(&mut control)?;
        match small {
            Some(_) if selection.is_some() => return Err(one_machine_only()),
            Some(small) => require_service(Some(small.service), subject.load.dataset)?,
            None if selection.is_some() => {}
            // A service with small transactions has no locks for that either.
            None => loader.lock_out_other_loads(&mut control, subject.load.dataset)?,
        }
        let data = prepare(&mut control)?;
        let load = LoadRun {
            request,
            data: &data,
            dialect: control.dialect(),
            loader,
        };
        if let Some(selection) = selection {
            load.send_selected_parts(&mut control, selection)?;
            return Ok((String::new(), Vec::new()));
        }
        if let Some(small) = small {
            if let LoadDivision::Others(_) = request.division {
                return Err(one_machine_only());
            }
            let existing = data.find_existing_tables(&mut control)?;
            let method =
                load.load_in_small_transactions(&mut control, &existing, small, &mut state)?;
            return Ok((method, load.facts_of_small_transactions(small)));
        }
        let method = load.run(&mut control, &mut state)?;
        Ok((method, data.facts(&mut control)?))
    });
    let (method, tables) = outcome.map_err(|error| match selection {
        // The machine that has begun the load explains its state.
        Some(_) => error,
        None => state.explain(error, subject, request.stop),
    })?;
    let (phases, seconds) = meter.finish();
    Ok(LoadReport {
        scale: subject.scale,
        jobs: selection.map_or(request.jobs, |selection| selection.connections),
        rows: meter.rows_sent(),
        bytes_sent: meter.bytes_sent(),
        phases,
        seconds,
        tables,
        method,
    })
}

fn one_machine_only() -> Error {
    Error::InvalidRequest {
        problem: "this service is loaded by one machine, in small transactions".to_owned(),
        hint: "load without --agent".to_owned(),
    }
}

pub(super) struct LoadRun<'a, D> {
    pub(super) request: &'a LoadRequest<'a>,
    pub(super) data: &'a D,
    dialect: SqlDialect,
    pub(super) loader: Loader<'a>,
}

impl<D: Dataset> LoadRun<'_, D> {
    /// Sends some parts of a load that another machine has begun and will finish.
    fn send_selected_parts(&self, control: &mut Control, selection: &PartSelection) -> Result<()> {
        let parts = self.data.parts();
        if parts.len() != selection.all as usize {
            return Err(Error::Data {
                problem: format!(
                    "the data has {} parts here, and {} at the machine that divided them",
                    parts.len(),
                    selection.all
                ),
                remedy: "install the same build on all machines".into(),
            });
        }
        let selected = selection.parts.iter();
        let selected = selected.filter_map(|index| parts.get(*index as usize).cloned());
        let selected: Vec<LoadPart> = selected.collect();
        let mut target = Loader::target_of_same_server(control, self.request.target);
        let transfer = RowTransfer::choose(control, &mut target, self.data.loaders_per_table())?;
        self.send_parts(&target, &selected, &transfer, selection.connections)
    }

    /// Runs the load; returns its method as text, for the report.
    fn run(&self, control: &mut Control, state: &mut LoadState) -> Result<String> {
        let existing = self.data.find_existing_tables(control)?;
        let obsolete: Vec<&str> = existing.obsolete.iter().map(String::as_str).collect();
        require_ownership(control, &obsolete)?;
        let in_one_transaction = match self.dialect {
            SqlDialect::PostgreSql => {
                self.request.jobs == 1
                    && matches!(self.request.division, LoadDivision::Undivided)
                    && existing.unfinished.is_empty()
                    && self.data.fits_one_transaction()
            }
            // On MySQL, creating a table commits the transaction. On SQL Server, one transaction would not
            // make the rows cheaper to store.
            SqlDialect::MySql | SqlDialect::TransactSql => false,
        };
        let method = if in_one_transaction {
            self.load_in_one_transaction(control, &existing, state)?
        } else {
            self.load_in_parts(control, &existing, state)?
        };
        *state = LoadState::Loaded;
        Ok(method + &self.data.after_load(control)?)
    }

    fn load_in_one_transaction(
        &self,
        control: &mut Control,
        existing: &ExistingTables,
        state: &mut LoadState,
    ) -> Result<String> {
        let LoadRun { data, loader, .. } = self;
        let parts = data.parts();
        loader.meter.set_rows_total(data.row_count(&parts));
        sql::execute(control, "beginning", "begin")?;
        *state = LoadState::Uncommitted;
        for statement in self.create_statements(existing, TableStage::Loaded) {
            loader.execute(control, "creating the tables", &statement)?;
        }
        for table in 0..data.table_count() {
            let mut table_parts = parts.iter().filter(|part| part.tables.contains(&table));
            let Some(first_part) = table_parts.next() else {
                continue;
            };
            let end = table_parts.next_back().unwrap_or(first_part).units.end;
            loader.meter.enter_phase(LoadPhase::Rows, data.label(table));
            self.copy(control, table, first_part.units.start..end, true)?;
        }
        // Runs before the keys are built, as in pgbench: building a key then replaces ANALYZE's estimate of
        // the number of rows in the catalog by the exact number.
        self.run_on_each(control, "analyze", "collecting statistics")?;
        for index in data.indexes() {
            loader
                .meter
                .enter_phase(LoadPhase::Keys, self.label_of_table(&index.table));
            for statement in [index.build, index.attach].into_iter().flatten() {
                loader.execute(control, "building the keys and indexes", &statement)?;
            }
        }
        *state = LoadState::Committing;
        sql::execute(control, "committing", "commit")?;
        *state = LoadState::Loaded;
        loader.flush_counts(control)?;
        // VACUUM hardly reads frozen pages. It prevents an autovacuum during the first run; before PostgreSQL 14,
        // it also marks pages all-visible, which COPY does not do there.
        self.run_on_each(control, "vacuum", "vacuuming")?;
        Ok("one transaction, COPY with FREEZE".to_owned())
    }

    /// Runs `command` on each table.
    fn run_on_each(&self, control: &mut Control, command: &str, action: &str) -> Result<()> {
        for table in 0..self.data.table_count() {
            self.loader
                .meter
                .enter_phase(LoadPhase::Statistics, self.data.label(table));
            let statement = format!("{command} {}", self.data.name(table));
            self.loader.execute(control, action, &statement)?;
        }
        Ok(())
    }

    fn label_of_table(&self, name: &str) -> &'static str {
        let mut labels = (0..self.data.table_count()).map(|table| self.data.label(table));
        labels.find(|label| *label == name).unwrap_or_default()
    }

    /// Returns the statements that drop obsolete tables and create missing ones.
    fn create_statements(&self, existing: &ExistingTables, stage: TableStage) -> Vec<String> {
        self.loader.meter.enter_phase(LoadPhase::Create, "");
        let obsolete: Vec<&str> = existing.obsolete.iter().map(String::as_str).collect();
        let drops = obsolete
            .chunks(STATEMENTS_PER_BATCH)
            .map(|names| self.data.drop_statement(self.dialect, names));
        let tables = 0..self.data.table_count();
        let missing = tables.filter(|table| !existing.unfinished.contains(&self.data.name(*table)));
        drops
            .chain(missing.map(|table| self.data.create_statement(table, stage)))
            .collect()
    }

    /// Drops obsolete tables and creates missing ones.
    fn create_tables(
        &self,
        control: &mut Control,
        existing: &ExistingTables,
        state: &mut LoadState,
    ) -> Result<()> {
        const ACTIVITY: &str = "creating the tables";
        let statements = self.create_statements(existing, TableStage::Filling);
        let at_once = match self.dialect {
            SqlDialect::PostgreSql => STATEMENTS_PER_BATCH,
            SqlDialect::MySql | SqlDialect::TransactSql => 1,
        };
        let (first, others) = statements.split_at(at_once.min(statements.len()));
        let result = self.execute_in_batches(control, ACTIVITY, first);
        // A statement or a transaction that the server refuses has changed nothing.
        if !matches!(&result, Err(error) if error.is_refusal() || error.is_stop()) {
            *state = LoadState::Incomplete;
        }
        result?;
        self.execute_in_batches(control, ACTIVITY, others)
    }

    /// Loads part by part, over one or several connections.
    fn load_in_parts(
        &self,
        control: &mut Control,
        existing: &ExistingTables,
        state: &mut LoadState,
    ) -> Result<String> {
        let data = self.data;
        self.loader.check_stop()?;
        self.create_tables(control, existing, state)?;
        let parts = data.parts();
        let (missing, continued) = if existing.unfinished.is_empty() {
            (parts.clone(), String::new())
        } else {
            let missing = data.missing_parts(control, &parts)?;
            let (loaded, all) = (parts.len() - missing.len(), parts.len());
            (
                missing,
                format!("continued: {loaded} of {all} parts were already loaded; "),
            )
        };
        let mut target = Loader::target_of_same_server(control, self.request.target);
        let transfer = RowTransfer::choose(control, &mut target, data.loaders_per_table())?;
        match self.request.division {
            LoadDivision::Others(sender) => {
                self.loader.meter.set_rows_total(data.row_count(&missing));
                self.loader.meter.enter_phase(LoadPhase::Rows, "");
                // The missing parts have the order of all.
                let mut rest = missing.iter().peekable();
                let numbered = (0..).zip(&parts);
                let indexes: Vec<u32> = numbered
                    .filter(|(_, part)| rest.next_if_eq(part).is_some())
                    .map(|(index, _)| index)
                    .collect();
                let Loader { meter, watcher } = self.loader;
                sender.send_parts(parts.len() as u32, &indexes, meter, watcher)?;
            }
            LoadDivision::Undivided | LoadDivision::Parts(_) => {
                self.send_parts(&target, &missing, &transfer, self.request.jobs)?;
            }
        }
        let method = match &transfer {
            RowTransfer::Copy => {
                // Runs before the indexes are built, as in `load_in_one_transaction`.
                self.collect_statistics(&target, "vacuum (analyze)")?;
                self.vacuum_unmarked(control)?;
                self.build_indexes(control, &target)?;
                if data.parts_are_whole_tables() {
                    "COPY with FREEZE in one transaction per table; then VACUUM and keys".to_owned()
                } else {
                    "COPY in one transaction per part; then VACUUM and keys".to_owned()
                }
            }
            RowTransfer::Streams(stream) => {
                // Building an index also collects its statistics.
                self.build_indexes(control, &target)?;
                let name = stream.description();
                format!("{name} in one transaction per part; then keys and indexes")
            }
            RowTransfer::Statements(bulk) => {
                self.build_indexes(control, &target)?;
                // Runs after the indexes are built, because ANALYZE TABLE also collects their statistics.
                self.collect_statistics(&target, "analyze table")?;
                let name = bulk.name();
                format!("{name} in one transaction per part; then indexes and ANALYZE TABLE")
            }
        };
        self.finish(control)?;
        Ok(format!(
            "{continued}{}, {method}",
            self.request.connections_text()
        ))
    }

    fn send_parts(
        &self,
        target: &Target,
        missing: &[LoadPart],
        transfer: &RowTransfer,
        jobs: u32,
    ) -> Result<()> {
        let LoadRun { data, loader, .. } = self;
        loader.meter.set_rows_total(data.row_count(missing));
        let queue = WorkQueue::new(missing);
        let jobs = jobs.min(missing.len() as u32);
        parallel::run_concurrently(loader.watcher, (0..jobs).collect(), |_| {
            let mut control = loader.connect(target)?;
            while let Some(part) = queue.take_next() {
                sql::execute(&mut control, "beginning", self.dialect.begin())?;
                for table in part.tables.clone() {
                    // With several loaders there is no single current table to show.
                    let has_label = jobs == 1 || data.table_count() == 1;
                    loader.meter.enter_phase(
                        LoadPhase::Rows,
                        if has_label { data.label(table) } else { "" },
                    );
                    self.send_table(&mut control, table, part.units.clone(), transfer)?;
                }
                loader.check_stop()?;
                sql::execute(&mut control, "committing", "commit")?;
            }
            match self.dialect {
                SqlDialect::PostgreSql => loader.flush_counts(&mut control),
                SqlDialect::MySql | SqlDialect::TransactSql => Ok(()),
            }
        })
    }

    fn send_table(
        &self,
        control: &mut Control,
        table: usize,
        units: Range<u64>,
        transfer: &RowTransfer,
    ) -> Result<()> {
        let LoadRun { data, loader, .. } = self;
        let (name, columns) = (data.name(table), data.columns(table));
        let table_and_columns = (name.as_str(), columns.as_str());
        match transfer {
            RowTransfer::Statements(bulk) if !bulk.is_load_data => {
                let rows = data.rows::<InsertValues>(table, units);
                bulk.send(loader, control, table_and_columns, rows)
            }
            RowTransfer::Statements(bulk) => {
                let rows = data.rows::<TabSeparated>(table, units);
                bulk.send(loader, control, table_and_columns, rows)
            }
            RowTransfer::Streams(stream) => {
                let rows = data.rows::<TabSeparated>(table, units);
                stream.send(loader, control, table_and_columns, rows)
            }
            RowTransfer::Copy => {
                let is_whole = data.parts_are_whole_tables();
                if is_whole {
                    let truncate = format!("truncate {name}");
                    loader.execute(control, "emptying the table", &truncate)?;
                }
                self.copy(control, table, units, is_whole)
            }
        }
    }

    /// Sends rows to PostgreSQL.
    fn copy(
        &self,
        control: &mut Control,
        table: usize,
        units: Range<u64>,
        freeze: bool,
    ) -> Result<()> {
        let freeze = (freeze && self.data.may_freeze(table)).then_some("freeze on");
        let format = Some(D::COPY_OPTIONS).filter(|options| !options.is_empty());
        let options: Vec<&str> = format.into_iter().chain(freeze).collect();
        let rows = self.data.rows::<CopyBinary>(table, units);
        self.loader
            .copy(control, &self.data.name(table), &options.join(", "), rows)
    }

    /// Executes statements, many per transaction if the server can roll them back.
    pub(super) fn execute_in_batches(
        &self,
        control: &mut Control,
        activity: &str,
        statements: &[String],
    ) -> Result<()> {
        for batch in statements.chunks(STATEMENTS_PER_BATCH) {
            match self.dialect {
                SqlDialect::PostgreSql => {
                    let transaction = format!("begin; {}; commit", batch.join("; "));
                    self.loader.execute(control, activity, &transaction)?;
                }
                SqlDialect::MySql | SqlDialect::TransactSql => {
                    for statement in batch {
                        self.loader.execute(control, activity, statement)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Executes independent statements over as many sessions as there are jobs.
    pub(super) fn execute_in_parallel(
        &self,
        target: &Target,
        activity: &str,
        statements: &[String],
    ) -> Result<()> {
        let queue = WorkQueue::new(statements);
        let sessions = (0..self.request.jobs.min(statements.len() as u32)).collect();
        parallel::run_concurrently(self.loader.watcher, sessions, |_| {
            let mut control = self.loader.connect(target)?;
            while let Some(statement) = queue.take_next() {
                self.loader.execute(&mut control, activity, statement)?;
            }
            Ok(())
        })
    }
}
