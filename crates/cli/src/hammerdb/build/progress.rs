//! The progress of a load in HammerDB's words.
//!
//! In: steps of the loader. Out: lines. Must never: name a piece of work that is not done by then,
//! or a warehouse that the loader does not tell of.
//!
//! One loader of few warehouses fills table after table, so its rows tell which warehouse and
//! district they are of: HammerDB's lines follow, table by table. Otherwise warehouses are filled in
//! any order, and a line now and then says how many rows there are.

use super::super::clock;
use super::super::lines::Lines;
use prony_dialect::hammerdb::{BuildLine, Product};
use prony_workload::{Phase, Progress, Step};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Time between two lines about rows: HammerDB's monitor looks as often.
const EVERY: Duration = Duration::from_secs(10);

const ITEMS: u64 = 100_000;
const STOCK_A_LINE: u64 = 20_000;
const A_DISTRICT: u64 = 3_000;
const ORDERS_A_LINE: u64 = 1_000;

/// Tells of one load.
pub struct Told<'a> {
    lines: &'a Lines,
    /// Items of a line: HammerDB tells of them more seldom on MySQL and MariaDB.
    items: u64,
    workers: u32,
    creates: bool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    phase: Option<Phase>,
    table: &'static str,
    /// Rows of all tables when this one began.
    before: u64,
    /// Of this table, those that were told of.
    told: u64,
    /// Warehouses that were done when this table began: the loader may go by them.
    warehouses: u64,
    /// Rows of all warehouses so far, by the table of that name.
    of_warehouse: u64,
    next_line: Duration,
    has_started: bool,
    has_ended: bool,
}

impl<'a> Told<'a> {
    /// Nothing is done yet. `vusers`: those that load; `creates`: there are no tables.
    pub fn new(lines: &'a Lines, product: Product, vusers: u32, creates: bool) -> Self {
        Told {
            lines,
            items: match product {
                Product::PostgreSql => 10_000,
                Product::MySql | Product::MariaDb => 50_000,
            },
            workers: vusers,
            creates,
            state: Mutex::default(),
        }
    }

    /// All is done.
    pub fn end(&self) {
        self.close(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner));
    }

    fn say(&self, line: BuildLine) {
        self.lines.told(1, line);
    }

    fn enter(&self, state: &mut State, step: &Step) {
        if state.phase == Some(step.phase) {
            return;
        }
        state.phase = Some(step.phase);
        match step.phase {
            Phase::Create if self.creates => self.say(BuildLine::CreatingTables),
            Phase::Create => {}
            Phase::Rows => {
                if step.table.is_empty() {
                    self.start(state);
                }
                if self.workers > 1 {
                    self.say(BuildLine::MonitoringWorkers);
                    self.say(BuildLine::Workers {
                        active: self.workers,
                        done: 0,
                    });
                }
            }
            Phase::Statistics | Phase::Keys => {
                self.close(state);
                self.say(if step.phase == Phase::Keys {
                    BuildLine::CreatingIndexes
                } else {
                    BuildLine::GatheringStatistics
                });
            }
        }
    }

    fn start(&self, state: &mut State) {
        if !std::mem::replace(&mut state.has_started, true) {
            let date = clock::date();
            self.say(BuildLine::Start { date });
        }
    }

    /// The rows are there.
    fn close(&self, state: &mut State) {
        self.leave(state);
        if state.has_started && !std::mem::replace(&mut state.has_ended, true) {
            if self.workers > 1 {
                self.say(BuildLine::Workers {
                    active: 0,
                    done: self.workers,
                });
            }
            let date = clock::date();
            self.say(BuildLine::End { date });
        }
    }

    /// The table is full.
    fn leave(&self, state: &mut State) {
        if state.table == "warehouse" {
            state.of_warehouse += state.told;
        }
        match std::mem::take(&mut state.table) {
            "item" => self.say(BuildLine::ItemDone),
            "stock" => self.say(BuildLine::StockDone),
            "district" => self.say(BuildLine::DistrictDone),
            _ => {}
        }
    }

    /// A table begins.
    fn begin(&self, state: &mut State, step: &Step) {
        let rows = step.rows_done;
        self.rows(state, rows);
        self.leave(state);
        (state.table, state.before, state.told) = (step.table, rows, 0);
        if step.table != "item" {
            self.start(state);
        }
        match step.table {
            "item" => self.say(BuildLine::LoadingItem),
            "warehouse" => {
                state.warehouses = state.of_warehouse;
                self.say(BuildLine::LoadingWarehouse);
            }
            "district" => self.say(BuildLine::LoadingDistrict),
            _ => {}
        }
    }

    /// So many rows of all tables are there.
    fn rows(&self, state: &mut State, rows_done: u64) {
        let rows = rows_done.saturating_sub(state.before);
        let (from, to) = (state.told, rows);
        let steps = |each: u64| from / each + 1..=to / each;
        match state.table {
            "item" => steps(self.items).for_each(|step| {
                self.say(BuildLine::Items {
                    rows: step * self.items,
                });
            }),
            "stock" => steps(STOCK_A_LINE).for_each(|step| {
                self.stock(state.warehouses, step * STOCK_A_LINE);
            }),
            "customer" => steps(A_DISTRICT).for_each(|step| {
                let (district, warehouse) = district(state.warehouses, step - 1);
                self.say(BuildLine::LoadingCustomer {
                    district,
                    warehouse,
                });
                self.say(BuildLine::CustomerDone);
            }),
            "orders" => steps(ORDERS_A_LINE).for_each(|step| {
                self.orders(state.warehouses, step * ORDERS_A_LINE);
            }),
            _ => {}
        }
        state.told = rows;
    }

    fn stock(&self, before: u64, rows: u64) {
        let (warehouse, within) = (before + (rows - 1) / ITEMS + 1, (rows - 1) % ITEMS + 1);
        if within == STOCK_A_LINE {
            self.say(BuildLine::LoadingStock { warehouse });
        }
        self.say(BuildLine::Stock { rows: within });
    }

    fn orders(&self, before: u64, rows: u64) {
        let within = (rows - 1) % A_DISTRICT + 1;
        if within == ORDERS_A_LINE {
            let (district, warehouse) = district(before, (rows - 1) / A_DISTRICT);
            self.say(BuildLine::LoadingOrders {
                district,
                warehouse,
            });
        }
        self.say(BuildLine::Orders { rows: within });
        if within == A_DISTRICT {
            self.say(BuildLine::OrdersDone);
        }
    }

    /// How many rows there are, now and then.
    fn total(&self, state: &mut State, step: &Step) {
        if step.elapsed < state.next_line.max(EVERY) || step.rows_done == 0 {
            return;
        }
        state.next_line = step.elapsed + EVERY;
        let percent = 100 * step.rows_done / step.rows_total.max(1);
        let line = format!(
            "Loaded {} of {} rows ({percent} %)",
            step.rows_done, step.rows_total
        );
        self.lines.told(1, line);
    }
}

/// District and warehouse, from 1, of the districts counted through from 0, behind so many
/// warehouses.
fn district(before: u64, number: u64) -> (u32, u64) {
    ((number % 10) as u32 + 1, before + number / 10 + 1)
}

impl Progress for Told<'_> {
    fn step(&self, step: &Step) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if step.phase != Phase::Rows {
            // What was sent since the last step belongs to the last table.
            self.rows(&mut state, step.rows_done);
        }
        self.enter(&mut state, step);
        match (step.phase, step.table) {
            (Phase::Rows, "") => self.total(&mut state, step),
            (Phase::Rows, table) if table != state.table => self.begin(&mut state, step),
            (Phase::Rows, _) => self.rows(&mut state, step.rows_done),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_dialect::hammerdb::Output;

    fn lines() -> Lines {
        let output = Output {
            shown: false,
            log: None,
            timestamps: false,
        };
        Lines::open(&output).expect("there is no log")
    }

    fn step(phase: Phase, table: &'static str, rows_done: u64) -> Step {
        Step {
            phase,
            table,
            rows_done,
            rows_total: 1_000_000,
            elapsed: Duration::from_secs(60),
        }
    }

    #[test]
    fn one_loader_tells_of_every_warehouse_once_whatever_the_steps_are() {
        let coarse = [("item", 0), ("warehouse", 100_000), ("district", 100_002)];
        let tables = [
            ("stock", 100_022),
            ("customer", 300_022),
            ("orders", 360_022),
        ];
        let mut told = Vec::new();
        for pieces in [1, 7_777, 250_000] {
            let lines = lines();
            let progress = Told::new(&lines, Product::PostgreSql, 1, true);
            progress.step(&step(Phase::Create, "", 0));
            for (table, from) in coarse.into_iter().chain(tables) {
                progress.step(&step(Phase::Rows, table, from));
                let rows = [("item", 100_000), ("stock", 200_000)];
                let rows = rows.iter().find(|(name, _)| *name == table);
                let rows = rows.map_or(0, |(_, rows)| *rows);
                for done in (1..rows).step_by(pieces) {
                    progress.step(&step(Phase::Rows, table, from + done));
                }
            }
            progress.step(&step(Phase::Rows, "new_order", 420_022));
            progress.step(&step(Phase::Statistics, "", 500_000));
            progress.step(&step(Phase::Keys, "", 500_000));
            progress.end();
            let mut said = lines.said();
            said.retain(|line| !line.contains("Start:") && !line.contains("End:"));
            told.push(said);
        }
        assert_eq!(told[0], told[1]);
        assert_eq!(told[0], told[2]);
        let count = |text: &str| told[0].iter().filter(|line| line.contains(text)).count();
        assert_eq!(count("Loading Items - "), 10);
        assert_eq!(count("Loading Stock Wid="), 2);
        assert_eq!(count("Loading Stock - "), 10);
        assert_eq!(count("Loading Customer for DID="), 20);
        assert_eq!(count("Loading Orders for D=10 W=2"), 1);
        assert_eq!((count("...3000"), count("Orders Done")), (20, 20));
        assert_eq!(count(" done"), 3, "item, stock, district");
        assert_eq!(
            told[0].last().map(String::as_str),
            Some("Vuser 1:CREATING TPCC INDEXES")
        );
    }

    #[test]
    fn several_loaders_tell_of_their_rows() {
        let lines = lines();
        let progress = Told::new(&lines, Product::PostgreSql, 4, true);
        progress.step(&step(Phase::Create, "", 0));
        progress.step(&step(Phase::Rows, "", 0));
        progress.step(&step(Phase::Rows, "", 250_000));
        progress.step(&step(Phase::Statistics, "", 1_000_000));
        let said = lines.said();
        assert!(
            said.contains(&"Vuser 1:Workers: 4 Active 0 Done".to_owned()),
            "{said:?}"
        );
        assert!(said.contains(&"Vuser 1:Loaded 250000 of 1000000 rows (25 %)".to_owned()));
        assert!(
            said.contains(&"Vuser 1:Workers: 0 Active 4 Done".to_owned()),
            "{said:?}"
        );
    }
}
