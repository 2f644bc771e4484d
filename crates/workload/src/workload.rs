//! What a workload is: the trait that each one fills in, and the plain data it takes and gives.
//!
//! In: nothing. Out: types. Must never: know one workload from another.

use crate::{Error, Progress};
use prony_plan::{QueryMode, WorkloadPlan};
use prony_server::Control;
use prony_server::Target;
use prony_session::Program;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// One workload. A new one is one file (or folder) that fills this in, and one line in `registry`.
pub trait Workload: Send + Sync {
    /// As `prony run NAME` takes it.
    fn name(&self) -> &'static str;

    /// One line in words.
    fn title(&self) -> &'static str;

    /// The name under which its tables are loaded, where several workloads share them.
    fn data(&self) -> &'static str {
        self.name()
    }

    /// The statements of its transactions in order, before values are put in: for the Run document.
    /// None where they depend on the plan; its program names them then.
    fn statements(&self) -> Vec<String>;

    /// The options that it knows. Their values are its own to check.
    fn options(&self) -> &'static [&'static str] {
        &[]
    }

    /// The workload whose load makes the tables that this plan runs on; none where they are the
    /// user's own.
    fn loaded_by(&self, _plan: &WorkloadPlan) -> Option<&'static str> {
        Some(self.name())
    }

    /// Rates that its field knows by names of their own, the leading one first.
    fn rates(&self) -> &'static [RateOf] {
        &[]
    }

    /// What is wrong with the values of a plan's options, as far as that shows without a server.
    fn check_options(&self, _plan: &WorkloadPlan, _protocol: QueryMode) -> Vec<Error> {
        Vec::new()
    }

    /// Creates its tables and loads them, in place of older ones of the same names.
    ///
    /// Comes back soon after `stop` is set. A load that did not come to its end can be started
    /// again and leads to the same state.
    ///
    /// # Errors
    /// Says what failed, what is left behind, and what to do.
    fn load(
        &self,
        request: &LoadRequest<'_>,
        progress: &dyn Progress,
        stop: &AtomicBool,
    ) -> Result<LoadReport, Error>;

    /// Looks whether the data is whole and its invariants hold.
    ///
    /// # Errors
    /// The check itself could not be made. Data that is wrong is a finding, not an error.
    fn check(&self, control: &mut Control) -> Result<CheckReport, Error>;

    /// Drops its tables; gives the names of those that were there.
    ///
    /// # Errors
    /// A table of that name is not this workload's, or the server refused.
    fn clean(&self, control: &mut Control) -> Result<Vec<String>, Error>;

    /// The program of its virtual users, on the data that is there.
    ///
    /// # Errors
    /// The data is missing, half-loaded, or of another scale than asked.
    fn program(&self, control: &mut Control, plan: &WorkloadPlan) -> Result<Loaded, Error>;
}

/// A rate by the minute.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateOf {
    /// Its name, such as `NOPM`.
    pub name: &'static str,
    /// What it counts.
    pub title: &'static str,
    /// What is counted.
    pub counted: Counted,
    /// The most that a unit of scale gives with the specification's keying and think times.
    pub most_per_scale: Option<Most>,
}

/// A figure that is worth a word when it is exceeded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Most {
    /// The figure, of a unit of scale.
    pub value: f64,
    /// What more than that is called.
    pub above: &'static str,
    /// The setting of a run, `name value`, in which it is exceeded by chance alone.
    pub unless: &'static str,
}

/// What a rate counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counted {
    /// Committed transactions of this kind.
    Kind(&'static str),
    /// All that the server counts as ended, committed or not, in all its databases and by whomever.
    Server,
}

/// What is asked of a load.
pub struct LoadRequest<'a> {
    /// Which server.
    pub target: &'a Target,
    /// Scale (absent: 1) and options.
    pub plan: &'a WorkloadPlan,
    /// Connections that load at the same time; at least 1.
    pub jobs: u32,
    /// Seed of random content. Rows are a pure function of seed, table and row number.
    pub seed: u64,
}

impl LoadRequest<'_> {
    /// Jobs where the user names none. One connection can freeze the rows as it copies them, and
    /// fails as a whole or not at all; more pay only where the server has idle cores.
    pub const DEFAULT_JOBS: u32 = 1;

    /// How many connections load, for the report of a load: `1 connection`, `4 connections`.
    pub(crate) fn connections(&self) -> String {
        match self.jobs {
            1 => "1 connection".to_owned(),
            jobs => format!("{jobs} connections"),
        }
    }
}

/// A workload ready to run.
pub struct Loaded {
    /// The program of its virtual users.
    pub program: Arc<dyn Program>,
    /// The scale of the data that is there.
    pub scale: u32,
}

/// What a load did.
#[derive(Clone, Debug)]
pub struct LoadReport {
    /// Scale.
    pub scale: u32,
    /// Connections that sent rows at the same time.
    pub jobs: u32,
    /// Rows of all tables.
    pub rows: u64,
    /// Bytes of rows sent, without the framing of the protocol.
    pub bytes_sent: u64,
    /// Seconds of each phase, in order.
    pub phases: Vec<(crate::Phase, f64)>,
    /// Seconds of the whole, connecting included.
    pub seconds: f64,
    /// The tables as they now stand.
    pub tables: Vec<TableFacts>,
    /// How it was done, in words: `one transaction, COPY FREEZE`.
    pub method: String,
}

impl LoadReport {
    /// Rows a second while rows were sent; `None` where that took no measurable time.
    pub fn rows_per_s(&self) -> Option<f64> {
        let (_, seconds) = self
            .phases
            .iter()
            .find(|(phase, _)| *phase == crate::Phase::Rows)?;
        (*seconds > 0.0).then(|| self.rows as f64 / seconds)
    }
}

/// A table as the server's catalog and statistics show it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TableFacts {
    /// Name.
    pub name: String,
    /// Rows: counted where the data was read, else the catalog's estimate.
    pub rows: u64,
    /// The table without its indexes (`pg_table_size`), bytes.
    pub table_bytes: u64,
    /// Its indexes (`pg_indexes_size`), bytes.
    pub index_bytes: u64,
    /// Dead rows, by the server's statistics.
    pub dead_rows: u64,
    /// Since the planner's statistics were last collected, seconds; absent: never.
    pub statistics_age_s: Option<f64>,
    /// Share of its pages that are marked all-visible, 0 to 1; absent for an empty table.
    pub all_visible: Option<f64>,
}

/// What a check found.
#[derive(Clone, Debug, Default)]
pub struct CheckReport {
    /// The scale that the data has; absent where that cannot be said.
    pub scale: Option<u32>,
    /// One a thing looked at, in a fixed order.
    pub findings: Vec<Finding>,
    /// The tables that exist.
    pub tables: Vec<TableFacts>,
}

impl CheckReport {
    /// Whether nothing is wrong. Notes do not count.
    pub fn is_ok(&self) -> bool {
        self.findings
            .iter()
            .all(|finding| finding.state != State::Wrong)
    }
}

/// One thing that a check looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// How it stands.
    pub state: State,
    /// Short stable name: `accounts-rows`, `balances-history`...
    pub id: &'static str,
    /// In words, with figures; for what is wrong, with what to do.
    pub text: String,
}

/// How a thing that was looked at stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// As it should.
    Ok,
    /// Cannot be decided, or is worth knowing.
    Note,
    /// Not as it should.
    Wrong,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_connection_is_told_as_one() {
        let here = "host=127.0.0.1 port=1 user=u dbname=d";
        let environment = prony_server::Environment::default();
        let target = prony_server::resolve(here, &environment).expect("an address");
        let plan = WorkloadPlan {
            name: "tpcb".to_owned(),
            scale: None,
            options: Default::default(),
        };
        let told = |jobs| {
            let request = LoadRequest {
                target: &target,
                plan: &plan,
                jobs,
                seed: 0,
            };
            request.connections()
        };
        assert_eq!(told(1), "1 connection");
        assert_eq!(told(4), "4 connections");
    }
}
