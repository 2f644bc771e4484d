//! The trait that each workload implements, and the plain data types of its interface.
//!
//! This module must not distinguish between workloads.

use crate::describe::{
    ALL_DIALECTS, Contention, Growth, LedgerEntries, MinimumDuration, OptionSpec, Remark,
    ScaleUnit, TableSpec,
};
use crate::findings::LOAD_UNFINISHED;
use crate::progress::ProgressMeter;
use crate::remedy::{Commands, Remedy};
use crate::stop::StopWatcher;
use crate::{Error, Progress, Result};
use prony_document::{ConsistencyFinding, FindingState, SqlDialect, TableFacts};
use prony_plan::{QueryMode, WorkloadPlan};
use prony_server::{Control, Target};
use prony_session::Program;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// One workload. To add one, implement this trait in a new file or folder, and add a line to
/// `registry`.
pub trait Workload: Send + Sync {
    /// The name for `prony run NAME`.
    fn name(&self) -> &'static str;

    fn title(&self) -> &'static str;

    /// Whether the statements are the user's own, from the plan, and none are built in: results then have the plan's name,
    /// and sessions keep the server's settings.
    fn has_users_statements(&self) -> bool {
        false
    }

    /// The name under which its tables are loaded, if several workloads share them.
    fn dataset(&self) -> &'static str {
        self.name()
    }

    /// The statements of its transactions in order, with placeholders, for the Run document. Empty if
    /// they depend on the plan; the program then lists them.
    fn statements(&self) -> Vec<String> {
        Vec::new()
    }

    fn options(&self) -> &'static [OptionSpec] {
        &[]
    }

    fn dialects(&self) -> &'static [SqlDialect] {
        ALL_DIALECTS
    }

    /// The unit of its scale; `None` if its tables are the user's.
    fn scale_unit(&self) -> Option<ScaleUnit> {
        None
    }

    /// The tables; empty if they are the user's.
    fn tables(&self) -> &'static [TableSpec] {
        &[]
    }

    /// Rows of all tables after a load of this plan at this scale.
    fn rows_to_load(&self, _plan: &WorkloadPlan, scale: u64) -> u64 {
        let rows = self
            .tables()
            .iter()
            .filter_map(|table| table.loaded_rows(scale));
        rows.fold(0, u64::saturating_add)
    }

    /// Bytes per unit of scale after loading, with indexes, as measured on PostgreSQL 15 and MariaDB
    /// 10.11; `None` if unknown.
    fn bytes_per_scale(&self, _dialect: SqlDialect, _plan: &WorkloadPlan) -> Option<u64> {
        None
    }

    /// Competition for row locks in a run of this plan; `None` if there is none.
    fn contention(&self, _plan: &WorkloadPlan) -> Option<Contention> {
        None
    }

    /// Whether each transaction commits exactly once on PostgreSQL, and nothing else commits.
    fn has_one_commit_per_transaction(&self) -> bool {
        false
    }

    /// What committed transactions of a run of this plan add to data of this scale.
    fn growth(&self, plan: &WorkloadPlan, scale: u32) -> Growth;

    /// How its transactions write their entries in a run with a ledger.
    fn ledger_entries(&self, _protocol: QueryMode) -> LedgerEntries {
        LedgerEntries::WithStatements
    }

    /// The minimum measured duration of a run of this plan by the workload's specification.
    fn minimum_duration(&self, _plan: &WorkloadPlan) -> Option<MinimumDuration> {
        None
    }

    /// The name of the workload that loads the tables for this plan; `None` if the tables are the user's.
    fn workload_to_load(&self, _plan: &WorkloadPlan) -> Option<&'static str> {
        Some(self.name())
    }

    /// Industry metrics such as NOPM; the primary one first.
    fn rate_metrics(&self) -> &'static [RateMetric] {
        &[]
    }

    /// Problems with the values of a plan's options that can be detected without a server.
    fn check_options(&self, _plan: &WorkloadPlan, _protocol: QueryMode) -> Vec<Error> {
        Vec::new()
    }

    /// The plan with the texts of the files that it names, for a machine that does not have them.
    fn with_texts_of_files(&self, plan: &WorkloadPlan) -> Result<WorkloadPlan> {
        Ok(plan.clone())
    }

    /// Why [`Workload::load`], [`Workload::check`] and [`Workload::clean`] are refused by default. A workload with tables
    /// of its own implements those three, and never returns this error.
    fn no_tables_error(&self) -> Error {
        Error::InvalidRequest {
            problem: format!("{} has no tables of its own", self.name()),
            hint: String::new(),
        }
    }

    /// Creates its tables and loads them, replacing older ones of the same names.
    ///
    /// Returns soon after [`LoadRequest::stop`] is set. An unfinished load can be started again and results in the
    /// same state.
    ///
    /// # Errors
    /// The error states the cause, the state of the database, and the remedy.
    fn load(&self, _request: &LoadRequest<'_>) -> Result<LoadReport> {
        Err(self.no_tables_error())
    }

    /// The scale of its loaded tables; `None` if this database has none of them that are complete. Changes nothing.
    ///
    /// # Errors
    /// The tables could not be read.
    fn loaded_scale(&self, _control: &mut Control) -> Result<Option<u32>, Error> {
        Ok(None)
    }

    /// Checks that the data is complete and its invariants hold.
    ///
    /// # Errors
    /// The check could not be completed. Wrong data is a finding, not an error.
    fn check(&self, _control: &mut Control) -> Result<CheckReport> {
        Err(self.no_tables_error())
    }

    /// Sets every next order number that is already taken to the next free number; returns how many were
    /// changed.
    ///
    /// # Errors
    /// The workload does not number rows, or the server refused.
    fn repair_order_numbers(&self, _control: &mut Control) -> Result<u64> {
        Err(Error::InvalidRequest {
            problem: format!("runs of {} add no numbered rows", self.name()),
            hint: "omit --repair-sequences, which is only for tpcc".to_owned(),
        })
    }

    /// Drops its tables; returns the names of those that existed.
    ///
    /// # Errors
    /// A table with one of these names belongs to another application, or the server refused.
    fn clean(&self, _control: &mut Control) -> Result<Vec<String>> {
        Err(self.no_tables_error())
    }

    /// Prepares statements that the user wrote once, without executing them.
    fn try_statements(
        &self,
        _control: &mut Control,
        _plan: &WorkloadPlan,
        _protocol: QueryMode,
    ) -> Result<()> {
        Ok(())
    }

    /// The program of its virtual users, for the loaded data.
    fn program(&self, control: &mut Control, plan: &WorkloadPlan) -> Result<ReadyWorkload>;
}

/// The scale that a look at the tables found; `None` if what it found is no complete data.
pub(crate) fn scale_if_loaded(found: Result<u32, Error>) -> Result<Option<u32>, Error> {
    match found {
        Err(Error::Data { .. }) => Ok(None),
        found => found.map(Some),
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateMetric {
    /// The name, such as `NOPM`.
    pub name: &'static str,
    pub title: &'static str,
    /// The description where SQL Server counts something else.
    pub sql_server_title: Option<&'static str>,
    pub source: MetricSource,
    /// The theoretical maximum per unit of scale with the specification's keying and think times.
    pub ceiling_per_scale: Option<RateCeiling>,
}

impl RateMetric {
    pub fn title_on(&self, dialect: SqlDialect) -> &'static str {
        match dialect {
            SqlDialect::TransactSql => self.sql_server_title.unwrap_or(self.title),
            SqlDialect::PostgreSql | SqlDialect::MySql => self.title,
        }
    }
}

/// An upper limit of a metric; figures above it get a remark.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateCeiling {
    /// The limit per unit of scale.
    pub value: f64,
    /// The description of figures above the limit.
    pub label_above: &'static str,
    /// Name and value of the setting that enforces the limit, so that a run exceeds it only by chance.
    pub enforcing_setting: (&'static str, &'static str),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricSource {
    /// Committed transactions of this kind.
    TransactionKind(&'static str),
    /// All transactions that the server counts, committed or not, in all its databases and from all
    /// clients. On SQL Server these are batch requests.
    ServerCounters,
    /// All transactions that began on the server, which only SQL Server counts.
    TransactionsBegun,
}

pub struct LoadRequest<'a> {
    pub target: &'a Target,
    /// Scale (1 if absent) and options.
    pub plan: &'a WorkloadPlan,
    /// Number of connections that load concurrently; at least 1. A machine that sends [`LoadDivision::Parts`] uses those of
    /// its selection instead.
    pub jobs: u32,
    /// Seed of random content. Rows are a pure function of seed, table and row number.
    pub seed: u64,
    /// Who sends the rows.
    pub division: LoadDivision<'a>,
    pub progress: &'a dyn Progress,
    pub stop: &'a AtomicBool,
}

/// Which machines send the rows of a load.
#[derive(Clone, Copy)]
pub enum LoadDivision<'a> {
    /// This one sends all.
    Undivided,
    /// Others send them; this one creates the tables before, and does the rest after.
    Others(&'a dyn PartSender),
    /// This one sends some parts into tables that another one has created, and does nothing else.
    Parts(&'a PartSelection),
}

/// The parts of a load that one machine sends.
#[derive(Clone, Debug)]
pub struct PartSelection {
    /// Number of all parts of the load.
    pub all: u32,
    /// Indexes of those that it sends.
    pub parts: Vec<u32>,
    /// Connections over which it sends them.
    pub connections: u32,
}

/// Sends parts of a load from other machines.
pub trait PartSender: Sync {
    fn machines(&self) -> u32;

    /// Sends the parts with these indexes, of `all` parts of the load.
    ///
    /// # Errors
    /// The first error of a machine, or a stop. Each part is stored as a whole or not at all.
    fn send_parts(
        &self,
        all: u32,
        missing: &[u32],
        meter: &ProgressMeter<'_>,
        watcher: &StopWatcher<'_>,
    ) -> Result<()>;
}

impl LoadRequest<'_> {
    /// Default number of connections. A single connection can freeze the rows as it copies them, and loads
    /// all rows or none; several are faster only if the server has idle cores.
    pub const DEFAULT_JOBS: u32 = 1;

    /// The number of connections as text, for the report of a load: `1 connection`, `4 connections`.
    pub(crate) fn connections_text(&self) -> String {
        let connections = match self.jobs {
            1 => "1 connection".to_owned(),
            jobs => format!("{jobs} connections"),
        };
        match self.division {
            LoadDivision::Others(sender) => {
                format!("{connections} of {} other machines", sender.machines())
            }
            LoadDivision::Undivided | LoadDivision::Parts(_) => connections,
        }
    }
}

pub struct ReadyWorkload {
    pub program: Arc<dyn Program>,
    pub scale: u32,
    pub remarks: Vec<Remark>,
}

impl ReadyWorkload {
    /// A program for data of this scale, without remarks.
    pub fn new(program: Arc<dyn Program>, scale: u32) -> Self {
        ReadyWorkload {
            program,
            scale,
            remarks: Vec::new(),
        }
    }
}

#[derive(Clone, Debug)]
pub struct LoadReport {
    pub scale: u32,
    /// Number of connections that sent rows concurrently.
    pub jobs: u32,
    pub rows: u64,
    /// Bytes of rows sent, without protocol framing.
    pub bytes_sent: u64,
    /// Seconds of each phase, in order.
    pub phases: Vec<(crate::LoadPhase, f64)>,
    /// Seconds of the whole load, including connecting.
    pub seconds: f64,
    pub tables: Vec<TableFacts>,
    /// The method, as text: `one transaction, COPY FREEZE`.
    pub method: String,
}

impl LoadReport {
    /// Rows per second while rows were sent; `None` if that took no measurable time.
    pub fn rows_per_s(&self) -> Option<f64> {
        let (_, seconds) = self
            .phases
            .iter()
            .find(|(phase, _)| *phase == crate::LoadPhase::Rows)?;
        (*seconds > 0.0).then(|| self.rows as f64 / seconds)
    }
}

#[derive(Clone, Debug, Default)]
pub struct CheckReport {
    /// The scale of the data; `None` if it cannot be determined.
    pub scale: Option<u32>,
    pub findings: Vec<Finding>,
    pub tables: Vec<TableFacts>,
}

impl CheckReport {
    pub fn rendered(&self, commands: &dyn Commands) -> Vec<ConsistencyFinding> {
        let findings = self.findings.iter().map(|finding| ConsistencyFinding {
            id: finding.id.clone(),
            state: finding.state,
            text: finding.render(commands),
        });
        findings.collect()
    }

    /// Whether a load has not finished; the finding explains how to continue it.
    pub fn is_unfinished(&self) -> bool {
        let mut findings = self.findings.iter();
        findings.any(|finding| finding.id == LOAD_UNFINISHED)
    }

    /// The first wrong finding that says what to do.
    pub fn first_remedied(&self) -> Option<&Finding> {
        let mut findings = self.findings.iter();
        findings.find(|finding| finding.state == FindingState::Wrong && finding.remedy.is_some())
    }

    /// Whether no finding is wrong; notes are allowed.
    pub fn is_ok(&self) -> bool {
        self.findings
            .iter()
            .all(|finding| finding.state != FindingState::Wrong)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Whether it is correct, a note, or wrong.
    pub state: FindingState,
    /// Short stable identifier: `accounts-rows`, `balances-history`...
    pub id: String,
    /// Description, with figures.
    pub text: String,
    /// What to do, if a command can fix it.
    pub remedy: Option<Remedy>,
}

impl Finding {
    fn new(state: FindingState, id: impl Into<String>, text: impl Into<String>) -> Finding {
        Finding {
            state,
            id: id.into(),
            text: text.into(),
            remedy: None,
        }
    }

    pub fn ok(id: impl Into<String>, text: impl Into<String>) -> Finding {
        Finding::new(FindingState::Ok, id, text)
    }

    pub fn note(id: impl Into<String>, text: impl Into<String>) -> Finding {
        Finding::new(FindingState::Note, id, text)
    }

    pub fn wrong(id: impl Into<String>, text: impl Into<String>) -> Finding {
        Finding::new(FindingState::Wrong, id, text)
    }

    pub fn with(mut self, remedy: impl Into<Option<Remedy>>) -> Finding {
        self.remedy = remedy.into();
        self
    }

    pub fn render(&self, commands: &dyn Commands) -> String {
        match &self.remedy {
            None => self.text.clone(),
            Some(Remedy::Load(load)) => {
                format!("{}; `{}` loads it", self.text, commands.load_command(load))
            }
            Some(remedy) => format!("{}; {}", self.text, remedy.render(commands)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_connections_is_singular_or_plural() {
        let address = "host=127.0.0.1 port=1 user=u dbname=d";
        let environment = prony_server::Environment::default();
        let target = prony_server::resolve(address, &environment).expect("an address");
        let plan = WorkloadPlan {
            name: "tpcb".to_owned(),
            scale: None,
            options: Default::default(),
        };
        let connections = |jobs| {
            let request = LoadRequest {
                target: &target,
                plan: &plan,
                jobs,
                seed: 0,
                division: LoadDivision::Undivided,
                progress: &(),
                stop: &AtomicBool::new(false),
            };
            request.connections_text()
        };
        assert_eq!(connections(1), "1 connection");
        assert_eq!(connections(4), "4 connections");
    }
}
