//! Virtual user 1 of a timed run: it says what time it is, and reads the server's counts at both
//! edges of the window on a connection of its own.
//!
//! In: the run's schedule, an agenda. Out: lines, NOPM and TPM. Must never: give a figure when the
//! window was cut short, or keep the loop waiting.

use super::super::clock;
use super::super::connection;
use super::super::lines::open_log;
use super::Means;
use super::agenda::{Act, Agenda};
use crate::run::keep::Keeper;
use prony_dialect::hammerdb::{Counter, Driver, RunLine, text};
use prony_drive::clock::Clock;
use prony_drive::{Observer, Start};
use prony_measure::{Row, Schedule};
use prony_server::{Control, Product as Engine, Target};
use prony_store::{Run, RunWriter};
use std::fs::File;
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender};
use std::time::Duration;

/// How often the end of the run is looked for.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// How long a lost server is waited for when its counts are due.
const PATIENCE: Duration = Duration::from_secs(60);

/// The result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Figures {
    /// New orders a minute, by the districts' next order numbers.
    pub nopm: u64,
    /// Commits and rollbacks of the whole server a minute, by its statistics.
    pub tpm: u64,
}

/// What the monitor saw.
#[derive(Debug, Default)]
pub struct Watched {
    /// The result; none where the window did not come to its end.
    pub figures: Option<Figures>,
    /// Its lines.
    pub result: Vec<String>,
    /// The transaction counter: moments and transactions a minute.
    pub counts: Vec<(String, u64)>,
}

/// The server's counts at a moment.
#[derive(Clone, Debug)]
struct Counts {
    orders: u64,
    transactions: u64,
    /// Since when the server counts transactions: after a crash it begins anew, and may soon have
    /// counted more than before.
    since: Since,
}

/// Since when a server counts.
#[derive(Clone, Debug)]
enum Since {
    /// As PostgreSQL says.
    Reset(String),
    /// When MySQL or MariaDB was started, in seconds of its clock; it tells whole ones.
    Started(i64),
}

impl Since {
    fn is_same(&self, other: &Since) -> bool {
        match (self, other) {
            (Since::Reset(one), Since::Reset(other)) => one == other,
            (Since::Started(one), Since::Started(other)) => one.abs_diff(*other) <= 2,
            _ => false,
        }
    }
}

/// When the statistics were last reset: by a crash all of them, by hand those of a database.
const SINCE: &str = "select concat_ws(' ', (select stats_reset from pg_stat_bgwriter), \
     (select max(stats_reset) from pg_stat_database))";

/// See the top of this file.
pub struct Monitor<'a> {
    means: &'a Means<'a>,
    target: &'a Target,
    control: Control,
    over: &'a AtomicBool,
    counter: Option<Ticks>,
}

/// The transaction counter.
struct Ticks {
    log: Option<File>,
    timestamps: bool,
    last: Option<(u64, u64)>,
}

impl<'a> Monitor<'a> {
    /// A monitor that ends when the run is `over`.
    pub fn new(
        means: &'a Means<'a>,
        target: &'a Target,
        control: Control,
        over: &'a AtomicBool,
    ) -> Self {
        Monitor {
            means,
            target,
            control,
            over,
            counter: means.request.counter.as_ref().map(Ticks::open),
        }
    }

    /// Works through the agenda from the start of the load on.
    ///
    /// # Errors
    /// The counts could not be read.
    pub fn watch(
        mut self,
        started: &Receiver<Schedule>,
        agenda: Agenda,
    ) -> Result<Watched, String> {
        let mut watched = Watched::default();
        // The sender goes without a word where the load does not start.
        let Ok(schedule) = started.recv() else {
            return Ok(watched);
        };
        let mut before = None;
        for (at, act) in agenda {
            let at_ns = schedule.start_ns.saturating_add(at.as_nanos() as u64);
            if !self.wait(at_ns) {
                break;
            }
            match act {
                Act::Say(vuser, line) => self.means.lines.told(vuser, line),
                Act::Running(vuser) => self.means.lines.running(vuser),
                Act::CountStart => before = Some(self.count()?),
                Act::CountEnd => {
                    let after = self.count()?;
                    if let Some(before) = &before {
                        self.result(before, &after, &mut watched)?;
                    }
                }
                Act::Tick => self.tick(&mut watched),
            }
        }
        Ok(watched)
    }

    /// Waits for a moment. False: the run is over before.
    fn wait(&self, at_ns: u64) -> bool {
        loop {
            if self.means.signals.asked().is_some() {
                return false;
            }
            let left_ns = at_ns.saturating_sub(Clock::System.now_ns());
            if left_ns == 0 {
                return true;
            }
            if self.over.load(Ordering::Relaxed) {
                return false;
            }
            std::thread::sleep(LOOK_EVERY.min(Duration::from_nanos(left_ns)));
        }
    }

    fn result(&self, before: &Counts, after: &Counts, watched: &mut Watched) -> Result<(), String> {
        let Driver::Timed { duration_min, .. } = self.means.request.driver else {
            return Ok(());
        };
        let minutes = self.means.minute.as_secs_f64() / 60.0 * duration_min as f64;
        let lost = |what: &str| {
            format!("the server lost its count of {what} in the run: was it restarted?")
        };
        if !before.since.is_same(&after.since) {
            return Err(lost("transactions"));
        }
        let a_minute = |before: u64, after: u64, what: &str| {
            let count = after.checked_sub(before).ok_or_else(|| lost(what))?;
            Ok::<u64, String>((count as f64 / minutes) as u64)
        };
        let figures = Figures {
            nopm: a_minute(before.orders, after.orders, "orders")?,
            tpm: a_minute(before.transactions, after.transactions, "transactions")?,
        };
        let lines = [
            RunLine::ActiveUsers {
                users: self.means.request.vusers,
            },
            RunLine::Result {
                nopm: figures.nopm,
                tpm: figures.tpm,
                database: self.means.request.login.product.name().to_owned(),
                tpm_first: self.means.request.tpm_first,
            },
        ];
        for line in lines {
            watched.result.push(line.to_string());
            self.means.lines.told(1, line);
        }
        watched.figures = Some(figures);
        if self.means.minute != super::super::MINUTE {
            let seconds = self.means.minute.as_secs_f64();
            let line = format!("A rehearsal: each minute of this test lasted {seconds} s");
            self.means.lines.told(1, line);
        }
        Ok(())
    }

    /// Reads the counts; a server that is away is waited for.
    fn count(&mut self) -> Result<Counts, String> {
        let begun_ns = Clock::System.now_ns();
        loop {
            let failed = match self.read() {
                Ok(counts) => return Ok(counts),
                Err(error) => error,
            };
            let since = Duration::from_nanos(Clock::System.now_ns() - begun_ns);
            let asked = self.means.signals.asked().is_some();
            if !failed.is_lost() || since > PATIENCE || asked {
                return Err(format!("the server's counts could not be read: {failed}"));
            }
            std::thread::sleep(Duration::from_millis(500));
            if let Ok(control) = connection::connect(self.target) {
                self.control = control;
            }
        }
    }

    fn read(&mut self) -> Result<Counts, prony_server::control::Error> {
        let orders = number(&mut self.control, "select sum(d_next_o_id) from district")?;
        let transactions = self.transactions()?;
        let since = match self.since() {
            Ok(since) => since,
            Err(error) if error.is_lost() => return Err(error),
            // A server that does not tell is believed.
            Err(_) => Since::Reset(String::new()),
        };
        Ok(Counts {
            orders,
            transactions,
            since,
        })
    }

    fn since(&mut self) -> Result<Since, prony_server::control::Error> {
        if self.control.product() == Engine::Postgres {
            let since = self.control.query_value(SINCE)?;
            return Ok(Since::Reset(since.unwrap_or_default()));
        }
        let uptime = self.control.query("show global status like 'Uptime'")?;
        let now = self.control.query_value("select unix_timestamp()")?;
        let uptime = uptime.first().and_then(|row| row.get(1)?.as_deref());
        let seconds = |text: Option<&str>| text.and_then(|text| text.parse().ok()).unwrap_or(0_i64);
        Ok(Since::Started(seconds(now.as_deref()) - seconds(uptime)))
    }

    fn transactions(&mut self) -> Result<u64, prony_server::control::Error> {
        if self.control.product() == Engine::Postgres {
            let sql = "select sum(xact_commit + xact_rollback) from pg_stat_database";
            return number(&mut self.control, sql);
        }
        let ended = prony_server::ended(&mut self.control, 1, |_| true)?;
        let one = ended.and_then(|series| series.first().copied());
        Ok(one.map_or(0, |one| one.transactions))
    }

    /// A count that fails is left out: the next one comes.
    fn tick(&mut self, watched: &mut Watched) {
        let Ok(transactions) = self.transactions() else {
            return;
        };
        let now_ns = Clock::System.now_ns();
        let Some(ticks) = &mut self.counter else {
            return;
        };
        let tpm = ticks.last.map_or(0, |(at_ns, before)| {
            let count = transactions.saturating_sub(before) as f64;
            (count * 60e9 / now_ns.saturating_sub(at_ns).max(1) as f64) as u64
        });
        ticks.last = Some((now_ns, transactions));
        let line = text::counted(tpm, self.means.request.login.product.name());
        ticks.note(&line);
        self.means.lines.status(line);
        watched.counts.push((clock::moment(), tpm));
    }
}

impl Ticks {
    fn open(counter: &Counter) -> Ticks {
        let header = || text::counter_log_header(&clock::date());
        let log = counter.log.as_ref().and_then(|path| {
            let opened = open_log(path, &header());
            opened
                .map_err(|error| {
                    super::super::complain(&format!("hammerdbcli: {path}: {error}\n"));
                })
                .ok()
        });
        Ticks {
            log,
            timestamps: counter.timestamps,
            last: None,
        }
    }

    fn note(&mut self, line: &str) {
        let stamp = self
            .timestamps
            .then(|| format!("Timestamp @ {}\n", clock::date()));
        if let Some(log) = &mut self.log {
            let entry = format!("{}{line}\n", stamp.unwrap_or_default());
            // A log that is full costs no run.
            let _ = log.write_all(entry.as_bytes());
        }
    }
}

fn number(control: &mut Control, sql: &str) -> Result<u64, prony_server::control::Error> {
    let value = control.query_value(sql)?;
    Ok(value.and_then(|value| value.parse().ok()).unwrap_or(0))
}

/// Keeps what the loop tells, and lets the monitor begin with it.
pub struct Watch {
    keeper: Keeper,
    start: Option<Sender<Schedule>>,
}

impl Watch {
    /// Adds to what is kept; `start` hears when the load starts.
    pub fn new(keeper: Keeper, start: Sender<Schedule>) -> Watch {
        Watch {
            keeper,
            start: Some(start),
        }
    }

    /// The load will not start.
    pub fn never_started(&mut self) {
        self.start = None;
    }

    /// Gives back what is kept.
    pub fn end(self) -> (Run, Option<RunWriter>) {
        self.keeper.end()
    }
}

impl Observer for Watch {
    fn started(&mut self, start: &Start) {
        // A run is not spoilt by a store that is full; the end says so.
        let _ = self.keeper.started(start);
        if let Some(sender) = self.start.take() {
            let _ = sender.send(start.schedule);
        }
    }

    fn row(&mut self, row: &Row, schedule: &Schedule) {
        let _ = self.keeper.row(row, schedule);
    }
}
