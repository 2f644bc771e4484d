//! The program of one virtual user.
//!
//! In: a plan, tables. Out: transactions. Must never: take a failure for a success, or try again
//! with another input.

use super::customers::Names;
use super::deck::Deck;
use super::delivery::Deliveries;
use super::input::{Draws, Kind};
use super::layout;
use super::new_order::{self, NewOrders};
use super::observed::{Ends, Kept, Observed};
use super::options::{self, Asked};
use super::order_status::Statuses;
use super::pacing::Terminal;
use super::payment::Payments;
use super::procedures;
use super::random::RunConstants;
use super::ready::scale_for_run;
use super::shares::shares;
use super::stock_level::StockLevels;
use super::texts::Texts;
use super::way::{Mode, Set};
use crate::oltp::engine::Engine;
use crate::random::Random;
use crate::{Error, Loaded};
use prony_plan::WorkloadPlan;
use prony_server::Control;
use prony_session::{Db, DbError, Ended, Limit, Outcome, Program, Share, User, UserId};
use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// The program of a run.
pub struct OrderEntryProgram {
    shared: Arc<Shared>,
    statements: Vec<String>,
    /// How the tables were made, as far as figures depend on it.
    made: Vec<(&'static str, String)>,
}

/// What all users of a run share; read only, but for what they add when they end.
struct Shared {
    engine: Engine,
    asked: Asked,
    warehouses: u32,
    names: Names,
    new_orders: NewOrders,
    payments: Payments,
    statuses: Statuses,
    deliveries: Deliveries,
    stock_levels: StockLevels,
    observed: Mutex<Observed>,
}

/// The statements where nothing else is asked for.
pub fn statements() -> Vec<String> {
    OrderEntryProgram::new(Engine::Postgres, Asked::default(), 1).statements
}

/// The program on the data that is there; see [`OrderEntryProgram::ready`].
pub fn program(control: &mut Control, plan: &WorkloadPlan) -> Result<Loaded, Error> {
    let program = OrderEntryProgram::ready(control, plan)?;
    let scale = program.shared.warehouses;
    Ok(Loaded {
        program: Arc::new(program),
        scale,
    })
}

impl OrderEntryProgram {
    /// The program on the data that is there; it installs what its mode needs.
    ///
    /// # Errors
    /// The options are wrong, the data is missing, half-loaded or of another scale, or the server
    /// refuses the functions.
    pub fn ready(control: &mut Control, plan: &WorkloadPlan) -> Result<Self, Error> {
        // Whoever asks for more than the first problem asks `check_options`.
        let asked = options::read(plan).map_err(|mut problems| problems.swap_remove(0))?;
        let warehouses = scale_for_run(control, plan.scale)?;
        let (population, partitions) = layout::found(control)?;
        refuse_partitions(&asked, partitions)?;
        let engine = Engine::of(control);
        if asked.mode == Mode::Procedures {
            procedures::install(control, asked.profile.on(engine))?;
        }
        let program = OrderEntryProgram::new(engine, asked, warehouses);
        let population = population.name().to_owned();
        Ok(OrderEntryProgram {
            made: vec![
                ("partitions", partitions.to_string()),
                ("population", population),
            ],
            ..program
        })
    }

    /// The program as asked, for an engine, whose functions are there if its mode needs them.
    pub fn new(engine: Engine, asked: Asked, warehouses: u32) -> Self {
        let (mode, profile) = (asked.mode, asked.profile.on(engine));
        let asked = Asked { profile, ..asked };
        let mut set = Set::new(engine, mode);
        let shared = Shared {
            engine,
            asked,
            warehouses: warehouses.max(1),
            names: Names::new(profile),
            new_orders: NewOrders::new(&mut set, mode, profile),
            payments: Payments::new(&mut set, mode, profile),
            statuses: Statuses::new(&mut set, mode, profile),
            deliveries: Deliveries::new(&mut set, mode, profile),
            stock_levels: StockLevels::new(&mut set, mode, profile),
            observed: Mutex::default(),
        };
        OrderEntryProgram {
            shared: Arc::new(shared),
            statements: set.texts,
            made: Vec::new(),
        }
    }

    /// What was asked, defaults included.
    pub fn asked(&self) -> &Asked {
        &self.shared.asked
    }

    /// What the users that have ended did.
    pub fn observed(&self) -> Observed {
        let observed = self.shared.observed.lock();
        *observed.unwrap_or_else(PoisonError::into_inner)
    }
}

impl Program for OrderEntryProgram {
    fn kinds(&self) -> &[&'static str] {
        &Kind::NAMES
    }

    fn settings(&self) -> Vec<(&'static str, String)> {
        let mut settings = self.asked().named().to_vec();
        settings.extend(self.made.iter().cloned());
        if self.asked().defers() {
            settings.push(("delivery", "deferred".to_owned()));
        }
        settings
    }

    fn limits(&self) -> Vec<Limit> {
        // Of users that do not think the specification says nothing.
        let limits = self.asked().profile.p90_s.filter(|_| self.asked().paced);
        let limit = |(kind, p90_s): (&Kind, u32)| Limit {
            kind: Kind::NAMES[*kind as usize],
            p90_s: f64::from(p90_s),
            deferred: *kind == Kind::Delivery && self.asked().defers(),
        };
        let limits = limits.into_iter().flatten();
        Kind::ALL.iter().zip(limits).map(limit).collect()
    }

    fn statements(&self) -> Vec<String> {
        self.statements.clone()
    }

    fn shares(&self) -> Vec<Share> {
        shares(
            &self.observed(),
            self.asked().profile,
            self.shared.warehouses,
        )
    }

    fn user(&self, id: UserId, db: Db) -> User {
        let shared = Arc::clone(&self.shared);
        Box::pin(async move {
            match shared.run(id, db).await {
                Ok(never) => match never {},
                Err(ended) => ended,
            }
        })
    }
}

/// An input of any kind, which stays the same from try to try.
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

/// # Errors
/// Another number of partitions is asked for than order_line has.
fn refuse_partitions(asked: &Asked, found: u32) -> Result<(), Error> {
    match asked.partitions {
        Some(asked) if asked != found => Err(Error::Data {
            problem: format!("order_line has {found} partitions, and {asked} were asked for"),
            hint: format!(
                "leave the option partitions out to run on what is there, or load anew with \
                 --partitions {asked}"
            ),
        }),
        _ => Ok(()),
    }
}

/// What a transaction came to.
enum Output {
    NewOrder(new_order::Ordered),
    Paid,
    /// A count: of lines, districts or items.
    Count(u32),
}

impl Input {
    fn draw(draws: &mut Draws, kind: Kind) -> Input {
        match kind {
            Kind::NewOrder => Input::NewOrder(draws.new_order()),
            Kind::Payment => Input::Payment(draws.payment()),
            Kind::OrderStatus => Input::OrderStatus(draws.order_status()),
            Kind::Delivery => Input::Delivery(draws.delivery()),
            Kind::StockLevel => Input::StockLevel(draws.stock_level()),
        }
    }
}

impl Shared {
    /// Transaction after transaction, until the run is over.
    async fn run(&self, id: UserId, mut db: Db) -> Result<Infallible, Ended> {
        let profile = self.asked.profile;
        let mut draws = Draws::new(
            profile,
            RunConstants::new(id.seed),
            self.warehouses,
            self.asked.all_warehouses,
            (id.client, id.clients),
            Random::of_client(id.seed, id.client),
        );
        let mut deck = Deck::new(profile.deck);
        let mut texts = Box::<Texts>::default();
        let mut kept = Kept::new(&self.observed);
        let now_ns = db.noticed_ns();
        let mut terminal = Terminal::new(profile.times, profile.defers, now_ns);
        loop {
            if db.is_done() {
                return Err(Ended::Finished);
            }
            let kind = deck.next(&mut draws.random);
            let input = Input::draw(&mut draws, kind);
            let due_ns = self.asked.paced.then(|| terminal.due_ns(kind));
            enter(&mut db, kind, due_ns).await?;
            let begun_ns = db.noticed_ns();
            let result = self.tries(&input, &mut db, &mut texts, &mut kept).await?;
            let ends = &mut kept.sums.ends[kind as usize];
            let outcome = match &result {
                Ok(output) => Ok(settle(output, ends)),
                Err(error) => {
                    ends.failed += 1;
                    Err(error.clone())
                }
            };
            if let Ok(output) = result {
                note(&input, output, &mut kept.sums);
            }
            db.end(outcome).await?;
            if self.asked.paced {
                terminal.answered(kind, begun_ns, db.noticed_ns(), &mut draws.random);
            }
        }
    }

    /// Whether another try may end better: beside what every engine calls transient, a lock that was
    /// waited for too long, which ends no more than a statement on MySQL and MariaDB.
    fn may_succeed(&self, error: &DbError) -> bool {
        error.is_transient() || (self.engine == Engine::MySql && self.engine.is_ignored(error))
    }

    /// Tries a transaction until it succeeds, or fails for good.
    async fn tries(
        &self,
        input: &Input,
        db: &mut Db,
        texts: &mut Texts,
        kept: &mut Kept<'_>,
    ) -> Result<Result<Output, DbError>, Ended> {
        let mut tries = 1;
        loop {
            match self.attempt(input, db, texts).await {
                Err(error) if self.may_succeed(&error) && tries < self.asked.max_tries => {
                    tries += 1;
                    db.retry().await?;
                    kept.sums.retries += 1;
                }
                result => return Ok(result),
            }
        }
    }

    async fn attempt(
        &self,
        input: &Input,
        db: &mut Db,
        texts: &mut Texts,
    ) -> Result<Output, DbError> {
        match input {
            Input::NewOrder(input) => {
                let ordered = self.new_orders.run(input, db, texts).await?;
                Ok(Output::NewOrder(ordered))
            }
            Input::Payment(input) => {
                self.payments.run(input, &self.names, db, texts).await?;
                Ok(Output::Paid)
            }
            Input::OrderStatus(input) => {
                let lines = self.statuses.run(input, &self.names, db).await?;
                Ok(Output::Count(lines))
            }
            Input::Delivery(input) => {
                Ok(Output::Count(self.deliveries.run(input, db, texts).await?))
            }
            Input::StockLevel(input) => Ok(Output::Count(self.stock_levels.run(input, db).await?)),
        }
    }
}

/// Waits until a transaction is entered, and begins it.
async fn enter(db: &mut Db, kind: Kind, due_ns: Option<u64>) -> Result<(), Ended> {
    let now_ns = db.noticed_ns();
    match due_ns {
        Some(due_ns) if due_ns < now_ns => db.start_late(kind as u16, due_ns).await,
        Some(due_ns) => {
            db.sleep(Duration::from_nanos(due_ns - now_ns)).await;
            db.start(kind as u16).await
        }
        None => db.start(kind as u16).await,
    }
}

/// Counts how a transaction ended.
fn settle(output: &Output, ends: &mut Ends) -> Outcome {
    match output {
        Output::NewOrder(ordered) if ordered.rolled_back => {
            ends.rolled_back += 1;
            Outcome::RolledBack
        }
        _ => {
            ends.committed += 1;
            Outcome::Committed
        }
    }
}

/// Counts what a transaction did that did not fail.
fn note(input: &Input, output: Output, sums: &mut Observed) {
    match (input, output) {
        (Input::NewOrder(input), Output::NewOrder(ordered)) => sums.new_order(input, ordered),
        (Input::Payment(input), _) => sums.payment(input),
        (Input::OrderStatus(input), Output::Count(lines)) => sums.order_status(input.who, lines),
        (Input::Delivery(_), Output::Count(delivered)) => sums.delivery(delivered),
        (Input::StockLevel(_), Output::Count(low)) => sums.low_items += u64::from(low),
        // An output is of its input's kind.
        _ => {}
    }
}
