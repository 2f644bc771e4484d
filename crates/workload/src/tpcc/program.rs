//! The program of one virtual user.
//!
//! Executes transactions on the loaded tables as the plan's options require. Must never count a failure as
//! a success, or retry with different input.

use super::counts::{OutcomeCounts, TpccCounts};
use super::deck::Deck;
use super::execution::Mode;
use super::input::{InputGenerator, TpccTransaction};
use super::layout;
use super::options::{self, TpccOptions};
use super::pacing::Terminal;
use super::population_remark::population_remark;
use super::random::RunConstants;
use super::readiness::scale_for_run;
use super::routines;
use super::sequences;
use super::shares::{ORDER_LINES, shares};
use super::texts::TextBuffers;
use super::transactions::{OrderResult, Transactions};
use crate::random::Random;
use crate::user_counts::{SharedCounts, UserCounts};
use crate::{ReadyWorkload, Result};
use prony_document::{ObservedShare, SqlDialect};
use prony_plan::WorkloadPlan;
use prony_server::Control;
use prony_session::{
    Db, DbError, Outcome, P90Limit, Program, StatementTable, User, UserExit, UserId,
};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

pub struct OrderEntryProgram {
    shared: Arc<OrderEntryRun>,
    statements: Vec<String>,
    /// The settings of a run that describe the loaded data.
    load_settings: Vec<(&'static str, String)>,
}

/// State shared by all users of a run; read-only except for the counts that users add when they end.
struct OrderEntryRun {
    dialect: SqlDialect,
    options: TpccOptions,
    warehouses: u32,
    transactions: Transactions,
    counts: SharedCounts<TpccCounts>,
}

/// The statements that the default options use on PostgreSQL.
pub fn statements() -> Vec<String> {
    OrderEntryProgram::new(SqlDialect::PostgreSql, TpccOptions::default(), 1).statements
}

/// The program for the loaded data; see [`OrderEntryProgram::prepare`].
pub fn program(control: &mut Control, plan: &WorkloadPlan) -> Result<ReadyWorkload> {
    let program = OrderEntryProgram::prepare(control, plan)?;
    let scale = program.shared.warehouses;
    let remarks = population_remark(program.options().profile, &program.load_settings);
    Ok(ReadyWorkload {
        program: Arc::new(program),
        scale,
        remarks,
    })
}

impl OrderEntryProgram {
    /// Builds the program for the loaded data, and installs the routines that its mode needs.
    pub fn prepare(control: &mut Control, plan: &WorkloadPlan) -> Result<Self> {
        let options = options::read(plan)?;
        let warehouses = scale_for_run(control, plan.scale)?;
        let layout = layout::detect(control)?;
        layout::check_partitions(options.partitions, layout.partitions)?;
        sequences::refuse_taken_numbers(control, warehouses)?;
        let dialect = control.dialect();
        if options.mode == Mode::Procedures {
            routines::install(control, options.profile.on(dialect))?;
        }
        let program = OrderEntryProgram::new(dialect, options, warehouses);
        let mut load_settings = vec![
            ("partitions", layout.partitions.to_string()),
            ("population", layout.population.name().to_owned()),
        ];
        if layout.has_history_key {
            load_settings.push(("history_key", "invisible".to_owned()));
        }
        Ok(OrderEntryProgram {
            load_settings,
            ..program
        })
    }

    /// The program for an engine and these options; if its mode calls routines, they must already
    /// exist.
    pub fn new(dialect: SqlDialect, options: TpccOptions, warehouses: u32) -> Self {
        let (mode, profile) = (options.mode, options.profile.on(dialect));
        let options = TpccOptions { profile, ..options };
        let warehouses = warehouses.max(1);
        let (transactions, statements) = Transactions::new(dialect, mode, profile, warehouses);
        let shared = OrderEntryRun {
            dialect,
            options,
            warehouses,
            transactions,
            counts: SharedCounts::default(),
        };
        OrderEntryProgram {
            shared: Arc::new(shared),
            statements,
            load_settings: Vec::new(),
        }
    }

    pub fn options(&self) -> &TpccOptions {
        &self.shared.options
    }

    /// The counts of the users that have ended so far.
    pub fn counts(&self) -> TpccCounts {
        self.shared.counts.get()
    }
}

impl Program for OrderEntryProgram {
    fn kinds(&self) -> &[&'static str] {
        &TpccTransaction::NAMES
    }

    fn settings(&self) -> Vec<(&'static str, String)> {
        let mut settings = self.options().as_settings().to_vec();
        settings.extend(self.load_settings.iter().cloned());
        if self.shared.transactions.server_generates_order_lines() {
            settings.push(("routines", "the statements of HammerDB 4.6".to_owned()));
        }
        if self.options().defers_deliveries() {
            settings.push(("delivery", "deferred".to_owned()));
        }
        settings
    }

    fn only_reads(&self, kind: usize) -> bool {
        let kind = TpccTransaction::ALL[kind];
        matches!(
            kind,
            TpccTransaction::OrderStatus | TpccTransaction::StockLevel
        )
    }

    fn p90_limits(&self) -> Vec<P90Limit> {
        // The specification sets no limits for users without think times.
        let options = self.options();
        let Some(limits_s) = options.profile.p90_s.filter(|_| options.paced) else {
            return Vec::new();
        };
        let limit = |(kind, p90_s): (&TpccTransaction, u32)| P90Limit {
            kind: kind.name(),
            p90_s: f64::from(p90_s),
            deferred: *kind == TpccTransaction::Delivery && options.defers_deliveries(),
        };
        TpccTransaction::ALL
            .iter()
            .zip(limits_s)
            .map(limit)
            .collect()
    }

    fn statements(&self) -> Vec<String> {
        self.statements.clone()
    }

    fn statement_table(&self) -> StatementTable {
        self.shared.transactions.statement_table()
    }

    fn action_shares(&self) -> Vec<ObservedShare> {
        let mut shares = shares(
            &self.counts(),
            self.options().profile,
            self.shared.warehouses,
        );
        if self.shared.transactions.server_generates_order_lines() {
            // The server chose the supplying warehouses, so the client cannot count remote lines.
            shares.retain(|share| share.base != ORDER_LINES);
        }
        shares
    }

    fn create_user(&self, id: UserId, db: Db) -> User {
        let shared = Arc::clone(&self.shared);
        Box::pin(async move {
            let Err(exit) = shared.run(id, db).await;
            exit
        })
    }
}

/// The input of a transaction and its retries.
#[expect(
    clippy::large_enum_variant,
    reason = "a user has one at a time, and most are new orders or payments"
)]
enum Input {
    NewOrder(super::input::NewOrder),
    Payment(super::input::Payment),
    OrderStatus(super::input::OrderStatus),
    Delivery(super::input::Delivery),
    StockLevel(super::input::StockLevel),
}

enum Output {
    NewOrder(OrderResult),
    Payment,
    /// The number of lines of an order-status, districts of a delivery, or items of a stock-level.
    Count(u32),
}

impl Input {
    fn draw(generator: &mut InputGenerator, kind: TpccTransaction) -> Input {
        match kind {
            TpccTransaction::NewOrder => Input::NewOrder(generator.new_order()),
            TpccTransaction::Payment => Input::Payment(generator.payment()),
            TpccTransaction::OrderStatus => Input::OrderStatus(generator.order_status()),
            TpccTransaction::Delivery => Input::Delivery(generator.delivery()),
            TpccTransaction::StockLevel => Input::StockLevel(generator.stock_level()),
        }
    }
}

impl OrderEntryRun {
    /// Executes transactions until the run is over.
    async fn run(&self, id: UserId, mut db: Db) -> Result<Infallible, UserExit> {
        let profile = self.options.profile;
        let mut generator = InputGenerator::new(
            profile,
            RunConstants::new(id.seed),
            self.warehouses,
            self.options.all_warehouses,
            (id.client, id.clients),
            Random::of_client(id.seed, id.client),
        );
        let mut deck = Deck::new(profile.uses_deck);
        let mut texts = Box::<TextBuffers>::default();
        let mut own_counts = UserCounts::new(&self.counts);
        let now_ns = db.noticed_ns();
        let mut terminal = Terminal::new(profile.times, profile.defers_deliveries, now_ns);
        loop {
            if db.is_done() {
                return Err(UserExit::Finished);
            }
            let kind = deck.next(&mut generator.random);
            let input = Input::draw(&mut generator, kind);
            let due_ns = self.options.paced.then(|| terminal.due_ns(kind));
            start_when_due(&mut db, kind, due_ns).await?;
            let start_ns = db.noticed_ns();
            let result = self
                .run_with_retries(&input, &mut db, &mut texts, &mut own_counts)
                .await?;
            let outcomes = &mut own_counts.sums.outcomes_by_kind[kind as usize];
            let outcome = match &result {
                Ok(output) => Ok(count_outcome(output, outcomes)),
                Err(error) => {
                    outcomes.failed += 1;
                    Err(error.clone())
                }
            };
            if let Ok(output) = result {
                self.count_output(&input, output, &mut own_counts.sums);
            }
            db.end(outcome).await?;
            if self.options.paced {
                terminal.record_end(kind, start_ns, db.noticed_ns(), &mut generator.random);
            }
        }
    }

    /// Whether a retry may succeed: after an error that is transient on every engine, and after a lock
    /// wait timeout on MySQL and MariaDB, which rolls back only the statement.
    fn is_retryable(&self, error: &DbError) -> bool {
        error.retryable
            || match self.dialect {
                SqlDialect::PostgreSql => false,
                SqlDialect::MySql => crate::oltp::statements::ignores_error(self.dialect, error),
                // Error 1222 is a lock timeout, after which the session's XACT_ABORT has rolled back the
                // transaction.
                SqlDialect::TransactSql => error.number == 1222,
            }
    }

    /// Executes a transaction until it succeeds or may not be retried. Returns the output or the error of its last
    /// try; the outer error is the reason why the user ends.
    async fn run_with_retries(
        &self,
        input: &Input,
        db: &mut Db,
        texts: &mut TextBuffers,
        own_counts: &mut UserCounts<'_, TpccCounts>,
    ) -> Result<Result<Output, DbError>, UserExit> {
        let mut tries = 1;
        loop {
            match self.execute(input, db, texts).await {
                Err(error) if self.is_retryable(&error) && tries < self.options.max_tries => {
                    tries += 1;
                    db.retry().await?;
                    own_counts.sums.retries += 1;
                }
                result => return Ok(result),
            }
        }
    }

    /// Executes one try of a transaction.
    async fn execute(
        &self,
        input: &Input,
        db: &mut Db,
        texts: &mut TextBuffers,
    ) -> Result<Output, DbError> {
        let transactions = &self.transactions;
        Ok(match input {
            Input::NewOrder(input) => {
                Output::NewOrder(transactions.new_order(input, db, texts).await?)
            }
            Input::Payment(input) => {
                transactions.payment(input, db, texts).await?;
                Output::Payment
            }
            Input::OrderStatus(input) => Output::Count(transactions.order_status(input, db).await?),
            Input::Delivery(input) => Output::Count(transactions.delivery(input, db).await?),
            Input::StockLevel(input) => Output::Count(transactions.stock_level(input, db).await?),
        })
    }

    /// Counts the work of a transaction that did not fail.
    fn count_output(&self, input: &Input, output: Output, sums: &mut TpccCounts) {
        match (input, output) {
            (Input::NewOrder(_), _) if self.transactions.server_generates_order_lines() => {}
            (Input::NewOrder(input), Output::NewOrder(result)) => {
                sums.count_new_order(input, result)
            }
            (Input::Payment(input), _) => sums.count_payment(input),
            (Input::OrderStatus(input), Output::Count(lines)) => {
                sums.count_order_status(input.customer, lines);
            }
            (Input::Delivery(_), Output::Count(delivered)) => sums.count_delivery(delivered),
            (Input::StockLevel(_), Output::Count(low)) => sums.low_items += u64::from(low),
            // The output always matches the kind of the input.
            _ => {}
        }
    }
}

/// Waits until the transaction is due, then starts it; immediately if `due_ns` is `None`.
async fn start_when_due(
    db: &mut Db,
    kind: TpccTransaction,
    due_ns: Option<u64>,
) -> Result<(), UserExit> {
    let now_ns = db.noticed_ns();
    match due_ns {
        Some(due_ns) if due_ns < now_ns => db.start_due_at(kind as u16, due_ns).await,
        Some(due_ns) => {
            db.sleep(Duration::from_nanos(due_ns - now_ns)).await;
            db.start(kind as u16).await
        }
        None => db.start(kind as u16).await,
    }
}

/// Counts a transaction that did not fail; returns its outcome.
fn count_outcome(output: &Output, outcomes: &mut OutcomeCounts) -> Outcome {
    match output {
        Output::NewOrder(result) if result.rolled_back => {
            outcomes.rolled_back += 1;
            Outcome::RolledBack
        }
        _ => {
            outcomes.committed += 1;
            Outcome::Committed
        }
    }
}
