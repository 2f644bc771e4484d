//! The progress of a load as HammerDB prints it.
//!
//! In: updates of the loader. Out: lines. Must never: report work that is not done yet, or a warehouse of
//! which the loader has reported no rows.
//!
//! A single loader of few warehouses fills one table after another. The row count then determines warehouse
//! and district, and the lines are HammerDB's, table by table. Several loaders fill warehouses in any order;
//! then a line with the number of rows is printed every ten seconds.

use prony_document::SqlDialect;
use prony_workload::{LoadPhase, Progress, ProgressUpdate};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Time between two lines with row counts; HammerDB's monitor uses the same interval.
const LINE_INTERVAL: Duration = Duration::from_secs(10);

/// Rows of `stock` per warehouse: one for each item.
const STOCK_ROWS_PER_WAREHOUSE: u64 = 100_000;
/// HammerDB prints a line after this many rows of `stock`.
const STOCK_ROWS_PER_LINE: u64 = 20_000;
/// HammerDB prints a line after this many rows of `orders`.
const ORDERS_PER_LINE: u64 = 1_000;
/// Rows of `customer`, and of `orders`, per district.
const ROWS_PER_DISTRICT: u64 = 3_000;

/// Prints the progress of one load, as virtual user 1.
pub struct BuildProgress<'a> {
    print: &'a (dyn Fn(String) + Sync),
    /// Returns the current time in HammerDB's format.
    now_as_text: fn() -> String,
    /// Items per line: HammerDB prints fewer lines on MySQL and MariaDB.
    items_per_line: u64,
    /// The line before statistics are collected.
    statistics_line: &'static str,
    workers: u32,
    creates_tables: bool,
    state: Mutex<BuildState>,
}

#[derive(Default)]
struct BuildState {
    phase: Option<LoadPhase>,
    table: &'static str,
    /// Rows of all tables when this table began.
    rows_before: u64,
    /// Rows of this table that the printed lines cover.
    rows_printed: u64,
    /// Warehouses that were complete when this table began: the loader may fill warehouse by warehouse.
    warehouses_before: u64,
    /// Rows of the table `warehouse` so far.
    warehouse_rows: u64,
    /// The elapsed time at which the next line with a row count is due.
    next_line_at: Duration,
    has_started: bool,
    has_ended: bool,
    has_gathered_statistics: bool,
}

impl<'a> BuildProgress<'a> {
    /// The progress of a load that has not started. `vusers`: virtual users that load;
    /// `creates_tables`: whether the load creates the tables.
    pub fn new(
        print: &'a (dyn Fn(String) + Sync),
        now_as_text: fn() -> String,
        dialect: SqlDialect,
        vusers: u32,
        creates_tables: bool,
    ) -> Self {
        BuildProgress {
            print,
            now_as_text,
            items_per_line: match dialect {
                SqlDialect::PostgreSql | SqlDialect::TransactSql => 10_000,
                SqlDialect::MySql => 50_000,
            },
            statistics_line: match dialect {
                SqlDialect::PostgreSql | SqlDialect::MySql => "GATHERING SCHEMA STATISTICS",
                SqlDialect::TransactSql => "UPDATING SCHEMA STATISTICS",
            },
            workers: vusers,
            creates_tables,
            state: Mutex::default(),
        }
    }

    /// Prints the lines after the last row, unless they are printed.
    pub fn finish(&self) {
        self.end_rows(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner));
    }

    fn print_line(&self, line: impl Into<String>) {
        (self.print)(line.into());
    }

    /// Prints the lines with which a phase begins, if it is a new one.
    fn enter_phase(&self, state: &mut BuildState, update: &ProgressUpdate) {
        if state.phase == Some(update.phase) {
            return;
        }
        state.phase = Some(update.phase);
        match update.phase {
            LoadPhase::Create if self.creates_tables => self.print_line("CREATING TPCC TABLES"),
            LoadPhase::Create => {}
            LoadPhase::Rows => {
                if update.table.is_empty() {
                    self.print_start_line(state);
                }
                if self.workers > 1 {
                    self.print_line("Monitoring Workers...");
                    self.print_line(format!("Workers: {} Active 0 Done", self.workers));
                }
            }
            LoadPhase::Keys => {
                self.end_rows(state);
                self.print_line("CREATING TPCC INDEXES");
            }
            LoadPhase::Statistics => {
                self.end_rows(state);
                // A load in one transaction collects statistics before it creates keys, and vacuums
                // afterwards.
                if !state.has_gathered_statistics {
                    state.has_gathered_statistics = true;
                    self.print_line(self.statistics_line);
                }
            }
        }
    }

    /// Prints the line with the start of the load, once.
    fn print_start_line(&self, state: &mut BuildState) {
        if !state.has_started {
            state.has_started = true;
            self.print_line(format!("Start:{}", (self.now_as_text)()));
        }
    }

    /// Prints the lines after the last row.
    fn end_rows(&self, state: &mut BuildState) {
        self.end_table(state);
        if state.has_started && !state.has_ended {
            state.has_ended = true;
            if self.workers > 1 {
                self.print_line(format!("Workers: 0 Active {} Done", self.workers));
            }
            self.print_line(format!("End:{}", (self.now_as_text)()));
        }
    }

    /// Prints the lines after a table's last row.
    fn end_table(&self, state: &mut BuildState) {
        if state.table == "warehouse" {
            state.warehouse_rows += state.rows_printed;
        }
        match std::mem::take(&mut state.table) {
            "item" => self.print_line("Item done"),
            "stock" => self.print_line("Stock done"),
            "district" => self.print_line("District done"),
            _ => {}
        }
    }

    /// Prints the lines before a table's first row.
    fn begin_table(&self, state: &mut BuildState, update: &ProgressUpdate) {
        let rows = update.rows_done;
        self.print_rows(state, rows);
        self.end_table(state);
        state.table = update.table;
        state.rows_before = rows;
        state.rows_printed = 0;
        if update.table != "item" {
            self.print_start_line(state);
        }
        match update.table {
            "item" => self.print_line("Loading Item"),
            "warehouse" => {
                state.warehouses_before = state.warehouse_rows;
                self.print_line("Loading Warehouse");
            }
            "district" => self.print_line("Loading District"),
            _ => {}
        }
    }

    /// Prints the lines up to `rows_done` rows of all tables together.
    fn print_rows(&self, state: &mut BuildState, rows_done: u64) {
        let rows = rows_done.saturating_sub(state.rows_before);
        let printed = state.rows_printed;
        // The numbers of the lines that are due, from 1, for lines of so many rows.
        let due_lines = |rows_per_line: u64| printed / rows_per_line + 1..=rows / rows_per_line;
        match state.table {
            "item" => {
                for line in due_lines(self.items_per_line) {
                    self.print_line(format!("Loading Items - {}", line * self.items_per_line));
                }
            }
            "stock" => {
                for line in due_lines(STOCK_ROWS_PER_LINE) {
                    self.print_stock(state.warehouses_before, line * STOCK_ROWS_PER_LINE);
                }
            }
            "customer" => {
                for line in due_lines(ROWS_PER_DISTRICT) {
                    let (district, warehouse) =
                        district_and_warehouse(state.warehouses_before, line - 1);
                    self.print_line(format!(
                        "Loading Customer for DID={district} WID={warehouse}"
                    ));
                    self.print_line("Customer Done");
                }
            }
            "orders" => {
                for line in due_lines(ORDERS_PER_LINE) {
                    self.print_orders(state.warehouses_before, line * ORDERS_PER_LINE);
                }
            }
            _ => {}
        }
        state.rows_printed = rows;
    }

    /// Prints the line that is due after `rows` rows of `stock`, of warehouses after the first `warehouses_before`.
    fn print_stock(&self, warehouses_before: u64, rows: u64) {
        let warehouse = warehouses_before + (rows - 1) / STOCK_ROWS_PER_WAREHOUSE + 1;
        let row_in_warehouse = (rows - 1) % STOCK_ROWS_PER_WAREHOUSE + 1;
        if row_in_warehouse == STOCK_ROWS_PER_LINE {
            self.print_line(format!("Loading Stock Wid={warehouse}"));
        }
        self.print_line(format!("Loading Stock - {row_in_warehouse}"));
    }

    /// As [`BuildProgress::print_stock`], for `orders`.
    fn print_orders(&self, warehouses_before: u64, rows: u64) {
        let row_in_district = (rows - 1) % ROWS_PER_DISTRICT + 1;
        if row_in_district == ORDERS_PER_LINE {
            let (district, warehouse) =
                district_and_warehouse(warehouses_before, (rows - 1) / ROWS_PER_DISTRICT);
            self.print_line(format!("Loading Orders for D={district} W={warehouse}"));
        }
        self.print_line(format!("...{row_in_district}"));
        if row_in_district == ROWS_PER_DISTRICT {
            self.print_line("Orders Done");
        }
    }

    /// Prints the number of rows, at most once per interval.
    fn print_row_total(&self, state: &mut BuildState, update: &ProgressUpdate) {
        if update.elapsed < state.next_line_at.max(LINE_INTERVAL) || update.rows_done == 0 {
            return;
        }
        state.next_line_at = update.elapsed + LINE_INTERVAL;
        let percent = 100 * update.rows_done / update.rows_total.max(1);
        let (done, total) = (update.rows_done, update.rows_total);
        self.print_line(format!("Loaded {done} of {total} rows ({percent} %)"));
    }
}

/// The numbers, from 1, of a district and its warehouse. `index`: the district's position, from 0, among the
/// districts after the first `warehouses_before` warehouses.
fn district_and_warehouse(warehouses_before: u64, index: u64) -> (u32, u64) {
    ((index % 10) as u32 + 1, warehouses_before + index / 10 + 1)
}

impl Progress for BuildProgress<'_> {
    fn update(&self, update: &ProgressUpdate) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if update.phase != LoadPhase::Rows {
            // Rows that were sent since the last update belong to the last table.
            self.print_rows(&mut state, update.rows_done);
        }
        self.enter_phase(&mut state, update);
        match (update.phase, update.table) {
            (LoadPhase::Rows, "") => self.print_row_total(&mut state, update),
            (LoadPhase::Rows, table) if table != state.table => {
                self.begin_table(&mut state, update)
            }
            (LoadPhase::Rows, _) => self.print_rows(&mut state, update.rows_done),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now_as_text() -> String {
        "today".to_owned()
    }

    /// The lines printed for a load with this many virtual users.
    fn printed_lines(vusers: u32, steps: impl FnOnce(&BuildProgress<'_>)) -> Vec<String> {
        let lines = Mutex::new(Vec::new());
        let print = |line| lines.lock().expect("one thread").push(line);
        steps(&BuildProgress::new(
            &print,
            now_as_text,
            SqlDialect::PostgreSql,
            vusers,
            true,
        ));
        lines.into_inner().expect("one thread")
    }

    fn step(phase: LoadPhase, table: &'static str, rows_done: u64) -> ProgressUpdate {
        ProgressUpdate {
            phase,
            table,
            rows_done,
            rows_total: 1_000_000,
            elapsed: Duration::from_secs(60),
        }
    }

    #[test]
    fn one_loader_reports_every_warehouse_once_for_any_step_size() {
        let first_tables = [("item", 0), ("warehouse", 100_000), ("district", 100_002)];
        let tables = [
            ("stock", 100_022),
            ("customer", 300_022),
            ("orders", 360_022),
        ];
        let mut outputs = Vec::new();
        for step_rows in [1, 7_777, 250_000] {
            outputs.push(printed_lines(1, |progress| {
                progress.update(&step(LoadPhase::Create, "", 0));
                for (table, from) in first_tables.into_iter().chain(tables) {
                    progress.update(&step(LoadPhase::Rows, table, from));
                    let rows = [("item", 100_000), ("stock", 200_000)];
                    let rows = rows.iter().find(|(name, _)| *name == table);
                    let rows = rows.map_or(0, |(_, rows)| *rows);
                    for done in (1..rows).step_by(step_rows) {
                        progress.update(&step(LoadPhase::Rows, table, from + done));
                    }
                }
                progress.update(&step(LoadPhase::Rows, "new_order", 420_022));
                progress.update(&step(LoadPhase::Statistics, "", 500_000));
                progress.update(&step(LoadPhase::Keys, "", 500_000));
                progress.finish();
            }));
        }
        assert_eq!(outputs[0], outputs[1]);
        assert_eq!(outputs[0], outputs[2]);
        let count = |text: &str| outputs[0].iter().filter(|line| line.contains(text)).count();
        assert_eq!(count("Loading Items - "), 10);
        assert_eq!(count("Loading Stock Wid="), 2);
        assert_eq!(count("Loading Stock - "), 10);
        assert_eq!(count("Loading Customer for DID="), 20);
        assert_eq!(count("Loading Orders for D=10 W=2"), 1);
        assert_eq!((count("...3000"), count("Orders Done")), (20, 20));
        assert_eq!(count(" done"), 3, "item, stock, district");
        for line in [
            "Loading Items - 10000",
            "Loading Stock Wid=2",
            "Loading Customer for DID=10 WID=2",
            "Loading Orders for D=1 W=1",
            "...3000",
        ] {
            assert!(outputs[0].iter().any(|printed| printed == line), "{line}");
        }
        assert_eq!(outputs[0].last().unwrap(), "CREATING TPCC INDEXES");
    }

    #[test]
    fn several_loaders_print_row_totals() {
        let lines = printed_lines(4, |progress| {
            progress.update(&step(LoadPhase::Create, "", 0));
            progress.update(&step(LoadPhase::Rows, "", 0));
            progress.update(&step(LoadPhase::Rows, "", 250_000));
            progress.update(&step(LoadPhase::Statistics, "", 1_000_000));
        });
        for line in [
            "Workers: 4 Active 0 Done",
            "Loaded 250000 of 1000000 rows (25 %)",
            "Workers: 0 Active 4 Done",
        ] {
            assert!(lines.contains(&line.to_owned()), "{lines:?}");
        }
    }
}
